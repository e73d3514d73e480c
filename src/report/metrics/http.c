/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/metrics/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>

#include "base/assertion.h"
#include "base/clock.h"
#include "base/signals.h"

/* ms between checks for slow clients */
#define SWEEP_MS  50
/*
 * Maximum calls of MHD_run() in one turn. If a call closes a connection, the next call can accept a
 * waiting client.
 */
#define TURNS_MAX 4

static const char policy_nothing[] = "default-src 'none'; frame-ancestors 'none'";

struct client {
	int fd;        /* -1: none */
	int64_t since; /* monotonic ns */
	bool asked;    /* its request is complete */
};

struct http {
	const struct http_page *pages;
	void *arg;
	struct MHD_Daemon *daemon;
	int wake; /* eventfd; readable once the thread must end */
	pthread_t thread;
	bool started;
	bool local; /* the address is a loopback address */
	_Atomic bool stopping;

	/* Used only by the serving thread. */
	struct client clients[HTTP_CONNECTIONS];
	uint32_t nb_clients;
	bool closed;         /* a client was closed in this turn */
	size_t answer_bytes; /* bytes of unread replies */
};

struct body {
	struct http *http;
	struct text text;
};

const char *http_missing(void)
{
	return NULL;
}

static void free_body(void *arg)
{
	struct body *body = arg;

	VERIFY(body->http->answer_bytes, >=, body->text.len);
	body->http->answer_bytes -= body->text.len;
	text_free(&body->text);
	free(body);
}

static enum MHD_Result send_response(struct MHD_Connection *connection,
	const struct http_answer *answer, struct MHD_Response *response)
{
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type);
	MHD_add_response_header(response, "Content-Security-Policy",
		answer->policy != NULL ? answer->policy : policy_nothing);
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "X-Frame-Options", "DENY");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "Cross-Origin-Resource-Policy", "same-origin");
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	/*
	 * With one request per connection, the time limit of a connection is also that of the
	 * request.
	 */
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
	if (answer->status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, answer->status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result send_word(
	struct MHD_Connection *connection, unsigned int status, const char *word)
{
	union {
		const char *in;
		void *out; /* never written */
	} text = {.in = word};
	const struct http_answer answer = {.status = status, .type = "text/plain; charset=utf-8"};

	return send_response(connection, &answer,
		MHD_create_response_from_buffer(strlen(word), text.out, MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result send_body(
	struct MHD_Connection *connection, const struct http_answer *answer, struct body *body)
{
	struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
		body->text.len, body->text.data, free_body, body);

	if (response == NULL)
		free_body(body);
	return send_response(connection, answer, response);
}

static enum MHD_Result send_page(
	struct http *http, struct MHD_Connection *connection, const struct http_page *page)
{
	const struct http_request request = {
		.accept = MHD_lookup_connection_value(
			connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT),
		.after = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after"),
	};
	struct http_answer answer = {.status = MHD_HTTP_OK};
	struct body *body = malloc(sizeof(*body));

	page->answer(http->arg, &request, &answer);
	if (body == NULL || answer.text.failed ||
		(http->answer_bytes > 0 &&
			http->answer_bytes + answer.text.len > HTTP_ANSWERS_MAX)) {
		text_free(&answer.text);
		free(body);
		return send_word(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			"out of memory, or too many unread replies; try again later\n");
	}
	*body = (struct body){http, answer.text};
	http->answer_bytes += answer.text.len;
	return send_body(connection, &answer, body);
}

/*
 * Returns true if HOST in HOST[:PORT] is a numeric address or "localhost", or if `host` is NULL:
 * the client is then not a browser.
 */
static bool is_local_host(const char *host)
{
	static const char localhost[] = "localhost";
	char text[INET6_ADDRSTRLEN];
	struct in6_addr address;
	bool bracketed = host != NULL && *host == '[';
	size_t len;

	if (host == NULL)
		return true;
	host += bracketed;
	len = strcspn(host, bracketed ? "]" : ":");
	if (len == sizeof(localhost) - 1 && !bracketed && strncasecmp(host, localhost, len) == 0)
		return true;
	if (len >= sizeof(text) || (bracketed && host[len] != ']'))
		return false;
	memcpy(text, host, len);
	text[len] = '\0';
	return inet_pton(bracketed ? AF_INET6 : AF_INET, text, &address) == 1;
}

static void note_request(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	struct client *client = info->socket_context;

	if (client != NULL)
		client->asked = true;
}

static enum MHD_Result answer_request(void *arg, struct MHD_Connection *connection, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **request)
{
	struct http *http = arg;
	const struct http_page *page = http->pages;

	(void)version;
	(void)upload;
	(void)upload_size;
	(void)request;
	note_request(connection);
	/*
	 * Prevents DNS rebinding: a page of another site, whose name now resolves to this host,
	 * could otherwise read the replies.
	 */
	if (http->local && !is_local_host(MHD_lookup_connection_value(
				   connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST)))
		return send_word(connection, MHD_HTTP_MISDIRECTED_REQUEST,
			"the Host header must be an IP address or localhost; configure a "
			"proxy to send one of these\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return send_word(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD\n");
	while (page->path != NULL && strcmp(page->path, url) != 0)
		page++;
	return page->path != NULL ? send_page(http, connection, page)
				  : send_word(connection, MHD_HTTP_NOT_FOUND, "no such page\n");
}

static void begin_client(struct http *http, struct MHD_Connection *connection, void **context)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct client *client = http->clients;

	*context = NULL;
	while (client < http->clients + HTTP_CONNECTIONS && client->fd >= 0)
		client++;
	if (client == http->clients + HTTP_CONNECTIONS)
		return;
	*client = (struct client){.fd = info->connect_fd, .since = clock_now(CLOCK_MONOTONIC)};
	*context = client;
	http->nb_clients++;
}

static void on_connection(void *arg, struct MHD_Connection *connection, void **context,
	enum MHD_ConnectionNotificationCode what)
{
	struct http *http = arg;
	struct client *client = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		begin_client(http, connection, context);
		return;
	}
	http->closed = true;
	if (client == NULL)
		return;
	VERIFY(http->nb_clients, >, 0U);
	client->fd = -1;
	http->nb_clients--;
}

static int64_t patience_with(const struct client *client, bool full)
{
	if (!full)
		return HTTP_PATIENCE_NS;
	return client->asked ? HTTP_FULL_NS : HTTP_FULL_IDLE_NS;
}

/* libmicrohttpd notices the shutdown and closes the connection. */
static void end_slow_clients(struct http *http)
{
	int64_t now = clock_now(CLOCK_MONOTONIC);
	bool full = http->nb_clients == HTTP_CONNECTIONS;

	for (uint32_t c = 0; http->nb_clients > 0 && c < HTTP_CONNECTIONS; c++) {
		const struct client *client = &http->clients[c];

		if (client->fd >= 0 && now - client->since > patience_with(client, full))
			shutdown(client->fd, SHUT_RDWR);
	}
}

void http_turn(struct http *http)
{
	uint32_t turns = 0;

	end_slow_clients(http);
	do {
		http->closed = false;
		MHD_run(http->daemon);
	} while (http->closed && ++turns < TURNS_MAX);
}

bool http_take(struct http *http, int fd)
{
	struct sockaddr address = {.sa_family = AF_UNIX};

	return MHD_add_connection(http->daemon, fd, &address, sizeof(address)) == MHD_YES;
}

static int patience_ms(const struct http *http)
{
	MHD_UNSIGNED_LONG_LONG wanted;
	int most = http->nb_clients > 0 || http->closed ? SWEEP_MS : -1;

	if (MHD_get_timeout(http->daemon, &wanted) == MHD_YES && (most < 0 || wanted < SWEEP_MS))
		return wanted < SWEEP_MS ? (int)wanted : SWEEP_MS;
	return most;
}

static void *serve(void *arg)
{
	struct http *http = arg;
	struct pollfd polled[] = {
		{.fd = MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
			.events = POLLIN},
		{.fd = http->wake, .events = POLLIN},
	};

	/* Pairs with the release store in http_close(). */
	while (!atomic_load_explicit(&http->stopping, memory_order_acquire)) {
		http_turn(http);
		poll(polled, 2, patience_ms(http));
	}
	return NULL;
}

static bool set_address_error(char *error, const char *what, const char *why)
{
	snprintf(error, HTTP_ERROR_MAX, "--metrics %s: cannot listen: %s", what, why);
	return false;
}

static bool is_loopback(const struct listen_address *address)
{
	const struct in6_addr *ip = &address->address.sin6_addr;

	return !address->all &&
	       (IN6_IS_ADDR_LOOPBACK(ip) || (IN6_IS_ADDR_V4MAPPED(ip) && ip->s6_addr[12] == 127));
}

static bool open_socket(const struct listen_address *address, int *fd, char *error)
{
	*fd = listen_stream(address);
	if (*fd >= 0 && listen(*fd, SOMAXCONN) == 0)
		return true;
	set_address_error(error, address->text, listen_advice(address, SOCK_STREAM, errno));
	if (*fd >= 0)
		close(*fd);
	return false;
}

static bool start_daemon(struct http *http, int fd)
{
	unsigned int flags = MHD_USE_EPOLL;

	if (fd < 0)
		flags |= MHD_USE_NO_LISTEN_SOCKET;
	http->daemon = MHD_start_daemon(flags, 0, NULL, NULL, answer_request, http,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned int)HTTP_CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_MAX,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION, on_connection, http,
		fd >= 0 ? MHD_OPTION_LISTEN_SOCKET : MHD_OPTION_END, fd, MHD_OPTION_END);
	return http->daemon != NULL;
}

struct http *http_open(
	const struct listen_address *address, const struct http_page *pages, void *arg, char *error)
{
	struct http *http = calloc(1, sizeof(*http));
	int fd = -1;

	if (http == NULL) {
		set_address_error(error, "", "out of memory");
		return NULL;
	}
	http->pages = pages;
	http->arg = arg;
	http->wake = -1;
	http->local = address == NULL || is_loopback(address);
	for (uint32_t c = 0; c < HTTP_CONNECTIONS; c++)
		http->clients[c].fd = -1;
	if (address != NULL && !open_socket(address, &fd, error)) {
		free(http);
		return NULL;
	}
	http->wake = eventfd(0, EFD_CLOEXEC);
	if (http->wake >= 0 && start_daemon(http, fd)) /* the daemon owns the socket now */
		return http;
	set_address_error(error, address != NULL ? address->text : "",
		"out of memory, or too many open files");
	if (fd >= 0)
		close(fd);
	http_close(http);
	return NULL;
}

bool http_start(struct http *http, char *error)
{
	http->started = signals_start_thread(&http->thread, serve, http) == 0;
	return http->started ||
	       set_address_error(error, "", "cannot start a thread; raise ulimit -u");
}

void http_close(struct http *http)
{
	if (http == NULL)
		return;
	if (http->started) {
		/* Pairs with the acquire load in serve(). */
		atomic_store_explicit(&http->stopping, true, memory_order_release);
		eventfd_write(http->wake, 1);
		pthread_join(
			/* serve() waits only in poll(), and the eventfd ends that */
			http->thread, NULL);
	}
	if (http->daemon != NULL)
		MHD_stop_daemon(http->daemon);
	if (http->wake >= 0)
		close(http->wake);
	free(http);
}
