/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The same SPEC gives the same packets on every machine, because all choices use integers only. */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/source.h"

struct synthetic_options {
	const char *spec; /* NULL: not given */
};

OPTION_OWNER(synthetic)

enum synthetic_size {
	SYNTHETIC_SIZE_RANGE, /* uniform in [size_min, size_max] */
	SYNTHETIC_SIZE_IMIX,  /* frames of 64, 590 and 1514 bytes, 7 : 4 : 1 */
};

enum synthetic_load {
	SYNTHETIC_STEADY,
	SYNTHETIC_RAMP, /* linear: rate_from to `rate` in load_time, then constant */
	SYNTHETIC_SINE, /* at time t: rate / 2 * (1 + sin(2 pi t / load_time)) */
};

#define SYNTHETIC_IMIX_TOTAL 12
#define SYNTHETIC_IMIX_BYTES (7 * 64 + 4 * 590 + 1514) /* bytes of 12 frames */

struct synthetic_spec {
	uint64_t flows;   /* number of distinct keys */
	bool random;      /* nearly every packet is a new flow; no flows or zipf */
	uint32_t zipf_e6; /* Zipf exponent x 10^6; 0: uniform */
	/* The exponent changes to zipf_to_e6 in drift_time ns (0: over all packets). */
	bool drifts;
	uint32_t zipf_to_e6;
	uint64_t drift_time;
	enum synthetic_size size;
	/* Frame bytes without FCS. Longer headers, of up to 78 bytes, make a frame longer. */
	uint32_t size_min, size_max;
	uint64_t packets; /* 0: endless */
	enum synthetic_load load;
	uint64_t rate, rate_from; /* packets per second */
	uint64_t load_time;       /* ns */
	/* Share of the flows, x 10^6; with random headers, of the packets */
	uint32_t ipv6_e6, vlan_e6;
	uint64_t seed;
};

/*
 * Defaults: flows=1M,zipf=1.05,size=64,packets=5M,ipv6=0,vlan=0,seed=1, and the rate that fills 100
 * Gb/s. Returns false with one line in error[SOURCE_ERROR_MAX].
 */
bool synthetic_parse(const char *text, struct synthetic_spec *spec, char *error);
