/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Filter expressions, compiled by libpcap to classic BPF (McCanne and Jacobson 1993). A source has
 * one program for each kind of its capture interfaces (rx/packet/link_type.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "config/option.h"

struct filter_options {
	const char *expression; /* NULL: no filter */
};

OPTION_OWNER(filter)

#define FILTER_PROGRAMS_MAX 288   /* limit of capture files and kinds of interfaces together */
#define FILTER_ERROR_MAX    512   /* one line */
#define FILTER_REACH_MAX    65535 /* maximum bytes of a packet that a program reads */

struct filter_set {
	uint32_t n; /* 0: no filter */
	struct bpf_program programs[FILTER_PROGRAMS_MAX];
	/* bytes of a packet that the programs read; FILTER_REACH_MAX: unknown */
	uint32_t reach;
};

/*
 * Compiles the expression for the link type of `pcap` (and the byte order of its file). Returns the
 * index of a new or equal program, or -1 with the message of libpcap in error[FILTER_ERROR_MAX].
 */
int filter_set_add(struct filter_set *set, pcap_t *pcap, const char *expression, char *error);
/* Adds a program that matches nothing. */
int filter_set_add_nothing(struct filter_set *set, char *error);
/* For live ports and the generator */
int filter_set_add_ethernet(struct filter_set *set, const char *expression, char *error);
void filter_set_free(struct filter_set *set);

/*
 * Returns true if the expression compiles for any supported link type. Else writes the message of
 * libpcap and the position of the mistake, if found, to error[FILTER_ERROR_MAX].
 */
bool filter_check(const char *expression, char *error);

/* Returns the number of bytes of a packet that the program can read, at most FILTER_REACH_MAX. */
uint32_t filter_reach(const struct bpf_program *program);
