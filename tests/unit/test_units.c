/* SPDX-License-Identifier: BSD-3-Clause */

/* Numbers with units: their values, and invalid ones. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"

#define UNTOUCHED UINT64_C(0xDEADBEEFDEADBEEF)

typedef const char *(*units_fn)(const char *text, uint64_t *value);

struct unit_case {
	const char *text;
	uint64_t value;
};

static void assert_worth(units_fn units, const struct unit_case *rows, size_t nb_rows)
{
	for (size_t i = 0; i < nb_rows; i++) {
		uint64_t value = UNTOUCHED;
		const char *why = units(rows[i].text, &value);

		if (why != NULL || value != rows[i].value)
			fail_msg("'%s' gave %llu (%s) instead of %llu", rows[i].text,
				(unsigned long long)value, why != NULL ? why : "taken",
				(unsigned long long)rows[i].value);
	}
}

static void assert_refused(units_fn units, const char *const *texts, size_t nb_texts)
{
	for (size_t i = 0; i < nb_texts; i++) {
		uint64_t value = UNTOUCHED;
		const char *why = units(texts[i], &value);

		if (why == NULL)
			fail_msg("'%s' was taken as %llu", texts[i], (unsigned long long)value);
		assert_int_equal(value, UNTOUCHED);
		assert_true(*why != '\0' && strncmp(why, "is ", 3) != 0);
	}
}

#define ROWS(rows) rows, sizeof(rows) / sizeof((rows)[0])

/* Invalid with any unit. */
static const char *const nonsense[] = {
	"",
	" ",
	"-",
	"+1",
	"-1",
	".",
	".5",
	"1.",
	"1..5",
	"x",
	"K",
	"s",
	"0x10",
	"1e3",
	"inf",
	"nan",
	" 1",
	"1 ",
	"1 s",
	"1\n",
	"1,5",
	"1.5.5s",
	"99999999999999999999999999999999999999999999999999999999999999999999",
};

static void entries_read_powers_of_1024(void **state)
{
	static const struct unit_case rows[] = {
		{"1024", 1024},
		{"64K", 65536},
		{"256K", 262144},
		{"2M", 2097152},
		{"4G", UINT64_C(1) << 32},
	};
	static const char *const refused[] = {"64KB", "64k", "1T", "17179869184G"};

	(void)state;
	assert_worth(units_entries, ROWS(rows));
	assert_refused(units_entries, ROWS(refused));
	assert_refused(units_entries, ROWS(nonsense));
}

static void count_reads_powers_of_1000(void **state)
{
	static const struct unit_case rows[] = {
		{"0", 0},
		{"5", 5},
		{"007", 7},
		{"64K", 64000},
		{"5M", 5000000},
		{"1G", 1000000000},
		{"1.5K", 1500},
		{"0.001K", 1},
		{"2.0", 2},
		{"18446744073709551615", UINT64_MAX},
		{"18446744073.709551615G", UINT64_MAX},
	};
	static const char *const refused[] = {
		"1.5",
		"0.0001K",
		"5k",
		"5KB",
		"5MM",
		"18446744073709551616",
		"18446744073709551615K",
		"18446744073.709551616G",
		"0.00000000000000000001G",
	};

	(void)state;
	assert_worth(units_count, ROWS(rows));
	assert_refused(units_count, ROWS(refused));
	assert_refused(units_count, ROWS(nonsense));
}

static void size_reads_powers_of_1024(void **state)
{
	static const struct unit_case rows[] = {
		{"0", 0},
		{"4096", 4096},
		{"4096B", 4096},
		{"4KB", 4096},
		{"1.5KB", 1536},
		{"4MB", 4194304},
		{"1GB", 1073741824},
		{"1TB", UINT64_C(1099511627776)},
		{"16777215TB", UINT64_C(16777215) << 40},
	};
	static const char *const refused[] = {
		"4K",
		"4kb",
		"4MiB",
		"0.3KB",
		"16777216TB",
		"1PB",
	};

	(void)state;
	assert_worth(units_size, ROWS(rows));
	assert_refused(units_size, ROWS(refused));
	assert_refused(units_size, ROWS(nonsense));
}

static void time_needs_a_unit(void **state)
{
	static const struct unit_case rows[] = {
		{"0", 0},
		{"0s", 0},
		{"10ns", 10},
		{"5us", 5000},
		{"500ms", 500000000},
		{"1s", 1000000000},
		{"1.5s", 1500000000},
		{"0.000000001s", 1},
		{"5m", UINT64_C(300000000000)},
		{"1h", UINT64_C(3600000000000)},
		{"1d", UINT64_C(86400000000000)},
		{"0.5d", UINT64_C(43200000000000)},
		{"18446744073709551615ns", UINT64_MAX},
	};
	static const char *const refused[] = {
		"5",
		"00",
		"5x",
		"5S",
		"5min",
		"0.5ns",
		"0.0000000001s",
		"18446744073709551616ns",
		"213504d",
	};

	(void)state;
	assert_worth(units_time, ROWS(rows));
	assert_refused(units_time, ROWS(refused));
	assert_refused(units_time, ROWS(nonsense));
}

static void rate_needs_its_unit(void **state)
{
	static const struct unit_case rows[] = {
		{"100pps", 100},
		{"500kpps", 500000},
		{"2Mpps", 2000000},
		{"0.5Mpps", 500000},
		{"148.8Mpps", 148800000},
		{"1Gpps", 1000000000},
	};
	static const char *const refused[] = {
		"5",
		"0",
		"5M",
		"5mpps",
		"5Kpps",
		"0.5pps",
		"2Mpps/s",
		"18446744073709551615Gpps",
	};

	(void)state;
	assert_worth(units_rate, ROWS(rows));
	assert_refused(units_rate, ROWS(refused));
	assert_refused(units_rate, ROWS(nonsense));
}

static void fraction_reads_shares_and_percents(void **state)
{
	static const struct {
		const char *text;
		double value;
	} rows[] = {
		{"0", 0.0},
		{"0.25", 0.25},
		{"25%", 0.25},
		{"0.999", 0.999},
		{"99.9%", 0.999},
		{"99.99%", 0.9999},
		{"0.1%", 0.001},
		{"100%", 1.0},
		{"1", 1.0},
		{"1.000", 1.0},
		{"0.000001", 0.000001},
	};
	static const char *const refused[] = {"1.1", "2", "101%", "25%%", "25 %", "0.5K"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		double value = -1;

		assert_null(units_fraction(rows[i].text, &value));
		/* Exactly the nearest double. */
		assert_memory_equal(&value, &rows[i].value, sizeof(value));
	}
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		double value = -1;

		assert_non_null(units_fraction(refused[i], &value));
		assert_true(value < 0);
	}
	for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++) {
		double value = -1;

		assert_non_null(units_fraction(nonsense[i], &value));
		assert_true(value < 0);
	}
}

/* Every split of a number at a decimal point gives the same product. */
static void millionths_have_six_decimals(void **state)
{
	static const struct unit_case rows[] = {
		{"0", 0}, {"1", 1000000}, {"1.05", 1050000}, {"0.000001", 1}, {"10", 10000000}};
	static const char *const bad[] = {"0.0000001", "1e3", "1K", "random"};

	(void)state;
	assert_worth(units_millionths, ROWS(rows));
	assert_refused(units_millionths, ROWS(bad));
	assert_refused(units_millionths, ROWS(nonsense));
}

static void decimals_are_exact(void **state)
{
	(void)state;
	for (uint64_t ns = 1; ns < UINT64_C(5000000000); ns = ns * 7 + 3) {
		char text[64];
		uint64_t value;

		snprintf(text, sizeof(text), "%llu.%09llus", (unsigned long long)ns / 1000000000,
			(unsigned long long)ns % 1000000000);
		assert_null(units_time(text, &value));
		assert_int_equal(value, ns);
		snprintf(text, sizeof(text), "%llu.%03lluus", (unsigned long long)ns / 1000,
			(unsigned long long)ns % 1000);
		assert_null(units_time(text, &value));
		assert_int_equal(value, ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_read_powers_of_1024),
		cmocka_unit_test(count_reads_powers_of_1000),
		cmocka_unit_test(size_reads_powers_of_1024),
		cmocka_unit_test(time_needs_a_unit),
		cmocka_unit_test(rate_needs_its_unit),
		cmocka_unit_test(fraction_reads_shares_and_percents),
		cmocka_unit_test(millionths_have_six_decimals),
		cmocka_unit_test(decimals_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
