/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

#define PACKET_BYTES_MAX 262144 /* maximum captured bytes */

enum link_type {
	LINK_ETHERNET, /* all live ports have it */
	LINK_RAW,      /* IPv4 or IPv6 without a link header */
	LINK_NULL,     /* BSD NULL and LOOP */
	LINK_SLL,      /* Linux cooked capture */
	LINK_SLL2,
	LINK_PPP,
	LINK_C_HDLC,
	LINK_MPLS,    /* only in headers that exporters sample */
	LINK_UNKNOWN, /* packets are not measured and count as non-IP */
	LINK_COUNT,
};

/* `number` is that of capture files and libpcap. */
struct link_type_number {
	int number;
	enum link_type link;
};

#define LINK_TYPE_NUMBERS 12

extern const struct link_type_number link_type_numbers[LINK_TYPE_NUMBERS];

/* A link kind is 2 * index in link_type_numbers[], plus 1 for files of the other byte order. */
#define LINK_KINDS        (2 * LINK_TYPE_NUMBERS)
#define LINK_KIND_UNKNOWN LINK_KINDS

#define LINK_TYPE_TEXT_MAX 192

/* Returns the index of the number in link_type_numbers[], or -1. */
int link_type_find(int number);
int link_kind_find(int number, bool swapped);
enum link_type link_kind_type(int kind);
/* Returns a number for libpcap. `kind` must not be LINK_KIND_UNKNOWN. */
int link_kind_number(int kind);
/* Writes text such as "link type 1 (EN10MB)" to text[LINK_TYPE_TEXT_MAX]. */
void link_type_name(int number, char *text);
/* Writes to text[LINK_TYPE_TEXT_MAX] that the link type is not supported. */
void link_type_unknown(int number, char *text);
