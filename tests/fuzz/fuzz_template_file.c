/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as a file of --templates. Damaged lines are counted and affect no other line; valid
 * ones go to the templates and the sampling of a domain. To pass the checksum, each line that ends
 * in " ?" gets the right one.
 */

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "collect/exporters/sampling.h"
#include "collect/exporters/template_file.h"
#include "flow_protocols/netflow/template.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FIRST_LINE "sketchtap-templates 1"

static struct templates *templates;
static uint64_t lines;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static uint64_t hash(uint64_t sum, const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
	return sum;
}

static void write_line(FILE *file, const uint8_t *line, size_t len)
{
	uint64_t sum;

	if (len < 2 || memcmp(line + len - 2, " ?", 2) != 0) {
		fwrite(line, 1, len, file);
		return;
	}
	sum = hash(UINT64_C(0xcbf29ce484222325), (const uint8_t *)FIRST_LINE, strlen(FIRST_LINE));
	fwrite(line, 1, len - 1, file);
	fprintf(file, "%016" PRIx64, random_mix(hash(sum, line, len - 2)));
}

/* Returns the number of lines, including an unterminated last one. */
static uint64_t write_lines(FILE *file, const uint8_t *data, size_t size)
{
	uint64_t n = 0;

	for (size_t at = 0; at < size; n++) {
		const uint8_t *end = memchr(data + at, '\n', size - at);
		size_t len = end != NULL ? (size_t)(end - data) - at : size - at;

		write_line(file, data + at, len);
		if (end != NULL)
			fputc('\n', file);
		at += len + 1;
	}
	return n;
}

/* A sampling is never written with more bytes than it was read from. */
static void read_sampling(const struct template_file_entry *entry)
{
	struct sampling sampling = {.seed = 1};
	static uint8_t bytes[SAMPLING_BYTES_MAX];

	if (sampling_read(&sampling, entry->set, entry->len, 32))
		require(sampling_write(&sampling, bytes) <= entry->len);
	sampling_forget(&sampling);
}

static bool take(void *arg, const struct template_file_entry *entry)
{
	(void)arg;
	lines++;
	require(entry->len <= 65535 && entry->id.protocol < FLOW_PROTOCOL_COUNT);
	read_sampling(entry);
	return templates_take(templates, entry->id.protocol, entry->set, entry->len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t damaged, written;
	/* The reader accepts only a regular file of its own in a folder. */
	char path[] = "/tmp/sketchtap-templates-XXXXXX";
	FILE *file;
	int status, fd = mkstemp(path);

	require(fd >= 0);
	file = fdopen(fd, "w");
	require(file != NULL);
	written = write_lines(file, data, size);
	require(fflush(file) == 0);
	templates = templates_create(16384);
	require(templates != NULL);
	lines = 0;
	status = template_file_read(path, take, NULL, &damaged);
	require(unlink(path) == 0);
	/* EBADMSG: not a template file; nothing was loaded. */
	require(status == 0 || (status == EBADMSG && templates_count(templates) == 0));
	require(lines <= written && damaged <= written);
	require(templates_count(templates) <= lines * 65535);
	require(templates_bytes(templates) <= 16384);
	templates_destroy(templates);
	fclose(file);
	return 0;
}
