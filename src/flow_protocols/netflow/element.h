/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Information elements of IPFIX and NetFlow v9 that the collector reads, one row each. The numbers
 * of v9 field types are the first of IPFIX. The decoder skips all others by their length.
 */

#include <stdbool.h>
#include <stdint.h>

#include "key/key.h"

#define USE_OF_FIELD(name, ...) USE_##name,

/*
 * Destination of an element in a flow record. The decoder makes moves in this order, so that a
 * value computed from two elements has the second one last.
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
	 * If several counters have the same destination, later ones fill records in which it is 0.
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
	USE_END_UPTIME, /* last packet of the record, in the same forms */
	USE_END_SECONDS,
	USE_END_MILLISECONDS,
	USE_END_NTP,
	USE_DOT1Q_VLAN, /* VLAN ID of a tag in the frame */
	USE_DOT1Q_CUSTOMER,
	USE_INPUT,
	USE_OUTPUT,
	USE_NEXT_HOP_IPV4,
	USE_NEXT_HOP_IPV6,
	USE_EXPORTER_IPV4, /* original exporter of a record, from a mediator (RFC 6183) */
	USE_EXPORTER_IPV6,
	USE_EXPORTER_DOMAIN,
	USE_DIRECTION,
	USE_SAMPLER,
	USE_SAMPLING,    /* packets per sampled packet */
	USE_SAMPLED_RUN, /* packets sampled in a row */
	USE_SKIPPED_RUN, /* packets skipped after them */
	USE_SAMPLE_SIZE, /* packets selected out of USE_POPULATION */
	USE_POPULATION,
	USE_PROBABILITY,    /* probability that a packet is selected */
	USE_ALGORITHM,      /* sampling algorithm; 0: none */
	USE_SAMPLED,        /* sampled without a ratio: by time, or by a range of hashes */
	USE_FLOW_SELECTION, /* method of flow selection (RFC 7014) */
	/* Only in options records. */
	USE_INTERFACE_NAME,
	USE_DOMAIN_NAME,
	USE_LOST, /* losses that the exporter reports; the rank is enum loss_counter */
	ELEMENT_USE_COUNT,
};

/* Bit of a use that packet headers also fill: before USE_HEADERS_END. */
#define USE_BIT(use) (UINT32_C(1) << (use))

_Static_assert(USE_HEADERS_END <= 32, "the uses of headers have 32 bits");

/* Encoding of an element. */
enum element_form {
	FORM_NUMBER, /* unsigned; may be shorter than its type (RFC 7011, 6.2) */
	FORM_ADDRESS,
	FORM_TEXT,
	FORM_FLOAT,
	FORM_TOS,
	FORM_MPLS_ENTRY,
};

struct element {
	uint32_t enterprise;
	uint16_t number;
	uint8_t use;     /* enum element_use */
	uint8_t form;    /* enum element_form */
	uint8_t rank;    /* the element with the lowest rank wins if several have one use */
	bool reverse;    /* belongs to the second direction of a biflow */
	uint8_t min_len; /* bytes; variable length only for text */
	uint8_t max_len; /* bytes; UINT8_MAX: any */
};

/* All rows. Elements of key fields come last (KEY_EXTRA_FIELDS). */
extern const struct element elements[];
extern const uint32_t nb_elements;

/* Enterprise number of the second direction of a biflow (RFC 5103). */
#define ENTERPRISE_REVERSE 29305

/* Returns NULL if no row has the number. */
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
