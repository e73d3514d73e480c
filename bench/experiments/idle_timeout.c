/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * idle_timeout [ROUNDS] > idle_timeout.csv: measures the CPU time that --idle-timeout costs the
 * counting thread. Ended records are removed outside the measured time, as a reporter on another
 * CPU would do. Columns: timeout in ns (0: none); median ns per packet; ratio to the case without a
 * timeout; records that ended early.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "key/hash.h"
#include "rx/generate/zipf.h"
#include "sketch/sketch.h"

#define FLOWS      1000000
#define ZIPF_E6    1050000
#define PACKETS    4194304
#define PERIOD     100 /* packet time between packets, ns */
#define BATCH      64
#define ROUNDS_MAX 100

static const uint64_t timeouts[] = {
	0, UINT64_C(3600000000000), UINT64_C(100000000), UINT64_C(10000000), UINT64_C(1000000)};

#define TIMEOUTS (sizeof(timeouts) / sizeof(timeouts[0]))

static uint32_t flows[PACKETS];
static struct key_burst bursts[BATCH];

static void fail(const char *why)
{
	fprintf(stderr, "idle_timeout: %s\n", why);
	exit(1);
}

static void draw_packets(void)
{
	struct random random;
	struct zipf zipf;

	if (zipf_init(&zipf, FLOWS, ZIPF_E6) != 0)
		fail("out of memory");
	random_init(&random, 1);
	for (uint32_t p = 0; p < PACKETS; p++)
		flows[p] = (uint32_t)zipf_rank(&zipf, zipf_draw(&zipf, random_next(&random)));
	zipf_fini(&zipf);
}

static void fill_batch(const struct hash_key *hash_key, uint32_t first)
{
	for (uint32_t b = 0; b < BATCH; b++) {
		struct key_burst *burst = &bursts[b];

		burst->n = BURST_MAX;
		for (uint32_t i = 0; i < BURST_MAX; i++) {
			uint32_t packet = first + b * BURST_MAX + i;
			struct key4 key = {.proto = 17};

			memcpy(key.src_ip, &flows[packet], sizeof(key.src_ip));
			burst->key4[i] = key;
			burst->wire_len[i] = 64;
			burst->time[i] = (int64_t)packet * PERIOD;
		}
		hash_burst(hash_key, burst);
	}
}

static double thread_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void count_record(const struct sketch_candidate *candidate, void *arg)
{
	uint64_t *records = arg;

	(void)candidate;
	(*records)++;
}

/* Returns ns per packet. *records: number of records that ended early. */
static double take_turn(uint64_t timeout, uint64_t *records)
{
	struct sketch_params params = {
		.width = 1 << 20, .idle_timeout = timeout, .allocator = sketch_allocator_malloc};
	const struct sketch_ops *ops = sketch_find("flow-table");
	struct hash_key hash_key;
	struct sketch *sketch;
	double ns = 0;

	if (ops->check(&params) != NULL || (sketch = ops->create(&params)) == NULL)
		fail("out of memory");
	hash_key_init(&hash_key, params.seed);
	*records = 0;
	for (uint32_t first = 0; first < PACKETS; first += BATCH * BURST_MAX) {
		double start;

		fill_batch(&hash_key, first);
		start = thread_ns();
		for (uint32_t b = 0; b < BATCH; b++)
			ops->update[SHARING_SEPARATE](sketch, &bursts[b]);
		ns += thread_ns() - start;
		ops->expired(sketch, count_record, records);
	}
	ops->destroy(sketch);
	return ns / PACKETS;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static double ns[TIMEOUTS][ROUNDS_MAX];
	uint32_t rounds = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 7;
	uint64_t records[TIMEOUTS];

	if (rounds == 0 || rounds > ROUNDS_MAX)
		fail("ROUNDS: out of range; 1 to 100");
	draw_packets();
	for (uint32_t r = 0; r < rounds; r++)
		for (size_t t = 0; t < TIMEOUTS; t++)
			ns[t][r] = take_turn(timeouts[t], &records[t]);
	for (size_t t = 0; t < TIMEOUTS; t++)
		qsort(ns[t], rounds, sizeof(ns[t][0]), compare);
	printf("timeout_ns,ns_per_packet,ratio,records\n");
	for (size_t t = 0; t < TIMEOUTS; t++)
		printf("%llu,%.1f,%.2f,%llu\n", (unsigned long long)timeouts[t], ns[t][rounds / 2],
			ns[t][rounds / 2] / ns[0][rounds / 2], (unsigned long long)records[t]);
	return 0;
}
