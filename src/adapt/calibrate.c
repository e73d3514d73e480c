/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/calibrate.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/random.h"
#include "base/signals.h"
#include "base/sys_file.h"
#include "base/units.h"
#include "sketch/hyperloglog.h"

#define PERIOD_NS     10
/* packets after which a flow can be in any flow state */
#define STATE_PACKETS 4
/* One cache line (64 bytes) per flow: 64 KB of the L2 cache. */
#define CACHED_FLOWS  1024
#define WIRE_BYTES    64
/* A sketch may be emptied this often to get enough new flows. */
#define FILLS_MAX     16
#define CACHE_GUESSED (UINT64_C(32) << 20)
#define BEYOND_CACHE  4

struct calibration_run {
	const struct calibration *calibration;
	const struct key_rule *rule;
	struct hash_key hash_key;
	struct random random;
	struct key_burst packets;
	struct key_burst keys;
	int64_t now;
	double *ns;
	uint64_t n;
};

uint64_t calibrate_cache_bytes(void)
{
	uint64_t largest = 0;

	for (uint32_t i = 0;; i++) {
		char text[32];
		uint64_t kilobytes;

		if (sys_line("", text, sizeof(text),
			    "/sys/devices/system/cpu/cpu0/cache/index%u/size", i) != SYS_READ)
			return largest > 0 ? largest : CACHE_GUESSED;
		kilobytes = strtoull(text, NULL, 10);
		if (kilobytes << 10 > largest)
			largest = kilobytes << 10;
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

bool calibrate_add(struct profile *profile, struct profile_row *row, double *ns, uint64_t n)
{
	uint64_t kept = n;

	if (n == 0)
		return false;
	qsort(ns, n, sizeof(ns[0]), compare);
	while (ns[kept - 1] > CALIBRATE_LEFT_OUT * ns[n * 95 / 100])
		kept--;
	row->left_out = n - kept;
	row->times = distribution_of(ns, kept);
	return profile_add(profile, row);
}

static struct calibration_run *begin_run(
	const struct calibration *calibration, const struct key_rule *rule)
{
	struct calibration_run *run = aligned_alloc(64, (sizeof(*run) + 63) / 64 * 64);

	if (run == NULL)
		return NULL;
	memset(run, 0, sizeof(*run));
	run->calibration = calibration;
	run->rule = rule;
	hash_key_init(&run->hash_key, calibration->seed);
	random_init(&run->random, calibration->seed);
	run->ns = calloc(calibration->samples, sizeof(run->ns[0]));
	if (run->ns != NULL)
		return run;
	free(run);
	return NULL;
}

static void end_run(struct calibration_run *run)
{
	free(run->ns);
	free(run);
}

static bool note_late(const struct calibration *calibration, bool late)
{
	if (late && calibration->late != NULL)
		*calibration->late = true;
	return late;
}

static bool is_late(const struct calibration_run *run)
{
	const struct calibration *calibration = run->calibration;

	return note_late(calibration,
		signals_stop_requested() ||
			(calibration->until > 0 && calibration->clock() >= calibration->until));
}

/* cycles: time for n packets, in clock ticks. */
static void note_cost(struct calibration_run *run, uint64_t cycles, uint32_t n)
{
	if (run->n < run->calibration->samples)
		run->ns[run->n++] = (double)cycles * run->calibration->ns / n;
}

static void make_packet(struct calibration_run *run, uint32_t i, uint64_t flow)
{
	uint64_t one = random_mix(run->calibration->seed + flow), two = random_mix(one + flow);
	struct key4 *key = &run->packets.key4[i];

	memset(key, 0, sizeof(*key));
	memcpy(key->src_ip, &one, 4);
	memcpy(key->dst_ip, (const char *)&one + 4, 4);
	memcpy(key->src_port, &two, 2);
	memcpy(key->dst_port, (const char *)&two + 2, 2);
	ASSERT(i, <, (uint32_t)BURST_MAX);
	key->proto = 17;
	run->packets.wire_len[i] = WIRE_BYTES;
	if (!run->packets.has_tcp)
		return;
	key->proto = 6;
	run->now += PERIOD_NS;
	run->packets.time[i] = run->now;
	run->packets.tcp[i] = (struct key_tcp){
		.sequence = (uint32_t)run->now, .payload = 1, .window = 1, .known = true};
}

static void make_keys(struct calibration_run *run)
{
	key_burst_mask(&run->keys, &run->packets, run->rule);
	key_burst_copy_details(&run->keys, &run->packets);
	hash_burst(&run->hash_key, &run->keys);
}

static bool calibrate_timer(const struct calibration *calibration, struct profile *profile)
{
	struct profile_row row = {.what = {.part = PROFILE_TIMER, .single = true}};
	struct calibration_run *run;
	bool added;

	if (profile_find(profile, &row.what) != NULL)
		return true;
	run = begin_run(calibration, &key_rules[0]);
	if (run == NULL)
		return false;
	while (run->n < calibration->samples) {
		uint64_t start = calibration->clock();

		note_cost(run, calibration->clock() - start, 1);
	}
	added = calibrate_add(profile, &row, run->ns, run->n);
	end_run(run);
	return added;
}

static void make_random_packets(struct calibration_run *run)
{
	run->packets.n = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		make_packet(run, i, random_next(&run->random));
}

static void time_key(struct calibration_run *run)
{
	const struct calibration *calibration = run->calibration;

	while (run->n < calibration->samples && !is_late(run)) {
		uint64_t start;

		make_random_packets(run);
		start = calibration->clock();
		if (run->rule == &key_rules[0]) {
			hash_burst(&run->hash_key, &run->packets);
		} else {
			key_burst_mask(&run->keys, &run->packets, run->rule);
			hash_burst(&run->hash_key, &run->keys);
		}
		note_cost(run, calibration->clock() - start, BURST_MAX);
	}
}

static bool calibrate_key(
	const struct calibration *calibration, const struct key_rule *rule, struct profile *profile)
{
	struct profile_row row = {.what = {.part = PROFILE_KEY}};
	struct calibration_run *run;
	bool added;

	if (strlen(rule->name) >= PROFILE_KEY_MAX)
		return false;
	strcpy(row.what.key, rule->name);
	if (profile_find(profile, &row.what) != NULL)
		return true;
	run = begin_run(calibration, key_rule_equal(rule, &key_rules[0]) ? &key_rules[0] : rule);
	if (run == NULL)
		return false;
	time_key(run);
	added = calibrate_add(profile, &row, run->ns, run->n);
	end_run(run);
	return added;
}

static bool calibrate_distinct(const struct calibration *calibration, struct profile *profile)
{
	struct profile_row row = {.what = {.part = PROFILE_DISTINCT}};
	struct hyperloglog *distinct;
	struct calibration_run *run;
	bool added = false;

	if (profile_find(profile, &row.what) != NULL)
		return true;
	run = begin_run(calibration, &key_rules[0]);
	distinct = aligned_alloc(64, sizeof(*distinct));
	if (run != NULL && distinct != NULL) {
		hyperloglog_reset(distinct);
		while (run->n < calibration->samples && !is_late(run)) {
			uint64_t start;

			make_random_packets(run);
			hash_burst(&run->hash_key, &run->packets);
			start = calibration->clock();
			hyperloglog_update(distinct, &run->packets);
			note_cost(run, calibration->clock() - start, BURST_MAX);
		}
		added = calibrate_add(profile, &row, run->ns, run->n);
	}
	free(distinct);
	if (run != NULL)
		end_run(run);
	return added;
}

/* Lookups are only timed in state FLOW_COUNT, and not in a table that threads share. */
static bool has_lookups(const struct profile_what *what)
{
	return what->state == FLOW_COUNT && what->sharing == SHARING_SEPARATE &&
	       sketch_has_lookup(what->sketch);
}

struct fed {
	struct calibration_run *run;
	struct sketch *sketch;
	sketch_update_fn update;
	uint64_t flows;
	uint64_t first;
};

static void feed(struct fed *fed, bool timed)
{
	struct calibration_run *run = fed->run;
	uint64_t start;

	make_keys(run);
	start = run->calibration->clock();
	fed->update(fed->sketch, &run->keys);
	if (timed)
		note_cost(run, run->calibration->clock() - start, run->keys.n);
}

static void feed_in_turn(struct fed *fed, uint32_t n, uint64_t flow, uint64_t step, bool timed)
{
	fed->run->packets.n = n;
	for (uint32_t i = 0; i < n; i++)
		make_packet(fed->run, i, fed->first + flow + i * step);
	feed(fed, timed);
}

static void feed_random(struct fed *fed, uint32_t n, uint64_t flows)
{
	struct calibration_run *run = fed->run;

	run->packets.n = n;
	for (uint32_t i = 0; i < n; i++)
		make_packet(run, i, fed->first + random_below(&run->random, flows));
	feed(fed, true);
}

static void feed_into_state(struct fed *fed)
{
	for (uint64_t flow = 0; flow < STATE_PACKETS * fed->flows; flow += BURST_MAX)
		feed_in_turn(fed, BURST_MAX, flow % fed->flows, 1, false);
}

/* Fills the sketch with new flows until there are enough samples. Each fill has other flows. */
static bool time_new(struct fed *fed, uint32_t n)
{
	struct calibration_run *run = fed->run;

	for (uint32_t fill = 0; fill < FILLS_MAX && run->n < run->calibration->samples; fill++) {
		fed->first += fed->flows;
		fed->sketch->ops->reset(fed->sketch);
		for (uint64_t flow = 0; flow < fed->flows; flow += run->packets.n) {
			if (is_late(run))
				return false;
			/* Full bursts finish the fill, which later traffic patterns need. */
			feed_in_turn(fed, run->n < run->calibration->samples ? n : BURST_MAX, flow,
				1, true);
		}
	}
	return true;
}

static bool time_traffic(struct fed *fed, enum profile_traffic traffic, uint32_t n)
{
	struct calibration_run *run = fed->run;
	uint64_t flows = traffic == PROFILE_ONE ? 1 : fed->flows;

	run->n = 0;
	if (traffic == PROFILE_NEW)
		return time_new(fed, n);
	if (traffic == PROFILE_CACHED && flows > CACHED_FLOWS)
		flows = CACHED_FLOWS;
	/* Fills the sketch and warms the caches before the timed updates. */
	for (uint64_t flow = 0; traffic != PROFILE_UNCACHED && flow < 4 * flows; flow += BURST_MAX)
		feed_in_turn(fed, BURST_MAX, flow % flows, flows > 1, false);
	while (run->n < run->calibration->samples) {
		if (is_late(run))
			return false;
		feed_random(fed, n, flows);
	}
	return true;
}

/* Times lookups of one key each. The sketch must be full. */
static bool time_lookups(struct fed *fed, uint64_t flows, bool cached)
{
	struct calibration_run *run = fed->run;

	for (uint64_t flow = 0; cached && flow < 4 * flows; flow += BURST_MAX)
		feed_in_turn(fed, BURST_MAX, flow % flows, 1, false);
	run->n = 0;
	run->packets.n = 1;
	while (run->n < run->calibration->samples) {
		uint64_t start;

		if (is_late(run))
			return false;
		make_packet(run, 0, fed->first + random_below(&run->random, flows));
		make_keys(run);
		start = run->calibration->clock();
		sketch_look_up(fed->sketch, &run->keys, 0);
		note_cost(run, run->calibration->clock() - start, 1);
	}
	return true;
}

static bool add_lookups(struct fed *fed, const struct profile_what *of, struct profile *profile)
{
	static const enum profile_traffic order[] = {PROFILE_UNCACHED, PROFILE_CACHED};

	for (uint32_t t = 0; t < sizeof(order) / sizeof(order[0]); t++) {
		struct profile_row row = {.what = *of, .flows = fed->flows};

		row.what.traffic = order[t];
		row.what.single = row.what.lookup = true;
		if (order[t] == PROFILE_CACHED && row.flows > CACHED_FLOWS)
			row.flows = CACHED_FLOWS;
		if (profile_find(profile, &row.what) != NULL)
			continue;
		if (!time_lookups(fed, row.flows, order[t] == PROFILE_CACHED) ||
			!calibrate_add(profile, &row, fed->run->ns, fed->run->n))
			return false;
	}
	return true;
}

/* New flows come first, because they fill the sketch for the other traffic patterns. */
static bool time_all(struct fed *fed, const struct profile_what *of, struct profile *profile)
{
	/* A new flow is in state FLOW_COUNT, so other states have no pattern PROFILE_NEW. */
	const uint32_t begin = of->state != FLOW_COUNT ? 1 : 0;
	static const enum profile_traffic order[] = {
		PROFILE_NEW, PROFILE_UNCACHED, PROFILE_CACHED, PROFILE_ONE};

	for (uint32_t single = 0; single <= fed->run->calibration->singles; single++)
		for (uint32_t t = begin; t < sizeof(order) / sizeof(order[0]); t++) {
			struct profile_row row = {.what = *of, .flows = fed->flows};

			row.what.traffic = order[t];
			row.what.single = single == 1;
			if (order[t] == PROFILE_CACHED && row.flows > CACHED_FLOWS)
				row.flows = CACHED_FLOWS;
			if (order[t] == PROFILE_ONE)
				row.flows = 1;
			if (!time_traffic(fed, order[t], single == 1 ? 1 : BURST_MAX) ||
				!(profile_find(profile, &row.what) != NULL ||
					calibrate_add(profile, &row, fed->run->ns, fed->run->n)))
				return false;
		}
	return !has_lookups(of) || add_lookups(fed, of, profile);
}

static uint64_t flows_of(const struct calibration *calibration, const struct sketch_params *params)
{
	uint64_t flows = BEYOND_CACHE * calibration->cache_bytes / 64;

	if (flows > params->width)
		flows = params->width;
	if (flows > calibration->flows_max)
		flows = calibration->flows_max;
	return (flows + BURST_MAX - 1) / BURST_MAX * BURST_MAX;
}

static bool has_all(const struct calibration *calibration, const struct profile_what *of,
	const struct profile *profile)
{
	for (uint32_t single = 0; single <= calibration->singles; single++)
		for (uint32_t t = PROFILE_ONE; t < PROFILE_TRAFFICS; t++) {
			struct profile_what what = *of;

			what.traffic = (enum profile_traffic)t;
			what.single = single == 1;
			if (what.traffic == PROFILE_NEW && what.state != FLOW_COUNT)
				continue;
			if (profile_find(profile, &what) == NULL)
				return false;
		}
	for (uint32_t t = PROFILE_CACHED; has_lookups(of) && t <= PROFILE_UNCACHED; t++) {
		struct profile_what what = *of;

		what.traffic = (enum profile_traffic)t;
		what.single = what.lookup = true;
		if (profile_find(profile, &what) == NULL)
			return false;
	}
	return true;
}

/* Assumes that clearing a byte of the sketch takes 1 ns. */
static bool has_time_for(const struct calibration *calibration, size_t bytes)
{
	uint64_t now = calibration->clock();

	return !note_late(
		calibration, calibration->until > 0 &&
				     (now >= calibration->until ||
					     (double)(calibration->until - now) * calibration->ns <=
						     (double)bytes));
}

/* The returned parameters bring flows to `state` as early as possible. */
static struct sketch_deep deep_of(enum flow_depth state, uint64_t flows)
{
	if (state == FLOW_COUNT)
		return (struct sketch_deep){.deepest = FLOW_RATE, .flows = 1, .after = UINT32_MAX};
	return (struct sketch_deep){.deepest = state, .flows = (uint32_t)flows, .after = 1};
}

static bool time_state(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile)
{
	struct fed fed = {.flows = flows_of(calibration, params)};
	struct sketch_params own = *params;
	bool done = false, states = params->deep.deepest != FLOW_COUNT;

	own.allocator = calibration->allocator;
	own.idle_timeout = 0;
	if (states)
		own.deep = deep_of(what->state, fed.flows);

	if (has_all(calibration, what, profile))
		return true;
	if (!has_time_for(calibration, what->sketch->memory(&own)))
		return false;
	fed.run = begin_run(calibration, params->key);
	fed.sketch = fed.run != NULL ? what->sketch->create(&own) : NULL;
	if (fed.sketch != NULL) {
		fed.update = what->sketch->update[what->sharing];
		fed.run->packets.has_tcp = states;
		if (what->state != FLOW_COUNT)
			feed_into_state(&fed);
		done = time_all(&fed, what, profile);
		what->sketch->destroy(fed.sketch);
	}
	if (fed.run != NULL)
		end_run(fed.run);
	return done;
}

bool calibrate_sketch(const struct calibration *calibration, const struct profile_what *what,
	const struct sketch_params *params, struct profile *profile)
{
	struct profile_what of = *what;

	for (uint32_t state = FLOW_COUNT; state <= params->deep.deepest; state++) {
		of.state = (enum flow_depth)state;
		if (!time_state(calibration, &of, params, profile))
			return false;
	}
	return true;
}

bool calibrate_worker(const struct calibration *calibration, const struct capacity_worker *worker,
	struct profile *profile, struct profile_what *missing)
{
	*missing = (struct profile_what){.part = PROFILE_TIMER};
	if (!calibrate_timer(calibration, profile))
		return false;
	*missing = (struct profile_what){.part = PROFILE_DISTINCT};
	if (!calibrate_distinct(calibration, profile))
		return false;
	for (uint32_t k = 0; k < worker->nb_keys; k++) {
		*missing = worker->keys[k];
		if (!calibrate_key(calibration, worker->rules[k], profile))
			return false;
	}
	for (uint32_t m = 0; m < worker->nb_measurements; m++) {
		*missing = worker->sketches[m];
		if (!calibrate_sketch(
			    calibration, &worker->sketches[m], worker->params[m], profile))
			return false;
	}
	return true;
}
