/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Report of one closed epoch: filled by the reporter (control/reporter.c, merge.c, rank.c), passed
 * to the writer thread, printed by a format (csv.c, table.c). Immutable after it was passed on.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "key/key.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"
#include "sketch/key_sampling.h"

/* A figure with its bounds. Unknown values are marked and printed as empty columns. */
struct report_figure {
	uint64_t value, low, high;
	bool known;      /* value and low */
	bool high_known; /* high; false for a saturated counter or uncountable loss */
};

/* Extra values of a sketch with flow records. */
struct report_record {
	bool known;
	int64_t first, last; /* of its packets, ns since 1970-01-01 UTC */
	uint8_t tcp_flags;   /* of any packet */
	uint64_t ip_bytes;   /* where the measurement knows them */
};

struct report_row {
	uint32_t rank; /* rank, from 1 */
	struct key key;
	struct report_figure packets, bytes;
	struct report_record record;
	struct flow_figures figures; /* figures with --flow-detail */
	double share;                /* share of the measured packets or bytes of the epoch */
};

/* The figure that ranks the row. */
static inline const struct report_figure *report_counted(
	const struct report_row *row, bool counts_bytes)
{
	return counts_bytes ? &row->bytes : &row->packets;
}

/* Reason for the end of a flow record; flows.c has the texts. */
enum flow_end {
	FLOW_END_IDLE,     /* no packet came for longer than the timeout */
	FLOW_END_INTERVAL, /* the epoch was over, */
	FLOW_END_RUN,      /* end of the run */
};

/* A record of a flow-table. */
struct report_flow {
	struct key key;
	uint64_t packets, bytes;
	uint64_t ip_bytes;   /* where the measurement knows them */
	int64_t first, last; /* of its packets, ns since 1970-01-01 UTC */
	uint8_t tcp_flags;   /* of any packet */
	uint8_t end;         /* enum flow_end */
};

/*
 * With --overload: what a measurement did not see of bursts that others did. Packets that were
 * measured, what the weights of others add beyond its own (modulo 2^64: it may be less than
 * nothing), and all packets of those bursts of which it saw none.
 */
struct report_waited {
	uint64_t measured, bytes;
	uint64_t added, added_bytes;
	uint64_t unseen, unseen_bytes;
	struct key_sample_counts
		left_out; /* and of those that it saw, what other keys had than it counted */
};

/* Packets counted by a measurement with drill-down, and its networks. */
struct report_inside {
	bool only; /* it is such a one */
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* packets and bytes added by weights */
	uint32_t networks;           /* the measurement whose keys these are, */
	struct key *keys;            /* [nb_keys], from malloc() */
	uint32_t nb_keys;            /* keys of the epoch after next */
	uint64_t left_out;           /* heavy keys that did not fit */
};

/* One question's answer for one epoch. */
struct report_measurement {
	const char *name;
	const struct key_rule *key_rule; /* which key columns are filled */
	const char *sketch;
	void *asked; /* holds name and rule, from malloc(); NULL: they live as long as the epoch */
	bool counts_bytes; /* else packets */
	bool ip_bytes;     /* rows and records have the bytes of IP packets too */
	struct report_row *rows;
	uint32_t nb_rows;
	/* Upper bounds (`high`) for every key without a row; nothing else about them is known. */
	struct report_figure unlisted_packets, unlisted_bytes;
	bool incomplete; /* the sketch gave up its search: flows that belong here may be missing */
	uint64_t distinct_keys;
	bool distinct_exact;
	double confidence;
	bool confidence_known; /* false where the driver cannot count its losses */
	/* Measured packets for which the sketch had no room. */
	uint64_t shed_packets, shed_bytes;
	struct report_waited waited;
	struct report_inside inside;
	/* Share of received packets that it processed, and the largest weight of a packet. */
	double looked_at;
	uint64_t weight;
	/* Counted packets without a known flow; they are measured. */
	uint64_t undecoded_flows, undecoded_packets;
	/*
	 * Packets of records that ended before the epoch and have no row, because there were too
	 * many keys.
	 */
	uint64_t forgotten_packets;
	/* Records, where epoch->flows_only is set. From malloc(). */
	struct report_flow *flows;
	size_t nb_flows;
	uint64_t first_record; /* the number of the first of them in the run, from 0 */
	/*
	 * With --flow-detail: extra figures of each flow, from malloc(); and flows without detail
	 * for lack of room.
	 */
	bool deep;
	struct flow_figures *figures; /* [nb_flows] */
	uint64_t refused_details;
};

/*
 * The account of an epoch's packets. It balances:
 *     offered  = received + nic_missed + nic_errors + no_mbuf
 *     received = measured + filtered + non_ip + malformed + ring_full + shed + duplicate + skipped
 */
struct ledger {
	bool collected; /* from exporters: packets are those that records represent */
	bool kept_up;   /* with --overload: packets may be skipped */
	uint64_t offered, received, measured, filtered, non_ip, malformed;
	uint64_t nic_missed, nic_errors, no_mbuf, ring_full, shed;
	uint64_t unaccounted;
	uint64_t duplicate; /* collected: told by several exporters, and counted once */
	/* Received and intentionally not processed: not lost. */
	uint64_t skipped, skipped_bytes;
	uint64_t unseen, unseen_bytes;     /* part of them in bursts without any processed packet */
	struct key_sample_counts left_out; /* and of keys that a measurement did not count then */
	uint64_t added, added_bytes;       /* what the weights of measured packets add to them */
	uint64_t weight;        /* the largest; 0 or 1: all of them count as themselves */
	uint32_t longest_frame; /* bytes, over the received packets */
	double sampling;        /* collected: coarsest sampling interval; 0 or 1: unsampled */
	/* Collected: of measured packets, those that may be duplicates; duplicates that may be none;
	 * exporters, which is how often a packet may have been counted, 0: that is not known. */
	uint64_t maybe_duplicate, maybe_duplicate_bytes, maybe_new, maybe_new_bytes;
	uint32_t observers;
	/* collected: the interval of samplers that were there, and of which nothing counted; 0: none
	 * is coarser than `sampling` */
	uint32_t silent_interval;
	double overcount;         /* collected: figures may be too large by this factor; 0: none */
	uint32_t unsampled_frame; /* collected: bytes, the largest that no sampler may have seen */
	uint64_t doubtful;        /* packets that may also be lost; in no column */
	bool losses_unknown;      /* more may have been lost than all of these say */
	uint64_t bytes;           /* wire bytes of measured packets, without FCS */
	/* Bytes that packets may have had beyond those: a source cut them and lost their length.
	 * UINT64_MAX: not known how many. */
	uint64_t missing_bytes;
	/* bytes, over all offered packets; what a lost packet may have been */
	uint32_t largest_frame;
	uint32_t smallest_frame; /* bytes, over measured packets; UINT32_MAX: none */
	/* Nanoseconds in all, over the received packets; empty polls are left out. */
	uint64_t rx_ns, ppt_ns, free_ns;
};

/* Meaning of a ledger column for its packets. */
enum drop_reason {
	LEDGER_NEITHER,
	LEDGER_LOST,     /* before it could be measured */
	LEDGER_LEFT_OUT, /* not one to be measured */
	LEDGER_SKIPPED,  /* intentionally not processed */
};

/* Ledgers that have a column. */
enum ledger_when {
	LEDGER_ALWAYS,
	LEDGER_COLLECTED, /* what exporters told */
	LEDGER_KEPT_UP,   /* runs with --overload */
};

/* The counts of a ledger, in the order and by the names of the outputs' columns. */
#define LEDGER_COLUMNS 16
struct ledger_column {
	const char *name;
	size_t offset;
	enum drop_reason fate;
	enum ledger_when when;
	const char *why; /* reason for the loss */
};
extern const struct ledger_column ledger_columns[LEDGER_COLUMNS];

static inline uint64_t ledger_column(const struct ledger *ledger, uint32_t column)
{
	return *(const uint64_t *)((const char *)ledger + ledger_columns[column].offset);
}

/* Returns false where the column's count is only a lower bound. */
static inline bool ledger_column_known(const struct ledger *ledger, uint32_t column)
{
	return ledger->missing_bytes == 0 ||
	       ledger_columns[column].offset != offsetof(struct ledger, bytes);
}

static inline bool ledger_has(const struct ledger *ledger, uint32_t column)
{
	switch (ledger_columns[column].when) {
	case LEDGER_COLLECTED: return ledger->collected;
	case LEDGER_KEPT_UP: return ledger->kept_up;
	default: return true;
	}
}

/* Adds counts and times; the sum's frame sizes mean nothing. */
void ledger_add(struct ledger *sum, const struct ledger *ledger);

/* The sum of the columns of a fate. */
uint64_t ledger_of_fate(const struct ledger *ledger, enum drop_reason fate);

/* Packets that the device or a ring lost before they could be measured. */
static inline uint64_t ledger_lost(const struct ledger *ledger)
{
	return ledger_of_fate(ledger, LEDGER_LOST);
}

struct text;

/*
 * Appends a sentence about all packets: "5 packets offered in 1 epoch: 2 measured, 1 lost (1
 * nic_missed), 2 left out (2 non_ip)".
 */
void ledger_sentence(struct text *text, const struct ledger *ledger, uint64_t epochs);

/* Parts of that sentence: "5 lost (1 nic_missed, 4 shed), perhaps 2 more"; and ", 3 skipped, 1
 * unaccounted", as far as there are some. */
void ledger_losses(struct text *text, const struct ledger *ledger);
void ledger_others(struct text *text, const struct ledger *ledger);

/* Returns the measured packets multiplied by their weights. */
static inline uint64_t ledger_counted(const struct ledger *ledger)
{
	return ledger->measured + ledger->added;
}

static inline uint64_t ledger_counted_bytes(const struct ledger *ledger)
{
	return ledger->bytes + ledger->added_bytes;
}

/* Returns true if some of the packets were only sampled. */
static inline bool ledger_is_sampled(const struct ledger *ledger)
{
	return ledger->sampling > 1 || ledger->silent_interval > 1;
}

/* The lost ones' share of the offered packets. */
static inline double ledger_drop_rate(const struct ledger *ledger)
{
	return ledger->offered > 0 ? (double)ledger_lost(ledger) / (double)ledger->offered : 0;
}

/* As many as may have been lost, where losses are not unknown. */
static inline uint64_t ledger_lost_at_most(const struct ledger *ledger)
{
	return ledger_lost(ledger) + ledger->doubtful;
}

/* Load of one worker in an epoch. Sums equal those of the ledger. */
struct report_load {
	uint32_t lcore;
	int cpu;           /* -1: floats over all of the run */
	const char *ports; /* polled ports; "": none, or a replay */
	int queue;         /* queue of each port; -1: a receiving core polls for it */
	uint64_t received; /* packets that came to it, or would have but for ring_full */
	uint64_t measured, ring_full, bytes;
	uint64_t busy_ns; /* in which it received, counted and freed */
	/*
	 * With --overload: most waiting packets after a poll, as far as known, and highest shedding
	 * level (docs/ADAPTIVE.md).
	 */
	uint64_t backlog_max, level_max, skipped;
};

/* A port as it was when the epoch was closed. */
struct report_port {
	const char *name; /* outlives all epochs */
	bool up;
	uint32_t speed;                           /* Mbit/s; 0: not known */
	uint64_t nic_missed, nic_errors, no_mbuf; /* packets that it lost since the run began */
};

/* Counts of a rule of --prefixes in an epoch. */
struct report_rule {
	char prefix[56], name[64];
	uint64_t packets, bytes;
	uint64_t flows; /* estimated */
};

/* Fates of the packets of a port with --forward: they sum to the received packets. */
#define FORWARDED_FATES(FATE)   FATE(forwarded) FORWARDED_REASONS(FATE)
#define FORWARDED_REASONS(FATE) FATE(tx_full) FATE(too_long) FATE(no_link) FATE(tx_errors)

#define FORWARDED_FATE(fate) uint64_t fate;
struct forwarded_counts {
	uint64_t received;
	FORWARDED_FATES(FORWARDED_FATE)
	uint64_t bytes; /* wire bytes accepted by the output port, without FCS */
};

struct report_forwarded {
	const char *in, *out;                   /* the ports; they outlive all epochs */
	struct forwarded_counts counts, so_far; /* in the epoch; since the start of the run */
	/* ns from poll to transmission of accepted packets, if any. */
	bool timed;
	uint64_t p50_ns, p99_ns, p999_ns, max_ns;
};

/* Change of detail by --overload; or the part of an interval that a measurement processed. */
struct report_state {
	int64_t time; /* ns since 1970-01-01 UTC */
	bool changed; /* else of the interval, and of no worker */
	uint32_t worker;
	uint64_t packet;      /* index of the worker's first packet after the change */
	char measurement[64]; /* "": of all */
	char from[STEP_WORD_MAX], to[STEP_WORD_MAX]; /* states before and after a change */
	const char *reason;
	uint64_t backlog; /* packets that waited */
	double rate; /* packets a second that came to the worker in the last 10 ms; or to all */
	bool cost_known, target_known;
	double cost_ns, target_ns; /* what a packet took, and what it may take */
	double share;              /* share of processed packets */
};

/* Delivery of the rows of a kind to a destination, until the next epoch. */
struct report_delivery {
	const char *name, *kind;
	uint64_t rows;
	uint64_t delivered, acknowledged, failed, unknown, dropped;
	uint64_t spooled; /* waiting rows in the spool */
	uint64_t waiting; /* at the end */
	bool waits;
	int64_t oldest; /* start of the oldest waiting epoch, ns since 1970-01-01 UTC */
	uint64_t retries, reconnects, bytes;
	uint64_t spool_bytes, spool_size; /* now, and at most; 0: there is no spool */
};

struct exporter_row;
struct link_row;
struct path_row;

/*
 * Rows of a collector besides the measurements (collect/exporters/collector_rows.h). All from
 * malloc().
 */
struct report_collected {
	struct exporter_row *exporters;
	struct link_row *links;
	const struct path_row **paths;
	uint64_t nb_exporters, nb_links, nb_paths;
	void **owned; /* [nb_owned]: where the paths lie */
	uint32_t nb_owned;
};

void report_collected_free(struct report_collected *collected);

struct report_epoch {
	_Atomic uint32_t references;
	uint64_t number;
	int64_t start, end; /* ns since 1970-01-01 UTC */
	struct ledger ledger;
	const char *design, *sharing;
	/* Nothing but records of flows; all else comes in another report of the epoch, after it. */
	bool flows_only;
	/* Nothing but what became of the epoch's rows. */
	bool deliveries_only;
	struct report_delivery *deliveries; /* [nb_deliveries], from malloc(); NULL: none */
	uint32_t nb_deliveries;
	uint64_t expired; /* records that ended before the epoch */
	bool live;        /* start and end are the clock's, not the packets' */
	bool late;        /* live input: ended late */
	/* Where time stamps are generated: ns by the clock that its packets took. 0: they are not. */
	uint64_t took;
	uint64_t
		arrival_ns; /* its packets came in, by the clock; 0: the source waits for outputs */
	uint64_t closing_ns; /* in which the reporter merged and ranked it */
	uint32_t workers;
	struct report_load *loads; /* [workers] */
	struct costs *costs; /* [workers], of the bursts that each timed, in ns; NULL: left out */
	struct report_port *ports; /* [nb_ports], from malloc(); NULL: none */
	uint32_t nb_ports;
	struct report_rule *rules; /* [nb_rules], from malloc(); NULL: none */
	uint32_t nb_rules;
	struct report_forwarded *forwarded; /* [nb_forwarded], from malloc(); NULL: none */
	uint32_t nb_forwarded;
	struct report_state *states; /* [nb_states], from malloc(); NULL: none */
	uint32_t nb_states;
	struct report_collected *collected; /* NULL: packets were the input */
	uint32_t nb_measurements;
	struct report_measurement measurements[]; /* nb_measurements */
};

/* The ledger of a measurement that did not see, or not count, all that others did. */
struct ledger ledger_of_measurement(
	const struct ledger *ledger, const struct report_measurement *measurement);

/* The epoch's ledger as one of its measurements sees it. */
struct ledger report_ledger(
	const struct report_epoch *epoch, const struct report_measurement *measurement);

/* An epoch with room for its measurements and workers, and one reference; NULL where memory is
 * missing. */
struct report_epoch *report_epoch_alloc(uint32_t nb_measurements, uint32_t workers);
/*
 * Sets the measurement of a report. Copies the name and the rule, since the epoch may outlive the
 * measurement, but not the sketch name. Returns false if out of memory.
 */
bool report_measurement_ask(struct report_measurement *measurement, const char *name,
	const struct key_rule *rule, const char *sketch);
/* Adds a reference for another reader. Returns the epoch. */
struct report_epoch *report_epoch_share(struct report_epoch *epoch);
/* Gives a reference back. The last one frees the rows too, which came from malloc(). NULL is
 * allowed. */
void report_epoch_free(struct report_epoch *epoch);

/* Returns the key fields of its measurements, one bit each. */
uint32_t report_key_fields(const struct report_epoch *epoch);

/* Nanoseconds between start and end; 0 where end is not after start. */
uint64_t report_duration(const struct report_epoch *epoch);
/* The same for rates that are shown to people: what the machine took where time stamps are generated,
 * because no traffic ever had those. Files have rates by their time stamps. */
uint64_t report_rate_time(const struct report_epoch *epoch);

/* Rounded to the nearest, saturating. duration_ns is not 0. */
uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns);

/* Packets or bits per second of a flow; false where its figure is not known, or the epoch has no
 * length. */
bool report_pps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *pps);
bool report_bps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *bps);
