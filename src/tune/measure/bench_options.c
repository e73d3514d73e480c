/* SPDX-License-Identifier: BSD-3-Clause */
#include "tune/measure/bench_options.h"

#include <string.h>

#include "base/units.h"
#include "sketch/sketch.h"

#define ZIPF_E6_MAX 10000000 /* same limit as --synthetic */

const struct option_owner bench_owner = {.size = sizeof(struct bench_options)};

const char *bench_inapplicable_without_shared(
	const struct config *config, const struct measurement_config *measurement)
{
	uint32_t tried = bench_options(config)->sharings;

	(void)measurement;
	return tried == 0 || (tried >> SHARING_SHARED & 1) != 0 ? NULL : "without --sharing shared";
}

static bool draws_flows(const struct config *config)
{
	const struct bench_options *bench = bench_options(config);

	for (uint32_t i = 0; i < bench->zipf.n; i++)
		if (bench->zipf.values[i] != BENCH_ZIPF_RANDOM)
			return true;
	return bench->zipf.n == 0;
}

const char *bench_inapplicable_without_flows(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return draws_flows(config) ? NULL : "without traffic that is drawn from flows";
}

bool bench_read_zipf(const struct option_text *text)
{
	uint64_t e6;

	if (strcmp(text->text, "uniform") == 0)
		return option_add_value(text, 0);
	if (strcmp(text->text, "random") == 0)
		return option_add_value(text, BENCH_ZIPF_RANDOM);
	if (units_millionths(text->text, &e6) != NULL || e6 > ZIPF_E6_MAX)
		return option_set_error(text,
			"invalid; give exponents from 0 to 10 with at most six decimals, "
			"uniform or random");
	return option_add_value(text, e6);
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
