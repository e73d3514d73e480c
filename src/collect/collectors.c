/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/collectors.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/address.h"
#include "base/clock.h"
#include "base/decimal.h"
#include "base/log_ratelimit.h"
#include "base/signals.h"
#include "collect/datagram_line.h"
#include "flow_protocols/big_endian.h"

#define CONNECTIONS_MAX 64
#define RUNS_MAX        64
#define SOCKETS         OPTION_LIST_MAX
#define LINE_BYTES      (128u << 10)        /* longest line: a payload of 64 KB in base64 */
#define READ_BYTES      ((size_t)256 << 10) /* most bytes of a connection before the others' turn */
#define READ_NS         (SECOND_NS / 200)   /* longest time between two reads of all sockets */
#define REST_MS         20
#define UNTIMELY_NS     (SECOND_NS / 20)
#define LOOK_NS         (SECOND_NS / 10) /* the feeder looks this often whether the run ends */
#define FORGET_NS       (3600 * SECOND_NS)
#define CLOCKS          16
#define CLOCK_LIMIT_NS  SECOND_NS
#define CLOCK_MAX_NS    (24 * 3600 * SECOND_NS) /* largest correction */
#define FUTURE_NS       (5 * SECOND_NS)         /* latest corrected time minus now */
#define LENGTH_MAX_NS   (3600 * SECOND_NS)
#define LENGTH_MIN_NS   (SECOND_NS / 1000) /* least --interval */
#define LINE_MAX_TEXT   400
#define ANSWER_MAX_NS   (3 * SECOND_NS) /* after the interval ended; not for spools */

#define IPV4_HEADER 20
#define IPV6_HEADER 40
#define UDP_HEADER  8
#define HEADERS_MAX (IPV6_HEADER + UDP_HEADER)

/* A datagram, or datagrams that the kernel dropped (len is 0). */
struct entry {
	struct entry *next;
	int64_t time;
	struct in6_addr src, dst;
	uint32_t dropped, len;
	uint16_t src_port, dst_port, socket;
	uint8_t payload[];
};

/* Warnings that rows cause, each at most once a minute. */
enum warning {
	WARNING_REPEATED,
	WARNING_ROWS_MISSING,
	WARNING_LATE,
	WARNING_CLOCK,
	WARNINGS_OF_RUN,
};

/* A process that sends datagrams. */
struct run {
	char host[DATAGRAM_HOST_MAX], run[DATAGRAM_RUN_MAX];
	uint32_t connections;
	/* the last row; ended: it was the last of its interval */
	uint64_t epoch, row;
	bool ended;
	int64_t end;       /* end of the interval by the clock of the collector */
	int64_t length;    /* length of the interval, ns */
	int64_t since;     /* its datagrams from this time on were read */
	int64_t heard;     /* all of its datagrams before this time were read */
	int64_t began;     /* CLOCK_MONOTONIC of the first row */
	int64_t came;      /* CLOCK_MONOTONIC of the last row */
	bool over;         /* nothing more will come */
	bool missing;      /* silent for too long: intervals end without it; may be over too */
	bool late;         /* its datagrams come after the end of their interval */
	uint64_t repeated; /* interval that came again, plus 1; 0: none */
	size_t held;
	struct entry *first, **last;
	uint32_t first_socket;
	/* clock of the master minus that of the collector, plus the delay of the line */
	int64_t clocks[CLOCKS];
	uint32_t nb_clocks;
	int64_t shift;    /* to add to its times */
	bool shift_rough; /* `shift` is of a line that may have waited */
	struct log_ratelimit
		warnings[WARNINGS_OF_RUN]; /* remain when another run takes its place */
};

struct connection {
	int fd;         /* -1: free */
	int64_t opened; /* CLOCK_MONOTONIC */
	char peer[INET6_ADDRSTRLEN];
	struct run *run; /* NULL: no row yet */
	struct datagram_columns columns;
	uint64_t lines;
	bool has_clock;
	int64_t clock; /* difference of the clocks; see struct run */
	bool untimely; /* it was not read for a while, so lines may have waited */
	bool spooled;  /* the collector stores the interval until the answer */
	bool waits;    /* it has sent an interval, and got no answer */
	int64_t ended; /* CLOCK_MONOTONIC of the end of this interval */
	int64_t until; /* reports before this time must be written before the answer */
	size_t filled;
	char *text; /* [LINE_BYTES] */
};

struct collectors {
	struct source source; /* first member: cast to struct collectors */
	struct collectors_params params;
	int listener;
	bool listening;
	struct connection connections[CONNECTIONS_MAX];
	uint32_t nb_runs;
	struct run runs[RUNS_MAX];
	uint32_t sockets; /* used numbers of sockets */
	bool started;
	int64_t first_came; /* CLOCK_MONOTONIC of the first row; 0: none */
	int64_t read_at;    /* CLOCK_MONOTONIC of the last read */
	bool untimely;      /* the last read was late, so lines may have waited */
	int64_t looked_at;  /* CLOCK_MONOTONIC when next() last returned */
	int64_t passed;     /* largest time of a packet that next() returned */
	/* Datagrams from gap_from until gap_until may be missing. */
	int64_t gap_from, gap_until;
	int64_t doubted; /* start of the last interval with COLLECTORS_MISSING; -1: none */
	struct log_ratelimit rejected, refused, crowded;
	uint64_t nb_refused; /* rows */
	uint8_t packet[HEADERS_MAX + DATAGRAM_PAYLOAD_MAX];
};

bool collectors_parse(const char *text, struct collectors_address *address, char *why)
{
	const char *comma = strchr(text, ',');
	char listen[LISTEN_TEXT_MAX];
	size_t len = comma != NULL ? (size_t)(comma - text) : strlen(text);

	*address = (struct collectors_address){.collectors = 1};
	if (len >= sizeof(listen)) {
		snprintf(why, OPTION_WHY_MAX, "is too long");
		return false;
	}
	memcpy(listen, text, len);
	listen[len] = '\0';
	if (!listen_parse(listen, &address->listen, why))
		return false;
	if (comma == NULL)
		return true;
	if (comma[1] != '0' && decimal_read_u32(comma + 1, RUNS_MAX, &address->collectors))
		return true;
	snprintf(why, OPTION_WHY_MAX, "must end with the number of collectors, 1 to %u", RUNS_MAX);
	return false;
}

size_t collectors_bytes(uint32_t collectors, size_t memory)
{
	return collectors * (memory + LINE_BYTES);
}

__attribute__((format(printf, 3, 4))) static void say(
	struct collectors *collectors, bool warning, const char *format, ...)
{
	char line[LINE_MAX_TEXT];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	collectors->params.log(collectors->params.arg, warning, line);
}

static bool is_due(struct log_ratelimit *warning)
{
	return log_ratelimit_due(warning, clock_now(CLOCK_REALTIME), 1);
}

static int64_t floor_of(const struct collectors *collectors, int64_t time)
{
	int64_t interval = collectors->params.interval;

	return interval > 0 ? time - time % interval : 0;
}

/* Earlier gaps are added, with the time between them. */
static void note_gap(struct collectors *collectors, int64_t from, int64_t until)
{
	if (from >= until)
		return;
	if (collectors->gap_from >= collectors->gap_until || from < collectors->gap_from)
		collectors->gap_from = from;
	if (until > collectors->gap_until)
		collectors->gap_until = until;
}

/* ---- runs */

static bool is_waited_for(const struct run *run)
{
	return !run->over && !run->missing;
}

static void free_entries(struct run *run)
{
	while (run->first != NULL) {
		struct entry *entry = run->first;

		run->first = entry->next;
		free(entry);
	}
	run->last = &run->first;
	run->held = 0;
}

static bool is_of_run(const struct run *run, const struct datagram_line *line)
{
	return strcmp(run->run, line->run) == 0 && strcmp(run->host, line->host) == 0;
}

static struct run *find_run(struct collectors *collectors, const struct datagram_line *line)
{
	for (uint32_t r = 0; r < collectors->nb_runs; r++)
		if (is_of_run(&collectors->runs[r], line))
			return &collectors->runs[r];
	return NULL;
}

static bool is_free(const struct run *run)
{
	return run->over && run->first == NULL && run->connections == 0;
}

/* The run has ended without its last row. The next one of its host has datagrams from `start` on. */
static void replace(struct collectors *collectors, struct run *run, int64_t start)
{
	run->over = true;
	run->missing = false;
	note_gap(collectors, run->heard, start);
}

/*
 * A collector that restarted replaces its earlier run. The datagrams between them are missing. Runs
 * that overlap are those of two collectors.
 */
static void replace_run(struct collectors *collectors, const struct run *by, int64_t start)
{
	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		struct run *run = &collectors->runs[r];

		if (run == by || (run->over && !run->missing) || run->connections > 0 ||
			strcmp(run->host, by->host) != 0 || run->heard > start)
			continue;
		replace(collectors, run, start);
		return;
	}
}

/* A silent run, of which the connection may seem open, has ended if its host began another one. */
static bool has_successor(struct collectors *collectors, struct run *run)
{
	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		const struct run *by = &collectors->runs[r];

		if (by == run || by->began < run->came || strcmp(run->host, by->host) != 0)
			continue;
		replace(collectors, run, by->since > run->heard ? by->since : by->heard);
		return true;
	}
	return false;
}

static void begin_run(struct collectors *collectors, struct run *run, int64_t start)
{
	run->since = start;
	run->began = clock_now(CLOCK_MONOTONIC);
	replace_run(collectors, run, start);
	if (collectors->started)
		note_gap(collectors, floor_of(collectors, start), start);
}

/* Returns NULL if there are too many runs. */
static struct run *add_run(struct collectors *collectors, const struct datagram_line *line)
{
	struct log_ratelimit warnings[WARNINGS_OF_RUN];
	struct run *run = NULL;

	if (collectors->nb_runs < RUNS_MAX)
		run = &collectors->runs[collectors->nb_runs++];
	for (uint32_t r = 0; r < collectors->nb_runs && run == NULL; r++)
		if (is_free(&collectors->runs[r]))
			run = &collectors->runs[r];
	if (run == NULL)
		return NULL;
	memcpy(warnings, run->warnings, sizeof(warnings));
	*run = (struct run){
		.epoch = line->epoch,
		.first_socket = collectors->sockets,
	};
	memcpy(run->warnings, warnings, sizeof(warnings));
	run->last = &run->first;
	memcpy(run->host, line->host, sizeof(run->host));
	memcpy(run->run, line->run, sizeof(run->run));
	say(collectors, false, "collector %s (run %s) sends datagrams", run->host, run->run);
	return run;
}

/* ---- clocks */

/* Smaller differences of the clocks than the limit are not corrected. */
static int64_t shift_of(int64_t difference)
{
	return difference > -CLOCK_LIMIT_NS && difference < CLOCK_LIMIT_NS ? 0 : difference;
}

static int64_t least_of(const struct run *run)
{
	int64_t least = INT64_MAX;

	for (uint32_t i = 0; i < CLOCKS && i < run->nb_clocks; i++)
		if (run->clocks[i] < least)
			least = run->clocks[i];
	return least;
}

/*
 * The line arrives after it was sent, so the difference of the clocks is at most the least one
 * seen. A line that may have waited is used only until another one comes.
 */
static void judge_clock(
	struct collectors *collectors, struct run *run, int64_t difference, bool rough)
{
	int64_t shift, before = run->shift;
	bool moved;

	if (rough && run->nb_clocks > 0)
		return;
	if (!rough)
		run->clocks[run->nb_clocks++ % CLOCKS] = difference;
	shift = shift_of(rough ? difference : least_of(run));
	moved = shift_of(shift - before) != 0;
	if (!run->shift_rough && (shift == 0) == (before == 0) && !moved)
		return;
	run->shift = shift;
	run->shift_rough = rough;
	if (shift == 0 && before != 0)
		say(collectors, false, "collector %s: its clock agrees again", run->host);
	else if (moved && is_due(&run->warnings[WARNING_CLOCK]))
		say(collectors, true,
			"collector %s: its clock is %.3f s %s: its times are corrected; "
			"synchronize the clocks",
			run->host, fabs((double)shift) / SECOND_NS, shift > 0 ? "behind" : "ahead");
}

/* ---- lines */

static void close_connection(struct connection *connection)
{
	if (connection->run != NULL)
		connection->run->connections--;
	close(connection->fd);
	free(connection->text);
	*connection = (struct connection){.fd = -1};
}

static void reject(struct collectors *collectors, struct connection *connection, const char *why,
	const char *what)
{
	if (is_due(&collectors->rejected))
		say(collectors, true,
			"--collectors: connection from %s closed: line %" PRIu64 ": %s%s%s",
			connection->peer, connection->lines, why, what, collectors->rejected.since);
	close_connection(connection);
}

/* Returns true if the row is not new. */
static bool is_repeated(
	struct collectors *collectors, struct run *run, const struct datagram_line *line)
{
	if (run->row == 0 || line->epoch > run->epoch ||
		(line->epoch == run->epoch && line->row > run->row))
		return false;
	if (run->repeated != line->epoch + 1 && is_due(&run->warnings[WARNING_REPEATED]))
		say(collectors, true,
			"collector %s: interval %" PRIu64 " came again; nothing counts twice%s",
			run->host, line->epoch, run->warnings[WARNING_REPEATED].since);
	run->repeated = line->epoch + 1;
	return true;
}

static void look_for_gap(
	struct collectors *collectors, struct run *run, const struct datagram_line *line)
{
	struct log_ratelimit *warning = &run->warnings[WARNING_ROWS_MISSING];
	bool next = line->epoch != run->epoch;

	if (next && run->row > 0 && (!run->ended || line->epoch > run->epoch + 1)) {
		if (is_due(warning))
			say(collectors, true,
				"collector %s: rows are missing between intervals %" PRIu64
				" and %" PRIu64 ": its --export deliveries has the reason%s",
				run->host, run->epoch, line->epoch, warning->since);
		note_gap(collectors, run->heard, line->start + run->shift);
	}
	if (line->row > (next ? 1 : run->row + 1)) {
		if (is_due(warning))
			say(collectors, true,
				"collector %s: %" PRIu64 " rows of interval %" PRIu64
				" are missing%s",
				run->host, line->row - 1 - (next ? 0 : run->row), line->epoch,
				warning->since);
		note_gap(collectors, line->start + run->shift, line->end + run->shift);
	}
}

static uint16_t socket_of(struct collectors *collectors, const struct run *run, uint32_t socket)
{
	uint32_t number = run->first_socket + socket;

	if (number >= collectors->sockets)
		collectors->sockets = number + 1;
	return (uint16_t)(number % SOCKETS);
}

/* Returns false if out of memory. */
static bool hold(struct collectors *collectors, struct run *run, const struct datagram_line *line)
{
	struct entry *entry = malloc(sizeof(*entry) + line->len);
	int64_t time = line->time + run->shift;

	if (entry == NULL)
		return false;
	*entry = (struct entry){
		.time = time,
		.src = line->src,
		.dst = line->dst,
		.src_port = line->src_port,
		.dst_port = line->dst_port,
		.dropped = (uint32_t)line->dropped,
		.len = line->len,
		.socket = socket_of(collectors, run, line->socket),
	};
	if (line->len == 0 && time < line->start + run->shift)
		entry->time = line->start + run->shift;
	if (line->len > 0)
		memcpy(entry->payload, line->payload, line->len);
	*run->last = entry;
	run->last = &entry->next;
	run->held += sizeof(*entry) + line->len;
	if (time > run->heard)
		run->heard = time;
	return true;
}

/* Returns NULL if the row is plausible, or the reason. No later sum of its times overflows then. */
static const char *doubt(const struct connection *connection, const struct run *run,
	const struct datagram_line *line)
{
	int64_t shift = run != NULL ? run->shift : 0, latest;

	if (connection->has_clock)
		shift = shift_of(connection->clock);
	if (shift < -CLOCK_MAX_NS || shift > CLOCK_MAX_NS)
		return "its clock is wrong by more than a day";
	latest = clock_now(CLOCK_REALTIME) + FUTURE_NS - shift;
	if (line->time > latest || line->end > latest)
		return "a time in the future";
	if (line->start + shift < 0 || (line->len > 0 && line->time + shift < 0))
		return "a time before 1970";
	if (run != NULL && line->epoch > run->epoch) {
		int64_t passed = line->end > run->end ? line->end - run->end : 0;

		if (line->epoch - run->epoch - 1 >
			(uint64_t)(passed + LENGTH_MAX_NS) / LENGTH_MIN_NS)
			return "too large a number of an interval";
	}
	return NULL;
}

static void leave_out_row(
	struct collectors *collectors, const struct datagram_line *line, const char *why)
{
	collectors->nb_refused++;
	if (is_due(&collectors->refused))
		say(collectors, true,
			"collector %s: a row is refused: %s (%" PRIu64 " refused rows of this run)",
			line->host, why, collectors->nb_refused);
}

static int64_t length_of(const struct collectors *collectors, const struct datagram_line *line)
{
	int64_t length = line->end - line->start, most = collectors->params.interval;

	if (most < LENGTH_MAX_NS)
		most = LENGTH_MAX_NS;
	return length < most ? length : most;
}

static void end_interval(
	struct collectors *collectors, struct run *run, const struct datagram_line *line)
{
	run->ended = true;
	run->over = line->last;
	if (line->end + run->shift > run->heard)
		run->heard = line->end + run->shift;
	if (line->last)
		say(collectors, false,
			"collector %s (run %s) has ended: intervals have no upper bounds with "
			"fewer than %u collectors",
			run->host, run->run, collectors->params.address.collectors);
}

static void return_run(struct collectors *collectors, struct run *run)
{
	if (run->missing)
		say(collectors, false, "collector %s sends datagrams again", run->host);
	run->missing = false;
	run->over = false;
}

/* Returns false if the connection must be closed; it is closed then. */
static bool take_row(struct collectors *collectors, struct connection *connection,
	const struct datagram_line *line, bool ends)
{
	struct run *run = connection->run;
	const char *why;
	bool begins;

	if (run == NULL || !is_of_run(run, line))
		run = find_run(collectors, line);
	why = doubt(connection, run, line);
	if (why != NULL) {
		leave_out_row(collectors, line, why);
		return true;
	}
	begins = run == NULL;
	if (begins)
		run = add_run(collectors, line);
	if (run == NULL) {
		reject(collectors, connection, "too many collectors", "");
		return false;
	}
	if (connection->run != run) {
		/* Rows from a spool may belong to an earlier run of the same collector. */
		if (connection->run != NULL && --connection->run->connections == 0 &&
			!connection->run->over) {
			connection->run->over = true;
			note_gap(collectors, connection->run->heard, line->start + run->shift);
		}
		connection->run = run;
		run->connections++;
	}
	if (connection->has_clock) {
		judge_clock(collectors, run, connection->clock,
			connection->untimely || collectors->untimely);
		connection->has_clock = false;
	}
	if (begins)
		begin_run(collectors, run, line->start + run->shift);
	/* A collector that only repeats rows counts as silent. */
	if (is_repeated(collectors, run, line))
		return true;
	run->came = clock_now(CLOCK_MONOTONIC);
	if (collectors->first_came == 0)
		collectors->first_came = run->came;
	return_run(collectors, run);
	look_for_gap(collectors, run, line);
	run->epoch = line->epoch;
	run->row = line->row;
	run->end = line->end;
	run->length = length_of(collectors, line);
	run->ended = false;
	if (line->start + run->shift > run->heard)
		run->heard = line->start + run->shift;
	if (ends)
		end_interval(collectors, run, line);
	else if (!hold(collectors, run, line)) {
		reject(collectors, connection, "out of memory", "");
		return false;
	}
	return true;
}

/*
 * A collector keeps an interval until the answer, and then sends the next one. So a master that is
 * killed loses no interval that it has not answered.
 */
static void answer(struct connection *connection)
{
	connection->waits = false;
	(void)send(connection->fd, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/*
 * Returns true if the reports of the interval are written, or if the collector must not wait for
 * them any longer: without a spool, its queue may fill up while another collector is silent. Late
 * datagrams are not waited for. They count in the open interval, which may end only after later
 * datagrams of this collector.
 */
static bool may_answer(const struct collectors *collectors, const struct connection *connection)
{
	const struct run *run = connection->run;
	int64_t half;

	if (run == NULL || collectors->source.written == NULL ||
		(collectors->passed == 0 && run->held == 0) ||
		atomic_load_explicit(collectors->source.written, memory_order_relaxed) >=
			connection->until)
		return true;
	half = run->length / 2;
	if (connection->spooled)
		return clock_now(CLOCK_MONOTONIC) - connection->ended >
		       collectors->params.wait + half;
	return clock_now(CLOCK_REALTIME) - run->heard >
	       (half < ANSWER_MAX_NS ? half : ANSWER_MAX_NS);
}

static void end_line(struct collectors *collectors, struct connection *connection)
{
	const struct run *run = connection->run;

	connection->waits = true;
	connection->ended = clock_now(CLOCK_MONOTONIC);
	connection->until = run != NULL ? floor_of(collectors, run->heard) : 0;
	if (may_answer(collectors, connection))
		answer(connection);
}

static bool take_line(
	struct collectors *collectors, struct connection *connection, char *text, size_t len)
{
	struct datagram_line line;

	connection->lines++;
	switch (datagram_line_read(&connection->columns, text, len, &line)) {
	case DATAGRAM_LINE_HEADER: return true;
	case DATAGRAM_LINE_CLOCK:
		connection->has_clock = true;
		connection->clock = clock_now(CLOCK_REALTIME) - line.time;
		connection->spooled = line.spooled;
		return true;
	case DATAGRAM_LINE_PAYLOAD:
	case DATAGRAM_LINE_DROPPED: return take_row(collectors, connection, &line, false);
	case DATAGRAM_LINE_END:
		if (!take_row(collectors, connection, &line, true))
			return false;
		end_line(collectors, connection);
		return true;
	default:
		reject(collectors, connection,
			"not a row of --export datagrams=tcp://...: ", line.why);
		return false;
	}
}

/* Returns false if the connection is closed. */
static bool take_lines(struct collectors *collectors, struct connection *connection)
{
	size_t begin = 0;
	char *end;

	while ((end = memchr(connection->text + begin, '\n', connection->filled - begin)) != NULL) {
		size_t len = (size_t)(end - connection->text) - begin;

		if (!take_line(collectors, connection, connection->text + begin, len))
			return false;
		begin += len + 1;
	}
	connection->filled -= begin;
	memmove(connection->text, connection->text + begin, connection->filled);
	if (connection->filled < LINE_BYTES)
		return true;
	connection->lines++;
	reject(collectors, connection, "is too long", "");
	return false;
}

/* ---- sockets */

/* A host that vanished leaves a connection that seems open. */
static void keep_alive(int fd)
{
	const struct {
		int level, name, value;
	} options[] = {
		{SOL_SOCKET, SO_KEEPALIVE, 1},
		{IPPROTO_TCP, TCP_KEEPIDLE, 30},
		{IPPROTO_TCP, TCP_KEEPINTVL, 10},
		{IPPROTO_TCP, TCP_KEEPCNT, 3},
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
}

/* If all are in use, closes the oldest one that has sent no row. Returns NULL if all have. */
static struct connection *free_connection(struct collectors *collectors)
{
	struct connection *oldest = NULL;

	for (uint32_t c = 0; c < CONNECTIONS_MAX; c++) {
		struct connection *connection = &collectors->connections[c];

		if (connection->fd < 0)
			return connection;
		if (connection->run == NULL &&
			(oldest == NULL || connection->opened < oldest->opened))
			oldest = connection;
	}
	if (is_due(&collectors->crowded))
		say(collectors, true, "--collectors: more than %u connections: %s%s%s",
			CONNECTIONS_MAX,
			oldest != NULL ? "closed one without rows, from " : "refused a new one",
			oldest != NULL ? oldest->peer : "", collectors->crowded.since);
	if (oldest != NULL)
		close_connection(oldest);
	return oldest;
}

static void accept_connections(struct collectors *collectors)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);
	int fd;

	while ((fd = accept4(collectors->listener, (struct sockaddr *)&peer, &len,
			SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct connection *connection = free_connection(collectors);
		struct in6_addr address = in6addr_any;

		if (connection == NULL) {
			close(fd);
			return;
		}
		keep_alive(fd);
		*connection = (struct connection){
			.fd = fd,
			.opened = clock_now(CLOCK_MONOTONIC),
			.text = malloc(LINE_BYTES),
		};
		if (connection->text == NULL) {
			close_connection(connection);
			return;
		}
		address_of_socket(&address, (const struct sockaddr *)&peer);
		address_print(&address, connection->peer);
		len = sizeof(peer);
	}
}

static bool is_full(const struct collectors *collectors, const struct connection *connection)
{
	return connection->run != NULL && connection->run->held >= collectors->params.memory;
}

static void read_connection(struct collectors *collectors, struct connection *connection)
{
	for (size_t bytes = 0;;) {
		ssize_t n;

		if (bytes >= READ_BYTES || is_full(collectors, connection)) {
			connection->untimely = true;
			if (is_full(collectors, connection))
				connection->run->came = clock_now(CLOCK_MONOTONIC);
			return;
		}
		n = recv(connection->fd, connection->text + connection->filled,
			LINE_BYTES - connection->filled, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
			connection->untimely = false;
			return;
		}
		if (n <= 0) {
			close_connection(connection);
			return;
		}
		bytes += (size_t)n;
		connection->filled += (size_t)n;
		if (!take_lines(collectors, connection))
			return;
	}
}

static void look_for_missing(struct collectors *collectors)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		struct run *run = &collectors->runs[r];
		int64_t silent = now - run->came - run->length;

		if (run->over || silent <= collectors->params.wait ||
			has_successor(collectors, run))
			continue;
		if (run->missing && silent > FORGET_NS) {
			run->over = true; /* another run may take its place */
		} else if (!run->missing) {
			run->missing = true;
			say(collectors, true,
				"collector %s: silent for %.0f s: intervals end without it, and "
				"without upper bounds",
				run->host, (double)(now - run->came) / SECOND_NS);
		}
	}
}

static void read_all(struct collectors *collectors)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	collectors->untimely = now - collectors->read_at > UNTIMELY_NS;
	collectors->read_at = now;
	accept_connections(collectors);
	for (uint32_t c = 0; c < CONNECTIONS_MAX; c++) {
		struct connection *connection = &collectors->connections[c];

		if (connection->waits && may_answer(collectors, connection))
			answer(connection);
		if (connection->fd >= 0)
			read_connection(collectors, connection);
	}
	look_for_missing(collectors);
}

static void wait_for_rows(struct collectors *collectors)
{
	struct pollfd polled[CONNECTIONS_MAX + 1] = {
		{.fd = collectors->listener, .events = POLLIN}};
	nfds_t n = 1;

	for (uint32_t c = 0; c < CONNECTIONS_MAX; c++) {
		const struct connection *connection = &collectors->connections[c];

		if (connection->fd >= 0 && !is_full(collectors, connection))
			polled[n++] = (struct pollfd){.fd = connection->fd, .events = POLLIN};
	}
	poll(polled, n, REST_MS);
	read_all(collectors);
}

/* ---- order */

static bool may_start(struct collectors *collectors)
{
	uint32_t n = collectors->nb_runs, wanted = collectors->params.address.collectors;

	if (collectors->started)
		return true;
	if (n == 0)
		return false;
	if (n < wanted &&
		clock_now(CLOCK_MONOTONIC) - collectors->first_came <= collectors->params.wait)
		return false;
	if (n < wanted)
		say(collectors, true,
			"only %u of %u collectors send: intervals begin without the "
			"others, and without upper bounds",
			n, wanted);
	collectors->started = true;
	return true;
}

static bool is_before(const struct entry *a, const struct entry *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return memcmp(&a->src, &b->src, sizeof(a->src)) < 0;
}

/* Returns the run with the earliest datagram, or NULL. */
static struct run *earliest(struct collectors *collectors)
{
	struct run *first = NULL;

	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		struct run *run = &collectors->runs[r];

		if (run->first != NULL && (first == NULL || is_before(run->first, first->first)))
			first = run;
	}
	return first;
}

/* Returns the time before which all datagrams were read. */
static int64_t heard_by_all(const struct collectors *collectors)
{
	int64_t least = INT64_MAX, most = 0;

	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		const struct run *run = &collectors->runs[r];

		if (is_waited_for(run) && run->heard < least)
			least = run->heard;
		if (run->heard > most)
			most = run->heard;
	}
	return least == INT64_MAX ? most : least;
}

/* Returns the time before which datagrams may be passed on. */
static int64_t limit_of(const struct collectors *collectors)
{
	for (uint32_t r = 0; r < collectors->nb_runs; r++)
		if (is_waited_for(&collectors->runs[r]))
			return heard_by_all(collectors);
	return INT64_MAX;
}

/* Returns true if all datagrams of the run in the interval were read, or will be. */
static bool covers(const struct run *run, int64_t end)
{
	return run->since < end && (is_waited_for(run) || run->heard >= end);
}

static bool has_gap(const struct collectors *collectors, int64_t start, int64_t end)
{
	bool missing = collectors->gap_from < end && start < collectors->gap_until;
	uint32_t covering = 0;

	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		missing |= collectors->runs[r].missing && collectors->runs[r].heard < end;
		covering += covers(&collectors->runs[r], end);
	}
	return missing || covering < collectors->params.address.collectors;
}

/* Returns true once for each interval that may lack datagrams. */
static bool is_doubtful(struct collectors *collectors, int64_t time)
{
	int64_t interval = collectors->params.interval, start = floor_of(collectors, time);

	if (collectors->doubted == start ||
		!has_gap(collectors, start, interval > 0 ? start + interval : time + 1))
		return false;
	collectors->doubted = start;
	return true;
}

/* ---- packets */

static void put_udp(uint8_t *udp, const struct entry *entry)
{
	udp = put16(udp, entry->src_port);
	udp = put16(udp, entry->dst_port);
	udp = put16(udp, UDP_HEADER + entry->len);
	put16(udp, 0); /* no checksum */
}

/* Returns the bytes of an IP packet with the datagram. */
static uint32_t put_packet(struct collectors *collectors, const struct entry *entry)
{
	uint8_t *ip = collectors->packet;
	bool ipv4 = IN6_IS_ADDR_V4MAPPED(&entry->src) &&
		    entry->len <= UINT16_MAX - IPV4_HEADER - UDP_HEADER;
	uint32_t header = ipv4 ? IPV4_HEADER : IPV6_HEADER;

	memset(ip, 0, header);
	if (ipv4) {
		ip[0] = 0x45;
		put16(ip + 2, IPV4_HEADER + UDP_HEADER + entry->len);
		ip[8] = 64;
		ip[9] = IPPROTO_UDP;
		memcpy(ip + 12, entry->src.s6_addr + 12, 4);
		if (IN6_IS_ADDR_V4MAPPED(&entry->dst))
			memcpy(ip + 16, entry->dst.s6_addr + 12, 4);
	} else {
		ip[0] = 0x60;
		put16(ip + 4, UDP_HEADER + entry->len);
		ip[6] = IPPROTO_UDP;
		ip[7] = 64;
		memcpy(ip + 8, &entry->src, 16);
		memcpy(ip + 24, &entry->dst, 16);
	}
	put_udp(ip + header, entry);
	memcpy(ip + header + UDP_HEADER, entry->payload, entry->len);
	return header + UDP_HEADER + entry->len;
}

static int pass(struct collectors *collectors, struct source_packet *packet, uint32_t len,
	enum link_type link, int64_t time)
{
	*packet = (struct source_packet){
		.data = collectors->packet,
		.captured = len,
		.wire_len = len,
		.time = time,
		.link = link,
	};
	if (time > collectors->passed)
		collectors->passed = time;
	collectors->looked_at = clock_now(CLOCK_MONOTONIC);
	return 1;
}

static int pass_event(struct collectors *collectors, struct source_packet *packet,
	enum collectors_event_kind kind, uint32_t dropped, int64_t time)
{
	const struct collectors_event event = {kind, dropped};

	memcpy(collectors->packet, &event, sizeof(event));
	return pass(collectors, packet, sizeof(event), LINK_UNKNOWN, time);
}

static int pass_entry(struct collectors *collectors, struct run *run, struct source_packet *packet)
{
	struct entry *entry = run->first;
	int64_t passed = collectors->passed;

	if (floor_of(collectors, entry->time) < floor_of(collectors, passed)) {
		if (!run->late && is_due(&run->warnings[WARNING_LATE]))
			say(collectors, true,
				"collector %s: datagrams came after the end of their interval: "
				"they count in a later one%s",
				run->host, run->warnings[WARNING_LATE].since);
		run->late = true;
		note_gap(collectors, passed, passed + 1);
	} else {
		run->late = false;
	}
	if (passed > 0 && is_doubtful(collectors, passed))
		return pass_event(collectors, packet, COLLECTORS_MISSING, 0, passed);
	if (entry->time > passed && is_doubtful(collectors, entry->time))
		return pass_event(collectors, packet, COLLECTORS_MISSING, 0, entry->time);
	run->first = entry->next;
	if (run->first == NULL)
		run->last = &run->first;
	run->held -= sizeof(*entry) + entry->len;
	if (entry->len == 0)
		pass_event(collectors, packet, COLLECTORS_DROPPED, entry->dropped, entry->time);
	else
		pass(collectors, packet, put_packet(collectors, entry), LINK_RAW, entry->time);
	packet->in_port = entry->socket;
	free(entry);
	return 1;
}

/* Opens the interval of `time`, even if it has no datagram yet. */
static bool pass_time(struct collectors *collectors, struct source_packet *packet, int64_t time)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);

	if (collectors->passed == 0)
		return false;
	if (is_doubtful(collectors, collectors->passed))
		return pass_event(collectors, packet, COLLECTORS_MISSING, 0, collectors->passed) >
		       0;
	if (floor_of(collectors, time) > floor_of(collectors, collectors->passed))
		return pass_event(collectors, packet, COLLECTORS_TIME, 0, time) > 0;
	return now - collectors->looked_at > LOOK_NS &&
	       pass_event(collectors, packet, COLLECTORS_TIME, 0, collectors->passed) > 0;
}

/* Connections while the run starts would wait, and so would their clocks. */
static bool start_listening(struct collectors *collectors)
{
	collectors->listening = listen(collectors->listener, SOMAXCONN) == 0;
	collectors->read_at = clock_now(CLOCK_MONOTONIC);
	if (!collectors->listening)
		source_error(collectors->source.error, "--collectors %s: cannot listen: %s",
			collectors->params.address.listen.text,
			listen_advice(&collectors->params.address.listen, SOCK_STREAM, errno));
	return collectors->listening;
}

static int collectors_next(struct source *source, struct source_packet *packet)
{
	struct collectors *collectors = (struct collectors *)source;

	if (!collectors->listening && !start_listening(collectors))
		return -1;
	if (clock_now(CLOCK_MONOTONIC) - collectors->read_at > READ_NS)
		read_all(collectors);
	while (!signals_stop_requested()) {
		struct run *run;

		if (may_start(collectors)) {
			run = earliest(collectors);
			if (run != NULL && run->first->time < limit_of(collectors))
				return pass_entry(collectors, run, packet);
			if (pass_time(collectors, packet, heard_by_all(collectors)))
				return 1;
		}
		wait_for_rows(collectors);
	}
	source_error(source->error, "the run ended");
	return -1;
}

static double collectors_progress(const struct source *source)
{
	(void)source;
	return -1;
}

static void collectors_close(struct source *source)
{
	struct collectors *collectors = (struct collectors *)source;
	uint64_t n = 0;

	for (uint32_t r = 0; r < collectors->nb_runs; r++) {
		for (const struct entry *entry = collectors->runs[r].first; entry != NULL;
			entry = entry->next)
			n += entry->len > 0;
		free_entries(&collectors->runs[r]);
	}
	if (n > 0)
		say(collectors, true,
			"%" PRIu64
			" datagrams of collectors did not count: their interval was open "
			"when the run ended",
			n);
	if (collectors->nb_refused > 0)
		say(collectors, true, "%" PRIu64 " rows of collectors were refused",
			collectors->nb_refused);
	for (uint32_t c = 0; c < CONNECTIONS_MAX; c++) {
		struct connection *connection = &collectors->connections[c];

		/* A part of the interval may have been counted. */
		if (connection->waits)
			answer(connection);
		if (connection->fd >= 0)
			close_connection(connection);
	}
	if (collectors->listener >= 0)
		close(collectors->listener);
	free(collectors);
}

static bool open_listener(struct collectors *collectors, char *error)
{
	const struct listen_address *address = &collectors->params.address.listen;

	collectors->listener = listen_stream(address);
	if (collectors->listener >= 0)
		return true;
	source_error(error, "--collectors %s: cannot listen: %s", address->text,
		listen_advice(address, SOCK_STREAM, errno));
	return false;
}

struct source *collectors_open(const struct collectors_params *params, char *error)
{
	struct collectors *collectors = calloc(1, sizeof(*collectors));

	if (collectors == NULL) {
		source_error(error, "out of memory for the collectors");
		return NULL;
	}
	collectors->params = *params;
	collectors->listener = -1;
	for (uint32_t c = 0; c < CONNECTIONS_MAX; c++)
		collectors->connections[c].fd = -1;
	collectors->doubted = -1;
	collectors->source.next = collectors_next;
	collectors->source.progress = collectors_progress;
	collectors->source.close = collectors_close;
	if (open_listener(collectors, error))
		return &collectors->source;
	collectors_close(&collectors->source);
	return NULL;
}
