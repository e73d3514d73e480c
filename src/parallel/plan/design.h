/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How packets reach the cores that count them. A design owns the loops of its lcores. */

#include <stdint.h>

struct receiver;
struct worker;

struct design_ops {
	const char *name; /* the word after --design */
	/* Says what becomes of the packets that a receiver polls: enter(), take() and end() of its
	 * poller. NULL where workers receive. */
	void (*connect)(struct receiver *receiver);
	/* The loop of one of the nb_workers workers of a group, until it left the last epoch. */
	void (*work)(struct worker *worker, uint32_t nb_workers);
};

extern const struct design_ops design_rss, design_sync, design_async;

/* Every design there is, NULL at the end. */
extern const struct design_ops *const designs[];

/* By name; NULL where there is none. */
const struct design_ops *design_find(const char *name);
