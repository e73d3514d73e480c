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

static const struct step {
	const char *name, *command, *full, *quick;
} steps[] = {
	{"parts", "parts", "--rounds 5", "--quick --rounds 1"},
	{"collect", "collect", "--rounds 5", "--quick --rounds 1"},
	{"exports", "exports", "--rounds 5", "--quick --rounds 1"},
	{"forward", "forward", "--rounds 9", "--quick --rounds 1"},
	{"kernel", "kernel", "--rounds 5", "--quick --rounds 1"},
	{"worker", "worker", "--rounds 5", "--packets 100K --rounds 1"},
	{"paper", "paper", "--rounds 3 --duration 200ms", "--quick"},
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
		"--flows 10K --packets 64K --width 16K --rounds 1"},
	{"flow-hosts", "flow-table",
		"--hosts 200,400,600,800,1000,1200,1400,1600 --rounds 15 --duration 50ms",
		"--hosts 20 --rounds 1 --duration 20ms"},
	{"adaptive", "adaptive", "--rounds 5", "--quick"},
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

static bool run_step(const struct step *step, const struct config *config)
{
	const struct all_options *options = all_options(config);
	char text[TEXT_MAX], path[TEXT_MAX], force[] = "--force", *words[WORDS_MAX + 3];
	time_t seconds = time(NULL);
	uint32_t n;
	pid_t child;
	int error;

	snprintf(path, sizeof(path), "%s/%s.csv", options->directory, step->name);
	snprintf(text, sizeof(text), "sketchtap-bench %s %s --seed %" PRIu64 "%s --output",
		step->command, options->quick ? step->quick : step->full,
		seed_options(config)->seed, hugepages_options(config)->no_huge ? " --no-huge" : "");
	printf("== %.8s %s %s\n", ctime(&seconds) + 11, text, path);
	fflush(stdout);
	n = split(text, words);
	words[n++] = path;
	if (options->force)
		words[n++] = force;
	words[n] = NULL;
	error = posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ);
	if (error == 0)
		return wait_for(child) == 0;
	log_error("sketchtap-bench %s: cannot start: %s", step->command, strerror(error));
	return false;
}

int bench_all(struct config *config)
{
	const struct all_options *options = all_options(config);
	char failed[TEXT_MAX] = "";

	if (mkdir(options->directory, 0777) != 0 && errno != EEXIST) {
		log_error("%s: %s", options->directory, strerror(errno));
		return 1;
	}
	for (uint32_t i = 0; i < STEPS && !signals_stop_requested(); i++)
		if (choices_has(options->which, i) && !run_step(&steps[i], config) &&
			!signals_stop_requested()) {
			strcat(strcat(failed, " "), steps[i].name);
			log_error("%s failed; continuing with the next bench", steps[i].name);
		}
	if (failed[0] == '\0')
		return 0;
	log_error("failed benches:%s", failed);
	return 1;
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
