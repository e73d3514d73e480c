/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Notifies the service manager (base/notify.h), if there is one. Sends the watchdog signal four
 * times per watchdog period while no epoch is overdue, also without traffic. The signals stop if an
 * lcore does not leave an ended epoch.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/notify.h"
#include "report/rows/report.h"

struct service {
	const struct notify *notify;
	bool ready_due;
	bool stopping;
	uint64_t fed_ns;
	uint64_t told_ns;
	bool fed, told;
};

/* now_ns: CLOCK_MONOTONIC */
/* `notify` may be NULL. */
void service_init(struct service *service, const struct notify *notify);

/* Call it when all ports run and all outputs are open, also after service_reloading(). */
void service_ready(struct service *service);
void service_reloading(struct service *service, uint64_t now_ns);
void service_stopping(struct service *service);

/* Sends the status line of a closed epoch, at most once per second. */
void service_epoch(struct service *service, const struct report_epoch *epoch, uint64_t now_ns);

/* Sends the watchdog signal if it is due. Call it only while no epoch is overdue. */
void service_alive(struct service *service, uint64_t now_ns);
