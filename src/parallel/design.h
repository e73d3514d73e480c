/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How packets reach the cores that count them. A design owns the loop of its lcores. */

struct worker;

struct design_ops {
	const char *name; /* the word after --design */
	/* The loop of a worker, until the last epoch was entered and its queues are empty. */
	void (*work)(struct worker *worker);
};

/* Every design there is, NULL at the end. */
extern const struct design_ops *const designs[];

const struct design_ops *design_find(const char *name);
