/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * From datagrams to observations: who sent it, in which protocol, with which templates and sampling
 * interval; what was lost on the way. One thread's, but for a file of templates, which a thread of
 * the collector's own writes (collect/exporters/template_saver.h); it allocates for new exporters
 * and templates, never per record. A slot's name, "NAME" or "ADDRESS" with "/DOMAIN" where the
 * exporter has several domains, is that of base/router_names.h.
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
	const struct exporter_rule *rules; /* [nb_rules]; none: every exporter is allowed */
	uint32_t nb_rules;
	uint32_t exporters_max;    /* domains */
	size_t template_bytes;     /* of all domains */
	size_t waiting_bytes;      /* bytes of waiting data sets over all domains; 0: none wait */
	uint32_t link_overhead;    /* bytes a packet */
	const char *template_file; /* NULL: templates are not kept */
	bool links;                /* counters of interfaces are kept */
	bool live;                 /* datagrams come from sockets, all of them from export ports */
	uint64_t seed;             /* a secret: senders choose what tables are searched for */
	/* Returns false for a record that --filter leaves out; NULL: none is. */
	bool (*matches)(void *arg, const struct observation *observation);
	/* Up to BURST_MAX observations; `arg` is the caller's. */
	void (*observe)(void *arg, const struct observation *observations, uint32_t n);
	/*
	 * Called when slot `exporter` is reused. Its counts of this epoch go to the row of the
	 * others, together with its record_counts.
	 */
	void (*forget)(void *arg, uint32_t exporter);
	/* A line for the operator; warning or notice. Never more than one a second. */
	void (*say)(void *arg, bool warning, const char *line);
	void *arg;
};

size_t collector_memory(const struct collector_params *params);

/* NULL with a line in error[OPTION_WHY_MAX]. */
struct collector *collector_create(const struct collector_params *params, char *error);
void collector_destroy(struct collector *collector);

/* Decodes a datagram: observe() is called before it returns, for all that it brought. */
void collector_take(struct collector *collector, const struct datagram *datagram);

/* Datagrams that the kernel dropped before the next one of this socket. */
void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams);

/*
 * Takes a part of a TCP or SCTP stream of a capture. IPFIX in it is counted and reported, and not
 * decoded.
 */
void collector_take_stream(struct collector *collector, const struct datagram *segment);

/* Reasons for which a capture has no whole datagram, in the order of enum problem. */
enum {
	COLLECTOR_LOST_CUT,
	COLLECTOR_LOST_BAD_HEADERS,
	COLLECTOR_LOST_OVERLAPPING,
	COLLECTOR_LOST_FRAGMENTS,
	COLLECTOR_LOST_KINDS,
};

struct collector_lost {
	uint64_t counts[COLLECTOR_LOST_KINDS];
	/* [65536]: the same, by destination port; 0: unknown. */
	const uint32_t *ports;
};

/* Counts datagrams that a capture has not whole. */
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
	 * The coarsest and the finest sampling interval of exporters that were alive in the epoch,
	 * whether samples came from them or not. 0: none is known.
	 */
	uint32_t coarsest, finest;
	/* Packets that exporters lost, as they report; and the coarsest interval of those that did. */
	uint64_t lost_packets;
	uint32_t lost_interval;
	/* The largest factor by which records count more than passed, by sample pools; 0: none. */
	double overcount;
};

/*
 * Starts writing the template file if it is due, without waiting. The receiving thread may call it
 * at any time between datagrams.
 */
void collector_save_templates(struct collector *collector);

/*
 * The epoch is over: emits its rows (by slot; links by exporter, interface and direction) and
 * starts counting anew. `record_counts` of the rows is left 0: who counts records adds it. Saves
 * templates, too. alive: ns since 1970-01-01 UTC; an exporter counts as alive in the epoch if it
 * sent a later datagram.
 */
struct collector_epoch collector_end_epoch(struct collector *collector, int64_t alive,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg);

/*
 * Call it after the last epoch, from any thread. Logs pending lines, and waits until the template
 * file is complete. Returns false, after a log line, if it could not be written.
 */
bool collector_finish(struct collector *collector);
