/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/rss.h"

#include <stdio.h>
#include <string.h>

#include "base/assertion.h"
#include "rx/packet/rss_hash.h"

#define RSS_KEY_LEN_USUAL 40

/* `exact`: RSS fields of only this kind. `general`: RSS fields of the same IP version. */
struct packet_kind {
	const char *name;
	uint64_t exact, general;
	bool has_ports;
};

#define GENERAL4 RTE_ETH_RSS_IPV4
#define GENERAL6 (RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_IPV6_EX)

static const struct packet_kind kinds[] = {
	{"TCP", RTE_ETH_RSS_NONFRAG_IPV4_TCP, GENERAL4, true},
	{"UDP", RTE_ETH_RSS_NONFRAG_IPV4_UDP, GENERAL4, true},
	{"SCTP", RTE_ETH_RSS_NONFRAG_IPV4_SCTP, GENERAL4, true},
	{"other IPv4", RTE_ETH_RSS_NONFRAG_IPV4_OTHER, GENERAL4, false},
	{"IPv4 fragments", RTE_ETH_RSS_FRAG_IPV4, GENERAL4, false},
	{"TCP over IPv6", RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_IPV6_TCP_EX, GENERAL6, true},
	{"UDP over IPv6", RTE_ETH_RSS_NONFRAG_IPV6_UDP | RTE_ETH_RSS_IPV6_UDP_EX, GENERAL6, true},
	{"SCTP over IPv6", RTE_ETH_RSS_NONFRAG_IPV6_SCTP, GENERAL6, true},
	{"other IPv6", RTE_ETH_RSS_NONFRAG_IPV6_OTHER, GENERAL6, false},
	{"IPv6 fragments", RTE_ETH_RSS_FRAG_IPV6, GENERAL6, false},
};

#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

enum hashed {
	HASHED_NOTHING,
	HASHED_ONE_ADDRESS,
	HASHED_ADDRESSES,
	HASHED_PORTS,
	HASHED_COUNT,
};

#define ONE_SIDE (RTE_ETH_RSS_L3_SRC_ONLY | RTE_ETH_RSS_L3_DST_ONLY)

static enum hashed hashed_of(const struct packet_kind *kind, uint64_t fields)
{
	bool exact = (fields & kind->exact) != 0;

	if (!exact && (fields & kind->general) == 0)
		return HASHED_NOTHING;
	if ((fields & ONE_SIDE) != 0)
		return HASHED_ONE_ADDRESS;
	return exact && kind->has_ports ? HASHED_PORTS : HASHED_ADDRESSES;
}

static enum hashed hashed_wanted(const struct packet_kind *kind, enum rss_fields wanted)
{
	switch (wanted) {
	case RSS_FIELDS_SRC:
	case RSS_FIELDS_DST: return HASHED_ONE_ADDRESS;
	case RSS_FIELDS_ADDRESSES: return HASHED_ADDRESSES;
	case RSS_FIELDS_5TUPLE: break;
	}
	return kind->has_ports ? HASHED_PORTS : HASHED_ADDRESSES;
}

static uint64_t side_of(enum rss_fields wanted)
{
	if (wanted == RSS_FIELDS_SRC)
		return RTE_ETH_RSS_L3_SRC_ONLY;
	return wanted == RSS_FIELDS_DST ? RTE_ETH_RSS_L3_DST_ONLY : 0;
}

static uint64_t choose_fields(enum rss_fields wanted, uint64_t offered)
{
	uint64_t side = side_of(wanted) & offered, fields = side;

	for (size_t i = 0; i < NB_KINDS; i++) {
		const struct packet_kind *kind = &kinds[i];
		uint64_t exact = kind->exact & offered, general = kind->general & offered;
		/*
		 * The general field hashes only addresses. It is not needed if only one side is
		 * hashed.
		 */
		bool prefer_general =
			kind->has_ports && wanted != RSS_FIELDS_5TUPLE && side == 0 && general != 0;

		fields |= general;
		if (!prefer_general)
			fields |= exact;
	}
	return fields;
}

/* Lists the kinds of packets that are hashed `as`, but should be hashed in another way. */
static void list_kinds(
	enum rss_fields wanted, uint64_t fields, enum hashed as, char *text, size_t size)
{
	const struct packet_kind *listed[NB_KINDS];
	size_t n = 0, used = 0;

	for (size_t i = 0; i < NB_KINDS; i++)
		if (hashed_of(&kinds[i], fields) == as && hashed_wanted(&kinds[i], wanted) != as)
			listed[n++] = &kinds[i];
	text[0] = '\0';
	if (n == NB_KINDS)
		snprintf(text, size, "all packets");
	for (size_t i = 0; n < NB_KINDS && i < n && used < size; i++)
		used += (size_t)snprintf(text + used, size - used, "%s%s",
			i == 0       ? ""
			: i + 1 == n ? " and "
				     : ", ",
			listed[i]->name);
}

static const char *meaning(enum rss_fields wanted, enum hashed as)
{
	if (as == HASHED_NOTHING)
		return "are not spread: one worker gets all of them and is the first to lose "
		       "packets";
	if (wanted == RSS_FIELDS_SRC || wanted == RSS_FIELDS_DST)
		return as == HASHED_PORTS
			       ? "are spread by both addresses and ports: several workers count a "
				 "host, and their results are added"
			       : "are spread by both addresses: several workers count a host, and "
				 "their results are added";
	if (as == HASHED_PORTS)
		return "are also spread by ports: several workers count a pair of hosts, and their "
		       "results are added";
	return "are spread only by addresses: all packets between two hosts reach one worker";
}

void port_rss_explain(const struct port_rss *rss, uint64_t fields, struct port_messages *messages)
{
	char names[200];

	for (enum hashed as = HASHED_NOTHING; as < HASHED_COUNT; as++) {
		/*
		 * With dispatch, the receiving core hashes packets that the device does not hash.
		 */
		if (as == HASHED_NOTHING && rss->use == PORT_HASH_DISPATCH)
			continue;
		list_kinds(rss->wanted, fields, as, names, sizeof(names));
		if (names[0] != '\0')
			port_warn(
				messages, "%s: %s %s", rss->port, names, meaning(rss->wanted, as));
	}
}

static void explain_asymmetry(const struct port_rss *rss, struct port_messages *messages)
{
	if (rss->wanted == RSS_FIELDS_5TUPLE || rss->wanted == RSS_FIELDS_ADDRESSES)
		port_warn(messages,
			"%s: its hash key cannot be set: two workers may count the two directions "
			"of a connection; results stay correct",
			rss->port);
}

/* The receiving core hashes with its own key. */
static void explain_other_key(const struct port_rss *rss, struct port_messages *messages)
{
	if (rss->use != PORT_HASH_DISPATCH)
		return;
	if (!rss->on && rss->key_wanted == RSS_KEY_GIVEN)
		port_warn(messages,
			"rss-key: %s does not report hashes, and the receiving core uses the "
			"symmetric key: the given key has no effect",
			rss->port);
	else if (rss->on && rss->key_wanted != RSS_KEY_SYMMETRIC)
		port_notice(messages,
			"rss-key: packets without a hash from %s are spread by the symmetric key, "
			"maybe to another worker than the rest of their flow",
			rss->port);
}

static void explain_unused_key(const struct port_rss *rss, struct port_messages *messages)
{
	if (rss->key_wanted != RSS_KEY_GIVEN)
		return;
	if (rss->use == PORT_HASH_UNUSED)
		port_warn(messages,
			"rss-key: %s has one queue and needs no hash: the key has no effect",
			rss->port);
	else
		port_warn(messages, "rss-key: %s computes no flow hash: the key has no effect",
			rss->port);
}

static bool choose_key(struct port_rss *rss, const struct config *config,
	const struct rte_eth_dev_info *info, char *error)
{
	uint8_t len = info->hash_key_size;

	rss->key_len = 0;
	if (rss->key_wanted == RSS_KEY_GIVEN && len != rss_options(config)->key_len) {
		if (len == 0)
			snprintf(error, PORT_MESSAGE_MAX,
				"rss-key: %s does not support a key; use default", rss->port);
		else
			snprintf(error, PORT_MESSAGE_MAX,
				"rss-key: %s needs a key of %u bytes, %u hexadecimal digits; "
				"given: %u bytes",
				rss->port, len, 2 * len, rss_options(config)->key_len);
		return false;
	}
	if (rss->key_wanted == RSS_KEY_DEFAULT)
		return true;
	/* If a device reports no key length, it may accept the usual one after its start. */
	if (len == 0 || len > sizeof(rss->key))
		len = RSS_KEY_LEN_USUAL;
	else
		rss->key_len = len;
	memcpy(rss->key,
		rss->key_wanted == RSS_KEY_GIVEN ? rss_options(config)->key_bytes
						 : rss_symmetric_key,
		len);
	return true;
}

uint16_t port_rss_queues(const struct port_driver *driver, const struct config *config,
	const struct rte_eth_dev_info *info)
{
	uint64_t fields = choose_fields(rss_options(config)->fields, info->flow_type_rss_offloads);

	if (driver->spreader == NULL && (fields & ~ONE_SIDE) == 0)
		return 1;
	return port_driver_queues(driver, info->max_rx_queues);
}

bool port_rss_choose(struct port_rss *rss, const struct config *config,
	const struct rte_eth_dev_info *info, struct port_messages *messages, char *error)
{
	uint64_t offered = rss->driver->rss_is_for_rules ? 0 : info->flow_type_rss_offloads;

	rss->wanted = rss_options(config)->fields;
	rss->key_wanted = rss_options(config)->key;
	rss->on = false;
	if (rss->use == PORT_HASH_UNUSED) {
		explain_unused_key(rss, messages);
		return true;
	}
	if (rss->use == PORT_HASH_DISPATCH) {
		if ((info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH) == 0)
			offered = 0;
		else
			rss->offloads = RTE_ETH_RX_OFFLOAD_RSS_HASH;
	}
	rss->fields = choose_fields(rss->wanted, offered);
	if ((rss->fields & ~ONE_SIDE) != 0) {
		rss->on = true;
		explain_other_key(rss, messages);
		return choose_key(rss, config, info, error);
	}
	rss->fields = rss->offloads = 0;
	explain_other_key(rss, messages);
	if (rss->use == PORT_HASH_DISPATCH)
		return true;
	if (rss->driver->spreader == NULL) {
		snprintf(error, PORT_MESSAGE_MAX,
			"--port %s: its driver %s does not spread packets over %u queues (it has "
			"no RSS): use --design async, where one core receives for all, or "
			"--workers 1",
			rss->port, info->driver_name, rss->nb_queues);
		return false;
	}
	explain_unused_key(rss, messages);
	port_warn(messages, "%s: %s spreads packets over the workers, not RSS: %s", rss->port,
		rss->driver->spreader, rss->driver->spreads);
	return true;
}

void port_rss_put(struct port_rss *rss, struct rte_eth_conf *conf)
{
	if (!rss->on)
		return;
	conf->rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	conf->rxmode.offloads |= rss->offloads;
	conf->rx_adv_conf.rss_conf = (struct rte_eth_rss_conf){
		.rss_key = rss->key_len > 0 ? rss->key : NULL,
		.rss_key_len = rss->key_len,
		.rss_hf = rss->fields,
	};
}

void port_rss_fill_reta(struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues)
{
	VERIFY(nb_queues, >, 0);
	for (uint32_t i = 0; i < size; i++) {
		struct rte_eth_rss_reta_entry64 *group = &reta[i / RTE_ETH_RETA_GROUP_SIZE];

		group->mask = UINT64_MAX;
		group->reta[i % RTE_ETH_RETA_GROUP_SIZE] = (uint16_t)(i % nb_queues);
	}
}

bool port_rss_is_even(
	const struct rte_eth_rss_reta_entry64 *reta, uint32_t size, uint16_t nb_queues)
{
	uint32_t entries[RTE_MAX_QUEUES_PER_PORT] = {0};

	VERIFY(nb_queues, <=, RTE_MAX_QUEUES_PER_PORT);
	for (uint32_t i = 0; i < size; i++) {
		uint16_t queue =
			reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];

		if (queue >= nb_queues)
			return false;
		entries[queue]++;
	}
	for (uint16_t q = 0; q < nb_queues; q++)
		if (entries[q] != size / nb_queues &&
			entries[q] != (size + nb_queues - 1) / nb_queues)
			return false;
	return true;
}

static int read_reta(uint16_t port_id, struct rte_eth_rss_reta_entry64 *reta, uint32_t size)
{
	for (uint32_t i = 0; i < (size + RTE_ETH_RETA_GROUP_SIZE - 1) / RTE_ETH_RETA_GROUP_SIZE;
		i++)
		reta[i].mask = UINT64_MAX;
	return rte_eth_dev_rss_reta_query(port_id, reta, (uint16_t)size);
}

static void check_reta(
	const struct port_rss *rss, uint16_t port_id, uint32_t size, struct port_messages *messages)
{
	struct rte_eth_rss_reta_entry64 reta[PORT_RSS_RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];

	if (size == 0 || size > PORT_RSS_RETA_MAX || read_reta(port_id, reta, size) != 0) {
		port_notice(messages,
			"%s: cannot read its indirection table: queues may be filled unevenly",
			rss->port);
		return;
	}
	/* The table is nearly always even. Writing it can restart the device. */
	if (!port_rss_is_even(reta, size, rss->nb_queues)) {
		port_rss_fill_reta(reta, size, rss->nb_queues);
		if (rte_eth_dev_rss_reta_update(port_id, reta, (uint16_t)size) != 0 ||
			read_reta(port_id, reta, size) != 0 ||
			!port_rss_is_even(reta, size, rss->nb_queues)) {
			port_warn(messages,
				"%s: its indirection table cannot be made even: some workers get a "
				"larger share of the flows than others, or none",
				rss->port);
			return;
		}
	}
	if (rss->nb_queues > size)
		port_warn(messages,
			"%s: its indirection table has %u entries: of %u workers %u get no "
			"packets; lower --workers to %u",
			rss->port, size, rss->nb_queues, rss->nb_queues - size, size);
	else if (size % rss->nb_queues != 0 && size / rss->nb_queues < 8)
		port_warn(messages,
			"%s: its indirection table has %u entries: of %u workers, some get %u of "
			"them and others %u; for equal shares, set --workers to a divisor of %u",
			rss->port, size, rss->nb_queues, size / rss->nb_queues + 1,
			size / rss->nb_queues, size);
}

static bool read_hash(const struct port_rss *rss, uint16_t port_id, uint8_t key_len,
	uint64_t *fields, bool *same_key)
{
	uint8_t key[RSS_KEY_LEN_MAX] = {0};
	struct rte_eth_rss_conf now = {.rss_key = key_len > 0 ? key : NULL, .rss_key_len = key_len};

	if (rte_eth_dev_rss_hash_conf_get(port_id, &now) != 0)
		return false;
	/* Drivers do not report the bits of ONE_SIDE. */
	*fields = now.rss_hf | (rss->fields & ONE_SIDE);
	*same_key = key_len > 0 && memcmp(key, rss->key, key_len) == 0;
	return true;
}

/* Some drivers accept the key only in a separate call. */
static bool write_key(const struct port_rss *rss, uint16_t port_id, uint8_t key_len)
{
	uint8_t key[RSS_KEY_LEN_MAX];
	struct rte_eth_rss_conf conf = {
		.rss_key = key, .rss_key_len = key_len, .rss_hf = rss->fields};

	memcpy(key, rss->key, sizeof(key));
	return rte_eth_dev_rss_hash_update(port_id, &conf) == 0;
}

static uint8_t key_length_asked(const struct port_rss *rss, const struct rte_eth_dev_info *info)
{
	if (rss->key_len > 0)
		return rss->key_len;
	return info->hash_key_size <= RSS_KEY_LEN_MAX ? RSS_KEY_LEN_USUAL : 0;
}

void port_rss_check(const struct port_rss *rss, uint16_t port_id,
	const struct rte_eth_dev_info *info, struct port_messages *messages)
{
	uint8_t key_len = key_length_asked(rss, info);
	uint64_t fields = rss->fields;
	/* If the key cannot be read back, it counts as set. */
	bool same_key = rss->key_len > 0;

	if (!rss->on)
		return;
	read_hash(rss, port_id, key_len, &fields, &same_key);
	if (rss->key_wanted != RSS_KEY_DEFAULT) {
		if (!same_key && key_len > 0 && write_key(rss, port_id, key_len))
			read_hash(rss, port_id, key_len, &fields, &same_key);
		if (!same_key)
			explain_asymmetry(rss, messages);
	}
	port_rss_explain(rss, fields, messages);
	if (rss->use == PORT_HASH_QUEUES && rss->nb_queues > 1)
		check_reta(rss, port_id, info->reta_size, messages);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_key(const struct option_text *a)
{
	struct rss_options *options =
		(struct rss_options *)((char *)a->field - offsetof(struct rss_options, key));
	uint8_t *bytes = options->key_bytes;
	uint32_t digits = 0;

	if (strcmp(a->text, "symmetric") == 0 || strcmp(a->text, "default") == 0) {
		options->key = a->text[0] == 's' ? RSS_KEY_SYMMETRIC : RSS_KEY_DEFAULT;
		return true;
	}
	for (const char *at = a->text; *at != '\0'; at++) {
		int digit = hex_digit(*at);

		if (*at == ':' && digits % 2 == 0 && digits > 0 && at[1] != '\0')
			continue;
		if (digit < 0)
			return option_set_error(a,
				"not a key; write symmetric, default, or its bytes in "
				"hexadecimal: 6d5a6d5a...");
		if (digits == 2 * RSS_KEY_LEN_MAX)
			return option_set_error(a, "longer than %u bytes, the limit of all devices",
				RSS_KEY_LEN_MAX);
		bytes[digits / 2] =
			(uint8_t)(digits % 2 == 0 ? digit << 4 : bytes[digits / 2] | digit);
		digits++;
	}
	if (digits == 0 || digits % 2 != 0)
		return option_set_error(a, "%u hexadecimal digits; a byte has two", digits);
	options->key = RSS_KEY_GIVEN;
	options->key_len = (uint8_t)(digits / 2);
	return true;
}

OPTION_WORDS_OF(fields_word, [RSS_FIELDS_5TUPLE] = "5tuple", [RSS_FIELDS_ADDRESSES] = "addresses",
	[RSS_FIELDS_SRC] = "src", [RSS_FIELDS_DST] = "dst")

static const struct option_row rss_rows[] = {
	{
		.name = "rss-fields",
		.placeholder = "FIELDS",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		.rare = true,
		.word = fields_word,
		OPTION_FIELD(rss_options, fields),
		.default_text = "5tuple",
		.help = "Spread packets over queues by these fields. 5tuple: addresses, and the "
			"ports of TCP, UDP and SCTP, except in fragments. addresses: source and "
			"destination. src, dst: only this address. A warning reports fields "
			"that a device does not support.",
	},
	{
		.name = "rss-key",
		.placeholder = "KEY",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_OWN,
		.rare = true,
		.read = read_key,
		OPTION_FIELD(rss_options, key),
		.default_text = "symmetric",
		.config_only = true,
		.help = "Set the key of a port's flow hash. symmetric: both directions of a "
			"connection reach one worker. default: the key of the driver. Or the "
			"bytes of the key in hexadecimal, as many as the device needs.",
	},
	{0},
};

const struct option_owner rss_owner = {
	.rows = rss_rows,
	.size = sizeof(struct rss_options),
};
