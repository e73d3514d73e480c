/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/follow.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <rte_common.h>

#include "base/clock.h"
#include "base/units.h"
#include "control/reply.h"

static struct {
	struct recent *_Atomic recent; /* NULL: not serving */
	_Atomic uint32_t news;         /* events so far; handlers wait on it as a futex */
	_Atomic bool ended;
	_Atomic uint32_t answering; /* handlers that may use `recent` */
	_Atomic uint32_t followers; /* threads that serve a client of follow */
} follow;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
/* Set in each thread that counts in `followers`, until its client disconnects. */
static pthread_key_t follower;

static void sleep_a_bit(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void wake_followers(void)
{
	atomic_fetch_add_explicit(&follow.news, 1, memory_order_seq_cst);
	syscall(SYS_futex, &follow.news, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

void follow_start(struct recent *recent)
{
	atomic_store(&follow.ended, false);
	atomic_store(&follow.recent, recent);
}

void follow_closed(void)
{
	wake_followers();
}

void follow_end(void)
{
	atomic_store(&follow.ended, true);
	wake_followers();
}

void follow_stop(void)
{
	int64_t until = clock_now(CLOCK_MONOTONIC) + FOLLOW_FAREWELL_NS;

	while (atomic_load(&follow.followers) > 0 && clock_now(CLOCK_MONOTONIC) < until)
		sleep_a_bit();
	atomic_store(&follow.recent, NULL);
	wake_followers();
	/*
	 * A handler increments `answering` before it reads `recent`, so a handler that is not
	 * counted here reads NULL. A handler ends after at most FOLLOW_PATIENCE_NS.
	 */
	while (atomic_load(&follow.answering) > 0)
		sleep_a_bit();
}

static void leave(void *arg)
{
	(void)arg;
	atomic_fetch_sub(&follow.followers, 1);
}

static void make_key(void)
{
	pthread_key_create(&follower, leave);
}

static void count_in(void)
{
	pthread_once(&key_once, make_key);
	if (pthread_getspecific(follower) != NULL || pthread_setspecific(follower, &follower) != 0)
		return;
	atomic_fetch_add(&follow.followers, 1);
}

struct question {
	bool any; /* wants the last epoch, else the first with a number of at least `epoch` */
	uint64_t epoch, part;
};

static bool read_number(const char **at, uint64_t *number)
{
	char *end;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*number = strtoull(*at, &end, 10);
	*at = end;
	return errno == 0;
}

/* Parses "[EPOCH[,PART]]". */
static bool read_question(const char *parameters, struct question *question)
{
	*question = (struct question){.any = parameters == NULL || *parameters == '\0'};
	if (question->any)
		return true;
	if (!read_number(&parameters, &question->epoch))
		return false;
	if (*parameters == '\0')
		return true;
	return *parameters++ == ',' && read_number(&parameters, &question->part) &&
	       *parameters == '\0';
}

static struct report_epoch *find(
	struct recent *recent, const struct question *question, uint64_t *count)
{
	struct recent_span span = recent_span(recent);
	struct report_epoch *epoch = NULL;

	if (!question->any)
		return recent_find(recent, question->epoch, count);
	for (*count = span.end; epoch == NULL && *count > span.first;)
		epoch = recent_get(recent, --*count);
	return epoch;
}

static void wait_for_news(uint32_t news, int64_t ns)
{
	const struct timespec left = {ns / SECOND_NS, ns % SECOND_NS};

	syscall(SYS_futex, &follow.news, FUTEX_WAIT_PRIVATE, news, &left, NULL, 0);
}

/* Waits until the requested epoch is closed. Returns NULL after a timeout. */
static struct report_epoch *find_or_wait(
	const struct question *question, uint64_t *count, bool *ended)
{
	int64_t until = clock_now(CLOCK_MONOTONIC) + FOLLOW_PATIENCE_NS, left = 1;

	for (;;) {
		/* Read before `recent`: an event after this read wakes the thread. */
		uint32_t news = atomic_load_explicit(&follow.news, memory_order_seq_cst);
		struct recent *recent = atomic_load(&follow.recent);
		struct report_epoch *epoch;

		*ended = atomic_load(&follow.ended);
		epoch = recent != NULL ? find(recent, question, count) : NULL;
		if (epoch != NULL || *ended || left <= 0)
			return epoch;
		wait_for_news(news, left = until - clock_now(CLOCK_MONOTONIC));
	}
}

static void reply_head(
	struct rte_tel_data *answer, const struct report_epoch *epoch, uint64_t count)
{
	reply_uint(answer, "epoch", epoch->number);
	reply_uint(answer, "closed", count + 1);
	reply_account(
		answer, epoch->start, epoch->end, epoch->took, &epoch->ledger, epoch->expired);
	reply_uint(answer, "duration_ns", report_duration(epoch));
	reply_uint(answer, "live", epoch->live);
	reply_uint(answer, "late", epoch->late);
	reply_uint(answer, "closing_ns", epoch->closing_ns);
	reply_uint(answer, "doubtful", epoch->ledger.doubtful);
	reply_string(answer, "design", epoch->design);
	reply_string(answer, "sharing", epoch->sharing);
}

static void reply_measurement(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct report_epoch *epoch = of;
	const struct report_measurement *measurement = &epoch->measurements[number];
	struct ledger ledger = report_ledger(epoch, measurement);
	struct rte_tel_data *rows;

	reply_string(dict, "name", measurement->name);
	reply_string(dict, "key", measurement->key_rule->name);
	reply_string(dict, "sketch", measurement->sketch);
	reply_string(dict, "count", measurement->counts_bytes ? "bytes" : "packets");
	reply_ledger(dict, &ledger);
	reply_columns(dict, reply_measurement_columns, ledger.kept_up, measurement);
	rows = reply_dict(dict, "rows");
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		struct rte_tel_data *row = reply_numbered(rows, measurement->rows[r].rank);

		if (row == NULL)
			return;
		reply_row(row, measurement, r);
	}
}

static void reply_port(struct rte_tel_data *dict, const void *epoch, uint32_t number)
{
	reply_columns(dict, reply_port_columns, false,
		&((const struct report_epoch *)epoch)->ports[number]);
}

static void reply_worker(struct rte_tel_data *dict, const void *of, uint32_t number)
{
	const struct report_epoch *epoch = of;

	reply_columns(dict, reply_load_columns, epoch->ledger.kept_up, &epoch->loads[number]);
}

/* Adds parts from number `part` on while they fit, and at least one. Returns their number. */
static uint64_t reply_parts(
	struct rte_tel_data *answer, const struct report_epoch *epoch, uint64_t part)
{
	const struct {
		const char *name;
		uint32_t n;
		reply_item item;
	} kinds[] = {{"measurements", epoch->nb_measurements, reply_measurement},
		{"ports", epoch->nb_ports, reply_port}, {"workers", epoch->workers, reply_worker}};
	uint64_t added = 0;

	for (uint32_t k = 0; k < RTE_DIM(kinds); k++) {
		struct rte_tel_data *several = NULL, *dict;

		for (uint32_t i = part < kinds[k].n ? (uint32_t)part : kinds[k].n; i < kinds[k].n;
			i++) {
			if (added > 0 && !reply_fits(kinds[k].item, epoch, i))
				return added;
			if (several == NULL)
				several = reply_dict(answer, kinds[k].name);
			dict = reply_numbered(several, i);
			if (dict == NULL)
				return added;
			kinds[k].item(dict, epoch, i);
			added++;
		}
		part -= part < kinds[k].n ? part : kinds[k].n;
	}
	return added;
}

static int reply_epoch(struct rte_tel_data *answer, const struct report_epoch *epoch,
	uint64_t count, uint64_t part)
{
	uint64_t parts = (uint64_t)epoch->nb_measurements + epoch->nb_ports + epoch->workers;
	uint64_t added;

	if (part > 0 && part >= parts)
		return reply_mistake(answer, "PART: the interval has fewer parts");
	reply_start(answer);
	reply_head(answer, epoch, count);
	added = reply_parts(answer, epoch, part);
	reply_uint(answer, "parts", parts);
	reply_uint(answer, "left_off", parts - part - added);
	return 0;
}

static int answer_question(const struct question *question, struct rte_tel_data *answer)
{
	bool ended;
	uint64_t count;
	struct report_epoch *epoch = find_or_wait(question, &count, &ended);

	if (epoch != NULL) {
		reply_epoch(answer, epoch, count, question->part);
		report_epoch_free(epoch);
		return 0;
	}
	reply_start(answer);
	reply_uint(answer, ended ? "ended" : "waiting", 1);
	return 0;
}

int follow_answer(const char *parameters, struct rte_tel_data *answer)
{
	struct question question;

	if (!read_question(parameters, &question))
		return reply_mistake(answer,
			"use ctl follow EPOCH PART, two numbers of 0 or more, or ctl follow for the "
			"last interval");
	count_in();
	atomic_fetch_add(&follow.answering, 1);
	answer_question(&question, answer);
	atomic_fetch_sub(&follow.answering, 1);
	return 0;
}
