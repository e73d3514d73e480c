/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/identity.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static char run[17];
static char host[HOST_NAME_MAX + 1];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void draw(void)
{
	uint64_t number;

	/* Early after a boot, the kernel has no random numbers yet. */
	if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
		number = (uint64_t)clock_now(CLOCK_REALTIME);
	snprintf(run, sizeof(run), "%016" PRIx64, number);
	if (gethostname(host, sizeof(host)) != 0)
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
}

const char *identity_run(void)
{
	pthread_once(&once, draw);
	return run;
}

const char *identity_host(void)
{
	pthread_once(&once, draw);
	return host;
}
