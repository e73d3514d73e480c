/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/program.h"

#include <errno.h>
#include <fcntl.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/signals.h"
#include "rx/capture/capture_writer.h"
#include "rx/capture/synthetic.h"

#define SMALL_PACKETS 10

static double wall_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool copy_packets(struct source *source, struct capture_writer *writer, char *error)
{
	struct source_packet packet;

	while (source->next(source, &packet) > 0)
		if (capture_writer_write(writer, &packet, error) != 0)
			return false;
	return true;
}

static bool write_capture(const char *path, uint64_t packets, char *error)
{
	struct capture_writer *writer;
	struct synthetic_spec spec;
	struct source *source;
	bool written;

	synthetic_parse("", &spec, error);
	spec.packets = packets;
	source = generate_open(&spec, error);
	if (source == NULL)
		return false;
	written = capture_writer_open(&writer, path, false, error) == CAPTURE_WRITER_OK;
	if (written) {
		written = copy_packets(source, writer, error);
		written &= capture_writer_close(writer, error) == 0;
	}
	source->close(source);
	return written;
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

/* In the child: does not return. */
static void become_program(const struct config *config, const char *path)
{
	const char *arguments[16] = {"sketchtap", "run", "--pcap", path, "--interval", "0",
		"--format", "csv", "--seed", "1", "--log-level", "warning", NULL};
	uint32_t n = 12;
	int null = open("/dev/null", O_WRONLY);

	if (config->no_huge)
		arguments[n++] = "--no-huge";
	if (config->lcores != NULL) {
		arguments[n++] = "--lcores";
		arguments[n++] = config->lcores;
	}
	if (null >= 0)
		dup2(null, STDOUT_FILENO);
	execv("/proc/self/exe", (char **)(uintptr_t)arguments);
	_exit(127);
}

double program_replay(const struct config *config, const char *path, char *error)
{
	double start = wall_seconds();
	pid_t child = fork();
	int status;

	if (child == 0)
		become_program(config, path);
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
		snprintf(error, PROGRAM_ERROR_MAX, "sketchtap --pcap %s failed", path);
		return 0;
	}
	return wall_seconds() - start;
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
		snprintf(error, PROGRAM_ERROR_MAX, "%s: libpcap read %llu packets of %llu", path,
			(unsigned long long)n, (unsigned long long)packets);
		return 0;
	}
	return wall_seconds() - start;
}
