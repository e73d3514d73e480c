/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/template_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/random.h"
#include "base/regular_file.h"

#define FIRST_LINE "sketchtap-templates 1"
#define SET_MAX    65535
#define TEXT_MAX   (2 * SET_MAX + 256)

static uint64_t checksum(const char *text, size_t len)
{
	uint64_t sum = checksum_add(CHECKSUM_START, FIRST_LINE, sizeof(FIRST_LINE) - 1);

	return random_mix(checksum_add(sum, text, len));
}

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_hex(const char *text, uint8_t *set, uint32_t *len)
{
	size_t digits = strlen(text);

	if (digits % 2 != 0 || digits / 2 > SET_MAX)
		return false;
	for (size_t i = 0; i < digits / 2; i++) {
		int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		set[i] = (uint8_t)(high << 4 | low);
	}
	*len = (uint32_t)(digits / 2);
	return true;
}

static bool read_protocol(const char *word, enum wire_protocol *protocol)
{
	for (uint32_t i = 0; i < WIRE_PROTOCOL_COUNT; i++) {
		if (strcmp(word, wire_protocol_names[i]) == 0) {
			*protocol = (enum wire_protocol)i;
			return true;
		}
	}
	return false;
}

static bool read_checksum(char *line)
{
	char *last = strrchr(line, ' ');
	char wanted[20];

	if (last == NULL)
		return false;
	snprintf(wanted, sizeof(wanted), "%016" PRIx64, checksum(line, (size_t)(last - line)));
	*last = '\0';
	return strcmp(last + 1, wanted) == 0;
}

/* A line without its end; its words are cut apart. */
static bool read_line(char *line, struct template_entry *entry, uint8_t *set)
{
	char *words[5], *rest = line, *end;
	unsigned long domain;

	if (!read_checksum(line))
		return false;
	for (int i = 0; i < 5; i++)
		words[i] = strsep(&rest, " ");
	if (rest != NULL || words[4] == NULL || !read_protocol(words[0], &entry->id.protocol) ||
		inet_pton(AF_INET6, words[1], &entry->id.address) != 1)
		return false;
	domain = strtoul(words[2], &end, 10);
	if (*end != '\0' || domain > UINT32_MAX)
		return false;
	entry->id.domain = (uint32_t)domain;
	entry->started = strtoll(words[3], &end, 10);
	entry->set = set;
	return *end == '\0' && read_hex(words[4], set, &entry->len);
}

struct reading {
	FILE *file;
	char line[TEXT_MAX];
	uint8_t set[SET_MAX];
};

/* False at the end. A line that is too long is cut to an empty one; so is one with a zero in it. */
static bool next_line(struct reading *reading)
{
	size_t len = 0;
	bool spoilt = false;
	int c;

	while ((c = getc_unlocked(reading->file)) != EOF && c != '\n') {
		if (c == '\0' || len == sizeof(reading->line) - 1)
			spoilt = true;
		else
			reading->line[len++] = (char)c;
	}
	reading->line[spoilt ? 0 : len] = '\0';
	return c != EOF || len > 0 || spoilt;
}

int template_file_read(const char *path,
	bool (*take)(void *arg, const struct template_entry *entry), void *arg, uint64_t *damaged)
{
	struct reading *reading = malloc(sizeof(*reading));
	struct template_entry entry;
	bool other = false;
	uint64_t taken = 0;
	int status = 0;

	*damaged = 0;
	if (reading == NULL)
		return ENOMEM;
	reading->file = regular_file_open(path);
	if (reading->file == NULL) {
		status = errno != 0 ? errno : EINVAL;
		free(reading);
		return status;
	}
	if (next_line(reading) && strcmp(reading->line, FIRST_LINE) != 0) {
		/* One that was cut within the line had nothing else. */
		other = reading->line[0] == '\0' ||
			strncmp(FIRST_LINE, reading->line, strlen(reading->line)) != 0;
		++*damaged;
	}
	while (next_line(reading)) {
		bool whole = read_line(reading->line, &entry, reading->set);

		taken += whole;
		if (!whole || !take(arg, &entry))
			++*damaged;
	}
	if (ferror(reading->file))
		status = EIO;
	else if (other && taken == 0)
		status = EBADMSG;
	fclose(reading->file);
	free(reading);
	return status;
}

struct template_writer {
	FILE *file;
	char path[PATH_MAX], new_path[PATH_MAX];
	char line[TEXT_MAX];
};

/* While it is written it has another name, beside its own. */
static bool name_new(const char *path, char *new_path)
{
	return snprintf(new_path, PATH_MAX, "%s.new", path) < PATH_MAX;
}

/* A device or a directory of that name is not to be replaced by a file. */
static int check_place(const char *path)
{
	struct stat status;

	if (lstat(path, &status) != 0)
		return errno == ENOENT ? 0 : errno;
	return S_ISREG(status.st_mode) ? 0 : EINVAL;
}

static int check_rights(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0 ? 0 : errno;
}

int template_file_check(const char *path)
{
	char new_path[PATH_MAX], beside[PATH_MAX];
	int status;

	if (!name_new(path, new_path))
		return ENAMETOOLONG;
	memcpy(beside, path, strlen(path) + 1);
	status = check_place(path);
	if (status == 0)
		status = check_place(new_path);
	if (status == 0)
		status = check_rights(dirname(beside), W_OK | X_OK);
	if (status != 0)
		return status;
	status = check_rights(new_path, W_OK);
	return status == ENOENT ? 0 : status;
}

int template_file_begin(struct template_writer **writer, const char *path)
{
	struct template_writer *new = malloc(sizeof(*new));
	int status, fd;

	*writer = NULL;
	if (new == NULL)
		return ENOMEM;
	if (name_new(path, new->new_path)) {
		memcpy(new->path, path, strlen(path) + 1);
		status = check_place(path);
	} else {
		status = ENAMETOOLONG;
	}
	if (status == 0) {
		fd = open(new->new_path,
			O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
		new->file = fd < 0 ? NULL : fdopen(fd, "w");
		status = new->file == NULL ? errno : 0;
		if (new->file == NULL && fd >= 0)
			close(fd);
	}
	if (status != 0) {
		free(new);
		return status;
	}
	fputs(FIRST_LINE "\n", new->file);
	*writer = new;
	return 0;
}

void template_file_put(struct template_writer *writer, const struct template_entry *entry)
{
	static const char digits[] = "0123456789abcdef";
	char address[INET6_ADDRSTRLEN];
	char *to;

	if (entry->len > SET_MAX)
		return;
	inet_ntop(AF_INET6, &entry->id.address, address, sizeof(address));
	to = writer->line + snprintf(writer->line, sizeof(writer->line), "%s %s %u %" PRId64 " ",
				    wire_protocol_names[entry->id.protocol], address,
				    entry->id.domain, entry->started);
	for (uint32_t i = 0; i < entry->len; i++) {
		*to++ = digits[entry->set[i] >> 4];
		*to++ = digits[entry->set[i] & 15];
	}
	*to = '\0';
	fprintf(writer->file, "%s %016" PRIx64 "\n", writer->line,
		checksum(writer->line, (size_t)(to - writer->line)));
}

/* The name is on the disk when its directory is; where that cannot be, the file is there anyway. */
static void sync_directory(char *path)
{
	int fd = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return;
	fsync(fd);
	close(fd);
}

int template_file_end(struct template_writer *writer)
{
	int status = 0;

	if (ferror(writer->file) || fflush(writer->file) != 0 || fsync(fileno(writer->file)) != 0)
		status = errno != 0 ? errno : EIO;
	if (fclose(writer->file) != 0 && status == 0)
		status = errno;
	if (status == 0 && rename(writer->new_path, writer->path) != 0)
		status = errno;
	if (status != 0)
		unlink(writer->new_path);
	else
		sync_directory(writer->path);
	free(writer);
	return status;
}
