/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Information elements of IPFIX and NetFlow v9 that the collector reads. Both use the same numbers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"

#define USE_OF_FIELD(name, ...) USE_##name,

/* The decoder processes the fields of a record in this order. */
enum element_use {
	USE_SRC_IPV4,
	USE_DST_IPV4,
	USE_SRC_IPV6,
	USE_DST_IPV6,
	USE_SRC_PORT,
	USE_DST_PORT,
	USE_PROTO,
	USE_IP_VERSION,
	KEY_EXTRA_FIELDS(USE_OF_FIELD) USE_HEADERS_END,
	USE_TTL = USE_HEADERS_END,
	/* Counters for the same member of flow_record: the first one that is not 0 counts. */
	USE_PACKETS,
	USE_INITIATOR_PACKETS,
	USE_POST_PACKETS,
	USE_BYTES,
	USE_INITIATOR_BYTES,
	USE_POST_BYTES,
	USE_LAYER2_BYTES,
	USE_TOTAL_PACKETS,
	USE_POST_TOTAL_PACKETS,
	USE_TOTAL_BYTES,
	USE_POST_TOTAL_BYTES,
	USE_LAYER2_TOTAL_BYTES,
	USE_FIREWALL_EVENT,
	USE_END_REASON,
	USE_START_UPTIME, /* ms of uptime */
	USE_START_SECONDS,
	USE_START_MILLISECONDS,
	USE_START_NTP,
	USE_END_UPTIME, /* ms of uptime */
	USE_END_SECONDS,
	USE_END_MILLISECONDS,
	USE_END_NTP,
	USE_DOT1Q_VLAN,
	USE_DOT1Q_CUSTOMER,
	USE_INPUT,
	USE_OUTPUT,
	USE_NEXT_HOP_IPV4,
	USE_NEXT_HOP_IPV6,
	USE_EXPORTER_IPV4,
	USE_EXPORTER_IPV6,
	USE_EXPORTER_DOMAIN,
	USE_DIRECTION,
	USE_SAMPLER,
	USE_SAMPLING,    /* 1 of N packets is sampled */
	USE_SAMPLED_RUN, /* successive packets that are sampled */
	USE_SKIPPED_RUN, /* packets skipped after USE_SAMPLED_RUN packets */
	USE_SAMPLE_SIZE, /* packets selected out of USE_POPULATION */
	USE_POPULATION,
	USE_PROBABILITY,
	USE_ALGORITHM,      /* 0: not sampled */
	USE_SAMPLED,        /* sampled by time or hash: the interval is unknown */
	USE_FLOW_SELECTION, /* method of flow selection (RFC 7014) */
	USE_INTERFACE_NAME,
	USE_DOMAIN_NAME,
	USE_LOST, /* element.rank is an enum loss_counter */
	ELEMENT_USE_COUNT,
};

/* Only uses below USE_HEADERS_END have a bit: those that packet headers also contain. */
#define USE_BIT(use) (UINT32_C(1) << (use))

_Static_assert(USE_HEADERS_END <= 32, "USE_BIT() needs one bit for each use below USE_HEADERS_END");

enum element_form {
	FORM_NUMBER, /* may be shorter than its type (RFC 7011, 6.2) */
	FORM_ADDRESS,
	FORM_TEXT,
	FORM_FLOAT,
	FORM_TOS,
	FORM_MPLS_ENTRY,
};

struct element {
	uint32_t enterprise;
	uint16_t number;
	uint8_t use;  /* enum element_use */
	uint8_t form; /* enum element_form */
	/* if several fields have the same use, the lowest rank is read */
	uint8_t rank;
	bool reverse;
	uint8_t min_len;
	uint8_t max_len; /* UINT8_MAX: any length */
};

/* Elements of KEY_EXTRA_FIELDS come last. */
extern const struct element elements[];
extern const uint32_t nb_elements;

#define ENTERPRISE_REVERSE 29305

/* Returns NULL if the collector does not read the element. */
const struct element *element_find(uint32_t enterprise, uint16_t number);

static inline bool element_is_counter(const struct element *element)
{
	return element->use >= USE_PACKETS && element->use <= USE_LAYER2_TOTAL_BYTES;
}

static inline bool element_length_fits(const struct element *element, uint32_t len)
{
	return len >= element->min_len &&
	       (len <= element->max_len || element->max_len == UINT8_MAX);
}
