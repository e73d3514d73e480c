/* SPDX-License-Identifier: BSD-3-Clause */

/* Any text as a SPEC; if it is valid, its generator creates packets. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rx/generate/synthetic.h"
#include "rx/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PACKETS_MAX 200
#define FLOWS_MAX   500 /* more flows take long to prepare */

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static void make_packets(const struct synthetic_spec *spec)
{
	char error[SOURCE_ERROR_MAX];
	struct source *source = generate_open(spec, error);
	struct source_packet packet;

	check(source != NULL, "there is memory");
	for (int i = 0; i < PACKETS_MAX && source->next(source, &packet) == 1; i++) {
		check(packet.captured >= 60 && packet.captured <= 9000, "sizes are in bounds");
		check(packet.time >= 0 && packet.time <= SOURCE_TIME_MAX, "times are in bounds");
	}
	source->close(source);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	char error[SOURCE_ERROR_MAX] = "";
	struct synthetic_spec spec;

	check(text != NULL, "there is memory");
	if (!synthetic_parse(text, &spec, error))
		check(error[0] != '\0' && strchr(error, '\n') == NULL, "an error is one line");
	else if (spec.random || spec.flows <= FLOWS_MAX)
		make_packets(&spec);
	free(text);
	return 0;
}
