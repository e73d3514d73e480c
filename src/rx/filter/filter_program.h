/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Filter expressions, compiled by libpcap to classic BPF (McCanne and Jacobson 1993), a program for
 * every kind of capture that a source has. What a program says of a packet is what libpcap's own
 * interpreter says (bpf_filter()), given the captured bytes and the length on the wire.
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "config/option.h"

struct filter_options {
	const char *expression; /* expression of libpcap; NULL: everything */
};

OPTION_OWNER(filter)

#define FILTER_PROGRAMS_MAX 288   /* captures, and kinds of interfaces, that there can be */
#define FILTER_ERROR_MAX    512   /* one line */
#define FILTER_REACH_MAX    65535 /* bytes; programs read no further */

struct filter_set {
	uint32_t n; /* 0: everything is measured */
	struct bpf_program programs[FILTER_PROGRAMS_MAX];
	/* Bytes that programs read at most; FILTER_REACH_MAX: unknown. */
	uint32_t reach;
};

/*
 * Compiles the expression for the link type of `pcap` (and the byte order of its file), unless an
 * equal program is there. Returns the program's number, or -1 with libpcap's words in
 * error[FILTER_ERROR_MAX]. An expression that no packet of this link type can match is a program
 * that matches none.
 */
int filter_set_add(struct filter_set *set, pcap_t *pcap, const char *expression, char *error);
/* The same of a program that matches nothing. */
int filter_set_add_nothing(struct filter_set *set, char *error);
/* The same for Ethernet: live ports and the generator. */
int filter_set_add_ethernet(struct filter_set *set, const char *expression, char *error);
void filter_set_free(struct filter_set *set);

/*
 * Returns true if the expression compiles for any supported link type. Else writes one line to
 * error[FILTER_ERROR_MAX]: the message of libpcap and, if found, the position.
 */
bool filter_check(const char *expression, char *error);

/* Bytes that the program may read of a packet, at most FILTER_REACH_MAX. */
uint32_t filter_reach(const struct bpf_program *program);
