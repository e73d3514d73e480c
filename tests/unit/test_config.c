/* SPDX-License-Identifier: BSD-3-Clause */

/* Command line and configuration file: their combined meaning, and error messages. */

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "bench/common.h"
#include "commands/commands.h"
#include "config/config.h"
#include "config/options.h"
#include "parallel/run/eal.h"
#include "parallel/epoch.h"
#include "parallel/sources/feeder.h"
#include "parallel/shed/shed_options.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "tester/tester.h"
#include "report/formats/progress.h"
#include "report/sinks/writer.h"
#include "rx/source.h"
#include "rx/generate/synthetic.h"
#include "rx/filter/prefix_file.h"
#include "rx/port/port_name.h"
#include "sketch/measurement.h"
#include "tune/measure/bench_options.h"

#define EXPORTS_MAX   32
#define ARGUMENTS_MAX 600
#define SECOND        UINT64_C(1000000000)

/* Result and output of one call of config_load(). */
struct attempt {
	struct config config;
	enum config_result result;
	char *out, *err;
};

/* "bench NAME ..." is for sketchtap-bench, if it has such a command. */
static enum config_result load_program(
	struct config *config, int argc, char *const argv[], FILE *out, FILE *err)
{
	const struct command *const *command = bench_program.commands;

	while (*command != NULL && (argc < 3 || strcmp(argv[1], "bench") != 0 ||
					   strcmp(argv[2], (*command)->name) != 0))
		command++;
	return *command != NULL ? config_load(config, &bench_program, argc - 1, argv + 1, out, err)
				: config_load(config, &commands, argc, argv, out, err);
}

static void attempt(struct attempt *attempt, int argc, char *const argv[])
{
	size_t out_size, err_size;
	FILE *out = open_memstream(&attempt->out, &out_size);
	FILE *err = open_memstream(&attempt->err, &err_size);

	assert_non_null(out);
	assert_non_null(err);
	attempt->result = load_program(&attempt->config, argc, argv, out, err);
	fclose(out);
	fclose(err);
}

static void attempt_free(struct attempt *attempt)
{
	if (attempt->result == CONFIG_OK)
		config_free(&attempt->config);
	free(attempt->out);
	free(attempt->err);
}

/* Splits `line` at single spaces and puts "sketchtap" first. Modifies `line`. */
static int split(char *line, char **argv)
{
	int argc = 1;
	static char name[] = "sketchtap";

	argv[0] = name;
	for (char *word = line; word != NULL && *line != '\0';) {
		assert_true(argc < ARGUMENTS_MAX - 1);
		argv[argc++] = strsep(&word, " ");
	}
	argv[argc] = NULL;
	return argc;
}

/*
 * Strings of the configuration point into the returned arguments: free them after the
 * configuration.
 */
static char *load(struct attempt *result, const char *line)
{
	char *words = strdup(line);
	char *argv[ARGUMENTS_MAX];
	int argc;

	assert_non_null(words);
	argc = split(words, argv);
	attempt(result, argc, argv);
	return words;
}

static void assert_destination(const struct config *config, enum row_kind kind, const char *text)
{
	assert_int_equal(writer_options(config)->rows[kind].n, 1);
	assert_string_equal(writer_options(config)->rows[kind].texts[0], text);
}

static void assert_one_line(const char *err)
{
	const char *end = strchr(err, '\n');

	assert_true(strncmp(err, "sketchtap: ", strlen("sketchtap: ")) == 0 ||
		    strncmp(err, "sketchtap-bench: ", strlen("sketchtap-bench: ")) == 0);
	assert_non_null(end);
	assert_int_equal(end[1], '\0');
}

/* Asserts the result, and one line on err that begins with the program's name and `start`. */
static void assert_refused(
	const char *line, enum config_result expected, const char *start, const char *has)
{
	struct attempt result;
	char *words = load(&result, line);

	if (result.result != expected)
		fail_msg("'%s' gave %d: %s", line, (int)result.result, result.err);
	assert_one_line(result.err);
	assert_string_equal(result.out, "");
	if (strncmp(strstr(result.err, ": ") + strlen(": "), start, strlen(start)) != 0 ||
		strstr(result.err, has) == NULL)
		fail_msg("'%s' wrote: %s", line, result.err);
	attempt_free(&result);
	free(words);
}

struct refusal {
	const char *line;  /* arguments */
	const char *start; /* start of the message: names the option */
	const char *has;   /* part of the message: names the value or the remedy */
};

static void assert_all_refused(const struct refusal *rows, size_t nb_rows)
{
	for (size_t i = 0; i < nb_rows; i++)
		assert_refused(rows[i].line, CONFIG_EXIT_2, rows[i].start, rows[i].has);
}

#define ALL_REFUSED(rows) assert_all_refused(rows, sizeof(rows) / sizeof((rows)[0]))

static void assert_taken(const char *line)
{
	struct attempt result;
	char *words = load(&result, line);

	if (result.result != CONFIG_OK)
		fail_msg("'%s' gave %d: %s", line, (int)result.result, result.err);
	assert_string_equal(result.err, "");
	assert_string_equal(result.out, "");
	attempt_free(&result);
	free(words);
}

static void defaults_are_those_documented(void **state)
{
	struct attempt result;
	const struct config *config = &result.config;
	const struct measurement_config *measurement = &config->measurements[0];
	char *words = load(&result, "--pcap a.pcap");

	(void)state;
	assert_int_equal(result.result, CONFIG_OK);
	assert_string_equal(config->command->name, "run");
	assert_int_equal(replay_options(config)->pcap.n, 1);
	assert_string_equal(replay_options(config)->pcap.texts[0], "a.pcap");
	assert_int_equal(port_options(config)->names.n, 0);
	assert_null(synthetic_options(config)->spec);
	assert_int_equal(feeder_options(config)->pace, PACE_UNPACED);
	assert_int_equal(feeder_options(config)->duration, 0);
	assert_int_equal(feeder_options(config)->packets, 0);
	assert_string_equal(design_word(design_options(config)->design), "rss");
	assert_int_equal(plan_options(config)->sharing, SHARING_SEPARATE);
	assert_int_equal(plan_options(config)->workers, 0);
	assert_false(seed_options(config)->given);
	assert_int_equal(epoch_options(config)->interval, SECOND);
	assert_destination(config, ROWS_HEAVY_HITTERS, "-");
	assert_int_equal(writer_options(config)->rows[ROWS_STATS].n, 0);
	assert_int_equal(writer_options(config)->format, FORMAT_AUTO);
	assert_false(writer_options(config)->append || writer_options(config)->force ||
		     progress_options(config)->none);
	assert_null(eal_options(config)->arguments);
	assert_null(machine_options(config)->lcores);
	assert_int_equal(port_options(config)->descriptors, 0);
	assert_int_equal(pool_options(config)->mbufs, 0);
	assert_false(hugepages_options(config)->no_huge || log_options(config)->verbose);
	assert_int_equal(plan_options(config)->idle, IDLE_AUTO);
	assert_int_equal(config->nb_measurements, 1);
	assert_string_equal(measurement->name, "main");
	assert_string_equal(measurement_options(measurement)->key.name, "5tuple");
	assert_int_equal(measurement_options(measurement)->count, SKETCH_PACKETS);
	assert_string_equal(sketches[measurement_options(measurement)->sketch]->name, "count-min");
	assert_int_equal(measurement_options(measurement)->depth, 0);
	assert_int_equal(measurement_options(measurement)->width, 0);
	assert_int_equal(measurement_options(measurement)->memory, 0);
	assert_int_equal(measurement_options(measurement)->top, 100);
	assert_true(measurement_options(measurement)->threshold <= 0);
	assert_true(measurement_options(measurement)->confidence > 0.9989 &&
		    measurement_options(measurement)->confidence < 0.9991);
	attempt_free(&result);
	free(words);
}

static void every_option_lands_in_its_field(void **state)
{
	struct attempt result;
	const struct config *config = &result.config;
	const struct measurement_config *measurement = &config->measurements[0];
	char *words = load(&result,
		"run --pcap a --pcap=b --pace 2Mpps --duration 5m --packets 7M --design rss "
		"--sharing separate --workers 3 --seed 0xFFFFffffFFFFffff --sketch cms --key "
		"src-dst --count bytes --depth 5 --width 65536 --top 7 --threshold 5% --confidence "
		"0.9 --interval 500ms --output o.csv --stats s.csv --format table --append --eal "
		"--x=1 --lcores 0-3,6 --descriptors 512 --mbufs 8192 --no-huge --idle yield "
		"--no-progress --verbose");

	(void)state;
	assert_string_equal(result.err, "");
	assert_int_equal(result.result, CONFIG_OK);
	assert_int_equal(replay_options(config)->pcap.n, 2);
	assert_string_equal(replay_options(config)->pcap.texts[0], "a");
	assert_string_equal(replay_options(config)->pcap.texts[1], "b");
	assert_int_equal(feeder_options(config)->pace, PACE_RATE);
	assert_int_equal(feeder_options(config)->pace_rate, 2000000);
	assert_int_equal(feeder_options(config)->duration, 300 * SECOND);
	assert_int_equal(feeder_options(config)->packets, 7000000);
	assert_int_equal(plan_options(config)->workers, 3);
	assert_true(seed_options(config)->given);
	assert_true(seed_options(config)->seed == UINT64_MAX);
	assert_string_equal(sketches[measurement_options(measurement)->sketch]->name, "count-min");
	assert_string_equal(measurement_options(measurement)->key.name, "src-dst");
	assert_int_equal(measurement_options(measurement)->count, SKETCH_BYTES);
	assert_int_equal(measurement_options(measurement)->depth, 5);
	assert_int_equal(measurement_options(measurement)->width, 65536);
	assert_int_equal(measurement_options(measurement)->top, 7);
	assert_true(measurement_options(measurement)->threshold > 0.0499 &&
		    measurement_options(measurement)->threshold < 0.0501);
	assert_true(measurement_options(measurement)->confidence > 0.8999 &&
		    measurement_options(measurement)->confidence < 0.9001);
	assert_int_equal(epoch_options(config)->interval, SECOND / 2);
	assert_destination(config, ROWS_HEAVY_HITTERS, "o.csv");
	assert_destination(config, ROWS_STATS, "s.csv");
	assert_int_equal(writer_options(config)->format, FORMAT_TABLE);
	assert_true(writer_options(config)->append);
	assert_false(writer_options(config)->force);
	assert_string_equal(eal_options(config)->arguments, "--x=1");
	assert_string_equal(machine_options(config)->lcores, "0-3,6");
	assert_int_equal(port_options(config)->descriptors, 512);
	assert_int_equal(pool_options(config)->mbufs, 8192);
	assert_true(hugepages_options(config)->no_huge && progress_options(config)->none &&
		    log_options(config)->verbose);
	assert_int_equal(plan_options(config)->idle, IDLE_YIELD);
	attempt_free(&result);
	free(words);
}

/* Like load(), with a terminal as standard output. Returns false if there is no terminal. */
static bool load_at_terminal(struct attempt *result, const char *line, char **words)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave = -1;
	char *argv[ARGUMENTS_MAX];
	FILE *out;

	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0)
		slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0)
		return false;
	out = fdopen(slave, "w");
	*words = strdup(line);
	*result = (struct attempt){0};
	result->result = load_program(&result->config, split(*words, argv), argv, out, stderr);
	fclose(out);
	close(master);
	return true;
}

/* By default, a capture on a terminal is summed up once with 20 rows; files are unchanged. */
static void a_terminal_shows_a_capture_once(void **state)
{
	static const struct {
		const char *line;
		uint64_t interval;
		uint32_t top;
	} rows[] = {
		{"--pcap a", 0, 20},
		{"--synthetic packets=5", 0, 20},
		{"--pcap a --format table", 0, 20},
		{"--pcap a --interval 1s", SECOND, 20},
		{"--pcap a --top 100", 0, 100},
		{"--pcap a --threshold 1%", 0, 100},
		{"--pcap a --stats s.csv", SECOND, 20},
		{"--pcap a --output o.csv", SECOND, 100},
		{"--pcap a --output o.csv --format table", SECOND, 100},
		{"--pcap a --format csv", SECOND, 100},
		{"--pcap a --keep-up best --deadline 5s", SECOND, 20},
		{"--pcap a --sketch iblt --iblt-load 0.5", SECOND, 20},
		{"--port a", SECOND, 100},
		{"plan --pcap a", SECOND, 100},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = NULL;

		if (!load_at_terminal(&result, rows[i].line, &words)) {
			print_message("no pseudo terminal: skipped\n");
			skip();
		}
		assert_int_equal(result.result, CONFIG_OK);
		if (epoch_options(&result.config)->interval != rows[i].interval ||
			measurement_options(&result.config.measurements[0])->top != rows[i].top)
			fail_msg("%s: interval %llu, top %u", rows[i].line,
				(unsigned long long)epoch_options(&result.config)->interval,
				measurement_options(&result.config.measurements[0])->top);
		attempt_free(&result);
		free(words);
	}
}

static void commands_are_told_apart(void **state)
{
	static const struct {
		const char *line;
		const char *command;
	} rows[] = {
		{"--pcap a", "run"},
		{"run --pcap a", "run"},
		{"plan --port net_null0", "plan"},
		{"generate --synthetic packets=5 --output -", "generate"},
		{"generate --synthetic packets=5 --port net_null0 --pace 1Mpps --packets 9",
			"generate"},
		{"bench kernels", "kernels"},
		{"bench kernels --quick", "kernels"},
		{"bench worker --sharing shared", "worker"},
		{"bench parts --quick --rounds 1", "parts"},
		{"bench pipeline --experiment width,flows --pace 5Mpps", "pipeline"},
		{"bench all figures --which parts,paper --quick --force", "all"},
		{"bench paper --workers 1,6 --zipf random --rounds 1", "paper"},
		{"tune --pcap a --memory 64MB --error 0.02 --design async --workers 1,2", "tune"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = load(&result, rows[i].line);

		assert_string_equal(result.err, "");
		assert_int_equal(result.result, CONFIG_OK);
		assert_string_equal(result.config.command->name, rows[i].command);
		assert_int_equal(result.config.nb_measurements,
			strcmp(rows[i].command, "run") == 0 || strcmp(rows[i].command, "plan") == 0
				? 1
				: 0);
		attempt_free(&result);
		free(words);
	}
}

static void assert_values(const struct option_values *values, const uint64_t *expected, uint32_t n)
{
	assert_int_equal(values->n, n);
	assert_memory_equal(values->values, expected, n * sizeof(expected[0]));
}

static void lists_land_in_their_fields(void **state)
{
	static const uint64_t flows[] = {1000, 20000000}, widths[] = {16, 65536},
			      zipf[] = {0, 1050000, BENCH_ZIPF_RANDOM, 10000000}, threads[] = {64};
	struct attempt result;
	char *words = load(&result,
		"bench kernels --sketch rs,cms --sharing shared --atomic lock,cas --threads 64 "
		"--flows 9 --flows 1K,20M --width 16,64K --zipf uniform,1.05,random,10 --rounds "
		"101 --packets 8K");
	const struct bench_options *bench = bench_options(&result.config);
	uint32_t sketch_set = 0;

	(void)state;
	assert_string_equal(result.err, "");
	for (uint32_t i = 0; sketches[i] != NULL; i++)
		if (strcmp(sketches[i]->name, "simple-hash") != 0 &&
			(strcmp(sketches[i]->alias, "rs") == 0 ||
				strcmp(sketches[i]->alias, "cms") == 0))
			sketch_set |= 1u << i;
	assert_int_equal(bench->sketches, sketch_set);
	assert_int_equal(bench->sharings, 1u << SHARING_SHARED);
	assert_int_equal(bench->atomics, 1u << ATOMIC_CAS | 1u << 2);
	assert_values(&bench->flows, flows, 2); /* the last one applies */
	assert_values(&bench->widths, widths, 2);
	assert_values(&bench->zipf, zipf, 4);
	assert_values(&bench->threads, threads, 1);
	assert_int_equal(bench->rounds, 101);
	assert_int_equal(bench->packets, 8000);
	assert_false(bench->quick);
	attempt_free(&result);
	free(words);
}

/* A list whose elements have parts; an element without part means every value of the part. */
static void parts_of_lists_are_cut_off(void **state)
{
	const uint32_t shared = 1u << SHARING_SHARED, both = shared | 1u << SHARING_SEPARATE;
	const uint32_t cas = 1u << ATOMIC_CAS, add = 1u << ATOMIC_ADD;
	const struct {
		const char *line;
		uint32_t sharings, atomics; /* 0: all */
	} rows[] = {
		{"tune --sharing shared", shared, 0},
		{"tune --sharing shared:add", shared, add},
		{"tune --sharing shared:cas,shared:add", shared, cas | add},
		{"tune --sharing separate,shared:add", both, add},
		{"tune --sharing shared:add,separate", both, add},
		{"tune --sharing shared,shared:add", shared, 0},
		{"tune --sharing shared:add,shared", shared, 0},
		{"tune --sharing shared:add --sharing shared", shared, 0},
		{"tune --sharing shared --atomic add", shared, add},
		{"bench kernels --sharing shared:lock", shared, 1u << 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = load(&result, rows[i].line);

		assert_string_equal(result.err, "");
		assert_int_equal(bench_options(&result.config)->sharings, rows[i].sharings);
		assert_int_equal(bench_options(&result.config)->atomics, rows[i].atomics);
		attempt_free(&result);
		free(words);
	}
}

/* A comma belongs to the value unless a part follows it. */
static void parts_of_values_are_cut_off(void **state)
{
	static const struct {
		const char *line, *file;
		enum prefix_side side;
	} rows[] = {
		{"--pcap a --prefixes f,side=src", "f", PREFIX_SRC},
		{"--pcap a --prefixes a,b,side=dst", "a,b", PREFIX_DST},
		{"--pcap a --prefixes a,b", "a,b", PREFIX_EITHER},
		{"--pcap a --prefixes a,site=b", "a,site=b", PREFIX_EITHER},
		{"--pcap a --monitor f,side=src --monitor-side dst", "f", PREFIX_DST},
		{"--pcap a --prefixes f,side=src --prefixes g", "g", PREFIX_EITHER},
		{"--pcap a --set prefixes=f,side=src", "f", PREFIX_SRC},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = load(&result, rows[i].line);

		assert_string_equal(result.err, "");
		assert_string_equal(prefix_options(&result.config)->file, rows[i].file);
		assert_int_equal(prefix_options(&result.config)->side, rows[i].side);
		attempt_free(&result);
		free(words);
	}
}

static void lists_are_checked(void **state)
{
	static const struct refusal rows[] = {
		{"bench kernels --sketch cms,magic", "--sketch: 'magic': not allowed", "sht"},
		{"bench kernels --sketch cms,", "--sketch: 'cms,': empty element", "SKETCH,..."},
		{"bench kernels --sketch=", "--sketch: '': empty element", ""},
		{"bench kernels --sharing both", "--sharing: 'both': not allowed", "shared"},
		{"bench kernels --atomic cas,,add", "--atomic: 'cas,,add': empty element", ""},
		{"bench kernels --threads 0", "--threads: '0': out of range", "1 to 64"},
		{"bench kernels --threads 1,65", "--threads: '65': out of range", ""},
		{"bench kernels --flows 1K,x", "--flows: 'x': not a count", "5M"},
		{"bench kernels --flows 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,7",
			"--flows: '7': one too many", "16"},
		{"bench kernels --width 64K,1000", "--width: '1000': not a power of two", "1024"},
		{"bench kernels --width 8", "--width: '8': out of range", ""},
		{"bench kernels --zipf steep", "--zipf: 'steep': invalid", "uniform"},
		{"bench kernels --zipf 10.000001", "--zipf: '10.000001': invalid", ""},
		{"bench kernels --zipf -1", "--zipf: '-1': invalid", ""},
		{"bench kernels --rounds 0", "--rounds: '0'", ""},
		{"bench kernels --rounds 102", "--rounds: '102': out of range", "1 to 101"},
		{"bench kernels --packets 100", "--packets: '100': out of range", ""},
		{"bench worker --threads 2", "--threads: not an option of worker", "kernels"},
		{"bench pipeline --experiment magic", "--experiment: 'magic': not allowed",
			"mempool"},
		{"bench pipeline --pace recorded", "--pace: recorded: only for captures", "72Mpps"},
		{"bench all", "--directory: is missing", ""},
		{"bench all figures --which everything", "--which: 'everything': not allowed",
			"flow-sizes"},
		{"bench paper --workers 17", "--workers: '17': out of range", "1 to 16"},
		{"bench paper --workers 1,2,3,4,5,6,7,8,9",
			"--workers: 9 numbers of workers with 2 values of --zipf", "16"},
		{"tune --pcap a --synthetic flows=1", "--synthetic: contradicts --pcap", ""},
		{"tune --pcap - --pcap -", "--pcap: - is given 2 times", ""},
		{"tune --workers 17", "--workers: '17': out of range", "1 to 16"},
		{"tune --error 1", "--error: '1'", ""},
		{"tune --memory some", "--memory: 'some'", ""},
		{"bench pipeline --duration 1ms", "--duration: '1ms': too short",
			"minimum is 10ms"},
		{"bench kernels --eal --help", "--eal: --help: not allowed", ""},
	};

	(void)state;
	ALL_REFUSED(rows);
}

static void help_and_version_are_answered(void **state)
{
	static const struct {
		const char *line;
		const char *start;
	} rows[] = {
		{"--help", "Usage: sketchtap [run]"},
		{"-h", "Usage: sketchtap [run]"},
		{"run --top 5 -h", "Usage: sketchtap [run]"},
		{"plan --help", "Usage: sketchtap plan"},
		{"generate --help", "Usage: sketchtap generate"},
		{"--version", "sketchtap " SKETCHTAP_VERSION "\n"},
		{"plan --version", "sketchtap " SKETCHTAP_VERSION "\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = load(&result, rows[i].line);

		assert_int_equal(result.result, CONFIG_EXIT_0);
		assert_string_equal(result.err, "");
		assert_memory_equal(result.out, rows[i].start, strlen(rows[i].start));
		attempt_free(&result);
		free(words);
	}
}

static void arguments_that_are_no_options(void **state)
{
	static const struct refusal rows[] = {
		{"",
			"nothing to measure: give --pcap FILE, --port NAME, --kernel IFACE or "
			"--synthetic SPEC\n",
			""},
		{"run", "nothing to measure", "--synthetic"},
		{"generate", "nothing to generate: give --synthetic SPEC\n", ""},
		{"frob", "'frob': unknown command", "run, collect, plan, doctor, generate, tune"},
		{"bench", "'bench': unknown command", "run, collect, plan, doctor, generate, tune"},
		{"bench frob", "'bench': unknown command",
			"run, collect, plan, doctor, generate, tune"},
		{"kernels", "'kernels': unknown command",
			"run, collect, plan, doctor, generate, tune"},
		{"run frob", "'frob': unexpected", "--help"},
		{"--pcap a b", "'b': unexpected", "--help"},
		{"--", "'--': unexpected", "--help"},
		{"-", "'-': unexpected", "--help"},
		{"-x", "-x: unknown option", "--help"},
		{"-r a.pcap -nx", "-x: unknown option", "--help"},
		{"-r", "-r: needs FILE", ""},
		{"-nr", "-r: needs FILE", ""},
		{"-r a.pcap -w b.pcap", "-w: packets are not stored", "generate --output"},
		{"generate -r a.pcap", "-r: not an option of generate", "run has it"},
		{"bench kernels -n", "-n: unknown option", "--help"},
		{"bench kernels a.pcap", "'a.pcap': unexpected", "--help"},
		{"-i eth0 tcp port 443", "'tcp': unexpected", "--filter"},
		{"--pcap a.pcap --sort bytes", "--sort: unknown option", ""},
		{"--prot eth0", "--prot: unknown option", ""},
		{"--desgin rss", "--desgin: unknown option", "did you mean --design?"},
		{"--wodth 5", "--wodth: unknown option", "did you mean --width?"},
		{"--frobnicate", "--frobnicate: unknown option", "--help"},
		{"--=5", "--: unknown option", "--help"},
		{"--pcap", "--pcap: needs FILE", ""},
		{"--pcap a --interval", "--interval: needs TIME", ""},
		{"--pcap a --append=yes", "--append: takes no value", ""},
		{"generate --interval 1s", "--interval: not an option of generate", "run has it"},
		{"generate --seed 5", "--seed: not an option of generate", ""},
		{"generate --pcap a", "--pcap: not an option of generate", ""},
		{"bench kernels --pcap a", "--pcap: not an option of kernels", "flow-table has it"},
		{"--rounds 3 --pcap a", "--rounds: not an option of run", "tune has it"},
	};

	(void)state;
	ALL_REFUSED(rows);
}

/* Options and arguments in the style of tcpdump. */
static void captures_and_letters_are_taken(void **state)
{
	static const struct {
		const char *line;
		const char *command;
		uint32_t nb_pcap;
		const char *pcap, *port, *output;
		uint64_t packets;
	} rows[] = {
		{"a.pcap", "run", 1, "a.pcap", NULL, "-", 0},
		{"run dir/a b.pcap --packets 5", "run", 2, "dir/a", NULL, "-", 5},
		{"--packets 5 a.pcap", "run", 1, "a.pcap", NULL, "-", 5},
		{"--pcap a b.pcap -r c", "run", 3, "a", NULL, "-", 0},
		{"-r a", "run", 1, "a", NULL, "-", 0},
		{"-ra -c5", "run", 1, "a", NULL, "-", 5},
		{"-nnr a", "run", 1, "a", NULL, "-", 0},
		{"-r -", "run", 1, "-", NULL, "-", 0},
		{"-ni eth0 -c 7", "run", 0, NULL, "eth0", "-", 7},
		{"plan -n -i eth0", "plan", 0, NULL, "eth0", "-", 0},
		{"doctor a.pcap", "doctor", 1, "a.pcap", NULL, "-", 0},
		{"tune a.pcap", "tune", 1, "a.pcap", NULL, NULL, 0},
		{"generate --synthetic flows=1 -w o -c 3", "generate", 0, NULL, NULL, "o", 3},
		{"generate --synthetic flows=1 -i eth0", "generate", 0, NULL, "eth0", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct attempt result;
		char *words = load(&result, rows[i].line);
		const struct config *config = &result.config;

		assert_string_equal(result.err, "");
		assert_string_equal(config->command->name, rows[i].command);
		assert_int_equal(replay_options(config)->pcap.n, rows[i].nb_pcap);
		if (rows[i].pcap != NULL)
			assert_string_equal(replay_options(config)->pcap.texts[0], rows[i].pcap);
		assert_int_equal(port_options(config)->names.n, rows[i].port != NULL);
		if (rows[i].port != NULL)
			assert_string_equal(port_options(config)->names.texts[0], rows[i].port);
		if (config->nb_measurements > 0)
			assert_destination(config, ROWS_HEAVY_HITTERS, rows[i].output);
		else if (rows[i].output == NULL)
			assert_null(send_options(config)->output);
		else
			assert_string_equal(send_options(config)->output, rows[i].output);
		assert_int_equal(feeder_options(config)->packets, rows[i].packets);
		attempt_free(&result);
		free(words);
	}
}

static void single_values_are_checked(void **state)
{
	static const struct refusal rows[] = {
		{"--pcap=", "--pcap: '': empty", "FILE"},
		{"--port=", "--port: '': empty", "NAME"},
		{"--synthetic=", "--synthetic: '': empty", "SPEC"},
		{"--synthetic flows=x", "--synthetic: flows=x: allowed:", "268435456"},
		{"plan --synthetic random,uniform", "--synthetic: uniform: contradicts", ""},
		{"generate --synthetic x=1 --output a", "--synthetic: x=1: unknown field", ""},
		{"--pace fast", "--pace: 'fast'", "recorded"},
		{"--pace 0Mpps", "--pace: '0Mpps'", "recorded"},
		{"--pace 5", "--pace: '5'", "2Mpps"},
		{"--duration 0", "--duration: '0'", "omit the option for no limit"},
		{"--duration 5", "--duration: '5': not a time", "1s"},
		{"--duration -5s", "--duration: '-5s': not a time", "1s"},
		{"--duration 40000d", "--duration: '40000d': too long", "36525d"},
		{"--interval 36525d", "--interval: '36525d': too long", "2500d"},
		{"--sketch flow-table --expired-keys 5", "--expired-keys", "--idle-timeout"},
		{"--rotate 1h", "--rotate: has no effect on standard output", "--output FILE"},
		{"--packets 0", "--packets: '0'", "omit the option for no limit"},
		{"--packets 5x", "--packets: '5x': not a count", "5M"},
		{"--packets 99999999999999999999", "--packets: '99999999999999999999'",
			"too large"},
		{"--design pipeline", "--design: 'pipeline'", "allowed: rss, async, sync"},
		{"--sharing common", "--sharing: 'common'", "allowed: separate, shared"},
		{"--sketch bloom", "--sketch: 'bloom'", "count-min (cms)"},
		{"--sketch=", "--sketch: ''", "count-min (cms)"},
		{"--key mac", "--key: 'mac'", "5tuple, src, dst, src-dst"},
		{"--count flows", "--count: 'flows'", "packets, bytes"},
		{"--workers 0", "--workers: '0'", "1 to 120"},
		{"--workers 121", "--workers: '121'", "1 to 120"},
		{"--workers two", "--workers: 'two'", "count"},
		{"--seed -1", "--seed: '-1'", "0x"},
		{"--seed 5K", "--seed: '5K'", "0x"},
		{"--seed 0x", "--seed: '0x'", "64 bits"},
		{"--seed 0xg", "--seed: '0xg'", "64 bits"},
		{"--seed 18446744073709551616", "--seed: '18446744073709551616'", "64 bits"},
		{"--seed 0x10000000000000000", "--seed: '0x10000000000000000'", "64 bits"},
		{"--seed=", "--seed: ''", "64 bits"},
		{"--depth 0", "--depth: '0'", "1 to"},
		{"--depth 4294967297", "--depth: '4294967297'", "1 to"},
		{"--width 0", "--width: '0'", "2 to"},
		{"--width 1", "--width: '1'", "2 to"},
		{"--width 1000", "--width: 1000: not a power of two", "1024"},
		{"--width 8589934592", "--width: '8589934592'", "4294967296"},
		{"--memory 0", "--memory: '0'", "4KB"},
		{"--memory 5X", "--memory: '5X': not a size", "4MB"},
		{"--memory -1", "--memory: '-1': not a size", "4MB"},
		{"--top -1", "--top: '-1'", "count"},
		{"--top 1000001", "--top: '1000001'", "1000000"},
		{"--threshold 1", "--threshold: '1'", "below 1"},
		{"--threshold 100%", "--threshold: '100%'", "below 1"},
		{"--threshold 2", "--threshold: '2'", "above 1"},
		{"--threshold x", "--threshold: 'x'", "25%"},
		{"--confidence 0", "--confidence: '0'", "more than 0"},
		{"--confidence 1", "--confidence: '1'", "below 1"},
		{"--max-loss 101%", "--max-loss: '101%'", "above 1"},
		{"--confidence 0.99999999999999999999", "--confidence: '0.9999", "fraction"},
		{"--confidence 0.9999999999999999999", "--confidence: '0.9999", "below 1"},
		{"--interval 5x", "--interval: '5x': not a time; examples: 500ms, 1s, 5m", ""},
		{"--interval 10us", "--interval: '10us': too short", "minimum is 1ms"},
		{"--interval 999999ns", "--interval: '999999ns': too short",
			"minimum is 1ms (or 0: once, at the end)"},
		{"--idle-timeout 1ns", "--idle-timeout: '1ns': too short",
			"minimum is 0.001ms (or 0: never)"},
		{"--monitor-side src", "--monitor-side: has no effect", "without --prefixes"},
		{"--output=", "--output: '': empty", "FILE"},
		{"--stats=", "--stats: '': empty", "FILE"},
		{"--format xml", "--format: 'xml'", "auto, csv, json, table"},
		{"--config=", "--config: '': empty", "FILE"},
		{"--config a --config b", "--config: 'b': second file", "give one"},
		{"--eal=", "--eal: '': empty", "ARGS"},
		{"--lcores=", "--lcores: ''", "0-3,6"},
		{"--lcores 3-1", "--lcores: '3-1'", "0-3,6"},
		{"--lcores 1,", "--lcores: '1,'", "0-3,6"},
		{"--lcores ,1", "--lcores: ',1'", "0-3,6"},
		{"--lcores 1-", "--lcores: '1-'", "0-3,6"},
		{"--lcores 1-2-3", "--lcores: '1-2-3'", "0-3,6"},
		{"--lcores 1024", "--lcores: '1024'", "0 to 1023"},
		{"--lcores 99999999999999999999", "--lcores: '9", "0 to 1023"},
		{"--lcores (0-3)@0", "--lcores: '(0-3)@0'", "0-3,6"},
		{"--descriptors 63", "--descriptors: '63'", "64 to 32768"},
		{"--descriptors 65536", "--descriptors: '65536'", "64 to 32768"},
		{"--descriptors 1000", "--descriptors: '1000'", "1024"},
		{"--mbufs 1", "--mbufs: '1'", "512"},
		{"--idle doze", "--idle: 'doze'", "auto, spin, yield, sleep"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char line[200];

		snprintf(line, sizeof(line), "--pcap a %s", rows[i].line);
		if (strstr(rows[i].line, "--port") != NULL ||
			strstr(rows[i].line, "--synthetic") != NULL)
			snprintf(line, sizeof(line), "%s", rows[i].line);
		assert_refused(line, CONFIG_EXIT_2, rows[i].start, rows[i].has);
	}
}

static void values_at_their_limits_are_taken(void **state)
{
	static const char *const lines[] = {
		"--workers 16",
		"--depth 1",
		"--depth 16 --width 256",
		"--depth 8 --memory 8MB",
		"--depth 7 --width 262144",
		"--depth 4 --width 4294967296",
		"--width 16",
		"--memory 4MB",
		"--top 1000000",
		"--top 0 --threshold 0.01",
		"--threshold 0",
		"--confidence 0.999999",
		"--interval 0",
		"--interval 1ms",
		"--interval 2500d",
		"--duration 1ns",
		"--packets 18446744073709551615",
		"--seed 0",
		"--seed 18446744073709551615",
		"--lcores 0",
		"--lcores 1023,5-5",
		"--descriptors 64",
		"--descriptors 32768",
		"--output /dev/null --stats /dev/null",
		"--output a --stats ./ab",
		"--output a/b --stats /a/b",
		"--output o --stats -",
		"--interval 5s --interval 1s",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char line[200];

		snprintf(line, sizeof(line), "--pcap a %s", lines[i]);
		assert_taken(line);
	}
	assert_taken("--port net_null0 --workers 120");
	assert_taken("--port net_null0 --port net_null1");
	assert_taken("--synthetic packets=5 --pace recorded");
	assert_taken("--pcap - --pcap a");
}

static void contradictions_are_told(void **state)
{
	static const struct refusal rows[] = {
		{"--pcap a --port b", "--port: contradicts --pcap", "one of the two"},
		{"doctor --format json", "--format: json: not supported by doctor", "table"},
		{"--port b --pcap a", "--pcap: contradicts --port", "one of the two"},
		{"--pcap a --synthetic packets=5", "--synthetic: contradicts --pcap", ""},
		{"--port a --synthetic packets=5", "--synthetic: contradicts --port", ""},
		{"--pcap a --append --force", "--force: contradicts --append", ""},
		{"--pcap a --width 1024 --memory 1MB", "--memory: contradicts --width", ""},
		{"--pcap a --memory 1MB --width 1024", "--width: contradicts --memory", ""},
		{"--pcap a --depth 16 --width 512", "--width: 16 x 512", "128"},
		{"--pcap a --memory 8MB --depth 2 --sketch sht", "--depth: 2 x", "depth is 1"},
		{"--pcap a --depth 17", "--depth: '17'", "1 to 16"},
		{"--pcap a --width 8", "--width: 4 x 8", "16"},
		{"--pcap a --memory 64", "--memory: 64 bytes: too small for one count-min", "KB"},
		{"--pcap a --top 0", "--top: 0", "--threshold"},
		{"--pcap a --workers 17", "--workers: 17",
			"with --design rss and --pcap the limit is 16"},
		{"--synthetic packets=5 --workers 17", "--workers: 17",
			"with --design rss and --synthetic the limit is 16"},
		{"collect --listen :2055 --listen :2055", "--listen: ':2055' is given twice", ""},
		{"collect --pcap a --exporter 10.0.0.0/8=a --exporter 10.1.0.0/16 "
		 "--exporter 10.0.0.0/8,sampling=5",
			"--exporter: '10.0.0.0/8,sampling=5': same prefix as '10.0.0.0/8=a'",
			"10.0.0.0/8=a"},
		{"--pcap a --metrics 0", "--metrics: '0'", "port from 1 to 65535"},
		{"--pcap a --metrics 65536", "--metrics: '65536'", "port from 1 to 65535"},
		{"--pcap a --metrics host:9100", "--metrics: 'host:9100'", "in brackets"},
		{"--pcap a --metrics ::1:9100", "--metrics: '::1:9100'", "in brackets"},
		{"--pcap a --metrics 9100 --metrics-top 101", "--metrics-top: '101'", "100"},
		{"collect --pcap a --paths f --templates ./f",
			"--templates: './f': --export paths writes to it", ""},
		{"collect --listen :2055 --pace 1Mpps", "--pace: contradicts --listen", ""},
		{"--port a --pace 1Mpps", "--pace: contradicts --port", ""},
		{"--port a --forward pairs",
			"--forward: pairs needs an even number of --port, but 1 is given",
			"1 is given"},
		{"plan --port a --port b --port c --forward pairs", "--forward: pairs", "3 are"},
		{"--pcap a --design sync --keep-up valve",
			"--design: sync contradicts --overload: its workers have no queues of their own",
			"give rss or async"},
		{"--pcap a --keep-up valve --states-from f", "--states-from: contradicts", ""},
		{"--port a --forward loop --design sync",
			"--design: sync contradicts --forward: each packet would wait for all workers",
			"--forward"},
		{"plan --port a --pace recorded", "--pace: contradicts --port", ""},
		{"plan --listen :2055 --pace recorded", "--pace: contradicts --listen", ""},
		{"doctor --listen :2055 --pace 1Mpps", "--pace: contradicts --listen", ""},
		{"collect --listen :2055 --pace recorded", "--pace: contradicts --listen", ""},
		{"--pcap - --pcap -", "--pcap: -", "once"},
		{"--port a --forward loop --design async --sketch ft --deep tcp",
			"--deep: tcp does not work with",
			"give --design rss or --flow-detail rate"},
		{"--kernel a --sketch ft --deep rate",
			"--deep: needs packets, and --kernel passes only keys", "--kernel"},
		{"collect --listen :2055 --sketch ft --deep rate",
			"--deep: needs packets, and exporters send flow records", ""},
		{"--pcap a --sketch ft --deep rate --sharing shared",
			"--deep: needs the packets of a flow in order, which threads that share a table cannot provide",
			"separate"},
		{"--pcap a --sketch ft --deep tcp --key src",
			"--deep: tcp inspects sequence numbers of one direction of a connection, but key src combines several",
			"5tuple"},
		{"--port a --port a", "--port: 'a' is given twice", ""},
		{"--port a,x=1 --port a,x=2", "--port: 'a' is given twice", ""},
		{"--port ,x=1", "--port: ',x=1': no name", "NAME"},
		{"--pcap a --output o --stats o", "--stats: 'o'", "--output"},
		{"--pcap a --output o --stats ./o", "--stats: './o'", "--output"},
		{"--pcap a --output /a/o --stats //a/.//o", "--stats: '//a/.//o'", "--output"},
		{"--pcap a --stats -", "--stats: '-'", "--output"},
		{"generate", "nothing to generate", "--synthetic"},
		{"generate --output o", "nothing to generate", "--synthetic"},
		{"generate --synthetic packets=5",
			"no destination: give --output FILE or --port NAME", "--output"},
		{"generate --synthetic packets=5 --output o --port p",
			"--port: contradicts --output", ""},
		{"generate --synthetic packets=5 --port p --port q", "--port: given 2 times", ""},
		{"generate --synthetic packets=5 --port p --port q --return p --output o",
			"--port: given 2 times", ""},
		{"generate --synthetic packets=5 --port p --return q --as v9",
			"--as: contradicts --rx-port, which measures packets of the traffic", ""},
		{"generate --synthetic packets=5 --port p --return q --find-rate 1",
			"--find-rate: '1': not a share below 1", "0.1%"},
		{"generate --synthetic packets=5 --port p --return q --find-rate 0 --pace recorded",
			"--pace: contradicts --find-rate", ""},
		{"generate --synthetic packets=5 --port p --return q --find-rate 0 --packets 1",
			"--packets: contradicts --find-rate", "no rate"},
		{"generate --synthetic packets=5 --output o --pace 1Mpps",
			"--pace: contradicts --output", ""},
		{"generate --synthetic packets=5 --output o --as v9 --routers 2 --path 3",
			"--path: 3: more than routers=2", "give routers=3"},
		{"generate --synthetic packets=5 --output o --as v5 --sampling 16384",
			"--sampling: 16384: NetFlow v5 has a maximum of 16383", "16383"},
	};

	(void)state;
	ALL_REFUSED(rows);
}

/* Every option that needs another one, without it. */
static const struct refusal without_effect[] = {
	{"generate --synthetic packets=5 --output o --return p", "--return: has no effect",
		"without --port"},
	{"generate --synthetic packets=5 --port p --find-rate 0", "--find-rate: has no effect",
		"without --rx-port"},
	{"--pcap a --rss-fields src", "--rss-fields: has no effect", "without --port"},
	{"--port a --design sync --rss-fields src", "--rss-fields: has no effect", "--design rss"},
	{"--port a --design async --dispatch round-robin --rss-key default", "--rss-key: has no",
		"without --port and --design rss or async:flow"},
	{"--synthetic packets=5 --rss-key default", "--rss-key: has no effect", "--port"},
	{"--pcap a --mtu 9000", "--mtu: has no effect", "without --port;"},
	{"--kernel lo --design async --descriptors 512", "--descriptors: has no effect",
		"with --kernel; set ring-size"},
	{"--kernel lo --design async --mbufs 4096", "--mbufs: has no effect", "with --kernel;"},
	{"plan --listen :1 --monitor m", "--monitor: has no effect",
		"--monitor: has no effect with --listen: not an option of collect"},
	{"collect --listen :1 --keep-up best --set steps=keys:1/2 --sketch flow-table", "--",
		"needs packets"},
	{"plan --pcap a --dedup none --design async", "--design: has no effect",
		"--design: has no effect with --dedup: not an option of collect"},
	{"collect --listen :1 --mbufs 4096", "--mbufs: has no effect", "with --listen;"},
	{"collect --listen :1 --mbuf-cache 64", "--mbuf-cache: has no effect", "with --listen;"},
	{"--pcap a --sketch flow-table --timestamps poll", "--timestamps: has no", "--port"},
	{"--port a --timestamps poll", "--timestamps: has no effect", "--sketch flow-table"},
	{"--pcap a --wait-link 5s", "--wait-link: has no effect", "without --port;"},
	{"plan --pcap a --wait-link 5s", "--wait-link: has no effect", "without --port;"},
	{"doctor --pcap a --wait-link 5s", "--wait-link: has no effect", "without --port;"},
	{"generate --synthetic packets=5 --output o --linger 1s", "--linger: has no", "--port;"},
	{"generate --synthetic packets=5 --port a --force", "--force: has no effect", "--output"},
	{"generate --synthetic packets=5 --output - --force", "--force: has no effect", ""},
	{"generate --synthetic packets=5 --output o --routers 2", "--routers: has no",
		"without --export-format"},
	{"generate --synthetic packets=5 --output o --path 1", "--path: has no",
		"without --export-format"},
	{"generate --synthetic packets=5 --output o --sampling 2", "--sampling: has no",
		"without --export-format"},
	{"generate --synthetic packets=5 --output o --drop 0.5", "--drop: has no",
		"without --export-format"},
	{"bench kernels --force", "--force: has no effect", "--output FILE"},
	{"--pcap a --force", "--force: has no effect", "--output FILE"},
	{"--pcap a --append --output /dev/stdout", "--append: has no effect", "--output FILE"},
	{"--pcap a --rotate 1h", "--rotate: has no effect", "--output FILE"},
	{"--pcap a --append --output tcp://h:1",
		"--append: has no effect on URLs, only on a file such as --output FILE", "FILE"},
	{"--pcap a --foreign-profile", "--foreign-profile: has no effect", "without --profile;"},
	{"--pcap a --dispatch flow", "--dispatch: has no effect", "without --design async;"},
	{"--pcap a --design sync --ring-size 64", "--ring-size: has no", "--design async;"},
	{"--pcap a --atomic cas", "--atomic: has no effect", "without --sharing shared;"},
	{"--pcap a --forward loop", "--forward: has no effect", "without --port;"},
	{"--port a --forwarded o", "--forwarded: has no effect", "without --forward;"},
	{"bench kernels --sharing separate --atomic cas", "--atomic: has no effect", "shared;"},
	{"tune --sharing separate --atomic cas", "--atomic: has no effect", "shared;"},
	{"--pcap a --monitor-side either", "--monitor-side: has no effect", "without --prefixes"},
	{"--pcap a --rules o", "--rules: has no effect", "without --prefixes"},
	{"--pcap a --query-rows o", "--query-rows: has no effect", "without [query NAME]"},
	{"--pcap a --interval 0 --within b:5%", "--within: has no effect", "--interval 0;"},
	{"--kernel a --within b:5%", "--within: has no effect", "--kernel;"},
	{"plan --listen :2055 --within b:5%", "--within: has no effect", "--listen;"},
	{"--pcap a --stay 5s", "--stay: has no effect", "if within is not set"},
	{"--pcap a --keep-up valve --reserve 5%", "--reserve: has no",
		"without --overload greedy, lsf, queries or best"},
	{"--pcap a --states f", "--states: has no effect", "without --overload"},
	{"--pcap a --priority 2", "--priority: has no effect", "without --overload"},
	{"plan --pcap a --steps off", "--steps: has no effect", "without --overload"},
	{"--pcap a --states-from f --deadline 5s", "--deadline: has no effect",
		"without --overload"},
	{"--pcap a --metrics-top 5", "--metrics-top: has no effect", "without --metrics;"},
	{"--pcap a --max-skip 0.5", "--max-skip: has no effect", "without --overload"},
	{"--pcap a --buckets 100", "--buckets: has no effect", "--sketch flow-table;"},
	{"--pcap a --idle-timeout 5s", "--idle-timeout: has no effect", "--sketch flow-table;"},
	{"--pcap a --sketch ft --expired-keys 5", "--expired-keys: has no", "--idle-timeout;"},
	{"--pcap a --deep rate", "--deep: has no effect", "--sketch flow-table;"},
	{"--pcap a --sketch ft --deep-after 5", "--deep-after: has no effect",
		"without --flow-detail"},
	{"--pcap a --sketch ft --deep rate --deep-share 1", "--deep-share: has no",
		"without --flow-detail tcp"},
	{"--pcap a --sketch ft --deep-flows 5", "--deep-flows: has no effect",
		"without --flow-detail"},
	{"--pcap a --compact-load 0.5", "--compact-load: has no effect", "--sketch compact-table;"},
	{"--pcap a --iblt-load 0.5", "--iblt-load: has no effect", "--sketch iblt;"},
	{"--pcap a --sketch iblt --iblt-load 0.5 --interval 0", "--iblt-load: has no effect",
		"with --interval 0"},
	{"--pcap a --flows f", "--flows: has no effect", "without --sketch flow-table;"},
	{"bench kernels --zipf random --flows 5", "--flows: has no effect", "drawn from flows"},
	{"bench flow-table --pcap a --flows 5", "--flows: has no effect", "drawn from flows"},
	{"bench pipeline --port a --pace 1Mpps", "--pace: has no effect", "with --port"},
	{"bench paper --port a --zipf 1.05", "--zipf: has no effect", "with --port"},
	{"generate --synthetic packets=5 --output o --name a", "--name: has no effect", "--port;"},
	{"generate --synthetic packets=5 --output o --eal x", "--eal: has no effect", "--port;"},
	{"generate --synthetic packets=5 --output o --lcores 0", "--lcores: has no", "--port;"},
	{"generate --synthetic packets=5 --output o --mbufs 9999", "--mbufs: has no", "--port;"},
	{"generate --synthetic packets=5 --output o --no-huge", "--no-huge: has no", "--port;"},
	{"plan --port a --exporter 10.0.0.0/8", "--exporter: has no", "with --port;"},
	{"plan --port a --templates f", "--templates: has no", "with --port;"},
	{"collect --pcap a --collectors-wait 5s", "--collectors-wait: has no",
		"without --collectors;"},
	{"collect --pcap a --collectors-memory 5MB", "--collectors-memory: has no",
		"without --collectors;"},
	{"plan --port a --dedup none", "--dedup: has no", "with --port;"},
	{"plan --port a --export-timeout 5s", "--export-timeout: has no", "with --port;"},
	{"doctor --port a --observed-flows 5K", "--observed-flows: has no", "with --port;"},
	{"plan --port a --link-overhead 20", "--link-overhead: has no", "with --port;"},
	{"plan --port a --exporters-max 5", "--exporters-max: has no", "with --port;"},
	{"doctor --pcap a --receive-buffer 1MB", "--receive-buffer: has no", "without --listen;"},
	{"plan --port a --exporters f", "--exporters: has no", "with --port;"},
	{"plan --port a --paths f", "--paths: has no", "with --port;"},
	{"plan --port a --links f", "--links: has no", "with --port;"},
	{"collect --listen :1 --sampling f", "--sampling: has no effect",
		"without --sampling-budget or --sampling-error;"},
	{"collect --listen :1 --sampling-command f", "--sampling-command: has no effect",
		"without --sampling-budget or --sampling-error;"},
	{"collect --listen :1 --interval 0 --sampling-budget 5", "--sampling-budget: has no effect",
		"with --interval 0:"},
	{"collect --pcap a --sampling-budget 5 --sampling-command f",
		"--sampling-command: has no effect", "without --listen;"},
	{"--pcap a --verbose --log-level notice", "--log-level: has no", "with --log-level debug"},
};

static bool is_of(const struct refusal *refusal, const char *name)
{
	size_t len = strlen(name);

	return strncmp(refusal->start + 2, name, len) == 0 && refusal->start[2 + len] == ':';
}

static void options_without_effect_are_refused(void **state)
{
	const size_t n = sizeof(without_effect) / sizeof(without_effect[0]);

	(void)state;
	ALL_REFUSED(without_effect);
	for (const struct command *const *c = commands.commands; *c != NULL; c++) {
		static struct config config;

		config_init(&config, *c);
		for (uint32_t i = 0; i < config.nb_rows; i++) {
			const struct option_row *row = config.rows[i].row;
			size_t r = 0;

			while (r < n && !is_of(&without_effect[r], row->name) &&
				(row->former == NULL || !is_of(&without_effect[r], row->former)))
				r++;
			if (row->inapplicable != NULL && r == n)
				fail_msg("--%s is never without its effect", row->name);
		}
	}
}

static void options_with_effect_are_taken(void **state)
{
	static const char *const lines[] = {
		"plan --pcap a --exporters f --dedup none --link-overhead 0 --key routers",
		"doctor --pcap a --export links=f --exporter 10.0.0.0/8",
		"--port a --rss-fields src --rss-key default --mtu 9000 --wait-link 5s",
		"--port a --design async --rss-fields src --dispatch flow --ring-size 64",
		"--port a --sketch flow-table --timestamps poll --flows f",
		"--port a --forward loop --forwarded f",
		"--port a --port b --forward pairs --design async --ring-size 64",
		"--kernel a --sketch flow-table --ring-size 64",
		"--pcap a --sharing shared --atomic cas",
		"--pcap a --monitor m --monitor-side dst --rules r",
		"--pcap a --sketch ft --buckets 100",
		"--pcap a --sketch ft --idle-timeout 5s --expired-keys 5",
		"--pcap a --sketch ft --deep rate --deep-after 5 --deep-flows 9",
		"--pcap a --sketch ft --deep tcp --deep-share 0.1",
		"--pcap a --sketch iblt --iblt-load 0.5",
		"--pcap a --stats s --force --rotate 1h",
		/* Values that disable the option. */
		"--pcap a --wait-link 0 --idle-timeout 0 --iblt-load 0",
		/* The source is not known yet. */
		"doctor --wait-link 5s --rss-fields src",
		"plan --port a --wait-link 5s",
		"plan --listen :1 --filter tcp",
		"collect --listen :1 --filter tcp",
		"generate --synthetic packets=5 --port a --linger 1s --name a --no-huge",
		"generate --synthetic packets=5 --output o --force",
		"generate --synthetic packets=5 --output o --as ipfix --routers 64 --path 64",
		"generate --synthetic packets=5 --port a --as v9 --sampling 16384 --drop 0",
		"bench kernels --atomic cas --output o --force",
		"bench kernels --zipf random,1.1 --flows 5",
		"bench flow-table --pcap a --traffic zipf --flows 5",
		"bench pipeline --pace 1Mpps --no-huge --name a",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_taken(lines[i]);
}

/* A message stays on one line, for any value. */
static void strange_values_are_told_in_one_line(void **state)
{
	char long_value[5000];
	const char *const lines[][2] = {
		{"--interval", "5\nx\r\x1b[31m"},
		{"--in\nterval", "5"},
		{"a\nb", NULL},
		{"--interval", long_value},
		{"--config", long_value},
		{long_value, NULL},
		{"--sketch", long_value},
	};

	(void)state;
	memset(long_value, '5', sizeof(long_value));
	long_value[sizeof(long_value) - 1] = '\0';
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct attempt result;
		char *argv[] = {NULL, strdup(lines[i][0]),
			lines[i][1] != NULL ? strdup(lines[i][1]) : NULL, NULL};

		attempt(&result, argv[2] != NULL ? 3 : 2, argv);
		assert_true(result.result == CONFIG_EXIT_2 || result.result == CONFIG_EXIT_1);
		assert_one_line(result.err);
		assert_null(strchr(result.err, '\x1b'));
		assert_true(strlen(result.err) < 1100);
		attempt_free(&result);
		free(argv[1]);
		free(argv[2]);
	}
}

static void no_argument_at_all(void **state)
{
	struct attempt result;
	char *argv[] = {NULL};

	(void)state;
	attempt(&result, 0, argv);
	assert_int_equal(result.result, CONFIG_EXIT_2);
	assert_one_line(result.err);
	attempt_free(&result);
}

static void list_is_bounded(void **state)
{
	char line[OPTION_LIST_MAX * 10 + 20] = "";
	size_t len = 0;

	(void)state;
	for (unsigned int i = 0; i < OPTION_LIST_MAX; i++)
		len += (size_t)snprintf(
			line + len, sizeof(line) - len, "%s--pcap=x", i > 0 ? " " : "");
	assert_taken(line);
	snprintf(line + len, sizeof(line) - len, " --pcap=y");
	assert_refused(line, CONFIG_EXIT_2, "--pcap: 'y': one too many", "256");
}

static void seed_is_random_unless_given(void **state)
{
	struct attempt a, b;
	char *words_a = load(&a, "--pcap a");
	char *words_b = load(&b, "--pcap a");

	(void)state;
	assert_true(seed_pick(&a.config) && seed_pick(&b.config));
	assert_true(seed_options(&a.config)->seed != seed_options(&b.config)->seed);
	attempt_free(&a);
	attempt_free(&b);
	free(words_a);
	free(words_b);
	words_a = load(&a, "--pcap a --seed 0x1F");
	assert_true(seed_pick(&a.config));
	assert_true(seed_options(&a.config)->seed == 31 && seed_options(&a.config)->given);
	attempt_free(&a);
	free(words_a);
}

/* The configuration file. Its path is one of the group's state. */

static char folder[] = "/tmp/sketchtap-test-config-XXXXXX";
static char path[sizeof(folder) + 16];

static int make_folder(void **state)
{
	(void)state;
	if (mkdtemp(folder) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/file.conf", folder);
	return 0;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

static void write_bytes(const char *bytes, size_t size)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

/* Loads the file with more arguments after --config. */
static char *load_file(struct attempt *result, const char *text, const char *arguments)
{
	char line[500];

	write_bytes(text, strlen(text));
	snprintf(line, sizeof(line), "%s%s--config %s", arguments, *arguments != '\0' ? " " : "",
		path);
	return load(result, line);
}

static void assert_file_refused(const char *text, unsigned int line, const char *has)
{
	struct attempt result;
	char start[200];
	char *words = load_file(&result, text, "");

	snprintf(start, sizeof(start), "sketchtap: %s:%u: ", path, line);
	if (result.result != CONFIG_EXIT_2 || strncmp(result.err, start, strlen(start)) != 0 ||
		strstr(result.err, has) == NULL)
		fail_msg("<%s> gave %d: %s", text, (int)result.result, result.err);
	assert_one_line(result.err);
	attempt_free(&result);
	free(words);
}

static void file_sets_what_the_command_line_would(void **state)
{
	struct attempt result;
	const struct config *config = &result.config;
	char *words = load_file(&result,
		"# a comment\n"
		"; another\n"
		"\n"
		"pcap = a b.pcap\n"
		"  pcap=c.pcap  \n"
		"interval: 5m ; comment\n"
		"no-huge = yes\n"
		"append = off\r\n"
		"eal = --vdev=net_null0;x\n"
		"[ sketchtap ]\n"
		"top = 5\n"
		"seed = 0xAB",
		"");

	(void)state;
	assert_string_equal(result.err, "");
	assert_int_equal(result.result, CONFIG_OK);
	assert_int_equal(replay_options(config)->pcap.n, 2);
	assert_string_equal(replay_options(config)->pcap.texts[0], "a b.pcap");
	assert_string_equal(replay_options(config)->pcap.texts[1], "c.pcap");
	assert_int_equal(epoch_options(config)->interval, 300 * SECOND);
	assert_true(hugepages_options(config)->no_huge);
	assert_false(writer_options(config)->append);
	assert_string_equal(eal_options(config)->arguments, "--vdev=net_null0;x");
	assert_int_equal(config->nb_measurements, 1);
	assert_string_equal(config->measurements[0].name, "main");
	assert_int_equal(measurement_options(&config->measurements[0])->top, 5);
	assert_int_equal(seed_options(config)->seed, 0xAB);
	attempt_free(&result);
	free(words);
}

static void sections_start_from_what_holds_for_all(void **state)
{
	struct attempt result;
	const struct measurement_config *m = result.config.measurements;
	char *words = load_file(&result,
		"\xEF\xBB\xBF[measurement flows]\n"
		"width = 1024\n"
		"[sketchtap]\n"
		"pcap = a\n"
		"top = 7\n"
		"memory = 8MB\n"
		"key = dst\n"
		"[measurement a-name.that_is_as_long_as_it_may_be-63-characters-in-all-123456]\n"
		"key = src\n"
		"count = bytes\n"
		"top = 0\n"
		"threshold = 1%\n"
		"[measurement empty] ; takes all as it is\n",
		"");

	(void)state;
	assert_string_equal(result.err, "");
	assert_int_equal(result.result, CONFIG_OK);
	assert_int_equal(result.config.nb_measurements, 3);
	assert_string_equal(m[0].name, "flows");
	assert_int_equal(measurement_options(&m[0])->width, 1024);
	assert_int_equal(
		measurement_options(&m[0])->memory, 0); /* the section's width replaces it */
	assert_int_equal(measurement_options(&m[0])->top, 7);
	assert_string_equal(measurement_options(&m[0])->key.name, "dst");
	assert_int_equal(strlen(m[1].name), 63);
	assert_int_equal(measurement_options(&m[1])->width, 0);
	assert_int_equal(measurement_options(&m[1])->memory, 8 << 20);
	assert_int_equal(measurement_options(&m[1])->top, 0);
	assert_int_equal(measurement_options(&m[1])->count, SKETCH_BYTES);
	assert_string_equal(measurement_options(&m[1])->key.name, "src");
	assert_string_equal(m[2].name, "empty");
	assert_int_equal(measurement_options(&m[2])->top, 7);
	assert_string_equal(measurement_options(&m[2])->key.name, "dst");
	attempt_free(&result);
	free(words);
}

static void command_line_wins_over_the_file(void **state)
{
	static const char text[] =
		"pcap = a\npcap = b\ninterval = 5s\npace = recorded\n"
		"force = yes\noutput = o\n"
		"[measurement x]\ntop = 3\nmemory = 8MB\n[measurement y]\ntop = 4\n";
	struct attempt result;
	const struct config *config = &result.config;
	char *words = load_file(&result, text, "--interval 1m --top 9 --width 2048 --append");

	(void)state;
	assert_string_equal(result.err, "");
	assert_int_equal(replay_options(config)->pcap.n, 2);
	assert_int_equal(epoch_options(config)->interval, 60 * SECOND);
	assert_true(writer_options(config)->append);
	assert_false(writer_options(config)->force);
	assert_int_equal(config->nb_measurements, 2);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(measurement_options(&config->measurements[i])->top, 9);
		assert_int_equal(measurement_options(&config->measurements[i])->width, 2048);
		assert_int_equal(measurement_options(&config->measurements[i])->memory, 0);
	}
	attempt_free(&result);
	free(words);

	words = load_file(&result, text, "--pcap z"); /* a list replaces the list */
	assert_string_equal(result.err, "");
	assert_int_equal(replay_options(config)->pcap.n, 1);
	assert_string_equal(replay_options(config)->pcap.texts[0], "z");
	attempt_free(&result);
	free(words);

	words = load_file(&result, text, "--synthetic packets=1"); /* a source, the source */
	assert_string_equal(result.err, "");
	assert_int_equal(replay_options(config)->pcap.n, 0);
	assert_string_equal(synthetic_options(config)->spec, "packets=1");
	attempt_free(&result);
	free(words);
}

static void sections_say_where_rows_go(void **state)
{
	static const char text[] =
		"pcap = a\nstats = ledger.csv\n[export x]\nwhat = heavy-hitters\n"
		"url = tcp://a:1\n[measurement m]\ntop = 3\n[export y]\nwhat = stats\n"
		"format = json\nurl : b ; comment\n";
	struct attempt result;
	char *words = load_file(&result, text, "");
	struct sink_config_iter each = {0};

	(void)state;
	assert_string_equal(result.err, "");
	assert_int_equal(result.config.nb_measurements, 1);
	assert_int_equal(measurement_options(&result.config.measurements[0])->top, 3);
	/* Replaces standard output, which is only a default. */
	assert_true(sink_config_next(&result.config, &each));
	assert_string_equal(each.requested.name, "ledger.csv");
	assert_null(each.requested.section);
	assert_true(sink_config_next(&result.config, &each));
	assert_int_equal(each.requested.kind, ROWS_HEAVY_HITTERS);
	assert_string_equal(each.requested.name, "x");
	assert_string_equal(each.requested.to.name, "tcp://a:1");
	assert_true(sink_config_next(&result.config, &each));
	assert_int_equal(each.requested.kind, ROWS_STATS);
	assert_int_equal(each.requested.to.format, FORMAT_JSON);
	assert_string_equal(each.requested.to.name, "b");
	assert_string_equal(each.requested.label, "[export y]");
	assert_false(sink_config_next(&result.config, &each));
	attempt_free(&result);
	free(words);

	words = load_file(&result, text, "--output o");
	each = (struct sink_config_iter){0};
	assert_true(sink_config_next(&result.config, &each));
	assert_string_equal(each.requested.name, "o");
	attempt_free(&result);
	free(words);
}

static void sections_are_bounded(void **state)
{
	char text[4000] = "pcap = a\n";
	size_t len = strlen(text);
	struct attempt result;
	char *words;

	(void)state;
	for (unsigned int i = 0; i < EXPORTS_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len,
			"[export e%u]\nwhat = stats\nurl = f%u\n", i, i);
	words = load_file(&result, text, "");
	assert_string_equal(result.err, "");
	assert_int_equal(result.config.nb_named, EXPORTS_MAX);
	attempt_free(&result);
	free(words);
	snprintf(text + len, sizeof(text) - len, "[export more]\n");
	assert_file_refused(text, 3 * EXPORTS_MAX + 2, "one too many; the limit is 32");
}

/* The line is that of the key, or of the section if a key is missing. */
static void mistakes_in_sections_name_their_line(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *has;
	} rows[] = {
		{"[export]\n", 1, "[export]: no name; write [export NAME]"},
		{"[export a b]\n", 1, "'a b': not a name of an export"},
		{"[export x]\n[export x]\n", 2, "[export x]: already on line 1"},
		{"[exports x]\n", 1, "[export NAME], [measurement NAME]"},
		{"[export x]\nurl = a\n", 1, ": [export x]: missing key; write what"},
		{"\n[export x]\nwhat = stats\n", 2, ": [export x]: missing key; write url"},
		{"[export x]\nwhat = stat\n", 2, ": what: 'stat': not allowed; allowed: heavy-"},
		{"[export x]\nrates = 5\n", 2,
			": rates: unknown key of [export NAME]; did you mean rate?"},
		{"[export x]\ntop = 3\n", 2, ": top: unknown key of [export NAME]; keys: what, "},
		{"[export x]\nurl = a\nurl = b\n", 3, ": url: already on line 2"},
		{"[export x]\nkafka.a = 1\nkafka.b = 1\nkafka.a = 2\n", 4,
			": kafka.a: already on line 2"},
		{"[export x]\nkafka. = 1\n", 2,
			": kafka.: unknown key of [export NAME]; did you mean kafka.NAME?"},
		{"[export x]\nkafka = 1\n", 2, "; did you mean kafka.NAME?"},
		{"[export x]\nkakfa.acks = 1\n", 2, "; did you mean kafka.NAME?"},
		{"[export x]\nratee.acks = 1\n", 2, "; keys: what, url, "},
		{"[export x]\nwhat = flows\nurl = a\n", 2, ": what: 'flows' has no effect without"},
		{"[export x]\nwhat = paths\nurl = a\n", 2,
			": what: 'paths': sketchtap run has no such rows"},
		{"[export x]\nwhat = stats\nurl = clickhouse://me:secret@a/b\nrate = 5\n", 4,
			": rate: has no effect on 'clickhouse://***@a/b'"},
		{"[export x]\nwhat = stats\nurl = a\nrate = 5\n", 4,
			": rate: has no effect on 'a'; omit it"},
		{"[export x]\nwhat = stats\nurl = a\nqueue = 0\n", 4,
			": queue: '0': too small; examples: 4KB, 4MB, 1GB"},
		{"[export x]\nwhat = stats\nurl = a\nqueue = 64 MB\n", 4,
			": queue: '64 MB': not a size"},
		{"[export x]\nwhat = stats\nurl = tcp://a:1\nspool = /a,1MB\n[export y]\n"
		 "what = stats\nurl = tcp://b:1\nspool = //./a/,1MB\n",
			8, ": spool: '//./a/,1MB': [export x] uses it"},
		{"[export x]\nwhat = stats\nurl = json:a\nformat = csv\n", 4,
			": format: 'json:a' contains a format"},
		{"[export x]\nwhat = stats\nformat = json\nurl = ipfix://a\n", 4, ": url: 'ipfix"},
		{"[export x]\nwhat = stats\nurl = http://me:secret@a/b\n", 3,
			": url: 'http://***@a/b': unknown kind"},
		{"[export x]\nwhat = stats\nurl = a\n[export y]\nwhat = rules\nurl = ./a\n", 5,
			": what: 'prefixes' has no effect without --prefixes"},
		{"[export x]\nwhat = stats\nurl = a\n[export y]\nwhat = queues\nurl = ./a\n", 6,
			": url: './a': [export x] writes to it"},
		{"stats = a\n[export y]\nwhat = queues\nurl = a\n", 4,
			": url: 'a': --stats writes to it"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[400];

		snprintf(text, sizeof(text), "%s[sketchtap]\npcap = a\n", rows[i].text);
		assert_file_refused(text, rows[i].line, rows[i].has);
	}
}

static void mistakes_in_the_file_name_their_line(void **state)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *has;
	} rows[] = {
		{"pcap = a\ninterval = 5x\n", 2, ": interval: '5x': not a time"},
		{"pcap = a\n\n\nwodth = 5\n", 4, ": wodth: unknown key; did you mean width?"},
		{"frobnicate = 1\n", 1, ": frobnicate: unknown key"},
		{" = 1\n", 1, "no key before ="},
		{"pcap = a\nhello\n", 2, "neither KEY = VALUE nor a [section]"},
		{"pcap = a\nhello ; top = 5\n", 2, "neither KEY = VALUE nor a [section]"},
		{"hello\nfrobnicate = 1\n", 1, "neither KEY = VALUE"},
		{"pcap = a\ntop =\n", 2, ": top: '': not a count"},
		{"pcap = a\ntop = ; none\n", 2, ": top: '': not a count"},
		{"pcap = a\ntop = 5\ntop = 6\n", 3, ": top: already on line 2"},
		{"top = 5\n[sketchtap]\ntop = 6\n", 3, ": top: already on line 1"},
		{"[measurement x]\ntop = 5\ntop = 6\n", 3, ": top: already on line 2"},
		{"append = maybe\n", 1, ": append: 'maybe': neither yes nor no"},
		{"config = x\n", 1, ": config: only for the command line"},
		{"help = yes\n", 1, ": help: only for the command line"},
		{"version = yes\n", 1, ": version: only for the command line"},
		{"[measurement]\n", 1, "[measurement]: no name"},
		{"[measurement ]\n", 1, "[measurement]: no name"},
		{"[measurement a b]\n", 1, "'a b': not a name of a measurement"},
		{"[measurement a,b]\n", 1, "'a,b': not a name of a measurement"},
		{"[measurement a-name.that_is_as_long_as_it_may_be-63-characters-in-all-123456x]\n",
			1, "not a name of a measurement; use at most 63"},
		{"[measurement x]\n[measurement y]\n[measurement x]\n", 3, "already on line 1"},
		{"[measurements x]\n", 1, "[measurements x]: unknown section"},
		{"[frob]\n", 1, "[frob]: unknown section"},
		{"[]\n", 1, "[]: unknown section"},
		{"[sketchtap\n", 1, "without ]"},
		{"[sketchtap] top = 5\n", 1, "'top = 5' after the section"},
		{"[measurement x]\ninterval = 5s\n", 2, ": interval: applies to the whole run"},
		{"[measurement x]\npcap = a\n", 2, ": pcap: applies to the whole run"},
		{"pcap = a\nport = b\n", 2, ": port: contradicts pcap"},
		{"append = yes\nforce = yes\n", 2, ": force: contradicts append"},
		{"pcap = a\n[measurement x]\nwidth = 64\nmemory = 1MB\n", 4,
			": memory: contradicts width"},
		{"pcap = a\n[measurement x]\ntop = 0\n", 3, ": top: 0"},
		{"pcap = a\nring-size = 64\n", 2, ": ring-size: has no effect without"},
		{"pcap = a\n[measurement x]\nkey = src\nbuckets = 64\n", 4, ": buckets: has no"},
		{"pcap = a\ntop = 0\n[measurement x]\n", 2, ": top: 0"},
		{"pcap = a\n[measurement x]\ndepth = 16\nwidth = 512\n", 4, ": width: 16 x 512"},
		{"pcap = a\n[measurement x]\nmemory = 5\n", 3, ": memory: 5 bytes"},
		{"port = a\npace = recorded\n", 2, ": pace: contradicts --port"},
		{"pcap = a\nworkers = 17\n", 2, ": workers: 17"},
		{"pcap = a\noutput = o\nstats = o\n", 3, ": stats: 'o'"},
		{"pcap = -\npcap = -\n", 2, ": pcap: -"},
		{"\x01\x02\n", 1, "byte 0x01: not text"},
		{"top = 5\ntop\x1b = 5\n", 2, "byte 0x1b: not text"},
		{"\x7f"
		 "ELF\n",
			1, "byte 0x7f: not text"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_file_refused(rows[i].text, rows[i].line, rows[i].has);
}

static void file_with_a_nul_byte(void **state)
{
	static const char bytes[] = "pcap = a\ntop = 5\0 6\n";
	struct attempt result;
	char line[200];
	char *words;

	(void)state;
	write_bytes(bytes, sizeof(bytes) - 1);
	snprintf(line, sizeof(line), "--config %s", path);
	words = load(&result, line);
	assert_int_equal(result.result, CONFIG_EXIT_2);
	assert_one_line(result.err);
	assert_non_null(strstr(result.err, ".conf:2: byte 0x00: not text"));
	attempt_free(&result);
	free(words);
}

/* A line is taken whole or not at all. */
static void long_lines_are_refused_not_cut(void **state)
{
	for (size_t len = 4000; len < 4200; len++) {
		char value[4300];
		char text[4400];
		struct attempt result;
		char *words;

		memset(value, 'v', len);
		value[len] = '\0';
		snprintf(text, sizeof(text), "top = 5\npcap = %s\n", value);
		words = load_file(&result, text, "");
		if (result.result == CONFIG_OK) {
			assert_true(len <= 4088);
			assert_string_equal(replay_options(&result.config)->pcap.texts[0], value);
		} else {
			assert_true(len > 4088);
			assert_int_equal(result.result, CONFIG_EXIT_2);
			assert_one_line(result.err);
			assert_non_null(strstr(result.err, ".conf:2: line too long"));
		}
		attempt_free(&result);
		free(words);
	}
	(void)state;
}

/* Longer than the limit of a line. */
static void comments_may_be_long(void **state)
{
	for (size_t len = 190; len < 5000; len += len < 500 ? 3 : 401) {
		char comment[5000], text[10100];
		struct attempt result;
		char *words;

		memset(comment, '=', len);
		comment[len] = '\0';
		snprintf(text, sizeof(text), "# %s\npcap = a\n \t;%s\n", comment, comment);
		words = load_file(&result, text, "");
		assert_string_equal(result.err, "");
		assert_int_equal(result.result, CONFIG_OK);
		assert_string_equal(replay_options(&result.config)->pcap.texts[0], "a");
		attempt_free(&result);
		free(words);
	}
	(void)state;
}

static void measurements_are_bounded(void **state)
{
	char text[2000] = "pcap = a\n";
	size_t len = strlen(text);
	struct attempt result;
	char *words;

	(void)state;
	for (unsigned int i = 0; i < CONFIG_MEASUREMENTS_MAX; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "[measurement m%u]\n", i);
	words = load_file(&result, text, "");
	assert_int_equal(result.result, CONFIG_OK);
	assert_int_equal(result.config.nb_measurements, CONFIG_MEASUREMENTS_MAX);
	attempt_free(&result);
	free(words);
	snprintf(text + len, sizeof(text) - len, "[measurement more]\n");
	assert_file_refused(text, CONFIG_MEASUREMENTS_MAX + 2, "one too many; the limit is 16");
}

static void generate_reads_a_file_of_its_own_options(void **state)
{
	struct attempt result;
	char *words = load_file(&result, "synthetic = packets=5\noutput = o.pcap\n", "generate");

	(void)state;
	assert_string_equal(result.err, "");
	assert_string_equal(synthetic_options(&result.config)->spec, "packets=5");
	assert_string_equal(send_options(&result.config)->output, "o.pcap");
	attempt_free(&result);
	free(words);
	words = load_file(&result, "interval = 5s\n", "generate");
	assert_int_equal(result.result, CONFIG_EXIT_2);
	assert_non_null(strstr(result.err, ".conf:1: interval: "));
	attempt_free(&result);
	free(words);
	words = load_file(&result, "[measurement x]\n", "generate");
	assert_int_equal(result.result, CONFIG_EXIT_2);
	assert_non_null(strstr(result.err, ".conf:1: [measurement x]: generate"));
	attempt_free(&result);
	free(words);
}

static void file_that_cannot_be_read(void **state)
{
	char line[200];

	(void)state;
	assert_refused(
		"--config /nonexistent/x.conf", CONFIG_EXIT_1, "/nonexistent/x.conf: ", "--config");
	snprintf(line, sizeof(line), "--config %s", folder);
	assert_refused(line, CONFIG_EXIT_1, folder, "directory");
	write_bytes("", 0);
	snprintf(line, sizeof(line), "--config %s", path);
	assert_refused(line, CONFIG_EXIT_2, "nothing to measure", "--pcap");
}

static void examples_load(void **state)
{
	static const struct {
		const char *name, *command;
		uint32_t nb_measurements;
	} examples[] = {
		{"replay", "run", 1},
		{"kernel-interface", "run", 1},
		{"card-100g", "run", 2},
		{"collector", "collect", 2},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		struct attempt result;
		char line[500];
		char *words;

		snprintf(line, sizeof(line), "%s --config " CONFIG_EXAMPLES "/%s.conf",
			examples[i].command, examples[i].name);
		words = load(&result, line);
		assert_string_equal(result.err, "");
		assert_int_equal(result.result, CONFIG_OK);
		assert_int_equal(result.config.nb_measurements, examples[i].nb_measurements);
		if (i == 1 || i == 3) /* the documentation starts these as services */
			assert_true(writer_options(&result.config)->rotate.period > 0);
		if (i == 2) {
			assert_int_equal(
				shed_policy_options(&result.config)->policy, SHED_POLICY_ADAPT);
			assert_true(steps_options(&result.config.measurements[1])->priority <
				    steps_options(&result.config.measurements[0])->priority);
		}
		attempt_free(&result);
		free(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_documented),
		cmocka_unit_test(every_option_lands_in_its_field),
		cmocka_unit_test(a_terminal_shows_a_capture_once),
		cmocka_unit_test(commands_are_told_apart),
		cmocka_unit_test(lists_land_in_their_fields),
		cmocka_unit_test(parts_of_lists_are_cut_off),
		cmocka_unit_test(parts_of_values_are_cut_off),
		cmocka_unit_test(lists_are_checked),
		cmocka_unit_test(help_and_version_are_answered),
		cmocka_unit_test(arguments_that_are_no_options),
		cmocka_unit_test(captures_and_letters_are_taken),
		cmocka_unit_test(single_values_are_checked),
		cmocka_unit_test(values_at_their_limits_are_taken),
		cmocka_unit_test(contradictions_are_told),
		cmocka_unit_test(options_without_effect_are_refused),
		cmocka_unit_test(options_with_effect_are_taken),
		cmocka_unit_test(strange_values_are_told_in_one_line),
		cmocka_unit_test(no_argument_at_all),
		cmocka_unit_test(list_is_bounded),
		cmocka_unit_test(seed_is_random_unless_given),
		cmocka_unit_test(file_sets_what_the_command_line_would),
		cmocka_unit_test(sections_start_from_what_holds_for_all),
		cmocka_unit_test(command_line_wins_over_the_file),
		cmocka_unit_test(sections_say_where_rows_go),
		cmocka_unit_test(sections_are_bounded),
		cmocka_unit_test(mistakes_in_sections_name_their_line),
		cmocka_unit_test(mistakes_in_the_file_name_their_line),
		cmocka_unit_test(file_with_a_nul_byte),
		cmocka_unit_test(long_lines_are_refused_not_cut),
		cmocka_unit_test(comments_may_be_long),
		cmocka_unit_test(measurements_are_bounded),
		cmocka_unit_test(generate_reads_a_file_of_its_own_options),
		cmocka_unit_test(file_that_cannot_be_read),
		cmocka_unit_test(examples_load),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
