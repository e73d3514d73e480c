/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/tester.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>

#include "base/log.h"
#include "base/signals.h"
#include "base/units.h"
#include "parallel/workers/node_memory.h"
#include "rx/capture/capture_writer.h"
#include "parallel/sources/feeder.h"
#include "tester/port_sender.h"
#include "parallel/sources/sources.h"
#include "rx/port/port_name.h"

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

/* missing: lower bound of packets that were not sent. Returns true if it is 0. */
static bool log_sent(const struct port_sender *sender, uint64_t missing)
{
	if (missing > 0)
		log_error("--port %s: at least %llu of %llu packets did not leave: the interface "
			  "is down, or drops them; see ip -s link show %s",
			sender->port->name, (unsigned long long)missing,
			(unsigned long long)(sender->sent + missing), sender->port->interface);
	if (port_sender_is_gone(sender))
		log_error("--port %s: device removed: up to %llu packets may be "
			  "lost",
			sender->port->name, (unsigned long long)sender->sent);
	else
		log_notice("sent %llu packets, %llu bytes", (unsigned long long)sender->sent,
			(unsigned long long)sender->bytes);
	return missing == 0 && !port_sender_is_gone(sender);
}

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
	struct port_sender sender = {.source = source, .port = port};
	const struct plan_group *group = &plan->groups[0];
	char error[PORT_ERROR_MAX];
	int status = 1;

	sender.pool = pool_create(
		"sender", group->mbufs, plan->mbuf_cache, plan->mbuf_room, group->memory_node);
	if (sender.pool == NULL) {
		log_error("out of memory for %u mbufs of %u bytes: %s; lower mbufs", group->mbufs,
			plan->mbuf_room, rte_strerror(rte_errno));
	} else if (!port_start(port, 0, plan->ports[0].descriptors, sender.pool, error)) {
		log_error("%s", error);
	} else {
		port_sender_send(&sender, feeder_options(config));
		status = log_sent(&sender, port_sender_drain(&sender)) ? 0 : 1;
		linger(send_options(config)->linger);
	}
	ports_close(port, 1);
	rte_mempool_free(sender.pool);
	return status;
}

static const char *inapplicable_without_port(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return port_given(config) ? NULL : "without --port";
}

static const char *inapplicable_without_file(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return option_inapplicable_without_file(send_options(config)->output);
}

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
			"no destination: give --output FILE or --port NAME");
	if (nb_ports > 1)
		return option_fault(fault, "port", measurement,
			"given %u times; packets are sent on one port", nb_ports);
	/* With --rx-port, --output is a histogram of the loopback test, not a capture. */
	if (options->output != NULL && nb_ports > 0)
		return config_asks(config, measurement, "rx-port") ||
		       option_fault(fault, "port", measurement,
			       "contradicts --output; give one of the two, or also --rx-port PORT");
	for (size_t i = 0; options->output != NULL && i < RTE_DIM(of_port); i++)
		if (config_asks(config, measurement, of_port[i]))
			return option_fault(fault, of_port[i], measurement,
				"has no effect without --port; omit it");
	if (feeder_options(config)->pace != PACE_UNPACED && options->output != NULL)
		return option_fault(fault, "pace", measurement,
			"contradicts --output: files are written at full speed; rate=... in SPEC "
			"sets their timestamps");
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
		.help = "Write packets to a pcap file. - is standard output. With --rx-port: "
			"write a latency histogram as CSV.",
	},
	{
		.name = "linger",
		.placeholder = "TIME",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_TIME,
		.inapplicable = inapplicable_without_port,
		OPTION_FIELD(send_options, linger),
		.min = 1,
		.max = OPTION_CENTURY,
		.default_note = "not at all",
		.config_only = true,
		.help = "Keep the port open for TIME after the last packet. When it closes, a "
			"peer on shared memory such as memif loses the packets in transit.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_FLAG,
		.inapplicable = inapplicable_without_file,
		OPTION_FIELD(send_options, force),
		.help = "Overwrite an existing output file.",
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
		.help = "Send on a port: PCI address (0000:3b:00.0), kernel interface (eth0) or "
			"virtual device of DPDK (net_tap0,iface=probe0).",
	},
	{0},
};

const struct option_owner send_port_owner = {
	.rows = send_port_rows,
	.fills = &port_owner,
	.check = port_check_names,
};
