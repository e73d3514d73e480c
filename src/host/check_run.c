/* SPDX-License-Identifier: BSD-3-Clause */

/* Whether the run as planned can start: its plan, this user's rights, the libraries. */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/check.h"

/* Numbers of <linux/capability.h>. */
#define CAPABILITY_NET_ADMIN 12
#define CAPABILITY_NET_RAW   13
#define CAPABILITY_SYS_RAWIO 17
#define CAPABILITY_SYS_ADMIN 21
#define CAPABILITY_BPF       39

void check_plan(const struct host *host, const struct host_port *port, struct finding *finding)
{
	const struct host_needs *needs = host->needs;
	char cpus[128];

	(void)port;
	host_cpus_text(&needs->polling, cpus, sizeof(cpus));
	finding_ok(finding, "%u lcore%s on CPU%s %s%s", needs->nb_polling,
		needs->nb_polling == 1 ? " polls," : "s poll,",
		cpu_set_count(&needs->polling) == 1 ? "" : "s", cpus,
		needs->floating ? ", in turns" : "");
	if (needs->floating || needs->nb_warnings > 0)
		finding->status = FINDING_WARNING;
	for (uint32_t i = 0; i < needs->nb_warnings; i++)
		finding_more(finding, "; %s", needs->warnings[i]);
	if (finding->status == FINDING_OK)
		return;
	finding_wanted(finding, "a CPU of its own for each, on its port's NUMA node");
	finding_command(finding, "sketchtap plan");
}

struct right {
	uint32_t number;
	const char *name;
};

/* What a port needs root or a capability for. Returns how many of rights[] it filled. */
static uint32_t rights_of(
	const struct host *host, const struct host_port *port, struct right rights[2])
{
	static const struct right net_admin = {CAPABILITY_NET_ADMIN, "cap_net_admin"},
				  net_raw = {CAPABILITY_NET_RAW, "cap_net_raw"},
				  raw_io = {CAPABILITY_SYS_RAWIO, "cap_sys_rawio"},
				  sys_admin = {CAPABILITY_SYS_ADMIN, "cap_sys_admin"},
				  bpf = {CAPABILITY_BPF, "cap_bpf"};
	char driver[HOST_NAME_MAX];

	if (port->source == HOST_KERNEL && strcmp(port->driver, "net_af_xdp") == 0) {
		rights[0] = net_raw;
		rights[1] = bpf;
		return 2;
	}
	if (port->source == HOST_KERNEL) {
		rights[0] = net_raw;
		rights[1] = net_admin; /* for promiscuous mode */
		return 2;
	}
	if (strcmp(port->driver, "net_tap") == 0) {
		rights[0] = net_admin;
		return 1;
	}
	if (port->source != HOST_CARD || !host_card_driver(host, port, driver))
		return 0;
	if (host_driver_is_bifurcated(driver)) {
		rights[0] = net_raw;
		return 1;
	}
	/* Physical addresses are for root only where no IOMMU translates. */
	if (strcmp(driver, "vfio-pci") != 0 ||
		!host_exists(host->root, "/sys/bus/pci/devices/%s/iommu_group", port->address)) {
		rights[0] = raw_io;
		rights[1] = sys_admin;
		return 2;
	}
	return 0;
}

void check_privileges(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	struct right rights[2];
	uint32_t nb_rights = rights_of(host, port, rights);
	char lacking[64] = "";

	for (uint32_t i = 0; i < nb_rights; i++) {
		bool has;
		enum host_read result = host_capability(host, rights[i].number, &has);

		if (result != HOST_READ) {
			finding_unseen(finding, result, "CapEff in /proc/self/status");
			return;
		}
		if (has)
			continue;
		if (lacking[0] != '\0')
			strcat(lacking, ",");
		strcat(lacking, rights[i].name);
	}
	if (lacking[0] == '\0') {
		finding_ok(finding, "this user may use %s", port->name);
		return;
	}
	finding_missing(finding, "%s: this user lacks %s", port->name, lacking);
	finding_wanted(finding, "root, or these capabilities on the program");
	finding_command(finding, "sudo setcap %s+ep $(command -v sketchtap)", lacking);
}

void check_dpdk(const struct host *host, const struct host_port *port, struct finding *finding)
{
	unsigned int year = 0, month = 0;
	const char *version = host->calls.dpdk_version;

	(void)port;
	while (*version != '\0' && (*version < '0' || *version > '9'))
		version++;
	if (sscanf(version, "%u.%u", &year, &month) != 2) {
		finding_unseen(finding, HOST_GARBAGE, host->calls.dpdk_version);
		return;
	}
	if (year > 22 || (year == 22 && month >= 11)) {
		finding_ok(finding, "%s", host->calls.dpdk_version);
		return;
	}
	finding_warning(finding, "%s", host->calls.dpdk_version);
	finding_wanted(finding, "22.11 or later, which sketchtap is written for");
}

void check_libpcap(const struct host *host, const struct host_port *port, struct finding *finding)
{
	const char *version = strstr(host->calls.libpcap_version, "version ");
	unsigned int major = 0, minor = 0;

	(void)port;
	if (version == NULL || sscanf(version, "version %u.%u", &major, &minor) != 2) {
		finding_unseen(finding, HOST_GARBAGE, host->calls.libpcap_version);
		return;
	}
	if (major > 1 || minor >= 10) {
		finding_ok(finding, "%s", host->calls.libpcap_version);
		return;
	}
	finding_warning(finding, "%s", host->calls.libpcap_version);
	finding_wanted(finding, "1.10 or later, which sketchtap is written for");
}

/* EAL makes the directory and those above it. */
void check_runtime_directory(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	char path[HOST_PATH_MAX];
	char *slash;

	(void)port;
	snprintf(path, sizeof(path), "%s", host->calls.runtime_directory);
	host_make_printable(path);
	while ((slash = strrchr(path, '/')) != NULL && slash != path &&
		!host_exists(host->root, "%s", path))
		*slash = '\0';
	if (host_allows(host->root, W_OK | X_OK, "%s", path)) {
		finding_ok(finding, "DPDK can put its files below %s", path);
		return;
	}
	finding_missing(finding, "this user cannot write below %s", path);
	finding_wanted(finding, "a directory for DPDK's files; RUNTIME_DIRECTORY names one");
	finding_command(finding, "export RUNTIME_DIRECTORY=$(mktemp -d)");
}
