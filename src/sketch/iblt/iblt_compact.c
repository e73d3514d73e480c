/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A packet adds to 16 bytes in each row. The first packet of a flow also adds the addresses, which
 * are in an array of their own.
 *
 * A Bloom filter with as few errors would be larger than the list of tags: its bits per flow grow
 * with the number of flows, and its lines would need more than 8 bits per flow.
 */

#include "sketch/iblt/iblt.h"

#include <math.h>
#include <string.h>

#include "base/assertion.h"
#include "sketch/burst_groups.h"
#include "sketch/implement.h"
#include "sketch/slot_group.h"
#include "sketch/weight.h"

#define WIDTH4_MIN   1024 /* After an idle interval, 2500 flows can be decoded. */
#define WIDTH6_MIN   28
#define STEP_MIN     16
#define WORDS4       1 /* addresses, in words of 64 bits */
#define WORDS6       4
#define FIT_STEPS    64     /* widths per power of two that fit() chooses from, if it is large */
#define TAGS_FILL    0.93   /* share of the tags in use at the threshold of decoding */
#define PAIRS_MAX    0x1p-8 /* expected pairs of flows that share all cells */
#define UNLISTED_MAX 1.25   /* covers the error of the estimate: 1.04 / sqrt(64) */

/*
 * Mean flows of a cell. Beyond it, at most 1 flow in 700 has a cell of its own. Up to it, a cell has
 * 257 flows, which count as one, with a probability below 8^257 / 257! = 10^-277.
 */
#define FLOWS_MEAN_MAX 8

#define PORTS_LOW_BITS  28
#define PORTS_HIGH_BITS 4
#define FLOWS_BITS      8
#define FLOWS_MASK      ((UINT64_C(1) << FLOWS_BITS) - 1)
#define PROTO_SHIFT     (FLOWS_BITS + PORTS_HIGH_BITS)
#define BYTES_SHIFT     (PROTO_SHIFT + 8)

_Static_assert(PORTS_LOW_BITS + IBLT_PACKETS_BITS == 64 && BYTES_SHIFT + IBLT_BYTES_BITS == 64 &&
		       PORTS_LOW_BITS + PORTS_HIGH_BITS == 32,
	"a 5-tuple and its sums fit");

struct compact_key {
	uint64_t ports;      /* bits of iblt_counts.packets_ports */
	uint64_t proto_port; /* bits of iblt_counts.bytes_flows */
	uint64_t addresses[WORDS6];
};

static uint32_t width_of(const struct sketch_params *params, uint32_t family)
{
	if (family == 0)
		return (uint32_t)params->width;
	return (uint32_t)(params->width6 > 0 ? params->width6 : params->width >> IBLT_LESS6);
}

static uint64_t cells_of(const struct sketch_params *params, uint32_t family)
{
	return (uint64_t)params->depth * width_of(params, family);
}

static uint32_t groups_of(const struct sketch_params *params)
{
	double flows =
		iblt_threshold(params->depth) * (double)(cells_of(params, 0) + cells_of(params, 1));

	return (uint32_t)(flows / TAGS_FILL / SLOT_GROUP) + 1;
}

uint64_t iblt_compact_cells_max(const struct sketch_params *params)
{
	uint64_t cells4 = cells_of(params, 0), cells6 = cells_of(params, 1);

	return cells4 > cells6 ? cells4 : cells6;
}

static size_t counts_size(const struct sketch_params *params, uint32_t family)
{
	return line_up(cells_of(params, family) * sizeof(struct iblt_counts));
}

static size_t addresses_size(const struct sketch_params *params, uint32_t family)
{
	return line_up(
		cells_of(params, family) * (family == 0 ? WORDS4 : WORDS6) * sizeof(uint64_t));
}

static size_t tags_size(const struct sketch_params *params)
{
	return (size_t)groups_of(params) * SLOT_GROUP * sizeof(uint32_t);
}

void iblt_compact_parts(const struct sketch_params *params, struct sketch_memory *parts)
{
	parts[0] = (struct sketch_memory){
		"IPv4 cells", counts_size(params, 0) + addresses_size(params, 0)};
	parts[1] = (struct sketch_memory){
		"IPv6 cells", counts_size(params, 1) + addresses_size(params, 1)};
	parts[2] = (struct sketch_memory){"tags", tags_size(params)};
	parts[3] = (struct sketch_memory){
		"header", line_up(sizeof(struct iblt)) + line_up(sizeof(struct iblt_result))};
}

uint8_t *iblt_compact_init(struct iblt *table, uint8_t *at)
{
	struct sketch_params *params = &table->sketch.params;

	params->width6 = width_of(params, 1);
	for (uint32_t f = 0; f < IBLT_FAMILIES; f++) {
		table->rows[f] = (struct iblt_rows){
			.family = f == 0 ? KEY_IPV4 : KEY_IPV6,
			.depth = params->depth,
			.width = width_of(params, f),
			.counts = (struct iblt_counts *)at,
			.addresses = (uint64_t *)(at + counts_size(params, f)),
			.words = f == 0 ? WORDS4 : WORDS6,
		};
		at += counts_size(params, f) + addresses_size(params, f);
	}
	table->tags = (uint32_t *)at;
	table->nb_groups = groups_of(params);
	table->nb_tags_max = table->nb_groups * (SLOT_GROUP - 1); /* searches end */
	return at + tags_size(params);
}

static void reset_rows(struct iblt_rows *rows)
{
	memset(rows->counts, 0, iblt_nb_cells(rows) * sizeof(rows->counts[0]));
	memset(rows->addresses, 0, iblt_nb_cells(rows) * rows->words * sizeof(rows->addresses[0]));
}

void iblt_compact_reset(struct iblt *table)
{
	reset_rows(&table->rows[0]);
	if (iblt_seen_ipv6(table))
		reset_rows(&table->rows[1]);
	memset(table->tags, 0, tags_size(&table->sketch.params));
	memset(&table->unlisted, 0, sizeof(table->unlisted));
	table->nb_tags = 0;
	memset(table->nb_inserted, 0, sizeof(table->nb_inserted));
}

/* ---- tags */

static ALWAYS_INLINE uint32_t tag_of(const struct key_hash *hash)
{
	uint32_t tag = (uint32_t)iblt_check(hash);

	return tag + (tag == 0);
}

static ALWAYS_INLINE uint32_t *group_of(const struct iblt *table, const struct key_hash *hash)
{
	uint64_t group = (iblt_check(hash) >> 32) * table->nb_groups >> 32;

	return &table->tags[group * SLOT_GROUP];
}

/* Returns the slot with the tag, or else the free slot for it, where the tag is 0. */
static uint32_t *find_slot(const struct iblt *table, const struct key_hash *hash)
{
	const uint32_t *const end = &table->tags[(size_t)table->nb_groups * SLOT_GROUP];
	uint32_t *group = group_of(table, hash), match;

	for (;;) {
		match = slot_group_match(group, UINT32_MAX, tag_of(hash));
		if (match != 0)
			return &group[__builtin_ctz(match)];
		match = slot_group_match(group, UINT32_MAX, 0);
		if (match != 0)
			return &group[__builtin_ctz(match)];
		group = group + SLOT_GROUP < end ? group + SLOT_GROUP : table->tags;
	}
}

bool iblt_compact_lists(const struct iblt *table, const struct key_hash *hash)
{
	return *find_slot(table, hash) != 0;
}

/* A search compares on average with less than the 16 tags of a group. */
double iblt_compact_errors(double flows)
{
	return flows * SLOT_GROUP * 0x1p-32;
}

/* ---- updates */

static ALWAYS_INLINE struct compact_key compact_key_of(const struct key_burst *burst, uint32_t i)
{
	struct compact_key key = {0};
	uint32_t ports;
	uint8_t proto;

	if (burst->v6 >> i & 1) {
		memcpy(key.addresses, &burst->key6[i], sizeof(key.addresses));
		memcpy(&ports, burst->key6[i].src_port, sizeof(ports));
		proto = burst->key6[i].proto;
	} else {
		memcpy(key.addresses, &burst->key4[i], WORDS4 * sizeof(uint64_t));
		memcpy(&ports, burst->key4[i].src_port, sizeof(ports));
		proto = burst->key4[i].proto;
	}
	key.ports = ports & ((UINT32_C(1) << PORTS_LOW_BITS) - 1);
	key.proto_port = (uint64_t)proto << PROTO_SHIFT | (uint64_t)(ports >> PORTS_LOW_BITS)
								  << FLOWS_BITS;
	return key;
}

/* The list of tags is full. */
static void add_unlisted(
	struct iblt *table, const struct key_burst *burst, uint32_t i, const struct weight *weight)
{
	const uint32_t bits = IBLT_REGISTER_BITS;
	uint64_t hash = iblt_check(&burst->hash[i]) * UINT64_C(0x9e3779b97f4a7c15);
	uint8_t *reg = &table->unlisted.registers[burst->v6 >> i & 1][hash >> (64 - bits)];
	uint8_t value = (uint8_t)(1 + __builtin_clzll(hash << bits | UINT64_C(1) << (bits - 1)));

	if (value > *reg)
		*reg = value;
	table->unlisted.packets = counter64_sum(table->unlisted.packets, weight->packets);
}

static void insert(
	struct iblt *table, const struct key_burst *burst, uint32_t i, const struct weight *weight)
{
	const struct iblt_rows *rows = &table->rows[burst->v6 >> i & 1];
	const struct key_hash *hash = &burst->hash[i];
	uint32_t *slot = find_slot(table, hash);
	struct compact_key key;

	if (*slot != 0)
		return;
	if (table->nb_tags == table->nb_tags_max) {
		add_unlisted(table, burst, i, weight);
		return;
	}
	*slot = tag_of(hash);
	table->nb_tags++;
	table->nb_inserted[burst->v6 >> i & 1]++;
	key = compact_key_of(burst, i);
	for (uint32_t row = 0; row < rows->depth; row++) {
		uint64_t cell = iblt_compact_place(rows, hash, row);
		struct iblt_counts *counts = &rows->counts[cell];
		uint64_t flows = (counts->bytes_flows + 1) & FLOWS_MASK;

		counts->packets_ports ^= key.ports;
		counts->bytes_flows ^= key.proto_port;
		counts->bytes_flows = (counts->bytes_flows & ~FLOWS_MASK) | flows;
		for (uint32_t word = 0; word < rows->words; word++)
			rows->addresses[cell * rows->words + word] ^= key.addresses[word];
	}
}

/* Hashes of a burst, in the form in which the table uses them. */
struct compact_burst {
	const uint32_t *group[BURST_MAX];
	uint32_t tag[BURST_MAX];
	struct iblt_counts *cells[BURST_MAX][IBLT_DEPTH_MAX];
};

static ALWAYS_INLINE void prepare(const struct iblt *table, const struct key_burst *burst,
	struct compact_burst *work, const uint32_t depth, const bool ipv6)
{
	const struct iblt_rows rows4 = table->rows[0], rows6 = table->rows[1];

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct key_hash *hash = &burst->hash[i];
		const struct iblt_rows *rows = ipv6 && (burst->v6 >> i & 1) ? &rows6 : &rows4;

		work->group[i] = group_of(table, hash);
		work->tag[i] = tag_of(hash);
		__builtin_prefetch(work->group[i], 1);
#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++) {
			struct iblt_counts *cell =
				&rows->counts[iblt_compact_place(rows, hash, row)];

			work->cells[i][row] = cell;
			__builtin_prefetch(cell, 1);
		}
	}
}

/* Returns the packets whose tags are not in their first group. They may be in another one. */
static ALWAYS_INLINE uint64_t find_new(
	const struct key_burst *burst, const struct compact_burst *work)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < burst->n; i++)
		found |= (uint64_t)!slot_group_has(work->group[i], work->tag[i]) << i;
	return found;
}

static ALWAYS_INLINE void fetch_addresses(const struct iblt *table, const struct key_burst *burst,
	uint64_t new, const struct compact_burst *work, const uint32_t depth)
{
	while (new != 0) {
		uint32_t i = mask_next(&new);
		const struct iblt_rows *rows = &table->rows[burst->v6 >> i & 1];

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			__builtin_prefetch(&rows->addresses[(work->cells[i][row] - rows->counts) *
							    rows->words],
				1);
	}
}

/* The sums saturate. */
static ALWAYS_INLINE void sum_burst(
	struct iblt *table, const struct key_burst *burst, const bool weighted)
{
	struct weight sum = {0, 0};

	for (uint32_t i = 0; i < burst->n; i++) {
		const struct weight weight = weight_of(burst, i, weighted);

		sum.packets = weighted ? counter64_sum(sum.packets, weight.packets) : burst->n;
		sum.bytes = weighted ? counter64_sum(sum.bytes, weight.bytes)
				     : sum.bytes + weight.bytes;
	}
	table->weight_packets = counter64_sum(table->weight_packets, sum.packets);
	table->weight_bytes = counter64_sum(table->weight_bytes, sum.bytes);
}

/* Both words of a struct iblt_counts. */
typedef uint64_t counts_vector __attribute__((vector_size(16)));

static ALWAYS_INLINE void update(struct iblt *table, const struct key_burst *burst,
	const uint32_t depth, const bool ipv6, const bool weighted)
{
	struct compact_burst work;
	uint64_t new;

	prepare(table, burst, &work, depth, ipv6);
	new = find_new(burst, &work);
	fetch_addresses(table, burst, new, &work, depth);
	for (uint64_t left = new; left != 0;) {
		uint32_t i = mask_next(&left);
		const struct weight weight = weight_of(burst, i, weighted);

		insert(table, burst, i, &weight);
	}
	sum_burst(table, burst, weighted);
	for (uint32_t i = 0; i < burst->n; i++) {
		const struct weight weight = weight_of(burst, i, weighted);
		const counts_vector addition = {
			weight.packets << PORTS_LOW_BITS, weight.bytes << BYTES_SHIFT};

#pragma GCC unroll 4
		for (uint32_t row = 0; row < depth; row++)
			*(counts_vector *)work.cells[i][row] += addition;
	}
}

void iblt_compact_update(struct iblt *table, const struct key_burst *burst, bool weighted)
{
	bool ipv6 = burst->v6 != 0;

	switch (table->sketch.params.depth << 2 | (uint32_t)ipv6 << 1 | (uint32_t)weighted) {
	case 3 << 2: update(table, burst, 3, false, false); break;
	case 3 << 2 | 1: update(table, burst, 3, false, true); break;
	case 3 << 2 | 2: update(table, burst, 3, true, false); break;
	case 3 << 2 | 3: update(table, burst, 3, true, true); break;
	case 4 << 2: update(table, burst, 4, false, false); break;
	case 4 << 2 | 1: update(table, burst, 4, false, true); break;
	case 4 << 2 | 2: update(table, burst, 4, true, false); break;
	case 4 << 2 | 3: update(table, burst, 4, true, true); break;
	}
}

/* ---- decoding */

bool iblt_compact_decodes(const struct iblt *table, uint32_t family)
{
	return table->nb_inserted[family] <= (uint64_t)FLOWS_MEAN_MAX * table->rows[family].width;
}

struct iblt_sum iblt_compact_sum(const struct iblt_rows *rows, uint64_t cell)
{
	const struct iblt_counts *counts = &rows->counts[cell];

	return (struct iblt_sum){
		.packets = counts->packets_ports >> PORTS_LOW_BITS,
		.bytes = counts->bytes_flows >> BYTES_SHIFT,
		.flows = counts->bytes_flows & FLOWS_MASK,
	};
}

void iblt_compact_key(const struct iblt_rows *rows, uint64_t cell, struct key *key)
{
	const struct iblt_counts *counts = &rows->counts[cell];
	const uint64_t *addresses = &rows->addresses[cell * rows->words];
	uint32_t ports = (uint32_t)(counts->packets_ports & ((UINT64_C(1) << PORTS_LOW_BITS) - 1));
	uint8_t proto = (uint8_t)(counts->bytes_flows >> PROTO_SHIFT);

	ports |= (uint32_t)(counts->bytes_flows >> FLOWS_BITS) << PORTS_LOW_BITS;
	memset(key, 0, sizeof(*key));
	key->family = rows->family;
	if (rows->family == KEY_IPV6) {
		memcpy(&key->v6, addresses, WORDS6 * sizeof(uint64_t));
		memcpy(key->v6.src_port, &ports, sizeof(ports));
		key->v6.proto = proto;
	} else {
		memcpy(&key->v4, addresses, WORDS4 * sizeof(uint64_t));
		memcpy(key->v4.src_port, &ports, sizeof(ports));
		key->v4.proto = proto;
	}
}

void iblt_compact_add(const struct iblt_rows *rows, uint64_t pivot, uint64_t cell, uint64_t sign)
{
	const struct iblt_counts *from = &rows->counts[pivot];
	struct iblt_counts *to = &rows->counts[cell];
	const uint64_t ports = (UINT64_C(1) << PORTS_LOW_BITS) - 1;
	const uint64_t port_proto = ((UINT64_C(1) << BYTES_SHIFT) - 1) & ~FLOWS_MASK;
	uint64_t flows = (to->bytes_flows + sign * from->bytes_flows) & FLOWS_MASK;

	to->packets_ports += sign * (from->packets_ports & ~ports);
	to->packets_ports ^= from->packets_ports & ports;
	to->bytes_flows += sign * (from->bytes_flows >> BYTES_SHIFT << BYTES_SHIFT);
	to->bytes_flows ^= from->bytes_flows & port_proto;
	to->bytes_flows = (to->bytes_flows & ~FLOWS_MASK) | flows;
	for (uint32_t word = 0; word < rows->words; word++)
		rows->addresses[cell * rows->words + word] ^=
			rows->addresses[pivot * rows->words + word];
}

/* ---- size of the next interval */

/*
 * Returns an estimate of the flows of a family that were not inserted. Flajolet, Fusy, Gandouet and
 * Meunier: HyperLogLog (2007), with linear counting below 5/2 of the registers.
 */
static double unlisted_flows(const struct iblt *table, uint32_t family)
{
	const uint8_t *registers = table->unlisted.registers[family];
	const double m = 1 << IBLT_REGISTER_BITS;
	double sum = 0, zeros = 0, estimate;

	for (uint32_t r = 0; r >> IBLT_REGISTER_BITS == 0; r++) {
		sum += ldexp(1, -registers[r]);
		zeros += registers[r] == 0;
	}
	estimate = 0.709 * m * m / sum;
	return estimate <= 2.5 * m && zeros > 0 ? m * log(m / zeros) : estimate;
}

/*
 * With n flows and k rows of w cells, n^2 / 2 / w^k pairs of flows are expected to share all of
 * their cells.
 */
static uint64_t width_for(const struct sketch_params *params, double flows, double least)
{
	double depth = params->depth, width = flows / params->load / depth;
	double pairs = pow(flows * flows / 2 / PAIRS_MAX, 1 / depth);

	width = fmax(width, pairs);
	if (width <= least)
		return (uint64_t)least;
	width = ceil(fmin(width, (double)params->width_max));
	return width_step_up((uint64_t)width, FIT_STEPS, STEP_MIN);
}

static uint64_t below(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

struct sketch_shape iblt_compact_fit(const struct iblt *table)
{
	const struct sketch_params *params = &table->sketch.params;
	double flows[IBLT_FAMILIES];

	for (uint32_t f = 0; f < IBLT_FAMILIES; f++)
		flows[f] = (double)table->result->inserted[f] +
			   UNLISTED_MAX * unlisted_flows(table, f);
	return (struct sketch_shape){
		.width = below(width_for(params, flows[0], WIDTH4_MIN), params->width_max),
		.width6 = below(
			width_for(params, flows[1], WIDTH6_MIN), params->width_max >> IBLT_LESS6),
	};
}
