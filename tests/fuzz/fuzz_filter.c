/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any program on any packet: native code returns the same as the interpreter of libpcap, also if it
 * gets only the bytes of the packet that the program reaches. The packet ends at the end of a page,
 * and the next page is unmapped.
 *
 * Input: the number of instructions, 7 bytes for each (operation, two jumps, constant), 2 bytes for
 * the length that was not captured, and the captured bytes.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <pcap/pcap.h>

#include "rx/filter/filter_native.h"
#include "rx/filter/filter_program.h"

#define INSNS_MAX  96
#define INSN_BYTES 7
#define PAGE       4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static struct bpf_insn read_insn(const uint8_t *data, uint32_t left)
{
	static const uint16_t codes[] = {BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS, BPF_LD | BPF_W | BPF_IND, BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND, BPF_LD | BPF_W | BPF_LEN, BPF_LDX | BPF_W | BPF_LEN,
		BPF_LDX | BPF_B | BPF_MSH, BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM, BPF_LD | BPF_MEM,
		BPF_LDX | BPF_MEM, BPF_ST, BPF_STX, BPF_MISC | BPF_TAX, BPF_MISC | BPF_TXA,
		BPF_ALU | BPF_ADD | BPF_K, BPF_ALU | BPF_ADD | BPF_X, BPF_ALU | BPF_SUB | BPF_K,
		BPF_ALU | BPF_SUB | BPF_X, BPF_ALU | BPF_MUL | BPF_K, BPF_ALU | BPF_MUL | BPF_X,
		BPF_ALU | BPF_DIV | BPF_K, BPF_ALU | BPF_DIV | BPF_X, BPF_ALU | BPF_MOD | BPF_K,
		BPF_ALU | BPF_MOD | BPF_X, BPF_ALU | BPF_AND | BPF_K, BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K, BPF_ALU | BPF_OR | BPF_X, BPF_ALU | BPF_XOR | BPF_K,
		BPF_ALU | BPF_XOR | BPF_X, BPF_ALU | BPF_LSH | BPF_K, BPF_ALU | BPF_LSH | BPF_X,
		BPF_ALU | BPF_RSH | BPF_K, BPF_ALU | BPF_RSH | BPF_X, BPF_ALU | BPF_NEG,
		BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JEQ | BPF_X,
		BPF_JMP | BPF_JGT | BPF_K, BPF_JMP | BPF_JGT | BPF_X, BPF_JMP | BPF_JGE | BPF_K,
		BPF_JMP | BPF_JGE | BPF_X, BPF_JMP | BPF_JSET | BPF_K, BPF_JMP | BPF_JSET | BPF_X,
		BPF_RET | BPF_K, BPF_RET | BPF_A};
	struct bpf_insn insn = {.code = codes[data[0] % (sizeof(codes) / sizeof(codes[0]))]};
	uint32_t class = BPF_CLASS(insn.code), op = BPF_OP(insn.code);

	memcpy(&insn.k, data + 3, sizeof(insn.k));
	if (class == BPF_JMP && op == BPF_JA) {
		insn.k %= left;
	} else if (class == BPF_JMP) {
		insn.jt = (uint8_t)(data[1] % left);
		insn.jf = (uint8_t)(data[2] % left);
	} else if (class == BPF_ALU && (op == BPF_LSH || op == BPF_RSH)) {
		insn.k %= 32; /* longer shifts are undefined in C */
	} else if (class == BPF_ALU && (op == BPF_DIV || op == BPF_MOD)) {
		insn.k |= 1;
	} else if (class == BPF_ST || class == BPF_STX ||
		   ((class == BPF_LD || class == BPF_LDX) && BPF_MODE(insn.code) == BPF_MEM)) {
		insn.k %= BPF_MEMWORDS;
	}
	return insn;
}

/* Writes every scratch word before the instructions of the input may read it. */
static void read_program(struct bpf_program *program, const uint8_t *data, uint32_t n)
{
	uint32_t at = 0;

	for (; at < BPF_MEMWORDS; at++)
		program->bf_insns[at] = (struct bpf_insn){.code = BPF_ST, .k = at};
	for (uint32_t i = 0; i < n; i++)
		program->bf_insns[at++] = read_insn(data + i * INSN_BYTES, n - i);
	program->bf_insns[at++] = (struct bpf_insn){.code = BPF_RET | BPF_A};
	program->bf_len = at;
}

/* Places the captured bytes at the end of a readable page, before an unmapped one. */
static uint8_t *place(const uint8_t *data, size_t captured)
{
	static uint8_t *pages;

	if (pages == NULL) {
		pages = mmap(
			NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		require(pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_NONE) == 0);
	}
	return memcpy(pages + PAGE - captured, data, captured);
}

static void compare(const struct bpf_program *program, const struct filter_native *native,
	const uint8_t *data, uint32_t captured, uint32_t wire_len)
{
	uint32_t reach = filter_reach(program), seen = captured < reach ? captured : reach;
	bool expected =
		bpf_filter(program->bf_insns, place(data, captured), wire_len, captured) != 0;

	require((native->run(place(data, captured), captured, wire_len) != 0) == expected);
	require((native->run(place(data, seen), seen, wire_len) != 0) == expected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bpf_insn insns[BPF_MEMWORDS + INSNS_MAX + 1];
	struct bpf_program program = {.bf_insns = insns};
	struct filter_native native;
	uint32_t n, lost;

	if (size < 3)
		return 0;
	n = data[0] % (INSNS_MAX + 1);
	if (size < 3 + n * INSN_BYTES)
		n = (uint32_t)(size - 3) / INSN_BYTES;
	read_program(&program, data + 1, n);
	data += 1 + n * INSN_BYTES;
	size -= 1 + n * INSN_BYTES;
	lost = (uint32_t)(data[0] << 8 | data[1]);
	data += 2;
	size -= 2;
	if (size > PAGE)
		size = PAGE;
	require(bpf_validate(insns, (int)program.bf_len));
	native = filter_native_create(&program);
#if defined(__x86_64__)
	require(native.run != NULL);
#else
	if (native.run == NULL)
		return 0;
#endif
	compare(&program, &native, data, (uint32_t)size, (uint32_t)size + lost);
	filter_native_destroy(&native);
	return 0;
}
