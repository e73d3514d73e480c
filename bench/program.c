/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"

#define SMALL_PACKETS 10

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Tries the directory of this program, as installed, then that of the build. */
void program_execute(const char *const *arguments)
{
	static const char *const places[] = {"sketchtap", "../src/sketchtap"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		return;
	self[len] = '\0';
	*strrchr(self, '/') = '\0';
	for (uint32_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", self, places[i]);
		execv(path, (char **)(uintptr_t)arguments);
	}
}

static void become_program(const char *const *arguments)
{
	int null = open("/dev/null", O_WRONLY);

	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	program_execute(arguments);
	_exit(127);
}

/* Returns wall clock seconds, or 0 with one line in error. */
static double run_program(const char *const *arguments, char *error)
{
	double start = wall_seconds();
	pid_t child = fork();
	int status;

	if (child == 0)
		become_program(arguments);
	if (child < 0) {
		snprintf(error, PROGRAM_ERROR_MAX, "fork: %s", strerror(errno));
		return 0;
	}
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			snprintf(error, PROGRAM_ERROR_MAX, "wait: %s", strerror(errno));
			return 0;
		}
		if (signals_stop_requested())
			kill(child, SIGKILL);
	}
	if (status != 0) {
		snprintf(error, PROGRAM_ERROR_MAX, "sketchtap %s %s %s failed", arguments[1],
			arguments[2], arguments[3]);
		return 0;
	}
	return wall_seconds() - start;
}

static bool write_capture(const char *path, uint64_t packets, char *error)
{
	char spec[32];
	const char *const arguments[] = {
		"sketchtap", "generate", "--synthetic", spec, "--output", path, NULL};

	snprintf(spec, sizeof(spec), "packets=%" PRIu64, packets);
	return run_program(arguments, error) > 0;
}

bool program_captures_write(struct program_captures *captures, uint64_t packets, char *error)
{
	const char *parent = getenv("TMPDIR");

	*captures = (struct program_captures){.packets = packets};
	if (parent == NULL || strlen(parent) > 32)
		parent = "/tmp";
	snprintf(captures->directory, sizeof(captures->directory), "%s/sketchtap-bench-XXXXXX",
		parent);
	if (mkdtemp(captures->directory) == NULL) {
		snprintf(error, PROGRAM_ERROR_MAX, "%s: %s", captures->directory, strerror(errno));
		captures->directory[0] = '\0';
		return false;
	}
	snprintf(captures->small, sizeof(captures->small), "%s/small.pcap", captures->directory);
	snprintf(captures->large, sizeof(captures->large), "%s/large.pcap", captures->directory);
	if (write_capture(captures->small, SMALL_PACKETS, error) &&
		write_capture(captures->large, packets, error))
		return true;
	program_captures_remove(captures);
	return false;
}

void program_captures_remove(struct program_captures *captures)
{
	if (captures->directory[0] == '\0')
		return;
	unlink(captures->small);
	unlink(captures->large);
	rmdir(captures->directory);
	captures->directory[0] = '\0';
}

double program_replay(const struct config *config, const char *path, char *error)
{
	const char *arguments[16] = {"sketchtap", "run", "--pcap", path, "--interval", "0",
		"--format", "csv", "--seed", "1", "--log-level", "warning", NULL};
	uint32_t n = 12;

	if (hugepages_options(config)->no_huge)
		arguments[n++] = "--no-huge";
	if (machine_options(config)->lcores != NULL) {
		arguments[n++] = "--lcores";
		arguments[n++] = machine_options(config)->lcores;
	}
	return run_program(arguments, error);
}

double program_read_alone(const char *path, uint64_t packets, char *error)
{
	char why[PCAP_ERRBUF_SIZE];
	double start = wall_seconds();
	pcap_t *pcap = pcap_open_offline(path, why);
	struct pcap_pkthdr *header;
	const u_char *data;
	uint64_t n = 0;

	if (pcap == NULL) {
		snprintf(error, PROGRAM_ERROR_MAX, "%s: %.200s", path, why);
		return 0;
	}
	while (pcap_next_ex(pcap, &header, &data) == 1)
		n++;
	pcap_close(pcap);
	if (n != packets) {
		snprintf(error, PROGRAM_ERROR_MAX, "%s: libpcap read %llu of %llu packets", path,
			(unsigned long long)n, (unsigned long long)packets);
		return 0;
	}
	return wall_seconds() - start;
}
