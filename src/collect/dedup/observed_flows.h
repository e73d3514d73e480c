/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Table of observed flows, 128 bytes each: counted packets, and the share of each observer. A
 * compact index (tag and entry number, 8 bytes) finds the entry. Flows with more than FLOW_SHARES
 * shares use additional entries of the same pool.
 *
 * Flows are identified by the 128 bits of their hash: for IPv4 that is the key itself; two IPv6
 * flows collide with probability 2^-128.
 *
 * Time is counted in ticks of about 1 ms, modulo 2^32. A flow that is silent for longer than the
 * timeout has ended: its next record restarts it, and the sweep frees its entry unless it is
 * deferred. Each request for an entry advances the sweep.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assertion.h"
#include "key/key_burst.h"
#include "sketch/sketch.h"

#define TICK_SHIFT       20 /* ns to ticks */
#define TICKS_PER_SECOND 954
#define SPAN_TICKS       16
#define GAP_MAX          ((UINT32_C(1) << 13) - 1)
#define ADVANCE_MAX      ((UINT32_C(1) << 23) - 1)
#define DOUBTED_MAX      ((UINT32_C(1) << 24) - 1)
#define FLOW_NONE        UINT32_MAX
#define FLOW_SHARES      4
#define MORE_SHARES      7
#define SHARES_MAX       32 /* shares of a flow */

#define SHARE_PACKETS_LIMIT (UINT64_C(1) << 39)
#define SHARE_BYTES_LIMIT   (UINT64_C(1) << 49)
#define SHARE_TOTAL_LIMIT   (UINT64_C(1) << 60) /* bytes */
#define SHARE_TIME_BITS     14

/*
 * Report of one observation point about a flow, multiplied by its sampling interval. Unsampled:
 * `packets` and `bytes` are the position in the flow that its records reach. Sampled: values that
 * wait for the end of the epoch.
 */
struct share {
	union {
		struct {
			uint64_t packets : 40, hop : 20;
			uint64_t sampled : 1; /* the last record was sampled */
			/* not a share: the last total of the observer in the preceding share */
			uint64_t total : 1;
			/* unsampled: others reported packets that it did not see */
			uint64_t partial : 1;
			/* unsampled: `bytes` does not compare with those of the flow */
			uint64_t estimated : 1;
		};
		uint64_t state; /* all six */
	};
	union {
		struct {
			uint64_t bytes : 50;
			/* last packet, share_time(); totals: high bits of bytes */
			uint64_t last : SHARE_TIME_BITS;
		};
		uint64_t bytes_and_last;
	};
};

/* Returns the state of a share without flags. */
static inline uint64_t share_state(uint64_t packets, uint32_t hop)
{
	return packets | (uint64_t)hop << 40;
}

/* Returns the state of a sampled share without packets and other flags. */
static inline uint64_t share_state_sampled(uint32_t hop)
{
	return share_state(0, hop) | UINT64_C(1) << 60;
}

/* Returns the bytes of a total. */
static inline uint64_t share_total_bytes(const struct share *share)
{
	return share->bytes | (uint64_t)share->last << 50;
}

static inline void share_set_total_bytes(struct share *share, uint64_t bytes)
{
	uint64_t high = bytes >> 50;

	share->bytes = bytes & ((UINT64_C(1) << 50) - 1);
	share->last = high & ((1 << SHARE_TIME_BITS) - 1);
}

enum flow_flags {
	FLOW_USED = 1 << 0,
	FLOW_MORE = 1 << 1,      /* shares of a flow in another entry */
	FLOW_UNSAMPLED = 1 << 2, /* at least one observer does not sample */
	FLOW_MOVED = 1 << 3,     /* an observer changed its interfaces */
	FLOW_TOLD = 1 << 4,      /* has an entry in flow_paths.h */
	FLOW_IPV6 = 1 << 5,      /* IPv6; set with the path */
	FLOW_DEFERRED = 1 << 6,  /* has an entry in deferred_flows.h */
	FLOW_UNSURE = 1 << 7,    /* `doubted_at`, or `estimated` of a share, was set */
};

/*
 * A flow. The front is the last packet that unsampled observers have reported: packet number
 * `packets`, with time `front` (ticks). The last record that advanced the front added `advance`
 * packets and `span` to it.
 */
struct flow {
	uint32_t more; /* entry of additional shares + 1; 0: none */
	uint8_t nb;    /* number of shares */
	uint8_t flags;
	uint16_t span; /* in units of SPAN_TICKS */
	uint32_t last; /* time of the last report, ticks */
	uint32_t front;
	struct key_hash hash;
	union {
		struct {
			uint64_t packets : 40;  /* counted */
			uint64_t advance : 23;  /* saturates at ADVANCE_MAX */
			uint64_t front_cut : 1; /* `front` may be up to 2 * CUT_TICKS too early */
		};
		uint64_t progress; /* all three: flow_set_progress() */
	};
	union {
		struct {
			uint64_t bytes : 50; /* counted */
			/* See gap_end. In units of SPAN_TICKS, saturates at GAP_MAX. 0: none. */
			uint64_t gap : 13;
			uint64_t moved : 1; /* the flow moved to another observer after the gap */
		};
		uint64_t bytes_and_gap; /* all three: flow_set_bytes() */
	};
	struct share shares[FLOW_SHARES];
	union {
		uint32_t owner; /* method `exporter`: index of the share that counts */
		uint32_t begin; /* method `best`, not deferred: see flow_begin() */
		uint32_t held;  /* deferred: index of its entry, which has `begin` */
	};
	/*
	 * The longest recent gap: no packets were reported in the time `gap` before gap_end, and
	 * `before_gap` packets before that time. If the flow moved after it, late records of the
	 * gap are inserted there. Valid if `gap` > 0 and nb > 1, because one observer reports in
	 * order.
	 */
	union {
		uint32_t gap_end; /* ticks */
		uint32_t
			counted; /* ticks; when an unsampled record of the method `window` counted */
	};
	union {
		struct {
			uint64_t before_gap : 40;
			/* last doubt, in units of SPAN_TICKS; 0: never in doubt */
			uint64_t doubted_at : 24;
		};
		/* method `window`: counted as samples; the next unsampled record includes them */
		uint64_t from_samples;
	};
} __attribute__((aligned(64)));

struct more_shares {
	uint32_t more;
	uint8_t nb;
	uint8_t flags;
	uint16_t spare;
	uint64_t unused;
	struct share shares[MORE_SHARES];
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct flow) == 128, "two cache lines");
_Static_assert(sizeof(struct more_shares) == sizeof(struct flow), "both are entries of flows[]");

struct observed_flows {
	struct flow *flows;
	uint64_t *index; /* tag, FLOW_SEVERAL and entry + 1; 0: free */
	uint64_t mask;
	uint32_t shift;       /* tag >> shift is a cell */
	uint32_t nb, room;    /* entries used at least once; entries of flows[] */
	uint32_t free;        /* first free entry + 1; `more` links them; 0: none */
	uint32_t hand;        /* position of the sweep */
	uint32_t timeout;     /* ticks */
	uint32_t share_shift; /* ticks >> share_shift is the time unit of shares */
	uint32_t used;
	bool keep; /* the sweep keeps flows whose paths are not emitted yet */
};

#define FLOWS_MAX (UINT32_C(1) << 30)

/* Returns the entries for a number of flows. */
uint32_t observed_flows_entries(uint64_t flows);
size_t observed_flows_memory(uint64_t flows);
bool observed_flows_init(struct observed_flows *table, uint64_t flows, uint64_t timeout,
	const struct sketch_allocator *allocator);
void observed_flows_fini(struct observed_flows *table, const struct sketch_allocator *allocator);

/* Adds counted packets and bytes. */
static inline void flow_add(struct flow *flow, uint64_t packets, uint64_t bytes)
{
	uint64_t sum = flow->packets + packets;
	const uint64_t limit = 2 * SHARE_PACKETS_LIMIT - 1;

	if (sum > limit)
		sum = limit;
	flow->packets = sum & (2 * SHARE_PACKETS_LIMIT - 1);
	sum = flow->bytes + bytes;
	flow->bytes = (sum < 2 * SHARE_BYTES_LIMIT ? sum : 2 * SHARE_BYTES_LIMIT - 1) &
		      (2 * SHARE_BYTES_LIMIT - 1);
}

/* Stores three members at once: reading their word after storing a part of it stalls the CPU. */
static inline void flow_set_progress(
	struct flow *flow, uint64_t packets, uint64_t advance, bool cut)
{
	advance = advance < ADVANCE_MAX ? advance : ADVANCE_MAX;
	flow->progress = packets | advance << 40 | (uint64_t)cut << 63;
}

static inline void flow_set_bytes(struct flow *flow, uint64_t bytes, uint64_t gap, bool moved)
{
	flow->bytes_and_gap = bytes | gap << 50 | (uint64_t)moved << 63;
}

static inline uint32_t flow_tag(const struct key_hash *hash)
{
	return (uint32_t)(hash->hi >> 32);
}

static inline void observed_flows_prefetch(
	const struct observed_flows *table, const struct key_hash *hash)
{
	__builtin_prefetch(&table->index[flow_tag(hash) >> table->shift]);
}

#define FLOW_SEVERAL (UINT32_C(1) << 31) /* flag of a cell: prefetch both lines of the entry */

static inline uint32_t flow_of_cell(uint64_t cell)
{
	return ((uint32_t)cell & ~FLOW_SEVERAL) - 1;
}

/* Returns the probable entry of the flow, or FLOW_NONE, and prefetches it. */
static inline uint32_t observed_flows_guess(
	const struct observed_flows *table, const struct key_hash *hash)
{
	uint32_t tag = flow_tag(hash);

	for (uint64_t at = tag >> table->shift;; at = (at + 1) & table->mask) {
		uint64_t cell = table->index[at];
		const struct flow *flow;

		if (!cell)
			return FLOW_NONE;
		if (cell >> 32 != tag)
			continue;
		flow = &table->flows[flow_of_cell(cell)];
		__builtin_prefetch(flow, 1);
		if (cell & FLOW_SEVERAL)
			__builtin_prefetch((const char *)flow + 64, 1);
		return flow_of_cell(cell);
	}
}

static inline bool flow_is_of(const struct flow *flow, const struct key_hash *hash)
{
	return (flow->flags & (FLOW_USED | FLOW_MORE)) == FLOW_USED && flow->hash.lo == hash->lo &&
	       flow->hash.hi == hash->hi;
}

/*
 * Returns the entry of the flow; adds one if it is missing, and restarts a flow that has ended.
 * guess: from observed_flows_guess(), possibly outdated. Returns NULL if the table is full.
 */
struct flow *observed_flows_get(
	struct observed_flows *table, const struct key_hash *hash, uint32_t guess, uint32_t now);

/* Resets the flow to its initial state. */
void observed_flows_restart(struct observed_flows *table, struct flow *flow);

struct share *observed_flows_more_share(
	struct observed_flows *table, struct flow *flow, uint32_t i);

/* Returns share i < flow->nb. */
static inline struct share *observed_flows_share(
	struct observed_flows *table, struct flow *flow, uint32_t i)
{
	ASSERT(i, <, flow->nb);
	return i < FLOW_SHARES ? &flow->shares[i] : observed_flows_more_share(table, flow, i);
}

/* Returns the largest bytes of an unsampled share whose bytes compare with those of the flow. */
static inline uint64_t most_unsampled_bytes(struct observed_flows *table, struct flow *flow)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct share *share = observed_flows_share(table, flow, i);

		if (!share->total && !share->sampled && !share->estimated && share->bytes > most)
			most = share->bytes;
	}
	return most;
}

/* Adds an empty share. Returns NULL if the table is full. */
struct share *observed_flows_add_share(
	struct observed_flows *table, struct flow *flow, uint32_t now);

/*
 * Removes flows that were silent for longer than the timeout. Call it at the end of an epoch. Does
 * nothing if many entries are free and the sweep removes such flows anyway.
 */
void observed_flows_expire(struct observed_flows *table, uint32_t now);

static inline bool flow_is_over(
	const struct observed_flows *table, const struct flow *flow, uint32_t now)
{
	return !(flow->flags & FLOW_DEFERRED) &&
	       (int32_t)(now - flow->last) > (int32_t)table->timeout;
}

/*
 * Returns the time of the last packet of a share in ticks, rounded to the time unit of shares. It
 * is before `now`.
 */
static inline uint32_t share_time(
	const struct observed_flows *table, const struct share *share, uint32_t now)
{
	const uint32_t mask = (1 << SHARE_TIME_BITS) - 1;
	uint32_t steps = ((now >> table->share_shift) - (uint32_t)share->last) & mask;

	return now - (steps << table->share_shift);
}

/* Returns the value of share.last for this time. */
static inline uint32_t share_time_of(const struct observed_flows *table, uint32_t time)
{
	return time >> table->share_shift & ((1 << SHARE_TIME_BITS) - 1);
}

static inline void share_set_time(
	const struct observed_flows *table, struct share *share, uint32_t time)
{
	share->last = share_time_of(table, time) & ((1 << SHARE_TIME_BITS) - 1);
}

static inline uint32_t flow_number(const struct observed_flows *table, const struct flow *flow)
{
	return (uint32_t)(flow - table->flows);
}
