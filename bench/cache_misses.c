/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/cache_misses.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int cache_misses_open(void)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_CACHE_MISSES,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void cache_misses_close(int counter)
{
	if (counter >= 0)
		close(counter);
}

void cache_misses_start(int counter)
{
	ioctl(counter, PERF_EVENT_IOC_RESET, 0);
	ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
}

uint64_t cache_misses_stop(int counter)
{
	uint64_t count = 0;

	ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
	return read(counter, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}
