/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log_ratelimit.h"

#include <inttypes.h>
#include <stdio.h>

#define SAY_EACH_NS INT64_C(60000000000)

/* A clock that was set back ends the minute. */
static bool said_just_now(const struct log_ratelimit *rarely, int64_t end)
{
	return rarely->said && end >= rarely->said_at && end - rarely->said_at < SAY_EACH_NS;
}

bool log_ratelimit_due(struct log_ratelimit *rarely, int64_t end, uint64_t badness)
{
	if (said_just_now(rarely, end) && badness / 2 <= rarely->worst) {
		rarely->unsaid++;
		return false;
	}
	rarely->epochs = rarely->unsaid + 1;
	rarely->since[0] = '\0';
	if (rarely->unsaid > 0)
		snprintf(rarely->since, sizeof(rarely->since),
			"; so it was in %" PRIu64 " epochs since this was last said",
			rarely->epochs);
	rarely->unsaid = 0;
	rarely->said = true;
	rarely->said_at = end;
	rarely->worst = badness;
	return true;
}
