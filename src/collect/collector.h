/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Decodes datagrams into observations (collect/exporters/observation.h). Finds the exporter of each
 * datagram, its templates and its sampling interval, and counts losses. Single-threaded, except for
 * the thread that writes the template file (collect/exporters/template_file.h). Allocates memory
 * for new exporters and templates, never per record. Names each exporter slot in
 * base/router_names.h: NAME or ADDRESS, followed by /DOMAIN if the exporter has several observation
 * domains.
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
	/* --exporter rules; without rules, all exporters are allowed */
	const struct exporter_rule *rules;
	uint32_t nb_rules;
	uint32_t exporters_max; /* domains */
	size_t template_bytes;  /* bytes, all domains */
	/* memory for data sets that wait for a template; 0: they are dropped */
	size_t waiting_bytes;
	uint32_t link_overhead;    /* layer 2 bytes to add to each packet */
	const char *template_file; /* NULL: templates are not saved */
	bool links;                /* count per interface, for --export links */
	bool live;                 /* true: datagrams come from sockets; false: from a capture */
	uint64_t seed;             /* secret seed of hash tables, whose keys senders choose */
	/* Returns true if --filter keeps the record. NULL: all are kept. */
	bool (*matches)(void *arg, const struct observation *observation);
	/* Receives 1 to BURST_MAX observations. */
	void (*observe)(void *arg, const struct observation *observations, uint32_t n);
	/*
	 * Called before another exporter takes the slot `exporter`. The collector adds the counts
	 * of this epoch to the row `others`. The callee must also add its record_counts to that
	 * row.
	 */
	void (*forget)(void *arg, uint32_t exporter);
	/*
	 * Callbacks for the roles of interfaces (enum interface_role), which the template file
	 * stores. All are NULL if roles are not learned. restore_role() receives each stored role
	 * when the collector is created. roles_changed() returns true if roles must be saved.
	 * emit_roles() emits all roles, sorted by exporter. It returns false if they are not
	 * available now; the caller tries again later.
	 */
	void (*restore_role)(void *arg, const struct interface_role_row *row, int64_t saved_at);
	bool (*roles_changed)(void *arg);
	bool (*emit_roles)(void *arg,
		void (*emit)(void *emit_arg, const struct interface_role_row *row), void *emit_arg);
	/* Logs a line. During a run, the collector calls it at most once per second. */
	void (*log)(void *arg, bool warning, const char *line);
	void *arg;
};

size_t collector_memory(const struct collector_params *params);

/* Returns NULL on failure, with a message in error[OPTION_WHY_MAX]. */
struct collector *collector_create(const struct collector_params *params, char *error);
void collector_destroy(struct collector *collector);

/* Decodes a datagram. Calls observe() for all of its records before it returns. */
void collector_take(struct collector *collector, const struct datagram *datagram);

/* Counts datagrams that the kernel dropped at a socket since the last call for it. */
void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams);

/*
 * Processes a segment of a TCP or SCTP stream in a capture. Counts and reports IPFIX messages in
 * it, but does not decode them.
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
	/* Array of 65536 counters: datagrams per destination port. Index 0: the port is unknown. */
	const uint32_t *ports;
};

/* Counts datagrams that are incomplete in a capture. */
void collector_unread(struct collector *collector, const struct collector_lost *lost);

/* Results of an epoch, in addition to its rows. */
struct collector_epoch {
	uint64_t datagrams; /* taken */
	uint64_t dropped;   /* dropped by the kernel */
	/*
	 * Data was lost or unreadable, or packets were sampled at an unknown interval. The number
	 * of missing packets is then unknown.
	 */
	bool losses_unknown;
	/*
	 * Largest and smallest sampling interval of the exporters that were alive in the epoch,
	 * even if they sent no records. 0: unknown.
	 */
	uint32_t coarsest, finest;
	/*
	 * Packets that exporters report as lost, and the largest sampling interval of those
	 * exporters.
	 */
	uint64_t lost_packets;
	uint32_t lost_interval;
	/*
	 * Largest factor by which upscaled sFlow samples exceed the packets of their sample pool;
	 * 0: none is known.
	 */
	double overcount;
};

/*
 * Starts to write the template file if it is due, and does not wait for the end of the write. Call
 * it between datagrams, in the thread of collector_take().
 */
void collector_save_templates(struct collector *collector);

/*
 * Ends the epoch: passes its rows to exporter() and link(), resets the counters and saves
 * templates. Exporters are sorted by slot; links are sorted by exporter, interface and direction.
 * The caller fills in record_counts of the rows. Exporters with a datagram after `alive` (ns since
 * 1970-01-01 UTC) count as alive in the epoch.
 */
struct collector_epoch collector_end_epoch(struct collector *collector, int64_t alive,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg);

/*
 * Logs pending lines, and waits until the template file is complete. Call it after the last epoch,
 * from any thread. Returns false, after a log line, if the file could not be written.
 */
bool collector_finish(struct collector *collector);
