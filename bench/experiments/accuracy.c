/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * accuracy [SEEDS] > accuracy.csv: compares the error of Count-Min with its bound by shape and
 * skew. Columns: skew (0: uniform); depth and width; mean error of a flow in packets; largest
 * error, median over the seeds; bounds of all flows together at confidence 0.9 and 0.999, medians;
 * fraction of seeds in which a flow exceeds the bound at 0.9, which must be below 0.1; bound of
 * Markov's inequality at 0.9, (N / w) (M / 0.1)^(1 / d), for N packets, M flows and d rows of w
 * counters.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "key/hash.h"
#include "rx/generate/zipf.h"
#include "sketch/sketch.h"

#define FLOWS     100000
#define PACKETS   1000000
#define SEEDS_MAX 1000

struct stream {
	uint32_t packets[FLOWS];
	uint32_t nb_keys;
};

struct outcome {
	double mean, largest, bound90, bound999;
	bool broken;
};

static void fail(const char *why)
{
	fprintf(stderr, "accuracy: %s\n", why);
	exit(1);
}

static void draw_stream(struct stream *stream, uint32_t zipf_e6)
{
	struct random random;
	struct zipf zipf;

	if (zipf_init(&zipf, FLOWS, zipf_e6) != 0)
		fail("out of memory");
	random_init(&random, 1);
	memset(stream, 0, sizeof(*stream));
	for (uint32_t i = 0; i < PACKETS; i++)
		stream->packets[zipf_rank(&zipf, zipf_draw(&zipf, random_next(&random)))]++;
	for (uint32_t f = 0; f < FLOWS; f++)
		stream->nb_keys += stream->packets[f] > 0;
	zipf_fini(&zipf);
}

/* The number of a flow is in its 5-tuple. */
static void fill_burst(struct key_burst *burst, const struct stream *stream, uint32_t first)
{
	burst->n = 0;
	burst->v6 = 0;
	for (uint32_t f = first; f < first + BURST_MAX && f < FLOWS; f++) {
		struct key4 key = {.proto = 17};

		memcpy(key.src_ip, &f, sizeof(f));
		burst->key4[burst->n] = key;
		burst->wire_len[burst->n++] = stream->packets[f];
	}
}

/* Uses only the counters of the merged sketch, not the list of candidates. */
static struct outcome try_seed(
	const struct stream *stream, struct sketch *part, struct sketch *sketch, uint64_t seed)
{
	static struct key_burst burst;
	struct outcome outcome = {0};
	struct hash_key hash_key;

	hash_key_init(&hash_key, seed);
	part->ops->reset(part);
	sketch->ops->reset(sketch);
	for (uint32_t f = 0; f < FLOWS; f += BURST_MAX) {
		fill_burst(&burst, stream, f);
		hash_burst(&hash_key, &burst);
		part->ops->update[SHARING_SEPARATE](part, &burst);
	}
	if (sketch->ops->merge(sketch, part) != 0)
		abort();
	for (uint32_t f = 0; f < FLOWS; f += BURST_MAX) {
		fill_burst(&burst, stream, f);
		hash_burst(&hash_key, &burst);
		for (uint32_t i = 0; i < burst.n; i++) {
			double error;

			if (stream->packets[f + i] == 0)
				continue;
			error = (double)(sketch->ops->query(sketch, &burst.hash[i]).value -
					 stream->packets[f + i]);
			outcome.mean += error / stream->nb_keys;
			outcome.largest = fmax(outcome.largest, error);
		}
	}
	outcome.bound90 = (double)sketch->ops->error_bound(sketch, stream->nb_keys, 0.9);
	outcome.bound999 = (double)sketch->ops->error_bound(sketch, stream->nb_keys, 0.999);
	outcome.broken = outcome.largest > outcome.bound90;
	return outcome;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const struct outcome *outcomes, uint32_t n, size_t offset)
{
	double values[SEEDS_MAX];

	for (uint32_t i = 0; i < n; i++)
		memcpy(&values[i], (const char *)&outcomes[i] + offset, sizeof(double));
	qsort(values, n, sizeof(values[0]), compare);
	return values[n / 2];
}

static void try_shape(
	const struct stream *stream, double skew, uint32_t depth, uint64_t width, uint32_t nb_seeds)
{
	struct sketch_params params = {
		.depth = depth,
		.width = width,
		.metric = SKETCH_BYTES,
		.allocator = sketch_allocator_malloc,
	};
	const struct sketch_ops *ops = sketch_find("count-min");
	struct outcome outcomes[SEEDS_MAX];
	struct sketch *part, *sketch;
	uint32_t broken = 0;

	if (ops->check(&params) != NULL || (part = ops->create(&params)) == NULL ||
		(sketch = ops->create(&params)) == NULL)
		fail("out of memory");
	for (uint32_t s = 0; s < nb_seeds; s++) {
		outcomes[s] = try_seed(stream, part, sketch, s + 1);
		broken += outcomes[s].broken;
	}
	printf("%.2f,%u,%llu,%.3f,%.0f,%.0f,%.0f,%.3f,%.0f\n", skew, depth,
		(unsigned long long)width,
		median(outcomes, nb_seeds, offsetof(struct outcome, mean)),
		median(outcomes, nb_seeds, offsetof(struct outcome, largest)),
		median(outcomes, nb_seeds, offsetof(struct outcome, bound90)),
		median(outcomes, nb_seeds, offsetof(struct outcome, bound999)),
		(double)broken / nb_seeds,
		PACKETS / (double)width * pow(stream->nb_keys / 0.1, 1.0 / depth));
	fflush(stdout);
	ops->destroy(part);
	ops->destroy(sketch);
}

int main(int argc, char **argv)
{
	static const uint32_t skews_e6[] = {0, 800000, 1050000, 1300000};
	static struct stream stream;
	long nb_seeds = argc > 1 ? atol(argv[1]) : 100;

	if (nb_seeds < 1 || nb_seeds > SEEDS_MAX)
		fail("SEEDS: out of range; 1 to 1000");
	printf("zipf,depth,width,mean_error,largest_error,bound_0.9,bound_0.999,broken_0.9,markov_0.9\n");
	for (size_t z = 0; z < sizeof(skews_e6) / sizeof(skews_e6[0]); z++) {
		draw_stream(&stream, skews_e6[z]);
		for (uint32_t depth = 3; depth <= 5; depth++)
			for (uint64_t width = 1 << 10; width <= 1 << 18; width *= 2)
				try_shape(&stream, skews_e6[z] / 1e6, depth, width,
					(uint32_t)nb_seeds);
	}
	return 0;
}
