/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log_ratelimit.h"

#include <inttypes.h>
#include <stdio.h>

#define WARNING_INTERVAL_NS INT64_C(60000000000)

/* If the clock was set back, returns false. */
static bool warned_recently(const struct log_ratelimit *ratelimit, int64_t end)
{
	return ratelimit->logged && end >= ratelimit->logged_at &&
	       end - ratelimit->logged_at < WARNING_INTERVAL_NS;
}

bool log_ratelimit_due(struct log_ratelimit *ratelimit, int64_t end, uint64_t badness)
{
	if (warned_recently(ratelimit, end) && badness / 2 <= ratelimit->worst) {
		ratelimit->suppressed++;
		return false;
	}
	ratelimit->epochs = ratelimit->suppressed + 1;
	ratelimit->since[0] = '\0';
	if (ratelimit->suppressed > 0)
		snprintf(ratelimit->since, sizeof(ratelimit->since),
			"; the same in %" PRIu64 " intervals since the last warning",
			ratelimit->epochs);
	ratelimit->suppressed = 0;
	ratelimit->logged = true;
	ratelimit->logged_at = end;
	ratelimit->worst = badness;
	return true;
}
