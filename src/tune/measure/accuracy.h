/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* How right a contestant's heaviest keys are, against the exact counts of the workload. */

#include "tune/measure/bench_subject.h"

struct bench_accuracy {
	bool known;       /* false where no key has a second packet: no one is heavy */
	double recall;    /* reported keys that belong to the top, of as many as belong there */
	double precision; /* and of as many as were reported */
	double relative_error; /* mean of |estimate - truth| / truth of the reported keys */
	double top_error; /* the same of the keys that belong to the top; 1 of one not reported */
};

/*
 * The top are so many keys of the truth, at most WORKLOAD_TOP_MOST, or all where they are fewer. A
 * key belongs to it when it has as many packets as the last of the true top has: keys that
 * tie for the last place are all right.
 */
struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows);
