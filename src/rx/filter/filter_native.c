/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/filter/filter_native.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__x86_64__)

/*
 * rdi: packet; esi: captured bytes; r10d: bytes on the wire; eax, ecx: BPF registers A, X; [rsp]:
 * BPF scratch words
 */
#define SCRATCH_BYTES 72 /* 16 words, and 8 bytes to align the stack */

#define INSN_BYTES_MAX 64 /* maximum code bytes per BPF instruction */

struct jump {
	size_t at;       /* offset of the jump distance in the code */
	uint32_t target; /* index of the target instruction; n: code that rejects the packet */
};

struct emitter {
	uint8_t *code;
	size_t size;
	uint32_t n; /* instructions of the program */
	size_t *starts;
	struct jump *jumps;
	size_t nb_jumps;
	bool unknown; /* the program has an instruction without a translation */
};

static void emit(struct emitter *e, const void *bytes, size_t n)
{
	memcpy(e->code + e->size, bytes, n);
	e->size += n;
}

#define EMIT(e, ...) emit(e, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static void emit32(struct emitter *e, uint32_t value)
{
	emit(e, &value, sizeof(value));
}

static void jump_to(struct emitter *e, uint32_t target)
{
	e->jumps[e->nb_jumps++] = (struct jump){.at = e->size, .target = target};
	emit32(e, 0);
}

static void emit_return(struct emitter *e)
{
	EMIT(e, 0x48, 0x83, 0xc4, SCRATCH_BYTES); /* add rsp, SCRATCH_BYTES */
	EMIT(e, 0xc3);
}

static void emit_prologue(struct emitter *e)
{
	EMIT(e, 0x48, 0x83, 0xec, SCRATCH_BYTES); /* sub rsp, SCRATCH_BYTES */
	EMIT(e, 0x41, 0x89, 0xd2);                /* mov r10d, edx */
	EMIT(e, 0x89, 0xf6);                      /* mov esi, esi */
	EMIT(e, 0x31, 0xc0);
	EMIT(e, 0x31, 0xc9);
}

/* Jumps to the code that rejects the packet if fewer than k + size bytes were captured. */
static void check_end(struct emitter *e, uint32_t k, uint32_t size)
{
	if (k > INT32_MAX - size) {
		EMIT(e, 0xe9); /* jmp */
		jump_to(e, e->n);
		return;
	}
	EMIT(e, 0x81, 0xfe); /* cmp esi, k + size */
	emit32(e, k + size);
	EMIT(e, 0x0f, 0x82); /* jb */
	jump_to(e, e->n);
}

static void load_fixed(struct emitter *e, uint32_t k, uint32_t size)
{
	check_end(e, k, size);
	if (size == 4)
		EMIT(e, 0x8b, 0x87); /* mov eax, [rdi + k] */
	else
		EMIT(e, 0x0f, size == 2 ? 0xb7 : 0xb6, 0x87); /* movzx eax, [rdi + k] */
	emit32(e, k);
}

/* Loads from offset X + k. The sum has 64 bits, so that it does not wrap. */
static void load_indirect(struct emitter *e, uint32_t k, uint32_t size)
{
	check_end(e, k, size);
	EMIT(e, 0x41, 0x89, 0xc8); /* mov r8d, ecx */
	EMIT(e, 0x49, 0x81, 0xc0); /* add r8, k */
	emit32(e, k);
	EMIT(e, 0x4d, 0x8d, 0x48, (uint8_t)size); /* lea r9, [r8 + size] */
	EMIT(e, 0x49, 0x39, 0xf1);                /* cmp r9, rsi */
	EMIT(e, 0x0f, 0x87);
	jump_to(e, e->n);
	if (size == 4)
		EMIT(e, 0x42, 0x8b, 0x04, 0x07); /* mov eax, [rdi + r8] */
	else
		EMIT(e, 0x42, 0x0f, size == 2 ? 0xb7 : 0xb6, 0x04, 0x07); /* movzx eax, [...] */
}

static void swap_bytes(struct emitter *e, uint32_t size)
{
	if (size == 4)
		EMIT(e, 0x0f, 0xc8); /* bswap eax */
	else if (size == 2)
		EMIT(e, 0x66, 0xc1, 0xc8, 0x08); /* ror ax, 8 */
}

static void emit_load(struct emitter *e, const struct bpf_insn *insn)
{
	static const uint8_t sizes[] = {4, 2, 1};
	uint32_t size = sizes[BPF_SIZE(insn->code) >> 3];

	switch (BPF_MODE(insn->code)) {
	case BPF_ABS:
		load_fixed(e, insn->k, size);
		swap_bytes(e, size);
		break;
	case BPF_IND:
		load_indirect(e, insn->k, size);
		swap_bytes(e, size);
		break;
	case BPF_IMM:
		EMIT(e, 0xb8); /* mov eax, k */
		emit32(e, insn->k);
		break;
	case BPF_LEN: EMIT(e, 0x44, 0x89, 0xd0); break; /* mov eax, r10d */
	case BPF_MEM: EMIT(e, 0x8b, 0x44, 0x24, (uint8_t)(4 * insn->k)); break;
	default: e->unknown = true;
	}
}

static void emit_load_x(struct emitter *e, const struct bpf_insn *insn)
{
	switch (BPF_MODE(insn->code)) {
	case BPF_MSH:
		check_end(e, insn->k, 1);
		EMIT(e, 0x0f, 0xb6, 0x8f); /* movzx ecx, [rdi + k] */
		emit32(e, insn->k);
		EMIT(e, 0x83, 0xe1, 0x0f); /* ecx &= 15 */
		EMIT(e, 0xc1, 0xe1, 0x02); /* shl ecx, 2 */
		break;
	case BPF_IMM:
		EMIT(e, 0xb9); /* mov ecx, k */
		emit32(e, insn->k);
		break;
	case BPF_LEN: EMIT(e, 0x44, 0x89, 0xd1); break; /* mov ecx, r10d */
	case BPF_MEM: EMIT(e, 0x8b, 0x4c, 0x24, (uint8_t)(4 * insn->k)); break;
	default: e->unknown = true;
	}
}

/* Divides A by k or X. The divisor is in r8d. If X is 0, the packet is rejected. */
static void emit_division(struct emitter *e, const struct bpf_insn *insn)
{
	if (BPF_SRC(insn->code) == BPF_X) {
		EMIT(e, 0x85, 0xc9); /* test ecx, ecx */
		EMIT(e, 0x0f, 0x84); /* jz */
		jump_to(e, e->n);
		EMIT(e, 0x41, 0x89, 0xc8); /* mov r8d, ecx */
	} else {
		EMIT(e, 0x41, 0xb8); /* mov r8d, k */
		emit32(e, insn->k);
	}
	EMIT(e, 0x31, 0xd2);       /* xor edx, edx */
	EMIT(e, 0x41, 0xf7, 0xf0); /* div r8d */
	if (BPF_OP(insn->code) == BPF_MOD)
		EMIT(e, 0x89, 0xd0); /* mov eax, edx */
}

/* Shifts A by k or X. If X >= 32, the result is 0 in BPF, but x86 shifts by X modulo 32. */
static void emit_shift(struct emitter *e, const struct bpf_insn *insn)
{
	uint8_t direction = BPF_OP(insn->code) == BPF_LSH ? 0xe0 : 0xe8;

	if (BPF_SRC(insn->code) == BPF_K) {
		EMIT(e, 0xc1, direction, (uint8_t)insn->k); /* shl or shr eax, k */
		e->unknown |= insn->k >= 32;
		return;
	}
	EMIT(e, 0xd3, direction);  /* shl or shr eax, cl */
	EMIT(e, 0x83, 0xf9, 0x20); /* cmp ecx, 32 */
	EMIT(e, 0x72, 0x02);       /* jb over the next */
	EMIT(e, 0x31, 0xc0);       /* xor eax, eax */
}

static void emit_alu(struct emitter *e, const struct bpf_insn *insn)
{
	/* The operands are eax and a constant (with_k), or eax and ecx (with_x). */
	static const uint8_t with_k[16] = {[BPF_ADD >> 4] = 0x05,
		[BPF_SUB >> 4] = 0x2d,
		[BPF_OR >> 4] = 0x0d,
		[BPF_AND >> 4] = 0x25,
		[BPF_XOR >> 4] = 0x35};
	static const uint8_t with_x[16] = {[BPF_ADD >> 4] = 0x01,
		[BPF_SUB >> 4] = 0x29,
		[BPF_OR >> 4] = 0x09,
		[BPF_AND >> 4] = 0x21,
		[BPF_XOR >> 4] = 0x31};
	uint32_t op = BPF_OP(insn->code);
	bool by_x = BPF_SRC(insn->code) == BPF_X;

	if (op == BPF_DIV || op == BPF_MOD) {
		emit_division(e, insn);
	} else if (op == BPF_LSH || op == BPF_RSH) {
		emit_shift(e, insn);
	} else if (op == BPF_NEG) {
		EMIT(e, 0xf7, 0xd8); /* neg eax */
	} else if (op == BPF_MUL && by_x) {
		EMIT(e, 0x0f, 0xaf, 0xc1); /* imul eax, ecx */
	} else if (op == BPF_MUL) {
		EMIT(e, 0x69, 0xc0); /* imul eax, eax, k */
		emit32(e, insn->k);
	} else if (with_k[op >> 4] == 0) {
		e->unknown = true;
	} else if (by_x) {
		EMIT(e, with_x[op >> 4], 0xc8);
	} else {
		EMIT(e, with_k[op >> 4]);
		emit32(e, insn->k);
	}
}

static void compare(struct emitter *e, const struct bpf_insn *insn)
{
	bool bits = BPF_OP(insn->code) == BPF_JSET;

	if (BPF_SRC(insn->code) == BPF_X) {
		EMIT(e, bits ? 0x85 : 0x39, 0xc8); /* test or cmp eax, ecx */
	} else {
		EMIT(e, bits ? 0xa9 : 0x3d); /* test or cmp eax, k */
		emit32(e, insn->k);
	}
}

static void emit_jump(struct emitter *e, const struct bpf_insn *insn, uint32_t next)
{
	/* Opcodes of je, ja, jae, jnz. Their lowest bit inverts the condition. */
	static const uint8_t conditions[16] = {[BPF_JEQ >> 4] = 0x84,
		[BPF_JGT >> 4] = 0x87,
		[BPF_JGE >> 4] = 0x83,
		[BPF_JSET >> 4] = 0x85};
	uint8_t condition = conditions[BPF_OP(insn->code) >> 4];

	if (BPF_OP(insn->code) == BPF_JA) {
		EMIT(e, 0xe9); /* jmp */
		jump_to(e, next + insn->k);
		return;
	}
	e->unknown |= condition == 0;
	compare(e, insn);
	if (insn->jt == 0) {
		EMIT(e, 0x0f, condition ^ 1);
		jump_to(e, next + insn->jf);
		return;
	}
	EMIT(e, 0x0f, condition);
	jump_to(e, next + insn->jt);
	if (insn->jf != 0) {
		EMIT(e, 0xe9); /* jmp */
		jump_to(e, next + insn->jf);
	}
}

static void emit_insn(struct emitter *e, const struct bpf_insn *insn, uint32_t next)
{
	switch (BPF_CLASS(insn->code)) {
	case BPF_LD: emit_load(e, insn); break;
	case BPF_LDX: emit_load_x(e, insn); break;
	case BPF_ST:
		EMIT(e, 0x89, 0x44, 0x24, (uint8_t)(4 * insn->k));
		break; /* mov [rsp + 4 k], eax */
	case BPF_STX:
		EMIT(e, 0x89, 0x4c, 0x24, (uint8_t)(4 * insn->k));
		break; /* mov [rsp + 4 k], ecx */
	case BPF_ALU: emit_alu(e, insn); break;
	case BPF_JMP: emit_jump(e, insn, next); break;
	case BPF_RET:
		if (BPF_RVAL(insn->code) == BPF_K) {
			EMIT(e, 0xb8); /* mov eax, k */
			emit32(e, insn->k);
		}
		emit_return(e);
		break;
	default:
		if (BPF_MISCOP(insn->code) == BPF_TAX)
			EMIT(e, 0x89, 0xc1); /* mov ecx, eax */
		else
			EMIT(e, 0x89, 0xc8); /* mov eax, ecx */
	}
}

static void set_jumps(struct emitter *e)
{
	for (size_t j = 0; j < e->nb_jumps; j++) {
		const struct jump *jump = &e->jumps[j];
		uint32_t distance = (uint32_t)(e->starts[jump->target] - (jump->at + 4));

		memcpy(e->code + jump->at, &distance, sizeof(distance));
	}
}

static bool translate(struct emitter *e, const struct bpf_program *program)
{
	emit_prologue(e);
	for (uint32_t i = 0; i < program->bf_len; i++) {
		e->starts[i] = e->size;
		emit_insn(e, &program->bf_insns[i], i + 1);
	}
	e->starts[e->n] = e->size;
	EMIT(e, 0x31, 0xc0); /* xor eax, eax */
	emit_return(e);
	if (e->unknown)
		return false;
	set_jumps(e);
	return true;
}

struct filter_native filter_native_create(const struct bpf_program *program)
{
	size_t size = ((size_t)program->bf_len + 1) * INSN_BYTES_MAX;
	struct filter_native native = {.size = size};
	struct emitter e = {
		.n = program->bf_len,
		.starts = calloc((size_t)program->bf_len + 1, sizeof(size_t)),
		.jumps = calloc(2 * (size_t)program->bf_len, sizeof(struct jump)),
	};

	native.code = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e.code = native.code;
	if (native.code == MAP_FAILED)
		native.code = NULL;
	else if (e.starts != NULL && e.jumps != NULL && translate(&e, program) &&
		 mprotect(native.code, size, PROT_READ | PROT_EXEC) == 0)
		memcpy(&native.run, &native.code, sizeof(native.run));
	free(e.starts);
	free(e.jumps);
	if (native.run == NULL)
		filter_native_destroy(&native);
	return native;
}

#else

struct filter_native filter_native_create(const struct bpf_program *program)
{
	(void)program;
	return (struct filter_native){0};
}

#endif

void filter_native_destroy(struct filter_native *native)
{
	if (native->code != NULL)
		munmap(native->code, native->size);
	*native = (struct filter_native){0};
}
