/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "flow_protocols/netflow/template.h"

#include <stdlib.h>

#include "flow_protocols/big_endian.h"
#include "flow_protocols/netflow/template_entry.h"
#include "flow_protocols/packet_section.h"

#define ETHER_TYPE 256 /* ethernetType; its records describe frames */

#define GROWTH        8
/* limits the cost of inserting a template into the sorted list */
#define COUNT_MAX     4096
#define HEAP_OVERHEAD 16
#define RECORD_MAX    (65535 - 20) /* bytes */
#define SPECIFIER     4
#define EMPTY_MAX     16
#define CHANGES_LEAST 64
#define CHANGE_BYTES  32 /* one more change is allowed per 32 bytes of a message */
#define MOVED_SHIFT   4  /* moving 16 pointers counts as the work of one field */

struct templates {
	struct template_entry **list;
	uint32_t count, room;
	uint32_t nb_options;
	size_t limit, bytes;
	uint64_t changes, work;
	uint32_t changes_left; /* changes that the message may still make */
};

struct definition {
	uint16_t set_id, id;
	uint16_t nb_fields, nb_scopes;
	uint32_t nb_empty;
	const uint8_t *data;
	uint32_t len;
	const uint8_t *fields;
	uint32_t record_len; /* bytes; the minimum if records have variable length */
	bool variable;
};

static bool is_ipfix(uint16_t set_id)
{
	return set_id == SET_IPFIX_TEMPLATES || set_id == SET_IPFIX_OPTIONS;
}

static bool is_options(uint16_t set_id)
{
	return set_id == SET_NETFLOW9_OPTIONS || set_id == SET_IPFIX_OPTIONS;
}

struct templates *templates_create(size_t limit)
{
	struct templates *templates = calloc(1, sizeof(*templates));

	if (templates == NULL)
		return NULL;
	templates->limit = limit;
	templates->bytes = sizeof(*templates) + HEAP_OVERHEAD;
	templates->changes_left = UINT32_MAX;
	return templates;
}

void templates_begin(struct templates *templates, uint32_t len)
{
	templates->changes_left = CHANGES_LEAST + len / CHANGE_BYTES;
}

uint64_t templates_work(const struct templates *templates)
{
	return templates->work;
}

static bool spend(struct templates *templates, uint32_t changes)
{
	if (changes > templates->changes_left)
		return false;
	templates->changes_left -= changes;
	return true;
}

void templates_set_limit(struct templates *templates, size_t limit)
{
	templates->limit = limit;
}

static size_t entry_bytes(const struct template_entry *entry)
{
	return sizeof(*entry) + entry->nb_moves * sizeof(struct move) + entry->nb_field_moves +
	       entry->definition_len + entry->walk_len;
}

static void free_entry(struct templates *templates, struct template_entry *entry)
{
	VERIFY(templates->bytes, >=, entry_bytes(entry) + HEAP_OVERHEAD);
	templates->bytes -= entry_bytes(entry) + HEAP_OVERHEAD;
	free(entry);
}

static void forget_all(struct templates *templates)
{
	for (uint32_t i = 0; i < templates->count; i++)
		free_entry(templates, templates->list[i]);
	if (templates->room != 0)
		templates->bytes -= templates->room * sizeof(*templates->list) + HEAP_OVERHEAD;
	free(templates->list);
	templates->list = NULL;
	templates->count = templates->room = templates->nb_options = 0;
}

void templates_destroy(struct templates *templates)
{
	if (templates == NULL)
		return;
	forget_all(templates);
	free(templates);
}

void templates_forget(struct templates *templates)
{
	if (templates->count != 0)
		templates->changes++;
	forget_all(templates);
}

uint32_t templates_count(const struct templates *templates)
{
	return templates->count;
}

size_t templates_bytes(const struct templates *templates)
{
	return templates->bytes;
}

uint64_t templates_changes(const struct templates *templates)
{
	return templates->changes;
}

static uint32_t position_of(const struct templates *templates, uint16_t id)
{
	uint32_t from = 0, to = templates->count;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (templates->list[middle]->id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static bool stands_at(const struct templates *templates, uint32_t place, uint16_t id)
{
	return place < templates->count && templates->list[place]->id == id;
}

const struct template_entry *templates_find(const struct templates *templates, uint16_t id)
{
	uint32_t place = position_of(templates, id);

	return stands_at(templates, place, id) ? templates->list[place] : NULL;
}

bool templates_has(const struct templates *templates, uint16_t id)
{
	return templates_find(templates, id) != NULL;
}

static void move_list(struct templates *templates, uint32_t to, uint32_t from)
{
	uint32_t n = templates->count - from;

	memmove(&templates->list[to], &templates->list[from], n * sizeof(templates->list[0]));
	templates->work += n >> MOVED_SHIFT;
}

static void free_place(struct templates *templates, uint32_t place)
{
	VERIFY(place, <, templates->count);
	templates->nb_options -= templates->list[place]->options;
	free_entry(templates, templates->list[place]);
	templates->changes++;
}

static void close_place(struct templates *templates, uint32_t place)
{
	move_list(templates, place, place + 1);
	templates->count--;
}

/* After too many changes, removes all templates, because outdated ones misread records. */
static void withdraw(struct templates *templates, uint16_t id)
{
	uint32_t place = position_of(templates, id);

	if (!stands_at(templates, place, id))
		return;
	if (!spend(templates, 1)) {
		templates_forget(templates);
		return;
	}
	free_place(templates, place);
	close_place(templates, place);
}

/* Returns at once if there are none, because a datagram can request this thousands of times. */
static void withdraw_kind(struct templates *templates, bool options)
{
	uint32_t kept = 0;

	if ((options ? templates->nb_options : templates->count - templates->nb_options) == 0)
		return;
	if (!spend(templates, 1 + (templates->count >> MOVED_SHIFT))) {
		templates_forget(templates);
		return;
	}
	templates->work += templates->count;
	for (uint32_t i = 0; i < templates->count; i++) {
		struct template_entry *entry = templates->list[i];

		if (entry->options != options) {
			templates->list[kept++] = entry;
			continue;
		}
		free_entry(templates, entry);
		templates->changes++;
	}
	VERIFY(kept, <=, templates->count);
	templates->count = kept;
	templates->nb_options = options ? 0 : kept;
}

/* Returns false if the list is full or the memory limit is reached. */
static bool grow(struct templates *templates)
{
	size_t more = GROWTH * sizeof(*templates->list);
	struct template_entry **list;

	if (templates->count == COUNT_MAX)
		return false;
	if (templates->count < templates->room)
		return true;
	if (templates->room == 0)
		more += HEAP_OVERHEAD;
	if (templates->bytes + more > templates->limit)
		return false;
	list = realloc(templates->list, (templates->room + GROWTH) * sizeof(*list));
	if (list == NULL)
		return false;
	templates->list = list;
	templates->room += GROWTH;
	templates->bytes += more;
	return true;
}

struct definition_traits {
	bool non_ip;      /* records describe non-IP frames */
	bool counts;      /* has counters, even unreadable ones, or describes a packet */
	uint16_t section; /* element with a packet section; 0: none */
	bool packet;      /* has a field that describes one packet */
	bool report;
};

static bool is_counter(const struct field *field)
{
	const struct element *element = element_find(
		field->enterprise == ENTERPRISE_REVERSE ? 0 : field->enterprise, field->number);

	return element != NULL && element_is_counter(element);
}

static enum decode_skip skip_of(
	const struct move_plan *plan, const struct definition_traits *traits)
{
	if (plan->addresses)
		return DECODE_SKIP_NO_PACKETS;
	return traits->section != 0 ? DECODE_SKIP_SECTION : DECODE_SKIP_NO_ADDRESSES;
}

static struct definition_traits plan_definition(
	const struct definition *definition, struct move_plan *plan)
{
	struct definition_traits traits = {0};
	struct move_choices choices = {0};
	const uint8_t *at = definition->fields, *end = definition->data + definition->len;
	uint32_t offset = 0, number = 0;
	bool ether_type = false, header = false;

	for (uint32_t i = 0; i < definition->nb_fields; i++) {
		struct field field;

		at += field_read(at, (uint32_t)(end - at), is_ipfix(definition->set_id), &field);
		move_choices_add(&choices, &field, definition->variable ? number : offset);
		offset += field.len;
		number += field.len > 0;
		ether_type |= field.number == ETHER_TYPE && field.enterprise == 0;
		if (section_is_data(&field) && (!header || section_is_header(&field)))
			traits.section = field.number;
		header |= section_is_header(&field);
		traits.packet |= section_is_report(&field);
		traits.counts |= is_counter(&field);
	}
	traits.report = traits.packet && !traits.counts;
	move_plan_make(plan, &choices,
		&(struct move_traits){
			.variable = definition->variable,
			.header = header,
			.report = traits.report,
		});
	traits.non_ip = ether_type && !plan->addresses && traits.section == 0;
	traits.counts |= traits.section != 0 || (traits.packet && plan->addresses);
	return traits;
}

static void store_moves(struct template_entry *entry, const struct move_plan *plan)
{
	uint8_t *field_moves = (uint8_t *)(entry->moves + entry->nb_moves);

	memcpy(entry->moves, plan->moves, entry->nb_moves * sizeof(entry->moves[0]));
	if (entry->nb_field_moves == 0)
		return;
	memset(field_moves, NO_MOVE, entry->nb_field_moves);
	for (uint8_t i = 0; i < entry->nb_moves; i++)
		field_moves[plan->fields[i]] = i;
}

static void store_definition(struct template_entry *entry, const struct definition *definition)
{
	uint8_t *set = (uint8_t *)(entry->moves + entry->nb_moves) + entry->nb_field_moves;
	uint16_t header[2] = {htobe16(definition->set_id), htobe16(entry->definition_len)};

	memcpy(set, header, sizeof(header));
	memcpy(set + SET_HEADER, definition->data, definition->len);
}

/* Returns true if records are read field by field, without fields of length 0. */
static bool leaves_fields_out(const struct definition *definition)
{
	return definition->nb_empty > 0 && (definition->variable || is_options(definition->set_id));
}

static void count_walked(struct template_entry *entry, const struct definition *definition)
{
	const uint8_t *at = definition->fields, *end = definition->data + definition->len;

	for (uint32_t i = 0; i < definition->nb_fields; i++) {
		struct field field;
		uint32_t len = field_read(at, (uint32_t)(end - at), entry->ipfix, &field);

		at += len;
		if (field.len > 0) {
			entry->walk_len = (uint16_t)(entry->walk_len + len);
			continue;
		}
		entry->nb_fields--;
		if (i >= definition->nb_scopes)
			continue;
		entry->nb_scopes--;
		option_add_empty_scope(entry, &field);
	}
	if (entry->nb_field_moves > 0)
		entry->nb_field_moves = entry->nb_fields;
}

static void store_walked(struct template_entry *entry, const struct definition *definition)
{
	const uint8_t *at = definition->fields, *end = definition->data + definition->len;
	uint8_t *to = (uint8_t *)(entry->moves + entry->nb_moves) + entry->nb_field_moves +
		      entry->definition_len;

	for (uint32_t i = 0; entry->walk_len > 0 && i < definition->nb_fields; i++) {
		struct field field;
		uint32_t len = field_read(at, (uint32_t)(end - at), entry->ipfix, &field);

		if (field.len > 0) {
			memcpy(to, at, len);
			to += len;
		}
		at += len;
	}
}

static struct template_entry *make_entry(
	struct templates *templates, const struct definition *definition)
{
	struct template_entry like, *entry;
	struct move_plan plan = {0};
	bool options = is_options(definition->set_id);
	struct definition_traits traits = {0};
	size_t bytes;

	if (!options)
		traits = plan_definition(definition, &plan);

	like = (struct template_entry){
		.id = definition->id,
		.record_len = (uint16_t)definition->record_len,
		.definition_len = (uint16_t)(SET_HEADER + definition->len),
		.nb_fields = definition->nb_fields,
		.nb_field_moves = definition->variable && !options ? definition->nb_fields : 0,
		.has = plan.has,
		.reverse_has = plan.reverse_has,
		.nb_moves = plan.nb_moves,
		.nb_reverse = plan.nb_reverse,
		.family = plan.family,
		.options = options,
		.ipfix = is_ipfix(definition->set_id),
		.variable = definition->variable,
		.usable = plan.usable,
		.non_ip = traits.non_ip,
		.skip = (uint8_t)skip_of(&plan, &traits),
		.section = plan.addresses ? 0 : traits.section,
		.harmless = traits.non_ip || !traits.counts,
		.start = plan.start,
		.end = plan.end,
		.start_move = plan.start_move,
		.end_move = plan.end_move,
		.both_families = plan.both_families,
		.sampling = plan.sampling,
		.packet = traits.packet,
		.report = traits.report,
	};
	if (options)
		like.nb_scopes = definition->nb_scopes;
	else
		like.uses = plan.uses;
	if (leaves_fields_out(definition))
		count_walked(&like, definition);
	bytes = entry_bytes(&like);
	if (templates->bytes + bytes + HEAP_OVERHEAD > templates->limit)
		return NULL;
	entry = malloc(bytes);
	if (entry == NULL)
		return NULL;
	*entry = like;
	store_moves(entry, &plan);
	store_definition(entry, definition);
	store_walked(entry, definition);
	templates->bytes += bytes + HEAP_OVERHEAD;
	return entry;
}

static bool is_same(const struct template_entry *entry, const struct definition *definition)
{
	const uint8_t *set = template_definition(entry);

	return entry->definition_len == SET_HEADER + definition->len &&
	       read_u16(set) == definition->set_id &&
	       memcmp(set + SET_HEADER, definition->data, definition->len) == 0;
}

static bool is_acceptable(const struct definition *definition)
{
	return definition->record_len > 0 && definition->record_len <= RECORD_MAX &&
	       definition->nb_empty <= EMPTY_MAX;
}

/* Replaces the pointer at index `place`, or inserts one before it. */
static enum decode_fault define_at(struct templates *templates, uint32_t place, bool replaces,
	const struct definition *definition)
{
	struct template_entry *entry;

	if (!replaces && !grow(templates))
		return DECODE_TEMPLATE_ROOM;
	entry = make_entry(templates, definition);
	if (entry == NULL)
		return DECODE_TEMPLATE_ROOM;
	if (!replaces) {
		VERIFY(templates->count, <, templates->room);
		move_list(templates, place + 1, place);
		templates->count++;
	}
	VERIFY(place, <, templates->count);
	templates->list[place] = entry;
	templates->nb_options += entry->options;
	templates->changes++;
	templates->work += definition->nb_fields + (uint64_t)ELEMENT_USE_COUNT;
	return DECODE_FINE;
}

/* Removes the old template even if the new one is invalid, because it would misread records. */
static enum decode_fault define(
	struct templates *templates, const struct definition *definition, bool *changed)
{
	uint32_t place = position_of(templates, definition->id);
	bool replaces = stands_at(templates, place, definition->id);
	enum decode_fault fault = DECODE_TEMPLATE;

	*changed = false;
	if (replaces && is_same(templates->list[place], definition))
		return DECODE_FINE;
	if (replaces)
		free_place(templates, place);
	if (is_acceptable(definition))
		fault = spend(templates, 1) ? define_at(templates, place, replaces, definition)
					    : DECODE_TEMPLATE_CHANGES;
	if (replaces && fault != DECODE_FINE)
		close_place(templates, place);
	*changed = fault == DECODE_FINE;
	return fault;
}

/* Returns false if the field specifiers are truncated. */
static bool measure_fields(struct definition *definition, uint32_t left)
{
	const uint8_t *at = definition->fields;

	for (uint32_t i = 0; i < definition->nb_fields; i++) {
		struct field field;
		uint32_t len = field_read(at, left, is_ipfix(definition->set_id), &field);

		if (len == 0)
			return false;
		at += len;
		left -= len;
		/*
		 * A packet is read from several fields, so these records are read field by field.
		 */
		definition->variable |= section_is_report(&field);
		if (field.len == FIELD_VARIABLE) {
			definition->variable = true;
			field.len = 1;
		}
		definition->record_len += field.len;
		definition->nb_empty += field.len == 0;
	}
	definition->len = (uint32_t)(at - definition->data);
	return true;
}

static bool read_options_counts(struct definition *definition)
{
	uint32_t first = read_u16(definition->data + 2), second = read_u16(definition->data + 4);

	/* IPFIX: numbers of all fields and of scope fields */
	if (is_ipfix(definition->set_id)) {
		definition->nb_fields = (uint16_t)first;
		definition->nb_scopes = (uint16_t)second;
		return second <= first;
	}
	/* NetFlow v9: bytes of the scope specifiers and of the others */
	definition->nb_fields = (uint16_t)((first + second) / SPECIFIER);
	definition->nb_scopes = (uint16_t)(first / SPECIFIER);
	return first % SPECIFIER == 0 && second % SPECIFIER == 0;
}

/* nb_fields 0 is a withdrawal. After a fault, the start of the next definition is unknown. */
static enum decode_fault read_definition(
	struct definition *definition, uint16_t set_id, const uint8_t *data, uint32_t left)
{
	uint32_t header = is_options(set_id) ? 6 : 4;

	*definition = (struct definition){
		.set_id = set_id, .id = read_u16(data), .nb_fields = read_u16(data + 2)};
	definition->data = data;
	definition->len = 4;
	/* Every withdrawal has 4 bytes, even that of an options template. */
	if (definition->nb_fields == 0 && (is_ipfix(set_id) || !is_options(set_id)))
		return DECODE_FINE;
	if (left < header)
		return DECODE_LENGTH;
	definition->fields = data + header;
	if (is_options(set_id) && !read_options_counts(definition))
		return DECODE_TEMPLATE;
	return measure_fields(definition, left - header) ? DECODE_FINE : DECODE_LENGTH;
}

static enum decode_fault take_withdrawal(
	struct templates *templates, const struct definition *definition)
{
	if (!is_ipfix(definition->set_id)) {
		withdraw(templates, definition->id);
		return DECODE_TEMPLATE;
	}
	if (definition->id == definition->set_id)
		withdraw_kind(templates, is_options(definition->set_id));
	else
		withdraw(templates, definition->id);
	return DECODE_FINE;
}

enum decode_fault templates_read_set(struct templates *templates, uint16_t set_id,
	const uint8_t *data, uint32_t len, void (*known)(void *arg, uint16_t id), void *arg,
	uint32_t *nb)
{
	enum decode_fault first = DECODE_FINE;

	*nb = 0;
	while (len >= 4 && !flow_protocol_is_padding(data, len)) {
		struct definition definition;
		enum decode_fault fault = read_definition(&definition, set_id, data, len);
		bool all = definition.nb_fields == 0 && is_ipfix(set_id) && definition.id == set_id;
		bool changed = false;

		if (definition.id < SET_DATA && !all)
			return first != DECODE_FINE ? first : DECODE_SET;
		if (fault != DECODE_FINE) {
			withdraw(templates, definition.id);
			return first != DECODE_FINE ? first : fault;
		}
		if (definition.nb_fields == 0)
			fault = take_withdrawal(templates, &definition);
		else
			fault = define(templates, &definition, &changed);
		if (first == DECODE_FINE)
			first = fault;
		(*nb)++;
		templates->work += 1 + (uint64_t)definition.nb_fields;
		data += definition.len;
		len -= definition.len;
		if (changed && known != NULL)
			known(arg, definition.id);
	}
	return first;
}

bool templates_agree(
	const struct templates *templates, uint16_t set_id, const uint8_t *data, uint32_t len)
{
	while (len >= 4 && !flow_protocol_is_padding(data, len)) {
		const struct template_entry *entry;
		struct definition definition;

		if (read_definition(&definition, set_id, data, len) != DECODE_FINE)
			return false;
		entry = templates_find(templates, definition.id);
		if (entry == NULL || !is_same(entry, &definition))
			return false;
		data += definition.len;
		len -= definition.len;
	}
	return true;
}

void templates_each(const struct templates *templates,
	void (*emit)(void *arg, const uint8_t *set, uint32_t len), void *arg)
{
	for (uint32_t i = 0; i < templates->count; i++) {
		const struct template_entry *entry = templates->list[i];

		emit(arg, template_definition(entry), entry->definition_len);
	}
}

bool templates_take(
	struct templates *templates, enum flow_protocol protocol, const uint8_t *set, uint32_t len)
{
	uint16_t first =
		protocol == FLOW_PROTOCOL_IPFIX ? SET_IPFIX_TEMPLATES : SET_NETFLOW9_TEMPLATES;
	uint32_t nb;

	if (len < SET_HEADER || read_u16(set + 2) != len)
		return false;
	if (read_u16(set) != first && read_u16(set) != first + 1)
		return false;
	return templates_read_set(templates, read_u16(set), set + SET_HEADER, len - SET_HEADER,
		       NULL, NULL, &nb) == DECODE_FINE &&
	       nb > 0;
}
