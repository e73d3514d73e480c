/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/process_limits.h"

#include <stdio.h>
#include <sys/resource.h>

/* EAL, plugins and outputs open some twenty, every queue of a packet socket and client one more. */
#define FILES_MIN 64
/* A worker may copy a packet of 64 KB together on its stack. */
#define STACK_MIN (256 * 1024)

static bool check_files(char *error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= FILES_MIN)
		return true;
	limit.rlim_cur = limit.rlim_max < FILES_MIN ? limit.rlim_max : FILES_MIN;
	if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= FILES_MIN)
		return true;
	snprintf(error, PROCESS_LIMITS_ERROR_MAX,
		"%llu files may be open at once, and %d have to: raise the limit (ulimit -n, "
		"LimitNOFILE=)",
		(unsigned long long)limit.rlim_max, FILES_MIN);
	return false;
}

/* The stacks of threads are as large as this limit was when the process began. */
static bool check_stack(char *error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_MIN)
		return true;
	snprintf(error, PROCESS_LIMITS_ERROR_MAX,
		"a stack may have %llu KB, and %d are needed: raise the limit (ulimit -s, "
		"LimitSTACK=)",
		(unsigned long long)limit.rlim_cur / 1024, STACK_MIN / 1024);
	return false;
}

bool process_limits_check(char *error)
{
	return check_files(error) && check_stack(error);
}
