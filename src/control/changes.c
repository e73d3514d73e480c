/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/changes.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "base/signals.h"
#include "config/config_change.h"
#include "control/control_commands.h"
#include "parallel/plan/topology.h"
#include "report/merge/measurement_report.h"

#define PATIENCE_S     2
#define END_PATIENCE_S 5 /* until a warning is logged, in s */

_Static_assert(CONFIG_ERROR_MAX <= CHANGE_ERROR_MAX && PLAN_TEXT_MAX <= CHANGE_ERROR_MAX &&
		       WRITER_ERROR_MAX <= CHANGE_ERROR_MAX && OPTION_WHY_MAX <= CHANGE_ERROR_MAX,
	"errors are not truncated");

enum change_state {
	CHANGE_ASKED,
	CHANGE_READY,  /* measurements are allocated, and the reporter must install them */
	CHANGE_TAKEN,  /* installed, but the first epoch is unknown */
	CHANGE_PLACED, /* `from` is the first epoch, but not open yet */
	CHANGE_DONE,   /* the answer is complete */
};

struct change {
	char *words; /* command of the client; NULL: reload */
	enum change_state state;
	bool left; /* the client no longer waits for the answer */
	uint64_t from;
	struct change_answer answer;
	struct change *next;
};

struct changes {
	struct changes_params params;
	pthread_t thread;

	const struct config *newest; /* last prepared configuration; only for the thread */

	pthread_mutex_t lock; /* protects the following */
	pthread_cond_t work;  /* a new request, measurements to free, or the end */
	pthread_cond_t done;  /* a change of state */
	struct change *first;
	uint64_t nb_asked;
	struct measurements *ready;  /* to be installed by the reporter */
	struct measurements *unused; /* to be freed by the thread */
	bool ending;

	struct change reload;
	bool reload_again;          /* another reload was requested during the reload */
	const struct config *taken; /* configuration of the last installed change */
	struct change_since since[CONFIG_MEASUREMENTS_MAX];
	bool waiting; /* some measurements have not started */
	/*
	 * Changes that are ready but not done. Written under the lock. The reporter may read an old
	 * value without the lock (relaxed), because it reads it again soon.
	 */
	_Atomic uint32_t open;
};

static void change_free(struct change *change)
{
	if (change != NULL)
		free(change->words);
	free(change);
}

static void append(struct changes *changes, struct change *change)
{
	struct change **end = &changes->first;

	while (*end != NULL)
		end = &(*end)->next;
	change->next = NULL;
	*end = change;
}

static void take_out(struct changes *changes, const struct change *change)
{
	struct change **at = &changes->first;

	while (*at != NULL && *at != change)
		at = &(*at)->next;
	if (*at != NULL)
		*at = change->next;
}

static void set_state(struct changes *changes, struct change *change, enum change_state state)
{
	bool was_open = change->state != CHANGE_ASKED && change->state != CHANGE_DONE;
	bool is_open = state != CHANGE_ASKED && state != CHANGE_DONE;

	change->state = state;
	if (is_open && !was_open)
		atomic_fetch_add_explicit(&changes->open, 1, memory_order_relaxed);
	else if (was_open && !is_open)
		atomic_fetch_sub_explicit(&changes->open, 1, memory_order_relaxed);
	pthread_cond_broadcast(&changes->done);
}

/* Returns NULL, and sets the error of the answer, on failure. */
static struct config *read_config(const struct changes *changes, struct change *change)
{
	struct change_answer *answer = &change->answer;
	struct config *config = malloc(sizeof(*config));
	enum config_result result;

	if (config == NULL) {
		snprintf(answer->error, sizeof(answer->error), "out of memory");
		return NULL;
	}
	result = change->words == NULL
			 ? config_read_again(config, changes->newest, answer->error)
			 : config_change(config, changes->newest, change->words, answer->error);
	if (result == CONFIG_OK)
		return config;
	answer->mistake = result == CONFIG_EXIT_2;
	free(config);
	return NULL;
}

static void destroy_set(struct measurements *set)
{
	if (set != NULL)
		measurement_report_destroy(set);
	measurements_destroy(set);
}

static bool make_plan(
	const struct changes *changes, struct config *config, struct plan *plan, char *error)
{
	static struct topology topology;
	const struct run *run = changes->params.run;

	if (epoch_options(run->config)->interval == 0) {
		snprintf(error, CHANGE_ERROR_MAX,
			"measurements cannot change with --interval 0: the run has one interval");
		return false;
	}
	if (run->ops->takes != NULL && !run->ops->takes(run->config, config, error))
		return false;
	if (!writer_takes(changes->params.writer, config, error))
		return false;
	topology_read(&topology, "");
	edit_seed_options(config)->seed = seed_options(run->config)->seed;
	return plan_change(plan, run->plan, config, &topology, error);
}

static struct measurements *make_set(
	const struct changes *changes, struct config *config, char *error)
{
	static struct plan plan;
	struct measurements *measurements;

	if (!make_plan(changes, config, &plan, error))
		return NULL;
	run_say_warnings(&plan);
	measurements = run_prepare(changes->params.run, &plan);
	if (measurements != NULL && measurement_report_create(measurements))
		return measurements;
	destroy_set(measurements);
	snprintf(error, CHANGE_ERROR_MAX, "out of memory for sketches; lower width or memory");
	return NULL;
}

/* Returns NULL if nothing changes or the change fails. */
static struct measurements *prepare(struct changes *changes, struct change *change)
{
	struct change_answer *answer = &change->answer;
	struct config *config = read_config(changes, change);
	struct measurements *set = NULL;

	answer->refused = config == NULL;
	if (config == NULL)
		return NULL;
	answer->measurements = config->nb_measurements;
	answer->same = config_measures_same(changes->newest, config);
	if (!answer->same)
		set = make_set(changes, config, answer->error);
	if (set == NULL) {
		answer->refused = !answer->same;
		config_free(config);
		free(config);
		return NULL;
	}
	set->config = config;
	changes->newest = config;
	return set;
}

static void destroy_sets(struct measurements *sets)
{
	while (sets != NULL) {
		struct measurements *set = sets;

		sets = set->next;
		destroy_set(set);
	}
}

static void answer_change(struct changes *changes, struct change *change)
{
	struct measurements *set;

	pthread_mutex_unlock(&changes->lock);
	set = prepare(changes, change);
	pthread_mutex_lock(&changes->lock);
	if (set == NULL) {
		set_state(changes, change, CHANGE_DONE);
		return;
	}
	if (changes->ready != NULL) { /* the reporter has not installed the previous change */
		changes->ready->next = changes->unused;
		changes->unused = changes->ready;
	}
	changes->ready = set;
	set_state(changes, change, CHANGE_READY);
}

static struct change *next_asked(const struct changes *changes)
{
	struct change *change = changes->first;

	while (change != NULL && change->state != CHANGE_ASKED)
		change = change->next;
	return change;
}

static void *prepare_changes(void *arg)
{
	struct changes *changes = arg;

	pthread_mutex_lock(&changes->lock);
	while (!changes->ending) {
		struct change *change = next_asked(changes);
		struct measurements *unused = changes->unused;

		if (unused != NULL) {
			changes->unused = NULL;
			pthread_mutex_unlock(&changes->lock);
			changes->params.settle();
			destroy_sets(unused);
			pthread_mutex_lock(&changes->lock);
		} else if (change != NULL) {
			answer_change(changes, change);
		} else {
			pthread_cond_wait(&changes->work, &changes->lock);
		}
	}
	pthread_mutex_unlock(&changes->lock);
	return NULL;
}

struct changes *changes_start(const struct changes_params *params)
{
	struct changes *changes = calloc(1, sizeof(*changes));

	if (changes == NULL)
		return NULL;
	changes->params = *params;
	changes->newest = changes->taken = params->run->config;
	for (uint32_t m = 0; m < CONFIG_MEASUREMENTS_MAX; m++)
		changes->since[m].epoch = params->first_epoch;
	changes->reload.state = CHANGE_DONE;
	pthread_mutex_init(&changes->lock, NULL);
	pthread_cond_init(&changes->work, NULL);
	pthread_cond_init(&changes->done, NULL);
	if (signals_start_thread(&changes->thread, prepare_changes, changes) == 0)
		return changes;
	changes_free(changes);
	return NULL;
}

static void free_measurements(struct changes *changes, struct measurements *unused)
{
	struct measurements **end = &changes->unused;

	if (unused == NULL)
		return;
	pthread_mutex_lock(&changes->lock);
	while (*end != NULL)
		end = &(*end)->next;
	*end = unused;
	pthread_cond_signal(&changes->work);
	pthread_mutex_unlock(&changes->lock);
}

static void reject_open(struct changes *changes)
{
	for (struct change *change = changes->first; change != NULL; change = change->next)
		if (change->state != CHANGE_DONE) {
			if (change->state == CHANGE_TAKEN || change->state == CHANGE_PLACED)
				log_warning("the run ended before this change took effect: %s",
					change->words != NULL ? change->words
							      : "the configuration");
			snprintf(
				change->answer.error, sizeof(change->answer.error), "the run ends");
			change->answer.refused = true;
			set_state(changes, change, CHANGE_DONE);
		}
}

void changes_end(struct changes *changes)
{
	pthread_mutex_lock(&changes->lock);
	changes->ending = true;
	pthread_cond_signal(&changes->work);
	pthread_mutex_unlock(&changes->lock);
	if (!signals_join_thread(changes->thread, END_PATIENCE_S)) {
		log_warning(
			"waiting for the thread that changes measurements: it reads the "
			"configuration or allocates memory; a second signal ends the run at once");
		pthread_join(changes->thread, NULL);
	}
	pthread_mutex_lock(&changes->lock);
	reject_open(changes);
	pthread_mutex_unlock(&changes->lock);
}

void changes_free(struct changes *changes)
{
	if (changes == NULL)
		return;
	free_measurements(changes, run_take_unused(changes->params.run));
	while (changes->first != NULL) {
		struct change *change = changes->first;

		take_out(changes, change);
		if (change != &changes->reload)
			change_free(change);
	}
	destroy_sets(changes->unused);
	destroy_set(changes->ready);
	pthread_cond_destroy(&changes->done);
	pthread_cond_destroy(&changes->work);
	pthread_mutex_destroy(&changes->lock);
	free(changes);
}

/*
 * Returns false after `seconds`. Another reload may reuse the change, and then has another number
 * than `number`. The caller holds the lock.
 */
static bool await_state(struct changes *changes, const struct change *change, uint64_t number,
	enum change_state state, int seconds)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	while (change->answer.number == number && change->state < state)
		if (pthread_cond_clockwait(
			    &changes->done, &changes->lock, CLOCK_MONOTONIC, &until) == ETIMEDOUT)
			return change->answer.number != number || change->state >= state;
	return true;
}

/*
 * Waits until the change is installed or refused, at most CONTROL_ANSWER_S, and then for its first
 * epoch, at most PATIENCE_S. Returns false after the first timeout. The caller holds the lock.
 */
static bool await(struct changes *changes, const struct change *change, uint64_t number,
	struct change_answer *answer)
{
	if (await_state(changes, change, number, CHANGE_TAKEN, CONTROL_ANSWER_S)) {
		await_state(changes, change, number, CHANGE_DONE, PATIENCE_S);
		return true;
	}
	/* The thread may be writing change->answer. */
	*answer = (struct change_answer){.number = number, .refused = true};
	snprintf(answer->error, sizeof(answer->error),
		"the change is not done after %d s: %s; it may still take effect; see ctl measure list",
		CONTROL_ANSWER_S,
		change->state == CHANGE_READY
			? "the reporter is not responding"
			: "the configuration is being read, or memory is being allocated");
	return false;
}

static struct change *change_create(const char *words)
{
	struct change *change = calloc(1, sizeof(*change));

	if (change == NULL)
		return NULL;
	change->words = strdup(words);
	if (change->words != NULL)
		return change;
	free(change);
	return NULL;
}

static void queue_change(struct changes *changes, struct change *change)
{
	change->answer.number = ++changes->nb_asked;
	append(changes, change);
	pthread_cond_signal(&changes->work);
}

struct change_answer changes_ask(struct changes *changes, const char *words)
{
	struct change_answer answer = {.refused = true, .error = "the run ends"};
	struct change *change = change_create(words);

	pthread_mutex_lock(&changes->lock);
	if (change == NULL || changes->ending) {
		pthread_mutex_unlock(&changes->lock);
		change_free(change);
		return answer;
	}
	queue_change(changes, change);
	if (await(changes, change, change->answer.number, &answer))
		answer = change->answer;
	if (change->state == CHANGE_DONE) {
		take_out(changes, change);
		change_free(change);
	} else {
		change->left = true;
	}
	pthread_mutex_unlock(&changes->lock);
	return answer;
}

void changes_await_reload(struct changes *changes, struct change_answer *answer)
{
	pthread_mutex_lock(&changes->lock);
	if (await(changes, &changes->reload, answer->number, answer) &&
		changes->reload.answer.number == answer->number)
		*answer = changes->reload.answer;
	pthread_mutex_unlock(&changes->lock);
}

void changes_reload(struct changes *changes)
{
	pthread_mutex_lock(&changes->lock);
	changes->reload_again = changes->reload.state < CHANGE_TAKEN;
	if (!changes->reload_again && !changes->ending) {
		take_out(changes, &changes->reload);
		set_state(changes, &changes->reload, CHANGE_DONE);
		changes->reload = (struct change){.state = CHANGE_ASKED};
		queue_change(changes, &changes->reload);
	}
	pthread_mutex_unlock(&changes->lock);
}

bool changes_reloading(struct changes *changes, struct change_answer *answer)
{
	bool reloading;

	pthread_mutex_lock(&changes->lock);
	reloading = changes->reload.state < CHANGE_TAKEN;
	if (!reloading) /* the thread no longer writes the answer */
		*answer = changes->reload.answer;
	pthread_mutex_unlock(&changes->lock);
	if (reloading || !changes->reload_again)
		return reloading;
	changes_reload(changes); /* the file may have changed since it was read */
	return true;
}

static void apply_change(struct changes *changes, struct change *change, uint64_t at_least)
{
	change->answer.epoch = at_least;
	change->answer.at_least = true;
	set_state(changes, change, CHANGE_TAKEN);
}

static bool is_open(const struct changes *changes, uint64_t from, uint64_t *number)
{
	struct epochs *epochs = changes->params.run->epochs;
	/* Pairs with the release store of `open`, which follows the number of the epoch. */
	uint64_t open = atomic_load_explicit(&epochs->open, memory_order_acquire);

	if (from > open || (from == open && epochs_is_end(epochs, open)))
		return false;
	*number = changes->params.first_epoch + epochs_info(epochs, from)->number;
	return true;
}

static void check_change(struct changes *changes, struct change *change)
{
	const struct run *run = changes->params.run;

	if (change->state == CHANGE_TAKEN && run->next_from != UINT64_MAX) {
		change->from = run->next_from;
		set_state(changes, change, CHANGE_PLACED);
	}
	if (change->state != CHANGE_PLACED ||
		!is_open(changes, change->from, &change->answer.epoch))
		return;
	change->answer.at_least = false;
	set_state(changes, change, CHANGE_DONE);
	log_notice("%s%s: measurements %u, from interval %llu on",
		change->words != NULL ? "measure " : "configuration reloaded",
		change->words != NULL ? change->words : "", change->answer.measurements,
		(unsigned long long)change->answer.epoch);
}

static void look_at_measurements(struct changes *changes)
{
	const struct run *run = changes->params.run;
	bool any = false;

	changes->waiting = false;
	for (uint32_t m = 0; m < changes->taken->nb_measurements; m++) {
		struct change_since *since = &changes->since[m];

		if (!since->at_least)
			continue;
		if (since->from == UINT64_MAX)
			since->from = run->next_from;
		since->at_least = !is_open(changes, since->from, &since->epoch);
		changes->waiting |= since->at_least;
		any |= !since->at_least;
	}
	if (any)
		changes->params.publish(&run->next->plan, changes->since);
}

static void look_at_all(struct changes *changes)
{
	struct change *change = changes->first, *next;

	for (; change != NULL; change = next) {
		next = change->next;
		check_change(changes, change);
		if (!change->left || change->state != CHANGE_DONE)
			continue;
		take_out(changes, change);
		change_free(change);
	}
}

/* Unchanged measurements keep their first epoch. Others begin at `at_least` or later. */
static void take_config(struct changes *changes, const struct config *config, uint64_t at_least)
{
	struct change_since before[CONFIG_MEASUREMENTS_MAX];

	memcpy(before, changes->since, sizeof(before));
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		changes->since[m] = (struct change_since){at_least, true, UINT64_MAX};
		for (uint32_t b = 0; b < changes->taken->nb_measurements; b++)
			if (config_measures_one_same(config, m, changes->taken, b))
				changes->since[m] = before[b];
	}
	changes->taken = config;
	changes->waiting = true;
}

static void take_ready(struct changes *changes, uint64_t at_least)
{
	take_config(changes, changes->ready->config, at_least);
	changes->params.publish(&changes->ready->plan, changes->since);
	run_change(changes->params.run, changes->ready);
	changes->ready = NULL;
	for (struct change *change = changes->first; change != NULL; change = change->next)
		if (change->state == CHANGE_READY)
			apply_change(changes, change, at_least);
}

void changes_look(struct changes *changes, uint64_t at_least)
{
	struct run *run = changes->params.run;

	if (atomic_load_explicit(&changes->open, memory_order_relaxed) > 0 || changes->waiting) {
		pthread_mutex_lock(&changes->lock);
		look_at_all(changes);
		look_at_measurements(changes);
		if (changes->ready != NULL)
			take_ready(changes, at_least);
		pthread_mutex_unlock(&changes->lock);
	}
	free_measurements(changes, run_take_unused(run));
}
