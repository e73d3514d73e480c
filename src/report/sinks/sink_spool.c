/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "report/sinks/sink.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/regular_file.h"
#include "base/signals.h"
#include "report/formats/format.h"
#include "report/sinks/spool.h"

struct sink_spool {
	struct sink *sink;
	struct spool *spool;
	pthread_t thread;
	bool runs; /* the sender thread was started */
	/* Used only by the queue's thread. */
	struct spool_segment segment;
	/* rate limits of the warnings that the spool cannot be written, and that rows are lost */
	struct log_ratelimit_state holds, loses;
	/* rows lost since the number of lost rows was last logged */
	uint64_t lost;
	/* Used only by the sender thread. */
	struct delivery fates; /* fates of the rows of the current segment */

	/* posted for a new segment, for a retry and for the end of the thread */
	sem_t work;
	/* no more segments follow; set before `work` is posted for the last time */
	atomic_bool ended;
};

static void publish_spooled(struct sink_spool *spool)
{
	struct delivery *delivery = &spool->sink->delivery;

	atomic_store(&delivery->spooled, spool_rows(spool->spool));
	atomic_store(&delivery->spool_bytes, spool_bytes(spool->spool));
}

static void settle_rows(struct sink_spool *spool)
{
	struct delivery *delivery = &spool->sink->delivery, *fates = &spool->fates;

	delivery_count(&delivery->delivered, fates->delivered);
	delivery_count(&delivery->acknowledged, fates->acknowledged);
	delivery_count(&delivery->failed, fates->failed);
	delivery_count(&delivery->unknown, fates->unknown);
	publish_spooled(spool);
}

static bool same_text(const struct text *a, const struct text *b)
{
	return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* The next connection must begin with the header of this segment. */
static void suit_header(struct sink_spool *spool, struct spool_segment *segment)
{
	struct sink *sink = spool->sink;

	if (same_text(&sink->header, &segment->header))
		return;
	text_free(&sink->header);
	sink->header = segment->header;
	segment->header = (struct text){0};
	if (sink->type->ops.reopen != NULL)
		sink->type->ops.reopen(sink);
}

static void send_segment(struct sink_spool *spool, struct spool_segment *segment)
{
	struct sink *sink = spool->sink;

	suit_header(spool, segment);
	text_free(&sink->text);
	sink->text = segment->text;
	segment->text = (struct text){0};
	memset(&spool->fates, 0, sizeof(spool->fates));
	sink->type->bring(sink, segment->rows);
	/* If the sink gave up at the end of the run, the segment stays for the next run. */
	if (!sink->left) {
		ASSERT(spool->fates.delivered + spool->fates.acknowledged + spool->fates.failed +
				spool->fates.unknown,
			==, segment->rows);
		spool_done(spool->spool);
		settle_rows(spool);
	}
	text_free(&segment->header);
}

static void warn_damaged(struct sink_spool *spool, uint64_t rows)
{
	sink_say(spool->sink, true,
		"a file of its spool is damaged and gets the ending .damaged; %llu rows are lost",
		(unsigned long long)rows);
	delivery_count(&spool->sink->delivery.failed, rows);
	spool->sink->told_failed += rows;
	publish_spooled(spool);
}

/* The file is read again when rows are added, and by the next run. */
static void warn_unreadable(struct sink_spool *spool, int error)
{
	char why[128];

	snprintf(why, sizeof(why), "cannot read a file of its spool: %s", file_error(error));
	sink_say_waits(spool->sink, why);
}

static void send_all(struct sink_spool *spool)
{
	struct spool_segment segment;
	enum spool_result result;

	while (!spool->sink->left &&
		(result = spool_oldest(spool->spool, &segment)) != SPOOL_EMPTY) {
		if (result == SPOOL_UNREADABLE) {
			warn_unreadable(spool, errno);
			return;
		}
		if (result == SPOOL_SEGMENT)
			send_segment(spool, &segment);
		else
			warn_damaged(spool, segment.rows);
	}
}

static void *sender_main(void *arg)
{
	struct sink_spool *spool = arg;
	struct sink *sink = spool->sink;
	bool last = false;

	if (sink->type->ops.begin != NULL)
		sink->type->ops.begin(sink);
	for (;;) {
		if (sink_roused(sink) && sink->type->ops.reopen != NULL)
			sink->type->ops.reopen(sink);
		send_all(spool);
		if (last)
			return NULL;
		while (sem_wait(&spool->work) != 0)
			;
		last = atomic_load(&spool->ended);
	}
}

static void begin(void *arg)
{
	struct sink_spool *spool = arg;

	spool->runs = signals_start_thread(&spool->thread, sender_main, spool) == 0;
	if (!spool->runs)
		sink_say(spool->sink, true,
			"cannot start its thread; rows stay in the spool for the next run");
}

static void log_takes(struct sink_spool *spool)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);
	bool held = log_ratelimit_ends(&spool->holds, now),
	     lost = log_ratelimit_ends(&spool->loses, now);

	if (!held && !lost)
		return;
	sink_say(spool->sink, false, "the spool resumed; %llu rows were lost",
		(unsigned long long)spool->lost);
	spool->lost = 0;
}

static void log_state(struct sink_spool *spool, const char *why, uint64_t lost)
{
	spool->lost += lost;
	if (lost > 0)
		sink_warn(spool->sink, &spool->loses, why,
			"rows are lost until the spool accepts them");
	else if (why == NULL)
		log_takes(spool);
	else if (!log_ratelimit_goes_on(&spool->loses))
		sink_warn(spool->sink, &spool->holds, why,
			"rows are sent without the spool, one interval at a time");
}

static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct sink_spool *spool = arg;
	struct sink *sink = spool->sink;
	const char *why, *lost;
	uint64_t rows = sink_format(sink, epoch, &spool->segment.text);

	if (rows == 0)
		return;
	spool->segment.rows = rows;
	spool->segment.start = epoch->start;
	lost = spool_put(spool->spool, &spool->segment, &why);
	log_state(spool, why, lost != NULL ? rows : 0);
	if (lost != NULL) {
		delivery_count(&sink->delivery.dropped, rows);
		sink->dropped += rows;
		return;
	}
	publish_spooled(spool);
	sem_post(&spool->work);
}

static void reopen(void *arg)
{
	struct sink_spool *spool = arg;

	atomic_store(&spool->sink->roused, true);
	sem_post(&spool->work);
}

static void end(void *arg)
{
	struct sink_spool *spool = arg;
	struct sink *sink = spool->sink;
	uint64_t rows;

	atomic_store(&spool->ended, true);
	sem_post(&spool->work);
	if (spool->runs)
		pthread_join(spool->thread, NULL); /* sink_queue_gives_up() limits this wait */
	/*
	 * Delivered rows are no longer in the spool. end() waits until the receiver has read them.
	 */
	if (sink->type->ops.end != NULL)
		sink->type->ops.end(sink);
	rows = spool_give_up(spool->spool);
	if (rows > 0) {
		sink_say(sink, true, "%llu rows that could not be written to the spool are lost",
			(unsigned long long)rows);
		delivery_count(&sink->delivery.failed, rows);
	}
	rows = spool_rows(spool->spool);
	publish_spooled(spool);
	if (rows > 0)
		sink_say(sink, false, "%llu rows stay in the spool for the next run",
			(unsigned long long)rows);
}

const struct sink_queue_ops sink_spool_ops = {
	.begin = begin,
	.write = write_report,
	.reopen = reopen,
	.end = end,
};

bool sink_spool_open(struct sink *sink, char *why, struct spool_found *found)
{
	const struct spool_options *options = &sink->options->spool;
	struct sink_spool *spool = calloc(1, sizeof(*spool));
	char *folder = strndup(options->text, options->folder_len), what[64];
	const struct spool_position position = {folder, options->size, what, sink->url};

	snprintf(what, sizeof(what), "%s %s", output_word(sink->kind), format_name(sink->format));
	snprintf(why, SPOOL_WHY_MAX, "out of memory");
	if (spool != NULL && folder != NULL)
		spool->spool = spool_open(&position, found, why);
	free(folder);
	if (spool != NULL)
		text_add(&spool->segment.header, sink->header.data, sink->header.len);
	if (spool == NULL || spool->spool == NULL || spool->segment.header.failed) {
		if (spool != NULL) {
			spool_close(spool->spool);
			text_free(&spool->segment.header);
		}
		free(spool);
		return false;
	}
	sem_init(&spool->work, 0, 0);
	spool->sink = sink;
	sink->fates = &spool->fates;
	sink->spooled = spool;
	sink->delivery.rows = found->rows + found->damaged_rows;
	sink->delivery.failed = sink->told_failed = found->damaged_rows;
	sink->delivery.spool_size = options->size;
	publish_spooled(spool);
	return true;
}

void sink_spool_close(struct sink_spool *spool)
{
	if (spool == NULL)
		return;
	spool_close(spool->spool);
	text_free(&spool->segment.header);
	text_free(&spool->segment.text);
	sem_destroy(&spool->work);
	free(spool);
}

bool sink_spool_oldest(struct sink_spool *spool, int64_t *start)
{
	return spool_oldest_start(spool->spool, start);
}
