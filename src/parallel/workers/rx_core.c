/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/rx_core.h"

#include "parallel/workers/forward.h"

void rx_core_leave(struct rx_core *receiver, uint64_t epoch)
{
	receiver->epoch = epoch;
	epochs_enter(receiver->poller.epochs, receiver->participant, epoch);
}

void rx_core_wait(const struct rx_core *receiver)
{
	while (!epochs_is_ready(receiver->poller.epochs, receiver->epoch))
		poll_idle(receiver->poller.idle);
}

void rx_core_recycle(struct rx_core *receiver, uint64_t epoch)
{
	struct rx_core_generation *generation = rx_core_generation(receiver, epoch);

	*generation = (struct rx_core_generation){0};
	parse_counts_reset(&generation->counts);
	forward_recycle(receiver->forward, epoch);
}
