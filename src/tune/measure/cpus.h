/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "tune/measure/bench_subject.h"
#include "parallel/plan/topology.h"

struct cpus {
	uint32_t n;
	uint32_t ids[BENCH_SUBJECT_THREADS_MAX];
};

/*
 * Sorts one CPU per physical core before the other hyperthreads. CPU 0 is the last of its group,
 * because the kernel uses it most.
 */
void cpus_init(struct cpus *cpus, const struct topology *topology);

/*
 * Runs work(arg, t) on nb_threads <= cpus->n threads that start at the same time. seconds[t]: CPU
 * time of thread t. Returns false if a thread cannot be started.
 */
bool cpus_run(const struct cpus *cpus, uint32_t nb_threads, void (*work)(void *arg, uint32_t t),
	void *arg, double *seconds);

bool cpus_start(uint32_t cpu, void *(*work)(void *arg), void *arg, pthread_t *thread);
