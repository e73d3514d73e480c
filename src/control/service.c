/* SPDX-License-Identifier: BSD-3-Clause */

#include "control/service.h"

#include <stdio.h>

#define MESSAGE_MAX      256
#define STATUS_PERIOD_NS UINT64_C(1000000000)
#define FEEDS_PER_PERIOD 4

void service_init(struct service *service, const struct notify *notify)
{
	static const struct notify nobody = {.fd = -1};

	*service = (struct service){.notify = notify != NULL ? notify : &nobody};
}

void service_ready(struct service *service)
{
	if (service->stopping)
		return;
	service->ready_due = !notify_send(service->notify, "READY=1");
}

void service_reloading(struct service *service, uint64_t now_ns)
{
	char message[MESSAGE_MAX];

	snprintf(message, sizeof(message), "RELOADING=1\nMONOTONIC_USEC=%llu",
		(unsigned long long)now_ns / 1000);
	notify_send(service->notify, message);
}

void service_stopping(struct service *service)
{
	if (!service->stopping)
		notify_send(service->notify, "STOPPING=1");
	service->stopping = true;
	service->ready_due = false;
}

static void losses_text(char *text, size_t size, const struct ledger *ledger)
{
	if (ledger->losses_unknown && ledger_lost(ledger) == 0)
		snprintf(text, size, "losses unknown");
	else
		snprintf(text, size, "%s%.6f%% lost", ledger->losses_unknown ? "at least " : "",
			100 * ledger_drop_rate(ledger));
}

void service_epoch(struct service *service, const struct report_epoch *epoch, uint64_t now_ns)
{
	const struct ledger *ledger = &epoch->ledger;
	uint64_t duration = report_rate_time(epoch);
	char message[MESSAGE_MAX], losses[48];

	if (service->told && now_ns - service->told_ns < STATUS_PERIOD_NS)
		return;
	losses_text(losses, sizeof(losses), ledger);
	snprintf(message, sizeof(message), "STATUS=interval %llu: %llu packets per second, %s",
		(unsigned long long)epoch->number,
		(unsigned long long)(duration > 0 ? report_per_second(ledger->measured, duration)
						  : ledger->measured),
		losses);
	service->told = notify_send(service->notify, message);
	service->told_ns = now_ns;
}

void service_alive(struct service *service, uint64_t now_ns)
{
	uint64_t watchdog_ns = service->notify->watchdog_ns;

	if (service->ready_due)
		service_ready(service);
	if (watchdog_ns == 0 ||
		(service->fed && now_ns - service->fed_ns < watchdog_ns / FEEDS_PER_PERIOD))
		return;
	service->fed = notify_send(service->notify, "WATCHDOG=1");
	service->fed_ns = now_ns;
}
