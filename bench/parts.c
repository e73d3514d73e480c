/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench parts: measures the figures that bench/targets compares with targets. */

#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/baselines.h"
#include "bench/bench.h"
#include "bench/bench_rounds.h"
#include "bench/common.h"
#include "bench/matching.h"
#include "bench/parsing.h"
#include "bench/polled.h"
#include "bench/program.h"
#include "bench/published.h"
#include "bench/reporting.h"
#include "bench/rivals.h"
#include "parallel/run/eal.h"
#include "parallel/sources/feeder.h"
#include "rx/filter/filter.h"
#include "tune/measure/bench_options.h"
#include "tune/measure/figures.h"
#include "tune/measure/setup.h"

#define ROUNDS         7
#define PACKETS        (UINT64_C(4) << 20)
#define REPLAY_PACKETS UINT64_C(2000000)
#define QUICK_ROUNDS   3
#define QUICK_PACKETS  UINT64_C(50000)
#define CARD_MB        (POLLED_CARD_MBUFS * 512U >> 20)
#define FLOWS          1000000
#define ZIPF_E6        1050000
#define WIDTH          (UINT64_C(1) << 16)
#define LARGE_WIDTH    (UINT64_C(1) << 18)
#define RULES          50000
#define REPORT_WORKERS 8
#define REPORT_TOP     1000
#define ENTRANTS_MAX   15

static const struct figures_column columns[] = {
	{.name = "bench"},
	{"part", "", -56, ""},
	{"round", "round", 5, ""},
	{"value", "value", 10, ""},
	{"unit", "", -4, ""},
	{"recall", "recall", 6, "ratio"},
	{"relative_error", "error", 8, "ratio"},
	{"note", "", -1, ""},
	{.name = NULL},
};

struct parts {
	const struct config *config;
	uint64_t seed;
	uint32_t rounds;
	uint64_t packets, replay_packets;
	struct topology topology;
	struct cpus cpus;
	struct config run_config;
	/* for parts that measure a worker with packets as a NIC leaves them */
	struct config card_config;
	struct plan card_plan;
	struct plan plan;
	struct figures figures;
	char error[POLLED_ERROR_MAX];
	struct program_captures captures;
	double start_up;            /* s */
	struct parsing *parsing[2]; /* [0]: IPv4; [1]: IPv6 after a VLAN tag */
	struct filter *filter;
	uint64_t kept;
	struct source *source;
	struct workload *workload;
	struct reporting *reporting;
	struct sketch *sketch; /* updated by thread 0 */
	_Atomic bool ended;
	struct matching *matching;
};

/* measure() returns false with a line in parts->error on failure, without one if stopped. */
struct part {
	const char *name, *unit;
	bool (*measure)(struct parts *parts, const struct part *part);
	bool in_turn; /* measured in turns with the row before */
	uint32_t variant;
	/* Zipf's exponent times 10^6, for traffic of `variant` flows; 0: uniform */
	uint32_t zipf_e6;
	const char *expression;
};

static bool put_value(struct parts *parts, double value)
{
	figures_cell(&parts->figures, "value", "%.4f", value);
	return true;
}

static void print_row(struct parts *parts, const char *name, const char *unit, uint32_t round)
{
	figures_cell(&parts->figures, "bench", "parts");
	figures_cell(&parts->figures, "part", "%s", name);
	figures_cell(&parts->figures, "unit", "%s", unit);
	figures_cell(&parts->figures, "round", "%u", round);
	figures_row(&parts->figures);
}

static bool run_turns(struct parts *parts, const struct part *part, uint32_t n)
{
	for (uint32_t r = 0; r < parts->rounds; r++)
		for (uint32_t p = 0; p < n; p++) {
			if (signals_stop_requested() || !part[p].measure(parts, &part[p]))
				return false;
			print_row(parts, part[p].name, part[p].unit, r);
		}
	return true;
}

static bool run_parts(struct parts *parts, const struct part *part)
{
	for (uint32_t n; part->name != NULL; part += n) {
		for (n = 1; part[n].in_turn; n++)
			;
		if (!run_turns(parts, part, n))
			return false;
	}
	return true;
}

struct work {
	struct parts *parts;
	bool (*run)(struct parts *parts, uint32_t variant); /* false: the result was wrong */
	uint32_t variant;
	bool right;
};

static void run_work(void *arg, uint32_t t)
{
	struct work *work = arg;

	(void)t;
	work->right = work->run(work->parts, work->variant);
}

/* Runs the work on another thread. *seconds: CPU time. Returns false if the work failed. */
static bool time_work(struct parts *parts, bool (*run)(struct parts *parts, uint32_t variant),
	uint32_t variant, double *seconds)
{
	struct work work = {parts, run, variant, false};

	return cpus_run(&parts->cpus, 1, run_work, &work, seconds) && work.right;
}

static bool put_ns(struct parts *parts, double seconds)
{
	return put_value(parts, seconds * 1e9 / (double)parts->packets);
}

/* Parts that run sketchtap come first, because EAL binds this process and its children to a CPU. */

static bool measure_start_up(struct parts *parts, const struct part *part)
{
	(void)part;
	parts->start_up = program_replay(parts->config, parts->captures.small, parts->error);
	return parts->start_up > 0 && put_value(parts, parts->start_up);
}

static bool measure_replay(struct parts *parts, const struct part *part)
{
	double all = program_replay(parts->config, parts->captures.large, parts->error);
	double seconds = all - parts->start_up;

	(void)part;
	return all > 0 &&
	       put_value(parts, seconds > 0 ? (double)parts->replay_packets / 1e6 / seconds : 0);
}

static bool measure_libpcap(struct parts *parts, const struct part *part)
{
	double seconds =
		program_read_alone(parts->captures.large, parts->captures.packets, parts->error);

	(void)part;
	return seconds > 0 && put_value(parts, (double)parts->replay_packets / 1e6 / seconds);
}

static const struct part programs[] = {
	{"start-up", "s", .measure = measure_start_up},
	{"replay", "Mpps", .measure = measure_replay, .in_turn = true},
	{"libpcap only", "Mpps", .measure = measure_libpcap, .in_turn = true},
	{.name = NULL},
};

struct entrant {
	const char *name;
	const char *sketch;
	const struct bench_subject_ops *rival;
	uint64_t width;   /* 0: default of the sketch */
	uint32_t sharing; /* threads that share the sketch; 0: one thread, not shared */
	enum sketch_metric metric;
};

static const struct {
	uint32_t zipf_e6;
	uint64_t flows;
	struct entrant entrants[ENTRANTS_MAX]; /* the entry after the last has no name */
} all_rounds[] = {
	{ZIPF_E6, FLOWS,
		{
			{"floor", .rival = &bench_subject_floor},
			{"rte_member", .rival = &bench_subject_member},
			{"count-min", .sketch = "count-min", .width = WIDTH},
			{"count-min shared", .sketch = "count-min", .width = WIDTH, .sharing = 1},
			{"count-min bytes", .sketch = "count-min", .width = WIDTH,
				.metric = SKETCH_BYTES},
			{"simple-hash", .sketch = "simple-hash"},
			{"simple-hash shared", .sketch = "simple-hash", .sharing = 1},
			{"reversible", .sketch = "reversible"},
			{"reversible shared", .sketch = "reversible", .sharing = 1},
			{"flow-table", .sketch = "flow-table", .width = 1 << 20},
			{"rte_hash", .rival = &bench_subject_rte_hash},
			{"iblt, 30 MB", .sketch = "iblt", .width = 1 << 16},
			{"count-min, 34 MB", .sketch = "count-min", .width = 1 << 21},
			{"elastic", .rival = &bench_subject_elastic},
			{"octosketch 3 x 1M", .rival = &bench_subject_octosketch, .width = 1 << 20},
		}},
	{1300000, FLOWS,
		{
			{"count-min, Zipf 1.3", .sketch = "count-min", .width = WIDTH},
			{"elastic, Zipf 1.3", .rival = &bench_subject_elastic},
			{"simple-hash, Zipf 1.3", .sketch = "simple-hash"},
			{"octosketch 3 x 1M, Zipf 1.3", .rival = &bench_subject_octosketch,
				.width = 1 << 20},
			{"Zipf 1.3, 1 thread", .sketch = "count-min", .width = WIDTH, .sharing = 1},
			{"Zipf 1.3, 2 threads", .sketch = "count-min", .width = WIDTH,
				.sharing = 2},
		}},
	{0, 10000,
		{
			{"count-min, 10 K flows", .sketch = "count-min", .width = WIDTH},
			{"count-min 4 x 256K, 10 K flows", .sketch = "count-min",
				.width = LARGE_WIDTH},
			{"simple-hash, 10 K flows", .sketch = "simple-hash"},
			{"reversible, 10 K flows", .sketch = "reversible"},
		}},
	{0, 1000000,
		{
			{"flow-table, 1 M flows", .sketch = "flow-table", .width = 1 << 20},
			{"compact-table, 1 M flows", .sketch = "compact-table", .width = 1 << 20},
		}},
	{ZIPF_E6, 1000000,
		{
			{"flow-table, Zipf 1.05, 1 M flows", .sketch = "flow-table",
				.width = 1 << 20},
			{"compact-table, Zipf 1.05, 1 M flows", .sketch = "compact-table",
				.width = 1 << 20},
		}},
	{0, 10000000,
		{
			{"count-min, 10 M flows", .sketch = "count-min", .width = WIDTH},
			{"elastic, 10 M flows", .rival = &bench_subject_elastic},
			{"octosketch, 10 M flows", .rival = &bench_subject_octosketch},
			{"count-min 4 x 256K, 10 M flows", .sketch = "count-min",
				.width = LARGE_WIDTH},
			{"floor 4 x 256K, 10 M flows", .rival = &bench_subject_floor,
				.width = LARGE_WIDTH},
		}},
	{0, 20000000,
		{
			{"count-min, 20 M flows", .sketch = "count-min", .width = WIDTH},
			{"count-min 4 x 256K, 20 M flows", .sketch = "count-min",
				.width = LARGE_WIDTH},
			{"simple-hash, 20 M flows", .sketch = "simple-hash"},
			{"reversible, 20 M flows", .sketch = "reversible"},
		}},
};

#define NB_ALL_ROUNDS (sizeof(all_rounds) / sizeof(all_rounds[0]))

static struct workload *make_workload(const struct parts *parts, uint32_t zipf_e6, uint64_t flows)
{
	struct workload_spec spec = {
		.zipf_e6 = zipf_e6, .flows = flows, .packets = parts->packets, .seed = 1};

	return workload_create(&spec, parts->seed);
}

static struct bench_subject bench_subject_of(const struct entrant *entrant)
{
	const struct sketch_ops *sketch =
		entrant->sketch != NULL ? sketch_find(entrant->sketch) : NULL;

	return (struct bench_subject){
		.name = entrant->name,
		.ops = sketch != NULL ? &bench_subject_sketch : entrant->rival,
		.sketch = sketch,
		.sharing = entrant->sharing > 0 ? SHARING_SHARED : SHARING_SEPARATE,
		.metric = entrant->metric,
		.threads = entrant->sharing > 0 ? entrant->sharing : 1,
		.width = sketch != NULL && entrant->width == 0 ? sketch->default_width
							       : entrant->width,
	};
}

/* Prints ns per packet if all threads count parts of the packets at the same time. */
static void print_entrant(struct parts *parts, const struct bench_subject *entrant,
	const struct bench_rounds_result *result, uint32_t round)
{
	struct figures *figures = &parts->figures;

	if (result->last.missing != NULL)
		figures_note(figures, "not measured: %s", result->last.missing);
	else
		put_value(parts, result->ns[0] / entrant->threads);
	if (result->last.missing == NULL && result->last.keeps_keys &&
		result->last.accuracy.known) {
		figures_cell(figures, "recall", "%.2f", result->last.accuracy.recall);
		figures_cell(
			figures, "relative_error", "%.6f", result->last.accuracy.relative_error);
	}
	print_row(parts, entrant->name, "ns", round);
}

static bool run_rounds_of(
	struct parts *parts, uint32_t c, const struct workload *workload, uint32_t round)
{
	static struct bench_rounds_result results[ENTRANTS_MAX];
	const struct bench_rounds setup = {
		.workload = workload, .width = WIDTH, .seed = parts->seed};
	struct bench_subject entrants[ENTRANTS_MAX];
	uint32_t n = 0, done;

	for (; n < ENTRANTS_MAX && all_rounds[c].entrants[n].name != NULL; n++)
		entrants[n] = bench_subject_of(&all_rounds[c].entrants[n]);
	if (!bench_rounds_run(&setup, &parts->cpus, entrants, n, 1, results, &done, parts->error) ||
		done == 0)
		return false;
	for (uint32_t e = 0; e < n; e++)
		print_entrant(parts, &entrants[e], &results[e], round);
	return true;
}

static bool run_all_rounds(struct parts *parts)
{
	struct workload *workloads[NB_ALL_ROUNDS];
	bool done = true;

	for (uint32_t c = 0; c < NB_ALL_ROUNDS; c++) {
		workloads[c] = make_workload(parts, all_rounds[c].zipf_e6, all_rounds[c].flows);
		done &= workloads[c] != NULL;
	}
	for (uint32_t r = 0; done && r < parts->rounds; r++)
		for (uint32_t c = 0; done && c < NB_ALL_ROUNDS; c++)
			done = run_rounds_of(parts, c, workloads[c], r);
	for (uint32_t c = 0; c < NB_ALL_ROUNDS; c++)
		if (workloads[c] != NULL)
			workload_destroy(workloads[c]);
	return done;
}

static bool parse(struct parts *parts, uint32_t ipv6)
{
	return parsing_run(parts->parsing[ipv6], parts->packets);
}

static bool measure_parsing(struct parts *parts, const struct part *part)
{
	double seconds;

	return time_work(parts, parse, part->variant, &seconds) && put_ns(parts, seconds);
}

static bool filter_packets(struct parts *parts, uint32_t variant)
{
	struct rte_mbuf *burst[BURST_MAX];

	(void)variant;
	parts->kept = 0;
	for (uint64_t p = 0; p < parts->packets; p += BURST_MAX) {
		memcpy(burst, parsing_packets(parts->parsing[0]), sizeof(burst));
		parts->kept += filter_burst(parts->filter, burst, BURST_MAX);
	}
	return true;
}

static bool measure_filter(struct parts *parts, const struct part *part)
{
	char error[FILTER_ERROR_MAX];
	struct filter_set set = {0};
	double seconds;
	bool done = false;

	parts->filter = filter_set_add_ethernet(&set, part->expression, error) == 0
				? filter_create(&set, false)
				: NULL;
	if (parts->filter != NULL && filter_interpreted(parts->filter) > 0) {
		figures_note(&parts->figures, "not measured: cannot compile native code");
		done = true;
	} else if (parts->filter != NULL && time_work(parts, filter_packets, 0, &seconds)) {
		figures_note(&parts->figures, "%.0f %% match",
			100.0 * (double)parts->kept / (double)parts->packets);
		done = put_ns(parts, seconds);
	}
	filter_destroy(parts->filter);
	filter_set_free(&set);
	return done;
}

static bool measure_worker(struct parts *parts, const struct part *part)
{
	struct polled_sample without, with;

	(void)part;
	if (parts->plan.oversubscribed) {
		figures_note(&parts->figures, "not measured: needs two CPUs");
		return true;
	}
	return polled_run(&parts->run_config, &parts->plan, parts->source, POLLED_RECEIVE_AND_FREE,
		       &without, parts->error) &&
	       polled_run(&parts->run_config, &parts->plan, parts->source, POLLED_MEASURE, &with,
		       parts->error) &&
	       put_value(parts, with.total - without.total);
}

/* The packets have the cache state that a NIC leaves. part->variant: number of flows. */
static bool measure_card(struct parts *parts, const struct part *part)
{
	struct polled_sample without, with;
	struct source *source;
	bool done;

	if (parts->plan.oversubscribed) {
		figures_note(&parts->figures, "not measured: needs two CPUs");
		return true;
	}
	source = setup_source(part->zipf_e6, part->variant);
	if (source == NULL)
		return false;
	done = polled_run_card(&parts->card_config, &parts->card_plan, source,
		       POLLED_RECEIVE_AND_FREE, &without, parts->error) &&
	       polled_run_card(&parts->card_config, &parts->card_plan, source, POLLED_MEASURE,
		       &with, parts->error);
	source->close(source);
	if (!done)
		return false;
	figures_note(&parts->figures, "%.1f ns to receive and free", without.total);
	return put_value(parts, with.total - without.total);
}

static bool report(struct parts *parts, uint32_t variant)
{
	(void)variant;
	return reporting_run(parts->reporting) == REPORT_TOP;
}

static bool measure_reporter(struct parts *parts, const struct part *part)
{
	double seconds;

	(void)part;
	return time_work(parts, report, 0, &seconds) && put_value(parts, seconds * 1000);
}

/* Thread 0 counts. Thread 1 merges and reports until thread 0 has finished. */
static void count_beside_reporter(void *arg, uint32_t t)
{
	struct parts *parts = arg;
	struct key_burst burst;

	while (t > 0 && !atomic_load_explicit(&parts->ended, memory_order_relaxed))
		reporting_run(parts->reporting);
	if (t > 0)
		return;
	workload_burst_init(&burst);
	for (uint64_t b = 0; b < workload_bursts(parts->workload); b++) {
		workload_load(parts->workload, b, &burst);
		hash_burst(&parts->workload->hash_key, &burst);
		parts->sketch->ops->update[SHARING_SEPARATE](parts->sketch, &burst);
	}
	atomic_store_explicit(&parts->ended, true, memory_order_relaxed);
}

/* CPU time of thread 0 while part->variant threads count. */
static bool measure_counting(struct parts *parts, const struct part *part)
{
	double seconds[2];

	if (parts->cpus.n < part->variant) {
		figures_note(&parts->figures, "not measured: needs two CPUs");
		return true;
	}
	parts->sketch->ops->reset(parts->sketch);
	atomic_store_explicit(&parts->ended, false, memory_order_relaxed);
	return cpus_run(&parts->cpus, part->variant, count_beside_reporter, parts, seconds) &&
	       put_ns(parts, seconds[0]);
}

static bool match(struct parts *parts, uint32_t step)
{
	return matching_run(parts->matching, parts->packets, (enum matching_part)step) ==
	       parts->packets;
}

/* Time of all steps up to this one, less the time of those before it. */
static bool measure_matching(struct parts *parts, const struct part *part)
{
	double before, with;

	return time_work(parts, match, part->variant - 1, &before) &&
	       time_work(parts, match, part->variant, &with) && put_ns(parts, with - before);
}

static bool open_surroundings(struct parts *parts)
{
	struct sketch_params params = {
		.width = WIDTH, .seed = parts->seed, .allocator = sketch_allocator_malloc};
	const struct sketch_ops *ops = sketch_find("count-min");

	for (uint32_t i = 0; i < 2; i++)
		parts->parsing[i] = parsing_create(i == 1, parts->seed);
	parts->source = setup_source(ZIPF_E6, FLOWS);
	parts->workload = make_workload(parts, ZIPF_E6, FLOWS);
	if (parts->workload != NULL)
		parts->reporting = reporting_create(
			parts->workload, REPORT_WORKERS, WIDTH, REPORT_TOP, parts->seed);
	if (ops->check(&params) == NULL)
		parts->sketch = ops->create(&params);
	parts->matching = matching_create(RULES, parts->seed);
	return parts->parsing[0] != NULL && parts->parsing[1] != NULL && parts->source != NULL &&
	       parts->reporting != NULL && parts->sketch != NULL && parts->matching != NULL;
}

static void close_surroundings(struct parts *parts)
{
	for (uint32_t i = 0; i < 2; i++)
		if (parts->parsing[i] != NULL)
			parsing_destroy(parts->parsing[i]);
	if (parts->source != NULL)
		parts->source->close(parts->source);
	if (parts->reporting != NULL)
		reporting_destroy(parts->reporting);
	if (parts->workload != NULL)
		workload_destroy(parts->workload);
	if (parts->sketch != NULL)
		parts->sketch->ops->destroy(parts->sketch);
	if (parts->matching != NULL)
		matching_destroy(parts->matching);
}

#define FILTER(text)                                                                               \
	{                                                                                          \
		"filter: " text, "ns", .measure = measure_filter, .expression = (text)             \
	}

static const struct part surroundings[] = {
	{"parse and hash: IPv4", "ns", .measure = measure_parsing, .variant = 0},
	{"parse and hash: IPv6 and VLAN", "ns", .measure = measure_parsing, .variant = 1},
	FILTER("dst net 10.0.0.0/8 and tcp"),
	FILTER("tcp port 443"),
	FILTER("tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420"),
	{"worker", "ns", .measure = measure_worker},
	{"worker, packets as from a NIC", "ns", .measure = measure_card, .zipf_e6 = ZIPF_E6,
		.variant = FLOWS},
	{"worker, packets as from a NIC, 1 K flows", "ns", .measure = measure_card,
		.variant = 1000},
	{"worker, packets as from a NIC, 20 M flows", "ns", .measure = measure_card,
		.variant = 20000000},
	{"merge, rank, print", "ms", .measure = measure_reporter},
	{"count-min without reports", "ns", .measure = measure_counting, .variant = 1},
	{"count-min during reports", "ns", .measure = measure_counting, .variant = 2,
		.in_turn = true},
	{"match a rule", "ns", .measure = measure_matching, .variant = MATCHING_MATCH},
	{"credit the rule", "ns", .measure = measure_matching, .variant = MATCHING_CREDIT,
		.in_turn = true},
	{.name = NULL},
};

static bool start_eal(struct parts *parts)
{
	const struct bench_subject whole = {.sketch = sketch_find("count-min")};

	setup_run_config(&parts->run_config, parts->config, &whole);
	edit_feeder_options(&parts->run_config)->packets = parts->packets;
	if (!setup_plan(&parts->plan, &parts->run_config, &whole, &parts->topology, parts->error))
		return false;
	parts->card_config = parts->run_config;
	edit_pool_options(&parts->card_config)->mbufs = POLLED_CARD_MBUFS;
	if (!setup_plan(
		    &parts->card_plan, &parts->card_config, &whole, &parts->topology, parts->error))
		return false;
	setup_add_heap(&parts->plan, &parts->topology,
		rivals_heap_megabytes(WIDTH, parts->packets) + (matching_bytes(RULES) >> 20) +
			CARD_MB);
	if (!eal_start(&parts->plan, &parts->run_config, parts->error))
		return false;
	host_facts_add_memory(&parts->figures.facts);
	rivals_init();
	return true;
}

static bool run_programs(struct parts *parts)
{
	bool done = program_captures_write(&parts->captures, parts->replay_packets, parts->error) &&
		    run_parts(parts, programs);

	program_captures_remove(&parts->captures);
	return done;
}

static bool run_surroundings(struct parts *parts)
{
	bool done = open_surroundings(parts) && run_parts(parts, surroundings);

	close_surroundings(parts);
	return done;
}

static bool run_all(struct parts *parts)
{
	bool done;

	figures_heading(&parts->figures, "programs");
	if (!run_programs(parts) || !start_eal(parts))
		return false;
	figures_heading(&parts->figures,
		"kernels: Zipf 1.05 over 1 M flows unless stated otherwise (%s)",
		parts->figures.facts.dpdk);
	done = run_all_rounds(parts);
	if (done)
		figures_heading(&parts->figures, "other parts");
	done = done && run_surroundings(parts);
	eal_stop();
	return done;
}

int bench_parts(struct config *config)
{
	static struct parts parts;
	const struct bench_options *bench = bench_options(config);
	int status, closed;

	parts.config = config;
	parts.seed = seed_options(config)->seed;
	parts.rounds = (uint32_t)bench_number(bench, bench->rounds, ROUNDS, QUICK_ROUNDS);
	parts.packets = (bench->quick ? QUICK_PACKETS : PACKETS) / BURST_MAX * BURST_MAX;
	parts.replay_packets = bench->quick ? QUICK_PACKETS : REPLAY_PACKETS;
	if (!setup_topology(&parts.topology, config))
		return 1;
	cpus_init(&parts.cpus, &parts.topology);
	status = figures_open(&parts.figures, columns, config);
	if (status != 0)
		return status;
	figures_begin(&parts.figures);
	if (!run_all(&parts) && !signals_stop_requested()) {
		log_error("%s", parts.error[0] != '\0' ? parts.error
						       : "out of memory for the measurements");
		status = 1;
	}
	closed = figures_close(&parts.figures);
	return status != 0 ? status : closed;
}

static const struct option_row parts_rows[] = {
	BENCH_ROW_ROUNDS("7"),
	BENCH_ROW_QUICK(
		"Use fewer packets and rounds for a quick test. The figures are not accurate."),
	{0},
};

const struct option_owner parts_owner = {
	.rows = parts_rows,
	.fills = &bench_owner,
};
