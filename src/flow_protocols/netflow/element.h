/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The information elements that are looked at, a row each: those of IPFIX, of which NetFlow v9's
 * field types are the first. All others are skipped by their length.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * What an element fills. Moves are made in this order: what is worked out of two elements has the
 * second behind the first.
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
	USE_TCP_FLAGS,
	USE_VLAN,
	USE_DSCP,
	USE_MPLS,
	USE_TTL,
	/* Of counters for one place, those after the first fill records in which it is 0. */
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
	USE_START_UPTIME, /* when the flow began: ms of uptime */
	USE_START_SECONDS,
	USE_START_MILLISECONDS,
	USE_START_NTP,
	USE_END_UPTIME, /* when the last packet of the record came, in the same forms */
	USE_END_SECONDS,
	USE_END_MILLISECONDS,
	USE_END_NTP,
	USE_DOT1Q_VLAN, /* of a tag in the frame */
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
	USE_SAMPLING,       /* one of so many packets */
	USE_SAMPLED_RUN,    /* so many packets in a row are looked at, */
	USE_SKIPPED_RUN,    /* and then so many are not */
	USE_SAMPLE_SIZE,    /* so many packets, */
	USE_POPULATION,     /* of so many */
	USE_PROBABILITY,    /* of a packet */
	USE_ALGORITHM,      /* of sampling; 0: none */
	USE_SAMPLED,        /* sampling without a ratio: times, ranges of a hash */
	USE_FLOW_SELECTION, /* flows are selected (RFC 7014) */
	/* Of options only. */
	USE_INTERFACE_NAME,
	USE_DOMAIN_NAME,
	USE_LOST, /* an exporter's own losses; the rank is enum wire_lost */
	ELEMENT_USE_COUNT,
};

/* Bit of a use that a packet's headers fill as well: up to USE_MPLS. */
#define USE_BIT(use) (1U << (use))

_Static_assert(USE_MPLS < 16, "the uses of headers have 16 bits");

/* How its bytes are to be understood. */
enum element_form {
	FORM_NUMBER, /* unsigned; shorter than its type where that is enough (RFC 7011, 6.2) */
	FORM_ADDRESS,
	FORM_TEXT,
	FORM_FLOAT,
	FORM_TOS, /* the DSCP, behind it two bits of ECN */
	FORM_MPLS_ENTRY,
};

struct element {
	uint32_t enterprise;
	uint16_t number;
	uint8_t use;     /* enum element_use */
	uint8_t form;    /* enum element_form */
	uint8_t rank;    /* of several elements for one use that with the lowest is taken */
	bool reverse;    /* of the second direction of a biflow */
	uint8_t min_len; /* of the field; a variable length only where it is a text */
	uint8_t max_len; /* UINT8_MAX: any */
};

/* Every row, by enterprise and number. */
extern const struct element elements[];
extern const uint32_t nb_elements;

/* That fields of the second direction of a biflow have (RFC 5103). */
#define ENTERPRISE_REVERSE 29305

/* NULL where it is none of them. */
const struct element *element_find(uint32_t enterprise, uint16_t number);

static inline bool element_is_counter(const struct element *element)
{
	return element->use >= USE_PACKETS && element->use <= USE_LAYER2_TOTAL_BYTES;
}

/* Whether a field of it may be so long. */
static inline bool element_length_fits(const struct element *element, uint32_t len)
{
	return len >= element->min_len &&
	       (len <= element->max_len || element->max_len == UINT8_MAX);
}
