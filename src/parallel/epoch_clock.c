/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/epoch_clock.h"

#include "base/assertion.h"
#include "base/clock.h"

/* ns. An epoch that is closed within this time after its boundary ends at the boundary. */
#define ON_TIME_NS  1000000
/* ns. If the CPU was busy and the readings are further apart, they are repeated. */
#define TOGETHER_NS 100000
#define READINGS    100

struct clock_time clock_time_now(void)
{
	struct clock_time now;
	int readings = 0;
	int64_t before;

	do {
		before = clock_now(CLOCK_MONOTONIC);
		now.real = clock_now(CLOCK_REALTIME);
		now.monotonic = clock_now(CLOCK_MONOTONIC);
	} while (now.monotonic - before > TOGETHER_NS && ++readings < READINGS);
	return now;
}

static int64_t next_boundary(int64_t now, int64_t interval)
{
	return now - now % interval + interval;
}

void epoch_clock_start(struct epoch_clock *clock, int64_t interval, struct clock_time now)
{
	*clock = (struct epoch_clock){
		.interval = interval,
		.boundary = interval > 0 ? next_boundary(now.real, interval) : INT64_MAX,
		.start = now.real,
		.opened = now.monotonic,
		.offset = now.real - now.monotonic,
		.first = interval > 0 ? now.real / interval : 0,
	};
}

int64_t epoch_clock_look(struct epoch_clock *clock, struct clock_time now)
{
	int64_t offset = now.real - now.monotonic, step = offset - clock->offset;

	clock->offset = offset;
	if (step <= EPOCH_CLOCK_STEP_NS && step >= -EPOCH_CLOCK_STEP_NS)
		return 0;
	clock->stepped = true;
	return step;
}

bool epoch_clock_is_due(const struct epoch_clock *clock, struct clock_time now)
{
	return clock->interval > 0 && (clock->stepped || now.real >= clock->boundary);
}

bool epoch_clock_is_late(const struct epoch_clock *clock, struct clock_time now)
{
	return clock->interval > 0 && !clock->stepped && now.real - clock->boundary >= ON_TIME_NS;
}

int64_t epoch_clock_end(const struct epoch_clock *clock, struct clock_time now)
{
	if (clock->stepped)
		return clock->start + (now.monotonic - clock->opened);
	if (now.real >= clock->boundary && now.real - clock->boundary < ON_TIME_NS)
		return clock->boundary;
	return now.real > clock->start ? now.real : clock->start;
}

void epoch_clock_next(struct epoch_clock *clock, struct clock_time now)
{
	int64_t multiple = now.real / clock->interval;

	VERIFY(clock->interval, >, 0);
	clock->start = clock->stepped ? now.real : epoch_clock_end(clock, now);
	clock->opened = now.monotonic;
	clock->boundary = next_boundary(now.real, clock->interval);
	clock->stepped = false;
	/* A clock that was set back reaches old multiples again: continue the numbers. */
	if (multiple - clock->first <= (int64_t)clock->number)
		clock->first = multiple - (int64_t)clock->number - 1;
	clock->number = (uint64_t)(multiple - clock->first);
}
