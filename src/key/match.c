/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/match.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/decimal.h"

#define NODES_MAX 256
#define WORD_MAX  64
#define DEEPEST   32 /* nested parentheses and negations */

#define PROTO_ICMP  1
#define PROTO_TCP   6
#define PROTO_UDP   17
#define PROTO_ICMP6 58
#define PROTO_SCTP  132

enum node_kind {
	NODE_BOX,
	NODE_AND,
	NODE_OR,
	NODE_NOT,
};

struct node {
	enum node_kind kind;
	uint32_t a, b; /* operands */
	struct match_box box;
};

enum side {
	SIDE_NONE,
	SIDE_ANY,
	SIDE_SRC,
	SIDE_DST,
	SIDE_BOTH,
};

enum subject {
	SUBJECT_NONE,
	SUBJECT_PROTO,
	SUBJECT_PORT,
	SUBJECT_PORTRANGE,
	SUBJECT_NET,
	SUBJECT_HOST,
};

#define ANY_PROTOCOL (UINT8_MAX + 1)

/* Keywords before a value. */
struct qualifier {
	enum subject subject;
	enum side side;
	bool has_protocol;
	uint8_t families;
	uint32_t proto; /* ANY_PROTOCOL: each */
};

struct compiler {
	const char *at;      /* next character */
	const char *word_at; /* start of `word` */
	char word[WORD_MAX]; /* current token; "" at the end */
	uint32_t nb_nodes, depth;
	struct qualifier qualifier; /* also of values without keywords: port 80 or 443 */
	struct node nodes[NODES_MAX];
	bool failed;
	char *why;
};

static const struct match_box everything = {
	.src = {0, ~(match_address)0},
	.dst = {0, ~(match_address)0},
	.src_port = {0, UINT16_MAX},
	.dst_port = {0, UINT16_MAX},
	.proto = {0, UINT8_MAX},
	.families = MATCH_IPV4 | MATCH_IPV6,
};

/* Returns a node. */
typedef uint32_t parse_operand(struct compiler *compiler);

__attribute__((format(printf, 2, 3))) static uint32_t fail(
	struct compiler *compiler, const char *format, ...)
{
	va_list args;

	if (!compiler->failed) {
		va_start(args, format);
		vsnprintf(compiler->why, MATCH_WHY_MAX, format, args);
		va_end(args);
	}
	compiler->failed = true;
	return 0;
}

static bool is_sign(char c)
{
	return strchr("()!&|", c) != NULL;
}

static void next(struct compiler *compiler)
{
	size_t len = 0;

	compiler->at += strspn(compiler->at, " \t");
	compiler->word_at = compiler->at;
	if (*compiler->at != '\0' && is_sign(*compiler->at)) {
		len = 1;
		if ((*compiler->at == '&' || *compiler->at == '|') &&
			compiler->at[1] == compiler->at[0])
			len = 2;
	} else {
		while (compiler->at[len] != '\0' && strchr(" \t", compiler->at[len]) == NULL &&
			!is_sign(compiler->at[len]))
			len++;
	}
	if (len >= WORD_MAX) {
		fail(compiler, "'%.40s...': word too long", compiler->at);
		len = WORD_MAX - 1;
	}
	memcpy(compiler->word, compiler->at, len);
	compiler->word[len] = '\0';
	compiler->at += len;
}

static bool is(const struct compiler *compiler, const char *word)
{
	return strcmp(compiler->word, word) == 0;
}

static bool take(struct compiler *compiler, const char *word)
{
	if (!is(compiler, word))
		return false;
	next(compiler);
	return true;
}

static uint32_t add(struct compiler *compiler, const struct node *node)
{
	if (compiler->failed)
		return 0;
	if (compiler->nb_nodes == NODES_MAX)
		return fail(compiler, "too long: the limit is %d conditions; use several queries",
			NODES_MAX);
	compiler->nodes[compiler->nb_nodes] = *node;
	return compiler->nb_nodes++;
}

static uint32_t add_box(struct compiler *compiler, const struct match_box *box)
{
	return add(compiler, &(struct node){.kind = NODE_BOX, .box = *box});
}

static uint32_t join(struct compiler *compiler, enum node_kind kind, uint32_t a, uint32_t b)
{
	return add(compiler, &(struct node){.kind = kind, .a = a, .b = b});
}

/* `prefix`: ADDRESS/LEN is allowed. Returns false if the text is not an address. */
static bool read_address(
	const char *text, bool prefix, match_address range[2], uint8_t *family, bool *stray)
{
	char address[WORD_MAX];
	const char *slash = strchr(text, '/');
	uint8_t bytes[16] = {0};
	bool ipv6 = strchr(text, ':') != NULL;
	uint32_t bits = ipv6 ? 128 : 32, len = bits;
	match_address value = 0, rest;

	snprintf(address, sizeof(address), "%.*s",
		(int)(slash != NULL ? (size_t)(slash - text) : strlen(text)), text);
	if (slash != NULL && (!prefix || !decimal_read_u32(slash + 1, bits, &len)))
		return false;
	if (inet_pton(ipv6 ? AF_INET6 : AF_INET, address, bytes) != 1)
		return false;
	for (uint32_t i = 0; i < 16; i++)
		value = value << 8 | bytes[i];
	rest = len == 0 ? ~(match_address)0 : ((match_address)1 << (128 - len)) - 1;
	*stray = (value & rest) != 0;
	range[0] = value;
	range[1] = value | rest;
	*family = ipv6 ? MATCH_IPV6 : MATCH_IPV4;
	return true;
}

/* Returns the condition that the given sides are in the boxes `src` and `dst`. */
static uint32_t on_sides(struct compiler *compiler, enum side side, const struct match_box *src,
	const struct match_box *dst)
{
	uint32_t a = side != SIDE_DST ? add_box(compiler, src) : 0;
	uint32_t b = side != SIDE_SRC ? add_box(compiler, dst) : 0;

	if (side == SIDE_SRC)
		return a;
	if (side == SIDE_DST)
		return b;
	return join(compiler, side == SIDE_BOTH ? NODE_AND : NODE_OR, a, b);
}

static uint32_t parse_address(struct compiler *compiler)
{
	struct match_box src = everything, dst = everything;
	bool prefix = compiler->qualifier.subject == SUBJECT_NET;
	match_address range[2];
	uint8_t family;
	bool stray;

	if (!read_address(compiler->word, prefix, range, &family, &stray))
		return fail(compiler, "'%.50s': not %s; example: %s", compiler->word,
			prefix ? "an IP prefix" : "an IP address",
			prefix ? "10.0.0.0/8" : "192.0.2.1");
	if (stray)
		return fail(
			compiler, "'%.50s': bits are set beyond the prefix length", compiler->word);
	memcpy(src.src, range, sizeof(range));
	memcpy(dst.dst, range, sizeof(range));
	src.families = dst.families = family;
	next(compiler);
	return on_sides(compiler, compiler->qualifier.side, &src, &dst);
}

static uint32_t parse_ports(struct compiler *compiler)
{
	struct match_box src = everything, dst = everything;
	bool range = compiler->qualifier.subject == SUBJECT_PORTRANGE;
	char first[WORD_MAX];
	const char *hyphen = strchr(compiler->word, '-'), *last = compiler->word;
	uint32_t low, high;

	snprintf(first, sizeof(first), "%s", compiler->word);
	if (range && hyphen != NULL) {
		first[hyphen - compiler->word] = '\0';
		last = hyphen + 1;
	}
	if (!decimal_read_u32(first, UINT16_MAX, &low) ||
		!decimal_read_u32(last, UINT16_MAX, &high) || low > high)
		return fail(compiler, "'%.50s': not a %s; example: %s", compiler->word,
			range ? "port range" : "port number", range ? "6000-6008" : "443");
	src.src_port[0] = dst.dst_port[0] = (uint16_t)low;
	src.src_port[1] = dst.dst_port[1] = (uint16_t)high;
	next(compiler);
	return on_sides(compiler, compiler->qualifier.side, &src, &dst);
}

static uint32_t add_protocol(struct compiler *compiler, uint8_t families, uint32_t proto)
{
	struct match_box box = everything;

	box.families = families;
	if (proto <= UINT8_MAX)
		box.proto[0] = box.proto[1] = (uint8_t)proto;
	return add_box(compiler, &box);
}

static uint32_t parse_number_of_protocol(struct compiler *compiler)
{
	uint32_t proto;

	if (!decimal_read_u32(compiler->word, UINT8_MAX, &proto))
		return fail(compiler, "'%.50s': not a protocol number, 0 to 255", compiler->word);
	next(compiler);
	return add_protocol(compiler, compiler->qualifier.families, proto);
}

static void parse_protocol(struct compiler *compiler, struct qualifier *qualifier)
{
	static const struct {
		const char *word;
		uint8_t families;
		uint32_t proto;
	} protocols[] = {
		{"ip", MATCH_IPV4, ANY_PROTOCOL},
		{"ip6", MATCH_IPV6, ANY_PROTOCOL},
		{"tcp", MATCH_IPV4 | MATCH_IPV6, PROTO_TCP},
		{"udp", MATCH_IPV4 | MATCH_IPV6, PROTO_UDP},
		{"sctp", MATCH_IPV4 | MATCH_IPV6, PROTO_SCTP},
		{"icmp", MATCH_IPV4, PROTO_ICMP},
		{"icmp6", MATCH_IPV6, PROTO_ICMP6},
	};

	for (uint32_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++) {
		if (!take(compiler, protocols[i].word))
			continue;
		qualifier->has_protocol = true;
		qualifier->families = protocols[i].families;
		qualifier->proto = protocols[i].proto;
		return;
	}
}

static enum side parse_side(struct compiler *compiler)
{
	static const struct {
		const char *first, *second;
		enum side one, any, both;
	} sides[] = {{"src", "dst", SIDE_SRC, SIDE_ANY, SIDE_BOTH},
		{"dst", "src", SIDE_DST, SIDE_ANY, SIDE_BOTH}};

	for (uint32_t i = 0; i < 2; i++) {
		const char *before;
		bool both;

		if (!take(compiler, sides[i].first))
			continue;
		before = compiler->word_at;
		both = is(compiler, "and");
		if ((take(compiler, "and") || take(compiler, "or")) &&
			take(compiler, sides[i].second))
			return both ? sides[i].both : sides[i].any;
		compiler->at = before;
		next(compiler);
		return sides[i].one;
	}
	return SIDE_NONE;
}

static enum subject parse_subject(struct compiler *compiler, const struct qualifier *qualifier)
{
	static const struct {
		const char *word;
		enum subject subject;
	} subjects[] = {
		{"port", SUBJECT_PORT},
		{"portrange", SUBJECT_PORTRANGE},
		{"net", SUBJECT_NET},
		{"host", SUBJECT_HOST},
	};

	if (qualifier->side == SIDE_NONE &&
		(!qualifier->has_protocol || qualifier->proto == ANY_PROTOCOL) &&
		take(compiler, "proto"))
		return SUBJECT_PROTO;
	for (uint32_t i = 0; i < sizeof(subjects) / sizeof(subjects[0]); i++)
		if (take(compiler, subjects[i].word))
			return subjects[i].subject;
	return qualifier->side != SIDE_NONE ? SUBJECT_HOST : SUBJECT_NONE;
}

static uint32_t parse_value(struct compiler *compiler)
{
	const struct qualifier *qualifier = &compiler->qualifier;
	uint32_t node;

	if (qualifier->subject == SUBJECT_PROTO)
		return parse_number_of_protocol(compiler);
	if (qualifier->subject == SUBJECT_PORT || qualifier->subject == SUBJECT_PORTRANGE)
		node = parse_ports(compiler);
	else
		node = parse_address(compiler);
	if (!qualifier->has_protocol)
		return node;
	return join(compiler, NODE_AND,
		add_protocol(compiler, qualifier->families, qualifier->proto), node);
}

/* All values begin with a digit, except some IPv6 addresses. */
static bool is_value(const struct compiler *compiler)
{
	return (compiler->word[0] >= '0' && compiler->word[0] <= '9') ||
	       strchr(compiler->word, ':') != NULL;
}

static uint32_t parse_factor(struct compiler *compiler, parse_operand *operand);
static uint32_t parse_expression(struct compiler *compiler, parse_operand *operand);

static uint32_t parse_primitive(struct compiler *compiler)
{
	struct qualifier qualifier = {
		.families = MATCH_IPV4 | MATCH_IPV6,
		.proto = ANY_PROTOCOL,
	};
	const char *start = compiler->word_at;

	if (compiler->qualifier.subject != SUBJECT_NONE && is_value(compiler))
		return parse_value(compiler);
	parse_protocol(compiler, &qualifier);
	qualifier.side = parse_side(compiler);
	qualifier.subject = parse_subject(compiler, &qualifier);
	compiler->qualifier = qualifier;
	if (qualifier.subject != SUBJECT_NONE)
		return is(compiler, "(") ? parse_factor(compiler, parse_value)
					 : parse_value(compiler);
	if (qualifier.has_protocol)
		return add_protocol(compiler, qualifier.families, qualifier.proto);
	if (is(compiler, ""))
		return fail(compiler, "ends too early; example: tcp and dst net 10.0.0.0/8");
	return fail(compiler,
		"'%.50s': unknown condition; conditions: ip, ip6, tcp, udp, sctp, icmp, "
		"icmp6, proto, host, net, port, portrange",
		start);
}

static uint32_t parse_factor(struct compiler *compiler, parse_operand *operand)
{
	struct qualifier before = compiler->qualifier;
	uint32_t node;

	if (++compiler->depth > DEEPEST)
		return fail(compiler, "nested too deeply; the limit is %d", DEEPEST);
	if (take(compiler, "not") || take(compiler, "!")) {
		node = parse_factor(compiler, operand);
		node = join(compiler, NODE_NOT, node, 0);
	} else if (take(compiler, "(")) {
		node = parse_expression(compiler, operand);
		if (!take(compiler, ")"))
			fail(compiler, "a parenthesis is not closed");
		compiler->qualifier = before;
	} else {
		node = operand(compiler);
	}
	compiler->depth--;
	return node;
}

static uint32_t parse_expression(struct compiler *compiler, parse_operand *operand)
{
	uint32_t node = parse_factor(compiler, operand);

	while (!compiler->failed) {
		bool and = take(compiler, "and") || take(compiler, "&&");
		uint32_t other;

		if (!and&&!take(compiler, "or") && !take(compiler, "||"))
			break;
		other = parse_factor(compiler, operand);
		node = join(compiler, and? NODE_AND : NODE_OR, node, other);
	}
	return node;
}

struct boxes {
	struct compiler *compiler;
	uint32_t n;
	struct match_box list[MATCH_BOXES_MAX];
};

static void put(struct boxes *boxes, const struct match_box *box)
{
	if (boxes->n == MATCH_BOXES_MAX)
		fail(boxes->compiler,
			"needs more than %d combinations of ranges; use several queries",
			MATCH_BOXES_MAX);
	else
		boxes->list[boxes->n++] = *box;
}

#define NARROW(member)                                                                             \
	do {                                                                                       \
		if (b->member[0] > box.member[0])                                                  \
			box.member[0] = b->member[0];                                              \
		if (b->member[1] < box.member[1])                                                  \
			box.member[1] = b->member[1];                                              \
		if (box.member[0] > box.member[1])                                                 \
			return;                                                                    \
	} while (0)

static void put_both(struct boxes *boxes, const struct match_box *a, const struct match_box *b)
{
	struct match_box box = *a;

	box.families &= b->families;
	if (box.families == 0)
		return;
	NARROW(src);
	NARROW(dst);
	NARROW(src_port);
	NARROW(dst_port);
	NARROW(proto);
	put(boxes, &box);
}

/* Adds `base` with the values of a field below and above the range of `box`. */
#define PUT_OUTSIDE(member, max)                                                                   \
	do {                                                                                       \
		struct match_box part = base;                                                      \
                                                                                                   \
		if (box->member[0] > 0) {                                                          \
			part.member[1] = box->member[0];                                           \
			part.member[1]--;                                                          \
			put(boxes, &part);                                                         \
		}                                                                                  \
		part = base;                                                                       \
		if (box->member[1] < (max)) {                                                      \
			part.member[0] = box->member[1];                                           \
			part.member[0]++;                                                          \
			put(boxes, &part);                                                         \
		}                                                                                  \
	} while (0)

/* A box of the parser limits only one field, and the family. */
static void put_outside(struct boxes *boxes, const struct match_box *box)
{
	struct match_box base = everything;

	base.families = box->families;
	PUT_OUTSIDE(src, ~(match_address)0);
	PUT_OUTSIDE(dst, ~(match_address)0);
	PUT_OUTSIDE(src_port, UINT16_MAX);
	PUT_OUTSIDE(dst_port, UINT16_MAX);
	PUT_OUTSIDE(proto, UINT8_MAX);
	base.families = everything.families & ~box->families;
	if (base.families != 0)
		put(boxes, &base);
}

/* Appends the boxes of a node, or of its negation. */
static void expand(struct boxes *boxes, uint32_t n, bool negated)
{
	const struct node *node = &boxes->compiler->nodes[n];
	struct boxes *operands;

	if (boxes->compiler->failed)
		return;
	if (node->kind == NODE_NOT) {
		expand(boxes, node->a, !negated);
		return;
	}
	if (node->kind == NODE_BOX) {
		if (negated)
			put_outside(boxes, &node->box);
		else
			put(boxes, &node->box);
		return;
	}
	if ((node->kind == NODE_OR) != negated) {
		expand(boxes, node->a, negated);
		expand(boxes, node->b, negated);
		return;
	}
	operands = calloc(2, sizeof(*operands));
	if (operands == NULL) {
		fail(boxes->compiler, "out of memory");
		return;
	}
	operands[0].compiler = operands[1].compiler = boxes->compiler;
	expand(&operands[0], node->a, negated);
	expand(&operands[1], node->b, negated);
	for (uint32_t a = 0; a < operands[0].n; a++)
		for (uint32_t b = 0; b < operands[1].n && !boxes->compiler->failed; b++)
			put_both(boxes, &operands[0].list[a], &operands[1].list[b]);
	free(operands);
}

static bool compile(struct match *match, const char *text, struct boxes *boxes)
{
	struct compiler *compiler = boxes->compiler;
	uint32_t root;

	compiler->at = text;
	next(compiler);
	root = parse_expression(compiler, parse_primitive);
	if (!compiler->failed && is(compiler, ")"))
		fail(compiler, "'%.50s': no '(' before it", compiler->word_at);
	else if (!compiler->failed && !is(compiler, ""))
		fail(compiler, "'%.50s': write 'and' or 'or' before it", compiler->word_at);
	expand(boxes, root, false);
	if (compiler->failed)
		return false;
	match->n = boxes->n;
	match->boxes = calloc(boxes->n + 1, sizeof(match->boxes[0]));
	if (match->boxes == NULL) {
		fail(compiler, "out of memory");
		return false;
	}
	memcpy(match->boxes, boxes->list, boxes->n * sizeof(match->boxes[0]));
	return true;
}

bool match_compile(struct match *match, const char *text, char *why)
{
	struct compiler *compiler = calloc(1, sizeof(*compiler));
	struct boxes *boxes = calloc(1, sizeof(*boxes));
	bool compiled = compiler != NULL && boxes != NULL;

	*match = (struct match){0};
	if (compiled) {
		compiler->why = why;
		boxes->compiler = compiler;
		compiled = compile(match, text, boxes);
	} else {
		snprintf(why, MATCH_WHY_MAX, "out of memory");
	}
	free(boxes);
	free(compiler);
	return compiled;
}

void match_free(struct match *match)
{
	free(match->boxes);
	*match = (struct match){0};
}
