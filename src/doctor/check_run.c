/* SPDX-License-Identifier: BSD-3-Clause */

#include <ctype.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor/check.h"
#include "base/printable.h"
#include "base/regular_file.h"
#include "rx/port/drivers.h"

static void check_plan(const struct host *host, struct finding *finding)
{
	const struct host_needs *needs = host->needs;
	char cpus[128];

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
	finding_wanted(finding, "one CPU for each lcore, on the NUMA node of its port");
	finding_command(finding, "sketchtap plan");
}

/* Returns bits: capabilities that a user other than root needs. */
static uint64_t needs_of(const struct host *host, const struct host_port *port)
{
	const struct port_driver *card;
	char kernel[HOST_NAME_MAX];

	if (port->source != HOST_CARD) {
		const struct port_driver *driver = port_driver_find(port->driver);

		return port_driver_needs(driver, port->source == HOST_KERNEL) |
		       (host->needs->forwards ? driver->needs_to_send : 0);
	}
	if (!host_card_driver(host, port, kernel))
		return 0;
	card = port_driver_of_card(kernel);
	if (card->beside_kernel)
		return port_driver_needs(card, false);
	/* Without an IOMMU, DPDK needs physical addresses, which only root may read. */
	if (strcmp(kernel, "vfio-pci") != 0 ||
		!sys_exists(host->root, "/sys/bus/pci/devices/%s/iommu_group", port->address))
		return UINT64_C(1) << CAP_SYS_RAWIO | UINT64_C(1) << CAP_SYS_ADMIN;
	return 0;
}

static void add_name(char *names, size_t size, uint32_t capability)
{
	size_t used = strlen(names);

	snprintf(names + used, size - used, "%s%s", used > 0 ? "," : "",
		port_capability_name(capability));
	for (char *c = names + used; *c != '\0'; c++)
		*c = (char)tolower(*c);
}

static void check_privileges(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	uint64_t needs = needs_of(host, port);
	char lacking[64] = "";

	for (uint32_t i = 0; i < 64; i++) {
		enum sys_read result;
		bool has;

		if ((needs >> i & 1) == 0)
			continue;
		result = host_capability(host, i, &has);
		if (finding_unless_read(finding, result, "CapEff in /proc/self/status"))
			return;
		if (!has)
			add_name(lacking, sizeof(lacking), i);
	}
	if (lacking[0] == '\0') {
		finding_ok(finding, "this user may use %s", port->name);
		return;
	}
	finding_missing(finding, "%s: this user lacks %s", port->name, lacking);
	finding_wanted(finding, "root, or these capabilities on the executable file");
	finding_command(finding, "sudo setcap %s+ep $(command -v sketchtap)", lacking);
}

static bool goes_by_queues(const struct host *host, const struct host_port *port)
{
	(void)port;
	return host->needs->queue_fill;
}

/* A run warns when it starts, if the DPDK driver is not known before. */
static void check_queue_fill(
	const struct host *host, const struct host_port *port, struct finding *finding)
{
	const struct port_driver *driver = port_driver_find(port->driver);
	char kernel[HOST_NAME_MAX];

	if (port->source == HOST_CARD && host_card_driver(host, port, kernel))
		driver = port_driver_of_card(kernel);
	if (driver->fill == PORT_FILL_TOLD)
		finding_ok(finding, "%s: its driver reports how full a queue is", port->name);
	if (driver->fill != PORT_FILL_GUESSED)
		return;
	finding_warning(finding,
		"%s: its driver does not report how full a queue is: --overload estimates it from "
		"full polls, and may react too late",
		port->name);
	finding_wanted(
		finding, "a port that reports it, or --design async, which reads its own rings");
}

static const char *dpdk_version(const struct host *host)
{
	return host->calls.dpdk_version;
}

static const char *libpcap_version(const struct host *host)
{
	return host->calls.libpcap_version;
}

/* EAL creates missing directories, so the nearest existing parent counts. */
static void check_runtime_directory(const struct host *host, struct finding *finding)
{
	char path[SYS_PATH_MAX];
	char *slash;

	snprintf(path, sizeof(path), "%s", host->calls.runtime_directory);
	make_ascii(path);
	while ((slash = strrchr(path, '/')) != NULL && slash != path &&
		!sys_exists(host->root, "%s", path))
		*slash = '\0';
	if (sys_allows(host->root, W_OK | X_OK, "%s", path)) {
		finding_ok(finding, "DPDK can create its files below %s", path);
		return;
	}
	finding_missing(finding, "this user cannot write below %s", path);
	finding_wanted(finding, "RUNTIME_DIRECTORY set to a writable directory for files of DPDK");
	finding_command(finding, "export RUNTIME_DIRECTORY=$(mktemp -d)");
}

/* Without SO_RCVBUFFORCE, the kernel limits the receive buffer of a socket. */
static void check_receive_buffer(const struct host *host, struct finding *finding)
{
	uint64_t wanted = host->needs->receive_buffer;
	char size[HOST_SIZE_MAX], most[HOST_SIZE_MAX];
	bool force = false;
	int64_t max;

	host_size_text(wanted, size);
	host_capability(host, CAP_NET_ADMIN, &force);
	if (force) {
		finding_ok(finding, "sockets may have %s each", size);
		return;
	}
	if (finding_unless_read(finding,
		    sys_number(host->root, &max, "/proc/sys/net/core/rmem_max"),
		    "/proc/sys/net/core/rmem_max"))
		return;
	host_size_text(max > 0 ? (uint64_t)max : 0, most);
	if (max > 0 && (uint64_t)max >= wanted) {
		finding_ok(finding, "sockets may have %s each", most);
		return;
	}
	finding_warning(finding, "sockets get %s each: bursts of datagrams are lost", most);
	finding_wanted(
		finding, "a limit of %s, or CAP_NET_ADMIN; key receive-buffer sets the size", size);
	finding_command(finding, "sudo sysctl net.core.rmem_max=%llu", (unsigned long long)wanted);
}

/* Ports below a limit, by default 1024, need a capability. */
static void check_listen_port(const struct host *host, struct finding *finding)
{
	static const char path[] = "/proc/sys/net/ipv4/ip_unprivileged_port_start";
	uint16_t port = host->needs->lowest_port;
	enum sys_read result;
	int64_t start;
	bool has;

	if (sys_number(host->root, &start, "%s", path) != SYS_READ)
		start = 1024;
	if (port >= start) {
		finding_ok(finding, "any user may listen on port %u", port);
		return;
	}
	result = host_capability(host, CAP_NET_BIND_SERVICE, &has);
	if (finding_unless_read(finding, result, "CapEff in /proc/self/status"))
		return;
	if (has) {
		finding_ok(finding, "this user may listen on port %u", port);
		return;
	}
	finding_missing(finding, "port %u: this user lacks cap_net_bind_service", port);
	finding_wanted(finding, "port %lld or above, or the capability", (long long)start);
	finding_command(finding, "sudo setcap cap_net_bind_service+ep $(command -v sketchtap)");
}

static void check_senders(const struct host *host, struct finding *finding)
{
	const char *listen = host->needs->open_listen;
	char name[SYS_PATH_MAX];

	if (listen == NULL) {
		finding_ok(
			finding, "no --listen with a public address accepts records of any host");
		return;
	}
	snprintf(name, sizeof(name), "%.200s", listen);
	make_ascii(name);
	finding_warning(
		finding, "--listen %s has a public address: any host can send records", name);
	finding_wanted(finding, "--exporter PREFIX for each network of exporters");
}

static void check_templates(const struct host *host, struct finding *finding)
{
	const char *path = host->needs->templates;
	int error = host->calls.templates_error;
	char name[SYS_PATH_MAX];

	if (path == NULL)
		return;
	snprintf(name, sizeof(name), "%.200s", path);
	make_ascii(name);
	if (error == 0) {
		finding_ok(finding, "templates can be stored in %s", name);
		return;
	}
	finding_missing(finding, "%s: cannot write: %s", name, file_error(error));
	finding_wanted(finding, "a file in a directory that this user may write to");
}

static void check_programs(const struct host *host, struct finding *finding)
{
	char name[SYS_PATH_MAX];

	if (host->calls.program == NULL)
		return;
	snprintf(name, sizeof(name), "%.200s", host->calls.program);
	make_ascii(name);
	finding_missing(
		finding, "%s: cannot execute: %s", name, strerror(host->calls.program_error));
	finding_wanted(finding, "a program in PATH that changes the sampling of exporters");
}

static void check_captures(const struct host *host, struct finding *finding)
{
	uint32_t n = host->needs->nb_captures;
	char name[SYS_PATH_MAX];

	if (n == 0)
		return;
	if (host->calls.capture == NULL) {
		finding_ok(finding, "%u capture%s can be read", n, n == 1 ? "" : "s");
		return;
	}
	snprintf(name, sizeof(name), "%.200s", host->calls.capture);
	make_ascii(name);
	finding_missing(finding, "%s: cannot read: %s", name, strerror(host->calls.capture_error));
	finding_wanted(finding, "a capture, pcap or pcapng, that this user may read");
}

const struct check run_checks[] = {
	{"plan", HOST_ANY, .look = check_plan},
	{"privileges", HOST_LIVE, .look_at = check_privileges},
	{"queue-fill", HOST_LIVE, .look_at = check_queue_fill, .where = goes_by_queues},
	{"dpdk", HOST_ANY,
		.value = {.kind = VALUE_VERSION,
			.text = dpdk_version,
			.verdicts = {{">=22.11", FINDING_OK, "{value}"},
				{NULL, FINDING_WARNING, "{value}",
					"22.11 or later: sketchtap is written for these versions"}}}},
	{"libpcap", HOST_REPLAY,
		.value = {.kind = VALUE_VERSION,
			.text = libpcap_version,
			.verdicts = {{">=1.10", FINDING_OK, "{value}"},
				{NULL, FINDING_WARNING, "{value}",
					"1.10 or later: sketchtap is written for these versions"}}}},
	{"captures", HOST_REPLAY, .look = check_captures},
	{"receive-buffer", HOST_SOCKETS, .look = check_receive_buffer},
	{"listen-port", HOST_SOCKETS, .look = check_listen_port},
	{"senders", HOST_SOCKETS, .look = check_senders},
	{"templates", HOST_SOCKETS, .look = check_templates},
	{"programs", HOST_SOCKETS, .look = check_programs},
	{"runtime-directory", HOST_ANY, .look = check_runtime_directory},
	{0},
};
