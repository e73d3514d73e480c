/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/units.h"

#define NAP_MS        20
/* Time for the end of a killed program. */
#define KILL_WAIT_NS  SECOND_NS
/* Bytes that a step reads from a stream: a program that never stops writing cannot block it. */
#define STEP_BYTES    65536
/* With this number of programs that cannot be killed, no further one starts. */
#define ABANDONED_MAX 4

extern char **environ;

/* Children that could not be killed and still run. 0: free. */
static pid_t abandoned[ABANDONED_MAX];
static pthread_mutex_t abandoned_lock = PTHREAD_MUTEX_INITIALIZER;

/* A pipe from the program. Bytes beyond `size` are dropped. */
struct stream {
	int fd; /* -1: at its end */
	char *text;
	size_t size, len;
};

/* Reads at most STEP_BYTES without blocking. */
static void read_stream(struct stream *stream)
{
	char bytes[1024];
	size_t step = 0;
	ssize_t got = 1;

	while (stream->fd >= 0 && got != 0) {
		size_t room = stream->size - 1 - stream->len;

		if (step >= STEP_BYTES)
			return;
		got = read(stream->fd, bytes, sizeof(bytes));
		if (got < 0 && errno != EINTR)
			return; /* EAGAIN: nothing more now */
		if (got <= 0)
			continue;
		step += (size_t)got;
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

/* Reaps abandoned children that have ended. Returns true if there is room for another one. */
static bool reap_abandoned(void)
{
	bool room = false;

	pthread_mutex_lock(&abandoned_lock);
	for (size_t i = 0; i < ABANDONED_MAX; i++) {
		if (abandoned[i] > 0 && waitpid(abandoned[i], NULL, WNOHANG) != 0)
			abandoned[i] = 0;
		room |= abandoned[i] == 0;
	}
	pthread_mutex_unlock(&abandoned_lock);
	return room;
}

static void abandon(pid_t child)
{
	size_t i = 0;

	pthread_mutex_lock(&abandoned_lock);
	while (i < ABANDONED_MAX && abandoned[i] > 0)
		i++;
	if (i < ABANDONED_MAX)
		abandoned[i] = child;
	pthread_mutex_unlock(&abandoned_lock);
}

static const char *reason_to_kill(int64_t deadline, const atomic_bool *cancel)
{
	if (cancel != NULL && atomic_load_explicit(cancel, memory_order_relaxed))
		return "canceled at the end of the run";
	return clock_now(CLOCK_MONOTONIC) > deadline ? "timed out" : "";
}

/*
 * Waits for the end of the child. Returns "", or why it was killed or abandoned. A child of another
 * user, or one that the kernel blocks, cannot be killed.
 */
static const char *wait_for_end(pid_t child, struct stream streams[2], int64_t deadline,
	const atomic_bool *cancel, int *status)
{
	const char *killed = "";
	int64_t give_up = 0;
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
		if (killed[0] == '\0') {
			killed = reason_to_kill(deadline, cancel);
			if (killed[0] == '\0')
				continue;
			/* The child may have left its process group. */
			kill(-child, SIGKILL);
			kill(child, SIGKILL);
			give_up = clock_now(CLOCK_MONOTONIC) + KILL_WAIT_NS;
		} else if (clock_now(CLOCK_MONOTONIC) > give_up) {
			abandon(child);
			return "cannot be killed";
		}
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

static int check_program(const char *path)
{
	struct stat file;

	if (stat(path, &file) != 0 || faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) != 0)
		return errno;
	return S_ISREG(file.st_mode) ? 0 : EACCES;
}

int subprocess_find(const char *program)
{
	const char *folder = getenv("PATH");
	int failure = ENOENT;

	if (strchr(program, '/') != NULL)
		return check_program(program);
	if (folder == NULL)
		folder = "/bin:/usr/bin"; /* posix_spawnp() uses the same default */
	for (;;) {
		size_t len = strcspn(folder, ":");
		char path[PATH_MAX];
		int n = snprintf(path, sizeof(path), "%.*s%s%s", (int)len, folder,
			len > 0 ? "/" : "", program);
		int result = n < (int)sizeof(path) ? check_program(path) : ENAMETOOLONG;

		if (result == 0)
			return 0;
		if (result == EACCES)
			failure = EACCES;
		if (folder[len] == '\0')
			return failure;
		folder += len + 1;
	}
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
	if (!reap_abandoned()) {
		snprintf(result->error, sizeof(result->error),
			"earlier programs still run, and cannot be killed");
		return false;
	}
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
