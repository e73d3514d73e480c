/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as a spool file: refused with the spool unchanged, found damaged, or read as rows. To
 * pass the checksum, a checksum of all '?' is replaced by the right one.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "report/sinks/spool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define UNKNOWN "checksum=????????????????"

static char folder[64], path[64], file[128], damaged[128];

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void leave(void)
{
	static const char *const names[] = {"lock", "url"};
	char name[128];

	for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
		snprintf(name, sizeof(name), "%s/%s", path, names[n]);
		unlink(name);
	}
	rmdir(path);
	rmdir(folder);
}

/* Prefers memory: a disk file system would dominate the run time. */
static void make_folder(void)
{
	static const char *const places[] = {"/dev/shm", "/tmp"};

	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
		snprintf(folder, sizeof(folder), "%s/sketchtap-fuzz-spool-XXXXXX", places[p]);
		if (mkdtemp(folder) != NULL)
			return;
	}
	abort();
}

static void make_names(void)
{
	if (path[0] != '\0')
		return;
	make_folder();
	require((size_t)snprintf(path, sizeof(path), "%s/s", folder) < sizeof(path));
	require(mkdir(path, 0700) == 0);
	snprintf(file, sizeof(file), "%s/0000000000000000.rows", path);
	snprintf(damaged, sizeof(damaged), "%s/0000000000000000.damaged", path);
	atexit(leave);
}

static void fill_in_checksum(char *bytes, size_t size)
{
	char *mark = memmem(bytes, size, UNKNOWN, strlen(UNKNOWN)), digits[32];
	uint64_t sum;

	if (mark == NULL)
		return;
	sum = checksum_add(CHECKSUM_START, bytes, (size_t)(mark - bytes));
	if ((size_t)(mark - bytes) + strlen(UNKNOWN) + 1 <= size)
		sum = checksum_add(sum, mark + strlen(UNKNOWN) + 1,
			size - (size_t)(mark - bytes) - strlen(UNKNOWN) - 1);
	snprintf(digits, sizeof(digits), "%016" PRIx64, sum);
	memcpy(mark + strlen("checksum="), digits, 16);
}

static void write_file(const uint8_t *data, size_t size)
{
	char *bytes = malloc(size + 1);
	FILE *stream = fopen(file, "w");

	require(bytes != NULL && stream != NULL);
	memcpy(bytes, data, size);
	fill_in_checksum(bytes, size);
	require(fwrite(bytes, 1, size, stream) == size);
	fclose(stream);
	free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct spool_position position = {path, 1 << 20, "flows csv", "tcp://a:1"};
	struct spool_found found;
	struct spool_segment segment;
	char why[SPOOL_WHY_MAX];
	struct spool *spool;

	make_names();
	write_file(data, size);
	spool = spool_open(&position, &found, why);
	if (spool == NULL) {
		require(why[0] != '\0' && access(file, F_OK) == 0);
		unlink(file);
		return 0;
	}
	switch (spool_oldest(spool, &segment)) {
	case SPOOL_EMPTY: require(found.damaged == 1); break;
	case SPOOL_SEGMENT:
		require(segment.rows == found.rows);
		require(segment.text.len + segment.header.len < size);
		text_free(&segment.header);
		text_free(&segment.text);
		spool_done(spool);
		break;
	case SPOOL_DAMAGED: require(segment.rows == found.rows); break;
	case SPOOL_UNREADABLE: abort();
	}
	require(spool_rows(spool) == 0 && access(file, F_OK) != 0);
	unlink(damaged);
	spool_close(spool);
	return 0;
}
