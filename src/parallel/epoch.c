/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/epoch.h"

#include "base/assertion.h"
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
	/*
	 * Pairs with the release in epochs_recycle(): the reporter has read the slot's previous
	 * epoch.
	 */
	return epoch < EPOCH_AHEAD || atomic_load_explicit(&epochs->ready, memory_order_acquire) >=
					      epoch - EPOCH_AHEAD + 3;
}

void epochs_open(struct epochs *epochs, uint64_t epoch)
{
	VERIFY(epoch, >=, atomic_load_explicit(&epochs->open, memory_order_relaxed));
	/*
	 * Pairs with the acquire of readers of `open`: info slots and filled rings are written
	 * before.
	 */
	atomic_store_explicit(&epochs->open, epoch, memory_order_release);
}

void epochs_end(struct epochs *epochs, uint64_t epoch)
{
	/* Ordered before `open` by the release in epochs_open(). */
	atomic_store_explicit(&epochs->end, epoch, memory_order_relaxed);
	epochs_open(epochs, epoch);
}

bool epochs_is_end(const struct epochs *epochs, uint64_t open)
{
	/* Ordered by the acquire that read `open`; an older `open` never equals the end. */
	return atomic_load_explicit(&epochs->end, memory_order_relaxed) == open;
}

void epochs_enter(struct epochs *epochs, uint32_t participant, uint64_t epoch)
{
	VERIFY(participant, <, epochs->nb_participants);
	VERIFY(epoch, >=,
		atomic_load_explicit(&epochs->participant[participant].at, memory_order_relaxed));
	/* Pairs with the acquire in epochs_is_closed(): its last counts are written before. */
	atomic_store_explicit(&epochs->participant[participant].at, epoch, memory_order_release);
}

bool epochs_is_ready(const struct epochs *epochs, uint64_t epoch)
{
	/* Pairs with the release in epochs_recycle(): the zeroes are written before. */
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
	(void)measurement;
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (epoch_options(config)->interval == 0 &&
			measurement_params(&config->measurements[m]).load > 0)
			return option_fault(fault,
				measurement_sketch(&config->measurements[m])->load_option,
				&config->measurements[m],
				"has no effect with --interval 0: rows are fitted at the end of an "
				"interval");
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
			"end, as for a capture on a terminal.",
	},
	{0},
};

const struct option_owner epoch_owner = {
	.rows = epoch_rows,
	.size = sizeof(struct epoch_options),
	.check = check_interval,
};
