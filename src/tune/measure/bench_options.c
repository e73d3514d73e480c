/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/bench_options.h"

#include "sketch/sketch.h"

const struct option_owner bench_owner = {.size = sizeof(struct bench_options)};

const char *bench_inapplicable_without_shared(
	const struct config *config, const struct measurement_config *measurement)
{
	uint32_t tried = bench_options(config)->sharings;

	(void)measurement;
	return tried == 0 || (tried >> SHARING_SHARED & 1) != 0 ? NULL : "without --sharing shared";
}

bool bench_check_widths(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct bench_options *bench = bench_options(config);

	(void)measurement;
	for (uint32_t s = 0; sketches[s] != NULL; s++)
		for (uint32_t w = 0; w < bench->widths.n; w++) {
			struct sketch_params params = {.width = bench->widths.values[w]};
			const char *why = sketches[s]->check(&params);

			if (why != NULL && (bench->sketches == 0 || bench->sketches >> s & 1))
				return option_fault(fault, "width", NULL, "%llu for %s: %s",
					(unsigned long long)bench->widths.values[w],
					sketches[s]->name, why);
		}
	return true;
}
