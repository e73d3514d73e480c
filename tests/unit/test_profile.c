/* SPDX-License-Identifier: BSD-3-Clause */

/* A profile is read as written, damaged ones are refused, and estimates follow from its figures. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapt/calibrate.h"
#include "adapt/capacity.h"
#include "base/random.h"

static char error[PROFILE_ERROR_MAX];

static struct key_rule make_rule(const char *text)
{
	char why[KEY_RULE_WHY_MAX];
	struct key_rule rule;

	assert_true(key_rule_parse(&rule, text, why));
	return rule;
}

/* Adds a row of times with this mean in ns. */
static void add(struct profile *profile, struct profile_what what, double ns)
{
	struct profile_row row = {
		.what = what, .flows = what.sketch != NULL ? 7 : 0, .left_out = 3};
	double samples[100];

	for (uint32_t i = 0; i < 100; i++)
		samples[i] = ns * (0.505 + i * 0.01);
	row.times = distribution_of(samples, 100);
	assert_true(profile_add(profile, &row));
}

static struct profile_what sketch_of(
	const char *sketch, const char *key, enum profile_traffic traffic, uint64_t width)
{
	struct profile_what what = {
		.part = PROFILE_SKETCH,
		.traffic = traffic,
		.sketch = sketch_find(sketch),
		.depth = 4,
		.width = width,
		.metric = SKETCH_BYTES,
	};

	snprintf(what.key, sizeof(what.key), "%s", key);
	return what;
}

/* The mean of each part is its own power of two, so that every sum shows its parts. */
static struct profile make_profile(void)
{
	struct profile profile = {
		.host.facts = {"some CPU, caches 1K", "sketchtap 0, a compiler", "DPDK 0"}};
	struct profile_what key = {.part = PROFILE_KEY, .key = "5tuple"};

	add(&profile, (struct profile_what){.part = PROFILE_TIMER, .single = true}, 1024);
	add(&profile, (struct profile_what){.part = PROFILE_RECEIVE}, 1);
	add(&profile, (struct profile_what){.part = PROFILE_FREE}, 2);
	add(&profile, (struct profile_what){.part = PROFILE_PARSE}, 4);
	add(&profile, (struct profile_what){.part = PROFILE_DISTINCT}, 8);
	add(&profile, key, 16);
	strcpy(key.key, "src,dst_port");
	add(&profile, key, 32);
	add(&profile, sketch_of("count-min", "5tuple", PROFILE_CACHED, 1024), 64);
	add(&profile, sketch_of("count-min", "5tuple", PROFILE_UNCACHED, 1024), 128);
	add(&profile, sketch_of("flow-table", "src,dst_port", PROFILE_CACHED, 4096), 256);
	add(&profile, sketch_of("flow-table", "src,dst_port", PROFILE_UNCACHED, 4096), 512);
	return profile;
}

/* Returns memory of malloc(). */
static char *text_of(const struct profile *profile)
{
	static char *text;
	static size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	profile_write(profile, out);
	fclose(out);
	return text;
}

static bool read_bytes(struct profile *profile, const char *bytes, size_t size)
{
	FILE *in = fmemopen((void *)(uintptr_t)bytes, size > 0 ? size : 1, "r");
	bool right;

	assert_non_null(in);
	if (size == 0)
		getc(in);
	error[0] = '\0';
	right = profile_read(profile, in, "file", error);
	fclose(in);
	return right;
}

static void reads_what_it_writes(void **state)
{
	struct profile profile = make_profile(), again;
	char *text = text_of(&profile), *text_again, *commented;

	(void)state;
	assert_true(read_bytes(&again, text, strlen(text)));
	assert_int_equal(again.n, profile.n);
	text_again = text_of(&again);
	assert_string_equal(text, text_again);
	for (uint32_t r = 0; r < profile.n; r++) {
		const struct profile_row *row = profile_find(&again, &profile.rows[r].what);

		assert_ptr_equal(row, &again.rows[r]);
		assert_int_equal(row->flows, profile.rows[r].flows);
		assert_int_equal(row->left_out, 3);
		assert_int_equal(row->times.best, profile.rows[r].times.best);
	}
	assert_true(profile_is_of(&again, &profile.host, "file", error));
	profile_free(&again);
	/* Comments are skipped anywhere. */
	assert_true(asprintf(&commented, "# one, two\n%s# three\n", text) > 0);
	assert_true(read_bytes(&again, commented, strlen(commented)));
	profile_free(&again);
	profile_free(&profile);
	free(commented);
	free(text);
	free(text_again);
}

/* The same fields with other names are the same key. */
static void finds_by_what_it_is(void **state)
{
	struct profile profile = make_profile();
	struct profile_what what = sketch_of("flow-table", "dst_port,src", PROFILE_CACHED, 4096);

	(void)state;
	assert_non_null(profile_find(&profile, &what));
	what.width = 8192;
	assert_null(profile_find(&profile, &what));
	what.width = 4096;
	what.sharing = SHARING_SHARED;
	assert_null(profile_find(&profile, &what));
	what.sharing = SHARING_SEPARATE;
	what.single = true;
	assert_null(profile_find(&profile, &what));
	profile_free(&profile);
}

/* Returns text with the first `from` replaced by `to`, in memory of malloc(). */
static char *with(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *changed;

	assert_non_null(at);
	assert_true(
		asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)) >= 0);
	return changed;
}

static void rejects_damaged_profiles(void **state)
{
	static const struct {
		const char *from, *to, *says;
	} damages[] = {
		{"sketchtap profile 1", "sketchtap profile 2", "line 1: not a profile"},
		{"cpu: ", "gpu: ", "line 2: missing: cpu"},
		{"\nbuild: sketchtap 0, a compiler", "", "line 3: missing: build"},
		{"mean_ns", "mean_us", "line 5: unknown columns"},
		{"receive,", "resieve,", "line 7: 'resieve': unknown keyword"},
		{"burst", "burzt", "line 7: 'burzt': unknown keyword"},
		{"5tuple", "7tuple", "line 11: '7tuple': not a key"},
		{"count-min", "count-max", "line 13: 'count-max': unknown sketch"},
		{"1024,separate", "x,separate", "line 13: 'x': not a valid number"},
		{"1024,separate", "1024,alone", "line 13: 'alone': unknown keyword"},
		{"1024,separate", "-1,separate", "line 13: '-1': not a valid number"},
		{"burst,5tuple,,", "burst,5tuple,count-min,", "unexpected in a row without sketch"},
		{"separate,bytes,7,100", "separate,bytes,7,0", "contradict each other"},
		{",3,1024,", ",3,nan,", "line 6: 'nan': not a number"},
		{",3,1024,", ",3,inf,", "line 6: 'inf': not a number"},
		{",3,1024,", ",3,-1,", "line 6: times contradict each other"},
		{",3,1024,", ",3,1e999,", "not a number"},
		{",3,1024,", ",3,,", "line 6: '': not a number"},
		{",3,1024,", ",3,1024,1,", "line 6: row has 30 fields instead of 29"},
		{",3,1024,", ",3", "line 6: row has 27 fields instead of 29"},
		{",count\n", ",fast\n", "'fast': not a flow state"},
		{"rows: 11", "rows: 12", "line 17: 11 rows found"},
		{"rows: 11", "rows: ", "line 17: '': not a valid number"},
		{"rows: 11\n", "", "line 17: unexpected end of file"},
		{"rows: 11\n", "rows: 11", "line 17: truncated"},
		{"free,", "receive,", "line 8: duplicate row"},
	};
	struct profile profile = make_profile(), again;
	char *text = text_of(&profile);

	(void)state;
	for (size_t d = 0; d < sizeof(damages) / sizeof(damages[0]); d++) {
		char *damaged = with(text, damages[d].from, damages[d].to);

		if (read_bytes(&again, damaged, strlen(damaged)))
			fail_msg("%s: accepted", damages[d].to);
		if (strstr(error, damages[d].says) == NULL)
			fail_msg("%s: %s", damages[d].to, error);
		assert_memory_equal(error, "--profile file, line ", 21);
		assert_int_equal(again.n, 0);
		free(damaged);
	}
	free(text);
	profile_free(&profile);
}

/* Every truncation is refused; every other change is refused or harmless. */
static void survives_any_damage(void **state)
{
	struct profile profile = make_profile(), again;
	char *text = text_of(&profile);
	size_t size = strlen(text);
	struct random random;

	(void)state;
	random_init(&random, 1);
	for (size_t cut = 0; cut < size; cut++)
		assert_false(read_bytes(&again, text, cut));
	for (uint32_t i = 0; i < 20000; i++) {
		size_t at = random_below(&random, size);
		char before = text[at];

		text[at] = (char)random_next(&random);
		if (read_bytes(&again, text, size))
			profile_free(&again);
		else
			assert_null(strchr(error, '\n'));
		text[at] = before;
	}
	free(text);
	profile_free(&profile);
}

static void says_what_differs(void **state)
{
	static const char *const says[PROFILE_FACTS] = {
		"--profile file: measured with another cpu: 'some CPU, caches 1K', this host has 'X'",
		"another build: 'sketchtap 0, a compiler', this host has 'X'",
		"another dpdk: 'DPDK 0', this host has 'X'"};
	struct profile profile = make_profile();

	(void)state;
	for (uint32_t f = 0; f < PROFILE_FACTS; f++) {
		struct profile_host host = profile.host;

		strcpy(host.facts[f], "X");
		assert_false(profile_is_of(&profile, &host, "file", error));
		assert_non_null(strstr(error, says[f]));
		assert_non_null(strstr(error, "foreign-profile"));
	}
	profile_free(&profile);
}

/* --- capacity --- */

static struct capacity_worker make_worker(
	const struct key_rule rules[3], struct sketch_params params[3])
{
	struct capacity_worker worker = {.receives = true};

	for (uint32_t m = 0; m < 3; m++)
		params[m] = (struct sketch_params){.depth = 4,
			.width = m == 1 ? 4096 : 1024,
			.metric = SKETCH_BYTES,
			.key = &rules[m]};
	capacity_add(&worker, sketch_find("count-min"), &params[0], SHARING_SEPARATE);
	capacity_add(&worker, sketch_find("flow-table"), &params[1], SHARING_SEPARATE);
	capacity_add(&worker, sketch_find("count-min"), &params[2], SHARING_SEPARATE);
	return worker;
}

static void assert_ns(const struct profile *profile, const struct capacity_worker *worker,
	const struct capacity_state *state, enum profile_traffic traffic, double expected)
{
	struct profile_what missing;
	double ns = -1;

	assert_true(capacity_ns(profile, worker, state, traffic, &ns, &missing));
	if (ns < expected * 0.999 || ns > expected * 1.001)
		fail_msg("%s: %g, not %g", state->name, ns, expected);
}

static void adds_up_the_parts_of_a_state(void **state)
{
	const struct key_rule rules[3] = {
		make_rule("5tuple"), make_rule("dst_port,src"), make_rule("5tuple")};
	const struct capacity_state full_state = capacity_full(),
				    count_state = capacity_count_only();
	const struct capacity_state *full = &full_state, *count = &count_state;
	struct capacity_state between = {"between", {[2] = {0.25, 1, false}}};
	struct sketch_params params[3];
	struct profile profile = make_profile();
	struct capacity_worker worker = make_worker(rules, params);

	(void)state;
	assert_int_equal(worker.nb_keys, 2);
	assert_int_equal(worker.nb_measurements, 3);
	assert_string_equal(full->name, "full");
	assert_ns(&profile, &worker, full, PROFILE_CACHED,
		1 + 2 + 4 + 3 * 8 + 16 + 32 + 2 * 64 + 256);
	assert_ns(&profile, &worker, full, PROFILE_UNCACHED,
		1 + 2 + 4 + 3 * 8 + 16 + 32 + 2 * 128 + 512);
	assert_string_equal(count->name, "count only");
	assert_ns(&profile, &worker, count, PROFILE_CACHED, 1 + 2);
	assert_ns(&profile, &worker, count, PROFILE_NEW, 1 + 2);
	/* Every fourth packet, only by the last measurement: only the key of the 5-tuple. */
	assert_ns(&profile, &worker, &between, PROFILE_CACHED, 1 + 2 + (4 + 16 + 8 + 64) / 4.0);
	between = (struct capacity_state){"between", {[1] = {0.25, 1, false}}};
	assert_ns(
		&profile, &worker, &between, PROFILE_CACHED, 1 + 2 + (4 + 16 + 32 + 8 + 256) / 4.0);
	/*
	 * All packets for the last measurement, with half of its keys; every eighth for the second.
	 */
	between = (struct capacity_state){
		"between", {[1] = {0.125, 1, false}, [2] = {1, 0.5, false}}};
	assert_ns(&profile, &worker, &between, PROFILE_CACHED,
		1 + 2 + 4 + 16 + 8 + 64 / 2.0 + CAPACITY_SHARE_NS + (32 + 8 + 256) / 8.0);
	/* Coarser keys are few for any traffic. */
	between = (struct capacity_state){"between", {[2] = {1, 1, true}}};
	assert_ns(&profile, &worker, &between, PROFILE_UNCACHED, 1 + 2 + 4 + 16 + 8 + 64);
	worker.receives = false;
	assert_ns(&profile, &worker, count, PROFILE_CACHED, 2);
	profile_free(&profile);
}

static void says_what_is_missing(void **state)
{
	const struct key_rule rules[3] = {
		make_rule("5tuple"), make_rule("src,dst_port"), make_rule("5tuple")};
	struct sketch_params params[3];
	struct profile profile = make_profile(), empty = {0};
	struct capacity_worker worker = make_worker(rules, params);
	const struct capacity_state full = capacity_full(), count = capacity_count_only();
	struct profile_what missing;
	char text[PROFILE_WHAT_MAX];
	double ns;

	(void)state;
	assert_false(capacity_ns(&profile, &worker, &full, PROFILE_NEW, &ns, &missing));
	profile_describe(&missing, text);
	assert_string_equal(text, "count-min of 5tuple, separate 4 x 1024, bytes, new");
	assert_false(capacity_ns(&empty, &worker, &count, PROFILE_CACHED, &ns, &missing));
	profile_describe(&missing, text);
	assert_string_equal(text, "receive");
	profile_free(&profile);
}

/* --- calibration, with a clock that advances by one per reading --- */

static uint64_t looks;

static uint64_t clock_of_looks(void)
{
	return looks++;
}

static struct calibration calibration_of(uint64_t samples)
{
	return (struct calibration){
		.clock = clock_of_looks,
		.ns = 64,
		.cache_bytes = 1 << 16,
		.seed = 1,
		.allocator = sketch_allocator_malloc,
		.samples = samples,
		.flows_max = UINT64_MAX,
		.singles = true,
	};
}

static void calibrates_all_that_a_worker_needs(void **state)
{
	const struct key_rule rules[3] = {
		make_rule("5tuple"), make_rule("src,dst_port"), make_rule("5tuple")};
	struct calibration calibration = calibration_of(500);
	struct sketch_params params[3];
	struct profile profile = {0};
	struct capacity_worker worker = make_worker(rules, params);
	struct profile_what missing;
	uint32_t n;

	(void)state;
	for (uint32_t m = 0; m < 3; m++) {
		const struct sketch_ops *ops = worker.sketches[m].sketch;

		params[m].depth = ops->default_depth;
		params[m].seed = 1;
		assert_null(ops->check(&params[m]));
	}
	worker = (struct capacity_worker){0};
	for (uint32_t m = 0; m < 3; m++)
		capacity_add(&worker, sketch_find(m == 1 ? "flow-table" : "count-min"), &params[m],
			SHARING_SEPARATE);
	assert_true(calibrate_worker(&calibration, &worker, &profile, &missing));
	/*
	 * Clock, distinct keys, two keys; two sketches with four kinds of traffic, in bursts and
	 * singly, and two kinds of lookups.
	 */
	assert_int_equal(profile.n, 4 + 2 * 10);
	for (uint32_t r = 0; r < profile.n; r++) {
		const struct profile_row *row = &profile.rows[r];

		assert_int_equal(row->times.samples,
			row->what.traffic == PROFILE_NEW ? row->times.samples : 500);
		assert_true(row->times.samples > 0);
		/* One clock reading per sample, of 64 packets or of one. */
		assert_true(row->times.mean > (row->what.single ? 63.9 : 0.999));
		assert_true(row->times.mean < (row->what.single ? 64.1 : 1.001));
	}
	/* Existing rows are not measured again. */
	n = profile.n;
	looks = 0;
	assert_true(calibrate_worker(&calibration, &worker, &profile, &missing));
	assert_int_equal(profile.n, n);
	assert_true(looks < 10);
	profile_free(&profile);
}

static void *no_memory(size_t size, void *arg)
{
	(void)size;
	(void)arg;
	return NULL;
}

static void ends_in_time(void **state)
{
	const struct key_rule rule = make_rule("src");
	struct calibration calibration = calibration_of(1000000);
	struct sketch_params params = {.key = &rule, .seed = 1};
	struct capacity_worker worker = {0};
	struct profile profile = {0};
	struct profile_what missing;
	bool late = false;

	(void)state;
	calibration.samples = 1000;
	calibration.late = &late;
	assert_null(sketch_find("count-min")->check(&params));
	capacity_add(&worker, sketch_find("count-min"), &params, SHARING_SEPARATE);
	looks = 0;
	/* Clock, distinct keys and two keys take about 2000 readings each. */
	calibration.ns = 1e6;
	calibration.until = 12000;
	assert_false(calibrate_worker(&calibration, &worker, &profile, &missing));
	assert_int_equal(missing.part, PROFILE_SKETCH);
	assert_true(looks < 12100 && late);
	/* A sketch copy that would take too long to clear is not created. */
	profile_free(&profile);
	calibration.ns = 1;
	calibration.until = looks + 1000000;
	late = false;
	assert_false(calibrate_sketch(&calibration, &worker.sketches[0], &params, &profile));
	assert_int_equal(profile.n, 0);
	assert_true(late);
	/* Out of memory does not count as late. */
	calibration.until += 1000000000;
	calibration.allocator.alloc = no_memory;
	late = false;
	assert_false(calibrate_sketch(&calibration, &worker.sketches[0], &params, &profile));
	assert_false(late);
}

static void leaves_interruptions_out(void **state)
{
	struct profile_row row = {.what = {.part = PROFILE_PARSE}};
	struct profile profile = {0};
	double ns[1000];

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		ns[i] = i % 100 == 7 ? 1e6 : 10 + i % 2;
	assert_true(calibrate_add(&profile, &row, ns, 1000));
	assert_int_equal(profile.rows[0].left_out, 10);
	assert_int_equal(profile.rows[0].times.samples, 990);
	assert_true(profile.rows[0].times.mean < 11);
	/* With two frequent kinds of times, none is left out. */
	for (uint32_t i = 0; i < 1000; i++)
		ns[i] = i % 3 == 0 ? 1e6 : 10;
	assert_true(calibrate_add(&profile, &row, ns, 1000));
	assert_int_equal(profile.rows[1].left_out, 0);
	assert_false(calibrate_add(&profile, &row, ns, 0));
	profile_free(&profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_what_it_writes),
		cmocka_unit_test(finds_by_what_it_is),
		cmocka_unit_test(rejects_damaged_profiles),
		cmocka_unit_test(survives_any_damage),
		cmocka_unit_test(says_what_differs),
		cmocka_unit_test(adds_up_the_parts_of_a_state),
		cmocka_unit_test(says_what_is_missing),
		cmocka_unit_test(calibrates_all_that_a_worker_needs),
		cmocka_unit_test(ends_in_time),
		cmocka_unit_test(leaves_interruptions_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
