/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/standard_files.h"
#include "base/units.h"
#include "collect/options.h"
#include "kernel/options.h"
#include "parallel/keep_up.h"
#include "report/outlet/writer.h"
#include "rx/packet/monitor.h"
#include "rx/port/forwarding.h"
#include "rx/port/name.h"
#include "sketch/measurement.h"

#define NEAR_LETTERS 2 /* that a word has beside those of the format that was meant */

#define ROTATE_SIZE_MIN 1024
#define ROTATE_TIME_MIN UINT64_C(1000000000) /* files are named by the second */

/* One of the two limits, which a value may name once each. */
static bool set_limit(const struct option_text *a, const char *text, struct rotate_limits *limits)
{
	bool is_time = units_time(text, &limits->period) == NULL, fits;

	if (!is_time && units_size(text, &limits->size) != NULL)
		return option_refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	fits = is_time ? limits->period >= ROTATE_TIME_MIN && limits->period <= a->row->max
		       : limits->size >= ROTATE_SIZE_MIN;
	return fits || option_refuse(a, is_time ? "is out of range; give 1s to 36525d"
						: "is too small; give 1KB or more");
}

static bool read_rotate(const struct option_text *a)
{
	struct rotate_limits first = {0}, second = {0};
	char text[64];
	char *comma;

	if (strlen(a->text) >= sizeof(text))
		return option_refuse(a, "is neither a time nor a size; write 1h, 1GB or 1h,1GB");
	strcpy(text, a->text);
	comma = strchr(text, ',');
	if (comma != NULL)
		*comma = '\0';
	if (!set_limit(a, text, &first) || (comma != NULL && !set_limit(a, comma + 1, &second)))
		return false;
	if ((first.period != 0 && second.period != 0) || (first.size != 0 && second.size != 0))
		return option_refuse(a, "names two of a kind; write 1h, 1GB or 1h,1GB");
	first.period += second.period;
	first.size += second.size;
	*(struct rotate_limits *)a->field = first;
	return true;
}

/* The next byte of a path in which "./" and repeated slashes are skipped. */
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

/* Whether two texts name one file, as far as texts can tell. */
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

static const char *option_of_rows(enum row_kind kind);

#define FORMAT_CHOICE(name, word) [FORMAT_##name] = #word,

OPTION_WORDS_OF(
	format_word, [FORMAT_AUTO] = "auto", ROW_FORMATS(FORMAT_CHOICE)[FORMAT_TABLE] = "table")

#define FORMAT_NAMED(name, word) ", " #word
static const char file_formats[] = ROW_FORMATS(FORMAT_NAMED);

/* Whether a name begins with what was meant for a format: table:x, JSON:x, jsonl:x, ndjson:x. */
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

/* Goes over the destinations of all kinds; kind and i are 0 at first. */
static const char *next_destination(const struct config *config, enum row_kind *kind, uint32_t *i)
{
	while (*kind < ROW_KINDS && *i == writer_options(config)->rows[*kind].n) {
		(*kind)++;
		*i = 0;
	}
	return *kind < ROW_KINDS ? writer_options(config)->rows[*kind].texts[(*i)++] : NULL;
}

static bool check_output(const struct config *config, enum row_kind kind, const char *text,
	struct option_fault *fault)
{
	const struct destination to = destination_of(text);
	const char *name = to.name, *option = option_of_rows(kind), *other;
	enum row_kind k = 0;
	uint32_t i = 0;

	if (to.format == FORMAT_AUTO && begins_as_format(name))
		return option_fault(fault, option, NULL,
			"'%.100s' looks like a format that is none; allowed: %s (a table "
			"is --format table); a file that is called so is ./%.100s",
			name, file_formats + 2, name);
	if (*name == '\0')
		return option_fault(fault, option, NULL,
			"'%.200s' names no file; give %.200sFILE, or %.200s- for standard output",
			text, text, text);
	if (strcmp(name, "/dev/null") == 0)
		return true;
	while ((other = next_destination(config, &k, &i)) != text)
		if (same_path(destination_of(other).name, name))
			return option_fault(fault, option, NULL,
				"'%.200s' is where --%s goes; give another file", name,
				option_of_rows(k));
	return true;
}

static bool check_outputs(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	enum row_kind kind = 0;
	uint32_t i = 0;

	(void)measurement;
	for (const char *text; (text = next_destination(config, &kind, &i)) != NULL;)
		if (!check_output(config, kind, text, fault))
			return false;
	return true;
}

bool writer_shows_table(const struct config *config, bool terminal)
{
	const struct option_list *to = &writer_options(config)->rows[ROWS_HEAVY_HITTERS];

	if (writer_options(config)->format != FORMAT_AUTO || !terminal)
		return writer_options(config)->format == FORMAT_TABLE;
	for (uint32_t i = 0; i < to->n; i++) {
		const struct destination destination = destination_of(to->texts[i]);

		if (destination.format == FORMAT_AUTO && standard_files_is_output(destination.name))
			return true;
	}
	return false;
}

bool writer_to_stdout(const struct config *config, enum row_kind kind)
{
	for (uint32_t i = 0; i < writer_options(config)->rows[kind].n; i++)
		if (!standard_files_is_output(
			    destination_of(writer_options(config)->rows[kind].texts[i]).name))
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

static const char *lacks_file(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return writer_names_files(config) ? NULL : option_lacks_file(NULL);
}

static const char *lacks_forced(
	const struct config *config, const struct measurement_config *measurement)
{
	return config_asks(config, NULL, "profile") ? NULL : lacks_file(config, measurement);
}

static const char *lacks_records(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return measurements_any(config, SKETCH_RECORDS) ? NULL : "without --sketch flow-table";
}

static const char *lacks_keep_up(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return keep_up_options(config)->keep_up != KEEP_UP_OFF ? NULL : "without --keep-up";
}

static const struct option_row writer_rows[] = {
	{
		.name = "output",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_HEAVY_HITTERS]),
		.default_text = "-",
		.help = "Where the heavy hitters go; - is standard output. json:FILE (or json:-) "
			"gets JSON lines in place of CSV; a file that is called so is "
			"./json:FILE. Repeatable, for several destinations, as are --stats, "
			"--queues, --rules, --flows, --states, --deliveries and --forwarded.",
	},
	{
		.name = "stats",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_STATS]),
		.default_note = "not written",
		.help = "Where the account of each interval's packets goes, as CSV; - is "
			"standard output.",
	},
	{
		.name = "queues",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.rare = true,
		OPTION_FIELD(writer_options, rows[ROWS_QUEUES]),
		.default_note = "not written",
		.help = "Where it goes how each interval's packets were spread over workers and "
			"queues, as CSV; - is standard output.",
	},
	{
		.name = "rules",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = monitor_option_lacks,
		OPTION_FIELD(writer_options, rows[ROWS_RULES]),
		.default_note = "not written",
		.help = "Where the packets, bytes and flows of every rule of --monitor go, as CSV; "
			"- is standard output.",
	},
	{
		.name = "flows",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = lacks_records,
		OPTION_FIELD(writer_options, rows[ROWS_FLOWS]),
		.default_note = "not written",
		.help = "Where every record of every flow-table goes, as CSV, within seconds after "
			"it ended: by --idle-timeout, or with the interval; - is standard output.",
	},
	{
		.name = "states",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = lacks_keep_up,
		OPTION_FIELD(writer_options, rows[ROWS_STATES]),
		.default_note = "not written",
		.help = "Where it goes what --keep-up gave up, when and why, as CSV; - is standard "
			"output.",
	},
	{
		.name = "deliveries",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_DELIVERIES]),
		.default_note = "not written",
		.help = "Where it goes what became of each interval's rows at each place that they "
			"go to, as CSV; - is standard output.",
	},
	{
		.name = "forwarded",
		.rare = true,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		.lacks = forward_option_lacks,
		OPTION_FIELD(writer_options, rows[ROWS_FORWARDED]),
		.default_note = "not written",
		.help = "Where it goes what --forward sent of each interval's packets, what it did "
			"not and why, and how long packets took, as CSV; - is standard output.",
	},
	{
		.name = "format",
		.placeholder = "FORMAT",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_CHOICE,
		.word = format_word,
		OPTION_FIELD(writer_options, format),
		.default_text = "auto",
		.help = "Of the heavy hitters: csv, json, table (for people), or auto (a table "
			"where standard output is a terminal, of a port one that is drawn again "
			"and again; else CSV). Of what doctor finds: csv, or a table.",
	},
	{
		.name = "append",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.lacks = lacks_file,
		OPTION_FIELD(writer_options, append),
		.set = "existing",
		.help = "Go on after the last interval of output files that exist. Without it "
			"and without --force such files are refused.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		.lacks = lacks_forced,
		OPTION_FIELD(writer_options, force),
		.set = "existing",
		.help = "Replace output files that exist, or take the --profile of another host.",
	},
	{
		.name = "rotate",
		.placeholder = "TIME|SIZE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_OWN,
		.lacks = lacks_file,
		.read = read_rotate,
		OPTION_FIELD(writer_options, rotate),
		.max = OPTION_CENTURY,
		.default_note = "one file each",
		.help = "Begin new output files at each multiple of a time in UTC (1h), or before "
			"one grows beyond a size (1GB), or both (1h,1GB); what is written at once, "
			"an interval or 65536 records of --flows, is in one file even so. "
			"stats.csv is renamed to stats-20261120T170000Z.csv, by the second in "
			"which its first interval starts, and never over a file that exists.",
	},
	{0},
};

static const char *lacks_collector(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return collect_asked(config) ? NULL : "without --listen";
}

/* The file of templates is replaced as a whole: nothing else may lie there. */
static bool check_templates(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	const char *file = collect_options(config)->templates;
	enum row_kind kind = 0;
	uint32_t i = 0;

	(void)measurement;
	for (const char *text;
		file != NULL && (text = next_destination(config, &kind, &i)) != NULL;)
		if (same_path(destination_of(text).name, file))
			return option_fault(fault, "templates", NULL,
				"'%.200s' is where --%s goes; give another file", file,
				option_of_rows(kind));
	return true;
}

static const struct option_row collected_rows[] = {
	{
		.name = "exporters",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_EXPORTERS]),
		.default_note = "not written",
		.help = "Where the account of each exporter's datagrams and records goes, as CSV: "
			"what was counted, lost, waits or could not be read; - is standard output.",
	},
	{
		.name = "paths",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_PATHS]),
		.default_note = "not written",
		.help = "Where the path of each flow through the exporters goes, as CSV; - is "
			"standard output.",
	},
	{
		.name = "links",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_LIST,
		OPTION_FIELD(writer_options, rows[ROWS_LINKS]),
		.default_note = "not written",
		.help = "Where the load of each exporter's interfaces goes, by records and by the "
			"interfaces' own counters, as CSV; - is standard output.",
	},
	{0},
};

const struct option_owner collected_writer_owner = {
	.rows = collected_rows,
	.size = sizeof(struct writer_options),
	.fills = &writer_owner,
	.check = check_templates,
};

const struct option_owner writer_owner = {
	.rows = writer_rows,
	.size = sizeof(struct writer_options),
	.check = check_outputs,
};

static const char *option_of_rows(enum row_kind kind)
{
	const struct option_row *row = kind < ROWS_EXPORTERS ? writer_rows : collected_rows;

	while (row->offset != offsetof(struct writer_options, rows[kind]))
		row++;
	return row->name;
}
