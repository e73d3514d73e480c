/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Arrival times of packets of live ports: the device timestamp if its clock is known, else the time
 * of the poll. Each worker has one instance.
 */

#include <stdint.h>

#include <rte_mbuf.h>
#include <rte_mbuf_dyn.h>

#include "config/config.h"
#include "rx/packet/clock_line.h"
#include "config/option.h"

/* In ns, from arrival to poll. A device timestamp outside comes from another clock. */
#define PACKET_WAIT_MAX 60e9

struct packet_times {
	int64_t polled;   /* ns since 1970-01-01 UTC; set before each burst */
	uint64_t stamped; /* mbuf flag of a valid timestamp; 0: no timestamps */
	int offset;       /* byte offset of the timestamp in the mbuf */
	struct clock_line lines[RTE_MAX_ETHPORTS];
	uint32_t nb_boards;
	struct {
		struct clock_board *board;
		uint32_t seen;
		uint16_t port;
	} boards[OPTION_LIST_MAX]; /* clocks that update lines[] */
};

static inline void packet_times_follow(struct packet_times *times)
{
	for (uint32_t b = 0; b < times->nb_boards; b++)
		clock_board_read(times->boards[b].board, &times->boards[b].seen,
			&times->lines[times->boards[b].port]);
}

static inline int64_t packet_time(const struct packet_times *times, struct rte_mbuf *mbuf)
{
	const struct clock_line *line;
	double waited;

	if ((mbuf->ol_flags & times->stamped) == 0 || mbuf->port >= RTE_MAX_ETHPORTS)
		return times->polled;
	line = &times->lines[mbuf->port];
	waited = (double)(times->polled - line->utc) -
		 clock_line_ns(
			 line, *RTE_MBUF_DYNFIELD(mbuf, times->offset, rte_mbuf_timestamp_t *));
	if (!(waited > 0 && waited < PACKET_WAIT_MAX))
		return times->polled;
	return times->polled - (int64_t)waited;
}
