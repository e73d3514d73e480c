/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The account of packets: what workers, receiver and devices counted, as the ledger of an epoch. */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/run.h"
#include "report/report.h"

struct account {
	const struct run *run;
	struct port_losses last[CONFIG_LIST_MAX]; /* at the last epoch's close */
	uint64_t received;                        /* of all epochs */
};

/* Before the run starts: what the devices counted so far belongs to no epoch. */
void account_start(struct account *account, const struct run *run);

/* The ledger of a closed epoch, oldest first; `last`: all queues are empty. */
struct ledger account_epoch(
	struct account *account, uint64_t epoch, const struct epoch_info *info, bool last);

/* Packets that the devices have counted as received since they were opened. */
uint64_t account_devices_received(const struct account *account);

/* False where a port's driver does not count what it loses. */
bool account_losses_known(const struct run *run);
