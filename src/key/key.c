/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/key.h"

#include <arpa/inet.h>
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "base/assertion.h"
#include "base/decimal.h"
#include "base/router_names.h"

_Static_assert(ROUTER_NAME_MAX <= KEY_FIELD_TEXT_MAX, "a router name fits in the text of a field");

#define OF_TUPLE(member)                                                                           \
	.offset4 = offsetof(struct key4, member), .offset6 = offsetof(struct key6, member),        \
	.bits4 = 8 * sizeof(((struct key4 *)0)->member),                                           \
	.bits6 = 8 * sizeof(((struct key6 *)0)->member)

#define OF_EXTRA(name, word, bits, type, column, ...)                                              \
	[KEY_##name] = {#word, #word, KEY_FIELD_##type, KEY_COLUMN_##column, true,                 \
		offsetof(struct key_extra, word), offsetof(struct key_extra, word), bits, bits},

/* clang-format off */
const struct key_field key_fields[KEY_FIELD_COUNT] = {
	[KEY_SRC_IP] = {"src", "src_ip", KEY_FIELD_ADDRESS, KEY_COLUMN_ALWAYS, OF_TUPLE(src_ip)},
	[KEY_DST_IP] = {"dst", "dst_ip", KEY_FIELD_ADDRESS, KEY_COLUMN_ALWAYS, OF_TUPLE(dst_ip)},
	[KEY_SRC_PORT] = {"src_port", "src_port", KEY_FIELD_NUMBER, KEY_COLUMN_ALWAYS,
		OF_TUPLE(src_port)},
	[KEY_DST_PORT] = {"dst_port", "dst_port", KEY_FIELD_NUMBER, KEY_COLUMN_ALWAYS,
		OF_TUPLE(dst_port)},
	[KEY_PROTO] = {"proto", "proto", KEY_FIELD_NUMBER, KEY_COLUMN_ALWAYS, OF_TUPLE(proto)},
	KEY_EXTRA_FIELDS(OF_EXTRA)
};

static const struct key_word {
	const char *word;
	uint32_t fields;
} words[] = {
	{"5tuple", 1 << KEY_SRC_IP | 1 << KEY_DST_IP | 1 << KEY_SRC_PORT | 1 << KEY_DST_PORT |
			   1 << KEY_PROTO},
	{"src", 1 << KEY_SRC_IP},
	{"dst", 1 << KEY_DST_IP},
	{"src-dst", 1 << KEY_SRC_IP | 1 << KEY_DST_IP},
	{"6tuple", 1 << KEY_SRC_IP | 1 << KEY_DST_IP | 1 << KEY_SRC_PORT | 1 << KEY_DST_PORT |
			   1 << KEY_PROTO | 1 << KEY_TCP_FLAGS},
	{"routers", 1 << KEY_INGRESS | 1 << KEY_EGRESS},
};
/* clang-format on */

#define NB_WORDS (sizeof(words) / sizeof(words[0]))

static struct key_rule word_rules[NB_WORDS + 1];
const struct key_rule *const key_rules = word_rules;

static size_t bytes_of(uint32_t bits)
{
	return (bits + 7) / 8;
}

/* Significant bits are the first bits of an address, or the last bits of a number. */
static uint8_t mask_of(const struct key_field *field, uint32_t bits, size_t byte)
{
	uint32_t ones = 0xff;

	if (field->type == KEY_FIELD_ADDRESS && bits < 8 * byte + 8)
		ones = 0xff00 >> (bits - 8 * byte);
	if (field->type != KEY_FIELD_ADDRESS && byte == 0 && bits % 8 != 0)
		ones = (1u << bits % 8) - 1;
	return (uint8_t)ones;
}

static void put_field(struct key_layout *layout, enum key_field_id id, size_t at, bool ipv4)
{
	const struct key_field *field = &key_fields[id];
	size_t from = ipv4 ? field->offset4 : field->offset6;

	VERIFY(at + bytes_of(layout->bits[id]), <=, KEY6_ROOM);
	layout->at[id] = (uint8_t)at;
	for (size_t b = 0; b < bytes_of(layout->bits[id]); b++, at++, from++) {
		size_t vector = field->extra ? KEY_VECTORS : from / 16;

		layout->shuffle[at / 16][vector][at % 16] = (uint8_t)(from % 16);
		layout->mask[at / 16][at % 16] = mask_of(field, layout->bits[id], b);
	}
}

static size_t length_of(const struct key_rule *rule, const struct key_layout *layout)
{
	size_t length = 0;

	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		length += key_rule_has(rule, (enum key_field_id)f) ? bytes_of(layout->bits[f]) : 0;
	return length;
}

/* layout->wide and layout->bits must be set. */
static void lay_out(const struct key_rule *rule, struct key_layout *layout, bool ipv4)
{
	size_t next = 0;

	memset(layout->shuffle, KEY_NO_BYTE, sizeof(layout->shuffle));
	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		const struct key_field *field = &key_fields[f];

		if (!key_rule_has(rule, (enum key_field_id)f))
			continue;
		if (!rule->extra)
			next = layout->wide ? field->offset6 : field->offset4;
		put_field(layout, (enum key_field_id)f, next, ipv4);
		next += bytes_of(layout->bits[f]);
	}
}

static bool is_address(int field)
{
	return key_fields[field].type == KEY_FIELD_ADDRESS;
}

/* Returns false if a key would be too long. */
static bool make_layouts(struct key_rule *rule)
{
	bool addresses = false, fits = true;

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		bool has = key_rule_has(rule, (enum key_field_id)f);

		addresses |= has && is_address(f);
		rule->extra |= has && key_fields[f].extra;
	}
	if (rule->extra) {
		fits = length_of(rule, &rule->ipv4) <= KEY4_ROOM;
		if (length_of(rule, &rule->ipv4) > KEY6_ROOM ||
			length_of(rule, &rule->ipv6) > KEY6_ROOM)
			return false;
	}
	rule->ipv4.wide = !fits;
	rule->ipv6.wide = !fits || addresses;
	if (rule->ipv4.wide && addresses)
		rule->ipv4.reserved = KEY6_OF_IPV4;
	lay_out(rule, &rule->ipv4, true);
	lay_out(rule, &rule->ipv6, false);
	return true;
}

/* Reads a prefix length of 1 to max and moves *text after it. */
static bool read_length(const char **text, uint32_t max, uint8_t *bits)
{
	uint32_t value = 0;
	const char *digit = *text;

	for (; *digit >= '0' && *digit <= '9' && digit - *text < 3; digit++)
		value = value * 10 + (uint32_t)(*digit - '0');
	*text = digit;
	*bits = (uint8_t)value;
	return value >= 1 && value <= max;
}

/* Reads nothing, "/LEN4" or "/LEN4/LEN6". */
static bool read_lengths(struct key_rule *rule, int field, const char **text)
{
	uint8_t *bits4 = &rule->ipv4.bits[field], *bits6 = &rule->ipv6.bits[field];

	if (**text != '/')
		return true;
	++*text;
	if (!read_length(text, key_fields[field].bits4, bits4))
		return false;
	if (**text != '/')
		return true;
	++*text;
	return read_length(text, key_fields[field].bits6, bits6);
}

/* Returns one bit per field, or 0 if the word is unknown. */
static uint32_t fields_of_word(const char *word, size_t len)
{
	for (size_t w = 0; w < NB_WORDS; w++)
		if (strncmp(words[w].word, word, len) == 0 && words[w].word[len] == '\0')
			return words[w].fields;
	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		if (strncmp(key_fields[f].word, word, len) == 0 && key_fields[f].word[len] == '\0')
			return UINT32_C(1) << f;
	return 0;
}

static void list_allowed(char *why)
{
	size_t used = 0;

	for (size_t w = 0; w < NB_WORDS; w++)
		used += (size_t)snprintf(why + used, KEY_RULE_WHY_MAX - used, "%s%s",
			w == 0 ? "not allowed; allowed: " : ", ", words[w].word);
	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		if (!is_address(f))
			used += (size_t)snprintf(
				why + used, KEY_RULE_WHY_MAX - used, ", %s", key_fields[f].word);
	snprintf(why + used, KEY_RULE_WHY_MAX - used,
		"; separate fields by commas; examples of prefixes: src/24, src/24/48");
}

/* Moves *text after the word. Returns false with an error in `why`. */
static bool add_word(struct key_rule *rule, const char **text, char *why)
{
	size_t len = strcspn(*text, ",/");
	uint32_t fields = fields_of_word(*text, len);
	uint32_t twice = rule->fields & fields;

	if (fields == 0) {
		list_allowed(why);
		return false;
	}
	if (twice != 0) {
		snprintf(why, KEY_RULE_WHY_MAX, "%s twice; give each field once",
			key_fields[__builtin_ctz(twice)].word);
		return false;
	}
	*text += len;
	rule->fields |= fields;
	if (**text == '/' && ((fields & (fields - 1)) != 0 || !is_address(__builtin_ctz(fields)))) {
		snprintf(why, KEY_RULE_WHY_MAX, "prefix of %.*s; only src and dst have prefixes",
			(int)len, *text - len);
		return false;
	}
	if (!read_lengths(rule, __builtin_ctz(fields), text)) {
		snprintf(why, KEY_RULE_WHY_MAX,
			"invalid prefix; give /1 to /32 for IPv4, and after it /1 to "
			"/128 for IPv6: src/24/48");
		return false;
	}
	return true;
}

bool key_rule_parse(struct key_rule *rule, const char *text, char *why)
{
	const char *at = text;

	*rule = (struct key_rule){.name = text};
	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		rule->ipv4.bits[f] = key_fields[f].bits4;
		rule->ipv6.bits[f] = key_fields[f].bits6;
	}
	while (add_word(rule, &at, why)) {
		if (*at == '\0') {
			if (make_layouts(rule))
				return true;
			snprintf(why, KEY_RULE_WHY_MAX,
				"takes %zu bytes of an IPv6 packet; at most %zu fit: remove a field "
				"or use shorter prefixes",
				length_of(rule, &rule->ipv6), KEY6_ROOM);
			return false;
		}
		if (*at++ != ',') {
			snprintf(why, KEY_RULE_WHY_MAX,
				"unexpected text after a prefix; separate fields by commas: src/24,dst");
			return false;
		}
	}
	return false;
}

/* Runs before main(), so that no thread sees the rules change. */
__attribute__((constructor)) static void make_word_rules(void)
{
	char why[KEY_RULE_WHY_MAX];

	for (size_t w = 0; w < NB_WORDS; w++)
		(void)key_rule_parse(&word_rules[w], words[w].word, why);
}

const struct key_rule *key_rule_find(const char *word)
{
	for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++)
		if (strcmp(rule->name, word) == 0)
			return rule;
	return NULL;
}

static bool same_layout(const struct key_layout *a, const struct key_layout *b)
{
	return a->wide == b->wide && a->reserved == b->reserved &&
	       memcmp(a->shuffle, b->shuffle, sizeof(a->shuffle)) == 0 &&
	       memcmp(a->mask, b->mask, sizeof(a->mask)) == 0;
}

bool key_rule_equal(const struct key_rule *a, const struct key_rule *b)
{
	return a->fields == b->fields && same_layout(&a->ipv4, &b->ipv4) &&
	       same_layout(&a->ipv6, &b->ipv6);
}

uint32_t key_rules_distinct(const struct key_rule *const *rules, uint32_t n,
	const struct key_rule **distinct, uint32_t *of)
{
	uint32_t nb_distinct = 1;

	distinct[0] = &key_rules[0];
	for (uint32_t i = 0; i < n; i++) {
		of[i] = 0;
		while (of[i] < nb_distinct && !key_rule_equal(distinct[of[i]], rules[i]))
			of[i]++;
		if (of[i] == nb_distinct)
			distinct[nb_distinct++] = rules[i];
	}
	return nb_distinct;
}

uint32_t key_fields_of(uint32_t fields, enum key_column column)
{
	uint32_t of = 0;

	for (int f = 0; f < KEY_FIELD_COUNT; f++)
		of |= (uint32_t)(key_fields[f].column == column) << f;
	return fields & of;
}

static const uint8_t *bytes_of_key(const struct key *key)
{
	return key->family == KEY_IPV4 ? (const uint8_t *)&key->v4 : (const uint8_t *)&key->v6;
}

static const struct key_layout *layout_of(const struct key_rule *rule, const struct key *key)
{
	return key_is_ipv4(key) ? &rule->ipv4 : &rule->ipv6;
}

static bool fits_layout(const struct key_layout *layout, const struct key *key)
{
	const uint8_t *bytes = bytes_of_key(key), *mask = &layout->mask[0][0];
	size_t room = layout->wide ? KEY6_ROOM : KEY4_ROOM;
	uint8_t beside = bytes[room] ^ layout->reserved;

	for (size_t b = 0; b < room; b++)
		beside |= (uint8_t)(bytes[b] & ~mask[b]);
	return beside == 0;
}

bool key_rule_allows(const struct key_rule *rule, const struct key *key)
{
	bool wide = key->family == KEY_IPV6;

	return (rule->ipv4.wide == wide && fits_layout(&rule->ipv4, key)) ||
	       (rule->ipv6.wide == wide && fits_layout(&rule->ipv6, key));
}

uint64_t key_field_number(const struct key_rule *rule, const struct key *key, enum key_field_id id)
{
	const struct key_layout *layout = layout_of(rule, key);
	const uint8_t *bytes = bytes_of_key(key) + layout->at[id];
	uint64_t number = 0;

	for (size_t i = 0; i < bytes_of(layout->bits[id]); i++)
		number = number << 8 | bytes[i];
	return number;
}

/* Writes up to 16 bytes. Shifts out leading zeros, because a branch would often be mispredicted. */
static size_t print_ipv4(const uint8_t *address, char *text)
{
	size_t len = 0;

	for (uint32_t i = 0; i < 4; i++) {
		uint32_t octet = address[i], zeros = (octet < 10) + (octet < 100);
		uint32_t digits = octet / 100 | octet / 10 % 10 << 8 | octet % 10 << 16;
		uint32_t word = htole32((digits + 0x2e303030) >> (8 * zeros));

		memcpy(text + len, &word, sizeof(word));
		len += 4 - zeros;
	}
	return len - 1;
}

static size_t print_ipv6(const uint8_t *address, char *text)
{
	inet_ntop(AF_INET6, address, text, KEY_FIELD_TEXT_MAX);
	return strlen(text);
}

size_t key_field_print(
	const struct key_rule *rule, const struct key *key, enum key_field_id id, char *text)
{
	const struct key_layout *layout = layout_of(rule, key);
	bool ipv4 = key_is_ipv4(key);
	uint32_t bits = layout->bits[id];
	const uint8_t *bytes = bytes_of_key(key) + layout->at[id];
	uint8_t address[16] = {0};
	size_t len;

	if (key_fields[id].type == KEY_FIELD_NUMBER) {
		len = decimal_print(text, key_field_number(rule, key, id));
	} else if (key_fields[id].type == KEY_FIELD_ROUTER) {
		router_name_get((uint32_t)key_field_number(rule, key, id), text);
		len = strlen(text);
	} else if (ipv4 && bits == 32) {
		len = print_ipv4(bytes, text);
	} else {
		memcpy(address, bytes, bytes_of(bits));
		len = ipv4 ? print_ipv4(address, text) : print_ipv6(address, text);
		if (bits < (ipv4 ? key_fields[id].bits4 : key_fields[id].bits6)) {
			text[len++] = '/';
			len += decimal_print(text + len, bits);
		}
	}
	text[len] = '\0';
	return len;
}

/* Fields are big-endian and in the order of key_fields[], and all other bytes are 0. */
int key_compare(const struct key *a, const struct key *b)
{
	bool a4 = key_is_ipv4(a), b4 = key_is_ipv4(b);

	if (a4 != b4)
		return a4 ? -1 : 1;
	if (a->family != b->family)
		return a->family < b->family ? -1 : 1;
	if (a->family == KEY_IPV4)
		return memcmp(&a->v4, &b->v4, sizeof(a->v4));
	return memcmp(&a->v6, &b->v6, sizeof(a->v6));
}

bool key_equal(const struct key *a, const struct key *b)
{
	return key_compare(a, b) == 0;
}
