/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <string.h>

#include "doctor/check.h"

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0"

#define CLOCK_ERROR_MAX_US 100000 /* 1/10 of the default --interval */

static void check_tsc(const struct host *host, struct finding *finding)
{
	bool constant = host_cpu_feature(host, "constant_tsc");
	bool nonstop = host_cpu_feature(host, "nonstop_tsc");

	if (constant && nonstop) {
		finding_ok(finding, "constant, never stops");
	} else {
		finding_warning(finding, "%s", constant ? "stops in idle states" : "not constant");
		finding_wanted(finding, "a constant TSC that never stops: it times packets and "
					"intervals");
	}
}

static void check_clocksource(const struct host *host, struct finding *finding)
{
	char others[256];

	if (finding->wanted[0] == '\0' || finding->command[0] == '\0')
		return;
	sys_line(host->root, others, sizeof(others), CLOCKSOURCE "/available_clocksource");
	if (strncmp(others, "tsc", 3) != 0 && strstr(others, " tsc") == NULL)
		finding_command(finding, "sudo dmesg | grep -i tsc");
}

static void check_clock_sync(const struct host *host, struct finding *finding)
{
	const struct host_calls *calls = &host->calls;

	if (!calls->clock_known) {
		finding_unseen(finding, SYS_DENIED, "adjtimex");
	} else if (!calls->clock_synchronised) {
		finding_warning(finding, "the clock is not synchronized to UTC");
		finding_wanted(finding, "a time service: intervals are aligned to UTC, so that two "
					"taps report the same intervals");
		finding_command(finding, "sudo apt-get install chrony");
	} else if (calls->clock_error_us > CLOCK_ERROR_MAX_US) {
		finding_warning(finding, "synchronized to UTC within %" PRId64 " ms",
			calls->clock_error_us / 1000);
		finding_wanted(finding, "%d ms or less", CLOCK_ERROR_MAX_US / 1000);
		finding_command(finding, "chronyc sources -v");
	} else {
		finding_ok(finding, "synchronized to UTC within %" PRId64 " us",
			calls->clock_error_us);
	}
}

const struct check time_checks[] = {
	{"tsc", HOST_ANY, .file = "/proc/cpuinfo", .look = check_tsc},
	{"clocksource", HOST_LIVE,
		.value = {.kind = VALUE_WORDS,
			.file = CLOCKSOURCE "/current_clocksource",
			.verdicts = {{"tsc|kvm-clock|arch_sys_counter", FINDING_OK, "{value}"},
				{NULL, FINDING_WARNING, "{value}",
					"tsc: other clock sources are slow to read",
					"echo tsc | sudo tee {file}"}}},
		.look = check_clocksource},
	{"clock-sync", HOST_LIVE, .look = check_clock_sync},
	{0},
};
