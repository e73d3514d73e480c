/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/port_events.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define LOOK_EVERY_NS 500000000

static void log_removed(const struct port *port, uint64_t epoch)
{
	struct text when = {0};

	text_time(&when, clock_now(CLOCK_REALTIME));
	text_char(&when, '\0');
	log_error("--port %s: the device was removed at %s, interval %llu: the run ends",
		port->name, when.failed ? "?" : when.data, (unsigned long long)epoch);
	text_free(&when);
}

static void log_link(const struct link_monitor *monitor, const char *what, uint64_t epoch)
{
	char speed[32] = "";

	if (monitor->speed > 0)
		snprintf(speed, sizeof(speed), " at %u Mbit/s", monitor->speed);
	log_notice("interval %llu: %s: link %s%s", (unsigned long long)epoch, monitor->port->name,
		what, speed);
}

void port_events_start(struct port_events *log, const struct run *run)
{
	*log = (struct port_events){.run = run};
	for (uint32_t p = 0; p < run->nb_ports; p++)
		link_monitor_start(&log->watches[p], &run->ports[p]);
}

bool port_events_look(
	struct port_events *log, int64_t now, uint64_t epoch, struct ledger_state *state)
{
	bool all_there = true;

	if (now - log->looked < LOOK_EVERY_NS)
		return true;
	log->looked = now;
	for (uint32_t p = 0; p < log->run->nb_ports; p++) {
		struct link_monitor *monitor = &log->watches[p];

		switch (link_monitor_look(monitor)) {
		case PORT_SAME: break;
		case PORT_UP: log_link(monitor, "up", epoch); break;
		case PORT_SPEED: log_link(monitor, "changed", epoch); break;
		case PORT_DOWN:
			log_warning("interval %llu: %s: link down", (unsigned long long)epoch,
				monitor->port->name);
			port_meter_peer_left(&state->meters[p]);
			break;
		case PORT_GONE:
			log_removed(monitor->port, epoch);
			port_meter_gone(&state->meters[p]);
			all_there = false;
			break;
		}
	}
	return all_there;
}
