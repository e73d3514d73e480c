/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Times of records, in ns since 1970-01-01 UTC. */

#include <stdint.h>

#define TIME_SECOND      1000000000LL
#define TIME_MILLISECOND 1000000LL
#define TIME_MICROSECOND 1000LL

#define NTP_1970 2208988800U /* its seconds of 1970 */

/*
 * What an uptime in ms was, at a message that was exported at `exported` and has `uptime`. Uptimes
 * wrap after 49.7 days: the one that is nearest is meant, before or after.
 */
static inline int64_t time_of_uptime(int64_t exported, uint32_t uptime, uint32_t then)
{
	return exported + (int32_t)(then - uptime) * TIME_MILLISECOND;
}

/* 0 where it is beyond what fits. */
static inline int64_t time_of_milliseconds(uint64_t milliseconds)
{
	if (milliseconds > (uint64_t)(INT64_MAX / TIME_MILLISECOND))
		return 0;
	return (int64_t)milliseconds * TIME_MILLISECOND;
}

/* Seconds before 1970 are those after 2036, when the 32 bits wrap (RFC 4330, 3). */
static inline int64_t time_of_ntp(uint64_t ntp)
{
	uint32_t seconds = (uint32_t)(ntp >> 32) - NTP_1970;

	return seconds * TIME_SECOND + (int64_t)((ntp & UINT32_MAX) * 1000000000ULL >> 32);
}
