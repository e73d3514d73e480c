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

const struct option_values *choices_of(
	const struct option_values *given, const struct option_values *otherwise)
{
	return given->n > 0 ? given : otherwise;
}

uint64_t choices_largest(const struct option_values *values)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < values->n; i++)
		if (values->values[i] > value)
			value = values->values[i];
	return value;
}

bool choices_has(uint32_t set, uint32_t i)
{
	return set == 0 || (set >> i & 1) != 0;
}

static uint32_t add_sketch(const struct bench_options *bench, struct bench_subject ours,
	struct bench_subject *subjects, uint32_t max)
{
	uint32_t n = 0;

	if (choices_has(bench->sharings, SHARING_SEPARATE) && n < max)
		subjects[n++] = ours;
	ours.sharing = SHARING_SHARED;
	for (uint32_t a = ATOMIC_CAS; a <= ATOMIC_ADD; a++) {
		ours.atomic = (enum sketch_atomic)a;
		if (ours.sketch->update[SHARING_SHARED] != NULL &&
			choices_has(bench->sharings, SHARING_SHARED) &&
			choices_has(bench->atomics, a) && n < max)
			subjects[n++] = ours;
	}
	return n;
}

uint32_t choices_subjects(const struct bench_options *bench, const struct option_values *threads,
	struct bench_subject *subjects, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t s = 0; sketches[s] != NULL; s++)
		for (uint32_t t = 0; choices_has(bench->sketches, s) && t < threads->n; t++) {
			const struct bench_subject ours = {
				.name = sketches[s]->name,
				.ops = &bench_subject_sketch,
				.sketch = sketches[s],
				.threads = (uint32_t)threads->values[t],
			};

			n += add_sketch(bench, ours, subjects + n, max - n);
		}
	return n;
}
