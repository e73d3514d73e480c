/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench all: runs every bench in its own process. bench/tables reads the CSV files. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "parallel/plan/machine.h"
#include "parallel/workers/node_memory.h"
#include "rx/source.h"
#include "tune/measure/bench_options.h"

#define TEXT_MAX  1024
#define WORDS_MAX 48

extern char **environ;

struct all_options {
	const char *directory;
	uint32_t which; /* bit i selects steps[i]; 0 selects all */
	bool quick, force;
};

OPTION_OWNER(all)

/* The directory replaces "DIR/" in a command. A bench that `prints` has no --output. */
static const struct step {
	const char *name, *command, *full, *quick;
	bool prints;
} steps[] = {
	{"parts", "parts", "--rounds 5", "--quick --rounds 1"},
	{"collect", "collect", "--rounds 5", "--quick --rounds 1"},
	{"exports", "exports", "--rounds 5", "--quick --rounds 1"},
	{"forward", "forward", "--rounds 9", "--quick --rounds 1"},
	{"kernel", "kernel", "--rounds 5", "--quick --rounds 1"},
	{"worker", "worker", "--rounds 5", "--packets 100K --rounds 1"},
	{"paper", "paper", "--rounds 3 --duration 200ms",
		/* Large tables take longer to allocate than to measure. */
		"--quick --duration 10ms --experiment combinations,size,mempool,workers,numa,model"},
	{"pipeline", "pipeline --experiment atomic,flows", "--rounds 3 --duration 200ms",
		"--quick"},
	{"widths", "kernels --flows 1M --zipf 1.05 --threads 1 --width 1K,64K,256K,4M",
		"--rounds 3", "--packets 200K --rounds 1"},
	{"kernels", "kernels --zipf 0,1.05,random --width 64K", "--rounds 3 --flows 1K,100K,1M,20M",
		"--packets 200K --rounds 1 --flows 1K,1M"},
	{"rivals",
		"kernels --sketch count-min,simple-hash --sharing separate --threads 1 --flows 1M "
		"--zipf 1.05,1.3 --width 64K,256K",
		"--packets 8M --rounds 5", "--packets 200K --rounds 1"},
	{"rivals-uniform",
		"kernels --sketch count-min,simple-hash --sharing separate --threads 1 --flows 10M "
		"--zipf 0 --width 64K,256K",
		"--packets 8M --rounds 5", "--packets 200K --rounds 1"},
	/* Table 1, then Figures 2, 3 and 5, then Figure 4 of Nassopoulos et al. */
	{"flow-traffic",
		"flow-table --traffic single,random,zipf --collision list,tree --table-hash coralreef",
		"--flows 16M --packets 4M --width 256M --buckets 54000000 --rounds 3",
		"--flows 10K --packets 64K --buckets 16411 --rounds 1"},
	{"flow-sizes",
		"flow-table --traffic zipf --collision list,tree --table-hash jenkins,coralreef",
		"--flows 4M --packets 4M --width 16K,64K,256K,1M,4M,16M,64M,256M "
		"--buckets 16411,65537,262147,1048583,4194319,16777259,67108879 --rounds 3",
		"--flows 10K --packets 64K --width 16K --buckets 16411 --rounds 1"},
	{"flow-chains",
		"flow-table --traffic zipf --collision list --table-hash coralreef,jenkins,murmur3",
		/* Keys per bucket as in the paper, for one hash each: 0.40, 0.13 and 0.10. */
		"--flows 4M --packets 4M --buckets 1600000,4900000,6400000 --rounds 3",
		"--flows 10K --packets 64K --buckets 17150,52780,68610 --rounds 1"},
	/* Tables 2 and 3 of Zha et al. */
	{"flow-hosts", "flow-table",
		"--hosts 200,400,600,800,1000,1200,1400,1600 --rounds 15 --duration 50ms",
		"--hosts 200,400,600,800,1000,1200,1400,1600 --rounds 1 --duration 10ms"},
	/* Figure 1 of Nassopoulos et al., and the bucket of Wu et al. */
	{"flow-sharing",
		"kernels --sketch flow-table,simple-hash --sharing separate,shared:lock --threads 2 "
		"--width 64K --zipf 1.05",
		"--flows 1M --rounds 5", "--flows 1K --packets 200K --rounds 1"},
	/* Tables I and II of Tangari et al. */
	{"profile", "profile --sketch flow-table --flow-detail tcp", "--width 4M",
		"--width 64K --duration 1s", true},
	{"adaptive", "adaptive --profile DIR/profile.csv", "--rounds 5", "--quick"},
};

#define STEPS (sizeof(steps) / sizeof(steps[0]))

static uint32_t split(char *text, char *words[WORDS_MAX])
{
	uint32_t n = 0;
	char *rest;

	for (char *word = strtok_r(text, " ", &rest); word != NULL && n < WORDS_MAX;
		word = strtok_r(NULL, " ", &rest))
		words[n++] = word;
	return n;
}

/* Returns the exit status of the child, or -1. Forwards a stop request to the child. */
static int wait_for(pid_t child)
{
	bool told = false;
	int status;

	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return -1;
		if (signals_stop_requested() && !told)
			told = kill(child, SIGTERM) == 0;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Settings of all steps of one call. */
struct steps_setup {
	const struct config *config;
	const char *directory;
	bool quick, force;
};

/* Replaces "DIR/FILE" by its path. Drops the word, and the option before it, if FILE is missing. */
static uint32_t fill_directory(
	char *words[], uint32_t n, const char *directory, char path[TEXT_MAX])
{
	for (uint32_t i = 1; i < n; i++) {
		if (strncmp(words[i], "DIR/", 4) != 0)
			continue;
		snprintf(path, TEXT_MAX, "%s/%s", directory, words[i] + 4);
		words[i] = path;
		if (access(path, R_OK) != 0) {
			memmove(&words[i - 1], &words[i + 1], (n - i - 1) * sizeof(words[0]));
			return n - 2;
		}
	}
	return n;
}

/* Returns a descriptor of the file for what the bench prints, or -1 with a line logged. */
static int open_printed(const char *path, bool force)
{
	int fd = regular_file_create(path, force);

	if (fd < 0 && errno == EEXIST)
		log_error("%s: exists; give --force to replace it", path);
	else if (fd < 0)
		log_error("%s: %s", path, file_error(errno));
	return fd;
}

static int spawn(char *words[], int printed, pid_t *child)
{
	posix_spawn_file_actions_t actions;
	int error = posix_spawn_file_actions_init(&actions);

	if (error != 0)
		return error;
	if (printed >= 0)
		error = posix_spawn_file_actions_adddup2(&actions, printed, STDOUT_FILENO);
	if (error == 0)
		error = posix_spawn(child, "/proc/self/exe", &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	return error;
}

static bool run_words(const struct step *step, char *words[], int printed)
{
	pid_t child;
	int error = spawn(words, printed, &child);

	if (error == 0)
		return wait_for(child) == 0;
	log_error("sketchtap-bench %s: cannot start: %s", step->command, strerror(error));
	return false;
}

static bool run_step(const struct step *step, const struct steps_setup *setup)
{
	char text[TEXT_MAX], path[TEXT_MAX], given[TEXT_MAX],
		force[] = "--force", output[] = "--output", *words[WORDS_MAX + 4];
	time_t seconds = time(NULL);
	int printed = -1;
	uint32_t n;
	bool right;

	snprintf(path, sizeof(path), "%s/%s.csv", setup->directory, step->name);
	snprintf(text, sizeof(text), "sketchtap-bench %s %s --seed %" PRIu64 "%s", step->command,
		setup->quick ? step->quick : step->full, seed_options(setup->config)->seed,
		hugepages_options(setup->config)->no_huge ? " --no-huge" : "");
	printf("== %.8s %s %s %s\n", ctime(&seconds) + 11, text, step->prints ? ">" : output, path);
	fflush(stdout);
	if (step->prints && (printed = open_printed(path, setup->force)) < 0)
		return false;
	n = fill_directory(words, split(text, words), setup->directory, given);
	if (!step->prints) {
		words[n++] = output;
		words[n++] = path;
		if (setup->force)
			words[n++] = force;
	}
	words[n] = NULL;
	right = run_words(step, words, printed);
	if (printed >= 0)
		close(printed);
	return right;
}

static bool make_directory(const char *directory)
{
	if (mkdir(directory, 0777) == 0 || errno == EEXIST)
		return true;
	log_error("%s: %s", directory, strerror(errno));
	return false;
}

int bench_all(struct config *config)
{
	const struct all_options *options = all_options(config);
	const struct steps_setup setup = {
		config, options->directory, options->quick, options->force};
	char failed[TEXT_MAX] = "";

	if (!make_directory(options->directory))
		return 1;
	for (uint32_t i = 0; i < STEPS && !signals_stop_requested(); i++)
		if (choices_has(options->which, i) && !run_step(&steps[i], &setup) &&
			!signals_stop_requested()) {
			strcat(strcat(failed, " "), steps[i].name);
			log_error("%s failed; continuing with the next bench", steps[i].name);
		}
	if (failed[0] == '\0')
		return 0;
	log_error("failed benches:%s", failed);
	return 1;
}

static bool is_missing(const char *directory, const char *file, char path[TEXT_MAX])
{
	snprintf(path, TEXT_MAX, "%s/%s.csv", directory, file);
	return access(path, F_OK) != 0;
}

static bool is_used(const char *file, const char *const *files)
{
	while (*files != NULL && strcmp(*files, file) != 0)
		files++;
	return *files != NULL;
}

bool all_fill_directory(const struct config *config, const char *directory,
	const char *const *files, bool quick, bool *failed)
{
	const struct steps_setup setup = {config, directory, quick, false};
	char path[TEXT_MAX];

	*failed = false;
	if (!make_directory(directory))
		return false;
	for (uint32_t i = 0; i < STEPS && !signals_stop_requested(); i++) {
		/* A bench that a signal stops may exit with 0, and some of its rows are missing. */
		if (!is_used(steps[i].name, files) || !is_missing(directory, steps[i].name, path) ||
			(run_step(&steps[i], &setup) && !signals_stop_requested()))
			continue;
		unlink(path);
		*failed = true;
		if (!signals_stop_requested())
			log_error("%s failed; continuing with the next bench", steps[i].name);
	}
	return !signals_stop_requested();
}

static const char *step_word(uint32_t i)
{
	return i < STEPS ? steps[i].name : NULL;
}

static bool check_directory(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	return all_options(config)->directory != NULL ||
	       option_fault(
		       fault, "directory", measurement, "is missing: the directory for CSV files");
}

static const struct option_row rows[] = {
	{
		.name = "directory",
		.placeholder = "DIR",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		OPTION_FIELD(all_options, directory),
		.help = "Write a CSV file for each of --which to DIR. Create DIR if it does not "
			"exist.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_FLAG,
		OPTION_FIELD(all_options, force),
		.help = "Replace existing files. Without it, benches whose file exists fail, and "
			"the rest continue.",
	},
	{
		.name = "which",
		.placeholder = "NAME,...",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_WORDS,
		.word = step_word,
		OPTION_FIELD(all_options, which),
		.default_note = "all",
		.help = "Select what to measure:",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_TRY,
		.type = OPTION_FLAG,
		OPTION_FIELD(all_options, quick),
		.help = "Run a quick test of all benches, in a few minutes. The figures are not "
			"accurate.",
	},
	{0},
};

const struct option_owner all_owner = {
	.rows = rows,
	.size = sizeof(struct all_options),
	.check = check_directory,
};
