/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Notifies the service manager (base/notify.h): ready, status, watchdog, stopping. Does nothing
 * without a service manager. Single-threaded.
 *
 * Sends the watchdog signal four times per period, only while no epoch is overdue. Long epochs, no
 * traffic or missing input do not stop it; lcores that fail to leave an ended epoch do.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/notify.h"
#include "report/rows/report.h"

struct service {
	const struct notify *notify;
	bool ready_due;   /* READY=1 is still to be sent */
	bool stopping;    /* STOPPING=1 was sent */
	uint64_t fed_ns;  /* time of the last watchdog signal */
	uint64_t told_ns; /* time of the last STATUS= */
	bool fed, told;   /* fed_ns and told_ns are valid */
};

/* now_ns: CLOCK_MONOTONIC */
/* notify NULL: no service manager. */
void service_init(struct service *service, const struct notify *notify);

/*
 * Reports that all ports run and all outputs are open, at the start or after service_reloading().
 */
void service_ready(struct service *service);
void service_reloading(struct service *service, uint64_t now_ns);
void service_stopping(struct service *service);

/* Reports the status after a closed epoch, at most once per second. */
void service_epoch(struct service *service, const struct report_epoch *epoch, uint64_t now_ns);

/* Signals the watchdog. Call often while no epoch is overdue. */
void service_alive(struct service *service, uint64_t now_ns);
