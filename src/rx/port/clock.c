/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API

#include "rx/port/clock.h"

#include <rte_cycles.h>
#include <rte_mbuf_dyn.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/units.h"
#include "sketch/sketch.h"
#include "rx/port/forwarding.h"
#include "rx/port/port_name.h"
#include "rx/source.h"
#include "sketch/measurement.h"

/* Microseconds between the first two readings of the device clock */
#define FIRST_US 20000
/* Number of readings. The one with the smallest error is used. */
#define READINGS 8

static bool can_be_read(uint16_t port)
{
	uint64_t ticks;

	return rte_eth_read_clock(port, &ticks) == 0;
}

static bool are_wanted(const struct config *config)
{
	return measurements_any(config, SKETCH_DETAILS) || forward_asked(config);
}

uint64_t port_clock_choose(struct port_clock *clock, uint16_t port, const char *name,
	const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages)
{
	bool offered = (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_TIMESTAMP) != 0;
	bool always = driver->stamps == PORT_STAMPS_US;

	*clock = (struct port_clock){.port = port};
	if (clock_options(config)->timestamps == TIMESTAMPS_POLL || !are_wanted(config) ||
		!(offered || always))
		return 0;
	if (driver->stamps == PORT_STAMPS_TICKS && !can_be_read(port)) {
		port_notice(messages,
			"%s has timestamps of a clock that its driver cannot read: packets get the "
			"time of their poll",
			name);
		return 0;
	}
	clock->on = true;
	clock->stamps = driver->stamps;
	return offered ? RTE_ETH_RX_OFFLOAD_TIMESTAMP : 0;
}

static struct clock_pair read_once(uint16_t port)
{
	struct clock_pair pair = {.error = INT64_MAX};
	int64_t before = clock_now(CLOCK_REALTIME), after;

	if (rte_eth_read_clock(port, &pair.ticks) != 0)
		return pair;
	after = clock_now(CLOCK_REALTIME);
	if (after < before) /* the system clock was set back */
		return pair;
	pair.error = (after - before) / 2;
	pair.utc = before + pair.error;
	return pair;
}

static struct clock_pair read_best(uint16_t port)
{
	struct clock_pair best = read_once(port);

	for (int i = 1; i < READINGS; i++) {
		struct clock_pair pair = read_once(port);

		if (pair.error < best.error)
			best = pair;
	}
	return best;
}

/* `unit_ns` is the unit of timestamps that already are UTC. */
static struct clock_line line_of_utc(int64_t unit_ns)
{
	int64_t units = clock_now(CLOCK_REALTIME) / unit_ns;

	return (struct clock_line){
		.ticks = (uint64_t)units,
		.utc = units * unit_ns,
		.ns_of_tick = (double)unit_ns,
	};
}

static void publish_line(struct port_clock *clock)
{
	struct clock_line line = {0};

	switch (clock->stamps) {
	case PORT_STAMPS_US: line = line_of_utc(1000); break;
	case PORT_STAMPS_NS: line = line_of_utc(1); break;
	case PORT_STAMPS_TICKS: {
		struct clock_pair pair = read_best(clock->port);

		clock_model_add(&clock->model, &pair);
		line = clock->model.line;
		break;
	}
	}
	clock_board_publish(&clock->board, &line);
}

void port_clock_start(struct port_clock *clock, const char *name, struct port_messages *messages)
{
	if (!clock->on)
		return;
	publish_line(clock);
	if (clock->stamps == PORT_STAMPS_TICKS) {
		rte_delay_us_sleep(FIRST_US);
		publish_line(clock);
	}
	port_notice(messages,
		"%s: packets have arrival timestamps; --timestamps poll uses the time of their "
		"poll",
		name);
}

void port_clock_look(struct port_clock *clock, int64_t now)
{
	if (!clock->on || now - clock->read < SECOND_NS)
		return;
	clock->read = now;
	publish_line(clock);
}

void port_clock_tell(struct port_clock *clock, struct packet_times *times)
{
	if (!clock->on || rte_mbuf_dyn_rx_timestamp_register(&times->offset, &times->stamped) != 0)
		return;
	VERIFY(times->nb_boards, <, OPTION_LIST_MAX);
	times->boards[times->nb_boards].board = &clock->board;
	times->boards[times->nb_boards++].port = clock->port;
}

OPTION_WORDS_OF(timestamps_word, [TIMESTAMPS_AUTO] = "auto", [TIMESTAMPS_POLL] = "poll",
	[TIMESTAMPS_COARSE] = "coarse")

static const char *inapplicable_without_times(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return !source_is(config, SOURCE_OF_FEEDER | SOURCE_RECORDS) && are_wanted(config)
		       ? NULL
		       : "without --port or --kernel and, in addition, --sketch flow-table or --forward";
}

static bool check_times(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	if (clock_options(config)->timestamps != TIMESTAMPS_COARSE ||
		source_of(config)->coarse_times)
		return true;
	return option_fault(
		fault, "timestamps", measurement, "coarse needs --kernel; use auto or poll");
}

static const struct option_row clock_rows[] = {
	{
		.name = "timestamps",
		.placeholder = "WHOSE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		.rare = true,
		.inapplicable = inapplicable_without_times,
		.word = timestamps_word,
		OPTION_FIELD(clock_options, timestamps),
		.default_text = "auto",
		.help = "Select the timestamps of packets. auto: of the device or the kernel, if "
			"a measurement or --forward needs them. poll: the time of the poll, which "
			"costs less. coarse: for --kernel, its tick of 1 to 10 ms.",
	},
	{0},
};

const struct option_owner clock_owner = {
	.rows = clock_rows,
	.size = sizeof(struct clock_options),
	.check = check_times,
};
