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
#define KAFKA_MB    16 /* of messages in librdkafka */
#define TOP         100
#define SCRAPE_NS   (SECOND_NS / 10)

/* Who listens; what comes to a port is of one kind. */
enum port {
	PORT_ROWS,
	PORT_DATABASE,
	PORT_STREAM,    /* IPFIX by TCP */
	PORT_BROKER,    /* of a frozen one */
	PORT_DATAGRAMS, /* IPFIX by UDP */
	PORTS,
};

struct connection {
	enum port port;
	size_t len; /* of a request so far */
	char *request;
};

struct sink_receivers {
	struct sink_receivers_setting setting;
	char folder[64], path[96];
	int listeners[PORTS];
	uint16_t ports[PORTS];
	struct mock_broker *broker;
	uint32_t remotes; /* places with a queue of their own */

	atomic_bool ends;
	pthread_t server, scraper, pusher;
	bool serves, scrapes, pushes;
	struct connection connections[CONNECTIONS]; /* the server's own */
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

/* --- Receivers */

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

static void accept_one(struct sink_receivers *places, enum port port)
{
	int fd = accept(places->listeners[port], NULL, NULL);
	uint32_t c = (uint32_t)places->nb_polled - PORTS;

	if (fd < 0)
		return;
	if (c == CONNECTIONS) {
		close(fd);
		return;
	}
	places->connections[c] = (struct connection){.port = port, .request = malloc(REQUEST_MAX)};
	places->polled[places->nb_polled++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* The answer to a request whose end has come: its body is as long as the head says. */
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

static void read_one(struct sink_receivers *places, uint32_t c, size_t *left)
{
	static _Thread_local char bytes[REQUEST_MAX];
	struct connection *connection = &places->connections[c];
	struct pollfd *polled = &places->polled[PORTS + c];
	ssize_t n = recv(polled->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n > 0 && connection->port == PORT_DATABASE && connection->request != NULL)
		answer(connection, polled->fd, bytes, (size_t)n, left);
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		close(polled->fd);
		polled->fd = -1; /* poll() passes over it */
	}
}

static void *serve(void *arg)
{
	struct sink_receivers *places = arg;
	size_t left[CONNECTIONS] = {0};
	char datagram[2048];

	while (!atomic_load(&places->ends)) {
		if (poll(places->polled, places->nb_polled, 50) <= 0)
			continue;
		for (uint32_t c = 0; c < places->nb_polled - PORTS; c++)
			if (places->polled[PORTS + c].revents != 0)
				read_one(places, c, &left[c]);
		while (recv(places->listeners[PORT_DATAGRAMS], datagram, sizeof(datagram),
			       MSG_DONTWAIT) > 0)
			;
		for (enum port p = PORT_ROWS; p < PORT_DATAGRAMS; p++)
			if (places->polled[p].revents != 0)
				accept_one(places, p);
	}
	return NULL;
}

static bool listen_all(struct sink_receivers *places)
{
	for (enum port p = PORT_ROWS; p < PORTS; p++) {
		if (!listen_at(&places->listeners[p], &places->ports[p],
			    p == PORT_DATAGRAMS ? SOCK_DGRAM : SOCK_STREAM))
			return false;
		places->polled[p] = (struct pollfd){.fd = places->listeners[p], .events = POLLIN};
	}
	places->nb_polled = PORTS;
	if (places->setting.frozen)
		return true;
	places->serves = pthread_create(&places->server, NULL, serve, places) == 0;
	return places->serves;
}

/* --- Metrics, and who asks for them */

static bool open_metrics(struct sink_receivers *places, char *error)
{
	struct listen_address address = {0};
	char text[32];
	int probe;

	if (http_missing() != NULL)
		return true;
	if (!listen_at(&probe, &places->http_port, SOCK_STREAM))
		return false;
	close(probe);
	snprintf(text, sizeof(text), "127.0.0.1:%u", places->http_port);
	places->recent = recent_create();
	places->metrics =
		places->recent != NULL ? metrics_create(TOP, "DPDK", places->recent) : NULL;
	if (places->metrics == NULL || !listen_parse(text, &address, error))
		return false;
	metrics_start(places->metrics, SECOND_NS);
	places->http = http_open(&address, metrics_pages, places->metrics, error);
	return places->http != NULL && http_start(places->http, error);
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
	struct sink_receivers *places = arg;

	while (!atomic_load(&places->ends)) {
		(void)sink_receivers_scrape(places->http_port, true);
		nap(SCRAPE_NS);
	}
	return NULL;
}

/* --- The writer */

static void put_section(FILE *file, const struct sink_receivers *places, const char *name, const char *what,
	const char *url)
{
	fprintf(file, "[export %s]\nwhat = %s\nurl = %s\nqueue = %zuMB\n", name, what, url,
		places->setting.queue_mb);
}

static bool write_config(struct sink_receivers *places)
{
	FILE *file = fopen(places->path, "w");
	char url[160];

	if (file == NULL)
		return false;
	fputs("pcap = none\nsketch = flow-table\n", file);
	snprintf(url, sizeof(url), "%s/flows.csv", places->folder);
	put_section(file, places, "files", "flows", url);
	snprintf(url, sizeof(url), "json:tcp://127.0.0.1:%u", places->ports[PORT_ROWS]);
	put_section(file, places, "rows", "flows", url);
	put_section(file, places, "heavy", "heavy-hitters", url);
	snprintf(url, sizeof(url), "ipfix://127.0.0.1:%u", places->ports[PORT_DATAGRAMS]);
	put_section(file, places, "datagrams", "flows", url);
	snprintf(url, sizeof(url), "ipfix+tcp://127.0.0.1:%u", places->ports[PORT_STREAM]);
	put_section(file, places, "stream", "flows", url);
	places->remotes = 4;
	if (sink_type_clickhouse.missing == NULL) {
		snprintf(url, sizeof(url), "clickhouse://127.0.0.1:%u/flows",
			places->ports[PORT_DATABASE]);
		put_section(file, places, "database", "flows", url);
		places->remotes++;
	}
	if (sink_type_kafka.missing == NULL) {
		snprintf(
			url, sizeof(url), "kafka://127.0.0.1:%u/flows", places->ports[PORT_BROKER]);
		if (places->broker != NULL)
			snprintf(url, sizeof(url), "kafka://%s/flows",
				mock_broker_address(places->broker));
		put_section(file, places, "broker", "flows", url);
		fprintf(file, "kafka.queue.buffering.max.kbytes = %u\n", KAFKA_MB << 10);
		places->remotes++;
	}
	return fclose(file) == 0;
}

static void hear(bool warning, const char *line, void *arg)
{
	(void)warning;
	(void)line;
	(void)arg;
}

static bool open_writer(struct sink_receivers *places, char *error)
{
	const struct sink_log voice = {.say = hear};
	char words[3][16] = {"sketchtap", "run", "--config"};
	char *arguments[] = {words[0], words[1], words[2], places->path, NULL};
	uint64_t first;
	int status;

	places->configured =
		config_load(&places->config, &commands, 4, arguments, stdout, stderr) == CONFIG_OK;
	if (!places->configured)
		return false;
	places->writer = writer_open(&places->config, &voice, &first, &status, error);
	return places->writer != NULL;
}

struct sink_receivers *sink_receivers_open(const struct sink_receivers_setting *setting, char *error)
{
	struct sink_receivers *places = calloc(1, sizeof(*places));

	snprintf(error, SINK_RECEIVERS_ERROR_MAX, "no memory, file or socket of loopback for receivers");
	if (places == NULL)
		return NULL;
	places->setting = *setting;
	for (enum port p = PORT_ROWS; p < PORTS; p++)
		places->listeners[p] = -1;
	snprintf(places->folder, sizeof(places->folder), "/tmp/sketchtap-bench-XXXXXX");
	if (mkdtemp(places->folder) == NULL) {
		free(places);
		return NULL;
	}
	snprintf(places->path, sizeof(places->path), "%s/config", places->folder);
	if (!setting->frozen)
		places->broker = mock_broker_create("flows");
	if (listen_all(places) && write_config(places) && open_metrics(places, error) &&
		open_writer(places, error)) {
		if (places->http != NULL && setting->frozen)
			(void)sink_receivers_scrape(places->http_port, false);
		else if (places->http != NULL)
			places->scrapes =
				pthread_create(&places->scraper, NULL, scrape, places) == 0;
		return places;
	}
	sink_receivers_close(places);
	return NULL;
}

void sink_receivers_push(struct sink_receivers *places, struct report_epoch *epoch)
{
	if (places->metrics != NULL) {
		recent_take(places->recent, epoch);
		metrics_take(places->metrics, epoch, writer_deliveries(places->writer));
	}
	writer_push(places->writer, epoch);
}

static void *push_always(void *arg)
{
	struct sink_receivers *places = arg;

	for (uint64_t number = 0; !atomic_load(&places->ends); number++) {
		const struct records_spec spec = {.number = number,
			.measurements = 1,
			.flows = places->flows,
			.rows = places->rows,
			.seed = 1};
		struct report_epoch *epoch = records_epoch(&spec);

		if (epoch == NULL)
			break;
		epoch->end = epoch->start + places->every;
		sink_receivers_push(places, epoch);
		nap(places->every);
	}
	return NULL;
}

bool sink_receivers_push_always(struct sink_receivers *places, size_t flows, size_t rows, int64_t every)
{
	places->flows = flows;
	places->rows = rows;
	places->every = every;
	places->pushes = pthread_create(&places->pusher, NULL, push_always, places) == 0;
	return places->pushes;
}

size_t sink_receivers_bound(const struct sink_receivers *places)
{
	size_t mb = places->remotes * places->setting.queue_mb + places->setting.queue_mb;

	return (mb + (sink_type_kafka.missing == NULL ? KAFKA_MB : 0)) << 20;
}

uint16_t sink_receivers_metrics_port(const struct sink_receivers *places)
{
	return places->http != NULL ? places->http_port : 0;
}

struct mock_broker *sink_receivers_broker(const struct sink_receivers *places)
{
	return places->broker;
}

void sink_receivers_close(struct sink_receivers *places)
{
	char path[96];

	atomic_store(&places->ends, true);
	if (places->pushes)
		pthread_join(places->pusher, NULL);
	if (places->scrapes)
		pthread_join(places->scraper, NULL);
	if (places->serves)
		pthread_join(places->server, NULL);
	/* Who is not there any more is waited for some seconds, and no longer. */
	for (enum port p = PORT_ROWS; p < PORTS; p++)
		if (places->listeners[p] >= 0)
			close(places->listeners[p]);
	for (nfds_t c = PORTS; c < places->nb_polled; c++)
		if (places->polled[c].fd >= 0)
			close(places->polled[c].fd);
	for (uint32_t c = 0; c < CONNECTIONS; c++)
		free(places->connections[c].request);
	http_close(places->http);
	if (places->writer != NULL)
		(void)writer_close(places->writer);
	metrics_destroy(places->metrics);
	recent_destroy(places->recent);
	if (places->configured)
		config_free(&places->config);
	mock_broker_destroy(places->broker);
	unlink(places->path);
	snprintf(path, sizeof(path), "%s/flows.csv", places->folder);
	unlink(path);
	rmdir(places->folder);
	free(places);
}
