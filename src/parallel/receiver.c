/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/receiver.h"

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
