/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Report of one closed epoch. It does not change after control/reporter.c passed it on. */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adapt/costs.h"
#include "adapt/estimate.h"
#include "key/key.h"
#include "parallel/shed/steps.h"
#include "sketch/flow_states.h"
#include "sketch/key_sampling.h"

/* A value with its bounds. An unknown value is an empty column. */
struct report_figure {
	uint64_t value, low, high;
	bool known; /* `value` and `low` are valid */
	/* false if a counter is saturated or losses are unknown */
	bool high_known;
};

/* Values of a row whose sketch stores flow records. */
struct report_record {
	bool known;
	int64_t first, last; /* ns since 1970-01-01 UTC */
	uint8_t tcp_flags;
	uint64_t ip_bytes; /* 0 unless the measurement has ip_bytes */
};

struct report_row {
	uint32_t rank;
	struct key key;
	struct report_figure packets, bytes;
	struct report_record record;
	struct flow_figures figures;
	double share;
};

/* Returns the packets or bytes, by which rows are ranked. */
static inline const struct report_figure *report_counted(
	const struct report_row *row, bool counts_bytes)
{
	return counts_bytes ? &row->bytes : &row->packets;
}

enum flow_end {
	FLOW_END_IDLE,
	FLOW_END_INTERVAL,
	FLOW_END_RUN,
};

struct report_flow {
	struct key key;
	uint64_t packets, bytes;
	uint64_t ip_bytes;   /* 0 unless the measurement has ip_bytes */
	int64_t first, last; /* ns since 1970-01-01 UTC */
	uint8_t tcp_flags;
	uint8_t end; /* enum flow_end */
};

/*
 * Packets that other measurements counted under --overload, and this one did not.
 * measured, bytes: packets of bursts that this measurement skipped.
 * added: packets that weights added in other measurements and not in this one, modulo 2^64.
 * unseen: packets of bursts of which this measurement processed none.
 */
struct report_waited {
	uint64_t measured, bytes;
	uint64_t added, added_bytes;
	uint64_t unseen, unseen_bytes;
	struct key_sample_counts left_out;
};

/* With a drill-down: packets that matched it, and the keys that it will match. */
struct report_inside {
	bool only;
	uint64_t packets, bytes;
	uint64_t added, added_bytes;
	/* index of the measurement whose heavy keys packets must match */
	uint32_t networks;
	struct key *keys;
	uint32_t nb_keys;  /* for the epoch after next */
	uint64_t left_out; /* heavy keys for which there was no room */
};

/* A section [query NAME]: the flows that it matches, and whether overload turned it off. */
struct report_query {
	char name[64];
	uint8_t rank;
	enum flow_depth state;
	bool known; /* false: the keys of the interval were coarser than 5-tuples */
	double on;  /* share of the packets of the measurement that came while it was on, 0 to 1 */
	struct report_figure packets, bytes, flows;
	uint64_t deep_packets; /* processed in state rate or tcp */
};

struct report_measurement {
	const char *name;
	const struct key_rule *key_rule;
	const char *sketch;
	/* Memory of `name` and `key_rule`, from malloc(). NULL: both outlive the epoch. */
	void *asked;
	bool counts_bytes;
	bool ip_bytes; /* rows and flow records also have the bytes of IP packets */
	struct report_row *rows;
	uint32_t nb_rows;
	/* Upper bounds for each key without a row, in `high` and `high_known` only. */
	struct report_figure unlisted_packets, unlisted_bytes;
	/* Flows may be missing, because the sketch could not recover all of them. */
	bool incomplete;
	uint64_t distinct_keys;
	bool distinct_exact;
	/*
	 * Each bound of a sampled figure fails with probability exp(-log_inverse_risk). 0: unknown.
	 */
	double log_inverse_risk;
	double confidence;
	bool confidence_known; /* false if the driver of a port does not count its losses */
	/* Measured packets and bytes for which the sketch had no room. */
	uint64_t shed_packets, shed_bytes;
	struct report_waited waited;
	struct report_inside inside;
	/* looked_at: processed share of the received packets. weight: largest weight of a packet */
	double looked_at;
	uint64_t weight;
	/* Measured packets whose flows were not decoded, and a limit of the number of flows. */
	uint64_t undecoded_flows, undecoded_packets;
	bool overflown; /* true: counts are lower bounds, because sums of the sketch wrapped */
	/* Packets of expired flows that have no row, because there were too many keys. */
	uint64_t forgotten_packets;
	struct report_query *queries; /* [nb_queries], from malloc() */
	uint32_t nb_queries;
	/* Only in reports with flows_only. */
	struct report_flow *flows;
	size_t nb_flows;
	uint64_t first_record; /* number of flows[0] in the run, from 0 */
	/* With --flow-detail. refused_details: flows for whose details there was no room. */
	bool deep;
	struct flow_figures *figures; /* [nb_flows], from malloc() */
	uint64_t refused_details;
};

/*
 * Packet counts of an epoch.
 * offered  = received + nic_missed + nic_errors + no_mbuf
 * received = measured + filtered + non_ip + malformed + ring_full + shed + duplicate + skipped
 */
struct ledger {
	bool collected; /* packets are those that flow records stand for (sketchtap collect) */
	bool kept_up;
	uint64_t offered, received, measured, filtered, non_ip, malformed;
	uint64_t nic_missed, nic_errors, no_mbuf, ring_full, shed;
	uint64_t unaccounted;
	uint64_t duplicate; /* already reported by another exporter */
	/* received and not processed on purpose; not lost */
	uint64_t skipped, skipped_bytes;
	/* part of skipped: bursts of which no packet was processed */
	uint64_t unseen, unseen_bytes;
	/* part of skipped: packets of keys that key sampling did not select */
	struct key_sample_counts left_out;
	uint64_t added, added_bytes; /* amount by which weights exceed the measured packets */
	/* largest weight of a packet; 0 or 1: packets have no weights */
	uint64_t weight;
	uint32_t longest_frame; /* bytes; longest received frame */
	/* coarsest sampling interval (N of 1:N) of flow records; 0 or 1: not sampled */
	double sampling;
	/*
	 * Measured packets that may be duplicates, and duplicates that may be new packets. At most
	 * `observers` exporters reported one packet; 0: unknown.
	 */
	uint64_t maybe_duplicate, maybe_duplicate_bytes, maybe_new, maybe_new_bytes;
	uint32_t observers;
	/*
	 * Interval of exporters that sampled no packet, if it is coarser than `sampling`; else 0.
	 */
	uint32_t silent_interval;
	/* Figures of sampled flow records may be too large by this factor; 0: they are not. */
	double overcount;
	uint32_t unsampled_frame; /* bytes; largest frame that may be without a sample */
	/* packets that may have been lost in addition */
	uint64_t doubtful;
	/* The number of lost packets has no upper bound. */
	bool losses_unknown;
	uint64_t bytes; /* wire bytes of measured packets, without FCS */
	/* Bytes cut off packets of unknown original length. UINT64_MAX: unknown. */
	uint64_t missing_bytes;
	/* largest frame in bytes that may have been lost */
	uint32_t largest_frame;
	uint32_t smallest_frame; /* bytes; smallest measured frame; UINT32_MAX: no packet */
	/* Time to receive, count and free packets, without empty polls. */
	uint64_t rx_ns, ppt_ns, free_ns;
};

enum drop_reason {
	LEDGER_NEITHER,
	LEDGER_LOST,     /* lost before measurement */
	LEDGER_LEFT_OUT, /* not measured on purpose, such as non_ip */
	LEDGER_SKIPPED,  /* not processed on purpose, under overload */
};

enum ledger_when {
	LEDGER_ALWAYS,
	LEDGER_COLLECTED,
	LEDGER_KEPT_UP,
};

#define LEDGER_COLUMNS 16
struct ledger_column {
	const char *name;
	size_t offset;
	enum drop_reason fate;
	enum ledger_when when;
	const char *why;
	/* The bytes are those of packets with this fate. NULL: the column counts packets. */
	const char *bytes_of;
};
extern const struct ledger_column ledger_columns[LEDGER_COLUMNS];

static inline uint64_t ledger_column(const struct ledger *ledger, uint32_t column)
{
	return *(const uint64_t *)((const char *)ledger + ledger_columns[column].offset);
}

/* Returns false if the column is only a lower bound. */
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

/* Adds all counts and times, but leaves the frame sizes of `sum` unchanged. */
void ledger_add(struct ledger *sum, const struct ledger *ledger);

uint64_t ledger_of_fate(const struct ledger *ledger, enum drop_reason fate);

/* Returns the packets lost before measurement: by the device, at a full ring or at a full table. */
static inline uint64_t ledger_lost(const struct ledger *ledger)
{
	return ledger_of_fate(ledger, LEDGER_LOST);
}

struct text;

/*
 * Appends a sentence such as "5 packets offered in 1 interval: 2 measured, 1 lost (1 nic_missed), 2
 * left out (2 non_ip)".
 */
void ledger_sentence(struct text *text, const struct ledger *ledger, uint64_t epochs);

/*
 * Append parts of that sentence, such as "5 lost (1 nic_missed, 4 shed), perhaps 2 more" and ", 3
 * skipped, 1 unaccounted".
 */
void ledger_losses(struct text *text, const struct ledger *ledger);
void ledger_others(struct text *text, const struct ledger *ledger);

/* Returns the sum of the weights of all measured packets. */
static inline uint64_t ledger_counted(const struct ledger *ledger)
{
	return ledger->measured + ledger->added;
}

static inline uint64_t ledger_counted_bytes(const struct ledger *ledger)
{
	return ledger->bytes + ledger->added_bytes;
}

static inline bool ledger_is_sampled(const struct ledger *ledger)
{
	return ledger->sampling > 1 || ledger->silent_interval > 1;
}

static inline double ledger_drop_rate(const struct ledger *ledger)
{
	return ledger->offered > 0 ? (double)ledger_lost(ledger) / (double)ledger->offered : 0;
}

/* Only valid if losses_unknown is false. */
static inline uint64_t ledger_lost_at_most(const struct ledger *ledger)
{
	return ledger_lost(ledger) + ledger->doubtful;
}

/*
 * Counts of a worker that can be summed over epochs. `received` includes `ring_full`. busy_ns: time
 * to receive, count and free packets.
 */
#define LOAD_PACKETS(COUNT) COUNT(received) COUNT(measured) COUNT(ring_full) COUNT(skipped)
#define LOAD_COUNTS(COUNT)  LOAD_PACKETS(COUNT) COUNT(bytes) COUNT(busy_ns)
#define LOAD_COUNT(name)    uint64_t name;

/* The sums over all workers equal the counts of the ledger. */
struct report_load {
	uint32_t lcore;
	int cpu; /* -1: any CPU of the run */
	/* names of the polled ports; "" if there are none */
	const char *ports;
	int queue; /* polled queue of each port; -1: a receiving core polls */
	LOAD_COUNTS(LOAD_COUNT)
	/* With --overload: most packets that waited after a poll, and highest shedding level. */
	uint64_t backlog_max, level_max;
};

struct report_port {
	const char *name; /* outlives all epochs */
	bool up;
	uint32_t speed;                           /* Mbit/s; 0: unknown */
	uint64_t nic_missed, nic_errors, no_mbuf; /* since the run began */
};

struct report_rule {
	char prefix[56], name[64];
	/* Bounds are only set with load shedding. */
	struct report_figure packets, bytes;
	uint64_t flows; /* estimated, of the packets that were compared with the rules */
};

/* Every packet that a port with --forward receives has one of these fates. */
#define FORWARDED_FATES(FATE)   FATE(forwarded) FORWARDED_REASONS(FATE)
#define FORWARDED_REASONS(FATE) FATE(tx_full) FATE(too_long) FATE(no_link) FATE(tx_errors)

#define FORWARDED_FATE(fate) uint64_t fate;
struct forwarded_counts {
	uint64_t received;
	FORWARDED_FATES(FORWARDED_FATE)
	uint64_t bytes; /* accepted by the output port, on the wire without FCS */
};

struct report_forwarded {
	/* names of the ports; they outlive all epochs */
	const char *in, *out;
	/* so_far: since the start of the run */
	struct forwarded_counts counts, so_far;
	/* Time from poll to transmission. timed: false if the output port accepted no packets. */
	bool timed;
	uint64_t p50_ns, p99_ns, p999_ns, max_ns;
};

/* A row of --export overload: a change of detail, or the share of packets of a measurement. */
struct report_state {
	int64_t time; /* ns since 1970-01-01 UTC */
	bool changed; /* true: a change of detail; false: a share, which has no worker */
	uint32_t worker;
	uint64_t packet;      /* index of the worker's first packet after the change */
	char measurement[64]; /* "": all measurements */
	char from[STEP_WORD_MAX], to[STEP_WORD_MAX];
	const char *reason;
	uint64_t backlog;
	/* Packets per second: of the worker in the last 10 ms if `changed`, else of all workers. */
	double rate;
	bool cost_known, target_known;
	/* per packet: actual cost, and cost at which the worker keeps up */
	double cost_ns, target_ns;
	double share; /* share of the packets that were processed, 0 to 1 */
	/* Predictions of cost_ns, made a window earlier. */
	bool predicted[ESTIMATORS];
	double prediction[ESTIMATORS];
	/* If not `changed`: mean of |prediction / cost_ns - 1| over the windows of the interval. */
	bool compared[ESTIMATORS];
	double error[ESTIMATORS];
};

/* Counts of rows of one kind sent to one destination, from one epoch to the next. */
struct report_delivery {
	const char *name, *kind;
	uint64_t rows;
	uint64_t delivered, acknowledged, failed, unknown, dropped;
	uint64_t spooled;
	uint64_t waiting;
	bool waits;
	int64_t oldest; /* start of the oldest epoch that waits, ns since 1970-01-01 UTC */
	uint64_t retries, reconnects, bytes;
	uint64_t spool_bytes, spool_size; /* bytes in use and maximum; 0: no spool */
};

struct datagram_row;
struct exporter_row;
struct link_row;
struct neighbour_row;
struct path_row;
struct sampling_row;

/* Rows of sketchtap collect besides the measurements, from malloc(). */
struct report_collected {
	struct exporter_row *exporters;
	struct link_row *links;
	const struct path_row **paths;
	struct neighbour_row *neighbours;
	struct sampling_row *samplings;
	struct datagram_row *datagrams;
	uint8_t *payloads; /* payloads of `datagrams` */
	uint64_t nb_exporters, nb_links, nb_paths, nb_neighbours, nb_samplings, nb_datagrams;
	uint64_t payload_bytes;
	void **owned; /* [nb_owned]: memory to which `paths` points */
	uint32_t nb_owned;
};

/* Arrays are from malloc(). report_epoch_free() frees them. */
struct report_epoch {
	_Atomic uint32_t references;
	uint64_t number;
	int64_t start, end; /* ns since 1970-01-01 UTC */
	struct ledger ledger;
	const char *design, *sharing;
	/* The report has only flow records. A later report of the epoch has the rest. */
	bool flows_only;
	bool deliveries_only;
	struct report_delivery *deliveries;
	uint32_t nb_deliveries;
	uint64_t expired;
	/* start and end come from the clock of the host, not from packets */
	bool live;
	bool late;
	/* processing time in ns if the time stamps are generated, else 0 */
	uint64_t took;
	/* ns in which the packets arrived; 0: the source waits for the outputs */
	uint64_t arrival_ns;
	uint64_t closing_ns; /* time to merge and rank the epoch */
	uint32_t workers;
	struct report_load *loads; /* [workers] */
	struct costs *costs;       /* [workers]; ns, measured on some bursts; may be NULL */
	struct report_port *ports;
	uint32_t nb_ports;
	struct report_rule *rules;
	uint32_t nb_rules;
	struct report_forwarded *forwarded;
	uint32_t nb_forwarded;
	struct report_state *states;
	uint32_t nb_states;
	struct report_collected *collected; /* NULL if the input is packets */
	uint32_t nb_measurements;
	struct report_measurement measurements[];
};

/*
 * Returns the ledger of the epoch for one measurement: packets that it did not process are moved to
 * `skipped`, and packets that its drill-down did not match to `filtered`.
 */
struct ledger ledger_of_measurement(
	const struct ledger *ledger, const struct report_measurement *measurement);

/* Also moves packets for which the sketch had no room to `shed`. */
struct ledger report_ledger(
	const struct report_epoch *epoch, const struct report_measurement *measurement);

/* Returns an epoch with one reference, or NULL. */
struct report_epoch *report_epoch_alloc(uint32_t nb_measurements, uint32_t workers);
/* Copies the name and the rule, but not the name of the sketch. Returns false if out of memory. */
bool report_measurement_ask(struct report_measurement *measurement, const char *name,
	const struct key_rule *rule, const char *sketch);
struct report_epoch *report_epoch_share(struct report_epoch *epoch);
/* Releases a reference; the last one frees the epoch. NULL is allowed. */
void report_epoch_free(struct report_epoch *epoch);

/* Returns a bit mask of enum key_field_id. */
uint32_t report_key_fields(const struct report_epoch *epoch);

/* Returns 0 if the end is not after the start. */
uint64_t report_duration(const struct report_epoch *epoch);
/* Returns the processing time if the time stamps are generated, else the duration. */
uint64_t report_rate_time(const struct report_epoch *epoch);

/* Saturates to UINT64_MAX. */
uint64_t report_per_second(unsigned __int128 amount, uint64_t duration_ns);

/* Return false if the count is unknown or the epoch has no duration. */
bool report_pps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *pps);
bool report_bps(const struct report_epoch *epoch, const struct report_row *row, uint64_t *bps);
