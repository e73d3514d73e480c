/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

#define NAP_MS 20

extern char **environ;

/* A pipe from the program. Bytes beyond `size` are dropped. */
struct stream {
	int fd; /* -1: at its end */
	char *text;
	size_t size, len;
};

/* Reads without blocking. */
static void read_stream(struct stream *stream)
{
	char bytes[1024];
	ssize_t got = 1;

	while (stream->fd >= 0 && got != 0) {
		size_t room = stream->size - 1 - stream->len;

		got = read(stream->fd, bytes, sizeof(bytes));
		if (got < 0 && errno != EINTR)
			return; /* EAGAIN: nothing more now */
		if (got <= 0)
			continue;
		if ((size_t)got < room)
			room = (size_t)got;
		memcpy(stream->text + stream->len, bytes, room);
		stream->len += room;
		stream->text[stream->len] = '\0';
	}
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
}

/* Returns 0 or an error number. */
static int spawn(char *const argv[], const int output[2], const int error[2], pid_t *child)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int failure = posix_spawn_file_actions_init(&files);

	if (failure != 0)
		return failure;
	failure = posix_spawnattr_init(&attributes);
	if (failure != 0) {
		posix_spawn_file_actions_destroy(&files);
		return failure;
	}
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	failure = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
	if (failure == 0)
		failure = posix_spawn_file_actions_adddup2(&files, output[1], 1);
	if (failure == 0)
		failure = posix_spawn_file_actions_adddup2(&files, error[1], 2);
	if (failure == 0)
		failure = posix_spawn_file_actions_addclosefrom_np(&files, 3);
	if (failure == 0)
		failure = posix_spawnp(child, argv[0], &files, &attributes, argv, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return failure;
}

/* Waits for the end of the child. Returns "" or the reason why it was killed. */
static const char *wait_for_end(pid_t child, struct stream streams[2], int64_t deadline,
	const atomic_bool *cancel, int *status)
{
	const char *killed = "";
	pid_t ended;

	for (;;) {
		struct pollfd polled[2] = {{streams[0].fd, POLLIN, 0}, {streams[1].fd, POLLIN, 0}};

		poll(polled, 2, NAP_MS);
		read_stream(&streams[0]);
		read_stream(&streams[1]);
		ended = waitpid(child, status, WNOHANG);
		if (ended == child)
			break;
		if (ended < 0 && errno != EINTR)
			return "exit status unknown";
		if (killed[0] != '\0')
			continue;
		if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed))
			killed = "canceled at the end of the run";
		else if (clock_now(CLOCK_MONOTONIC) > deadline)
			killed = "timed out";
		if (killed[0] != '\0')
			kill(-child, SIGKILL);
	}
	read_stream(&streams[0]);
	read_stream(&streams[1]);
	return killed;
}

static bool judge(const char *killed, int status, struct subprocess_result *result)
{
	if (killed[0] != '\0')
		snprintf(result->error, sizeof(result->error), "%s", killed);
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return true;
	else if (result->error[0] != '\0')
		result->error[strcspn(result->error, "\n")] = '\0';
	else if (WIFSIGNALED(status))
		snprintf(result->error, sizeof(result->error), "signal %d", WTERMSIG(status));
	else
		snprintf(result->error, sizeof(result->error), "exit status %d",
			WEXITSTATUS(status));
	return false;
}

static void close_pipe(const int pipe[2])
{
	close(pipe[0]);
	close(pipe[1]);
}

bool subprocess_run(char *const argv[], int seconds, const atomic_bool *cancel,
	struct subprocess_result *result)
{
	int64_t deadline = clock_now(CLOCK_MONOTONIC) + seconds * SECOND_NS;
	int output[2], error[2], failure, status = 0;
	struct stream streams[2];
	const char *killed;
	pid_t child;

	result->output[0] = result->error[0] = '\0';
	if (pipe2(output, O_CLOEXEC) != 0) {
		snprintf(result->error, sizeof(result->error), "%s", strerror(errno));
		return false;
	}
	if (pipe2(error, O_CLOEXEC) != 0) {
		snprintf(result->error, sizeof(result->error), "%s", strerror(errno));
		close_pipe(output);
		return false;
	}
	failure = spawn(argv, output, error, &child);
	if (failure != 0) {
		snprintf(result->error, sizeof(result->error), "%s", strerror(failure));
		close_pipe(output);
		close_pipe(error);
		return false;
	}
	close(output[1]);
	close(error[1]);
	fcntl(output[0], F_SETFL, O_NONBLOCK);
	fcntl(error[0], F_SETFL, O_NONBLOCK);
	streams[0] = (struct stream){output[0], result->output, sizeof(result->output), 0};
	streams[1] = (struct stream){error[0], result->error, sizeof(result->error), 0};
	killed = wait_for_end(child, streams, deadline, cancel, &status);
	for (int i = 0; i < 2; i++)
		if (streams[i].fd >= 0)
			close(streams[i].fd);
	return judge(killed, status, result);
}
