/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Report of one closed epoch: filled by the reporter (control/reporter.c, merge.c, rank.c), passed
 * to the writer thread, printed by a format (csv.c, table.c). Immutable once passed on.
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

/* A value with its bounds. Unknown values are printed as empty columns. */
struct report_figure {
	uint64_t value, low, high;
	bool known;      /* value and low */
	bool high_known; /* high; false for a saturated counter or unknown losses */
};

/* Extra values of a sketch with flow records. */
struct report_record {
	bool known;
	int64_t first, last; /* first and last packet, ns since 1970-01-01 UTC */
	uint8_t tcp_flags;   /* all packets ORed */
	uint64_t ip_bytes;   /* if the measurement has ip_bytes */
};

struct report_row {
	uint32_t rank; /* 1: first */
	struct key key;
	struct report_figure packets, bytes;
	struct report_record record;
	struct flow_figures figures; /* values of --flow-detail */
	double share; /* share of the measured packets or bytes of the epoch, 0 to 1 */
};

/* Returns the figure that ranks the row. */
static inline const struct report_figure *report_counted(
	const struct report_row *row, bool counts_bytes)
{
	return counts_bytes ? &row->bytes : &row->packets;
}

/* Reason for the end of a flow record; flows.c has the texts. */
enum flow_end {
	FLOW_END_IDLE,     /* idle timeout */
	FLOW_END_INTERVAL, /* end of the epoch */
	FLOW_END_RUN,      /* end of the run */
};

/* A flow record of a flow table. */
struct report_flow {
	struct key key;
	uint64_t packets, bytes;
	uint64_t ip_bytes;   /* if the measurement has ip_bytes */
	int64_t first, last; /* first and last packet, ns since 1970-01-01 UTC */
	uint8_t tcp_flags;   /* all packets ORed */
	uint8_t end;         /* enum flow_end */
};

/*
 * With --overload: packets of bursts that other measurements counted and this one skipped. added:
 * weights of the others beyond its own, modulo 2^64 (may be negative). unseen: all packets of
 * bursts of which it saw none.
 */
struct report_waited {
	uint64_t measured, bytes;
	uint64_t added, added_bytes;
	uint64_t unseen, unseen_bytes;
	struct key_sample_counts left_out; /* packets left out by key sampling */
};

/* Packets counted by a measurement with drill-down. */
struct report_inside {
	bool only; /* the measurement has a drill-down */
	uint64_t packets, bytes;
	uint64_t added, added_bytes; /* packets and bytes added by weights */
	uint32_t networks;           /* measurement that supplies the keys */
	struct key *keys;            /* [nb_keys], from malloc() */
	uint32_t nb_keys;            /* keys for the epoch after next */
	uint64_t left_out;           /* heavy keys that did not fit */
};

/* Result of one measurement for one epoch. */
struct report_measurement {
	const char *name;
	const struct key_rule *key_rule; /* fields of the keys */
	const char *sketch;
	void *asked; /* memory of name and rule, from malloc(); NULL: they outlive the epoch */
	bool counts_bytes; /* false: packets */
	bool ip_bytes;     /* rows and records also have the bytes of IP packets */
	struct report_row *rows;
	uint32_t nb_rows;
	/* Upper bounds (`high`) for every key without a row. The other members are unset. */
	struct report_figure unlisted_packets, unlisted_bytes;
	bool incomplete; /* flows may be missing: the sketch did not complete its search */
	uint64_t distinct_keys;
	bool distinct_exact;
	double confidence;
	bool confidence_known; /* false if the driver cannot count its losses */
	/* Measured packets for which the sketch had no room. */
	uint64_t shed_packets, shed_bytes;
	struct report_waited waited;
	struct report_inside inside;
	/* Share of received packets that were processed, 0 to 1; largest weight of a packet. */
	double looked_at;
	uint64_t weight;
	/* Measured packets without a known flow. */
	uint64_t undecoded_flows, undecoded_packets;
	/* Packets of expired flow records without a row, because there were too many keys. */
	uint64_t forgotten_packets;
	/* Flow records, if epoch->flows_only. From malloc(). */
	struct report_flow *flows;
	size_t nb_flows;
	uint64_t first_record; /* number of the first record in the run, from 0 */
	/*
	 * With --flow-detail: values of each flow, from malloc(), and number of flows that stay
	 * without detail for lack of room.
	 */
	bool deep;
	struct flow_figures *figures; /* [nb_flows] */
	uint64_t refused_details;
};

/*
 * Packet counts of an epoch. They balance:
 *     offered  = received + nic_missed + nic_errors + no_mbuf
 *     received = measured + filtered + non_ip + malformed + ring_full + shed + duplicate + skipped
 */
struct ledger {
	bool collected; /* packets are those represented by flow records */
	bool kept_up;   /* --overload is set: packets may be skipped */
	uint64_t offered, received, measured, filtered, non_ip, malformed;
	uint64_t nic_missed, nic_errors, no_mbuf, ring_full, shed;
	uint64_t unaccounted;
	uint64_t duplicate; /* collected: packets that another exporter has reported */
	/* Received and intentionally not processed: not lost. */
	uint64_t skipped, skipped_bytes;
	uint64_t unseen, unseen_bytes;     /* part of them in bursts without any processed packet */
	struct key_sample_counts left_out; /* part of skipped: keys left out by key sampling */
	uint64_t added, added_bytes;       /* added to measured packets by their weights */
	uint64_t weight;                   /* largest weight of a packet; 0 or 1: no weights */
	uint32_t longest_frame;            /* bytes, over the received packets */
	double sampling; /* collected: coarsest sampling interval; 0 or 1: unsampled */
	/*
	 * Collected: measured packets that may be duplicates; duplicates that may be new packets;
	 * number of exporters that may have reported the same packet, 0: unknown.
	 */
	uint64_t maybe_duplicate, maybe_duplicate_bytes, maybe_new, maybe_new_bytes;
	uint32_t observers;
	/*
	 * collected: sampling interval of samplers without counted records; 0: none is coarser than
	 * `sampling`
	 */
	uint32_t silent_interval;
	double overcount;         /* collected: figures may be too large by this factor; 0: exact */
	uint32_t unsampled_frame; /* collected: bytes; largest frame that may be unsampled */
	uint64_t doubtful;        /* packets that may be lost in addition to the columns */
	bool losses_unknown;      /* more packets may be lost than counted here */
	uint64_t bytes;           /* wire bytes of measured packets, without FCS */
	/*
	 * Bytes missing from truncated packets whose source lost their length. UINT64_MAX: unknown
	 * number.
	 */
	uint64_t missing_bytes;
	/* bytes, over all offered packets; limit for lost packets */
	uint32_t largest_frame;
	uint32_t smallest_frame; /* bytes, over measured packets; UINT32_MAX: no packets */
	/* ns, total over received packets, without empty polls. */
	uint64_t rx_ns, ppt_ns, free_ns;
};

/* Meaning of a ledger column for its packets. */
enum drop_reason {
	LEDGER_NEITHER,
	LEDGER_LOST,     /* lost before measurement */
	LEDGER_LEFT_OUT, /* intentionally not measured, such as non-IP */
	LEDGER_SKIPPED,  /* intentionally not processed */
};

/* Ledgers that have a column. */
enum ledger_when {
	LEDGER_ALWAYS,
	LEDGER_COLLECTED, /* runs of collect */
	LEDGER_KEPT_UP,   /* runs with --overload */
};

/* Counts of a ledger, in the order and with the names of the output columns. */
#define LEDGER_COLUMNS 16
struct ledger_column {
	const char *name;
	size_t offset;
	enum drop_reason fate;
	enum ledger_when when;
	const char *why;      /* reason for the loss */
	const char *bytes_of; /* packets of which it has the bytes; NULL: it counts packets */
};
extern const struct ledger_column ledger_columns[LEDGER_COLUMNS];

static inline uint64_t ledger_column(const struct ledger *ledger, uint32_t column)
{
	return *(const uint64_t *)((const char *)ledger + ledger_columns[column].offset);
}

/* Returns false if the count of the column is only a lower bound. */
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

/* Adds counts and times. The frame sizes of the sum are undefined. */
void ledger_add(struct ledger *sum, const struct ledger *ledger);

/* Returns the sum of the columns with this fate. */
uint64_t ledger_of_fate(const struct ledger *ledger, enum drop_reason fate);

/*
 * Returns packets lost before they could be measured: by the device, in a ring or in a full table.
 */
static inline uint64_t ledger_lost(const struct ledger *ledger)
{
	return ledger_of_fate(ledger, LEDGER_LOST);
}

struct text;

/*
 * Appends a sentence about all packets: "5 packets offered in 1 interval: 2 measured, 1 lost (1
 * nic_missed), 2 left out (2 non_ip)".
 */
void ledger_sentence(struct text *text, const struct ledger *ledger, uint64_t epochs);

/*
 * Append parts of that sentence: "5 lost (1 nic_missed, 4 shed), perhaps 2 more" and ", 3 skipped,
 * 1 unaccounted". Zero counts are omitted.
 */
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

/* Returns true if exporters sampled some of the packets. */
static inline bool ledger_is_sampled(const struct ledger *ledger)
{
	return ledger->sampling > 1 || ledger->silent_interval > 1;
}

/* Returns the lost share of the offered packets, 0 to 1. */
static inline double ledger_drop_rate(const struct ledger *ledger)
{
	return ledger->offered > 0 ? (double)ledger_lost(ledger) / (double)ledger->offered : 0;
}

/* Returns an upper bound of lost packets, unless losses_unknown. */
static inline uint64_t ledger_lost_at_most(const struct ledger *ledger)
{
	return ledger_lost(ledger) + ledger->doubtful;
}

/*
 * Counts of a worker that add up over epochs. received: includes ring_full. skipped: with
 * --overload. busy_ns: ns spent to receive, count and free.
 */
#define LOAD_PACKETS(COUNT) COUNT(received) COUNT(measured) COUNT(ring_full) COUNT(skipped)
#define LOAD_COUNTS(COUNT)  LOAD_PACKETS(COUNT) COUNT(bytes) COUNT(busy_ns)
#define LOAD_COUNT(name)    uint64_t name;

/* Load of one worker in an epoch. Sums equal those of the ledger. */
struct report_load {
	uint32_t lcore;
	int cpu;           /* -1: any CPU of the run */
	const char *ports; /* polled ports; "": none, or a replay */
	int queue;         /* queue of each port; -1: a receiving core polls */
	LOAD_COUNTS(LOAD_COUNT)
	/*
	 * With --overload: most waiting packets after a poll, as far as known, and highest shedding
	 * level (docs/ADAPTIVE.md).
	 */
	uint64_t backlog_max, level_max;
};

/* State of a port at the end of the epoch. */
struct report_port {
	const char *name; /* outlives all epochs */
	bool up;
	uint32_t speed;                           /* Mbit/s; 0: unknown */
	uint64_t nic_missed, nic_errors, no_mbuf; /* packets lost since the run began */
};

/* Counts of a prefix of --prefixes in an epoch. */
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
	const char *in, *out;                   /* port names; outlive all epochs */
	struct forwarded_counts counts, so_far; /* in the epoch; since the start of the run */
	/* ns from poll to transmission. `timed`: there were accepted packets. */
	bool timed;
	uint64_t p50_ns, p99_ns, p999_ns, max_ns;
};

/* Change of detail by --overload, or share of an interval that a measurement processed. */
struct report_state {
	int64_t time; /* ns since 1970-01-01 UTC */
	bool changed; /* false: share of an interval, without a worker */
	uint32_t worker;
	uint64_t packet;      /* index of the worker's first packet after the change */
	char measurement[64]; /* "": all measurements */
	char from[STEP_WORD_MAX], to[STEP_WORD_MAX]; /* before and after the change */
	const char *reason;
	uint64_t backlog; /* waiting packets */
	double rate; /* packets per second received by the worker in the last 10 ms, or by all */
	bool cost_known, target_known;
	double cost_ns, target_ns; /* ns per packet, actual and allowed */
	double share;              /* share of processed packets, 0 to 1 */
};

/* Delivery of the rows of a kind to a destination, until the next epoch. */
struct report_delivery {
	const char *name, *kind;
	uint64_t rows;
	uint64_t delivered, acknowledged, failed, unknown, dropped;
	uint64_t spooled; /* rows waiting in the spool */
	uint64_t waiting; /* rows waiting at the end */
	bool waits;
	int64_t oldest; /* start of the oldest waiting epoch, ns since 1970-01-01 UTC */
	uint64_t retries, reconnects, bytes;
	uint64_t spool_bytes, spool_size; /* bytes, current and maximum; 0: no spool */
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
	void **owned; /* [nb_owned]: memory of the paths */
	uint32_t nb_owned;
};

void report_collected_free(struct report_collected *collected);

struct report_epoch {
	_Atomic uint32_t references;
	uint64_t number;
	int64_t start, end; /* ns since 1970-01-01 UTC */
	struct ledger ledger;
	const char *design, *sharing;
	/* Contains only flow records. A later report of the epoch has the rest. */
	bool flows_only;
	/* Contains only deliveries. */
	bool deliveries_only;
	struct report_delivery *deliveries; /* [nb_deliveries], from malloc(); NULL: none */
	uint32_t nb_deliveries;
	uint64_t expired; /* flow records that expired during the epoch */
	bool live;        /* start and end are from the clock, not from packets */
	bool late;        /* live input: ended late */
	/* Generated time stamps: ns of processing time. 0: time stamps are not generated. */
	uint64_t took;
	uint64_t arrival_ns; /* time in which its packets came; 0: the source waits for outputs */
	uint64_t closing_ns; /* ns to merge and rank the epoch */
	uint32_t workers;
	struct report_load *loads; /* [workers] */
	struct costs *costs;       /* [workers], ns, from timed bursts; NULL: omitted */
	struct report_port *ports; /* [nb_ports], from malloc(); NULL: none */
	uint32_t nb_ports;
	struct report_rule *rules; /* [nb_rules], from malloc(); NULL: none */
	uint32_t nb_rules;
	struct report_forwarded *forwarded; /* [nb_forwarded], from malloc(); NULL: none */
	uint32_t nb_forwarded;
	struct report_state *states; /* [nb_states], from malloc(); NULL: none */
	uint32_t nb_states;
	struct report_collected *collected; /* NULL: input is packets */
	uint32_t nb_measurements;
	struct report_measurement measurements[];
};

/* Returns the ledger of a measurement that skipped or did not count packets that others did. */
struct ledger ledger_of_measurement(
	const struct ledger *ledger, const struct report_measurement *measurement);

/* Returns the epoch's ledger as it applies to one of its measurements. */
struct ledger report_ledger(
	const struct report_epoch *epoch, const struct report_measurement *measurement);

/*
 * Returns an epoch with one reference, and room for measurements and workers. NULL if out of
 * memory.
 */
struct report_epoch *report_epoch_alloc(uint32_t nb_measurements, uint32_t workers);
/*
 * Sets the measurement of a report. Copies the name and the rule, since the epoch may outlive the
 * measurement, but not the sketch name. Returns false if out of memory.
 */
bool report_measurement_ask(struct report_measurement *measurement, const char *name,
	const struct key_rule *rule, const char *sketch);
/* Adds a reference for another reader. Returns the epoch. */
struct report_epoch *report_epoch_share(struct report_epoch *epoch);
/*
 * Releases a reference. The last release also frees the rows, which are from malloc(). NULL is
 * allowed.
 */
void report_epoch_free(struct report_epoch *epoch);

/* Returns the key fields of all measurements, one bit each. */
uint32_t report_key_fields(const struct report_epoch *epoch);

/* Returns ns from start to end; 0 if end is not after start. */
uint64_t report_duration(const struct report_epoch *epoch);
/*
 * As report_duration(), for rates on screen: the processing time if time stamps are generated.
 * Rates in files use the time stamps.
 */
uint64_t report_rate_time(const struct report_epoch *epoch);

/* Returns the rate per second, rounded to nearest, saturating. */
uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns);

/*
 * Store packets or bits per second of a flow. Return false if its figure is unknown or the epoch
 * has no duration.
 */
bool report_pps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *pps);
bool report_bps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *bps);
