/* SPDX-License-Identifier: BSD-3-Clause */

/* The doctor on simulated hosts: each is a directory with files of sysfs and proc. */

#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <linux/capability.h>
#include <string.h>

#include <cmocka.h>

#include "base/pci_device.h"
#include "doctor/check.h"
#include "doctor/pcie.h"
#include "rx/port/drivers.h"
#include "rx/port/privileges.h"
#include "sysfs_tree.h"

#define CARD      "0000:af:00.0"
#define CARD_PATH "sys/bus/pci/devices/" CARD
#define CPU_PATH  "sys/devices/system/cpu"
#define MB        (UINT64_C(1) << 20)

/* Status of cpu-features for a build for an older CPU on a newer one. */
#if defined(__AVX2__) && defined(__AVX512F__)
#define FEATURES_STATUS FINDING_OK
#else
#define FEATURES_STATUS FINDING_WARNING
#endif

static struct topology topology;
static struct host_needs needs;
static struct host_port ports[2];
static struct host host;
static struct findings findings;

static int setup(void **state)
{
	(void)state;
	tree_make();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	findings_free(&findings);
	tree_remove();
	return 0;
}

static void examine(void)
{
	findings_free(&findings);
	topology_read(&topology, tree_root);
	assert_true(findings_make(&findings, &host));
}

static const struct finding *find(const char *name)
{
	for (uint32_t i = 0; i < findings.nb_rows; i++)
		if (strcmp(findings.rows[i].check->name, name) == 0)
			return &findings.rows[i];
	return NULL;
}

static const struct finding *expect(const char *name, enum finding_status status)
{
	const struct finding *finding = find(name);

	if (status == FINDING_NONE) {
		assert_null(finding);
		return NULL;
	}
	if (finding == NULL) {
		fail_msg("no line %s", name);
		return NULL;
	}
	if (finding->status != status)
		fail_msg("%s is %d instead of %d: %s", name, finding->status, status,
			finding->found);
	return finding;
}

static void expect_text(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, text);
}

/* Asserts substrings of found, wanted and command. NULL: not checked. */
static void expect_says(const char *name, enum finding_status status, const char *found,
	const char *wanted, const char *command)
{
	const struct finding *finding = expect(name, status);

	if (found != NULL)
		expect_text(finding->found, found);
	if (wanted != NULL)
		expect_text(finding->wanted, wanted);
	if (command != NULL)
		expect_text(finding->command, command);
}

/*
 * Asserts that every finding except those named is "ok" (the list ends with NULL), and that all
 * required texts are present.
 */
static void expect_others_ok(const char *const *names)
{
	for (uint32_t i = 0; i < findings.nb_rows; i++) {
		const struct finding *finding = &findings.rows[i];
		bool named = strcmp(finding->check->name, "cpu-features") == 0;

		for (const char *const *name = names; *name != NULL; name++)
			named |= strcmp(finding->check->name, *name) == 0;
		assert_true(finding->found[0] != '\0');
		if (finding->status != FINDING_OK)
			assert_true(finding->wanted[0] != '\0');
		if (!named && finding->status != FINDING_OK)
			fail_msg("%s: %s", finding->check->name, finding->found);
	}
}

#define EXPECT_OTHERS_OK(...) expect_others_ok((const char *const[]){__VA_ARGS__, NULL})

static void set_polling(uint32_t first, uint32_t last)
{
	memset(&needs.polling, 0, sizeof(needs.polling));
	for (uint32_t cpu = first; cpu <= last; cpu++)
		cpu_set_add(&needs.polling, cpu);
	needs.nb_polling = last - first + 1;
}

static void write_cpu(uint32_t cpu, uint32_t package, uint32_t core)
{
	static const char *const names[] = {"POLL", "C1"};
	char file[128];

	tree_cpu(cpu, package, core);
	snprintf(file, sizeof(file), CPU_PATH "/cpu%u/topology/thread_siblings_list", cpu);
	tree_write(file, "%u\n", cpu);
	snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpufreq/scaling_governor", cpu);
	tree_write(file, "performance\n");
	snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpufreq/scaling_max_freq", cpu);
	tree_write(file, "3900000\n");
	snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpufreq/cpuinfo_max_freq", cpu);
	tree_write(file, "3900000\n");
	for (uint32_t s = 0; s < 2; s++) {
		snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpuidle/state%u/latency", cpu, s);
		tree_write(file, "%u\n", 2 * s);
		snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpuidle/state%u/name", cpu, s);
		tree_write(file, "%s\n", names[s]);
		snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpuidle/state%u/disable", cpu, s);
		tree_write(file, "0\n");
	}
}

static void write_hugepages(const char *directory, uint32_t total, uint32_t free)
{
	char file[160];

	snprintf(file, sizeof(file), "%s/hugepages-2048kB/nr_hugepages", directory);
	tree_write(file, "%u\n", total);
	snprintf(file, sizeof(file), "%s/hugepages-2048kB/free_hugepages", directory);
	tree_write(file, "%u\n", free);
}

static void write_node_hugepages(uint32_t node, uint32_t total, uint32_t free)
{
	char directory[96];

	snprintf(directory, sizeof(directory), "sys/devices/system/node/node%u/hugepages", node);
	write_hugepages(directory, total, free);
}

static void write_interrupt(uint32_t number, const char *name, const char *cpus)
{
	char file[128];

	snprintf(file, sizeof(file), "proc/irq/%u/smp_affinity_list", number);
	tree_write(file, "%s\n", cpus);
	snprintf(file, sizeof(file), "proc/irq/%u/effective_affinity_list", number);
	tree_write(file, "%s\n", cpus);
	snprintf(file, sizeof(file), "proc/irq/%u/%s/none", number, name);
	tree_write(file, "%s", "");
}

#define CPUINFO(more)                                                                              \
	"processor\t: 0\nvendor_id\t: GenuineIntel\n"                                              \
	"flags\t\t: fpu ssse3 sse4_1 sse4_2 popcnt aes avx2 avx512f pclmulqdq" more "\n\n"
#define TSC " constant_tsc nonstop_tsc"

static void write_kernel(void)
{
	tree_write("proc/cpuinfo", CPUINFO(TSC));
	tree_write("proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 rcu_nocbs=2-27,30-55\n");
	tree_write("proc/mounts", "sysfs /sys sysfs rw 0 0\n");
	tree_write("proc/stat", "cpu  1 2 3 4 5 6 7 8 0 0\ncpu30 900 0 100 0 0 0 0 0 0 0\n");
	tree_write("proc/meminfo", "MemTotal: 394000000 kB\nMemFree: 300000000 kB\n"
				   "MemAvailable:   350000000 kB\nSwapTotal:             0 kB\n");
	tree_write("proc/self/limits",
		"Limit                     Soft Limit           Hard Limit           Units     \n"
		"Max locked memory         unlimited            unlimited            bytes     \n");
	tree_write("proc/self/status",
		"Name:\tx\nCapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-55\n");
	tree_write("proc/self/cgroup", "0::/user.slice\n");
	tree_write("proc/1/comm", "systemd\n");
	tree_write("proc/net/softnet_stat", "00000a00 00000000 00000001\n");
	tree_write("proc/sys/kernel/numa_balancing", "0\n");
	tree_write("proc/sys/kernel/nmi_watchdog", "0\n");
	tree_write("proc/sys/kernel/watchdog", "1\n");
	tree_write("proc/sys/kernel/watchdog_cpumask", "0-1,28-29\n");
	tree_write("proc/sys/kernel/perf_event_paranoid", "2\n");
	tree_write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
	tree_write("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
	tree_write("sys/devices/system/clocksource/clocksource0/available_clocksource",
		"tsc hpet acpi_pm \n");
	tree_write("etc/tuned/active_profile", "cpu-partitioning\n");
	tree_write("dev/cpu_dma_latency", "%c%c%c%c", 2, 0, 0, 0);
	tree_write("run/dpdk/x", "%s", "");
}

/*
 * Writes the card of node 1: gen 4 x 16, bound to vfio-pci, the only device in its group, 256-byte
 * payload.
 */
static void write_card(void)
{
	uint8_t config[256] = {[6] = 0x10, [0x34] = 0x40, [0x40] = 0x01, [0x41] = 0x70};
	char path[512];
	FILE *out;

	tree_write(CARD_PATH "/class", "0x020000\n");
	tree_write(CARD_PATH "/vendor", "0x8086\n");
	tree_write(CARD_PATH "/device", "0x1592\n");
	tree_write(CARD_PATH "/numa_node", "1\n");
	tree_write(CARD_PATH "/current_link_speed", "16.0 GT/s PCIe\n");
	tree_write(CARD_PATH "/current_link_width", "16\n");
	tree_write(CARD_PATH "/max_link_speed", "16.0 GT/s PCIe\n");
	tree_write(CARD_PATH "/max_link_width", "16\n");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/vfio-pci");
	tree_link(CARD_PATH "/iommu_group", "../../../../kernel/iommu_groups/42");
	tree_link("sys/kernel/iommu_groups/42/devices/" CARD, "../../../../bus/pci/devices/" CARD);
	tree_write("sys/module/vfio_pci/x", "%s", "");
	tree_write("dev/vfio/42", "%s", "");
	tree_write("dev/vfio/vfio", "%s", "");
	config[0x70] = 0x10;
	config[0x78] = 0x30; /* payload 256 (1 << 5), read request 512 (2 << 12) */
	config[0x79] = 0x21;
	snprintf(path, sizeof(path), "%s/" CARD_PATH "/config", tree_root);
	out = fopen(path, "we");
	assert_non_null(out);
	fwrite(config, 1, sizeof(config), out);
	fclose(out);
}

/* Two packages of 28 cores, all but two of each isolated; 16 workers and a card on node 1. */
static void make_good_host(void)
{
	for (uint32_t cpu = 0; cpu < 56; cpu++)
		write_cpu(cpu, cpu / 28, cpu % 28);
	tree_node(0, "0-27", "10 21");
	tree_node(1, "28-55", "21 10");
	tree_write("sys/devices/system/node/online", "0-1\n");
	for (uint32_t node = 0; node < 2; node++) {
		char file[96];

		snprintf(file, sizeof(file), "sys/devices/system/node/node%u/meminfo", node);
		tree_write(file, "Node %u MemFree:  150000000 kB\n", node);
		write_node_hugepages(node, 1024, 1024);
	}
	write_hugepages("sys/kernel/mm/hugepages", 2048, 2048);
	tree_write(CPU_PATH "/online", "0-55\n");
	tree_write(CPU_PATH "/isolated", "2-27,30-55\n");
	tree_write(CPU_PATH "/nohz_full", "2-27,30-55\n");
	tree_write(CPU_PATH "/intel_pstate/no_turbo", "0\n");
	write_interrupt(24, "eth0", "0");
	write_interrupt(25, "nvme0q1", "28");
	write_kernel();
	write_card();
	needs = (struct host_needs){
		.sources = HOST_CARD,
		.huge = true,
		.huge_bytes[1] = 800 * MB,
		.ordinary_bytes[1] = 300 * MB,
	};
	set_polling(30, 45);
	host = (struct host){
		.root = tree_root,
		.topology = &topology,
		.needs = &needs,
		.calls = {.dpdk_version = "DPDK 22.11.11",
			.libpcap_version = "libpcap version 1.10.3",
			.runtime_directory = "/run/dpdk",
			.clock_known = true,
			.clock_synchronised = true,
			.clock_error_us = 50},
		.ports = ports,
		.nb_ports = 1,
	};
	host_port_read(&ports[0], tree_root, "af:00.0");
}

/* The same host with a kernel interface instead of the card. */
static void make_kernel_host(const char *spec)
{
	make_good_host();
	tree_write("sys/class/net/eth1/flags", "0x1003\n");
	tree_write("sys/class/net/eth1/operstate", "up\n");
	tree_write("sys/class/net/eth1/mtu", "1500\n");
	host_port_read(&ports[0], tree_root, spec);
	ports[0].settings = (struct port_interface){
		.features_known = true, .ring_known = true, .ring = 4096, .ring_max = 4096};
	needs.sources = ports[0].source;
	needs.huge_bytes[1] = 0;
	needs.huge_anywhere = 800 * MB;
}

static void test_good_host(void **state)
{
	(void)state;
	make_good_host();
	assert_int_equal(ports[0].source, HOST_CARD);
	assert_string_equal(ports[0].address, CARD);
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect("cpu-features", FEATURES_STATUS);
	assert_int_equal(findings.counts[FINDING_MISSING], 0);
	expect_says("pcie-link", FINDING_OK, "gen 4 x 16", NULL, NULL);
	expect_says("pcie-payload", FINDING_OK, "payload 256, read request 512", NULL, NULL);
	expect_says("hugepages", FINDING_OK, "node 1: 2.0 GB of 2.0 GB free", NULL, NULL);
	expect_says("plan", FINDING_OK, "16 lcores poll, on CPUs 30-45", NULL, NULL);
	/* Checks of other sources have no line. */
	expect("libpcap", FINDING_NONE);
	expect("merging", FINDING_NONE);
	expect("virtual-port", FINDING_NONE);
	expect("port", FINDING_NONE);
}

static void test_no_hugepages(void **state)
{
	(void)state;
	make_good_host();
	write_node_hugepages(0, 0, 0);
	write_node_hugepages(1, 0, 0);
	write_hugepages("sys/kernel/mm/hugepages", 0, 0);
	examine();
	EXPECT_OTHERS_OK("hugepages");
	expect_says("hugepages", FINDING_MISSING, "node 1: 0 bytes of 0 bytes free",
		"800 MB free on node 1",
		"echo 400 | sudo tee /sys/devices/system/node/node1/hugepages/hugepages-2048kB/");
	/* With --no-huge nothing is missing, but a card does not reach its speed. */
	needs.huge = false;
	examine();
	expect("hugepages", FINDING_WARNING);
	expect("hugetlbfs", FINDING_NONE);
	/* Without a card, ordinary memory is sufficient. */
	needs.huge = true;
	needs.sources = HOST_VIRTUAL;
	needs.huge_bytes[1] = 0;
	needs.huge_anywhere = 800 * MB;
	host.nb_ports = 0;
	examine();
	expect_says("hugepages", FINDING_WARNING, NULL, "800 MB free",
		"echo 400 | sudo tee /sys/devices/system/node/node0/");
	/* Any node is suitable for a port without node. */
	write_hugepages("sys/kernel/mm/hugepages", 500, 400);
	examine();
	expect("hugepages", FINDING_OK);
}

static void test_hugepages_on_the_wrong_node(void **state)
{
	(void)state;
	make_good_host();
	write_node_hugepages(1, 100, 80);
	examine();
	EXPECT_OTHERS_OK("hugepages");
	/* Node 1 needs 400 pages; 100 exist, 80 are free. */
	expect_says("hugepages", FINDING_MISSING, "node 1: 160 MB of 200 MB free", NULL,
		"echo 420 | sudo tee /sys/devices/system/node/node1/");
}

static void test_pages_of_several_sizes(void **state)
{
	(void)state;
	make_good_host();
	write_node_hugepages(1, 0, 0);
	tree_write("sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages", "4");
	tree_write(
		"sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages", "4");
	examine();
	expect_says("hugepages", FINDING_OK, "node 1: 4.0 GB of 4.0 GB free", NULL, NULL);
}

static void test_huge_directory(void **state)
{
	(void)state;
	make_good_host();
	needs.huge_directory = "/mnt/huge";
	tree_write("mnt/huge/x", "%s", "");
	examine();
	EXPECT_OTHERS_OK("hugetlbfs");
	expect_says(
		"hugetlbfs", FINDING_MISSING, "/mnt/huge", NULL, "sudo mount -t hugetlbfs nodev");
	tree_write("proc/mounts", "none /mnt/huge hugetlbfs rw,pagesize=2M 0 0\n");
	examine();
	EXPECT_OTHERS_OK(NULL);
}

static void test_memory(void **state)
{
	(void)state;
	make_good_host();
	tree_write("proc/meminfo",
		"MemAvailable:   100000 kB\nSwapTotal: 8388608 kB\nSwapFree: 8388608 kB\n");
	tree_write("proc/sys/kernel/numa_balancing", "1\n");
	tree_write("sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
	tree_write("proc/self/limits",
		"Max locked memory         8388608              8388608              bytes     \n");
	tree_write("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-55\n");
	examine();
	EXPECT_OTHERS_OK("memory", "swap", "numa-balancing", "transparent-hugepages", "memlock");
	expect_says("memory", FINDING_MISSING, "98 MB", "300 MB; lower", NULL);
	expect_says("swap", FINDING_WARNING, "8.0 GB", NULL, "swapoff");
	expect("numa-balancing", FINDING_WARNING);
	expect("transparent-hugepages", FINDING_WARNING);
	expect_says("memlock", FINDING_MISSING, "8.0 MB", "800 MB", "memlock unlimited");
}

static void test_memory_of_a_node(void **state)
{
	(void)state;
	make_good_host();
	tree_write("sys/devices/system/node/node1/meminfo", "Node 1 MemFree:  1000 kB\n");
	examine();
	EXPECT_OTHERS_OK("memory");
	expect_says("memory", FINDING_WARNING, "node 1", "300 MB free on this node", NULL);
}

static void test_nothing_set_aside(void **state)
{
	(void)state;
	make_good_host();
	tree_write(CPU_PATH "/isolated", "2-27,30-40\n");
	tree_write(CPU_PATH "/nohz_full", "  (null)\n");
	tree_write("proc/cmdline", "root=/dev/sda1 rcu_nocbs=2-27\n");
	examine();
	EXPECT_OTHERS_OK("isolation", "timer-tick", "rcu-callbacks");
	expect_says("isolation", FINDING_WARNING, "CPUs 41-45 are not isolated", NULL,
		"isolcpus=managed_irq,domain,30-45");
	expect_says("rcu-callbacks", FINDING_WARNING, "CPUs 30-45", NULL, "rcu_nocbs=30-45");
	tree_write(CPU_PATH "/nohz_full", "(null)\n");
	examine();
	expect_says("timer-tick", FINDING_WARNING, "CPUs 30-45", NULL, "nohz_full=30-45");
	tree_write("proc/cmdline", "rcu_nocbs=all\n");
	examine();
	expect("rcu-callbacks", FINDING_OK);
	tree_write("proc/cmdline", "rcu_nocbs=30-N\n");
	examine();
	expect("rcu-callbacks", FINDING_OK);
	tree_write("proc/cmdline", "rcu_nocbs=2;reboot\n");
	examine();
	expect("rcu-callbacks", FINDING_WARNING);
	/* Isolated by a cpuset instead of at boot. */
	tree_write("sys/fs/cgroup/cpuset.cpus.isolated", "41-45\n");
	examine();
	expect("isolation", FINDING_OK);
	/* A kernel without nohz_full. */
	tree_delete(CPU_PATH "/nohz_full");
	examine();
	expect_says("timer-tick", FINDING_WARNING, NULL, "CONFIG_NO_HZ_FULL", NULL);
	assert_string_equal(find("timer-tick")->command, "");
}

static void test_powersave(void **state)
{
	(void)state;
	make_good_host();
	tree_write(CPU_PATH "/cpu31/cpufreq/scaling_governor", "powersave\n");
	tree_write(CPU_PATH "/cpu45/cpufreq/scaling_governor", "powersave\n");
	tree_write(CPU_PATH "/cpu3/cpufreq/scaling_governor", "powersave\n"); /* does not poll */
	tree_write(CPU_PATH "/intel_pstate/no_turbo", "1\n");
	tree_write(CPU_PATH "/cpu33/cpuidle/state2/latency", "133\n");
	tree_write(CPU_PATH "/cpu33/cpuidle/state2/name", "C6\n");
	tree_write(CPU_PATH "/cpu33/cpuidle/state2/disable", "0\n");
	tree_write("etc/tuned/active_profile", "powersave\n");
	examine();
	EXPECT_OTHERS_OK("governor", "boost", "c-states", "tuned");
	expect_says("governor", FINDING_WARNING, "powersave on CPUs 31,45", NULL,
		"cpupower -c 31,45 frequency-set -g performance");
	expect("boost", FINDING_WARNING);
	expect_says("c-states", FINDING_WARNING, "idle state C6 is allowed: it takes 133 us", NULL,
		NULL);
	expect("tuned", FINDING_WARNING);
	/* The state exists but is disabled. */
	tree_write(CPU_PATH "/cpu33/cpuidle/state2/disable", "1\n");
	tree_delete("etc/tuned/active_profile");
	examine();
	expect("c-states", FINDING_OK);
	expect("tuned", FINDING_NONE);
	/* The governor is right, but the frequency limit is not. */
	tree_write(CPU_PATH "/cpu31/cpufreq/scaling_governor", "performance\n");
	tree_write(CPU_PATH "/cpu45/cpufreq/scaling_governor", "performance\n");
	tree_write(CPU_PATH "/cpu30/cpufreq/scaling_max_freq", "1200000\n");
	examine();
	expect_says("governor", FINDING_WARNING, "1200 of 3900 MHz", NULL, "3900000kHz");
}

static void test_interrupts(void **state)
{
	(void)state;
	make_good_host();
	write_interrupt(77, "ice-rx-7", "31,33");
	tree_write("proc/irq/5/smp_affinity_list", "0-55\n"); /* IRQ 5 has no handler */
	tree_write("proc/42/comm", "irqbalance\n");
	examine();
	EXPECT_OTHERS_OK("interrupts");
	expect_says("interrupts", FINDING_WARNING, "1 on polling CPUs: 77 ice-rx-7 on CPU 31", NULL,
		"echo 0-29,46-55 | sudo tee /proc/irq/77/smp_affinity_list");
	/* irqbalance ignores isolated CPUs only. */
	expect("irqbalance", FINDING_OK);
	tree_write(CPU_PATH "/isolated", "\n");
	examine();
	expect("irqbalance", FINDING_WARNING);
	tree_write("proc/sys/kernel/watchdog_cpumask", "0-55\n");
	tree_write("proc/sys/kernel/nmi_watchdog", "1\n");
	tree_write("proc/sys/kernel/perf_event_paranoid", "-1\n");
	examine();
	expect("watchdog", FINDING_WARNING);
	expect("nmi-watchdog", FINDING_WARNING);
	expect("perf-event", FINDING_WARNING);
}

static void test_hyperthreads(void **state)
{
	(void)state;
	make_good_host();
	tree_write(CPU_PATH "/cpu31/topology/thread_siblings_list", "31,87\n");
	examine();
	EXPECT_OTHERS_OK("hyperthreads");
	expect_says("hyperthreads", FINDING_WARNING, "87", NULL, "sudo chcpu -d 87");
	tree_write(CPU_PATH "/isolated", "2-27,30-55,87\n");
	examine();
	expect("hyperthreads", FINDING_OK);
	tree_write(CPU_PATH "/cpu31/topology/thread_siblings_list", "31-32\n");
	examine();
	expect_says("hyperthreads", FINDING_WARNING, "32 poll, but share cores", NULL, NULL);
}

static void test_virtual_machine(void **state)
{
	(void)state;
	make_good_host();
	tree_write("proc/cpuinfo", CPUINFO(" hypervisor tsc"));
	tree_write("proc/stat", "cpu30 900 0 50 0 0 0 0 50 0 0\ncpu0 0 0 0 0 0 0 0 9000 0 0\n");
	tree_write("sys/class/dmi/id/sys_vendor", "QEMU\n");
	tree_write("sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n");
	tree_write("proc/self/cgroup", "0::/a/b\n");
	tree_write("sys/fs/cgroup/a/cpu.max", "400000 100000\n");
	host.calls.clock_synchronised = false;
	tree_delete(CPU_PATH "/intel_pstate/no_turbo");
	for (uint32_t cpu = 30; cpu < 46; cpu++) {
		char file[128];

		snprintf(file, sizeof(file), CPU_PATH "/cpu%u/cpufreq/scaling_governor", cpu);
		tree_delete(file);
	}
	examine();
	EXPECT_OTHERS_OK(
		"virtual-machine", "steal", "tsc", "clocksource", "cpu-quota", "clock-sync");
	expect_says("virtual-machine", FINDING_WARNING, "QEMU", NULL, NULL);
	expect_says("steal", FINDING_WARNING, "5.000 %", NULL, NULL);
	expect("tsc", FINDING_WARNING);
	expect_says("clocksource", FINDING_WARNING, "hpet", NULL, "echo tsc");
	expect_says("cpu-quota", FINDING_WARNING, "4.0 CPUs", "16", NULL);
	expect("clock-sync", FINDING_WARNING);
	expect_says("governor", FINDING_OK, "hypervisor", NULL, NULL);
	host.calls.clock_synchronised = true;
	host.calls.clock_error_us = 500000;
	tree_write("sys/fs/cgroup/a/cpu.max", "max 100000\n");
	examine();
	expect("cpu-quota", FINDING_OK);
	expect_says("clock-sync", FINDING_WARNING, "500 ms", NULL, NULL);
}

static void test_cpu_features(void **state)
{
	(void)state;
	make_good_host();
	tree_write("proc/cpuinfo", "flags\t\t: fpu ssse3 sse4_1 sse4_2 popcnt avx2" TSC "\n");
	examine();
	expect_says("cpu-features", FINDING_WARNING, NULL, "aes", NULL);
	tree_write("proc/cpuinfo", "flags\t\t: fpu ssse3 sse4_1 popcnt avx2 aes" TSC "\n");
	examine();
	expect_says("cpu-features", FINDING_MISSING, "no sse4_2", NULL, NULL);
}

static void test_slow_slot(void **state)
{
	(void)state;
	make_good_host();
	tree_write(CARD_PATH "/current_link_speed", "8.0 GT/s PCIe\n");
	tree_write(CARD_PATH "/current_link_width", "8\n");
	examine();
	EXPECT_OTHERS_OK("pcie-link");
	expect_says("pcie-link", FINDING_WARNING,
		"gen 3 x 8: 58 Gbit/s usable, 66 Mpps of 64 bytes; the card supports gen 4 x 16",
		"100 Gbit/s (assumed: the driver does not report it) at 64 bytes, 148.8 Mpps",
		"lspci -s " CARD);
	/* Sufficient for a port of 25 Gbit/s, in a slot of this speed. */
	tree_write(CARD_PATH "/max_link_speed", "8.0 GT/s PCIe\n");
	tree_write(CARD_PATH "/max_link_width", "8\n");
	tree_write(CARD_PATH "/net/ens1/speed", "25000\n");
	examine();
	expect("pcie-link", FINDING_OK);
	/* Gen 3 x 16 carries 100 Gbit/s, but not with the smallest packets. */
	tree_write(CARD_PATH "/net/ens1/speed", "100000\n");
	tree_write(CARD_PATH "/current_link_width", "16\n");
	examine();
	expect_says("pcie-link", FINDING_WARNING, "full rate for frames of", NULL, NULL);
	assert_null(strstr(find("pcie-link")->wanted, "assumed"));
	/* A loop in the capability list, and a payload of 128. */
	tree_write(CARD_PATH "/config", "%s", "too short");
	examine();
	expect_says("pcie-payload", FINDING_WARNING, "not readable by this user", NULL,
		"sudo sketchtap doctor");
}

/* Figures of the paper cited in pcie.h: 7.87 Gbit/s per lane, 57.88 Gbit/s for gen 3 x 8. */
static void test_pcie_model(void **state)
{
	(void)state;
	assert_true(pcie_bandwidth(8, 8) > 57.8e9 && pcie_bandwidth(8, 8) < 58e9);
	assert_true(pcie_bandwidth(5, 8) > 29.4e9 && pcie_bandwidth(5, 8) < 29.5e9);
	assert_true(pcie_bandwidth(7, 8) <= 0);
	assert_true(pcie_bandwidth(8, 0) <= 0);
	assert_true(pcie_bandwidth(8, 64) <= 0);
	assert_int_equal(pcie_generation(2.5), 1);
	assert_int_equal(pcie_generation(64), 6);
	/*
	 * 60 + 24 + 16 + 6 + 3 bytes for a frame of 64 bytes, 1514 + 6 x 24 + 25 for one of 1518.
	 */
	assert_true(pcie_packet_rate(109 * 8e6, 64, 256) > 0.999e6);
	assert_true(pcie_packet_rate(109 * 8e6, 64, 256) < 1.001e6);
	assert_true(pcie_packet_rate(1683 * 8e6, 1518, 256) > 0.999e6);
	assert_true(pcie_packet_rate(1683 * 8e6, 1518, 256) < 1.001e6);
	assert_true(ethernet_packet_rate(100e9, 64) > 148.8e6);
	assert_true(ethernet_packet_rate(100e9, 64) < 148.9e6);
}

static void test_remote_card(void **state)
{
	(void)state;
	make_good_host();
	tree_write(CARD_PATH "/numa_node", "0\n");
	examine();
	EXPECT_OTHERS_OK("numa-node");
	expect_says("numa-node", FINDING_WARNING, "node 0, but CPUs 30-45 are on other nodes", NULL,
		NULL);
	tree_write(CARD_PATH "/numa_node", "-1\n");
	examine();
	expect_says("numa-node", FINDING_WARNING, "not reported by the firmware", NULL, NULL);
}

static void test_kernel_driver(void **state)
{
	(void)state;
	make_good_host();
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/ice");
	tree_write(CARD_PATH "/net/ens1f0/speed", "100000\n");
	examine();
	EXPECT_OTHERS_OK("driver", "vfio");
	expect_says("driver", FINDING_MISSING, "driver ice, as ens1f0", "vfio-pci",
		"sudo ip link set dev ens1f0 down && sudo dpdk-devbind.py --bind=vfio-pci " CARD);
	expect("vfio", FINDING_NONE);
	/* A name with shell metacharacters is not repeated. */
	tree_delete(CARD_PATH "/net/ens1f0/speed");
	tree_delete(CARD_PATH "/net/ens1f0");
	tree_write(CARD_PATH "/net/a;reboot/speed", "1\n");
	examine();
	assert_null(strstr(expect("driver", FINDING_MISSING)->command, "reboot"));
	tree_delete("sys/module/vfio_pci/x");
	tree_delete("sys/module/vfio_pci");
	tree_delete(CARD_PATH "/driver");
	examine();
	expect_says("driver", FINDING_MISSING, "no driver", NULL, "sudo modprobe vfio-pci && ");
}

/*
 * The type of a card is known with any driver bound: from the driver that the kernel would select.
 */
static void test_driver_of_device(void **state)
{
	char name[PCI_DRIVER_MAX];

	(void)state;
	make_good_host();
	assert_false(pci_device_driver(tree_root, CARD, name)); /* no table */
	tree_write("proc/sys/kernel/osrelease", "6.1.0-made-up\n");
	tree_write(
		CARD_PATH "/modalias", "pci:v000015ADd000007B0sv000015ADsd000007B0bc02sc00i00\n");
	tree_write("lib/modules/6.1.0-made-up/modules.alias",
		"# Aliases extracted from modules themselves.\n"
		"alias usb:v15ADp07B0d*dc*dsc*dp*ic*isc*ip*in* other\n"
		"alias vfio_pci:v*d*sv*sd*bc*sc*i* vfio_pci\nalias\nalias pci:\n"
		"alias pci:v00008086d000010D3sv*sd*bc*sc*i* e1000e\n"
		"alias pci:v000015ADd000007B0sv*sd*bc*sc*i* vmxnet3\n");
	assert_true(pci_device_driver(tree_root, CARD, name));
	assert_string_equal(name, "vmxnet3");
	tree_delete(CARD_PATH "/driver");
	assert_true(pci_device_driver(tree_root, CARD, name));
	assert_string_equal(name, "vmxnet3");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/ice");
	assert_true(pci_device_driver(tree_root, CARD, name));
	assert_string_equal(name, "ice");
	assert_false(pci_device_driver(tree_root, "0000:00:00.0", name));
}

#define PHYSICAL "0000:af:02.0"

static void test_virtual_function(void **state)
{
	(void)state;
	make_good_host();
	examine();
	expect("virtual-function", FINDING_NONE);
	tree_link(CARD_PATH "/physfn", "../" PHYSICAL);
	tree_link("sys/bus/pci/devices/" PHYSICAL "/virtfn0", "../0000:af:00.1");
	tree_link("sys/bus/pci/devices/" PHYSICAL "/virtfn1", "../" CARD);
	tree_write("sys/bus/pci/devices/" PHYSICAL "/net/ens2f0/speed", "10000\n");
	examine();
	EXPECT_OTHERS_OK("virtual-function");
	expect_says("virtual-function", FINDING_WARNING, "af:00.0",
		"'trust on', set on the host of this function",
		"sudo ip link set dev ens2f0 vf 1 trust on");
	/* In a guest only the driver identifies it, and the command is for the host. */
	tree_delete(CARD_PATH "/physfn");
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/igbvf");
	examine();
	expect("virtual-function", FINDING_WARNING);
	assert_string_equal(find("virtual-function")->command, "");
}

static void test_bifurcated(void **state)
{
	(void)state;
	make_good_host();
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/mlx5_core");
	tree_delete(CARD_PATH "/iommu_group");
	examine();
	EXPECT_OTHERS_OK("driver");
	expect_says("driver", FINDING_MISSING, "no verbs devices", NULL,
		"sudo modprobe -a ib_uverbs mlx5_ib");
	tree_write("sys/class/infiniband_verbs/uverbs0/x", "%s", "");
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect("vfio", FINDING_NONE);
}

static void test_iommu(void **state)
{
	(void)state;
	make_good_host();
	/*
	 * The other device of the group belongs to the kernel; a bridge in the group does not
	 * matter.
	 */
	tree_link("sys/kernel/iommu_groups/42/devices/0000:af:00.1", "x");
	tree_write("sys/bus/pci/devices/0000:af:00.1/class", "0x020000\n");
	tree_link("sys/bus/pci/devices/0000:af:00.1/driver", "../../../bus/pci/drivers/ice");
	tree_link("sys/kernel/iommu_groups/42/devices/0000:ae:00.0", "x");
	tree_write("sys/bus/pci/devices/0000:ae:00.0/class", "0x060400\n");
	tree_link("sys/bus/pci/devices/0000:ae:00.0/driver", "../../../bus/pci/drivers/pcieport");
	examine();
	EXPECT_OTHERS_OK("iommu");
	expect_says("iommu", FINDING_MISSING, "group 42 also contains 0000:af:00.1", NULL,
		"--bind=vfio-pci 0000:af:00.1");
	/*
	 * Without an IOMMU group, vfio needs its no-IOMMU mode, or the kernel other boot
	 * parameters.
	 */
	tree_delete(CARD_PATH "/iommu_group");
	examine();
	EXPECT_OTHERS_OK("iommu");
	expect_says("iommu", FINDING_MISSING, "none", NULL, "intel_iommu=on iommu=pt");
	tree_write("sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y\n");
	tree_write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\n" CPUINFO(TSC));
	examine();
	expect_says("iommu", FINDING_WARNING, "can write to any memory", NULL,
		"GRUB_CMDLINE_LINUX iommu=pt");
	/* uio works without IOMMU protection, and only as root. */
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/igb_uio");
	tree_write("proc/self/status", "CapEff:\t0000000000000000\nCpus_allowed_list:\t0-55\n");
	examine();
	EXPECT_OTHERS_OK("iommu", "driver", "privileges");
	expect("driver", FINDING_WARNING);
	expect("iommu", FINDING_WARNING);
	expect_says("privileges", FINDING_MISSING, "cap_sys_rawio,cap_sys_admin", NULL, "setcap");
}

static void test_wrong_devices(void **state)
{
	(void)state;
	make_good_host();
	/* A disk is identified as such, without advice to unbind it from the kernel. */
	tree_write(CARD_PATH "/class", "0x010802\n");
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/nvme");
	examine();
	expect_says("device", FINDING_MISSING, "not a network card", NULL, NULL);
	expect("driver", FINDING_NONE);
	expect("iommu", FINDING_NONE);
	expect("pcie-link", FINDING_NONE);
	host_port_read(&ports[0], tree_root, "0000:01:00.0");
	examine();
	expect_says("device", FINDING_MISSING, "no such PCI device", NULL, NULL);
	expect("driver", FINDING_NONE);
}

static void test_no_port(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_UNNAMED;
	examine();
	EXPECT_OTHERS_OK("port");
	expect_says("port", FINDING_WARNING, CARD, NULL, "sketchtap doctor --port " CARD);
	expect("driver", FINDING_NONE);
	expect("hugepages", FINDING_OK);
	/* No card was requested: requirements of cards only do not prevent a run. */
	needs.huge_bytes[1] = UINT64_C(1) << 50;
	examine();
	expect("hugepages", FINDING_WARNING);
	assert_int_equal(findings.counts[FINDING_MISSING], 0);
}

static void test_kernel_interface(void **state)
{
	(void)state;
	make_kernel_host("net_af_packet0,iface=eth1,qpairs=2");
	assert_int_equal(ports[0].source, HOST_KERNEL);
	assert_string_equal(ports[0].interface, "eth1");
	assert_string_equal(ports[0].driver, "net_af_packet");
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect("memlock", FINDING_NONE);
	expect("pcie-link", FINDING_NONE);
	ports[0].settings.gro = ports[0].settings.lro = true;
	ports[0].settings.vlan_strip = true;
	ports[0].settings.ring = 512;
	tree_write("sys/class/net/eth1/mtu", "9000\n");
	tree_write("proc/net/softnet_stat", "00000a00 00000003 00000001\nff 4 0\n");
	tree_write("proc/self/status", "CapEff:\t0000000000001000\nCpus_allowed_list:\t0-55\n");
	examine();
	EXPECT_OTHERS_OK("merging", "rx-ring", "backlog", "privileges");
	expect_says("merging", FINDING_WARNING, "gro, lro join packets", NULL,
		"sudo ethtool -K eth1 gro off lro off");
	expect_says("vlan-strip", FINDING_OK, "restored", NULL, NULL);
	expect_says("rx-ring", FINDING_WARNING, "512 descriptors of 4096", NULL,
		"sudo ethtool -G eth1 rx 4096");
	expect_says("frame-size", FINDING_OK, "MTU 9000", NULL, NULL);
	expect_says("backlog", FINDING_WARNING, "7 packets", NULL, NULL);
	expect_says("privileges", FINDING_MISSING, "lacks cap_net_raw", NULL, "cap_net_raw+ep");
	tree_write("sys/class/net/eth1/flags", "0x1002\n");
	examine();
	expect_says("interface", FINDING_WARNING, "is down", NULL, "ip link set dev eth1 up");
	tree_write("sys/class/net/eth1/flags", "0x1003\n");
	tree_write("sys/class/net/eth1/operstate", "down\n");
	examine();
	expect_says("interface", FINDING_WARNING, "no link", NULL, "ethtool eth1");
	/* An interface of this name, but in another network namespace. */
	tree_write("sys/class/net/eth1/ifindex", "7\n");
	examine();
	expect_says("interface", FINDING_WARNING, "another network namespace", NULL, "ip netns");
	ports[0].settings.index = 7;
	examine();
	expect_says("interface", FINDING_WARNING, "no link", NULL, NULL);
	host_port_read(&ports[0], tree_root, "net_af_packet0,iface=eth7");
	examine();
	expect("interface", FINDING_MISSING);
	expect("merging", FINDING_NONE);
	expect("sending", FINDING_NONE);
	/* It exists, but not in /sys. */
	ports[0].settings.index = 9;
	examine();
	expect_says("interface", FINDING_WARNING, "another network namespace", NULL, NULL);
}

/* Forwarded packets leave the interface unchanged. */
static void test_forwarding(void **state)
{
	(void)state;
	make_kernel_host("net_af_packet0,iface=eth1");
	needs.forwards = true;
	examine();
	expect("sending", FINDING_OK);
	expect("joined", FINDING_OK);
	expect_says("checksums", FINDING_WARNING, "not a card", NULL, "tx off tso off gso off");
	ports[0].settings.gro = ports[0].settings.gro_list = true;
	strcpy(ports[0].settings.bus, "0000:00:03.0");
	examine();
	expect_says("joined", FINDING_WARNING, "merged", NULL,
		"sudo ethtool -K eth1 gro off rx-gro-list off");
	expect("checksums", FINDING_OK);
	host_port_read(&ports[0], tree_root, "net_pcap0,rx_pcap=a");
	examine();
	expect_says("sending", FINDING_MISSING, "cannot transmit", "tx_pcap=", NULL);
	host_port_read(&ports[0], tree_root, "net_pcap0,rx_pcap=a,tx_pcap=b");
	examine();
	expect("sending", FINDING_OK);
	needs.forwards = false;
	examine();
	expect("sending", FINDING_NONE);
}

/* Checked if workers read fill levels of queues; for a card, by its kernel driver. */
static void test_queue_fill(void **state)
{
	(void)state;
	make_kernel_host("net_af_packet0,iface=eth1");
	examine();
	expect("queue-fill", FINDING_NONE);
	needs.queue_fill = true;
	examine();
	expect_says("queue-fill", FINDING_WARNING, "does not report", "--design async", NULL);
	host_port_read(&ports[0], tree_root, "net_vhost0,iface=/tmp/socket");
	examine();
	expect("queue-fill", FINDING_OK);
	host_port_read(&ports[0], tree_root, "net_bonding0,mode=1");
	examine();
	expect("queue-fill", FINDING_NONE);
	host_port_read(&ports[0], tree_root, "af:00.0");
	examine();
	expect("queue-fill", FINDING_NONE); /* vfio-pci: known once DPDK opens the device */
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", "../../../bus/pci/drivers/mlx5_core");
	examine();
	expect("queue-fill", FINDING_OK);
	needs.queue_fill = false;
}

static void test_af_xdp(void **state)
{
	(void)state;
	make_kernel_host("net_af_xdp0,iface=eth1");
	ports[0].settings.vlan_strip = true;
	tree_write("proc/self/limits", "Max locked memory  65536  65536 bytes\n");
	/* All capabilities except cap_ipc_lock. */
	tree_write("proc/self/status", "CapEff:\t000001ffffffbfff\nCpus_allowed_list:\t0-55\n");
	examine();
	EXPECT_OTHERS_OK("vlan-strip", "memlock");
	expect("memlock", FINDING_WARNING);
	expect_says("vlan-strip", FINDING_WARNING, NULL, NULL, "ethtool -K eth1 rxvlan off");
}

/* Returns the first check of this name. */
static const struct check *find_check(const char *name)
{
	for (const struct check_table *t = check_tables; t->checks != NULL; t++)
		for (const struct check *check = t->checks; check->name != NULL; check++)
			if (strcmp(check->name, name) == 0)
				return check;
	fail_msg("no check %s", name);
	return NULL;
}

/* The doctor names the same missing capabilities as the run, for any process. */
static void expect_as_in_run(const struct port_driver *driver, uint64_t effective)
{
	bool on_interface = ports[0].interface[0] != '\0';
	struct finding finding = {.status = FINDING_NONE};
	char why[PORT_PRIVILEGE_MAX] = "";
	bool lacks = port_lacks_capabilities(driver, on_interface, effective, why);

	tree_write("proc/self/status", "CapEff:\t%016llx\nCpus_allowed_list:\t0-55\n",
		(unsigned long long)effective);
	find_check("privileges")->look_at(&host, &ports[0], &finding);
	assert_int_equal(finding.status, lacks ? FINDING_MISSING : FINDING_OK);
	for (uint32_t i = 0; i < 64; i++) {
		const char *name = port_capability_name(i);
		char small[32] = "";

		for (size_t c = 0; name != NULL && name[c] != '\0'; c++)
			small[c] = (char)tolower(name[c]);
		if (name != NULL)
			assert_true((strstr(why, name) != NULL) ==
				    (strstr(finding.found, small) != NULL));
	}
}

static void expect_all_as_in_run(const struct port_driver *driver)
{
	static const uint32_t numbers[] = {
		CAP_NET_RAW, CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_SYS_RAWIO, CAP_BPF, CAP_IPC_LOCK};

	for (uint32_t set = 0; set < 1U << 6; set++) {
		uint64_t effective = 0;

		for (uint32_t i = 0; i < 6; i++)
			effective |= (uint64_t)(set >> i & 1) << numbers[i];
		expect_as_in_run(driver, effective);
		expect_as_in_run(driver, ~effective);
	}
}

static void expect_device_as_in_run(const struct port_driver *driver, const char *device)
{
	char spec[64];

	snprintf(spec, sizeof(spec), "%s0,iface=eth1", device);
	host_port_read(&ports[0], tree_root, spec);
	assert_string_equal(ports[0].driver, driver->name);
	expect_all_as_in_run(driver);
	snprintf(spec, sizeof(spec), "%s0", device);
	host_port_read(&ports[0], tree_root, spec);
	expect_all_as_in_run(driver);
}

/* Checks a card that keeps its kernel driver. For others, access to the file in /dev decides. */
static void expect_card_as_in_run(const struct port_driver *driver, const char *kernel)
{
	char link[96];

	snprintf(link, sizeof(link), "../../../bus/pci/drivers/%s", kernel);
	tree_delete(CARD_PATH "/driver");
	tree_link(CARD_PATH "/driver", link);
	host_port_read(&ports[0], tree_root, CARD);
	expect_all_as_in_run(driver);
}

static void test_drivers(void **state)
{
	(void)state;
	make_kernel_host("net_af_packet0,iface=eth1");
	for (size_t d = 0; d < port_drivers_nb; d++) {
		const struct port_driver *driver = &port_drivers[d];

		for (const char *const *device = driver->devices; *device != NULL; device++)
			expect_device_as_in_run(driver, *device);
		for (const char *const *kernel = driver->kernel; *kernel != NULL; kernel++)
			if (driver->beside_kernel)
				expect_card_as_in_run(driver, *kernel);
	}
}

static void test_af_xdp_rights(void **state)
{
	(void)state;
	make_kernel_host("net_af_xdp0,iface=eth1");
	/* cap_net_raw and cap_bpf */
	tree_write("proc/self/status", "CapEff:\t0000008000002000\nCpus_allowed_list:\t0-55\n");
	examine();
	expect_says("privileges", FINDING_MISSING, "lacks cap_net_admin,cap_sys_admin", NULL,
		"cap_net_admin,cap_sys_admin+ep");
}

static void test_specs(void **state)
{
	static const struct {
		const char *spec;
		enum host_source source;
		const char *address, *interface;
	} rows[] = {
		{"0000:3b:00.0", HOST_CARD, "0000:3b:00.0", ""},
		{"3B:00.1", HOST_CARD, "0000:3b:00.1", ""},
		{"3b:00.1,mprq_en=1", HOST_CARD, "0000:3b:00.1", ""},
		{"3b:00.1x", HOST_VIRTUAL, "", ""},
		{"net_null0", HOST_VIRTUAL, "", ""},
		{"eth1", HOST_KERNEL, "", "eth1"},
		{"eth9", HOST_VIRTUAL, "", ""},
		{"net_af_xdp3,start_queue=1,iface=eth1", HOST_KERNEL, "", "eth1"},
		{"net_af_packet_eth1,iface=eth1,framecnt=512", HOST_KERNEL, "", "eth1"},
		{"eth_af_packet0,iface=eth1", HOST_KERNEL, "", "eth1"},
		{"net_pcap0,rx_iface=eth1", HOST_KERNEL, "", "eth1"},
		{"net_pcap0,rx_pcap=x.pcap", HOST_VIRTUAL, "", ""},
		{"net_af_packet0,iface=../../etc", HOST_KERNEL, "", ""},
		{"net_af_packet0,iface=$(reboot)", HOST_KERNEL, "", ""},
		{"net_af_packet0,iface=a-name-that-is-too-long", HOST_KERNEL, "", ""},
		{"net_af_packet0", HOST_KERNEL, "", ""},
		{"..", HOST_VIRTUAL, "", ""},
		{"", HOST_VIRTUAL, "", ""},
	};

	(void)state;
	tree_write("sys/class/net/eth1/mtu", "1500\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		host_port_read(&ports[0], tree_root, rows[i].spec);
		if (ports[0].source != rows[i].source)
			fail_msg("%s is %d", rows[i].spec, ports[0].source);
		assert_string_equal(ports[0].address, rows[i].address);
		assert_string_equal(ports[0].interface, rows[i].interface);
	}
}

static void test_virtual_and_replay(void **state)
{
	(void)state;
	make_good_host();
	host_port_read(&ports[0], tree_root, "net_memif0,role=client");
	needs.sources = HOST_VIRTUAL;
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect("virtual-port", FINDING_OK);
	expect("driver", FINDING_NONE);
	ports[0].unknown = true;
	examine();
	expect("virtual-port", FINDING_MISSING);
	/* A replay is not checked for problems of live ports. */
	needs.sources = HOST_REPLAY;
	host.nb_ports = 0;
	tree_write(CPU_PATH "/isolated", "\n");
	tree_write("proc/cpuinfo", CPUINFO(TSC " hypervisor"));
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect("libpcap", FINDING_OK);
	expect("isolation", FINDING_NONE);
	expect("virtual-machine", FINDING_NONE);
	host.calls.libpcap_version = "libpcap version 1.9.1";
	host.calls.dpdk_version = "DPDK 21.11.0";
	examine();
	expect("libpcap", FINDING_WARNING);
	expect("dpdk", FINDING_WARNING);
}

/* The socket buffer limit is checked only for --listen. */
static void test_sockets(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_REPLAY;
	examine();
	expect("receive-buffer", FINDING_NONE);
	needs.sources = HOST_SOCKETS;
	needs.receive_buffer = 32 << 20;
	tree_write("proc/sys/net/core/rmem_max", "212992\n");
	tree_write("proc/self/status", "CapEff:\t0000000000000000\n");
	examine();
	expect_says("receive-buffer", FINDING_WARNING, "208", NULL,
		"sysctl net.core.rmem_max=33554432");
	tree_write("proc/self/status", "CapEff:\t0000000000001000\n");
	examine();
	expect("receive-buffer", FINDING_OK);
	tree_write("proc/self/status", "CapEff:\t0000000000000000\n");
	tree_write("proc/sys/net/core/rmem_max", "33554432\n");
	examine();
	expect("receive-buffer", FINDING_OK);
	expect("templates", FINDING_NONE);
}

static void test_low_ports(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_SOCKETS;
	needs.lowest_port = 1024;
	tree_write("proc/self/status", "CapEff:\t0000000000000000\n");
	examine();
	expect("listen-port", FINDING_OK);
	needs.lowest_port = 1023;
	examine();
	expect_says("listen-port", FINDING_MISSING, "1023", "1024", "cap_net_bind_service");
	tree_write("proc/sys/net/ipv4/ip_unprivileged_port_start", "1023\n");
	examine();
	expect("listen-port", FINDING_OK);
	tree_write("proc/sys/net/ipv4/ip_unprivileged_port_start", "2056\n");
	needs.lowest_port = 2055;
	examine();
	expect_says("listen-port", FINDING_MISSING, "2055", "2056", NULL);
	tree_write("proc/self/status", "CapEff:\t0000000000000400\n");
	examine();
	expect("listen-port", FINDING_OK);
}

static void test_senders(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_SOCKETS;
	examine();
	expect("senders", FINDING_OK);
	needs.open_listen = ":2055";
	examine();
	expect_says("senders", FINDING_WARNING, ":2055", "--exporter", NULL);
}

static void test_templates(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_SOCKETS;
	needs.templates = "/var/lib/kept\n";
	examine();
	expect_says("templates", FINDING_OK, "/var/lib/kept", NULL, NULL);
	host.calls.templates_error = EROFS;
	examine();
	expect_says("templates", FINDING_MISSING, "Read-only", "directory", NULL);
	needs.sources = HOST_REPLAY;
	examine();
	expect("templates", FINDING_NONE);
}

static void test_captures(void **state)
{
	(void)state;
	make_good_host();
	host.nb_ports = 0;
	needs.sources = HOST_REPLAY;
	examine();
	expect("captures", FINDING_NONE);
	needs.nb_captures = 2;
	examine();
	expect_says("captures", FINDING_OK, "2 captures", NULL, NULL);
	host.calls.capture = "missing\n.pcap";
	host.calls.capture_error = ENOENT;
	examine();
	expect_says("captures", FINDING_MISSING, "No such file", "pcapng", NULL);
}

/* A kernel program needs a recent kernel and the rights to load it. */
static void test_program(void **state)
{
	(void)state;
	make_good_host();
	expect("kernel-version", FINDING_NONE);
	needs.sources = HOST_PROGRAM;
	ports[0] = (struct host_port){.source = HOST_PROGRAM, .name = "eth1", .interface = "eth1"};
	tree_write("sys/class/net/eth1/type", "1\n");
	tree_write("sys/class/net/eth1/flags", "0x1003\n");
	tree_write("sys/class/net/eth1/operstate", "up\n");
	tree_write("proc/sys/kernel/osrelease", "6.12.1-amd64\n");
	tree_write("proc/sys/net/core/somaxconn", "4096\n");
	tree_write("proc/self/status", "CapEff:\t000000c000001000\n");
	examine();
	expect("kernel-program", FINDING_OK);
	expect("kernel-version", FINDING_OK);
	expect("kernel-rights", FINDING_OK);
	expect("bpf-jit", FINDING_OK);
	expect("frames", FINDING_OK);
	tree_write("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
	tree_write("proc/self/status", "CapEff:\t0000000000001000\n");
	tree_write("proc/sys/net/core/bpf_jit_enable", "0\n");
	tree_write("sys/class/net/eth1/type", "65534\n");
	host.calls.kernel_missing = "there was no clang";
	examine();
	expect_says("kernel-program", FINDING_MISSING, "no clang", NULL, "libbpf-dev");
	expect_says("kernel-version", FINDING_WARNING, "6.1.0", "6.6", NULL);
	expect_says("kernel-rights", FINDING_MISSING, "cap_bpf", NULL, "setcap cap_bpf+ep");
	expect_says("bpf-jit", FINDING_WARNING, "interpreted", NULL, "bpf_jit_enable=1");
	expect("frames", FINDING_MISSING);
	tree_write("proc/sys/kernel/osrelease", "5.15.0\n");
	tree_write("proc/self/status", "CapEff:\t0000008000001000\n");
	examine();
	expect_says("kernel-version", FINDING_MISSING, "5.15.0", "6.1", NULL);
	expect_says("kernel-rights", FINDING_WARNING, "cap_perfmon", "async", "cap_perfmon");
}

static void test_two_ports(void **state)
{
	struct text csv = {0};
	uint32_t lines = 0;

	(void)state;
	make_kernel_host("net_af_packet0,iface=eth1");
	ports[1] = ports[0];
	host_port_read(&ports[0], tree_root, CARD);
	host.nb_ports = 2;
	needs.sources = HOST_CARD | HOST_KERNEL;
	examine();
	EXPECT_OTHERS_OK(NULL);
	expect_says("driver", FINDING_OK, CARD, NULL, NULL);
	expect_says("merging", FINDING_OK, "net_af_packet0", NULL, NULL);
	findings_csv(&csv, &findings);
	for (size_t i = 0; i < csv.len; i++)
		lines += csv.data[i] == '\n';
	assert_int_equal(lines, findings.nb_rows + 1);
	text_free(&csv);
}

static void test_plan_warnings(void **state)
{
	(void)state;
	make_good_host();
	needs.floating = true;
	needs.nb_warnings = 1;
	needs.warnings[0] = "worker 3 sits on NUMA node 0";
	tree_write(CPU_PATH "/isolated", "\n");
	examine();
	expect_says("plan", FINDING_WARNING, "in turns; worker 3 sits", NULL, "sketchtap plan");
	/* Not all CPUs of an oversubscribed plan without pinning should be isolated. */
	assert_string_equal(expect("isolation", FINDING_WARNING)->command, "");
}

/* Without any files, nothing unseen is reported as ok. */
static void test_empty_host(void **state)
{
	static const char *const not_read[] = {
		"dpdk", "hugetlbfs", "numa-balancing", "clock-sync", "privileges"};

	(void)state;
	make_good_host();
	tree_remove();
	host.nb_ports = 0;
	mkdir(tree_root, 0700);
	examine();
	for (uint32_t i = 0; i < findings.nb_rows; i++) {
		const struct finding *finding = &findings.rows[i];
		bool known = strcmp(finding->check->name, "plan") == 0;

		for (size_t n = 0; n < sizeof(not_read) / sizeof(not_read[0]); n++)
			known |= strcmp(finding->check->name, not_read[n]) == 0;
		if (!known && finding->status == FINDING_OK)
			fail_msg("%s is ok: %s", finding->check->name, finding->found);
		if (finding->status != FINDING_OK)
			assert_true(finding->wanted[0] != '\0');
	}
}

/* All files of the tree, for the tests that damage them one by one. */
static char spoiled[1024][200];
static uint32_t nb_spoiled;

static int note_file(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st;
	(void)ftw;
	if (flag == FTW_F && nb_spoiled < 1024)
		snprintf(spoiled[nb_spoiled++], sizeof(spoiled[0]), "%s",
			path + strlen(tree_root) + 1);
	return 0;
}

static void list_files(void)
{
	nb_spoiled = 0;
	nftw(tree_root, note_file, 16, FTW_PHYS);
	assert_true(nb_spoiled > 100);
}

/* Asserts output that is printable and in the expected form. */
static void check_printing(void)
{
	struct text table = {0}, csv = {0};

	findings_table(&table, &findings);
	findings_csv(&csv, &findings);
	assert_false(table.failed || csv.failed);
	for (size_t i = 0; i < table.len; i++)
		assert_true(
			table.data[i] == '\n' || (table.data[i] >= ' ' && table.data[i] <= '~'));
	for (size_t i = 0; i < csv.len; i++)
		assert_true(csv.data[i] == '\n' || (csv.data[i] >= ' ' && csv.data[i] <= '~'));
	text_free(&table);
	text_free(&csv);
}

static uint32_t random_state = 1;

static uint32_t random_number(void)
{
	random_state = random_state * 1664525 + 1013904223;
	return random_state >> 8;
}

static void write_noise(const char *file, bool numbers)
{
	static const char digits[] = "0123456789-,: \n";
	char path[512];
	uint32_t length = random_number() % 5000;
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", tree_root, file);
	out = fopen(path, "we");
	assert_non_null(out);
	while (length-- > 0)
		fputc(numbers ? digits[random_number() % (sizeof(digits) - 1)]
			      : (int)(random_number() & 255),
			out);
	fclose(out);
}

/* Bytes that no kernel writes: no crash, and no unprintable output. */
static void test_noise(void **state)
{
	(void)state;
	for (uint32_t round = 0; round < 8; round++) {
		make_kernel_host("net_af_packet0,iface=eth1");
		ports[1] = ports[0];
		host_port_read(&ports[0], tree_root, CARD);
		host.nb_ports = 2;
		needs.sources = HOST_CARD | HOST_KERNEL;
		tree_write("sys/class/net/eth1/flags", "0x1003\n");
		list_files();
		for (uint32_t i = 0; i < nb_spoiled; i++)
			if (round < 2 || random_number() % 4 == 0)
				write_noise(spoiled[i], (round & 1) != 0);
		examine();
		check_printing();
		tree_remove();
		mkdir(tree_root, 0700);
	}
}

/* Each file in turn is missing, a directory, or noise; all others are valid. */
static void test_one_file_spoiled(void **state)
{
	(void)state;
	make_good_host();
	list_files();
	for (uint32_t i = 0; i < nb_spoiled; i++) {
		char path[512], back[512];

		if (strstr(spoiled[i], "/cpu") != NULL && strstr(spoiled[i], "/cpu30/") == NULL &&
			strncmp(spoiled[i], CPU_PATH, sizeof(CPU_PATH) - 1) == 0)
			continue; /* one CPU represents all */
		assert_in_range(snprintf(path, sizeof(path), "%s/%s", tree_root, spoiled[i]), 1,
			sizeof(path) - 1);
		snprintf(back, sizeof(back), "%s/spoiled", tree_root);
		assert_int_equal(rename(path, back), 0);
		examine();
		check_printing();
		write_noise(spoiled[i], (i & 1) != 0);
		examine();
		check_printing();
		unlink(path);
		mkdir(path, 0700);
		examine();
		check_printing();
		rmdir(path);
		assert_int_equal(rename(back, path), 0);
	}
	examine();
	EXPECT_OTHERS_OK(NULL);
}

static int open_to_all(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)ftw;
	if (flag != FTW_SL)
		chmod(path, S_ISDIR(st->st_mode) ? 0755 : 0644);
	return 0;
}

static void chmod_file(const char *file, mode_t mode)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", tree_root, file);
	assert_int_equal(chmod(path, mode), 0);
}

/* As another user: unreadable files are reported as such, and unusable devices are missing. */
static void test_permissions(void **state)
{
	bool root = geteuid() == 0;

	(void)state;
	make_good_host();
	tree_write("proc/sys/net/core/bpf_jit_enable", "1\n");
	nftw(tree_root, open_to_all, 16, FTW_PHYS);
	chmod_file("dev/vfio/vfio", 0666);
	chmod_file("dev/vfio/42", 0600);
	chmod_file("dev/cpu_dma_latency", 0);
	chmod_file("proc/sys/kernel/nmi_watchdog", 0);
	chmod_file("sys/kernel/mm/transparent_hugepage/enabled", 0);
	chmod_file("proc/sys/net/core/bpf_jit_enable", 0);
	chmod_file(CARD_PATH "/config", 0);
	if (!root)
		chmod_file("dev/vfio/42", 0400);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	examine();
	if (root)
		assert_int_equal(seteuid(0), 0);
	EXPECT_OTHERS_OK("vfio", "cpu-latency", "nmi-watchdog", "transparent-hugepages",
		"pcie-payload", "runtime-directory");
	expect_says("vfio", FINDING_MISSING, "/dev/vfio/42", NULL, "chown");
	expect_says("cpu-latency", FINDING_WARNING, "by this user", NULL, "sudo");
	expect_says("nmi-watchdog", FINDING_WARNING, "by this user", NULL, "sudo");
	expect_says("transparent-hugepages", FINDING_WARNING, "by this user", NULL, "sudo");
	expect("pcie-payload", FINDING_WARNING);
	if (root)
		expect_says("runtime-directory", FINDING_MISSING, "/run/dpdk", NULL,
			"RUNTIME_DIRECTORY");
	needs.sources = HOST_PROGRAM;
	host.nb_ports = 0;
	if (root)
		assert_int_equal(seteuid(65534), 0);
	examine();
	if (root)
		assert_int_equal(seteuid(0), 0);
	expect_says("bpf-jit", FINDING_WARNING, "by this user", NULL, "sudo");
}

/* Every check has a unique name that a script can use. */
static void test_table_of_checks(void **state)
{
	(void)state;
	for (const struct check_table *t = check_tables; t->checks != NULL; t++)
		for (const struct check *check = t->checks; check->name != NULL; check++) {
			bool of_host = check->look_at == NULL && check->where == NULL;

			assert_int_equal(strspn(check->name, "abcdefghijklmnopqrstuvwxyz-"),
				strlen(check->name));
			assert_true(check->look == NULL || check->look_at == NULL);
			assert_true(of_host || check->file == NULL);
			assert_true(check->sources != 0);
			assert_ptr_equal(find_check(check->name), check);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_good_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_hugepages, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hugepages_on_the_wrong_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pages_of_several_sizes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_huge_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory_of_a_node, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_set_aside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_powersave, setup, teardown),
		cmocka_unit_test_setup_teardown(test_interrupts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hyperthreads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_cpu_features, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slow_slot, setup, teardown),
		cmocka_unit_test_setup_teardown(test_remote_card, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_driver, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bifurcated, setup, teardown),
		cmocka_unit_test_setup_teardown(test_driver_of_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual_function, setup, teardown),
		cmocka_unit_test_setup_teardown(test_iommu, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_devices, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_port, setup, teardown),
		cmocka_unit_test_setup_teardown(test_kernel_interface, setup, teardown),
		cmocka_unit_test_setup_teardown(test_af_xdp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_af_xdp_rights, setup, teardown),
		cmocka_unit_test_setup_teardown(test_drivers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_specs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_virtual_and_replay, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sockets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_low_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_senders, setup, teardown),
		cmocka_unit_test_setup_teardown(test_templates, setup, teardown),
		cmocka_unit_test_setup_teardown(test_captures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_program, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_ports, setup, teardown),
		cmocka_unit_test_setup_teardown(test_plan_warnings, setup, teardown),
		cmocka_unit_test_setup_teardown(test_empty_host, setup, teardown),
		cmocka_unit_test_setup_teardown(test_noise, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_file_spoiled, setup, teardown),
		cmocka_unit_test_setup_teardown(test_permissions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_forwarding, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queue_fill, setup, teardown),
		cmocka_unit_test(test_pcie_model),
		cmocka_unit_test(test_table_of_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
