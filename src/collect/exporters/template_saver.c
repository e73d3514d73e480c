/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/template_saver.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "base/signals.h"
#include "base/units.h"

#define APART_NS (10 * SECOND_NS)

/* Header of a set in a copy. At most the size of a template without its set. */
struct set_copy {
	struct exporter_id id;
	uint32_t len;
	int64_t started;
};

struct template_saver {
	const char *path;
	pthread_t thread;
	/*
	 * The thread owns the following from a post of `work` until its post of `done`; otherwise
	 * the decoder owns it. The semaphores order memory accesses.
	 */
	sem_t work, done;
	bool ending;
	bool overfull; /* the copy is incomplete */
	int status;
	size_t used, room;
	uint8_t *copy;

	/* Used by the decoder only. */
	bool saving, saved;
	int64_t saved_at;
	int known_status;
};

size_t template_saver_memory(size_t template_bytes)
{
	return sizeof(struct template_saver) + template_bytes;
}

/* --- the thread --- */

/* Waits for a semaphore: the thread for a copy or the end, the decoder for the file. */
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

/* --- the decoder --- */

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
	new->copy = malloc(template_bytes); /* untouched memory is not allocated */
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

/* Setting the clock back ends the ten seconds. */
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
