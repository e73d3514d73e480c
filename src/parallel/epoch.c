/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/epoch.h"

#include "base/assertion.h"
#include "base/clock.h"
#include "sketch/measurement.h"

void epochs_init(struct epochs *epochs, uint32_t nb_participants)
{
	VERIFY(nb_participants, <=, EPOCH_PARTICIPANTS_MAX);
	*epochs = (struct epochs){.nb_participants = nb_participants};
	atomic_init(&epochs->ready, 2);
	atomic_init(&epochs->end, UINT64_MAX);
}

bool epochs_may_open(const struct epochs *epochs, uint64_t epoch)
{
	/* Pairs with the release in epochs_recycle(): the reporter no longer reads info[]. */
	return epoch < EPOCH_AHEAD || atomic_load_explicit(&epochs->ready, memory_order_acquire) >=
					      epoch - EPOCH_AHEAD + 3;
}

void epochs_open(struct epochs *epochs, uint64_t epoch)
{
	VERIFY(epoch, >=, atomic_load_explicit(&epochs->open, memory_order_relaxed));
	/*
	 * Pairs with the acquire of readers of `open`, who then see the ended epoch's info[] and
	 * packets.
	 */
	atomic_store_explicit(&epochs->open, epoch, memory_order_release);
}

void epochs_end(struct epochs *epochs, uint64_t epoch)
{
	/* The release store of `open` in epochs_open() publishes this store. */
	atomic_store_explicit(&epochs->end, epoch, memory_order_relaxed);
	epochs_open(epochs, epoch);
}

bool epochs_is_end(const struct epochs *epochs, uint64_t open)
{
	/*
	 * The caller loaded `open` with acquire, so it sees the `end` that was stored before
	 * `open`.
	 */
	return atomic_load_explicit(&epochs->end, memory_order_relaxed) == open;
}

void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch)
{
	VERIFY(participant, <, epochs->nb_participants);
	VERIFY(epoch, >=,
		atomic_load_explicit(&epochs->participant[participant].at, memory_order_relaxed));
	/* Pairs with the acquire in epochs_late(): the reporter then sees the last counts. */
	atomic_store_explicit(&epochs->participant[participant].at, epoch, memory_order_release);
}

bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch)
{
	/* Pairs with the release in epochs_recycle(): the participant then sees empty counters. */
	return epoch < atomic_load_explicit(&epochs->ready, memory_order_acquire);
}

uint32_t epochs_late(const struct epochs *epochs, uint64_t epoch)
{
	for (uint32_t p = 0; p < epochs->nb_participants; p++)
		/* Pairs with the release in epochs_enter(). */
		if (atomic_load_explicit(&epochs->participant[p].at, memory_order_acquire) <= epoch)
			return p;
	return epochs->nb_participants;
}

bool epochs_is_closed(const struct epochs *epochs, uint64_t epoch)
{
	return epochs_late(epochs, epoch) == epochs->nb_participants;
}

void epochs_recycle(struct epochs *epochs, uint64_t epoch)
{
	VERIFY(epochs_late(epochs, epoch), ==, epochs->nb_participants);
	/* Pairs with the acquires in epochs_is_ready() and epochs_may_open(). */
	atomic_store_explicit(&epochs->ready, epoch + 3, memory_order_release);
}

static bool check_interval(const struct config *config,
	const struct measurement_config *measurement, struct option_fault *fault)
{
	static const char *const limits[] = {"sampling-budget", "sampling-error"};

	(void)measurement;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		if (epoch_options(config)->interval == 0 && config_asks(config, NULL, "listen") &&
			config_asks(config, NULL, limits[i]))
			return option_fault(fault, limits[i], NULL,
				"has no effect with --interval 0: sampling is adapted at the end "
				"of each interval; give --interval 10s");
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (epoch_options(config)->interval == 0 &&
			measurement_params(&config->measurements[m]).load > 0)
			return option_fault(fault,
				measurement_sketch(&config->measurements[m])->load_option,
				&config->measurements[m],
				"has no effect with --interval 0: the size of the sketch changes "
				"only at the end of an interval");
	return true;
}

static const struct option_row epoch_rows[] = {
	{
		.name = "interval",
		.placeholder = "TIME",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_TIME,
		OPTION_FIELD(epoch_options, interval),
		.zero = true,
		.zero_means = "once, at the end",
		.min = 1000000,
		.max = EPOCH_INTERVAL_MAX,
		.default_text = "1s",
		.help = "Report at each multiple of TIME, 1ms to 2500d. 0: report once, at the "
			"end, the default for a capture on a terminal.",
	},
	{0},
};

const struct option_owner epoch_owner = {
	.rows = epoch_rows,
	.size = sizeof(struct epoch_options),
	.check = check_interval,
};

#define ON_TIME_NS  1000000
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
	if (multiple - clock->first <= (int64_t)clock->number)
		clock->first = multiple - (int64_t)clock->number - 1;
	clock->number = (uint64_t)(multiple - clock->first);
}
