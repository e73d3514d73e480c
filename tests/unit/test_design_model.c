/* SPDX-License-Identifier: BSD-3-Clause */

/* Compares the model of the designs with the losses that follow from their service times. */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bench/design_model.h"

#define RATE 72e6

static void assert_near(double value, double expected, double error)
{
	if (fabs(value - expected) > error)
		fail_msg("%g is not %g", value, expected);
}

static struct design_outcome run(
	const char *design, uint32_t workers, const struct design_costs *costs)
{
	return design_model_run(&(struct design_load){design, workers, RATE}, costs);
}

/* Returns the loss of a server that takes `ns` per packet. */
static double loss_of(double ns)
{
	return fmax(1 - 1e9 / ns / RATE, 0);
}

/* Both parts of a cost follow from two sizes of bursts, and are never negative. */
static void test_burst_cost(void **state)
{
	struct burst_cost cost = burst_cost_of((struct card_step){64, 10 + 128.0 / 64},
				  (struct card_step){4, 10 + 128.0 / 4}),
			  same = burst_cost_of(
				  (struct card_step){2, 30}, (struct card_step){2, 31}),
			  falling = burst_cost_of(
				  (struct card_step){64, 30}, (struct card_step){2, 20}),
			  steep = burst_cost_of(
				  (struct card_step){2, 10}, (struct card_step){1, 40});

	(void)state;
	assert_near(cost.packet_ns, 10, 1e-9);
	assert_near(cost.burst_ns, 128, 1e-9);
	assert_near(same.packet_ns, 30, 1e-9);
	assert_near(same.burst_ns, 0, 1e-9);
	assert_near(falling.packet_ns, 30, 1e-9);
	assert_near(falling.burst_ns, 0, 1e-9);
	assert_near(steep.packet_ns, 0, 1e-9);
	assert_near(steep.burst_ns, 20, 1e-9);
}

static void test_rss(void **state)
{
	struct design_costs costs = {.poll = {5, 64}, .work = {15, 128}, .loop_ns = 32};
	struct design_outcome one = run("rss", 1, &costs), six = run("rss", 6, &costs);

	(void)state;
	assert_near(one.drop_rate, loss_of(20 + (64 + 128 + 32) / 64.0), 1e-3);
	assert_near(one.poll_ns, 5 + 1, 0.01);
	assert_near(one.work_ns, 15 + 2, 0.01);
	assert_near(six.drop_rate, 0, 1e-9);
	/* 1 packet takes 20 ns less than it has, and these pay for its part of a burst. */
	assert_near(six.poll_ns + six.work_ns, 6e9 / RATE, 20);
	assert_true(six.work_ns > one.work_ns);
}

/* Workers count their parts of a burst at the same time. Receiving and handing over are serial. */
static void test_sync(void **state)
{
	struct design_costs costs = {.poll = {5, 0}, .work = {40, 64}, .handover_ns = 400};
	struct design_outcome one = run("sync", 1, &costs), four = run("sync", 4, &costs),
			      twelve = run("sync", 12, &costs);

	(void)state;
	assert_near(one.drop_rate, loss_of(5 + 40 + (64 + 400) / 64.0), 1e-3);
	assert_near(four.drop_rate, loss_of(5 + (64 * 40 + 64 + 4 * 400) / 256.0), 1e-3);
	/* A poll returns at most 512 packets: 43 for a worker. */
	assert_near(twelve.drop_rate, loss_of(5 + (43 * 40 + 64 + 12 * 400) / 512.0), 1e-3);
	assert_near(twelve.work_ns, 40 + 64 * 12 / 512.0, 0.1);
}

/* The slower of receiver and workers limits the rate; freed packets slow the receiver down. */
static void test_async(void **state)
{
	struct design_costs costs = {.poll = {20, 0}, .work = {50, 0}, .free_ns = 10};
	struct design_outcome two = run("async", 2, &costs), six = run("async", 6, &costs);

	(void)state;
	assert_near(two.drop_rate, loss_of(25), 1e-3);
	/* The share d solves d = 1 - 40 Mpps (20 ns + d 10 ns). */
	assert_near(two.ring_drop, 0.2 / 1.4, 1e-3);
	assert_near(two.poll_ns, 20 + 10 * 0.2 / 1.4, 0.05);
	assert_near(six.drop_rate, loss_of(20), 1e-3);
	assert_near(six.ring_drop, 0, 1e-9);
	costs.handover_ns = 64;
	six = run("async", 6, &costs);
	assert_near(six.drop_rate, loss_of(26), 1e-3);
	assert_near(six.poll_ns, 26, 0.05);
}

/* Runs that the model fails count, with and without contention, however many workers they have. */
static void test_errors(void **state)
{
	static const struct model_run runs[] = {
		{.workers = 1, .cost_workers = 1, .fitted = true, .drop_error = 1},
		{.workers = 2, .cost_workers = 2, .drop_error = -0.125},
		{.workers = 1, .cost_workers = 1, .drop_error = 0.0625},
		{.workers = 2, .cost_workers = 1, .drop_error = -0.75},
		{.workers = 3, .cost_workers = 1, .drop_error = 0.5},
	};
	struct model_errors errors = {0};

	(void)state;
	for (size_t r = 0; r < sizeof(runs) / sizeof(runs[0]); r++)
		model_errors_add(&errors, &runs[r]);
	assert_int_equal(errors.same.runs, 2);
	assert_near(errors.same.drop, 0.125, 0);
	assert_int_equal(errors.more.runs, 2);
	assert_near(errors.more.drop, 0.75, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_burst_cost),
		cmocka_unit_test(test_rss),
		cmocka_unit_test(test_sync),
		cmocka_unit_test(test_async),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
