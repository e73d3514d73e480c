/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Which lcore does what, where, with which queues and how much memory. A pure function of the
 * topology, the ports and the options, so that any machine can be tried without having it.
 *
 * Lcore 0 is EAL's main lcore and the reporter, which mostly sleeps. Then come the feeder and the
 * receiver, where there is one, then the workers. These poll without a pause: each gets a CPU of
 * its own while there are enough, on the port's NUMA node and on different physical cores first.
 * Where there are not, all of them float over all CPUs and yield when they find nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/config.h"
#include "parallel/design.h"
#include "parallel/topology.h"
#include "sketch/sketch.h"

#define PLAN_LCORES_MAX   (CONFIG_WORKERS_MAX + 3)
#define PLAN_WARNINGS_MAX 8
#define PLAN_TEXT_MAX     256
#define PLAN_NODE_ANY     (-1)

enum plan_role {
	PLAN_REPORTER,
	PLAN_FEEDER,
	PLAN_RECEIVER,
	PLAN_WORKER,
};

struct plan_lcore {
	enum plan_role role;
	uint32_t worker; /* its number and its queue, for PLAN_WORKER */
	int cpu;         /* -1: floats over all CPUs of the plan */
	int node;        /* NUMA node of its memory; PLAN_NODE_ANY where it floats */
};

/* One measurement as it will run: the shape is complete. */
struct plan_measurement {
	const struct measurement_config *config;
	const struct sketch_ops *ops;
	struct sketch_params params; /* without allocator */
	size_t instance_bytes;       /* one sketch */
};

struct plan {
	const struct design_ops *design;
	enum sketch_sharing sharing;
	bool replay;       /* packets come from the feeder's rings, not from a device */
	uint32_t nb_ports; /* ethdevs; 1 where replay */
	uint32_t nb_workers;
	uint32_t nb_queues;    /* receive queues of each port */
	uint32_t nb_instances; /* sketches of a measurement in one generation: one a worker, or one
				*/
	uint32_t nb_lcores;
	struct plan_lcore lcores[PLAN_LCORES_MAX]; /* by lcore id */
	uint32_t nb_cpus;
	uint32_t cpus[TOPOLOGY_CPUS_MAX]; /* that lcores may run on */
	bool oversubscribed;              /* more polling lcores than CPUs */
	bool yield;                       /* an empty poll gives the CPU away */
	int port_node;                    /* of the first port */

	uint32_t descriptors; /* per RX ring */
	uint32_t ring_size;   /* of each ring between receiver and worker; 0: there are none */
	uint32_t mbufs;       /* of the packet pool */
	uint32_t mbuf_room;   /* bytes of data in one mbuf */
	uint32_t mbuf_cache;  /* mbufs that an lcore may keep for itself, half as many again for a
				 while */
	uint32_t nb_measurements;
	struct plan_measurement measurements[CONFIG_MEASUREMENTS_MAX];
	size_t packet_bytes; /* pool and rings */
	size_t sketch_bytes; /* all instances, generations and merged copies */

	uint32_t nb_warnings;
	char warnings[PLAN_WARNINGS_MAX][PLAN_TEXT_MAX];
};

/* Which of the nb_instances sketches a worker updates. */
static inline uint32_t plan_instance(const struct plan *plan, uint32_t worker)
{
	return plan->nb_instances == 1 ? 0 : worker;
}

/* Where the ports sit; PLAN_NODE_ANY where unknown. */
struct plan_ports {
	uint32_t nb_ports; /* 0 on a replay */
	int node;
	uint32_t mbuf_room; /* bytes of data that an mbuf must have; 0: enough for a usual frame */
};

/*
 * Makes the plan. Returns true, or false with one line in error[PLAN_TEXT_MAX] that says what
 * cannot work and what to do.
 */
bool plan_make(struct plan *plan, const struct config *config, const struct topology *topology,
	const struct plan_ports *ports, char *error);

/* The plan of a sender: one lcore, and mbufs that hold the largest generated frame. */
void plan_make_sender(
	struct plan *plan, const struct config *config, const struct topology *topology);

/* Prints the plan for a person. */
void plan_print(const struct plan *plan, FILE *out);
