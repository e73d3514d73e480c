/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/program.h"

#include <errno.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/if_link.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "base/assertion.h"
#include "base/process_limits.h"
#include "base/random.h"
#include "base/text.h"
#include "rx/kernel/monitor_object.h"

#define OLDEST_MAJOR 6
#define OLDEST_MINOR 1

/* Constants of linux/bpf.h since Linux 6.6 */
#define ATTACH_TCX_IN     46
#define ATTACH_TCX_OUT    47
#define ATTACH_BEFORE_ALL (1u << 3)

/* `tc filter add` without a priority uses larger numbers. Its filters run after these filters. */
#define FILTER_PRIORITY 0x736b
#define FILTER_HANDLE   0x736b

#define LOG_BYTES (1u << 20)

#define TC_PROGRAM  "sketchtap_tc"
#define XDP_PROGRAM "sketchtap_xdp"

struct kernel_attachment {
	uint32_t index;
	bool filter; /* true: filter of a clsact qdisc; false: BPF link */
	int link;
	bool out;
};

struct kernel_program {
	struct bpf_object *object;
	int programs[2]; /* file descriptors, indexed by enum kernel_hook */
	bool no_links;
	uint32_t nb_rings;
	size_t ring_bytes, map_bytes;
	uint8_t *rings;
	struct kernel_tables tables; /* unused if tables.buckets is 0 */
	struct kernel_sketch sketch; /* unused if sketch.layout is NULL */
	__u64 hash_keys[2 * KERNEL_HASH_KEYS];
	struct kernel_control *control;
	int nothing, exchanged; /* file descriptors of maps */
	int monitored[2];       /* maps for IPv4 and IPv6 */
	uint32_t nb_attachments;
	struct kernel_attachment attachments[2 * OPTION_LIST_MAX];
	int claims[OPTION_LIST_MAX];
	uint32_t nb_claims;
};

#define set_error(error, ...) text_error(error, KERNEL_ERROR_MAX, __VA_ARGS__)

static int discard_libbpf_log(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

static bool is_old_kernel(char *error)
{
	struct utsname name;
	unsigned int major, minor;

	if (uname(&name) != 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2 ||
		major > OLDEST_MAJOR || (major == OLDEST_MAJOR && minor >= OLDEST_MINOR))
		return false;
	set_error(error, "--kernel: kernel %.60s is too old: %d.%d or newer is needed; use --port",
		name.release, OLDEST_MAJOR, OLDEST_MINOR);
	return true;
}

/*
 * Without CAP_PERFMON, the verifier gives up after a minute, because it checks speculative
 * execution.
 */
static bool is_perfmon_missing(void)
{
	uint64_t has = process_capabilities();

	return (has >> CAP_PERFMON & 1) == 0 && (has >> CAP_SYS_ADMIN & 1) == 0;
}

/* The last line before the statistics explains a rejection. */
static const char *last_line(char *log, void (*log_line)(const char *line))
{
	const char *last = "";
	char *rest = log;

	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (line[0] == '\0')
			continue;
		if (log_line != NULL)
			log_line(line);
		if (strncmp(line, "processed ", 10) != 0)
			last = line;
	}
	return last;
}

static bool set_load_error(
	int why, char *log, const struct kernel_program_params *params, char *error)
{
	const char *last = last_line(log, params->log);

	if (why == EPERM)
		return set_error(error,
			"--kernel: this process may not load programs into the kernel: run as "
			"root, or give it CAP_BPF and CAP_NET_ADMIN");
	if (why == ENOMEM || why == E2BIG)
		return set_error(error,
			"--kernel: out of memory for rings of %u entries (%s): lower ring-size%s",
			params->slots, strerror(why), params->sketch != NULL ? " or --width" : "");
	if (why == EACCES && is_perfmon_missing())
		return set_error(error,
			"--kernel: this kernel requires root, or CAP_PERFMON with CAP_BPF and "
			"CAP_NET_ADMIN: %.200s",
			last[0] != '\0' ? last : strerror(why));
	return set_error(error,
		"--kernel: the kernel rejects the program: %.200s%s%s; --log-level debug shows its "
		"messages",
		last[0] != '\0' ? last : strerror(why), last[0] != '\0' ? ": " : "",
		last[0] != '\0' ? strerror(why) : "");
}

static size_t ring_bytes(uint32_t slots)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (KERNEL_RING_BYTES(slots) + page - 1) / page * page;
}

uint64_t kernel_program_bytes(const struct kernel_program_params *params)
{
	int cpus = libbpf_num_possible_cpus();
	uint32_t n = cpus > 0 ? (uint32_t)cpus : 1;
	uint64_t bytes = ring_bytes(params->slots) * n;

	if (params->buckets > 0)
		bytes += kernel_tables_bytes(n, params->buckets, params->all_share);
	if (params->sketch != NULL)
		bytes += kernel_sketch_bytes(params->sketch->kernel, n, params->width);
	return bytes;
}

/* A sender that knows the keys can fill one hash bucket. */
static void fill_hash_keys(__u64 *keys, uint64_t seed)
{
	for (uint32_t i = 0; i < 2 * KERNEL_HASH_KEYS; i++)
		keys[i] = random_split(&seed);
}

static size_t bytes_of(const struct kernel_program *program, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(program->object, name);

	return (size_t)bpf_map__value_size(map) * bpf_map__max_entries(map);
}

static bool resize(const struct kernel_program *program, const char *name, uint64_t entries)
{
	struct bpf_map *map = bpf_object__find_map_by_name(program->object, name);

	return map != NULL && entries <= UINT32_MAX &&
	       bpf_map__set_max_entries(map, (uint32_t)entries) == 0;
}

static bool size_tables(struct kernel_program *program, const struct kernel_program_params *params)
{
	struct kernel_tables *tables = &program->tables;

	if (params->buckets == 0)
		return true;
	tables->cpus = program->nb_rings;
	tables->buckets = params->buckets;
	tables->all_share = params->all_share;
	if (tables->all_share)
		return resize(program, "shared0", (uint64_t)2 * tables->cpus * tables->buckets) &&
		       resize(program, "shared1", (uint64_t)2 * tables->cpus * tables->buckets) &&
		       resize(program, "tallies", (uint64_t)2 * tables->cpus);
	return resize(program, "flows", (uint64_t)4 * tables->cpus * tables->buckets) &&
	       resize(program, "tallies", (uint64_t)2 * tables->cpus);
}

/* The maps of NAME.bpf.h and struct NAME_kernel must have elements of the same size. */
static bool size_sketch(struct kernel_program *program, const struct kernel_program_params *params)
{
	struct kernel_sketch *sketch = &program->sketch;
	uint32_t instances = 2 * program->nb_rings;

	if (params->sketch == NULL)
		return true;
	sketch->layout = params->sketch->kernel;
	sketch->parts = sketch->layout->parts(params->width);
	sketch->cpus = program->nb_rings;
	sketch->reader =
		sketch->layout->create(params->width, kernel_sketch_hash, program->hash_keys);
	for (uint32_t p = 0; p < KERNEL_PARTS_MAX && sketch->parts.parts[p].map != NULL; p++) {
		const struct kernel_part *part = &sketch->parts.parts[p];

		if (!resize(program, part->map, instances * part->n))
			return false;
		VERIFY(bytes_of(program, part->map), ==, instances * part->n * part->bytes);
	}
	return sketch->reader != NULL && resize(program, "tallies", instances);
}

static enum kernel_on_path on_path(const struct kernel_program_params *params)
{
	if (params->sketch != NULL)
		return KERNEL_ON_PATH_SKETCH;
	if (params->buckets == 0)
		return KERNEL_ON_PATH_NOTHING;
	return params->all_share ? KERNEL_ON_PATH_SHARED : KERNEL_ON_PATH_FLOWS;
}

static bool set_up(struct kernel_program *program, const struct kernel_program_params *params)
{
	struct kernel_constants values = {
		.slots = params->slots,
		.headers_only = params->headers_only,
		.on_path = on_path(params),
		.buckets = params->buckets,
		.monitor = params->monitor,
		.tcp_flags = params->tcp_flags,
	};
	struct bpf_map *constants =
		bpf_object__find_map_by_name(program->object, KERNEL_CONSTANTS_SECTION);
	struct bpf_map *rings = bpf_object__find_map_by_name(program->object, "rings");
	int cpus = libbpf_num_possible_cpus();

	if (constants == NULL || rings == NULL || cpus <= 0)
		return false;
	program->no_links = params->no_links;
	program->nb_rings = (uint32_t)cpus;
	fill_hash_keys(program->hash_keys, params->seed);
	if (!size_tables(program, params) || !size_sketch(program, params))
		return false;
	values.cpus = (uint32_t)cpus;
	values.sketch = params->sketch != NULL ? sketch_index(params->sketch) : 0;
	memcpy(values.shape, program->sketch.parts.shape, sizeof(values.shape));
	memcpy(values.hash_keys, program->hash_keys, sizeof(values.hash_keys));
	program->ring_bytes = ring_bytes(params->slots);
	return bpf_map__set_initial_value(constants, &values, sizeof(values)) == 0 &&
	       bpf_map__set_value_size(rings, (uint32_t)program->ring_bytes) == 0 &&
	       bpf_map__set_max_entries(rings, program->nb_rings) == 0;
}

static void *map_memory(const struct kernel_program *program, const char *name, size_t bytes)
{
	int fd = bpf_object__find_map_fd_by_name(program->object, name);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return memory != MAP_FAILED ? memory : NULL;
}

static uint64_t flows_bytes(const struct kernel_tables *tables)
{
	return (uint64_t)4 * tables->cpus * tables->buckets * sizeof(struct kernel_flow);
}

static uint64_t tallies_bytes(const struct kernel_tables *tables)
{
	return (uint64_t)2 * tables->cpus * sizeof(struct kernel_tally);
}

static bool map_tables(struct kernel_program *program)
{
	struct kernel_tables *tables = &program->tables;

	if (tables->buckets == 0)
		return true;
	tables->tallies = map_memory(program, "tallies", tallies_bytes(tables));
	if (tables->all_share) {
		tables->shared[0] = bpf_object__find_map_fd_by_name(program->object, "shared0");
		tables->shared[1] = bpf_object__find_map_fd_by_name(program->object, "shared1");
		return tables->tallies != NULL;
	}
	tables->flows = map_memory(program, "flows", flows_bytes(tables));
	return tables->flows != NULL && tables->tallies != NULL;
}

static bool map_sketch(struct kernel_program *program)
{
	struct kernel_sketch *sketch = &program->sketch;

	for (uint32_t p = 0; p < KERNEL_PARTS_MAX && sketch->parts.parts[p].map != NULL; p++) {
		const char *map = sketch->parts.parts[p].map;

		sketch->memory[p] = map_memory(program, map, bytes_of(program, map));
		if (sketch->memory[p] == NULL)
			return false;
	}
	if (sketch->layout != NULL)
		sketch->tallies = map_memory(program, "tallies", bytes_of(program, "tallies"));
	return sketch->layout == NULL || sketch->tallies != NULL;
}

static void unmap_sketch(struct kernel_program *program)
{
	struct kernel_sketch *sketch = &program->sketch;

	for (uint32_t p = 0; p < KERNEL_PARTS_MAX; p++)
		if (sketch->memory[p] != NULL)
			munmap(sketch->memory[p], bytes_of(program, sketch->parts.parts[p].map));
	if (sketch->tallies != NULL)
		munmap(sketch->tallies, bytes_of(program, "tallies"));
	if (sketch->layout != NULL)
		sketch->layout->destroy(sketch->reader);
}

static bool find_parts(struct kernel_program *program)
{
	static const char *const names[] = {
		[KERNEL_HOOK_TC] = TC_PROGRAM, [KERNEL_HOOK_XDP] = XDP_PROGRAM};

	for (uint32_t hook = 0; hook < 2; hook++)
		program->programs[hook] = bpf_program__fd(
			bpf_object__find_program_by_name(program->object, names[hook]));
	program->control = map_memory(program, KERNEL_CONTROL_SECTION, sizeof(*program->control));
	program->nothing = bpf_object__find_map_fd_by_name(program->object, "nothing");
	program->exchanged = bpf_object__find_map_fd_by_name(program->object, "exchanged");
	program->monitored[0] = bpf_object__find_map_fd_by_name(program->object, "monitored4");
	program->monitored[1] = bpf_object__find_map_fd_by_name(program->object, "monitored6");
	program->map_bytes = program->ring_bytes * program->nb_rings;
	program->rings = map_memory(program, "rings", program->map_bytes);
	return map_tables(program) && map_sketch(program) && program->control != NULL &&
	       program->rings != NULL;
}

static bool load(
	struct kernel_program *program, const struct kernel_program_params *params, char *error)
{
	char *log = calloc(1, LOG_BYTES);
	struct bpf_object_open_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, kernel_log_size),
		.object_name = "sketchtap",
		.kernel_log_buf = log,
		.kernel_log_size = log != NULL ? LOG_BYTES : 0,
	};
	int result = -EINVAL;

	libbpf_set_print(discard_libbpf_log);
	program->object =
		bpf_object__open_mem(kernel_monitor_object, sizeof(kernel_monitor_object), &opts);
	if (log != NULL && program->object != NULL && set_up(program, params))
		result = bpf_object__load(program->object);
	if (result == 0 && !find_parts(program))
		result = -ENOMEM;
	if (result != 0)
		set_load_error(-result, log != NULL ? log : (char[1]){0}, params, error);
	free(log);
	return result == 0;
}

const char *kernel_program_missing(void)
{
	return NULL;
}

struct kernel_program *kernel_program_load(const struct kernel_program_params *params, char *error)
{
	struct kernel_program *program;

	if (is_old_kernel(error))
		return NULL;
	if (on_path(params) != KERNEL_ON_PATH_NOTHING && is_perfmon_missing()) {
		set_error(error,
			"--kernel: this process may not load programs that count in the "
			"kernel: run as root, give it CAP_PERFMON, CAP_BPF and CAP_NET_ADMIN, or "
			"use --design async");
		return NULL;
	}
	program = calloc(1, sizeof(*program));
	if (program == NULL) {
		set_error(error, "--kernel: out of memory");
		return NULL;
	}
	if (load(program, params, error))
		return program;
	kernel_program_close(program);
	return NULL;
}

static void add_attachment(struct kernel_program *program, struct kernel_attachment attachment)
{
	VERIFY(program->nb_attachments, <, 2 * OPTION_LIST_MAX);
	program->attachments[program->nb_attachments++] = attachment;
}

/* Attaches the program before all others, so that they do not change the measured packets. */
static int link_tcx(int program, uint32_t index, bool out)
{
	struct {
		uint32_t program, index, type, flags;
		uint64_t rest[6];
	} attributes = {
		.program = (uint32_t)program,
		.index = index,
		.type = out ? ATTACH_TCX_OUT : ATTACH_TCX_IN,
		.flags = ATTACH_BEFORE_ALL,
	};

	return (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attributes, sizeof(attributes));
}

/*
 * Only one process in the network namespace can bind the name of this socket. The kernel closes the
 * socket when the process ends, but tc filters remain.
 */
static bool claim_filters(struct kernel_program *program, uint32_t index)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int length = snprintf(
		address.sun_path + 1, sizeof(address.sun_path) - 1, "sketchtap-kernel-%u", index);
	int claim = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (claim < 0)
		return false;
	if (bind(claim, (struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) !=
		0) {
		close(claim);
		return false;
	}
	VERIFY(program->nb_claims, <, OPTION_LIST_MAX);
	program->claims[program->nb_claims++] = claim;
	return true;
}

static struct bpf_tc_hook hook_of(uint32_t index, bool out)
{
	struct bpf_tc_hook hook = {
		.sz = KERNEL_OPTS_SIZE(hook, attach_point),
		.ifindex = (int)index,
		.attach_point = out ? BPF_TC_EGRESS : BPF_TC_INGRESS,
	};

	return hook;
}

static bool read_info(int fd, struct bpf_prog_info *info)
{
	uint32_t size = sizeof(*info);

	*info = (struct bpf_prog_info){0};
	return bpf_obj_get_info_by_fd(fd, info, &size) == 0;
}

/* Reading the name of another program needs CAP_SYS_ADMIN. */
static bool is_ours(const struct bpf_tc_hook *hook, int program)
{
	struct bpf_tc_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, priority),
		.handle = FILTER_HANDLE,
		.priority = FILTER_PRIORITY,
	};
	struct bpf_prog_info info;
	bool read;
	int fd;

	if (bpf_tc_query(hook, &opts) != 0)
		return true;
	if (read_info(program, &info) && info.id == opts.prog_id)
		return true;
	fd = bpf_prog_get_fd_by_id(opts.prog_id);
	if (fd < 0)
		return false;
	read = read_info(fd, &info);
	close(fd);
	return read && strncmp(info.name, TC_PROGRAM, sizeof(info.name)) == 0;
}

static int add_filter(int program, uint32_t index, bool out)
{
	struct bpf_tc_hook hook = hook_of(index, out);
	struct bpf_tc_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, priority),
		.handle = FILTER_HANDLE,
		.priority = FILTER_PRIORITY,
		.prog_fd = program,
		.flags = BPF_TC_F_REPLACE,
	};
	int made = bpf_tc_hook_create(&hook);

	if (made != 0 && made != -EEXIST)
		return made;
	return is_ours(&hook, program) ? bpf_tc_attach(&hook, &opts) : -EEXIST;
}

static void remove_filter(int program, uint32_t index, bool out)
{
	struct bpf_tc_hook hook = hook_of(index, out);
	struct bpf_tc_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, priority),
		.handle = FILTER_HANDLE,
		.priority = FILTER_PRIORITY,
	};

	if (is_ours(&hook, program))
		bpf_tc_detach(&hook, &opts);
}

static bool set_attach_error(char *error, const struct attach_point *point, int why)
{
	const char *name = point->interface;

	if (why == EPERM)
		return set_error(error,
			"--kernel %s: this process may not attach programs to interfaces: run as "
			"root, or give it CAP_NET_ADMIN",
			name);
	if (point->hook == KERNEL_HOOK_XDP && (why == EBUSY || why == EEXIST))
		return set_error(
			error, "--kernel %s: another XDP program is attached; use hook=tc", name);
	if (why == EEXIST)
		return set_error(error,
			"--kernel %s: a foreign filter has handle 0x%x of priority %u: remove it, "
			"or use kernel 6.6 or newer",
			name, FILTER_HANDLE, FILTER_PRIORITY);
	return set_error(error, "--kernel %s: cannot attach the program: %s", name, strerror(why));
}

static bool attach_filter(struct kernel_program *program, const struct attach_point *point,
	uint32_t index, bool out, char *error)
{
	int result = add_filter(program->programs[KERNEL_HOOK_TC], index, out);

	if (result != 0)
		return set_attach_error(error, point, -result);
	add_attachment(
		program, (struct kernel_attachment){.index = index, .filter = true, .out = out});
	return true;
}

static bool has_filter(const struct kernel_program *program, uint32_t index)
{
	for (uint32_t i = 0; i < program->nb_attachments; i++)
		if (program->attachments[i].filter && program->attachments[i].index == index)
			return true;
	return false;
}

static bool attach_tc(struct kernel_program *program, const struct attach_point *point,
	uint32_t index, char *error)
{
	for (uint32_t out = 0; out < 2; out++) {
		int link;

		if ((point->directions & (out ? KERNEL_OUT : KERNEL_IN)) == 0)
			continue;
		errno = EINVAL;
		link = program->no_links ? -1
					 : link_tcx(program->programs[KERNEL_HOOK_TC], index, out);
		if (link >= 0) {
			add_attachment(
				program, (struct kernel_attachment){.index = index, .link = link});
			continue;
		}
		if (errno != EINVAL)
			return set_attach_error(error, point, errno);
		if (!has_filter(program, index) && !claim_filters(program, index))
			return set_error(error,
				"--kernel %s: another sketchtap measures this interface; kernels "
				"before 6.6 allow only one",
				point->interface);
		if (!attach_filter(program, point, index, out, error))
			return false;
	}
	return true;
}

/* Attaches in the driver if possible. In the network stack, the program runs later. */
static bool attach_xdp(struct kernel_program *program, const struct attach_point *point,
	uint32_t index, char *error)
{
	static const uint32_t ways[] = {0, XDP_FLAGS_SKB_MODE};
	int link = -1;

	for (uint32_t i = 0; i < 2 && link < 0; i++) {
		struct bpf_link_create_opts opts = {
			.sz = KERNEL_OPTS_SIZE(opts, flags), .flags = ways[i]};

		if (i > 0 && (errno == EBUSY || errno == EEXIST || errno == EPERM))
			break;
		link = bpf_link_create(
			program->programs[KERNEL_HOOK_XDP], (int)index, BPF_XDP, &opts);
	}
	if (link < 0)
		return set_attach_error(error, point, errno);
	add_attachment(program, (struct kernel_attachment){.index = index, .link = link});
	return true;
}

static bool is_ethernet(const char *interface)
{
	struct ifreq request = {0};
	int asker = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is;

	memcpy(request.ifr_name, interface, strnlen(interface, IFNAMSIZ - 1));
	is = asker >= 0 && ioctl(asker, SIOCGIFHWADDR, &request) == 0 &&
	     (request.ifr_hwaddr.sa_family == ARPHRD_ETHER ||
		     request.ifr_hwaddr.sa_family == ARPHRD_LOOPBACK);
	if (asker >= 0)
		close(asker);
	return is;
}

bool kernel_program_attach(struct kernel_program *program, const struct attach_point *point,
	uint32_t *index, char *error)
{
	*index = if_nametoindex(point->interface);
	if (*index == 0)
		return set_error(error,
			"--kernel %s: no such interface; `ip -brief link` lists all",
			point->interface);
	if (!is_ethernet(point->interface))
		return set_error(error,
			"--kernel %s: not an Ethernet interface; use the interface below it",
			point->interface);
	return point->hook == KERNEL_HOOK_XDP ? attach_xdp(program, point, *index, error)
					      : attach_tc(program, point, *index, error);
}

const struct kernel_sketch *kernel_program_sketch(const struct kernel_program *program)
{
	return program->sketch.layout != NULL ? &program->sketch : NULL;
}

void kernel_program_wait(const struct kernel_program *program)
{
	static const uint32_t first = 0;

	bpf_map_update_elem(program->exchanged, &first, &program->nothing, BPF_ANY);
}

void kernel_program_measure(struct kernel_program *program, bool on)
{
	__atomic_store_n(&program->control->measuring, on, __ATOMIC_SEQ_CST);
	if (!on)
		kernel_program_wait(program);
}

const struct kernel_tables *kernel_program_tables(const struct kernel_program *program)
{
	return program->tables.buckets > 0 ? &program->tables : NULL;
}

void kernel_program_rules(const struct kernel_program *program, uint64_t generation,
	const struct kernel_prefix_maps *rules)
{
	uint32_t at = generation & 1;

	/* A program that started in the previous epoch may still use this generation. */
	kernel_program_wait(program);
	bpf_map_update_elem(program->monitored[0], &at, &rules->ipv4, BPF_ANY);
	bpf_map_update_elem(program->monitored[1], &at, &rules->ipv6, BPF_ANY);
}

void kernel_program_stamp(struct kernel_program *program, enum kernel_times times)
{
	if (__atomic_load_n(&program->control->times, __ATOMIC_RELAXED) != (uint32_t)times)
		__atomic_store_n(&program->control->times, times, __ATOMIC_RELAXED);
}

void kernel_program_detach(struct kernel_program *program)
{
	while (program->nb_attachments > 0) {
		const struct kernel_attachment *attachment =
			&program->attachments[--program->nb_attachments];

		if (attachment->filter) {
			remove_filter(program->programs[KERNEL_HOOK_TC], attachment->index,
				attachment->out);
		} else {
			bpf_link_detach(attachment->link);
			close(attachment->link);
		}
	}
	while (program->nb_claims > 0)
		close(program->claims[--program->nb_claims]);
}

void kernel_program_close(struct kernel_program *program)
{
	if (program == NULL)
		return;
	kernel_program_detach(program);
	if (program->rings != NULL)
		munmap(program->rings, program->map_bytes);
	if (program->tables.flows != NULL)
		munmap(program->tables.flows, flows_bytes(&program->tables));
	if (program->tables.tallies != NULL)
		munmap(program->tables.tallies, tallies_bytes(&program->tables));
	unmap_sketch(program);
	if (program->control != NULL)
		munmap(program->control, sizeof(*program->control));
	bpf_object__close(program->object);
	free(program);
}

/* The kernel returns whole buckets of its map. No bucket has more flows. */
#define BATCH 4096

struct shared_map_batch {
	struct kernel_shared_key keys[BATCH];
	struct kernel_flow flows[BATCH];
};

bool shared_map_take(int map, void (*take)(void *arg, const struct kernel_flow *flow), void *arg)
{
	struct shared_map_batch *batch = malloc(sizeof(*batch));
	uint32_t place, n;
	int result = batch != NULL ? 0 : -ENOMEM;

	for (void *from = NULL; result == 0; from = &place) {
		n = BATCH;
		result = bpf_map_lookup_and_delete_batch(
			map, from, &place, batch->keys, batch->flows, &n, NULL);
		if (result != 0 && result != -ENOENT) /* -ENOENT: last batch */
			break;
		for (uint32_t i = 0; i < n; i++)
			take(arg, &batch->flows[i]);
	}
	free(batch);
	return result == -ENOENT;
}

uint32_t kernel_program_rings(const struct kernel_program *program)
{
	return program->nb_rings;
}

struct kernel_ring *kernel_program_ring(const struct kernel_program *program, uint32_t cpu)
{
	return (struct kernel_ring *)(program->rings + cpu * program->ring_bytes);
}

int kernel_program_fd(const struct kernel_program *program, enum kernel_hook hook)
{
	return program->programs[hook];
}
