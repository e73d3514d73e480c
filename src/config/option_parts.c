/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/option_parts.h"

#include <stdlib.h>
#include <string.h>

const struct config_row *option_next_part(const struct config *config,
	const struct option_row *option, const struct config_row *after)
{
	uint32_t i = after != NULL ? (uint32_t)(after - config->rows) + 1 : 0;

	for (; i < config->nb_rows; i++) {
		const char *whole = config->rows[i].row->part_of;

		if (whole != NULL && strcmp(whole, option->name) == 0)
			return &config->rows[i];
	}
	return NULL;
}

static bool follows_own(const struct option_row *part)
{
	return part->part[strlen(part->part) - 1] == ':';
}

void option_part_name(const struct option_row *part, char *name, size_t size)
{
	const char *start = part->part + (*part->part == ',');

	snprintf(name, size, "%.*s", follows_own(part) ? 0 : (int)strcspn(start, "="), start);
}

/* Returns a copy that lives as long as the configuration; NULL if out of memory. */
static char *keep_text(struct config *config, const char *text)
{
	size_t size = strlen(text) + 1;
	struct config_text *kept = malloc(sizeof(*kept) + size);

	if (kept == NULL)
		return NULL;
	memcpy(kept->text, text, size);
	kept->next = config->texts;
	config->texts = kept;
	return kept->text;
}

/* Returns the part whose prefix the text starts with, or NULL. comma: only prefixes with a comma. */
static const struct config_row *find_part(
	const struct config *config, const struct option_row *option, const char *text, bool comma)
{
	const struct config_row *part = NULL;

	while ((part = option_next_part(config, option, part)) != NULL) {
		const char *begin = part->row->part;

		if ((*begin == ',') == comma && strncmp(text, begin, strlen(begin)) == 0)
			return part;
	}
	return NULL;
}

/* Lists the names of all parts: "queues, links". */
static void list_parts(
	const struct config *config, const struct option_row *option, char *list, size_t size)
{
	const struct config_row *part = NULL;
	size_t used = 0;

	*list = '\0';
	while ((part = option_next_part(config, option, part)) != NULL && used < size) {
		char name[64];

		option_part_name(part->row, name, sizeof(name));
		if (*name != '\0')
			used += (size_t)snprintf(
				list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
	}
}

static int set_kind_error(
	const struct config *config, const struct option_row *option, const char *value, char *why)
{
	size_t len = strcspn(value, "=");
	char list[240];

	list_parts(config, option, list, sizeof(list));
	if (value[len] == '\0')
		snprintf(why, OPTION_WHY_MAX, "'%.60s': not %s; kinds: %s", value,
			option->placeholder, list);
	else
		snprintf(why, OPTION_WHY_MAX, "'%.*s': unknown kind; kinds: %s",
			(int)(len < 60 ? len : 60), value, list);
	return -1;
}

/* Rejects an unknown ",WORD=..." in a value that cannot contain a comma. */
static bool has_strange_part(
	const struct config *config, const struct option_row *option, const char *text, char *why)
{
	const char *comma = strrchr(text, ',');
	char list[240];

	if (comma == NULL || strchr(comma, '=') == NULL || option->type == OPTION_STRING)
		return false;
	list_parts(config, option, list, sizeof(list));
	snprintf(why, OPTION_WHY_MAX, "'%.*s': unknown key; keys: %s",
		(int)(strcspn(comma, "=") < 60 ? strcspn(comma, "=") - 1 : 60), comma + 1, list);
	return true;
}

/* Removes all parts such as ",after=N" from the end of the text. */
static int cut_end(const struct config *config, const struct option_row *option, char *text,
	struct option_piece *pieces, int n)
{
	const struct config_row *part;
	char *comma;

	while ((comma = strrchr(text, ',')) != NULL && n < OPTION_PIECES_MAX - 1 &&
		(part = find_part(config, option, comma, true)) != NULL) {
		pieces[n++] = (struct option_piece){part, comma + strlen(part->row->part)};
		*comma = '\0';
	}
	return n;
}

/* Returns true if A,B,... has the element. */
static bool has_element(const char *list, const char *element, size_t len)
{
	for (; *list != '\0'; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == len && strncmp(list, element, len) == 0)
			return true;
	return false;
}

/*
 * Splits a list A,B:x,B:y into A,B and x,y. A plain B next to B:x selects all values of the part.
 */
static int cut_list(struct config *config, const struct config_row *row, const char *value,
	struct option_piece *pieces)
{
	char *own = keep_text(config, value), *values = keep_text(config, value);
	char *end_own = own, *end_values = values;
	const struct config_row *part = NULL, *found;
	bool all = false;

	if (own == NULL || values == NULL)
		return -1;
	*own = *values = '\0';
	while (true) {
		size_t len = strcspn(value, ","), begin;

		found = find_part(config, row->row, value, false);
		begin = found != NULL ? strlen(found->row->part) : 0;
		if (found != NULL) {
			part = found;
			all |= has_element(own, value, begin - 1) && end_values == values;
			end_values += sprintf(end_values, "%s%.*s", end_values > values ? "," : "",
				(int)(len - begin), value + begin);
			if (!has_element(own, value, begin - 1))
				end_own += sprintf(end_own, "%s%.*s", end_own > own ? "," : "",
					(int)begin - 1, value);
		} else {
			all |= part != NULL && strlen(part->row->part) == len + 1 &&
			       strncmp(part->row->part, value, len) == 0;
			end_own += sprintf(
				end_own, "%s%.*s", end_own > own ? "," : "", (int)len, value);
		}
		if (value[len] == '\0')
			break;
		value += len + 1;
	}
	pieces[0] = (struct option_piece){row, own};
	if (part == NULL || all)
		return 1;
	pieces[1] = (struct option_piece){part, values};
	return 2;
}

int option_split(struct config *config, const struct config_row *row, const char *value,
	struct option_piece pieces[OPTION_PIECES_MAX], char *why)
{
	const struct config_row *part = option_next_part(config, row->row, NULL);
	char *text;
	int n;

	pieces[0] = (struct option_piece){row, value};
	if (part == NULL)
		return 1;
	snprintf(why, OPTION_WHY_MAX, "out of memory");
	if (row->row->type == OPTION_WORDS)
		return cut_list(config, row, value, pieces);
	text = keep_text(config, value);
	if (text == NULL)
		return -1;
	pieces[0].text = text;
	n = row->row->type == OPTION_PARTS ? 1 : cut_end(config, row->row, text, pieces, 1);
	if (row->row->type != OPTION_PARTS && has_strange_part(config, row->row, text, why))
		return -1;
	part = find_part(config, row->row, text, false);
	if (part == NULL)
		return row->row->type != OPTION_PARTS
			       ? n
			       : set_kind_error(config, row->row, value, why);
	text += strlen(part->row->part);
	if (follows_own(part->row)) {
		text[-1] = '\0';
		pieces[n++] = (struct option_piece){part, text};
	} else {
		pieces[0] = (struct option_piece){part, text};
	}
	return n;
}
