/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Keys: the fields by which packets are counted.
 *
 * The option --key selects the fields of a struct key_rule. If all are in the 5-tuple, they keep
 * their offsets there, and other bytes are 0. Otherwise the fields follow each other without gaps.
 * If the key of an IPv4 packet does not fit struct key4, it is stored in a struct key6.
 *
 * To add a field, add a row to KEY_EXTRA_FIELDS(), and make the parser fill its bytes of struct
 * key_extra.
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
	uint8_t reserved; /* not in a field; 0, or used by tables in keys that they store */
} __attribute__((aligned(16)));

struct key6 {
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t src_port[2];
	uint8_t dst_port[2];
	uint8_t proto;
	uint8_t spare[2];
	uint8_t reserved; /* not in a field; KEY6_OF_IPV4 or 0 */
} __attribute__((aligned(8)));

/* The struct key6 holds the key of an IPv4 packet. */
#define KEY6_OF_IPV4 4

/* bytes for fields */
#define KEY4_ROOM offsetof(struct key4, reserved)
#define KEY6_ROOM offsetof(struct key6, reserved)

_Static_assert(sizeof(struct key4) == 16, "an IPv4 key is one vector register");
_Static_assert(sizeof(struct key6) == 40, "an IPv6 key is five words");
_Static_assert(KEY4_ROOM == sizeof(struct key4) - 1, "the reserved byte is the last");
_Static_assert(KEY6_ROOM == sizeof(struct key6) - 1, "the reserved byte is the last");

/*
 * Fields outside the 5-tuple, in order of comparison. The columns are: ID, word in --key and in
 * the CSV header, bits, KEY_FIELD_*, KEY_COLUMN_*, IPFIX information element, its form, help.
 * Forms: NUMBER has the bytes of the field. MPLS_ENTRY has the label and 4 other bits. INTERFACE
 * is only written to IPFIX. NONE means that there is no element.
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
#define KEY_EXTRA_BIT(name, ...)                                | UINT32_C(1) << KEY_##name
#define KEY_EXTRA_HELP(name, word, b, t, c, number, form, says) ", " #word says

struct key_extra {
	KEY_EXTRA_FIELDS(KEY_EXTRA_BYTES)
} __attribute__((aligned(16)));

_Static_assert(sizeof(struct key_extra) == 16, "one vector register");

#define KEY_EXTRA_SIZE(word) sizeof(((struct key_extra *)0)->word)

/* The last two bits of an IPv4 type of service or IPv6 traffic class are ECN. */
static inline void key_extra_set_tos(struct key_extra *extra, uint8_t octet)
{
	extra->dscp[0] = octet >> 2;
}

static inline uint8_t key_extra_tos(const struct key_extra *extra)
{
	return (uint8_t)(extra->dscp[0] << 2);
}

enum key_family {
	KEY_IPV4 = 4,
	KEY_IPV6 = 6,
};

/* Key of either type, for code off the packet path. */
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

#define KEY_EXTRA_MASK (UINT32_C(0) KEY_EXTRA_FIELDS(KEY_EXTRA_BIT))

enum key_field_type {
	KEY_FIELD_ADDRESS, /* in the format of inet_ntop(), with /LEN if it is a prefix */
	KEY_FIELD_NUMBER,  /* big-endian in the key */
	KEY_FIELD_ROUTER,  /* number of a router, printed as its name */
};

enum key_column {
	KEY_COLUMN_ALWAYS, /* empty if the key lacks the field */
	KEY_COLUMN_RECORD, /* in the column of this name that rows of flow records have */
	KEY_COLUMN_ASKED,  /* after all other columns, if a key of the run has the field */
};

struct key_field {
	const char *word; /* name in --key */
	const char *name; /* name in the CSV header */
	enum key_field_type type;
	enum key_column column;
	bool extra;      /* true: in struct key_extra; false: in the 5-tuple */
	uint8_t offset4; /* offset in struct key_extra or struct key4 */
	uint8_t offset6; /* offset in struct key6 */
	/* The lowest bits of a number, the first bits of an address. */
	uint8_t bits4, bits6;
};

extern const struct key_field key_fields[KEY_FIELD_COUNT];

#define KEY_VECTORS 3 /* vectors of 16 bytes in a struct key6 */

struct key_layout {
	bool wide;                     /* true: the key is a struct key6 */
	uint8_t reserved;              /* value of the last byte */
	uint8_t at[KEY_FIELD_COUNT];   /* offset of each field */
	uint8_t bits[KEY_FIELD_COUNT]; /* significant bits of each field */
	/*
	 * The last source vector is struct key_extra, the others are the 5-tuple. Vector v of the
	 * key is the OR of the bytes that all shuffle[v][source] select, ANDed with mask[v].
	 */
	uint8_t shuffle[KEY_VECTORS][KEY_VECTORS + 1][16];
	uint8_t mask[KEY_VECTORS][16];
};

#define KEY_NO_BYTE 0x80

struct key_rule {
	const char *name;
	uint32_t fields; /* one bit per field */
	bool extra;      /* true: has a field of struct key_extra */
	struct key_layout ipv4, ipv6;
};

/* The first, the 5-tuple, is the default. A row without a name ends the list. */
extern const struct key_rule *const key_rules;

const struct key_rule *key_rule_find(const char *word);

#define KEY_RULE_WHY_MAX 256

/*
 * Parses FIELD[/LEN4[/LEN6]],... or the name of a predefined rule. Keeps a pointer to the text.
 * Returns false with an error in why[KEY_RULE_WHY_MAX].
 */
bool key_rule_parse(struct key_rule *rule, const char *text, char *why);

/* Returns true if both rules give every packet the same key. */
bool key_rule_equal(const struct key_rule *a, const struct key_rule *b);

/*
 * Writes the 5-tuple and then all other distinct rules to distinct[n + 1]. Returns their number.
 * of[i] is the index of rules[i] in distinct[].
 */
uint32_t key_rules_distinct(const struct key_rule *const *rules, uint32_t n,
	const struct key_rule **distinct, uint32_t *of);

/* Returns true if the rule can produce the key, with 0 in all bytes outside its fields. */
bool key_rule_allows(const struct key_rule *rule, const struct key *key);

static inline bool key_rule_has(const struct key_rule *rule, enum key_field_id field)
{
	return rule->fields >> field & 1;
}

/* Selects from `fields` (one bit each) those with this kind of column. */
uint32_t key_fields_of(uint32_t fields, enum key_column column);

/* Size of the text, with the terminating NUL. */
#define KEY_FIELD_TEXT_MAX 50

/* Writes to text[KEY_FIELD_TEXT_MAX]. Returns the length. */
size_t key_field_print(
	const struct key_rule *rule, const struct key *key, enum key_field_id field, char *text);

uint64_t key_field_number(
	const struct key_rule *rule, const struct key *key, enum key_field_id field);

/* Undefined for keys without addresses. */
static inline bool key_is_ipv4(const struct key *key)
{
	return key->family == KEY_IPV4 || key->v6.reserved == KEY6_OF_IPV4;
}

/* Compares IPv4 before IPv6, then field by field. */
int key_compare(const struct key *a, const struct key *b);

bool key_equal(const struct key *a, const struct key *b);
