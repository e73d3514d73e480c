/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench exports: measures the cost of encoding and sending results. */

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/collectors.h"
#include "bench/exported.h"
#include "bench/fixbuf.h"
#include "bench/records.h"
#include "bench/rounds.h"
#include "bench/sink_bench.h"
#include "report/formats/format.h"
#include "report/formats/ipfix.h"
#include "report/sinks/sink.h"
#include "report/sinks/socket_client.h"

#define RECORDS       1500000
#define QUICK_RECORDS 50000
/* number of flow records, few enough to stay in the cache */
#define ENCODED       100000
#define BUFFER        (8 << 20)
#define MESSAGES      64

struct exports_bench {
	struct rounds_bench in; /* first member: run_all() casts its argument */
	struct report_epoch *epoch;
	struct fixbuf_writer *fixbuf;
	char why[FIXBUF_ERROR_MAX];
	struct ipfix *ipfix;
	struct columns *columns;
	struct text text;
	bool wrong;
};

static struct report_epoch *make_epoch(size_t flows, uint64_t seed)
{
	return records_epoch(
		&(struct records_spec){.measurements = 1, .flows = flows, .seed = seed});
}

static int64_t wall_clock(void *arg)
{
	(void)arg;
	return clock_now(CLOCK_REALTIME);
}

static enum ipfix_peer is_there(void *arg)
{
	(void)arg;
	return IPFIX_THERE;
}

static bool take(void *arg, const uint8_t *message, uint32_t len, uint32_t rows)
{
	uint64_t *taken = arg;

	(void)message;
	(void)len;
	*taken += rows;
	return true;
}

static void encode_ipfix(void *arg, uint32_t t)
{
	struct exports_bench *bench = arg;
	uint64_t taken = 0;
	const struct ipfix_sink sink = {&taken, wall_clock, is_there, take};

	(void)t;
	ipfix_epoch(bench->ipfix, bench->epoch, &sink);
	bench->wrong |= taken != bench->epoch->measurements[0].nb_flows;
}

static void encode_fixbuf(void *arg, uint32_t t)
{
	struct exports_bench *bench = arg;
	const struct report_measurement *measurement = &bench->epoch->measurements[0];

	(void)t;
	bench->wrong |= !fixbuf_write(bench->fixbuf, measurement->flows, measurement->nb_flows);
}

static void encode_text(struct exports_bench *bench, const struct format *format)
{
	text_clear(&bench->text);
	format_epoch(&bench->text, format, bench->columns, bench->epoch);
	bench->wrong |= bench->text.failed || bench->text.len == 0;
}

static void encode_json(void *arg, uint32_t t)
{
	(void)t;
	encode_text(arg, &format_json);
}

static void encode_csv(void *arg, uint32_t t)
{
	(void)t;
	encode_text(arg, &format_csv);
}

static const struct {
	const char *name;
	void (*run)(void *arg, uint32_t t);
} encoders[] = {
	{"encode: ipfix", encode_ipfix},
	{"encode: libfixbuf", encode_fixbuf},
	{"encode: json", encode_json},
	{"encode: csv", encode_csv},
};

#define ENCODERS (sizeof(encoders) / sizeof(encoders[0]))

static bool time_encoder(struct exports_bench *bench, uint32_t e, uint32_t round)
{
	double seconds;

	if (encoders[e].run == encode_fixbuf && bench->fixbuf == NULL) {
		rounds_missing(&bench->in, encoders[e].name, round, "ns", bench->why);
		return true;
	}
	if (!cpus_run(&bench->in.cpus, 1, encoders[e].run, bench, &seconds))
		return rounds_fail(&bench->in, "cannot start a thread to encode");
	if (bench->wrong)
		return rounds_fail(&bench->in, "not all records were encoded");
	rounds_row(&bench->in, encoders[e].name, round,
		seconds * 1e9 / (double)bench->epoch->measurements[0].nb_flows, "ns");
	return true;
}

#define LINE_RATE    125000 /* records per second; GoFlow2 could receive more */
#define LINE_RECORDS 250000
#define LINE_FLOWS   10000

/* The time of GoFlow2 includes receiving and decoding. */
static bool time_goflow2(struct rounds_bench *in, uint32_t round)
{
	static const char part[] = "encode: goflow2, which also receives and decodes";
	const struct exported_spec spec = {.protocol = FLOW_PROTOCOL_NETFLOW9,
		.flows = LINE_FLOWS,
		.routers = 1,
		.cycles = 1,
		.seed = in->seed};
	struct collectors_sample sample;
	struct exported *exported;
	bool fine;

	if (!collectors_has(COLLECTORS_GOFLOW2)) {
		rounds_missing(in, part, round, "ns", "goflow2 is not installed");
		return true;
	}
	exported = exported_create(&spec);
	fine = exported != NULL &&
	       collectors_run(in->config, COLLECTORS_GOFLOW2, exported,
		       in->quick ? LINE_FLOWS : LINE_RECORDS, LINE_RATE, &sample, in->error);
	exported_destroy(exported);
	if (fine)
		rounds_row(in, part, round, sample.ns, "ns");
	return fine;
}

static bool run_encoders(struct exports_bench *bench)
{
	figures_heading(&bench->in.figures, "encoding an IPv4 flow record (libfixbuf %s)",
		fixbuf_version() != NULL ? fixbuf_version() : "not built in");
	for (uint32_t r = 0; r < bench->in.rounds; r++) {
		for (uint32_t e = 0; e < ENCODERS; e++)
			if (signals_stop_requested() || !time_encoder(bench, e, r))
				return false;
		if (!time_goflow2(&bench->in, r))
			return false;
	}
	return true;
}

struct reader {
	int fd; /* datagram socket, or listening stream socket */
	bool accepts;
	uint16_t port;
	_Atomic uint64_t bytes;
	atomic_bool ends;
	pthread_t thread;
};

static void *read_all(void *arg)
{
	static _Thread_local uint8_t bytes[MESSAGES * IPFIX_MESSAGE_MAX];
	struct reader *reader = arg;
	int fd = reader->accepts ? accept(reader->fd, NULL, NULL) : reader->fd;
	ssize_t n;

	while (fd >= 0) {
		n = recv(fd, bytes, sizeof(bytes), 0);
		if (n > 0)
			atomic_fetch_add(&reader->bytes, (uint64_t)n);
		else if (n == 0 || atomic_load(&reader->ends))
			break; /* no break if the receive timed out or was interrupted */
	}
	if (reader->accepts && fd >= 0)
		close(fd);
	return NULL;
}

static bool open_reader(struct reader *reader, int type)
{
	struct sockaddr_in on = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct timeval patience = {.tv_usec = 100000};
	socklen_t len = sizeof(on);
	int buffer = BUFFER;

	*reader = (struct reader){
		.fd = socket(AF_INET, type | SOCK_CLOEXEC, 0), .accepts = type == SOCK_STREAM};
	if (reader->fd < 0)
		return false;
	/* Privileged processes may exceed net.core.rmem_max. */
	if (setsockopt(reader->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) != 0)
		(void)setsockopt(reader->fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	if (setsockopt(reader->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) == 0 &&
		bind(reader->fd, (struct sockaddr *)&on, len) == 0 &&
		getsockname(reader->fd, (struct sockaddr *)&on, &len) == 0 &&
		(!reader->accepts || listen(reader->fd, 1) == 0) &&
		pthread_create(&reader->thread, NULL, read_all, reader) == 0) {
		reader->port = ntohs(on.sin_port);
		return true;
	}
	close(reader->fd);
	return false;
}

static void close_reader(struct reader *reader)
{
	atomic_store(&reader->ends, true);
	pthread_join(reader->thread, NULL);
	close(reader->fd);
}

static bool connect_to(
	const struct reader *reader, struct socket_client_address *address, const char *where)
{
	char text[32], why[SOCKET_CLIENT_ERROR_MAX];

	snprintf(text, sizeof(text), "%s:%u", where, reader->port);
	return socket_client_parse(
		text, reader->accepts ? SOCKET_CLIENT_TCP : SOCKET_CLIENT_UDP, NULL, address, why);
}

static int64_t patience(void *arg)
{
	(void)arg;
	return 10 * SECOND_NS;
}

struct took {
	/* wall clock seconds, and CPU seconds of the sending thread; 0 on error */
	double seconds, cpu;
};

static struct took now(void)
{
	return (struct took){(double)clock_now(CLOCK_MONOTONIC) / 1e9,
		(double)clock_now(CLOCK_THREAD_CPUTIME_ID) / 1e9};
}

static struct took since(struct took begin)
{
	struct took end = now();

	return (struct took){end.seconds - begin.seconds, end.cpu - begin.cpu};
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

/* *lost: percentage of bytes that did not arrive */
static struct took leave_ipfix(const struct report_epoch *epoch, int type, double *lost)
{
	static struct sink_log sink_log = {.log = hear};
	static const struct sink_options options;
	struct sink_request request = {.name = "ipfix", .kind = ROWS_FLOWS, .options = &options};
	struct took took = {0}, begin;
	struct report_delivery counts;
	struct reader reader;
	struct sink *sink;
	char url[64];

	if (!open_reader(&reader, type))
		return took;
	snprintf(url, sizeof(url), "ipfix%s://127.0.0.1:%u", type == SOCK_STREAM ? "+tcp" : "",
		reader.port);
	request.url = url;
	sink = sink_create(&request, 0, &sink_log);
	if (sink == NULL) {
		close_reader(&reader);
		return took;
	}
	sink->delivery.rows = delivery_rows(&sink->delivery, epoch);
	begin = now();
	sink->type->ops.write(sink, epoch);
	took = since(begin);
	counts = delivery_totals(&sink->delivery);
	sink_free(sink);
	close_reader(&reader);
	*lost = 100 - 100 * (double)atomic_load(&reader.bytes) / (double)counts.bytes;
	return counts.failed == 0 ? took : (struct took){0};
}

static struct took leave_json(struct exports_bench *bench, const struct report_epoch *epoch)
{
	struct socket_client client = {.patience = patience};
	struct reader reader;
	struct took took = {0};

	if (!open_reader(&reader, SOCK_STREAM))
		return took;
	socket_client_init(&client);
	if (connect_to(&reader, &client.address, "127.0.0.1") &&
		socket_client_look(&client) == SOCKET_CLIENT_RECONNECTED) {
		struct took begin = now();

		text_clear(&bench->text);
		format_epoch(&bench->text, &format_json, bench->columns, epoch);
		if (!bench->text.failed &&
			socket_client_send(&client, bench->text.data, bench->text.len) == 0)
			took = since(begin);
	}
	socket_client_free(&client);
	close_reader(&reader);
	return took;
}

static bool print_leaving(
	struct exports_bench *bench, const char *how, uint32_t round, struct took took)
{
	char part[64];

	snprintf(part, sizeof(part), "1.5 M records leave: %s", how);
	figures_note(&bench->in.figures, "%.2f s of a CPU", took.cpu);
	rounds_row(&bench->in, part, round, took.seconds, "s");
	return took.seconds > 0 ||
	       rounds_fail(&bench->in, "%s: cannot send records, or no loopback socket", how);
}

static bool leave(struct exports_bench *bench, const struct report_epoch *epoch, uint32_t round)
{
	double lost = 0;

	if (!print_leaving(bench, "ipfix, udp", round, leave_ipfix(epoch, SOCK_DGRAM, &lost)))
		return false;
	rounds_row(&bench->in, "of them lost on loopback", round, lost, "%");
	return print_leaving(bench, "ipfix, tcp", round, leave_ipfix(epoch, SOCK_STREAM, &lost)) &&
	       print_leaving(bench, "json, tcp", round, leave_json(bench, epoch));
}

static bool run_leaving(struct exports_bench *bench)
{
	struct report_epoch *epoch =
		make_epoch(bench->in.quick ? QUICK_RECORDS : RECORDS, bench->in.seed);
	bool fine = epoch != NULL;

	figures_heading(&bench->in.figures,
		"sending the records of an interval of one second over loopback: wall clock time");
	for (uint32_t r = 0; r < bench->in.rounds && fine; r++)
		fine = !signals_stop_requested() && leave(bench, epoch, r);
	if (epoch != NULL)
		report_epoch_free(epoch);
	return fine;
}

static bool run_all(struct rounds_bench *in)
{
	struct exports_bench *bench = (struct exports_bench *)in;
	const struct ipfix_options options = {.flows = true, .ingress = 1};
	const struct column_choice choice = {.sink = true, .named = true};
	bool fine;

	bench->epoch = make_epoch(bench->in.quick ? QUICK_RECORDS : ENCODED, bench->in.seed);
	bench->ipfix = ipfix_create(&options);
	bench->columns = columns_of(&output_flows, &choice);
	bench->fixbuf = fixbuf_writer_create(bench->why);
	fine = bench->epoch != NULL && bench->ipfix != NULL && bench->columns != NULL &&
	       run_encoders(bench) && run_leaving(bench) && sink_bench_kafka(in) &&
	       sink_bench_scrape(in) && sink_bench_memory(in) && sink_bench_worker(in);
	if (bench->fixbuf != NULL)
		fixbuf_writer_destroy(bench->fixbuf);
	free(bench->columns);
	ipfix_free(bench->ipfix);
	if (bench->epoch != NULL)
		report_epoch_free(bench->epoch);
	text_free(&bench->text);
	return fine;
}

int bench_exports(struct config *config)
{
	static struct exports_bench bench;

	return rounds_run(&bench.in, "exports", config, run_all);
}
