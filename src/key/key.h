/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keys: the fields by which packets are counted. The full key of a packet is its 5-tuple, in
 * network byte order and in the order in which keys are compared and printed. An IPv4 key has 16
 * bytes, so that one vector register holds it. IPv6 keys have a separate type, so that IPv4 needs
 * no extra work.
 *
 * Any other key (--key) is a selection of fields: a struct key_rule, parsed from text. Its layouts
 * define the position of each field in the key, and its source: the 5-tuple, or struct key_extra
 * for all other fields. A rule that selects only fields of the 5-tuple keeps their positions and
 * sets the others to 0. Any other rule has its fields without gaps. Both use the order of
 * key_fields[], so that memcmp() is the order of keys.
 *
 * A key of an IPv4 packet that exceeds struct key4 is stored in a struct key6. A key without
 * addresses is the same for IPv4 and IPv6.
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
	uint8_t spare[2]; /* 0 in a 5-tuple, since the whole struct is hashed and compared */
	uint8_t reserved; /* belongs to no field; always 0, but tables may use it in stored keys */
} __attribute__((aligned(16)));

struct key6 {
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t src_port[2];
	uint8_t dst_port[2];
	uint8_t proto;
	uint8_t spare[2]; /* same as in struct key4 */
	uint8_t reserved; /* belongs to no field; KEY6_OF_IPV4 or 0 */
} __attribute__((aligned(8)));

/* Reserved byte of a struct key6 that holds the key of an IPv4 packet. */
#define KEY6_OF_IPV4 4

/* Bytes for fields: all but the reserved one, which is last. */
#define KEY4_ROOM offsetof(struct key4, reserved)
#define KEY6_ROOM offsetof(struct key6, reserved)

_Static_assert(sizeof(struct key4) == 16, "an IPv4 key is one vector register");
_Static_assert(sizeof(struct key6) == 40, "an IPv6 key is five words");
_Static_assert(KEY4_ROOM == sizeof(struct key4) - 1, "the reserved byte is the last");
_Static_assert(KEY6_ROOM == sizeof(struct key6) - 1, "the reserved byte is the last");

/*
 * Fields of a packet besides its 5-tuple, one row each, in order of comparison: name, word in --key
 * and in the column, significant bits of a big-endian number, type (KEY_FIELD_), column
 * (KEY_COLUMN_), information element of IPFIX with its form, and help. A field is 0 if the packet
 * lacks it. Forms of elements:
 *
 *     NUMBER      the bytes of the field, from and to IPFIX
 *     MPLS_ENTRY  a label stack entry: the label, then 4 other bits, from and to IPFIX
 *     INTERFACE   an interface index, only to IPFIX
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

/* Bytes of a field of struct key_extra. */
#define KEY_EXTRA_SIZE(word) sizeof(((struct key_extra *)0)->word)

/* Sets the fields of an IPv4 type of service or IPv6 traffic class: DSCP, then two bits of ECN. */
static inline void key_extra_set_tos(struct key_extra *extra, uint8_t octet)
{
	extra->dscp[0] = octet >> 2;
}

/* Returns such an octet with ECN 0. */
static inline uint8_t key_extra_tos(const struct key_extra *extra)
{
	return (uint8_t)(extra->dscp[0] << 2);
}

/* Struct that holds a key. */
enum key_family {
	KEY_IPV4 = 4, /* struct key4 */
	KEY_IPV6 = 6, /* struct key6; also of IPv4 packets, as `reserved` shows */
};

/* A key of either family, off the packet path: candidates, reports, tests. */
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
	KEY_FIELD_ADDRESS, /* format of inet_ntop(), with /LEN if fewer bits are significant */
	KEY_FIELD_NUMBER,  /* decimal, big-endian in the key */
	KEY_FIELD_ROUTER,  /* number printed as the name of a router (base/router_names.h) */
};

/* Column of a field in output rows. */
enum key_column {
	KEY_COLUMN_ALWAYS, /* in every row; empty if the key lacks the field */
	KEY_COLUMN_RECORD, /* column of flow records with the same name */
	KEY_COLUMN_ASKED,  /* at the end of the row, only if a key of the run has the field */
};

/* A key field: names, location, format. */
struct key_field {
	const char *word; /* word in --key */
	const char *name; /* name of its column */
	enum key_field_type type;
	enum key_column column;
	bool extra;      /* in struct key_extra, else in the 5-tuple */
	uint8_t offset4; /* offset in struct key_extra or struct key4 */
	uint8_t offset6; /* offset in struct key6 */
	uint8_t bits4,
		bits6; /* significant bits: the lowest of a number, the first of an address */
};

/* All fields, in order of comparison and printing. */
extern const struct key_field key_fields[KEY_FIELD_COUNT];

#define KEY_VECTORS 3 /* 16-byte vectors in a struct key6 */

/* Recipe that builds a key from a packet of one IP version. */
struct key_layout {
	bool wide;                     /* the key is a struct key6 */
	uint8_t reserved;              /* last byte of the key */
	uint8_t at[KEY_FIELD_COUNT];   /* offset of a field of the rule */
	uint8_t bits[KEY_FIELD_COUNT]; /* significant bits of a field of the rule */
	/*
	 * Vector v of the key: the bytes that shuffle[v][s] selects from vector s of the source,
	 * combined over all s, under mask[v]. The source is the 5-tuple followed by struct
	 * key_extra. Values from KEY_NO_BYTE select nothing.
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
 * Parses a rule: FIELD[/LEN4[/LEN6]],... where FIELD is the word of a field or of a rule. The text
 * must outlive the rule. Returns false with a phrase in why[KEY_RULE_WHY_MAX] if it is invalid.
 */
bool key_rule_parse(struct key_rule *rule, const char *text, char *why);

/* Returns true if both rules give every packet the same key. */
bool key_rule_equal(const struct key_rule *a, const struct key_rule *b);

/*
 * Finds the distinct rules among n and the 5-tuple, which is first. Fills distinct[n + 1], and
 * of[i] with the index of rules[i] in it. Returns their number.
 */
uint32_t key_rules_distinct(const struct key_rule *const *rules, uint32_t n,
	const struct key_rule **distinct, uint32_t *of);

/* Returns true if the rule can produce the key: all bytes outside its fields are 0. */
bool key_rule_allows(const struct key_rule *rule, const struct key *key);

static inline bool key_rule_has(const struct key_rule *rule, enum key_field_id field)
{
	return rule->fields >> field & 1;
}

/* Returns the fields, one bit each, with this kind of column. */
uint32_t key_fields_of(uint32_t fields, enum key_column column);

/* Longest text of a field, with the final 0: an IPv6 prefix. */
#define KEY_FIELD_TEXT_MAX 50

/* Writes the text of a field of the rule to text[KEY_FIELD_TEXT_MAX] and returns its length. */
size_t key_field_print(
	const struct key_rule *rule, const struct key *key, enum key_field_id field, char *text);

/* Returns the value of a number field of the rule. */
uint64_t key_field_number(
	const struct key_rule *rule, const struct key *key, enum key_field_id field);

/* Returns true for the key of an IPv4 packet. Unknown for keys without addresses. */
static inline bool key_is_ipv4(const struct key *key)
{
	return key->family == KEY_IPV4 || key->v6.reserved == KEY6_OF_IPV4;
}

/* Numeric order: IPv4 before IPv6, then field by field. Returns <0, 0, >0 as memcmp does. */
int key_compare(const struct key *a, const struct key *b);

bool key_equal(const struct key *a, const struct key *b);
