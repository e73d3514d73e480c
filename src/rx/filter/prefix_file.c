/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/filter/prefix_file.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "config/config.h"

#define BLANKS         " \t"
#define LINE_MAX_BYTES 512

struct prefix_file_reading {
	const char *path;
	unsigned long line;
	bool *mistake;
	char *error;
	struct prefix_list *rules;
	uint32_t capacity;
	unsigned long *lines; /* line numbers of rules, [capacity] */
};

struct placed {
	struct prefix_entry rule;
	unsigned long line;
};

__attribute__((format(printf, 3, 0))) static void add_reason(
	struct prefix_file_reading *reading, int used, const char *format, va_list arguments)
{
	vsnprintf(reading->error + used, (size_t)(PREFIX_ERROR_MAX - used), format, arguments);
	make_printable(reading->error);
}

__attribute__((format(printf, 2, 3))) static void set_file_error(
	struct prefix_file_reading *reading, const char *format, ...)
{
	int used = snprintf(reading->error, PREFIX_ERROR_MAX, "%.200s: ", reading->path);
	va_list arguments;

	va_start(arguments, format);
	add_reason(reading, used, format, arguments);
	va_end(arguments);
}

__attribute__((format(printf, 3, 4))) static bool set_line_error(
	struct prefix_file_reading *reading, unsigned long line, const char *format, ...)
{
	int used = snprintf(
		reading->error, PREFIX_ERROR_MAX, "%.200s, line %lu: ", reading->path, line);
	va_list arguments;

	*reading->mistake = true;
	va_start(arguments, format);
	add_reason(reading, used, format, arguments);
	va_end(arguments);
	return false;
}

static uint8_t mask_of(uint32_t length, uint32_t byte)
{
	uint32_t left = length > 8 * byte ? length - 8 * byte : 0;
	uint32_t mask = left >= 8 ? 0xff : 0xff00 >> left;

	return (uint8_t)mask;
}

static void print_prefix(struct prefix_entry *rule)
{
	char address[INET6_ADDRSTRLEN];

	inet_ntop(rule->ipv6 ? AF_INET6 : AF_INET, rule->bits, address, sizeof(address));
	snprintf(rule->prefix, sizeof(rule->prefix), "%s/%u", address, rule->length);
}

static bool parse_length(const char *text, uint32_t most, uint8_t *length)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long value = strtoul(text, NULL, 10);

	*length = (uint8_t)value;
	return digits > 0 && digits < 4 && text[digits] == '\0' && value <= most;
}

/* If host bits are not 0, the user probably means another prefix. */
static bool check_host_bits(
	struct prefix_file_reading *reading, struct prefix_entry *rule, const char *text)
{
	bool clear = true;

	for (uint32_t b = 0; b < sizeof(rule->bits); b++) {
		clear &= (rule->bits[b] & ~mask_of(rule->length, b)) == 0;
		rule->bits[b] &= mask_of(rule->length, b);
	}
	print_prefix(rule);
	return clear ||
	       set_line_error(reading, reading->line,
		       "%.60s has host bits set; write %s for the network, or only the address for "
		       "the host",
		       text, rule->prefix);
}

static bool parse_prefix(
	struct prefix_file_reading *reading, const char *text, struct prefix_entry *rule)
{
	const char *slash = strchr(text, '/');
	size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
	char address[INET6_ADDRSTRLEN];
	uint32_t most;

	rule->ipv6 = memchr(text, ':', length) != NULL;
	most = rule->ipv6 ? 128 : 32;
	rule->length = (uint8_t)most;
	if (length < sizeof(address)) {
		memcpy(address, text, length);
		address[length] = '\0';
	}
	if (length >= sizeof(address) ||
		inet_pton(rule->ipv6 ? AF_INET6 : AF_INET, address, rule->bits) != 1)
		return set_line_error(reading, reading->line,
			"'%.60s': not an IP address; example: 192.0.2.0/24 office", text);
	if (slash != NULL && !parse_length(slash + 1, most, &rule->length))
		return set_line_error(reading, reading->line,
			"'%.60s': the prefix length must be 0 to %u", text, most);
	return check_host_bits(reading, rule, text);
}

static bool parse_name(
	struct prefix_file_reading *reading, const char *name, struct prefix_entry *rule)
{
	size_t length = strlen(name);

	if (length == 0)
		return set_line_error(reading, reading->line,
			"%s has no name; example: 192.0.2.0/24 office", rule->prefix);
	if (length >= PREFIX_NAME_MAX)
		return set_line_error(reading, reading->line,
			"the name has %zu bytes; the maximum is %d", length, PREFIX_NAME_MAX - 1);
	for (size_t i = 0; i < length; i++)
		if (iscntrl((unsigned char)name[i]))
			return set_line_error(reading, reading->line,
				"the name has a control character at byte %zu", i + 1);
	memcpy(rule->name, name, length + 1);
	return true;
}

static bool add_rule(struct prefix_file_reading *reading, const struct prefix_entry *rule)
{
	if (reading->rules->n == PREFIX_ENTRIES_MAX)
		return set_line_error(
			reading, reading->line, "more than %d rules", PREFIX_ENTRIES_MAX);
	if (reading->rules->n == reading->capacity) {
		uint32_t capacity = 2 * reading->capacity;
		struct prefix_list *rules = realloc(
			reading->rules, sizeof(*rules) + capacity * sizeof(rules->rules[0]));
		unsigned long *lines = realloc(reading->lines, capacity * sizeof(*lines));

		reading->rules = rules != NULL ? rules : reading->rules;
		reading->lines = lines != NULL ? lines : reading->lines;
		if (rules == NULL || lines == NULL) {
			set_file_error(reading, "out of memory for %u rules", capacity);
			return false;
		}
		reading->capacity = capacity;
	}
	reading->lines[reading->rules->n] = reading->line;
	reading->rules->rules[reading->rules->n++] = *rule;
	return true;
}

/* text[length] is 0. A line that contains another 0 is rejected. */
static bool parse_line(struct prefix_file_reading *reading, char *text, size_t length)
{
	struct prefix_entry rule = {.parent = PREFIX_NO_ENTRY};
	size_t word;
	char *name;

	while (length > 0 && strchr("\r\n" BLANKS, text[length - 1]) != NULL)
		text[--length] = '\0';
	if (strlen(text) != length)
		return set_line_error(reading, reading->line, "not a text file: contains a byte 0");
	text += strspn(text, BLANKS);
	if (*text == '\0' || *text == '#')
		return true;
	word = strcspn(text, BLANKS);
	name = text + word + strspn(text + word, BLANKS);
	text[word] = '\0';
	return parse_prefix(reading, text, &rule) && parse_name(reading, name, &rule) &&
	       add_rule(reading, &rule);
}

static int compare(const void *a, const void *b)
{
	const struct prefix_entry *x = &((const struct placed *)a)->rule;
	const struct prefix_entry *y = &((const struct placed *)b)->rule;
	int order = x->ipv6 - y->ipv6;

	if (order == 0)
		order = memcmp(x->bits, y->bits, sizeof(x->bits));
	if (order == 0)
		order = x->length - y->length;
	/* Rules with equal prefixes keep the order of their lines. */
	return order != 0                                                            ? order
	       : ((const struct placed *)a)->line < ((const struct placed *)b)->line ? -1
										     : 1;
}

static bool entry_covers(const struct prefix_entry *outer, const struct prefix_entry *inner)
{
	if (outer->ipv6 != inner->ipv6 || outer->length > inner->length)
		return false;
	for (uint32_t b = 0; b < sizeof(outer->bits); b++)
		if (((outer->bits[b] ^ inner->bits[b]) & mask_of(outer->length, b)) != 0)
			return false;
	return true;
}

static bool same_prefix(const struct prefix_entry *a, const struct prefix_entry *b)
{
	return entry_covers(a, b) && a->length == b->length;
}

/* Rules are sorted, so a prefix follows those that contain it. The last of them is the longest. */
static void find_parent(struct prefix_list *rules, uint32_t i)
{
	uint32_t parent = i > 0 ? i - 1 : PREFIX_NO_ENTRY;

	while (parent != PREFIX_NO_ENTRY && !entry_covers(&rules->rules[parent], &rules->rules[i]))
		parent = rules->rules[parent].parent;
	rules->rules[i].parent = parent;
}

static bool sort_rules(struct prefix_file_reading *reading)
{
	struct prefix_list *rules = reading->rules;
	struct placed *sorted = malloc((rules->n + 1) * sizeof(*sorted));
	uint32_t n = 0;
	bool ok = true;

	if (sorted == NULL) {
		set_file_error(reading, "out of memory for %u rules", rules->n);
		return false;
	}
	for (uint32_t i = 0; i < rules->n; i++)
		sorted[i] = (struct placed){rules->rules[i], reading->lines[i]};
	qsort(sorted, rules->n, sizeof(*sorted), compare);
	for (uint32_t i = 0; i < rules->n && ok; i++) {
		const struct prefix_entry *rule = &sorted[i].rule;

		if (i == 0 || !same_prefix(rule, &sorted[i - 1].rule)) {
			rules->rules[n] = *rule;
			find_parent(rules, n);
			rules->nb_ipv6 += rule->ipv6;
			n++;
		} else if (strcmp(rule->name, sorted[i - 1].rule.name) != 0) {
			ok = set_line_error(reading, sorted[i].line,
				"%s is already '%s' in line %lu", rule->prefix,
				sorted[i - 1].rule.name, sorted[i - 1].line);
		}
	}
	rules->n = n;
	free(sorted);
	return ok;
}

static bool read_lines(struct prefix_file_reading *reading, FILE *file)
{
	char text[LINE_MAX_BYTES + 2]; /* one byte more than the longest valid line */
	ssize_t length;
	bool ok = true;

	while (ok && (length = regular_file_line(file, text, sizeof(text))) >= 0) {
		reading->line++;
		if (signals_stop_requested()) {
			set_file_error(reading, "interrupted by a stop request");
			return false;
		}
		ok = length <= LINE_MAX_BYTES ? parse_line(reading, text, (size_t)length)
					      : set_line_error(reading, reading->line,
							"longer than %d bytes", LINE_MAX_BYTES);
	}
	if (ok && ferror(file)) {
		set_file_error(
			reading, "cannot read after line %lu: %s", reading->line, strerror(errno));
		return false;
	}
	if (ok && reading->rules->n == 0) {
		*reading->mistake = true;
		set_file_error(reading, "contains no rule; nothing would be measured");
		return false;
	}
	return ok;
}

static FILE *open_file(struct prefix_file_reading *reading)
{
	FILE *file = regular_file_open(reading->path);

	if (file == NULL && errno == 0)
		set_file_error(reading,
			"not a regular file; copy it to one, so that SIGHUP can read it again");
	else if (file == NULL)
		set_file_error(reading, "cannot open: %s", strerror(errno));
	return file;
}

struct prefix_list *prefix_rules_read(const char *path, bool *mistake, char *error)
{
	struct prefix_file_reading reading = {
		.path = path, .mistake = mistake, .error = error, .capacity = 64};
	FILE *file = open_file(&reading);
	bool ok;

	*mistake = false;
	if (file == NULL)
		return NULL;
	reading.rules = calloc(
		1, sizeof(*reading.rules) + reading.capacity * sizeof(reading.rules->rules[0]));
	reading.lines = malloc(reading.capacity * sizeof(*reading.lines));
	ok = reading.rules != NULL && reading.lines != NULL;
	if (!ok)
		set_file_error(&reading, "out of memory");
	ok = ok && read_lines(&reading, file) && sort_rules(&reading);
	fclose(file);
	free(reading.lines);
	if (!ok) {
		free(reading.rules);
		return NULL;
	}
	return reading.rules;
}

void prefix_rules_free(struct prefix_list *rules)
{
	free(rules);
}

OPTION_WORDS_OF(side_word, [PREFIX_DST] = "dst", [PREFIX_SRC] = "src", [PREFIX_EITHER] = "either")

const char *prefix_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return prefix_options(config)->file != NULL ? NULL : "without --prefixes";
}

static const struct option_row monitor_rows[] = {
	{
		.name = "prefixes",
		.placeholder = "FILE[,side=SIDE]",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		.reads = option_names_file,
		OPTION_FIELD(prefix_options, file),
		.default_note = "everything",
		.former = "monitor",
		.rare = true,
		.help = "Measure only packets of the prefixes in FILE. Others are counted as "
			"filtered. Each line is PREFIX NAME; # starts a comment. SIGHUP reloads "
			"FILE.",
	},
	{
		.name = "monitor-side",
		.placeholder = "SIDE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.inapplicable = prefix_option_inapplicable,
		.word = side_word,
		OPTION_FIELD(prefix_options, side),
		.default_text = "either",
		.hidden = true,
		.part_of = "prefixes",
		.part = ",side=",
		.help = "Match the prefixes against this address of a packet: dst, src or either.",
	},
	{0},
};

const struct option_owner prefix_owner = {
	.rows = monitor_rows,
	.size = sizeof(struct prefix_options),
};
