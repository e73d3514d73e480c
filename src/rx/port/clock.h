/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * The clock by which a device stamps the packets that it receives, and how it stands to UTC. Read
 * by the reporter, once a second; workers follow the line on its board.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_ethdev.h>

#include "config/config.h"
#include "rx/port/clock_model.h"
#include "rx/packet/packet_times.h"
#include "rx/port/messages.h"
#include "rx/port/drivers.h"

/* When a port's packets came. */
enum timestamps {
	TIMESTAMPS_AUTO, /* what the device says, else when they were polled */
	TIMESTAMPS_POLL,
	TIMESTAMPS_COARSE, /* --kernel: the kernel's tick */
};

struct clock_options {
	enum timestamps timestamps;
};

OPTION_OWNER(clock)

struct port_clock {
	bool on; /* packets carry usable timestamps */
	enum port_stamps stamps;
	uint16_t port;
	int64_t read; /* monotonic ns, last */
	struct clock_model model;
	struct clock_board board;
};

/*
 * Decides before the configuration of the device whether its timestamps are needed and available.
 * Returns the offloads to enable, and adds messages for the user.
 */
uint64_t port_clock_choose(struct port_clock *clock, uint16_t port, const char *name,
	const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages);

/* After it was started. Takes the 20 ms between two readings of a clock that has to be read. */
void port_clock_start(struct port_clock *clock, const char *name, struct port_messages *messages);

/* Call often: it reads the clock where a second has passed. now: monotonic ns. */
void port_clock_look(struct port_clock *clock, int64_t now);

/* A worker's packets may be of this port. */
void port_clock_tell(struct port_clock *clock, struct packet_times *times);
