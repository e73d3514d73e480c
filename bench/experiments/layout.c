/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * layout [ROUNDS] > layout.csv: compares two layouts of Count-Min with equal memory. "rows": a key
 * has one counter in each of four rows. "lines": all four are in one cache line, one in each
 * quarter. Columns: skew (0: uniform); flows; a quarter of the counters; ns to read and update the
 * four counters, given the hash (minimum of ROUNDS); mean and largest error of a flow in packets.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/random.h"
#include "key/hash.h"
#include "rx/generate/zipf.h"

#define PACKETS    (UINT32_C(4) << 20)
#define DEPTH      4
#define LINE       16
#define QUARTER    (LINE / DEPTH)
#define FLOWS_MAX  1000000
#define ROUNDS_MAX 100

struct stream {
	uint32_t nb_flows;
	uint32_t flow[PACKETS];
	uint32_t packets[FLOWS_MAX];
	struct key_hash hash[FLOWS_MAX];
	struct key_hash in_order[PACKETS];
};

enum layout {
	ROWS,
	LINES,
};

static void fail(const char *why)
{
	fprintf(stderr, "layout: %s\n", why);
	exit(1);
}

static void draw_stream(struct stream *stream, uint32_t zipf_e6, uint32_t nb_flows)
{
	struct hash_key hash_key;
	struct random random;
	struct zipf zipf;

	if (zipf_init(&zipf, nb_flows, zipf_e6) != 0)
		fail("out of memory");
	random_init(&random, 1);
	hash_key_init(&hash_key, 1);
	memset(stream->packets, 0, sizeof(stream->packets));
	stream->nb_flows = nb_flows;
	for (uint32_t f = 0; f < nb_flows; f++) {
		struct key key = {.family = KEY_IPV4, .v4 = {.proto = 17}};

		memcpy(key.v4.src_ip, &f, sizeof(f));
		stream->hash[f] = hash_one(&hash_key, &key);
	}
	for (uint32_t i = 0; i < PACKETS; i++) {
		stream->flow[i] = zipf_rank(&zipf, zipf_draw(&zipf, random_next(&random)));
		stream->packets[stream->flow[i]]++;
		stream->in_order[i] = stream->hash[stream->flow[i]];
	}
	zipf_fini(&zipf);
}

/* `r`: row, or quarter of the line */
static inline __attribute__((always_inline)) uint64_t cell(
	const struct key_hash *hash, uint32_t r, uint32_t bits, const enum layout layout)
{
	uint32_t lane = (uint32_t)((r < 2 ? hash->lo : hash->hi) >> r % 2 * 32);

	if (layout == ROWS)
		return ((uint64_t)r << bits) + (lane & ((UINT32_C(1) << bits) - 1));
	/* 2^(bits - 2) lines have 4 x 2^bits counters */
	return (hash->lo & ((UINT64_C(1) << (bits - 2)) - 1)) * LINE + r * QUARTER +
	       (hash->hi >> 2 * r & (QUARTER - 1));
}

static inline __attribute__((always_inline)) uint32_t estimate(const uint32_t *counters,
	const struct key_hash *hash, uint32_t bits, const enum layout layout)
{
	uint32_t least = UINT32_MAX;

#pragma GCC unroll 4
	for (uint32_t r = 0; r < DEPTH; r++) {
		uint32_t value = counters[cell(hash, r, bits, layout)];

		least = value < least ? value : least;
	}
	return least;
}

static inline __attribute__((always_inline)) uint32_t add_all(
	uint32_t *counters, const struct stream *stream, uint32_t bits, const enum layout layout)
{
	uint32_t largest = 0;

	for (uint32_t i = 0; i < PACKETS; i++) {
		const struct key_hash *hash = &stream->in_order[i];
		uint32_t least = estimate(counters, hash, bits, layout);

		largest = least > largest ? least : largest;
#pragma GCC unroll 4
		for (uint32_t r = 0; r < DEPTH; r++)
			counters[cell(hash, r, bits, layout)]++;
	}
	return largest;
}

static double time_pass(
	uint32_t *counters, const struct stream *stream, uint32_t bits, enum layout layout)
{
	struct timespec start, end;
	uint32_t largest;

	memset(counters, 0, DEPTH * sizeof(*counters) << bits);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
	largest = layout == ROWS ? add_all(counters, stream, bits, ROWS)
				 : add_all(counters, stream, bits, LINES);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	__asm__ volatile("" : : "r"(largest));
	return ((double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec)) /
	       PACKETS;
}

static void find_error(const uint32_t *counters, const struct stream *stream, uint32_t bits,
	enum layout layout, double *mean, double *largest)
{
	uint32_t nb_keys = 0;

	*mean = *largest = 0;
	for (uint32_t f = 0; f < stream->nb_flows; f++) {
		double error;

		if (stream->packets[f] == 0)
			continue;
		error = (double)estimate(counters, &stream->hash[f], bits, layout) -
			stream->packets[f];
		*mean += error;
		*largest = error > *largest ? error : *largest;
		nb_keys++;
	}
	*mean /= nb_keys;
}

static void try_width(const struct stream *stream, double skew, uint32_t bits, long rounds)
{
	double ns[2] = {1e9, 1e9}, mean[2], largest[2];
	uint32_t *counters = aligned_alloc(2 << 20, (size_t)64 << 20);

	if (counters == NULL)
		fail("out of memory");
	madvise(counters, (size_t)64 << 20, MADV_HUGEPAGE);
	for (long round = 0; round < rounds; round++)
		for (uint32_t layout = 0; layout < 2; layout++) {
			double pass = time_pass(counters, stream, bits, (enum layout)layout);

			ns[layout] = pass < ns[layout] ? pass : ns[layout];
			find_error(counters, stream, bits, (enum layout)layout, &mean[layout],
				&largest[layout]);
		}
	printf("%.2f,%u,%u,%.2f,%.2f,%.3f,%.3f,%.0f,%.0f\n", skew, stream->nb_flows,
		UINT32_C(1) << bits, ns[ROWS], ns[LINES], mean[ROWS], mean[LINES], largest[ROWS],
		largest[LINES]);
	fflush(stdout);
	free(counters);
}

int main(int argc, char **argv)
{
	static const uint32_t skews_e6[] = {0, 1050000}, bits[] = {12, 16, 18, 22};
	struct stream *stream = malloc(sizeof(*stream));
	long rounds = argc > 1 ? atol(argv[1]) : 5;

	if (stream == NULL)
		fail("out of memory");
	if (rounds < 1 || rounds > ROUNDS_MAX)
		fail("ROUNDS: out of range; 1 to 100");
	printf("zipf,flows,width,rows_ns,lines_ns,rows_mean_error,lines_mean_error,rows_largest_error,lines_largest_error\n");
	for (size_t z = 0; z < sizeof(skews_e6) / sizeof(skews_e6[0]); z++) {
		draw_stream(stream, skews_e6[z], FLOWS_MAX);
		for (size_t b = 0; b < sizeof(bits) / sizeof(bits[0]); b++)
			try_width(stream, skews_e6[z] / 1e6, bits[b], rounds);
	}
	free(stream);
	return 0;
}
