/* SPDX-License-Identifier: BSD-3-Clause */

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "doctor/check.h"

#define SYS_NET "/sys/class/net"

static void check_built(const struct host *host, struct finding *finding)
{
	if (host->calls.kernel_missing == NULL) {
		finding_ok(finding, "this sketchtap contains the eBPF program");
		return;
	}
	finding_missing(finding, "sketchtap was built without the eBPF program: %s",
		host->calls.kernel_missing);
	finding_wanted(finding, "a build with clang, and libbpf 1.1 or later with headers");
	finding_command(finding, "sudo apt-get install clang libbpf-dev");
}

static void check_rights(const struct host *host, struct finding *finding)
{
	static const struct {
		uint32_t number;
		const char *name;
	} rights[] = {{CAP_BPF, "cap_bpf"}, {CAP_NET_ADMIN, "cap_net_admin"}};
	char lacking[64] = "";
	bool counts;

	for (uint32_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		bool has;

		if (finding_unless_read(finding, host_capability(host, rights[i].number, &has),
			    "CapEff in /proc/self/status"))
			return;
		if (has)
			continue;
		strcat(lacking, lacking[0] != '\0' ? "," : "");
		strcat(lacking, rights[i].name);
	}
	if (finding_unless_read(finding, host_capability(host, CAP_PERFMON, &counts),
		    "CapEff in /proc/self/status"))
		return;
	if (lacking[0] == '\0' && counts) {
		finding_ok(finding, "this user may load and attach the program");
		return;
	}
	if (lacking[0] == '\0') {
		finding_warning(finding, "this user lacks cap_perfmon");
		finding_wanted(finding, "cap_perfmon to count in the kernel, or --design async");
		finding_command(finding, "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep "
					 "$(command -v sketchtap)");
		return;
	}
	finding_missing(finding, "this user lacks %s", lacking);
	finding_wanted(finding, "root, or these capabilities on the executable file");
	finding_command(finding, "sudo setcap %s+ep $(command -v sketchtap)", lacking);
}

const struct check kernel_checks[] = {
	{"kernel-program", HOST_PROGRAM, .look = check_built},
	/* From 6.6 on, a BPF link at tc removes the program when the run ends. */
	{"kernel-version", HOST_PROGRAM,
		.value = {.kind = VALUE_VERSION,
			.file = "/proc/sys/kernel/osrelease",
			.verdicts = {{">=6.6", FINDING_OK,
					     "kernel {value}: the end of a run removes the program"},
				{">=6.1", FINDING_WARNING, "kernel {value} has no links at tc",
					"kernel 6.6 or later: otherwise a killed run leaves its "
					"filter, until the next start"},
				{NULL, FINDING_MISSING, "kernel {value}", "6.1 or later"}}}},
	{"kernel-rights", HOST_PROGRAM, .look = check_rights},
	{"bpf-jit", HOST_PROGRAM,
		.value = {.file = "/proc/sys/net/core/bpf_jit_enable",
			.absent = "programs are compiled",
			.verdicts = {{">=1", FINDING_OK, "programs are compiled"},
				{NULL, FINDING_WARNING, "programs are interpreted",
					"compiled programs: they are many times as fast",
					"sudo sysctl net.core.bpf_jit_enable=1"}}}},
	/* 1 is ARPHRD_ETHER, 772 is ARPHRD_LOOPBACK. */
	{"frames", HOST_PROGRAM, .where = host_interface_exists,
		.value = {.file = SYS_NET "/{interface}/type",
			.name = "type of the interface",
			.verdicts = {{"1|772", FINDING_OK, "{port}: Ethernet frames"},
				{NULL, FINDING_MISSING, "{port}: frames are not Ethernet",
					"the Ethernet interface below it", "ip -brief link"}}}},
	{0},
};
