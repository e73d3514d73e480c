/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Plans a run before it starts: tasks and CPUs of lcores, queues, and memory. The plan depends only
 * on the topology, the ports and the options, so a test can plan for any machine.
 *
 * The ports of one NUMA node form a group. Each group has its own workers and, if the design has
 * receivers, its own receiver. The lcores of a group run on its node if the node has enough CPUs.
 * Memory is on the node that uses it.
 *
 * Lcore 0 is the main lcore of EAL and the reporter, which mostly sleeps. The feeder, the receivers
 * and the workers have the next numbers. They poll all the time, so each has its own CPU if there
 * are enough CPUs (assign_cores.c). Otherwise, lcores are not pinned, and sleep if there are no
 * packets. They also sleep if all packets come through the kernel, because its buffers are long.
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
	/*
	 * Sleep if there are fewer CPUs than lcores, or packets come through the kernel. Else spin.
	 */
	IDLE_AUTO,
	IDLE_SPIN,
	IDLE_YIELD,
	IDLE_SLEEP, /* yield; after some polls without packets, sleep */
};

struct plan_options {
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	uint32_t workers;    /* 0: use all cores */
	uint32_t mbuf_cache; /* size of the mempool cache of each lcore, mbufs */
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
	uint64_t seed; /* seed of the hash key */
	bool given;
};

OPTION_OWNER(seed)

/* Sets a random seed if the user gave none. Returns false if the system has no random numbers. */
bool seed_pick(struct config *config);

/* Returns value i of --sharing or --atomic, or NULL after the last one. */
const char *plan_sharing_word(uint32_t i);
const char *plan_atomic_word(uint32_t i);

#define PLAN_LCORES_MAX   128                /* lcore limit of the DPDK build */
#define PLAN_GROUPS_MAX   TOPOLOGY_NODES_MAX /* one group per NUMA node */
#define PLAN_WARNINGS_MAX 16
#define PLAN_TEXT_MAX     320
#define PLAN_NODE_ANY     (-1)
#define PLAN_GENERATIONS  2 /* copies of each sketch, for alternate epochs (parallel/epoch.h) */

#define POLL_BURST_MAX       512  /* maximum packets per poll */
#define PLAN_DIGEST_BYTES    64   /* largest digest of a 5-tuple (parallel/designs/digest_ring.h) */
#define PLAN_PORT_MBUF_BYTES 2048 /* largest frame in one mbuf of a port, bytes */

enum plan_role {
	PLAN_REPORTER,
	PLAN_FEEDER,
	PLAN_RECEIVER,
	PLAN_WORKER,
	PLAN_SPARE, /* worker without a queue: the device has fewer queues than planned */
};

struct plan_lcore {
	enum plan_role role;
	uint32_t group;  /* group of a receiving core or worker */
	uint32_t worker; /* number of the worker; only for PLAN_WORKER */
	int cpu;         /* -1: not pinned; may run on all CPUs of the plan */
	int node;        /* NUMA node of its memory; PLAN_NODE_ANY: not pinned */
};

/* A port of DPDK (ethdev). A replay has one, whose queues are the rings of the feeder. */
struct plan_port {
	const char *name;
	int node; /* PLAN_NODE_ANY: unknown */
	uint32_t group;
	uint32_t descriptors; /* requested descriptors of each receive queue */
	uint32_t entries;     /* actual descriptors of each receive queue */
	/* Only with --forward: */
	uint32_t out;          /* index of the port that sends the packets of this port */
	uint32_t send_queues;  /* send queues of this port */
	uint32_t send_entries; /* descriptors of each send queue */
};

/* Ports of one NUMA node, or of unknown nodes, and the lcores that serve them. */
struct plan_group {
	int node;        /* NUMA node of the ports; PLAN_NODE_ANY: unknown */
	int memory_node; /* NUMA node of packets and rings */
	uint32_t nb_ports;
	uint32_t first_worker, nb_workers;
	uint32_t nb_queues;  /* receive queues of each port */
	uint32_t mbufs;      /* mbufs of the packet pool */
	size_t packet_bytes; /* bytes of the packet pool and of the rings */
};

struct plan;

/* Planned memory of a NUMA node. */
struct plan_node {
	int node; /* PLAN_NODE_ANY: lcores are not pinned */
	size_t packet_bytes, sketch_bytes, rule_bytes;
};

struct plan_measurement {
	const struct measurement_config *config;
	const struct sketch_ops *ops;
	struct sketch_params params; /* allocator not set */
	size_t instance_bytes;       /* bytes of one sketch */
	/* Bytes of the keys for drill-down. 0: the measurement counts all packets. */
	size_t drill_down_bytes;
	bool merged; /* true: the reporter has another sketch, into which it merges the others */
	/* true: the size of a sketch can change. Memory then includes a second sketch for this. */
	bool changes;
};

/* Memory of the rules of --prefixes. */
struct plan_rules {
	size_t table_bytes;    /* EAL memory for lookup tables */
	size_t ordinary_bytes; /* ordinary memory */
	size_t worker_bytes;   /* ordinary memory per worker */
};

/*
 * Requirements of a source that delivers keys or flow records (rx/source.h). All 0 if workers
 * receive packets.
 */
struct plan_source {
	const struct design_ops *design; /* NULL: use the design of the options */
	uint32_t workers;
	uint32_t inputs;    /* number of sockets or interfaces; 0: the source uses ethdevs */
	bool weights;       /* true: workers count keys with weights */
	uint32_t mbuf_room; /* minimum bytes of data in an mbuf */
	size_t bytes;       /* ordinary memory besides sketches */
	size_t ring_bytes;  /* EAL memory */
	/* Writes the task of a worker or receiver to text[size]. */
	void (*describe)(
		const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size);
	const char *queues;     /* plural name of the inputs, such as "sockets"; NULL: ethdevs */
	const char *no_packets; /* reason for not using hugepages; NULL: ethdevs */
	const char *user;       /* what needs `bytes`, for error messages */
	const char *less;       /* options that reduce `bytes`, for error messages */
	char memory[PLAN_TEXT_MAX]; /* description of the contents of `bytes` */
};

/* Ordinary memory for load shedding (--overload). */
struct plan_shedding {
	size_t bytes;        /* without the memory of workers */
	size_t worker_bytes; /* per worker */
};

struct plan {
	const struct design_ops *design;
	enum sketch_sharing sharing;
	enum forward_mode forward;
	bool replay;       /* true: packets come from the rings of the feeder, not from a device */
	uint32_t nb_ports; /* number of ethdevs; 0: the source uses none */
	struct plan_port ports[OPTION_LIST_MAX];
	uint32_t nb_groups;
	struct plan_group groups[PLAN_GROUPS_MAX];
	uint32_t nb_workers;
	/* Sketches per measurement and generation: one per worker or, with --sharing shared, 1. */
	uint32_t nb_instances;
	uint32_t nb_lcores;
	struct plan_lcore lcores[PLAN_LCORES_MAX]; /* indexed by lcore ID */
	uint32_t nb_cpus;
	struct cpu_set cpus; /* CPUs for lcores */
	/* CPUs for the reporter and for threads that are not lcores */
	struct cpu_set ordinary;
	bool oversubscribed; /* true: there are more polling lcores than CPUs */
	enum idle_mode idle; /* action after a poll without packets; not IDLE_AUTO */

	uint32_t ring_size;   /* entries of each ring between receiver and worker; 0: no rings */
	uint32_t digest_ring; /* entries of each digest ring, PLAN_DIGEST_BYTES each; 0: no rings */
	uint32_t mbuf_room;   /* bytes of data in one mbuf */
	uint32_t frame_mbufs; /* mbufs in the chain of the longest frame */
	/* Size of the mempool cache of each lcore. The cache can have 1.5 times as many mbufs. */
	uint32_t mbuf_cache;
	uint32_t nb_measurements;
	struct plan_measurement measurements[CONFIG_MEASUREMENTS_MAX];
	bool hugepages;
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	size_t packet_bytes; /* EAL memory: packets, rings, tables of rules */
	size_t sketch_bytes; /* memory of all sketches */
	size_t digest_bytes; /* memory of all digest rings; part of rule_bytes */
	/* Ordinary memory besides sketches: rules, digest rings, the source, and --overload. */
	size_t rule_bytes;
	uint32_t nb_nodes; /* number of NUMA nodes on which the plan has memory */
	struct plan_node nodes[PLAN_LCORES_MAX];

	uint32_t nb_warnings;
	char warnings[PLAN_WARNINGS_MAX][PLAN_TEXT_MAX];
	char no_hugepages[PLAN_TEXT_MAX]; /* reason for not using hugepages */
	bool machine; /* true: the plan failed, but could succeed on another machine */
};

/* Returns the index of the sketch instance that a worker updates. */
static inline uint32_t plan_instance(const struct plan *plan, uint32_t worker)
{
	return plan->nb_instances == 1 ? 0 : worker;
}

static inline size_t plan_bytes_of_shedding(const struct plan *plan)
{
	return plan->policy.bytes + plan->nb_workers * plan->policy.worker_bytes;
}

/* Returns the part of plan->rule_bytes that is for the rules of --prefixes. */
static inline size_t plan_bytes_of_rules(const struct plan *plan)
{
	return plan->rule_bytes - plan->source.bytes - plan->digest_bytes -
	       plan_bytes_of_shedding(plan);
}

/* Limits of a driver for the number of receive queues. */
struct plan_queues {
	uint32_t max;      /* 0: no limit */
	bool power_of_two; /* true: the number must be a power of two */
};

/* Input of the planner besides topology and options: live ports, and memory of other modules. */
struct plan_ports {
	uint32_t nb_ports; /* 0: replay */
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	uint32_t mbuf_room;   /* minimum bytes of data in an mbuf; 0: no minimum */
	uint32_t frame_mbufs; /* mbufs in the chain of the longest frame; 0: one */
	struct {
		const char *name;          /* NULL: no name to print */
		int node;                  /* NUMA node; PLAN_NODE_ANY: unknown */
		struct plan_queues queues; /* limits of the driver; all 0: unknown */
		uint32_t descriptors;      /* the only number that the driver accepts; 0: any */
		bool kernel;               /* true: packets come through the kernel */
	} ports[OPTION_LIST_MAX];
};

/* Returns the bytes of hugepages that must be free on a node. */
size_t plan_hugepage_bytes(const struct plan_node *node);
/* Returns the planned bytes on a node that are not in hugepages. */
size_t plan_ordinary_bytes(const struct plan *plan, const struct plan_node *node);

/*
 * Makes the plan. Returns false on error, with one line in error[PLAN_TEXT_MAX]: the problem and
 * its solution. plan->machine is then true if the same options could work on another machine.
 */
bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error);

/* Capabilities of an initialized device. */
struct plan_device {
	uint32_t queues_max;       /* maximum queues of RSS; 0: no limit */
	struct plan_queues queues; /* limits of its driver */
	uint32_t entries;          /* descriptors of each receive queue */
	uint32_t send_entries;     /* descriptors of each send queue */
	uint32_t mbuf_room;        /* minimum bytes of data in an mbuf; 0: no minimum */
};

/*
 * Adapts the plan to the devices, which are initialized after plan_make(). `devices` has one device
 * per port. Plans the memory of their queues. If a device has fewer queues than planned and the
 * user did not set the number of workers, removes workers: their lcores become PLAN_SPARE. Replaces
 * plan->warnings by warnings about removed workers. Errors: see plan_make().
 */
bool plan_fit(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_device *devices, char *error);

/*
 * Plans other measurements for a running instance. Lcores, queues and packet memory do not change.
 * Memory must be enough for the new measurements in addition to the running ones. `topology` must
 * have the present free memory. Errors: see plan_make().
 */
bool plan_change(struct plan *plan, const struct plan *running, const struct config *config,
	const struct topology *topology, char *error);

/*
 * Makes the plan of a sender (sketchtap generate): one lcore on the node of the first port, and
 * mbufs for the largest generated frame. `receives`: the sender also receives packets. Errors: see
 * plan_make().
 */
bool plan_make_sender(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, bool receives,
	char *error);

extern const char *const plan_role_names[];

/* Prints the plan as text. */
void plan_print(const struct plan *plan, FILE *out);
