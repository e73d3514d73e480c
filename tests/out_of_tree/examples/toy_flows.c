/* SPDX-License-Identifier: BSD-3-Clause */

/* A flow protocol for tests: a header of 20 bytes, then IPv4 records of 24 bytes. */

#include "flow_protocols/big_endian.h"
#include "flow_protocols/export.h"

#define MAGIC  0x746f7946 /* "toyF" */
#define HEADER 20         /* magic, records, sequence number, domain, export time in seconds */
#define RECORD 24         /* addresses, ports, protocol, padding, packets, bytes */

static enum decode_fault read_toy_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < HEADER)
		return DECODE_SHORT;
	header->len = HEADER;
	header->count = read_u32(data + 4);
	header->sequence = read_u32(data + 8);
	header->domain = read_u32(data + 12);
	header->exported = read_u32(data + 16) * SECOND_NS;
	return DECODE_FINE;
}

static void read_record(const uint8_t *data, struct flow_record *record)
{
	flow_record_clear(record);
	record->has = FLOW_PACKETS | FLOW_BYTES;
	record->key.family = KEY_IPV4;
	memcpy(record->key.v4.src_ip, data, 4);
	memcpy(record->key.v4.dst_ip, data + 4, 4);
	memcpy(record->key.v4.src_port, data + 8, 2);
	memcpy(record->key.v4.dst_port, data + 10, 2);
	record->key.v4.proto = data[12];
	record->packets = read_u32(data + 16);
	record->bytes = read_u32(data + 20);
}

static struct decode_result decode_toy(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	struct decode_result result = {0};
	uint32_t there = (len - header->len) / RECORD;

	(void)templates;
	if (header->count != there)
		result.fault = DECODE_COUNT;
	for (uint32_t i = 0; i < header->count && i < there; i++) {
		read_record(data + header->len + i * RECORD, sink->batch);
		sink->records(sink->arg, 1);
		result.records++;
	}
	result.data_records = result.records;
	return result;
}

static bool add_record(struct export_message *message, const struct export_sender *sender,
	const struct export_flow *flow)
{
	const struct key4 *key = &flow->key.v4;
	uint8_t *at = message->bytes + message->len;

	(void)sender;
	if (message->len + RECORD > EXPORT_BYTES_MAX)
		return false;
	at = put_bytes(put_bytes(at, key->src_ip, 4), key->dst_ip, 4);
	at = put_bytes(put_bytes(at, key->src_port, 2), key->dst_port, 2);
	at = put32(put32(put32(at, (uint32_t)key->proto << 24), flow->packets), flow->bytes);
	message->len += RECORD;
	message->count++;
	return true;
}

static uint32_t end_message(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	uint8_t *at = put32(put32(message->bytes, MAGIC), message->count);

	put32(put32(put32(at, sequence), sender->domain), (uint64_t)(now / SECOND_NS));
	return 1;
}

static const struct export_ops export_toy = {
	.suits = "the toy",
	.header = HEADER,
	.ipv4_only = true,
	.flow = add_record,
	.end = end_message,
};

const struct flow_protocol_ops flow_protocol_toy_flows = {
	.name = "toy_flows",
	.version = MAGIC,
	.version_bytes = 4,
	.read_header = read_toy_header,
	.decode = decode_toy,
	.sequence = SEQUENCE_MESSAGES,
	.sampling = SAMPLING_RECORD,
	.port = 9999,
	.whole_seconds = true,
	.exports = &export_toy,
};
