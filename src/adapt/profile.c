/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/profile.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/printable.h"

#define FIRST_LINE   "sketchtap profile 1"
#define LINE_MAX_LEN 1024
#define FIELDS       29

static const char *const fact_names[PROFILE_FACTS] = {
	[PROFILE_CPU] = "cpu",
	[PROFILE_BUILD] = "build",
	[PROFILE_DPDK] = "dpdk",
};

static const char *const part_names[PROFILE_PARTS] = {
	[PROFILE_TIMER] = "timer",
	[PROFILE_RECEIVE] = "receive",
	[PROFILE_PARSE] = "parse",
	[PROFILE_KEY] = "key",
	[PROFILE_SKETCH] = "sketch",
	[PROFILE_DISTINCT] = "distinct",
	[PROFILE_FREE] = "free",
};

const char *const profile_traffic_names[PROFILE_TRAFFICS] = {
	[PROFILE_ANY] = "",
	[PROFILE_ONE] = "one",
	[PROFILE_CACHED] = "cached",
	[PROFILE_UNCACHED] = "uncached",
	[PROFILE_NEW] = "new",
};

/* index: profile_what.single + profile_what.lookup */
static const char *const unit_names[3] = {"burst", "packet", "lookup"};
static const char *const sharing_names[SHARING_COUNT] = {"separate", "shared"};
static const char *const metric_names[2] = {"packets", "bytes"};

/* The column "key" has '+' in place of ',' so that no field needs quotes. */
static const char columns[] =
	"part,traffic,unit,key,sketch,depth,width,sharing,count,flows,samples,left_out,mean_ns,"
	"deviation_ns,p5_ns,p50_ns,p95_ns,p99_ns,best,normal_mean,normal_deviation,normal_bic,"
	"weibull_scale,weibull_shape,weibull_bic,gumbel_location,gumbel_scale,gumbel_bic,state";

static bool same_key(const char *a, const char *b)
{
	char why[KEY_RULE_WHY_MAX];
	struct key_rule rule_a, rule_b;

	return strcmp(a, b) == 0 ||
	       (key_rule_parse(&rule_a, a, why) && key_rule_parse(&rule_b, b, why) &&
		       key_rule_equal(&rule_a, &rule_b));
}

static bool same_sketch(const struct profile_what *a, const struct profile_what *b)
{
	return a->sketch == b->sketch &&
	       (a->sketch == NULL ||
		       (a->depth == b->depth && a->width == b->width && a->sharing == b->sharing &&
			       a->metric == b->metric && a->state == b->state));
}

static bool is_same_part(const struct profile_what *a, const struct profile_what *b)
{
	return a->part == b->part && a->traffic == b->traffic && a->single == b->single &&
	       a->lookup == b->lookup && same_sketch(a, b) && same_key(a->key, b->key);
}

const struct profile_row *profile_find(
	const struct profile *profile, const struct profile_what *what)
{
	for (uint32_t r = 0; r < profile->n; r++)
		if (is_same_part(&profile->rows[r].what, what))
			return &profile->rows[r];
	return NULL;
}

bool profile_add(struct profile *profile, const struct profile_row *row)
{
	struct profile_row *grown = profile->n < PROFILE_ROWS_MAX
					    ? array_grow(profile->rows, profile->n, sizeof(*row))
					    : NULL;

	if (grown == NULL)
		return false;
	profile->rows = grown;
	profile->rows[profile->n++] = *row;
	return true;
}

void profile_free(struct profile *profile)
{
	free(profile->rows);
	*profile = (struct profile){0};
}

void profile_describe(const struct profile_what *what, char text[PROFILE_WHAT_MAX])
{
	int used = snprintf(text, PROFILE_WHAT_MAX, "%s",
		what->sketch != NULL ? what->sketch->name : part_names[what->part]);

	if (what->key[0] != '\0')
		used += snprintf(text + used, PROFILE_WHAT_MAX - (size_t)used, " of %s", what->key);
	if (what->sketch != NULL)
		used += snprintf(text + used, PROFILE_WHAT_MAX - (size_t)used, ", %s %u x %llu, %s",
			sharing_names[what->sharing], what->depth, (unsigned long long)what->width,
			metric_names[what->metric]);
	if (what->state != FLOW_COUNT)
		used += snprintf(text + used, PROFILE_WHAT_MAX - (size_t)used, ", state %s",
			flow_depth_word(what->state));
	if (what->traffic != PROFILE_ANY)
		snprintf(text + used, PROFILE_WHAT_MAX - (size_t)used, ", %s%s",
			profile_traffic_names[what->traffic], what->lookup ? " lookup" : "");
}

static void write_what(const struct profile_row *row, FILE *out)
{
	const struct profile_what *what = &row->what;
	char key[PROFILE_KEY_MAX];

	strcpy(key, what->key);
	for (char *comma = key; (comma = strchr(comma, ',')) != NULL;)
		*comma = '+';
	fprintf(out, "%s,%s,%s,%s,", part_names[what->part], profile_traffic_names[what->traffic],
		unit_names[what->single + what->lookup], key);
	if (what->sketch == NULL)
		fprintf(out, ",,,,,,");
	else
		fprintf(out, "%s,%u,%llu,%s,%s,%llu,", what->sketch->name, what->depth,
			(unsigned long long)what->width, sharing_names[what->sharing],
			metric_names[what->metric], (unsigned long long)row->flows);
}

static void write_times(const struct profile_row *row, FILE *out)
{
	const struct distribution *times = &row->times;

	fprintf(out, "%llu,%llu,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g,%s",
		(unsigned long long)times->samples, (unsigned long long)row->left_out, times->mean,
		times->deviation, times->p5, times->p50, times->p95, times->p99,
		distribution_names[times->best]);
	for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++)
		if (isinf(times->bic[kind]))
			fprintf(out, ",,,");
		else
			fprintf(out, ",%.8g,%.8g,%.10g", times->a[kind], times->b[kind],
				times->bic[kind]);
}

static bool has_states(const struct profile_what *what)
{
	return what->sketch != NULL && (what->sketch->caps & SKETCH_RECORDS) != 0;
}

void profile_write(const struct profile *profile, FILE *out)
{
	fprintf(out, FIRST_LINE "\n");
	for (uint32_t f = 0; f < PROFILE_FACTS; f++)
		fprintf(out, "%s: %s\n", fact_names[f], profile->host.facts[f]);
	fprintf(out, "%s\n", columns);
	for (uint32_t r = 0; r < profile->n; r++) {
		write_what(&profile->rows[r], out);
		write_times(&profile->rows[r], out);
		fprintf(out, ",%s\n",
			has_states(&profile->rows[r].what)
				? flow_depth_word(profile->rows[r].what.state)
				: "");
	}
	fprintf(out, "rows: %u\n", profile->n);
}

struct profile_reader {
	FILE *in;
	const char *name;
	uint32_t line;
	char text[LINE_MAX_LEN];
	char *error;
};

__attribute__((format(printf, 2, 3))) static bool set_line_error(
	struct profile_reader *reader, const char *format, ...)
{
	va_list arguments;
	int used = snprintf(reader->error, PROFILE_ERROR_MAX,
		"--profile %.200s, line %u: ", reader->name, reader->line);

	va_start(arguments, format);
	vsnprintf(reader->error + used, PROFILE_ERROR_MAX - (size_t)used, format, arguments);
	va_end(arguments);
	make_printable(reader->error);
	return false;
}

static bool next_line(struct profile_reader *reader)
{
	size_t length;

	do {
		reader->line++;
		if (fgets(reader->text, sizeof(reader->text), reader->in) == NULL)
			return ferror(reader->in)
				       ? set_line_error(reader, "cannot read the file")
				       : set_line_error(reader, "unexpected end of file");
		length = strlen(reader->text);
		if (length == 0 || reader->text[length - 1] != '\n')
			return set_line_error(reader,
				length == sizeof(reader->text) - 1 ? "line too long" : "truncated");
		reader->text[length - 1] = '\0';
	} while (reader->text[0] == '#');
	return true;
}

static bool split_at_commas(struct profile_reader *reader, char *fields[FIELDS])
{
	uint32_t n = 0;

	for (char *next = reader->text; next != NULL; n++) {
		char *field = strsep(&next, ",");

		if (n < FIELDS)
			fields[n] = field;
	}
	return n == FIELDS || set_line_error(reader, "row has %u fields instead of %u", n, FIELDS);
}

static bool read_word(struct profile_reader *reader, const char *field, const char *const *words,
	uint32_t n, uint32_t *value)
{
	for (*value = 0; *value < n; ++*value)
		if (strcmp(field, words[*value]) == 0)
			return true;
	return set_line_error(reader, "'%.64s': unknown keyword", field);
}

static bool read_whole(
	struct profile_reader *reader, const char *field, uint64_t most, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(field, &end, 10);
	return (*field >= '0' && *field <= '9' && *end == '\0' && errno == 0 && *value <= most) ||
	       set_line_error(reader, "'%.64s': not a valid number", field);
}

static bool read_real(struct profile_reader *reader, const char *field, double *value)
{
	char *end;

	errno = 0;
	*value = strtod(field, &end);
	return (*field != '\0' && *end == '\0' && isfinite(*value)) ||
	       set_line_error(reader, "'%.64s': not a number", field);
}

static bool read_key(struct profile_reader *reader, const char *field, char key[PROFILE_KEY_MAX])
{
	char why[KEY_RULE_WHY_MAX];
	struct key_rule rule;

	if (snprintf(key, PROFILE_KEY_MAX, "%s", field) >= PROFILE_KEY_MAX)
		return set_line_error(reader, "'%.64s': not a key", field);
	for (char *plus = key; (plus = strchr(plus, '+')) != NULL;)
		*plus = ',';
	return key[0] == '\0' || key_rule_parse(&rule, key, why) ||
	       set_line_error(reader, "'%.64s': not a key", field);
}

static bool read_sketch(struct profile_reader *reader, char *const *fields, struct profile_row *row)
{
	struct profile_what *what = &row->what;
	uint64_t depth;
	uint32_t sharing, metric;

	if (what->part != PROFILE_SKETCH) {
		for (uint32_t f = 0; f < 6; f++)
			if (fields[f][0] != '\0')
				return set_line_error(reader,
					"'%.64s': unexpected in a row without sketch", fields[f]);
		return true;
	}
	what->sketch = sketch_find(fields[0]);
	if (what->sketch == NULL)
		return set_line_error(reader, "'%.64s': unknown sketch", fields[0]);
	if (!read_whole(reader, fields[1], UINT32_MAX, &depth) ||
		!read_whole(reader, fields[2], UINT64_MAX, &what->width) ||
		!read_word(reader, fields[3], sharing_names, SHARING_COUNT, &sharing) ||
		!read_word(reader, fields[4], metric_names, 2, &metric) ||
		!read_whole(reader, fields[5], UINT64_MAX, &row->flows))
		return false;
	what->depth = (uint32_t)depth;
	what->sharing = (enum sketch_sharing)sharing;
	what->metric = (enum sketch_metric)metric;
	return true;
}

static bool read_fit(struct profile_reader *reader, char *const *fields, struct distribution *times,
	enum distribution_kind kind)
{
	times->bic[kind] = INFINITY;
	if (fields[0][0] == '\0' && fields[1][0] == '\0' && fields[2][0] == '\0')
		return times->best != kind ||
		       set_line_error(reader,
			       "best is %s, but the columns of this distribution are empty",
			       distribution_names[kind]);
	return read_real(reader, fields[0], &times->a[kind]) &&
	       read_real(reader, fields[1], &times->b[kind]) &&
	       read_real(reader, fields[2], &times->bic[kind]);
}

static bool read_times(struct profile_reader *reader, char *const *fields, struct profile_row *row)
{
	struct distribution *times = &row->times;
	double *const reals[] = {
		&times->mean, &times->deviation, &times->p5, &times->p50, &times->p95, &times->p99};
	uint32_t best;

	if (!read_whole(reader, fields[0], UINT64_MAX, &times->samples) ||
		!read_whole(reader, fields[1], UINT64_MAX, &row->left_out))
		return false;
	for (uint32_t i = 0; i < 6; i++)
		if (!read_real(reader, fields[2 + i], reals[i]))
			return false;
	if (times->samples == 0 || times->mean < 0 || times->deviation < 0 || times->p5 < 0 ||
		times->p5 > times->p50 || times->p50 > times->p95 || times->p95 > times->p99)
		return set_line_error(reader, "times contradict each other");
	if (!read_word(reader, fields[8], distribution_names, DISTRIBUTION_KINDS, &best))
		return false;
	times->best = (enum distribution_kind)best;
	for (uint32_t kind = 0; kind < DISTRIBUTION_KINDS; kind++)
		if (!read_fit(reader, fields + 9 + 3 * kind, times, (enum distribution_kind)kind))
			return false;
	return true;
}

static bool read_state(struct profile_reader *reader, const char *field, struct profile_what *what)
{
	uint32_t state = FLOW_COUNT;

	while (has_states(what) && state < FLOW_STATES &&
		strcmp(field, flow_depth_word(state)) != 0)
		state++;
	what->state = (enum flow_depth)state;
	return (has_states(what) ? state < FLOW_STATES : *field == '\0') ||
	       set_line_error(reader, "'%.64s': not a flow state", field);
}

static bool read_row(struct profile_reader *reader, struct profile *profile)
{
	struct profile_row row = {0};
	char *fields[FIELDS];
	uint32_t part, traffic, unit;

	if (!split_at_commas(reader, fields) ||
		!read_word(reader, fields[0], part_names, PROFILE_PARTS, &part) ||
		!read_word(reader, fields[1], profile_traffic_names, PROFILE_TRAFFICS, &traffic) ||
		!read_word(reader, fields[2], unit_names, 3, &unit) ||
		!read_key(reader, fields[3], row.what.key))
		return false;
	row.what.part = (enum profile_part)part;
	row.what.traffic = (enum profile_traffic)traffic;
	row.what.single = unit > 0;
	row.what.lookup = unit == 2;
	if (!read_sketch(reader, fields + 4, &row) || !read_times(reader, fields + 10, &row) ||
		!read_state(reader, fields[FIELDS - 1], &row.what))
		return false;
	if (profile_find(profile, &row.what) != NULL)
		return set_line_error(reader, "duplicate row");
	return profile_add(profile, &row) || set_line_error(reader, "too many rows");
}

static bool read_host(struct profile_reader *reader, struct profile_host *host)
{
	for (uint32_t f = 0; f < PROFILE_FACTS; f++) {
		size_t length = strlen(fact_names[f]);

		if (!next_line(reader))
			return false;
		if (strncmp(reader->text, fact_names[f], length) != 0 ||
			strncmp(reader->text + length, ": ", 2) != 0 ||
			strlen(reader->text + length + 2) >= PROFILE_TEXT_MAX)
			return set_line_error(reader, "missing: %s", fact_names[f]);
		strcpy(host->facts[f], reader->text + length + 2);
	}
	return true;
}

static bool read_rows(struct profile_reader *reader, struct profile *profile)
{
	static const char last[] = "rows: ";
	uint64_t rows;

	for (;;) {
		if (!next_line(reader))
			return false;
		if (strncmp(reader->text, last, strlen(last)) == 0)
			break;
		if (!read_row(reader, profile))
			return false;
	}
	return read_whole(reader, reader->text + strlen(last), PROFILE_ROWS_MAX, &rows) &&
	       (rows == profile->n || set_line_error(reader, "%u rows found", profile->n));
}

bool profile_read(struct profile *profile, FILE *in, const char *name, char *error)
{
	struct profile_reader reader = {.in = in, .name = name, .error = error};
	bool right;

	*profile = (struct profile){0};
	right = next_line(&reader) &&
		(strcmp(reader.text, FIRST_LINE) == 0 ||
			set_line_error(&reader,
				"not a profile; create one with sketchtap-bench profile")) &&
		read_host(&reader, &profile->host) && next_line(&reader) &&
		(strcmp(reader.text, columns) == 0 || set_line_error(&reader, "unknown columns")) &&
		read_rows(&reader, profile);
	if (!right)
		profile_free(profile);
	return right;
}

bool profile_is_of(const struct profile *profile, const struct profile_host *host, const char *name,
	char *error)
{
	for (uint32_t f = 0; f < PROFILE_FACTS; f++) {
		if (strcmp(profile->host.facts[f], host->facts[f]) == 0)
			continue;
		snprintf(error, PROFILE_ERROR_MAX,
			"--profile %.100s: measured with another %s: '%.200s', this host has '%.200s'; run "
			"sketchtap-bench profile here, or set foreign-profile = yes",
			name, fact_names[f], profile->host.facts[f], host->facts[f]);
		make_printable(error);
		return false;
	}
	return true;
}

static const char *inapplicable_without_profile(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return profile_options(config)->file != NULL ? NULL : "without --profile";
}

static const struct option_row profile_rows[] = {
	{
		.name = "profile",
		.placeholder = "FILE",
		.rare = true,
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		.reads = option_names_file,
		OPTION_FIELD(profile_options, file),
		.default_note = "none",
		.help = "Read the processing time per packet on this host from FILE, a file of "
			"sketchtap-bench profile. The command plan then estimates capacity, and "
			"ctl costs compares measured times with FILE. FILE must be of the same CPU "
			"model, build and DPDK version.",
	},
	{
		.name = "foreign-profile",
		.rare = true,
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		OPTION_FIELD(profile_options, foreign),
		.inapplicable = inapplicable_without_profile,
		.config_only = true,
		.help = "Accept a --profile of another CPU model, build or DPDK version.",
	},
	{0},
};

const struct option_owner profile_owner = {
	.rows = profile_rows,
	.size = sizeof(struct profile_options),
};
