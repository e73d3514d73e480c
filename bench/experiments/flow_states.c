/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * flow_states [ROUNDS] > flow_states.csv: measures the cost of flow states (--flow-detail) for the
 * counting thread, in CPU time, with 10 ns of packet time between packets. Columns: flows; Zipf's
 * exponent (0: uniform); state; median ns per packet; median ratio to the case without
 * --flow-detail in the same round.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/huge_map.h"
#include "base/random.h"
#include "key/hash.h"
#include "rx/generate/zipf.h"
#include "sketch/sketch.h"

#define WIDTH      (UINT32_C(1) << 20)
#define BATCHES    64
#define BATCH      64
#define PERIOD     10 /* packet time between packets, ns */
#define KNOWN      4  /* packets of each flow before the first turn */
#define ROUNDS_MAX 1000

static const struct traffic {
	uint32_t flows, zipf_e6;
} traffics[] = {{1000, 0}, {100000, 0}, {1000000, 0}, {1000000, 1050000}};

static const struct {
	const char *name;
	struct sketch_deep deep;
} cases[] = {
	{"none", {.deepest = FLOW_COUNT}},
	{"count", {.deepest = FLOW_TCP, .flows = WIDTH, .after = UINT32_C(1) << 30}},
	{"rate", {.deepest = FLOW_RATE, .flows = WIDTH, .after = 1}},
	{"tcp", {.deepest = FLOW_TCP, .flows = WIDTH, .after = 1, .share = 0}},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct key_burst bursts[BATCH];
static struct sketch *tables[CASES];
static struct hash_key hash_key;
static struct zipf zipf;
static struct random random_state;
static int64_t now;

static void fail(const char *why)
{
	fprintf(stderr, "flow_states: %s\n", why);
	exit(1);
}

static void *map(size_t size, void *arg)
{
	(void)arg;
	return huge_map(size);
}

static void unmap(void *memory, size_t size, void *arg)
{
	(void)arg;
	huge_unmap(memory, size);
}

static void set_packet(struct key_burst *burst, uint32_t i, uint32_t flow)
{
	struct key4 key = {.proto = 6};

	memcpy(key.src_ip, &flow, sizeof(key.src_ip));
	burst->key4[i] = key;
	burst->wire_len[i] = 64;
	burst->time[i] = now += PERIOD;
	burst->tcp_flags[i] = 16;
	/*
	 * The packet has the expected sequence number, except if the low half of the clock wraps.
	 */
	burst->tcp[i] = (struct key_tcp){
		.sequence = (uint32_t)(now / PERIOD), .payload = 1, .window = 1, .known = true};
}

static uint32_t draw(const struct traffic *traffic)
{
	return traffic->zipf_e6 == 0
		       ? (uint32_t)random_below(&random_state, traffic->flows)
		       : (uint32_t)zipf_rank(&zipf, zipf_draw(&zipf, random_next(&random_state)));
}

static void fill_burst(struct key_burst *burst, const struct traffic *traffic)
{
	burst->n = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		set_packet(burst, i, draw(traffic));
	hash_burst(&hash_key, burst);
}

static void fill_in_turn(struct key_burst *burst, uint32_t flows, uint32_t next)
{
	burst->n = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		set_packet(burst, i, (next + i) % flows);
	hash_burst(&hash_key, burst);
}

static double thread_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void make_tables(uint32_t flows)
{
	const struct sketch_ops *ops = sketch_find("flow-table");

	for (size_t c = 0; c < CASES; c++) {
		struct sketch_params params = {.width = WIDTH,
			.deep = cases[c].deep,
			.allocator = {.alloc = map, .free = unmap}};

		if (ops->check(&params) != NULL || (tables[c] = ops->create(&params)) == NULL)
			fail("out of memory");
	}
	for (uint32_t next = 0; next < KNOWN * flows; next += BURST_MAX) {
		fill_in_turn(&bursts[0], flows, next % flows);
		for (size_t c = 0; c < CASES; c++)
			ops->update[SHARING_SEPARATE](tables[c], &bursts[0]);
	}
}

static void take_turns(const struct traffic *traffic, double *ns)
{
	for (size_t c = 0; c < CASES; c++)
		ns[c] = 0;
	for (uint32_t batch = 0; batch < BATCHES; batch++) {
		for (uint32_t b = 0; b < BATCH; b++)
			fill_burst(&bursts[b], traffic);
		for (size_t turn = 0; turn < CASES; turn++) {
			size_t c = (turn + batch) % CASES;
			double start = thread_ns();

			for (uint32_t b = 0; b < BATCH; b++)
				tables[c]->ops->update[SHARING_SEPARATE](tables[c], &bursts[b]);
			ns[c] += (thread_ns() - start) / (BATCHES * BATCH * BURST_MAX);
		}
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static void study(const struct traffic *traffic, uint32_t rounds)
{
	static double ns[CASES][ROUNDS_MAX], ratios[CASES][ROUNDS_MAX];
	double of_round[CASES];

	random_init(&random_state, 1);
	if (traffic->zipf_e6 > 0 && zipf_init(&zipf, traffic->flows, traffic->zipf_e6) != 0)
		fail("out of memory");
	make_tables(traffic->flows);
	for (uint32_t r = 0; r < rounds; r++) {
		take_turns(traffic, of_round);
		for (size_t c = 0; c < CASES; c++) {
			ns[c][r] = of_round[c];
			ratios[c][r] = of_round[c] / of_round[0];
		}
	}
	for (size_t c = 0; c < CASES; c++) {
		printf("%u,%g,%s,%.1f,%.2f\n", traffic->flows, traffic->zipf_e6 / 1e6,
			cases[c].name, median(ns[c], rounds), median(ratios[c], rounds));
		tables[c]->ops->destroy(tables[c]);
	}
	if (traffic->zipf_e6 > 0)
		zipf_fini(&zipf);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;

	if (rounds == 0 || rounds > ROUNDS_MAX)
		fail("ROUNDS: out of range; 1 to 1000");
	hash_key_init(&hash_key, 0);
	printf("flows,zipf,state,ns_per_packet,ratio\n");
	for (size_t t = 0; t < sizeof(traffics) / sizeof(traffics[0]); t++)
		study(&traffics[t], rounds);
	return 0;
}
