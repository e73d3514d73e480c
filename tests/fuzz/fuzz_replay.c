/* SPDX-License-Identifier: BSD-3-Clause */

/* Any bytes as a capture file: opened, read to the end, every captured byte touched. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rx/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static void check_line(const char *error)
{
	check(error[0] != '\0' && strlen(error) < SOURCE_ERROR_MAX, "an error is said");
	check(strchr(error, '\n') == NULL, "an error is one line");
}

static void read_all(struct source *source)
{
	struct source_packet packet;
	double progress;
	int status;

	while ((status = source->next(source, &packet)) == 1) {
		for (uint32_t i = 0; i < packet.captured; i++)
			sink = packet.data[i];
		check(packet.link < LINK_COUNT, "the link is known");
		check(packet.time >= 0 && packet.time <= SOURCE_TIME_MAX, "times are in bounds");
	}
	if (status < 0)
		check_line(source->error);
	progress = source->progress(source);
	check(progress >= 0 && progress <= 1, "progress is a share");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	char path[64], error[SOURCE_ERROR_MAX] = "";
	const char *paths[2] = {path, path};
	struct source *source;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file in memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (unsigned int nb_paths = 1; nb_paths <= 2; nb_paths++) {
		source = replay_open(paths, nb_paths, error);
		if (source == NULL) {
			check_line(error);
			continue;
		}
		read_all(source);
		source->close(source);
	}
	close(fd);
	return 0;
}
