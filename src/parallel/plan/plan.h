/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Plans a run before it starts: tasks and CPUs of lcores, queues, memory.
 *
 * The ports of a NUMA node form a group with its own workers. Lcore 0 is the main lcore of EAL and
 * the reporter, which mostly sleeps. Feeder, receivers and workers poll.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "config/config.h"
#include "parallel/plan/cpu_set.h"
#include "parallel/plan/design.h"
#include "parallel/plan/topology.h"
#include "rx/port/forwarding.h"
#include "sketch/sketch.h"
#include "config/option.h"

#define PLAN_WORKERS_MAX 120

enum idle_mode {
	/* sleeps if there are too few CPUs or packets come through the kernel; otherwise spins */
	IDLE_AUTO,
	IDLE_SPIN,
	IDLE_YIELD,
	IDLE_SLEEP, /* yields, and sleeps after some polls without packets */
};

struct plan_options {
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	uint32_t workers;    /* 0: use all cores */
	uint32_t mbuf_cache; /* mbufs in the mempool cache of each lcore */
	enum idle_mode idle;
};

OPTION_OWNER(plan)

struct pool_options {
	uint32_t mbufs; /* mbufs of each packet pool; 0: computed */
};

OPTION_OWNER(pool)

struct hugepages_options {
	bool no_huge;
};

OPTION_OWNER(hugepages)

struct seed_options {
	uint64_t seed;
	bool given;
};

OPTION_OWNER(seed)

/* Sets a random seed if the user gave none. Returns false if the system has no random numbers. */
bool seed_pick(struct config *config);

/* Return NULL after the last value of --sharing or --atomic. */
const char *plan_sharing_word(uint32_t i);
const char *plan_atomic_word(uint32_t i);

#define PLAN_LCORES_MAX     128 /* lcore limit of the DPDK build */
#define PLAN_GROUPS_MAX     TOPOLOGY_NODES_MAX
#define PLAN_WARNINGS_MAX   16
#define PLAN_TEXT_MAX       448
#define PLAN_NODE_ANY       (-1)
/* --ring-size with --forward: 205 ms of IPv4 packets at 160 kpps. */
#define DIGEST_RING_DEFAULT 16384
#define PLAN_GENERATIONS    2 /* instances of each sketch (parallel/epoch.h) */

#define POLL_BURST_MAX       512
#define PLAN_DIGEST_UNIT     32                     /* a digest takes whole units */
#define PLAN_DIGEST_BYTES    (2 * PLAN_DIGEST_UNIT) /* largest digest of a 5-tuple */
#define PLAN_PORT_MBUF_BYTES 2048                   /* largest frame in one mbuf, bytes */

/* The digest ring of a worker. */
static inline size_t plan_digest_ring_bytes(uint32_t size)
{
	return (size_t)size * PLAN_DIGEST_BYTES;
}

/* Returns true if keys with these fields need struct key_extra. Each digest has the TCP flags. */
static inline bool plan_digest_has_extra(uint32_t fields)
{
	return (fields & KEY_EXTRA_MASK & ~(UINT32_C(1) << KEY_TCP_FLAGS)) != 0;
}

/* The digest of one packet. */
static inline size_t plan_digest_bytes(uint32_t fields, bool ipv6)
{
	return PLAN_DIGEST_UNIT * (1 + (size_t)ipv6 + (size_t)plan_digest_has_extra(fields));
}

enum plan_role {
	PLAN_REPORTER,
	PLAN_FEEDER,
	PLAN_RECEIVER,
	PLAN_WORKER,
	PLAN_SPARE, /* worker without a queue: the device has fewer queues than planned */
};

struct plan_lcore {
	enum plan_role role;
	uint32_t group;
	uint32_t worker; /* only for PLAN_WORKER */
	int cpu;         /* -1: not pinned */
	int node;        /* PLAN_NODE_ANY: not pinned */
};

/* An ethdev. A replay has one, made of the rings of the feeder. */
struct plan_port {
	const char *name;
	int node; /* PLAN_NODE_ANY: unknown */
	uint32_t group;
	uint32_t descriptors; /* requested for each receive queue */
	uint32_t entries;     /* actual descriptors of each receive queue */
	uint32_t out;         /* port that sends the packets of this port */
	uint32_t send_queues;
	uint32_t send_entries; /* descriptors of each send queue */
};

/* The ports of one NUMA node and the lcores that serve them. */
struct plan_group {
	int node;        /* NUMA node of the ports; PLAN_NODE_ANY: unknown */
	int memory_node; /* NUMA node of packets and rings */
	uint32_t nb_ports;
	uint32_t first_worker, nb_workers;
	uint32_t nb_queues; /* receive queues of each port */
	uint32_t mbufs;
	size_t packet_bytes; /* bytes of the packet pool and of the rings */
};

struct plan;

struct plan_node {
	int node; /* PLAN_NODE_ANY: lcores are not pinned */
	size_t packet_bytes, sketch_bytes, rule_bytes;
};

struct plan_measurement {
	const struct measurement_config *config;
	const struct sketch_ops *ops;
	struct sketch_params params; /* allocator not set */
	size_t instance_bytes;       /* bytes of one sketch */
	size_t listing_bytes;        /* bytes that the reporter needs to list a sketch */
	/* Bytes of the keys for drill-down. */
	size_t drill_down_bytes;
	bool merged; /* the reporter merges the workers' sketches into its own */
	/* Memory includes a second sketch, because sketches can change their size. */
	bool changes;
};

struct plan_rules {
	size_t table_bytes;    /* EAL memory */
	size_t ordinary_bytes; /* memory outside EAL */
	size_t worker_bytes;   /* memory outside EAL */
};

/* Requirements of a source that delivers keys or flow records (rx/source.h), otherwise all 0. */
struct plan_source {
	const struct design_ops *design; /* NULL: the design of the options */
	uint32_t workers;
	uint32_t inputs;      /* sockets or interfaces; 0: the source uses ethdevs */
	bool joins;           /* the input is that of other collectors */
	bool weights;         /* workers count keys with weights */
	uint32_t mbuf_room;   /* minimum bytes of data in an mbuf */
	size_t bytes;         /* memory outside EAL and sketches */
	size_t waiting_bytes; /* part of `bytes`: input that waits for other input */
	size_t ring_bytes;    /* EAL memory */
	/* Writes the task of a worker or receiver to text[size]. */
	void (*describe)(
		const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size);
	const char *queues;         /* such as "sockets" */
	const char *no_packets;     /* why hugepages are not used */
	const char *user;           /* what needs `bytes`, for error messages */
	const char *less;           /* options that reduce `bytes`, for error messages */
	char memory[PLAN_TEXT_MAX]; /* description of `bytes` without `waiting_bytes` */
	char waiting[64];           /* description of `waiting_bytes` */
};

/* Memory outside EAL for load shedding (--overload). */
struct plan_shedding {
	size_t bytes;        /* without worker_bytes */
	size_t worker_bytes; /* per worker */
};

struct plan {
	const struct design_ops *design;
	const struct config *config; /* configuration of the measurements; NULL: none */
	enum sketch_sharing sharing;
	enum forward_mode forward;
	bool replay;       /* packets come from the rings of the feeder */
	uint32_t nb_ports; /* 0: the source uses no ethdevs */
	struct plan_port ports[OPTION_LIST_MAX];
	uint32_t nb_groups;
	struct plan_group groups[PLAN_GROUPS_MAX];
	uint32_t nb_workers;
	/* Sketches per measurement and generation: one per worker, or 1 with --sharing shared. */
	uint32_t nb_instances;
	uint32_t nb_lcores;
	struct plan_lcore lcores[PLAN_LCORES_MAX]; /* indexed by lcore ID */
	uint32_t nb_cpus;
	struct cpu_set cpus;
	/* for the reporter and threads that are not lcores */
	struct cpu_set ordinary;
	bool oversubscribed; /* there are more polling lcores than CPUs */
	enum idle_mode idle; /* not IDLE_AUTO */

	uint32_t ring_size;   /* entries of each ring between receiver and worker; 0: no rings */
	uint32_t digest_ring; /* size of each digest ring in PLAN_DIGEST_BYTES; 0: no rings */
	uint32_t mbuf_room;   /* bytes of data in one mbuf */
	uint32_t frame_mbufs; /* mbufs in the chain of the longest frame */
	/* DPDK lets a cache grow to 1.5 times this number of mbufs. */
	uint32_t mbuf_cache;
	uint32_t nb_measurements;
	struct plan_measurement measurements[CONFIG_MEASUREMENTS_MAX];
	bool hugepages;
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	size_t query_bytes;  /* queries, also those of a reload; part of rule_bytes */
	size_t packet_bytes; /* EAL memory: packets, rings, tables of rules */
	size_t sketch_bytes;
	size_t digest_bytes; /* all digest rings; part of rule_bytes */
	/* Memory outside EAL and sketches: rules, digest rings, the source, and --overload. */
	size_t rule_bytes;
	uint32_t nb_nodes;
	struct plan_node nodes[PLAN_LCORES_MAX];

	uint32_t nb_warnings;
	char warnings[PLAN_WARNINGS_MAX][PLAN_TEXT_MAX];
	char no_hugepages[PLAN_TEXT_MAX]; /* why hugepages are not used */
	bool machine; /* the plan failed, but could succeed on another machine */
};

static inline uint32_t plan_instance(const struct plan *plan, uint32_t worker)
{
	return plan->nb_instances == 1 ? 0 : worker;
}

static inline size_t plan_bytes_of_shedding(const struct plan *plan)
{
	return plan->policy.bytes + plan->nb_workers * plan->policy.worker_bytes;
}

static inline size_t plan_bytes_of_rules(const struct plan *plan)
{
	return plan->rule_bytes - plan->source.bytes - plan->digest_bytes -
	       plan_bytes_of_shedding(plan);
}

struct plan_queues {
	uint32_t max; /* 0: no limit */
	bool power_of_two;
};

struct plan_ports {
	uint32_t nb_ports; /* 0: replay */
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	uint32_t mbuf_room;   /* minimum bytes of data in an mbuf; 0: no minimum */
	uint32_t frame_mbufs; /* mbufs in the chain of the longest frame; 0: one */
	struct {
		const char *name;
		int node;                  /* PLAN_NODE_ANY: unknown */
		struct plan_queues queues; /* all 0: unknown */
		uint32_t descriptors;      /* the only number that the driver accepts; 0: any */
		bool kernel;               /* packets come through the kernel */
	} ports[OPTION_LIST_MAX];
};

size_t plan_hugepage_bytes(const struct plan_node *node);
size_t plan_ordinary_bytes(const struct plan *plan, const struct plan_node *node);

/* On error, returns false with one line in error[PLAN_TEXT_MAX], and sets plan->machine. */
bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error);

struct plan_device {
	uint32_t queues_max; /* maximum for RSS; 0: no limit */
	struct plan_queues queues;
	uint32_t entries;      /* descriptors of each receive queue */
	uint32_t send_entries; /* descriptors of each send queue */
	uint32_t mbuf_room;    /* minimum bytes of data in an mbuf; 0: no minimum */
};

/*
 * Adapts the plan to the initialized devices, one per port. Without --workers, workers without a
 * queue become PLAN_SPARE. plan->warnings then has only the warnings about these.
 */
bool plan_fit(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_device *devices, char *error);

/* Plans new measurements for a running instance. `topology` has the present free memory. */
bool plan_change(struct plan *plan, const struct plan *running, const struct config *config,
	const struct topology *topology, char *error);

/* Plans `sketchtap generate`. `receives`: the sender also receives packets. */
bool plan_make_sender(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, bool receives,
	char *error);

extern const char *const plan_role_names[];

void plan_print(const struct plan *plan, FILE *out);
