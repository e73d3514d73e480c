/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/cpus.h"

#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "base/assertion.h"

struct job {
	void (*work)(void *arg, uint32_t t);
	void *arg;
	uint32_t nb_threads;
	_Atomic uint32_t arrived;
};

struct job_thread {
	struct job *job;
	uint32_t t;
	pthread_t thread;
	double seconds;
};

static bool is_second_thread(const struct topology *topology, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (topology_same_core(&topology->cpus[j], &topology->cpus[i]))
			return true;
	return false;
}

void cpus_init(struct cpus *cpus, const struct topology *topology)
{
	cpus->n = 0;
	for (uint32_t kind = 0; kind < 4; kind++)
		for (uint32_t i = 0; i < topology->nb_cpus; i++)
			if (is_second_thread(topology, i) == (kind >= 2) &&
				(topology->cpus[i].id == 0) == (kind % 2 == 1) &&
				cpus->n < BENCH_SUBJECT_THREADS_MAX)
				cpus->ids[cpus->n++] = topology->cpus[i].id;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *run_thread(void *arg)
{
	struct job_thread *thread = arg;
	struct job *job = thread->job;
	double start;

	/* Relaxed: the input of the threads was written before they were created. */
	atomic_fetch_add_explicit(&job->arrived, 1, memory_order_relaxed);
	while (atomic_load_explicit(&job->arrived, memory_order_relaxed) < job->nb_threads)
		;
	start = cpu_seconds();
	job->work(job->arg, thread->t);
	thread->seconds = cpu_seconds() - start;
	return NULL;
}

bool cpus_start(uint32_t cpu, void *(*work)(void *arg), void *arg, pthread_t *thread)
{
	pthread_attr_t attributes;
	cpu_set_t set;
	bool started;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_attr_init(&attributes);
	pthread_attr_setaffinity_np(&attributes, sizeof(set), &set);
	started = pthread_create(thread, &attributes, work, arg) == 0;
	pthread_attr_destroy(&attributes);
	return started;
}

bool cpus_run(const struct cpus *cpus, uint32_t nb_threads, void (*function)(void *arg, uint32_t t),
	void *arg, double *seconds)
{
	struct job job = {.work = function, .arg = arg, .nb_threads = nb_threads};
	struct job_thread threads[BENCH_SUBJECT_THREADS_MAX];
	uint32_t started = 0;

	VERIFY(nb_threads, <=, cpus->n);
	for (; started < nb_threads; started++) {
		threads[started] = (struct job_thread){.job = &job, .t = started};
		if (!cpus_start(cpus->ids[started], run_thread, &threads[started],
			    &threads[started].thread))
			break;
	}
	/* The other threads must not wait for threads that could not be started. */
	if (started < nb_threads)
		atomic_fetch_add_explicit(&job.arrived, nb_threads - started, memory_order_relaxed);
	for (uint32_t t = 0; t < started; t++) {
		pthread_join(threads[t].thread, NULL);
		seconds[t] = threads[t].seconds;
	}
	return started == nb_threads;
}
