/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/filter/filter_program.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/printable.h"
#include "rx/packet/link_type.h"

#define MSH_MAX 60u /* maximum of 4 * (byte & 15) */

static const struct bpf_insn reject = {.code = BPF_RET | BPF_K, .k = 0};

static bool copy_program(struct bpf_program *to, const struct bpf_insn *insns, unsigned int n)
{
	to->bf_insns = malloc(n * sizeof(*insns));
	if (to->bf_insns == NULL)
		return false;
	memcpy(to->bf_insns, insns, n * sizeof(*insns));
	to->bf_len = n;
	return true;
}

static bool compile(struct bpf_program *program, pcap_t *pcap, const char *expression, char *error)
{
	if (pcap_compile(pcap, program, expression, 1, 0) == 0)
		return true;
	if (strstr(pcap_geterr(pcap), "rejects all packets") != NULL &&
		copy_program(program, &reject, 1))
		return true;
	snprintf(error, FILTER_ERROR_MAX, "%s", pcap_geterr(pcap));
	return false;
}

static bool same_program(const struct bpf_program *a, const struct bpf_program *b)
{
	return a->bf_len == b->bf_len &&
	       memcmp(a->bf_insns, b->bf_insns, a->bf_len * sizeof(a->bf_insns[0])) == 0;
}

/* Takes ownership of the program. */
static int add_program(struct filter_set *set, struct bpf_program program, char *error)
{
	uint32_t reach;

	for (uint32_t i = 0; i < set->n; i++)
		if (same_program(&set->programs[i], &program)) {
			pcap_freecode(&program);
			return (int)i;
		}
	if (set->n == FILTER_PROGRAMS_MAX) {
		snprintf(error, FILTER_ERROR_MAX, "more than %d kinds of capture interfaces",
			FILTER_PROGRAMS_MAX);
		pcap_freecode(&program);
		return -1;
	}
	reach = filter_reach(&program);
	if (set->reach < reach)
		set->reach = reach;
	set->programs[set->n] = program;
	return (int)set->n++;
}

int filter_set_add(struct filter_set *set, pcap_t *pcap, const char *expression, char *error)
{
	struct bpf_program program;

	return compile(&program, pcap, expression, error) ? add_program(set, program, error) : -1;
}

int filter_set_add_nothing(struct filter_set *set, char *error)
{
	struct bpf_program program;

	if (copy_program(&program, &reject, 1))
		return add_program(set, program, error);
	snprintf(error, FILTER_ERROR_MAX, "out of memory");
	return -1;
}

int filter_set_add_ethernet(struct filter_set *set, const char *expression, char *error)
{
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, PACKET_BYTES_MAX);
	int number;

	if (pcap == NULL) {
		snprintf(error, FILTER_ERROR_MAX, "out of memory");
		return -1;
	}
	number = filter_set_add(set, pcap, expression, error);
	pcap_close(pcap);
	return number;
}

void filter_set_free(struct filter_set *set)
{
	for (uint32_t i = 0; i < set->n; i++)
		pcap_freecode(&set->programs[i]);
	*set = (struct filter_set){0};
}

static bool compiles(const char *expression, int dlt, char *error)
{
	pcap_t *pcap = pcap_open_dead(dlt, PACKET_BYTES_MAX);
	struct bpf_program program;
	bool ok = false;

	if (pcap == NULL) {
		snprintf(error, FILTER_ERROR_MAX, "out of memory");
		return false;
	}
	if (pcap_compile(pcap, &program, expression, 1, 0) == 0) {
		pcap_freecode(&program);
		ok = true;
	} else {
		snprintf(error, FILTER_ERROR_MAX, "%s", pcap_geterr(pcap));
	}
	pcap_close(pcap);
	return ok;
}

static bool is_syntax_error(const char *error)
{
	return strstr(error, "syntax error") != NULL;
}

#define TOKENS_MAX 256
#define BLANKS     " \t\n\r"

static size_t token_end(const char *text, size_t at)
{
	static const char word[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:/\\";
	size_t length;

	at += strspn(text + at, BLANKS);
	length = strspn(text + at, word);
	return text[at] == '\0' ? at : at + (length > 0 ? length : 1);
}

/* The start of a valid expression has no syntax error if one of several endings is added. */
static bool may_begin(const char *expression, size_t length, char *text)
{
	static const char *const ends[] = {
		"", " 1", " ip", " 1.2.3.4", "] = 1", " = 1", " 1] = 1", " 00:00:00:00:00:00"};
	char error[FILTER_ERROR_MAX];

	for (size_t e = 0; e < sizeof(ends) / sizeof(ends[0]); e++) {
		size_t at = length, open = 0;

		memcpy(text, expression, length);
		strcpy(text + at, ends[e]);
		at += strlen(ends[e]);
		for (size_t i = 0; i < length; i++)
			open = text[i] == '('               ? open + 1
			       : text[i] == ')' && open > 0 ? open - 1
							    : open;
		memset(text + at, ')', open);
		text[at + open] = '\0';
		if (compiles(text, DLT_EN10MB, error) || !is_syntax_error(error))
			return true;
	}
	return false;
}

/*
 * libpcap does not report the position of a syntax error. So this tries the first token, then the
 * first two, and so on.
 */
static size_t find_syntax_error(const char *expression)
{
	size_t length = strlen(expression), start = 0;
	char *text = malloc(2 * length + 32);

	for (uint32_t t = 0; text != NULL && t < TOKENS_MAX && start < length; t++) {
		size_t end = token_end(expression, start);

		if (!may_begin(expression, end, text)) {
			free(text);
			return start + strspn(expression + start, BLANKS);
		}
		start = end;
	}
	free(text);
	return length;
}

/* The word may be in quotes, or a separate number. */
static bool is_in_message(const char *message, const char *word, size_t length)
{
	for (const char *at = message; (at = strchr(at, word[0])) != NULL; at++) {
		char before = at > message ? at[-1] : ' ';

		if (strncmp(at, word, length) != 0)
			continue;
		if ((before == '\'' || before == '"') && at[length] == before)
			return true;
		if (isdigit((unsigned char)word[0]) && before == ' ' &&
			strchr(" ,", at[length]) != NULL)
			return true;
	}
	return false;
}

/* Returns NULL if the message has no word of the expression. */
static const char *find_named(const char *expression, const char *message)
{
	for (size_t at = 0, end; expression[at] != '\0'; at = end) {
		end = token_end(expression, at);
		at += strspn(expression + at, BLANKS);
		if (end > at && is_in_message(message, expression + at, end - at))
			return expression + at;
	}
	return NULL;
}

#define NAMED_MAX 40 /* characters of the expression that a message cites */

static void add_position(const char *expression, char *error)
{
	bool syntax = is_syntax_error(error);
	const char *named =
		syntax ? expression + find_syntax_error(expression) : find_named(expression, error);
	size_t used = strlen(error), position, length;

	if (named == NULL)
		return;
	position = (size_t)(named - expression);
	length = token_end(expression, position) - position;
	if (length == 0)
		snprintf(error + used, FILTER_ERROR_MAX - used, " at the end, character %zu",
			position + 1);
	else
		snprintf(error + used, FILTER_ERROR_MAX - used, " at character %zu, '%.*s'",
			position + 1, (int)(length < NAMED_MAX ? length : NAMED_MAX), named);
}

bool filter_check(const char *expression, char *error)
{
	static const int others[] = {DLT_RAW, DLT_IPV4, DLT_IPV6, DLT_NULL, DLT_LOOP, DLT_LINUX_SLL,
		DLT_LINUX_SLL2, DLT_PPP, DLT_C_HDLC};
	char ignored[FILTER_ERROR_MAX];

	if (compiles(expression, DLT_EN10MB, error))
		return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!is_syntax_error(error) && compiles(expression, others[i], ignored))
			return true;
	add_position(expression, error);
	make_printable(error);
	return false;
}

static uint32_t load_size(const struct bpf_insn *insn)
{
	switch (BPF_SIZE(insn->code)) {
	case BPF_W: return 4;
	case BPF_H: return 2;
	default: return 1;
	}
}

static bool is_load_of(const struct bpf_insn *insn, uint32_t mode)
{
	return BPF_CLASS(insn->code) == BPF_LD && BPF_MODE(insn->code) == mode;
}

static bool is_header_length(const struct bpf_insn *insn)
{
	return BPF_CLASS(insn->code) == BPF_LDX && BPF_MODE(insn->code) == BPF_MSH;
}

/* Returns an upper bound of register X after this instruction, whatever ran before. */
static uint32_t largest_x(const struct bpf_insn *insn)
{
	if (BPF_CLASS(insn->code) == BPF_LDX) {
		switch (BPF_MODE(insn->code)) {
		case BPF_MSH: return MSH_MAX;
		case BPF_IMM: return insn->k < FILTER_REACH_MAX ? insn->k : FILTER_REACH_MAX;
		default: return FILTER_REACH_MAX;
		}
	}
	return BPF_CLASS(insn->code) == BPF_MISC && BPF_MISCOP(insn->code) == BPF_TAX
		       ? FILTER_REACH_MAX
		       : 0;
}

uint32_t filter_reach(const struct bpf_program *program)
{
	uint64_t x = 0, reach = 0;

	for (unsigned int i = 0; i < program->bf_len; i++)
		if (largest_x(&program->bf_insns[i]) > x)
			x = largest_x(&program->bf_insns[i]);
	for (unsigned int i = 0; i < program->bf_len; i++) {
		const struct bpf_insn *insn = &program->bf_insns[i];
		uint64_t end = 0;

		if (is_load_of(insn, BPF_ABS))
			end = (uint64_t)insn->k + load_size(insn);
		else if (is_load_of(insn, BPF_IND))
			end = x + insn->k + load_size(insn);
		else if (is_header_length(insn))
			end = (uint64_t)insn->k + 1;
		if (end > reach)
			reach = end;
	}
	return reach < FILTER_REACH_MAX ? (uint32_t)reach : FILTER_REACH_MAX;
}

static const struct option_row filter_rows[] = {
	{
		.name = "filter",
		.placeholder = "EXPRESSION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		OPTION_FIELD(filter_options, expression),
		.default_note = "everything",
		.help = "Measure only packets that match a pcap filter of tcpdump: 'tcp port "
			"443 and net 10.0.0.0/8'. Others are counted as filtered.",
	},
	{0},
};

const struct option_owner filter_owner = {
	.rows = filter_rows,
	.size = sizeof(struct filter_options),
};
