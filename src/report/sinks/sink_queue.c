/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/sinks/sink_log.h"
#include "report/sinks/sink_queue.h"

#define ENDING_S   5
#define STOPPING_S 15
#define LEAVING_S  10 /* of them, for what is spread over time */

struct sink_queue_waiting {
	struct sink_queue_waiting *next;
	struct report_epoch *epoch;
	size_t bytes;
};

/* Kinds of reports, which take no room from each other. */
enum sink_backlog_kind {
	BACKLOG_EPOCHS,
	BACKLOG_FLOWS,
	BACKLOG_DELIVERIES,
	BACKLOGS,
};

struct sink_backlog {
	/* Guarded by the lock: reports in the queue, and their memory. */
	uint32_t queued;
	size_t bytes;
	/* The pushing thread's own: rows for which there was no room. */
	uint64_t lost;
	uint64_t lost_now;                /* of them, since it was said how many */
	struct log_ratelimit_state drops; /* there was none for the last that came */
};

struct sink_queue {
	struct sink_queue_params params;
	pthread_t thread;
	/* The thread's own, monotonic ns; 0: not yet. */
	int64_t stop_seen;
	int64_t leave_by; /* what waits has left then, where it is spread over time */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t work;  /* a report was queued, or one of the others was set */
	pthread_cond_t room;  /* the queue is not full any more, or all is written */
	struct sink_queue_waiting *first, *last; /* NULL: the queue is empty */
	struct sink_backlog lanes[BACKLOGS];
	size_t flow_bytes_max;
	bool has_taken; /* the thread has one in hand, which starts then */
	int64_t taken_start;
	size_t taken_bytes;
	uint32_t reopens_asked, reopens_done;
	bool passed; /* all that is queued, and then the time up to passed_ns */
	int64_t passed_ns;
	bool ending;
};

static enum sink_backlog_kind lane_of(const struct report_epoch *epoch)
{
	if (epoch->flows_only)
		return BACKLOG_FLOWS;
	return epoch->deliveries_only ? BACKLOG_DELIVERIES : BACKLOG_EPOCHS;
}

/* The thread */

struct task {
	struct report_epoch *epoch; /* NULL: none */
	bool reopen, end;
	uint32_t reopens; /* that are done with it */
	bool passed;
	int64_t passed_ns;
};

static struct report_epoch *take_first(struct sink_queue *outlet)
{
	struct sink_queue_waiting *waiting = outlet->first;
	struct report_epoch *epoch = waiting->epoch;
	struct sink_backlog *lane = &outlet->lanes[lane_of(epoch)];

	outlet->first = waiting->next;
	if (outlet->first == NULL)
		outlet->last = NULL;
	lane->queued--;
	lane->bytes -= waiting->bytes;
	free(waiting);
	return epoch;
}

/* Waits for something to do. The end comes when the queue is empty. */
static struct task next_task(struct sink_queue *outlet)
{
	struct task task = {0};

	pthread_mutex_lock(&outlet->lock);
	while (outlet->first == NULL && outlet->reopens_asked == outlet->reopens_done &&
		!outlet->passed && !outlet->ending)
		pthread_cond_wait(&outlet->work, &outlet->lock); /* idle */
	task.reopens = outlet->reopens_asked;
	task.reopen = outlet->reopens_asked != outlet->reopens_done;
	if (outlet->first != NULL) {
		task.epoch = take_first(outlet);
		outlet->has_taken = true;
		outlet->taken_start = task.epoch->start;
		outlet->taken_bytes = output_bytes(task.epoch);
		pthread_cond_signal(&outlet->room);
	} else {
		task.passed = outlet->passed;
		task.passed_ns = outlet->passed_ns;
		outlet->passed = false;
		task.end = outlet->ending;
	}
	pthread_mutex_unlock(&outlet->lock);
	return task;
}

static void end_task(struct sink_queue *outlet, const struct task *task)
{
	pthread_mutex_lock(&outlet->lock);
	outlet->has_taken = false;
	if (task->reopen && outlet->reopens_done < task->reopens)
		outlet->reopens_done = task->reopens;
	pthread_cond_signal(&outlet->room);
	pthread_mutex_unlock(&outlet->lock);
}

static void call(void (*what)(void *place), void *place)
{
	if (what != NULL)
		what(place);
}

static void *sink_queue_main(void *arg)
{
	struct sink_queue *outlet = arg;
	const struct sink_queue_ops *ops = outlet->params.ops;
	void *place = outlet->params.place;
	struct task task;

	call(ops->begin, place);
	call(ops->look, place);
	do {
		task = next_task(outlet);
		if (task.reopen)
			call(ops->reopen, place);
		if (task.epoch != NULL) {
			ops->write(place, task.epoch);
			report_epoch_free(task.epoch);
		}
		if (task.passed && ops->pass != NULL)
			ops->pass(place, task.passed_ns);
		call(ops->look, place);
		end_task(outlet, &task);
	} while (!task.end);
	call(ops->end, place);
	return NULL;
}

/* Life */

struct sink_queue *sink_queue_create(const struct sink_queue_params *params)
{
	struct sink_queue *outlet = calloc(1, sizeof(*outlet));
	pthread_condattr_t monotonic;

	if (outlet == NULL)
		return NULL;
	outlet->params = *params;
	if (params->second == 0)
		outlet->params.second = SECOND_NS;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&outlet->lock, NULL);
	pthread_cond_init(&outlet->work, &monotonic);
	pthread_cond_init(&outlet->room, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return outlet;
}

int sink_queue_start(struct sink_queue *outlet)
{
	return signals_start_thread(&outlet->thread, sink_queue_main, outlet);
}

void sink_queue_free(struct sink_queue *outlet)
{
	if (outlet == NULL)
		return;
	pthread_cond_destroy(&outlet->room);
	pthread_cond_destroy(&outlet->work);
	pthread_mutex_destroy(&outlet->lock);
	free(outlet);
}

void sink_queue_finish(struct sink_queue *outlet)
{
	pthread_mutex_lock(&outlet->lock);
	outlet->ending = true;
	pthread_cond_signal(&outlet->work);
	pthread_mutex_unlock(&outlet->lock);
}

uint64_t sink_queue_end(struct sink_queue *outlet)
{
	uint64_t lost = 0;

	sink_queue_finish(outlet);
	/* Ends as the place does: remote ones have limits of their own, a pipe as its reader likes or,
	 * where the run was stopped or is live, after wait_until_writable()'s limit. */
	pthread_join(outlet->thread, NULL);
	for (int lane = 0; lane < BACKLOGS; lane++)
		lost += outlet->lanes[lane].lost;
	return lost;
}

/* The reporter's side */

static bool concerns(const struct sink_queue *outlet, const struct report_epoch *epoch)
{
	for (uint32_t d = 0; d < outlet->params.nb_deliveries; d++)
		if (delivery_concerns(outlet->params.deliveries[d], epoch))
			return true;
	return false;
}

/* Records that end with an interval come at once: as many as there are tables for. An account of
 * deliveries is small. */
static size_t bytes_max(const struct sink_queue *outlet, enum sink_backlog_kind id)
{
	size_t queue = outlet->params.queue;

	if (id == BACKLOG_FLOWS)
		return queue > 0 && queue < outlet->flow_bytes_max ? queue : outlet->flow_bytes_max;
	if (id == BACKLOG_DELIVERIES)
		return SIZE_MAX;
	return queue > 0 ? queue : SINK_QUEUE_BYTES;
}

/*
 * After a loss reports wait until half of their memory is free, so that one loss is not told as many.
 * None of them in the queue leaves room for one of any size.
 */
static bool has_room(const struct sink_queue *outlet, enum sink_backlog_kind id, size_t bytes)
{
	const struct sink_backlog *lane = &outlet->lanes[id];
	size_t max = bytes_max(outlet, id) / (log_ratelimit_goes_on(&lane->drops) ? 2 : 1);

	if (id != BACKLOG_FLOWS && lane->queued >= SINK_QUEUE_DEFAULT)
		return false;
	return lane->queued == 0 || lane->bytes + bytes <= max;
}

static void put_last(struct sink_queue *outlet, struct sink_queue_waiting *waiting)
{
	struct sink_backlog *lane = &outlet->lanes[lane_of(waiting->epoch)];

	if (outlet->first == NULL)
		outlet->first = waiting;
	else
		outlet->last->next = waiting;
	outlet->last = waiting;
	lane->queued++;
	lane->bytes += waiting->bytes;
}

/* Returns false where there is no room, or no memory. */
static bool enqueue(struct sink_queue *outlet, struct report_epoch *epoch)
{
	struct sink_queue_waiting *waiting = malloc(sizeof(*waiting));
	bool room;

	if (waiting == NULL)
		return false;
	*waiting = (struct sink_queue_waiting){.epoch = epoch, .bytes = output_bytes(epoch)};
	pthread_mutex_lock(&outlet->lock);
	room = has_room(outlet, lane_of(epoch), waiting->bytes);
	if (room) {
		report_epoch_share(epoch);
		put_last(outlet, waiting);
		pthread_cond_signal(&outlet->work);
	}
	pthread_mutex_unlock(&outlet->lock);
	if (!room)
		free(waiting);
	return room;
}

static void log_lane(const struct sink_queue *outlet, bool warning, enum sink_backlog_kind lane, const char *what)
{
	const char *const names[BACKLOGS] = {
		outlet->params.name, output_flows.option, output_deliveries.option};
	char line[512];

	snprintf(line, sizeof(line), "%.300s %s", names[lane], what);
	outlet->params.say(warning, line, outlet->params.log_arg);
}

static void log_drops(struct sink_queue *outlet, enum sink_backlog_kind id)
{
	char often[LOG_RATELIMIT_OFTEN_MAX], what[128];

	if (!log_ratelimit_begins(&outlet->lanes[id].drops, clock_now(CLOCK_MONOTONIC), often))
		return;
	snprintf(what, sizeof(what), "does not keep up; its rows are lost until it does%s", often);
	log_lane(outlet, true, id, what);
}

static void log_resumed(struct sink_queue *outlet, enum sink_backlog_kind id)
{
	struct sink_backlog *lane = &outlet->lanes[id];
	char what[128];

	if (!log_ratelimit_ends(&lane->drops, clock_now(CLOCK_MONOTONIC)))
		return;
	snprintf(what, sizeof(what), "keeps up again; %llu rows were lost",
		(unsigned long long)lane->lost_now);
	log_lane(outlet, false, id, what);
	lane->lost_now = 0;
}

/* Returns the rows that the report has for the outlet. */
static uint64_t count(struct sink_queue *outlet, const struct report_epoch *epoch, bool dropped)
{
	uint64_t sum = 0;

	for (uint32_t d = 0; d < outlet->params.nb_deliveries; d++) {
		struct delivery *delivery = outlet->params.deliveries[d];
		uint64_t rows = delivery_rows(delivery, epoch);

		delivery->rows += rows;
		delivery_count(&delivery->dropped, dropped ? rows : 0);
		sum += rows;
	}
	return sum;
}

void sink_queue_push(struct sink_queue *outlet, struct report_epoch *epoch)
{
	enum sink_backlog_kind id = lane_of(epoch);
	struct sink_backlog *lane = &outlet->lanes[id];
	uint64_t rows;
	bool taken;

	if (!concerns(outlet, epoch))
		return;
	taken = enqueue(outlet, epoch);
	rows = count(outlet, epoch, !taken);
	if (!taken) {
		if (outlet->params.ops->miss != NULL)
			outlet->params.ops->miss(outlet->params.place, epoch);
		if (rows == 0)
			return; /* nothing is lost with it */
		log_drops(outlet, id);
		lane->lost += rows;
		lane->lost_now += rows;
	} else if (log_ratelimit_goes_on(&lane->drops)) {
		log_resumed(outlet, id);
	}
}

/* And for what became of the epoch before, which goes ahead of it. */
static bool has_room_for_both(
	const struct sink_queue *outlet, const struct report_epoch *epoch, size_t bytes)
{
	return has_room(outlet, BACKLOG_DELIVERIES, 0) &&
	       (!concerns(outlet, epoch) || has_room(outlet, lane_of(epoch), bytes));
}

bool sink_queue_wait(struct sink_queue *outlet, const struct report_epoch *epoch, int64_t end)
{
	const struct timespec until = {end / SECOND_NS, end % SECOND_NS};
	const size_t bytes = output_bytes(epoch);
	bool room;

	pthread_mutex_lock(&outlet->lock);
	while (!has_room_for_both(outlet, epoch, bytes) &&
		pthread_cond_timedwait(&outlet->room, &outlet->lock, &until) == 0)
		;
	room = has_room_for_both(outlet, epoch, bytes);
	pthread_mutex_unlock(&outlet->lock);
	return room;
}

bool sink_queue_drops(const struct sink_queue *outlet, const struct report_epoch *epoch)
{
	return log_ratelimit_goes_on(&outlet->lanes[lane_of(epoch)].drops);
}

bool sink_queue_takes_deliveries(struct sink_queue *outlet)
{
	bool room;

	pthread_mutex_lock(&outlet->lock);
	room = has_room(outlet, BACKLOG_DELIVERIES, 0);
	pthread_mutex_unlock(&outlet->lock);
	return room;
}

void sink_queue_bound_flows(struct sink_queue *outlet, size_t bytes)
{
	pthread_mutex_lock(&outlet->lock);
	outlet->flow_bytes_max = bytes;
	pthread_mutex_unlock(&outlet->lock);
}

void sink_queue_pass(struct sink_queue *outlet, int64_t time)
{
	pthread_mutex_lock(&outlet->lock);
	outlet->passed = true;
	outlet->passed_ns = time;
	pthread_cond_signal(&outlet->work);
	pthread_mutex_unlock(&outlet->lock);
}

void sink_queue_settle(struct sink_queue *outlet)
{
	pthread_mutex_lock(&outlet->lock);
	/* Each write ends as sink_queue_end() says. */
	while (outlet->first != NULL || outlet->has_taken)
		pthread_cond_wait(&outlet->room, &outlet->lock);
	pthread_mutex_unlock(&outlet->lock);
}

void sink_queue_reopen(struct sink_queue *outlet)
{
	if (outlet->params.ops->reopen == NULL)
		return;
	pthread_mutex_lock(&outlet->lock);
	outlet->reopens_asked++;
	pthread_cond_signal(&outlet->work);
	pthread_mutex_unlock(&outlet->lock);
}

bool sink_queue_reopening(struct sink_queue *outlet)
{
	bool reopening;

	pthread_mutex_lock(&outlet->lock);
	reopening = outlet->reopens_asked != outlet->reopens_done;
	pthread_mutex_unlock(&outlet->lock);
	return reopening;
}

bool sink_queue_roused(struct sink_queue *outlet)
{
	bool roused;

	pthread_mutex_lock(&outlet->lock);
	roused = outlet->reopens_asked != outlet->reopens_done;
	outlet->reopens_done = outlet->reopens_asked;
	pthread_mutex_unlock(&outlet->lock);
	return roused;
}

int64_t sink_queue_second(const struct sink_queue *outlet)
{
	return outlet->params.second;
}

bool sink_queue_ending(struct sink_queue *outlet)
{
	bool ending;

	pthread_mutex_lock(&outlet->lock);
	ending = outlet->ending;
	pthread_mutex_unlock(&outlet->lock);
	/* A replay that waits for this place ends only when it gives way. */
	return ending || signals_stop_requested();
}

int64_t sink_queue_patience(struct sink_queue *outlet, uint32_t usual)
{
	const int64_t second = outlet->params.second, ending = ENDING_S * second;
	int64_t now, left;

	if (signals_stop_requested() || (outlet->params.keeps && sink_queue_ending(outlet))) {
		now = clock_now(CLOCK_MONOTONIC);
		if (outlet->stop_seen == 0)
			outlet->stop_seen = now;
		left = outlet->stop_seen + STOPPING_S * second - now;
		return left < 0 ? 0 : left < ending ? left : ending;
	}
	return sink_queue_ending(outlet) && usual > ENDING_S ? ending : usual * second;
}

int64_t sink_queue_share(struct sink_queue *outlet)
{
	int64_t now = clock_now(CLOCK_MONOTONIC), left;
	double bytes = 0, taken;
	bool ending;

	pthread_mutex_lock(&outlet->lock);
	ending = outlet->ending;
	taken = (double)outlet->taken_bytes + 1;
	for (int lane = 0; lane < BACKLOGS; lane++)
		bytes += (double)outlet->lanes[lane].bytes;
	pthread_mutex_unlock(&outlet->lock);
	if (outlet->leave_by == 0)
		outlet->leave_by = now + LEAVING_S * outlet->params.second;
	left = outlet->leave_by - now;
	/* An interval that is still to come is taken to be as this one. */
	return left <= 0 ? 0 : (int64_t)((double)left * taken / (bytes + taken * (ending ? 1 : 2)));
}

bool sink_queue_gives_up(struct sink_queue *outlet, int64_t *since)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (!sink_queue_ending(outlet))
		*since = now;
	return now - *since >= sink_queue_patience(outlet, ENDING_S);
}

bool sink_queue_oldest(struct sink_queue *outlet, int64_t *start)
{
	bool any = true;

	pthread_mutex_lock(&outlet->lock);
	if (outlet->has_taken)
		*start = outlet->taken_start;
	else if (outlet->first != NULL)
		*start = outlet->first->epoch->start;
	else
		any = false;
	pthread_mutex_unlock(&outlet->lock);
	return any;
}
