/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a run tells the service manager that started it (base/notify.h): that it measures, how much,
 * that it is alive, that it ends. Nothing where there is no service manager. One thread uses it.
 *
 * The watchdog hears a sign of life four times a period, and only while no epoch is overdue. So an
 * epoch longer than the period, no traffic, or input that does not come are signs of life; lcores
 * that do not leave an epoch which is over are none.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/notify.h"
#include "report/rows/report.h"

struct service {
	const struct notify *notify;
	bool ready_due;   /* READY=1 has not got through */
	bool stopping;    /* STOPPING=1 was sent */
	uint64_t fed_ns;  /* when the watchdog was */
	uint64_t told_ns; /* when the last STATUS= was sent */
	bool fed, told;   /* at all */
};

/* now_ns is CLOCK_MONOTONIC, everywhere. */
/* notify may be NULL: there is no service manager. */
void service_init(struct service *service, const struct notify *notify);

/* All ports run and all outputs are open, at the start or after service_reloading(). */
void service_ready(struct service *service);
void service_reloading(struct service *service, uint64_t now_ns);
void service_stopping(struct service *service);

/* An epoch was closed. Says so at most once a second. */
void service_epoch(struct service *service, const struct report_epoch *epoch, uint64_t now_ns);

/* Call often while no epoch is overdue. */
void service_alive(struct service *service, uint64_t now_ns);
