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

#include "base/clock.h"
#include "base/units.h"
#include "control/reply.h"

/*
 * Bytes of the parts of a reply. A reply has as many parts (measurements, then ports, then workers)
 * as certainly fit.
 */
#define HEAD_BYTES        2000
#define MEASUREMENT_BYTES 1500 /* without its rows and names */
#define PORT_BYTES        80   /* without its name */
#define WORKER_BYTES      380

static struct {
	struct recent *_Atomic recent; /* NULL: not serving */
	_Atomic uint32_t news;         /* incremented at each event; a futex of waiting threads */
	_Atomic bool ended;            /* no more epochs */
	_Atomic uint32_t answering;    /* handlers that may use `recent` */
	_Atomic uint32_t followers;    /* threads of connected clients */
} follow;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t
	follower; /* marks a thread that counts as a follower until its client disconnects */

static void sleep_a_bit(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* --- run --- */

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
	/* Handlers count themselves before they read `recent`, so none is missed. */
	while (atomic_load(&follow.answering) > 0) /* at most FOLLOW_PATIENCE_NS and a copy */
		sleep_a_bit();
}

/* --- clients --- */

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
	bool any; /* true: last epoch; false: first from `epoch` on */
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

/* Parses "[EPOCH[,PART]]". Returns false if malformed. */
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

/* Waits for an event after number `news`, at most `ns`. */
static void wait_for_news(uint32_t news, int64_t ns)
{
	const struct timespec left = {ns / SECOND_NS, ns % SECOND_NS};

	syscall(SYS_futex, &follow.news, FUTEX_WAIT_PRIVATE, news, &left, NULL, 0);
}

/*
 * Returns the epoch of a question, and waits if there is none yet. Returns NULL after a timeout,
 * and whether the run ended.
 */
static struct report_epoch *find_or_wait(
	const struct question *question, uint64_t *count, bool *ended)
{
	int64_t until = clock_now(CLOCK_MONOTONIC) + FOLLOW_PATIENCE_NS, left = 1;

	for (;;) {
		/* Read first: any later event wakes the thread. */
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

/* --- replies --- */

static void reply_head(
	struct rte_tel_data *answer, const struct report_epoch *epoch, uint64_t count)
{
	rte_tel_data_add_dict_uint(answer, "epoch", epoch->number);
	rte_tel_data_add_dict_uint(answer, "closed", count + 1);
	reply_account(
		answer, epoch->start, epoch->end, epoch->took, &epoch->ledger, epoch->expired);
	rte_tel_data_add_dict_uint(answer, "duration_ns", report_duration(epoch));
	rte_tel_data_add_dict_uint(answer, "live", epoch->live);
	rte_tel_data_add_dict_uint(answer, "late", epoch->late);
	rte_tel_data_add_dict_uint(answer, "closing_ns", epoch->closing_ns);
	rte_tel_data_add_dict_uint(answer, "doubtful", epoch->ledger.doubtful);
	reply_text(answer, "design", "%s", epoch->design);
	reply_text(answer, "sharing", "%s", epoch->sharing);
}

static void reply_measurement(
	struct rte_tel_data *dict, const struct report_epoch *epoch, uint64_t number)
{
	const struct report_measurement *measurement = &epoch->measurements[number];
	struct ledger ledger = report_ledger(epoch, measurement);
	struct rte_tel_data *rows;

	reply_text(dict, "name", "%s", measurement->name);
	reply_text(dict, "key", "%s", measurement->key_rule->name);
	reply_text(dict, "sketch", "%s", measurement->sketch);
	reply_text(dict, "count", "%s", measurement->counts_bytes ? "bytes" : "packets");
	reply_ledger(dict, &ledger);
	rte_tel_data_add_dict_uint(dict, "distinct_keys", measurement->distinct_keys);
	rte_tel_data_add_dict_uint(dict, "distinct_exact", measurement->distinct_exact);
	rte_tel_data_add_dict_uint(dict, "incomplete", measurement->incomplete);
	if (measurement->confidence_known)
		reply_text(dict, "confidence", "%.15g", measurement->confidence);
	if (ledger.kept_up) {
		reply_text(dict, "looked_at", "%.6f", measurement->looked_at);
		rte_tel_data_add_dict_uint(dict, "weight", measurement->weight);
	}
	rows = reply_dict(dict, "rows");
	for (uint32_t r = 0; rows != NULL && r < measurement->nb_rows; r++) {
		struct rte_tel_data *row = reply_numbered(rows, measurement->rows[r].rank);

		if (row == NULL)
			return;
		reply_row(row, measurement->key_rule, &measurement->rows[r]);
	}
}

static size_t measurement_bytes(const struct report_epoch *epoch, uint64_t number)
{
	const struct report_measurement *measurement = &epoch->measurements[number];
	size_t bytes =
		MEASUREMENT_BYTES + strlen(measurement->name) + strlen(measurement->key_rule->name);

	for (uint32_t r = 0; r < measurement->nb_rows; r++)
		bytes += reply_row_bytes(measurement->key_rule, &measurement->rows[r]);
	return bytes;
}

static void reply_port(struct rte_tel_data *dict, const struct report_epoch *epoch, uint64_t number)
{
	const struct report_port *port = &epoch->ports[number];

	reply_text(dict, "name", "%s", port->name);
	rte_tel_data_add_dict_uint(dict, "up", port->up);
	rte_tel_data_add_dict_uint(dict, "speed_mbits", port->speed);
}

static size_t port_bytes(const struct report_epoch *epoch, uint64_t number)
{
	return PORT_BYTES + strlen(epoch->ports[number].name);
}

static void reply_worker(
	struct rte_tel_data *dict, const struct report_epoch *epoch, uint64_t number)
{
	const struct report_load *load = &epoch->loads[number];

	rte_tel_data_add_dict_uint(dict, "lcore", load->lcore);
	rte_tel_data_add_dict_int(dict, "cpu", load->cpu);
	rte_tel_data_add_dict_uint(dict, "received", load->received);
	rte_tel_data_add_dict_uint(dict, "measured", load->measured);
	rte_tel_data_add_dict_uint(dict, "ring_full", load->ring_full);
	rte_tel_data_add_dict_uint(dict, "bytes", load->bytes);
	rte_tel_data_add_dict_uint(dict, "busy_ns", load->busy_ns);
	if (!epoch->ledger.kept_up)
		return;
	rte_tel_data_add_dict_uint(dict, "skipped", load->skipped);
	rte_tel_data_add_dict_uint(dict, "backlog_max", load->backlog_max);
	rte_tel_data_add_dict_uint(dict, "level_max", load->level_max);
}

static size_t worker_bytes(const struct report_epoch *epoch, uint64_t number)
{
	(void)epoch;
	(void)number;
	return WORKER_BYTES;
}

/* A kind of reply with parts: their number, largest size, and writer. */
struct follow_kind {
	const char *name;
	uint32_t n;
	size_t (*bytes)(const struct report_epoch *epoch, uint64_t number);
	void (*tell)(struct rte_tel_data *dict, const struct report_epoch *epoch, uint64_t number);
};

#define KINDS 3

/* Returns how many parts there are in all. */
static uint64_t kinds_of(const struct report_epoch *epoch, struct follow_kind kinds[KINDS])
{
	kinds[0] = (struct follow_kind){
		"measurements", epoch->nb_measurements, measurement_bytes, reply_measurement};
	kinds[1] = (struct follow_kind){"ports", epoch->nb_ports, port_bytes, reply_port};
	kinds[2] = (struct follow_kind){"workers", epoch->workers, worker_bytes, reply_worker};
	return (uint64_t)kinds[0].n + kinds[1].n + kinds[2].n;
}

/*
 * Adds the parts of a kind from *skip that fit, and subtracts them from `left`; one always fits.
 * Returns false if some did not fit.
 */
static bool reply_parts(struct rte_tel_data *answer, const struct report_epoch *epoch,
	const struct follow_kind *kind, uint64_t *skip, size_t *room, uint64_t *left)
{
	struct rte_tel_data *several = NULL;

	for (uint32_t i = 0; i < kind->n; i++) {
		size_t bytes = kind->bytes(epoch, i);
		struct rte_tel_data *dict;

		if (*skip > 0) {
			(*skip)--;
			continue;
		}
		if (bytes > *room && *room < ANSWER_BYTES - HEAD_BYTES)
			return false;
		if (several == NULL)
			several = reply_dict(answer, kind->name);
		dict = reply_numbered(several, i);
		if (dict == NULL)
			return false;
		kind->tell(dict, epoch, i);
		*room -= bytes < *room ? bytes : *room;
		(*left)--;
	}
	return true;
}

static int reply_epoch(struct rte_tel_data *answer, const struct report_epoch *epoch,
	uint64_t count, uint64_t part)
{
	size_t room = ANSWER_BYTES - HEAD_BYTES;
	struct follow_kind kinds[KINDS];
	uint64_t parts = kinds_of(epoch, kinds), left = parts;

	if (part > 0 && part >= parts)
		return reply_mistake(answer, "PART: no such part in this interval");
	rte_tel_data_start_dict(answer);
	reply_head(answer, epoch, count);
	left -= part;
	for (uint32_t k = 0; k < KINDS; k++)
		if (!reply_parts(answer, epoch, &kinds[k], &part, &room, &left))
			break;
	rte_tel_data_add_dict_uint(answer, "parts", parts);
	rte_tel_data_add_dict_uint(answer, "left_off", left);
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
	rte_tel_data_start_dict(answer);
	rte_tel_data_add_dict_uint(answer, ended ? "ended" : "waiting", 1);
	return 0;
}

int follow_answer(const char *parameters, struct rte_tel_data *answer)
{
	struct question question;

	if (!read_question(parameters, &question))
		return reply_mistake(answer,
			"use ctl follow EPOCH PART with numbers from 0 on, or no parameters for the "
			"last interval");
	count_in();
	atomic_fetch_add(&follow.answering, 1);
	answer_question(&question, answer);
	atomic_fetch_sub(&follow.answering, 1);
	return 0;
}
