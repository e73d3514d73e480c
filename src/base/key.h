/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What is counted. A packet's full key is its 5-tuple, in network byte order and in the order in
 * which keys are compared and printed. An IPv4 key is 16 bytes, so that one vector register holds
 * it; an IPv6 key has a type of its own, so that IPv4 never pays for it.
 *
 * Any other key (--key) is the 5-tuple with some fields masked to zero: a struct key_rule is the
 * two masks, and the list of the fields that are left. A new field takes a row of key_fields[] and
 * room in `spare`. The TCP flags are no part of the 5-tuple, as they differ between the packets of
 * a connection: keys of a rule that has them get them after masking (key_burst_mask()).
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
	uint8_t tcp_flags; /* 0 but in keys of a rule that has them */
	uint8_t spare[2];  /* always 0: the whole struct is hashed and compared */
} __attribute__((aligned(16)));

struct key6 {
	uint8_t src_ip[16];
	uint8_t dst_ip[16];
	uint8_t src_port[2];
	uint8_t dst_port[2];
	uint8_t proto;
	uint8_t tcp_flags; /* as in struct key4 */
	uint8_t spare[2];  /* always 0 */
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct key4) == 16, "an IPv4 key is one vector register");
_Static_assert(sizeof(struct key6) == 40, "an IPv6 key is five words");

enum key_family {
	KEY_IPV4 = 4,
	KEY_IPV6 = 6,
};

/* A key of either family, where speed does not matter: candidates, reports, tests. */
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
	KEY_TCP_FLAGS,
	KEY_FIELD_COUNT,
};

enum key_field_type {
	KEY_FIELD_ADDRESS, /* inet_ntop's form */
	KEY_FIELD_NUMBER,  /* decimal, big-endian in the key */
};

/* One CSV column of a key: where it lies in each family's struct, and how it prints. */
struct key_field {
	const char *name;
	enum key_field_type type;
	uint8_t offset4, width4; /* bytes, in struct key4 */
	uint8_t offset6, width6; /* bytes, in struct key6 */
};

extern const struct key_field key_fields[KEY_FIELD_COUNT];

struct key_rule {
	const char *name; /* the word after --key */
	uint32_t fields;  /* bit f is set where field f is part of the key */
	struct key4 mask4;
	struct key6 mask6;
};

extern const struct key_rule
	key_rules[]; /* the first is the default; a row without a name ends it */

/* Returns NULL where no rule has this name. */
const struct key_rule *key_rule_find(const char *name);

/* Longest text of one field, with the final 0: an IPv6 address. */
#define KEY_FIELD_TEXT_MAX 46

/* Writes the text of one field to text[KEY_FIELD_TEXT_MAX] and returns its length. */
size_t key_field_print(const struct key *key, enum key_field_id field, char *text);

/* Numeric order: IPv4 before IPv6, then field by field. Returns <0, 0, >0 as memcmp does. */
int key_compare(const struct key *a, const struct key *b);

bool key_equal(const struct key *a, const struct key *b);
