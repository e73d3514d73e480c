/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Invertible Bloom lookup table of flows (Goodrich and Mitzenmacher, 2011), as used by FlowRadar
 * (2016) and SMON (Zha et al. 2022). docs/IBLT.md explains the design. Each packet adds to the
 * counts of the flow's cells, one in each row. The first packet of a flow, detected by a Bloom
 * filter, also adds the key.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "key/hash.h"
#include "sketch/counter.h"
#include "sketch/iblt/iblt_layout.h"
#include "sketch/sketch.h"

struct iblt_options {
	double load; /* flows per cell, for the width of the next interval; 0: fixed width */
};

OPTION_OWNER_OF_MEASUREMENT(iblt)

#define IBLT_DEPTH_MIN 3
#define IBLT_DEPTH_MAX 4
#define IBLT_FAMILIES  2

/* Same layout as struct iblt_sums. Sums wrap at 2^64. */
struct iblt_cell {
	_Atomic uint64_t packets, bytes;
	_Atomic uint64_t flows;   /* insertions */
	_Atomic uint64_t check;   /* sum of iblt_check() over insertions */
	_Atomic uint64_t lanes[]; /* sums of the 32-bit words of the keys */
};

_Static_assert(sizeof(struct key4) == IBLT_LANES4 * sizeof(uint32_t) &&
		       sizeof(struct key6) == IBLT_LANES6 * sizeof(uint32_t),
	"one lane per word");
_Static_assert(sizeof(struct iblt_cell) == sizeof(struct iblt_sums), "the same cell");
_Static_assert(sizeof(struct iblt_cell) + IBLT_LANES4 * sizeof(uint64_t) == 1 << IBLT_SHIFT4,
	"an IPv4 cell is one cache line");
_Static_assert(sizeof(struct iblt_cell) + IBLT_LANES6 * sizeof(uint64_t) <= 1 << IBLT_SHIFT6,
	"an IPv6 cell is two cache lines");

/*
 * The sums of a compact cell. Packets and bytes are the high bits and wrap. Ports and protocol are
 * combined by exclusive or, because the only writer inserts each key once.
 */
struct iblt_counts {
	uint64_t packets_ports; /* packets, low bits of the ports */
	uint64_t bytes_flows;   /* bytes, protocol, high bits of the ports, insertions */
} __attribute__((aligned(16), may_alias));

/* The cells of one address family, row by row. */
struct iblt_rows {
	uint8_t *cells;
	enum key_family family;
	uint32_t depth;
	uint32_t width; /* cells per row */
	/* Unless the cells are compact: */
	uint32_t bits;  /* log2 of the cells per row */
	uint32_t shift; /* log2 of the bytes of a cell */
	uint32_t lanes;
	/* NULL: the cells are not compact. */
	struct iblt_counts *counts;
	uint64_t *addresses; /* exclusive or of the addresses of the keys, `words` per cell */
	uint32_t words;
};

struct iblt_result {
	_Atomic bool known; /* true: the other fields are valid for the present cells */
	bool complete;      /* true: every flow was decoded with exact counts */
	struct sketch_undecoded undecoded;
	/* Includes undecoded flows. */
	uint64_t inserted[IBLT_FAMILIES];
};

/* One cache line of the Bloom filter. A key has one bit in each word of its block. */
struct iblt_block {
	_Atomic uint64_t words[IBLT_FILTER_WORDS];
} __attribute__((aligned(64)));

/* log2 of the registers that estimate how many flows were not inserted */
#define IBLT_REGISTER_BITS 6

/* Packets of flows that were not inserted, because the list of tags was full. */
struct iblt_unlisted {
	uint64_t packets;
	/* HyperLogLog of the flows */
	uint8_t registers[IBLT_FAMILIES][1 << IBLT_REGISTER_BITS];
};

/* Memory for decoding. */
struct iblt_scratch {
	uint32_t *pivots;    /* numbers of the cells that revealed a flow, in this order */
	uint64_t *is_pivot;  /* bit c: cell c is a pivot */
	uint64_t *suspected; /* bit c: cell c may count packets of an unknown flow */
};

struct iblt {
	struct sketch sketch;
	struct iblt_rows rows[IBLT_FAMILIES];
	struct iblt_block *filter; /* NULL with compact cells */
	uint32_t filter_bits;      /* log2 of the blocks of the filter */
	/* With compact cells: */
	uint32_t *tags; /* 32 bits of the hash of each flow, in groups of SLOT_GROUP; 0: none */
	uint32_t nb_groups;
	uint32_t nb_tags, nb_tags_max;
	uint32_t nb_inserted[IBLT_FAMILIES]; /* flows */
	struct iblt_unlisted unlisted;

	struct hash_key hash_key;
	/* NULL: hash_burst(). */
	void (*hash)(const void *arg, struct key_burst *burst);
	const void *hash_arg;
	bool difference; /* true: another table was subtracted from this one */

	struct iblt_scratch scratch; /* unless the cells are compact */
	struct iblt_result *result;

	_Atomic bool has_ipv6;
	/* sums of all weights; they saturate instead of wrapping */
	_Atomic uint64_t weight_packets, weight_bytes;
};

extern const struct sketch_ops iblt_ops;
extern const struct kernel_layout iblt_kernel;

static inline const struct iblt *iblt_of_const(const struct sketch *sketch)
{
	return (const struct iblt *)sketch;
}

static inline bool iblt_seen_ipv6(const struct iblt *table)
{
	return atomic_load_explicit(&table->has_ipv6, memory_order_relaxed);
}

/* Limits of the sums in a compact cell. */
#define IBLT_PACKETS_BITS 36
#define IBLT_BYTES_BITS   44

/* Returns true if the sums of cells may have wrapped. Counts of decoded flows may yet be right. */
static inline bool iblt_overflown(const struct iblt *table)
{
	bool packets = table->sketch.params.metric == SKETCH_PACKETS;

	if (table->sketch.params.compact)
		return (table->weight_packets >> IBLT_PACKETS_BITS |
			       table->weight_bytes >> IBLT_BYTES_BITS) != 0;
	return atomic_load_explicit(packets ? &table->weight_packets : &table->weight_bytes,
		       memory_order_relaxed) >= COUNTER64_GUARD;
}

static inline uint64_t iblt_nb_cells(const struct iblt_rows *rows)
{
	return (uint64_t)rows->depth * rows->width;
}

static inline struct iblt_cell *iblt_cell(const struct iblt_rows *rows, uint64_t cell)
{
	return (struct iblt_cell *)(rows->cells + (cell << rows->shift));
}

static inline __attribute__((always_inline)) uint64_t iblt_place(
	const struct iblt_rows *rows, const struct key_hash *hash, uint32_t row)
{
	uint64_t mask = (UINT64_C(1) << rows->bits) - 1;

	return ((uint64_t)row << rows->bits) + (iblt_lane_of(hash->lo, hash->hi, row) & mask);
}

static inline __attribute__((always_inline)) uint64_t iblt_compact_place(
	const struct iblt_rows *rows, const struct key_hash *hash, uint32_t row)
{
	uint64_t lane = iblt_lane_of(hash->lo, hash->hi, row);

	return (uint64_t)row * rows->width + (lane * rows->width >> 32);
}

static inline uint64_t iblt_check(const struct key_hash *hash)
{
	return iblt_check_of(hash->lo, hash->hi);
}

static inline __attribute__((always_inline)) struct iblt_block *iblt_block(
	const struct iblt *table, const struct key_hash *hash)
{
	return &table->filter[iblt_block_of(hash->lo, hash->hi, table->filter_bits)];
}

static inline __attribute__((always_inline)) uint32_t iblt_filter_bit(
	const struct key_hash *hash, uint32_t word)
{
	return iblt_filter_bit_of(hash->lo, hash->hi, word);
}

static inline __attribute__((always_inline)) bool iblt_filter_has(
	const struct iblt_block *block, const struct key_hash *hash)
{
	uint64_t all = 1;

#pragma GCC unroll 8
	for (uint32_t w = 0; w < IBLT_FILTER_WORDS; w++)
		all &= atomic_load_explicit(&block->words[w], memory_order_relaxed) >>
		       iblt_filter_bit(hash, w);
	return all != 0;
}

/* Returns the flows per cell up to which almost all tables can be decoded. depth: 3 or 4. */
double iblt_threshold(uint32_t depth);

/* Returns the expected number of false positives while n keys are added to the filter. */
double iblt_filter_errors(double n, double blocks);

/* `bits` is log2 of the IPv4 cells per row. The rows have no cells yet. */
struct iblt_rows iblt_rows_of(enum key_family family, uint32_t depth, uint32_t bits);

/* Returns log2 of the number of filter blocks for rows of 2^bits cells. */
uint32_t iblt_filter_bits(uint32_t depth, uint32_t bits);

size_t iblt_scratch_size(uint64_t nb_cells);
/* Divides a block of iblt_scratch_size() bytes. */
struct iblt_scratch iblt_scratch_of(void *block, uint64_t nb_cells);

/* Emits the decoded flows unless emit is NULL. Modifies the cells and restores them. */
void iblt_decode(const struct iblt *table, sketch_emit_fn emit, void *arg);

/* Returns an upper bound of the key's count: the smallest count in its cells. */
uint64_t iblt_bound(
	const struct iblt_rows *rows, const struct key_hash *hash, enum sketch_metric metric);

/* ---- iblt_compact.c: cells of one writer, whose number follows the flows */

struct iblt_sum {
	uint64_t packets, bytes;
	uint64_t flows; /* insertions; modulo 256 if the cell is compact */
};

/* `params` as completed by check(), with `compact`. */
void iblt_compact_parts(const struct sketch_params *params, struct sketch_memory *parts);
/* Returns the cells of the family with the most. */
uint64_t iblt_compact_cells_max(const struct sketch_params *params);
/* `at` is aligned to a cache line and zeroed. Returns the end of the cells and tags. */
uint8_t *iblt_compact_init(struct iblt *table, uint8_t *at);
void iblt_compact_reset(struct iblt *table);

/* If `weighted`, the burst has weights. Only one thread may call it. */
void iblt_compact_update(struct iblt *table, const struct key_burst *burst, bool weighted);

/* Returns true if the key was inserted, or has the tag of another key. */
bool iblt_compact_lists(const struct iblt *table, const struct key_hash *hash);

/* Returns the expected number of flows that have the tag of another flow. */
double iblt_compact_errors(double flows);

/* Returns false if the family has too many flows: a cell counts them modulo 256. */
bool iblt_compact_decodes(const struct iblt *table, uint32_t family);

struct iblt_sum iblt_compact_sum(const struct iblt_rows *rows, uint64_t cell);
/* The cell must have one flow. */
void iblt_compact_key(const struct iblt_rows *rows, uint64_t cell, struct key *key);
/* Adds sign * pivot to the cell. */
void iblt_compact_add(const struct iblt_rows *rows, uint64_t pivot, uint64_t cell, uint64_t sign);

/* Returns the size for the flows that were decoded. */
struct sketch_shape iblt_compact_fit(const struct iblt *table);
