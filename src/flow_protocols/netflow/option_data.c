/* SPDX-License-Identifier: BSD-3-Clause */

/* Reads options records, which are rare: their templates are not compiled. */

#include "base/random.h"
#include "flow_protocols/netflow/template_entry.h"

/* Scope types of NetFlow v9 (RFC 3954, 6.1). */
enum netflow9_scope {
	SCOPE_SYSTEM = 1,
	SCOPE_INTERFACE = 2,
	SCOPE_TEMPLATE = 5,
};

enum ipfix_scope {
	SCOPE_TEMPLATE_ID = 145,
	SCOPE_OBSERVATION_DOMAIN = 149,
};

#define NOT_GIVEN (-1.0)

struct ratios {
	double sampled_run, skipped_run;
	double sample_size, population;
	double probability;
	bool sampled; /* packets are sampled at an unknown interval */
	uint8_t name_rank;
};

static void set_interval(struct option_record *option, uint32_t interval)
{
	option->sampling = interval;
	option->has |= OPTION_RECORD_SAMPLING;
}

static void set_sampling(struct option_record *option, double interval)
{
	uint32_t whole = sampling_interval(interval);

	set_interval(option, whole != 0 ? whole : SAMPLING_RATIO_UNKNOWN);
}

static void set_interface(struct option_record *option, uint64_t interface)
{
	if (option->has & OPTION_RECORD_INTERFACE)
		return;
	option->interface = (uint32_t)interface;
	option->has |= OPTION_RECORD_INTERFACE;
}

static void set_name(struct option_record *option, const uint8_t *data, uint32_t len)
{
	while (len > 0 && data[len - 1] == 0)
		len--;
	if (len == 0)
		return;
	option->name = data;
	option->name_len = len;
	option->has |= OPTION_RECORD_NAME;
}

static void take_field(struct option_record *option, struct ratios *ratios,
	const struct element *element, const uint8_t *data, uint32_t len)
{
	uint64_t number = len <= 8 ? read_number(data, len) : 0;

	switch (element->use) {
	case USE_INPUT:
	case USE_OUTPUT: set_interface(option, number); break;
	case USE_SAMPLER:
		option->sampler = number;
		option->has |= OPTION_RECORD_SAMPLER;
		break;
	case USE_SAMPLING:
		if (number != 0)
			set_sampling(option, (double)number);
		break;
	case USE_SAMPLED_RUN: ratios->sampled_run = (double)number; break;
	case USE_SKIPPED_RUN: ratios->skipped_run = (double)number; break;
	case USE_SAMPLE_SIZE: ratios->sample_size = (double)number; break;
	case USE_POPULATION: ratios->population = (double)number; break;
	case USE_PROBABILITY:
		ratios->probability = move_read_float(data, len);
		ratios->sampled = true;
		break;
	case USE_ALGORITHM: ratios->sampled |= number != 0; break;
	case USE_SAMPLED: ratios->sampled = true; break;
	case USE_FLOW_SELECTION: option->has |= OPTION_RECORD_FLOWS; break;
	case USE_LOST:
		option->lost[element->rank] = number;
		option->has_lost |= (uint8_t)(1U << element->rank);
		break;
	case USE_INTERFACE_NAME:
	case USE_DOMAIN_NAME:
		if (element->rank < ratios->name_rank) {
			set_name(option, data, len);
			ratios->name_rank =
				option->has & OPTION_RECORD_NAME ? element->rank : UINT8_MAX;
		}
		break;
	default: break;
	}
}

/* The interval is unknown if one of the two numbers of a ratio is missing or 0. */
static void end_sampling(struct option_record *option, const struct ratios *ratios)
{
	/* The sampling elements then describe the selection of flows, not of packets. */
	if (option->has & OPTION_RECORD_FLOWS) {
		option->has &= ~(uint32_t)OPTION_RECORD_SAMPLING;
		option->sampling = 0;
		return;
	}
	if (ratios->skipped_run == 0)
		set_interval(option, 1);
	else if (ratios->sampled_run >= 0 || ratios->skipped_run > 0)
		set_sampling(option, ratios->sampled_run >= 0 && ratios->skipped_run >= 0
					     ? 1 + ratios->skipped_run / ratios->sampled_run
					     : 0);
	if (ratios->sample_size >= 0 || ratios->population >= 0)
		set_sampling(option, ratios->population / ratios->sample_size);
	if (ratios->probability > 0)
		set_sampling(option, 1 / ratios->probability);
	if (ratios->sampled && !(option->has & OPTION_RECORD_SAMPLING))
		set_interval(option, SAMPLING_RATIO_UNKNOWN);
}

static uint64_t mix_part(
	uint64_t part, const struct field *field, const uint8_t *data, uint32_t len)
{
	uint64_t mixed = random_mix(part ^ field->number ^ (uint64_t)field->enterprise << 16);

	for (uint32_t i = 0; i < len; i++)
		mixed = random_mix(mixed ^ data[i]);
	return mixed;
}

/* Scopes that flow records do not have, such as line cards, only change the hash option->part. */
static void take_scope(struct option_record *option, bool ipfix, const struct field *field,
	const uint8_t *data, uint32_t len)
{
	uint64_t number = len <= 8 ? read_number(data, len) : 0;

	if (ipfix ? field->enterprise == 0 && field->number == SCOPE_TEMPLATE_ID
		  : field->number == SCOPE_TEMPLATE) {
		option->template_id = (uint16_t)number;
		option->has |= OPTION_RECORD_TEMPLATE;
	} else if (ipfix && field->enterprise == 0 && field->number == SCOPE_OBSERVATION_DOMAIN) {
		option->domain = (uint32_t)number;
		option->has |= OPTION_RECORD_DOMAIN;
	} else if (!ipfix && field->number == SCOPE_INTERFACE) {
		set_interface(option, number);
	} else if (ipfix || field->number != SCOPE_SYSTEM) {
		option->part = mix_part(option->part, field, data, len);
		option->has |= OPTION_RECORD_PART;
	}
}

static bool is_of_records(const struct element *element)
{
	return element != NULL && (element->use == USE_INPUT || element->use == USE_OUTPUT ||
					  element->use == USE_SAMPLER);
}

void option_add_empty_scope(struct template_entry *entry, const struct field *field)
{
	struct option_record option = {.part = entry->reverse_has};

	if (entry->ipfix && is_of_records(element_find(field->enterprise, field->number)))
		return;
	take_scope(&option, entry->ipfix, field, NULL, 0);
	entry->has |= option.has;
	if (option.has & OPTION_RECORD_PART)
		entry->reverse_has = (uint32_t)option.part | 1;
}

uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct option_record *option)
{
	const uint8_t *at = template_fields(entry), *begin = data;
	const uint8_t *end = template_fields_end(entry);
	struct ratios ratios = {
		NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, NOT_GIVEN, false, UINT8_MAX};

	*option = (struct option_record){0};
	for (uint32_t i = 0; i < entry->nb_fields; i++) {
		const struct element *element;
		struct field field;
		uint32_t len, before = 0;

		at += field_read(at, (uint32_t)(end - at), entry->ipfix, &field);
		len = field.len;
		if (field.len == FIELD_VARIABLE) {
			len = field_variable_len(data, left, &before);
			if (before == 0)
				return 0;
		}
		if (before + len > left)
			return 0;
		data += before;
		element = element_find(field.enterprise, field.number);
		if (i < entry->nb_scopes && (!entry->ipfix || !is_of_records(element)))
			take_scope(option, entry->ipfix, &field, data, len);
		else if (element != NULL && element_length_fits(element, len))
			take_field(option, &ratios, element, data, len);
		data += len;
		left -= before + len;
	}
	option->has |= entry->has;
	if (entry->reverse_has != 0)
		option->part = random_mix(option->part ^ entry->reverse_has);
	end_sampling(option, &ratios);
	return (uint32_t)(data - begin);
}
