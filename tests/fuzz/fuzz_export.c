/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as successive datagrams of NetFlow v5, v9 and IPFIX exporters, each after two bytes of
 * its length. Decoded records are consistent, templates stay within their limit, and templates that
 * were saved and loaded again decode all data sets like the originals.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flow_protocols/big_endian.h"
#include "flow_protocols/netflow/template.h"
#include "flow_protocols/netflow/template_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define DOMAINS_MAX    6
#define DATAGRAMS_MAX  64
#define TEMPLATE_BYTES 2048

struct domain {
	enum flow_protocol protocol;
	uint32_t number;
	struct templates *templates;
};

struct datagram {
	uint8_t *bytes; /* exact length, so that ASan detects an overread */
	uint32_t len;
	struct datagram_header header;
	struct domain *domain; /* NULL: not decoded */
};

/* Everything the record handler received; begin and end are those of the datagram. */
struct told {
	struct flow_record batch[DECODE_BATCH];
	const uint8_t *begin, *end;
	uint32_t records, reverse, options, unknown, known;
	uint64_t digest;
};

static struct domain domains[DOMAINS_MAX];
static struct datagram datagrams[DATAGRAMS_MAX];
static uint32_t nb_domains, nb_datagrams;

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void digest(struct told *told, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	for (size_t i = 0; i < len; i++)
		told->digest = (told->digest ^ bytes[i]) * UINT64_C(0x100000001b3);
}

static void check_key(const struct flow_record *record)
{
	const struct key *key = &record->key;

	require(key->family == KEY_IPV4 || key->family == KEY_IPV6);
	if (key->family == KEY_IPV4)
		require(key->v4.spare[0] == 0 && key->v4.spare[1] == 0 && key->v4.reserved == 0);
	else
		require(key->v6.spare[0] == 0 && key->v6.spare[1] == 0 && key->v6.reserved == 0);
	require(read_u16(record->extra.vlan) < 1 << 12);
	require(record->extra.dscp[0] < 1 << 6);
	require(read_number(record->extra.mpls, 3) < 1 << 20);
	require(record->extra.in_port[0] == 0 && record->extra.in_port[1] == 0);
}

/* Fields that are missing in a record are 0. */
static void check_record(const struct flow_record *record)
{
	static const uint8_t none[16];
	uint32_t has = record->has;

	require((has & FLOW_SAMPLE) == 0 || record->packets == 1);
	require((has & FLOW_PACKETS) != 0 || record->packets == 0);
	require((has & FLOW_BYTES) != 0 || record->bytes == 0);
	require((has & FLOW_TOTAL_PACKETS) != 0 || record->total_packets == 0);
	require((has & FLOW_TOTAL_BYTES) != 0 || record->total_bytes == 0);
	require((has & FLOW_LAYER2_BYTES) == 0 || (has & FLOW_BYTES) != 0);
	require((has & FLOW_LAYER2_TOTAL_BYTES) == 0 || (has & FLOW_TOTAL_BYTES) != 0);
	require((has & FLOW_AGE) != 0 || record->age == 0);
	require(record->vlan_tags <= 2);
	require((has & FLOW_INPUT) != 0 || record->input == 0);
	require((has & FLOW_OUTPUT) != 0 || record->output == 0);
	require((has & FLOW_SAMPLER) != 0 || record->sampler == 0);
	require(((has & FLOW_SAMPLING) != 0) == (record->sampling != 0));
	require(((has & FLOW_NEXT_HOP) != 0) == (memcmp(record->next_hop, none, 16) != 0));
	require((has & FLOW_NEXT_HOP) != 0 || !record->next_hop_ipv6);
	require(record->direction <= ((has & FLOW_DIRECTION) != 0 ? FLOW_EGRESS : 0));
}

static void digest_record(struct told *told, const struct flow_record *record)
{
	if (record->key.family == KEY_IPV4)
		digest(told, &record->key.v4, sizeof(record->key.v4));
	else
		digest(told, &record->key.v6, sizeof(record->key.v6));
	digest(told, &record->extra, sizeof(record->extra));
	digest(told, &record->has, sizeof(record->has));
	digest(told, &record->input, sizeof(record->input));
	digest(told, &record->output, sizeof(record->output));
	digest(told, &record->sampling, sizeof(record->sampling));
	digest(told, &record->sampler, sizeof(record->sampler));
	digest(told, &record->packets, sizeof(record->packets));
	digest(told, &record->bytes, sizeof(record->bytes));
	digest(told, &record->total_packets, sizeof(record->total_packets));
	digest(told, &record->total_bytes, sizeof(record->total_bytes));
	digest(told, &record->age, sizeof(record->age));
	digest(told, record->next_hop, sizeof(record->next_hop));
	digest(told, &record->direction, sizeof(record->direction));
}

static void take_records(void *arg, uint32_t n)
{
	struct told *told = arg;

	require(n > 0 && n <= DECODE_BATCH);
	for (uint32_t i = 0; i < n; i++) {
		check_key(&told->batch[i]);
		check_record(&told->batch[i]);
		digest_record(told, &told->batch[i]);
		told->reverse += (told->batch[i].has & FLOW_REVERSE) != 0;
	}
	told->records += n;
}

static void take_option(void *arg, const struct option_record *option)
{
	struct told *told = arg;
	bool named = (option->has & OPTION_RECORD_NAME) != 0;

	require(((option->has & OPTION_RECORD_SAMPLING) != 0) == (option->sampling != 0));
	require(named == (option->name_len != 0));
	if (named) {
		require(option->name >= told->begin && option->name < told->end);
		require(option->name_len <= (size_t)(told->end - option->name));
		digest(told, option->name, option->name_len);
	}
	digest(told, &option->has, sizeof(option->has));
	digest(told, &option->interface, sizeof(option->interface));
	digest(told, &option->sampler, sizeof(option->sampler));
	digest(told, &option->sampling, sizeof(option->sampling));
	told->options++;
}

static void take_unknown(void *arg, uint16_t id, const uint8_t *set, uint32_t len)
{
	struct told *told = arg;

	require(id >= SET_DATA);
	require(set >= told->begin && len <= (size_t)(told->end - set));
	digest(told, set, len);
	told->unknown++;
}

static void take_known(void *arg, uint16_t id)
{
	struct told *told = arg;

	require(id >= SET_DATA);
	told->known++;
}

static void take_counters(void *arg, const struct interface_counters *counters)
{
	(void)arg;
	(void)counters;
	abort();
}

static void take_sampler(void *arg, const struct sampler_state *sampler)
{
	(void)arg;
	(void)sampler;
	abort();
}

static struct record_handler sink_of(struct told *told, const struct datagram *datagram)
{
	*told = (struct told){.begin = datagram->bytes, .end = datagram->bytes + datagram->len};
	return (struct record_handler){
		.batch = told->batch,
		.arg = told,
		.records = take_records,
		.option = take_option,
		.unknown = take_unknown,
		.template_known = take_known,
		.counters = take_counters,
		.sampler = take_sampler,
	};
}

/*
 * A biflow yields one record per direction with packets; without packets, one for the first
 * direction.
 */
static void check_records(uint32_t flows, const struct told *told)
{
	require(told->records - told->reverse <= flows);
	require(told->records >= flows && told->records - flows <= told->reverse);
}

static void check_result(const struct decode_result *result, const struct told *told)
{
	require(result->fault < DECODE_FAULT_COUNT);
	require(result->records == told->records);
	require(result->harmless <= result->unusable);
	require(told->options <= result->options);
	require(told->known <= result->templates);
	require(result->unknown_sets == (told->unknown != 0));
	check_records(result->data_records - result->options - result->unusable, told);
	require(result->samples == 0);
}

static struct domain *find_domain(const struct datagram_header *header)
{
	struct domain *domain;

	for (uint32_t i = 0; i < nb_domains; i++)
		if (domains[i].protocol == header->protocol && domains[i].number == header->domain)
			return &domains[i];
	if (nb_domains == DOMAINS_MAX)
		return NULL;
	domain = &domains[nb_domains++];
	domain->protocol = header->protocol;
	domain->number = header->domain;
	domain->templates = templates_create(TEMPLATE_BYTES);
	require(domain->templates != NULL);
	return domain;
}

static void decode(struct datagram *datagram)
{
	enum decode_fault fault =
		flow_protocol_read_header(datagram->bytes, datagram->len, &datagram->header);
	struct record_handler sink;
	struct decode_result result;
	static struct told told;

	if ((fault != DECODE_FINE && fault != DECODE_LENGTH) ||
		datagram->header.protocol == FLOW_PROTOCOL_SFLOW)
		return;
	datagram->domain = find_domain(&datagram->header);
	if (datagram->domain == NULL)
		return;
	sink = sink_of(&told, datagram);
	result = flow_protocol_decode(&datagram->header, datagram->domain->templates,
		datagram->bytes, datagram->len, &sink);
	check_result(&result, &told);
	require(templates_bytes(datagram->domain->templates) <= TEMPLATE_BYTES);
}

static void take_again(void *arg, const uint8_t *set, uint32_t len)
{
	struct domain *copy = arg;

	require(len >= 4 + SET_HEADER && read_u16(set + 2) == len);
	require(templates_take(copy->templates, copy->protocol, set, len));
}

static void decode_alike(const struct domain *copy, const struct datagram *datagram, uint16_t id,
	const uint8_t *set, uint32_t len)
{
	static struct told told[2];
	struct templates *both[2] = {datagram->domain->templates, copy->templates};
	struct decode_result result[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct record_handler sink = sink_of(&told[i], datagram);

		result[i] =
			flow_protocol_decode_set(&datagram->header, both[i], id, set, len, &sink);
		check_result(&result[i], &told[i]);
	}
	require(result[0].fault == result[1].fault);
	require(result[0].data_records == result[1].data_records);
	require(result[0].records == result[1].records);
	require(result[0].harmless == result[1].harmless);
	require(told[0].digest == told[1].digest);
}

static void decode_sets_alike(const struct domain *copy, const struct datagram *datagram)
{
	uint32_t at = datagram->header.len;

	while (at + SET_HEADER <= datagram->len) {
		uint16_t id = read_u16(datagram->bytes + at);
		uint32_t len = read_u16(datagram->bytes + at + 2);

		if (len < SET_HEADER || len > datagram->len - at)
			return;
		if (id >= SET_DATA)
			decode_alike(copy, datagram, id, datagram->bytes + at + SET_HEADER,
				len - SET_HEADER);
		at += len;
	}
}

static void save_and_compare(const struct domain *domain)
{
	struct domain copy = *domain;

	copy.templates = templates_create(TEMPLATE_BYTES);
	require(copy.templates != NULL);
	templates_each(domain->templates, take_again, &copy);
	require(templates_count(copy.templates) == templates_count(domain->templates));
	require(templates_bytes(copy.templates) <= templates_bytes(domain->templates));
	for (uint32_t i = 0; i < nb_datagrams; i++)
		if (datagrams[i].domain == domain)
			decode_sets_alike(&copy, &datagrams[i]);
	templates_forget(copy.templates);
	require(templates_count(copy.templates) == 0);
	templates_destroy(copy.templates);
}

static void read_datagrams(const uint8_t *data, size_t size)
{
	while (size >= 2 && nb_datagrams < DATAGRAMS_MAX) {
		struct datagram *datagram = &datagrams[nb_datagrams++];
		uint32_t len = read_u16(data);

		data += 2;
		size -= 2;
		if (len > size)
			len = (uint32_t)size;
		*datagram = (struct datagram){.bytes = malloc(len > 0 ? len : 1), .len = len};
		require(datagram->bytes != NULL);
		memcpy(datagram->bytes, data, len);
		data += len;
		size -= len;
		decode(datagram);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	nb_domains = nb_datagrams = 0;
	read_datagrams(data, size);
	for (uint32_t i = 0; i < nb_domains; i++)
		if (domains[i].protocol != FLOW_PROTOCOL_NETFLOW5)
			save_and_compare(&domains[i]);
	for (uint32_t i = 0; i < nb_domains; i++)
		templates_destroy(domains[i].templates);
	for (uint32_t i = 0; i < nb_datagrams; i++)
		free(datagrams[i].bytes);
	return 0;
}
