/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * sketchtap-bench kernel: measures the cost of a packet in the eBPF programs of --kernel, a hash
 * map of the kernel and programs of --rival. Each time is the difference to an empty program in the
 * same round. Other rows have the memory of the maps, and the share of the flows with exact counts.
 */

#include <endian.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <rte_common.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/common.h"
#include "bench/flows.h"
#include "flows_object.h"
#include "bench/kernel_options.h"
#include "bench/paper_facts.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"
#include "rx/kernel/tables.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/cpus.h"
#include "tune/measure/figures.h"
#include "tune/measure/setup.h"

#define ROUNDS        9
#define QUICK_ROUNDS  2
#define BATCHES       40
#define QUICK_BATCHES 4
#define WARM_BATCHES  4
#define BATCH         16384
#define SLOTS         32768
#define BUCKETS_MIN   64
#define BUCKETS       65536
#define CELLS_LESS    2 /* flows per cell of a row in an iblt, which has three rows */
#define MAPS_MAX      32
#define HOSTS         65536
#define ENTRANTS_MAX  (24 + OPTION_LIST_MAX)
#define ERROR_MAX     600 /* more than PREFIX_ERROR_MAX and KERNEL_ERROR_MAX */

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"part", "", -40, ""},
	{"flows", "flows", 7, ""},
	{"round", "round", 5, ""},
	{"value", "value", 8, ""},
	{"unit", "", -5, ""},
	{"note", "", -1, ""},
	{.name = NULL},
};

struct entrant {
	char name[80];
	int program;
	bool xdp;
	struct kernel_program *ours;
	uint32_t times; /* enum kernel_times or flows_times, which have the same values */
};

struct kernel_bench {
	const struct config *config;
	uint32_t rounds, batches;
	uint32_t cpu;
	uint32_t most_flows; /* largest number of --flows; 0: not given */
	uint32_t buckets;    /* per table, a power of two */
	struct figures figures;
	struct bpf_object *flows;
	struct flows_control *control;
	struct kernel_program *beside, *on_path, *all_share, *cells;
	/*
	 * programs whose prefixes match no packet, and one whose prefixes match all of up to HOSTS
	 * flows
	 */
	struct kernel_program *beside_none, *beside_all, *on_path_none;
	uint32_t nb_rivals;
	struct bpf_object *rivals[OPTION_LIST_MAX];
	uint32_t nb_entrants;
	struct entrant entrants[ENTRANTS_MAX];
	char error[ERROR_MAX];
};

_Static_assert((int)KERNEL_TIMES_EXACT == FLOWS_TIMES_EXACT &&
		       (int)KERNEL_TIMES_COARSE == FLOWS_TIMES_COARSE,
	"enum kernel_times and enum flows_times have the same values");

static bool fail(struct kernel_bench *bench, const char *what, const char *why)
{
	snprintf(bench->error, sizeof(bench->error), "%.200s: %.300s", what, why);
	return false;
}

static void empty_ring(const struct kernel_bench *bench, const struct kernel_program *program)
{
	struct kernel_reader reader;

	/* skips records that are already in the ring */
	kernel_reader_start(&reader, kernel_program_ring(program, bench->cpu), SLOTS);
}

static void drop_flow(void *arg, const struct kernel_flow *flow)
{
	(void)arg;
	(void)flow;
}

static bool run_batch(struct kernel_bench *bench, const struct entrant *entrant, double *ns)
{
	uint8_t frame[64] = {0};
	struct bpf_test_run_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, duration),
		.data_in = frame,
		.data_size_in = sizeof(frame),
		.repeat = BATCH,
	};
	const char *name = entrant->xdp ? "next_xdp" : "next_tc";
	int fd = bpf_program__fd(bpf_object__find_program_by_name(bench->flows, name));

	frame[12] = 0x08;
	frame[14] = 0x45;
	frame[17] = 50;
	frame[23] = 6;
	frame[46] = 0x50;
	frame[47] = 0x10;
	if (entrant->ours != NULL)
		empty_ring(bench, entrant->ours);
	if (bpf_prog_test_run_opts(fd, &opts) != 0)
		return fail(bench, entrant->name, strerror(errno));
	if (opts.retval == FLOWS_FAILED)
		return fail(bench, entrant->name, "the program was not called");
	*ns = opts.duration;
	return true;
}

static int compare_ns(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Mean of the middle half: the largest include other work, and the kernel reports whole ns. */
static double typical(double *batches, uint32_t n)
{
	uint32_t first = n / 4, end = n - n / 4;
	double sum = 0;

	qsort(batches, n, sizeof(batches[0]), compare_ns);
	for (uint32_t b = first; b < end; b++)
		sum += batches[b];
	return sum / (end - first);
}

static bool measure(struct kernel_bench *bench, const struct entrant *entrant, double *ns)
{
	static const uint32_t first = 0;
	double batches[BATCHES];
	int array =
		bpf_object__find_map_fd_by_name(bench->flows, entrant->xdp ? "of_xdp" : "of_tc");

	if (bpf_map_update_elem(array, &first, &entrant->program, BPF_ANY) != 0)
		return fail(bench, entrant->name, "cannot be called from another program");
	bench->control->times = entrant->times;
	if (entrant->ours != NULL)
		kernel_program_stamp(entrant->ours, entrant->times);
	/* the first batches insert the flows */
	for (uint32_t b = 0; b < WARM_BATCHES; b++)
		if (!run_batch(bench, entrant, &batches[0]))
			return false;
	for (uint32_t b = 0; b < bench->batches; b++)
		if (!run_batch(bench, entrant, &batches[b]))
			return false;
	*ns = typical(batches, bench->batches);
	return true;
}

static void print_row(struct kernel_bench *bench, const char *part, uint64_t flows, uint32_t round,
	double value, const char *unit)
{
	figures_cell(&bench->figures, "bench", "kernel");
	figures_cell(&bench->figures, "part", "%s", part);
	figures_cell(&bench->figures, "flows", "%llu", (unsigned long long)flows);
	figures_cell(&bench->figures, "round", "%u", round);
	figures_cell(&bench->figures, "value", strcmp(unit, "ratio") == 0 ? "%.4f" : "%.2f", value);
	figures_cell(&bench->figures, "unit", "%s", unit);
	figures_row(&bench->figures);
}

/* Returns the KB that the kernel accounts for a map, or 0 if it does not report them. */
static double map_kb(int fd)
{
	char path[64], line[128];
	uint64_t bytes = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	info = fd < 0 ? NULL : fopen(path, "r");
	while (info != NULL && fgets(line, sizeof(line), info) != NULL)
		if (strncmp(line, "memlock:", 8) == 0)
			bytes = strtoull(line + 8, NULL, 10);
	if (info != NULL)
		fclose(info);
	return (double)bytes / 1024;
}

static void print_maps(struct kernel_bench *bench, const struct entrant *entrant)
{
	char part[sizeof(entrant->name) + sizeof("memory of ")];
	uint32_t ids[MAPS_MAX], size = sizeof(struct bpf_prog_info);
	struct bpf_prog_info info = {.nr_map_ids = MAPS_MAX, .map_ids = (uintptr_t)ids};
	double kb = 0;

	if (bpf_obj_get_info_by_fd(entrant->program, &info, &size) != 0)
		return;
	for (uint32_t m = 0; m < info.nr_map_ids && m < MAPS_MAX; m++) {
		int fd = bpf_map_get_fd_by_id(ids[m]);

		kb += map_kb(fd);
		if (fd >= 0)
			close(fd);
	}
	if (entrant->ours == bench->all_share)
		for (uint32_t g = 0; g < 2; g++)
			kb += map_kb(kernel_program_tables(entrant->ours)->shared[g]);
	snprintf(part, sizeof(part), "memory of %s", entrant->name);
	if (kb > 0)
		print_row(bench, part, bench->most_flows, 0, kb, "KB");
}

/* The maps of prefixes are in other maps, and do not belong to the program. */
static bool has_prefixes(const struct kernel_bench *bench, const struct entrant *entrant)
{
	return entrant->ours != NULL &&
	       (entrant->ours == bench->beside_all || entrant->ours == bench->beside_none ||
		       entrant->ours == bench->on_path_none);
}

/* Counts of the flows of make_packet() in flows.bpf.c. */
struct truth {
	uint32_t nb_flows, distinct, exact;
	uint32_t *packets;
};

static uint32_t flow_of(uint32_t packet, uint32_t nb_flows)
{
	uint32_t number = packet * UINT32_C(0x9e3779b1);

	return (uint32_t)((uint64_t)(number ^ number >> 15) * nb_flows >> 32);
}

static void compare(struct truth *truth, const void *key, uint64_t packets)
{
	uint32_t address;

	memcpy(&address, key, sizeof(address));
	address = be32toh(address) - (UINT32_C(10) << 24);
	if (address < truth->nb_flows)
		truth->exact += truth->packets[address] == packets;
}

static void compare_flow(void *arg, const struct kernel_flow *flow)
{
	compare(arg, flow->key, flow->packets);
}

static void compare_candidate(const struct sketch_candidate *candidate, void *arg)
{
	compare(arg, &candidate->key.v4, candidate->packets);
}

/* Empties the structure that the program fills. */
static void take_flows(
	const struct kernel_bench *bench, const struct entrant *entrant, struct truth *truth)
{
	int map = bpf_object__find_map_fd_by_name(bench->flows, "hash");
	struct flows_key key;
	struct flows_counts counts;
	struct sketch_undecoded rest;

	if (entrant->ours != NULL && kernel_program_sketch(entrant->ours) != NULL)
		kernel_sketch_take(
			kernel_program_sketch(entrant->ours), 0, compare_candidate, truth, &rest);
	else if (entrant->ours != NULL)
		kernel_tables_take(kernel_program_tables(entrant->ours), 0, compare_flow, truth);
	else
		while (bpf_map_get_next_key(map, NULL, &key) == 0) {
			if (bpf_map_lookup_elem(map, &key, &counts) == 0)
				compare(truth, key.addresses, counts.packets);
			bpf_map_delete_elem(map, &key);
		}
}

static bool counts_on_path(const struct kernel_bench *bench, const struct entrant *entrant)
{
	if (entrant->times != KERNEL_TIMES_NONE || entrant->xdp)
		return false;
	return entrant->ours == bench->on_path || entrant->ours == bench->all_share ||
	       entrant->ours == bench->cells || strcmp(entrant->name, "the kernel's table") == 0;
}

/* Prints the share of the flows that have their exact number of packets after some batches. */
static bool print_exact(struct kernel_bench *bench, const struct entrant *entrant, uint64_t flows)
{
	char part[sizeof(entrant->name) + sizeof("exact flows of ")];
	struct truth truth = {.nb_flows = (uint32_t)flows};
	uint32_t first;
	double ns;

	truth.packets = calloc(flows, sizeof(truth.packets[0]));
	if (truth.packets == NULL)
		return fail(bench, entrant->name, "out of memory");
	take_flows(bench, entrant, &truth);
	truth.exact = 0;
	first = bench->control->next;
	/* The first measurement makes the generator call the program. */
	if (!measure(bench, entrant, &ns)) {
		free(truth.packets);
		return false;
	}
	for (uint32_t packet = first; packet != bench->control->next; packet++)
		truth.distinct += truth.packets[flow_of(packet, truth.nb_flows)]++ == 0;
	take_flows(bench, entrant, &truth);
	snprintf(part, sizeof(part), "exact flows of %s", entrant->name);
	print_row(bench, part, flows, 0, (double)truth.exact / truth.distinct, "ratio");
	free(truth.packets);
	return true;
}

static bool run_round(struct kernel_bench *bench, uint64_t flows, uint32_t round)
{
	double empty = 0, ns;

	for (uint32_t e = 0; e < bench->nb_entrants; e++) {
		const struct entrant *entrant = &bench->entrants[e];
		bool is_empty = strncmp(entrant->name, "empty", 5) == 0;

		if (signals_stop_requested() || !measure(bench, entrant, &ns))
			return false;
		if (is_empty)
			empty = ns;
		print_row(bench, entrant->name, flows, round, is_empty ? ns : ns - empty, "ns");
	}
	return true;
}

/* Empties the tables, which still hold the flows of the last measurement. */
static void forget_flows(const struct kernel_bench *bench)
{
	kernel_tables_take(kernel_program_tables(bench->on_path), 0, drop_flow, NULL);
	kernel_tables_take(kernel_program_tables(bench->all_share), 0, drop_flow, NULL);
}

static void print_memory_of(struct kernel_bench *bench, uint32_t cpus, uint32_t nb_flows)
{
	uint32_t buckets = 1;
	double bytes;

	while (buckets < nb_flows)
		buckets *= 2;
	bytes = (double)kernel_tables_bytes(cpus, buckets, false);
	print_row(bench, "on-path, memory of a generation", nb_flows, 0, bytes / PLAN_GENERATIONS,
		"bytes");
	print_row(bench, "on-path, memory", nb_flows, 0, bytes, "bytes");
}

/*
 * The flow tables of all CPUs, with one generation and with those of a run, for the flows of Tables
 * 2 and 3 of Zha et al. (2022).
 */
static void print_memory(struct kernel_bench *bench)
{
	uint32_t cpus = kernel_program_rings(bench->on_path);
	const struct csv_table *paper = paper_table(PAPER_ZHA);
	uint32_t quantity = csv_table_column(paper, "quantity"),
		 value = csv_table_column(paper, "value");

	figures_heading(&bench->figures, "memory of flow tables for %u CPUs", cpus);
	for (uint32_t row = 1; row < paper->nb_rows; row++)
		if (strcmp(csv_table_cell(paper, row, quantity), "monitored flows") == 0)
			print_memory_of(bench, cpus,
				(uint32_t)strtoul(csv_table_cell(paper, row, value), NULL, 10));
}

static bool run_all(struct kernel_bench *bench)
{
	static const struct option_values usual = {.n = 4, .values = {1, 1000, 2550, 64000}};
	const struct option_values *flows = &bench_options(bench->config)->flows;

	if (flows->n == 0)
		flows = &usual;
	print_memory(bench);
	figures_heading(&bench->figures,
		"memory of maps, with tables of %u flows per CPU; share of exact flows; time per "
		"packet, less an empty program",
		bench->buckets);
	for (uint32_t e = 0; e < bench->nb_entrants; e++)
		if (bench->entrants[e].times == KERNEL_TIMES_NONE &&
			!has_prefixes(bench, &bench->entrants[e]))
			print_maps(bench, &bench->entrants[e]);
	for (uint32_t f = 0; f < flows->n; f++) {
		bench->control->flows = (uint32_t)flows->values[f];
		for (uint32_t e = 0; e < bench->nb_entrants; e++)
			if (counts_on_path(bench, &bench->entrants[e]) &&
				!print_exact(bench, &bench->entrants[e], flows->values[f]))
				return false;
		forget_flows(bench);
		for (uint32_t r = 0; r < bench->rounds; r++)
			if (!run_round(bench, flows->values[f], r))
				return false;
	}
	return true;
}

static void add_entrant(struct kernel_bench *bench, const char *name, int program, bool xdp,
	struct kernel_program *ours, uint32_t times)
{
	static const char *const words[] = {[KERNEL_TIMES_NONE] = "",
		[KERNEL_TIMES_EXACT] = ", exact times",
		[KERNEL_TIMES_COARSE] = ", coarse times"};
	struct entrant *entrant = &bench->entrants[bench->nb_entrants++];

	*entrant = (struct entrant){.program = program, .xdp = xdp, .ours = ours, .times = times};
	snprintf(entrant->name, sizeof(entrant->name), "%.60s%s", name, words[times]);
}

static int program_of(const struct bpf_object *object, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(object, name));
}

static void add_all_times(
	struct kernel_bench *bench, const char *name, int program, struct kernel_program *ours)
{
	for (uint32_t times = KERNEL_TIMES_NONE; times <= KERNEL_TIMES_COARSE; times++)
		add_entrant(bench, name, program, false, ours, times);
}

static bool load_flows(struct kernel_bench *bench)
{
	struct bpf_object_open_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, object_name), .object_name = "flows"};
	int control;

	bench->flows = bpf_object__open_mem(flows_object, sizeof(flows_object), &opts);
	if (bench->flows != NULL && bench->most_flows > 0)
		bpf_map__set_max_entries(
			bpf_object__find_map_by_name(bench->flows, "hash"), bench->most_flows);
	if (bench->flows == NULL || bpf_object__load(bench->flows) != 0)
		return fail(bench, "programs that generate packets", strerror(errno));
	control = bpf_object__find_map_fd_by_name(bench->flows, FLOWS_CONTROL_SECTION);
	bench->control =
		mmap(NULL, sizeof(*bench->control), PROT_READ | PROT_WRITE, MAP_SHARED, control, 0);
	return bench->control != MAP_FAILED ||
	       fail(bench, "variables of the packet programs", strerror(errno));
}

static struct kernel_program *load_ours(
	struct kernel_bench *bench, struct kernel_program_params params)
{
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *program;

	params.slots = SLOTS;
	params.seed = seed_options(bench->config)->seed;
	program = kernel_program_load(&params, error);

	if (program != NULL)
		kernel_program_measure(program, true);
	else
		snprintf(bench->error, sizeof(bench->error), "%s", error);
	return program;
}

/* n prefixes that match the source addresses from 10.0.0.0 + first on */
static struct kernel_program *load_with_rules(
	struct kernel_bench *bench, uint32_t buckets, uint32_t first, uint32_t n)
{
	struct kernel_program *program = load_ours(bench,
		(struct kernel_program_params){.buckets = buckets, .monitor = KERNEL_PREFIX_SRC});
	struct prefix_list *rules = calloc(1, sizeof(*rules) + n * sizeof(rules->rules[0]));
	struct kernel_prefix_maps *maps = NULL;

	for (uint32_t i = 0; rules != NULL && i < n; i++) {
		uint32_t address = UINT32_C(10) << 24 | (first + i);

		rules->rules[rules->n++] = (struct prefix_entry){
			.length = 32,
			.bits = {(uint8_t)(address >> 24), (uint8_t)(address >> 16),
				(uint8_t)(address >> 8), (uint8_t)address},
			.parent = PREFIX_NO_ENTRY,
		};
	}
	if (program != NULL && rules != NULL)
		maps = kernel_prefix_maps_create(rules, bench->error);
	if (maps != NULL)
		kernel_program_rules(program, 0, maps);
	kernel_prefix_maps_destroy(maps);
	free(rules);
	if (maps != NULL)
		return program;
	kernel_program_close(program);
	return NULL;
}

static bool load_programs(struct kernel_bench *bench)
{
	bench->beside = load_ours(bench, (struct kernel_program_params){0});
	if (bench->beside == NULL)
		return false;
	bench->on_path =
		load_ours(bench, (struct kernel_program_params){.buckets = bench->buckets});
	bench->all_share = load_ours(bench,
		(struct kernel_program_params){.buckets = bench->buckets, .all_share = true});
	bench->cells =
		load_ours(bench, (struct kernel_program_params){.sketch = sketch_find("iblt"),
					 .width = bench->buckets / CELLS_LESS});
	if (bench->on_path == NULL || bench->all_share == NULL || bench->cells == NULL)
		return false;
	/* The last address of the flows' /16 is unused if there are fewer than HOSTS flows. */
	bench->beside_none = load_with_rules(bench, 0, HOSTS - 1, 1);
	bench->on_path_none = load_with_rules(bench, 1, HOSTS - 1, 1);
	bench->beside_all = load_with_rules(bench, 0, 0, HOSTS);
	return bench->beside_none != NULL && bench->on_path_none != NULL &&
	       bench->beside_all != NULL;
}

/* `text`: OBJECT.o:PROGRAM of --rival. Does not pin the maps. */
static bool load_rival(struct kernel_bench *bench, const char *text, bool xdp)
{
	const char *colon = strrchr(text, ':');
	char path[1000], name[60];
	struct bpf_program *program, *wanted;
	struct bpf_object *object;
	struct bpf_map *map;

	snprintf(path, sizeof(path), "%.*s", (int)(colon - text), text);
	object = bpf_object__open_file(path, NULL);
	if (object == NULL)
		return fail(bench, text, "not an object file for libbpf");
	bench->rivals[bench->nb_rivals++] = object;
	wanted = bpf_object__find_program_by_name(object, colon + 1);
	if (wanted == NULL)
		return fail(bench, text, "no such program in the object");
	bpf_object__for_each_map(map, object) bpf_map__set_pin_path(map, NULL);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, program == wanted);
	if ((bpf_program__type(wanted) == BPF_PROG_TYPE_XDP) != xdp) {
		bench->nb_rivals--;
		bpf_object__close(object);
		return true;
	}
	if (!xdp)
		bpf_program__set_type(wanted, BPF_PROG_TYPE_SCHED_CLS);
	if (bpf_object__load(object) != 0)
		return fail(bench, text, "rejected by the kernel");
	snprintf(name, sizeof(name), "rival %.50s", colon + 1);
	add_entrant(bench, name, bpf_program__fd(wanted), xdp, NULL, KERNEL_TIMES_NONE);
	return true;
}

static bool load_rivals(struct kernel_bench *bench, bool xdp)
{
	const struct option_list *list = &kernel_bench_options(bench->config)->rivals;

	for (uint32_t i = 0; i < list->n; i++)
		if (!load_rival(bench, list->texts[i], xdp))
			return false;
	return true;
}

static void add_ours(struct kernel_bench *bench, const char *name, struct kernel_program *program)
{
	add_entrant(bench, name, kernel_program_fd(program, KERNEL_HOOK_TC), false, program,
		KERNEL_TIMES_NONE);
}

static bool load_all(struct kernel_bench *bench)
{
	if (!load_programs(bench) || !load_flows(bench))
		return false;
	add_entrant(bench, "empty, tc", program_of(bench->flows, "empty_tc"), false, NULL, 0);
	add_all_times(
		bench, "off-path", kernel_program_fd(bench->beside, KERNEL_HOOK_TC), bench->beside);
	add_all_times(bench, "on-path", kernel_program_fd(bench->on_path, KERNEL_HOOK_TC),
		bench->on_path);
	add_ours(bench, "on-path, one table", bench->all_share);
	add_ours(bench, "on-path, iblt", bench->cells);
	add_ours(bench, "off-path, a prefix matches", bench->beside_all);
	add_ours(bench, "off-path, no prefix matches", bench->beside_none);
	add_ours(bench, "on-path, no prefix matches", bench->on_path_none);
	add_all_times(bench, "the kernel's table", program_of(bench->flows, "map_tc"), NULL);
	if (!load_rivals(bench, false))
		return false;
	add_entrant(bench, "empty, xdp", program_of(bench->flows, "empty_xdp"), true, NULL, 0);
	return load_rivals(bench, true);
}

static void close_all(struct kernel_bench *bench)
{
	if (bench->control != NULL && bench->control != MAP_FAILED)
		munmap(bench->control, sizeof(*bench->control));
	bpf_object__close(bench->flows);
	for (uint32_t r = 0; r < bench->nb_rivals; r++)
		bpf_object__close(bench->rivals[r]);
	kernel_program_close(bench->beside);
	kernel_program_close(bench->on_path);
	kernel_program_close(bench->all_share);
	kernel_program_close(bench->cells);
	kernel_program_close(bench->beside_none);
	kernel_program_close(bench->beside_all);
	kernel_program_close(bench->on_path_none);
}

/* The kernel runs test programs on the CPU of the caller. */
static bool choose_cpu(struct kernel_bench *bench)
{
	static struct topology topology;
	struct cpus cpus;
	cpu_set_t one;

	if (!setup_topology(&topology, bench->config))
		return false;
	cpus_init(&cpus, &topology);
	bench->cpu = cpus.ids[0];
	CPU_ZERO(&one);
	CPU_SET(bench->cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) == 0;
}

/* Tables fit the largest number of --flows. */
static void choose_size(struct kernel_bench *bench, const struct option_values *flows)
{
	for (uint32_t f = 0; f < flows->n; f++)
		if (flows->values[f] > bench->most_flows)
			bench->most_flows = (uint32_t)flows->values[f];
	bench->buckets = bench->most_flows > 0 ? BUCKETS_MIN : BUCKETS;
	while (bench->buckets < bench->most_flows && bench->buckets < BUCKETS)
		bench->buckets *= 2;
}

int bench_kernel(struct config *config)
{
	static struct kernel_bench bench;
	const struct bench_options *options = bench_options(config);
	int status = 1, closed;

	bench.config = config;
	choose_size(&bench, &options->flows);
	bench.rounds = (uint32_t)bench_number(options, options->rounds, ROUNDS, QUICK_ROUNDS);
	bench.batches = options->quick ? QUICK_BATCHES : BATCHES;
	if (!choose_cpu(&bench))
		return 1;
	if (load_all(&bench)) {
		status = figures_open(&bench.figures, columns, config);
		if (status == 0) {
			figures_begin(&bench.figures);
			if (!run_all(&bench) && !signals_stop_requested())
				status = 1;
			closed = figures_close(&bench.figures);
			status = status != 0 ? status : closed;
		}
	}
	if (bench.error[0] != '\0')
		log_error("%s", bench.error);
	close_all(&bench);
	return status;
}
