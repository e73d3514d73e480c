/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/connection.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "cli/error.h"
#include "control/control_commands.h"
#include "parallel/process.h"

#define PATIENCE_S        5
/* The run itself gives up after CONTROL_ANSWER_S and replies with an error. */
#define ANSWER_PATIENCE_S (CONTROL_ANSWER_S + 10)

static void print_no_answer(int seconds)
{
	cli_error(0,
		"a run does not answer within %d s: it is stopped, or the machine is overloaded",
		seconds);
}

/* `sketchtap generate` also has a telemetry socket, but no command /sketchtap/plan. */
static bool is_run(int fd, bool quiet)
{
	char *answer = malloc(CONNECTION_ANSWER_MAX);
	ssize_t n;

	if (answer == NULL)
		return false;
	n = recv(fd, answer, CONNECTION_ANSWER_MAX - 1, 0);
	if (n > 0)
		n = send(fd, "/", 1, MSG_NOSIGNAL) == 1
			    ? recv(fd, answer, CONNECTION_ANSWER_MAX - 1, 0)
			    : -1;
	if (n > 0) {
		answer[n] = '\0';
		n = strstr(answer, "\"" CONTROL_PATH "plan\"") != NULL;
	} else if (quiet) {
	} else if (n == 0) {
		cli_error(0,
			"the run closed the connection: it is ending, or ten others are connected");
	} else if (errno == EAGAIN) {
		print_no_answer(PATIENCE_S);
	}
	free(answer);
	return n > 0;
}

static void set_patience(int fd, int seconds)
{
	const struct timeval patience = {.tv_sec = seconds};

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
}

static int connect_to(const char *path, bool quiet)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd;

	if (strlen(path) >= sizeof(address.sun_path))
		return -1;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	strcpy(address.sun_path, path);
	set_patience(fd, PATIENCE_S);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0) {
		if (is_run(fd, quiet))
			return fd;
	} else if (errno == EAGAIN && !quiet) {
		print_no_answer(PATIENCE_S);
	}
	close(fd);
	return -1;
}

static void name_of(const char *path, char name[64])
{
	const char *end = strrchr(path, '/'), *begin = end;

	while (begin > path && begin[-1] != '/')
		begin--;
	begin += strlen(PROCESS_PREFIX);
	snprintf(name, 64, "%.*s", (int)(end - begin), begin);
}

static int connect_to_one(const glob_t *found, const char *wanted, bool quiet)
{
	char names[CLI_ERROR_MAX / 2] = "", name[64];
	int connected = -1, n = 0;
	size_t used = 0;

	for (size_t i = 0; i < found->gl_pathc; i++) {
		int fd = connect_to(found->gl_pathv[i], quiet);

		if (fd < 0)
			continue;
		if (n++ > 0)
			close(connected);
		connected = fd;
		name_of(found->gl_pathv[i], name);
		if (used < sizeof(names))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
				n > 1 ? ", " : "", name);
	}
	if (n == 1)
		return connected;
	if (n > 1)
		close(connected);
	if (quiet)
		return -1;
	if (n > 1)
		cli_error(0, "%d instances are running: %s; select one with --name NAME", n, names);
	else if (wanted != NULL)
		cli_error(0, "no sketchtap --name %s answers", wanted);
	else
		cli_error(0, "no sketchtap answers; set RUNTIME_DIRECTORY to that of the run");
	return -1;
}

int connection_open(const char *name, bool quiet)
{
	char patterns[PROCESS_PATTERNS_MAX][PROCESS_PATTERN_MAX];
	int fd, n = process_patterns(name, patterns);
	glob_t found = {0};

	for (int i = 0; i < n; i++)
		glob(patterns[i], i > 0 ? GLOB_APPEND : 0, NULL, &found);
	fd = connect_to_one(&found, name, quiet);
	globfree(&found);
	if (fd >= 0)
		set_patience(fd, ANSWER_PATIENCE_S);
	return fd;
}

void connection_error(void)
{
	if (errno == EAGAIN)
		print_no_answer(ANSWER_PATIENCE_S);
	else
		cli_error(0,
			"the run closed the connection: it is ending, or ten others are connected");
}

bool connection_send(int fd, const char *command)
{
	return send(fd, command, strlen(command), MSG_NOSIGNAL) > 0;
}

bool connection_receive(int fd, char *answer)
{
	ssize_t n = recv(fd, answer, CONNECTION_ANSWER_MAX - 1, 0);

	if (n == 0)
		errno = 0;
	if (n <= 0)
		return false;
	answer[n] = '\0';
	return true;
}
