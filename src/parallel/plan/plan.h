/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Plan of a run: tasks and CPUs of lcores, queues, and memory. It is a pure function of the
 * topology, the ports and the options, so a test can plan for any machine.
 *
 * The ports of one NUMA node form a group with its own workers, and a receiver if the design has
 * one. They run on that node if it has enough CPUs. Memory is on the node that uses it.
 *
 * Lcore 0 is EAL's main lcore and the reporter, which mostly sleeps. The feeder, the receivers and
 * the workers follow. They poll without a pause, so each gets its own CPU while there are enough
 * (assign_cores.c). Otherwise, all lcores float over all CPUs and sleep when they find nothing.
 * They also sleep if all packets come through the kernel, which has long buffers.
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
	/* sleep if lcores outnumber CPUs or packets come through the kernel, else spin */
	IDLE_AUTO,
	IDLE_SPIN,
	IDLE_YIELD,
	IDLE_SLEEP, /* yield, and sleep after a while without packets */
};

struct plan_options {
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	uint32_t workers;    /* 0: as many as fit */
	uint32_t mbuf_cache; /* mbufs in the cache of an lcore */
	enum idle_mode idle;
};

OPTION_OWNER(plan)

struct pool_options {
	uint32_t mbufs; /* mbufs of the packet pool; 0: computed */
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

/* Picks a random seed if none was given. Returns false if the system has no random numbers. */
bool seed_pick(struct config *config);

/* Returns the words of --sharing and --atomic; NULL after the last. */
const char *plan_sharing_word(uint32_t i);
const char *plan_atomic_word(uint32_t i);

#define PLAN_LCORES_MAX   128                /* lcore limit of the DPDK build */
#define PLAN_GROUPS_MAX   TOPOLOGY_NODES_MAX /* one per node */
#define PLAN_WARNINGS_MAX 16
#define PLAN_TEXT_MAX     320
#define PLAN_NODE_ANY     (-1)
#define PLAN_GENERATIONS  2 /* generations of each sketch (parallel/epoch.h) */

#define POLL_BURST_MAX       512  /* maximum packets per poll */
#define PLAN_DIGEST_BYTES    64   /* bytes of a digest with any 5-tuple */
#define PLAN_PORT_MBUF_BYTES 2048 /* bytes of a frame in a port mbuf of the default size */

enum plan_role {
	PLAN_REPORTER,
	PLAN_FEEDER,
	PLAN_RECEIVER,
	PLAN_WORKER,
	PLAN_SPARE, /* surplus worker: the devices have fewer queues than planned */
};

struct plan_lcore {
	enum plan_role role;
	uint32_t group;  /* group of a receiving core or worker */
	uint32_t worker; /* worker number, for PLAN_WORKER */
	int cpu;         /* -1: floats over all CPUs of the plan */
	int node;        /* NUMA node of its memory; PLAN_NODE_ANY if it floats */
};

/* An ethdev. A replay has one, made of the feeder's rings. */
struct plan_port {
	const char *name;
	int node; /* PLAN_NODE_ANY: unknown */
	uint32_t group;
	uint32_t descriptors; /* requested descriptors of each receive ring */
	uint32_t entries;     /* actual entries of each ring */
	/* With --forward: the egress port of its packets, and the send rings of this port. */
	uint32_t out, send_queues, send_entries;
};

/* Ports of one node, or of unknown nodes, and the lcores that serve them. */
struct plan_group {
	int node;        /* node of the ports; PLAN_NODE_ANY: unknown */
	int memory_node; /* node of packets and rings */
	uint32_t nb_ports;
	uint32_t first_worker, nb_workers;
	uint32_t nb_queues; /* receive queues of each port; worker first_worker + q polls queue q */
	uint32_t mbufs;     /* mbufs of the packet pool */
	size_t packet_bytes; /* pool and rings */
};

struct plan;

/* Plan of one NUMA node; PLAN_NODE_ANY if lcores are not pinned. */
struct plan_node {
	int node;
	size_t packet_bytes, sketch_bytes, rule_bytes;
};

/* One measurement with its complete parameters. */
struct plan_measurement {
	const struct measurement_config *config;
	const struct sketch_ops *ops;
	struct sketch_params params; /* parameters without allocator */
	size_t instance_bytes;       /* bytes of one sketch */
	size_t drill_down_bytes; /* bytes of drill-down; 0: the measurement counts all packets */
	bool merged;             /* the reporter has one more sketch, for the sum */
	bool changes;            /* the size can change; a new sketch then exists besides the old */
};

/* Bytes of prefix rules: EAL memory, ordinary memory, and ordinary memory per worker. */
struct plan_rules {
	size_t table_bytes, ordinary_bytes, worker_bytes;
};

/* Part of a plan that a source of keys or records makes (rx/source.h); all 0 for packets. */
struct plan_source {
	const struct design_ops *design; /* NULL: the design of the options */
	uint32_t workers;
	uint32_t inputs;    /* sockets or interfaces that need no ethdev; 0: ethdevs */
	bool weights;       /* workers count keys with weights */
	uint32_t mbuf_room; /* minimum bytes of data in an mbuf */
	size_t bytes;       /* ordinary memory besides sketches */
	size_t ring_bytes;  /* EAL memory */
	/* Describes the task of a worker or receiver. */
	void (*describe)(
		const struct plan *plan, const struct plan_lcore *lcore, char *text, size_t size);
	const char *queues;         /* sort of the inputs, such as "sockets"; NULL: ethdevs */
	const char *no_packets;     /* reason that hugepages have no packets; NULL: ethdevs */
	const char *user, *less;    /* user of `bytes`, and options that lower it */
	char memory[PLAN_TEXT_MAX]; /* what is in `bytes` */
};

/* Bytes of ordinary memory for load shedding (--overload). */
struct plan_shedding {
	size_t bytes, worker_bytes; /* total bytes, and bytes per worker */
};

struct plan {
	const struct design_ops *design;
	enum sketch_sharing sharing;
	enum forward_mode forward;
	bool replay; /* packets come from the feeder's rings, not from a device */
	/* number of ethdevs; 1: replay; 0: the source uses none */
	uint32_t nb_ports;
	struct plan_port ports[OPTION_LIST_MAX];
	uint32_t nb_groups;
	struct plan_group groups[PLAN_GROUPS_MAX];
	uint32_t nb_workers;
	/* sketches of a measurement per generation: one per worker, or one in total */
	uint32_t nb_instances;
	uint32_t nb_lcores;
	struct plan_lcore lcores[PLAN_LCORES_MAX]; /* indexed by lcore ID */
	uint32_t nb_cpus;
	struct cpu_set cpus; /* CPUs for lcores */
	/* CPUs for the reporter and other threads than lcores: lcores[0].cpu and equivalent ones */
	struct cpu_set ordinary;
	bool oversubscribed; /* more polling lcores than CPUs */
	enum idle_mode idle; /* idle mode of an empty poll; not IDLE_AUTO */

	uint32_t ring_size;   /* entries of each ring between receiving core and worker; 0: none */
	uint32_t digest_ring; /* entries of each digest ring of PLAN_DIGEST_BYTES bytes; 0: none */
	uint32_t mbuf_room;   /* bytes of data in one mbuf */
	uint32_t frame_mbufs; /* mbufs of the longest frame, as a chain */
	uint32_t mbuf_cache;  /* mbufs in the cache of an lcore, temporarily half as many again */
	uint32_t nb_measurements;
	struct plan_measurement measurements[CONFIG_MEASUREMENTS_MAX];
	bool hugepages; /* packets are in hugepages, because every node has enough */
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	size_t packet_bytes; /* EAL memory of all groups, rules and sketches */
	size_t sketch_bytes; /* all instances, generations and merged copies */
	size_t digest_bytes; /* bytes of all digest rings */
	/* Ordinary memory of rules with counters, digests, the source, and --overload. */
	size_t rule_bytes;
	uint32_t nb_nodes;
	struct plan_node nodes[PLAN_LCORES_MAX]; /* nodes in use */

	uint32_t nb_warnings;
	char warnings[PLAN_WARNINGS_MAX][PLAN_TEXT_MAX];
	char no_hugepages[PLAN_TEXT_MAX]; /* reason for missing hugepages */
	bool machine; /* the plan failed because of the machine, not of the configuration */
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

/* Returns the part of plan->rule_bytes used by rules. */
static inline size_t plan_bytes_of_rules(const struct plan *plan)
{
	return plan->rule_bytes - plan->source.bytes - plan->digest_bytes -
	       plan_bytes_of_shedding(plan);
}

/* Receive queue limits of a driver, for any device. */
struct plan_queues {
	uint32_t max; /* 0: any */
	bool power_of_two;
};

/*
 * Input of the planner besides options: live ports and memory of other modules. nb_ports is 0 on a
 * replay.
 */
struct plan_ports {
	uint32_t nb_ports;
	struct plan_rules rules;
	struct plan_source source;
	struct plan_shedding policy;
	/* minimum bytes of data in an mbuf; 0: enough for a frame without --mtu */
	uint32_t mbuf_room;
	uint32_t frame_mbufs; /* chained mbufs of the longest frame; 0: one */
	struct {
		const char *name;          /* NULL: no name to print */
		int node;                  /* PLAN_NODE_ANY: unknown */
		struct plan_queues queues; /* limits of its driver, if known */
		uint32_t descriptors;      /* fixed number of descriptors of its driver; 0: any */
		bool kernel;               /* packets come through the kernel */
	} ports[OPTION_LIST_MAX];
};

/* Returns the bytes of hugepages that must be free on a node. */
size_t plan_hugepage_bytes(const struct plan_node *node);
/* Returns the bytes of other memory on a node. */
size_t plan_ordinary_bytes(const struct plan *plan, const struct plan_node *node);

/*
 * Makes the plan. Returns true, or false with one line in error[PLAN_TEXT_MAX] that has the problem
 * and its solution. plan->machine is then false if the configuration text is the only cause.
 */
bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error);

/* Capabilities of an initialized device. */
struct plan_device {
	uint32_t queues_max;       /* queues for RSS; 0: any */
	struct plan_queues queues; /* limits of its driver */
	/* entries of each receive ring: as planned, within the limits of the device */
	uint32_t entries;
	uint32_t send_entries; /* entries of each send ring */
	uint32_t mbuf_room;    /* minimum bytes of data in an mbuf; 0: any */
};

/*
 * Adapts the plan to the devices, one per port: memory for their rings, and at most one worker per
 * queue if the number of workers was not given. Lcores of removed workers become spare, and
 * plan->warnings then holds only warnings about this. Returns as plan_make().
 */
bool plan_fit(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_device *devices, char *error);

/*
 * Plans other measurements for a running instance: lcores, queues and packets stay. Memory must
 * suffice for the new measurements next to the running ones. `topology` is the current state.
 * Returns as plan_make().
 */
bool plan_change(struct plan *plan, const struct plan *running, const struct config *config,
	const struct topology *topology, char *error);

/*
 * Makes the plan of a sender, which may also receive: one lcore, and mbufs that hold the largest
 * generated frame, on the node of the first port. Returns as plan_make().
 */
bool plan_make_sender(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, bool receives,
	char *error);

/* Names of roles, indexed by enum plan_role. */
extern const char *const plan_role_names[];

/* Prints the plan as text. */
void plan_print(const struct plan *plan, FILE *out);
