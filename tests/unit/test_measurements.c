/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Steps to other keys: the generation that has them, the sketches that use them, and the way back.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "parallel/run/measurements.h"
#include "parallel/shed/shed_options.h"
#include "parallel/workers/shed_worker.h"
#include "sketch/measurement.h"

#define WORKERS      2
#define MEASUREMENTS 4

static struct topology topology;
static struct config config;
static struct plan plan;
static struct hash_key hash_key;

static const char *const own_keys[MEASUREMENTS] = {"5tuple", "src-dst", "src", "dst"};
static const char *const key_steps[MEASUREMENTS] = {
	"key:src-dst, rate:1/2, key:src, off", "key:src", "rate:1/2, off", "key:dst/24"};

static void make_config(uint32_t m)
{
	struct measurement_config *measurement = &config.measurements[m];

	*measurement = (struct measurement_config){.name = own_keys[m]};
	*edit_measurement_options(measurement) = (struct measurement_options){
		.key = *key_rule_find(own_keys[m]),
		.sketch = sketch_index(sketch_find("flow-table")),
		.width = 64,
		.top = 10,
	};
	*edit_steps_options(measurement) =
		(struct steps_options){.priority = 1, .steps = key_steps[m]};
}

static int create(void **state)
{
	struct plan_ports ports = {0};
	char error[PLAN_TEXT_MAX];

	config = (struct config){.nb_measurements = MEASUREMENTS};
	edit_plan_options(&config)->sharing = SHARING_SEPARATE;
	edit_plan_options(&config)->workers = WORKERS;
	edit_hugepages_options(&config)->no_huge = true;
	for (uint32_t m = 0; m < MEASUREMENTS; m++)
		make_config(m);
	hash_key_init(&hash_key, 1);
	if (!plan_make(&plan, &config, &topology, &ports, error))
		return -1;
	*state = measurements_create(&plan, &hash_key, false, true);
	return *state != NULL ? 0 : -1;
}

static int destroy(void **state)
{
	measurements_destroy(*state);
	return 0;
}

/* Asserts the keys and the number of key rules in the generation of `epoch`. */
static void expect_keys(const struct measurements *measurements, uint64_t epoch,
	const char *const keys[MEASUREMENTS], uint32_t rules)
{
	for (uint32_t m = 0; m < MEASUREMENTS; m++) {
		struct key_rule rule;
		char why[KEY_RULE_WHY_MAX];

		assert_true(key_rule_parse(&rule, keys[m], why));
		assert_true(key_rule_equal(measurements_key(measurements, m, epoch), &rule));
		for (uint32_t w = 0; w < WORKERS; w++) {
			const struct sketch *sketch = measurements->sketches[epoch & 1][w][m];
			const struct counting *counting = measurements->counting[epoch & 1][w];
			uint32_t r = counting->key_rule_of[m];

			assert_true(key_rule_equal(sketch->params.key, &rule));
			assert_in_range(r, 0, counting->nb_key_rules - 1);
			assert_true(key_rule_equal(counting->key_rules[r], &rule));
			assert_int_equal(counting->nb_key_rules, rules);
		}
	}
}

static void test_own_keys(void **state)
{
	expect_keys(*state, 0, own_keys, 4);
	expect_keys(*state, 1, own_keys, 4);
	measurements_rekey(*state, 2); /* without requested steps */
	expect_keys(*state, 2, own_keys, 4);
}

static void test_one_generation(void **state)
{
	static const char *const once[MEASUREMENTS] = {"src-dst", "src-dst", "src", "dst"};
	static const char *const twice[MEASUREMENTS] = {"src", "src", "src", "dst/24"};

	measurements_step(*state, 0, 2);
	expect_keys(*state, 0, own_keys, 4);
	measurements_rekey(*state, 2);
	expect_keys(*state, 2, once, 4); /* the 5-tuple has an unused rule */
	expect_keys(*state, 3, own_keys, 4);
	measurements_step(*state, 0, 4);
	measurements_step(*state, 1, 1);
	measurements_step(*state, 2, 2); /* step without another key */
	measurements_step(*state, 3, 1);
	expect_keys(*state, 3, own_keys, 4);
	measurements_rekey(*state, 3);
	expect_keys(*state, 2, once, 4);
	expect_keys(*state, 3, twice, 3);
}

static void test_back_again(void **state)
{
	for (uint64_t epoch = 2; epoch < 5; epoch++) {
		static const char *const coarse[MEASUREMENTS] = {"src", "src", "src", "dst/24"};

		for (uint32_t m = 0; m < MEASUREMENTS; m++)
			measurements_step(*state, m, m == 0 ? 3 : 1);
		measurements_rekey(*state, epoch);
		expect_keys(*state, epoch, coarse, 3);
		for (uint32_t m = 0; m < MEASUREMENTS; m++)
			measurements_step(*state, m, 0);
		measurements_rekey(*state, epoch);
		expect_keys(*state, epoch, own_keys, 4);
		expect_keys(*state, epoch + 1, own_keys, 4);
	}
}

/* Without steps to other keys, generations share their counting. */
static void test_no_key_steps(void **state)
{
	struct measurements *measurements;

	(void)state;
	for (uint32_t m = 0; m < MEASUREMENTS; m++)
		edit_steps_options(&config.measurements[m])->steps = "rate:1/2, off";
	measurements = measurements_create(&plan, &hash_key, false, true);
	assert_non_null(measurements);
	assert_ptr_equal(measurements->counting[0][0], measurements->counting[1][0]);
	measurements_step(measurements, 0, 2);
	measurements_rekey(measurements, 2);
	expect_keys(measurements, 2, own_keys, 4);
	measurements_destroy(measurements);
}

/* Shedding settings of a set do not apply to another set, which may have the same address. */
static void test_states_of_another_set(void **state)
{
	static struct shed_mailbox line;
	struct measurements *first = measurements_create(&plan, &hash_key, false, true), *second;
	struct shed_setting setting = SHED_SETTING_WHOLE;
	struct shed_worker shed;
	struct shed_counts counts = {0};

	(void)state;
	assert_non_null(first);
	shed_worker_init(&shed, 1, 0);
	shed_worker_govern(&shed, &line, UINT64_MAX);
	setting.number = 1;
	setting.of = first->number;
	setting.off = 1;
	atomic_store_explicit(&line.next, &setting, memory_order_release);
	shed_worker_obey(&shed, &counts);
	assert_int_equal(shed_worker_state(&shed, first->counting[0][0], 0)->off, 1);
	measurements_destroy(first);
	second = measurements_create(&plan, &hash_key, false, true);
	assert_non_null(second);
	assert_int_equal(shed_worker_state(&shed, second->counting[0][0], 1)->off, 0);
	measurements_destroy(second);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_own_keys, create, destroy),
		cmocka_unit_test_setup_teardown(test_one_generation, create, destroy),
		cmocka_unit_test_setup_teardown(test_back_again, create, destroy),
		cmocka_unit_test_setup_teardown(test_no_key_steps, create, destroy),
		cmocka_unit_test_setup_teardown(test_states_of_another_set, create, destroy),
	};

	topology_read(&topology, "");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
