/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * First half of counting: turns a burst of packets into a burst of keys (second half:
 * parallel/workers/count.h). The packets are not used afterwards. One instance per lcore.
 */

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "parallel/workers/count.h"
#include "parallel/workers/packet_clock.h"
#include "rx/filter/filter.h"
#include "rx/packet/packet_times.h"
#include "rx/packet/parse_burst.h"

struct reader {
	/* Set before start. */
	bool replay;                         /* packets carry struct packet_meta */
	const struct filter *filter;         /* NULL: all packets are measured */
	uint16_t in_ports[RTE_MAX_ETHPORTS]; /* index of each device among the --port options */

	/* Owned by the lcore. */
	struct packet_clock clock;
	struct packet_times times;
};

/*
 * Fills `burst` with the keys of n <= BURST_MAX packets and the details that `counting` needs. Adds
 * filtered packets to *filtered. May reorder the packets.
 */
void reader_read(struct reader *reader, const struct counting *counting, struct rte_mbuf **pkts,
	uint32_t n, struct key_burst *burst, struct parse_counts *counts, uint64_t *filtered);

/* As reader_read(), with the time of each part. */
struct stage_timer;
void reader_read_timed(struct reader *reader, const struct counting *counting,
	struct rte_mbuf **pkts, uint32_t n, struct key_burst *burst, struct parse_counts *counts,
	uint64_t *filtered, struct stage_timer *timer);

/*
 * Counts packets that are not processed: adds their sizes to the frame sizes in `counts` and
 * returns their wire bytes.
 */
uint64_t reader_skip(const struct reader *reader, struct rte_mbuf *const *pkts, uint32_t n,
	struct parse_counts *counts);

/* As reader_read(), but keeps the packets and their order for further use. */
void reader_read_ahead(struct reader *reader, const struct counting *counting,
	struct rte_mbuf *const *pkts, uint32_t n, struct key_burst *burst,
	struct parse_counts *counts, uint64_t *filtered);

/* Returns the TSC of the arrival of a polled packet by its own timestamp, else `polled`. */
uint64_t reader_came(struct reader *reader, struct rte_mbuf *mbuf, uint64_t polled);
