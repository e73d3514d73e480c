/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/journal.h"
#include "base/printable.h"
#include "base/standard_files.h"
#include "config/config_file.h"
#include "config/option_value.h"
#include "config/options.h"

static const _Alignas(16) unsigned char zeros[CONFIG_BLOCK_BYTES / 2];

static const struct option_owner *block_of(const struct option_owner *owner)
{
	return owner->fills != NULL ? owner->fills : owner;
}

static const struct option_source *find_source(
	const struct option_source *sources, uint32_t n, const struct option_owner *owner)
{
	for (uint32_t i = 0; i < n; i++)
		if (sources[i].owner == block_of(owner))
			return &sources[i];
	return NULL;
}

static uint32_t rounded(size_t size)
{
	return (uint32_t)(size + 15) & ~15u;
}

static const struct option_source *add_source(struct option_source *sources, uint32_t *n,
	uint32_t *used, uint32_t room, const struct option_owner *owner)
{
	uint32_t size = rounded(block_of(owner)->size);

	assert(size <= sizeof(zeros) && *used + size <= room);
	sources[*n] = (struct option_source){block_of(owner), *used};
	*used += size;
	return &sources[(*n)++];
}

const void *config_block(const struct config *config, const struct option_owner *owner)
{
	const struct option_source *source =
		find_source(config->sources, config->nb_sources, owner);

	return source != NULL ? config->storage + source->offset : zeros;
}

void *config_edit(struct config *config, const struct option_owner *owner)
{
	const struct option_source *source =
		find_source(config->sources, config->nb_sources, owner);

	assert(source != NULL || config->nb_sources < CONFIG_BLOCKS_MAX);
	if (source == NULL)
		source = add_source(config->sources, &config->nb_sources, &config->used,
			CONFIG_BLOCK_BYTES, owner);
	return config->storage + source->offset;
}

const void *measurement_block(
	const struct measurement_config *measurement, const struct option_owner *owner)
{
	const struct option_source *source =
		find_source(measurement->sources, measurement->nb_sources, owner);

	return source != NULL ? measurement->storage + source->offset : zeros;
}

void *measurement_edit(struct measurement_config *measurement, const struct option_owner *owner)
{
	const struct option_source *source =
		find_source(measurement->sources, measurement->nb_sources, owner);

	assert(source != NULL || measurement->nb_sources < MEASUREMENT_BLOCKS_MAX);
	if (source == NULL)
		source = add_source(measurement->sources, &measurement->nb_sources,
			&measurement->used, MEASUREMENT_BLOCK_BYTES, owner);
	return measurement->storage + source->offset;
}

static void *named_block(struct config_named *named, const struct option_owner *owner)
{
	const struct option_owner *of = named->owner;
	uint32_t offset = 0;

	for (uint32_t part = 0; of != NULL && of != owner; part++) {
		offset += rounded(of->size);
		of = named->owner->part != NULL ? named->owner->part(part) : NULL;
	}
	assert(of != NULL && offset + of->size <= sizeof(named->storage));
	return named->storage + offset;
}

const void *config_named_block(const struct config_named *named, const struct option_owner *owner)
{
	return named_block((struct config_named *)(uintptr_t)named, owner);
}

static const struct option_row own_rows[] = {
	{
		.name = "config",
		.placeholder = "FILE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.help = "Read options from FILE. The command line takes precedence.",
	},
	{
		.name = CONFIG_SET,
		.placeholder = "KEY=VALUE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.rare = true,
		.help = "Set a key of the configuration file. KEY is that of the whole run, "
			"measurement.NAME.KEY, or export.NAME.KEY of a section in the file. "
			"Repeatable.",
		.man = "Any option is a key. --set takes precedence over the file. If --set and "
		       "the option of the same name are both given, the last one applies.",
	},
	{
		.name = "help",
		.letter = 'h',
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.help = "Print the usual options. --help all: print all.",
	},
	{
		.name = "version",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.rare = true,
		.help = "Print the version.",
	},
	{0},
};

static const struct option_owner config_owner = {.rows = own_rows};

static struct config_row *row_of_name(struct config *config, const char *name)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (strcmp(config->rows[i].row->name, name) == 0)
			return &config->rows[i];
	return NULL;
}

static void add_owner(struct config *config, const struct option_owner *owner)
{
	if (owner->section != NULL) {
		assert(config->nb_kinds < CONFIG_KINDS_MAX);
		config->kinds[config->nb_kinds++] = owner;
		return;
	}
	if (owner->of_measurement)
		measurement_edit(&config->common, owner);
	else
		config_edit(config, owner);
	for (const struct option_row *row = owner->rows; row != NULL && row->name != NULL; row++) {
		struct config_row *same =
			row->selects != NULL ? row_of_name(config, row->name) : NULL;

		if (same != NULL) {
			VERIFY(same->row->offset, ==, row->offset);
			VERIFY(same->also, ==, NULL);
			same->also = row->selects;
			continue;
		}
		assert(config->nb_rows < CONFIG_ROWS_MAX);
		VERIFY(row->selects != NULL && owner->of_measurement, ==, false);
		VERIFY(row->assumed && row->selects == NULL, ==, false);
		VERIFY(row->instead != NULL && row->not_for == 0, ==, false);
		config->rows[config->nb_rows++] = (struct config_row){.row = row, .owner = owner};
	}
	for (uint32_t i = 0; owner->part != NULL && owner->part(i) != NULL; i++)
		add_owner(config, owner->part(i));
}

void config_init(struct config *config, const struct command *command)
{
	*config = (struct config){.command = command};
	for (const struct option_owner *const *owner = command->owners; *owner != NULL; owner++)
		add_owner(config, *owner);
	add_owner(config, &config_owner);
}

bool config_measures(const struct config *config)
{
	return config->common.nb_sources > 0;
}

static const void *block_of_row(const struct config *config,
	const struct measurement_config *measurement, const struct config_row *row)
{
	return row->owner->of_measurement ? measurement_block(measurement, row->owner)
					  : config_block(config, row->owner);
}

static const struct option_origin *origin_of(const struct config *config,
	const struct measurement_config *measurement, const struct config_row *row)
{
	return &(measurement != NULL ? measurement->origins : config->origins)[row - config->rows];
}

static bool asks(const struct config *config, const struct measurement_config *measurement,
	const struct config_row *row)
{
	bool may_be_off = row->row->type == OPTION_FLAG || row->row->zero;

	return row->owner->of_measurement == (measurement != NULL) &&
	       origin_of(config, measurement, row)->level > OPTION_BY_DEFAULT &&
	       (!may_be_off || option_is_set(row->row, block_of_row(config, measurement, row)));
}

bool config_asks(const struct config *config, const struct measurement_config *measurement,
	const char *option)
{
	const struct config_row *row = options_find(config, option);

	return row != NULL && asks(config, measurement, row);
}

/* Returns true if the section has a choice with this key and word. */
static bool chooses(const struct config_named *section, const char *key, const char *word)
{
	for (const struct option_row *row = section->owner->rows; row->name != NULL; row++) {
		uint32_t value;

		if (row->type != OPTION_CHOICE || strcmp(row->name, key) != 0)
			continue;
		memcpy(&value, section->storage + row->offset, sizeof(value));
		return strcmp(row->word(value), word) == 0;
	}
	return false;
}

bool config_exports(const struct config *config, const char *kind)
{
	bool exports = config_asks(config, NULL, kind);

	for (uint32_t n = 0; n < config->nb_named; n++)
		exports |= strcmp(config->named[n].owner->section, "export") == 0 &&
			   chooses(&config->named[n], "what", kind);
	return exports;
}

static bool is_of_set(const struct config_row *row, const char *set)
{
	return row->row->set != NULL && strcmp(row->row->set, set) == 0;
}

/* Returns an option of the user that suits the source `one` but not `other`; NULL: none. */
static const char *preference(const struct config *config, const struct option_selected *one,
	const struct option_selected *other)
{
	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct option_row *row = config->rows[i].row;

		if ((row->not_for & other->is) != 0 && (row->not_for & one->is) == 0 &&
			asks(config, NULL, &config->rows[i]))
			return row->name;
	}
	return NULL;
}

const struct option_selected *config_selected(const struct config *config, const char **by)
{
	const struct option_selected *assumed = NULL;

	*by = NULL;
	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct config_row *row = &config->rows[i];
		const struct option_selected *selects = row->row->selects;

		if (selects == NULL)
			continue;
		if (row->row->assumed)
			assumed = selects;
		if (!option_is_set(row->row, block_of_row(config, NULL, row)))
			continue;
		*by = row->also != NULL ? preference(config, row->also, selects) : NULL;
		if (*by != NULL)
			return row->also;
		*by = row->row->name;
		return selects;
	}
	return assumed;
}

static const void *field_of(const struct config *config, const struct config_row *row)
{
	return (const char *)config_block(config, row->owner) + row->row->offset;
}

uint32_t config_needs(const struct config *config)
{
	uint32_t needs = 0;

	for (uint32_t i = 0; i < config->nb_sources; i++)
		if (config->sources[i].owner->needs != NULL)
			needs |= config->sources[i].owner->needs(config);
	return needs;
}

void config_name_selectable(const struct config *config, char *text, size_t size)
{
	const struct option_row *of_set[CONFIG_ROWS_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->selects != NULL)
			of_set[n++] = config->rows[i].row;
	text[0] = '\0';
	for (uint32_t i = 0; i < n; i++) {
		size_t used = strlen(text);

		snprintf(text + used, size - used, "%s--%s %.*s",
			i == 0       ? ""
			: i + 1 == n ? " or "
				     : ", ",
			of_set[i]->name, (int)strcspn(of_set[i]->placeholder, "["),
			of_set[i]->placeholder);
	}
}

bool option_fault(struct option_fault *fault, const char *option,
	const struct measurement_config *measurement, const char *format, ...)
{
	va_list arguments;

	fault->option = option;
	fault->measurement = measurement;
	fault->named = NULL;
	va_start(arguments, format);
	vsnprintf(fault->why, sizeof(fault->why), format, arguments);
	va_end(arguments);
	return false;
}

/* measurement: NULL for options of the run. */
struct option_target {
	struct config *config;
	struct measurement_config *measurement;
	char *error;
};

/* A key of the file and an option of `sketchtap ctl measure` have no dashes. */
static const char *dashes_of(const struct option_origin *origin)
{
	return origin->line > 0 || origin->level == OPTION_BY_CHANGE ? "" : "--";
}

#define NAME_ROOM 128

static void name_option(
	const struct option_row *row, const struct option_origin *origin, char name[NAME_ROOM])
{
	const char *dashes = dashes_of(origin), *as = origin->as;
	char part[64] = "";

	if (as == NULL && row->hidden && row->part_of != NULL)
		as = row->part_of;
	if (as == NULL)
		as = row->config_only && *dashes != '\0' ? CONFIG_SET : row->name;
	if (row->part_of != NULL && strcmp(as, row->part_of) == 0)
		option_part_name(row, part, sizeof(part));
	else if (strcmp(as, CONFIG_SET) == 0)
		snprintf(part, sizeof(part), "%s", row->name);
	snprintf(name, NAME_ROOM, "%s%s%s%s", dashes, as, *part != '\0' ? " " : "", part);
}

static bool set_row_error(const struct option_target *target, const struct option_row *row,
	const struct option_origin *origin, const char *why)
{
	char name[NAME_ROOM];

	name_option(row, origin, name);
	if (origin->line > 0)
		snprintf(target->error, CONFIG_ERROR_MAX, "%.300s:%u: %s: %s",
			target->config->file->path, origin->line, name, why);
	else
		snprintf(target->error, CONFIG_ERROR_MAX, "%s: %s", name, why);
	return false;
}

static void *field_block(const struct option_target *target, const struct config_row *row)
{
	return row->owner->of_measurement ? measurement_edit(target->measurement, row->owner)
					  : config_edit(target->config, row->owner);
}

static struct option_origin *origin_in(
	const struct option_target *target, const struct config_row *row)
{
	struct option_origin *origins =
		row->owner->of_measurement ? target->measurement->origins : target->config->origins;

	return &origins[row - target->config->rows];
}

/* An option replaces another of its set with a lower level. Two of one level are an error. */
static bool displace_rivals(const struct option_target *target, const struct config_row *row)
{
	const struct option_origin *origin = origin_in(target, row);

	for (uint32_t i = 0; i < target->config->nb_rows; i++) {
		const struct config_row *other = &target->config->rows[i];
		struct option_origin *rival;

		if (other == row || !is_of_set(other, row->row->set))
			continue;
		rival = origin_in(target, other);
		if (rival->level == OPTION_BY_NOBODY ||
			!option_is_set(other->row, field_block(target, other)))
			continue;
		if (rival->level == origin->level) {
			char why[OPTION_WHY_MAX], name[NAME_ROOM];

			name_option(other->row, rival, name);
			snprintf(why, sizeof(why), "contradicts %s; give one of the two", name);
			return set_row_error(target, row->row, origin, why);
		}
		option_clear(other->row, field_block(target, other));
		*rival = (struct option_origin){.level = OPTION_BY_NOBODY};
	}
	return true;
}

static bool give_one(const struct option_target *target, const struct config_row *row,
	const char *value, struct option_origin origin)
{
	struct option_origin *before = origin_in(target, row);
	void *block = field_block(target, row);
	char why[OPTION_WHY_MAX];

	if (before->level < origin.level)
		option_clear(row->row, block);
	*before = origin;
	if (!option_set(row->row, value, block, why))
		return set_row_error(target, row->row, &origin, why);
	if (row->row->set == NULL || !option_is_set(row->row, block))
		return true;
	return displace_rivals(target, row);
}

/* Resets the options that an earlier value contained, such as max=5 of --flow-detail rate,max=5. */
static bool reset_parts(const struct option_target *target, const struct config_row *row)
{
	const struct config_row *part = NULL;

	while ((part = option_next_part(target->config, row->row, part)) != NULL) {
		struct option_origin *before = origin_in(target, part);

		if (before->as == NULL || strcmp(before->as, row->row->name) != 0)
			continue;
		option_clear(part->row, field_block(target, part));
		*before = (struct option_origin){.level = OPTION_BY_NOBODY};
		if (part->row->default_text != NULL &&
			!give_one(target, part, part->row->default_text,
				(struct option_origin){.level = OPTION_BY_DEFAULT}))
			return false;
	}
	return true;
}

static bool give(const struct option_target *target, const struct config_row *row,
	const char *value, struct option_origin origin)
{
	struct option_piece pieces[OPTION_PIECES_MAX];
	char why[OPTION_WHY_MAX];
	int n = option_split(target->config, row, value, pieces, why);

	if (n < 0)
		return set_row_error(target, row->row, &origin, why);
	if (row->row->type != OPTION_PARTS && !reset_parts(target, row))
		return false;
	for (int i = 0; i < n; i++) {
		if (pieces[i].row != row)
			origin.as = row->row->name;
		if (!give_one(target, pieces[i].row, pieces[i].text, origin))
			return false;
	}
	return true;
}

static bool give_defaults(const struct option_target *target)
{
	const struct option_origin origin = {.level = OPTION_BY_DEFAULT};

	for (uint32_t i = 0; i < target->config->nb_rows; i++) {
		const struct config_row *row = &target->config->rows[i];

		if (row->row->default_text != NULL &&
			!give(target, row, row->row->default_text, origin))
			return false;
	}
	return true;
}

/* from_ctl: applies only settings of `sketchtap ctl measure`; false: only those of the file. */
static bool give_section(const struct option_target *target, uint32_t section, bool from_ctl)
{
	const struct config_file *file = target->config->file;
	enum option_level level = from_ctl      ? OPTION_BY_CHANGE
				  : section > 0 ? OPTION_BY_SECTION
						: OPTION_BY_FILE;

	for (uint32_t i = 0; i < file->nb_settings; i++) {
		const struct config_setting *setting = &file->settings[i];

		if (setting->section == section && (setting->line == 0) == from_ctl &&
			!give(target, options_find(target->config, setting->row.row->name),
				setting->value,
				(struct option_origin){level, setting->line, setting->as}))
			return false;
	}
	return true;
}

static struct measurement_config *add_measurement(struct config *config, const char *name)
{
	struct measurement_config *measurement = &config->measurements[config->nb_measurements++];

	VERIFY(config->nb_measurements, <=, CONFIG_MEASUREMENTS_MAX);
	*measurement = config->common;
	measurement->name = name;
	return measurement;
}

static bool make_measurements(struct option_target target)
{
	struct config *config = target.config;
	const struct config_file *file = config->file;

	if (!config_measures(config))
		return true;
	for (uint32_t i = 1; file != NULL && i < file->nb_sections; i++) {
		target.measurement = add_measurement(config, file->sections[i].name);
		if (!give_section(&target, i, false))
			return false;
	}
	if (config->nb_measurements == 0)
		add_measurement(config, "main");
	return true;
}

static bool give_named_defaults(struct config_named *named)
{
	struct config_row key;
	char why[OPTION_WHY_MAX];

	for (uint32_t i = 0; (key = options_key(named->owner, i)).row != NULL; i++)
		if (key.row->default_text != NULL && !option_set(key.row, key.row->default_text,
							     named_block(named, key.owner), why))
			return false;
	return true;
}

static bool is_set(const struct config_setting *setting)
{
	return setting->as != NULL && strcmp(setting->as, CONFIG_SET) == 0;
}

static bool set_setting_error(const struct option_target *target, const struct config_named *named,
	const struct config_setting *setting, const char *why)
{
	const char *key = setting->row.row->name;

	if (is_set(setting))
		snprintf(target->error, CONFIG_ERROR_MAX, "--" CONFIG_SET " %s.%s.%s: %s",
			named->owner->section, named->name, key, why);
	else
		snprintf(target->error, CONFIG_ERROR_MAX, "%.300s:%u: %s: %s",
			target->config->file->path, setting->line, key, why);
	return false;
}

static bool begin_named(const struct option_target *target, uint32_t n)
{
	const struct config_file *file = target->config->file;
	struct config_named *named = &target->config->named[n];

	*named = (struct config_named){.owner = file->named[n].owner,
		.name = file->named[n].name,
		.line = file->named[n].line};
	snprintf(named->title, sizeof(named->title), "[%s %s]", named->owner->section, named->name);
	return give_named_defaults(named);
}

static bool give_named(const struct option_target *target)
{
	const struct config_file *file = target->config->file;

	for (uint32_t i = 0; i < file->nb_settings; i++) {
		const struct config_setting *setting = &file->settings[i];
		struct config_named *named;
		char why[OPTION_WHY_MAX];

		if (setting->section < CONFIG_FIRST_NAMED)
			continue;
		named = &target->config->named[setting->section - CONFIG_FIRST_NAMED];
		if (!option_set(setting->row.row, setting->value,
			    named_block(named, setting->row.owner), why))
			return set_setting_error(target, named, setting, why);
	}
	return true;
}

static bool make_named(const struct option_target *target)
{
	struct config *config = target->config;

	if (config->file == NULL || config->file->nb_named == 0)
		return true;
	config->named = aligned_alloc(
		_Alignof(struct config_named), config->file->nb_named * sizeof(*config->named));
	if (config->named == NULL) {
		snprintf(target->error, CONFIG_ERROR_MAX, "%.300s: out of memory for sections",
			config->file->path);
		return false;
	}
	for (; config->nb_named < config->file->nb_named; config->nb_named++)
		if (!begin_named(target, config->nb_named))
			return false;
	return give_named(target);
}

struct config_row config_named_key(
	const struct config *config, const struct config_named *named, uint32_t i)
{
	const struct config_file *file = config->file;
	uint32_t section = CONFIG_FIRST_NAMED + (uint32_t)(named - config->named);

	for (uint32_t s = 0; file != NULL && s < file->nb_settings; s++)
		if (file->settings[s].section == section && i-- == 0)
			return file->settings[s].row;
	return (struct config_row){0};
}

static const struct config_setting *find_named_setting(
	const struct config *config, const struct config_named *named, const char *key)
{
	const struct config_file *file = config->file;
	uint32_t section = CONFIG_FIRST_NAMED + (uint32_t)(named - config->named);

	for (uint32_t i = 0; file != NULL && i < file->nb_settings; i++)
		if (file->settings[i].section == section &&
			config_setting_is(&file->settings[i], key))
			return &file->settings[i];
	return NULL;
}

uint32_t config_named_line(
	const struct config *config, const struct config_named *named, const char *key)
{
	const struct config_setting *setting = find_named_setting(config, named, key);

	return setting != NULL ? setting->line : 0;
}

static bool is_for(const struct option_row *row, const struct option_selected *selected)
{
	return selected != NULL && (selected->is & row->not_for) == 0;
}

/*
 * Writes "has no effect with --kernel" to `why`. If only one or two sources suit the option, writes
 * for example "has no effect without --listen or --pcap".
 */
static bool is_not_for_selected(
	const struct config *config, const struct option_row *row, char why[OPTION_WHY_MAX])
{
	bool one_property = (row->not_for & (row->not_for - 1)) == 0, without;
	const char *by, *assumed = NULL, *suitable[2] = {NULL, NULL};
	const struct option_selected *selected;
	uint32_t n = 0;

	if (row->not_for == 0)
		return false;
	selected = config_selected(config, &by);
	if (is_for(row, selected))
		return false;
	/* Backwards, because the usual source comes first in the table and should be named last. */
	for (uint32_t i = config->nb_rows; i-- > 0;) {
		const struct config_row *other = &config->rows[i];

		if (other->row->assumed)
			assumed = other->row->name;
		if (!is_for(row, other->row->selects) && !is_for(row, other->also))
			continue;
		if (n < 2)
			suitable[n] = other->row->name;
		n++;
	}
	without = !one_property && (n == 1 || n == 2);
	/* Without any source, command->check() reports the error. */
	if (selected == NULL && (!without || n > 1))
		return false;
	snprintf(why, OPTION_WHY_MAX, "has no effect %s --%s%s%s%s%s; omit it",
		without ? "without" : "with",
		without      ? suitable[0]
		: by != NULL ? by
			     : assumed,
		without && n == 2 ? " or --" : "", without && n == 2 ? suitable[1] : "",
		row->instead != NULL ? "; set " : "", row->instead != NULL ? row->instead : "");
	return true;
}

static bool check_effects(
	const struct option_target *target, const struct measurement_config *measurement)
{
	const struct config *config = target->config;

	for (uint32_t i = 0; i < config->nb_rows; i++) {
		const struct config_row *row = &config->rows[i];
		char why[OPTION_WHY_MAX];
		const char *reason;

		if (!asks(config, measurement, row))
			continue;
		if (is_not_for_selected(config, row->row, why))
			return set_row_error(
				target, row->row, origin_of(config, measurement, row), why);
		reason = row->row->inapplicable != NULL
				 ? row->row->inapplicable(config, measurement)
				 : NULL;
		if (reason == NULL)
			continue;
		snprintf(why, sizeof(why), "has no effect %s; omit it", reason);
		return set_row_error(target, row->row, origin_of(config, measurement, row), why);
	}
	return true;
}

/* Reports an error at the line of the key; without the key, at the line of the section. */
static bool set_named_error(const struct option_target *target, const struct option_fault *fault)
{
	const struct config_setting *setting =
		find_named_setting(target->config, fault->named, fault->option);

	if (setting != NULL && is_set(setting))
		return set_setting_error(target, fault->named, setting, fault->why);
	snprintf(target->error, CONFIG_ERROR_MAX, "%.300s:%u: %s: %s", target->config->file->path,
		setting != NULL ? setting->line : fault->named->line,
		setting != NULL ? fault->option : fault->named->title, fault->why);
	return false;
}

static bool set_fault_error(const struct option_target *target, const struct option_fault *fault)
{
	const struct config_row *row =
		fault->option != NULL ? options_find(target->config, fault->option) : NULL;

	if (fault->named != NULL)
		return set_named_error(target, fault);
	if (row != NULL)
		return set_row_error(target, row->row,
			origin_of(target->config, fault->measurement, row), fault->why);
	snprintf(target->error, CONFIG_ERROR_MAX, "%s", fault->why);
	return false;
}

static bool check_owner(const struct option_target *target,
	const struct measurement_config *measurement, const struct option_owner *owner)
{
	struct option_fault fault;

	for (uint32_t i = 0; owner->part != NULL && owner->part(i) != NULL; i++)
		if (!check_owner(target, measurement, owner->part(i)))
			return false;
	return owner->check == NULL || owner->of_measurement != (measurement != NULL) ||
	       owner->check(target->config, measurement, &fault) || set_fault_error(target, &fault);
}

static bool check_owners(
	const struct option_target *target, const struct measurement_config *measurement)
{
	const struct option_owner *const *owners = target->config->command->owners;

	for (; *owners != NULL; owners++)
		if (!check_owner(target, measurement, *owners))
			return false;
	return true;
}

static bool check_measurements(const struct option_target *target,
	bool (*check)(const struct option_target *, const struct measurement_config *))
{
	for (uint32_t m = 0; m < target->config->nb_measurements; m++)
		if (!check(target, &target->config->measurements[m]))
			return false;
	return true;
}

static bool check(const struct option_target *target)
{
	const struct config *config = target->config;
	struct option_fault fault;

	if (!check_effects(target, NULL) || !check_measurements(target, check_effects) ||
		!check_measurements(target, check_owners) || !check_owners(target, NULL))
		return false;
	return config->command->check == NULL || config->command->check(config, &fault) ||
	       set_fault_error(target, &fault);
}

struct argument {
	const struct config_row *row;
	const char *value;
	const char *as;
	const char *section; /* NAME in --set measurement.NAME.KEY or export.NAME.KEY; NULL: none */
	uint32_t section_len;
	/* replaces `row` for --set export.NAME.KEY */
	struct config_row key;
	const struct option_owner *kind;
};

struct loader {
	const struct program *program;
	struct config *config;
	FILE *out, *err;
	char *error;
	struct argument *arguments;
	unsigned int nb_arguments;
	const char *path;
	bool again;
	struct config_file *file; /* replaces the file at `path`; NULL: none */
};

__attribute__((format(printf, 2, 3))) static enum config_result cli_error(
	const struct loader *loader, const char *format, ...)
{
	char line[CONFIG_ERROR_MAX];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	make_printable(line);
	if (loader->error != NULL)
		snprintf(loader->error, CONFIG_ERROR_MAX, "%s", line);
	else if (journal_reads(fileno(loader->err)))
		fprintf(loader->err, "<3>%s\n", line);
	else
		fprintf(loader->err, "%s: %s\n", loader->program->name, line);
	return CONFIG_EXIT_2;
}

static bool is_named(const struct argument *argument, const char *name)
{
	return strlen(name) == argument->section_len &&
	       strncmp(name, argument->section, argument->section_len) == 0;
}

static bool set_section_error(
	const struct option_target *target, const struct argument *argument, const char *word)
{
	int len = (int)argument->section_len;

	snprintf(target->error, CONFIG_ERROR_MAX,
		"--" CONFIG_SET " %s.%.*s: no such section; add [%s %.*s] to the file of --config",
		word, len, argument->section, word, len, argument->section);
	return false;
}

static bool give_argument(struct option_target target, const struct argument *argument)
{
	const struct option_origin origin = {OPTION_BY_COMMAND_LINE, 0, argument->as};
	bool found = false;

	if (argument->row == NULL)
		return true;
	if (!argument->row->owner->of_measurement)
		return give(&target, argument->row, argument->value, origin);
	for (uint32_t i = 0; i < target.config->nb_measurements; i++) {
		target.measurement = &target.config->measurements[i];
		if (argument->section != NULL && !is_named(argument, target.measurement->name))
			continue;
		found = true;
		if (!give(&target, argument->row, argument->value, origin))
			return false;
	}
	return found || set_section_error(&target, argument, "measurement");
}

static bool set_key(const struct option_target *target, const struct argument *argument)
{
	struct config_file *file = target->config->file;
	char name[64];
	uint32_t n;

	snprintf(name, sizeof(name), "%.*s", (int)argument->section_len, argument->section);
	n = file != NULL ? config_file_find_named(file, argument->kind, name) : 0;
	if (file == NULL || n == file->nb_named)
		return set_section_error(target, argument, argument->kind->section);
	if (config_file_set_named(file, n, &argument->key,
		    argument->section + argument->section_len + 1, argument->value))
		return true;
	snprintf(target->error, CONFIG_ERROR_MAX, "--" CONFIG_SET ": out of memory");
	return false;
}

static bool give_changes(struct option_target target)
{
	const struct config_file *file = target.config->file;

	for (uint32_t i = 1; file != NULL && i < file->nb_sections; i++) {
		target.measurement = &target.config->measurements[i - 1];
		if (!give_section(&target, i, true))
			return false;
	}
	return true;
}

static enum config_result read_file(struct loader *loader)
{
	char error[CONFIG_FILE_ERROR_MAX];
	enum config_result result;

	if (loader->path == NULL || loader->config->file != NULL)
		return CONFIG_OK;
	result = config_file_read(
		&loader->config->file, loader->path, loader->again, loader->config, error);
	if (result != CONFIG_OK)
		cli_error(loader, "%s", error);
	return result;
}

static enum config_result apply(struct loader *loader)
{
	struct config *config = loader->config;
	char error[CONFIG_ERROR_MAX];
	const struct option_target target = {config, &config->common, error};
	enum config_result result = read_file(loader);
	bool good;

	if (result != CONFIG_OK)
		return result;
	good = give_defaults(&target) &&
	       (config->file == NULL || give_section(&target, 0, false)) &&
	       make_measurements(target);
	for (unsigned int i = 0; good && i < loader->nb_arguments; i++)
		good = loader->arguments[i].row != NULL || set_key(&target, &loader->arguments[i]);
	good = good && make_named(&target);
	for (unsigned int i = 0; good && i < loader->nb_arguments; i++)
		good = give_argument(target, &loader->arguments[i]);
	good = good && give_changes(target);
	if (good && config->command->at_terminal != NULL && isatty(fileno(loader->out)))
		config->command->at_terminal(config);
	return good && check(&target) ? CONFIG_OK : cli_error(loader, "%s", error);
}

static const struct command *other_command(
	const struct loader *loader, const char *name, char letter)
{
	static struct config other;

	for (const struct command *const *c = loader->program->commands; *c != NULL; c++) {
		config_init(&other, *c);
		if (name != NULL ? options_find(&other, name) != NULL
				 : options_find_letter(&other, letter) != NULL)
			return *c;
	}
	return NULL;
}

static enum config_result set_unknown_error(const struct loader *loader, const char *name)
{
	const struct config_row *near = options_nearest(loader->config, name);
	const struct command *other = other_command(loader, name, 0);
	char spelled[NAME_ROOM];

	if (other != NULL)
		return cli_error(loader, "--%s: not an option of %s; %s has it", name,
			loader->config->command->name, other->name);
	if (near != NULL)
		return cli_error(loader, "--%.200s: unknown option; did you mean %s?", name,
			options_spelling(near->row, spelled, sizeof(spelled)));
	return cli_error(loader, "--%.200s: unknown option; see --help all", name);
}

static enum config_result help(const struct loader *loader, const char *what)
{
	if (strcmp(what, "man") == 0)
		options_man(loader->config, loader->out);
	else if (strcmp(what, "man-terms") == 0)
		options_man_terms(loader->config, loader->program, loader->out);
	else if (strcmp(what, "words") == 0) /* for config/completion.bash */
		options_words(loader->config, loader->program, loader->out);
	else if (strcmp(what, "all") == 0 || *what == '\0')
		options_help(loader->config, loader->program, *what != '\0', loader->out);
	else
		return cli_error(loader,
			"--help: '%.200s': unknown topic; write --help or --help all", what);
	return CONFIG_EXIT_0;
}

/* Splits at the first dot before a known key, because NAME may contain dots. */
static bool split_key(const struct loader *loader, const struct option_owner *owner, char *rest,
	struct argument *argument)
{
	for (char *dot = strchr(rest, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
		const char *key = dot + 1;

		argument->kind = owner;
		if (owner != NULL)
			argument->key = options_find_key(owner, key);
		else
			argument->row = options_find(loader->config, key);
		if (owner != NULL ? argument->key.row == NULL
				  : argument->row == NULL || !argument->row->owner->of_measurement)
			continue;
		argument->as = CONFIG_SET;
		argument->section_len = (uint32_t)(dot - rest);
		return argument->section_len > 0;
	}
	return false;
}

/* name: modifiable copy of "measurement.NAME.KEY" or "WORD.NAME.KEY". at: this text in argv. */
static bool read_section_key(
	const struct loader *loader, char *name, const char *at, struct argument *argument)
{
	static const char measurement[] = "measurement.";
	const struct option_owner *owner = NULL;
	size_t len = sizeof(measurement) - 1;

	if (strncmp(name, measurement, len) != 0) {
		len = 0;
		for (uint32_t k = 0; k < loader->config->nb_kinds && len == 0; k++) {
			owner = loader->config->kinds[k];
			if (strncmp(name, owner->section, strlen(owner->section)) == 0 &&
				name[strlen(owner->section)] == '.')
				len = strlen(owner->section) + 1;
		}
	}
	argument->section = at + len;
	return len > 0 && split_key(loader, owner, name + len, argument);
}

static enum config_result read_set(struct loader *loader, const char *text)
{
	struct argument argument = {.as = CONFIG_SET};
	const char *equals = strchr(text, '=');
	char name[200], unknown[OPTION_WHY_MAX];

	if (equals == NULL || equals == text)
		return cli_error(
			loader, "--" CONFIG_SET ": '%.200s': not KEY=VALUE; example: top=10", text);
	snprintf(name, sizeof(name), "%.*s", (int)(equals - text), text);
	argument.value = equals + 1;
	argument.row = options_find(loader->config, name);
	if (argument.row == NULL && !read_section_key(loader, name, text, &argument)) {
		options_say_unknown(loader->config, name, unknown, sizeof(unknown));
		return cli_error(loader, "--" CONFIG_SET ": %s", unknown);
	}
	if (argument.row != NULL && argument.row->row->type == OPTION_ACTION)
		return cli_error(loader, "--" CONFIG_SET ": %s: not a key of the file; give --%s",
			name, name);
	loader->arguments[loader->nb_arguments++] = argument;
	return CONFIG_OK;
}

static enum config_result act(struct loader *loader, const struct argument *argument)
{
	if (strcmp(argument->row->row->name, "help") == 0)
		return help(loader, argument->value);
	if (strcmp(argument->row->row->name, "version") == 0) {
		fprintf(loader->out, "%s %s\n", loader->program->name, SKETCHTAP_VERSION);
		return CONFIG_EXIT_0;
	}
	if (strcmp(argument->row->row->name, CONFIG_SET) == 0)
		return read_set(loader, argument->value);
	if (*argument->value == '\0')
		return cli_error(loader, "--config: '': empty; give FILE");
	if (loader->path != NULL)
		return cli_error(
			loader, "--config: '%.200s': second file; give one", argument->value);
	loader->path = argument->value;
	return CONFIG_OK;
}

static enum config_result take(
	struct loader *loader, const struct config_row *row, const char *as, const char *value)
{
	const struct argument argument = {.row = row, .value = value, .as = as};

	if (row->row->type == OPTION_ACTION)
		return act(loader, &argument);
	loader->arguments[loader->nb_arguments++] = argument;
	return CONFIG_OK;
}

/* next: the following argument, or NULL. Sets *took_next if it is the value of the option. */
static enum config_result read_option(
	struct loader *loader, const char *text, const char *next, bool *took_next)
{
	const char *equals = strchr(text, '=');
	const struct config_row *row;
	const char *value = "yes";
	char name[64];

	snprintf(name, sizeof(name), "%.*s",
		equals != NULL ? (int)(equals - text) : (int)sizeof(name), text);
	row = options_find(loader->config, name);
	if (row == NULL)
		return set_unknown_error(loader, name);
	if (strcmp(name, "help") == 0)
		return help(loader, next != NULL && *next != '-' ? next : "");
	if (row->row->placeholder == NULL && equals != NULL)
		return cli_error(loader, "--%s: takes no value", name);
	if (row->row->placeholder != NULL) {
		*took_next = equals == NULL;
		value = equals != NULL ? equals + 1 : next;
		if (value == NULL)
			return cli_error(loader, "--%s: needs %s", name, row->row->placeholder);
	}
	return take(loader, row, options_name_as(row->row, name), value);
}

static enum config_result read_stray_letter(const struct loader *loader, char letter)
{
	const struct command_letter *known = loader->config->command->letters;
	const struct command *other;

	while (known != NULL && known->letter != 0 && known->letter != letter)
		known++;
	if (known != NULL && known->letter != 0)
		return known->why == NULL ? CONFIG_OK
					  : cli_error(loader, "-%c: %s", letter, known->why);
	other = other_command(loader, NULL, letter);
	if (other != NULL)
		return cli_error(loader, "-%c: not an option of %s; %s has it", letter,
			loader->config->command->name, other->name);
	return cli_error(loader, "-%c: unknown option; see --help", letter);
}

/* As in tcpdump, a value follows its letter or is the next argument. */
static enum config_result read_letters(
	struct loader *loader, const char *letters, const char *next, bool *took_next)
{
	enum config_result result = CONFIG_OK;

	for (; *letters != '\0' && result == CONFIG_OK; letters++) {
		const struct config_row *row = options_find_letter(loader->config, *letters);

		if (row != NULL && row->row->placeholder != NULL) {
			*took_next = letters[1] == '\0';
			if (*took_next && next == NULL)
				return cli_error(
					loader, "-%c: needs %s", *letters, row->row->placeholder);
			return take(loader, row, row->row->name, *took_next ? next : letters + 1);
		}
		if (row != NULL)
			result = take(loader, row, row->row->name, *letters == 'h' ? "" : "yes");
		else
			result = read_stray_letter(loader, *letters);
	}
	return result;
}

/* Other words are probably a mistyped command or a part of a filter. */
static bool looks_like_file(const char *word)
{
	return strpbrk(word, "./") != NULL;
}

static enum config_result read_word(struct loader *loader, const char *word)
{
	const struct command *command = loader->config->command;

	if (command->argument != NULL && (command->stray == NULL || looks_like_file(word)))
		return take(loader, options_find(loader->config, command->argument),
			command->argument, word);
	return cli_error(loader, "'%.200s': unexpected argument; %s; see --help", word,
		command->stray != NULL ? command->stray : "write options as --NAME VALUE");
}

static enum config_result read_arguments(
	struct loader *loader, int argc, char *const argv[], int first)
{
	for (int i = first; i < argc; i++) {
		const char *text = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool took_next = false;
		enum config_result result;

		if (strncmp(text, "--", 2) == 0 && text[2] != '\0')
			result = read_option(loader, text + 2, next, &took_next);
		else if (text[0] == '-' && text[1] != '\0' && text[1] != '-')
			result = read_letters(loader, text + 1, next, &took_next);
		else
			result = read_word(loader, text);
		if (result != CONFIG_OK)
			return result;
		i += took_next;
	}
	return CONFIG_OK;
}

static enum config_result set_command_error(const struct loader *loader, const char *name)
{
	const struct program *program = loader->program;
	char list[256] = "";
	size_t used = 0;

	for (uint32_t c = 0; program->commands[c] != NULL && used < sizeof(list); c++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
			used > 0 ? ", " : "", program->commands[c]->name);
	for (const struct program_other *other = program->others;
		other != NULL && other->name != NULL && used < sizeof(list); other++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, ", %s", other->name);
	return cli_error(loader, "'%.200s': unknown command; allowed: %s%s%s", name, list,
		program->hint != NULL ? "; " : "", program->hint != NULL ? program->hint : "");
}

/* Without a name, chooses the first command. *first: index of the first argument after the name. */
static enum config_result read_command(
	struct loader *loader, int argc, char *const argv[], int *first)
{
	const struct command *const *commands = loader->program->commands;

	*first = 1;
	config_init(loader->config, *commands);
	if (argc < 2 || argv[1][0] == '-' || looks_like_file(argv[1]))
		return CONFIG_OK;
	*first = 2;
	for (; *commands != NULL; commands++)
		if (strcmp(argv[1], (*commands)->name) == 0) {
			config_init(loader->config, *commands);
			return CONFIG_OK;
		}
	return set_command_error(loader, argv[1]);
}

static enum config_result load(struct loader *loader, int argc, char *const argv[])
{
	int first;
	enum config_result result = read_command(loader, argc, argv, &first);

	loader->config->file = loader->file;
	loader->config->program = loader->program;
	loader->config->argc = argc;
	loader->config->argv = argv;
	loader->config->again = loader->again;
	if (result == CONFIG_OK)
		result = read_arguments(loader, argc, argv, first);
	if (result == CONFIG_OK)
		result = apply(loader);
	return result;
}

static enum config_result load_with(
	struct loader *loader, int argc, char *const argv[], struct config_file *file)
{
	struct config *config = loader->config;
	enum config_result result = CONFIG_EXIT_1;

	*config = (struct config){0};
	loader->file = file;
	loader->arguments = calloc((size_t)argc + 1, sizeof(*loader->arguments));
	if (loader->arguments != NULL) {
		result = load(loader, argc, argv);
		free(loader->arguments);
	} else {
		cli_error(loader, "out of memory");
		config->file = file;
	}
	if (result != CONFIG_OK)
		config_free(config);
	return result;
}

enum config_result config_load(struct config *config, const struct program *program, int argc,
	char *const argv[], FILE *out, FILE *err)
{
	struct loader loader = {.program = program, .config = config, .out = out, .err = err};

	return load_with(&loader, argc, argv, NULL);
}

enum config_result config_load_again(
	struct config *config, const struct config *running, struct config_file *file, char *error)
{
	struct loader loader = {
		.program = running->program,
		.config = config,
		.out = stdout,
		.error = error,
		.again = true,
	};

	return load_with(&loader, running->argc, running->argv, file);
}

bool option_names_file(const char *path, const struct stat *file)
{
	struct stat input;

	return stat(path, &input) == 0 && S_ISREG(input.st_mode) && input.st_dev == file->st_dev &&
	       input.st_ino == file->st_ino;
}

static bool reads(
	const struct config *config, const struct config_row *row, const struct stat *file)
{
	const void *field = field_of(config, row);
	const struct option_list *list = field;
	const char *text;

	if (row->row->type != OPTION_LIST) {
		memcpy(&text, field, sizeof(text));
		return text != NULL && row->row->reads(text, file);
	}
	for (uint32_t i = 0; i < list->n; i++)
		if (row->row->reads(list->texts[i], file))
			return true;
	return false;
}

static const char *input_option(const struct config *config, const struct stat *file)
{
	for (uint32_t i = 0; i < config->nb_rows; i++)
		if (config->rows[i].row->reads != NULL && reads(config, &config->rows[i], file))
			return config->rows[i].row->name;
	return config->file != NULL && option_names_file(config->file->path, file) ? "config"
										   : NULL;
}

bool config_spares_inputs(const struct config *config, const char *option, const char *output,
	int fd, char *error, size_t size)
{
	const char *input = NULL;
	struct stat file;

	if (fd < 0 && standard_files_is_output(output))
		fd = STDOUT_FILENO;
	if ((fd >= 0 ? fstat(fd, &file) : stat(output, &file)) == 0)
		input = input_option(config, &file);
	if (input != NULL)
		snprintf(error, size, "%s %.300s: --%s reads it; name another file", option, output,
			input);
	return input == NULL;
}

void config_free(struct config *config)
{
	config_file_free(config->file);
	free(config->named);
	while (config->texts != NULL) {
		struct config_text *next = config->texts->next;

		free(config->texts);
		config->texts = next;
	}
	*config = (struct config){0};
}
