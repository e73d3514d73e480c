/* SPDX-License-Identifier: BSD-3-Clause */

/* Options are few: their definition is read anew with each record. */

#include "wire/option_data.h"

#include <math.h>

#define SCOPE_INTERFACE 2 /* of v9, whose scopes have numbers of their own */

/* What says in two elements how packets are sampled. */
struct ratios {
	double sampled_run, skipped_run; /* skipped: below 0 where it is not said */
	double sample_size, population;
	double probability;
	uint8_t name_rank;
};

static uint32_t whole_interval(double interval)
{
	if (!(interval >= 1))
		return 0;
	return interval < (double)UINT32_MAX ? (uint32_t)lround(interval) : UINT32_MAX;
}

static void set_sampling(struct wire_option *option, double interval)
{
	uint32_t whole = whole_interval(interval);

	if (whole == 0)
		return;
	option->sampling = whole;
	option->has |= WIRE_OPTION_SAMPLING;
}

static double read_real(const uint8_t *data, uint32_t len)
{
	uint64_t bits = read_number(data, len);
	uint32_t bits32 = (uint32_t)bits;
	double real = 0;
	float real32;

	if (len == sizeof(real)) {
		memcpy(&real, &bits, sizeof(real));
	} else if (len == sizeof(real32)) {
		memcpy(&real32, &bits32, sizeof(real32));
		real = (double)real32;
	}
	return real;
}

static void set_interface(struct wire_option *option, uint64_t interface)
{
	if (option->has & WIRE_OPTION_INTERFACE)
		return;
	option->interface = (uint32_t)interface;
	option->has |= WIRE_OPTION_INTERFACE;
}

/* Names of a fixed length are filled up with zeros. */
static void set_name(struct wire_option *option, const uint8_t *data, uint32_t len)
{
	while (len > 0 && data[len - 1] == 0)
		len--;
	if (len == 0)
		return;
	option->name = data;
	option->name_len = len;
	option->has |= WIRE_OPTION_NAME;
}

static void take_field(struct wire_option *option, struct ratios *ratios,
	const struct element *element, const uint8_t *data, uint32_t len)
{
	uint64_t number = len <= 8 ? read_number(data, len) : 0;

	switch (element->use) {
	case USE_INPUT:
	case USE_OUTPUT: set_interface(option, number); break;
	case USE_SAMPLER:
		option->sampler = number;
		option->has |= WIRE_OPTION_SAMPLER;
		break;
	case USE_SAMPLING: set_sampling(option, (double)number); break;
	case USE_SAMPLED_RUN: ratios->sampled_run = (double)number; break;
	case USE_SKIPPED_RUN: ratios->skipped_run = (double)number; break;
	case USE_SAMPLE_SIZE: ratios->sample_size = (double)number; break;
	case USE_POPULATION: ratios->population = (double)number; break;
	case USE_PROBABILITY: ratios->probability = read_real(data, len); break;
	case USE_INTERFACE_NAME:
	case USE_DOMAIN_NAME:
		if (element->rank < ratios->name_rank) {
			set_name(option, data, len);
			ratios->name_rank =
				option->has & WIRE_OPTION_NAME ? element->rank : UINT8_MAX;
		}
		break;
	default: break;
	}
}

static void end_sampling(struct wire_option *option, const struct ratios *ratios)
{
	if (ratios->sampled_run > 0 && ratios->skipped_run >= 0)
		set_sampling(
			option, (ratios->sampled_run + ratios->skipped_run) / ratios->sampled_run);
	if (ratios->sample_size > 0 && ratios->population > 0)
		set_sampling(option, ratios->population / ratios->sample_size);
	if (ratios->probability > 0)
		set_sampling(option, 1 / ratios->probability);
}

uint32_t option_read(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	struct wire_option *option)
{
	const uint8_t *at = template_fields(entry), *begin = data;
	const uint8_t *end = template_definition(entry) + entry->definition_len;
	struct ratios ratios = {.skipped_run = -1, .name_rank = UINT8_MAX};

	*option = (struct wire_option){0};
	for (uint32_t i = 0; i < entry->nb_fields; i++) {
		const struct element *element;
		struct field field;
		uint32_t len, before = 0;

		at += field_read(at, (uint32_t)(end - at), entry->ipfix, &field);
		len = field.len;
		if (entry->ipfix && field.len == FIELD_VARIABLE) {
			len = field_variable_len(data, left, &before);
			if (before == 0)
				return 0;
		}
		if (before + len > left)
			return 0;
		data += before;
		if (!entry->ipfix && i < entry->nb_scopes) {
			if (field.number == SCOPE_INTERFACE && len <= 8)
				set_interface(option, read_number(data, len));
		} else {
			element = element_find(field.enterprise, field.number);
			if (element != NULL && element_length_fits(element, len))
				take_field(option, &ratios, element, data, len);
		}
		data += len;
		left -= before + len;
	}
	end_sampling(option, &ratios);
	return (uint32_t)(data - begin);
}
