/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/record_filter.h"

#include <netinet/in.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_protocols/big_endian.h"
#include "flow_protocols/record.h"

enum {
	ETHERNET_HEADER = 14,
	TYPE_AT = 12,
	VLAN_TAG = 4,
	IPV4_HEADER = 20,
	IPV6_HEADER = 40,
	TCP_HEADER = 20,
	TYPE_VLAN = 0x8100,
	TYPE_IPV4 = 0x0800,
	TYPE_IPV6 = 0x86dd,
};

#define STEPS_MAX (1U << 20) /* instructions per program and kind of frame */

_Static_assert(ETHERNET_HEADER + VLAN_TAG + IPV6_HEADER + TCP_HEADER <= RECORD_FRAME_MAX,
	"the largest frame must fit in RECORD_FRAME_MAX bytes");

/* Returns true if the expression contains the whole word. */
static bool has_word(const char *expression, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = strstr(expression, word); at != NULL; at = strstr(at + 1, word))
		if ((at == expression || !isalnum((unsigned char)at[-1])) &&
			!isalnum((unsigned char)at[len]))
			return true;
	return false;
}

bool record_filter_has_tags(const char *expression)
{
	return has_word(expression, "vlan");
}

static uint8_t *put_ipv4(uint8_t *to, const struct observation *observation)
{
	const struct key4 *key = &observation->key4;

	to[0] = 0x45;
	to[1] = key_extra_tos(&observation->extra);
	to[9] = key->proto;
	memcpy(to + 12, key->src_ip, 4);
	memcpy(to + 16, key->dst_ip, 4);
	memcpy(to + IPV4_HEADER, key->src_port, 2);
	memcpy(to + IPV4_HEADER + 2, key->dst_port, 2);
	return to + IPV4_HEADER;
}

static uint8_t *put_ipv6(uint8_t *to, const struct observation *observation)
{
	const struct key6 *key = &observation->key6;

	to[0] = (uint8_t)(0x60 | key_extra_tos(&observation->extra) >> 4);
	to[1] = (uint8_t)(key_extra_tos(&observation->extra) << 4);
	to[6] = key->proto;
	memcpy(to + 8, key->src_ip, 16);
	memcpy(to + 24, key->dst_ip, 16);
	memcpy(to + IPV6_HEADER, key->src_port, 2);
	memcpy(to + IPV6_HEADER + 2, key->dst_port, 2);
	return to + IPV6_HEADER;
}

uint32_t record_frame_make(
	const struct observation *observation, bool tags, uint8_t frame[RECORD_FRAME_MAX])
{
	bool ipv6 = observation->family == KEY_IPV6;
	const uint8_t *vlan = observation->extra.vlan;
	uint8_t *at = frame + TYPE_AT;

	memset(frame, 0, RECORD_FRAME_MAX);
	if (tags && (vlan[0] | vlan[1]) != 0) {
		put16(at, TYPE_VLAN);
		memcpy(at + 2, vlan, 2);
		at += VLAN_TAG;
	}
	put16(at, ipv6 ? TYPE_IPV6 : TYPE_IPV4);
	at = ipv6 ? put_ipv6(at + 2, observation) : put_ipv4(at + 2, observation);
	return (uint32_t)(at - frame) + TCP_HEADER;
}

/*
 * fixed: value of bits that all records share. varies: bits that differ. unknown: bits they lack.
 */
struct bits {
	uint32_t fixed, varies, unknown;
};

static const struct bits all_unknown = {0, 0, UINT32_MAX};

/* Bytes of all frames with the same IP version, protocol and presence of a VLAN tag. */
struct frame_kind {
	uint8_t fixed[RECORD_FRAME_MAX], varies[RECORD_FRAME_MAX], unknown[RECORD_FRAME_MAX];
};

static void set_varies(struct frame_kind *kind, uint32_t at, uint32_t len)
{
	memset(kind->varies + at, UINT8_MAX, len);
	memset(kind->unknown + at, 0, len);
}

static void set_fixed(struct frame_kind *kind, uint32_t at, uint32_t len)
{
	memset(kind->unknown + at, 0, len);
}

static void make_ipv4_kind(struct frame_kind *kind, uint32_t at)
{
	set_fixed(kind, at, 1);
	kind->varies[at + 1] = 0xfc;
	kind->unknown[at + 1] = 0x03;
	kind->unknown[at + 6] = 0xe0; /* flags; the fragment offset is always 0 */
	set_fixed(kind, at + 7, 1);
	set_fixed(kind, at + 9, 1);
	set_varies(kind, at + 12, 8);
}

static void make_ipv6_kind(struct frame_kind *kind, uint32_t at)
{
	kind->varies[at] = 0x0f;
	kind->unknown[at] = 0;
	kind->varies[at + 1] = 0xc0;
	kind->unknown[at + 1] = 0x3f;
	set_fixed(kind, at + 6, 1);
	set_varies(kind, at + 8, 32);
}

static void make_kind(struct frame_kind *kind, bool ipv6, uint8_t proto, bool tag)
{
	struct observation record = {.family = ipv6 ? KEY_IPV6 : KEY_IPV4};
	uint32_t ip = ETHERNET_HEADER + (tag ? VLAN_TAG : 0);

	if (ipv6)
		record.key6.proto = proto;
	else
		record.key4.proto = proto;
	record.extra.vlan[1] = tag;
	memset(kind, 0, sizeof(*kind));
	memset(kind->unknown, UINT8_MAX, sizeof(kind->unknown));
	record_frame_make(&record, tag, kind->fixed);
	set_fixed(kind, TYPE_AT, ip - TYPE_AT);
	if (tag) {
		set_varies(kind, TYPE_AT + 2, 2);
		kind->varies[TYPE_AT + 2] = 0x0f;
		kind->unknown[TYPE_AT + 2] = 0xf0;
		kind->fixed[TYPE_AT + 3] = 0;
	}
	if (ipv6)
		make_ipv6_kind(kind, ip);
	else
		make_ipv4_kind(kind, ip);
	if (flow_has_ports(proto))
		set_varies(kind, ip + (ipv6 ? IPV6_HEADER : IPV4_HEADER), 4);
}

struct record_filter_machine {
	struct bits a, x, memory[BPF_MEMWORDS];
};

struct walk {
	const struct bpf_program *program;
	const struct frame_kind *kind;
	struct record_filter_machine *seen; /* [bf_len]: last state at each instruction */
	bool *visited;
	uint32_t steps;
};

static bool is_fixed(const struct bits *bits)
{
	return (bits->varies | bits->unknown) == 0;
}

static struct bits number(uint32_t value)
{
	return (struct bits){value, 0, 0};
}

static struct bits load(const struct frame_kind *kind, uint64_t at, uint32_t size)
{
	struct bits value = {0, 0, 0};

	if (at + size > RECORD_FRAME_MAX)
		return all_unknown;
	for (uint32_t i = 0; i < size; i++, at++) {
		value.fixed = value.fixed << 8 | kind->fixed[at];
		value.varies = value.varies << 8 | kind->varies[at];
		value.unknown = value.unknown << 8 | kind->unknown[at];
	}
	value.fixed &= ~(value.varies | value.unknown);
	return value;
}

static struct bits load_of(
	const struct walk *walk, const struct bpf_insn *insn, const struct bits *x)
{
	uint32_t size = BPF_SIZE(insn->code) == BPF_W ? 4 : BPF_SIZE(insn->code) == BPF_H ? 2 : 1;

	switch (BPF_MODE(insn->code)) {
	case BPF_ABS: return load(walk->kind, insn->k, size);
	case BPF_IND:
		return is_fixed(x) ? load(walk->kind, (uint64_t)x->fixed + insn->k, size)
				   : all_unknown;
	case BPF_IMM: return number(insn->k);
	default: return all_unknown; /* BPF_LEN: the packet length */
	}
}

/* Returns four times the low half of a byte, the length of an IPv4 header. */
static struct bits header_length(const struct walk *walk, const struct bpf_insn *insn)
{
	struct bits byte = load(walk->kind, insn->k, 1);

	return (struct bits){
		(byte.fixed & 15) * 4, (byte.varies & 15) * 4, (byte.unknown & 15) * 4};
}

static uint32_t compute(uint32_t op, uint32_t a, uint32_t b)
{
	switch (op) {
	case BPF_ADD: return a + b;
	case BPF_SUB: return a - b;
	case BPF_MUL: return a * b;
	case BPF_DIV: return b != 0 ? a / b : 0;
	case BPF_MOD: return b != 0 ? a % b : 0;
	case BPF_XOR: return a ^ b;
	case BPF_NEG: return -a;
	case BPF_LSH: return b < 32 ? a << b : 0;
	case BPF_RSH: return b < 32 ? a >> b : 0;
	case BPF_AND: return a & b;
	default: return a | b;
	}
}

static struct bits arithmetic(uint32_t op, const struct bits *a, const struct bits *b)
{
	if (is_fixed(b) && (op == BPF_AND || op == BPF_LSH || op == BPF_RSH))
		return (struct bits){compute(op, a->fixed, b->fixed),
			compute(op, a->varies, b->fixed), compute(op, a->unknown, b->fixed)};
	if (is_fixed(b) && op == BPF_OR)
		return (struct bits){
			a->fixed | b->fixed, a->varies & ~b->fixed, a->unknown & ~b->fixed};
	if ((a->unknown | b->unknown) != 0)
		return all_unknown;
	if ((a->varies | b->varies) != 0)
		return (struct bits){0, UINT32_MAX, 0};
	return number(compute(op, a->fixed, b->fixed));
}

enum outcome {
	ALWAYS,
	NEVER,
	SOMETIMES, /* differs between records */
	DEPENDS,   /* depends on bytes that records lack */
};

static enum outcome of_bool(bool value)
{
	return value ? ALWAYS : NEVER;
}

static enum outcome compare(uint32_t op, const struct bits *a, const struct bits *b)
{
	uint32_t known = ~(a->varies | a->unknown);

	if (!is_fixed(b))
		return (a->unknown | b->unknown) != 0 ? DEPENDS : SOMETIMES;
	if (op == BPF_JSET) {
		if (a->fixed & b->fixed)
			return ALWAYS;
		if (a->unknown & b->fixed)
			return DEPENDS;
		return a->varies & b->fixed ? SOMETIMES : NEVER;
	}
	if (op == BPF_JEQ && (a->fixed & known) != (b->fixed & known))
		return NEVER;
	if (a->unknown != 0)
		return DEPENDS;
	if (a->varies != 0)
		return SOMETIMES;
	switch (op) {
	case BPF_JEQ: return of_bool(a->fixed == b->fixed);
	case BPF_JGT: return of_bool(a->fixed > b->fixed);
	default: return of_bool(a->fixed >= b->fixed);
	}
}

/* Returns false for an unknown instruction. The instruction is not a branch. */
static bool step(
	const struct walk *walk, const struct bpf_insn *insn, struct record_filter_machine *machine)
{
	struct bits k = number(insn->k);

	switch (BPF_CLASS(insn->code)) {
	case BPF_LD:
	case BPF_LDX: {
		bool x = BPF_CLASS(insn->code) == BPF_LDX;
		struct bits *to = x ? &machine->x : &machine->a;

		if (BPF_MODE(insn->code) == BPF_MEM)
			*to = machine->memory[insn->k % BPF_MEMWORDS];
		else if (BPF_MODE(insn->code) == BPF_MSH)
			*to = header_length(walk, insn);
		else
			*to = load_of(walk, insn, &machine->x);
		return true;
	}
	case BPF_ST: machine->memory[insn->k % BPF_MEMWORDS] = machine->a; return true;
	case BPF_STX: machine->memory[insn->k % BPF_MEMWORDS] = machine->x; return true;
	case BPF_ALU:
		machine->a = arithmetic(BPF_OP(insn->code), &machine->a,
			BPF_SRC(insn->code) == BPF_X ? &machine->x : &k);
		return true;
	case BPF_MISC:
		if (BPF_MISCOP(insn->code) == BPF_TAX)
			machine->x = machine->a;
		else
			machine->a = machine->x;
		return true;
	default: return false;
	}
}

/* Returns false if the verdict depends on unknown bits, or if there are too many paths. */
static bool follow(struct walk *walk, uint32_t pc, struct record_filter_machine machine)
{
	for (;;) {
		const struct bpf_insn *insn;
		struct bits k;
		enum outcome outcome;

		if (pc >= walk->program->bf_len || walk->steps++ == STEPS_MAX)
			return false;
		if (walk->visited[pc] && memcmp(&walk->seen[pc], &machine, sizeof(machine)) == 0)
			return true;
		walk->visited[pc] = true;
		walk->seen[pc] = machine;
		insn = &walk->program->bf_insns[pc++];
		if (BPF_CLASS(insn->code) == BPF_RET)
			return BPF_RVAL(insn->code) != BPF_A || machine.a.unknown == 0;
		if (BPF_CLASS(insn->code) != BPF_JMP) {
			if (!step(walk, insn, &machine))
				return false;
			continue;
		}
		if (BPF_OP(insn->code) == BPF_JA) {
			pc += insn->k;
			continue;
		}
		k = number(insn->k);
		outcome = compare(BPF_OP(insn->code), &machine.a,
			BPF_SRC(insn->code) == BPF_X ? &machine.x : &k);
		if (outcome == DEPENDS)
			return false;
		if (outcome == SOMETIMES && !follow(walk, pc + insn->jt, machine))
			return false;
		pc += outcome == ALWAYS ? insn->jt : insn->jf;
	}
}

static bool is_known(const struct bpf_program *program, const struct frame_kind *kind,
	struct record_filter_machine *seen, bool *visited)
{
	struct walk walk = {program, kind, seen, visited, 0};
	struct record_filter_machine machine;

	memset(&machine, 0, sizeof(machine));
	memset(visited, 0, program->bf_len * sizeof(*visited));
	return follow(&walk, 0, machine);
}

static bool is_known_of_all(const struct bpf_program *program, bool tags,
	struct record_filter_machine *seen, bool *visited)
{
	struct frame_kind kind;

	for (uint32_t proto = 0; proto <= UINT8_MAX; proto++)
		for (uint32_t i = 0; i < (tags ? 4U : 2U); i++) {
			/*
			 * A record has the protocol after the extension headers, never
			 * IPPROTO_FRAGMENT.
			 */
			if ((i & 1) && proto == IPPROTO_FRAGMENT)
				continue;
			make_kind(&kind, i & 1, (uint8_t)proto, i >> 1);
			if (!is_known(program, &kind, seen, visited))
				return false;
		}
	return true;
}

bool record_filter_check(
	const struct bpf_program *program, const char *expression, char *error, size_t size)
{
	static const char *const words[] = {"mpls", "pppoed", "pppoes"};
	struct record_filter_machine *seen = malloc(program->bf_len * sizeof(*seen));
	bool *visited = malloc(program->bf_len * sizeof(*visited));
	bool known = seen != NULL && visited != NULL &&
		     is_known_of_all(program, record_filter_has_tags(expression), seen, visited);

	free(seen);
	free(visited);
	for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		known &= !has_word(expression, words[i]);
	if (known)
		return true;
	snprintf(error, size,
		"'%.100s': depends on more of a packet than records have; use addresses, "
		"protocols, ports and vlan",
		expression);
	return false;
}
