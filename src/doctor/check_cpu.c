/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "doctor/check.h"
#include "base/printable.h"

#define SYS_CPU "/sys/devices/system/cpu"

#define LATENCY_MAX_US 10 /* exit latency of an idle state */

#define CPUS_TEXT 160

/* Returns false if the list is truncated: a command must not use it. */
static bool all_in_text(const struct cpu_set *cpus, char text[CPUS_TEXT])
{
	host_cpus_text(cpus, text, CPUS_TEXT);
	return strstr(text, "...") == NULL;
}

/*
 * Checks that a CPU list, such as isolcpus, contains all polling CPUs. what: state of the others.
 */
static void judge_boot_list(const struct host *host, const struct cpu_set *have,
	const char *parameter, const char *what, const char *why, struct finding *finding)
{
	const struct cpu_set *polling = &host->needs->polling;
	struct cpu_set lacking = cpu_set_minus(polling, have);
	char cpus[CPUS_TEXT];

	if (cpu_set_count(&lacking) == 0) {
		finding_ok(finding, "all CPUs that poll");
		return;
	}
	finding_warning(finding, "CPUs %s %s", host_cpus_text(&lacking, cpus, sizeof(cpus)), what);
	finding_wanted(finding, "%s", why);
	if (!host->needs->floating && all_in_text(polling, cpus))
		finding_boot(finding, "%s%s", parameter, cpus);
}

static enum sys_read isolated_cpus(const struct host *host, struct cpu_set *isolated)
{
	struct cpu_set partition;
	enum sys_read result = cpu_set_read(isolated, host->root, SYS_CPU "/isolated");

	if (cpu_set_read(&partition, host->root, "/sys/fs/cgroup/cpuset.cpus.isolated") == SYS_READ)
		CPU_SET_EACH (cpu, &partition)
			cpu_set_add(isolated, (uint32_t)cpu);
	return result;
}

static void check_isolation(const struct host *host, struct finding *finding)
{
	struct cpu_set isolated;
	enum sys_read result = isolated_cpus(host, &isolated);

	if (finding_unless_read(finding, result, SYS_CPU "/isolated"))
		return;
	judge_boot_list(host, &isolated, "isolcpus=managed_irq,domain,", "are not isolated",
		"isolated polling CPUs: otherwise the scheduler runs other threads on them",
		finding);
}

/*
 * A tickless CPU has no timer tick while it runs a single thread. The result is empty if the kernel
 * does not support this.
 */
static enum sys_read tickless_cpus(const struct host *host, struct cpu_set *tickless)
{
	enum sys_read result = cpu_set_read(tickless, host->root, SYS_CPU "/nohz_full");

	if (result == SYS_ABSENT && sys_exists(host->root, SYS_CPU "/online"))
		return SYS_READ;
	return result;
}

static void check_tick(const struct host *host, struct finding *finding)
{
	struct cpu_set tickless;
	enum sys_read result = tickless_cpus(host, &tickless);

	if (finding_unless_read(finding, result, SYS_CPU "/nohz_full"))
		return;
	judge_boot_list(host, &tickless, "nohz_full=", "keep their timer tick",
		"no timer tick while a CPU runs a single thread", finding);
	if (finding->status != FINDING_OK && !sys_exists(host->root, SYS_CPU "/nohz_full")) {
		finding_wanted(finding,
			"a kernel built with CONFIG_NO_HZ_FULL, and its parameter nohz_full=");
		finding_command(finding, "%s", "");
	}
}

/* In a list of the kernel command line, N is the last CPU, and "all" is every CPU. */
static bool parse_boot_list(struct cpu_set *cpus, const char *value)
{
	char text[1024];
	size_t length;

	if (strcmp(value, "all") == 0)
		value = "0-N";
	length = strcspn(value, "N");
	if (value[length] != 'N')
		return cpu_set_parse(cpus, value);
	snprintf(text, sizeof(text), "%.*s%d%.500s", (int)length, value, CPU_SET_MAX - 1,
		value + length + 1);
	return cpu_set_parse(cpus, text);
}

static void check_rcu(const struct host *host, struct finding *finding)
{
	struct cpu_set offloaded = {0}, tickless;
	char value[1024];
	enum sys_read result = sys_kernel_parameter(host->root, "rcu_nocbs", value, sizeof(value));

	if (result == SYS_DENIED || !sys_exists(host->root, "/proc/cmdline")) {
		finding_unseen(finding, result, "/proc/cmdline");
		return;
	}
	if (result == SYS_READ && !parse_boot_list(&offloaded, value)) {
		finding_unseen(finding, SYS_GARBAGE, "rcu_nocbs= of the kernel's command line");
		return;
	}
	/* nohz_full implies rcu_nocbs. */
	tickless_cpus(host, &tickless);
	for (uint32_t i = 0; i < CPU_SET_MAX / 64; i++)
		offloaded.words[i] |= tickless.words[i];
	judge_boot_list(host, &offloaded, "rcu_nocbs=", "run RCU callbacks",
		"RCU callbacks on other CPUs", finding);
}

/*
 * others: polling CPUs whose setting is not `good`. value: setting of the last of them, or `good`.
 */
static enum sys_read common_setting(const struct host *host, const char *file, char *value,
	size_t size, const char *good, struct cpu_set *others)
{
	const struct cpu_set *polling = &host->needs->polling;
	enum sys_read result = SYS_ABSENT;

	memset(others, 0, sizeof(*others));
	value[0] = '\0';
	CPU_SET_EACH (cpu, polling) {
		char line[HOST_NAME_MAX];
		enum sys_read one =
			sys_line(host->root, line, sizeof(line), SYS_CPU "/cpu%d/%s", cpu, file);

		if (one != SYS_READ)
			return one;
		result = SYS_READ;
		if (strcmp(line, good) != 0)
			cpu_set_add(others, (uint32_t)cpu);
		if (value[0] == '\0' || strcmp(line, good) != 0)
			snprintf(value, size, "%s", line);
	}
	return result;
}

static void no_frequency_driver(const struct host *host, const char *what, struct finding *finding)
{
	if (!sys_exists(host->root, SYS_CPU "/online"))
		finding_unseen(finding, SYS_ABSENT, SYS_CPU);
	else if (host_cpu_feature(host, "hypervisor"))
		finding_ok(finding, "no %s: the hypervisor decides", what);
	else {
		finding_warning(finding, "unknown: the kernel has no %s", what);
		finding_wanted(finding, "the performance profile in the firmware settings");
	}
}

static void check_frequency_governor(const struct host *host, struct finding *finding)
{
	char governor[HOST_NAME_MAX], cpus[CPUS_TEXT];
	struct cpu_set others;
	enum sys_read result = common_setting(host, "cpufreq/scaling_governor", governor,
		sizeof(governor), "performance", &others);
	int first = cpu_set_next(&host->needs->polling, 0);
	int64_t limit, highest;

	if (result == SYS_ABSENT) {
		no_frequency_driver(host, "frequency governor", finding);
		return;
	}
	if (finding_unless_read(finding, result, "cpufreq/scaling_governor"))
		return;
	if (cpu_set_count(&others) > 0) {
		bool whole = all_in_text(&others, cpus);

		finding_warning(finding, "%s on CPUs %s", governor, cpus);
		finding_wanted(finding,
			"performance: with other settings, the frequency rises too late for a burst");
		finding_command(finding, "sudo cpupower -c %s frequency-set -g performance",
			whole ? cpus : "all");
		return;
	}
	VERIFY(first, >=, 0);
	if (sys_number(host->root, &limit, SYS_CPU "/cpu%d/cpufreq/scaling_max_freq", first) ==
			SYS_READ &&
		sys_number(host->root, &highest, SYS_CPU "/cpu%d/cpufreq/cpuinfo_max_freq",
			first) == SYS_READ &&
		limit < highest) {
		finding_warning(finding,
			"performance, but limited to %" PRId64 " of %" PRId64 " MHz", limit / 1000,
			highest / 1000);
		finding_wanted(finding, "the highest frequency of the CPU");
		finding_command(finding, "sudo cpupower frequency-set -u %" PRId64 "kHz", highest);
		return;
	}
	finding_ok(finding, "%s", governor);
}

static void check_boost(const struct host *host, struct finding *finding)
{
	static const char intel[] = SYS_CPU "/intel_pstate/no_turbo",
			  other[] = SYS_CPU "/cpufreq/boost";
	int64_t value;
	bool is_intel = sys_exists(host->root, intel);
	const char *path = is_intel ? intel : other;
	enum sys_read result = sys_number(host->root, &value, "%s", path);

	if (result == SYS_ABSENT) {
		no_frequency_driver(host, "switch for boost", finding);
	} else if (result != SYS_READ) {
		finding_unseen(finding, result, path);
	} else if ((value != 0) != is_intel) {
		finding_ok(finding, "on");
	} else {
		finding_warning(finding, "off");
		finding_wanted(finding, "boost on; off only for repeatable measurements");
		finding_command(finding, "echo %d | sudo tee %s", is_intel ? 0 : 1, path);
	}
}

static enum sys_read deepest_state(
	const struct host *host, uint32_t cpu, char name[HOST_NAME_MAX], int64_t *latency)
{
	enum sys_read result = SYS_ABSENT;

	*latency = 0;
	for (uint32_t state = 0; state < 16; state++) {
		int64_t us, disabled;
		enum sys_read one = sys_number(
			host->root, &us, SYS_CPU "/cpu%u/cpuidle/state%u/latency", cpu, state);

		if (one == SYS_ABSENT)
			return result;
		if (one != SYS_READ)
			return one;
		result = SYS_READ;
		if (sys_number(host->root, &disabled, SYS_CPU "/cpu%u/cpuidle/state%u/disable", cpu,
			    state) == SYS_READ &&
			disabled != 0)
			continue;
		if (us >= *latency) {
			*latency = us;
			sys_line(host->root, name, HOST_NAME_MAX,
				SYS_CPU "/cpu%u/cpuidle/state%u/name", cpu, state);
		}
	}
	return result;
}

static void check_c_states(const struct host *host, struct finding *finding)
{
	const struct cpu_set *polling = &host->needs->polling;
	char deepest[HOST_NAME_MAX] = "";
	int64_t most = -1;

	CPU_SET_EACH (cpu, polling) {
		char name[HOST_NAME_MAX] = "";
		int64_t latency;
		enum sys_read result = deepest_state(host, (uint32_t)cpu, name, &latency);

		if (result == SYS_ABSENT) {
			no_frequency_driver(host, "idle states", finding);
			return;
		}
		if (finding_unless_read(finding, result, "cpuidle"))
			return;
		if (latency > most) {
			most = latency;
			snprintf(deepest, sizeof(deepest), "%s", name);
		}
	}
	if (most <= LATENCY_MAX_US) {
		finding_ok(finding, "deepest idle state: %s, %" PRId64 " us to leave",
			deepest[0] != '\0' ? deepest : "none", most > 0 ? most : 0);
		return;
	}
	finding_warning(finding, "idle state %s is allowed: it takes %" PRId64 " us to leave",
		deepest, most);
	finding_wanted(finding,
		"idle states of at most %d us: deeper ones slow down memory and PCIe",
		LATENCY_MAX_US);
	finding_command(finding, "sudo cpupower idle-set -D %d", LATENCY_MAX_US);
}

/* The file has the lowest latency limit that a program has set: four bytes, microseconds. */
static void check_cpu_latency(const struct host *host, struct finding *finding)
{
	static const char path[] = "/dev/cpu_dma_latency";
	int32_t latency;
	int length = sys_bytes(host->root, (uint8_t *)&latency, sizeof(latency), path);

	if (length < 0 && sys_exists(host->root, path)) {
		finding_unseen(finding, SYS_DENIED, path);
	} else if (length < 0) {
		finding_unseen(finding, SYS_ABSENT, path);
	} else if (length != (int)sizeof(latency) || latency < 0) {
		finding_unseen(finding, SYS_GARBAGE, path);
	} else if (latency <= LATENCY_MAX_US) {
		finding_ok(finding, "a program limits the latency to %" PRId32 " us", latency);
	} else {
		finding_ok(finding, "no program limits the latency (%" PRId32 " us)", latency);
	}
}

static void check_hyperthreads(const struct host *host, struct finding *finding)
{
	const struct cpu_set *polling = &host->needs->polling;
	struct cpu_set isolated, shared = {0}, open = {0};
	char cpus[CPUS_TEXT];

	isolated_cpus(host, &isolated);
	CPU_SET_EACH (cpu, polling) {
		struct cpu_set siblings;
		enum sys_read result = cpu_set_read(
			&siblings, host->root, SYS_CPU "/cpu%d/topology/thread_siblings_list", cpu);

		if (finding_unless_read(finding, result, "topology/thread_siblings_list"))
			return;
		CPU_SET_EACH (other, &siblings) {
			if (other == cpu)
				continue;
			if (cpu_set_has(polling, (uint32_t)other))
				cpu_set_add(&shared, (uint32_t)other);
			else if (!cpu_set_has(&isolated, (uint32_t)other))
				cpu_set_add(&open, (uint32_t)other);
		}
	}
	if (cpu_set_count(&shared) > 0) {
		finding_warning(finding, "CPUs %s poll, but share cores",
			host_cpus_text(&shared, cpus, sizeof(cpus)));
		finding_wanted(finding,
			"a core for each CPU: two threads of a core do little more work "
			"than one; lower --workers");
		finding_command(finding, "sketchtap plan");
	} else if (cpu_set_count(&open) > 0) {
		bool whole = all_in_text(&open, cpus);

		finding_warning(finding,
			"CPUs %s share cores with polling CPUs, and are not isolated", cpus);
		finding_wanted(finding,
			"no threads on these CPUs: they slow down the worker on the same core");
		if (whole)
			finding_command(finding, "sudo chcpu -d %s", cpus);
		else
			finding_boot(finding, "nosmt");
	} else {
		finding_ok(finding, "polling CPUs do not share cores");
	}
}

static bool interrupt_owner(const struct host *host, uint32_t number, char name[HOST_NAME_MAX])
{
	DIR *directory = sys_directory(host->root, "/proc/irq/%u", number);
	struct dirent *entry;
	bool found = false;

	if (directory == NULL)
		return false;
	while (!found && (entry = readdir(directory)) != NULL)
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
			snprintf(name, HOST_NAME_MAX, "%.*s", HOST_NAME_MAX - 1, entry->d_name);
			make_ascii(name);
			found = true;
		}
	closedir(directory);
	return found;
}

/* Older kernels only show the CPUs that are allowed to handle the interrupt. */
static enum sys_read interrupt_cpus(const struct host *host, uint32_t number, struct cpu_set *cpus)
{
	enum sys_read result =
		cpu_set_read(cpus, host->root, "/proc/irq/%u/effective_affinity_list", number);

	if (result == SYS_READ && cpu_set_count(cpus) > 0)
		return result;
	return cpu_set_read(cpus, host->root, "/proc/irq/%u/smp_affinity_list", number);
}

struct interrupts {
	uint32_t seen, unread, on_polling;
	uint32_t first;
	enum sys_read why_unread;
	char names[256];
};

static void look_at_interrupt(
	const struct host *host, uint32_t number, struct interrupts *interrupts)
{
	char name[HOST_NAME_MAX];
	struct cpu_set cpus;
	enum sys_read result;
	size_t used = strlen(interrupts->names);

	if (!interrupt_owner(host, number, name))
		return;
	interrupts->seen++;
	result = interrupt_cpus(host, number, &cpus);
	if (result != SYS_READ) {
		interrupts->unread++;
		interrupts->why_unread = result;
		return;
	}
	cpus = cpu_set_both(&cpus, &host->needs->polling);
	if (cpu_set_count(&cpus) == 0)
		return;
	if (interrupts->on_polling == 0 || number < interrupts->first)
		interrupts->first = number;
	if (++interrupts->on_polling <= 4)
		snprintf(interrupts->names + used, sizeof(interrupts->names) - used,
			"%s%u %s on CPU %d", used > 0 ? ", " : "", number, name,
			cpu_set_next(&cpus, 0));
}

static void judge_interrupts(
	const struct host *host, const struct interrupts *interrupts, struct finding *finding)
{
	struct cpu_set online, rest;
	char cpus[CPUS_TEXT];

	if (interrupts->unread > 0) {
		finding_unseen(finding, interrupts->why_unread, "affinity of interrupts");
		return;
	}
	if (interrupts->on_polling == 0) {
		finding_ok(finding, "none of %u device interrupts is on a polling CPU",
			interrupts->seen);
		return;
	}
	finding_warning(finding, "%u on polling CPUs: %s%s", interrupts->on_polling,
		interrupts->names, interrupts->on_polling > 4 ? ", ..." : "");
	finding_wanted(finding, "interrupts on other CPUs; those that cannot be moved need "
				"isolcpus=managed_irq");
	if (cpu_set_read(&online, host->root, SYS_CPU "/online") != SYS_READ)
		return;
	rest = cpu_set_minus(&online, &host->needs->polling);
	if (cpu_set_count(&rest) > 0 && all_in_text(&rest, cpus))
		finding_command(finding, "echo %s | sudo tee /proc/irq/%u/smp_affinity_list", cpus,
			interrupts->first);
	if (interrupts->on_polling > 1 && finding->command[0] != '\0')
		finding_command(finding,
			"for f in /proc/irq/*/smp_affinity_list; do echo %s | sudo "
			"tee $f; done",
			cpus);
}

static void check_interrupts(const struct host *host, struct finding *finding)
{
	DIR *directory = sys_directory(host->root, "/proc/irq");
	struct interrupts interrupts = {0};
	struct dirent *entry;

	if (directory == NULL) {
		finding_unseen(finding, SYS_ABSENT, "/proc/irq");
		return;
	}
	while ((entry = readdir(directory)) != NULL) {
		char *end;
		unsigned long number = strtoul(entry->d_name, &end, 10);

		if (end != entry->d_name && *end == '\0' && number < INT32_MAX)
			look_at_interrupt(host, (uint32_t)number, &interrupts);
	}
	closedir(directory);
	judge_interrupts(host, &interrupts, finding);
}

static enum sys_read process_runs(const struct host *host, const char *name, bool *runs)
{
	DIR *directory = sys_directory(host->root, "/proc");
	struct dirent *entry;

	*runs = false;
	if (directory == NULL)
		return SYS_ABSENT;
	while (!*runs && (entry = readdir(directory)) != NULL) {
		char command[HOST_NAME_MAX];

		if (entry->d_name[0] < '0' || entry->d_name[0] > '9')
			continue;
		if (sys_line(host->root, command, sizeof(command), "/proc/%.16s/comm",
			    entry->d_name) == SYS_READ)
			*runs = strcmp(command, name) == 0;
	}
	closedir(directory);
	return SYS_READ;
}

static void check_irqbalance(const struct host *host, struct finding *finding)
{
	struct cpu_set isolated, open;
	bool runs;
	enum sys_read result = process_runs(host, "irqbalance", &runs);

	if (finding_unless_read(finding, result, "/proc"))
		return;
	if (!runs) {
		finding_ok(finding, "not running");
		return;
	}
	isolated_cpus(host, &isolated);
	open = cpu_set_minus(&host->needs->polling, &isolated);
	if (cpu_set_count(&open) == 0) {
		finding_ok(finding, "running, but it moves no interrupts to isolated CPUs");
		return;
	}
	finding_warning(finding, "running: it moves interrupts to any CPU that is not isolated");
	finding_wanted(finding, "no irqbalance, or isolated polling CPUs");
	finding_command(finding, "sudo systemctl disable --now irqbalance");
}

static void check_watchdog(const struct host *host, struct finding *finding)
{
	struct cpu_set watched;

	if (finding->status != FINDING_WARNING || finding->command[0] == '\0')
		return;
	if (cpu_set_read(&watched, host->root, "/proc/sys/kernel/watchdog_cpumask") != SYS_READ)
		return;
	watched = cpu_set_both(&watched, &host->needs->polling);
	if (cpu_set_count(&watched) == 0)
		finding_ok(finding, "on, but it watches no polling CPU");
}

/* DPDK requires these on x86. */
static const char *const needed_features[] = {"ssse3", "sse4_1", "sse4_2", "popcnt"};

struct feature {
	const char *name;
	bool built_in;
	const char *why;
};

static const struct feature used_features[] = {
	{"aes", true, "packet hashes use AES instructions"},
#ifdef __AVX2__
	{"avx2", true, "bursts are processed eight packets at a time"},
#else
	{"avx2", false, "bursts are processed eight packets at a time"},
#endif
#ifdef __AVX512F__
	{"avx512f", true, "candidates are looked up sixteen at a time"},
#else
	{"avx512f", false, "candidates are looked up sixteen at a time"},
#endif
};

static const char *const other_features[] = {"pclmulqdq", "gfni", "vaes", "avx512bw"};

static void judge_used_feature(
	const struct host *host, const struct feature *feature, struct finding *finding)
{
	bool has = host_cpu_feature(host, feature->name);

	if (has)
		finding_more(finding, " %s", feature->name);
	if (finding->wanted[0] != '\0')
		return;
	if (strcmp(feature->name, "avx512f") == 0 && !has)
		return;
	if (!has) {
		finding->status = FINDING_WARNING;
		finding_wanted(finding, "%s: %s", feature->name, feature->why);
	} else if (!feature->built_in) {
		finding->status = FINDING_WARNING;
		finding_wanted(finding, "a build that uses %s: %s", feature->name, feature->why);
		finding_command(finding, "meson configure build -Dcpu=native && ninja -C build");
	}
}

static void check_cpu_features(const struct host *host, struct finding *finding)
{
	if (!host_cpu_feature(host, "fpu") && !host_cpu_feature(host, "sse4_2")) {
		finding_unseen(finding, SYS_GARBAGE, "flags in /proc/cpuinfo");
		return;
	}
	for (size_t i = 0; i < sizeof(needed_features) / sizeof(needed_features[0]); i++)
		if (!host_cpu_feature(host, needed_features[i])) {
			finding_missing(finding, "no %s", needed_features[i]);
			finding_wanted(
				finding, "a CPU with %s: DPDK requires it", needed_features[i]);
			return;
		}
	finding_ok(finding, "sse4_2");
	for (size_t i = 0; i < sizeof(used_features) / sizeof(used_features[0]); i++)
		judge_used_feature(host, &used_features[i], finding);
	for (size_t i = 0; i < sizeof(other_features) / sizeof(other_features[0]); i++)
		if (host_cpu_feature(host, other_features[i]))
			finding_more(finding, " %s", other_features[i]);
}

static void check_cpu_quota(const struct host *host, struct finding *finding)
{
	uint32_t wanted = host->needs->nb_polling;
	double cpus = host->topology->cpu_quota;

	if (cpus <= 0) {
		finding_ok(finding, "none");
	} else if (cpus > wanted) {
		finding_ok(finding, "%.1f CPUs", cpus);
	} else {
		finding_warning(finding, "%.1f CPUs", cpus);
		finding_wanted(finding,
			"more than the %u CPUs that always poll: otherwise they pause for "
			"milliseconds",
			wanted);
		finding_command(finding, "sudo systemctl set-property UNIT CPUQuota=");
	}
}

static void check_virtual_machine(const struct host *host, struct finding *finding)
{
	char product[HOST_NAME_MAX] = "";

	if (!host_cpu_feature(host, "hypervisor")) {
		finding_ok(finding, "no");
		return;
	}
	sys_line(host->root, product, sizeof(product), "/sys/class/dmi/id/sys_vendor");
	finding_warning(finding, "yes%s%s", product[0] != '\0' ? ": " : "", product);
	finding_wanted(finding,
		"a physical machine: a hypervisor suspends CPUs unnoticed; at least pin the CPUs "
		"of this virtual machine, and pass the card through");
}

/*
 * Adds columns 1 to 8 of a line "cpuN ..." of /proc/stat to *all, and column 8 to *steal. Sets *all
 * to 0 if columns are missing.
 */
static void add_cpu_times(char *at, uint64_t *all, uint64_t *steal)
{
	for (uint32_t column = 1; column <= 8; column++) {
		char *end;
		uint64_t time = strtoull(at, &end, 10);

		*all = end != at ? *all + time : 0;
		*steal += column == 8 ? time : 0;
		at = end;
	}
}

static void check_steal(const struct host *host, struct finding *finding)
{
	FILE *stream = sys_open(host->root, "/proc/stat");
	uint64_t all = 0, steal = 0;
	char line[512];
	double share;

	if (stream == NULL) {
		finding_unseen(finding, SYS_ABSENT, "/proc/stat");
		return;
	}
	while (fgets(line, sizeof(line), stream) != NULL) {
		uint32_t cpu;
		int used = 0;

		if (sscanf(line, "cpu%" SCNu32 " %n", &cpu, &used) == 1 && used > 0 &&
			cpu_set_has(&host->needs->polling, cpu))
			add_cpu_times(line + used, &all, &steal);
	}
	fclose(stream);
	if (all == 0) {
		finding_unseen(finding, SYS_GARBAGE, "times of CPUs in /proc/stat");
		return;
	}
	share = (double)steal / (double)all;
	if (share < 0.0005) {
		finding_ok(finding, "%.3f %% of the time since boot was taken by the hypervisor",
			share * 100);
		return;
	}
	finding_warning(
		finding, "%.3f %% of the time since boot was taken by the hypervisor", share * 100);
	finding_wanted(finding, "no stolen time: queues overflow while a CPU is suspended; let the "
				"host pin and reserve the CPUs");
}

const struct check cpu_checks[] = {
	{"isolation", HOST_LIVE, .look = check_isolation},
	{"timer-tick", HOST_LIVE, .look = check_tick},
	{"rcu-callbacks", HOST_LIVE, .look = check_rcu},
	{"hyperthreads", HOST_LIVE, .look = check_hyperthreads},
	{"governor", HOST_LIVE, .look = check_frequency_governor},
	{"boost", HOST_LIVE, .look = check_boost},
	{"c-states", HOST_LIVE, .look = check_c_states},
	{"cpu-latency", HOST_LIVE, .look = check_cpu_latency},
	/* tuned is optional: other checks test the settings that it changes. */
	{"tuned", HOST_LIVE,
		.value = {.kind = VALUE_WORDS,
			.file = "/etc/tuned/active_profile",
			.optional = true,
			.verdicts = {{"cpu-partitioning*|network-latency*|latency-performance*|"
				      "realtime*|network-throughput*|throughput-performance*",
					     FINDING_OK, "{value}"},
				{NULL, FINDING_WARNING, "{value}",
					"profile cpu-partitioning or network-latency: they set most "
					"of what these checks test",
					"sudo tuned-adm profile network-latency"}}}},
	{"interrupts", HOST_LIVE, .look = check_interrupts},
	{"irqbalance", HOST_LIVE, .look = check_irqbalance},
	{"nmi-watchdog", HOST_LIVE,
		.value = {.file = "/proc/sys/kernel/nmi_watchdog",
			.absent = "this kernel has none",
			.verdicts = {{"0", FINDING_OK, "off"},
				{NULL, FINDING_WARNING, "on",
					"watchdog off: it interrupts every CPU and uses a hardware counter",
					"sudo sysctl -w kernel.nmi_watchdog=0"}}}},
	{"watchdog", HOST_LIVE,
		.value = {.file = "/proc/sys/kernel/watchdog",
			.absent = "this kernel has none",
			.verdicts = {{"0", FINDING_OK, "off"},
				{NULL, FINDING_WARNING, "on",
					"watchdog off: its threads run on polling CPUs",
					"sudo sysctl -w kernel.watchdog=0"}}},
		.look = check_watchdog},
	{"perf-event", HOST_LIVE,
		.value = {.file = "/proc/sys/kernel/perf_event_paranoid",
			.absent = "this kernel has none",
			.verdicts = {{">=1", FINDING_OK, "only root samples whole CPUs ({value})"},
				{NULL, FINDING_WARNING, "any user may sample whole CPUs ({value})",
					"perf_event_paranoid of 1 or more: sampling interrupts polling CPUs",
					"sudo sysctl -w kernel.perf_event_paranoid=2"}}}},
	{"cpu-features", HOST_ANY, .file = "/proc/cpuinfo", .look = check_cpu_features},
	{"cpu-quota", HOST_ANY, .file = "/proc/self/cgroup", .look = check_cpu_quota},
	{"virtual-machine", HOST_LIVE, .file = "/proc/cpuinfo", .look = check_virtual_machine},
	{"steal", HOST_LIVE, .look = check_steal},
	{0},
};
