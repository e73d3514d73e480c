/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/exported.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/units.h"
#include "flow_protocols/export.h"
#include "flow_protocols/big_endian.h"

#define START          INT64_C(1800000000) /* export time of all messages, s since 1970-01-01 UTC */
#define FRAME_BYTES    64
#define BYTES_A_PACKET 700

struct writer {
	struct exported *exported;
	uint32_t *order;
	struct random random;
	struct export_sender sender;
	struct export_message message;
	uint32_t router, sent, sequence, samples;
	uint64_t used, room; /* bytes used and allocated in bytes[] */
	uint32_t datagrams_room;
	uint32_t in_message;
	bool no_memory;
};

static void fill_key(struct key4 *key, uint64_t flow)
{
	uint64_t random = random_mix(flow + 1);
	uint32_t number = (uint32_t)flow;

	*key = (struct key4){.proto = 6, .dst_port = {1, 187}};
	put32(key->src_ip, 0x0a000000 + number);
	memcpy(key->dst_ip, &random, sizeof(key->dst_ip));
	memcpy(key->src_port, (const char *)&random + 4, sizeof(key->src_port));
}

static bool make_room(struct writer *writer, uint32_t len)
{
	struct exported *exported = writer->exported;

	if (writer->used + len > writer->room) {
		uint64_t room = writer->room * 2 + (UINT64_C(1) << 20);
		uint8_t *bytes = realloc(exported->bytes, room);

		if (bytes == NULL)
			return false;
		exported->bytes = bytes;
		writer->room = room;
	}
	if (exported->n == writer->datagrams_room) {
		uint32_t room = writer->datagrams_room * 2 + 1024;
		void *datagrams =
			realloc(exported->datagrams, room * sizeof(exported->datagrams[0]));

		if (datagrams == NULL)
			return false;
		exported->datagrams = datagrams;
		writer->datagrams_room = room;
	}
	return true;
}

static void end_message(struct writer *writer)
{
	const struct export_ops *ops = export_ops_of(&writer->sender);
	struct exported *exported = writer->exported;
	uint32_t units;

	if (writer->in_message == 0 || writer->no_memory)
		return;
	units = ops->end(&writer->message, &writer->sender, START * SECOND_NS, writer->sequence);
	if (!make_room(writer, writer->message.len)) {
		writer->no_memory = true;
		return;
	}
	memcpy(exported->bytes + writer->used, writer->message.bytes, writer->message.len);
	exported->datagrams[exported->n++] = (struct exported_datagram){
		.at = writer->used,
		.router = writer->router,
		.sequence = writer->sequence,
		.len = writer->message.len,
		.records = writer->in_message,
	};
	writer->used += writer->message.len;
	writer->sequence += units;
	if (writer->sequence > exported->sequence_end)
		exported->sequence_end = writer->sequence;
	writer->sent++;
	writer->in_message = 0;
}

static void begin_message(struct writer *writer)
{
	if (writer->in_message > 0)
		return;
	export_begin(
		&writer->message, &writer->sender, writer->sent % EXPORTED_TEMPLATE_MESSAGES == 0);
}

static bool put_sample(struct writer *writer, const struct key4 *key)
{
	uint8_t frame[FRAME_BYTES] = {0};
	struct export_sample sample = {
		.sampler = {.source = 1,
			.sequence = writer->samples + 1,
			.sampling = EXPORTED_SAMPLING,
			.pool = (writer->samples + 1) * EXPORTED_SAMPLING},
		.header = frame,
		.captured = sizeof(frame),
		.wire_len = 1000,
		.input = 1,
		.output = 2,
	};

	put16(frame + 12, 0x0800);
	put16(put16(frame + 14, 0x4500), 986);
	put8(put8(frame + 22, 64), key->proto);
	memcpy(frame + 26, key->src_ip, 4);
	memcpy(frame + 30, key->dst_ip, 4);
	memcpy(frame + 34, key->src_port, 2);
	memcpy(frame + 36, key->dst_port, 2);
	frame[46] = 0x50;
	return export_ops_of(&writer->sender)->sample(&writer->message, &sample);
}

static bool put_flow(struct writer *writer, const struct key4 *key, uint64_t packets)
{
	const struct export_flow flow = {
		.key = {.v4 = *key, .family = KEY_IPV4},
		.packets = packets,
		.bytes = packets * BYTES_A_PACKET,
		.first = (START - 20) * SECOND_NS,
		.last = (START - 10) * SECOND_NS,
		.input = 1,
		.output = 2,
		.next_hop = {192, 0, 2, 1},
		.tcp_flags = 0x1b,
		.end = EXPORT_ACTIVE,
	};

	return export_ops_of(&writer->sender)->flow(&writer->message, &writer->sender, &flow);
}

static bool put_record(struct writer *writer, const struct key4 *key, uint64_t packets)
{
	if (export_ops_of(&writer->sender)->sample != NULL)
		return put_sample(writer, key);
	return put_flow(writer, key, packets);
}

static void add_record(struct writer *writer, uint64_t flow, uint64_t cycle)
{
	const struct exported_spec *spec = &writer->exported->spec;
	uint64_t packets = 1 + random_mix(spec->seed ^ flow << 20 ^ cycle) % 100;
	struct key4 key;

	fill_key(&key, flow);
	begin_message(writer);
	if (!put_record(writer, &key, packets)) {
		end_message(writer);
		begin_message(writer);
		put_record(writer, &key, packets);
	}
	writer->in_message++;
	writer->samples++;
	if (writer->router == 0) {
		writer->exported->packets += packets;
		writer->exported->octets += packets * BYTES_A_PACKET;
	}
}

static void shuffle(struct writer *writer)
{
	for (uint64_t i = writer->exported->spec.flows - 1; i > 0; i--) {
		uint64_t other = random_below(&writer->random, i + 1);
		uint32_t flow = writer->order[i];

		writer->order[i] = writer->order[other];
		writer->order[other] = flow;
	}
}

/* take_turns() mixes the datagrams of the routers later. */
static void write_router(struct writer *writer, uint32_t router)
{
	const struct exported_spec *spec = &writer->exported->spec;

	writer->router = router;
	writer->sent = writer->sequence = writer->samples = 0;
	writer->sender = (struct export_sender){
		.protocol = spec->protocol,
		.domain = router + 1,
		.sampling = flow_protocols[spec->protocol]->exports->sample != NULL
				    ? EXPORTED_SAMPLING
				    : 1,
		.address = {192, 0, 2, (uint8_t)(router + 1)},
		.booted = (START - 3600) * SECOND_NS,
	};
	for (uint64_t flow = 0; flow < spec->flows; flow++)
		writer->order[flow] = (uint32_t)flow;
	for (uint32_t cycle = 0; cycle < spec->cycles; cycle++) {
		shuffle(writer);
		for (uint64_t i = 0; i < spec->flows; i++)
			add_record(writer, writer->order[i], cycle);
	}
	end_message(writer);
}

/* Interleaves the datagrams of the routers, which are in order of routers. */
static bool take_turns(struct exported *exported, const uint32_t *first)
{
	struct exported_datagram *mixed = malloc(exported->n * sizeof(mixed[0]));
	uint64_t records = 0;
	uint32_t n = 0;

	if (mixed == NULL)
		return false;
	for (uint32_t i = 0; n < exported->n; i++)
		for (uint32_t r = 0; r < exported->spec.routers; r++)
			if (first[r] + i < first[r + 1]) {
				mixed[n] = exported->datagrams[first[r] + i];
				records += mixed[n].records;
				mixed[n++].records = records;
			}
	free(exported->datagrams);
	exported->datagrams = mixed;
	exported->records = records;
	return true;
}

static bool write_all(struct writer *writer)
{
	struct exported *exported = writer->exported;
	uint32_t *first = calloc(exported->spec.routers + 1, sizeof(first[0]));
	bool done;

	if (first == NULL)
		return false;
	for (uint32_t r = 0; r < exported->spec.routers; r++) {
		write_router(writer, r);
		first[r + 1] = exported->n;
	}
	done = !writer->no_memory && take_turns(exported, first);
	free(first);
	return done;
}

struct exported *exported_create(const struct exported_spec *spec)
{
	struct exported *exported = calloc(1, sizeof(*exported));
	struct writer *writer = calloc(1, sizeof(*writer));
	bool done = false;

	if (exported != NULL && writer != NULL) {
		exported->spec = *spec;
		writer->exported = exported;
		writer->order = malloc(spec->flows * sizeof(writer->order[0]));
		random_init(&writer->random, spec->seed);
		done = writer->order != NULL && write_all(writer);
		free(writer->order);
	}
	free(writer);
	if (done)
		return exported;
	exported_destroy(exported);
	return NULL;
}

void exported_destroy(struct exported *exported)
{
	if (exported == NULL)
		return;
	free(exported->bytes);
	free(exported->datagrams);
	free(exported);
}

void exported_number(struct exported *exported, uint32_t first)
{
	/* Offset of the sequence number; for sFlow, after an IPv4 agent address. */
	static const uint8_t offsets[FLOW_PROTOCOL_COUNT] = {
		[FLOW_PROTOCOL_NETFLOW5] = 16,
		[FLOW_PROTOCOL_NETFLOW9] = 12,
		[FLOW_PROTOCOL_IPFIX] = 8,
		[FLOW_PROTOCOL_SFLOW] = 16,
	};

	for (uint32_t d = 0; d < exported->n; d++) {
		const struct exported_datagram *datagram = &exported->datagrams[d];

		put32(exported->bytes + datagram->at + offsets[exported->spec.protocol],
			first + datagram->sequence);
	}
}
