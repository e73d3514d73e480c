/* SPDX-License-Identifier: BSD-3-Clause */

/* Every check there is, in the order in which they are printed. */

#include "host/check.h"

const char *const check_group_names[CHECK_GROUP_COUNT] = {
	[CHECK_GROUP_RUN] = "Run",
	[CHECK_GROUP_MEMORY] = "Memory",
	[CHECK_GROUP_CPU] = "CPUs",
	[CHECK_GROUP_TIME] = "Clocks",
	[CHECK_GROUP_PORT] = "Ports",
};

#define RUN    CHECK_GROUP_RUN
#define MEMORY CHECK_GROUP_MEMORY
#define CPU    CHECK_GROUP_CPU
#define TIME   CHECK_GROUP_TIME
#define PORT   CHECK_GROUP_PORT

/* Name, group, function, for which sources, and whether it looks at each port. */
const struct check checks[] = {
	{"plan", RUN, check_plan, HOST_ANY, false},
	{"privileges", RUN, check_privileges, HOST_LIVE, true},
	{"dpdk", RUN, check_dpdk, HOST_ANY, false},
	{"libpcap", RUN, check_libpcap, HOST_REPLAY, false},
	{"runtime-directory", RUN, check_runtime_directory, HOST_ANY, false},

	{"hugepages", MEMORY, check_hugepages, HOST_LIVE, false},
	{"hugetlbfs", MEMORY, check_hugetlbfs, HOST_LIVE, false},
	{"memory", MEMORY, check_memory, HOST_ANY, false},
	{"memlock", MEMORY, check_memlock, HOST_CARD | HOST_KERNEL, false},
	{"transparent-hugepages", MEMORY, check_transparent_hugepages, HOST_ANY, false},
	{"numa-balancing", MEMORY, check_numa_balancing, HOST_LIVE, false},
	{"swap", MEMORY, check_swap, HOST_LIVE, false},

	{"isolation", CPU, check_isolation, HOST_LIVE, false},
	{"timer-tick", CPU, check_tick, HOST_LIVE, false},
	{"rcu-callbacks", CPU, check_rcu, HOST_LIVE, false},
	{"hyperthreads", CPU, check_hyperthreads, HOST_LIVE, false},
	{"governor", CPU, check_governor, HOST_LIVE, false},
	{"boost", CPU, check_boost, HOST_LIVE, false},
	{"c-states", CPU, check_c_states, HOST_LIVE, false},
	{"cpu-latency", CPU, check_cpu_latency, HOST_LIVE, false},
	{"tuned", CPU, check_tuned, HOST_LIVE, false},
	{"interrupts", CPU, check_interrupts, HOST_LIVE, false},
	{"irqbalance", CPU, check_irqbalance, HOST_LIVE, false},
	{"nmi-watchdog", CPU, check_nmi_watchdog, HOST_LIVE, false},
	{"watchdog", CPU, check_watchdog, HOST_LIVE, false},
	{"perf-event", CPU, check_perf_event, HOST_LIVE, false},
	{"cpu-features", CPU, check_cpu_features, HOST_ANY, false},
	{"cpu-quota", CPU, check_cpu_quota, HOST_ANY, false},
	{"virtual-machine", CPU, check_virtual_machine, HOST_LIVE, false},
	{"steal", CPU, check_steal, HOST_LIVE, false},

	{"tsc", TIME, check_tsc, HOST_ANY, false},
	{"clocksource", TIME, check_clocksource, HOST_LIVE, false},
	{"clock-sync", TIME, check_clock_sync, HOST_LIVE, false},

	{"port", PORT, check_no_port, HOST_UNNAMED, false},
	{"device", PORT, check_device, HOST_CARD, true},
	{"driver", PORT, check_driver, HOST_CARD, true},
	{"iommu", PORT, check_iommu, HOST_CARD, true},
	{"vfio", PORT, check_vfio, HOST_CARD, true},
	{"pcie-link", PORT, check_pcie_link, HOST_CARD, true},
	{"pcie-payload", PORT, check_pcie_payload, HOST_CARD, true},
	{"virtual-function", PORT, check_virtual_function, HOST_CARD, true},
	{"numa-node", PORT, check_card_node, HOST_CARD, true},
	{"interface", PORT, check_interface, HOST_KERNEL, true},
	{"merging", PORT, check_merging, HOST_KERNEL, true},
	{"vlan-strip", PORT, check_vlan_strip, HOST_KERNEL, true},
	{"rx-ring", PORT, check_rx_ring, HOST_KERNEL, true},
	{"frame-size", PORT, check_frame_size, HOST_KERNEL, true},
	{"backlog", PORT, check_backlog, HOST_KERNEL, false},
	{"virtual-port", PORT, check_virtual_port, HOST_VIRTUAL, true},
};

const unsigned int nb_checks = sizeof(checks) / sizeof(checks[0]);
