/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Threads that work at the same time, each on a CPU of its own. */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/bench_subject.h"
#include "parallel/plan/topology.h"

struct cpus {
	uint32_t n;
	uint32_t ids[BENCH_SUBJECT_THREADS_MAX]; /* in the order in which they are taken */
};

/* Different physical cores first, CPU 0, where the kernel does its own work, last of its kind. */
void cpus_init(struct cpus *cpus, const struct topology *topology);

/*
 * Runs work(arg, t) on threads t = 0..nb_threads - 1, which start together, and waits for them.
 * seconds[t] is the CPU time of thread t: what another program took from it does not count.
 * nb_threads is at most n. Returns false where a thread cannot be started.
 */
bool cpus_run(const struct cpus *cpus, uint32_t nb_threads, void (*work)(void *arg, uint32_t t),
	void *arg, double *seconds);

/* Starts one thread on a CPU; false where that cannot be. */
bool cpus_start(uint32_t cpu, void *(*work)(void *arg), void *arg, pthread_t *thread);
