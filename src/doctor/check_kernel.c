/* SPDX-License-Identifier: BSD-3-Clause */

/* Checks of --kernel: loading, attaching and cost of the eBPF program. */

#include <linux/capability.h>
#include <stdio.h>
#include <string.h>

#include "doctor/check.h"

#define SYS_NET "/sys/class/net"

/* Oldest supported kernel, and the first with links at tc. */
#define OLDEST VERSION(6, 1)
#define LINKS  VERSION(6, 6)

#define VERSION(major, minor) ((major)*1000 + (minor))

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

static void check_version(const struct host *host, struct finding *finding)
{
	unsigned int major, minor;
	char release[80];

	if (finding_unless_read(finding,
		    sys_line(host->root, release, sizeof(release), "/proc/sys/kernel/osrelease"),
		    "/proc/sys/kernel/osrelease"))
		return;
	if (sscanf(release, "%u.%u", &major, &minor) != 2) {
		finding_unseen(finding, SYS_GARBAGE, "/proc/sys/kernel/osrelease");
	} else if (VERSION(major, minor) < OLDEST) {
		finding_missing(finding, "kernel %s", release);
		finding_wanted(finding, "6.1 or later");
	} else if (VERSION(major, minor) < LINKS) {
		finding_warning(finding, "kernel %s has no links at tc", release);
		finding_wanted(finding, "6.6 or later: a killed run leaves its filter, "
					"which the next start replaces");
	} else {
		finding_ok(finding, "kernel %s: the end of a run removes the program", release);
	}
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
		finding_ok(finding, "this user may load and attach it");
		return;
	}
	if (lacking[0] == '\0') {
		finding_warning(finding, "this user lacks cap_perfmon");
		finding_wanted(finding,
			"cap_perfmon, to count in the kernel; --design async does not need it");
		finding_command(finding, "sudo setcap cap_bpf,cap_perfmon,cap_net_admin+ep "
					 "$(command -v sketchtap)");
		return;
	}
	finding_missing(finding, "this user lacks %s", lacking);
	finding_wanted(finding, "root, or these capabilities on the program");
	finding_command(finding, "sudo setcap %s+ep $(command -v sketchtap)", lacking);
}

/* Without this file, the kernel always compiles programs. */
static void check_jit(const struct host *host, struct finding *finding)
{
	int64_t on;

	switch (sys_number(host->root, &on, "/proc/sys/net/core/bpf_jit_enable")) {
	case SYS_READ: break;
	case SYS_ABSENT: finding_ok(finding, "programs are compiled"); return;
	default: finding_unseen(finding, SYS_GARBAGE, "/proc/sys/net/core/bpf_jit_enable"); return;
	}
	if (on > 0) {
		finding_ok(finding, "programs are compiled");
		return;
	}
	finding_warning(finding, "programs are interpreted");
	finding_wanted(finding, "compiled: many times as fast");
	finding_command(finding, "sudo sysctl net.core.bpf_jit_enable=1");
}

static void check_kind(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	int64_t kind;

	if (!sys_exists(host->root, SYS_NET "/%s", port->interface))
		return; /* reported by another check */
	if (finding_unless_read(finding,
		    sys_number(host->root, &kind, SYS_NET "/%s/type", port->interface),
		    "type of the interface"))
		return;
	if (kind == 1 || kind == 772) { /* ARPHRD_ETHER, ARPHRD_LOOPBACK */
		finding_ok(finding, "%s: Ethernet frames", port->name);
		return;
	}
	finding_missing(finding, "%s: frames are not Ethernet", port->name);
	finding_wanted(finding, "the interface below it");
	finding_command(finding, "ip -brief link");
}

const struct check kernel_checks[] = {
	{"kernel-program", HOST_PROGRAM, .look = check_built},
	{"kernel-version", HOST_PROGRAM, .look = check_version},
	{"kernel-rights", HOST_PROGRAM, .look = check_rights},
	{"bpf-jit", HOST_PROGRAM, .look = check_jit},
	{"frames", HOST_PROGRAM, .look_at = check_kind},
	{0},
};
