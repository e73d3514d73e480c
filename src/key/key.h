/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keys: the fields by which packets are counted.
 *
 * The full key of a packet is its 5-tuple, in network byte order. Its fields are in the order in
 * which keys are compared and printed. An IPv4 key has 16 bytes and fits one vector register. IPv6
 * keys have their own type, so that IPv4 packets need no extra work.
 *
 * The option --key selects other fields. Its text is parsed into a struct key_rule. The rule has
 * one layout per IP version: the offset of each field in the key, and the source of the field's
 * bytes. The source is the 5-tuple, or struct key_extra for all other fields. If a rule has only
 * fields of the 5-tuple, they keep their offsets, and other bytes are 0. Any other rule places its
 * fields without gaps. Fields are always in the order of key_fields[], so that memcmp() compares
 * keys.
 *
 * If the key of an IPv4 packet does not fit struct key4, it is stored in a struct key6. A key
 * without addresses is the same for IPv4 and IPv6 packets.
 *
 * To add a field, add a row to KEY_EXTRA_FIELDS(), and make the parser fill its bytes of struct
 * key_extra. Flow records have the same bytes (struct flow_record).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct key4 {
	uint8_t src_ip[4];
	uint8_t dst_ip[4];
	uint8_t src_port[2];
	uint8_t dst_port[2];
	uint8_t proto;
	uint8_t spare[2]; /* 0 in a 5-tuple, because the whole struct is hashed and compared */
	uint8_t reserved; /* not part of a field; 0, but tables may use it in keys that they store */
} __attribute__((aligned(16)));

struct key6 {
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t src_port[2];
	uint8_t dst_port[2];
	uint8_t proto;
	uint8_t spare[2]; /* same as in struct key4 */
	uint8_t reserved; /* not part of a field; KEY6_OF_IPV4 or 0 */
} __attribute__((aligned(8)));

/* Value of `reserved` if a struct key6 holds the key of an IPv4 packet. */
#define KEY6_OF_IPV4 4

/* Bytes available for fields: all except the last, `reserved`. */
#define KEY4_ROOM offsetof(struct key4, reserved)
#define KEY6_ROOM offsetof(struct key6, reserved)

_Static_assert(sizeof(struct key4) == 16, "an IPv4 key is one vector register");
_Static_assert(sizeof(struct key6) == 40, "an IPv6 key is five words");
_Static_assert(KEY4_ROOM == sizeof(struct key4) - 1, "the reserved byte is the last");
_Static_assert(KEY6_ROOM == sizeof(struct key6) - 1, "the reserved byte is the last");

/*
 * Fields of a packet outside its 5-tuple, one row each, in order of comparison. A field is 0 if
 * the packet does not have it. The columns of a row:
 *
 *     ID, word in --key and in the CSV column, number of bits, type (KEY_FIELD_*),
 *     kind of CSV column (KEY_COLUMN_*), IPFIX information element, form of this element, help
 *
 * Values are big-endian. Forms of an information element:
 *
 *     NUMBER      the bytes of the field; read from and written to IPFIX
 *     MPLS_ENTRY  a label stack entry: the label and 4 other bits; read from and written to IPFIX
 *     INTERFACE   an interface index; only written to IPFIX
 *     NONE        no element
 */
/* clang-format off */
#define KEY_EXTRA_FIELDS(FIELD)                                                                    \
	FIELD(TCP_FLAGS, tcp_flags, 8, NUMBER, RECORD, 6, NUMBER, "")                              \
	FIELD(VLAN, vlan, 12, NUMBER, ASKED, 58, NUMBER, " (outermost tag)")                      \
	FIELD(DSCP, dscp, 6, NUMBER, ASKED, 195, NUMBER, "")                                       \
	FIELD(MPLS, mpls, 20, NUMBER, ASKED, 70, MPLS_ENTRY, " (top label)")                       \
	FIELD(IN_PORT, in_port, 16, NUMBER, ASKED, 10, INTERFACE,                                  \
		" (number of the --port, capture file or exporter, from 0)")                       \
	FIELD(INGRESS, ingress, 16, ROUTER, ASKED, 0, NONE, "")                                    \
	FIELD(EGRESS, egress, 16, ROUTER, ASKED, 0, NONE,                                          \
		" (first and last router that reported the flow, in collect)")
/* clang-format on */

#define KEY_EXTRA_BYTES(name, word, bits, ...)                  uint8_t word[((bits) + 7) / 8];
#define KEY_EXTRA_ID(name, ...)                                 KEY_##name,
#define KEY_EXTRA_HELP(name, word, b, t, c, number, form, says) ", " #word says

struct key_extra {
	KEY_EXTRA_FIELDS(KEY_EXTRA_BYTES)
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct key_extra) == 16, "one vector register");

/* Size of a field of struct key_extra, in bytes. */
#define KEY_EXTRA_SIZE(word) sizeof(((struct key_extra *)0)->word)

/* Sets DSCP from an IPv4 type of service or an IPv6 traffic class, whose last two bits are ECN. */
static inline void key_extra_set_tos(struct key_extra *extra, uint8_t octet)
{
	extra->dscp[0] = octet >> 2;
}

/* Returns the type of service or traffic class, with ECN 0. */
static inline uint8_t key_extra_tos(const struct key_extra *extra)
{
	return (uint8_t)(extra->dscp[0] << 2);
}

/* Struct that holds a key. */
enum key_family {
	KEY_IPV4 = 4, /* struct key4 */
	KEY_IPV6 = 6, /* struct key6; of an IPv4 packet if `reserved` is KEY6_OF_IPV4 */
};

/* Key of any packet, for code off the packet path: candidates, reports, tests. */
struct key {
	union {
		struct key4 v4;
		struct key6 v6;
	};
	enum key_family family;
};

enum key_field_id {
	KEY_SRC_IP,
	KEY_DST_IP,
	KEY_SRC_PORT,
	KEY_DST_PORT,
	KEY_PROTO,
	KEY_EXTRA_FIELDS(KEY_EXTRA_ID) KEY_FIELD_COUNT,
};

enum key_field_type {
	KEY_FIELD_ADDRESS, /* address in the format of inet_ntop(), with /LEN if it is a prefix */
	KEY_FIELD_NUMBER,  /* decimal number; big-endian in the key */
	KEY_FIELD_ROUTER,  /* number of a router, printed as its name (base/router_names.h) */
};

/* Place of a field in output rows. */
enum key_column {
	KEY_COLUMN_ALWAYS, /* in every row; empty if the key lacks the field */
	KEY_COLUMN_RECORD, /* in the column that rows of flow records have under this name */
	KEY_COLUMN_ASKED,  /* at the end of each row, but only if a key of the run has the field */
};

/* A key field: names, location, format. */
struct key_field {
	const char *word; /* word in --key */
	const char *name; /* name of its column */
	enum key_field_type type;
	enum key_column column;
	bool extra;      /* true: in struct key_extra; false: in the 5-tuple */
	uint8_t offset4; /* offset in struct key_extra or struct key4 */
	uint8_t offset6; /* offset in struct key6 */
	/* Number of significant bits: the lowest bits of a number, the first bits of an address. */
	uint8_t bits4, bits6;
};

/* All fields, in order of comparison and printing. */
extern const struct key_field key_fields[KEY_FIELD_COUNT];

#define KEY_VECTORS 3 /* 16-byte vectors in a struct key6 */

/* Defines how a key is built from a packet of one IP version. */
struct key_layout {
	bool wide;                     /* the key is a struct key6 */
	uint8_t reserved;              /* last byte of the key */
	uint8_t at[KEY_FIELD_COUNT];   /* offset of each field of the rule */
	uint8_t bits[KEY_FIELD_COUNT]; /* significant bits of each field of the rule */
	/*
	 * Vector v of the key has bytes of all source vectors. shuffle[v][s] selects bytes of
	 * source vector s; values >= KEY_NO_BYTE select 0. The selected bytes of all s are ORed,
	 * and then ANDed with mask[v]. The source vectors are the 5-tuple and, as the last, struct
	 * key_extra.
	 */
	uint8_t shuffle[KEY_VECTORS][KEY_VECTORS + 1][16];
	uint8_t mask[KEY_VECTORS][16];
};

#define KEY_NO_BYTE 0x80

struct key_rule {
	const char *name; /* text of the rule */
	uint32_t fields;  /* bit f: field f is part of the key */
	bool extra;       /* has a field of struct key_extra */
	struct key_layout ipv4, ipv6;
};

/* Predefined rules. The first, the 5-tuple, is the default. A row without a name ends the list. */
extern const struct key_rule *const key_rules;

/* Returns the predefined rule of this name, or NULL. */
const struct key_rule *key_rule_find(const char *word);

#define KEY_RULE_WHY_MAX 256

/*
 * Parses a rule: FIELD[/LEN4[/LEN6]],... FIELD is the word of a field or of a predefined rule.
 * Keeps a pointer to the text. Returns false with an error in why[KEY_RULE_WHY_MAX].
 */
bool key_rule_parse(struct key_rule *rule, const char *text, char *why);

/* Returns true if both rules give every packet the same key. */
bool key_rule_equal(const struct key_rule *a, const struct key_rule *b);

/*
 * Finds the distinct rules among rules[0..n) and the 5-tuple. Writes them to distinct[n + 1], with
 * the 5-tuple first. Sets of[i] to the index of rules[i] in distinct[]. Returns the number of
 * distinct rules.
 */
uint32_t key_rules_distinct(const struct key_rule *const *rules, uint32_t n,
	const struct key_rule **distinct, uint32_t *of);

/*
 * Returns true if the rule can produce the key. In such a key, all bytes outside its fields are 0.
 */
bool key_rule_allows(const struct key_rule *rule, const struct key *key);

static inline bool key_rule_has(const struct key_rule *rule, enum key_field_id field)
{
	return rule->fields >> field & 1;
}

/* Selects from `fields` (one bit per field) those with this kind of column. */
uint32_t key_fields_of(uint32_t fields, enum key_column column);

/*
 * Maximum length of the text of a field, with the terminating NUL. The longest is an IPv6 prefix.
 */
#define KEY_FIELD_TEXT_MAX 50

/* Writes the text of a field of the rule to text[KEY_FIELD_TEXT_MAX] and returns its length. */
size_t key_field_print(
	const struct key_rule *rule, const struct key *key, enum key_field_id field, char *text);

/* Returns the value of a number field of the rule. */
uint64_t key_field_number(
	const struct key_rule *rule, const struct key *key, enum key_field_id field);

/*
 * Returns true if the key is of an IPv4 packet. Do not call it for keys without addresses: they do
 * not show the IP version.
 */
static inline bool key_is_ipv4(const struct key *key)
{
	return key->family == KEY_IPV4 || key->v6.reserved == KEY6_OF_IPV4;
}

/*
 * Compares keys by numbers: IPv4 before IPv6, then field by field. Returns <0, 0 or >0, like
 * memcmp().
 */
int key_compare(const struct key *a, const struct key *b);

bool key_equal(const struct key *a, const struct key *b);
