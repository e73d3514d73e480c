/* SPDX-License-Identifier: BSD-3-Clause */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include <rte_telemetry.h>

#include "control/control.h"
#include "parallel/plan/design.h"

/* --- telemetry without its socket: commands are called by name, and replies can be held up --- */

#define COMMANDS_MAX 16

static struct {
	const char *path;
	telemetry_cb answer;
} commands[COMMANDS_MAX];
static uint32_t nb_commands;

int __wrap_rte_telemetry_register_cmd(const char *path, telemetry_cb answer, const char *help);
int __real_rte_tel_data_start_dict(struct rte_tel_data *data);
int __wrap_rte_tel_data_start_dict(struct rte_tel_data *data);

int __wrap_rte_telemetry_register_cmd(const char *path, telemetry_cb answer, const char *help)
{
	(void)help;
	assert_true(nb_commands < COMMANDS_MAX);
	commands[nb_commands].path = path;
	commands[nb_commands++].answer = answer;
	return 0;
}

static sem_t begun, go_on;
static _Atomic bool hold_up;

int __wrap_rte_tel_data_start_dict(struct rte_tel_data *data)
{
	if (atomic_exchange(&hold_up, false)) {
		sem_post(&begun);
		sem_wait(&go_on);
	}
	return __real_rte_tel_data_start_dict(data);
}

/* Everything that the thread allocated for a reply; the socket frees it after sending. */
#define PARTS_MAX 64

static _Thread_local struct rte_tel_data *parts[PARTS_MAX];
static _Thread_local uint32_t nb_parts;

struct rte_tel_data *__real_rte_tel_data_alloc(void);
struct rte_tel_data *__wrap_rte_tel_data_alloc(void);
void __real_rte_tel_data_free(struct rte_tel_data *data);
void __wrap_rte_tel_data_free(struct rte_tel_data *data);

struct rte_tel_data *__wrap_rte_tel_data_alloc(void)
{
	assert_true(nb_parts < PARTS_MAX);
	return parts[nb_parts++] = __real_rte_tel_data_alloc();
}

/* Freed with the others. */
void __wrap_rte_tel_data_free(struct rte_tel_data *data)
{
	(void)data;
}

static void ask(const char *path)
{
	struct rte_tel_data *answer = rte_tel_data_alloc();

	assert_non_null(answer);
	for (uint32_t c = 0; c < nb_commands; c++)
		if (strcmp(commands[c].path, path) == 0)
			assert_int_equal(commands[c].answer(path, NULL, answer), 0);
	while (nb_parts > 0)
		__real_rte_tel_data_free(parts[--nb_parts]);
}

static void *ask_in_thread(void *path)
{
	ask(path);
	return NULL;
}

static _Atomic bool let_go;

struct stopping {
	sem_t done;
	bool let_go; /* value of let_go when control_stop() returned */
};

static void *stop_in_thread(void *arg)
{
	struct stopping *stopping = arg;

	control_stop();
	stopping->let_go = atomic_load(&let_go);
	sem_post(&stopping->done);
	return NULL;
}

/* Starts everything a run has until control_stop() returns. */
static void start(struct plan *plan)
{
	struct report_epoch *epoch = report_epoch_alloc(1, 1);

	assert_non_null(epoch);
	memset(plan, 0, sizeof(*plan));
	plan->design = designs[0];
	control_start(plan, 0, NULL, false);
	epoch->measurements[0].name = "main";
	epoch->measurements[0].key_rule = &key_rules[0];
	control_publish(epoch, NULL);
	report_epoch_free(epoch);
}

/* A handler is building its reply when the run ends: the names that it reads must stay valid. */
static void check_stop_waits(char *path)
{
	static struct plan plan;
	struct stopping stopping = {0};
	pthread_t asking, stopper;
	struct timespec until;

	start(&plan);
	sem_init(&begun, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&stopping.done, 0, 0);
	atomic_store(&let_go, false);
	atomic_store(&hold_up, true);
	assert_int_equal(pthread_create(&asking, NULL, ask_in_thread, path), 0);
	sem_wait(&begun);
	assert_int_equal(pthread_create(&stopper, NULL, stop_in_thread, &stopping), 0);
	/* Gives control_stop() time to return, which it must not do. */
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 200000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	sem_timedwait(&stopping.done, &until);
	/* A client that asks now learns that no measurement runs, and does not wait. */
	ask(path);
	atomic_store(&let_go, true);
	sem_post(&go_on);
	pthread_join(stopper, NULL);
	pthread_join(asking, NULL);
	assert_true(stopping.let_go);
}

static void test_stop_waits_for_answers(void **state)
{
	(void)state;
	check_stop_waits((char[]){"/sketchtap/plan"});
	check_stop_waits((char[]){"/sketchtap/top"});
}

static void test_stop_without_a_question(void **state)
{
	static struct plan plan;

	(void)state;
	start(&plan);
	ask("/sketchtap/plan");
	ask("/sketchtap/top");
	ask("/sketchtap/stats");
	control_stop();
	ask("/sketchtap/top");
	control_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stop_waits_for_answers),
		cmocka_unit_test(test_stop_without_a_question),
	};

	control_offer();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
