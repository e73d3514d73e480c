/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/collectors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/signals.h"
#include "base/units.h"
#include "bench/collect_bench.h"
#include "bench/program.h"
#include "collect/collector.h"
#include "collect/listen.h"
#include "flow_protocols/big_endian.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"

#define START_MS   10000
#define SETTLE_MS  500
#define DRAIN_MS   500
#define SEND_BATCH 32
#define MESSAGE    1500

struct told {
	double value;
};

struct started {
	enum collectors_kind kind;
	pid_t pid;
	uint16_t port;
	char directory[64];
	int pipe; /* read end of the pipe from the child; -1 if closed */
};

static void sleep_ms(uint64_t ms)
{
	struct timespec time = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&time, NULL);
}

static struct listener *open_listener(uint16_t port)
{
	char text[LISTEN_TEXT_MAX], why[OPTION_WHY_MAX];
	struct listen_address address;

	snprintf(text, sizeof(text), "127.0.0.1:%u", port);
	if (!listen_parse(text, &address, why))
		return NULL;
	return listener_open(&address, 1, COLLECTORS_BUFFER, why);
}

static void receive(struct listener *listener, struct collect_bench *bench)
{
	struct datagram datagrams[LISTEN_BATCH];
	int64_t end = clock_now(CLOCK_REALTIME) / SECOND_NS * SECOND_NS + SECOND_NS;

	while (!signals_stop_requested()) {
		uint32_t n = listener_receive(listener, datagrams, LISTEN_BATCH);

		for (uint32_t i = 0; i < n; i++)
			collect_bench_take(bench, &datagrams[i]);
		collect_bench_flush(bench);
		if (n > 0 && datagrams[n - 1].time >= end) {
			collect_bench_end_epoch(bench, datagrams[n - 1].time);
			end += SECOND_NS;
		}
		if (n < LISTEN_BATCH)
			listener_rest(listener, n);
	}
}

/* When stopped, the child writes the number of received records to the pipe. */
static void receive_here(enum collectors_kind kind, uint16_t port, uint64_t flows, int out)
{
	struct collect_bench *bench = collect_bench_create(
		kind == COLLECTORS_COUNTED ? COLLECT_BENCH_COUNTED : COLLECT_BENCH_OBSERVATIONS,
		flows, 1);
	struct listener *listener = bench != NULL ? open_listener(port) : NULL;
	struct told told;

	if (listener == NULL)
		_exit(1);
	receive(listener, bench);
	told.value = (double)collect_bench_counts(bench).records;
	_exit(write(out, &told, sizeof(told)) == sizeof(told) ? 0 : 1);
}

static void become(const struct config *config, const struct started *started)
{
	char port[16], address[32], listen[48];
	const char *const nfcapd[] = {"nfcapd", "-w", started->directory, "-b", "127.0.0.1", "-p",
		port, "-S", "0", "-B", "4194304", NULL};
	const char *const goflow2[] = {"goflow2", "-listen", listen, "-transport.file", "/dev/null",
		"-loglevel", "error", NULL};
	const char *ours[24] = {"sketchtap", "collect", "--listen", address, "--receive-buffer",
		"4MB", "--output", "/dev/null", "--append", "--format", "csv", "--top", "100",
		"--seed", "1", "--log-level", "error", NULL};
	uint32_t n = 17;

	snprintf(port, sizeof(port), "%u", started->port);
	snprintf(address, sizeof(address), "127.0.0.1:%u", started->port);
	snprintf(listen, sizeof(listen), "netflow://%s", address);
	if (hugepages_options(config)->no_huge)
		ours[n++] = "--no-huge";
	if (machine_options(config)->lcores != NULL) {
		ours[n++] = "--lcores";
		ours[n++] = machine_options(config)->lcores;
	}
	switch (started->kind) {
	case COLLECTORS_NFCAPD: execvp(nfcapd[0], (char **)(uintptr_t)nfcapd); break;
	case COLLECTORS_GOFLOW2: execvp(goflow2[0], (char **)(uintptr_t)goflow2); break;
	default: program_execute(ours); break;
	}
	_exit(127);
}

static void silence(void)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
}

/* Returns an unused UDP port, or 0. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return 0;
	if (bind(fd, (struct sockaddr *)&address, len) != 0 ||
		getsockname(fd, (struct sockaddr *)&address, &len) != 0)
		address.sin_port = 0;
	close(fd);
	return ntohs(address.sin_port);
}

static bool make_directory(struct started *started)
{
	const char *parent = getenv("TMPDIR");

	if (parent == NULL || strlen(parent) > 32)
		parent = "/tmp";
	snprintf(started->directory, sizeof(started->directory), "%s/sketchtap-bench-XXXXXX",
		parent);
	return mkdtemp(started->directory) != NULL;
}

static void remove_directory(const char *path)
{
	DIR *directory = opendir(path);
	struct dirent *entry;

	while (directory != NULL && (entry = readdir(directory)) != NULL)
		if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
			unlinkat(dirfd(directory), entry->d_name, 0);
	if (directory != NULL)
		closedir(directory);
	rmdir(path);
}

/* Searches a table of UDP sockets in /proc. Returns false if no socket has the port. */
static bool find_in_table(const char *table, uint16_t port, uint64_t *queued, uint64_t *lost)
{
	FILE *file = fopen(table, "re");
	bool found = false;
	char line[512];

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL) {
		unsigned int local;

		/* columns: sl, local address:port, remote, state, tx:rx, ..., drops */
		found = sscanf(line,
				"%*s %*[0-9A-F]:%x %*s %*s %*x:%" SCNx64
				" %*s %*s %*s %*s %*s %*s %*s %" SCNu64,
				&local, queued, lost) == 3 &&
			local == port;
	}
	if (file != NULL)
		fclose(file);
	return found;
}

static bool find_socket(uint16_t port, uint64_t *queued, uint64_t *lost)
{
	return find_in_table("/proc/net/udp", port, queued, lost) ||
	       find_in_table("/proc/net/udp6", port, queued, lost);
}

static bool wait_for_socket(struct started *started)
{
	uint64_t queued, lost;

	for (uint32_t ms = 0; ms < START_MS; ms += 10) {
		if (find_socket(started->port, &queued, &lost))
			return true;
		if (waitpid(started->pid, NULL, WNOHANG) != 0) {
			started->pid = -1; /* ended; another process may get the pid */
			return false;
		}
		sleep_ms(10);
	}
	return false;
}

/* Returns ns of all threads. */
static uint64_t cpu_of(pid_t pid)
{
	char path[PATH_MAX];
	uint64_t sum = 0;
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	tasks = opendir(path);
	while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
		uint64_t ns;
		FILE *file;

		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", pid, entry->d_name);
		file = fopen(path, "re");
		if (file != NULL && fscanf(file, "%" SCNu64, &ns) == 1)
			sum += ns;
		if (file != NULL)
			fclose(file);
	}
	if (tasks != NULL)
		closedir(tasks);
	return sum;
}

static int open_sender(uint16_t port)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static bool send_some(int fd, const struct exported *exported, uint32_t from, uint32_t to)
{
	struct mmsghdr messages[SEND_BATCH];
	struct iovec parts[SEND_BATCH];

	while (from < to) {
		uint32_t n = to - from < SEND_BATCH ? to - from : SEND_BATCH;
		int sent;

		memset(messages, 0, sizeof(messages));
		for (uint32_t i = 0; i < n; i++) {
			const struct exported_datagram *datagram = &exported->datagrams[from + i];

			parts[i] = (struct iovec){exported->bytes + datagram->at, datagram->len};
			messages[i].msg_hdr.msg_iov = &parts[i];
			messages[i].msg_hdr.msg_iovlen = 1;
		}
		sent = sendmmsg(fd, messages, n, 0);
		if (sent < 0 && errno != EINTR)
			return false;
		from += sent > 0 ? (uint32_t)sent : 0;
	}
	return true;
}

/* Returns the number of records sent, or 0 on error. */
static uint64_t send_at_rate(
	uint16_t port, const struct exported *exported, uint64_t records, uint64_t rate)
{
	int fd = open_sender(port);
	int64_t start = clock_now(CLOCK_MONOTONIC);
	uint32_t next = 0;
	bool fine = fd >= 0;

	while (fine && next < exported->n && !signals_stop_requested()) {
		uint64_t due = (uint64_t)((double)(clock_now(CLOCK_MONOTONIC) - start) / 1e9 *
					  (double)rate);
		uint32_t end = next;

		if (next > 0 && exported->datagrams[next - 1].records >= records)
			break;
		while (end < exported->n && exported->datagrams[end].records <= due)
			end++;
		fine = send_some(fd, exported, next, end);
		next = end;
		sleep_ms(1);
	}
	if (fd >= 0)
		close(fd);
	return fine && next > 0 ? exported->datagrams[next - 1].records : 0;
}

static bool start(const struct config *config, const struct exported *exported,
	struct started *started, char *error)
{
	int pipes[2];

	started->port = free_port();
	if (started->port == 0 || !make_directory(started) || pipe2(pipes, O_CLOEXEC) != 0) {
		snprintf(error, COLLECTORS_ERROR_MAX,
			"cannot create a port, a directory or a pipe: %s", strerror(errno));
		return false;
	}
	started->pid = fork();
	if (started->pid == 0) {
		silence();
		if (started->kind == COLLECTORS_RECEIVED || started->kind == COLLECTORS_COUNTED)
			receive_here(started->kind, started->port, exported->spec.flows, pipes[1]);
		become(config, started);
	}
	close(pipes[1]);
	started->pipe = pipes[0];
	if (started->pid > 0 && wait_for_socket(started))
		return true;
	snprintf(error, COLLECTORS_ERROR_MAX, "the collector does not listen on port %u",
		started->port);
	return false;
}

/* Returns false if the collector reports fewer records than were sent, although none was lost. */
static bool stop(struct started *started, uint64_t records, bool lost, char *error)
{
	bool tells = started->kind == COLLECTORS_RECEIVED || started->kind == COLLECTORS_COUNTED;
	struct told told = {0};
	bool right = true;

	if (started->pid > 0) {
		kill(started->pid, SIGTERM);
		waitpid(started->pid, NULL, 0);
	}
	if (tells && !lost && records > 0)
		right = read(started->pipe, &told, sizeof(told)) == sizeof(told) &&
			told.value == (double)records;
	if (!right)
		snprintf(error, COLLECTORS_ERROR_MAX, "the collector received %.0f of %llu records",
			told.value, (unsigned long long)records);
	if (started->pipe >= 0)
		close(started->pipe);
	if (started->directory[0] != '\0')
		remove_directory(started->directory);
	return right;
}

bool collectors_run(const struct config *config, enum collectors_kind kind,
	const struct exported *exported, uint64_t records, uint64_t rate,
	struct collectors_sample *sample, char *error)
{
	struct started started = {.kind = kind, .pipe = -1};
	uint64_t sent = 0, queued, before;

	*sample = (struct collectors_sample){0};
	if (start(config, exported, &started, error)) {
		sleep_ms(SETTLE_MS);
		before = cpu_of(started.pid);
		sent = send_at_rate(started.port, exported, records, rate);
		sleep_ms(DRAIN_MS);
		if (sent > 0)
			sample->ns = (double)(cpu_of(started.pid) - before) / (double)sent;
		if (!find_socket(started.port, &queued, &sample->lost) || sent == 0) {
			snprintf(error, COLLECTORS_ERROR_MAX,
				"the collector ended, or sending to it "
				"failed");
			sent = 0;
		}
	}
	return stop(&started, sent, sample->lost > 0, error) && sent > 0;
}

bool collectors_has(enum collectors_kind kind)
{
	const char *name = kind == COLLECTORS_NFCAPD ? "nfcapd" : "goflow2";
	const char *path = getenv("PATH");
	char places[PATH_MAX], file[PATH_MAX + 16];

	if (kind >= COLLECTORS_RECEIVED)
		return true;
	snprintf(places, sizeof(places), "%s", path != NULL ? path : "/usr/bin");
	for (char *rest = places, *place; (place = strsep(&rest, ":")) != NULL;) {
		snprintf(file, sizeof(file), "%s/%s", place, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

static double resident(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;

	if (file == NULL || fscanf(file, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	if (file != NULL)
		fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

/* Runs measure() in a fresh child process. Returns 0 on error. */
static double in_process(double (*measure)(const void *arg), const void *arg)
{
	struct told told = {0};
	int pipes[2];
	pid_t child;

	if (pipe2(pipes, O_CLOEXEC) != 0)
		return 0;
	child = fork();
	if (child == 0) {
		told.value = measure(arg);
		_exit(write(pipes[1], &told, sizeof(told)) == sizeof(told) ? 0 : 1);
	}
	close(pipes[1]);
	if (child < 0 || read(pipes[0], &told, sizeof(told)) != sizeof(told))
		told.value = 0;
	close(pipes[0]);
	if (child > 0)
		waitpid(child, NULL, 0);
	return told.value;
}

static double grow(const void *arg)
{
	const struct exported *exported = arg;
	int64_t now = 1800000000 * SECOND_NS;
	struct collect_bench *bench;
	double before = resident();

	bench = collect_bench_create(COLLECT_BENCH_BEST, exported->spec.flows, 1);
	if (bench == NULL)
		return 0;
	collect_bench_run(bench, exported, &now);
	/* a flow cache that was too small loses packets, or counts them twice */
	if (collect_bench_counts(bench).measured != exported->packets)
		return 0;
	return resident() - before;
}

double collectors_growth(const struct exported *exported)
{
	return in_process(grow, exported);
}

struct told_templates {
	uint32_t exporters, templates;
};

/* Writes an IPFIX message with one template of 18 fields. Returns its length. */
static uint32_t write_template(uint8_t *message, uint32_t id)
{
	static const uint16_t elements[] = {
		8, 12, 15, 10, 14, 2, 1, 7, 11, 4, 5, 6, 61, 152, 153, 136, 16, 17};
	static const uint8_t lens[] = {4, 4, 4, 4, 4, 8, 8, 2, 2, 1, 1, 1, 1, 8, 8, 1, 4, 4};
	uint32_t len = 16 + 4 + 4 + 4 * sizeof(lens);
	uint8_t *at = put32(put32(put32(put16(put16(message, 10), len), 1800000000), 0), 1);

	at = put16(put16(put16(put16(at, 2), len - 16), 256 + id), sizeof(lens));
	for (uint32_t f = 0; f < sizeof(lens); f++)
		at = put16(put16(at, elements[f]), lens[f]);
	return len;
}

static void ignore_observations(void *arg, const struct observation *observations, uint32_t n)
{
	(void)arg;
	(void)observations;
	(void)n;
}

static void ignore_forgotten(void *arg, uint32_t exporter)
{
	(void)arg;
	(void)exporter;
}

static void ignore_line(void *arg, bool warning, const char *line)
{
	(void)arg;
	(void)warning;
	(void)line;
}

static void add_templates(void *arg, const struct exporter_row *row)
{
	uint64_t *sum = arg;

	*sum += row->templates;
}

static void ignore_link(void *arg, const struct link_row *row)
{
	(void)arg;
	(void)row;
}

static void send_templates(struct collector *collector, const struct told_templates *told)
{
	uint8_t message[MESSAGE];
	struct datagram datagram = {
		.data = message, .time = 1800000000 * SECOND_NS, .src_port = 50000};

	datagram.src.s6_addr[10] = datagram.src.s6_addr[11] = 0xff;
	for (uint32_t t = 0; t < told->templates; t++) {
		datagram.len = write_template(message, t);
		for (uint32_t e = 0; e < told->exporters; e++) {
			put32(datagram.src.s6_addr + 12, 0x0a000001 + e);
			collector_take(collector, &datagram);
		}
	}
}

static double grow_by_templates(const void *arg)
{
	const struct told_templates *told = arg;
	const struct collector_params params = {
		.exporters_max = told->exporters,
		.template_bytes = (size_t)64 << 20,
		.waiting_bytes = (size_t)16 << 20,
		.observe = ignore_observations,
		.forget = ignore_forgotten,
		.log = ignore_line,
	};
	char error[OPTION_WHY_MAX];
	double before = resident();
	struct collector *collector = collector_create(&params, error);
	uint64_t templates = 0;

	if (collector == NULL)
		return 0;
	send_templates(collector, told);
	before = resident() - before;
	collector_end_epoch(collector, 0, add_templates, ignore_link, &templates);
	return templates == (uint64_t)told->exporters * told->templates ? before : 0;
}

double collectors_templates_growth(uint32_t exporters, uint32_t templates)
{
	const struct told_templates told = {exporters, templates};

	return in_process(grow_by_templates, &told);
}
