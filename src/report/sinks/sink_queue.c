/* SPDX-License-Identifier: BSD-3-Clause */

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "report/formats/table.h"
#include "report/sinks/sink_queue.h"

#define ENDING_S   5
#define STOPPING_S 15
/* seconds; limit of sink_queue_share() */
#define LEAVING_S  10

struct sink_queue_waiting {
	struct sink_queue_waiting *next;
	struct report_epoch *epoch;
	size_t bytes;
};

enum sink_backlog_kind {
	BACKLOG_EPOCHS,
	BACKLOG_FLOWS,
	BACKLOG_DELIVERIES,
	BACKLOGS,
};

struct sink_backlog {
	/* Queued reports. Protected by sink_queue.lock. */
	uint32_t queued;
	size_t bytes;
	/* Dropped rows. Used only by the thread that pushes reports. */
	uint64_t lost;
	/* rows dropped since the number of lost rows was last logged */
	uint64_t lost_now;
	struct log_ratelimit_state drops;
};

struct sink_queue {
	struct sink_queue_params params;
	pthread_t thread;
	/* Used only by the queue's thread. Monotonic ns; 0: not set. */
	int64_t stop_seen;
	int64_t leave_by;

	pthread_mutex_t lock; /* protects the following fields */
	pthread_cond_t work;  /* signaled if there is a task for the queue's thread */
	pthread_cond_t room;  /* signaled after a report has left the queue, and after a task */
	struct sink_queue_waiting *first, *last;
	struct sink_backlog lanes[BACKLOGS];
	size_t flow_bytes_max;
	bool has_taken; /* the thread is writing a report that starts at taken_start */
	int64_t taken_start;
	size_t taken_bytes;
	uint32_t reopens_asked, reopens_done;
	/* all later reports start at passed_ns or later; handled if the queue is empty */
	bool passed;
	int64_t passed_ns;
	bool ending;
};

bool delivery_concerns(const struct delivery *delivery, const struct report_epoch *epoch)
{
	if (epoch->flows_only)
		return delivery->output == &output_flows;
	return (delivery->output == &output_deliveries) == epoch->deliveries_only;
}

uint64_t delivery_rows(const struct delivery *delivery, const struct report_epoch *epoch)
{
	if (!delivery_concerns(delivery, epoch))
		return 0;
	return delivery->output != NULL ? output_rows(delivery->output, epoch) : table_rows(epoch);
}

static uint64_t read_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

struct report_delivery delivery_totals(const struct delivery *delivery)
{
	struct report_delivery all = {
		.name = delivery->name,
		.kind = output_word_of(
			delivery->output != NULL ? delivery->output : &output_heavy_hitters),
		.rows = delivery->rows,
		.dropped = read_count(&delivery->dropped),
		.delivered = read_count(&delivery->delivered),
		.acknowledged = read_count(&delivery->acknowledged),
		.failed = read_count(&delivery->failed),
		.unknown = read_count(&delivery->unknown),
		.retries = read_count(&delivery->retries),
		.reconnects = read_count(&delivery->reconnects),
		.bytes = read_count(&delivery->bytes),
		.spool_bytes = read_count(&delivery->spool_bytes),
		.spool_size = delivery->spool_size,
	};

	all.spooled = read_count(&delivery->spooled);
	/* The counter `rows` is raised before the fate of a row is counted. */
	ASSERT(all.dropped + all.delivered + all.acknowledged + all.failed + all.unknown, <=,
		all.rows);
	all.waiting = all.rows - all.dropped - all.delivered - all.acknowledged - all.failed -
		      all.unknown;
	if (all.spooled > all.waiting)
		/* the fate of a row is counted before `spooled` is lowered */
		all.spooled = all.waiting;
	return all;
}

struct report_delivery delivery_look(struct delivery *delivery)
{
	const struct report_delivery before = delivery->told;
	struct report_delivery since = delivery_totals(delivery);

	delivery->told = since;
	since.rows -= before.rows;
	since.dropped -= before.dropped;
	since.delivered -= before.delivered;
	since.acknowledged -= before.acknowledged;
	since.failed -= before.failed;
	since.unknown -= before.unknown;
	since.retries -= before.retries;
	since.reconnects -= before.reconnects;
	since.bytes -= before.bytes;
	return since;
}

uint64_t delivery_lost(const struct delivery *delivery)
{
	return atomic_load_explicit(&delivery->failed, memory_order_relaxed) +
	       atomic_load_explicit(&delivery->unknown, memory_order_relaxed);
}

static enum sink_backlog_kind lane_of(const struct report_epoch *epoch)
{
	if (epoch->flows_only)
		return BACKLOG_FLOWS;
	return epoch->deliveries_only ? BACKLOG_DELIVERIES : BACKLOG_EPOCHS;
}

struct task {
	struct report_epoch *epoch;
	bool reopen, end;
	uint32_t reopens; /* reopens_asked when the task was taken */
	bool passed;
	int64_t passed_ns;
};

static struct report_epoch *take_first(struct sink_queue *queue)
{
	struct sink_queue_waiting *waiting = queue->first;
	struct report_epoch *epoch = waiting->epoch;
	struct sink_backlog *backlog = &queue->lanes[lane_of(epoch)];

	VERIFY(backlog->queued, >, 0U);
	VERIFY(backlog->bytes, >=, waiting->bytes);
	queue->first = waiting->next;
	if (queue->first == NULL)
		queue->last = NULL;
	backlog->queued--;
	backlog->bytes -= waiting->bytes;
	free(waiting);
	return epoch;
}

/* task.end is set only if the queue is empty. */
static struct task next_task(struct sink_queue *queue)
{
	struct task task = {0};

	pthread_mutex_lock(&queue->lock);
	while (queue->first == NULL && queue->reopens_asked == queue->reopens_done &&
		!queue->passed && !queue->ending)
		pthread_cond_wait(&queue->work, &queue->lock);
	task.reopens = queue->reopens_asked;
	task.reopen = queue->reopens_asked != queue->reopens_done;
	if (queue->first != NULL) {
		task.epoch = take_first(queue);
		queue->has_taken = true;
		queue->taken_start = task.epoch->start;
		queue->taken_bytes = output_bytes(task.epoch);
		pthread_cond_signal(&queue->room);
	} else {
		task.passed = queue->passed;
		task.passed_ns = queue->passed_ns;
		queue->passed = false;
		task.end = queue->ending;
	}
	pthread_mutex_unlock(&queue->lock);
	return task;
}

static void end_task(struct sink_queue *queue, const struct task *task)
{
	pthread_mutex_lock(&queue->lock);
	queue->has_taken = false;
	if (task->reopen && queue->reopens_done < task->reopens)
		queue->reopens_done = task->reopens;
	VERIFY(queue->reopens_done, <=, queue->reopens_asked);
	pthread_cond_signal(&queue->room);
	pthread_mutex_unlock(&queue->lock);
}

static void call(void (*what)(void *place), void *place)
{
	if (what != NULL)
		what(place);
}

static void *sink_queue_main(void *arg)
{
	struct sink_queue *queue = arg;
	const struct sink_queue_ops *ops = queue->params.ops;
	void *place = queue->params.place;
	struct task task;

	call(ops->begin, place);
	call(ops->look, place);
	do {
		task = next_task(queue);
		if (task.reopen)
			call(ops->reopen, place);
		if (task.epoch != NULL) {
			ops->write(place, task.epoch);
			report_epoch_free(task.epoch);
		}
		if (task.passed && ops->pass != NULL)
			ops->pass(place, task.passed_ns);
		call(ops->look, place);
		end_task(queue, &task);
	} while (!task.end);
	call(ops->end, place);
	return NULL;
}

struct sink_queue *sink_queue_create(const struct sink_queue_params *params)
{
	struct sink_queue *queue = calloc(1, sizeof(*queue));
	pthread_condattr_t monotonic;

	if (queue == NULL)
		return NULL;
	queue->params = *params;
	if (params->second == 0)
		queue->params.second = SECOND_NS;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_mutex_init(&queue->lock, NULL);
	pthread_cond_init(&queue->work, &monotonic);
	pthread_cond_init(&queue->room, &monotonic);
	pthread_condattr_destroy(&monotonic);
	return queue;
}

int sink_queue_start(struct sink_queue *queue)
{
	return signals_start_thread(&queue->thread, sink_queue_main, queue);
}

void sink_queue_free(struct sink_queue *queue)
{
	if (queue == NULL)
		return;
	pthread_cond_destroy(&queue->room);
	pthread_cond_destroy(&queue->work);
	pthread_mutex_destroy(&queue->lock);
	free(queue);
}

void sink_queue_finish(struct sink_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	queue->ending = true;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

uint64_t sink_queue_end(struct sink_queue *queue)
{
	uint64_t lost = 0;

	sink_queue_finish(queue);
	/*
	 * Each sink limits this wait: network sinks by timeouts, pipes by wait_until_writable() if
	 * the run is live or was stopped.
	 */
	pthread_join(queue->thread, NULL);
	VERIFY(queue->first, ==, NULL);
	for (int lane = 0; lane < BACKLOGS; lane++)
		lost += queue->lanes[lane].lost;
	return lost;
}

static bool concerns(const struct sink_queue *queue, const struct report_epoch *epoch)
{
	for (uint32_t d = 0; d < queue->params.nb_deliveries; d++)
		if (delivery_concerns(queue->params.deliveries[d], epoch))
			return true;
	return false;
}

/*
 * Flow records have their own limit, because all records that end with an interval arrive together.
 */
static size_t bytes_max(const struct sink_queue *queue, enum sink_backlog_kind id)
{
	size_t limit = queue->params.queue;

	if (id == BACKLOG_FLOWS)
		return limit > 0 && limit < queue->flow_bytes_max ? limit : queue->flow_bytes_max;
	if (id == BACKLOG_DELIVERIES)
		return SIZE_MAX;
	return limit > 0 ? limit : SINK_QUEUE_BYTES;
}

/*
 * After a drop, there is room only when half of the memory is free again, so that an overload
 * causes one warning. A report of any size fits if no other report of its kind is queued.
 */
static bool has_room(const struct sink_queue *queue, enum sink_backlog_kind id, size_t bytes)
{
	const struct sink_backlog *backlog = &queue->lanes[id];
	size_t max = bytes_max(queue, id) / (log_ratelimit_goes_on(&backlog->drops) ? 2 : 1);

	if (id != BACKLOG_FLOWS && backlog->queued >= SINK_QUEUE_DEFAULT)
		return false;
	return backlog->queued == 0 || backlog->bytes + bytes <= max;
}

static void put_last(struct sink_queue *queue, struct sink_queue_waiting *waiting)
{
	struct sink_backlog *backlog = &queue->lanes[lane_of(waiting->epoch)];

	if (queue->first == NULL)
		queue->first = waiting;
	else
		queue->last->next = waiting;
	queue->last = waiting;
	backlog->queued++;
	backlog->bytes += waiting->bytes;
}

static bool enqueue(struct sink_queue *queue, struct report_epoch *epoch)
{
	struct sink_queue_waiting *waiting = malloc(sizeof(*waiting));
	bool room;

	if (waiting == NULL)
		return false;
	*waiting = (struct sink_queue_waiting){.epoch = epoch, .bytes = output_bytes(epoch)};
	pthread_mutex_lock(&queue->lock);
	room = has_room(queue, lane_of(epoch), waiting->bytes);
	if (room) {
		report_epoch_share(epoch);
		put_last(queue, waiting);
		pthread_cond_signal(&queue->work);
	}
	pthread_mutex_unlock(&queue->lock);
	if (!room)
		free(waiting);
	return room;
}

static void log_lane(
	const struct sink_queue *queue, bool warning, enum sink_backlog_kind kind, const char *what)
{
	const char *const names[BACKLOGS] = {
		queue->params.name, output_flows.option, output_deliveries.option};
	char line[512];

	snprintf(line, sizeof(line), "%.300s %s", names[kind], what);
	sink_log_line(warning, line, queue->params.sink_log);
}

static void log_drops(struct sink_queue *queue, enum sink_backlog_kind id)
{
	char often[LOG_RATELIMIT_OFTEN_MAX], what[128];

	if (!log_ratelimit_begins(&queue->lanes[id].drops, clock_now(CLOCK_MONOTONIC), often))
		return;
	snprintf(what, sizeof(what), "does not keep up; its rows are lost until it does%s", often);
	log_lane(queue, true, id, what);
}

static void log_resumed(struct sink_queue *queue, enum sink_backlog_kind id)
{
	struct sink_backlog *backlog = &queue->lanes[id];
	char what[128];

	if (!log_ratelimit_ends(&backlog->drops, clock_now(CLOCK_MONOTONIC)))
		return;
	snprintf(what, sizeof(what), "keeps up again; %llu rows were lost",
		(unsigned long long)backlog->lost_now);
	log_lane(queue, false, id, what);
	backlog->lost_now = 0;
}

static uint64_t count(struct sink_queue *queue, const struct report_epoch *epoch, bool dropped)
{
	uint64_t sum = 0;

	for (uint32_t d = 0; d < queue->params.nb_deliveries; d++) {
		struct delivery *delivery = queue->params.deliveries[d];
		uint64_t rows = delivery_rows(delivery, epoch);

		delivery->rows += rows;
		delivery_count(&delivery->dropped, dropped ? rows : 0);
		sum += rows;
	}
	return sum;
}

void sink_queue_push(struct sink_queue *queue, struct report_epoch *epoch)
{
	enum sink_backlog_kind id = lane_of(epoch);
	struct sink_backlog *backlog = &queue->lanes[id];
	uint64_t rows;
	bool taken;

	if (!concerns(queue, epoch))
		return;
	taken = enqueue(queue, epoch);
	rows = count(queue, epoch, !taken);
	if (!taken) {
		if (queue->params.ops->miss != NULL)
			queue->params.ops->miss(queue->params.place, epoch);
		if (rows == 0)
			return;
		log_drops(queue, id);
		backlog->lost += rows;
		backlog->lost_now += rows;
	} else if (log_ratelimit_goes_on(&backlog->drops)) {
		log_resumed(queue, id);
	}
}

/* The delivery report of the previous epoch is queued before an epoch. */
static bool has_room_for_both(
	const struct sink_queue *queue, const struct report_epoch *epoch, size_t bytes)
{
	return has_room(queue, BACKLOG_DELIVERIES, 0) &&
	       (!concerns(queue, epoch) || has_room(queue, lane_of(epoch), bytes));
}

bool sink_queue_wait(struct sink_queue *queue, const struct report_epoch *epoch, int64_t end)
{
	const struct timespec until = {end / SECOND_NS, end % SECOND_NS};
	const size_t bytes = output_bytes(epoch);
	bool room;

	pthread_mutex_lock(&queue->lock);
	while (!has_room_for_both(queue, epoch, bytes) &&
		pthread_cond_timedwait(&queue->room, &queue->lock, &until) == 0)
		;
	room = has_room_for_both(queue, epoch, bytes);
	pthread_mutex_unlock(&queue->lock);
	return room;
}

bool sink_queue_drops(const struct sink_queue *queue, const struct report_epoch *epoch)
{
	return log_ratelimit_goes_on(&queue->lanes[lane_of(epoch)].drops);
}

bool sink_queue_takes_deliveries(struct sink_queue *queue)
{
	bool room;

	pthread_mutex_lock(&queue->lock);
	room = has_room(queue, BACKLOG_DELIVERIES, 0);
	pthread_mutex_unlock(&queue->lock);
	return room;
}

void sink_queue_bound_flows(struct sink_queue *queue, size_t bytes)
{
	pthread_mutex_lock(&queue->lock);
	queue->flow_bytes_max = bytes;
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_pass(struct sink_queue *queue, int64_t time)
{
	pthread_mutex_lock(&queue->lock);
	queue->passed = true;
	queue->passed_ns = time;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_settle(struct sink_queue *queue)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->first != NULL || queue->has_taken)
		pthread_cond_wait(&queue->room, &queue->lock);
	pthread_mutex_unlock(&queue->lock);
}

void sink_queue_reopen(struct sink_queue *queue)
{
	if (queue->params.ops->reopen == NULL)
		return;
	pthread_mutex_lock(&queue->lock);
	queue->reopens_asked++;
	pthread_cond_signal(&queue->work);
	pthread_mutex_unlock(&queue->lock);
}

bool sink_queue_reopening(struct sink_queue *queue)
{
	bool reopening;

	pthread_mutex_lock(&queue->lock);
	reopening = queue->reopens_asked != queue->reopens_done;
	pthread_mutex_unlock(&queue->lock);
	return reopening;
}

bool sink_queue_roused(struct sink_queue *queue)
{
	bool roused;

	pthread_mutex_lock(&queue->lock);
	roused = queue->reopens_asked != queue->reopens_done;
	queue->reopens_done = queue->reopens_asked;
	pthread_mutex_unlock(&queue->lock);
	return roused;
}

int64_t sink_queue_second(const struct sink_queue *queue)
{
	return queue->params.second;
}

bool sink_queue_ending(struct sink_queue *queue)
{
	bool ending;

	pthread_mutex_lock(&queue->lock);
	ending = queue->ending;
	pthread_mutex_unlock(&queue->lock);
	/* After a request to stop, a replay may still be waiting for room in this queue. */
	return ending || signals_stop_requested();
}

int64_t sink_queue_patience(struct sink_queue *queue, uint32_t usual)
{
	const int64_t second = queue->params.second, ending = ENDING_S * second;
	int64_t now, left;

	if (signals_stop_requested() || (queue->params.keeps && sink_queue_ending(queue))) {
		now = clock_now(CLOCK_MONOTONIC);
		if (queue->stop_seen == 0)
			queue->stop_seen = now;
		left = queue->stop_seen + STOPPING_S * second - now;
		return left < 0 ? 0 : left < ending ? left : ending;
	}
	return sink_queue_ending(queue) && usual > ENDING_S ? ending : usual * second;
}

int64_t sink_queue_share(struct sink_queue *queue)
{
	int64_t now = clock_now(CLOCK_MONOTONIC), left;
	double bytes = 0, taken;
	bool ending;

	pthread_mutex_lock(&queue->lock);
	ending = queue->ending;
	taken = (double)queue->taken_bytes + 1;
	for (int lane = 0; lane < BACKLOGS; lane++)
		bytes += (double)queue->lanes[lane].bytes;
	pthread_mutex_unlock(&queue->lock);
	if (queue->leave_by == 0)
		queue->leave_by = now + LEAVING_S * queue->params.second;
	left = queue->leave_by - now;
	/*
	 * If the run has not ended, reserves time for one more report as large as the current one.
	 */
	return left <= 0 ? 0 : (int64_t)((double)left * taken / (bytes + taken * (ending ? 1 : 2)));
}

bool sink_queue_gives_up(struct sink_queue *queue, int64_t *since)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (!sink_queue_ending(queue))
		*since = now;
	return now - *since >= sink_queue_patience(queue, ENDING_S);
}

bool sink_queue_oldest(struct sink_queue *queue, int64_t *start)
{
	bool any = true;

	pthread_mutex_lock(&queue->lock);
	if (queue->has_taken)
		*start = queue->taken_start;
	else if (queue->first != NULL)
		*start = queue->first->epoch->start;
	else
		any = false;
	pthread_mutex_unlock(&queue->lock);
	return any;
}
