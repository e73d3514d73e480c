/* SPDX-License-Identifier: BSD-3-Clause */

/* Encoder of sFlow version 5 (sflow.org, sflow_version_5.txt). */

#include "base/assertion.h"
#include "base/units.h"
#include "flow_protocols/export.h"
#include "flow_protocols/put.h"

#define FLOW_SAMPLE     1
#define COUNTER_SAMPLE  2
#define RAW_HEADER      1
#define EXTENDED_ROUTER 1002
#define GENERIC_COUNTER 1

#define SAMPLE_LEN  32 /* bytes before the records of a flow sample */
#define RAW_LEN     16 /* bytes before the sampled header */
#define ROUTER_LEN  16
#define COUNTER_LEN 12 /* bytes before the records of a counter sample */
#define GENERIC_LEN 88
#define TAG_LEN     8 /* bytes of format and length */

#define ETHERNET       1 /* header_protocol */
#define IPV4           1 /* address_type */
#define FCS_LEN        4
#define TYPE_ETHERNET  6 /* ifType (RFC 2863) */
#define FULL_DUPLEX    1
#define ADMIN_AND_OPER 3 /* both are up */

/* Returns the position for a sample of `len` bytes; NULL: the message is full. */
static uint8_t *add_tagged(struct export_message *message, uint32_t format, uint32_t len)
{
	uint8_t *at = message->bytes + message->len;

	if (message->len + TAG_LEN + len > EXPORT_BYTES_MAX)
		return NULL;
	message->len += TAG_LEN + len;
	VERIFY(message->len, <=, EXPORT_BYTES_MAX);
	message->count++;
	return put32(put32(at, format), len);
}

static uint8_t *put_raw_header(uint8_t *at, const struct export_sample *sample, uint32_t len)
{
	uint32_t padded = (len + 3) / 4 * 4;

	at = put32(put32(at, RAW_HEADER), RAW_LEN + padded);
	at = put32(put32(at, ETHERNET), sample->wire_len + FCS_LEN);
	at = put32(put32(at, FCS_LEN), len);
	at = put_bytes(at, sample->header, len);
	memset(at, 0, padded - len);
	return at + (padded - len);
}

bool export_sample(struct export_message *message, const struct export_sample *sample)
{
	uint32_t len =
		sample->captured < EXPORT_SAMPLE_BYTES ? sample->captured : EXPORT_SAMPLE_BYTES;
	uint32_t padded = (len + 3) / 4 * 4;
	uint8_t *at = add_tagged(message, FLOW_SAMPLE,
		SAMPLE_LEN + TAG_LEN + RAW_LEN + padded + TAG_LEN + ROUTER_LEN);

	if (at == NULL)
		return false;
	at = put32(put32(at, sample->sampler.sequence), sample->sampler.source);
	at = put32(put32(at, sample->sampler.sampling), sample->sampler.pool);
	at = put32(at, sample->sampler.drops);
	at = put32(put32(at, sample->input), sample->output);
	at = put_raw_header(put32(at, 2), sample, len);
	at = put32(put32(at, EXTENDED_ROUTER), ROUTER_LEN);
	at = put_bytes(put32(at, IPV4), sample->next_hop, 4);
	put32(put32(at, sample->prefix_len), sample->prefix_len);
	return true;
}

bool export_counters(struct export_message *message, uint32_t sequence,
	const struct interface_counters *counters)
{
	uint8_t *at = add_tagged(message, COUNTER_SAMPLE, COUNTER_LEN + TAG_LEN + GENERIC_LEN);

	if (at == NULL)
		return false;
	at = put32(put32(put32(at, sequence), counters->interface), 1);
	at = put32(put32(at, GENERIC_COUNTER), GENERIC_LEN);
	memset(at, 0, GENERIC_LEN);
	at = put32(put32(at, counters->interface), TYPE_ETHERNET);
	at = put64(at, counters->speed);
	at = put32(put32(at, FULL_DUPLEX), ADMIN_AND_OPER);
	at = put32(put64(at, counters->in_bytes), counters->in_packets);
	at = put32(at + 8, counters->in_discards); /* no multicasts or broadcasts */
	at = put64(at + 8, counters->out_bytes);   /* no errors or unknown protocols */
	at = put32(at, counters->out_packets);
	put32(at + 8, counters->out_discards);
	return true;
}

void export_end_sflow(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	uint8_t *at = message->bytes;

	at = put_bytes(put32(put32(at, 5), IPV4), sender->address, 4);
	at = put32(put32(at, sender->domain), sequence);
	at = put32(at, (uint64_t)((now - sender->booted) / (SECOND_NS / 1000)));
	put32(at, message->count);
}
