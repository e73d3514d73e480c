/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The SPEC of --synthetic: name=value,... The same SPEC gives the same packets on every machine and
 * build: all choices are made with integers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/source.h"

struct synthetic_options {
	const char *spec; /* checked by synthetic_parse(); NULL: not given */
};

OPTION_OWNER(synthetic)

enum synthetic_size {
	SYNTHETIC_SIZE_RANGE, /* uniform in [size_min, size_max]; fixed where they are equal */
	SYNTHETIC_SIZE_IMIX,  /* frames of 64, 590 and 1514 bytes, 7 : 4 : 1 */
};

enum synthetic_load {
	SYNTHETIC_STEADY, /* rate */
	SYNTHETIC_RAMP,   /* linear from rate_from to rate in load_time, then rate */
	SYNTHETIC_SINE,   /* rate / 2 x (1 + sin(2 pi t / load_time)) */
};

#define SYNTHETIC_IMIX_TOTAL 12                        /* 7 + 4 + 1 */
#define SYNTHETIC_IMIX_BYTES (7 * 64 + 4 * 590 + 1514) /* bytes of these twelve frames */

struct synthetic_spec {
	uint64_t flows; /* distinct keys to draw from */
	bool random; /* all-random headers, nearly every packet a new flow; flows, zipf not used */
	uint32_t zipf_e6; /* Zipf exponent x 10^6; 0: uniform */
	/* Drift of the exponent: linear to another value in drift_time ns; 0: over all packets. */
	bool drifts;
	uint32_t zipf_to_e6;
	uint64_t drift_time;
	enum synthetic_size size;
	/*
	 * Frame bytes without FCS, as the ledger counts them. A frame is longer where its headers
	 * need more: 78 bytes for IPv6 with TCP and a VLAN tag.
	 */
	uint32_t size_min, size_max;
	uint64_t packets; /* 0: endless */
	enum synthetic_load load;
	uint64_t rate, rate_from;  /* packets per second of the time stamps */
	uint64_t load_time;        /* ns */
	uint32_t ipv6_e6, vlan_e6; /* share of the flows (random: of the packets) x 10^6 */
	uint64_t seed;
};

/*
 * Reads a SPEC:
 *
 *   flows=1M,zipf=1.05,size=64,packets=5M,rate=...,ipv6=0,vlan=0,seed=1
 *
 * These are the defaults, in any order, each at most once; the empty SPEC is valid. zipf may be
 * random or uniform, and these words may stand alone, or FROM-TO; size is bytes, MIN-MAX or imix.
 * The default rate is what a 100 Gb/s link carries at the mean size (with FCS, preamble and gap);
 * it may be FROM-TO, or sine:PEAK:PERIOD. What is FROM-TO takes over=TIME. Returns true,
 * or false and one line in error[SOURCE_ERROR_MAX] that names the field, its value and what is
 * allowed.
 */
bool synthetic_parse(const char *text, struct synthetic_spec *spec, char *error);
