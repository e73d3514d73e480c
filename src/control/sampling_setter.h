/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sets or reads the sampling interval of exporters: of Open vSwitch with ovs-vsctl, of others with the
 * program of --sampling-command. ovs-vsctl is used instead of OVSDB's own protocol (RFC 7047),
 * because it waits until the switch has applied the change, and supports TLS. A thread runs one
 * program at a time.
 */

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "collect/exporters/collector_rows.h"

#define SAMPLING_SETTER_WHY 200

struct sampling_order {
	uint32_t owner; /* the caller's number of the exporter; returned with the result */
	struct in6_addr address;
	enum flow_protocol protocol;
	/* database of the switch, such as unix:FILE; NULL: `command` sets it. Outlives the order. */
	const char *ovsdb;
	const char *command;
	uint32_t interval; /* 0: only reads it, from `ovsdb` */
};

struct sampling_set {
	uint32_t owner;
	/* In effect. After a read: the coarsest of all bridges; 0: none exports this protocol. */
	uint32_t interval;
	bool read; /* the order had no interval */
	bool done;
	char why[SAMPLING_SETTER_WHY]; /* one line, if not done */
};

struct sampling_setter;

/* Returns NULL on failure. */
struct sampling_setter *sampling_setter_create(void);
/* Cancels running and waiting orders. NULL is allowed. */
void sampling_setter_destroy(struct sampling_setter *setter);

/* Orders with an interval precede others. Returns false if out of memory. */
bool sampling_setter_put(struct sampling_setter *setter, const struct sampling_order *order);
/* Takes the oldest result. Returns false if there is none. */
bool sampling_setter_take(struct sampling_setter *setter, struct sampling_set *set);
