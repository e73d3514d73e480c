/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/sink_config.h"

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/standard_files.h"
#include "base/units.h"
#include "collect/options.h"
#include "config/options.h"
#include "parallel/shed/shed_options.h"
#include "report/formats/format.h"
#include "rx/source.h"
#include "sketch/measurement.h"

#define NEAR_LETTERS 2 /* letters by which a mistyped format may be longer */

static const struct sink_options *options_of(const struct config_named *section)
{
	return (const struct sink_options *)(const void *)section->storage;
}

static bool is_export(const struct config_named *named)
{
	return named->owner == &sink_owner;
}

/*
 * Returns true if --output has only its default value, and a section writes heavy hitters instead.
 */
static bool is_unsaid(const struct config *config, enum row_kind kind)
{
	if (kind != ROWS_HEAVY_HITTERS || config_asks(config, NULL, "output"))
		return false;
	for (uint32_t n = 0; n < config->nb_named; n++)
		if (is_export(&config->named[n]) && options_of(&config->named[n])->kind == kind)
			return true;
	return false;
}

static bool next_of_options(const struct config *config, struct sink_config_iter *each)
{
	static const struct sink_options nothing;
	const struct option_list *rows = writer_options(config)->rows;

	while (each->kind < ROW_KINDS &&
		(each->i == rows[each->kind].n || is_unsaid(config, each->kind))) {
		each->kind++;
		each->i = 0;
	}
	if (each->kind == ROW_KINDS)
		return false;
	each->requested = (struct requested_sink){
		.kind = each->kind,
		.text = rows[each->kind].texts[each->i++],
		.label = outputs[each->kind]->option,
		.options = &nothing,
	};
	each->requested.to = destination_of(each->requested.text);
	each->requested.name = each->requested.to.name;
	return true;
}

static bool next_of_sections(const struct config *config, struct sink_config_iter *each)
{
	while (each->i < config->nb_named) {
		const struct config_named *section = &config->named[each->i++];
		const struct sink_options *options = options_of(section);

		if (!is_export(section) || options->url == NULL)
			continue;
		each->requested = (struct requested_sink){
			.kind = options->kind,
			.text = options->url,
			.to = destination_of(options->url),
			.name = section->name,
			.label = section->title,
			.options = options,
			.section = section,
		};
		if (each->requested.to.format == FORMAT_AUTO)
			each->requested.to.format = options->format;
		return true;
	}
	return false;
}

bool sink_config_next(const struct config *config, struct sink_config_iter *each)
{
	return next_of_options(config, each) || next_of_sections(config, each);
}

bool sink_config_any(const struct config *config, enum row_kind kind)
{
	struct sink_config_iter each = {0};

	while (sink_config_next(config, &each))
		if (each.requested.kind == kind)
			return true;
	return false;
}

static uint32_t key_fields_of_run(const struct config *config)
{
	uint32_t fields = 0;

	for (uint32_t m = 0; m < config->nb_measurements; m++)
		fields |= measurement_options(&config->measurements[m])->key.fields;
	return fields;
}

struct column_choice sink_config_columns(const struct config *config, bool named)
{
	uint32_t fields = key_fields_of_run(config);

	return (struct column_choice){
		.key_fields = fields,
		.records = measurements_any(config, SKETCH_RECORDS) ||
			   key_fields_of(fields, KEY_COLUMN_RECORD) != 0,
		.collected = source_is(config, SOURCE_RECORDS),
		.kept_up = shed_policy_given(config),
		.deep = measurements_deep(config),
		.named = named,
	};
}

enum output_format sink_config_format(const struct config *config, enum row_kind kind)
{
	bool said = kind == ROWS_HEAVY_HITTERS && formats[writer_options(config)->format] != NULL;

	return said ? writer_options(config)->format : FORMAT_CSV;
}

struct sink_request sink_config_request(
	const struct config *config, const struct requested_sink *requested)
{
	const struct sink_type *type = sink_url_of(requested->to.name).type;
	struct sink_request request = {
		.url = requested->to.name,
		.name = requested->name,
		.label = requested->label,
		.kind = requested->kind,
		.format = requested->to.format,
		.usual_format = sink_config_format(config, requested->kind),
		.choice = sink_config_columns(config, false),
		.options = requested->options,
		.config = config,
	};

	request.choice.names = (enum column_names)requested->options->names;
	if (requested->section != NULL && type != NULL && type->keys != NULL)
		request.own = config_named_block(requested->section, type->keys);
	return request;
}

#define ROTATE_FAULT    "neither a time nor a size; examples: 1h, 1GB or 1h,1GB"
#define ROTATE_SIZE_MIN 1024
/* ns; names of complete files have a resolution of one second */
#define ROTATE_TIME_MIN UINT64_C(1000000000)

static bool set_limit(const struct option_text *a, const char *text, struct rotate_limits *limits)
{
	bool is_time = units_time(text, &limits->period) == NULL, fits;

	if (!is_time && units_size(text, &limits->size) != NULL)
		return option_set_error(a, ROTATE_FAULT);
	fits = is_time ? limits->period >= ROTATE_TIME_MIN && limits->period <= a->row->max
		       : limits->size >= ROTATE_SIZE_MIN;
	return fits || option_set_error(a, is_time ? "out of range; give 1s to 36525d"
						   : "too small; give 1KB or more");
}

static bool read_rotate(const struct option_text *a)
{
	struct rotate_limits first = {0}, second = {0};
	char text[64];
	char *comma;

	if (strlen(a->text) >= sizeof(text))
		return option_set_error(a, ROTATE_FAULT);
	strcpy(text, a->text);
	comma = strchr(text, ',');
	if (comma != NULL)
		*comma = '\0';
	if (!set_limit(a, text, &first) || (comma != NULL && !set_limit(a, comma + 1, &second)))
		return false;
	if ((first.period != 0 && second.period != 0) || (first.size != 0 && second.size != 0))
		return option_set_error(a, "two limits of one kind; examples: 1h, 1GB or 1h,1GB");
	first.period += second.period;
	first.size += second.size;
	*(struct rotate_limits *)a->field = first;
	return true;
}

static const char *skip_nothing(const char *path, bool at_start)
{
	for (;;) {
		if (at_start && path[0] == '.' && path[1] == '/')
			path += 2;
		else if (at_start && path[0] == '/')
			path++;
		else
			return path;
	}
}

/* Ignores "./" and repeated slashes. Does not follow links or "..". */
static bool same_path(const char *a, const char *b)
{
	bool at_start = false;

	if ((*a == '/') != (*b == '/'))
		return false;
	a = skip_nothing(a, true);
	b = skip_nothing(b, true);
	while (*a == *b) {
		if (*a == '\0')
			return true;
		at_start = *a == '/';
		a = skip_nothing(a + 1, at_start);
		b = skip_nothing(b + 1, at_start);
	}
	return false;
}

#define FORMAT_CHOICE(name, word) [FORMAT_##name] = #word,

OPTION_WORDS_OF(
	format_word, [FORMAT_AUTO] = "auto", ROW_FORMATS(FORMAT_CHOICE)[FORMAT_TABLE] = "table")

#define FORMAT_NAMED(name, word) ", " #word
static const char file_formats[] = ROW_FORMATS(FORMAT_NAMED);

/* Returns true if the name begins with a mistyped format, such as table:x, JSON:x or jsonl:x. */
static bool begins_as_format(const char *name)
{
	const char *word;
	size_t len = 0;

	while (isalpha((unsigned char)name[len]))
		len++;
	for (uint32_t i = 0; name[len] == ':' && (word = format_word(i)) != NULL; i++) {
		size_t n = strlen(word);

		if (len >= n && len <= n + NEAR_LETTERS &&
			(strncasecmp(name, word, n) == 0 ||
				strncasecmp(name + len - n, word, n) == 0))
			return true;
	}
	return false;
}

__attribute__((format(printf, 4, 5))) static bool set_fault(struct option_fault *fault,
	const struct requested_sink *requested, const char *key, const char *format, ...)
{
	char why[sizeof(fault->why)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	option_fault(fault, requested->section != NULL ? key : outputs[requested->kind]->row->name,
		NULL, "%s", why);
	fault->named = requested->section;
	return false;
}

static bool check_sink(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	/* must stay valid: fault->option points to it */
	static _Thread_local char key[SINK_KEY_MAX];
	struct sink_request request = sink_config_request(config, requested);
	char why[SINK_ERROR_MAX], shown[SINK_SHOWN_MAX];

	*key = '\0';
	request.key = key;
	if (sink_check(&request, why))
		return true;
	if (*key != '\0')
		return set_fault(fault, requested, key, "%s", why);
	sink_hide(requested->text, shown);
	return set_fault(fault, requested, "url", "'%s': %s", shown, why);
}

/* Returns true if no sink that was requested before writes to the same file. */
static bool check_alone(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	struct sink_config_iter each = {0};

	while (sink_config_next(config, &each) && each.requested.text != requested->text)
		if (same_path(each.requested.to.name, requested->to.name))
			return set_fault(fault, requested, "url",
				"'%.200s': %s writes to it; name another file", requested->to.name,
				each.requested.label);
	return true;
}

static bool check_file(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	const char *name = requested->to.name, *text = requested->text, *form = sink_meant(name);

	if (requested->to.format == FORMAT_AUTO && begins_as_format(name))
		return set_fault(fault, requested, "url",
			"'%.100s': unknown format; formats: %s (--format table for a table); "
			"a file of this name is ./%.100s",
			name, file_formats + 2, name);
	if (form != NULL)
		return set_fault(fault, requested, "url",
			"'%.100s': not a URL; write %s; a file of this name is ./%.100s", name,
			form, name);
	if (*name == '\0')
		return set_fault(fault, requested, "url",
			"'%.200s': no file name; write %.200sFILE, or %.200s- for standard output",
			text, text, text);
	return strcmp(name, "/dev/null") == 0 || check_alone(config, requested, fault);
}

static bool is_supported(const struct config_row *key, const struct sink_url *url)
{
	const char *name = key->row->name;

	if (key->owner != &sink_owner)
		return url->type != NULL && key->owner == url->type->keys &&
		       (url->scheme->lacks == NULL || strcmp(url->scheme->lacks, name) != 0);
	if (strcmp(name, "spool") == 0)
		return url->type != NULL &&
		       (url->type->bring != NULL || url->type->missing != NULL);
	if (strcmp(name, "require") == 0)
		return url->type != NULL &&
		       (url->type->open != NULL || url->type->missing != NULL) &&
		       (url->scheme->lacks == NULL || strcmp(url->scheme->lacks, name) != 0);
	return true;
}

/*
 * If the key is a group of properties, such as kafka.NAME, returns the first property in the
 * section.
 */
static const char *key_as_written(
	const struct requested_sink *requested, const struct config_row *key)
{
	/* must stay valid: fault->option points to it */
	static _Thread_local char property[SINK_KEY_MAX];
	const struct option_properties *properties;
	const char *first;

	if (key->row->type != OPTION_PROPERTIES)
		return key->row->name;
	properties =
		(const void *)((const char *)config_named_block(requested->section, key->owner) +
			       key->row->offset);
	first = properties->texts[0];
	snprintf(property, sizeof(property), "%s.%.*s", key->row->name, (int)strcspn(first, "="),
		first);
	return property;
}

static bool check_keys(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	const struct sink_url url = sink_url_of(requested->to.name);
	char shown[SINK_SHOWN_MAX];
	struct config_row key;

	sink_hide(requested->text, shown);
	for (uint32_t k = 0; (key = config_named_key(config, requested->section, k)).row != NULL;
		k++)
		if (!is_supported(&key, &url))
			return set_fault(fault, requested, key_as_written(requested, &key),
				strcmp(key.row->name, "require") != 0
					? "has no effect on '%s'; omit it"
					: "'%s': cannot be tested at the start; omit it",
				shown);
	return true;
}

static void folder_of(const struct spool_options *spool, char folder[PATH_MAX])
{
	uint32_t len = spool->folder_len;

	while (len > 1 && spool->text[len - 1] == '/')
		len--;
	snprintf(folder, PATH_MAX, "%.*s", (int)len, spool->text);
}

static bool same_folder(const struct spool_options *a, const struct spool_options *b)
{
	char one[PATH_MAX], other[PATH_MAX];

	if (a->text == NULL || b->text == NULL)
		return false;
	folder_of(a, one);
	folder_of(b, other);
	return same_path(one, other);
}

static bool check_spool(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	const struct sink_options *options = requested->options;

	for (const struct config_named *other = config->named; other < requested->section; other++)
		if (is_export(other) && same_folder(&options_of(other)->spool, &options->spool))
			return set_fault(fault, requested, "spool",
				"'%.200s': %s uses it; name another folder", options->spool.text,
				other->title);
	return true;
}

static bool check_kind(const struct config *config, const struct requested_sink *requested,
	struct option_fault *fault)
{
	const struct config_row *row = options_find(config, outputs[requested->kind]->row->name);
	const char *reason = NULL;

	if (row == NULL)
		return set_fault(fault, requested, "what", "'%s': sketchtap %s has no such rows",
			outputs[requested->kind]->what, config->command->name);
	if (row->row->inapplicable != NULL)
		reason = row->row->inapplicable(config, NULL);
	return reason == NULL ||
	       set_fault(fault, requested, "what", "'%s' has no effect %s; omit it",
		       outputs[requested->kind]->what, reason);
}

/* Files do not support names = goflow2, because --append could not read their rows. */
static bool check_names(const struct requested_sink *requested, const struct sink_options *options,
	struct option_fault *fault)
{
	if (options->names != COLUMN_NAMES_GOFLOW2)
		return true;
	if (outputs[requested->kind]->goflow2 == NULL)
		return set_fault(fault, requested, "names",
			"'goflow2' names only columns of flow records; "
			"write what = flows");
	return sink_is_url(requested->to.name) ||
	       set_fault(fault, requested, "names", "'goflow2' is for URLs, not for files");
}

static bool check_section(
	const struct config *config, const struct config_named *section, struct option_fault *fault)
{
	static const char *const needed[][2] = {{"what", "ROWS"}, {"url", "URL"}};
	const struct sink_options *options = options_of(section);
	struct requested_sink requested = {
		.kind = options->kind, .text = options->url, .section = section};
	char shown[SINK_SHOWN_MAX];

	for (uint32_t k = 0; k < sizeof(needed) / sizeof(needed[0]); k++)
		if (config_named_line(config, section, needed[k][0]) == 0)
			return set_fault(fault, &requested, needed[k][0],
				"missing key; write %s = %s", needed[k][0], needed[k][1]);
	requested.to = destination_of(options->url);
	sink_hide(options->url, shown);
	if (requested.to.format != FORMAT_AUTO && options->format != FORMAT_AUTO)
		return set_fault(fault, &requested, "format",
			"'%s' contains a format; omit one of the two", shown);
	requested.options = options;
	return check_kind(config, &requested, fault) && check_keys(config, &requested, fault) &&
	       check_names(&requested, options, fault) && check_spool(config, &requested, fault);
}

static bool check_outputs(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	struct sink_config_iter each = {0};

	(void)measurement;
	for (uint32_t n = 0; n < config->nb_named; n++)
		if (is_export(&config->named[n]) &&
			!check_section(config, &config->named[n], fault))
			return false;
	while (sink_config_next(config, &each))
		if (sink_is_url(each.requested.to.name)
				? !check_sink(config, &each.requested, fault)
				: !check_file(config, &each.requested, fault))
			return false;
	return true;
}

bool writer_shows_table(const struct config *config, bool terminal)
{
	struct sink_config_iter each = {0};

	if (writer_options(config)->format != FORMAT_AUTO || !terminal)
		return writer_options(config)->format == FORMAT_TABLE;
	while (sink_config_next(config, &each))
		if (each.requested.kind == ROWS_HEAVY_HITTERS &&
			each.requested.to.format == FORMAT_AUTO &&
			standard_files_is_output(each.requested.to.name))
			return true;
	return false;
}

bool writer_to_stdout(const struct config *config, enum row_kind kind)
{
	struct sink_config_iter each = {0};

	while (sink_config_next(config, &each))
		if (each.requested.kind == kind &&
			!standard_files_is_output(each.requested.to.name))
			return false;
	return true;
}

bool writer_names_files(const struct config *config)
{
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!writer_to_stdout(config, kind))
			return true;
	return false;
}

static const char *inapplicable_without_file(
	const struct config *config, const struct measurement_config *measurement)
{
	struct sink_config_iter each = {0};
	bool url = false;

	(void)measurement;
	while (sink_config_next(config, &each)) {
		if (!standard_files_is_output(each.requested.to.name) &&
			!sink_is_url(each.requested.to.name))
			return NULL;
		url |= sink_is_url(each.requested.to.name);
	}
	return url ? "on URLs, only on a file such as --output FILE"
		   : option_inapplicable_without_file(NULL);
}

static const struct option_row file_rows[] = {
	{
		.name = "export",
		.placeholder = "KIND=FILE|URL",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_PARTS,
		.rare = true,
		.help = "Write rows of another KIND to FILE or URL, as CSV. - is standard output. "
			"Kinds that also have an option: heavy-hitters (--output), stats, flows, "
			"exporters. Repeatable. URLs:",
		.word = sink_form,
		.alias = sink_form_note,
	},
	{
		.name = "format",
		.placeholder = "FORMAT",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_CHOICE,
		.word = format_word,
		OPTION_FIELD(writer_options, format),
		.default_text = "auto",
		.help = "Select the format of heavy hitters. csv, json, table, or auto: a table "
			"on a terminal, else CSV. For doctor: csv or table.",
	},
	{
		.name = "append",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.inapplicable = inapplicable_without_file,
		OPTION_FIELD(writer_options, append),
		.set = "existing",
		.rare = true,
		.help = "Append to existing output files, after their last interval.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.inapplicable = inapplicable_without_file,
		OPTION_FIELD(writer_options, force),
		.set = "existing",
		.help = "Overwrite existing output files.",
	},
	{
		.name = "rotate",
		.placeholder = "TIME|SIZE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_OWN,
		.inapplicable = inapplicable_without_file,
		.read = read_rotate,
		OPTION_FIELD(writer_options, rotate),
		.max = OPTION_CENTURY,
		.default_note = "one file each",
		.rare = true,
		.help = "Start new output files at each multiple of TIME in UTC, before a file "
			"exceeds SIZE, or both: 1h,1GB. A complete stats.csv is renamed to "
			"stats-20261120T170000Z.csv; the time is the start of its first interval.",
		.man = "An existing file is never overwritten. An interval is never split, nor "
		       "are up to 65536 records of --flows that are written together.",
	},
	{0},
};

/* The file of templates is replaced as a whole, so no output may write to it. */
static bool check_templates(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	const char *file = collect_options(config)->templates;
	struct sink_config_iter each = {0};

	(void)measurement;
	while (file != NULL && sink_config_next(config, &each))
		if (same_path(each.requested.to.name, file))
			return option_fault(fault, "templates", NULL,
				"'%.200s': %s writes to it; name another file", file,
				each.requested.label);
	return true;
}

/* Columns named like those of GoFlow2 need the bytes of IP packets. */
static uint32_t needs_of_outputs(const struct config *config)
{
	struct sink_config_iter each = {0};
	uint32_t needs = 0;

	while (sink_config_next(config, &each)) {
		const struct sink_type *type = sink_url_of(each.requested.to.name).type;

		if (type != NULL)
			needs |= type->needs;
		if (each.requested.options->names == COLUMN_NAMES_GOFLOW2)
			needs |= OPTION_NEED_IP_BYTES;
	}
	return needs;
}

static const struct option_owner file_owner = {
	.rows = file_rows,
	.size = sizeof(struct writer_options),
	.fills = &writer_owner,
};

#define KIND_OWNER(name, word)                                                                     \
	[ROWS_##name] = {.rows = output_##word.row,                                                \
		.size = sizeof(struct writer_options),                                             \
		.fills = &writer_owner},
static const struct option_owner kind_owners[ROW_KINDS] = {ROW_KIND_NAMES(KIND_OWNER)};
_Static_assert(offsetof(struct writer_options, rows) == 0, "OUTPUT_DESTINATIONS() expects it");

static const struct option_owner *part_of_writer(uint32_t i)
{
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!outputs[kind]->collected && i-- == 0)
			return &kind_owners[kind];
	return i == 0 ? &file_owner : NULL;
}

static const struct option_owner *part_of_collected(uint32_t i)
{
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (outputs[kind]->collected && i-- == 0)
			return &kind_owners[kind];
	return NULL;
}

const struct option_owner collected_writer_owner = {
	.size = sizeof(struct writer_options),
	.fills = &writer_owner,
	.part = part_of_collected,
	.check = check_templates,
};

const struct option_owner writer_owner = {
	.size = sizeof(struct writer_options),
	.part = part_of_writer,
	.needs = needs_of_outputs,
	.check = check_outputs,
};

static const char *what_word(uint32_t i)
{
	return i < ROW_KINDS ? outputs[i]->what : NULL;
}

static const char *what_former(uint32_t i)
{
	return output_word(i);
}

OPTION_WORDS_OF(row_format_word, [FORMAT_AUTO] = "auto", ROW_FORMATS(FORMAT_CHOICE))

#define QUEUE_MIN (1 << 12)
#define SPOOL_MIN (1 << 20)

static bool read_spool(const struct option_text *a)
{
	struct spool_options spool = {.text = a->text};
	const char *comma = strrchr(a->text, ',');

	if (comma == NULL || comma == a->text || units_size(comma + 1, &spool.size) != NULL)
		return option_set_error(
			a, "not FOLDER,SIZE; example: /var/lib/sketchtap/NAME/heavy,1GB");
	if (spool.size < SPOOL_MIN)
		return option_set_error(a, "too small; give 1MB or more");
	spool.folder_len = (uint32_t)(comma - a->text);
	*(struct spool_options *)a->field = spool;
	return true;
}

static const struct option_row rows_of_sink[] = {
	{
		.name = "what",
		.placeholder = "KIND",
		.type = OPTION_CHOICE,
		.word = what_word,
		OPTION_FIELD(sink_options, kind),
		.former_word = what_former,
		.help = "Select the kind of rows:",
	},
	{
		.name = "url",
		.placeholder = "URL",
		.type = OPTION_STRING,
		OPTION_FIELD(sink_options, url),
		.help = "Write the rows to FILE, FORMAT:FILE or a URL, like --output.",
	},
	{
		.name = "format",
		.placeholder = "FORMAT",
		.type = OPTION_CHOICE,
		.word = row_format_word,
		OPTION_FIELD(sink_options, format),
		.help = "Select the format of the rows:",
	},
	{
		.name = "names",
		.placeholder = "NAMES",
		.type = OPTION_CHOICE,
		.word = column_names_word,
		OPTION_FIELD(sink_options, names),
		.help = "Select the names of the columns:",
	},
	{
		.name = "queue",
		.placeholder = "SIZE",
		.type = OPTION_SIZE,
		.min = QUEUE_MIN,
		OPTION_FIELD(sink_options, queue),
		.default_note = "64MB, and more for records",
		.help = "Limit the memory of intervals that wait for this export. One interval "
			"may wait whatever its size.",
	},
	{
		.name = "require",
		.placeholder = "yes|no",
		.type = OPTION_FLAG,
		OPTION_FIELD(sink_options, require),
		.help = "Exit with status 1 if no receiver is reachable at the start.",
	},
	{
		.name = "spool",
		.placeholder = "FOLDER,SIZE",
		.type = OPTION_OWN,
		.read = read_spool,
		OPTION_FIELD(sink_options, spool),
		.help = "Keep rows in FOLDER, up to SIZE, until the receiver accepts them, even "
			"after the end of the run.",
	},
	{0},
};

static const struct option_owner *keys_of_type(uint32_t i)
{
	for (const struct sink_type *const *type = sink_types; *type != NULL; type++)
		if ((*type)->keys != NULL && i-- == 0)
			return (*type)->keys;
	return NULL;
}

const struct option_owner sink_owner = {
	.rows = rows_of_sink,
	.size = sizeof(struct sink_options),
	.section = "export",
	.sections_max = 32,
	.part = keys_of_type,
};
