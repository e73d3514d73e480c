/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench profile: measures the time of each step of packet processing on this host
 * (adapt/profile.h). Then it prints Tables I and II of Tangari et al., "Adaptive Traffic Monitoring
 * for Software Dataplanes" (2017): times of single packets, which include reading the clock.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>

#include "adapt/calibrate.h"
#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "bench/polled.h"
#include "commands/commands.h"
#include "parallel/run/eal.h"
#include "parallel/sources/feeder.h"
#include "parallel/shed/shed_options.h"
#include "parallel/run/plan_capacity.h"
#include "parallel/workers/node_memory.h"
#include "parallel/epoch.h"
#include "parallel/plan/plan.h"
#include "rx/port/forwarding.h"
#include "rx/port/port_name.h"
#include "tune/measure/cpus.h"
#include "adapt/host_facts.h"
#include "tune/measure/setup.h"

#define DURATION    (10 * SECOND_NS)
#define SAMPLE_NS   2000 /* approximate duration of a sample, with overhead */
#define SAMPLES_MIN 256
#define SAMPLES_MAX 50000
#define TRAFFIC     1050000, 1000000 /* Zipf's exponent times 10^6, and number of flows */

struct profiling {
	struct config config;
	struct plan plan;
	struct topology topology;
	struct cpus cpus;
	struct calibration calibration;
	struct capacity_worker worker;
	struct profile profile;
	struct profile_what missing;
	bool done;
	double *receive, *parse, *free;
	uint64_t bursts;
};

static void take_burst(void *arg, const struct costs *costs)
{
	struct profiling *profiling = arg;
	double ns = profiling->calibration.ns / (double)costs->packets;
	uint64_t i = profiling->bursts;

	if (i == profiling->calibration.samples)
		return;
	profiling->receive[i] = (double)costs->receive * ns;
	profiling->parse[i] = (double)costs->parse * ns;
	profiling->free[i] = (double)costs->free * ns;
	profiling->bursts++;
}

static bool add_part(struct profiling *profiling, enum profile_part part, double *ns)
{
	struct profile_row row = {.what = {.part = part}};

	return calibrate_add(&profiling->profile, &row, ns, profiling->bursts);
}

static bool time_worker(struct profiling *profiling, struct source *source, char *error)
{
	return polled_time(&profiling->config, &profiling->plan, source, take_burst, profiling,
		       error) &&
	       add_part(profiling, PROFILE_RECEIVE, profiling->receive) &&
	       add_part(profiling, PROFILE_PARSE, profiling->parse) &&
	       add_part(profiling, PROFILE_FREE, profiling->free);
}

static bool run_worker(struct profiling *profiling)
{
	uint64_t samples = profiling->calibration.samples;
	char error[POLLED_ERROR_MAX] = "cannot time a burst";
	struct source *source = setup_source(TRAFFIC);
	bool done = false;

	profiling->receive = calloc(3 * samples, sizeof(double));
	if (source != NULL && profiling->receive != NULL) {
		profiling->parse = profiling->receive + samples;
		profiling->free = profiling->parse + samples;
		done = time_worker(profiling, source, error);
		if (!done)
			log_error("%s", error);
	}
	free(profiling->receive);
	if (source != NULL)
		source->close(source);
	return done;
}

static uint64_t read_clock(void)
{
	return rte_rdtsc_precise();
}

static void calibrate(void *arg, uint32_t t)
{
	struct profiling *profiling = arg;

	(void)t;
	profiling->done = calibrate_worker(&profiling->calibration, &profiling->worker,
		&profiling->profile, &profiling->missing);
}

static bool run_calibration(struct profiling *profiling)
{
	char text[PROFILE_WHAT_MAX];
	double seconds;

	if (cpus_run(&profiling->cpus, 1, calibrate, profiling, &seconds) && profiling->done)
		return true;
	profile_describe(&profiling->missing, text);
	log_error(signals_stop_requested() ? "stopped before %s was measured"
					   : "%s: out of memory, or too many rows for a profile",
		text);
	return false;
}

static void print_one(const struct profiling *profiling, const char *name,
	const struct profile_what *what, const char *paper)
{
	const struct profile_row *row = profile_find(&profiling->profile, what);

	if (row != NULL)
		printf("# %-19s %9llu %8.1f %8.1f %8.2f %8.1f   %s\n", name,
			(unsigned long long)row->flows, row->times.p5, row->times.p95,
			row->times.deviation, row->times.mean, paper);
}

static double beside_normal(const struct distribution *times, enum distribution_kind kind)
{
	double normal = times->bic[DISTRIBUTION_NORMAL];

	return 100 * (times->bic[kind] - normal) / fabs(normal);
}

static void print_fit(const struct profiling *profiling, const char *name,
	const struct profile_what *what, const char *paper)
{
	const struct profile_row *row = profile_find(&profiling->profile, what);

	if (row != NULL)
		printf("# %-20s %+8.2f%% %+8.2f%%  %-8s %s\n", name,
			beside_normal(&row->times, DISTRIBUTION_WEIBULL),
			beside_normal(&row->times, DISTRIBUTION_GUMBEL),
			distribution_names[row->times.best], paper);
}

static void print_tables(const struct profiling *profiling, uint32_t m)
{
	struct profile_what timer = {.part = PROFILE_TIMER, .single = true};
	struct profile_what one = profiling->worker.sketches[m], hit, miss, new, deep;
	char text[PROFILE_WHAT_MAX];

	one.state = FLOW_COUNT;
	profile_describe(&one, text);
	one.single = true;
	hit = miss = new = one;
	one.traffic = PROFILE_ONE;
	hit.traffic = PROFILE_CACHED;
	miss.traffic = PROFILE_UNCACHED;
	new.traffic = PROFILE_NEW;
	printf("#\n# %s\n# I: ns                   flows  5th pct 95th pct  deviat.     mean   "
	       "paper: 5th, 95th, deviation\n",
		text);
	print_one(profiling, "timing only", &timer, "19, 28, 2.73");
	print_one(profiling, "one flow (T_p)", &one, "22, 31, 2.78 (packets and bytes)");
	for (uint32_t state = FLOW_RATE; state < FLOW_STATES; state++) {
		char name[32];

		deep = one;
		deep.state = (enum flow_depth)state;
		snprintf(name, sizeof(name), "the same, in %s", flow_depth_word(state));
		print_one(
			profiling, name, &deep, state == FLOW_TCP ? "83, 98 (TCP diagnosis)" : "");
	}
	print_one(profiling, "in cache (T_r^H)", &hit, "80, 128, 8.87");
	print_one(profiling, "in memory (T_r^M)", &miss, "149, 272, 39.20");
	print_one(profiling, "new flow (T_i)", &new, "mean about 210");
	printf("# II: BIC, vs. normal    Weibull    Gumbel  best     paper: Weibull, Gumbel\n");
	print_fit(profiling, "in cache (T_r^H)", &hit, "+1.86%, -3%");
	print_fit(profiling, "in memory (T_r^M)", &miss, "+8.1%, -7%");
}

/* One worker, with the generator as its source. */
static void make_config(struct profiling *profiling, const struct config *config)
{
	profiling->config = *config;
	edit_port_options(&profiling->config)->names.n = 0;
	edit_forward_options(&profiling->config)->mode = FORWARD_OFF;
	*edit_shed_policy_options(&profiling->config) = (struct shed_policy_options){0};
	edit_design_options(&profiling->config)->design = 0;
	edit_plan_options(&profiling->config)->workers = 1;
	edit_epoch_options(&profiling->config)->interval = 0;
	*edit_feeder_options(&profiling->config) =
		(struct feeder_options){.packets = profiling->calibration.samples * BURST_MAX};
}

static uint64_t samples_in(uint64_t duration, uint32_t measurements)
{
	uint64_t samples = duration / (5 + 10 * measurements) / SAMPLE_NS;

	if (samples < SAMPLES_MIN)
		return SAMPLES_MIN;
	return samples < SAMPLES_MAX ? samples : SAMPLES_MAX;
}

static bool prepare(struct profiling *profiling, const struct config *config)
{
	const struct plan_ports ports = {0};
	uint64_t duration = feeder_options(config)->duration;
	char error[PLAN_TEXT_MAX];

	profiling->calibration.samples =
		samples_in(duration > 0 ? duration : DURATION, config->nb_measurements);
	make_config(profiling, config);
	if (!setup_topology(&profiling->topology, config))
		return false;
	cpus_init(&profiling->cpus, &profiling->topology);
	if (!plan_make(&profiling->plan, &profiling->config, &profiling->topology, &ports, error)) {
		log_error("%s", error);
		return false;
	}
	if (!profiling->plan.oversubscribed)
		return true;
	log_error("needs two CPUs, one for the feeder and one for the worker");
	return false;
}

static int run(struct profiling *profiling, const struct config *config)
{
	profiling->calibration = (struct calibration){
		.clock = read_clock,
		.ns = 1e9 / (double)rte_get_tsc_hz(),
		.cache_bytes = calibrate_cache_bytes(),
		.seed = seed_options(config)->seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
		.samples = profiling->calibration.samples,
		.flows_max = UINT64_MAX,
		.singles = true,
	};
	profiling->worker = plan_worker(&profiling->plan);
	host_facts_current(&profiling->profile.host);
	if (!run_worker(profiling) || !run_calibration(profiling))
		return 1;
	profile_write(&profiling->profile, stdout);
	for (uint32_t m = 0; m < profiling->worker.nb_measurements; m++)
		print_tables(profiling, m);
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	log_error("cannot write to standard output: the profile is incomplete");
	return 1;
}

int bench_profile(struct config *config)
{
	static struct profiling profiling;
	char error[EAL_ERROR_MAX];
	int status;

	if (!prepare(&profiling, config))
		return 1;
	if (!eal_start(&profiling.plan, config, error)) {
		log_error("%s", error);
		return 1;
	}
	status = run(&profiling, config);
	profile_free(&profiling.profile);
	eal_stop();
	return status;
}
