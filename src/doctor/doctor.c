/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/doctor.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#include <pcap/pcap.h>
#include <rte_version.h>

#include "base/log.h"
#include "base/printable.h"
#include "collect/listen.h"
#include "collect/options.h"
#include "collect/exporters/template_file.h"
#include "doctor/check.h"
#include "rx/kernel/program.h"
#include "report/sinks/writer.h"
#include "parallel/run/eal.h"
#include "parallel/shed/shed_options.h"
#include "rx/source.h"

#define ROOT ""

static bool polls(const struct plan_lcore *lcore)
{
	return lcore->role == PLAN_FEEDER || lcore->role == PLAN_RECEIVER ||
	       lcore->role == PLAN_WORKER;
}

static void note_lcores(struct host_needs *needs, const struct plan *plan)
{
	needs->floating = plan->oversubscribed;
	if (needs->floating)
		needs->polling = plan->cpus;
	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &plan->lcores[i];

		if (!polls(lcore))
			continue;
		needs->nb_polling++;
		if (lcore->cpu >= 0)
			cpu_set_add(&needs->polling, (uint32_t)lcore->cpu);
	}
}

static void note_memory(struct host_needs *needs, const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nb_nodes; i++) {
		const struct plan_node *node = &plan->nodes[i];
		bool known = node->node >= 0 && node->node < HOST_NODES_MAX;

		*(known ? &needs->huge_bytes[node->node] : &needs->huge_anywhere) +=
			plan_hugepage_bytes(node);
		*(known ? &needs->ordinary_bytes[node->node] : &needs->ordinary_anywhere) +=
			plan_ordinary_bytes(plan, node);
	}
}

_Static_assert(
	HOST_WARNINGS_MAX >= PLAN_WARNINGS_MAX, "the report has room for every warning of a plan");

static void note_warnings(struct host_needs *needs, const struct plan *plan)
{
	needs->nb_warnings = plan->nb_warnings;
	for (uint32_t i = 0; i < plan->nb_warnings; i++)
		needs->warnings[i] = plan->warnings[i];
}

static char *huge_directory(const char *eal)
{
	static const char name[] = "--huge-dir";
	const char *at = eal != NULL ? strstr(eal, name) : NULL;

	if (at == NULL)
		return NULL;
	at += sizeof(name) - 1;
	at += strspn(at, "= \t");
	return strndup(at, strcspn(at, " \t"));
}

static uint32_t sources_of(const struct config *config, const struct host_port *ports)
{
	uint32_t sources = 0;

	if (!port_given(config))
		return source_of(config)->host;
	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		sources |= ports[p].source;
	return sources;
}

static uint16_t lowest_port(const struct config *config)
{
	const struct option_list *listen = &collect_options(config)->listen;
	uint16_t lowest = UINT16_MAX;

	for (uint32_t i = 0; i < listen->n; i++) {
		struct listen_address address;
		char why[OPTION_WHY_MAX];

		if (listen_parse(listen->texts[i], &address, why) &&
			ntohs(address.address.sin6_port) < lowest)
			lowest = ntohs(address.address.sin6_port);
	}
	return lowest;
}

/* Same choice as in EAL. */
static const char *runtime_directory(void)
{
	const char *directory = getenv("RUNTIME_DIRECTORY");

	if (directory != NULL && directory[0] != '\0')
		return directory;
	if (getuid() == 0)
		return "/var/run/dpdk";
	directory = getenv("XDG_RUNTIME_DIR");
	return directory != NULL && directory[0] != '\0' ? directory : "/tmp/dpdk";
}

static void ask_kernel(struct host_calls *calls)
{
	struct timex timex = {0};

	calls->dpdk_version = rte_version();
	calls->libpcap_version = pcap_lib_version();
	calls->kernel_missing = kernel_program_missing();
	calls->runtime_directory = runtime_directory();
	calls->clock_known = adjtimex(&timex) >= 0;
	calls->clock_synchronised = (timex.status & STA_UNSYNC) == 0;
	calls->clock_error_us = timex.maxerror;
}

/* Does not read captures: data read from a pipe would be lost. */
static void look_at_captures(const struct config *config, struct host_calls *calls)
{
	const struct option_list *pcap = &replay_options(config)->pcap;
	struct stat file;

	for (uint32_t i = 0; i < pcap->n && calls->capture_error == 0; i++) {
		const char *path = pcap->texts[i];

		if (strcmp(path, "-") == 0)
			continue;
		if (stat(path, &file) != 0 || faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) != 0)
			calls->capture_error = errno;
		else if (S_ISDIR(file.st_mode))
			calls->capture_error = EISDIR;
		if (calls->capture_error != 0)
			calls->capture = path;
	}
}

static bool print(const struct config *config, const struct findings *findings, FILE *out)
{
	struct text text = {0};
	bool written;

	errno = 0;
	if (writer_options(config)->format == FORMAT_CSV)
		findings_csv(&text, findings);
	else
		findings_table(&text, findings);
	written =
		!text.failed && fwrite(text.data, 1, text.len, out) == text.len && fflush(out) == 0;
	written |= !text.failed && errno == EPIPE;
	text_free(&text);
	return written;
}

static int look_and_print(const struct config *config, const struct host *host, FILE *out)
{
	struct findings findings;
	int status = 1;

	if (!findings_make(&findings, host))
		log_error("out of memory; free some memory");
	else if (!print(config, &findings, out))
		log_error("cannot write findings to standard output");
	else
		status = findings.counts[FINDING_MISSING] > 0 ? 1 : 0;
	findings_free(&findings);
	return status;
}

static void read_port(struct host_port *port, const struct port_name *name)
{
	host_port_read(port, ROOT, name->device);
	snprintf(port->name, sizeof(port->name), "%s", name->called);
	make_ascii(port->name);
	port->unknown = !name->known;
	if (port->interface[0] == '\0')
		return;
	port_interface_read(port->interface, &port->settings);
	/* The user may have given an alternative name; /sys has the primary one. */
	if (port->settings.index != 0)
		if_indextoname(port->settings.index, port->interface);
}

static void read_place(struct host_port *port, const char *text)
{
	struct attach_point point;
	char why[OPTION_WHY_MAX];

	attach_point_parse(text, &point, why);
	*port = (struct host_port){.source = HOST_PROGRAM};
	snprintf(port->name, sizeof(port->name), "%s", point.interface);
	make_ascii(port->name);
	memcpy(port->interface, point.interface, sizeof(port->interface));
	port_interface_read(port->interface, &port->settings);
}

int doctor(const struct config *config, const struct topology *topology, const struct plan *plan,
	const struct port_name *names, FILE *out)
{
	static struct host_port ports[OPTION_LIST_MAX];
	char *directory = huge_directory(eal_options(config)->arguments);
	struct host_needs needs = {
		.huge = !hugepages_options(config)->no_huge,
		.huge_directory = directory,
		.forwards = plan->forward != FORWARD_OFF,
		.queue_fill = shed_policy_options(config)->policy != SHED_POLICY_OFF &&
			      !plan->design->rings,
		.receive_buffer = collect_options(config)->receive_buffer,
		.lowest_port = lowest_port(config),
		.open_listen = collect_open_address(config),
		.templates = collect_options(config)->templates,
		.nb_captures = replay_options(config)->pcap.n,
	};
	struct host host = {
		.root = ROOT,
		.topology = topology,
		.needs = &needs,
		.ports = ports,
		.nb_ports = port_options(config)->names.n + kernel_options(config)->places.n,
	};
	int status;

	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		read_port(&ports[p], &names[p]);
	/* --port and --kernel exclude each other. */
	for (uint32_t i = 0; i < kernel_options(config)->places.n; i++)
		read_place(&ports[i], kernel_options(config)->places.texts[i]);
	needs.sources = sources_of(config, ports);
	note_lcores(&needs, plan);
	note_memory(&needs, plan);
	note_warnings(&needs, plan);
	ask_kernel(&host.calls);
	look_at_captures(config, &host.calls);
	host.calls.program = collect_missing_program(config, &host.calls.program_error);
	if (needs.templates != NULL)
		host.calls.templates_error = template_file_check(needs.templates);
	status = look_and_print(config, &host, out);
	free(directory);
	return status;
}
