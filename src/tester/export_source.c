/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/export_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/signals.h"
#include "flow_protocols/export.h"
#include "flow_protocols/big_endian.h"
#include "rx/generate/synthetic.h"

#define ETHERNET_LEN 14
#define IPV4_LEN     20
#define UDP_LEN      8
#define HEADERS_LEN  (ETHERNET_LEN + IPV4_LEN + UDP_LEN)
#define UDP          17
#define TTL          64
#define PORT_FROM    50000 /* UDP source port of router 0; router r sends from PORT_FROM + r */

struct queued {
	int64_t time;
	uint32_t len;
};

struct exports {
	struct source source;
	struct source *traffic;
	struct routers *routers;
	struct random random; /* selects lost datagrams */
	double drop;
	uint16_t port;
	bool out_of_memory;
	int read_status;
	bool waiting; /* `packet` was not passed to the routers yet */
	struct source_packet packet;
	uint8_t *queue;
	size_t read, used, room;
};
_Static_assert(offsetof(struct exports, source) == 0, "exports_next() casts a pointer to it");

static uint32_t sum_words(const uint8_t *bytes, uint32_t len)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i + 1 < len; i += 2)
		sum += (uint32_t)(bytes[i] << 8 | bytes[i + 1]);
	return sum + (len % 2 != 0 ? (uint32_t)bytes[len - 1] << 8 : 0);
}

static uint32_t checksum(uint32_t sum)
{
	sum = (sum >> 16) + (sum & 0xffff);
	sum += sum >> 16;
	return ~sum & 0xffff;
}

static void put_ipv4(uint8_t *ip, uint32_t router, uint32_t len)
{
	uint8_t *at = put16(put16(ip, 0x4500), IPV4_LEN + UDP_LEN + len);

	at = put32(at, 0x4000);
	at = put16(put8(put8(at, TTL), UDP), 0);
	put32(put32(at, ROUTER_ADDRESS(router)), EXPORT_SOURCE_COLLECTOR);
	put16(ip + 10, checksum(sum_words(ip, IPV4_LEN)));
}

static void put_udp(uint8_t *ip, uint32_t router, uint16_t port, uint32_t len)
{
	uint8_t *udp = ip + IPV4_LEN;
	uint32_t sum;

	put16(put16(put16(put16(udp, PORT_FROM + router), port), UDP_LEN + len), 0);
	sum = sum_words(ip + 12, 8) + UDP + UDP_LEN + len + sum_words(udp, UDP_LEN + len);
	sum = checksum(sum);
	put16(udp + 6, sum == 0 ? 0xffff : sum);
}

static void put_frame(
	uint8_t *frame, uint32_t router, uint16_t port, const uint8_t *data, uint32_t len)
{
	/* locally administered MAC addresses */
	static const uint8_t collector[6] = {0x02, 0, 0, 0, 1, 0}, from[5] = {0x02};
	uint8_t *at = put_bytes(put_bytes(frame, collector, sizeof(collector)), from, sizeof(from));

	at = put16(put8(at, router + 1), 0x0800);
	memcpy(at + IPV4_LEN + UDP_LEN, data, len);
	put_ipv4(at, router, len);
	put_udp(at, router, port, len);
}

static bool is_lost(struct exports *exports)
{
	return exports->drop > 0 &&
	       (double)(random_next(&exports->random) >> 11) * 0x1p-53 < exports->drop;
}

static uint8_t *room_in_queue(struct exports *exports, size_t len)
{
	if (exports->room - exports->used < len) {
		size_t room = exports->room * 2 + len;
		uint8_t *queue = realloc(exports->queue, room);

		if (queue == NULL)
			return NULL;
		exports->queue = queue;
		exports->room = room;
	}
	exports->used += len;
	return exports->queue + exports->used - len;
}

static void send_datagram(
	void *arg, uint32_t router, const uint8_t *data, uint32_t len, int64_t time)
{
	struct exports *exports = arg;
	struct queued queued = {.time = time, .len = HEADERS_LEN + len};
	uint8_t *at;

	if (is_lost(exports))
		return;
	at = room_in_queue(exports, sizeof(queued) + queued.len);
	if (at == NULL) {
		exports->out_of_memory = true;
		return;
	}
	memcpy(at, &queued, sizeof(queued));
	put_frame(at + sizeof(queued), router, exports->port, data, len);
}

static void read_queue(struct exports *exports, struct source_packet *packet)
{
	struct queued queued;

	memcpy(&queued, exports->queue + exports->read, sizeof(queued));
	*packet = (struct source_packet){
		.data = exports->queue + exports->read + sizeof(queued),
		.captured = queued.len,
		.wire_len = queued.len,
		.time = queued.time < SOURCE_TIME_MAX ? queued.time : SOURCE_TIME_MAX,
		.link = LINK_ETHERNET,
	};
	exports->read += sizeof(queued) + queued.len;
}

/*
 * Passes a packet to the routers or executes their next action, whichever is earlier. Returns false
 * at the end or after a stop request.
 */
static bool go_on(struct exports *exports)
{
	int64_t due = routers_due(exports->routers);

	/* The caller checks only between exports, which may never come. */
	if (signals_stop_requested()) {
		exports->read_status = 0;
		return false;
	}
	if (!exports->waiting && exports->read_status > 0) {
		exports->read_status = exports->traffic->next(exports->traffic, &exports->packet);
		exports->waiting = exports->read_status > 0;
		if (!exports->waiting)
			routers_end(exports->routers);
	}
	if (exports->waiting && due > exports->packet.time) {
		routers_take(exports->routers, &exports->packet);
		exports->waiting = false;
		return true;
	}
	if (due == INT64_MAX)
		return false;
	routers_do(exports->routers);
	return true;
}

static int exports_next(struct source *source, struct source_packet *packet)
{
	struct exports *exports = (struct exports *)source;

	if (exports->read == exports->used) {
		exports->read = 0;
		exports->used = 0;
		while (exports->used == 0 && !exports->out_of_memory && go_on(exports))
			;
	}
	if (exports->out_of_memory) {
		source_error(source->error, "out of memory for the datagrams of routers; lower "
					    "routers in --export-format");
		return -1;
	}
	if (exports->used > 0) {
		read_queue(exports, packet);
		return 1;
	}
	if (exports->read_status < 0)
		memcpy(source->error, exports->traffic->error, SOURCE_ERROR_MAX);
	return exports->read_status;
}

static double exports_progress(const struct source *source)
{
	const struct exports *exports = (const struct exports *)source;

	return exports->traffic->progress(exports->traffic);
}

static void exports_close(struct source *source)
{
	struct exports *exports = (struct exports *)source;

	exports->traffic->close(exports->traffic);
	routers_destroy(exports->routers);
	free(exports->queue);
	free(exports);
}

static struct routers *make_routers(
	const struct export_source_params *params, struct exports *exports)
{
	struct routers_params of_routers = {
		.protocol = params->protocol,
		.n = params->routers,
		.path = params->path,
		.sampling = params->sampling,
		.seed = params->seed,
		.send = send_datagram,
		.arg = exports,
	};

	return routers_create(&of_routers);
}

struct source *export_source_open(
	const struct export_source_params *params, struct source *traffic, char *error)
{
	struct exports *exports = calloc(1, sizeof(*exports));

	if (exports != NULL) {
		exports->traffic = traffic;
		exports->routers = make_routers(params, exports);
	}
	if (exports == NULL || exports->routers == NULL) {
		source_error(error, "out of memory for the flows of %u routers", params->routers);
		traffic->close(traffic);
		free(exports);
		return NULL;
	}
	exports->source.next = exports_next;
	exports->source.progress = exports_progress;
	exports->source.close = exports_close;
	exports->read_status = 1;
	exports->drop = params->drop;
	exports->port = flow_protocols[params->protocol]->port;
	random_init(&exports->random, random_mix(params->seed + 2));
	return &exports->source;
}

bool export_source_wrap(const struct config *config, struct source **source, char *error)
{
	const struct export_source_options *options = export_source_options(config);
	struct export_source_params params = {
		.protocol = options->protocol,
		.routers = options->routers,
		.path = options->path > 0 ? options->path : options->routers,
		.sampling = options->sampling,
		.drop = options->drop,
	};
	struct synthetic_spec spec;

	if (!config_asks(config, NULL, "export-format"))
		return true;
	if (!synthetic_parse(synthetic_options(config)->spec, &spec, error)) {
		(*source)->close(*source);
		return false;
	}
	params.seed = spec.seed;
	*source = export_source_open(&params, *source, error);
	return *source != NULL;
}

static const char *protocol_word(uint32_t i)
{
	return i < export_protocols() ? flow_protocols[i]->name : NULL;
}

static const char *protocol_suits(uint32_t i)
{
	return flow_protocols[i]->exports->suits;
}

OPTION_WORDS_OF(protocol_former, [FLOW_PROTOCOL_NETFLOW5] = "v5", [FLOW_PROTOCOL_NETFLOW9] = "v9")

static const char *inapplicable_without_as(
	const struct config *config, const struct measurement_config *measurement)
{
	return config_asks(config, measurement, "export-format") ? NULL : "without --export-format";
}

static bool check_exports(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct export_source_options *options = export_source_options(config);
	const struct export_ops *ops = flow_protocols[options->protocol]->exports;

	if (options->path > options->routers)
		return option_fault(fault, "path", measurement,
			"%u: more than routers=%u; give routers=%u", options->path,
			options->routers, options->path);
	if (config_asks(config, measurement, "export-format") && ops->sampling_max != 0 &&
		options->sampling > ops->sampling_max)
		return option_fault(fault, "sampling", measurement,
			"%u: %.*s has a maximum of %u; give netflow9", options->sampling,
			(int)strcspn(ops->suits, ","), ops->suits, ops->sampling_max);
	return true;
}

static const struct option_row exports_rows[] = {
	{
		.name = "export-format",
		.placeholder = "FORMAT[,routers=N][,hops=N][,sampling=N][,loss=F]",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		OPTION_FIELD(export_source_options, protocol),
		.word = protocol_word,
		.suits = protocol_suits,
		.default_note = "the traffic itself",
		.former = "as",
		.former_word = protocol_former,
		.help = "Generate flow exports of routers on the path, instead of the traffic:",
		.man = "A flow is exported after 10 s, or after 5 s without a packet. --packets "
		       "and --duration then limit datagrams, and packets=N in SPEC limits the "
		       "traffic. The same command without --export-format writes the traffic "
		       "itself.",
	},
	{
		.name = "routers",
		.placeholder = "N",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_COUNT,
		.inapplicable = inapplicable_without_as,
		OPTION_FIELD(export_source_options, routers),
		.min = 1,
		.max = ROUTERS_MAX,
		.default_text = "1",
		.hidden = true,
		.part_of = "export-format",
		.part = ",routers=",
		.help = "Simulate N routers, each linked to all others: 192.0.2.1 and following.",
		.man = "Interface N leads to router N, interfaces 101 to 104 to networks.",
	},
	{
		.name = "path",
		.placeholder = "N",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_COUNT,
		.inapplicable = inapplicable_without_as,
		OPTION_FIELD(export_source_options, path),
		.min = 1,
		.max = ROUTERS_MAX,
		.default_note = "all",
		.hidden = true,
		.part_of = "export-format",
		.part = ",hops=",
		.help = "Route each packet through N routers, chosen by its networks.",
	},
	{
		.name = "sampling",
		.placeholder = "N",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_COUNT,
		.inapplicable = inapplicable_without_as,
		OPTION_FIELD(export_source_options, sampling),
		.min = 1,
		.max = 65535,
		.default_text = "1",
		.hidden = true,
		.part_of = "export-format",
		.part = ",sampling=",
		.help = "Sample one of N packets at random in each router.",
	},
	{
		.name = "drop",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_FRACTION,
		.inapplicable = inapplicable_without_as,
		OPTION_FIELD(export_source_options, drop),
		.zero = true,
		.default_text = "0",
		.hidden = true,
		.part_of = "export-format",
		.part = ",loss=",
		.help = "Drop each datagram with this probability. Sequence numbers count "
			"dropped datagrams.",
	},
	{0},
};

const struct option_owner export_source_owner = {
	.rows = exports_rows,
	.size = sizeof(struct export_source_options),
	.check = check_exports,
};
