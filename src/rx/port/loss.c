/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/loss.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

#include "base/assertion.h"
#include "config/config.h"
#include "base/log.h"
#include "rx/port/port.h"

enum loss_source {
	SOURCE_XSTAT,
	SOURCE_BASIC,
	SOURCE_INTERFACE,
	SOURCE_SOCKETS,
	SOURCE_QUEUES,
};

#define BASIC(member)                                                                              \
	{                                                                                          \
#member, SOURCE_BASIC, offsetof(struct rte_eth_stats, member)                      \
	}
#define INTERFACE(member)                                                                          \
	{                                                                                          \
		"kernel." #member, SOURCE_INTERFACE, offsetof(struct kernel_interface, member)     \
	}

static const struct {
	const char *name;
	enum loss_source source;
	size_t offset;
} plain_counters[] = {
	BASIC(ipackets),
	BASIC(imissed),
	BASIC(ierrors),
	BASIC(rx_nombuf),
	INTERFACE(rx_errors),
	INTERFACE(rx_dropped),
	INTERFACE(rx_missed_errors),
	INTERFACE(tx_dropped),
	{"PACKET_STATISTICS.received", SOURCE_QUEUES, 0},
	{"PACKET_STATISTICS.lost", SOURCE_QUEUES, 1},
	{"XDP_STATISTICS", SOURCE_SOCKETS, AF_XDP},
};

static bool find_sockets(
	struct port_meter *meter, int family, const struct port_meter *meters, uint32_t nb_meters)
{
	const struct kernel_sockets *others[OPTION_LIST_MAX];

	for (uint32_t m = 0; m < nb_meters; m++)
		others[m] = &meters[m].sockets;
	return kernel_sockets_find(&meter->sockets, family, meter->interface,
		meter->port->nb_queues, others, nb_meters);
}

static bool find_counter(struct port_meter *meter, struct port_meter_feed *found,
	const struct port_meter *meters, uint32_t nb_meters)
{
	for (size_t c = 0; c < sizeof(plain_counters) / sizeof(plain_counters[0]); c++) {
		if (strcmp(plain_counters[c].name, found->feed->counter) != 0)
			continue;
		found->source = plain_counters[c].source;
		found->place = plain_counters[c].offset;
		if (found->source == SOURCE_QUEUES)
			return meter->port->sockets != NULL;
		if (found->source == SOURCE_SOCKETS)
			return find_sockets(meter, (int)found->place, meters, nb_meters);
		return found->source == SOURCE_BASIC || meter->interface != 0;
	}
	found->source = SOURCE_XSTAT;
	found->place = meter->nb_xstats;
	if (rte_eth_xstats_get_id_by_name(
		    meter->port->id, found->feed->counter, &meter->xstats[meter->nb_xstats]) != 0)
		return false;
	meter->nb_xstats++;
	return true;
}

/* Values of all counters of a port, read at the same time */
struct loss_reading {
	struct rte_eth_stats basic;
	struct kernel_interface interface;
	uint64_t xstats[PORT_FEEDS_MAX];
	uint64_t lost_by_sockets;
	uint64_t of_queues[2]; /* received, lost */
	bool basic_read, interface_read, xstats_read, sockets_read, queues_read;
};

static bool uses(const struct port_meter *meter, enum loss_source source)
{
	for (uint32_t f = 0; f < meter->nb_feeds; f++)
		if (meter->feeds[f].source == source)
			return true;
	return false;
}

static void take_reading(struct port_meter *meter, struct loss_reading *reading)
{
	*reading = (struct loss_reading){0};
	reading->basic_read = rte_eth_stats_get(meter->port->id, &reading->basic) == 0;
	/* One call for all counters, because some drivers read all registers in every call. */
	if (meter->nb_xstats > 0)
		reading->xstats_read =
			rte_eth_xstats_get_by_id(meter->port->id, meter->xstats, reading->xstats,
				meter->nb_xstats) == (int)meter->nb_xstats;
	if (uses(meter, SOURCE_INTERFACE))
		reading->interface_read = kernel_interface_read(meter->interface,
						  &reading->interface) == KERNEL_THERE;
	if (uses(meter, SOURCE_SOCKETS))
		reading->sockets_read =
			kernel_sockets_lost(&meter->sockets, &reading->lost_by_sockets);
	if (uses(meter, SOURCE_QUEUES))
		reading->queues_read = socket_queues_count(
			meter->port->sockets, &reading->of_queues[0], &reading->of_queues[1]);
}

static uint64_t at_offset(const void *structure, uint64_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)structure + offset, sizeof(value));
	return value;
}

static bool read_feed(
	const struct port_meter_feed *feed, const struct loss_reading *reading, uint64_t *value)
{
	switch ((enum loss_source)feed->source) {
	case SOURCE_BASIC:
		*value = at_offset(&reading->basic, feed->place);
		return reading->basic_read;
	case SOURCE_INTERFACE:
		*value = at_offset(&reading->interface, feed->place);
		return reading->interface_read;
	case SOURCE_SOCKETS: *value = reading->lost_by_sockets; return reading->sockets_read;
	case SOURCE_QUEUES: *value = reading->of_queues[feed->place]; return reading->queues_read;
	case SOURCE_XSTAT: *value = reading->xstats[feed->place]; return reading->xstats_read;
	}
	return false;
}

static void note_gap(struct port_meter *meter, const struct counter_mapping *feed)
{
	if (feed->column == PORT_RECEIVED)
		meter->received_gap = true;
	else
		meter->lost_gap = true;
}

/* Packets received before the start wait in the queues, so they belong to this run. */
static void begin_feed(struct port_meter_feed *feed, uint64_t value)
{
	uint8_t bits = feed->feed->bits > 0 ? feed->feed->bits : 64;
	bool received = feed->feed->column == PORT_RECEIVED;

	device_counter_start(&feed->counter, bits, feed->feed->derived, received ? 0 : value);
	device_counter_read(&feed->counter, value);
	feed->begun = true;
}

void port_meter_read(struct port_meter *meter)
{
	struct loss_reading reading;

	if (!meter->gone)
		take_reading(meter, &reading);
	/* Checked after the reading, because values of a removed card are not valid. */
	if (meter->gone || !port_is_plugged(meter->port)) {
		meter->received_gap = meter->lost_gap = true;
		return;
	}
	for (uint32_t f = 0; f < meter->nb_feeds; f++) {
		struct port_meter_feed *feed = &meter->feeds[f];
		uint64_t value;

		if (!read_feed(feed, &reading, &value)) {
			note_gap(meter, feed->feed);
			continue;
		}
		if (!feed->begun) {
			note_gap(meter, feed->feed);
			begin_feed(feed, value);
			continue;
		}
		/*
		 * Without a peer, the value is 0. If a peer returns, the counter may continue at
		 * its old value.
		 */
		feed->silent = meter->port->driver->has_peer && value == 0;
		if (!feed->silent &&
			device_counter_read(&feed->counter, value) == DEVICE_COUNTER_RESET)
			note_gap(meter, feed->feed);
	}
}

static void start_feed(
	struct port_meter *meter, struct port_meter_feed *feed, const struct loss_reading *reading)
{
	uint64_t value;

	if (read_feed(feed, reading, &value))
		begin_feed(feed, value);
	else
		note_gap(meter, feed->feed);
}

static void warn_missing_counters(const struct port_meter *meter)
{
	const struct port *port = meter->port;

	if (port->driver->unsaid != NULL)
		log_warning("%s: %s; upper bounds and confidence stay empty", port->name,
			port->driver->unsaid);
	else if (!meter->complete)
		log_warning("%s: not all of its lost packets are counted: upper bounds and "
			    "confidence stay empty",
			port->name);
}

void port_meter_start(struct port_meter *meter, const struct port *port,
	const struct port_meter *meters, uint32_t nb_meters)
{
	const struct port_driver *driver = port->driver;
	struct loss_reading reading;

	*meter = (struct port_meter){.port = port, .complete = driver->complete};
	meter->interface = port_interface_index(port);
	for (const struct counter_mapping *feed = driver->feeds; feed->counter != NULL; feed++) {
		struct port_meter_feed *found = &meter->feeds[meter->nb_feeds];

		VERIFY(meter->nb_feeds, <, PORT_FEEDS_MAX);
		found->feed = feed;
		if (find_counter(meter, found, meters, nb_meters)) {
			meter->nb_feeds++;
			continue;
		}
		meter->complete = false;
		log_warning("%s (%s) has no counter %s: its losses are not counted", port->name,
			driver->name[0] != '\0' ? driver->name : "?", feed->counter);
	}
	if (driver->per_queue && port->sockets == NULL &&
		port->nb_queues > RTE_ETHDEV_QUEUE_STAT_CNTRS) {
		meter->received_gap = true;
		if (meter->sockets.nb == 0)
			meter->complete = false;
	}
	take_reading(meter, &reading);
	for (uint32_t f = 0; f < meter->nb_feeds; f++)
		start_feed(meter, &meter->feeds[f], &reading);
	warn_missing_counters(meter);
}

uint64_t port_meter_count(const struct port_meter *meter, enum port_column column)
{
	uint64_t sum = column == PORT_DOUBTFUL ? meter->unread : 0;

	for (uint32_t f = 0; f < meter->nb_feeds; f++) {
		const struct port_meter_feed *feed = &meter->feeds[f];

		if (feed->feed->column != column)
			continue;
		if (column == PORT_RECEIVED && feed->silent)
			return UINT64_MAX;
		sum += feed->counter.total;
	}
	return column == PORT_RECEIVED && meter->received_gap ? UINT64_MAX : sum;
}

void port_meter_gone(struct port_meter *meter)
{
	/* Drivers on a kernel interface count in software, so their counters stay valid. */
	meter->gone = !meter->port->driver->on_interface;
}

void port_meter_peer_left(struct port_meter *meter)
{
	if (meter->port->driver->has_peer)
		meter->unread += (uint64_t)meter->port->nb_queues * meter->port->descriptors;
}
