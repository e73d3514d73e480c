/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * bench tune: every configuration of the chosen lists is a try. What needs more memory than it may
 * take is not run at all; what is left counts the traffic once in memory, which tells its error;
 * what is right enough runs as a whole, in turns, under a generator that sends as fast as it is
 * taken from. tune_choice.h says which try is chosen then.
 *
 * Standard output is a configuration file: the table stands in its comments.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "bench/choices.h"
#include "bench/contest.h"
#include "bench/crew.h"
#include "bench/pipeline.h"
#include "bench/setup.h"
#include "bench/sheet.h"
#include "bench/stats.h"
#include "bench/tune_choice.h"
#include "bench/tune_table.h"
#include "parallel/eal.h"
#include "parallel/plan/flow_stores.h"
#include "rx/capture/synthetic.h"

#define ROUNDS         3
#define MILLISECONDS   100
#define PACKETS        (UINT64_C(4) << 20)
#define TRAFFIC        "flows=1M,zipf=1.05"
#define MBUFS          16384 /* as bench pipeline has it */
#define SIZE           64
#define MBUF_CACHE     256 /* as runs have it */
#define HEAP_MEGABYTES 256
#define UNSTEADY       2.0 /* the fastest round, of the slowest: others were at work */
#define RUN_SECONDS    0.1 /* that putting a run together takes, about */

static const struct config_values widths_default = {5, {4096, 16384, 65536, 262144, 1048576}};

static const struct sheet_column columns[] = {
	{.name = "bench"},
	{.name = "source"},
	{"design", "", -6},
	{"sharing", "", -8},
	{"sketch", "", -11},
	{"atomic", "", -4},
	{"workers", "wrk", 3},
	{"width", "width", 8},
	TUNE_TABLE_COLUMNS,
	{"memory_bytes", "memory", 11},
	{"recall", "recall", 6},
	{"error", "error", 9},
	{.name = "rounds"},
	{"measured_mpps", "Mpps", 7},
	{"measured_mpps_min", "min", 7},
	{"measured_mpps_max", "max", 7},
	{"count_ns", "count", 6},
	{"delay_ns", "delay", 6},
	{"chosen", "", -6},
	{"note", "", -1},
	{.name = NULL},
};

struct
try {
	struct pipeline_setting setting;
	struct tune_figures figures;
	bool planned; /* memory is known */
	bool counted; /* accuracy is known */
	struct bench_accuracy accuracy;
	uint32_t rounds;
	struct pipeline_sample samples[BENCH_ROUNDS_MAX];
	char note[SHEET_CELL_MAX];
};

struct tune {
	const struct config *config;
	struct config run; /* what all runs have in common */
	uint32_t rounds, milliseconds;
	struct topology topology;
	struct crew crew;
	struct sheet sheet;
	struct host_facts facts;
	const struct config_values *workers, *widths;
	struct workload *workload;
	struct try *tries;
	uint32_t nb_tries, tries_room;
	uint32_t chosen; /* nb_tries: none */
	/* Where a flow table is all that is tried: the one that was chosen first. */
	bool table_chosen;
	struct contestant table;
	struct config_values table_width;
};

/* --- what is tried --- */

static bool add_try(struct tune *tune, const struct pipeline_setting *setting)
{
	struct try *try;

	if (tune->nb_tries == tune->tries_room) {
		uint32_t room = tune->tries_room == 0 ? 64 : 2 * tune->tries_room;
		struct try *grown = realloc(tune->tries, room * sizeof(*grown));

		if (grown == NULL)
			return false;
		tune->tries = grown;
		tune->tries_room = room;
	}
	try = &tune->tries[tune->nb_tries++];
	memset(try, 0, sizeof(*try));
	try->setting = *setting;
	try->figures.threads = pipeline_threads(setting);
	try->figures.comparable = try->figures.threads <= tune->crew.nb_cpus;
	return true;
}

/* All designs, numbers of workers and widths of one sketch and its way of being shared. */
static bool add_contestant(struct tune *tune, const struct contestant *contestant)
{
	uint32_t chosen = tune->config->bench.designs;

	for (uint32_t d = 0; designs[d] != NULL; d++)
		for (uint32_t n = 0; n < tune->workers->n; n++)
			for (uint32_t w = 0; w < tune->widths->n; w++) {
				struct sketch_params shape = {.width = tune->widths->values[w]};
				struct pipeline_setting setting = {
					.design = designs[d]->name,
					.contestant = *contestant,
					.workers = (uint32_t)tune->workers->values[n],
					.mbufs = MBUFS,
					.size = SIZE,
					.workload = tune->workload,
				};

				setting.contestant.width = shape.width;
				setting.contestant.threads = setting.workers;
				if ((chosen != 0 && (chosen >> d & 1) == 0) ||
					contestant->sketch->check(&shape) != NULL)
					continue;
				if (!add_try(tune, &setting))
					return false;
			}
	return true;
}

/* Makes it one of the chosen tables; false where those cannot be shared as it would be. */
static bool take_table(const struct tune *tune, struct contestant *contestant)
{
	contestant->collision = tune->table.collision;
	contestant->table_hash = tune->table.table_hash;
	return flow_stores[contestant->collision]->update[contestant->sharing] != NULL;
}

static bool add_tries(struct tune *tune)
{
	static const struct config_values one = {1, {1}};
	struct contestant contestants[CONFIG_VALUES_MAX * 4];
	struct bench_config bench = tune->config->bench;
	uint32_t n;

	if (bench.atomics == 0)
		bench.atomics = 1u << ATOMIC_CAS | 1u << ATOMIC_ADD;
	n = choices_contestants(&bench, &one, contestants, CONFIG_VALUES_MAX * 4);
	for (uint32_t c = 0; c < n; c++) {
		if (tune->table_chosen && !take_table(tune, &contestants[c]))
			continue;
		if (!add_contestant(tune, &contestants[c]))
			return false;
	}
	return true;
}

/* Powers of two up to the number of CPUs. */
static const struct config_values *default_workers(const struct crew *crew)
{
	static struct config_values workers;

	for (uint64_t n = 1; n <= crew->nb_cpus && n <= OFFER_QUEUES_MAX; n *= 2)
		workers.values[workers.n++] = n;
	return &workers;
}

/* --- what it takes, and how right it is --- */

static void plan_try(struct tune *tune, struct try *try)
{
	static struct config config;
	static struct plan plan;
	char error[OFFER_ERROR_MAX];
	uint64_t limit = tune->config->bench.memory;

	if (!pipeline_plan(
		    &try->setting, &tune->run, &tune->topology, "tune", &config, &plan, error)) {
		snprintf(try->note, sizeof(try->note), "cannot be: %.80s", error);
		return;
	}
	try->planned = true;
	try->figures.memory = plan.packet_bytes + plan.sketch_bytes;
	try->figures.fits = limit == 0 || try->figures.memory <= limit;
	if (!try->figures.fits)
		snprintf(try->note, sizeof(try->note), "more than --memory");
}

/* What decides how right a sketch is; one thread cannot tell how it is shared. */
static bool is_as_right(const struct try *a, const struct try *b)
{
	return a->setting.contestant.sketch == b->setting.contestant.sketch &&
	       a->setting.contestant.width == b->setting.contestant.width &&
	       a->setting.workers == b->setting.workers &&
	       (a->setting.workers == 1 ||
		       a->setting.contestant.sharing == b->setting.contestant.sharing);
}

static bool count_traffic(struct tune *tune, struct try *try, char *error)
{
	const struct contest contest = {.workload = tune->workload, .seed = tune->config->seed};
	static struct contest_result result;
	uint32_t rounds;

	if (!contest_run(
		    &contest, &tune->crew, &try->setting.contestant, 1, 1, &result, &rounds, error))
		return false;
	if (rounds == 0)
		return true;
	try->counted = result.missing == NULL;
	try->accuracy = result.accuracy;
	if (!try->counted)
		snprintf(try->note, sizeof(try->note), "not measured: %s", result.missing);
	return true;
}

static void judge_error(const struct tune *tune, struct try *try)
{
	if (!try->counted) {
		try->figures.fits = false;
		return;
	}
	if (!try->accuracy.known)
		return;
	try->figures.error = try->accuracy.top_error;
	try->figures.fits = try->figures.error <= tune->config->bench.error;
	if (!try->figures.fits)
		snprintf(try->note, sizeof(try->note), "more than --error");
}

/* Copies what an earlier try, which counted the same, has found. */
static bool find_counted(const struct tune *tune, struct try *try)
{
	for (const struct try *other = tune->tries; other < try; other++)
		if (other->counted && is_as_right(other, try)) {
			try->counted = true;
			try->accuracy = other->accuracy;
			return true;
		}
	return false;
}

/* A line that is written over, where people look at it. */
static void show_progress(const char *what, uint32_t done, uint32_t all)
{
	if (isatty(STDERR_FILENO) == 1)
		fprintf(stderr, "\r%s: %u of %u%s", what, done, all, done == all ? "\n" : "");
}

static bool count_all(struct tune *tune)
{
	char error[CONTEST_ERROR_MAX];

	log_notice("counting %" PRIu64 " packets exactly and with every sketch",
		tune->workload->spec.packets);
	for (uint32_t t = 0; t < tune->nb_tries && !signals_stop_requested(); t++) {
		struct try *try = &tune->tries[t];

		plan_try(tune, try);
		if (try->figures.fits) {
			if (!find_counted(tune, try) && !count_traffic(tune, try, error)) {
				log_error("%s", error);
				return false;
			}
			judge_error(tune, try);
		}
		show_progress("counting", t + 1, tune->nb_tries);
	}
	return true;
}

/* --- how fast it is --- */

static bool is_to_run(const struct try *try, bool comparable)
{
	return try->figures.fits && try->figures.comparable == comparable;
}

static uint32_t nb_to_run(const struct tune *tune, bool comparable)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < tune->nb_tries; t++)
		n += is_to_run(&tune->tries[t], comparable);
	return n;
}

static void run_try(struct tune *tune, struct try *try)
{
	char error[OFFER_ERROR_MAX];

	if (pipeline_run(&try->setting, &tune->run, &tune->topology, tune->crew.cpus,
		    tune->crew.nb_cpus, tune->milliseconds, &try->samples[try->rounds], error)) {
		try->rounds++;
		return;
	}
	try->figures.fits = false;
	snprintf(try->note, sizeof(try->note), "failed: %.80s", error);
}

/* Of a try that ran. */
static struct bench_stats pps_of(const struct try *try)
{
	double pps[BENCH_ROUNDS_MAX];

	for (uint32_t r = 0; r < try->rounds; r++)
		pps[r] = try->samples[r].measured_pps;
	return bench_stats_of(pps, try->rounds);
}

/* A round that a signal cut short counts for nobody. */
static void drop_cut_round(struct tune *tune, uint32_t rounds)
{
	for (uint32_t t = 0; t < tune->nb_tries; t++)
		if (tune->tries[t].rounds > rounds)
			tune->tries[t].rounds = rounds;
}

static void run_all(struct tune *tune, bool comparable)
{
	uint32_t runs = nb_to_run(tune, comparable) * tune->rounds, done = 0;

	if (runs == 0)
		return;
	log_notice("running %u configurations %u times for %u ms: about %.0f s",
		nb_to_run(tune, comparable), tune->rounds, tune->milliseconds,
		runs * (tune->milliseconds / 1e3 + RUN_SECONDS));
	for (uint32_t round = 0; round < tune->rounds; round++) {
		for (uint32_t t = 0; t < tune->nb_tries && !signals_stop_requested(); t++)
			if (is_to_run(&tune->tries[t], comparable)) {
				run_try(tune, &tune->tries[t]);
				show_progress("running", ++done, runs);
			}
		if (signals_stop_requested()) {
			drop_cut_round(tune, round);
			break;
		}
	}
	for (uint32_t t = 0; t < tune->nb_tries; t++)
		if (is_to_run(&tune->tries[t], comparable) && tune->tries[t].rounds > 0)
			tune->tries[t].figures.pps = pps_of(&tune->tries[t]).median;
}

static uint32_t choose(const struct tune *tune)
{
	struct tune_figures *figures = calloc(tune->nb_tries + 1, sizeof(*figures));
	uint32_t chosen;

	if (figures == NULL)
		return tune->nb_tries;
	for (uint32_t t = 0; t < tune->nb_tries; t++)
		figures[t] = tune->tries[t].figures;
	chosen = tune_choose(figures, tune->nb_tries);
	free(figures);
	return chosen;
}

/* --- what is said --- */

static const char *sharing_name(const struct pipeline_setting *setting)
{
	return setting->contestant.sharing == SHARING_SHARED ? "shared" : "separate";
}

static void describe_source(const struct config *config, char text[SHEET_CELL_MAX])
{
	if (config->nb_pcap > 0)
		snprintf(text, SHEET_CELL_MAX, "%s%s", config->pcap[0],
			config->nb_pcap > 1 ? " and others" : "");
	else
		snprintf(text, SHEET_CELL_MAX, "%s",
			config->synthetic != NULL ? config->synthetic : TRAFFIC);
}

static void cell_speed(struct sheet *sheet, const struct try *try)
{
	double count[BENCH_ROUNDS_MAX], delay[BENCH_ROUNDS_MAX];
	struct bench_stats stats = pps_of(try);

	for (uint32_t r = 0; r < try->rounds; r++) {
		count[r] = try->samples[r].count_ns;
		delay[r] = try->samples[r].delay_ns;
	}
	sheet_cell(sheet, "rounds", "%u", try->rounds);
	sheet_cell(sheet, "measured_mpps", "%.2f", stats.median / 1e6);
	sheet_cell(sheet, "measured_mpps_min", "%.2f", stats.min / 1e6);
	sheet_cell(sheet, "measured_mpps_max", "%.2f", stats.max / 1e6);
	sheet_cell(sheet, "count_ns", "%.2f", bench_stats_of(count, try->rounds).median);
	sheet_cell(sheet, "delay_ns", "%.2f", bench_stats_of(delay, try->rounds).median);
}

static void cell_note(struct tune *tune, const struct try *try)
{
	struct sheet *sheet = &tune->sheet;

	if (try->note[0] != '\0')
		sheet_cell(sheet, "note", "%s", try->note);
	else if (!try->figures.comparable)
		sheet_cell(sheet, "note", "%s: %u threads poll on %u CPUs",
			try->rounds > 0 ? "not comparable" : "not measured", try->figures.threads,
			tune->crew.nb_cpus);
}

static void print_try(struct tune *tune, const struct try *try)
{
	const struct contestant *contestant = &try->setting.contestant;
	struct sheet *sheet = &tune->sheet;
	char source[SHEET_CELL_MAX];

	describe_source(tune->config, source);
	sheet_cell(sheet, "bench", "tune");
	sheet_cell(sheet, "source", "%s", source);
	sheet_cell(sheet, "design", "%s", try->setting.design);
	sheet_cell(sheet, "sharing", "%s", sharing_name(&try->setting));
	sheet_cell(sheet, "sketch", "%s", contestant->sketch->name);
	sheet_cell(sheet, "atomic", "%s", setup_atomic_name(contestant));
	sheet_cell(sheet, "workers", "%u", try->setting.workers);
	sheet_cell(sheet, "width", "%" PRIu64, contestant->width);
	if (tune->table_chosen) {
		sheet_cell(sheet, "collision", "%s", flow_stores[contestant->collision]->name);
		sheet_cell(sheet, "hash", "%s", table_hash_names[contestant->table_hash]);
	}
	if (try->planned)
		sheet_cell(sheet, "memory_bytes", "%" PRIu64, try->figures.memory);
	if (try->counted && try->accuracy.known) {
		sheet_cell(sheet, "recall", "%.2f", try->accuracy.recall);
		sheet_cell(sheet, "error", "%.6f", try->accuracy.top_error);
	}
	if (try->rounds > 0)
		cell_speed(sheet, try);
	if (try == &tune->tries[tune->chosen])
		sheet_cell(sheet, "chosen", "chosen");
	cell_note(tune, try);
	sheet_row(sheet, &tune->facts);
}

static void print_table(struct tune *tune)
{
	char source[SHEET_CELL_MAX];

	describe_source(tune->config, source);
	sheet_heading(&tune->sheet,
		"%s: %" PRIu64 " keys in %" PRIu64 " packets; %u rounds of %u ms", source,
		tune->workload->distinct, tune->workload->spec.packets, tune->rounds,
		tune->milliseconds);
	for (uint32_t t = 0; t < tune->nb_tries; t++)
		print_try(tune, &tune->tries[t]);
}

static void print_advice(const struct tune *tune, FILE *out)
{
	char source[SHEET_CELL_MAX];

	describe_source(tune->config, source);
	/* --width takes powers of two alone. */
	fprintf(out, "# For %s: 2^%d buckets, %s, %s.\n", source,
		__builtin_ctzll(tune->table.width), flow_stores[tune->table.collision]->name,
		table_hash_names[tune->table.table_hash]);
	if (tune->table.table_hash != TABLE_HASH_AES)
		fprintf(out,
			"# %s has no key: who knows it can aim keys at one bucket. --table-hash "
			"aes tries the keyed hash alone.\n",
			table_hash_names[tune->table.table_hash]);
}

/* The options that make a run of this try, one a line. */
static void print_config(const struct tune *tune, const struct try *try, FILE *out)
{
	const struct contestant *contestant = &try->setting.contestant;

	fprintf(out, "#\n# Chosen: %.2f million packets per second in %.1f MB.\n",
		try->figures.pps / 1e6, (double)try->figures.memory / (1 << 20));
	if (tune->table_chosen)
		print_advice(tune, out);
	fprintf(out, "#   sketchtap --config THIS-FILE --port NAME\n");
	fprintf(out, "design = %s\nworkers = %u\nsharing = %s\n", try->setting.design,
		try->setting.workers, sharing_name(&try->setting));
	if (contestant->sharing == SHARING_SHARED)
		fprintf(out, "atomic = %s\n", setup_atomic_name(contestant));
	fprintf(out, "sketch = %s\nwidth = %" PRIu64 "\ntop = %d\n", contestant->sketch->name,
		contestant->width, WORKLOAD_TOP);
	if (tune->table_chosen)
		fprintf(out, "collision = %s\ntable-hash = %s\n",
			flow_stores[contestant->collision]->name,
			table_hash_names[contestant->table_hash]);
	if (tune->config->lcores != NULL)
		fprintf(out, "lcores = %s\n", tune->config->lcores);
	if (tune->config->no_huge)
		fprintf(out, "no-huge = yes\n");
}

/* The one that comes nearest to the targets; NULL where nothing was tried. */
static const struct try *nearest(const struct tune *tune)
{
	const struct try *best = NULL;

	for (uint32_t t = 0; t < tune->nb_tries; t++) {
		const struct try *try = &tune->tries[t];

		if (!try->planned)
			continue;
		if (best == NULL || (try->counted && !best->counted) ||
			(try->counted == best->counted &&
				(try->counted ? try->figures.error < best->figures.error
					      : try->figures.memory < best->figures.memory)))
			best = try;
	}
	return best;
}

/* Why there is no configuration. */
static void say_nothing_fits(const struct tune *tune)
{
	const struct bench_config *bench = &tune->config->bench;
	const struct try *near = nearest(tune);

	if (signals_stop_requested())
		log_error("ended before every configuration had a round");
	else if (near == NULL)
		log_error("this host cannot run any of the configurations: see the table");
	else if (!near->counted && bench->memory > 0 && near->figures.memory > bench->memory)
		log_error("--memory %" PRIu64 ": the smallest configuration takes %" PRIu64
			  " bytes (%s, width %" PRIu64 ")",
			bench->memory, near->figures.memory, near->setting.contestant.sketch->name,
			near->setting.contestant.width);
	else if (near->counted && near->figures.error > bench->error)
		log_error("--error %g: the smallest error is %.4g (%s, width %" PRIu64
			  "); allow more, or give more --width or --memory",
			bench->error, near->figures.error, near->setting.contestant.sketch->name,
			near->setting.contestant.width);
	else
		log_error("no configuration could be measured: see the table");
}

/* --- all of it --- */

static struct source *open_traffic(const struct config *config, int *status, char *error)
{
	struct synthetic_spec spec;

	*status = 1;
	if (config->nb_pcap > 0)
		return replay_open(config->pcap, config->nb_pcap, error);
	if (!synthetic_parse(
		    config->synthetic != NULL ? config->synthetic : TRAFFIC, &spec, error)) {
		*status = 2;
		return NULL;
	}
	return generate_open(&spec, error);
}

/* Returns 0, or an exit status with one line logged. */
static int read_traffic(struct tune *tune)
{
	uint64_t packets = tune->config->bench.packets;
	struct workload_intake intake;
	char error[SOURCE_ERROR_MAX];
	struct source *source;
	int status;

	source = open_traffic(tune->config, &status, error);
	if (source != NULL) {
		tune->workload = workload_read(source, packets > 0 ? packets : PACKETS,
			tune->config->seed, &intake, error);
		source->close(source);
	}
	if (tune->workload == NULL) {
		log_error("%s", error);
		return status;
	}
	setup_say_intake(&intake);
	return 0;
}

static bool choose_table(struct tune *tune)
{
	char source[SHEET_CELL_MAX];
	const struct tune_table traffic = {
		.config = tune->config,
		.topology = &tune->topology,
		.crew = &tune->crew,
		.workload = tune->workload,
		.rounds = tune->rounds,
		.sheet = &tune->sheet,
		.facts = &tune->facts,
		.source = source,
	};

	describe_source(tune->config, source);
	tune->table_chosen = tune_table_choose(&traffic, &tune->table);
	tune->table_width = (struct config_values){1, {tune->table.width}};
	tune->widths = &tune->table_width;
	return tune->table_chosen;
}

static bool measure(struct tune *tune)
{
	if (tune_table_asked(&tune->config->bench) && !choose_table(tune))
		return false;
	if (!add_tries(tune)) {
		log_error("no memory for the list of configurations");
		return false;
	}
	if (!count_all(tune))
		return false;
	run_all(tune, true);
	tune->chosen = choose(tune);
	if (tune->chosen == tune->nb_tries && !signals_stop_requested()) {
		run_all(tune, false);
		tune->chosen = choose(tune);
	}
	return true;
}

/* What makes the choice doubtful. */
static void warn(const struct try *try)
{
	struct bench_stats pps = pps_of(try);

	if (!try->figures.comparable)
		log_warning("no configuration has a CPU for every thread: what was chosen was "
			    "measured in turns");
	else if (pps.max > UNSTEADY * pps.min)
		log_warning("rounds of the same configuration differ by a factor of %.1f: other "
			    "programs were at work; repeat it on a quiet machine",
			pps.max / pps.min);
}

static int report(struct tune *tune)
{
	print_table(tune);
	if (tune->chosen == tune->nb_tries) {
		say_nothing_fits(tune);
		return 1;
	}
	warn(&tune->tries[tune->chosen]);
	if (tune->sheet.table != NULL)
		print_config(tune, &tune->tries[tune->chosen], tune->sheet.table);
	return 0;
}

static int tune_host(struct tune *tune, int argc, char *const argv[])
{
	int status = sheet_open(&tune->sheet, columns, tune->config), closed;

	if (status != 0)
		return status;
	tune->sheet.prefix = "# ";
	host_facts_read(&tune->facts, argc, argv);
	host_facts_add_memory(&tune->facts);
	sheet_begin(&tune->sheet, &tune->facts);
	status = measure(tune) ? report(tune) : 1;
	closed = sheet_close(&tune->sheet);
	return status != 0 ? status : closed;
}

/* Lcore 0, a receiver, and as many workers as are tried. */
static bool start_eal(const struct tune *tune)
{
	uint32_t workers = (uint32_t)choices_largest(tune->workers);
	size_t heap = HEAP_MEGABYTES;

	if (tune_table_asked(&tune->config->bench))
		heap += (tune_table_heap(tune->config, tune->workload) >> 20) * workers *
			PLAN_GENERATIONS;
	return setup_eal(tune->config, &tune->topology, &tune->crew, 2 + workers, heap);
}

int bench_tune(const struct config *config, int argc, char *const argv[])
{
	static struct tune tune;
	const struct bench_config *bench = &config->bench;
	int status;

	tune.config = config;
	tune.run = *config;
	tune.run.mbuf_cache = MBUF_CACHE;
	tune.rounds = bench->rounds > 0 ? bench->rounds : ROUNDS;
	tune.milliseconds =
		config->duration > 0 ? (uint32_t)(config->duration / 1000000) : MILLISECONDS;
	if (!setup_topology(&tune.topology, config))
		return 1;
	crew_init(&tune.crew, &tune.topology);
	tune.workers = choices_of(&bench->workers, default_workers(&tune.crew));
	tune.widths = choices_of(&bench->widths, &widths_default);
	status = read_traffic(&tune);
	if (status != 0)
		return status;
	status = 1;
	if (start_eal(&tune)) {
		status = tune_host(&tune, argc, argv);
		eal_stop();
	}
	free(tune.tries);
	workload_destroy(tune.workload);
	return status;
}
