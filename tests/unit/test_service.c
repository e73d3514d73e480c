/* SPDX-License-Identifier: BSD-3-Clause */

/* Messages to the service manager, through a socket like that of systemd. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "control/service.h"
#include "sample_epoch.h"

#define SECOND UINT64_C(1000000000)

static int manager = -1;
static struct notify notify;
static struct service service;

/* Makes a manager that listens on an abstract socket, whose name is in the environment. */
static int make_manager(void **state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	socklen_t length = sizeof(address);
	char name[sizeof(address.sun_path) + 1] = "";

	(void)state;
	manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	/* The kernel chooses a free abstract name. */
	if (manager < 0 || bind(manager, (struct sockaddr *)&address, sizeof(sa_family_t)) != 0 ||
		getsockname(manager, (struct sockaddr *)&address, &length) != 0)
		return -1;
	memcpy(name, address.sun_path, length - offsetof(struct sockaddr_un, sun_path));
	name[0] = '@';
	setenv("NOTIFY_SOCKET", name, 1);
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return 0;
}

static int end_manager(void **state)
{
	(void)state;
	notify_close(&notify);
	return close(manager);
}

static void open_service(const char *watchdog_us)
{
	if (watchdog_us != NULL)
		setenv("WATCHDOG_USEC", watchdog_us, 1);
	assert_null(notify_open(&notify));
	service_init(&service, &notify);
}

static void assert_heard(const char *expected)
{
	char message[512];
	ssize_t n = recv(manager, message, sizeof(message) - 1, MSG_DONTWAIT);

	if (n < 0)
		fail_msg("silence instead of \"%s\"", expected);
	message[n] = '\0';
	assert_string_equal(message, expected);
}

static void assert_silence(void)
{
	char message[512];

	assert_int_equal(recv(manager, message, sizeof(message), MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

static void a_life_in_messages(void **state)
{
	struct report_epoch *epoch = sample_epoch(7, 1);

	(void)state;
	epoch->ledger.offered = 1000;
	epoch->ledger.measured = 998;
	epoch->ledger.nic_missed = 2;
	open_service(NULL);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_silence();
	service_ready(&service);
	assert_heard("READY=1");
	service_epoch(&service, epoch, SECOND);
	assert_heard("STATUS=interval 7: 998 packets per second, 0.200000% lost");
	epoch->ledger.losses_unknown = true;
	service_epoch(&service, epoch, 2 * SECOND);
	assert_heard("STATUS=interval 7: 998 packets per second, at least 0.200000% lost");
	epoch->ledger.nic_missed = 0;
	service_epoch(&service, epoch, 3 * SECOND);
	assert_heard("STATUS=interval 7: 998 packets per second, losses unknown");
	service_reloading(&service, 3 * SECOND);
	assert_heard("RELOADING=1\nMONOTONIC_USEC=3000000");
	service_ready(&service);
	assert_heard("READY=1");
	service_stopping(&service);
	assert_heard("STOPPING=1");
	service_stopping(&service);
	service_ready(&service); /* ignored after the end */
	assert_silence();
	report_epoch_free(epoch);
}

static void status_at_most_once_a_second(void **state)
{
	struct report_epoch *epoch = sample_epoch(0, 1);
	int heard = 0;
	char message[512];

	(void)state;
	epoch->end = epoch->start; /* no rate */
	open_service(NULL);
	for (uint64_t ms = 0; ms < 10000; ms++)
		service_epoch(&service, epoch, ms * 1000000);
	while (recv(manager, message, sizeof(message), MSG_DONTWAIT) > 0)
		heard++;
	assert_int_equal(heard, 10);
	report_epoch_free(epoch);
}

static void watchdog_hears_four_times_a_period(void **state)
{
	(void)state;
	open_service("2000000");
	assert_null(getenv("WATCHDOG_USEC"));
	for (uint64_t at = SECOND; at < 5 * SECOND; at += SECOND / 2) {
		service_alive(&service, at);
		assert_heard("WATCHDOG=1");
		service_alive(&service, at + 1);
		service_alive(&service, at + SECOND / 2 - 1);
		assert_silence();
	}
}

static void no_watchdog_no_sign_of_life(void **state)
{
	char pid[32];

	(void)state;
	open_service(NULL);
	service_alive(&service, SECOND);
	assert_silence();
	notify_close(&notify);

	/* The watchdog is for another process. */
	end_manager(state);
	make_manager(state);
	setenv("WATCHDOG_PID", "1", 1);
	open_service("1000000");
	assert_null(getenv("WATCHDOG_PID"));
	service_alive(&service, SECOND);
	assert_silence();
	notify_close(&notify);

	end_manager(state);
	make_manager(state);
	snprintf(pid, sizeof(pid), "%d", (int)getpid());
	setenv("WATCHDOG_PID", pid, 1);
	open_service("1000000");
	service_alive(&service, SECOND);
	assert_heard("WATCHDOG=1");
}

/* A manager that does not read for a while does not block, and gets READY=1 later. */
static void ready_is_said_until_it_gets_through(void **state)
{
	char message[512];
	int queued = 0;

	(void)state;
	open_service("4000000");
	while (notify_send(&notify, "STATUS=x"))
		queued++;
	assert_true(queued > 0);
	service_ready(&service);
	service_alive(&service, SECOND);
	while (recv(manager, message, sizeof(message), MSG_DONTWAIT) > 0)
		queued--;
	assert_int_equal(queued, 0);
	service_alive(&service, SECOND + 1);
	assert_heard("READY=1");
	assert_heard("WATCHDOG=1");
	service_alive(&service, SECOND + 2);
	assert_silence();
}

static void nobody_to_tell(void **state)
{
	static const char *const wrong[] = {"", "@", "/", "relative", "vsock:2:1", "/nonexistent"};
	char too_long[300];

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("NOTIFY_SOCKET", wrong[i], 1);
		assert_non_null(notify_open(&notify));
		assert_null(getenv("NOTIFY_SOCKET"));
		assert_true(notify_send(&notify, "READY=1")); /* no receiver */
	}
	memset(too_long, 'x', sizeof(too_long));
	too_long[0] = '/';
	too_long[sizeof(too_long) - 1] = '\0';
	setenv("NOTIFY_SOCKET", too_long, 1);
	assert_non_null(notify_open(&notify));
	assert_null(notify_open(&notify)); /* removed from the environment */
	service_init(&service, NULL);
	service_ready(&service);
	service_alive(&service, SECOND);
	assert_silence();
}

static void watchdog_that_makes_no_sense(void **state)
{
	static const char *const wrong[] = {"", "0", "x", "-1", "5s", "99999999999999999999"};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("WATCHDOG_USEC", wrong[i], 1);
		assert_non_null(notify_open(&notify));
		assert_int_equal(notify.watchdog_ns, 0);
		assert_true(notify_send(&notify, "READY=1")); /* the socket is valid */
		assert_heard("READY=1");
		notify_close(&notify);
		end_manager(state);
		make_manager(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_life_in_messages, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(
			status_at_most_once_a_second, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(
			watchdog_hears_four_times_a_period, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(
			no_watchdog_no_sign_of_life, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(
			ready_is_said_until_it_gets_through, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(nobody_to_tell, make_manager, end_manager),
		cmocka_unit_test_setup_teardown(
			watchdog_that_makes_no_sense, make_manager, end_manager),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
