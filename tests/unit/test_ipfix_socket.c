/* SPDX-License-Identifier: BSD-3-Clause */

/* IPFIX over loopback to receivers of this test: what arrives, what is lost, and the counts. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "config/option_value.h"
#include "config/options.h"
#include "config/config.h"
#include "flow_protocols/big_endian.h"
#include "many_flows.h"
#include "report/formats/ipfix.h"
#include "report/sinks/sink.h"
#include "report/sinks/socket_client.h"

#define STREAM_MAX (8 << 20)

static struct many many;
static struct seen seen;
static struct templates *templates;
static uint32_t warnings, notices;
static char last_line[512];

static void hear(bool warning, const char *line, void *arg)
{
	(void)arg;
	*(warning ? &warnings : &notices) += 1;
	assert_memory_equal(line, "ipfix: ", strlen("ipfix: "));
	snprintf(last_line, sizeof(last_line), "%s", line + strlen("ipfix: "));
}

static int begin(void **state)
{
	(void)state;
	memset(&many, 0, sizeof(many));
	warnings = notices = 0;
	templates = templates_create(1 << 20);
	return templates == NULL;
}

static int end(void **state)
{
	(void)state;
	templates_destroy(templates);
	return 0;
}

/* --- Receivers */

static int open_at(bool tcp, in_port_t port)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = port};
	static const int one = 1;
	int fd = socket(AF_INET, tcp ? SOCK_STREAM : SOCK_DGRAM, 0);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)), 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	if (tcp)
		assert_int_equal(listen(fd, 5), 0);
	return fd;
}

static in_port_t port_of(int fd)
{
	struct sockaddr_in at;
	socklen_t len = sizeof(at);

	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	return at.sin_port;
}

static struct sink_log sink_log = {.log = hear};

static struct sink *open_url(const char *url, const char *rate)
{
	static const struct sink_options options;
	_Alignas(16) unsigned char own[64] = {0};
	const struct sink_request request = {
		.url = url, .name = "ipfix", .kind = ROWS_FLOWS, .options = &options, .own = own};
	char why[OPTION_WHY_MAX];
	struct sink *sink;

	assert_true(sink_type_ipfix.keys->size <= sizeof(own));
	if (rate != NULL)
		assert_true(option_set(
			options_find_key(sink_type_ipfix.keys, "rate").row, rate, own, why));
	sink = sink_create(&request, 0, &sink_log);
	assert_non_null(sink);
	return sink;
}

static struct sink *open_to(bool tcp, in_port_t port, const char *rate)
{
	char url[64];

	snprintf(url, sizeof(url), "ipfix%s://127.0.0.1:%u", tcp ? "+tcp" : "", ntohs(port));
	return open_url(url, rate);
}

/* Writes without a queue. Returns the counts of this report. */
static struct report_delivery write_report(struct sink *sink, const struct report_epoch *epoch)
{
	sink->delivery.rows += delivery_rows(&sink->delivery, epoch);
	sink->type->ops.write(sink, epoch);
	return delivery_look(&sink->delivery);
}

/* Reads a message; returns its number of data records. */
static uint32_t take(const uint8_t *message, uint32_t len)
{
	struct decode_result result = decode_copy(message, len, templates, &seen);

	assert_int_equal(result.fault, DECODE_FINE);
	assert_false(result.unknown_sets);
	for (uint32_t r = 0; r < seen.n; r++)
		many_see(&seen.records[r], &many);
	return result.data_records;
}

/* Reads all waiting messages; returns their number. */
static uint32_t take_datagrams(int fd, uint32_t *sequence)
{
	uint8_t message[2048];
	uint32_t n = 0;
	ssize_t len;

	while ((len = recv(fd, message, sizeof(message), MSG_DONTWAIT)) > 0) {
		assert_true(len <= IPFIX_MESSAGE_MAX);
		assert_int_equal(read_u32(message + 8), *sequence);
		*sequence += take(message, (uint32_t)len);
		n++;
	}
	return n;
}

/* --- UDP */

static void test_datagrams(void **state)
{
	int fd = open_at(false, 0);
	struct sink *ipfix = open_to(false, port_of(fd), NULL);
	struct report_epoch *epoch = many_flows(500);
	struct report_delivery counts;
	uint32_t sequence = 0;

	(void)state;
	for (uint32_t e = 0; e < 3; e++) {
		memset(&many, 0, sizeof(many));
		many.n = 500;
		counts = write_report(ipfix, epoch);
		assert_int_equal(counts.delivered, 500);
		assert_int_equal(counts.failed, 0);
		assert_int_equal(counts.reconnects, 0);
		assert_true(counts.bytes > 500 * 63);
		(void)take_datagrams(fd, &sequence);
		assert_int_equal(many.seen, 500);
	}
	assert_int_equal(sequence, 1501); /* including the exporter information */
	assert_int_equal(warnings + notices, 0);
	close(fd);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

/* Loopback reports a missing receiver at once: every row failed, with one log line. */
static void test_nobody(void **state)
{
	int fd = open_at(false, 0);
	in_port_t port = port_of(fd);
	struct sink *ipfix = open_to(false, port, NULL);
	struct report_epoch *epoch = many_flows(500);
	struct report_delivery counts;
	uint32_t sequence = 0, first;

	(void)state;
	many.n = 500;
	counts = write_report(ipfix, epoch);
	assert_int_equal(counts.delivered, 500);
	(void)take_datagrams(fd, &sequence);
	first = sequence;
	close(fd);
	for (uint32_t e = 0; e < 3; e++) {
		counts = write_report(ipfix, epoch);
		assert_int_equal(counts.delivered, 0);
		assert_int_equal(counts.failed, 500);
		assert_int_equal(counts.bytes, 0);
	}
	assert_int_equal(warnings, 1);
	assert_string_equal(
		last_line, "Connection refused; rows are lost until the receiver accepts them");
	fd = open_at(false, port);
	memset(&many, 0, sizeof(many));
	many.n = 500;
	ipfix->type->ops.reopen(ipfix);
	counts = write_report(ipfix, epoch);
	assert_int_equal(counts.delivered, 500);
	assert_int_equal(counts.reconnects, 1);
	assert_int_equal(notices, 1);
	assert_string_equal(last_line, "resumed; 1500 rows were lost");
	/*
	 * A restarted receiver has no templates: they come first. The datagram that was refused is
	 * a gap.
	 */
	templates_forget(templates);
	sequence = first + 23;
	assert_true(take_datagrams(fd, &sequence) > 0);
	assert_int_equal(many.seen, 500);
	close(fd);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

static int64_t monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * SAMPLE_SECOND + now.tv_nsec;
}

static void test_pace(void **state)
{
	int fd = open_at(false, 0);
	struct sink *ipfix = open_to(false, port_of(fd), "500");
	struct report_epoch *epoch = many_flows(1000);
	uint32_t sequence = 0, n;
	int64_t start = monotonic(), took;

	(void)state;
	many.n = 1000;
	assert_int_equal(write_report(ipfix, epoch).delivered, 1000);
	took = monotonic() - start;
	n = take_datagrams(fd, &sequence);
	assert_int_equal(many.seen, 1000);
	/* 2 ms between messages, except the first ones, which are sent at once. */
	assert_true(took >= (n - 2) * SAMPLE_SECOND / 500);
	close(fd);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

static void stand_still(int number)
{
	const struct timespec pause = {0, 400000000};

	(void)number;
	nanosleep(&pause, NULL);
}

static int64_t time_report(struct sink *ipfix, const struct report_epoch *epoch)
{
	const struct itimerval soon = {.it_value.tv_usec = 100000};
	int64_t start = monotonic();

	assert_int_equal(setitimer(ITIMER_REAL, &soon, NULL), 0);
	write_report(ipfix, epoch);
	return monotonic() - start;
}

/* The thread gets no CPU for 0.4 s of the 0.9 s in which the rows of a second are sent. */
static void test_late(void **state)
{
	const struct sigaction still = {.sa_handler = stand_still, .sa_flags = SA_RESTART};
	int fd = open_at(false, 0);
	struct sink *ipfix = open_to(false, port_of(fd), NULL);
	struct report_epoch *epoch = many_flows(50000);
	int64_t took = 0;

	(void)state;
	epoch->flows_only = false;
	epoch->arrival_ns = SAMPLE_SECOND;
	assert_int_equal(sigaction(SIGALRM, &still, NULL), 0);
	/* On a busy machine the thread may stall more than once. */
	for (uint32_t tries = 0; tries < 5 && (tries == 0 || took > SAMPLE_SECOND); tries++)
		took = time_report(ipfix, epoch);
	signal(SIGALRM, SIG_DFL);
	assert_in_range(took, SAMPLE_SECOND * 8 / 10, SAMPLE_SECOND);
	close(fd);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

/* Starts a queue whose timeouts count seconds of this length, in ns. */
static struct sink_queue *start_queue(struct sink *ipfix, int64_t second)
{
	static struct delivery *delivery;
	const struct sink_queue_params params = {
		.ops = &ipfix->type->ops,
		.place = ipfix,
		.name = "ipfix",
		.deliveries = &delivery,
		.nb_deliveries = 1,
		.sink_log = &sink_log,
		.second = second,
	};

	delivery = &ipfix->delivery;
	ipfix->sink_queue = sink_queue_create(&params);
	assert_non_null(ipfix->sink_queue);
	sink_queue_bound_flows(ipfix->sink_queue, SIZE_MAX);
	assert_int_equal(sink_queue_start(ipfix->sink_queue), 0);
	return ipfix->sink_queue;
}

static struct report_delivery end_queue(struct sink *ipfix)
{
	assert_int_equal(sink_queue_end(ipfix->sink_queue), 0);
	sink_queue_free(ipfix->sink_queue);
	ipfix->sink_queue = NULL;
	return delivery_look(&ipfix->delivery);
}

/*
 * The run ends while an interval's rows are spread over the next minute: the rest is spread over
 * the remaining time, and none is lost.
 */
static void test_hurried(void **state)
{
	int fd = open_at(false, 0);
	struct sink *ipfix = open_to(false, port_of(fd), NULL);
	struct report_epoch *epoch = many_flows(MANY_MAX);
	struct report_delivery counts;
	int64_t took;

	(void)state;
	epoch->flows_only = false;
	epoch->arrival_ns = 60 * SAMPLE_SECOND;
	sink_queue_push(start_queue(ipfix, SAMPLE_SECOND / 20), epoch);
	usleep(50000);
	took = monotonic();
	counts = end_queue(ipfix);
	took = monotonic() - took;
	assert_int_equal(counts.delivered, MANY_MAX);
	/* 10 of these seconds; 2.3 s at the minimum of 2000 datagrams per second. */
	assert_in_range(took, SAMPLE_SECOND * 4 / 10, SAMPLE_SECOND * 15 / 10);
	close(fd);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

/* --- TCP */

static uint8_t stream[STREAM_MAX];

/* Reads everything that arrived so far; the messages of a session count from 0. */
static void take_stream(int fd)
{
	uint32_t len = 0, at = 0, sequence = 0;
	ssize_t n;

	while ((n = recv(fd, stream + len, STREAM_MAX - len, MSG_DONTWAIT)) > 0)
		len += (uint32_t)n;
	while (at < len) {
		uint32_t message = read_u16(stream + at + 2);

		assert_true(at + message <= len);
		assert_int_equal(read_u32(stream + at + 8), sequence);
		sequence += take(stream + at, message);
		at += message;
	}
}

static void test_stream(void **state)
{
	int listener = open_at(true, 0), fd;
	struct sink *ipfix = open_to(true, port_of(listener), NULL);
	struct report_epoch *epoch = many_flows(2000);
	struct report_delivery counts;

	(void)state;
	many.n = 2000;
	counts = write_report(ipfix, epoch);
	assert_int_equal(counts.delivered, 2000);
	fd = accept(listener, NULL, NULL);
	take_stream(fd);
	assert_int_equal(many.seen, 2000);

	/*
	 * The connection ends: rows are lost until there is a new connection, which starts again
	 * with templates.
	 */
	close(fd);
	counts = write_report(ipfix, epoch);
	assert_int_equal(counts.failed, 2000);
	assert_int_equal(warnings, 1);
	assert_string_equal(last_line,
		"the receiver closed the connection; rows are lost until the receiver accepts them");
	ipfix->type->ops.reopen(ipfix);
	counts = write_report(ipfix, epoch);
	assert_int_equal(counts.delivered, 2000);
	assert_int_equal(counts.reconnects, 1);
	fd = accept(listener, NULL, NULL);
	memset(&many, 0, sizeof(many));
	many.n = 2000;
	templates_forget(templates);
	take_stream(fd);
	assert_int_equal(many.seen, 2000);
	close(fd);
	close(listener);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

static void test_nobody_listens(void **state)
{
	int listener = open_at(true, 0);
	in_port_t port = port_of(listener);
	struct sink *ipfix = open_to(true, port, NULL);
	struct report_epoch *epoch = many_flows(10);

	(void)state;
	close(listener);
	assert_int_equal(write_report(ipfix, epoch).failed, 10);
	assert_int_equal(write_report(ipfix, epoch).failed, 10);
	assert_int_equal(warnings, 1);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

/* A receiver that never reads is dropped after a timeout, which is short at the end of the run. */
static void test_frozen(void **state)
{
	int listener = open_at(true, 0);
	struct sink *ipfix;
	struct report_epoch *epoch = many_flows(MANY_MAX);
	struct report_delivery counts;
	static const int small = 4096;

	(void)state;
	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	ipfix = open_to(true, port_of(listener), NULL);
	sink_queue_push(start_queue(ipfix, SAMPLE_SECOND / 5), epoch);
	counts = end_queue(ipfix);
	assert_true(counts.failed > 0);
	assert_int_equal(counts.delivered + counts.failed, MANY_MAX);
	assert_string_equal(last_line,
		"the receiver accepts no data; rows are lost until the receiver accepts them");
	close(listener);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

static void test_no_such_host(void **state)
{
	/* A name beyond the length limit is not sent to a name server. */
	struct sink *ipfix = open_url(
		"ipfix://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaaaaaaaaaa.invalid",
		NULL);
	struct report_epoch *epoch = many_flows(10);

	(void)state;
	assert_int_equal(write_report(ipfix, epoch).failed, 10);
	assert_int_equal(warnings, 1);
	report_epoch_free(epoch);
	sink_free(ipfix);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_datagrams, begin, end),
		cmocka_unit_test_setup_teardown(test_nobody, begin, end),
		cmocka_unit_test_setup_teardown(test_pace, begin, end),
		cmocka_unit_test_setup_teardown(test_late, begin, end),
		cmocka_unit_test_setup_teardown(test_hurried, begin, end),
		cmocka_unit_test_setup_teardown(test_stream, begin, end),
		cmocka_unit_test_setup_teardown(test_nobody_listens, begin, end),
		cmocka_unit_test_setup_teardown(test_frozen, begin, end),
		cmocka_unit_test_setup_teardown(test_no_such_host, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
