/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/accuracy.h"

#include <math.h>

#include "base/assertion.h"

struct bench_accuracy bench_accuracy(const struct workload *workload, uint32_t top,
	const struct bench_subject_flow *flows, uint32_t nb_flows)
{
	uint32_t nb_top = top < workload->nb_top ? top : workload->nb_top;
	uint64_t smallest = workload->top[nb_top - 1].packets;
	struct bench_accuracy accuracy = {.known = workload->top[0].packets > 1};
	double top_error = 0;
	uint32_t right = 0;

	VERIFY(nb_top, >, 0u);
	for (uint32_t i = 0; i < nb_flows; i++) {
		uint64_t truth = workload_truth(workload, &flows[i].key);

		/* Counts an invented key like a key with one packet. */
		double error = fabs((double)flows[i].packets - (double)truth) /
			       (double)(truth > 0 ? truth : 1);

		accuracy.relative_error += error;
		if (truth >= smallest) {
			right++;
			top_error += error;
		}
	}
	accuracy.recall = (double)right / nb_top;
	accuracy.precision = nb_flows > 0 ? (double)right / nb_flows : 0;
	accuracy.relative_error = nb_flows > 0 ? accuracy.relative_error / nb_flows : 1;
	accuracy.top_error = (top_error + (nb_top - right)) / nb_top;
	return accuracy;
}
