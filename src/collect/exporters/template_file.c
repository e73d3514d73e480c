/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/template_file.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/random.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "base/units.h"

#define FIRST_LINE "sketchtap-templates 1"
#define SET_MAX    65535
#define NEW_DIGITS 16
#define APART_NS   (10 * SECOND_NS)
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

static bool read_protocol(const char *word, enum flow_protocol *protocol)
{
	for (uint32_t i = 0; i < FLOW_PROTOCOL_COUNT; i++) {
		if (strcmp(word, flow_protocols[i]->name) == 0) {
			*protocol = (enum flow_protocol)i;
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

static bool read_line(char *line, struct template_file_entry *entry, uint8_t *set)
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

struct template_file_reading {
	FILE *file;
	char line[TEXT_MAX];
	uint8_t set[SET_MAX];
};

/* Returns false at the end of the file. A line that is too long or contains NUL becomes empty. */
static bool next_line(struct template_file_reading *reading)
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

static int open_own(const char *path, FILE **file)
{
	struct file_entry entry;
	int status = file_entry_find(&entry, path);

	if (status != 0)
		return status == FILE_LINK_TO_NOTHING ? ENOENT : status;
	status = !entry.exists ? ENOENT : file_entry_check_own(&entry);
	if (status == 0) {
		*file = regular_file_text(file_folder_file(entry.folder, entry.name, O_RDONLY, 0));
		status = *file == NULL ? errno : 0;
	}
	file_entry_close(&entry);
	return status;
}

int template_file_read(const char *path,
	bool (*take)(void *arg, const struct template_file_entry *entry), void *arg,
	uint64_t *damaged)
{
	struct template_file_reading *reading = malloc(sizeof(*reading));
	struct template_file_entry entry;
	bool other = false;
	uint64_t taken = 0;
	int status = 0;

	*damaged = 0;
	if (reading == NULL)
		return ENOMEM;
	status = open_own(path, &reading->file);
	if (status != 0) {
		free(reading);
		return status;
	}
	if (next_line(reading) && strcmp(reading->line, FIRST_LINE) != 0) {
		/* A file that was truncated in its first line contains only a part of it. */
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
	struct file_entry entry;
	char new_name[NAME_MAX + 1];
	char line[TEXT_MAX];
};

static int find_own(const char *path, struct file_entry *entry)
{
	int status = file_entry_find(entry, path);

	if (status != 0)
		return status == FILE_LINK_TO_NOTHING ? EINVAL : status;
	status = file_entry_check_own(entry);
	if (status == 0 && strlen(entry->name) + NEW_DIGITS + 1 > NAME_MAX)
		status = ENAMETOOLONG;
	if (status != 0)
		file_entry_close(entry);
	return status;
}

int template_file_check(const char *path)
{
	struct file_entry entry;
	int status = find_own(path, &entry);

	if (status != 0)
		return status;
	if (faccessat(entry.folder, ".", W_OK | X_OK, AT_EACCESS) != 0)
		status = errno;
	file_entry_close(&entry);
	return status;
}

/* Uses a temporary name in the same directory. */
static int create_new(struct template_writer *writer)
{
	uint64_t number;
	int fd = -1;

	do {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -1;
		snprintf(writer->new_name, sizeof(writer->new_name), "%.*s.%0*" PRIx64,
			NAME_MAX - NEW_DIGITS - 1, writer->entry.name, NEW_DIGITS, number);
		fd = openat(writer->entry.folder, writer->new_name,
			O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	} while (fd < 0 && errno == EEXIST);
	return fd;
}

int template_file_begin(struct template_writer **writer, const char *path)
{
	struct template_writer *new = malloc(sizeof(*new));
	int status, fd;

	*writer = NULL;
	if (new == NULL)
		return ENOMEM;
	status = find_own(path, &new->entry);
	if (status == 0) {
		fd = create_new(new);
		new->file = fd < 0 ? NULL : fdopen(fd, "w");
		if (new->file == NULL) {
			status = errno;
			if (fd >= 0) {
				close(fd);
				unlinkat(new->entry.folder, new->new_name, 0);
			}
			file_entry_close(&new->entry);
		}
	}
	if (status != 0) {
		free(new);
		return status;
	}
	fputs(FIRST_LINE "\n", new->file);
	*writer = new;
	return 0;
}

void template_file_put(struct template_writer *writer, const struct template_file_entry *entry)
{
	static const char digits[] = "0123456789abcdef";
	char address[INET6_ADDRSTRLEN];
	char *to;

	if (entry->len > SET_MAX)
		return;
	inet_ntop(AF_INET6, &entry->id.address, address, sizeof(address));
	to = writer->line + snprintf(writer->line, sizeof(writer->line), "%s %s %u %" PRId64 " ",
				    flow_protocols[entry->id.protocol]->name, address,
				    entry->id.domain, entry->started);
	for (uint32_t i = 0; i < entry->len; i++) {
		*to++ = digits[entry->set[i] >> 4];
		*to++ = digits[entry->set[i] & 15];
	}
	*to = '\0';
	fprintf(writer->file, "%s %016" PRIx64 "\n", writer->line,
		checksum(writer->line, (size_t)(to - writer->line)));
}

/* Syncs the directory, which stores the name. Errors are ignored: the file itself is complete. */
static void sync_folder(int folder)
{
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

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
	/* In a directory such as /tmp, another user may have created the file since. */
	writer->entry.exists = fstatat(writer->entry.folder, writer->entry.name,
				       &writer->entry.status, AT_SYMLINK_NOFOLLOW) == 0;
	if (status == 0)
		status = file_entry_check_own(&writer->entry);
	if (status == 0 && renameat(writer->entry.folder, writer->new_name, writer->entry.folder,
				   writer->entry.name) != 0)
		status = errno;
	if (status != 0)
		unlinkat(writer->entry.folder, writer->new_name, 0);
	else
		sync_folder(writer->entry.folder);
	file_entry_close(&writer->entry);
	free(writer);
	return status;
}

/* Not larger than a template without its set, so that the copy fits in template_bytes. */
struct set_copy {
	struct exporter_id id;
	uint32_t len;
	int64_t started;
};

struct template_saver {
	const char *path;
	pthread_t thread;
	/*
	 * The decoder passes these fields to the thread with `work`, and the thread returns them
	 * with `done`. The semaphores order the memory accesses.
	 */
	sem_t work, done;
	bool ending;
	bool overfull;
	int status;
	size_t used, room;
	uint8_t *copy;

	/* The following fields are used by the decoder only. */
	bool saving, saved;
	int64_t saved_at;
	int known_status;
};

size_t template_saver_memory(size_t template_bytes)
{
	return sizeof(struct template_saver) + template_bytes;
}

/* Continues to wait after a signal. */
static void await(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0 && errno == EINTR)
		;
}

static void write_sets(const struct template_saver *saver, struct template_writer *writer)
{
	const uint8_t *end = saver->copy + saver->used;
	struct set_copy set;

	for (const uint8_t *at = saver->copy; at < end; at += set.len) {
		struct template_file_entry entry;

		memcpy(&set, at, sizeof(set));
		at += sizeof(set);
		entry = (struct template_file_entry){set.id, set.started, at, set.len};
		template_file_put(writer, &entry);
	}
}

static int write_file(const struct template_saver *saver)
{
	struct template_writer *writer;
	int status = saver->overfull ? ENOBUFS : template_file_begin(&writer, saver->path);

	if (status != 0)
		return status;
	write_sets(saver, writer);
	return template_file_end(writer);
}

static void *save_copies(void *arg)
{
	struct template_saver *saver = arg;

	for (;;) {
		await(&saver->work);
		if (saver->ending)
			return NULL;
		saver->status = write_file(saver);
		sem_post(&saver->done);
	}
}

static void free_saver(struct template_saver *saver)
{
	sem_destroy(&saver->work);
	sem_destroy(&saver->done);
	free(saver->copy);
	free(saver);
}

int template_saver_start(struct template_saver **saver, const char *path, size_t template_bytes)
{
	struct template_saver *new = calloc(1, sizeof(*new));
	int status;

	*saver = NULL;
	if (new == NULL)
		return ENOMEM;
	new->path = path;
	new->room = template_bytes;
	/* the kernel allocates pages only when they are written */
	new->copy = malloc(template_bytes);
	sem_init(&new->work, 0, 0);
	sem_init(&new->done, 0, 0);
	status = new->copy == NULL ? ENOMEM : signals_start_thread(&new->thread, save_copies, new);
	if (status != 0)
		free_saver(new);
	else
		*saver = new;
	return status;
}

static void note_done(struct template_saver *saver)
{
	saver->saving = false;
	saver->known_status = saver->status;
}

void template_saver_wait(struct template_saver *saver)
{
	if (!saver->saving)
		return;
	await(&saver->done);
	note_done(saver);
}

void template_saver_stop(struct template_saver *saver)
{
	if (saver == NULL)
		return;
	template_saver_wait(saver);
	saver->ending = true;
	sem_post(&saver->work);
	pthread_join(saver->thread, NULL);
	free_saver(saver);
}

/* Returns false if the clock was set back since the last write. */
static bool saved_just_now(const struct template_saver *saver, int64_t now)
{
	return saver->saved && now >= saver->saved_at && now - saver->saved_at < APART_NS;
}

bool template_saver_is_due(struct template_saver *saver, bool changed, int64_t now)
{
	if (saver->saving && sem_trywait(&saver->done) == 0)
		note_done(saver);
	if (saver->saving)
		return false;
	return (saver->known_status != 0 || changed) && !saved_just_now(saver, now);
}

void template_saver_clear(struct template_saver *saver)
{
	saver->used = 0;
	saver->overfull = false;
}

void template_saver_put(struct template_saver *saver, const struct template_file_entry *entry)
{
	const struct set_copy set = {entry->id, entry->len, entry->started};
	uint8_t *at = saver->copy + saver->used;

	if (sizeof(set) + entry->len > saver->room - saver->used) {
		saver->overfull = true;
		return;
	}
	memcpy(at, &set, sizeof(set));
	memcpy(at + sizeof(set), entry->set, entry->len);
	saver->used += sizeof(set) + entry->len;
}

void template_saver_save(struct template_saver *saver, int64_t now)
{
	saver->saving = saver->saved = true;
	saver->saved_at = now;
	sem_post(&saver->work);
}

int template_saver_status(const struct template_saver *saver)
{
	return saver->known_status;
}
