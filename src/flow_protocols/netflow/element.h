/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Table of the information elements that the collector reads from IPFIX and NetFlow v9. NetFlow v9
 * field types have the numbers of the same IPFIX elements. The decoder skips all other elements by
 * their length.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"

#define USE_OF_FIELD(name, ...) USE_##name,

/*
 * Meaning of an element: most elements set a member of struct flow_record. The decoder processes
 * them in this order. If a value needs two elements, the second one completes it.
 */
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
	/*
	 * Several of these counters may set the same member. A later one sets it only in records in
	 * which it is still 0.
	 */
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
	USE_START_UPTIME, /* start of the flow, in ms of uptime */
	USE_START_SECONDS,
	USE_START_MILLISECONDS,
	USE_START_NTP,
	USE_END_UPTIME, /* time of the last packet, in ms of uptime */
	USE_END_SECONDS,
	USE_END_MILLISECONDS,
	USE_END_NTP,
	USE_DOT1Q_VLAN,
	USE_DOT1Q_CUSTOMER,
	USE_INPUT,
	USE_OUTPUT,
	USE_NEXT_HOP_IPV4,
	USE_NEXT_HOP_IPV6,
	USE_EXPORTER_IPV4, /* original exporter of a record that a mediator sends (RFC 6183) */
	USE_EXPORTER_IPV6,
	USE_EXPORTER_DOMAIN,
	USE_DIRECTION,
	USE_SAMPLER,
	USE_SAMPLING,    /* N: one of N packets is sampled */
	USE_SAMPLED_RUN, /* number of successive packets that are sampled */
	USE_SKIPPED_RUN, /* number of packets skipped after USE_SAMPLED_RUN packets */
	USE_SAMPLE_SIZE, /* number of packets selected out of USE_POPULATION packets */
	USE_POPULATION,
	USE_PROBABILITY,
	USE_ALGORITHM,      /* sampling algorithm; 0: none */
	USE_SAMPLED,        /* sampled by time or by a hash range: the interval is unknown */
	USE_FLOW_SELECTION, /* method of flow selection (RFC 7014) */
	/* Only in options records. */
	USE_INTERFACE_NAME,
	USE_DOMAIN_NAME,
	USE_LOST, /* losses that the exporter reports; element.rank is an enum loss_counter */
	ELEMENT_USE_COUNT,
};

/*
 * Bit for a value of enum element_use in a set. Only values below USE_HEADERS_END have a bit:
 * packet headers also contain these fields.
 */
#define USE_BIT(use) (UINT32_C(1) << (use))

_Static_assert(USE_HEADERS_END <= 32, "USE_BIT() needs one bit for each use below USE_HEADERS_END");

/* Encoding of an element. */
enum element_form {
	FORM_NUMBER, /* unsigned integer; may be shorter than its type (RFC 7011, 6.2) */
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
	/* if several elements of a template have the same use, the lowest rank is read */
	uint8_t rank;
	bool reverse;    /* belongs to the reverse direction of a biflow */
	uint8_t min_len; /* bytes of the shortest field */
	uint8_t max_len; /* bytes of the longest field; UINT8_MAX: any length */
};

/* All elements. Those of KEY_EXTRA_FIELDS come last. */
extern const struct element elements[];
extern const uint32_t nb_elements;

/* Enterprise number of elements for the reverse direction of a biflow (RFC 5103). */
#define ENTERPRISE_REVERSE 29305

/* Returns NULL if the collector does not read the element. */
const struct element *element_find(uint32_t enterprise, uint16_t number);

static inline bool element_is_counter(const struct element *element)
{
	return element->use >= USE_PACKETS && element->use <= USE_LAYER2_TOTAL_BYTES;
}

/* Returns true if a field of this element can have `len` bytes. */
static inline bool element_length_fits(const struct element *element, uint32_t len)
{
	return len >= element->min_len &&
	       (len <= element->max_len || element->max_len == UINT8_MAX);
}
