/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Source of a master: the datagrams that other collectors received (--export datagrams), merged by
 * time. Single-threaded.
 */

#include <stdbool.h>
#include <stdint.h>

#include "collect/listen.h"
#include "rx/source.h"

/* ADDRESS:PORT[,N] */
struct collectors_address {
	struct listen_address listen;
	uint32_t collectors; /* N: most collectors to wait for at the start */
};

/* Returns false with a reason in why[OPTION_WHY_MAX]. */
bool collectors_parse(const char *text, struct collectors_address *address, char *why);

/* Returns the bytes for `collectors` collectors with `memory` as in struct collectors_params. */
size_t collectors_bytes(uint32_t collectors, size_t memory);

struct collectors_params {
	struct collectors_address address;
	int64_t interval; /* interval of the master, ns; 0: one for the run */
	int64_t wait;     /* ns without a row until intervals end without a collector */
	size_t memory;    /* most bytes of a collector that wait for the others */
	void (*log)(void *arg, bool warning, const char *line);
	void *arg;
};

/*
 * Besides IP packets with datagrams, next() returns packets of LINK_UNKNOWN that contain a struct
 * collectors_event. The `in_port` of a packet is the number of a socket, below SOCKETS_MAX
 * (collect/collector_state.h). Returns NULL with one line in error[SOURCE_ERROR_MAX].
 */
struct source *collectors_open(const struct collectors_params *params, char *error);

enum collectors_event_kind {
	COLLECTORS_TIME,    /* all datagrams before the time of the packet were passed */
	COLLECTORS_DROPPED, /* the kernel of a collector dropped datagrams */
	COLLECTORS_MISSING, /* datagrams of the interval are missing, or belong to earlier ones */
};

struct collectors_event {
	enum collectors_event_kind kind;
	uint32_t dropped;
};
