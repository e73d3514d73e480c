/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Accuracy of a subject's heaviest keys, compared to the exact counts of the workload. */

#include "tune/measure/bench_subject.h"

struct bench_accuracy {
	bool known;            /* false: no key has a second packet, so none is heavy */
	double recall;         /* reported keys of the top / keys of the top */
	double precision;      /* reported keys of the top / reported keys */
	double relative_error; /* mean of |estimate - truth| / truth of the reported keys */
	double top_error;      /* same for the keys of the top; 1 for a key not reported */
};

/*
 * Compares with the `top` heaviest keys of the workload, at most WORKLOAD_TOP_MOST, or with all if
 * there are fewer. Any key with as many packets as the last of them belongs to the top: ties for
 * the last place are all correct.
 */
struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows);
