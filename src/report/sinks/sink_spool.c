/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/sink_spool.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "report/formats/format.h"

struct sink_spool {
	struct sink *remote;
	struct spool *spool;
	pthread_t thread;
	bool runs; /* there is such a thread */
	/* By the outlet's thread: */
	struct spool_segment segment;
	struct log_ratelimit_state holds, loses; /* one interval at a time, in memory; rows */
	uint64_t lost;                           /* rows, since it was said how many */
	/* By the thread that sends: */
	struct delivery fates; /* of the segment's rows, until it is done */
	struct text header;    /* that connections begin with now */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work;  /* one was set */
	bool put, ended;      /* something since it was looked at; nothing more comes */
};

static void publish_spooled(struct sink_spool *spooled)
{
	struct delivery *account = &spooled->remote->delivery;

	atomic_store(&account->spooled, spool_rows(spooled->spool));
	atomic_store(&account->spool_bytes, spool_bytes(spooled->spool));
}

/* --- By the thread that sends */

/* Moves what the place said of the segment's rows to the account. */
static void settle_rows(struct sink_spool *spooled)
{
	struct delivery *account = &spooled->remote->delivery, *fates = &spooled->fates;

	delivery_count(&account->delivered, fates->delivered);
	delivery_count(&account->acknowledged, fates->acknowledged);
	delivery_count(&account->failed, fates->failed);
	delivery_count(&account->unknown, fates->unknown);
	publish_spooled(spooled);
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* What begins connections is what the segment's rows need. */
static void suit_header(struct sink_spool *spooled, struct spool_segment *segment)
{
	struct sink *remote = spooled->remote;

	if (same_text(&remote->header, &segment->header))
		return;
	text_free(&remote->header);
	remote->header = segment->header;
	segment->header = (struct text){0};
	if (remote->scheme->ops.reopen != NULL)
		remote->scheme->ops.reopen(remote);
}

static void send_segment(struct sink_spool *spooled, struct spool_segment *segment)
{
	struct sink *remote = spooled->remote;

	suit_header(spooled, segment);
	text_free(&remote->text);
	remote->text = segment->text;
	segment->text = (struct text){0};
	memset(&spooled->fates, 0, sizeof(spooled->fates));
	remote->scheme->bring(remote, segment->rows);
	/* What was left at the end of the run waits for the next one. */
	if (!remote->left) {
		spool_done(spooled->spool);
		settle_rows(spooled);
	}
	text_free(&segment->header);
}

static void warn_damaged(struct sink_spool *spooled, uint64_t rows)
{
	sink_say(spooled->remote, true,
		"a file of its spool is damaged and stays as .damaged; %llu rows are lost",
		(unsigned long long)rows);
	delivery_count(&spooled->remote->delivery.failed, rows);
	spooled->remote->told_failed += rows;
	publish_spooled(spooled);
}

/* It is tried again with the next rows, and by the next run. */
static void warn_unreadable(struct sink_spool *spooled, int error)
{
	char why[128];

	snprintf(why, sizeof(why), "a file of its spool cannot be read: %s", file_error(error));
	sink_say_waits(spooled->remote, why);
}

static void send_all(struct sink_spool *spooled)
{
	struct spool_segment segment;
	enum spool_result result;

	while (!spooled->remote->left &&
		(result = spool_oldest(spooled->spool, &segment)) != SPOOL_EMPTY) {
		if (result == SPOOL_UNREADABLE) {
			warn_unreadable(spooled, errno);
			return;
		}
		if (result == SPOOL_SEGMENT)
			send_segment(spooled, &segment);
		else
			warn_damaged(spooled, segment.rows);
	}
}

/* Returns false at the end. */
static bool wait_for_work(struct sink_spool *spooled)
{
	bool more;

	pthread_mutex_lock(&spooled->lock);
	while (!spooled->put && !spooled->ended)
		pthread_cond_wait(&spooled->work, &spooled->lock); /* idle */
	more = spooled->put;
	spooled->put = false;
	pthread_mutex_unlock(&spooled->lock);
	return more;
}

static void *sender_main(void *arg)
{
	struct sink_spool *spooled = arg;
	struct sink *remote = spooled->remote;

	if (remote->scheme->ops.begin != NULL)
		remote->scheme->ops.begin(remote);
	do {
		if (sink_roused(remote) && remote->scheme->ops.reopen != NULL)
			remote->scheme->ops.reopen(remote);
		send_all(spooled);
	} while (wait_for_work(spooled));
	return NULL;
}

/* --- By the outlet's thread */

static void rouse(struct sink_spool *spooled, bool end)
{
	pthread_mutex_lock(&spooled->lock);
	spooled->put = true;
	spooled->ended |= end;
	pthread_cond_signal(&spooled->work);
	pthread_mutex_unlock(&spooled->lock);
}

static void begin(void *arg)
{
	struct sink_spool *spooled = arg;

	spooled->runs = signals_start_thread(&spooled->thread, sender_main, spooled) == 0;
	if (!spooled->runs)
		sink_say(spooled->remote, true,
			"no thread for it; its rows stay in the spool for the next run");
}

static void log_takes(struct sink_spool *spooled)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);
	bool held = log_ratelimit_ends(&spooled->holds, now),
	     lost = log_ratelimit_ends(&spooled->loses, now);

	if (!held && !lost)
		return;
	sink_say(spooled->remote, false, "the spool takes rows again; %llu were lost",
		(unsigned long long)spooled->lost);
	spooled->lost = 0;
}

static void log_state(struct sink_spool *spooled, const char *why, uint64_t lost)
{
	spooled->lost += lost;
	if (lost > 0)
		sink_warn(
			spooled->remote, &spooled->loses, why, "rows are lost until it takes some");
	else if (why == NULL)
		log_takes(spooled);
	else if (!log_ratelimit_goes_on(&spooled->loses))
		sink_warn(spooled->remote, &spooled->holds, why,
			"rows are sent without it, one interval at a time");
}

static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_spool *spooled = arg;
	struct sink *remote = spooled->remote;
	const char *why, *lost;
	uint64_t rows = sink_format(remote, epoch, &spooled->segment.text);

	if (rows == 0)
		return;
	spooled->segment.rows = rows;
	spooled->segment.start = epoch->start;
	lost = spool_put(spooled->spool, &spooled->segment, &why);
	log_state(spooled, why, lost != NULL ? rows : 0);
	if (lost != NULL) {
		delivery_count(&remote->delivery.dropped, rows);
		remote->dropped += rows;
		return;
	}
	publish_spooled(spooled);
	rouse(spooled, false);
}

static void reopen(void *arg)
{
	struct sink_spool *spooled = arg;

	atomic_store(&spooled->remote->roused, true);
	rouse(spooled, false);
}

static void end(void *arg)
{
	struct sink_spool *spooled = arg;
	struct sink *remote = spooled->remote;
	uint64_t rows;

	rouse(spooled, true);
	if (spooled->runs)
		pthread_join(spooled->thread, NULL); /* sink_queue_gives_up() limits its sending */
	/* What was delivered is not on the disk any more. */
	if (remote->scheme->ops.end != NULL)
		remote->scheme->ops.end(remote);
	rows = spool_give_up(spooled->spool);
	if (rows > 0) {
		sink_say(remote, true, "%llu rows that the spool could not take are lost",
			(unsigned long long)rows);
		delivery_count(&remote->delivery.failed, rows);
	}
	rows = spool_rows(spooled->spool);
	publish_spooled(spooled);
	if (rows > 0)
		sink_say(remote, false, "%llu rows stay in the spool for the next run",
			(unsigned long long)rows);
}

const struct sink_queue_ops sink_spool_ops = {
	.begin = begin,
	.write = write_report,
	.reopen = reopen,
	.end = end,
};

/* --- Life */

bool sink_spool_open(struct sink *remote, const char *url, const struct sink_options *options,
	char *why, struct spool_found *found)
{
	struct sink_spool *spooled = calloc(1, sizeof(*spooled));
	char *folder = strndup(options->spool.text, options->spool.folder_len), what[64];
	const struct spool_position place = {folder, options->spool.size, what, url};

	snprintf(what, sizeof(what), "%s %s", output_word(remote->kind),
		format_name(remote->format));
	snprintf(why, SPOOL_WHY_MAX, "there is no memory for it");
	if (spooled != NULL && folder != NULL)
		spooled->spool = spool_open(&place, found, why);
	free(folder);
	if (spooled == NULL || spooled->spool == NULL ||
		!sink_copy_header(remote, &spooled->segment.header)) {
		if (spooled != NULL)
			spool_close(spooled->spool);
		free(spooled);
		return false;
	}
	pthread_mutex_init(&spooled->lock, NULL);
	pthread_cond_init(&spooled->work, NULL);
	spooled->remote = remote;
	remote->fates = &spooled->fates;
	remote->spooled = spooled;
	remote->delivery.rows = found->rows + found->damaged_rows;
	remote->delivery.failed = remote->told_failed = found->damaged_rows;
	remote->delivery.spool_size = options->spool.size;
	publish_spooled(spooled);
	return true;
}

void sink_spool_close(struct sink_spool *spooled)
{
	if (spooled == NULL)
		return;
	spool_close(spooled->spool);
	text_free(&spooled->segment.header);
	text_free(&spooled->segment.text);
	pthread_cond_destroy(&spooled->work);
	pthread_mutex_destroy(&spooled->lock);
	free(spooled);
}

bool sink_spool_oldest(struct sink_spool *spooled, int64_t *start)
{
	return spool_oldest_start(spooled->spool, start);
}
