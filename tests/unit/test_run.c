/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The engine in one process: a source of this test feeds packets, and the test is the reporter. The
 * workers' counts are compared with the packets fed; no lcore may allocate memory while it works.
 */

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_cycles.h>

#include "base/clock.h"
#include "fewer.h"
#include "merged.h"
#include "parallel/run/eal.h"
#include "parallel/workers/node_memory.h"
#include "parallel/run/run.h"
#include "udp_source.h"
#include "sketch/measurement.h"
#include "parallel/plan/design.h"
#include "parallel/epoch.h"
#include "parallel/sources/feeder.h"
#include "sketch/iblt/iblt.h"

static pthread_t test_thread;
static _Atomic bool watching; /* lcores are working */

/* --- allocations of the lcores; sanitizers have their own allocator --- */

#ifndef SANITIZED

static _Atomic uint64_t allocations;

static void note_allocation(void)
{
	if (atomic_load(&watching) && !pthread_equal(pthread_self(), test_thread))
		atomic_fetch_add(&allocations, 1);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);

void *malloc(size_t size)
{
	note_allocation();
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	note_allocation();
	return __libc_calloc(n, size);
}

void *realloc(void *memory, size_t size)
{
	note_allocation();
	return __libc_realloc(memory, size);
}
#endif

/* --- sleeps --- */

static _Thread_local bool timing;
static int64_t longest; /* ns */

int clock_nanosleep(clockid_t clock, int flags, const struct timespec *asked, struct timespec *left)
{
	int64_t ns = (int64_t)asked->tv_sec * SECOND_NS + asked->tv_nsec;

	if (timing && flags == 0 && ns > longest)
		longest = ns;
	return syscall(SYS_clock_nanosleep, clock, flags, asked, left) == 0 ? 0 : errno;
}

/* --- runs --- */

#define WORKERS_MAX 8

static struct topology topology;
static struct plan eal_plan;

static struct config make_config(const char *design, uint32_t workers, uint64_t interval)
{
	struct config config = {0};

	edit_design_options(&config)->design = design_index(design);
	edit_plan_options(&config)->workers = workers;
	config.nb_measurements = 2;
	edit_seed_options(&config)->seed = 42;
	edit_epoch_options(&config)->interval = interval;
	edit_hugepages_options(&config)->no_huge = true;
	edit_async_options(&config)->ring_size = 64;

	config.measurements[0].name = "flows";
	*edit_measurement_options(&config.measurements[0]) = (struct measurement_options){
		.key = *key_rule_find("5tuple"),
		.sketch = sketch_index(sketch_find("count-min")),
		.width = 4096,
		.top = 10,
	};
	config.measurements[1].name = "destinations";
	*edit_measurement_options(&config.measurements[1]) = (struct measurement_options){
		.key = *key_rule_find("dst"),
		.count = SKETCH_BYTES,
		.sketch = sketch_index(sketch_find("count-min")),
		.width = 1024,
		.depth = 3,
		.top = 10,
	};
	return config;
}

static int start_eal(void **state)
{
	struct config config = make_config("async", WORKERS_MAX, 0);
	struct plan_ports ports = {0};
	char error[EAL_ERROR_MAX];

	(void)state;
	test_thread = pthread_self();
	topology_read(&topology, "");
	if (!plan_make(&eal_plan, &config, &topology, &ports, error))
		return -1;
	timing = true;
	if (!eal_start(&eal_plan, &config, error))
		return -1;
	timing = false;
	return 0;
}

static int stop_eal(void **state)
{
	(void)state;
	eal_stop();
	return 0;
}

struct totals {
	uint64_t epochs, received, measured, fed, dropped, ring_full, unbalanced;
	uint64_t resized; /* sketches resized */
	uint64_t handed_cycles, rx_cycles, ppt_cycles,
		free_cycles; /* handed: receivers; rest: workers */
	int64_t end;         /* end of the last epoch */
};

/* Lcores that worked used time, and no more than there was. */
static void assert_cycles(const struct totals *totals, const struct run *run, uint64_t passed)
{
	uint64_t workers = totals->rx_cycles + totals->ppt_cycles + totals->free_cycles;

	assert_in_range(workers, 0, 2 * run->nb_workers * passed);
	assert_in_range(totals->handed_cycles, 0, 2 * run->nb_rx_cores * passed);
	if (totals->received == 0)
		return;
	assert_true(totals->ppt_cycles > 0 && totals->free_cycles > 0);
	assert_true((run->nb_rx_cores > 0 ? totals->handed_cycles : totals->rx_cycles) > 0);
}

/*
 * Recycles an epoch; one sketch at a time is resized. Returns the number of resized sketches of the
 * first measurement.
 */
static uint64_t recycle(struct run *run, uint64_t epoch)
{
	uint64_t resized = 0;
	bool done;

	for (uint32_t i = 0; i < run->plan->nb_instances; i++) {
		const struct sketch *sketch =
			run_measurements(run, epoch)->sketches[epoch & 1][i][0];

		/* As after reporting the epoch, flows were decoded. */
		if (sketch->ops->undecoded != NULL)
			sketch->ops->undecoded(sketch);
	}
	do {
		uint64_t widths[WORKERS_MAX], changed = 0;

		for (uint32_t i = 0; i < run->plan->nb_instances; i++)
			widths[i] = run_measurements(run, epoch)
					    ->sketches[epoch & 1][i][0]
					    ->params.width;
		done = run_recycle(run, epoch);
		for (uint32_t i = 0; i < run->plan->nb_instances; i++)
			changed += run_measurements(run, epoch)
					   ->sketches[epoch & 1][i][0]
					   ->params.width != widths[i];
		assert_int_equal(changed, done ? 0 : 1);
		assert_int_equal(epochs_is_ready(run->epochs, epoch + 2), done);
		resized += changed;
	} while (!done);
	return resized;
}

/*
 * Runs the source through the engine and collects every epoch. If `merged` is not NULL, adds all
 * copies of measurement m to merged[m].
 */
static struct totals run_through(
	const struct config *config, struct test_source *source, struct sketch **merged)
{
	static struct plan plan;
	struct plan_ports ports = {0};
	struct totals totals = {0};
	char error[RUN_ERROR_MAX];
	struct run *run;
	uint64_t epoch = 0, start;

	assert_true(plan_make(&plan, config, &topology, &ports, error));
	plan.idle = IDLE_SLEEP;
	run = run_create(config, &plan, &source->source, NULL, 0, error);
	assert_non_null(run);
	atomic_store(&watching, true);
	start = rte_rdtsc();
	run_start(run);
	for (;;) {
		uint64_t open = atomic_load(&run->epochs->open);
		struct epoch_info info;
		uint64_t received = 0, counted = 0;

		if (epoch == open && epochs_is_end(run->epochs, open) && run_finished(run))
			break;
		if (epoch >= open || !epochs_is_closed(run->epochs, epoch)) {
			sched_yield();
			continue;
		}
		info = *epochs_info(run->epochs, epoch);
		for (uint32_t w = 0; w < run->nb_workers; w++) {
			struct generation *generation = worker_generation(run->workers[w], epoch);

			received += generation->received;
			counted += generation->counted;
			totals.measured += generation->measured;
			totals.rx_cycles += generation->rx_cycles;
			totals.ppt_cycles += generation->ppt_cycles;
			totals.free_cycles += generation->free_cycles;
		}
		for (uint32_t r = 0; r < run->nb_rx_cores; r++) {
			struct rx_core_generation *generation =
				rx_core_generation(run->rx_cores[r], epoch);
			uint64_t dropped = 0;

			received += generation->received;
			totals.handed_cycles += generation->rx_cycles;
			for (uint32_t w = 0; w < run->nb_workers; w++)
				dropped += generation->ring_full[w];
			totals.ring_full += dropped;
			totals.unbalanced += generation->received != counted + dropped;
		}
		for (uint32_t i = 0; merged != NULL && i < plan.nb_instances; i++)
			for (uint32_t m = 0; m < plan.nb_measurements; m++)
				assert_int_equal(merged[m]->ops->merge(merged[m],
							 run_measurements(run, epoch)
								 ->sketches[epoch & 1][i][m]),
					0);
		totals.received += received;
		totals.fed += info.fed;
		totals.end = info.end;
		totals.dropped += info.dropped;
		totals.unbalanced += received + info.dropped != info.fed;
		totals.epochs++;
		totals.resized += recycle(run, epoch++);
	}
	run_join(run);
	atomic_store(&watching, false);
	assert_cycles(&totals, run, rte_rdtsc() - start);
	run_destroy(run);
	return totals;
}

static struct sketch *make_like(const struct config *config, uint32_t m)
{
	static struct plan plan;
	struct plan_ports ports = {0};
	struct sketch_params params;
	char error[PLAN_TEXT_MAX];

	assert_true(plan_make(&plan, config, &topology, &ports, error));
	params = plan.measurements[m].params;
	params.allocator = sketch_allocator_malloc;
	return plan.measurements[m].ops->create(&params);
}

/* A kind of run: every design, and every dispatch rule. */
struct way {
	const char *design;
	enum dispatch dispatch;
};

static const struct way ways[] = {
	{"rss", DISPATCH_FLOW},
	{"async", DISPATCH_FLOW},
	{"async", DISPATCH_ROUND_ROBIN},
	{"sync", DISPATCH_FLOW},
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Sketches whose counters add up for any split of the stream and any sharing. */
static const char *const additive[] = {"count-min", "reversible"};
static const enum sketch_sharing sharings[] = {SHARING_SEPARATE, SHARING_SHARED};

static void check_equality(const struct way *way, enum sketch_sharing sharing,
	const char *sketch_name, uint32_t workers)
{
	const uint64_t n = 20000;
	struct config config = make_config(way->design, workers, 4000000);
	struct test_source source = make_source(n, 5000, 1000);
	struct sketch *merged[2], *direct, *whole;
	struct totals totals;

	edit_async_options(&config)->dispatch = way->dispatch;
	edit_plan_options(&config)->sharing = sharing;
	for (uint32_t m = 0; m < 2; m++) {
		edit_measurement_options(&config.measurements[m])->sketch =
			sketch_index(sketch_find(sketch_name));
		merged[m] = make_like(&config, m);
	}
	totals = run_through(&config, &source, merged);
	assert_int_equal(totals.received, n);
	assert_int_equal(totals.measured, n);
	assert_int_equal(totals.ring_full, 0);
	assert_int_equal(totals.unbalanced, 0);
	assert_int_equal(totals.epochs, n * 1000 / epoch_options(&config)->interval);
	for (uint32_t m = 0; m < 2; m++) {
		const struct key_rule *rule = &measurement_options(&config.measurements[m])->key;

		source.next = 0;
		direct = make_like(&config, m);
		feed_directly(direct, rule, seed_options(&config)->seed, &source);
		whole = merged_of(direct);
		assert_same_estimates(
			merged[m], whole, rule, seed_options(&config)->seed, source.flows);
		whole->ops->destroy(whole);
		direct->ops->destroy(direct);
		merged[m]->ops->destroy(merged[m]);
	}
}

static void test_workers_equal_one_sketch(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++)
		for (size_t sharing = 0; sharing < 2; sharing++)
			for (size_t sketch = 0; sketch < 2; sketch++)
				for (uint32_t workers = 1; workers <= WORKERS_MAX; workers *= 2)
					check_equality(&ways[i], sharings[sharing],
						additive[sketch], workers);
}

/* One packet or three per epoch: most queues are empty most of the time. */
static void test_tiny_epochs(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++)
		for (uint32_t per_epoch = 1; per_epoch <= 3; per_epoch += 2) {
			const uint64_t n = 1500;
			struct config config = make_config(ways[i].design, WORKERS_MAX, 3000000);
			struct test_source source = make_source(n, 100, 3000000 / per_epoch);
			struct totals totals;

			edit_async_options(&config)->dispatch = ways[i].dispatch;
			totals = run_through(&config, &source, NULL);
			assert_int_equal(totals.epochs, n / per_epoch);
			assert_int_equal(totals.received, n);
			assert_int_equal(totals.unbalanced, 0);
		}
}

/* Few flows: each copy shrinks in each generation, and then follows its flows. */
static void test_widths_change_one_by_one(void **state)
{
	struct config config = make_config("async", 3, 10000000);
	struct test_source source = make_source(6000, 100, 10000);
	struct totals totals;

	(void)state;
	config.nb_measurements = 1;
	edit_measurement_options(&config.measurements[0])->sketch =
		sketch_index(sketch_find("iblt"));
	edit_measurement_options(&config.measurements[0])->width = 0;
	edit_iblt_options(&config.measurements[0])->load = 0.7;
	totals = run_through(&config, &source, NULL);
	assert_int_equal(totals.epochs, 6);
	assert_int_equal(totals.measured, 6000);
	assert_true(totals.resized >= 3 * 2);
}

static void test_nothing_to_feed(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		struct config config = make_config(ways[i].design, 2, 0);
		struct test_source source = make_source(0, 1, 1);
		struct totals totals = run_through(&config, &source, NULL);

		assert_int_equal(totals.epochs, 0);
		assert_int_equal(totals.received, 0);
	}
}

/* A pipe may deliver the packet after the last one much later. */
static void test_no_packet_is_awaited_behind_the_last(void **state)
{
	struct config config = make_config("rss", 2, 0);
	struct test_source source = make_source(100, 10, 1000);
	struct totals totals;

	(void)state;
	edit_feeder_options(&config)->packets = 10;
	totals = run_through(&config, &source, NULL);
	assert_int_equal(totals.received, 10);
	assert_int_equal(source.next, 10);
}

/*
 * An interval cut by a packet limit ends at the last packet; one cut by a duration ends at its end.
 */
static void test_a_limit_breaks_the_interval_off(void **state)
{
	static const struct {
		uint64_t packets, duration;
		int64_t end;
	} rows[] = {{1500, 0, 1499}, {0, 1500, 1500}, {0, 2000, 2000}, {0, 1000, 1000},
		{0, 0, 3000}, {5000, 0, 3000}, {0, 5000, 3000}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct config config = make_config("rss", 2, 1000000);
		struct test_source source = make_source(2500, 10, 1000);

		edit_feeder_options(&config)->packets = rows[i].packets;
		edit_feeder_options(&config)->duration = rows[i].duration * 1000;
		assert_int_equal(
			run_through(&config, &source, NULL).end % 1000000000, rows[i].end * 1000);
	}
}

/* The pool for long packets is the last allocation of a feeder: its name is taken. */
static void test_feeder_without_a_pool(void **state)
{
	static struct source source;
	struct feeder_params params = {
		.source = &source,
		.nb_queues = 1,
		.descriptors = 64,
		.mbufs = 255,
		.mbuf_room = RTE_PKTMBUF_HEADROOM + 128,
		.node = -1,
	};
	char error[SOURCE_ERROR_MAX] = "", name[RTE_MEMPOOL_NAMESIZE];
	struct feeder *feeder = feeder_create(&params, error);
	struct rte_mempool *pool;
	uint32_t serial = 0;

	(void)state;
	assert_non_null(feeder);
	do
		snprintf(name, sizeof(name), "long%u", ++serial);
	while (rte_mempool_lookup(name) == NULL);
	feeder_destroy(feeder);
	snprintf(name, sizeof(name), "long%u", serial + 1);
	pool = rte_pktmbuf_pool_create(name, 1, 0, 0, RTE_PKTMBUF_HEADROOM, SOCKET_ID_ANY);
	assert_non_null(pool);
	assert_null(feeder_create(&params, error));
	assert_non_null(strstr(error, "out of memory for 255 mbufs and 1 rings of 64"));
	rte_mempool_free(pool);
}

/* Headers that share cache sets would be evicted before their packets are sent. */
static void test_mbufs_share_no_cache_set(void **state)
{
	struct rte_mempool *pool = pool_create("sets", 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, -1);
	struct rte_mbuf *mbufs[64];
	uint32_t users[64] = {0}; /* index: bits 6 to 11, the set of a cache with 4 KB per way */

	(void)state;
	assert_non_null(pool);
	assert_int_equal(rte_pktmbuf_alloc_bulk(pool, mbufs, 64), 0);
	for (uint32_t i = 0; i < 64; i++) {
		assert_true(++users[(uintptr_t)mbufs[i] / 64 % 64] <= 4);
		assert_int_equal(mbufs[i]->data_len, 0);
		assert_int_equal(rte_pktmbuf_tailroom(mbufs[i]), RTE_MBUF_DEFAULT_DATAROOM);
		if (rte_eal_iova_mode() == RTE_IOVA_VA)
			assert_int_equal(mbufs[i]->buf_iova, (uintptr_t)mbufs[i]->buf_addr);
	}
	assert_int_equal(rte_mempool_avail_count(pool), 0);
	rte_pktmbuf_free_bulk(mbufs, 64);
	assert_int_equal(rte_mempool_avail_count(pool), 64);
	rte_mempool_free(pool);
	/* Its memory and its name are available again. */
	pool = pool_create("sets", 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, -1);
	assert_non_null(pool);
	rte_mempool_free(pool);
}

/* Paced far beyond the capacity of small rings: losses are counted by reason, the rest arrives. */
static void test_paced_losses_are_counted(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		struct config config = make_config(ways[i].design, 1, 0);
		struct test_source source = make_source(300000, 100, 1);
		struct totals totals;

		edit_feeder_options(&config)->pace = PACE_RATE;
		edit_feeder_options(&config)->pace_rate = 1000000000;
		edit_port_options(&config)->descriptors = 64;
		edit_async_options(&config)->dispatch = ways[i].dispatch;
		totals = run_through(&config, &source, NULL);
		assert_int_equal(totals.fed, 300000);
		assert_int_equal(totals.unbalanced, 0);
		assert_true(totals.dropped + totals.ring_full > 0);
		assert_true(totals.received > 0);
		assert_int_equal(totals.measured, totals.received - totals.ring_full);
	}
}

#ifndef SANITIZED
static void test_lcores_do_not_allocate(void **state)
{
	(void)state;
	for (size_t i = 0; i < WAYS; i++) {
		struct config config = make_config(ways[i].design, 2, 10000000);
		struct test_source source = make_source(100000, 5000, 1000);

		edit_async_options(&config)->dispatch = ways[i].dispatch;
		atomic_store(&allocations, 0);
		run_through(&config, &source, NULL);
		assert_int_equal(atomic_load(&allocations), 0);
	}
}

/* Checks the check: an allocation of another thread is detected. */
static void *allocate(void *arg)
{
	void *volatile memory = malloc(16);

	free(memory);
	return arg;
}

static void test_allocations_are_seen(void **state)
{
	pthread_t thread;

	(void)state;
	atomic_store(&allocations, 0);
	atomic_store(&watching, true);
	assert_int_equal(pthread_create(&thread, NULL, allocate, NULL), 0);
	pthread_join(thread, NULL);
	atomic_store(&watching, false);
	assert_true(atomic_load(&allocations) > 0);
}
#endif

/* Reads the TSC and the clock at the same time. */
static void read_both(uint64_t *tsc, int64_t *ns)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t before = rte_rdtsc();
		int64_t now = clock_now(CLOCK_MONOTONIC_RAW);
		uint64_t after = rte_rdtsc();

		if (after - before >= least)
			continue;
		least = after - before;
		*tsc = before;
		*ns = now;
	}
}

/* The frequency of the TSC is as exact as EAL rounds it, 10 MHz, although the start is short. */
static void test_start_sleeps_briefly(void **state)
{
	const struct timespec asked = {.tv_nsec = 100000000};
	uint64_t first = 0, last = 0;
	int64_t start = 0, end = 0;
	double hz;

	(void)state;
	assert_in_range(longest, 0, 10000000);
	read_both(&first, &start);
	timing = true;
	assert_int_equal(nanosleep(&asked, NULL), 0);
	timing = false;
	read_both(&last, &end);
	assert_int_equal(longest, 100000000); /* other sleeps keep their time */
	hz = (double)(last - first) * SECOND_NS / (double)(end - start);
	assert_true(fabs(hz - (double)rte_get_tsc_hz()) < 10e6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_start_sleeps_briefly),
		cmocka_unit_test(test_workers_equal_one_sketch),
		cmocka_unit_test(test_tiny_epochs),
		cmocka_unit_test(test_widths_change_one_by_one),
		cmocka_unit_test(test_nothing_to_feed),
		cmocka_unit_test(test_no_packet_is_awaited_behind_the_last),
		cmocka_unit_test(test_a_limit_breaks_the_interval_off),
		cmocka_unit_test(test_feeder_without_a_pool),
		cmocka_unit_test(test_mbufs_share_no_cache_set),
		cmocka_unit_test(test_paced_losses_are_counted),
#ifndef SANITIZED
		cmocka_unit_test(test_allocations_are_seen),
		cmocka_unit_test(test_lcores_do_not_allocate),
#endif
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
