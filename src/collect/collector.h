/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decodes datagrams into observations: finds the exporter, its templates and its sampling interval,
 * and counts losses. Single-threaded; only the template file has a thread of its own
 * (collect/exporters/template_file.h). Allocates memory for new exporters and templates, never per
 * record. Slots are named by base/router_names.h: "NAME" or "ADDRESS", and "/DOMAIN" if the
 * exporter has several domains.
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
	const struct exporter_rule *rules; /* [nb_rules]; 0 rules: every exporter is allowed */
	uint32_t nb_rules;
	uint32_t exporters_max;    /* domains */
	size_t template_bytes;     /* bytes, all domains */
	size_t waiting_bytes;      /* bytes of waiting data sets, all domains; 0: none wait */
	uint32_t link_overhead;    /* added layer 2 bytes per packet */
	const char *template_file; /* NULL: templates are not saved */
	bool links;                /* count per interface, for --export links */
	bool live;                 /* true: sockets, on export ports; false: a capture */
	uint64_t seed;             /* secret seed of hash tables, whose keys senders choose */
	/* Returns true if --filter keeps the record. NULL: all are kept. */
	bool (*matches)(void *arg, const struct observation *observation);
	/* Receives 1 to BURST_MAX observations. */
	void (*observe)(void *arg, const struct observation *observations, uint32_t n);
	/*
	 * Called when slot `exporter` is reused. Its counts of this epoch go to the row of the
	 * others, together with its record_counts.
	 */
	void (*forget)(void *arg, uint32_t exporter);
	/*
	 * Roles of interfaces, which the template file stores; all NULL without roles.
	 * restore_role() receives each stored role when the collector is created. roles_changed()
	 * returns true if roles must be saved. emit_roles() emits all roles, sorted by exporter, or
	 * returns false if they are not available now; the caller tries again later.
	 */
	void (*restore_role)(void *arg, const struct interface_role_row *row, int64_t saved_at);
	bool (*roles_changed)(void *arg);
	bool (*emit_roles)(void *arg,
		void (*emit)(void *emit_arg, const struct interface_role_row *row), void *emit_arg);
	/* Logs a line; at most one per second. */
	void (*log)(void *arg, bool warning, const char *line);
	void *arg;
};

size_t collector_memory(const struct collector_params *params);

/* Returns NULL, with a message in error[OPTION_WHY_MAX], if that fails. */
struct collector *collector_create(const struct collector_params *params, char *error);
void collector_destroy(struct collector *collector);

/* Decodes a datagram. Calls observe() for all of its records before it returns. */
void collector_take(struct collector *collector, const struct datagram *datagram);

/* Counts datagrams that the kernel dropped since the previous one of this socket. */
void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams);

/*
 * Processes a segment of a TCP or SCTP stream of a capture: counts and reports IPFIX in it, without
 * decoding.
 */
void collector_take_stream(struct collector *collector, const struct datagram *segment);

/* Reasons why a datagram of a capture is incomplete, in the order of enum problem. */
enum {
	COLLECTOR_LOST_CUT,
	COLLECTOR_LOST_BAD_HEADERS,
	COLLECTOR_LOST_OVERLAPPING,
	COLLECTOR_LOST_FRAGMENTS,
	COLLECTOR_LOST_KINDS,
};

struct collector_lost {
	uint64_t counts[COLLECTOR_LOST_KINDS];
	/* [65536]: datagrams per destination port; 0: port unknown. */
	const uint32_t *ports;
};

/* Counts datagrams that are incomplete in a capture. */
void collector_unread(struct collector *collector, const struct collector_lost *lost);

/* Properties of an epoch besides its rows. */
struct collector_epoch {
	uint64_t datagrams; /* taken */
	uint64_t dropped;   /* dropped by the kernel */
	/*
	 * Something was lost, unreadable, or sampled at an unknown rate: unknown packets are
	 * possible.
	 */
	bool losses_unknown;
	/*
	 * Largest and smallest sampling interval of the exporters alive in the epoch, with or
	 * without records. 0: unknown.
	 */
	uint32_t coarsest, finest;
	/*
	 * Packets that exporters report as lost, and the largest sampling interval of those
	 * exporters.
	 */
	uint64_t lost_packets;
	uint32_t lost_interval;
	/* Largest ratio of packets in records to packets in sample pools; 0: none is known. */
	double overcount;
};

/*
 * Starts writing the template file if it is due, without waiting. The receiving thread may call it
 * at any time between datagrams.
 */
void collector_save_templates(struct collector *collector);

/*
 * Ends the epoch: emits its rows (exporters by slot; links by exporter, interface and direction),
 * resets counters and saves templates. Leaves `record_counts` of rows 0; the caller adds them.
 * alive: ns since 1970-01-01 UTC; exporters with a later datagram count as alive in the epoch.
 */
struct collector_epoch collector_end_epoch(struct collector *collector, int64_t alive,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg);

/*
 * Call it after the last epoch, from any thread. Logs pending lines, and waits until the template
 * file is complete. Returns false, after a log line, if it could not be written.
 */
bool collector_finish(struct collector *collector);
