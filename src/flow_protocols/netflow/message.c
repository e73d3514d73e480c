/* SPDX-License-Identifier: BSD-3-Clause */

/* Decoder of NetFlow v9 (RFC 3954) and IPFIX (RFC 7011). */

#include "base/assertion.h"
#include "base/units.h"
#include "flow_protocols/big_endian.h"
#include "flow_protocols/export.h"
#include "flow_protocols/netflow/moves.h"
#include "flow_protocols/netflow/template_entry.h"
#include "flow_protocols/packet_section.h"

struct decoding {
	const struct record_handler *sink;
	const struct datagram_header *header;
	struct templates *templates;
	struct decode_result result;
	uint32_t filled;
	bool ipfix;
};

static void set_fault(struct decoding *message, enum decode_fault fault)
{
	if (message->result.fault == DECODE_FINE)
		message->result.fault = fault;
}

/* Call it before any other callback, to keep the order of the message. */
static void flush(struct decoding *message)
{
	if (message->filled == 0)
		return;
	ASSERT(message->filled, <=, DECODE_BATCH);
	message->result.records += message->filled;
	message->sink->records(message->sink->arg, message->filled);
	message->filled = 0;
}

static void swap_bytes(uint8_t *a, uint8_t *b, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++) {
		uint8_t byte = a[i];

		a[i] = b[i];
		b[i] = byte;
	}
}

#define COUNTERS                                                                                   \
	(FLOW_PACKETS | FLOW_BYTES | FLOW_TOTAL_PACKETS | FLOW_TOTAL_BYTES | FLOW_LAYER2_BYTES |   \
		FLOW_LAYER2_TOTAL_BYTES)

static void make_reverse(struct flow_record *record, uint32_t has)
{
	struct key *key = &record->key;
	uint32_t input = record->input, input_has = record->has & FLOW_INPUT;
	uint32_t output_has = record->has & FLOW_OUTPUT;

	if (key->family == KEY_IPV4) {
		swap_bytes(key->v4.src_ip, key->v4.dst_ip, sizeof(key->v4.src_ip));
		swap_bytes(key->v4.src_port, key->v4.dst_port, sizeof(key->v4.src_port));
	} else {
		swap_bytes(key->v6.src_ip, key->v6.dst_ip, sizeof(key->v6.src_ip));
		swap_bytes(key->v6.src_port, key->v6.dst_port, sizeof(key->v6.src_port));
	}
	record->input = record->output;
	record->output = input;
	record->has &= ~(COUNTERS | FLOW_INPUT | FLOW_OUTPUT | FLOW_NEXT_HOP);
	record->has |= has | FLOW_REVERSE | (input_has != 0 ? FLOW_OUTPUT : 0) |
		       (output_has != 0 ? FLOW_INPUT : 0);
	record->packets = record->bytes = record->total_packets = record->total_bytes = 0;
	record->extra.tcp_flags[0] = 0;
	memset(record->next_hop, 0, sizeof(record->next_hop));
	record->next_hop_ipv6 = false;
}

static inline bool has_counts(const struct flow_record *record)
{
	return (record->packets | record->bytes | record->total_packets | record->total_bytes) != 0;
}

/*
 * records[i] and reverse[i] are the directions of a flow. Removes directions without packets, but
 * never both. Returns the number left in `reverse`.
 */
static uint32_t keep_with_counts(
	struct flow_record *records, struct flow_record *reverse, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!has_counts(&reverse[i]))
			continue;
		if (has_counts(&records[i]))
			reverse[kept++] = reverse[i];
		else
			records[i] = reverse[i];
	}
	return kept;
}

static void decode_reverse(struct decoding *message, const struct template_entry *entry,
	const uint8_t *const *from, struct flow_record *records, uint32_t n)
{
	struct flow_record *reverse = records + n;

	for (uint32_t i = 0; i < n; i++) {
		reverse[i] = records[i];
		make_reverse(&reverse[i], entry->reverse_has);
	}
	for (uint32_t i = entry->nb_moves - entry->nb_reverse; i < entry->nb_moves; i++)
		move_make(&entry->moves[i], from[i], entry->record_len, reverse, n);
	message->filled += keep_with_counts(records, reverse, n);
}

#define NTP_EPOCH  INT64_C(2208988800)
#define AGE_MAX_MS (INT64_C(1) << 31)

/* Returns ms since 1970-01-01 UTC: the first ms of a start in seconds, the last ms of an end. */
static int64_t time_ms(uint64_t time, enum element_use use)
{
	switch (use) {
	case USE_START_SECONDS: return (int64_t)(time & UINT32_MAX) * 1000;
	case USE_END_SECONDS: return (int64_t)(time & UINT32_MAX) * 1000 + 999;
	case USE_START_NTP:
	case USE_END_NTP:
		return ((int64_t)(time >> 32) - NTP_EPOCH) * 1000 +
		       (int64_t)((time & UINT32_MAX) * 1000 >> 32);
	default: return (int64_t)(time & (UINT64_MAX >> 1));
	}
}

#define HEADER_CUT_MS 999

static int64_t age_of(
	const struct decoding *message, enum element_use use, uint64_t time, int64_t cut)
{
	uint32_t uptime = message->header->uptime;
	int64_t age;

	if (use != USE_START_UPTIME && use != USE_END_UPTIME)
		age = message->header->exported / 1000000 + HEADER_CUT_MS - time_ms(time, use);
	else
		age = uptime > 0 ? (int64_t)(uptime - (uint32_t)time) : -1;
	if (time == 0 || age < 0 || age > AGE_MAX_MS)
		return -1;
	if (use == USE_START_UPTIME || use == USE_END_UPTIME)
		return age;
	return age > HEADER_CUT_MS - cut ? age - (HEADER_CUT_MS - cut) : 0;
}

static void set_age(struct flow_record *record, int64_t age)
{
	record->age = age >= 0 ? (uint32_t)age : 0;
	record->has |= age >= 0 ? FLOW_AGE : 0;
}

static void set_idle(struct flow_record *record, int64_t idle)
{
	if (idle < 0 || (record->has & FLOW_AGE && (uint32_t)idle > record->age))
		return;
	record->idle = (uint32_t)idle;
	record->has |= FLOW_IDLE;
}

/* Pairs of times that most templates have. */
enum time_pair {
	TIME_PAIR_OTHER,
	TIME_PAIR_UPTIME,       /* 4 bytes each */
	TIME_PAIR_MILLISECONDS, /* 8 bytes each */
};

static enum time_pair time_pair(const struct decoding *message, const struct template_entry *entry)
{
	uint32_t start_len = entry->moves[entry->start_move].to;
	uint32_t end_len = entry->moves[entry->end_move].to;

	if (entry->start == USE_START_UPTIME && entry->end == USE_END_UPTIME && start_len == 4 &&
		end_len == 4 && message->header->uptime > 0)
		return TIME_PAIR_UPTIME;
	if (entry->start == USE_START_MILLISECONDS && entry->end == USE_END_MILLISECONDS &&
		start_len == 8 && end_len == 8)
		return TIME_PAIR_MILLISECONDS;
	return TIME_PAIR_OTHER;
}

static const uint32_t time_pair_has[] = {
	[TIME_PAIR_OTHER] = 0,
	[TIME_PAIR_UPTIME] = FLOW_AGE | FLOW_IDLE,
	[TIME_PAIR_MILLISECONDS] = FLOW_AGE | FLOW_IDLE | FLOW_CUT_TIMES,
};

/* exported: ms, truncated by up to `cut` ms. The flags of the times are set already. */
static inline void set_ms(uint64_t exported, const uint32_t cut, const uint8_t *start,
	const uint8_t *end, const uint32_t len, uint32_t stride, struct flow_record *records,
	uint32_t n)
{
	for (uint32_t i = 0; i < n; i++, start += stride, end += stride) {
		uint64_t first = len == 8 ? read_u64(start) : read_u32(start);
		uint64_t last = len == 8 ? read_u64(end) : read_u32(end);
		uint64_t age = exported - first, idle = exported - last;

		if (len == 4) {
			age = (uint32_t)age;
			idle = (uint32_t)idle;
		}
		age += cut;
		if ((int64_t)idle < 0 && (int64_t)idle >= -(int64_t)cut)
			idle = 0;
		if (__builtin_expect(idle > age || age > AGE_MAX_MS, 0)) {
			records[i].has &= ~(uint32_t)(FLOW_AGE | FLOW_IDLE | FLOW_CUT_TIMES);
			continue;
		}
		records[i].age = (uint32_t)age;
		records[i].idle = (uint32_t)idle;
	}
}

static void set_other_times(const struct decoding *message, const struct template_entry *entry,
	const uint8_t *start, const uint8_t *end, struct flow_record *records, uint32_t n)
{
	enum element_use first = (enum element_use)entry->start;
	enum element_use last = (enum element_use)entry->end;
	uint32_t start_len = entry->moves[entry->start_move].to;
	uint32_t end_len = entry->moves[entry->end_move].to;

	for (uint32_t i = 0; i < n; i++, start += entry->record_len, end += entry->record_len) {
		if (first != USE_START_UPTIME || last != USE_END_UPTIME)
			records[i].has |= FLOW_CUT_TIMES;
		if (first != 0)
			set_age(&records[i], age_of(message, first, read_number(start, start_len),
						     HEADER_CUT_MS));
		if (last != 0)
			set_idle(&records[i], age_of(message, last, read_number(end, end_len), 0));
	}
}

static void set_times(const struct decoding *message, const struct template_entry *entry,
	enum time_pair pair, const uint8_t *const *from, struct flow_record *records, uint32_t n)
{
	const uint8_t *start = from[entry->start_move], *end = from[entry->end_move];

	if (pair == TIME_PAIR_UPTIME)
		set_ms(message->header->uptime, 0, start, end, 4, entry->record_len, records, n);
	else if (pair == TIME_PAIR_MILLISECONDS)
		set_ms((uint64_t)message->header->exported / 1000000, HEADER_CUT_MS, start, end, 8,
			entry->record_len, records, n);
	else
		set_other_times(message, entry, start, end, records, n);
}

/* In the first record, from[i] points to the field that entry->moves[i] reads. */
static void make_rows(struct decoding *message, const struct template_entry *entry,
	const uint8_t *const *from, uint32_t n)
{
	struct flow_record *records = message->sink->batch + message->filled;
	enum time_pair pair = time_pair(message, entry);
	struct flow_record start = {
		.has = entry->has | time_pair_has[pair], .template_id = entry->id};
	uint32_t forward = entry->nb_moves - entry->nb_reverse;

	ASSERT(message->filled + n, <=, DECODE_BATCH);
	ASSERT(entry->nb_reverse, <=, entry->nb_moves);
	ASSERT(entry->nb_moves, <=, MOVES_MAX);
	start.key.family = entry->family == KEY_IPV6 ? KEY_IPV6 : KEY_IPV4;
	for (uint32_t i = 0; i < n; i++)
		flow_record_copy(&records[i], &start);
	for (uint32_t i = 0; i < forward; i++)
		move_make(&entry->moves[i], from[i], entry->record_len, records, n);
	if (entry->both_families)
		move_choose_family(records, n);
	if (entry->sampling)
		move_end_sampling(records, n);
	if (entry->start != 0 || entry->end != 0)
		set_times(message, entry, pair, from, records, n);
}

static void add_rows(struct decoding *message, const struct template_entry *entry,
	const uint8_t *const *from, uint32_t n)
{
	struct flow_record *records = message->sink->batch + message->filled;

	message->filled += n;
	if (entry->nb_reverse != 0)
		decode_reverse(message, entry, from, records, n);
}

static void decode_rows(struct decoding *message, const struct template_entry *entry,
	const uint8_t *const *from, uint32_t n)
{
	make_rows(message, entry, from, n);
	add_rows(message, entry, from, n);
}

/* IPFIX pads with zeros (RFC 7011, 3.3.1). NetFlow v9 pads with up to 3 bytes of any value. */
#define NETFLOW9_PADDING_MAX 3

static void check_rest(struct decoding *message, const uint8_t *data, uint32_t len)
{
	if ((message->ipfix || len > NETFLOW9_PADDING_MAX) && !flow_protocol_is_padding(data, len))
		set_fault(message, DECODE_LENGTH);
}

static uint32_t batch_room(struct decoding *message, const struct template_entry *entry)
{
	uint32_t each = entry->nb_reverse != 0 ? 2 : 1;

	if (message->filled + each > DECODE_BATCH)
		flush(message);
	return (DECODE_BATCH - message->filled) / each;
}

/* Records of non-IP frames are counted without a reason. */
static void skip_records(struct decoding *message, const struct template_entry *entry, uint32_t n)
{
	if (entry->harmless)
		message->result.harmless += n;
	if (entry->non_ip)
		message->result.unusable += n;
	else if (n > 0)
		flow_protocol_skip(
			&message->result, (enum decode_skip)entry->skip, entry->section, n);
}

static void decode_fixed(struct decoding *message, const struct template_entry *entry,
	const uint8_t *data, uint32_t len)
{
	uint32_t left = len / entry->record_len, rest = len % entry->record_len;

	message->result.data_records += left;
	if (!entry->usable) {
		skip_records(message, entry, left);
		check_rest(message, data + len - rest, rest);
		return;
	}
	while (left != 0) {
		const uint8_t *from[MOVES_MAX];
		uint32_t room = batch_room(message, entry), n = left < room ? left : room;

		for (uint32_t i = 0; i < entry->nb_moves; i++)
			from[i] = data + entry->moves[i].from;
		decode_rows(message, entry, from, n);
		data += n * entry->record_len;
		left -= n;
	}
	check_rest(message, data, rest);
}

/* `sections` may be NULL. Returns the length of the record, 0 if truncated. */
static uint32_t walk_record(const struct template_entry *entry, const uint8_t *data, uint32_t left,
	const uint8_t **from, struct sections *sections)
{
	const uint8_t *field_moves = template_field_moves(entry), *begin = data;
	const uint8_t *at = template_fields(entry);
	const uint8_t *end = template_fields_end(entry);

	for (uint32_t i = 0; i < entry->nb_fields; i++) {
		struct field field;
		uint32_t len, before = 0;

		at += field_read(at, (uint32_t)(end - at), entry->ipfix, &field);
		len = field.len;
		if (len == FIELD_VARIABLE) {
			len = field_variable_len(data, left, &before);
			if (before == 0)
				return 0;
		}
		if (before + len > left)
			return 0;
		if (field_moves[i] != NO_MOVE)
			from[field_moves[i]] = data + entry->moves[field_moves[i]].from;
		if (sections != NULL)
			sections_add(sections, &field, data + before, len);
		data += before + len;
		left -= before + len;
	}
	return (uint32_t)(data - begin);
}

struct key_parts {
	uint8_t *src_ip, *dst_ip, *src_port, *dst_port, *proto;
	uint32_t address_len;
};

static struct key_parts parts_of(struct key *key)
{
	if (key->family == KEY_IPV4)
		return (struct key_parts){key->v4.src_ip, key->v4.dst_ip, key->v4.src_port,
			key->v4.dst_port, &key->v4.proto, sizeof(key->v4.src_ip)};
	return (struct key_parts){key->v6.src_ip, key->v6.dst_ip, key->v6.src_port,
		key->v6.dst_port, &key->v6.proto, sizeof(key->v6.src_ip)};
}

#define SRC_ADDRESSES (USE_BIT(USE_SRC_IPV4) | USE_BIT(USE_SRC_IPV6))
#define DST_ADDRESSES (USE_BIT(USE_DST_IPV4) | USE_BIT(USE_DST_IPV6))

/* Copies a field of `bits` from a to b. Returns false if `must` is set and the values differ. */
static bool put_field(
	uint32_t uses, uint32_t bits, const uint8_t *a, uint8_t *b, uint32_t len, bool must)
{
	if (!(uses & bits))
		return true;
	if (must && memcmp(a, b, len) != 0)
		return false;
	memcpy(b, a, len);
	return true;
}

/* Returns false if the section has other addresses than the record: in a tunnel or before NAT. */
static bool complete_key(uint32_t uses, struct key *key, struct key *of_section)
{
	struct key_parts fields = parts_of(key), section = parts_of(of_section);
	bool addresses = uses & (SRC_ADDRESSES | DST_ADDRESSES);

	if (addresses && flow_protocol_is_padding(fields.src_ip, fields.address_len) &&
		flow_protocol_is_padding(fields.dst_ip, fields.address_len)) {
		uses &= ~(SRC_ADDRESSES | DST_ADDRESSES);
		addresses = false;
	}
	if (addresses && key->family != of_section->family)
		return false;
	if (!put_field(uses, SRC_ADDRESSES, fields.src_ip, section.src_ip, section.address_len,
		    true) ||
		!put_field(uses, DST_ADDRESSES, fields.dst_ip, section.dst_ip, section.address_len,
			true) ||
		!put_field(uses, USE_BIT(USE_PROTO), fields.proto, section.proto, 1, addresses))
		return false;
	put_field(uses, USE_BIT(USE_SRC_PORT), fields.src_port, section.src_port, 2, false);
	put_field(uses, USE_BIT(USE_DST_PORT), fields.dst_port, section.dst_port, 2, false);
	*key = *of_section;
	return true;
}

static void complete_extra(
	uint32_t uses, struct key_extra *extra, const struct key_extra *of_section)
{
#define COMPLETE(name, word, ...)                                                                  \
	if (!(uses & USE_BIT(USE_##name)))                                                         \
		memcpy(extra->word, of_section->word, sizeof(extra->word));
	KEY_EXTRA_FIELDS(COMPLETE)
}

/* `bytes`: layer 3; 0: unknown */
static void set_packet_counts(struct flow_record *record, const struct template_entry *entry,
	const struct sections *sections, uint64_t bytes)
{
	if (entry->report) {
		record->packets = 1;
		record->has |= FLOW_PACKETS | FLOW_SAMPLE | FLOW_SAMPLED;
	}
	if (record->packets != 1 || record->has & (FLOW_BYTES | FLOW_TOTAL_BYTES))
		return;
	if (sections->ip_length > 0)
		bytes = sections->ip_length;
	record->bytes = bytes > 0 ? bytes : sections->frame;
	if (record->bytes > 0)
		record->has |= FLOW_BYTES | (bytes > 0 ? 0 : FLOW_LAYER2_BYTES);
}

static void skip_packet(
	struct decoding *message, const struct template_entry *entry, enum section_verdict verdict)
{
	switch (verdict) {
	case SECTION_NON_IP:
		message->result.unusable++;
		message->result.harmless++;
		break;
	case SECTION_OFFSET:
		flow_protocol_skip(&message->result, DECODE_SKIP_OFFSET, entry->section, 1);
		break;
	case SECTION_OTHER:
		flow_protocol_skip(&message->result, DECODE_SKIP_SECTION, entry->section, 1);
		break;
	default: flow_protocol_skip(&message->result, DECODE_SKIP_HEADER, 0, 1);
	}
}

static void decode_packet(struct decoding *message, const struct template_entry *entry,
	const uint8_t *const *from, struct sections *sections)
{
	struct flow_record *record = message->sink->batch + message->filled;
	struct packet_flow packet;
	enum section_verdict verdict = sections_read(sections, &packet);

	if (verdict != SECTION_FLOW && !(entry->uses & (SRC_ADDRESSES | DST_ADDRESSES))) {
		skip_packet(message, entry, verdict);
		return;
	}
	make_rows(message, entry, from, 1);
	if (verdict == SECTION_FLOW && complete_key(entry->uses, &record->key, &packet.key)) {
		complete_extra(entry->uses, &record->extra, &packet.extra);
		if (record->ttl == 0) {
			record->ttl = packet.ttl;
			record->segment = packet.segment;
		}
	}
	set_packet_counts(record, entry, sections, packet.bytes);
	add_rows(message, entry, from, 1);
}

static void decode_variable(struct decoding *message, const struct template_entry *entry,
	const uint8_t *data, uint32_t len)
{
	while (len >= entry->record_len) {
		const uint8_t *from[MOVES_MAX];
		struct sections sections;
		uint32_t record_len;

		if (entry->packet)
			sections = (struct sections){0};
		record_len = walk_record(entry, data, len, from, entry->packet ? &sections : NULL);
		if (record_len == 0) {
			set_fault(message, DECODE_LENGTH);
			return;
		}
		message->result.data_records++;
		if (entry->usable) {
			batch_room(message, entry);
			if (entry->packet)
				decode_packet(message, entry, from, &sections);
			else
				decode_rows(message, entry, from, 1);
		} else {
			skip_records(message, entry, 1);
		}
		message->result.work += entry->nb_fields;
		data += record_len;
		len -= record_len;
	}
	check_rest(message, data, len);
}

static void decode_options(struct decoding *message, const struct template_entry *entry,
	const uint8_t *data, uint32_t len)
{
	flush(message);
	while (len >= entry->record_len) {
		struct option_record option;
		uint32_t record_len = option_read(entry, data, len, &option);

		if (record_len == 0) {
			set_fault(message, DECODE_LENGTH);
			break;
		}
		message->result.data_records++;
		message->result.options++;
		message->result.work += entry->nb_fields;
		if (option.has & (OPTION_RECORD_SAMPLING | OPTION_RECORD_FLOWS |
					 OPTION_RECORD_NAME) ||
			option.has_lost != 0)
			message->sink->option(message->sink->arg, &option);
		data += record_len;
		len -= record_len;
	}
	check_rest(message, data, len);
}

static void decode_data(struct decoding *message, uint16_t id, const uint8_t *data, uint32_t len)
{
	const struct template_entry *entry = templates_find(message->templates, id);

	if (entry == NULL) {
		flush(message);
		message->result.unknown_sets = true;
		message->sink->unknown(message->sink->arg, id, data, len);
	} else if (entry->options) {
		decode_options(message, entry, data, len);
	} else if (entry->variable) {
		decode_variable(message, entry, data, len);
	} else {
		decode_fixed(message, entry, data, len);
	}
}

static void template_known(void *arg, uint16_t id)
{
	struct decoding *message = arg;

	flush(message);
	message->sink->template_known(message->sink->arg, id);
}

static void decode_templates(
	struct decoding *message, uint16_t set_id, const uint8_t *data, uint32_t len)
{
	uint32_t nb;
	enum decode_fault fault = templates_read_set(
		message->templates, set_id, data, len, template_known, message, &nb);

	message->result.templates += nb;
	if (fault != DECODE_FINE)
		set_fault(message, fault);
}

static void decode_set(struct decoding *message, uint16_t set_id, const uint8_t *data, uint32_t len)
{
	uint16_t templates = message->ipfix ? SET_IPFIX_TEMPLATES : SET_NETFLOW9_TEMPLATES;

	if (set_id >= SET_DATA)
		decode_data(message, set_id, data, len);
	else if (set_id == templates || set_id == templates + 1)
		decode_templates(message, set_id, data, len);
	else
		set_fault(message, DECODE_SET);
}

static uint32_t decode_sets(struct decoding *message, const uint8_t *data, uint32_t len)
{
	uint32_t nb_sets = 0;

	while (len >= SET_HEADER) {
		uint32_t set_len = read_u16(data + 2);

		if (set_len < SET_HEADER) {
			if (!flow_protocol_is_padding(data, len))
				set_fault(message, DECODE_SET);
			return nb_sets;
		}
		if (set_len > len) {
			set_fault(message, DECODE_LENGTH);
			set_len = len;
		}
		decode_set(message, read_u16(data), data + SET_HEADER, set_len - SET_HEADER);
		nb_sets++;
		data += set_len;
		len -= set_len;
	}
	if (!flow_protocol_is_padding(data, len))
		set_fault(message, DECODE_LENGTH);
	return nb_sets;
}

/* Exporters count all records (RFC 3954, 5.1), data records, flow records (softflowd), or sets. */
static void check_count(
	struct decoding *message, const struct datagram_header *header, uint32_t nb_sets)
{
	const struct decode_result *result = &message->result;

	if (message->ipfix || result->unknown_sets ||
		header->count == result->data_records + result->templates ||
		header->count == result->data_records ||
		header->count == result->data_records - result->options || header->count == nb_sets)
		return;
	set_fault(message, DECODE_COUNT);
}

static struct decoding begin(const struct datagram_header *header, struct templates *templates,
	const struct record_handler *sink)
{
	return (struct decoding){
		.sink = sink,
		.header = header,
		.templates = templates,
		.ipfix = header->protocol == FLOW_PROTOCOL_IPFIX,
	};
}

static struct decode_result decode_message(const struct datagram_header *header,
	struct templates *templates, const uint8_t *data, uint32_t len,
	const struct record_handler *sink)
{
	struct decoding message = begin(header, templates, sink);
	uint32_t nb_sets;
	uint64_t work;

	if (len < header->len || header->total < header->len)
		return (struct decode_result){.fault = DECODE_SHORT};
	if (header->total > len)
		set_fault(&message, DECODE_LENGTH);
	else
		len = header->total;
	templates_begin(templates, len);
	work = templates_work(templates);
	nb_sets = decode_sets(&message, data + header->len, len - header->len);
	flush(&message);
	check_count(&message, header, nb_sets);
	message.result.work += templates_work(templates) - work;
	return message.result;
}

struct decode_result flow_protocol_decode_set(const struct datagram_header *header,
	struct templates *templates, uint16_t template_id, const uint8_t *set, uint32_t len,
	const struct record_handler *sink)
{
	struct decoding message = begin(header, templates, sink);

	decode_data(&message, template_id, set, len);
	flush(&message);
	return message.result;
}

static enum decode_fault read_netflow9_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < NETFLOW9_HEADER)
		return DECODE_SHORT;
	header->len = NETFLOW9_HEADER;
	header->count = read_u16(data + 2);
	header->uptime = read_u32(data + 4);
	header->exported = read_u32(data + 8) * SECOND_NS;
	header->sequence = read_u32(data + 12);
	header->domain = read_u32(data + 16);
	return DECODE_FINE;
}

const struct flow_protocol_ops flow_protocol_netflow9 = {
	.name = "netflow9",
	.version = NETFLOW9_VERSION,
	.version_bytes = 2,
	.read_header = read_netflow9_header,
	.decode = decode_message,
	.sequence = SEQUENCE_MESSAGES,
	.sampling = SAMPLING_RECORD,
	.port = 2055,
	.has_templates = true,
	.whole_seconds = true,
	.exports = &export_netflow9,
};

static enum decode_fault read_ipfix_header(
	const uint8_t *data, uint32_t len, struct datagram_header *header)
{
	if (len < IPFIX_HEADER)
		return DECODE_SHORT;
	header->len = IPFIX_HEADER;
	header->total = read_u16(data + 2);
	header->exported = read_u32(data + 4) * SECOND_NS;
	header->sequence = read_u32(data + 8);
	header->domain = read_u32(data + 12);
	return header->total < IPFIX_HEADER || header->total > len ? DECODE_LENGTH : DECODE_FINE;
}

static bool is_framed_ipfix(const uint8_t *data, uint32_t len)
{
	uint32_t total, set, set_len;

	if (len < IPFIX_HEADER + SET_HEADER || read_u16(data) != IPFIX_VERSION)
		return false;
	total = read_u16(data + 2);
	set = read_u16(data + IPFIX_HEADER);
	set_len = read_u16(data + IPFIX_HEADER + 2);
	return total >= IPFIX_HEADER + set_len && set_len >= SET_HEADER &&
	       (set == SET_IPFIX_TEMPLATES || set == SET_IPFIX_OPTIONS || set >= SET_DATA);
}

const struct flow_protocol_ops flow_protocol_ipfix = {
	.name = "ipfix",
	.version = IPFIX_VERSION,
	.version_bytes = 2,
	.read_header = read_ipfix_header,
	.decode = decode_message,
	.is_framed = is_framed_ipfix,
	.sequence = SEQUENCE_RECORDS,
	.sampling = SAMPLING_RECORD,
	.port = 4739,
	.has_templates = true,
	.whole_seconds = true,
	.process_domain = true,
	.exports = &export_ipfix,
};
