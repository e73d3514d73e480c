/* SPDX-License-Identifier: BSD-3-Clause */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assertion.h"
#include "doctor/check.h"
#include "base/printable.h"
#include "rx/port/drivers.h"

#define CAPABILITY_IPC_LOCK 14
#define PAGE_SIZES_MAX      8

struct huge_pages {
	uint64_t kilobytes;
	uint64_t total, free;
};

struct huge_node {
	char directory[96]; /* contains hugepages-*kB */
	uint32_t nb_sizes;
	struct huge_pages sizes[PAGE_SIZES_MAX];
};

static uint64_t huge_free(const struct huge_node *node)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < node->nb_sizes; i++)
		bytes += node->sizes[i].free * node->sizes[i].kilobytes * 1024;
	return bytes;
}

static uint64_t huge_total(const struct huge_node *node)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < node->nb_sizes; i++)
		bytes += node->sizes[i].total * node->sizes[i].kilobytes * 1024;
	return bytes;
}

static uint64_t read_pages(
	const struct host *host, const char *directory, const char *size, const char *file)
{
	int64_t pages;

	/* No host has 2^31 hugepages. */
	if (sys_number(host->root, &pages, "%s/%s/%s", directory, size, file) != SYS_READ ||
		pages < 0 || pages > INT32_MAX)
		return 0;
	return (uint64_t)pages;
}

static bool read_huge_node(const struct host *host, struct huge_node *node)
{
	DIR *directory = sys_directory(host->root, "%s", node->directory);
	struct dirent *entry;

	node->nb_sizes = 0;
	if (directory == NULL)
		return false;
	while ((entry = readdir(directory)) != NULL && node->nb_sizes < PAGE_SIZES_MAX) {
		struct huge_pages *pages = &node->sizes[node->nb_sizes];
		uint64_t kilobytes;
		char name[64];

		if (sscanf(entry->d_name, "hugepages-%" SCNu64 "kB", &kilobytes) != 1 ||
			kilobytes == 0 || kilobytes > UINT64_C(64) << 20)
			continue;
		snprintf(name, sizeof(name), "hugepages-%" PRIu64 "kB", kilobytes);
		*pages = (struct huge_pages){
			.kilobytes = kilobytes,
			.total = read_pages(host, node->directory, name, "nr_hugepages"),
			.free = read_pages(host, node->directory, name, "free_hugepages"),
		};
		node->nb_sizes++;
	}
	closedir(directory);
	return node->nb_sizes > 0;
}

/* The smallest size wastes least, and can be reserved without a reboot. */
static const struct huge_pages *smallest_pages(const struct huge_node *node)
{
	const struct huge_pages *smallest = &node->sizes[0];

	VERIFY(node->nb_sizes, >, 0u);
	for (uint32_t i = 1; i < node->nb_sizes; i++)
		if (node->sizes[i].kilobytes < smallest->kilobytes)
			smallest = &node->sizes[i];
	return smallest;
}

static void command_more_pages(
	struct finding *finding, const struct huge_node *node, uint64_t bytes)
{
	const struct huge_pages *pages = smallest_pages(node);
	uint64_t page = pages->kilobytes * 1024;

	finding_command(finding,
		"echo %" PRIu64 " | sudo tee %s/hugepages-%" PRIu64 "kB/nr_hugepages",
		pages->total + (bytes + page - 1) / page, node->directory, pages->kilobytes);
}

/* nb_sizes is 0 for a node that does not exist. */
struct huge_host {
	struct huge_node nodes[HOST_NODES_MAX];
	struct huge_node all;
};

static bool read_huge_host(const struct host *host, struct huge_host *huge)
{
	bool any = false;

	snprintf(huge->all.directory, sizeof(huge->all.directory), "/sys/kernel/mm/hugepages");
	if (!read_huge_node(host, &huge->all))
		return false;
	for (uint32_t n = 0; n < HOST_NODES_MAX; n++) {
		struct huge_node *node = &huge->nodes[n];

		snprintf(node->directory, sizeof(node->directory),
			"/sys/devices/system/node/node%u/hugepages", n);
		any |= read_huge_node(host, node);
	}
	if (!any)
		huge->nodes[0] = huge->all;
	return true;
}

/* Returns the first node with too few free hugepages, or NULL. *lacking: missing bytes. */
static const struct huge_node *short_node(
	const struct host_needs *needs, const struct huge_host *huge, uint64_t *lacking)
{
	const struct huge_node *roomy = &huge->all;
	uint64_t free = huge_free(&huge->all);

	for (uint32_t n = 0; n < HOST_NODES_MAX; n++) {
		const struct huge_node *node = &huge->nodes[n];

		if (needs->huge_bytes[n] > huge_free(node)) {
			*lacking = needs->huge_bytes[n] - huge_free(node);
			return node->nb_sizes > 0 ? node : &huge->all;
		}
		if (roomy == &huge->all && node->nb_sizes > 0)
			roomy = node;
	}
	if (free >= needs->huge_anywhere)
		return NULL;
	*lacking = needs->huge_anywhere - free;
	return roomy;
}

static void list_huge_nodes(const struct huge_host *huge, struct finding *finding)
{
	const char *between = "";

	for (uint32_t n = 0; n < HOST_NODES_MAX; n++) {
		const struct huge_node *node = &huge->nodes[n];
		char free[HOST_SIZE_MAX], total[HOST_SIZE_MAX];

		if (node->nb_sizes == 0)
			continue;
		finding_more(finding, "%snode %u: %s of %s free", between, n,
			host_size_text(huge_free(node), free),
			host_size_text(huge_total(node), total));
		between = "; ";
	}
}

static void want_hugepages(const struct host_needs *needs, struct finding *finding)
{
	char size[HOST_SIZE_MAX];
	const char *between = "";

	for (uint32_t n = 0; n < HOST_NODES_MAX; n++) {
		size_t used = strlen(finding->wanted);

		if (needs->huge_bytes[n] == 0)
			continue;
		snprintf(finding->wanted + used, sizeof(finding->wanted) - used,
			"%s%s free on node %u", between, host_size_text(needs->huge_bytes[n], size),
			n);
		between = ", ";
	}
	if (between[0] == '\0')
		finding_wanted(finding, "%s free", host_size_text(needs->huge_anywhere, size));
}

static void judge_no_huge(bool card, struct finding *finding)
{
	finding_ok(finding, "not used: --no-huge");
	if (!card)
		return;
	finding->status = FINDING_WARNING;
	finding_wanted(finding,
		"hugepages for a card: without them every packet causes misses in the "
		"TLBs of CPU and IOMMU; remove --no-huge");
}

static void check_hugepages(const struct host *host, struct finding *finding)
{
	static _Thread_local struct huge_host huge;
	bool card = (host->needs->sources & HOST_CARD) != 0;
	const struct huge_node *lacking_node;
	uint64_t lacking;

	if (!host->needs->huge) {
		judge_no_huge(card, finding);
		return;
	}
	if (!read_huge_host(host, &huge)) {
		finding_unseen(finding, SYS_ABSENT, "/sys/kernel/mm/hugepages");
		return;
	}
	finding_ok(finding, "%s", "");
	list_huge_nodes(&huge, finding);
	lacking_node = short_node(host->needs, &huge, &lacking);
	if (lacking_node == NULL)
		return;
	/* A PCI card needs hugepages; other ports can use ordinary memory. */
	finding->status = card ? FINDING_MISSING : FINDING_WARNING;
	want_hugepages(host->needs, finding);
	command_more_pages(finding, lacking_node, lacking);
}

static bool is_hugetlbfs(const struct host *host, const char *path)
{
	FILE *mounts = sys_open(host->root, "/proc/mounts");
	char line[1024], folder[512], type[64];
	bool found = false;

	if (mounts == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), mounts) != NULL)
		found = sscanf(line, "%*511s %511s %63s", folder, type) == 2 &&
			strcmp(type, "hugetlbfs") == 0 && strcmp(folder, path) == 0;
	fclose(mounts);
	return found;
}

/* A run needs a hugetlbfs only if --eal has --huge-dir. */
static void check_hugetlbfs(const struct host *host, struct finding *finding)
{
	char path[SYS_PATH_MAX];

	if (!host->needs->huge)
		return;
	if (host->needs->huge_directory == NULL) {
		finding_ok(finding, "no mount needed: hugepages are allocated without files");
		return;
	}
	snprintf(path, sizeof(path), "%s", host->needs->huge_directory);
	make_ascii(path);
	if (!is_hugetlbfs(host, path)) {
		finding_missing(finding, "--huge-dir %s is not a mounted hugetlbfs", path);
		finding_wanted(finding, "a hugetlbfs mounted there, or no --huge-dir");
		finding_command(finding, "sudo mount -t hugetlbfs nodev '%s'", path);
		return;
	}
	if (!sys_allows(host->root, R_OK | W_OK | X_OK, "%s", path)) {
		finding_missing(finding, "this user cannot write to --huge-dir %s", path);
		finding_wanted(finding, "a mount owned by this user");
		finding_command(finding, "sudo chown $(id -u):$(id -g) '%s'", path);
		return;
	}
	finding_ok(finding, "%s is writable", path);
}

static uint64_t sum_of(const uint64_t bytes[HOST_NODES_MAX], uint64_t anywhere)
{
	uint64_t sum = anywhere;

	for (uint32_t n = 0; n < HOST_NODES_MAX; n++)
		sum += bytes[n];
	return sum;
}

static void check_memory(const struct host *host, struct finding *finding)
{
	const struct host_needs *needs = host->needs;
	uint64_t wanted = sum_of(needs->ordinary_bytes, needs->ordinary_anywhere),
		 available = host->topology->memory;
	char size[HOST_SIZE_MAX], want[HOST_SIZE_MAX];

	if (available == 0) {
		finding_unseen(finding, SYS_ABSENT, "MemAvailable in /proc/meminfo");
		return;
	}
	host_size_text(available, size);
	host_size_text(wanted, want);
	if (available < wanted) {
		finding_missing(finding, "%s of ordinary memory available", size);
		finding_wanted(finding, "%s; lower --width, --memory or --workers", want);
		finding_command(finding, "sketchtap plan");
		return;
	}
	for (uint32_t n = 0; n < HOST_NODES_MAX; n++) {
		const struct topology_node *node = &host->topology->nodes[n];

		if (!node->known || node->free_memory == 0 ||
			node->free_memory >= needs->ordinary_bytes[n])
			continue;
		finding_warning(
			finding, "node %u has %s free", n, host_size_text(node->free_memory, size));
		finding_wanted(finding,
			"%s free on this node: otherwise its CPUs use memory of another node",
			host_size_text(needs->ordinary_bytes[n], want));
		finding_command(finding, "numastat -m");
		return;
	}
	finding_ok(finding, "%s available, %s planned", size, want);
}

static enum sys_read locked_memory_limit(const struct host *host, uint64_t *bytes)
{
	char text[256];
	enum sys_read result = sys_labelled(
		host->root, "/proc/self/limits", "Max locked memory", text, sizeof(text));

	*bytes = UINT64_MAX;
	if (result == SYS_READ && strncmp(text, "unlimited", 9) != 0 &&
		sscanf(text, "%" SCNu64, bytes) != 1)
		return SYS_GARBAGE;
	return result;
}

static bool any_locks_memory(const struct host *host)
{
	for (uint32_t p = 0; p < host->nb_ports; p++)
		if (port_driver_find(host->ports[p].driver)->locks_memory)
			return true;
	return false;
}

static void check_memlock(const struct host *host, struct finding *finding)
{
	uint64_t limit, wanted = sum_of(host->needs->huge_bytes, host->needs->huge_anywhere);
	char size[HOST_SIZE_MAX], want[HOST_SIZE_MAX];
	bool card = (host->needs->sources & HOST_CARD) != 0, may_lock;
	enum sys_read result;

	if (!card && !any_locks_memory(host))
		return;
	result = locked_memory_limit(host, &limit);
	if (finding_unless_read(finding, result, "Max locked memory in /proc/self/limits"))
		return;
	if (limit == UINT64_MAX) {
		finding_ok(finding, "unlimited");
		return;
	}
	host_size_text(limit, size);
	if (host_capability(host, CAPABILITY_IPC_LOCK, &may_lock) == SYS_READ && may_lock) {
		finding_ok(finding, "%s, but this user may exceed it (cap_ipc_lock)", size);
		return;
	}
	if (limit >= wanted) {
		finding_ok(finding, "%s", size);
		return;
	}
	if (card)
		finding_missing(finding, "%s for this user", size);
	else
		finding_warning(finding, "%s for this user", size);
	finding_wanted(finding,
		"%s of locked memory for devices; in a systemd unit: LimitMEMLOCK=infinity",
		host_size_text(wanted, want));
	finding_command(finding, "echo \"$(id -un) - memlock unlimited\" | sudo tee "
				 "/etc/security/limits.d/90-sketchtap.conf");
}

static void check_numa_balancing(const struct host *host, struct finding *finding)
{
	if (host_nb_nodes(host) < 2)
		finding_ok(finding, "nothing to balance: one NUMA node");
}

const struct check memory_checks[] = {
	{"hugepages", HOST_LIVE, .look = check_hugepages},
	{"hugetlbfs", HOST_LIVE, .look = check_hugetlbfs},
	{"memory", HOST_ANY, .look = check_memory},
	{"memlock", HOST_CARD | HOST_KERNEL, .look = check_memlock},
	{"transparent-hugepages", HOST_ANY,
		.value = {.kind = VALUE_WORDS,
			.file = "/sys/kernel/mm/transparent_hugepage/enabled",
			.verdicts = {{"*\\[always]*|*\\[madvise]*", FINDING_OK, "{value}"},
				{"*\\[never]*", FINDING_WARNING, "{value}",
					"madvise: sketches request transparent hugepages",
					"echo madvise | sudo tee {file}"}}}},
	{"numa-balancing", HOST_LIVE,
		.value = {.file = "/proc/sys/kernel/numa_balancing",
			.absent = "not supported by this kernel",
			.verdicts = {{"0", FINDING_OK, "off"},
				{NULL, FINDING_WARNING,
					"on: the kernel unmaps pages to detect their users",
					"balancing off: memory is already on the right node",
					"sudo sysctl -w kernel.numa_balancing=0"}}},
		.look = check_numa_balancing},
	{"swap", HOST_LIVE,
		.value = {.kind = VALUE_KILOBYTES,
			.file = "/proc/meminfo",
			.field = "SwapTotal:",
			.name = "SwapTotal in /proc/meminfo",
			.verdicts = {{"0 bytes", FINDING_OK, "none"},
				{NULL, FINDING_WARNING, "{value}",
					"swap disabled: reading a page from disk takes "
					"milliseconds, in which queues overflow",
					"sudo swapoff -a"}}}},
	{0},
};
