/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Notifies the service manager (base/notify.h): ready, status, watchdog, stopping. Does nothing
 * without a service manager. Single-threaded.
 *
 * Sends the watchdog signal four times per watchdog period while no epoch is overdue. The signals
 * continue during long epochs, without traffic and without input. They stop if an lcore fails to
 * leave an ended epoch.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/notify.h"
#include "report/rows/report.h"

struct service {
	const struct notify *notify;
	bool ready_due;   /* READY=1 has not been sent yet */
	bool stopping;    /* STOPPING=1 was sent */
	uint64_t fed_ns;  /* time of the last watchdog signal */
	uint64_t told_ns; /* time of the last STATUS= */
	bool fed, told;   /* the times are valid */
};

/* now_ns: CLOCK_MONOTONIC */
/* notify: NULL if there is no service manager. */
void service_init(struct service *service, const struct notify *notify);

/*
 * Sends READY=1. Call when all ports run and all outputs are open: at the start, and after each
 * service_reloading().
 */
void service_ready(struct service *service);
void service_reloading(struct service *service, uint64_t now_ns);
void service_stopping(struct service *service);

/* Sends the status line of a closed epoch, at most once per second. */
void service_epoch(struct service *service, const struct report_epoch *epoch, uint64_t now_ns);

/* Sends the watchdog signal if it is due. Call often, but only while no epoch is overdue. */
void service_alive(struct service *service, uint64_t now_ns);
