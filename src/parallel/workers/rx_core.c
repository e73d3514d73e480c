/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/workers/rx_core.h"

#include "base/assertion.h"
#include "parallel/workers/forward.h"

void rx_core_leave(struct rx_core *rx_core, uint64_t epoch)
{
	VERIFY(epoch, >=, rx_core->epoch);
	rx_core->epoch = epoch;
	epochs_enter(rx_core->poller.epochs, rx_core->participant, epoch);
}

void rx_core_wait(const struct rx_core *rx_core)
{
	while (!epochs_is_ready(rx_core->poller.epochs, rx_core->epoch))
		poll_idle(rx_core->poller.idle);
}

void rx_core_recycle(struct rx_core *rx_core, uint64_t epoch)
{
	struct rx_core_generation *generation = rx_core_generation(rx_core, epoch);

	*generation = (struct rx_core_generation){0};
	parse_counts_reset(&generation->counts);
	forward_recycle(rx_core->forward, epoch);
}
