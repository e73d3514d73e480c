/* SPDX-License-Identifier: BSD-3-Clause */

/* Fill levels of a worker's queue after a poll, from each kind of driver. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <rte_ethdev.h>

#include "parallel/workers/poll.h"

#define ENTRIES 1024
#define BURST   64

/* The queue of a port whose driver reports its fill level in one of several ways. */
static int packets; /* waiting packets */
static void *queues[1] = {&packets};

static int status(void *queue, uint16_t offset)
{
	return offset < *(int *)queue ? RTE_ETH_RX_DESC_DONE : RTE_ETH_RX_DESC_AVAIL;
}

static uint32_t number(void *queue)
{
	return (uint32_t) * (int *)queue;
}

static void begin(struct poller *poller, struct shed_worker *shed, enum queue_fill expected)
{
	*poller = (struct poller){.nb_queues = 1, .burst = BURST, .shed = shed};
	shed_worker_init(shed, 1, 0);
	queue_shedding_init(&shed->shedding, 1);
	rte_eth_fp_ops[0].rxq.data = queues;
	poll_queue_fill(&poller->queues[0], ENTRIES, NULL);
	assert_int_equal(poller->queues[0].fill, expected);
}

static void look(struct poller *poller, uint32_t polled, int left, enum shed_level expected)
{
	packets = left;
	poll_look(poller, 0, polled);
	assert_int_equal(poller->shed->shedding.level, expected);
}

/* Some drivers return at most 32 packets at a time. */
static void check_asked(enum queue_fill fill)
{
	struct poller poller;
	struct shed_worker shed;

	begin(&poller, &shed, fill);
	look(&poller, 32, 100, SHED_LEVEL_FULL);
	assert_true(shed_worker_is_calm(&shed, 0));
	look(&poller, 32, 300, SHED_LEVEL_WAIT);
	look(&poller, 32, 1000, SHED_LEVEL_COUNT);
	assert_true(shed.backlog >= 768);
	look(&poller, 1, 800, SHED_LEVEL_COUNT);
	look(&poller, 32, 300, SHED_LEVEL_SOME);
	look(&poller, 64, 1, SHED_LEVEL_WAIT);
	look(&poller, 32, 0, SHED_LEVEL_FULL);
	assert_true(shed_worker_is_calm(&shed, 0));
	look(&poller, 64, 1000, SHED_LEVEL_COUNT);
	look(&poller, 0, 0, SHED_LEVEL_SOME);
}

static void test_descriptors(void **state)
{
	(void)state;
	rte_eth_fp_ops[0].rx_descriptor_status = status;
	check_asked(QUEUE_FILL_DESCRIPTORS);
	rte_eth_fp_ops[0].rx_descriptor_status = NULL;
}

static void test_count(void **state)
{
	(void)state;
	rte_eth_fp_ops[0].rx_queue_count = number;
	check_asked(QUEUE_FILL_COUNT);
	rte_eth_fp_ops[0].rx_queue_count = NULL;
}

/* Successive full polls count as a full queue at most. */
static void test_polls(void **state)
{
	struct poller poller;
	struct shed_worker shed;

	(void)state;
	begin(&poller, &shed, QUEUE_FILL_POLLS);
	for (uint32_t i = 1; i < ENTRIES / BURST; i++)
		look(&poller, BURST, 0, (enum shed_level)(i * BURST / (ENTRIES / 4)));
	for (uint32_t i = 0; i < 2 * ENTRIES; i++)
		look(&poller, BURST, 0, SHED_LEVEL_COUNT);
	assert_int_equal(shed.backlog, ENTRIES);
	look(&poller, BURST - 1, 0, SHED_LEVEL_SOME);
	look(&poller, 0, 0, SHED_LEVEL_WAIT);
	look(&poller, 0, 0, SHED_LEVEL_FULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_polls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
