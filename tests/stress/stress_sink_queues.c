/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Sinks of all kinds whose receivers stall, hang up and go away, while one thread hands over rows
 * and another has the sinks reopened; then the end of the run with full queues. The delivery ledger
 * balances and includes all rows handed over.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/random.h"
#include "commands/commands.h"
#include "report/sinks/writer.h"

#define EPOCHS     400
#define ROWS       50
#define FLOWS      500
#define RECEIVERS  4
#define PLACES_MAX 16
#define TURNS      40
#define START      INT64_C(1800000000000000000)
#define SECOND     INT64_C(1000000000)

static char folder[] = "/tmp/stress_outlets.XXXXXX";
static atomic_bool over, ended;
static _Atomic uint32_t warnings;

/* --- Receivers */

struct receiver_of {
	int listener;
	uint16_t port; /* 0: Unix socket */
	uint64_t seed;
	uint64_t bytes;
	pthread_t thread;
};

/* Reads for a while or not at all, and hangs up in one of two ways; reads everything at the end. */
static void receive(struct receiver_of *receiver, int fd, uint64_t *random)
{
	const struct linger reset = {.l_onoff = 1};
	char bytes[4096];

	for (uint32_t turn = 0; (turn < TURNS || atomic_load(&over)) && !atomic_load(&ended);
		turn++) {
		struct pollfd there = {.fd = fd, .events = POLLIN};
		ssize_t n = 0;

		*random = random_mix(*random);
		if (*random % 4 == 0 && !atomic_load(&over)) {
			usleep((useconds_t)(*random % 8000));
		} else if (poll(&there, 1, 5) > 0) {
			n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
			if (n <= 0)
				break;
		}
		receiver->bytes += (uint64_t)n;
	}
	if (*random % 3 == 0)
		setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

static void *receive_all(void *arg)
{
	struct receiver_of *receiver = arg;
	uint64_t random = receiver->seed;

	while (!atomic_load(&ended)) {
		struct pollfd there = {.fd = receiver->listener, .events = POLLIN};
		int fd = poll(&there, 1, 5) > 0 ? accept(receiver->listener, NULL, NULL) : -1;

		if (fd >= 0)
			receive(receiver, fd, &random);
		else
			usleep(1000);
	}
	return NULL;
}

static void listen_at(struct receiver_of *receiver, uint64_t seed, const char *path)
{
	struct sockaddr_in on = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(on);
	int small = 4096;

	*receiver = (struct receiver_of){.seed = seed};
	receiver->listener = socket(path != NULL ? AF_UNIX : AF_INET, SOCK_STREAM, 0);
	assert_true(receiver->listener >= 0);
	setsockopt(receiver->listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (path != NULL) {
		snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
		assert_int_equal(bind(receiver->listener, (struct sockaddr *)&at, sizeof(at)), 0);
	} else {
		assert_int_equal(bind(receiver->listener, (struct sockaddr *)&on, len), 0);
		assert_int_equal(getsockname(receiver->listener, (struct sockaddr *)&on, &len), 0);
		receiver->port = ntohs(on.sin_port);
	}
	assert_int_equal(listen(receiver->listener, 4), 0);
	assert_int_equal(pthread_create(&receiver->thread, NULL, receive_all, receiver), 0);
}

/* --- Rows handed over */

static struct report_epoch *make_report(uint64_t number, bool flows_only)
{
	struct report_epoch *epoch = report_epoch_alloc(1, 1);
	struct report_measurement *measurement;

	assert_non_null(epoch);
	epoch->number = number;
	epoch->start = START + (int64_t)number * SECOND;
	epoch->end = flows_only ? epoch->start : epoch->start + SECOND;
	epoch->live = true;
	epoch->flows_only = flows_only;
	epoch->design = "rss";
	epoch->sharing = "separate";
	measurement = &epoch->measurements[0];
	measurement->name = "main";
	measurement->key_rule = &key_rules[0];
	measurement->sketch = "flow-table";
	measurement->flows = calloc(FLOWS, sizeof(measurement->flows[0]));
	assert_non_null(measurement->flows);
	measurement->nb_flows = FLOWS;
	for (uint32_t f = 0; f < FLOWS; f++)
		measurement->flows[f] = (struct report_flow){
			.key = {.family = KEY_IPV4,
				.v4 = {.src_ip = {10, 0, (uint8_t)(f >> 8), (uint8_t)f}}},
			.packets = f + 1,
			.bytes = 100 * f,
			.first = epoch->start,
			.last = epoch->start + SECOND / 2,
		};
	if (flows_only)
		return epoch;
	measurement->rows = calloc(ROWS, sizeof(measurement->rows[0]));
	assert_non_null(measurement->rows);
	measurement->nb_rows = ROWS;
	for (uint32_t r = 0; r < ROWS; r++) {
		measurement->rows[r].rank = r + 1;
		measurement->rows[r].key = measurement->flows[r].key;
	}
	return epoch;
}

static void *hand_over(void *arg)
{
	struct writer *writer = arg;

	for (uint64_t number = 0; number < EPOCHS; number++) {
		struct report_epoch *totals;

		writer_push(writer, make_report(number, true));
		writer_push(writer, make_report(number, false));
		totals = writer_deliveries(writer);
		assert_non_null(totals);
		report_epoch_free(totals);
		if (number % 4 == 0)
			usleep(5000);
	}
	return NULL;
}

static void *reopen_all(void *arg)
{
	struct writer *writer = arg;
	struct sink_log_reopened reopened;

	while (!atomic_load(&over)) {
		writer_reopen(writer);
		usleep(10000);
		(void)writer_reopening(writer, &reopened);
	}
	return NULL;
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)arg;
	(void)line;
	atomic_fetch_add(&warnings, warning);
}

/* --- Ledger */

struct queue_sums {
	char name[64];
	uint64_t rows, waiting;
};

/* Returns the ledger of the sink; a new one is empty. */
static struct queue_sums *sums_of(struct queue_sums *accounts, const char *name)
{
	uint32_t a = 0;

	while (a < PLACES_MAX && accounts[a].name[0] != '\0' && strcmp(accounts[a].name, name) != 0)
		a++;
	assert_true(a < PLACES_MAX);
	snprintf(accounts[a].name, sizeof(accounts[a].name), "%s", name);
	return &accounts[a];
}

static void check_row(struct queue_sums *accounts, const char *line)
{
	unsigned long long rows, delivered, acknowledged, failed, unknown, dropped, spooled,
		waiting;
	char name[64];
	struct queue_sums *account;

	/* epoch,start,end,export,kind,rows,delivered,acknowledged,failed,unknown,dropped,spooled, */
	assert_int_equal(
		sscanf(line,
			"%*[^,],%*[^,],%*[^,],%63[^,],%*[^,],%llu,%llu,%llu,%llu,%llu,%llu,"
			"%llu,%llu",
			name, &rows, &delivered, &acknowledged, &failed, &unknown, &dropped,
			&spooled, &waiting),
		9);
	account = sums_of(accounts, name);
	assert_true(account->waiting + rows ==
		    delivered + acknowledged + failed + unknown + dropped + waiting);
	assert_true(spooled <= waiting);
	account->rows += rows;
	account->waiting = waiting;
}

static uint32_t check_accounts(const char *path)
{
	struct queue_sums accounts[PLACES_MAX] = {0};
	FILE *file = fopen(path, "r");
	char line[512];
	uint32_t n = 0;

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	while (fgets(line, sizeof(line), file) != NULL)
		check_row(accounts, line);
	fclose(file);
	for (; n < PLACES_MAX && accounts[n].name[0] != '\0'; n++) {
		bool heavy = strcmp(accounts[n].name, "heavy") == 0 ||
			     strcmp(accounts[n].name, "file") == 0;

		assert_int_equal(accounts[n].rows, EPOCHS * (heavy ? ROWS : 2 * FLOWS));
		assert_true(accounts[n].waiting == 0 || strcmp(accounts[n].name, "spooled") == 0);
	}
	return n;
}

/* --- Tests */

static void write_config(const char *path, const struct receiver_of *receivers)
{
	static const char place[] = "[export %s]\nwhat = %s\nurl = %s:%u\nqueue = 256KB\n";
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs("pcap = a\nsketch = flow-table\n", file);
	fprintf(file, place, "stalled", "flows", "json:tcp://127.0.0.1", receivers[0].port);
	fprintf(file, place, "heavy", "heavy-hitters", "tcp://127.0.0.1", receivers[0].port);
	fprintf(file, place, "spooled", "flows", "json:tcp://127.0.0.1", receivers[1].port);
	fprintf(file, "spool = %s/spool,1MB\n", folder);
	fprintf(file, place, "records", "flows", "ipfix+tcp://127.0.0.1", receivers[2].port);
	fprintf(file, place, "datagrams", "flows", "ipfix://127.0.0.1", receivers[2].port);
	fprintf(file, "rate = 1000000\n");
	fprintf(file, "[export near]\nwhat = flows\nurl = unix:%s/near\n", folder);
	fprintf(file, "[export file]\nwhat = heavy-hitters\nurl = %s/heavy.csv\n", folder);
	fprintf(file, "[export told]\nwhat = deliveries\nurl = %s/told.csv\n", folder);
	fclose(file);
}

static void run_all(const struct config *config, struct receiver_of *receivers)
{
	const struct sink_log sink_log = {.log = hear};
	char error[WRITER_ERROR_MAX];
	pthread_t pusher, reopener;
	struct writer *writer;
	uint64_t first;
	int status;

	writer = writer_open(config, &sink_log, &first, &status, error);
	if (writer == NULL)
		fail_msg("%s", error);
	assert_int_equal(pthread_create(&pusher, NULL, hand_over, writer), 0);
	assert_int_equal(pthread_create(&reopener, NULL, reopen_all, writer), 0);
	pthread_join(pusher, NULL);
	atomic_store(&over, true);
	pthread_join(reopener, NULL);
	/* One receiver goes away for good. */
	shutdown(receivers[1].listener, SHUT_RDWR);
	(void)writer_close(writer);
}

static void every_row_has_its_fate(void **state)
{
	char path[64], near[64], told[64];
	char words[3][16] = {"sketchtap", "run", "--config"};
	char *arguments[] = {words[0], words[1], words[2], path, NULL};
	struct receiver_of receivers[RECEIVERS];
	struct config config;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/config", folder);
	snprintf(near, sizeof(near), "%s/near", folder);
	snprintf(told, sizeof(told), "%s/told.csv", folder);
	for (uint32_t r = 0; r < RECEIVERS; r++)
		listen_at(&receivers[r], r + 1, r == RECEIVERS - 1 ? near : NULL);
	write_config(path, receivers);
	assert_int_equal(config_load(&config, &commands, 4, arguments, stdout, stderr), CONFIG_OK);
	run_all(&config, receivers);
	atomic_store(&ended, true);
	for (uint32_t r = 0; r < RECEIVERS; r++) {
		pthread_join(receivers[r].thread, NULL);
		close(receivers[r].listener);
		assert_true(receivers[r].bytes > 0);
	}
	assert_int_equal(check_accounts(told), 7);
	assert_true(warnings > 0);
	config_free(&config);
	snprintf(path, sizeof(path), "rm -r %s", folder);
	assert_int_equal(system(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_its_fate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
