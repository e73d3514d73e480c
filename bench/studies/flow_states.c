/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * What flow states cost the thread that counts (--deep), as CSV on standard output:
 *
 *     flow_states [ROUNDS] > flow_states.csv
 *
 * A flow table counts packets of so many flows that are known, one every 10 ns of packet time, each
 * drawn at random: without --deep, and with all flows in one of the states. They take turns, on
 * tables that stay. Times are of the thread, so that others on the machine cost caches alone.
 *
 * Columns: flows, the state, ns a packet (median over the rounds), and the median of that divided by
 * the one without --deep of the same round.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/huge_map.h"
#include "base/random.h"
#include "sketch/sketch.h"

#define WIDTH      (UINT32_C(1) << 20)
#define BATCHES    64 /* of a turn */
#define BATCH      64 /* bursts */
#define PERIOD     10 /* ns */
#define KNOWN      4  /* packets of each flow before the first turn */
#define ROUNDS_MAX 1000

static const uint32_t nb_flows[] = {1000, 100000, 1000000};

static const struct {
	const char *name;
	struct sketch_deep deep;
} cases[] = {
	{"none", {.deepest = FLOW_COUNT}},
	{"count", {.deepest = FLOW_TCP, .flows = 1, .after = UINT32_C(1) << 30}},
	{"rate", {.deepest = FLOW_RATE, .flows = WIDTH, .after = 1}},
	{"tcp", {.deepest = FLOW_TCP, .flows = WIDTH, .after = 1, .share = 0}},
};

#define CASES (sizeof(cases) / sizeof(cases[0]))

static struct key_burst bursts[BATCH];
static struct sketch *tables[CASES];
static struct hash_key hash_key;
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
	/* The next of its flow has the number that is due, but where the clock's low half wraps. */
	burst->tcp[i] = (struct key_tcp){
		.sequence = (uint32_t)(now / PERIOD), .payload = 1, .window = 1, .known = true};
}

static void fill_burst(
	struct key_burst *burst, struct random *random, uint32_t flows, uint32_t next)
{
	burst->n = BURST_MAX;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		set_packet(burst, i,
			random != NULL ? (uint32_t)random_below(random, flows)
				       : (next + i) % flows);
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
			fail("no memory");
	}
	for (uint32_t next = 0; next < KNOWN * flows; next += BURST_MAX) {
		fill_burst(&bursts[0], NULL, flows, next % flows);
		for (size_t c = 0; c < CASES; c++)
			ops->update[SHARING_SEPARATE](tables[c], &bursts[0]);
	}
}

/* ns a packet of each case. */
static void take_turns(struct random *random, uint32_t flows, double *ns)
{
	for (size_t c = 0; c < CASES; c++)
		ns[c] = 0;
	for (uint32_t batch = 0; batch < BATCHES; batch++) {
		for (uint32_t b = 0; b < BATCH; b++)
			fill_burst(&bursts[b], random, flows, 0);
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

static void study(uint32_t flows, uint32_t rounds)
{
	static double ns[CASES][ROUNDS_MAX], ratios[CASES][ROUNDS_MAX];
	struct random random;
	double of_round[CASES];

	random_init(&random, flows);
	make_tables(flows);
	for (uint32_t r = 0; r < rounds; r++) {
		take_turns(&random, flows, of_round);
		for (size_t c = 0; c < CASES; c++) {
			ns[c][r] = of_round[c];
			ratios[c][r] = of_round[c] / of_round[0];
		}
	}
	for (size_t c = 0; c < CASES; c++) {
		printf("%u,%s,%.1f,%.2f\n", flows, cases[c].name, median(ns[c], rounds),
			median(ratios[c], rounds));
		tables[c]->ops->destroy(tables[c]);
	}
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 15;

	if (rounds == 0 || rounds > ROUNDS_MAX)
		fail("ROUNDS is 1 to 1000");
	hash_key_init(&hash_key, 0);
	printf("flows,state,ns_per_packet,ratio\n");
	for (size_t f = 0; f < sizeof(nb_flows) / sizeof(nb_flows[0]); f++)
		study(nb_flows[f], rounds);
	return 0;
}
