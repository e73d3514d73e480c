/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Records from the collector's decoder through the workers to the reporter, on plain threads:
 * records distributed by flow, in-band marks for ends of epochs and for removed exporters, and rows
 * of a generation. The linker replaces dedup_burst() by a counter of this test, so that
 * ThreadSanitizer sees every access that the hand-over must order. Each record must be counted
 * once, in its epoch, after all earlier records of its flow, by the worker of the flow, and with
 * the right exporter.
 */

/* Includes the source because its loops are static. */
#include "parallel/sources/collector_source.c" /* NOLINT(bugprone-suspicious-include) */

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define WORKERS_MAX 4
#define EXPORTERS   8
#define FLOWS       256
#define RING_SIZE   256 /* room for marks if records may be lost */
#define EPOCHS      1000

/* State of a worker, in place of the real flow cache. */
struct dedup {
	struct worker *worker;
	uint64_t last[FLOWS]; /* last record of each flow */
	uint32_t forgotten[EXPORTERS];
	int64_t newest; /* time of the last record */
	uint64_t wrong;
};

struct stage {
	struct epochs *epochs;
	struct rx_core *rx_core;
	struct collector_source collect;
	struct plan plan;
	struct worker *workers[WORKERS_MAX];
	struct dedup *dedups[WORKERS_MAX];
	uint32_t nb_workers;
	uint64_t *fed; /* records by epoch; written before the epoch can close */
	uint64_t next[FLOWS];
	uint32_t forgotten[EXPORTERS];
};

static struct stage *stage;
static _Thread_local uint32_t random_state;

static uint32_t next_random(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void maybe_yield(void)
{
	if (next_random() % 32 == 0)
		sched_yield();
}

/* Returns the time of an epoch's records. The clock is set back every 100 epochs. */
static int64_t time_of(uint64_t epoch)
{
	return (int64_t)(1 + epoch % 100);
}

static uint32_t flow_of(const struct observation *observation)
{
	uint32_t flow;

	memcpy(&flow, observation->key4.src_ip, sizeof(flow));
	return flow;
}

/* --- replacements of dedup functions --- */

void __wrap_dedup_burst(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *by_exporter);
void __wrap_dedup_burst(struct dedup *dedup, const struct observation *observations, uint32_t n,
	struct key_burst *burst, struct dedup_counts *counts, struct record_counts *by_exporter)
{
	burst->n = n;
	for (uint32_t i = 0; i < n; i++) {
		const struct observation *record = &observations[i];
		uint64_t *last = &dedup->last[flow_of(record)];

		dedup->wrong += record->time != time_of(dedup->worker->epoch);
		dedup->newest = record->time;
		dedup->wrong += record->bytes <= *last;
		dedup->wrong += record->input != dedup->forgotten[record->exporter];
		dedup->wrong += counter_of(&stage->collect, record)->worker != dedup->worker;
		*last = record->bytes;
		by_exporter[record->exporter].counted++;
	}
	counts->received += n;
	counts->measured += n;
	maybe_yield();
}

void __wrap_dedup_forget_exporter(struct dedup *dedup, uint32_t exporter);
void __wrap_dedup_forget_exporter(struct dedup *dedup, uint32_t exporter)
{
	dedup->forgotten[exporter]++;
}

/* No flow is deferred. */
void __wrap_dedup_hear(struct dedup *dedup, uint32_t exporter, int64_t now);
void __wrap_dedup_hear(struct dedup *dedup, uint32_t exporter, int64_t now)
{
	(void)now;
	dedup->wrong += exporter >= EXPORTERS;
}

void __wrap_dedup_learn(struct dedup *dedup, int64_t now, bool last, struct dedup_counts *counts);
void __wrap_dedup_learn(struct dedup *dedup, int64_t now, bool last, struct dedup_counts *counts)
{
	(void)last;
	(void)counts;
	dedup->wrong += now != dedup->newest;
}

uint32_t __wrap_dedup_settle(
	struct dedup *dedup, struct key_burst *burst, struct dedup_counts *counts);
uint32_t __wrap_dedup_settle(
	struct dedup *dedup, struct key_burst *burst, struct dedup_counts *counts)
{
	(void)dedup;
	(void)burst;
	(void)counts;
	return 0;
}

void __wrap_dedup_end_epoch(struct dedup *dedup, int64_t now,
	void (*emit)(void *arg, const struct path_row *row), void *arg);
void __wrap_dedup_end_epoch(struct dedup *dedup, int64_t now,
	void (*emit)(void *arg, const struct path_row *row), void *arg)
{
	static const struct path_row row;

	dedup->wrong += now != dedup->newest;
	for (uint32_t i = 0; i <= dedup->worker->id; i++)
		emit(arg, &row);
}

void __wrap_count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct);
void __wrap_count_weighted_keys(struct counting *counting, struct sketch *const *sketch,
	struct hyperloglog *const *distinct)
{
	(void)counting;
	(void)sketch;
	(void)distinct;
}

struct collector_epoch __wrap_collector_end_epoch(struct collector *collector, int64_t alive,
	void (*emit_exporter)(void *arg, const struct exporter_row *row),
	void (*emit_link)(void *arg, const struct link_row *row), void *arg);
struct collector_epoch __wrap_collector_end_epoch(struct collector *collector, int64_t alive,
	void (*emit_exporter)(void *arg, const struct exporter_row *row),
	void (*emit_link)(void *arg, const struct link_row *row), void *arg)
{
	static const struct exporter_row exporter;
	static const struct link_row link;

	(void)collector;
	(void)alive;
	emit_exporter(arg, &exporter);
	emit_link(arg, &link);
	return (struct collector_epoch){0};
}

/* --- threads --- */

static void feed_burst(uint64_t epoch)
{
	struct observation records[BURST_MAX];
	uint32_t n = 1 + next_random() % BURST_MAX;

	memset(records, 0, sizeof(records));
	for (uint32_t i = 0; i < n; i++) {
		uint32_t flow = next_random() % FLOWS;

		records[i].family = KEY_IPV4;
		memcpy(records[i].key4.src_ip, &flow, sizeof(flow));
		records[i].exporter = next_random() % EXPORTERS;
		records[i].input = stage->forgotten[records[i].exporter];
		records[i].sampling = 1;
		records[i].packets = 1;
		records[i].bytes = ++stage->next[flow];
		records[i].time = time_of(epoch);
	}
	stage->fed[epoch] += n;
	deal(&stage->collect, records, n);
}

static void *decode(void *arg)
{
	struct poller *poller = &stage->rx_core->poller;

	(void)arg;
	random_state = 1;
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		uint32_t nb_bursts = next_random() % 6;

		while (!epochs_may_open(stage->epochs, epoch))
			sched_yield();
		if (epoch > 0) {
			epochs_open(stage->epochs, epoch);
			poller->enter(poller->arg, epoch);
		}
		for (uint32_t b = 0; b < nb_bursts; b++) {
			feed_burst(epoch);
			if (next_random() % 8 == 0) {
				uint32_t exporter = next_random() % EXPORTERS;

				stage->forgotten[exporter]++;
				forget_there(&stage->collect, exporter);
			}
			maybe_yield();
		}
	}
	epochs_end(stage->epochs, EPOCHS);
	poller->end(poller->arg, EPOCHS);
	return NULL;
}

static void *work(void *arg)
{
	struct worker *worker = arg;

	random_state = worker->id + 7;
	count_dealt(worker, stage->nb_workers);
	return NULL;
}

/* Adds up the epoch's generations, which the reporter owns now. Returns the number of errors. */
static uint64_t report(uint64_t epoch)
{
	struct rx_core_generation *received = rx_core_generation(stage->rx_core, epoch);
	const struct collector_source_generation *decoded =
		collector_source_generation(&stage->collect, epoch);
	uint64_t counted = 0, by_exporter = 0, lost = 0, wrong = 0;

	for (uint32_t w = 0; w < stage->nb_workers; w++) {
		struct generation *generation = worker_generation(stage->workers[w], epoch);
		const struct collector_source_counts *counts =
			collector_source_counts(&stage->collect, w, epoch);

		wrong += generation->measured != generation->counted;
		wrong += counts->nb_paths != w + 1;
		counted += generation->counted;
		lost += received->ring_full[w];
		by_exporter += counts->others.counted;
		for (uint32_t e = 0; e < EXPORTERS; e++)
			by_exporter += counts->by_exporter[e].counted;
		generation->counted = generation->measured = generation->received = 0;
	}
	wrong += by_exporter != counted || counted + lost != stage->fed[epoch];
	wrong += received->received != lost || (lost > 0 && stage->collect.listener == NULL);
	wrong += decoded->exporters.n != 1 || decoded->links.n != 1;
	*received = (struct rx_core_generation){0};
	collector_source_recycle(&stage->collect, epoch);
	return wrong;
}

/* --- stage --- */

static void *zeroed(size_t size)
{
	void *memory = aligned_alloc(64, (size + 63) / 64 * 64);

	assert_non_null(memory);
	memset(memory, 0, size);
	return memory;
}

static struct rte_ring *make_ring(void)
{
	struct rte_ring *ring =
		zeroed((size_t)rte_ring_get_memsize_elem(sizeof(struct observation), RING_SIZE));

	assert_int_equal(
		rte_ring_init(ring, "stress", RING_SIZE, RING_F_SP_ENQ | RING_F_SC_DEQ), 0);
	return ring;
}

static void make_worker(uint32_t w)
{
	struct counter *counter = &stage->collect.counters[w];
	struct counting *counting = zeroed(sizeof(*counting));
	struct worker *worker = zeroed(sizeof(*worker));

	counting->bursts = zeroed(sizeof(struct key_burst));
	worker->id = worker->part = w;
	worker->generations[0].counting = worker->generations[1].counting = counting;
	worker->idle = IDLE_SLEEP;
	worker->epochs = stage->epochs;
	worker->source = &stage->collect;
	stage->workers[w] = worker;
	counter->collect = &stage->collect;
	counter->worker = worker;
	counter->ring = make_ring();
	counter->dedup = stage->dedups[w] = zeroed(sizeof(struct dedup));
	counter->dedup->worker = worker;
	for (uint32_t g = 0; g < 2; g++)
		counter->generations[g].by_exporter =
			zeroed(EXPORTERS * sizeof(struct record_counts));
}

/* Creates a stage without sockets. live: records that do not fit in a ring are lost. */
static void make_stage(uint32_t nb_workers, bool live)
{
	stage = zeroed(sizeof(*stage));
	stage->nb_workers = nb_workers;
	stage->epochs = zeroed(sizeof(*stage->epochs));
	stage->fed = zeroed(EPOCHS * sizeof(stage->fed[0]));
	stage->rx_core = zeroed(sizeof(*stage->rx_core));
	epochs_init(stage->epochs, nb_workers + 1);
	stage->plan.idle = IDLE_SLEEP;
	stage->collect.params.plan = &stage->plan;
	stage->collect.params.workers = stage->workers;
	stage->collect.exporters_max = EXPORTERS;
	stage->collect.nb_counters = nb_workers;
	stage->collect.counters = zeroed(nb_workers * sizeof(struct counter));
	stage->collect.rx_core = stage->rx_core;
	stage->collect.listener = live ? (struct listener *)stage : NULL;
	stage->rx_core->source = &stage->collect;
	stage->rx_core->participant = nb_workers;
	stage->rx_core->nb_workers = nb_workers;
	stage->rx_core->poller.epochs = stage->epochs;
	stage->rx_core->poller.idle = IDLE_SLEEP;
	for (uint32_t w = 0; w < nb_workers; w++)
		make_worker(w);
	deal_connect(stage->rx_core);
}

static void free_stage(void)
{
	for (uint32_t g = 0; g < 2; g++) {
		free(stage->collect.generations[g].exporters.items);
		free(stage->collect.generations[g].links.items);
	}
	for (uint32_t w = 0; w < stage->nb_workers; w++) {
		struct counter *counter = &stage->collect.counters[w];
		const struct counting *counting = stage->workers[w]->generations[0].counting;

		for (uint32_t g = 0; g < 2; g++) {
			free(counter->generations[g].by_exporter);
			free(counter->generations[g].paths.items);
		}
		free(counter->ring);
		free(stage->dedups[w]);
		free(counting->bursts);
		free((void *)(uintptr_t)counting);
		free(stage->workers[w]);
	}
	free(stage->collect.counters);
	free(stage->rx_core);
	free(stage->fed);
	free(stage->epochs);
	free(stage);
}

static void run_stage(uint32_t nb_workers, bool live)
{
	pthread_t threads[WORKERS_MAX + 1];
	uint64_t wrong = 0;

	make_stage(nb_workers, live);
	for (uint32_t w = 0; w < nb_workers; w++)
		assert_int_equal(pthread_create(&threads[w], NULL, work, stage->workers[w]), 0);
	assert_int_equal(pthread_create(&threads[nb_workers], NULL, decode, NULL), 0);
	/* This thread is the reporter. */
	for (uint64_t epoch = 0; epoch < EPOCHS; epoch++) {
		while (!epochs_is_closed(stage->epochs, epoch))
			sched_yield();
		wrong += report(epoch);
		epochs_recycle(stage->epochs, epoch);
	}
	for (uint32_t i = 0; i <= nb_workers; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t w = 0; w < nb_workers; w++) {
		wrong += stage->dedups[w]->wrong;
		wrong += memcmp(stage->dedups[w]->forgotten, stage->forgotten,
				 sizeof(stage->forgotten)) != 0;
	}
	assert_int_equal(wrong, 0);
	free_stage();
}

static void test_capture(void **state)
{
	(void)state;
	for (uint32_t workers = 2; workers <= WORKERS_MAX; workers++)
		run_stage(workers, false);
}

static void test_live(void **state)
{
	(void)state;
	for (uint32_t workers = 2; workers <= WORKERS_MAX; workers++)
		run_stage(workers, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_capture),
		cmocka_unit_test(test_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
