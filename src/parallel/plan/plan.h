/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which lcore does what, where, with which queues and how much memory. A pure function of the
 * topology, the ports and the options, so that any machine can be tried without having it.
 *
 * The ports of one NUMA node are a group, with a receiver (where the design has one) and workers of
 * its own, which lie on that node as far as its CPUs suffice; memory lies where it is used. Lcore 0
 * is EAL's main lcore and the reporter, which mostly sleeps. Then come the feeder, the receivers
 * and the workers. These poll without a pause: each gets a CPU of its own while there are enough
 * (assign_cores.c says which). Where there are not, all lcores float over all CPUs and sleep when
 * they find nothing. So they do where all packets come through the kernel, whose buffers are long.
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
	IDLE_AUTO, /* sleep where lcores outnumber CPUs or packets come through the kernel, else
		      spin */
	IDLE_SPIN,
	IDLE_YIELD,
	IDLE_SLEEP, /* yield, and sleep once that brought nothing for a while */
};

struct plan_options {
	enum sketch_sharing sharing;
	enum sketch_atomic atomic;
	uint32_t workers;    /* 0: as many as there is room for */
	uint32_t mbuf_cache; /* mbufs that an lcore may keep for itself */
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

#define PLAN_LCORES_MAX   128                /* limit of the DPDK build */
#define PLAN_GROUPS_MAX   TOPOLOGY_NODES_MAX /* one a node */
#define PLAN_WARNINGS_MAX 16
#define PLAN_TEXT_MAX     320
#define PLAN_NODE_ANY     (-1)
#define PLAN_GENERATIONS  2 /* generations of each sketch (parallel/epoch.h) */

#define POLL_BURST_MAX       512  /* most packets per poll */
#define PLAN_DIGEST_BYTES    64   /* bytes of a digest with any 5-tuple */
#define PLAN_PORT_MBUF_BYTES 2048 /* bytes of a frame in a port mbuf of the usual size */

enum plan_role {
	PLAN_REPORTER,
	PLAN_FEEDER,
	PLAN_RECEIVER,
	PLAN_WORKER,
	PLAN_SPARE, /* a worker too many for the queues that the devices turned out to have */
};

struct plan_lcore {
	enum plan_role role;
	uint32_t group;  /* group of a receiving core or worker */
	uint32_t worker; /* its number, for PLAN_WORKER */
	int cpu;         /* -1: floats over all CPUs of the plan */
	int node;        /* NUMA node of its memory; PLAN_NODE_ANY where it floats */
};

/* An ethdev; on a replay the one that is made of the feeder's rings. */
struct plan_port {
	const char *name;
	int node; /* PLAN_NODE_ANY: unknown */
	uint32_t group;
	uint32_t descriptors; /* requested descriptors of each receive ring */
	uint32_t entries;     /* actual entries of each ring */
	/* With --forward: the port that its packets leave by, and its own send rings. */
	uint32_t out, send_queues, send_entries;
};

/* Ports of one node, or of unknown nodes, and the lcores that serve them. */
struct plan_group {
	int node;        /* node of the ports; PLAN_NODE_ANY: unknown */
	int memory_node; /* node of packets and rings */
	uint32_t nb_ports;
	uint32_t first_worker, nb_workers;
	uint32_t nb_queues;  /* receive queues of each port; worker first + q polls queue q */
	uint32_t mbufs;      /* of the packet pool */
	size_t packet_bytes; /* pool and rings */
};

/* Plan of one NUMA node; PLAN_NODE_ANY if lcores are not pinned. */
struct plan_node {
	int node;
	size_t packet_bytes, sketch_bytes, rule_bytes;
};

/* One measurement as it will run: the shape is complete. */
struct plan_measurement {
	const struct measurement_config *config;
	const struct sketch_ops *ops;
	struct sketch_params params; /* without allocator */
	size_t instance_bytes;       /* one sketch */
	size_t drill_down_bytes;     /* what it looks into (within); 0: it counts everything */
	bool merged;                 /* the reporter has one more, of their sum */
	bool changes;                /* there is one more while an instance changes its size */
};

/* Bytes that rules take: of EAL's memory, of ordinary memory, and of that for each worker. */
struct plan_rules {
	size_t table_bytes, ordinary_bytes, worker_bytes;
};

/* A run whose input is what exporters tell (parallel/sources/collector_source.h). */
struct plan_collect {
	const struct design_ops *design; /* NULL: packets are the input */
	uint32_t workers;
	uint32_t sockets;  /* 0: datagrams come from a capture */
	size_t bytes;      /* ordinary memory besides sketches */
	size_t ring_bytes; /* EAL memory */
};

/* Plan of a run with the eBPF program (parallel/sources/kernel_source.h). */
struct plan_kernel {
	const struct design_ops *design; /* NULL: they come from elsewhere */
	uint32_t workers;
	uint32_t interfaces;
	uint32_t entries; /* entries of the ring of each CPU */
	bool on_path;     /* the program counts: in one of the next two */
	uint32_t buckets; /* buckets of the flow table of each CPU per generation; 0: no tables */
	bool all_share;   /* one table for all CPUs instead */
	uint32_t cells;   /* cells per row of the IBLT of each CPU per generation; 0: none */
	size_t bytes;     /* bytes of all of these */
};

/* Bytes of ordinary memory with which a run decides what it looks at (--overload). */
struct plan_shedding {
	size_t bytes, worker_bytes; /* total bytes, and bytes per worker */
};

struct plan {
	const struct design_ops *design;
	enum sketch_sharing sharing;
	enum forward_mode forward;
	bool replay; /* packets come from the feeder's rings, not from a device */
	/* ethdevs; 1 where replay, 0 where sockets or the kernel's program are read */
	uint32_t nb_ports;
	struct plan_port ports[OPTION_LIST_MAX];
	uint32_t nb_groups;
	struct plan_group groups[PLAN_GROUPS_MAX];
	uint32_t nb_workers;
	/* sketches of a measurement in one generation: one a worker, or one */
	uint32_t nb_instances;
	uint32_t nb_lcores;
	struct plan_lcore lcores[PLAN_LCORES_MAX]; /* by lcore ID */
	uint32_t nb_cpus;
	struct cpu_set cpus; /* CPUs for lcores */
	struct cpu_set
		ordinary; /* CPUs for the reporter and threads that are not lcores: lcores[0].cpu and equivalent ones */
	bool oversubscribed; /* more polling lcores than CPUs */
	enum idle_mode idle; /* idle mode of an empty poll; not IDLE_AUTO */

	uint32_t ring_size;   /* entries of each ring between receiving core and worker; 0: none */
	uint32_t digest_ring; /* the same of rings of digests, PLAN_DIGEST_BYTES each */
	uint32_t mbuf_room;   /* bytes of data in one mbuf */
	uint32_t frame_mbufs; /* mbufs of the longest frame, as a chain */
	uint32_t mbuf_cache;  /* mbufs that an lcore may keep for itself, half as many again for a
				 while */
	uint32_t nb_measurements;
	struct plan_measurement measurements[CONFIG_MEASUREMENTS_MAX];
	bool hugepages; /* packets lie in hugepages: every node has enough */
	struct plan_rules rules;
	struct plan_collect collect;
	struct plan_kernel kernel;
	struct plan_shedding policy;
	size_t packet_bytes; /* EAL memory of all groups, rules and sketches */
	size_t sketch_bytes; /* all instances, generations and merged copies */
	size_t digest_bytes; /* bytes of all digest rings */
	/*
	 * Ordinary memory of rules with counters, digests, the collector, kernel rings, and
	 * --overload.
	 */
	size_t rule_bytes;
	uint32_t nb_nodes;
	struct plan_node nodes[PLAN_LCORES_MAX]; /* nodes in use */

	uint32_t nb_warnings;
	char warnings[PLAN_WARNINGS_MAX][PLAN_TEXT_MAX];
	char no_hugepages[PLAN_TEXT_MAX]; /* reason for missing hugepages */
	bool machine;                     /* refused because of the machine, not of the text */
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
	return plan->rule_bytes - plan->collect.bytes - plan->digest_bytes - plan->kernel.bytes -
	       plan_bytes_of_shedding(plan);
}

/* Numbers of receive queues that a driver takes, whatever its device has. */
struct plan_queues {
	uint32_t max; /* 0: any */
	bool power_of_two;
};

/* The live ports; nb_ports is 0 on a replay. */
struct plan_ports {
	uint32_t nb_ports;
	struct plan_rules rules;
	struct plan_collect collect;
	struct plan_kernel kernel;
	struct plan_shedding policy;
	uint32_t mbuf_room; /* bytes of data that an mbuf must have; 0: enough for a usual frame */
	uint32_t frame_mbufs; /* usual mbufs that the longest frame takes, chained; 0: one */
	struct {
		const char *name;          /* NULL: has none to be printed */
		int node;                  /* PLAN_NODE_ANY: unknown */
		struct plan_queues queues; /* limits of its driver, if known */
		uint32_t descriptors;      /* fixed number of descriptors of its driver; 0: any */
		bool kernel;               /* its packets come through the kernel */
	} ports[OPTION_LIST_MAX];
};

/* Returns the bytes of hugepages that must be free on a node. */
size_t plan_hugepage_bytes(const struct plan_node *node);
/* Bytes of other memory. */
size_t plan_ordinary_bytes(const struct plan *plan, const struct plan_node *node);

/*
 * Makes the plan. Returns true, or false with one line in error[PLAN_TEXT_MAX] with the problem and
 * its solution; plan->machine then tells whether the configuration text alone shows it.
 */
bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error);

/* Capabilities of an initialized device. */
struct plan_device {
	uint32_t queues_max;       /* queues for RSS; 0: any */
	struct plan_queues queues; /* limits of its driver */
	uint32_t entries; /* entries of each ring: as planned, within the limits of the device */
	uint32_t send_entries; /* the same of send rings */
	uint32_t mbuf_room;    /* bytes of data that an mbuf must have; 0: any */
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
 * The plan of a sender, which may receive too: one lcore, and mbufs that hold the largest generated
 * frame, on the node of the first port. As plan_make().
 */
bool plan_make_sender(struct plan *plan, const struct config *config,
	const struct topology *topology, const struct plan_ports *ports, bool receives,
	char *error);

/* By enum plan_role. */
extern const char *const plan_role_names[];

/* Prints the plan for a person. */
void plan_print(const struct plan *plan, FILE *out);
