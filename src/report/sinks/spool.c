/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/assertion.h"
#include "base/checksum.h"
#include "base/printable.h"
#include "base/regular_file.h"

#define VERSION        1
#define FIRST_LINE     "sketchtap spool %u %s rows=%" PRIu64 " start=%" PRId64 " header=%zu bytes=%zu "
#define CHECKSUM       "checksum=%016" PRIx64 "\n"
#define LINE_MAX_BYTES 256
#define NAME_FORMAT    "%016" PRIx64
#define NAME_DIGITS    16
#define WHAT_MAX       64
#define FILE_MODE      0600 /* rows contain personal data */
#define URL_FILE       "url"
#define LOCK_FILE      "lock"
#define URL_MAX        4096
#define BLOCK          4096 /* bytes; unit of disk space */

struct segment_file {
	struct segment_file *next;
	uint64_t number, rows, bytes; /* bytes: disk space */
	int64_t start;
	/* the segment, if it is kept in memory; NULL: it is in a file */
	struct spool_segment *held;
};

struct spool {
	char *folder;
	int fd, lock_fd;
	uint64_t size;
	char what[WHAT_MAX];
	uint64_t next; /* number that the next segment will get */

	pthread_mutex_t lock; /* protects the following fields */
	struct segment_file *first, *last;

	/* Written by both threads, read by any. */
	_Atomic uint64_t bytes, rows; /* sums over all segments */
	_Atomic uint64_t damaged;     /* disk space of damaged files; not part of `bytes` */
};

struct first_line {
	uint32_t version;
	char what[WHAT_MAX];
	uint64_t rows, checksum;
	int64_t start;
	size_t header, bytes; /* bytes of the header and of the rows after this line */
	size_t line;          /* bytes of this line */
	size_t unsummed;      /* bytes of this line up to the checksum */
};

static bool read_first_line(const char *text, size_t len, struct first_line *line)
{
	const char *newline = memchr(text, '\n', len);
	char copy[LINE_MAX_BYTES], kind[WHAT_MAX / 2], format[WHAT_MAX / 2];
	int at = 0;

	*line = (struct first_line){0};
	if (newline == NULL || newline - text >= LINE_MAX_BYTES)
		return false;
	line->line = (size_t)(newline - text) + 1;
	snprintf(copy, sizeof(copy), "%.*s", (int)line->line - 1, text);
	if (sscanf(copy, "sketchtap spool %" SCNu32, &line->version) != 1)
		return false;
	if (line->version != VERSION)
		return true;
	if (sscanf(copy,
		    "sketchtap spool %*u %31s %31s rows=%" SCNu64 " start=%" SCNd64
		    " header=%zu bytes=%zu %nchecksum=%" SCNx64,
		    kind, format, &line->rows, &line->start, &line->header, &line->bytes, &at,
		    &line->checksum) != 7)
		return false;
	snprintf(line->what, sizeof(line->what), "%s %s", kind, format);
	line->unsummed = (size_t)at;
	return true;
}

/* Each row must have at least one byte. */
static bool is_whole(const struct first_line *line, uint64_t len)
{
	return line->header <= len && line->bytes <= len &&
	       line->line + line->header + line->bytes == len && line->rows <= line->bytes;
}

static uint64_t sum_of(
	const char *line, size_t len, const struct text *header, const struct text *text)
{
	uint64_t sum = checksum_add(CHECKSUM_START, line, len);

	sum = checksum_add(sum, header->data, header->len);
	return checksum_add(sum, text->data, text->len);
}

static uint64_t on_disk(uint64_t bytes)
{
	return (bytes + BLOCK - 1) / BLOCK * BLOCK;
}

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return false;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
	return true;
}

static void name_of(uint64_t number, const char *ending, char name[64])
{
	snprintf(name, 64, NAME_FORMAT ".%s", number, ending);
}

/* Returns 0, or an errno after removing the file. */
static int write_segment(
	struct spool *spool, const struct spool_segment *segment, const char *line, size_t len)
{
	char part[64], name[64];
	int fd, error = 0;

	name_of(spool->next, "part", part);
	name_of(spool->next, "rows", name);
	unlinkat(spool->fd, part, 0); /* left by a failed write */
	fd = file_folder_file(spool->fd, part, O_WRONLY | O_CREAT | O_EXCL, FILE_MODE);
	if (fd < 0)
		return errno;
	if (!write_all(fd, line, len) ||
		!write_all(fd, segment->header.data, segment->header.len) ||
		!write_all(fd, segment->text.data, segment->text.len) || fdatasync(fd) != 0)
		error = errno;
	if (close(fd) != 0 && error == 0)
		error = errno;
	if (error == 0 && renameat(spool->fd, part, spool->fd, name) != 0)
		error = errno;
	if (error != 0)
		unlinkat(spool->fd, part, 0);
	else
		(void)fsync(spool->fd);
	return error;
}

static int open_file(const struct spool *spool, const char *name, struct stat *st)
{
	int fd = file_folder_file(spool->fd, name, O_RDONLY, 0);

	if (fd >= 0)
		fstat(fd, st);
	return fd;
}

/* Returns memory from malloc(), or NULL with errno. */
static char *read_file(const struct spool *spool, const char *name, size_t *len)
{
	struct stat st = {0};
	int fd = open_file(spool, name, &st), error = 0;
	char *bytes = fd >= 0 ? malloc((size_t)st.st_size + 1) : NULL;
	ssize_t n = 1;

	*len = 0;
	if (bytes == NULL)
		error = errno;
	while (error == 0 && n != 0 && *len < (size_t)st.st_size) {
		n = read(fd, bytes + *len, (size_t)st.st_size - *len);
		if (n < 0 && errno != EINTR)
			error = errno;
		*len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	if (error == 0)
		return bytes;
	free(bytes);
	errno = error;
	return NULL;
}

static enum spool_result read_segment(
	const struct spool *spool, const struct segment_file *file, struct spool_segment *segment)
{
	enum spool_result result = SPOOL_DAMAGED;
	struct first_line line;
	char name[64], *bytes;
	size_t len;

	name_of(file->number, "rows", name);
	bytes = read_file(spool, name, &len);
	/* If the file does not exist, another program has deleted it. */
	if (bytes == NULL)
		return errno == ENOENT ? SPOOL_DAMAGED : SPOOL_UNREADABLE;
	if (read_first_line(bytes, len, &line) && line.version == VERSION && is_whole(&line, len)) {
		text_add(&segment->header, bytes + line.line, line.header);
		text_add(&segment->text, bytes + line.line + line.header, line.bytes);
		segment->rows = line.rows;
		segment->start = line.start;
		if (segment->header.failed || segment->text.failed)
			result = SPOOL_UNREADABLE;
		else if (line.bytes > 0 && segment->text.data[line.bytes - 1] == '\n' &&
			 sum_of(bytes, line.unsummed, &segment->header, &segment->text) ==
				 line.checksum)
			result = SPOOL_SEGMENT;
		errno = ENOMEM;
	}
	free(bytes);
	return result;
}

/* `name` has 16 hexadecimal digits, a dot and an ending. */
static bool ends_in(const char *name, const char *ending)
{
	return strcmp(name + NAME_DIGITS + 1, ending) == 0;
}

static int is_ours(const struct dirent *entry)
{
	const char *digits = "0123456789abcdef", *name = entry->d_name;

	return strspn(name, digits) == NAME_DIGITS && name[NAME_DIGITS] == '.' &&
	       (ends_in(name, "rows") || ends_in(name, "damaged") || ends_in(name, "part"));
}

/* Damaged files are kept for inspection until their space is needed. */

static void count_damaged(struct spool *spool, const char *name, bool add)
{
	struct stat st;
	uint64_t bytes = fstatat(spool->fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0
				 ? on_disk((uint64_t)st.st_size)
				 : 0;

	if (add)
		spool->damaged += bytes;
	else
		spool->damaged -= bytes < spool->damaged ? bytes : spool->damaged;
}

static void set_aside(struct spool *spool, uint64_t number)
{
	char name[64], damaged[64];

	name_of(number, "rows", name);
	name_of(number, "damaged", damaged);
	if (renameat(spool->fd, name, spool->fd, damaged) == 0)
		count_damaged(spool, damaged, true);
}

static bool remove_oldest_damaged(struct spool *spool)
{
	struct dirent **entries;
	int n = scandirat(spool->fd, ".", &entries, is_ours, alphasort);
	bool removed = false;

	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;

		if (!removed && ends_in(name, "damaged")) {
			count_damaged(spool, name, false);
			removed = unlinkat(spool->fd, name, 0) == 0;
		}
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	if (!removed)
		spool->damaged = 0; /* other programs have deleted the damaged files */
	return removed;
}

static struct segment_file *add_last(struct spool *spool, const struct segment_file *file)
{
	struct segment_file *added = malloc(sizeof(*added));

	if (added == NULL)
		return NULL;
	*added = *file;
	added->next = NULL;
	pthread_mutex_lock(&spool->lock);
	if (spool->first == NULL)
		spool->first = added;
	else
		spool->last->next = added;
	spool->last = added;
	spool->bytes += added->bytes;
	spool->rows += added->rows;
	pthread_mutex_unlock(&spool->lock);
	return added;
}

static void free_file(struct segment_file *file)
{
	if (file->held != NULL) {
		text_free(&file->held->header);
		text_free(&file->held->text);
		free(file->held);
	}
	free(file);
}

static struct segment_file *remove_first(struct spool *spool)
{
	struct segment_file *file;

	pthread_mutex_lock(&spool->lock);
	file = spool->first;
	VERIFY(file, !=, NULL);
	spool->first = file->next;
	if (spool->first == NULL)
		spool->last = NULL;
	VERIFY(spool->bytes, >=, file->bytes);
	VERIFY(spool->rows, >=, file->rows);
	spool->bytes -= file->bytes;
	spool->rows -= file->rows;
	pthread_mutex_unlock(&spool->lock);
	return file;
}

static bool add_text(struct text *to, const struct text *from)
{
	text_add(to, from->data, from->len);
	return !to->failed;
}

/* Keeps a segment in memory. Returns false if another segment waits, or if out of memory. */
static bool open_segment(struct spool *spool, const struct spool_segment *segment)
{
	struct segment_file file = {.rows = segment->rows};

	if (spool_oldest_start(spool, &file.start))
		return false;
	file.start = segment->start;
	file.held = calloc(1, sizeof(*file.held));
	if (file.held == NULL)
		return false;
	file.held->rows = segment->rows;
	file.held->start = segment->start;
	if (add_text(&file.held->header, &segment->header) &&
		add_text(&file.held->text, &segment->text) && add_last(spool, &file) != NULL)
		return true;
	text_free(&file.held->header);
	text_free(&file.held->text);
	free(file.held);
	return false;
}

static const char *put_on_disk(struct spool *spool, const struct spool_segment *segment)
{
	struct segment_file file = {
		.number = spool->next, .rows = segment->rows, .start = segment->start};
	char line[LINE_MAX_BYTES], name[64];
	int len = snprintf(line, sizeof(line), FIRST_LINE, VERSION, spool->what, segment->rows,
		segment->start, segment->header.len, segment->text.len);
	int error;

	len += snprintf(line + len, sizeof(line) - (size_t)len, CHECKSUM,
		sum_of(line, (size_t)len, &segment->header, &segment->text));
	VERIFY(len, <, LINE_MAX_BYTES);
	file.bytes = on_disk((uint64_t)len + segment->header.len + segment->text.len);
	if (spool->bytes + file.bytes > spool->size)
		return "the spool is full";
	while (spool_bytes(spool) + file.bytes > spool->size && remove_oldest_damaged(spool))
		;
	error = write_segment(spool, segment, line, (size_t)len);
	if (error != 0)
		return strerror(error);
	spool->next++;
	if (add_last(spool, &file) != NULL)
		return NULL;
	name_of(file.number, "rows", name);
	unlinkat(spool->fd, name, 0);
	return strerror(ENOMEM);
}

const char *spool_put(struct spool *spool, const struct spool_segment *segment, const char **why)
{
	*why = put_on_disk(spool, segment);
	return *why == NULL || open_segment(spool, segment) ? NULL : *why;
}

enum spool_result spool_oldest(struct spool *spool, struct spool_segment *segment)
{
	const struct segment_file *file;
	enum spool_result result;

	pthread_mutex_lock(&spool->lock);
	file = spool->first;
	pthread_mutex_unlock(&spool->lock);
	if (file == NULL)
		return SPOOL_EMPTY;
	*segment = (struct spool_segment){.rows = file->rows, .start = file->start};
	if (file->held == NULL) {
		result = read_segment(spool, file, segment);
	} else {
		result = add_text(&segment->header, &file->held->header) &&
					 add_text(&segment->text, &file->held->text)
				 ? SPOOL_SEGMENT
				 : SPOOL_UNREADABLE;
		errno = ENOMEM;
	}
	if (result == SPOOL_SEGMENT)
		return result;
	text_free(&segment->header);
	text_free(&segment->text);
	if (result == SPOOL_UNREADABLE)
		return result;
	segment->rows = file->rows;
	set_aside(spool, file->number);
	free_file(remove_first(spool));
	return result;
}

uint64_t spool_give_up(struct spool *spool)
{
	uint64_t rows;

	if (spool->first == NULL || spool->first->held == NULL)
		return 0;
	rows = spool->first->rows;
	free_file(remove_first(spool));
	return rows;
}

void spool_done(struct spool *spool)
{
	struct segment_file *file = remove_first(spool);
	char name[64];

	name_of(file->number, "rows", name);
	if (file->held == NULL)
		unlinkat(spool->fd, name, 0);
	free_file(file);
}

bool spool_oldest_start(struct spool *spool, int64_t *start)
{
	bool any;

	pthread_mutex_lock(&spool->lock);
	any = spool->first != NULL;
	if (any)
		*start = spool->first->start;
	pthread_mutex_unlock(&spool->lock);
	return any;
}

uint64_t spool_rows(struct spool *spool)
{
	return spool->rows;
}

uint64_t spool_bytes(struct spool *spool)
{
	return spool->bytes + spool->damaged;
}

static const char *reason(int error)
{
	return error == EINVAL ? "not a regular file" : file_error(error);
}

enum spool_check {
	LOOK_GOOD,
	LOOK_DAMAGED,
	LOOK_OTHER, /* rows of another version or kind, or a file that cannot be read */
	LOOK_ASIDE, /* not a waiting segment */
};

/* Does not check the checksum of the rows. */
static enum spool_check check_segment(
	const struct spool *spool, const char *name, struct segment_file *file, char *why)
{
	struct stat st = {0};
	int fd = open_file(spool, name, &st);
	char text[LINE_MAX_BYTES];
	struct first_line line;
	ssize_t len = fd >= 0 ? read(fd, text, sizeof(text)) : -1;

	if (len < 0)
		snprintf(why, SPOOL_WHY_MAX, "cannot read %.40s: %s; fix that, or remove the file",
			name, reason(errno));
	if (fd >= 0)
		close(fd);
	if (len < 0)
		return LOOK_OTHER;
	if (!read_first_line(text, (size_t)len, &line))
		return LOOK_DAMAGED;
	if (line.version != VERSION) {
		snprintf(why, SPOOL_WHY_MAX,
			"has rows of another version of sketchtap (%.40s); send them with that "
			"version, or name another folder",
			name);
		return LOOK_OTHER;
	}
	if (strcmp(line.what, spool->what) != 0) {
		snprintf(why, SPOOL_WHY_MAX,
			"has rows of another kind (%s, not %s); name another folder, or empty it",
			line.what, spool->what);
		return LOOK_OTHER;
	}
	file->start = line.start;
	file->bytes = on_disk((uint64_t)st.st_size);
	file->rows = line.rows <= (uint64_t)st.st_size ? line.rows : 0;
	return is_whole(&line, (uint64_t)st.st_size) ? LOOK_GOOD : LOOK_DAMAGED;
}

/*
 * Deletes incomplete rows of a killed run (part). Counts the disk space of a damaged file, and does
 * not use its number again.
 */
static enum spool_check look_aside(struct spool *spool, const char *name, bool change)
{
	if (change && ends_in(name, "part"))
		unlinkat(spool->fd, name, 0);
	else if (change)
		count_damaged(spool, name, true);
	return LOOK_ASIDE;
}

/*
 * change false: only checks all files, so that a folder that is refused does not change. Otherwise
 * adds the segments to the spool.
 */
static bool look_at_all(struct spool *spool, bool change, struct spool_found *found, char *why)
{
	struct dirent **entries;
	int n = scandirat(spool->fd, ".", &entries, is_ours, alphasort);
	bool good = n >= 0;

	if (!good)
		snprintf(why, SPOOL_WHY_MAX, "%s; name another folder", strerror(errno));
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		struct segment_file file = {.number = strtoull(name, NULL, 16)};
		enum spool_check look = LOOK_OTHER;

		if (good && ends_in(name, "rows"))
			look = check_segment(spool, name, &file, why);
		else if (good)
			look = look_aside(spool, name, change);

		good &= look != LOOK_OTHER;
		found->rows += look == LOOK_GOOD ? file.rows : 0;
		if (good && change && look == LOOK_GOOD)
			good = add_last(spool, &file) != NULL;
		if (good && change && look == LOOK_DAMAGED) {
			set_aside(spool, file.number);
			found->damaged++;
			found->damaged_rows += file.rows;
		}
		if (good && spool->next <= file.number)
			spool->next = file.number + 1;
		free(entries[i]);
	}
	if (n >= 0)
		free(entries);
	return good;
}

/*
 * Returns false if rows wait for another URL than that in the file `url`, or if the file cannot be
 * written.
 */
static bool is_of_place(const struct spool *spool, const char *url, bool waits, char *why)
{
	char said[URL_MAX] = "";
	int fd = file_folder_file(spool->fd, URL_FILE, O_RDWR | O_CREAT, FILE_MODE);
	size_t len = strlen(url);
	bool good = fd >= 0 && read(fd, said, sizeof(said) - 1) >= 0;

	if (good && strcmp(said, url) != 0 && *said != '\0' && waits) {
		make_printable(said);
		snprintf(why, SPOOL_WHY_MAX,
			"has rows for %.200s; name another folder, or remove %.100s/" URL_FILE
			" to send them to this URL",
			said, spool->folder);
		close(fd);
		return false;
	}
	good = good && (strcmp(said, url) == 0 ||
			       (ftruncate(fd, 0) == 0 && pwrite(fd, url, len, 0) == (ssize_t)len &&
				       fsync(fd) == 0));
	if (!good)
		snprintf(why, SPOOL_WHY_MAX,
			"cannot write " URL_FILE ": %s; name a folder that "
			"can be written",
			reason(errno));
	if (fd >= 0)
		close(fd);
	return good;
}

static bool claim(struct spool *spool, char *why)
{
	spool->fd = file_folder_open(spool->folder);
	if (spool->fd >= 0)
		spool->lock_fd =
			file_folder_file(spool->fd, LOCK_FILE, O_RDWR | O_CREAT, FILE_MODE);
	if (spool->lock_fd < 0) {
		snprintf(why, SPOOL_WHY_MAX, "%s%s; name a folder that %s",
			spool->fd >= 0 ? "cannot write " LOCK_FILE ": " : "", reason(errno),
			errno >= FILE_LINK_OF_ANOTHER ? "only this user can write to"
						      : "can be written");
		return false;
	}
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	snprintf(
		why, SPOOL_WHY_MAX, "in use by another run; name another folder, or stop that run");
	return false;
}

struct spool *spool_open(
	const struct spool_position *position, struct spool_found *found, char *why)
{
	struct spool *spool = calloc(1, sizeof(*spool));

	*found = (struct spool_found){0};
	snprintf(why, SPOOL_WHY_MAX, "out of memory");
	if (spool == NULL)
		return NULL;
	spool->fd = spool->lock_fd = -1;
	spool->size = position->size;
	pthread_mutex_init(&spool->lock, NULL);
	snprintf(spool->what, sizeof(spool->what), "%s", position->what);
	spool->folder = strdup(position->folder);
	if (spool->folder != NULL && claim(spool, why) && look_at_all(spool, false, found, why) &&
		is_of_place(spool, position->url, found->rows > 0, why) &&
		look_at_all(spool, true, found, why)) {
		found->rows = spool->rows;
		return spool;
	}
	spool_close(spool);
	return NULL;
}

void spool_close(struct spool *spool)
{
	if (spool == NULL)
		return;
	while (spool->first != NULL)
		free_file(remove_first(spool));
	if (spool->lock_fd >= 0)
		close(spool->lock_fd);
	if (spool->fd >= 0)
		close(spool->fd);
	pthread_mutex_destroy(&spool->lock);
	free(spool->folder);
	free(spool);
}
