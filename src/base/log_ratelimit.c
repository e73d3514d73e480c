/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log_ratelimit.h"

#include <inttypes.h>
#include <stdio.h>

#define SAY_EACH_NS INT64_C(60000000000)

/* Returns true within a minute of the last warning. A clock set back ends the minute. */
static bool said_just_now(const struct log_ratelimit *ratelimit, int64_t end)
{
	return ratelimit->logged && end >= ratelimit->logged_at &&
	       end - ratelimit->logged_at < SAY_EACH_NS;
}

bool log_ratelimit_due(struct log_ratelimit *ratelimit, int64_t end, uint64_t badness)
{
	if (said_just_now(ratelimit, end) && badness / 2 <= ratelimit->worst) {
		ratelimit->unsaid++;
		return false;
	}
	ratelimit->epochs = ratelimit->unsaid + 1;
	ratelimit->since[0] = '\0';
	if (ratelimit->unsaid > 0)
		snprintf(ratelimit->since, sizeof(ratelimit->since),
			"; the same in %" PRIu64 " intervals since the last warning",
			ratelimit->epochs);
	ratelimit->unsaid = 0;
	ratelimit->logged = true;
	ratelimit->logged_at = end;
	ratelimit->worst = badness;
	return true;
}
