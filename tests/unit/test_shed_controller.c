/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * From load windows to decisions: the allowed time per packet, the return of detail, and losses in
 * a queue.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapt/cache_share.h"
#include "adapt/decide.h"
#include "adapt/demand.h"
#include "adapt/estimate.h"
#include "base/random.h"
#include "bench/queue_model.h"
#include "parallel/shed/queue_shedding.h"

#define ITEMS   3
#define ENTRIES 4096
#define MINUTE  6000 /* windows */
#define MINUTES 8
#define RESERVE 0.1

/* Measurements with a controller. */
struct controlled_run {
	struct choose_problem problem;
	struct choose_item items[ITEMS];
	struct choose_states states;
	uint8_t steps[2][ITEMS];
	struct choose_flows flows[2][ITEMS];
	uint64_t work[4096];
	struct step_hysteresis hysteresis;
	struct demand demand;
};

static double uniform(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

static double normal(struct random *random)
{
	return sqrt(-2 * log(1 - uniform(random))) * cos(2 * M_PI * uniform(random));
}

static void begin(struct controlled_run *governed, enum choose_how how, enum demand_how demand)
{
	governed->problem.items = governed->items;
	assert_true(choose_work_size(ITEMS) <= sizeof(governed->work));
	governed->hysteresis = (struct step_hysteresis){.how = how,
		.now = {.step = governed->steps[0], .flows = governed->flows[0]},
		.before = {.step = governed->steps[1], .flows = governed->flows[1]},
		.work = governed->work};
	governed->demand = (struct demand){.how = demand, .reserve = RESERVE};
	decide_init(&governed->hysteresis, &governed->problem);
}

/* A flow table with flow states, and two sketches with another key. */
static void begin_mixed(struct controlled_run *governed, enum choose_how how)
{
	memset(governed, 0, sizeof(*governed));
	governed->problem = (struct choose_problem){.fixed_ns = 6, .nb_items = ITEMS};
	governed->states = (struct choose_states){.n = 3,
		.packets = {0.5, 0.3, 0.2},
		.ns = {0, 29, 59},
		.looked_at = {1, 0.25, 0.0625}};
	governed->items[0] = (struct choose_item){.rank = 1,
		.nb_steps = 2,
		.ns = {17, 5.25, 1.8},
		.error = {0.01, 0.05, 0.2},
		.states = &governed->states};
	governed->items[1] = (struct choose_item){.rank = 2,
		.nb_steps = 3,
		.ends_off = true,
		.ns = {25, 10, 4, 0},
		.error = {0.01, 0.04, 0.1, 1}};
	governed->items[2] = (struct choose_item){
		.rank = 2, .nb_steps = 1, .ends_off = true, .ns = {30, 0}, .error = {0.01, 1}};
	begin(governed, how, DEMAND_AHEAD);
}

static bool is_full(const struct controlled_run *governed)
{
	const struct choice *now = &governed->hysteresis.now;

	for (uint32_t i = 0; i < governed->problem.nb_items; i++)
		if (now->step[i] > 0)
			return false;
	for (uint32_t s = 0; s < governed->states.n; s++)
		if (now->flows[0].to[0][s] != s || now->flows[0].to[1][s] != s)
			return false;
	return true;
}

/* Stationary loads with a mean of 1. */
enum load {
	LOAD_STEADY,
	LOAD_RECORDED,
	LOAD_SINE,
	LOAD_SLOW_SINE,
	LOAD_ON_OFF,
	LOAD_NOISE, /* this one and the next ones never repeat */
	LOAD_STRONG_NOISE,
	LOAD_SWELLS,
	LOADS,
};

/* Packets in each 1/256 of a recording of a campus uplink over a minute and a half. */
static const uint16_t recorded[256] = {
	109,
	134,
	115,
	140,
	66,
	127,
	101,
	239,
	102,
	77,
	129,
	143,
	186,
	127,
	157,
	131,
	87,
	110,
	103,
	102,
	75,
	110,
	88,
	97,
	67,
	89,
	121,
	101,
	104,
	116,
	150,
	136,
	136,
	155,
	103,
	137,
	155,
	153,
	186,
	142,
	138,
	100,
	75,
	131,
	124,
	190,
	209,
	177,
	100,
	288,
	374,
	288,
	118,
	151,
	95,
	113,
	327,
	387,
	120,
	97,
	136,
	109,
	111,
	115,
	67,
	105,
	123,
	116,
	120,
	100,
	91,
	133,
	123,
	117,
	106,
	124,
	98,
	122,
	128,
	124,
	120,
	111,
	118,
	155,
	131,
	151,
	130,
	135,
	133,
	138,
	75,
	116,
	134,
	101,
	142,
	75,
	120,
	99,
	120,
	107,
	79,
	101,
	84,
	78,
	199,
	122,
	94,
	128,
	119,
	82,
	117,
	76,
	120,
	173,
	125,
	94,
	141,
	91,
	183,
	108,
	129,
	159,
	150,
	101,
	94,
	56,
	84,
	79,
	87,
	95,
	114,
	105,
	126,
	123,
	157,
	109,
	105,
	93,
	117,
	98,
	114,
	94,
	126,
	110,
	63,
	119,
	88,
	67,
	107,
	156,
	99,
	129,
	128,
	114,
	135,
	121,
	119,
	131,
	129,
	107,
	141,
	83,
	94,
	77,
	81,
	70,
	79,
	343,
	355,
	111,
	131,
	116,
	123,
	117,
	137,
	86,
	153,
	112,
	115,
	139,
	125,
	70,
	97,
	98,
	125,
	119,
	101,
	99,
	62,
	63,
	76,
	56,
	91,
	103,
	77,
	95,
	97,
	94,
	81,
	107,
	103,
	75,
	102,
	105,
	67,
	70,
	69,
	97,
	68,
	111,
	110,
	107,
	310,
	113,
	111,
	110,
	143,
	120,
	107,
	99,
	99,
	88,
	98,
	96,
	328,
	196,
	120,
	196,
	170,
	198,
	158,
	221,
	326,
	204,
	87,
	103,
	118,
	80,
	113,
	134,
	148,
	118,
	99,
	91,
	93,
	57,
	82,
	59,
	89,
	127,
	68,
	56,
	94,
	80,
	78,
	143,
};

static double load_at(enum load load, uint32_t window, struct random *random, double *swell)
{
	double at = window * DEMAND_WINDOW_S;

	switch (load) {
	case LOAD_RECORDED: return recorded[window % 256] / 122.0;
	case LOAD_SINE: return 1 + sin(2 * M_PI * at / 0.25);
	case LOAD_SLOW_SINE: return 1 + sin(2 * M_PI * at / 4);
	case LOAD_ON_OFF: return fmod(at, 2) < 1 ? 2 : 0;
	case LOAD_NOISE: return fmax(1 + 0.05 * normal(random), 0);
	case LOAD_STRONG_NOISE: return fmax(1 + 0.3 * normal(random), 0);
	case LOAD_SWELLS: *swell = 0.99 * *swell + 0.05 * normal(random); return exp(*swell);
	default: return 1;
	}
}

struct changes {
	uint32_t ups[MINUTES], downs[MINUTES];
};

/* Runs a load; packets take `wrong` times their predicted time. */
static struct changes follow(
	struct controlled_run *governed, enum load load, double level, double wrong, uint64_t seed)
{
	double capacity = DEMAND_WINDOW_S * 1e9 / governed->hysteresis.now.ns;
	double waiting = 0, swell = 0;
	struct changes changes = {{0}, {0}};
	struct random random;

	random_init(&random, seed);
	for (uint32_t w = 0; w < MINUTES * MINUTE; w++) {
		double come = level * capacity * load_at(load, w, &random, &swell);
		double done = DEMAND_WINDOW_S * 1e9 / (governed->hysteresis.now.ns * wrong);
		struct demand_window window = {
			.seconds = DEMAND_WINDOW_S, .packets = (uint64_t)come};
		enum decided decided;

		waiting = fmin(fmax(waiting + come - done, 0), ENTRIES);
		window.backlog = (uint64_t)waiting;
		decided = decide(&governed->hysteresis, &governed->problem,
			demand_target_ns(&governed->demand, &window));
		changes.ups[w / MINUTE] += decided == DECIDED_UP;
		changes.downs[w / MINUTE] += decided == DECIDED_DOWN;
	}
	return changes;
}

/*
 * Under a stationary load, detail changes at most once a minute after the first one; under a random
 * load, more detail is tried no more often on average.
 */
static void test_no_flapping(void **state)
{
	static struct controlled_run governed;
	uint32_t tries = 0, minutes = 0, first = 0;

	(void)state;
	for (uint32_t run = 0; run < LOADS * 4 * 2; run++) {
		enum load load = (enum load)(run % LOADS);
		enum choose_how how = (enum choose_how)(run / LOADS % 4);
		double level = run < LOADS * 4 ? 0.8 : 2.2;
		struct changes changes;

		begin_mixed(&governed, how);
		changes = follow(&governed, load, level, how % 2 == 0 ? 0.8 : 1.2, run);
		first += changes.ups[0] + changes.downs[0];
		for (uint32_t m = 1; m < MINUTES; m++) {
			uint32_t n = changes.ups[m] + changes.downs[m];

			assert_true(load >= LOAD_NOISE || n <= 1);
			tries += load >= LOAD_NOISE ? changes.ups[m] : 0;
			minutes += load >= LOAD_NOISE;
		}
	}
	print_message("in first minutes %u changes; of random loads then %.2f tries a minute\n",
		first, (double)tries / minutes);
	assert_true(first > LOADS * 4 * 2);
	assert_true(tries < minutes);
}

/* Each try fails at once: the wait doubles each time, up to a minute. */
static void test_failed_tries(void **state)
{
	static struct controlled_run governed;
	uint32_t last = 0, expected = DECIDE_CALM, tries = 0;

	(void)state;
	begin_mixed(&governed, CHOOSE_QUERIES);
	assert_int_equal(decide(&governed.hysteresis, &governed.problem, 80), DECIDED_DOWN);
	for (uint32_t w = 1; w < 10 * MINUTE; w++) {
		enum decided decided = decide(
			&governed.hysteresis, &governed.problem, is_full(&governed) ? 80 : 200);

		if (decided == DECIDED_DOWN)
			last = w;
		if (decided != DECIDED_UP)
			continue;
		assert_int_equal(w - last, expected);
		expected = expected * 2 < MINUTE ? expected * 2 : MINUTE;
		tries++;
	}
	assert_int_equal(tries, 10 + 8);
}

/* A try that almost fits returns to the previous choice, not to a new one. */
static void test_back_from_try(void **state)
{
	static struct controlled_run governed;
	const struct choice *now = &governed.hysteresis.now;

	(void)state;
	for (uint32_t how = CHOOSE_GREEDY; how <= CHOOSE_BEST; how++) {
		double before;

		begin_mixed(&governed, (enum choose_how)how);
		decide(&governed.hysteresis, &governed.problem, 50);
		before = now->ns;
		while (decide(&governed.hysteresis, &governed.problem, 200) != DECIDED_UP)
			;
		assert_true(now->ns > before);
		decide(&governed.hysteresis, &governed.problem, before + (now->ns - before) * 0.9);
		assert_true(now->ns < before + 1e-3);
	}
}

/* If packets may take much longer, this is another load: earlier failures do not delay it. */
static void test_load_ends(void **state)
{
	static struct controlled_run governed;

	(void)state;
	for (uint32_t how = CHOOSE_GREEDY; how <= CHOOSE_BEST; how++) {
		double full_ns;

		begin_mixed(&governed, (enum choose_how)how);
		full_ns = governed.hysteresis.now.ns;
		for (uint32_t w = 0; w < MINUTE; w++)
			decide(&governed.hysteresis, &governed.problem,
				full_ns * (w % 400 < 200 ? 0.4 : 0.9));
		assert_false(is_full(&governed));
		for (uint32_t w = 0; w < 200; w++)
			decide(&governed.hysteresis, &governed.problem, full_ns * 1.5);
		assert_true(is_full(&governed));
	}
}

/* A rise over several seconds does not cause a change in each window. */
static void test_slow_rise(void **state)
{
	static struct controlled_run governed;

	(void)state;
	for (uint32_t how = CHOOSE_GREEDY; how <= CHOOSE_BEST; how++) {
		uint32_t downs = 0;
		double target;

		begin_mixed(&governed, (enum choose_how)how);
		for (target = 100; target > 20; target *= 0.999)
			downs += decide(&governed.hysteresis, &governed.problem, target) ==
				 DECIDED_DOWN;
		assert_true(downs > 0 && downs <= log(100 / target) / 0.02);
	}
}

static void test_demand(void **state)
{
	struct demand rate = {.how = DEMAND_RATE, .reserve = 0.1};
	struct demand ahead = {.how = DEMAND_AHEAD, .reserve = 0.1};
	struct demand_window window = {.seconds = 0.01, .packets = 50000, .backlog = 1000};

	(void)state;
	assert_true(fabs(demand_target_ns(&rate, &window) - 200) < 1e-9);
	assert_true(fabs(demand_target_ns(&ahead, &window) - 0.9 * 1e9 / 5.1e6) < 1e-9);
	window.packets = 60000;
	assert_true(fabs(demand_target_ns(&rate, &window) - 1e9 / 6e6) < 1e-9);
	assert_true(fabs(demand_target_ns(&ahead, &window) - 0.9 * 1e9 / 7.6e6) < 1e-9);
	window = (struct demand_window){.seconds = 0.01, .packets = 40000};
	assert_true(fabs(demand_target_ns(&ahead, &window) - 0.9 * 1e9 / 4e6) < 1e-9);
	window.packets = 0;
	assert_true(isinf(demand_target_ns(&ahead, &window)));
	assert_true(isinf(demand_target_ns(&rate, &window)));
}

/*
 * The machine of the paper: 84.5 ns per packet, 30.3 of them for flow states; 60-byte frames at
 * 14.8 Mpps.
 */
#define PEAK     14.8e6
#define FULL_NS  (54.2 + 1 + (29 + 59) / 3.0)
#define COUNT_NS 10 /* at the highest shedding level */

enum offered {
	OFFERED_RAMP,
	OFFERED_SINE_250,
	OFFERED_SINE_100,
	OFFERED_STEP,
	OFFERED_LOADS,
};

enum way {
	WAY_NONE,
	WAY_RATE,
	WAY_AHEAD,
	WAY_SHEDDING,
	WAYS,
};

struct modelled {
	enum offered offered;
	enum way way;
	struct controlled_run governed;
	struct queue_shedding shedding;
	struct shedding_queue queue;
	double entries;
};

static double offered_rate(void *context, double at)
{
	const struct modelled *modelled = context;

	switch (modelled->offered) {
	case OFFERED_RAMP: return PEAK * at;
	case OFFERED_SINE_250: return PEAK / 2 * (1 + sin(2 * M_PI * at / 0.25));
	case OFFERED_SINE_100: return PEAK / 2 * (1 + sin(2 * M_PI * at / 0.1));
	default: return at < 0.5 ? 5e6 : PEAK;
	}
}

/* Like in the paper, each window begins with full detail. */
static double decide_window(void *context, const struct demand_window *window)
{
	struct modelled *modelled = context;
	struct controlled_run *governed = &modelled->governed;
	double target = demand_target_ns(&governed->demand, window);

	if (modelled->way == WAY_RATE)
		choose(CHOOSE_LSF, &governed->problem, target, governed->work,
			&governed->hysteresis.now);
	else if (modelled->way != WAY_NONE)
		decide(&governed->hysteresis, &governed->problem, target);
	return governed->hysteresis.now.ns;
}

static double shed_ns(void *context, double backlog, double n, double packet_ns)
{
	struct modelled *modelled = context;
	double quarters = fmin(floor(4 * backlog / modelled->entries), SHED_QUARTERS - 1);

	queue_shedding_look(
		&modelled->shedding, &modelled->queue, (uint32_t)quarters, backlog >= 1);
	if (modelled->shedding.level == SHED_LEVEL_COUNT)
		return n * COUNT_NS;
	if (modelled->shedding.level == SHED_LEVEL_SOME)
		return n * COUNT_NS +
		       fmin(ldexp(n, -modelled->shedding.shift), SHED_LOOKS_MAX) * packet_ns;
	return n * packet_ns;
}

static struct queue_result model(enum offered offered, enum way way, double entries)
{
	static struct modelled modelled;
	struct controlled_run *governed = &modelled.governed;
	struct queue_model queue = {.entries = entries,
		.burst = QUEUE_MODEL_BURST,
		.poll = QUEUE_MODEL_POLL_S,
		.seconds = 1,
		.window = DEMAND_WINDOW_S,
		.rate = offered_rate,
		.decide = decide_window,
		.shedding = way == WAY_SHEDDING ? shed_ns : NULL,
		.context = &modelled};

	memset(&modelled, 0, sizeof(modelled));
	modelled.offered = offered;
	modelled.way = way;
	modelled.entries = entries;
	governed->problem = (struct choose_problem){.fixed_ns = 54.2, .nb_items = 1};
	governed->states = (struct choose_states){.n = 3,
		.packets = {1.0 / 3, 1.0 / 3, 1.0 / 3},
		.ns = {0, 29, 59},
		.looked_at = {1}};
	governed->items[0] = (struct choose_item){.ns = {1}, .states = &governed->states};
	begin(governed, CHOOSE_LSF, way == WAY_RATE ? DEMAND_RATE : DEMAND_AHEAD);
	queue_shedding_init(&modelled.shedding, 1);
	return queue_model_run(&queue);
}

/* Without adaptation, integration gives the loss: packets beyond the capacity minus the queue. */
static void test_queue_model(void **state)
{
	double capacity = 1e9 / FULL_NS, excess = PEAK - capacity;
	struct queue_result ramp = model(OFFERED_RAMP, WAY_NONE, ENTRIES);
	struct queue_result step = model(OFFERED_STEP, WAY_NONE, ENTRIES);
	double ramp_lost = excess * excess / (2 * PEAK) - ENTRIES;
	double ramp_from = capacity / PEAK + sqrt(2 * ENTRIES / PEAK);

	(void)state;
	assert_true(fabs(ramp.arrived / (PEAK / 2) - 1) < 1e-4);
	assert_true(fabs(ramp.lost / ramp_lost - 1) < 1e-3);
	assert_true(fabs(ramp.lost_from - ramp_from) < 1e-3);
	assert_true(fabs(ramp.backlog_max - ENTRIES) < 1e-6);
	assert_true(fabs(step.lost / (excess / 2 - ENTRIES) - 1) < 1e-3);
}

/* Lost packets in percent; none with load shedding. */
static void test_lost(void **state)
{
	static const double expected[OFFERED_LOADS][2][WAY_SHEDDING] = {
		[OFFERED_RAMP] = {{3.97, 0.34, 0}, {3.81, 0.17, 0}},
		[OFFERED_SINE_250] = {{7.57, 1.45, 0}, {6.91, 0.78, 0}},
		[OFFERED_SINE_100] = {{7.24, 3.30, 0.14}, {5.58, 1.64, 0}},
		[OFFERED_STEP] = {{14.96, 0.26, 0.26}, {14.84, 0.13, 0.13}},
	};

	(void)state;
	for (uint32_t offered = 0; offered < OFFERED_LOADS; offered++)
		for (uint32_t large = 0; large < 2; large++) {
			double entries = large ? 4 * ENTRIES : ENTRIES;

			for (uint32_t way = WAY_NONE; way < WAYS; way++) {
				struct queue_result result =
					model((enum offered)offered, (enum way)way, entries);
				double lost = 100 * result.lost / result.arrived;

				if (way == WAY_SHEDDING)
					assert_true(lost <= 0 && result.backlog_max < entries);
				else
					assert_true(
						fabs(lost - expected[offered][large][way]) < 0.01);
			}
		}
}

static double draw_time(struct random *random, const struct distribution *fit)
{
	return fit->a[DISTRIBUTION_GUMBEL] -
	       fit->b[DISTRIBUTION_GUMBEL] * log(-log(1 - uniform(random)));
}

/* Fits Table I of the paper: 5th and 95th percentile of times, in a cache and in memory. */
static struct distribution gumbel(double p5, double p95)
{
	double scale = (p95 - p5) / (log(-log(0.05)) - log(-log(0.95)));

	return (struct distribution){.p5 = p5,
		.p95 = p95,
		.best = DISTRIBUTION_GUMBEL,
		.a[DISTRIBUTION_GUMBEL] = p5 + scale * log(-log(0.05)),
		.b[DISTRIBUTION_GUMBEL] = scale};
}

#define TRACES  1000
#define SAMPLES 1000

/* Mean error of the estimated cache share: below that of the paper, and of the nearest mean. */
static void test_cache_share(void **state)
{
	struct distribution cached = gumbel(80, 128), uncached = gumbel(149, 272);
	struct cache_share share = cache_share_of(&cached, &uncached);
	double middle = (cached.a[2] + uncached.a[2] + 0.5772 * (cached.b[2] + uncached.b[2])) / 2;
	double error = 0, plain_error = 0, nearest_error = 0;
	struct random random;

	(void)state;
	assert_true(fabs(1 - distribution_below(&cached, share.longest_ns) - share.wrong) < 1e-9);
	random_init(&random, 3);
	for (uint32_t trace = 0; trace < TRACES; trace++) {
		double truth = trace / (TRACES - 1.0);
		uint32_t hits = 0, nearest = 0;

		for (uint32_t i = 0; i < SAMPLES; i++) {
			double t = draw_time(&random, i < truth * SAMPLES ? &cached : &uncached);

			assert_int_equal(cache_share_hit(&share, t),
				1 - distribution_below(&cached, t) >=
					distribution_below(&uncached, t));
			hits += cache_share_hit(&share, t);
			nearest += t < middle;
		}
		error += fabs(cache_share_estimate(&share, hits, SAMPLES) - truth) / TRACES;
		plain_error += fabs(hits / (double)SAMPLES - truth) / TRACES;
		nearest_error += fabs(nearest / (double)SAMPLES - truth) / TRACES;
	}
	print_message("error of the share in cache %.4f, without correction %.4f, "
		      "nearest mean %.4f\n",
		error, plain_error, nearest_error);
	assert_true(error < plain_error / 2 && plain_error < 0.01 && nearest_error > 0.02);
}

/*
 * Formula (3) from sampled lookups: its mean error against the time of packets that were drawn with
 * the same P and lambda_f.
 */
static void test_formula(void **state)
{
	struct distribution cached = gumbel(80, 128), uncached = gumbel(149, 272);
	struct formula_times times = {.hit_ns = 40,
		.miss_ns = 160,
		.insert_ns = 210,
		.share = cache_share_of(&cached, &uncached)};
	struct formula_window window = {.p = 1};
	double error = 0;
	struct random random;

	(void)state;
	random_init(&random, 4);
	for (uint32_t trace = 0; trace < TRACES; trace++) {
		double p = uniform(&random), lambda = uniform(&random), truth;
		struct formula_lookups lookups = {.samples = SAMPLES};

		for (uint32_t i = 0; i < SAMPLES; i++) {
			double t = draw_time(&random, uniform(&random) < p ? &cached : &uncached);

			lookups.hits += cache_share_hit(&times.share, t);
			lookups.new_flows += uniform(&random) < lambda;
		}
		formula_estimate(&times, &lookups, &window);
		truth = (1 - lambda) * (40 * p + 160 * (1 - p)) + lambda * 210;
		error += fabs(formula_ns(&times, &window) / truth - 1) / TRACES;
	}
	print_message("mean error of formula (3) %.4f\n", error);
	assert_true(error < 0.03);
	/* Too few samples change nothing. More hits than samples count as all of them. */
	formula_estimate(&times, &(struct formula_lookups){.samples = 1000, .hits = 1001}, &window);
	assert_true(window.p == 1 && window.lambda == 0);
	formula_estimate(&times, &(struct formula_lookups){.samples = 3, .new_flows = 3}, &window);
	assert_true(window.p == 1 && window.lambda == 0);
	assert_true(formula_ns(&times, &window) == 40);
}

/* A cost that doubles: the corrected estimates follow, the formula does not. */
static void test_estimates(void **state)
{
	struct estimate_errors errors = {{0}, {0}};
	struct estimate estimate;

	(void)state;
	estimate_init(&estimate);
	estimate_compare(&estimate, 100, &errors);
	for (uint32_t e = 0; e < ESTIMATORS; e++)
		assert_int_equal(errors.windows[e], 0);
	for (uint32_t window = 0; window < 50; window++) {
		estimate_learn(&estimate, 200, 100, 80);
		estimate_predict(&estimate, 100, 80);
	}
	assert_true(fabs(estimate_scale(&estimate) - 2) < 1e-4);
	assert_true(fabs(estimate.ns[ESTIMATE_COSTS] - 200) < 0.01);
	assert_true(estimate.ns[ESTIMATE_FORMULA] == 80);
	assert_true(fabs(estimate.ns[ESTIMATE_CORRECTED] - 200) < 0.01);
	estimate_compare(&estimate, 160, &errors);
	assert_true(fabs(errors.sum[ESTIMATE_COSTS] - 0.25) < 1e-3);
	assert_true(fabs(errors.sum[ESTIMATE_FORMULA] - 0.5) < 1e-9);
	assert_int_equal(errors.windows[ESTIMATE_FORMULA], 1);
	/* Without a formula, only the costs are known. */
	estimate_learn(&estimate, 200, 100, NAN);
	estimate_predict(&estimate, 100, NAN);
	estimate_compare(&estimate, 200, &errors);
	assert_int_equal(errors.windows[ESTIMATE_COSTS], 2);
	assert_int_equal(errors.windows[ESTIMATE_FORMULA], 1);
	assert_int_equal(errors.windows[ESTIMATE_CORRECTED], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_flapping),
		cmocka_unit_test(test_failed_tries),
		cmocka_unit_test(test_back_from_try),
		cmocka_unit_test(test_load_ends),
		cmocka_unit_test(test_slow_rise),
		cmocka_unit_test(test_demand),
		cmocka_unit_test(test_queue_model),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_cache_share),
		cmocka_unit_test(test_formula),
		cmocka_unit_test(test_estimates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
