/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decodes datagrams into observations, and counts losses. Single-threaded, except for the thread
 * that writes the template file. Allocates memory for new exporters and templates, never per
 * record.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/datagram.h"
#include "collect/exporters/collector_rows.h"
#include "collect/exporters/exporter_rule.h"
#include "collect/exporters/observation.h"
#include "config/option.h"
#include "flow_protocols/flow_protocol.h"

struct collector_params {
	/* --exporter; if there are none, all exporters are allowed */
	const struct exporter_rule *rules;
	uint32_t nb_rules;
	uint32_t exporters_max; /* domains */
	size_t template_bytes;  /* bytes, all domains together */
	/* memory for data sets that wait for a template; 0: they are dropped */
	size_t waiting_bytes;
	uint32_t link_overhead; /* layer 2 bytes to add per packet */
	const char *template_file;
	bool links;
	bool live;     /* datagrams come from sockets, not from a capture */
	uint64_t seed; /* secret, because senders choose the hashed keys */
	/* Returns true if --filter keeps the record. May be NULL. */
	bool (*matches)(void *arg, const struct observation *observation);
	/* 1 to BURST_MAX observations */
	void (*observe)(void *arg, const struct observation *observations, uint32_t n);
	/*
	 * Called before another exporter takes the slot. The callee adds its record_counts to
	 * `others`.
	 */
	void (*forget)(void *arg, uint32_t exporter);
	/*
	 * For the roles of interfaces, which the template file stores; NULL if roles are not
	 * learned. roles_changed() returns true if roles must be saved. emit_roles() returns false
	 * if the roles are not available now; the collector tries again later.
	 */
	void (*restore_role)(void *arg, const struct interface_role_row *row, int64_t saved_at);
	bool (*roles_changed)(void *arg);
	bool (*emit_roles)(void *arg,
		void (*emit)(void *emit_arg, const struct interface_role_row *row), void *emit_arg);
	/* Called at most once per second during a run. */
	void (*log)(void *arg, bool warning, const char *line);
	void *arg;
};

size_t collector_memory(const struct collector_params *params);

/* Returns NULL on failure, with a message in error[OPTION_WHY_MAX]. */
struct collector *collector_create(const struct collector_params *params, char *error);
void collector_destroy(struct collector *collector);

/* Returns true if no --exporter rule allows the source address of the datagram. */
bool collector_refuses(const struct collector *collector, const struct datagram *datagram);

/* The last records, fewer than BURST_MAX, wait for the next call, or for collector_flush(). */
void collector_take(struct collector *collector, const struct datagram *datagram);

/* Calls observe() for the records that wait. Call it when no datagram is ready. */
void collector_flush(struct collector *collector);

/* `datagrams`: dropped by the kernel since the last call for this socket. */
void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams);

/*
 * Packets of the exporter in `slot` may be sampled at 1:interval or more densely, until the next
 * call; 0: unknown. mixed: flow records may contain packets at several intervals, so upper bounds
 * are unknown. Any thread may call it.
 */
void collector_expect_sampling(
	struct collector *collector, uint32_t slot, uint32_t interval, bool mixed);

/*
 * IPFIX records of exporters of this rule, which has an ovsdb, count packets times their sampling
 * interval, and do not state it. It is at most `interval`; 0: unknown, as at the start. Any thread
 * may call it.
 */
void collector_scale_sampling(struct collector *collector, uint32_t rule, uint32_t interval);

/* Counts IPFIX messages in a TCP or SCTP segment of a capture, but does not decode them. */
void collector_take_stream(struct collector *collector, const struct datagram *segment);

/* in the order of enum problem */
enum {
	COLLECTOR_LOST_CUT,
	COLLECTOR_LOST_BAD_HEADERS,
	COLLECTOR_LOST_OVERLAPPING,
	COLLECTOR_LOST_FRAGMENTS,
	COLLECTOR_LOST_KINDS,
};

struct collector_lost {
	uint64_t counts[COLLECTOR_LOST_KINDS];
	/* [65536], datagrams per destination port; index 0: unknown port */
	const uint32_t *ports;
};

/* Counts datagrams that are incomplete in a capture. */
void collector_unread(struct collector *collector, const struct collector_lost *lost);

struct collector_epoch {
	uint64_t datagrams;
	uint64_t dropped;
	/* true: data was lost, or packets were sampled at an unknown interval */
	bool losses_unknown;
	/* largest and smallest sampling interval of exporters that were alive; 0: unknown */
	uint32_t coarsest, finest;
	/*
	 * packets that exporters report as lost, and the largest sampling interval of these
	 * exporters
	 */
	uint64_t lost_packets;
	uint32_t lost_interval;
	/* largest ratio of upscaled sFlow samples to packets of their pool; 0: unknown */
	double overcount;
};

/* Call it between datagrams, in the thread of collector_take(). Does not wait for the disk. */
void collector_save_templates(struct collector *collector);

/*
 * Passes the rows of the epoch to exporter() and link(), sorted, and resets the counters. The
 * caller fills in record_counts. Exporters with a datagram after `alive` (ns since 1970-01-01 UTC)
 * count as alive.
 */
struct collector_epoch collector_end_epoch(struct collector *collector, int64_t alive,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg);

/*
 * Waits for the template file, in any thread. Returns false, after a log line, if writing failed.
 */
bool collector_finish(struct collector *collector);
