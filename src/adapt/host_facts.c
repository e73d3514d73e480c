/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/host_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_version.h>

#include "base/sys_file.h"

static void read_caches(char *caches, size_t size)
{
	size_t used = 0;

	caches[0] = '\0';
	for (uint32_t i = 0; used < size; i++) {
		char text[32];

		if (sys_line("", text, sizeof(text),
			    "/sys/devices/system/cpu/cpu0/cache/index%u/size", i) != SYS_READ)
			return;
		used += (size_t)snprintf(caches + used, size - used, " %s", text);
	}
}

static void describe_machine(char *machine)
{
	char model[96], caches[96];

	if (sys_labelled("", "/proc/cpuinfo", "model name", model, sizeof(model)) != SYS_READ)
		snprintf(model, sizeof(model), "unknown CPU");
	read_caches(caches, sizeof(caches));
	snprintf(machine, FACT_MAX, "%s, %ld CPUs, caches%s, %ld MB", model,
		sysconf(_SC_NPROCESSORS_ONLN), caches,
		sysconf(_SC_PHYS_PAGES) / 1024 * sysconf(_SC_PAGESIZE) / 1024);
}

static void describe_compiler(char *compiler, size_t size)
{
	snprintf(compiler, size, "%s %s, %s",
#if defined(__clang__)
		"clang",
#else
		"gcc",
#endif
		__VERSION__, BENCH_FLAGS);
}

void host_facts_current(struct profile_host *host)
{
	char model[96], caches[96];
	int used;

	if (sys_labelled("", "/proc/cpuinfo", "model name", model, sizeof(model)) != SYS_READ)
		snprintf(model, sizeof(model), "unknown CPU");
	read_caches(caches, sizeof(caches));
	snprintf(host->facts[PROFILE_CPU], PROFILE_TEXT_MAX, "%s, caches%s", model, caches);
	used = snprintf(
		host->facts[PROFILE_BUILD], PROFILE_TEXT_MAX, "sketchtap " SKETCHTAP_VERSION ", ");
	describe_compiler(host->facts[PROFILE_BUILD] + used, PROFILE_TEXT_MAX - (size_t)used);
	snprintf(host->facts[PROFILE_DPDK], PROFILE_TEXT_MAX, "%s", rte_version());
}

static void join_arguments(char *command, int argc, char *const argv[])
{
	size_t used = 0;

	for (int i = 0; i < argc && used < FACT_MAX; i++)
		used += (size_t)snprintf(
			command + used, FACT_MAX - used, "%s%s", i > 0 ? " " : "", argv[i]);
}

void host_facts_read(struct host_facts *facts, int argc, char *const argv[])
{
	struct utsname kernel;
	time_t now = time(NULL);

	describe_machine(facts->machine);
	uname(&kernel);
	snprintf(facts->kernel, FACT_MAX, "%s %s", kernel.sysname, kernel.release);
	snprintf(facts->dpdk, FACT_MAX, "%s", rte_version());
	describe_compiler(facts->compiler, FACT_MAX);
	strftime(facts->date, FACT_MAX, "%Y-%m-%d %H:%M UTC", gmtime(&now));
	join_arguments(facts->command, argc, argv);
}

void host_facts_add_memory(struct host_facts *facts)
{
	size_t used = strlen(facts->dpdk);

	snprintf(facts->dpdk + used, FACT_MAX - used, ", %s",
		rte_eal_has_hugepages() ? "hugepages" : "no hugepages");
}
