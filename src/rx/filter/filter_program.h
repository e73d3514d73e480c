/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Filter expressions, compiled by libpcap to classic BPF (McCanne and Jacobson 1993) for each kind
 * of capture interface (rx/packet/link_type.h)
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "config/option.h"

struct filter_options {
	const char *expression; /* NULL: no filter */
};

OPTION_OWNER(filter)

#define FILTER_PROGRAMS_MAX 288 /* limit of capture files and link kinds together */
#define FILTER_ERROR_MAX    512
#define FILTER_REACH_MAX    65535 /* maximum bytes of a packet that a program reads */

struct filter_set {
	uint32_t n;
	struct bpf_program programs[FILTER_PROGRAMS_MAX];
	/* Bytes of a packet that the programs read; FILTER_REACH_MAX: unknown */
	uint32_t reach;
};

/*
 * Returns the index of a new or equal program for the link type and byte order of `pcap`, or -1
 * with the message of libpcap in error[FILTER_ERROR_MAX].
 */
int filter_set_add(struct filter_set *set, pcap_t *pcap, const char *expression, char *error);
int filter_set_add_nothing(struct filter_set *set, char *error);
/* Compiles for live ports and the generator */
int filter_set_add_ethernet(struct filter_set *set, const char *expression, char *error);
void filter_set_free(struct filter_set *set);

/*
 * Checks the expression for all supported link types. error[FILTER_ERROR_MAX] gets the message of
 * libpcap, with the position of the mistake if known.
 */
bool filter_check(const char *expression, char *error);

/* Returns the bytes of a packet that the program can read, at most FILTER_REACH_MAX. */
uint32_t filter_reach(const struct bpf_program *program);
