/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The roles of input interfaces, for sampled exporters: an interface is an edge, and its samples
 * count, or another exporter feeds it, and they are duplicates. Roles are learned from flows that
 * several exporters report (docs/ESTIMATES.md, "Each packet once"). One thread's.
 *
 * Evidence is gathered in windows, which are longer than the longest record. An exporter that is
 * silent for longer than that is dead. A role depends on who is alive: a death needs no learning.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/dedup/observed_flows.h"
#include "collect/dedup/observers.h"
#include "sketch/sketch.h"

#define ROLE_RATES     8  /* sampling intervals in use at once, rounded up to powers of two */
#define ROLE_DISTANCES 8  /* between exporters on a path; 0: their order is unknown */
#define WHOLE_EXPORTER 3u /* a side: all interfaces of the exporter together */
#define INTERFACE_NONE UINT32_MAX

enum interface_role {
	ROLE_OPEN, /* not known, or a mixture */
	ROLE_EDGE,
	ROLE_FED,
};

struct role_interface {
	uint32_t observer; /* observation_points_number() */
	uint32_t input;
	uint32_t heard; /* ticks */
	uint16_t exporter;
	uint8_t role; /* enum interface_role */
	/* Flows with samples in both halves of their own, by the interval of the other exporter. */
	float own[ROLE_RATES], own_now[ROLE_RATES]; /* now: in this window */
	float common; /* of the whole exporter: hits of flows that another exporter also reported */
	/* Large flows that an exporter with another role reported, and that none did. */
	uint32_t right, wrong;
	/* Counts of the epoch, by role. */
	uint64_t counted_packets, counted_bytes, dropped_packets, dropped_bytes;
};

/* Evidence of an observation point about a flow. */
struct role_evidence_of {
	uint32_t flow;    /* its entry + 1; 0: free */
	uint32_t hash;    /* hash of the flow of the entry */
	uint16_t samples; /* UINT16_MAX: that or more */
	uint8_t share;
	uint8_t ttl; /* the largest; 0: unknown */
};

/* Flows of an interface that another exporter reports. */
struct role_pair {
	uint32_t interface; /* + 1; 0: free */
	uint16_t exporter;
	uint16_t generation; /* generation of the exporter when the evidence began */
	uint8_t distance;    /* distance of the upstream exporter; 0: order unknown */
	float common;
	float before; /* the interface's `own` when the first common flow came */
};

struct role_exporter {
	uint32_t heard;         /* ticks: any datagram; 0: never */
	uint32_t gap, gap_last; /* ticks: the longest silence in this window, in the one before */
	uint32_t coarsest;      /* sampling interval, in this window */
	uint32_t sampling;      /* in the last windows; 0: it reported nothing */
	uint32_t whole;         /* its interface that stands for all, + 1; 0: none yet */
	uint32_t nb;            /* interfaces */
	uint16_t generation;    /* changes when evidence about it is void */
	uint8_t rate;           /* the number of its sampling interval; ROLE_RATES: no room */
	bool alive, in_doubt;
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
	uint32_t nb, room, mask; /* interfaces */
	uint32_t pairs_mask, nb_pairs;
	uint32_t nb_evidence[2], evidence_mask; /* unsampled, sampled */
	/* Evidence is gathered of flows in whose hashes these bits are 0: unsampled, sampled. */
	uint32_t sparse[2];
	uint32_t rates[ROLE_RATES];
	uint32_t began;                 /* ticks: the window; */
	uint32_t longest, longest_last; /* records in it, and in the one before */
	uint16_t generation;            /* changes when interfaces get other numbers; never 0 */
	uint32_t reporting;             /* living exporters that report flows, */
	uint32_t reporting_at[ROLE_RATES + 1]; /* by sampling interval */
	bool started;
	bool learned; /* learned from this evidence */
};

/* Packets of the epoch in doubt because roles changed, or depend on silent exporters. */
struct role_doubt {
	uint64_t duplicate_packets, duplicate_bytes; /* counted, but possibly duplicates */
	uint64_t new_packets, new_bytes;             /* taken for duplicates, but possibly new */
	bool late;  /* some counted packets were reported in an earlier interval */
	bool blind; /* a dead exporter's interfaces carry traffic that only it may have seen */
};

size_t roles_memory(uint32_t exporters);
bool roles_init(struct roles *roles, uint32_t exporters, uint64_t seed,
	const struct sketch_allocator *allocator);
void roles_fini(struct roles *roles, const struct sketch_allocator *allocator);

/* The hop's input interface; NULL: there is no room. */
struct role_interface *roles_interface(
	struct roles *roles, struct observation_points *observers, uint32_t hop, uint32_t now);

/*
 * A record of a flow that is wanted adds to the evidence: `packets` as told, not multiplied. duration: ticks from its first
 * packet to the report.
 */
struct role_evidence {
	uint32_t flow, share; /* their numbers */
	uint32_t exporter, sampling;
	uint64_t packets;
	uint32_t duration;
	uint8_t ttl;
};

void roles_add(struct roles *roles, const struct flow *flow, const struct role_evidence *evidence);

/* The largest TTL of the share's packets in this window; 0: unknown. */
uint8_t roles_ttl(const struct roles *roles, uint32_t flow, uint32_t share);

/* Returns true if evidence about the flow is collected. */
static inline bool roles_want(const struct roles *roles, const struct flow *flow, bool sampled)
{
	return ((uint32_t)flow->hash.lo & roles->sparse[sampled]) == 0;
}

/* The exporter reports flows, sampled so. */
static inline void roles_report(struct roles *roles, uint32_t exporter, uint32_t sampling)
{
	if (sampling > roles->exporters[exporter].coarsest)
		roles->exporters[exporter].coarsest = sampling;
}

/* A datagram came from the exporter. */
void roles_hear(struct roles *roles, uint32_t exporter, uint32_t now);

/*
 * The epoch is over: learns where a window is, or where `last`, and sets the roles. For the epoch
 * that is over `doubt` says what is left open.
 */
void roles_end_epoch(struct roles *roles, struct observation_points *observers,
	struct observed_flows *flows, uint32_t now, bool last, struct role_doubt *doubt);

/* Behind roles_end_epoch(): forgets evidence of which roles were learned. */
void roles_begin_epoch(struct roles *roles);

/* The slot is another exporter's from now on; after observation_points_forget(). */
void roles_forget(struct roles *roles, uint32_t exporter);

/* Returns true if the exporter sent a datagram recently. */
static inline bool roles_is_alive(const struct roles *roles, uint32_t exporter)
{
	return roles->exporters[exporter].alive;
}
