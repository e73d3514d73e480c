/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The SPEC of --synthetic: name=value,... The same SPEC gives the same packets on every machine and
 * build: all choices are made with integers.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/source.h"

enum synthetic_size {
	SYNTHETIC_SIZE_RANGE, /* uniform in [size_min, size_max]; fixed where they are equal */
	SYNTHETIC_SIZE_IMIX,
};

struct synthetic_spec {
	uint64_t flows; /* distinct keys to draw from */
	bool random;    /* all-random headers, nearly every packet a new flow; flows is not used */
	uint32_t zipf_e6; /* Zipf exponent x 10^6; 0: uniform */
	enum synthetic_size size;
	uint32_t size_min, size_max; /* frame bytes without FCS, as the ledger counts them */
	uint64_t packets;            /* 0: endless */
	uint64_t rate;               /* packets per second of the time stamps */
	uint32_t ipv6_e6, vlan_e6;   /* share x 10^6 */
	uint64_t seed;
};

/*
 * Reads a SPEC. Returns true, or false and one line in error[SOURCE_ERROR_MAX] that names the
 * field, its value and what is allowed.
 */
bool synthetic_parse(const char *text, struct synthetic_spec *spec, char *error);
