/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/send.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_pause.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "parallel/pool.h"
#include "rx/capture/capture_writer.h"
#include "rx/port/kernel_interface.h"
#include "rx/port/link_status.h"
#include "parallel/pacer.h"
#include "parallel/feeder.h"
#include "parallel/sources.h"
#include "rx/port/name.h"

#define SEND_BURST  32
#define DRAIN_US    100000 /* what a device gets to send what it still holds */
#define FLUSH_US    1000   /* how often a kernel interface is asked to go on */
/* An interface that has sent nothing for so long sends no more. Counters may be a second late. */
#define PATIENCE_NS UINT64_C(2000000000)
#define LOOK_NS     UINT64_C(100000000) /* between two looks whether one that stalls is there */

/* elapsed: ns since the first packet */
static bool wanted(const struct feeder_options *limits, uint64_t sent, uint64_t elapsed)
{
	if (limits->packets > 0 && sent >= limits->packets)
		return false;
	return limits->duration == 0 || elapsed < limits->duration;
}

int send_to_file(const struct config *config, struct source *source)
{
	const struct feeder_options *limits = feeder_options(config);
	const char *output = send_options(config)->output;
	struct capture_writer *writer;
	struct source_packet packet;
	char error[SOURCE_ERROR_MAX] = "";
	uint64_t written = 0;
	int64_t first = 0;
	int result = 0;

	if (!config_spares_inputs(config, "--output", output, -1, error, sizeof(error))) {
		log_error("%s", error);
		return 2;
	}
	switch (capture_writer_open(&writer, output, send_options(config)->force, error)) {
	case CAPTURE_WRITER_OK: break;
	case CAPTURE_WRITER_EXISTS: log_error("%s", error); return 2;
	case CAPTURE_WRITER_FAILED: log_error("%s", error); return 1;
	}
	while (!signals_stop_requested() && source->next(source, &packet) > 0) {
		if (written == 0)
			first = packet.time;
		if (!wanted(limits, written, (uint64_t)(packet.time - first)))
			break;
		result = capture_writer_write(writer, &packet, error);
		if (result < 0)
			break;
		written++;
	}
	if (capture_writer_close(writer, error) == 0 || error[0] == '\0')
		return 0;
	log_error("%s", error);
	return 1;
}

struct sender {
	const struct config *config;
	struct source *source;
	struct rte_mempool *pool;
	struct pacer pacer;
	uint64_t sent, bytes;
	uint32_t n;
	struct rte_mbuf *burst[SEND_BURST];
	const struct port *port;
	/* Of the kernel's interface that the port sits on; the index is 0 where it is none. */
	uint32_t interface;
	struct kernel_sockets sockets;
	struct kernel_interface before;
	uint64_t looked; /* rte_rdtsc() */
	bool told;       /* that the link is down */
	bool gone;
};

static uint64_t clock_since(uint64_t start_tsc)
{
	return (uint64_t)((__uint128_t)(rte_rdtsc() - start_tsc) * SECOND_NS / rte_get_tsc_hz());
}

static bool is_gone(const struct sender *sender)
{
	return sender->gone || port_is_leaving(sender->port);
}

/* Asked to, or because the device is. */
static bool is_stopped(const struct sender *sender)
{
	return signals_stop_requested() || is_gone(sender);
}

/*
 * The device takes nothing: an interface that was deleted never will, nor a memif whose server was
 * not ready to answer when it connected.
 */
static void wait_for_device(struct sender *sender)
{
	struct kernel_interface interface;

	rte_pause();
	if (clock_since(sender->looked) < LOOK_NS)
		return;
	sender->looked = rte_rdtsc();
	if (sender->interface != 0)
		sender->gone = kernel_interface_read(sender->interface, &interface) == KERNEL_GONE;
	if (!sender->told && !sender->gone && !port_link_is_up(sender->port)) {
		log_warning("--port %s: its link is down: nothing leaves until it is up",
			sender->port->name);
		sender->told = true;
	}
}

static void send_burst(struct sender *sender)
{
	uint32_t done = 0;

	while (done < sender->n && !is_stopped(sender)) {
		done += rte_eth_tx_burst(
			sender->port->id, 0, &sender->burst[done], (uint16_t)(sender->n - done));
		if (done < sender->n)
			wait_for_device(sender);
	}
	/* The program is to end before the port takes the rest. */
	for (uint32_t i = done; i < sender->n; i++) {
		sender->sent--;
		sender->bytes -= rte_pktmbuf_pkt_len(sender->burst[i]);
	}
	rte_pktmbuf_free_bulk(&sender->burst[done], sender->n - done);
	sender->n = 0;
}

static void wait_until_due(struct sender *sender, const struct source_packet *packet)
{
	uint64_t cycles = pacer_wait(&sender->pacer, sender->sent, packet->time);

	if (cycles > 0)
		send_burst(sender);
	while (cycles > 0 && !is_stopped(sender)) {
		if (!pacer_nap(cycles))
			rte_pause();
		cycles = pacer_wait(&sender->pacer, sender->sent, packet->time);
	}
}

static bool add_packet(struct sender *sender, const struct source_packet *packet)
{
	struct rte_mbuf *mbuf = rte_pktmbuf_alloc(sender->pool);
	char *data;

	/* The driver gives mbufs back as it sends. */
	while (mbuf == NULL && !is_stopped(sender)) {
		send_burst(sender);
		mbuf = rte_pktmbuf_alloc(sender->pool);
		if (mbuf == NULL)
			wait_for_device(sender);
	}
	if (mbuf == NULL)
		return false;
	data = rte_pktmbuf_append(mbuf, (uint16_t)packet->captured);
	memcpy(data, packet->data, packet->captured);
	sender->burst[sender->n++] = mbuf;
	sender->sent++;
	sender->bytes += packet->captured;
	if (sender->n == SEND_BURST)
		send_burst(sender);
	return true;
}

static void send_all(struct sender *sender)
{
	const struct feeder_options *limits = feeder_options(sender->config);
	struct source_packet packet;

	while (!is_stopped(sender) && sender->source->next(sender->source, &packet) > 0) {
		if (sender->sent == 0)
			sender->pacer = (struct pacer){
				.pace = limits->pace,
				.rate = limits->pace_rate,
				.start_tsc = rte_rdtsc(),
				.first_time = packet.time,
			};
		if (!wanted(limits, sender->sent, clock_since(sender->pacer.start_tsc)))
			break;
		wait_until_due(sender, &packet);
		if (!add_packet(sender, &packet))
			break;
	}
	send_burst(sender);
}

/* --- what left --- */

/* Before the first packet. */
static void watch_interface(struct sender *sender)
{
	const struct port *port = sender->port;
	uint32_t index = if_nametoindex(port->interface);

	if (port->interface[0] == '\0' || port_is_pci(port->device) ||
		kernel_interface_read(index, &sender->before) != KERNEL_THERE)
		return;
	sender->interface = index;
	kernel_sockets_find(
		&sender->sockets, port->driver->sockets, index, KERNEL_SOCKETS_MAX, NULL, 0);
}

/*
 * The kernel sends what lies in a driver's sockets when it is asked to, as long as the interface
 * has room; the driver asks only as it is given more. Until all has left, or nothing more does.
 * Others may send on the interface, so its counters say no more than that the rest has not left.
 */
static bool drain_interface(struct sender *sender)
{
	const struct timespec pause = {.tv_nsec = FLUSH_US * 1000};
	uint64_t moved = rte_rdtsc(), packets = 0, bytes = 0, missing;
	bool empty;

	do {
		struct kernel_interface now;
		enum kernel_presence presence;

		nanosleep(&pause, NULL);
		empty = kernel_sockets_flush(&sender->sockets);
		presence = kernel_interface_read(sender->interface, &now);
		sender->gone = presence == KERNEL_GONE;
		if (presence != KERNEL_THERE ||
			now.tx_packets - sender->before.tx_packets == packets)
			continue;
		packets = now.tx_packets - sender->before.tx_packets;
		bytes = now.tx_bytes - sender->before.tx_bytes;
		moved = rte_rdtsc();
	} while (!sender->gone && (!empty || packets < sender->sent) &&
		 clock_since(moved) < PATIENCE_NS);
	if (sender->gone)
		return false;
	if (empty && packets >= sender->sent)
		return true;
	missing = packets < sender->sent ? sender->sent - packets : 1;
	log_error("--port %s: at least %llu of %llu packets did not leave: the interface is down, "
		  "or drops them; ip -s link show %s counts them",
		sender->port->name, (unsigned long long)missing, (unsigned long long)sender->sent,
		sender->port->interface);
	sender->sent -= missing;
	sender->bytes = RTE_MIN(sender->bytes, bytes);
	return false;
}

/* All that was handed to the device has left it, as far as anybody tells; it says what has not. */
static bool drain(struct sender *sender)
{
	if (is_gone(sender))
		return false;
	if (sender->interface != 0 && sender->sent > 0)
		return drain_interface(sender);
	rte_delay_us_sleep(DRAIN_US);
	return true;
}

static void say_sent(const struct sender *sender)
{
	if (is_gone(sender))
		log_error("--port %s: the device is gone; how many of %llu packets had left it is "
			  "not known",
			sender->port->name, (unsigned long long)sender->sent);
	else
		log_notice("sent %llu packets, %llu bytes", (unsigned long long)sender->sent,
			(unsigned long long)sender->bytes);
}

/* Until a signal asks for the end: not the one that ended the sending. */
static void linger(uint64_t time)
{
	struct timespec left = {
		.tv_sec = (time_t)(time / SECOND_NS), .tv_nsec = (long)(time % SECOND_NS)};
	bool stopped = signals_stop_requested();

	while (nanosleep(&left, &left) != 0 && errno == EINTR &&
		signals_stop_requested() == stopped)
		;
}

int send_to_port(const struct config *config, const struct plan *plan, struct source *source,
	struct port *port)
{
	struct sender sender = {
		.config = config, .source = source, .port = port, .looked = rte_rdtsc()};
	const struct plan_group *group = &plan->groups[0];
	char error[PORT_ERROR_MAX];
	int status = 1;

	sender.pool = pool_create(
		"sender", group->mbufs, plan->mbuf_cache, plan->mbuf_room, group->memory_node);
	if (sender.pool == NULL) {
		log_error("no memory for %u mbufs of %u bytes: %s; lower --mbufs", group->mbufs,
			plan->mbuf_room, rte_strerror(rte_errno));
	} else if (!port_start(port, 0, plan->ports[0].descriptors, sender.pool, error)) {
		log_error("%s", error);
	} else {
		watch_interface(&sender);
		send_all(&sender);
		status = drain(&sender) ? 0 : 1;
		say_sent(&sender);
		linger(send_options(config)->linger);
	}
	ports_close(port, 1);
	rte_mempool_free(sender.pool);
	return status;
}

/* --- options --- */

static const char *lacks_port(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return port_given(config) ? NULL : "without --port";
}

static const char *lacks_file(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return option_lacks_file(send_options(config)->output);
}

/* What only a port takes, and what only a file does. */
static bool check_send(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	static const char *const of_port[] = {"name", "eal", "lcores", "mbufs", "no-huge"};
	const struct send_options *options = send_options(config);
	uint32_t nb_ports = port_options(config)->names.n;

	if (!sources_check(config, "generate", fault))
		return false;
	if (options->output == NULL && nb_ports == 0)
		return option_fault(fault, NULL, measurement,
			"nowhere to send it: give --output FILE or --port NAME");
	for (size_t i = 0; options->output != NULL && i < RTE_DIM(of_port); i++)
		if (config_asks(config, measurement, of_port[i]))
			return option_fault(fault, of_port[i], measurement,
				"has no effect without --port; leave it out");
	if (nb_ports > 1)
		return option_fault(fault, "port", measurement,
			"is given %u times; packets are sent on one port", nb_ports);
	if (feeder_options(config)->pace != PACE_UNPACED && options->output != NULL)
		return option_fault(fault, "pace", measurement,
			"contradicts --output: a file is written as fast as it can be; rate=... in "
			"SPEC sets its time stamps");
	return true;
}

static const struct option_row send_rows[] = {
	{
		.name = "output",
		.letter = 'w',
		.placeholder = "FILE",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		OPTION_FIELD(send_options, output),
		.set = "destination",
		.help = "Write a pcap file; - is standard output.",
	},
	{
		.name = "linger",
		.placeholder = "TIME",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_TIME,
		.lacks = lacks_port,
		OPTION_FIELD(send_options, linger),
		.min = 1,
		.max = OPTION_CENTURY,
		.default_note = "not at all",
		.help = "Keep the port open so long after the last packet. Who receives from a "
			"port in shared memory, such as memif, loses with it what is still "
			"under way.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_FLAG,
		.lacks = lacks_file,
		OPTION_FIELD(send_options, force),
		.help = "Replace an output file that exists. Without it such a file is refused.",
	},
	{0},
};

const struct option_owner send_owner = {
	.rows = send_rows,
	.size = sizeof(struct send_options),
	.check = check_send,
};

static const struct option_row send_port_rows[] = {
	{
		.name = "port",
		.letter = 'i',
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_LIST,
		OPTION_FIELD(port_options, names),
		.set = "destination",
		.help = "Send on a port: a PCI address (0000:3b:00.0), an interface of the kernel "
			"(eth0) or a virtual device of DPDK (net_tap0,iface=probe0).",
	},
	{0},
};

const struct option_owner send_port_owner = {
	.rows = send_port_rows,
	.fills = &port_owner,
	.check = port_check_names,
};
