/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/rx_core.h"

#include "parallel/workers/forward.h"

void receiver_leave(struct receiver *receiver, uint64_t epoch)
{
	receiver->epoch = epoch;
	epochs_enter(receiver->poller.epochs, receiver->participant, epoch);
}

void receiver_wait(const struct receiver *receiver)
{
	while (!epochs_is_ready(receiver->poller.epochs, receiver->epoch))
		poll_idle(receiver->poller.idle);
}

void receiver_recycle(struct receiver *receiver, uint64_t epoch)
{
	struct receiver_generation *generation = receiver_generation(receiver, epoch);

	*generation = (struct receiver_generation){0};
	parse_counts_reset(&generation->counts);
	forward_recycle(receiver->forward, epoch);
}
