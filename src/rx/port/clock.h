/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Clock of the timestamps of a device. The reporter thread reads it once a second, and publishes a
 * linear function with which workers convert timestamps to UTC.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "rx/port/clock_model.h"
#include "rx/packet/packet_times.h"
#include "rx/port/messages.h"
#include "rx/port/drivers.h"

enum timestamps {
	TIMESTAMPS_AUTO, /* timestamp of the device; time of the poll if it has none */
	TIMESTAMPS_POLL,
	TIMESTAMPS_COARSE, /* --kernel: time of the last kernel tick */
};

struct clock_options {
	enum timestamps timestamps;
};

OPTION_OWNER(clock)

struct port_clock {
	bool on; /* packets carry usable timestamps */
	enum port_stamps stamps;
	uint16_t port;
	int64_t read; /* monotonic ns of the last reading */
	struct clock_model model;
	struct clock_board board;
};

/* Call it before the device is configured. Returns the offloads to enable. */
uint64_t port_clock_choose(struct port_clock *clock, uint16_t port, const char *name,
	const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages);

/* Call it after the start of the device. Takes 20 ms if the clock must be read. */
void port_clock_start(struct port_clock *clock, const char *name, struct port_messages *messages);

/* Reads the clock if a second has passed. `now`: monotonic ns. */
void port_clock_look(struct port_clock *clock, int64_t now);

void port_clock_tell(struct port_clock *clock, struct packet_times *times);
