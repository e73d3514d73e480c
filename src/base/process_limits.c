/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/process_limits.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * EAL, plugins and outputs need about twenty. Each packet socket and control client needs one
 * more.
 */
#define FILES_MIN 64
/* A worker may assemble a packet of 64 KB on its stack. */
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
		"limit of open files is %llu, but %d are needed; raise it (ulimit -n, LimitNOFILE=)",
		(unsigned long long)limit.rlim_max, FILES_MIN);
	return false;
}

/* A thread's stack has the size of this limit when the process started. */
static bool check_stack(char *error)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_MIN)
		return true;
	snprintf(error, PROCESS_LIMITS_ERROR_MAX,
		"limit of the stack is %llu KB, but %d KB are needed; raise it (ulimit -s, LimitSTACK=)",
		(unsigned long long)limit.rlim_cur / 1024, STACK_MIN / 1024);
	return false;
}

bool process_limits_check(char *error)
{
	return check_files(error) && check_stack(error);
}

uint64_t process_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return UINT64_MAX;
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}
