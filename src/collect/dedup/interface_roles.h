/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Learns the roles of input interfaces of sampling exporters: the samples of an edge count; those
 * of an interface that another exporter feeds are duplicates. Roles are learned from flows that
 * several exporters report (docs/ESTIMATES.md, "Each packet once"). Single-threaded.
 *
 * Evidence is collected in windows that are longer than the longest record. An exporter is dead
 * after a longer silence. Roles are computed from living exporters, so a death requires no new
 * evidence.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/random.h"
#include "collect/dedup/observed_flows.h"
#include "collect/dedup/observers.h"
#include "collect/exporters/collector_rows.h"
#include "sketch/sketch.h"

/* Fewest samples of a large flow: it is not idle, and its other exporters must see it. */
#define ROLE_SAMPLES_LARGE 20
#define ROLE_RATES         8 /* sampling intervals in use at once, rounded up to powers of two */
#define ROLE_DISTANCES     8 /* distances between exporters on a path; 0: order unknown */
#define INTERFACE_NONE     UINT32_MAX

struct role_interface {
	uint32_t point; /* observation_points_number() of its exporter and side */
	uint32_t input;
	uint32_t heard; /* time of the last sample, ticks */
	uint16_t exporter;
	uint8_t role;         /* enum interface_role */
	uint8_t kept;         /* role in an earlier run, until there is evidence */
	uint8_t configured;   /* role by `edge=`; ROLE_OPEN: not configured */
	uint8_t fed_distance; /* distance of `fed_by`; 0: order unknown */
	uint16_t fed_by;      /* exporter that feeds it */
	float fed_share;      /* share of flows that it also reports; 0: no exporter feeds it */
	/*
	 * Evidence by sampling interval of the other exporter (docs/ESTIMATES.md, "Samples"). Each
	 * flow adds the probability that both halves of its samples here have a sample.
	 */
	float own[ROLE_RATES];     /* up to the previous window */
	float own_now[ROLE_RATES]; /* in this window */
	/*
	 * only in the interface that represents its whole exporter: evidence of flows that another
	 * exporter also reported
	 */
	float common;
	/* large flows of a ROLE_FED interface, dropped here as duplicates; see check_roles() */
	uint32_t right; /* another exporter counts the flow */
	uint32_t wrong; /* no exporter counts the flow */
	/* Packets of large flows of the last window that only this exporter reported. */
	uint64_t missed;
	/* Counts of the epoch, by role. */
	uint64_t counted_packets, counted_bytes, dropped_packets, dropped_bytes;
};

/* Evidence of an observation point about a flow. */
struct role_evidence_of {
	uint32_t flow;    /* its entry + 1; 0: free */
	uint32_t hash;    /* hash of the flow of the entry */
	uint16_t samples; /* UINT16_MAX: that or more */
	uint8_t share;
	uint8_t ttl;      /* largest TTL; 0: unknown */
	uint16_t segment; /* hash of the MAC addresses at this TTL; 0: unknown or several */
};

/* Flows of an interface that another exporter reports also. */
struct role_pair {
	uint32_t interface; /* interface + 1; 0: free */
	uint16_t exporter;
	uint16_t generation; /* generation of the exporter when the evidence began */
	uint8_t distance;    /* distance of the upstream exporter; 0: order unknown */
	float common; /* evidence: each flow adds the probability that both have a sample of it */
	float apart;  /* part of `common` at equal TTL on different segments */
	/*
	 * part of `own` of the interface that the pair must not count: evidence from before the
	 * first common flow, and from the time in which the exporter was dead
	 */
	float before;
};

struct role_exporter {
	uint32_t heard;         /* time of the last datagram, ticks; 0: none */
	uint32_t lost;          /* time of the last known loss of records, ticks; 0: none */
	uint32_t gap, gap_last; /* longest silence in this and in the previous window, ticks */
	uint32_t coarsest;      /* largest sampling interval in this window */
	uint32_t sampling;      /* sampling interval in the last windows; 0: no flows reported */
	uint32_t whole;         /* interface that represents the whole exporter + 1; 0: none */
	uint32_t nb;            /* number of interfaces */
	uint16_t generation;    /* incremented to invalidate evidence */
	uint8_t rate;           /* index of its sampling interval; ROLE_RATES: none */
	bool alive, in_doubt;
	bool timeless;    /* some unsampled records have no times */
	uint32_t longest; /* longest unsampled record, ticks */
	/* Samples of this epoch that were dropped because the exporter reports their flows whole. */
	uint64_t covered_packets, covered_bytes;
	int64_t kept_at; /* time at which its roles were saved, ns since 1970-01-01 UTC; 0: none */
};

struct roles {
	struct role_interface *interfaces;
	uint32_t *index; /* interface + 1; 0: free */
	struct role_pair *pairs;
	struct role_exporter *exporters;
	float *upstream; /* [interfaces][ROLE_DISTANCES][3]: share, common and own flows; scratch */
	uint32_t *marks; /* [interfaces]; scratch */
	struct role_evidence_of *evidence; /* evidence of this window */
	uint64_t seed;
	uint32_t nb_exporters;
	uint32_t nb, room, mask; /* number of interfaces */
	uint32_t pairs_mask, nb_pairs;
	uint32_t nb_evidence[2], evidence_mask; /* [0]: unsampled, [1]: sampled */
	/*
	 * Evidence is collected from flows whose hash has these bits clear. [0]: unsampled, [1]:
	 * sampled.
	 */
	uint32_t sparse[2];
	uint32_t rates[ROLE_RATES];
	uint32_t began;                 /* start of the window, ticks */
	uint32_t longest, longest_last; /* longest record: this, previous window; ticks */
	uint16_t generation;            /* incremented if interfaces are renumbered; never 0 */
	uint32_t reporting;             /* number of living exporters that report flows */
	uint32_t reporting_at[ROLE_RATES + 1]; /* per sampling interval */
	bool started;
	bool learned; /* learned from this evidence */
	bool kept;    /* roles of an earlier run are in use: the same exporters report flows */
	bool kept_in_doubt; /* one of them is silent */
};

/* Packets of the epoch in doubt because roles changed, or depend on silent exporters. */
struct role_doubt {
	uint64_t duplicate_packets, duplicate_bytes; /* counted, possibly duplicates */
	uint64_t new_packets, new_bytes;             /* dropped as duplicates, possibly new */
	uint32_t new_sampling; /* coarsest sampling interval of dropped samples; 0: none */
	bool late;             /* some counted packets belong to an earlier interval */
	bool blind; /* interfaces of a dead exporter carry traffic that possibly no other exporter sees */
};

size_t roles_memory(uint32_t exporters);
bool roles_init(struct roles *roles, uint32_t exporters, uint64_t seed,
	const struct sketch_allocator *allocator);
void roles_fini(struct roles *roles, const struct sketch_allocator *allocator);

/* Returns the input interface of a hop; NULL: table full. */
struct role_interface *roles_interface(
	struct roles *roles, struct observation_points *points, uint32_t hop, uint32_t now);

/*
 * A record to add to the evidence, if roles_want() its flow. packets: before upscaling. duration:
 * ticks from the first packet to the report.
 */
struct role_evidence {
	uint32_t flow, share; /* indexes of the flow and of the share */
	uint32_t exporter, sampling;
	uint64_t packets;
	uint32_t duration;
	uint8_t ttl;
	uint16_t segment; /* struct observation */
};

void roles_add(struct roles *roles, const struct flow *flow, const struct role_evidence *evidence);

/* Returns the largest TTL of the share's packets in this window; 0: unknown. */
uint8_t roles_ttl(const struct roles *roles, uint32_t flow, uint32_t share);

/* Returns true if evidence about the flow is collected. */
static inline bool roles_want(const struct roles *roles, const struct key_hash *hash, bool sampled)
{
	return ((uint32_t)hash->lo & roles->sparse[sampled]) == 0;
}

/* Returns where the search for evidence about a flow begins, by the index of the flow. */
static inline uint32_t roles_evidence_at(const struct roles *roles, uint32_t flow)
{
	return (uint32_t)random_mix(flow ^ roles->seed) & roles->evidence_mask;
}

static inline void roles_fetch(const struct roles *roles, uint32_t flow)
{
	__builtin_prefetch(&roles->evidence[roles_evidence_at(roles, flow)], 1);
}

/* Notes that the exporter reports flows at this sampling interval. */
static inline void roles_report(struct roles *roles, uint32_t exporter, uint32_t sampling)
{
	if (sampling > roles->exporters[exporter].coarsest)
		roles->exporters[exporter].coarsest = sampling;
}

/* Returns the most ticks between two unsampled records of an active flow; INT32_MAX: unknown. */
uint32_t roles_record_most(const struct roles *roles, uint32_t exporter);

/* Notes a datagram from the exporter. */
void roles_hear(struct roles *roles, uint32_t exporter, uint32_t now);

/* Notes that records of the exporter were lost before `now`, in ticks. */
void roles_lose(struct roles *roles, uint32_t exporter, uint32_t now);

/* Returns true if records of the exporter may have been lost since `time`, in ticks. */
static inline bool roles_lost_since(const struct roles *roles, uint32_t exporter, uint32_t time)
{
	uint32_t lost = roles->exporters[exporter].lost;

	return lost != 0 && (int32_t)(lost - time) > 0;
}

/*
 * Ends an epoch: learns from the evidence if the window ends or `last` is set, and assigns roles.
 * Fills `doubt` for the epoch.
 */
void roles_end_epoch(struct roles *roles, struct observation_points *points,
	struct observed_flows *flows, uint32_t now, bool last, struct role_doubt *doubt);

/* Discards the evidence that roles_end_epoch() has used. Call it after roles_end_epoch(). */
void roles_begin_epoch(struct roles *roles);

/*
 * Restores a role of an earlier run, which was saved at `saved_at` (ns since 1970-01-01 UTC). Call
 * before the first record. Such roles hold while the exporters that report flows are those of the
 * earlier run, and only for interfaces without new evidence.
 */
void roles_restore(struct roles *roles, const struct observation_points *points,
	const struct interface_role_row *row, int64_t saved_at, uint32_t now);

/*
 * Discards restored roles that were saved more than an hour before or after `now`, ns since
 * 1970-01-01 UTC. Call before the first roles_end_epoch().
 */
void roles_expire_restored(struct roles *roles, int64_t now);

/*
 * Emits the role of each interface. One interface of each exporter represents the whole exporter.
 * It also has a row.
 */
void roles_emit(const struct roles *roles, const struct observation_points *points,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg);

/* Prepares the slot for another exporter. Call after observation_points_forget(). */
void roles_forget(struct roles *roles, uint32_t exporter);

/* Returns true if the exporter sent a datagram recently. */
static inline bool roles_is_alive(const struct roles *roles, uint32_t exporter)
{
	return roles->exporters[exporter].alive;
}
