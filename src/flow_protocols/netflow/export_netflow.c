/* SPDX-License-Identifier: BSD-3-Clause */

/* Encoder of NetFlow v9 (RFC 3954) and IPFIX (RFC 7011). */

#include "base/assertion.h"
#include "flow_protocols/export.h"
#include "flow_protocols/netflow/set_writer.h"

#define RANDOM_SAMPLING 2 /* samplerMode in v9 */

struct export_netflow_template {
	uint16_t id;
	const struct set_field *fields;
	uint32_t nb_fields;
};

#define FLOW_FIELDS(counter_bytes)                                                                 \
	{IE_INGRESS_INTERFACE, 4}, {IE_EGRESS_INTERFACE, 4},                                       \
		{IE_PACKET_DELTA_COUNT, counter_bytes}, {IE_OCTET_DELTA_COUNT, counter_bytes},     \
		{IE_SOURCE_PORT, 2}, {IE_DESTINATION_PORT, 2}, {IE_PROTOCOL, 1},                   \
		{IE_CLASS_OF_SERVICE, 1}, {IE_TCP_CONTROL_BITS, 1},                                \
	{                                                                                          \
		IE_DIRECTION, 1                                                                    \
	}
#define IPV4_FIELDS                                                                                \
	{IE_SOURCE_IPV4, 4}, {IE_DESTINATION_IPV4, 4},                                             \
	{                                                                                          \
		IE_NEXT_HOP_IPV4, 4                                                                \
	}
#define IPV6_FIELDS                                                                                \
	{IE_SOURCE_IPV6, 16}, {IE_DESTINATION_IPV6, 16},                                           \
	{                                                                                          \
		IE_NEXT_HOP_IPV6, 16                                                               \
	}
#define V9_TIMES                                                                                   \
	{IE_FIRST_UPTIME, 4},                                                                      \
	{                                                                                          \
		IE_LAST_UPTIME, 4                                                                  \
	}
#define IPFIX_TIMES                                                                                \
	{IE_START_MILLISECONDS, 8}, {IE_END_MILLISECONDS, 8},                                      \
	{                                                                                          \
		IE_END_REASON, 1                                                                   \
	}

static const struct set_field v9_ipv4[] = {IPV4_FIELDS, FLOW_FIELDS(4), V9_TIMES};
static const struct set_field v9_ipv6[] = {IPV6_FIELDS, FLOW_FIELDS(4), V9_TIMES};
/* Scope type 1 is the whole system (RFC 3954, 6.1). */
static const struct set_field v9_sampling[] = {
	{1, 4}, {IE_SAMPLING_INTERVAL, 4}, {IE_SAMPLING_ALGORITHM, 1}};
static const struct set_field ipfix_ipv4[] = {IPV4_FIELDS, FLOW_FIELDS(8), IPFIX_TIMES};
static const struct set_field ipfix_ipv6[] = {IPV6_FIELDS, FLOW_FIELDS(8), IPFIX_TIMES};
static const struct set_field ipfix_sampling[] = {{IE_OBSERVATION_DOMAIN, 4},
	{IE_SELECTOR_ALGORITHM, 2}, {IE_SAMPLED_PACKETS, 4}, {IE_SKIPPED_PACKETS, 4}};

#define COUNT(fields) (sizeof(fields) / sizeof((fields)[0]))
#define TEMPLATE(id, list)                                                                         \
	{                                                                                          \
		id, list, COUNT(list)                                                              \
	}

enum template_use {
	OF_IPV4,
	OF_IPV6,
	OF_SAMPLING,
	TEMPLATE_USES,
};

static const struct export_netflow_template templates_v9[TEMPLATE_USES] = {
	[OF_IPV4] = TEMPLATE(256, v9_ipv4),
	[OF_IPV6] = TEMPLATE(257, v9_ipv6),
	[OF_SAMPLING] = TEMPLATE(258, v9_sampling),
};

static const struct export_netflow_template templates_ipfix[TEMPLATE_USES] = {
	[OF_IPV4] = TEMPLATE(256, ipfix_ipv4),
	[OF_IPV6] = TEMPLATE(257, ipfix_ipv6),
	[OF_SAMPLING] = TEMPLATE(258, ipfix_sampling),
};

static const struct export_netflow_template *template_of(
	const struct export_sender *sender, enum template_use use)
{
	return sender->protocol == FLOW_PROTOCOL_NETFLOW9 ? &templates_v9[use]
							  : &templates_ipfix[use];
}

static uint32_t record_len(const struct export_netflow_template *template)
{
	uint32_t len = 0;

	for (uint32_t f = 0; f < template->nb_fields; f++)
		len += template->fields[f].len;
	return len;
}

static void close_set(struct export_message *message)
{
	if (message->set_at == 0)
		return;
	while (message->len % 4 != 0)
		message->bytes[message->len++] = 0;
	put_set_header(
		message->bytes + message->set_at, message->set_id, message->len - message->set_at);
	message->set_at = 0;
}

/* Opens a new set if necessary, and keeps room to pad it. Returns NULL if the message is full. */
static uint8_t *room_in_set(struct export_message *message, uint16_t set_id, uint32_t len)
{
	bool another = message->set_at == 0 || message->set_id != set_id;
	uint32_t needed = message->len + (another ? 3 + SET_HEADER : 0) + len + 3;
	uint8_t *at;

	if (needed > EXPORT_BYTES_MAX)
		return NULL;
	if (another) {
		close_set(message);
		message->set_at = message->len;
		message->set_id = set_id;
		message->len += SET_HEADER;
	}
	at = message->bytes + message->len;
	message->len += len;
	VERIFY(message->len, <=, EXPORT_BYTES_MAX);
	return at;
}

static void add_flow_template(struct export_message *message, const struct export_sender *sender,
	const struct export_netflow_template *template)
{
	bool v9 = sender->protocol == FLOW_PROTOCOL_NETFLOW9;
	uint8_t *at = room_in_set(message, v9 ? SET_NETFLOW9_TEMPLATES : SET_IPFIX_TEMPLATES,
		4 + 4 * template->nb_fields);

	put_template(at, template->id, template->fields, template->nb_fields);
	message->count++;
}

/* A v9 options template has the bytes of the field specifiers; IPFIX has their number. */
static void add_options_template(struct export_message *message, const struct export_sender *sender,
	const struct export_netflow_template *template)
{
	bool v9 = sender->protocol == FLOW_PROTOCOL_NETFLOW9;
	uint32_t n = template->nb_fields;
	uint8_t *at =
		room_in_set(message, v9 ? SET_NETFLOW9_OPTIONS : SET_IPFIX_OPTIONS, 6 + 4 * n);

	if (v9)
		put_fields(
			put16(put16(put16(at, template->id), 4), 4 * (n - 1)), template->fields, n);
	else
		put_options_template(at, template->id, template->fields, n);
	message->count++;
	close_set(message); /* so that its padding is not read as a template */
}

static void add_sampling(struct export_message *message, const struct export_sender *sender,
	const struct export_netflow_template *template)
{
	uint8_t *at = room_in_set(message, template->id, record_len(template));

	at = put32(at, sender->domain);
	if (sender->protocol == FLOW_PROTOCOL_NETFLOW9) {
		put8(put32(at, sender->sampling), RANDOM_SAMPLING);
	} else {
		/* selectorAlgorithm 4: uniform probabilistic sampling (RFC 5477, 8.2.2) */
		put32(put32(put16(at, 4), 1), sender->sampling - 1);
	}
	message->count++;
	message->data++;
	close_set(message);
}

static void add_templates(struct export_message *message, const struct export_sender *sender)
{
	const struct export_netflow_template *sampling = template_of(sender, OF_SAMPLING);

	add_flow_template(message, sender, template_of(sender, OF_IPV4));
	add_flow_template(message, sender, template_of(sender, OF_IPV6));
	if (sender->sampling <= 1)
		return;
	add_options_template(message, sender, sampling);
	add_sampling(message, sender, sampling);
}

static uint64_t number_of(
	const struct export_flow *flow, const struct export_sender *sender, uint16_t element)
{
	switch (element) {
	case IE_OCTET_DELTA_COUNT: return flow->bytes;
	case IE_PACKET_DELTA_COUNT: return flow->packets;
	case IE_CLASS_OF_SERVICE: return flow->tos;
	case IE_TCP_CONTROL_BITS: return flow->tcp_flags;
	case IE_INGRESS_INTERFACE: return flow->input;
	case IE_EGRESS_INTERFACE: return flow->output;
	case IE_LAST_UPTIME: return export_ms(flow->last - sender->booted);
	case IE_FIRST_UPTIME: return export_ms(flow->first - sender->booted);
	case IE_DIRECTION: return 0;
	case IE_END_REASON: return flow->end;
	case IE_START_MILLISECONDS: return (uint64_t)(flow->first / (SECOND_NS / 1000));
	case IE_END_MILLISECONDS: return (uint64_t)(flow->last / (SECOND_NS / 1000));
	default: return 0;
	}
}

static uint8_t *put_number(uint8_t *at, uint64_t number, uint32_t len)
{
	switch (len) {
	case 1: return put8(at, number);
	case 2: return put16(at, number);
	case 4: return put32(at, number);
	default: return put64(at, number);
	}
}

static uint8_t *put_mapped(uint8_t *at, const uint8_t *ipv4)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff}, none[4];

	if (memcmp(ipv4, none, sizeof(none)) == 0) {
		memset(at, 0, 16);
		return at + 16;
	}
	return put_bytes(put_bytes(at, mapped, sizeof(mapped)), ipv4, 4);
}

static uint8_t *put_field(uint8_t *at, const struct export_flow *flow,
	const struct export_sender *sender, const struct set_field *field)
{
	bool ipv4 = flow->key.family == KEY_IPV4;

	switch (field->element) {
	case IE_SOURCE_IPV4: return put_bytes(at, flow->key.v4.src_ip, 4);
	case IE_DESTINATION_IPV4: return put_bytes(at, flow->key.v4.dst_ip, 4);
	case IE_NEXT_HOP_IPV4: return put_bytes(at, flow->next_hop, 4);
	case IE_SOURCE_IPV6: return put_bytes(at, flow->key.v6.src_ip, 16);
	case IE_DESTINATION_IPV6: return put_bytes(at, flow->key.v6.dst_ip, 16);
	case IE_NEXT_HOP_IPV6: return put_mapped(at, flow->next_hop);
	case IE_SOURCE_PORT:
		return put_bytes(at, ipv4 ? flow->key.v4.src_port : flow->key.v6.src_port, 2);
	case IE_DESTINATION_PORT:
		return put_bytes(at, ipv4 ? flow->key.v4.dst_port : flow->key.v6.dst_port, 2);
	case IE_PROTOCOL: return put8(at, ipv4 ? flow->key.v4.proto : flow->key.v6.proto);
	default: return put_number(at, number_of(flow, sender, field->element), field->len);
	}
}

static bool add_flow_record(struct export_message *message, const struct export_sender *sender,
	const struct export_flow *flow)
{
	const struct export_netflow_template *template =
		template_of(sender, flow->key.family == KEY_IPV4 ? OF_IPV4 : OF_IPV6);
	uint8_t *at = room_in_set(message, template->id, record_len(template));

	if (at == NULL)
		return false;
	for (uint32_t f = 0; f < template->nb_fields; f++)
		at = put_field(at, flow, sender, &template->fields[f]);
	message->count++;
	message->data++;
	return true;
}

static uint32_t end_netflow9(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	uint8_t *at = message->bytes;

	close_set(message);
	at = put32(put16(put16(at, NETFLOW9_VERSION), message->count),
		export_ms(now - sender->booted));
	at = put32(at, (uint64_t)(now / SECOND_NS));
	put32(put32(at, sequence), sender->domain);
	return 1;
}

static uint32_t end_ipfix(struct export_message *message, const struct export_sender *sender,
	int64_t now, uint32_t sequence)
{
	close_set(message);
	put_ipfix_header(message->bytes, message->len, now, sequence, sender->domain);
	return message->data;
}

const struct export_ops export_netflow9 = {
	.suits = "NetFlow v9",
	.header = NETFLOW9_HEADER,
	.templates = add_templates,
	.flow = add_flow_record,
	.end = end_netflow9,
};

const struct export_ops export_ipfix = {
	.suits = "IPFIX",
	.header = IPFIX_HEADER,
	.templates = add_templates,
	.flow = add_flow_record,
	.end = end_ipfix,
};
