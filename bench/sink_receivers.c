/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/sink_receivers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "base/units.h"
#include "bench/mock_broker.h"
#include "bench/records.h"
#include "commands/commands.h"
#include "report/metrics/http.h"
#include "report/metrics/metrics.h"
#include "report/rows/recent.h"
#include "report/sinks/sink.h"
#include "report/sinks/writer.h"

#define CONNECTIONS 16
#define REQUEST_MAX 65536
#define KAFKA_MB    16
#define TOP         100
#define SCRAPE_NS   (SECOND_NS / 10)

/* One listening socket per type of sink. */
enum port {
	PORT_ROWS,
	PORT_DATABASE,
	PORT_STREAM,
	PORT_BROKER, /* instead of a Kafka broker if receivers are frozen */
	PORT_DATAGRAMS,
	PORTS,
};

struct connection {
	enum port port;
	size_t len;
	char *request;
};

struct sink_receivers {
	struct sink_receivers_setting setting;
	char folder[64], path[96];
	int listeners[PORTS];
	uint16_t ports[PORTS];
	struct mock_broker *broker;
	uint32_t remotes;

	atomic_bool ends;
	pthread_t server, scraper, pusher;
	bool serves, scrapes, pushes;
	struct connection connections[CONNECTIONS]; /* used only by the server thread */
	struct pollfd polled[PORTS + CONNECTIONS];
	nfds_t nb_polled;

	struct config config;
	bool configured;
	struct writer *writer;
	struct recent *recent;
	struct metrics *metrics;
	struct http *http;
	uint16_t http_port;
	size_t flows, rows;
	int64_t every;
};

static bool listen_at(int *fd, uint16_t *port, int type)
{
	struct sockaddr_in on = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(on);

	*fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
	if (*fd < 0 || bind(*fd, (struct sockaddr *)&on, len) != 0 ||
		getsockname(*fd, (struct sockaddr *)&on, &len) != 0 ||
		(type == SOCK_STREAM && listen(*fd, CONNECTIONS) != 0))
		return false;
	*port = ntohs(on.sin_port);
	return true;
}

static void accept_one(struct sink_receivers *receivers, enum port port)
{
	int fd = accept(receivers->listeners[port], NULL, NULL);
	uint32_t c = (uint32_t)receivers->nb_polled - PORTS;

	if (fd < 0)
		return;
	if (c == CONNECTIONS) {
		close(fd);
		return;
	}
	receivers->connections[c] =
		(struct connection){.port = port, .request = malloc(REQUEST_MAX)};
	receivers->polled[receivers->nb_polled++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* Answers after the whole body of Content-Length bytes. *left: remaining bytes of the body. */
static void answer(struct connection *connection, int fd, const char *bytes, size_t n, size_t *left)
{
	static const char written[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	const char *end, *length;

	if (*left == 0) {
		if (connection->len + n >= REQUEST_MAX)
			n = REQUEST_MAX - 1 - connection->len;
		memcpy(connection->request + connection->len, bytes, n);
		connection->len += n;
		connection->request[connection->len] = '\0';
		end = strstr(connection->request, "\r\n\r\n");
		length = strstr(connection->request, "Content-Length: ");
		if (end == NULL || length == NULL)
			return;
		*left = strtoul(length + strlen("Content-Length: "), NULL, 10);
		n = connection->len - (size_t)(end + 4 - connection->request);
		connection->len = 0;
	}
	*left -= n < *left ? n : *left;
	if (*left == 0)
		(void)send(fd, written, sizeof(written) - 1, MSG_NOSIGNAL);
}

static void read_one(struct sink_receivers *receivers, uint32_t c, size_t *left)
{
	static _Thread_local char bytes[REQUEST_MAX];
	struct connection *connection = &receivers->connections[c];
	struct pollfd *polled = &receivers->polled[PORTS + c];
	ssize_t n = recv(polled->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0 && connection->port == PORT_DATABASE && connection->request != NULL)
		answer(connection, polled->fd, bytes, (size_t)n, left);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(polled->fd);
		polled->fd = -1;
	}
}

static void *serve(void *arg)
{
	struct sink_receivers *receivers = arg;
	size_t left[CONNECTIONS] = {0};
	char datagram[2048];

	while (!atomic_load(&receivers->ends)) {
		if (poll(receivers->polled, receivers->nb_polled, 50) <= 0)
			continue;
		for (uint32_t c = 0; c < receivers->nb_polled - PORTS; c++)
			if (receivers->polled[PORTS + c].revents != 0)
				read_one(receivers, c, &left[c]);
		while (recv(receivers->listeners[PORT_DATAGRAMS], datagram, sizeof(datagram),
			       MSG_DONTWAIT) > 0)
			;
		for (enum port p = PORT_ROWS; p < PORT_DATAGRAMS; p++)
			if (receivers->polled[p].revents != 0)
				accept_one(receivers, p);
	}
	return NULL;
}

static bool listen_all(struct sink_receivers *receivers)
{
	for (enum port p = PORT_ROWS; p < PORTS; p++) {
		if (!listen_at(&receivers->listeners[p], &receivers->ports[p],
			    p == PORT_DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM))
			return false;
		receivers->polled[p] =
			(struct pollfd){.fd = receivers->listeners[p], .events = POLLIN};
	}
	receivers->nb_polled = PORTS;
	if (receivers->setting.frozen)
		return true;
	receivers->serves = pthread_create(&receivers->server, NULL, serve, receivers) == 0;
	return receivers->serves;
}

static bool open_metrics(struct sink_receivers *receivers, char *error)
{
	struct listen_address address = {0};
	char text[32];
	int probe;

	if (http_missing() != NULL)
		return true;
	if (!listen_at(&probe, &receivers->http_port, SOCK_STREAM))
		return false;
	close(probe);
	snprintf(text, sizeof(text), "127.0.0.1:%u", receivers->http_port);
	receivers->recent = recent_create();
	receivers->metrics =
		receivers->recent != NULL ? metrics_create(TOP, "DPDK", receivers->recent) : NULL;
	if (receivers->metrics == NULL || !listen_parse(text, &address, error))
		return false;
	metrics_start(receivers->metrics, SECOND_NS);
	receivers->http = http_open(&address, metrics_pages, receivers->metrics, error);
	return receivers->http != NULL && http_start(receivers->http, error);
}

size_t sink_receivers_scrape(uint16_t port, bool reads)
{
	static const char get[] = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
	struct sockaddr_in to = {.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	static _Thread_local char bytes[1 << 16];
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t series = 0;
	bool line = true, body = false;
	ssize_t n;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
		send(fd, get, sizeof(get) - 1, MSG_NOSIGNAL) < 0) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while (reads && (n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		for (ssize_t i = 0; i < n; i++) {
			body |= line && bytes[i] == '#';
			series += body && line && bytes[i] != '#';
			line = bytes[i] == '\n';
		}
	if (reads)
		close(fd);
	return series;
}

static void nap(int64_t ns)
{
	const struct timespec pause = {ns / SECOND_NS, ns % SECOND_NS};

	nanosleep(&pause, NULL);
}

static void *scrape(void *arg)
{
	struct sink_receivers *receivers = arg;

	while (!atomic_load(&receivers->ends)) {
		(void)sink_receivers_scrape(receivers->http_port, true);
		nap(SCRAPE_NS);
	}
	return NULL;
}

static void put_section(FILE *file, const struct sink_receivers *receivers, const char *name,
	const char *what, const char *url)
{
	fprintf(file, "[export %s]\nwhat = %s\nurl = %s\nqueue = %zuMB\n", name, what, url,
		receivers->setting.queue_mb);
}

static bool write_config(struct sink_receivers *receivers)
{
	FILE *file = fopen(receivers->path, "w");
	char url[160];

	if (file == NULL)
		return false;
	fputs("pcap = none\nsketch = flow-table\n", file);
	snprintf(url, sizeof(url), "%s/flows.csv", receivers->folder);
	put_section(file, receivers, "files", "flows", url);
	snprintf(url, sizeof(url), "json:tcp://127.0.0.1:%u", receivers->ports[PORT_ROWS]);
	put_section(file, receivers, "rows", "flows", url);
	put_section(file, receivers, "heavy", "heavy-hitters", url);
	snprintf(url, sizeof(url), "ipfix://127.0.0.1:%u", receivers->ports[PORT_DATAGRAMS]);
	put_section(file, receivers, "datagrams", "flows", url);
	snprintf(url, sizeof(url), "ipfix+tcp://127.0.0.1:%u", receivers->ports[PORT_STREAM]);
	put_section(file, receivers, "stream", "flows", url);
	receivers->remotes = 4;
	if (sink_type_clickhouse.missing == NULL) {
		snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/flows",
			receivers->ports[PORT_DATABASE]);
		put_section(file, receivers, "database", "flows", url);
		receivers->remotes++;
	}
	if (sink_type_kafka.missing == NULL) {
		snprintf(url, sizeof(url), "kafka://127.0.0.1:%u/flows",
			receivers->ports[PORT_BROKER]);
		if (receivers->broker != NULL)
			snprintf(url, sizeof(url), "kafka://%s/flows",
				mock_broker_address(receivers->broker));
		put_section(file, receivers, "broker", "flows", url);
		fprintf(file, "kafka.queue.buffering.max.kbytes = %u\n", KAFKA_MB << 10);
		receivers->remotes++;
	}
	return fclose(file) == 0;
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

static bool open_writer(struct sink_receivers *receivers, char *error)
{
	const struct sink_log sink_log = {.log = hear};
	char words[3][16] = {"sketchtap", "run", "--config"};
	char *arguments[] = {words[0], words[1], words[2], receivers->path, NULL};
	uint64_t first;
	int status;

	receivers->configured = config_load(&receivers->config, &commands, 4, arguments, stdout,
					stderr) == CONFIG_OK;
	if (!receivers->configured)
		return false;
	receivers->writer = writer_open(&receivers->config, &sink_log, &first, &status, error);
	return receivers->writer != NULL;
}

struct sink_receivers *sink_receivers_open(
	const struct sink_receivers_setting *setting, char *error)
{
	struct sink_receivers *receivers = calloc(1, sizeof(*receivers));

	snprintf(error, SINK_RECEIVERS_ERROR_MAX,
		"cannot create a file or a loopback socket for receivers, or out of memory");
	if (receivers == NULL)
		return NULL;
	receivers->setting = *setting;
	for (enum port p = PORT_ROWS; p < PORTS; p++)
		receivers->listeners[p] = -1;
	snprintf(receivers->folder, sizeof(receivers->folder), "/tmp/sketchtap-bench-XXXXXX");
	if (mkdtemp(receivers->folder) == NULL) {
		free(receivers);
		return NULL;
	}
	snprintf(receivers->path, sizeof(receivers->path), "%s/config", receivers->folder);
	if (!setting->frozen)
		receivers->broker = mock_broker_create("flows");
	if (listen_all(receivers) && write_config(receivers) && open_metrics(receivers, error) &&
		open_writer(receivers, error)) {
		if (receivers->http != NULL && setting->frozen)
			(void)sink_receivers_scrape(receivers->http_port, false);
		else if (receivers->http != NULL)
			receivers->scrapes =
				pthread_create(&receivers->scraper, NULL, scrape, receivers) == 0;
		return receivers;
	}
	sink_receivers_close(receivers);
	return NULL;
}

void sink_receivers_push(struct sink_receivers *receivers, struct report_epoch *epoch)
{
	if (receivers->metrics != NULL) {
		recent_take(receivers->recent, epoch);
		metrics_take(receivers->metrics, epoch, writer_deliveries(receivers->writer));
	}
	writer_push(receivers->writer, epoch);
}

static void *push_always(void *arg)
{
	struct sink_receivers *receivers = arg;

	for (uint64_t number = 0; !atomic_load(&receivers->ends); number++) {
		const struct records_spec spec = {.number = number,
			.measurements = 1,
			.flows = receivers->flows,
			.rows = receivers->rows,
			.seed = 1};
		struct report_epoch *epoch = records_epoch(&spec);

		if (epoch == NULL)
			break;
		epoch->end = epoch->start + receivers->every;
		sink_receivers_push(receivers, epoch);
		nap(receivers->every);
	}
	return NULL;
}

bool sink_receivers_push_always(
	struct sink_receivers *receivers, size_t flows, size_t rows, int64_t every)
{
	receivers->flows = flows;
	receivers->rows = rows;
	receivers->every = every;
	receivers->pushes = pthread_create(&receivers->pusher, NULL, push_always, receivers) == 0;
	return receivers->pushes;
}

size_t sink_receivers_bound(const struct sink_receivers *receivers)
{
	size_t mb = receivers->remotes * receivers->setting.queue_mb + receivers->setting.queue_mb;

	return (mb + (sink_type_kafka.missing == NULL ? KAFKA_MB : 0)) << 20;
}

uint16_t sink_receivers_metrics_port(const struct sink_receivers *receivers)
{
	return receivers->http != NULL ? receivers->http_port : 0;
}

struct mock_broker *sink_receivers_broker(const struct sink_receivers *receivers)
{
	return receivers->broker;
}

void sink_receivers_close(struct sink_receivers *receivers)
{
	char path[96];

	atomic_store(&receivers->ends, true);
	if (receivers->pushes)
		pthread_join(receivers->pusher, NULL);
	if (receivers->scrapes)
		pthread_join(receivers->scraper, NULL);
	if (receivers->serves)
		pthread_join(receivers->server, NULL);
	/* A sink whose peer has closed ends within seconds. */
	for (enum port p = PORT_ROWS; p < PORTS; p++)
		if (receivers->listeners[p] >= 0)
			close(receivers->listeners[p]);
	for (nfds_t c = PORTS; c < receivers->nb_polled; c++)
		if (receivers->polled[c].fd >= 0)
			close(receivers->polled[c].fd);
	for (uint32_t c = 0; c < CONNECTIONS; c++)
		free(receivers->connections[c].request);
	http_close(receivers->http);
	if (receivers->writer != NULL)
		(void)writer_close(receivers->writer);
	metrics_destroy(receivers->metrics);
	recent_destroy(receivers->recent);
	if (receivers->configured)
		config_free(&receivers->config);
	mock_broker_destroy(receivers->broker);
	unlink(receivers->path);
	snprintf(path, sizeof(path), "%s/flows.csv", receivers->folder);
	unlink(path);
	rmdir(receivers->folder);
	free(receivers);
}
