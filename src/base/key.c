/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/key.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FIELD(id, name_, type_, member)                                                            \
	[id] = {                                                                                   \
		.name = name_,                                                                     \
		.type = type_,                                                                     \
		.offset4 = offsetof(struct key4, member),                                          \
		.width4 = sizeof(((struct key4 *)0)->member),                                      \
		.offset6 = offsetof(struct key6, member),                                          \
		.width6 = sizeof(((struct key6 *)0)->member),                                      \
	}

const struct key_field key_fields[KEY_FIELD_COUNT] = {
	FIELD(KEY_SRC_IP, "src_ip", KEY_FIELD_ADDRESS, src_ip),
	FIELD(KEY_DST_IP, "dst_ip", KEY_FIELD_ADDRESS, dst_ip),
	FIELD(KEY_SRC_PORT, "src_port", KEY_FIELD_NUMBER, src_port),
	FIELD(KEY_DST_PORT, "dst_port", KEY_FIELD_NUMBER, dst_port),
	FIELD(KEY_PROTO, "proto", KEY_FIELD_NUMBER, proto),
	FIELD(KEY_TCP_FLAGS, "tcp_flags", KEY_FIELD_NUMBER, tcp_flags),
};

#define ONES1  0xff
#define ONES2  ONES1, ONES1
#define ONES4  ONES2, ONES2
#define ONES16 ONES4, ONES4, ONES4, ONES4

/* clang-format off */
const struct key_rule key_rules[] = {
	{
		.name = "5tuple",
		.fields = 1 << KEY_SRC_IP | 1 << KEY_DST_IP | 1 << KEY_SRC_PORT |
			  1 << KEY_DST_PORT | 1 << KEY_PROTO,
		.mask4 = {{ONES4}, {ONES4}, {ONES2}, {ONES2}, ONES1, 0, {0}},
		.mask6 = {{ONES16}, {ONES16}, {ONES2}, {ONES2}, ONES1, 0, {0}},
	},
	{
		.name = "src",
		.fields = 1 << KEY_SRC_IP,
		.mask4 = {.src_ip = {ONES4}},
		.mask6 = {.src_ip = {ONES16}},
	},
	{
		.name = "dst",
		.fields = 1 << KEY_DST_IP,
		.mask4 = {.dst_ip = {ONES4}},
		.mask6 = {.dst_ip = {ONES16}},
	},
	{
		.name = "src-dst",
		.fields = 1 << KEY_SRC_IP | 1 << KEY_DST_IP,
		.mask4 = {.src_ip = {ONES4}, .dst_ip = {ONES4}},
		.mask6 = {.src_ip = {ONES16}, .dst_ip = {ONES16}},
	},
	{
		.name = "6tuple",
		.fields = 1 << KEY_SRC_IP | 1 << KEY_DST_IP | 1 << KEY_SRC_PORT |
			  1 << KEY_DST_PORT | 1 << KEY_PROTO | 1 << KEY_TCP_FLAGS,
		.mask4 = {{ONES4}, {ONES4}, {ONES2}, {ONES2}, ONES1, ONES1, {0}},
		.mask6 = {{ONES16}, {ONES16}, {ONES2}, {ONES2}, ONES1, ONES1, {0}},
	},
	{.name = NULL},
};
/* clang-format on */

const struct key_rule *key_rule_find(const char *name)
{
	for (const struct key_rule *rule = key_rules; rule->name != NULL; rule++)
		if (strcmp(rule->name, name) == 0)
			return rule;
	return NULL;
}

size_t key_field_print(const struct key *key, enum key_field_id id, char *text)
{
	const struct key_field *field = &key_fields[id];
	bool v4 = key->family == KEY_IPV4;
	const uint8_t *bytes = v4 ? (const uint8_t *)&key->v4 + field->offset4
				  : (const uint8_t *)&key->v6 + field->offset6;
	size_t width = v4 ? field->width4 : field->width6;
	uint64_t number = 0;

	if (field->type == KEY_FIELD_ADDRESS) {
		inet_ntop(v4 ? AF_INET : AF_INET6, bytes, text, KEY_FIELD_TEXT_MAX);
		return strlen(text);
	}
	for (size_t i = 0; i < width; i++)
		number = number << 8 | bytes[i];
	return (size_t)snprintf(text, KEY_FIELD_TEXT_MAX, "%" PRIu64, number);
}

/* The fields lie in the order of comparison, big-endian and without gaps: memcmp is the order. */
int key_compare(const struct key *a, const struct key *b)
{
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
