/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Finds the fastest configuration within a memory target and an error target. The error of each
 * sketch is counted in memory first; only trials within both targets run as pipelines.
 */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/log.h"
#include "base/signals.h"
#include "tune/tune.h"
#include "tune/measure/bench_pass.h"
#include "tune/measure/cpus.h"
#include "tune/measure/pipeline.h"
#include "tune/measure/setup.h"
#include "tune/measure/figures.h"
#include "tune/tune_choice.h"
#include "parallel/run/eal.h"
#include "parallel/sources/sources.h"
#include "rx/generate/synthetic.h"
#include "tune/measure/bench_options.h"
#include "sketch/measurement.h"
#include "parallel/plan/machine.h"

#define ROUNDS         3
#define MILLISECONDS   100
#define PACKETS        (UINT64_C(4) << 20)
#define TRAFFIC        "flows=1M,zipf=1.05"
#define MBUFS          16384
#define SIZE           64
#define MBUF_CACHE     256
#define HEAP_MEGABYTES 256
/* fastest round / slowest round from which other programs must have interfered */
#define UNSTEADY       2.0
#define RUN_SECONDS    0.1

static const struct option_values widths_default = {5, {4096, 16384, 65536, 262144, 1048576}};

static const struct figures_column columns[] = {
	{.name = "bench"},
	{.name = "source"},
	{"design", "", -6, ""},
	{"sharing", "", -8, ""},
	{"sketch", "", -11, ""},
	{"atomic", "", -4, ""},
	{"workers", "wrk", 3, ""},
	{"width", "width", 8, ""},
	{"memory_bytes", "memory", 11, "bytes"},
	{"recall", "recall", 6, "ratio"},
	{"error", "error", 9, "ratio"},
	{.name = "rounds"},
	{"measured_mpps", "Mpps", 7, ""},
	{"measured_mpps_min", "min", 7, "Mpps"},
	{"measured_mpps_max", "max", 7, "Mpps"},
	{"count_ns", "count", 6, "ns"},
	{"delay_ns", "delay", 6, "ns"},
	{"chosen", "", -6, ""},
	{"note", "", -1, ""},
	{.name = NULL},
};

struct trial {
	struct pipeline_setting setting;
	struct tune_score score;
	bool planned;
	bool counted;
	struct bench_accuracy accuracy;
	uint64_t no_room;
	uint32_t rounds;
	struct pipeline_sample samples[BENCH_ROUNDS_MAX];
	char note[FIGURES_CELL_MAX];
};

struct tune {
	const struct config *config;
	struct config run;
	uint32_t rounds, milliseconds;
	struct topology topology;
	struct cpus cpus;
	struct figures figures;
	const struct option_values *workers, *widths;
	struct workload *workload;
	struct trial *trials;
	uint32_t nb_trials;
	uint32_t chosen;
};

static bool add_trial(struct tune *tune, const struct pipeline_setting *setting)
{
	struct trial *trial, *grown = array_grow(tune->trials, tune->nb_trials, sizeof(*grown));

	if (grown == NULL)
		return false;
	tune->trials = grown;
	trial = &tune->trials[tune->nb_trials++];
	*trial = (struct trial){.setting = *setting};
	trial->score.threads = pipeline_threads(setting);
	trial->score.comparable = trial->score.threads <= tune->cpus.n;
	return true;
}

static bool add_subject(struct tune *tune, const struct bench_subject *subject)
{
	uint32_t chosen = bench_options(tune->config)->designs;

	for (uint32_t d = 0; designs[d] != NULL; d++)
		for (uint32_t n = 0; n < tune->workers->n; n++)
			for (uint32_t w = 0; w < tune->widths->n; w++) {
				struct sketch_params shape = {.width = tune->widths->values[w]};
				struct pipeline_setting setting = {
					.design = designs[d]->name,
					.subject = *subject,
					.workers = (uint32_t)tune->workers->values[n],
					.mbufs = MBUFS,
					.size = SIZE,
					.workload = tune->workload,
				};

				setting.subject.width = shape.width;
				setting.subject.threads = setting.workers;
				if (!choices_has(chosen, d) ||
					subject->sketch->check(&shape) != NULL)
					continue;
				if (!add_trial(tune, &setting))
					return false;
			}
	return true;
}

static bool add_trials(struct tune *tune)
{
	static const struct option_values one = {1, {1}};
	struct bench_subject subjects[OPTION_VALUES_MAX * 4];
	uint32_t n = choices_subjects(
		bench_options(tune->config), &one, subjects, OPTION_VALUES_MAX * 4);
	for (uint32_t c = 0; c < n; c++) {
		if (!add_subject(tune, &subjects[c]))
			return false;
	}
	return true;
}

/*
 * The smallest table has half as many buckets as there are keys. A smaller one has no room for all.
 */
static const struct option_values *widths_of_keys(uint64_t keys)
{
	static struct option_values widths = {.n = 4};
	uint64_t width = 16;

	while (2 * width < keys)
		width *= 2;
	for (uint32_t i = 0; i < widths.n; i++)
		widths.values[i] = width << i;
	return &widths;
}

static const struct option_values *default_widths(const struct tune *tune)
{
	uint32_t chosen = bench_options(tune->config)->sketches;

	for (uint32_t s = 0; sketches[s] != NULL; s++)
		if (chosen == 1u << s && (sketches[s]->caps & SKETCH_RECORDS) != 0)
			return widths_of_keys(tune->workload->distinct);
	return &widths_default;
}

static const struct option_values *default_workers(const struct cpus *cpus)
{
	static struct option_values workers;

	for (uint64_t n = 1; n <= cpus->n && n <= LOAD_GENERATOR_QUEUES_MAX; n *= 2)
		workers.values[workers.n++] = n;
	return &workers;
}

static void plan_trial(struct tune *tune, struct trial *trial)
{
	static struct config config;
	static struct plan plan;
	char error[LOAD_GENERATOR_ERROR_MAX];
	uint64_t limit = bench_options(tune->config)->memory;

	if (!pipeline_plan(
		    &trial->setting, &tune->run, &tune->topology, "tune", &config, &plan, error)) {
		snprintf(trial->note, sizeof(trial->note), "not possible: %.80s", error);
		return;
	}
	trial->planned = true;
	trial->score.memory = plan.packet_bytes + plan.sketch_bytes;
	trial->score.fits = limit == 0 || trial->score.memory <= limit;
	if (!trial->score.fits)
		snprintf(trial->note, sizeof(trial->note), "more than --memory");
}

/* With one worker, sharing does not change the accuracy. */
static bool has_equal_accuracy(const struct trial *a, const struct trial *b)
{
	return a->setting.subject.sketch == b->setting.subject.sketch &&
	       a->setting.subject.width == b->setting.subject.width &&
	       a->setting.workers == b->setting.workers &&
	       (a->setting.workers == 1 ||
		       a->setting.subject.sharing == b->setting.subject.sharing);
}

static bool count_traffic(struct tune *tune, struct trial *trial, char *error)
{
	const struct bench_rounds setup = {
		.workload = tune->workload, .seed = seed_options(tune->config)->seed};
	struct bench_pass pass;

	if (!bench_pass_run(&setup, &tune->cpus, &trial->setting.subject, true, &pass, error))
		return false;
	trial->counted = pass.missing == NULL;
	trial->accuracy = pass.accuracy;
	trial->no_room = pass.no_room;
	if (!trial->counted)
		snprintf(trial->note, sizeof(trial->note), "not measured: %s", pass.missing);
	return true;
}

static void judge_error(const struct tune *tune, struct trial *trial)
{
	if (!trial->counted) {
		trial->score.fits = false;
		return;
	}
	if (trial->no_room > 0) {
		trial->score.fits = false;
		snprintf(trial->note, sizeof(trial->note), "has no room for every key");
		return;
	}
	if (!trial->accuracy.known)
		return;
	trial->score.error = trial->accuracy.top_error;
	trial->score.fits = trial->score.error <= bench_options(tune->config)->error;
	if (!trial->score.fits)
		snprintf(trial->note, sizeof(trial->note), "more than --error");
}

/* Copies the accuracy from an earlier trial of equal accuracy, if there is one. */
static bool find_counted(const struct tune *tune, struct trial *trial)
{
	for (const struct trial *other = tune->trials; other < trial; other++)
		if (other->counted && has_equal_accuracy(other, trial)) {
			trial->counted = true;
			trial->accuracy = other->accuracy;
			trial->no_room = other->no_room;
			return true;
		}
	return false;
}

static void show_progress(const char *what, uint32_t done, uint32_t all)
{
	if (isatty(STDERR_FILENO) == 1)
		fprintf(stderr, "\r%s: %u of %u%s", what, done, all, done == all ? "\n" : "");
}

static bool count_all(struct tune *tune)
{
	char error[BENCH_PASS_ERROR_MAX];

	log_notice("counting %" PRIu64 " packets exactly and with every sketch",
		tune->workload->spec.packets);
	for (uint32_t t = 0; t < tune->nb_trials && !signals_stop_requested(); t++) {
		struct trial *trial = &tune->trials[t];

		plan_trial(tune, trial);
		if (trial->score.fits) {
			if (!find_counted(tune, trial) && !count_traffic(tune, trial, error)) {
				log_error("%s", error);
				return false;
			}
			judge_error(tune, trial);
		}
		show_progress("counting", t + 1, tune->nb_trials);
	}
	return true;
}

static bool must_run(const struct trial *trial, bool comparable)
{
	return trial->score.fits && trial->score.comparable == comparable;
}

static uint32_t nb_to_run(const struct tune *tune, bool comparable)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < tune->nb_trials; t++)
		n += must_run(&tune->trials[t], comparable);
	return n;
}

static void run_trial(struct tune *tune, struct trial *trial)
{
	char error[LOAD_GENERATOR_ERROR_MAX];

	if (pipeline_run(&trial->setting, &tune->run, &tune->topology, tune->cpus.ids, tune->cpus.n,
		    tune->milliseconds, &trial->samples[trial->rounds], error)) {
		trial->rounds++;
		return;
	}
	trial->score.fits = false;
	snprintf(trial->note, sizeof(trial->note), "failed: %.80s", error);
}

#define STATS(trial, member) BENCH_STATS((trial)->samples, member, (trial)->rounds)

static void drop_interrupted_round(struct tune *tune, uint32_t rounds)
{
	for (uint32_t t = 0; t < tune->nb_trials; t++)
		if (tune->trials[t].rounds > rounds)
			tune->trials[t].rounds = rounds;
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
		for (uint32_t t = 0; t < tune->nb_trials && !signals_stop_requested(); t++)
			if (must_run(&tune->trials[t], comparable)) {
				run_trial(tune, &tune->trials[t]);
				show_progress("running", ++done, runs);
			}
		if (signals_stop_requested()) {
			drop_interrupted_round(tune, round);
			break;
		}
	}
	for (uint32_t t = 0; t < tune->nb_trials; t++)
		if (must_run(&tune->trials[t], comparable) && tune->trials[t].rounds > 0)
			tune->trials[t].score.pps = STATS(&tune->trials[t], measured_pps).median;
}

static uint32_t choose(const struct tune *tune)
{
	struct tune_score *scores = calloc(tune->nb_trials + 1, sizeof(*scores));
	uint32_t chosen;

	if (scores == NULL)
		return tune->nb_trials;
	for (uint32_t t = 0; t < tune->nb_trials; t++)
		scores[t] = tune->trials[t].score;
	chosen = tune_choose(scores, tune->nb_trials);
	free(scores);
	return chosen;
}

static void describe_source(const struct config *config, char text[FIGURES_CELL_MAX])
{
	if (replay_options(config)->pcap.n > 0)
		snprintf(text, FIGURES_CELL_MAX, "%s%s", replay_options(config)->pcap.texts[0],
			replay_options(config)->pcap.n > 1 ? " and others" : "");
	else
		snprintf(text, FIGURES_CELL_MAX, "%s",
			synthetic_options(config)->spec != NULL ? synthetic_options(config)->spec
								: TRAFFIC);
}

static void cell_speed(struct figures *figures, const struct trial *trial)
{
	struct bench_stats stats = STATS(trial, measured_pps);

	figures_cell(figures, "rounds", "%u", trial->rounds);
	figures_cell(figures, "measured_mpps", "%.2f", stats.median / 1e6);
	figures_cell(figures, "measured_mpps_min", "%.2f", stats.min / 1e6);
	figures_cell(figures, "measured_mpps_max", "%.2f", stats.max / 1e6);
	figures_cell(figures, "count_ns", "%.2f", STATS(trial, count_ns).median);
	figures_cell(figures, "delay_ns", "%.2f", STATS(trial, delay_ns).median);
}

static void cell_note(struct tune *tune, const struct trial *trial)
{
	struct figures *figures = &tune->figures;

	if (trial->note[0] != '\0')
		figures_cell(figures, "note", "%s", trial->note);
	else if (!trial->score.comparable)
		figures_cell(figures, "note", "%s: %u threads poll on %u CPUs",
			trial->rounds > 0 ? "not comparable" : "not measured", trial->score.threads,
			tune->cpus.n);
}

static void print_trial(struct tune *tune, const struct trial *trial)
{
	const struct bench_subject *subject = &trial->setting.subject;
	struct figures *figures = &tune->figures;
	char source[FIGURES_CELL_MAX];

	describe_source(tune->config, source);
	figures_cell(figures, "bench", "tune");
	figures_cell(figures, "source", "%s", source);
	figures_cell(figures, "design", "%s", trial->setting.design);
	figures_cell(figures, "sharing", "%s", plan_sharing_word(trial->setting.subject.sharing));
	figures_cell(figures, "sketch", "%s", subject->sketch->name);
	figures_cell(figures, "atomic", "%s", setup_atomic_name(subject));
	figures_cell(figures, "workers", "%u", trial->setting.workers);
	figures_cell(figures, "width", "%" PRIu64, subject->width);
	if (trial->planned)
		figures_cell(figures, "memory_bytes", "%" PRIu64, trial->score.memory);
	if (trial->counted && trial->accuracy.known) {
		figures_cell(figures, "recall", "%.2f", trial->accuracy.recall);
		figures_cell(figures, "error", "%.6f", trial->accuracy.top_error);
	}
	if (trial->rounds > 0)
		cell_speed(figures, trial);
	if (trial == &tune->trials[tune->chosen])
		figures_cell(figures, "chosen", "chosen");
	cell_note(tune, trial);
	figures_row(figures);
}

static void print_table(struct tune *tune)
{
	char source[FIGURES_CELL_MAX];

	describe_source(tune->config, source);
	figures_heading(&tune->figures,
		"%s: %" PRIu64 " keys in %" PRIu64 " packets; %u rounds of %u ms", source,
		tune->workload->distinct, tune->workload->spec.packets, tune->rounds,
		tune->milliseconds);
	for (uint32_t t = 0; t < tune->nb_trials; t++)
		print_trial(tune, &tune->trials[t]);
}

static void print_config(const struct tune *tune, const struct trial *trial, FILE *out)
{
	const struct bench_subject *subject = &trial->setting.subject;

	fprintf(out, "#\n# Chosen: %.2f million packets per second in %.1f MB.\n",
		trial->score.pps / 1e6, (double)trial->score.memory / (1 << 20));
	fprintf(out, "#   sketchtap --config THIS-FILE --port NAME\n");
	fprintf(out, "design = %s\nworkers = %u\nsharing = %s%s%s\n", trial->setting.design,
		trial->setting.workers, plan_sharing_word(subject->sharing),
		subject->sharing == SHARING_SHARED ? ":" : "",
		subject->sharing == SHARING_SHARED ? setup_atomic_name(subject) : "");
	fprintf(out, "sketch = %s\nwidth = %" PRIu64 "\ntop = %d\n", subject->sketch->name,
		subject->width, WORKLOAD_TOP);
	if (machine_options(tune->config)->lcores != NULL)
		fprintf(out, "lcores = %s\n", machine_options(tune->config)->lcores);
	if (hugepages_options(tune->config)->no_huge)
		fprintf(out, "no-huge = yes\n");
}

static const struct trial *nearest(const struct tune *tune)
{
	const struct trial *best = NULL;

	for (uint32_t t = 0; t < tune->nb_trials; t++) {
		const struct trial *trial = &tune->trials[t];

		if (!trial->planned)
			continue;
		if (best == NULL || (trial->counted && !best->counted) ||
			(trial->counted == best->counted &&
				(trial->counted ? trial->score.error < best->score.error
						: trial->score.memory < best->score.memory)))
			best = trial;
	}
	return best;
}

static void log_nothing_fits(const struct tune *tune)
{
	const struct bench_options *bench = bench_options(tune->config);
	const struct trial *near = nearest(tune);

	if (signals_stop_requested())
		log_error("stopped before each configuration was measured once");
	else if (near == NULL)
		log_error("no configuration can run on this host; see the table");
	else if (!near->counted && bench->memory > 0 && near->score.memory > bench->memory)
		log_error("--memory %" PRIu64 ": the smallest configuration takes %" PRIu64
			  " bytes (%s, width %" PRIu64 ")",
			bench->memory, near->score.memory, near->setting.subject.sketch->name,
			near->setting.subject.width);
	else if (near->no_room > 0)
		log_error("no table has room for all keys; give more --width or "
			  "--memory");
	else if (near->counted && near->score.error > bench->error)
		log_error("--error %g: the smallest error is %.4g (%s, width %" PRIu64
			  "); allow more, or give more --width or --memory",
			bench->error, near->score.error, near->setting.subject.sketch->name,
			near->setting.subject.width);
	else
		log_error("no configuration could be measured; see the table");
}

static int open_traffic(const struct config *config, struct source **source, char *error)
{
	struct synthetic_spec spec;
	int status = sources_open(config, source, error);

	if (status != 0 || *source != NULL)
		return status;
	synthetic_parse(TRAFFIC, &spec, error);
	*source = generate_open(&spec, error);
	return *source != NULL ? 0 : 1;
}

static int read_traffic(struct tune *tune)
{
	uint64_t packets = bench_options(tune->config)->packets;
	struct workload_intake intake;
	char error[SOURCE_ERROR_MAX], warning[SOURCE_ERROR_MAX];
	struct source *source;
	int status = open_traffic(tune->config, &source, error);

	if (source != NULL) {
		tune->workload = workload_read(source, packets > 0 ? packets : PACKETS,
			seed_options(tune->config)->seed, &intake, error);
		for (unsigned int i = 0; source_warning(source, i, warning); i++)
			log_warning("%s", warning);
		source->close(source);
	}
	if (tune->workload == NULL) {
		log_error("%s", error);
		return status != 0 ? status : 1;
	}
	setup_say_intake(&intake);
	return 0;
}

static bool measure(struct tune *tune)
{
	if (!add_trials(tune)) {
		log_error("out of memory for the list of configurations");
		return false;
	}
	if (!count_all(tune))
		return false;
	run_all(tune, true);
	tune->chosen = choose(tune);
	if (tune->chosen == tune->nb_trials && !signals_stop_requested()) {
		run_all(tune, false);
		tune->chosen = choose(tune);
	}
	return true;
}

static void warn(const struct trial *trial)
{
	struct bench_stats pps = STATS(trial, measured_pps);

	if (!trial->score.comparable)
		log_warning("no configuration has a CPU for every thread: the choice was measured "
			    "with threads that share CPUs");
	else if (pps.max > UNSTEADY * pps.min)
		log_warning("rounds of the same configuration differ by a factor of %.1f: other "
			    "programs interfered; repeat it on an idle machine",
			pps.max / pps.min);
}

static bool report(struct tune *tune)
{
	print_table(tune);
	if (tune->chosen == tune->nb_trials) {
		log_nothing_fits(tune);
		return false;
	}
	warn(&tune->trials[tune->chosen]);
	if (tune->figures.table != NULL)
		print_config(tune, &tune->trials[tune->chosen], tune->figures.table);
	return true;
}

static bool measure_and_report(void *arg)
{
	struct tune *tune = arg;

	return measure(tune) && report(tune);
}

static bool start_eal(const struct tune *tune)
{
	uint32_t workers = (uint32_t)choices_largest(tune->workers);

	return setup_eal(tune->config, &tune->topology, &tune->cpus, 2 + workers, HEAP_MEGABYTES);
}

int tune_run(struct config *config)
{
	static struct tune tune;
	const struct bench_options *bench = bench_options(config);
	int status;

	tune.config = config;
	tune.run = *config;
	edit_plan_options(&tune.run)->mbuf_cache = MBUF_CACHE;
	tune.rounds = bench->rounds > 0 ? bench->rounds : ROUNDS;
	tune.milliseconds = bench_options(config)->duration > 0
				    ? (uint32_t)(bench_options(config)->duration / 1000000)
				    : MILLISECONDS;
	if (!setup_topology(&tune.topology, config))
		return 1;
	cpus_init(&tune.cpus, &tune.topology);
	tune.workers = choices_of(&bench->workers, default_workers(&tune.cpus));
	status = read_traffic(&tune);
	if (status != 0)
		return status;
	tune.widths = choices_of(&bench->widths, default_widths(&tune));
	status = 1;
	if (start_eal(&tune)) {
		tune.figures.prefix = "# ";
		status = figures_write(&tune.figures, columns, config, measure_and_report, &tune);
		eal_stop();
	}
	free(tune.trials);
	workload_destroy(tune.workload);
	return status;
}

static const struct option_row tune_rows[] = {
	BENCH_ROW_SKETCH,
	{
		.name = "design",
		.placeholder = "DESIGN,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = design_word,
		OPTION_FIELD(bench_options, designs),
		.default_note = "all",
		.help = "Compare these designs: rss, async, sync.",
	},
	BENCH_ROW_SHARING,
	BENCH_ROW_ATOMIC(plan_atomic_word, "Compare these atomic operations: cas, add."),
	{
		.name = "workers",
		.placeholder = "N,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_COUNTS,
		OPTION_FIELD(bench_options, workers),
		.min = 1,
		.max = 16,
		.default_note = "1,2,4,8,16, up to the number of CPUs",
		.help = "Compare these numbers of workers. Each worker, the generator and the "
			"receiver need a CPU. Configurations with too few CPUs are marked, and "
			"measured only if there are no others.",
	},
	BENCH_ROW_WIDTH("4K,16K,64K,256K,1M",
		"Compare these widths, in counters per row or buckets. Each is a power of two."),
	{
		.name = "memory",
		.placeholder = "SIZE",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_SIZE,
		OPTION_FIELD(bench_options, memory),
		.min = 1,
		.max = UINT64_MAX,
		.default_note = "any",
		.help = "Limit the memory of a run on one port, as sketchtap plan calculates it.",
	},
	{
		.name = "error",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_FRACTION,
		OPTION_FIELD(bench_options, error),
		.zero = true,
		.default_text = "0.01",
		.help = "Limit the mean relative error of the 100 largest keys. A key that is not "
			"reported has an error of 1.",
	},
	BENCH_ROW_PACKETS(64, "4M",
		"Use at most N packets of the traffic. They represent one interval of a run: more "
		"packets need a larger sketch."),
	{
		.name = "rounds",
		.placeholder = "N",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_COUNT,
		.config_only = true,
		OPTION_FIELD(bench_options, rounds),
		.min = 1,
		.max = 101,
		.default_note = "3",
		.help = "Measure each configuration N times, in turns.",
	},
	BENCH_ROW_DURATION("100ms", "Run each configuration for TIME in each round."),
	{0},
};

const struct option_owner tune_owner = {
	.rows = tune_rows,
	.fills = &bench_owner,
	.check = bench_check_widths,
};
