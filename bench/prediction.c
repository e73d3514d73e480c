/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/prediction.h"

#include <math.h>
#include <stdlib.h>

#include <rte_cycles.h>

#include "adapt/calibrate.h"
#include "base/random.h"
#include "bench/common.h"
#include "parallel/plan/plan.h"
#include "parallel/workers/node_memory.h"
#include "sketch/sketch.h"
#include "tune/measure/workload.h"

#define WINDOWS        100
#define WINDOW_PACKETS (UINT64_C(312) * BURST_MAX) /* 2 Mpps */
#define EVERY          (WINDOW_PACKETS / FORMULA_SAMPLES)
#define TABLE          (UINT64_C(1) << 20) /* the value of the paper */
#define FLOWS          250000              /* the value of the paper */
#define FEW_FLOWS      1024
#define STEP_WINDOWS   5
#define SAMPLES        4000
#define CO_RUNNERS     3
#define CO_RUNNER_ROOM (UINT64_C(64) << 20)
#define CO_RUNNER_STEP (UINT64_C(16) << 10) /* bytes that one reads per burst */
#define INTERRUPTED_NS 50e3                 /* per burst; a worker uses 1 ms */

struct stage {
	uint64_t seed;
	struct hash_key hash_key;
	struct sketch *table;
	struct formula_times times;
	struct distribution hit, miss; /* times of lookups */
	double key_ns;
	struct key_burst burst;
	struct random random;
	uint8_t *room;
	uint64_t at;
};

/* Sets the next burst of the window. */
typedef void (*fill_fn)(struct stage *stage, uint32_t window);

struct load {
	const char *name;
	fill_fn fill;
	bool known; /* all flows are in the table before the first window */
};

static uint64_t read_clock(void)
{
	return rte_rdtsc_precise();
}

static double ns_of(uint64_t cycles)
{
	return (double)cycles * 1e9 / (double)rte_get_tsc_hz();
}

static void put_flow(struct stage *stage, uint32_t i, uint64_t flow)
{
	uint64_t one = random_mix(stage->seed + flow);

	stage->burst.key4[i] = (struct key4){.proto = 17};
	memcpy(stage->burst.key4[i].src_ip, &one, 4);
	memcpy(stage->burst.key4[i].dst_ip, &flow, 4);
}

static uint64_t random_flow(struct stage *stage, double exponent, uint64_t flows)
{
	double u =
		((double)(random_next(&stage->random) >> 11) + 0.5) / (double)(UINT64_C(1) << 53);
	double power = 1 - exponent, all = (double)flows;

	/* The continuous Zipf distribution from 1 to `flows`, by inversion. */
	if (fabs(power) < 1e-6)
		return (uint64_t)pow(all, u);
	return (uint64_t)pow(1 + u * (pow(all, power) - 1), 1 / power);
}

static void fill_zipf(struct stage *stage, double exponent, uint64_t flows)
{
	for (uint32_t i = 0; i < BURST_MAX; i++)
		put_flow(stage, i, random_flow(stage, exponent, flows));
}

static void fill_steady(struct stage *stage, uint32_t window)
{
	(void)window;
	fill_zipf(stage, 1, FLOWS);
}

/* The exponent falls from 1.5 to 1 in steps of 20 ms: Figure 5e. */
static void fill_skew(struct stage *stage, uint32_t window)
{
	fill_zipf(stage, 1.5 - 0.5 * (window / 2) / (WINDOWS / 2), FLOWS);
}

/* No, one, two and three co-runners that read memory: Figure 5d. */
static void fill_beside(struct stage *stage, uint32_t window)
{
	uint64_t bytes = window * (CO_RUNNERS + 1) / WINDOWS * CO_RUNNER_STEP;

	fill_zipf(stage, 1, FLOWS);
	for (uint64_t b = 0; b < bytes; b += 64, stage->at += 64)
		stage->room[stage->at % CO_RUNNER_ROOM]++;
}

/* The share of new flows falls from all to a third. */
static void fill_new(struct stage *stage, uint32_t window)
{
	(void)window;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		put_flow(stage, i, random_below(&stage->random, TABLE));
}

static void fill_steps(struct stage *stage, uint32_t window)
{
	uint64_t flows = window / STEP_WINDOWS % 2 == 0 ? FEW_FLOWS : FLOWS;

	for (uint32_t i = 0; i < BURST_MAX; i++)
		put_flow(stage, i, random_below(&stage->random, flows));
}

static const struct load loads[PREDICTION_LOADS] = {
	{"steady", fill_steady, true},
	{"skew 1.5 to 1", fill_skew, true},
	{"co-runners 0-3", fill_beside, true},
	{"new flows", fill_new, false},
	{"steps", fill_steps, true},
};

static void look_up(struct stage *stage, uint32_t *next, struct formula_lookups *lookups)
{
	for (; *next < BURST_MAX; *next += (uint32_t)EVERY) {
		uint64_t start = rte_rdtsc_precise();
		bool known = sketch_look_up(stage->table, &stage->burst, *next);
		double ns = ns_of(rte_rdtsc_precise() - start);

		lookups->samples++;
		lookups->new_flows += !known;
		lookups->hits += cache_share_hit(&stage->times.share, ns);
	}
	*next -= BURST_MAX;
}

/* Returns ns per packet, without bursts in which another program had the CPU. */
static double run_window(struct stage *stage, const struct load *load, uint32_t window,
	struct formula_lookups *lookups)
{
	uint64_t packets = 0;
	uint32_t next = 0;
	double sum = 0;

	for (uint64_t b = 0; b < WINDOW_PACKETS; b += BURST_MAX) {
		uint64_t start;
		double ns;

		load->fill(stage, window);
		start = rte_rdtsc();
		hash_burst(&stage->hash_key, &stage->burst);
		look_up(stage, &next, lookups);
		stage->table->ops->update[SHARING_SEPARATE](stage->table, &stage->burst);
		ns = ns_of(rte_rdtsc() - start);
		if (ns < INTERRUPTED_NS) {
			sum += ns;
			packets += BURST_MAX;
		}
	}
	return packets > 0 ? sum / (double)packets : NAN;
}

static void fill_table(struct stage *stage)
{
	stage->table->ops->reset(stage->table);
	for (uint64_t flow = 0; flow <= FLOWS; flow += BURST_MAX) {
		for (uint32_t i = 0; i < BURST_MAX; i++)
			put_flow(stage, i, flow + i);
		hash_burst(&stage->hash_key, &stage->burst);
		stage->table->ops->update[SHARING_SEPARATE](stage->table, &stage->burst);
	}
}

static void run_load(struct stage *stage, const struct load *load, struct prediction *prediction)
{
	double errors[ESTIMATORS + 1][WINDOWS];
	struct formula_window *window;
	struct estimate estimate;
	double before = NAN, costs_ns = stage->key_ns + stage->times.hit_ns;

	*prediction = (struct prediction){.load = load->name, .lowest_ns = INFINITY};
	stage->table->ops->reset(stage->table);
	if (load->known)
		fill_table(stage);
	estimate_init(&estimate);
	window = &estimate.windows[0];
	for (uint32_t w = 0; w < WINDOWS; w++) {
		struct formula_lookups lookups = {0};
		double ns = run_window(stage, load, w, &lookups), formula;

		for (uint32_t e = 0; w > 0 && e <= ESTIMATORS; e++)
			errors[e][w - 1] =
				fabs((e < ESTIMATORS ? estimate.ns[e] : before) / ns - 1);
		formula_estimate(&stage->times, &lookups, window);
		formula = stage->key_ns + formula_ns(&stage->times, window) +
			  formula_lookup_ns(&stage->times, window) / (double)EVERY;
		estimate_learn(&estimate, ns, costs_ns, formula);
		estimate_predict(&estimate, costs_ns, formula);
		before = ns;
		prediction->lowest_ns = fmin(prediction->lowest_ns, ns);
		prediction->highest_ns = fmax(prediction->highest_ns, ns);
		prediction->p += window->p / WINDOWS;
		prediction->lambda += window->lambda / WINDOWS;
	}
	for (uint32_t e = 0; e <= ESTIMATORS; e++)
		prediction->errors[e] = bench_stats_of(errors[e], WINDOWS - 1).median;
}

static bool calibrate(struct stage *stage, const struct sketch_params *params)
{
	const struct calibration calibration = {
		.clock = read_clock,
		.ns = 1e9 / (double)rte_get_tsc_hz(),
		.cache_bytes = calibrate_cache_bytes(),
		.seed = stage->seed,
		.allocator = params->allocator,
		.samples = SAMPLES,
		.flows_max = TABLE,
	};
	struct capacity_worker worker = {0};
	struct profile profile = {0};
	struct profile_what missing, cached, uncached, key = {.part = PROFILE_KEY};
	bool done;

	capacity_add(&worker, sketch_find("flow-table"), params, SHARING_SEPARATE);
	strcpy(key.key, key_rules[0].name);
	cached = uncached = worker.sketches[0];
	cached.single = cached.lookup = uncached.single = uncached.lookup = true;
	cached.traffic = PROFILE_CACHED;
	uncached.traffic = PROFILE_UNCACHED;
	done = calibrate_worker(&calibration, &worker, &profile, &missing) &&
	       formula_times_find(&stage->times, &profile, &worker.sketches[0]);
	if (done) {
		stage->key_ns = profile_find(&profile, &key)->times.mean;
		stage->hit = profile_find(&profile, &cached)->times;
		stage->miss = profile_find(&profile, &uncached)->times;
	}
	profile_free(&profile);
	return done;
}

/* The caller destroys stage->table, which may be NULL. Returns false if out of memory. */
static bool prepare(struct stage *stage, uint64_t seed)
{
	const struct sketch_ops *ops = sketch_find("flow-table");
	struct sketch_params params = {.width = TABLE,
		.key = &key_rules[0],
		.seed = seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY)};

	*stage = (struct stage){.seed = seed};
	hash_key_init(&stage->hash_key, seed);
	random_init(&stage->random, seed);
	workload_burst_init(&stage->burst);
	if (ops->check(&params) == NULL && calibrate(stage, &params))
		stage->table = ops->create(&params);
	return stage->table != NULL;
}

static void destroy(struct stage *stage)
{
	if (stage->table != NULL)
		stage->table->ops->destroy(stage->table);
	free(stage->room);
}

bool prediction_measure(struct prediction predictions[PREDICTION_LOADS], uint64_t seed)
{
	static struct stage stage;
	bool done = prepare(&stage, seed);

	stage.room = calloc(1, CO_RUNNER_ROOM);
	done = done && stage.room != NULL;
	for (uint32_t l = 0; done && l < PREDICTION_LOADS; l++)
		run_load(&stage, &loads[l], &predictions[l]);
	destroy(&stage);
	return done;
}

#define TABULATED 1024 /* ns; longer times have the last entry */

enum rule {
	RULE_CDF,
	RULE_TABLE,
	RULE_THRESHOLD,
	RULES,
};

struct classifying {
	const struct stage *stage;
	double times[FORMULA_SAMPLES];          /* ns */
	double hit[TABULATED], miss[TABULATED]; /* 1 - CDF_hit and CDF_miss by ns */
};

/* Returns the number of times that count as hits. */
static uint64_t classify(const struct classifying *work, enum rule rule)
{
	const struct stage *stage = work->stage;
	uint64_t hits = 0;

	for (uint32_t i = 0; i < FORMULA_SAMPLES; i++) {
		double ns = work->times[i];
		uint32_t at = ns < TABULATED ? (uint32_t)ns : TABULATED - 1;

		if (rule == RULE_CDF)
			hits += 1 - distribution_below(&stage->hit, ns) >=
				distribution_below(&stage->miss, ns);
		else if (rule == RULE_TABLE)
			hits += work->hit[at] >= work->miss[at];
		else
			hits += cache_share_hit(&stage->times.share, ns);
	}
	return hits;
}

/* Times lookups of known flows with Zipf's exponent 1. Returns ns per lookup. */
static double time_lookups(struct stage *stage, double *times)
{
	volatile uint64_t hits = 0;
	double sum = 0;

	for (uint32_t i = 0; i < FORMULA_SAMPLES; i++) {
		uint64_t begin, start, end;

		if (i % BURST_MAX == 0) {
			fill_zipf(stage, 1, FLOWS);
			hash_burst(&stage->hash_key, &stage->burst);
		}
		begin = rte_rdtsc_precise();
		start = rte_rdtsc_precise();
		sketch_look_up(stage->table, &stage->burst, i % BURST_MAX);
		end = rte_rdtsc_precise();
		times[i] = ns_of(end - start);
		hits += cache_share_hit(&stage->times.share, times[i]);
		sum += ns_of(rte_rdtsc_precise() - begin);
	}
	(void)hits; /* read, so that clang sees a use */
	return sum / FORMULA_SAMPLES;
}

bool prediction_cost(struct estimate_cost *cost, uint32_t rounds, uint64_t seed)
{
	static struct stage stage;
	static struct classifying work;
	volatile uint64_t hits;
	double least[RULES] = {INFINITY, INFINITY, INFINITY};
	bool done = prepare(&stage, seed);

	work.stage = &stage;
	for (uint32_t t = 0; done && t < TABULATED; t++) {
		work.hit[t] = 1 - distribution_below(&stage.hit, t);
		work.miss[t] = distribution_below(&stage.miss, t);
	}
	cost->lookup_ns = INFINITY;
	if (done)
		fill_table(&stage);
	for (uint32_t round = 0; done && round < rounds; round++) {
		cost->lookup_ns = fmin(cost->lookup_ns, time_lookups(&stage, work.times));
		for (uint32_t rule = 0; rule < RULES; rule++) {
			uint64_t start = rte_rdtsc_precise();

			hits = classify(&work, (enum rule)rule);
			least[rule] = fmin(
				least[rule], ns_of(rte_rdtsc_precise() - start) / FORMULA_SAMPLES);
		}
	}
	(void)hits;
	cost->cdf_ns = least[RULE_CDF];
	cost->table_ns = least[RULE_TABLE];
	cost->threshold_ns = least[RULE_THRESHOLD];
	destroy(&stage);
	return done;
}
