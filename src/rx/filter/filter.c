/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/filter/filter.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "key/key_burst.h"
#include "rx/filter/filter_native.h"
#include "rx/packet/meta.h"
#include "base/prefetch.h"

struct filter_code {
	/* Run by the interpreter of libpcap if there is no native code */
	const struct bpf_program *program;
	struct filter_native native;
};

struct filter {
	bool replay;
	uint32_t reach;
	uint32_t n;
	struct filter_code codes[];
};

struct filter *filter_create(const struct filter_set *set, bool replay)
{
	struct filter *filter = calloc(1, sizeof(*filter) + set->n * sizeof(filter->codes[0]));

	if (filter == NULL)
		return NULL;
	filter->replay = replay;
	filter->reach = set->reach;
	filter->n = set->n;
	for (uint32_t i = 0; i < set->n; i++) {
		filter->codes[i].program = &set->programs[i];
		filter->codes[i].native = filter_native_create(&set->programs[i]);
	}
	return filter;
}

void filter_destroy(struct filter *filter)
{
	if (filter == NULL)
		return;
	for (uint32_t i = 0; i < filter->n; i++)
		filter_native_destroy(&filter->codes[i].native);
	free(filter);
}

uint32_t filter_interpreted(const struct filter *filter)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < filter->n; i++)
		n += filter->codes[i].native.run == NULL;
	return n;
}

static inline bool run(
	const struct filter_code *code, const uint8_t *data, uint32_t captured, uint32_t wire_len)
{
	if (likely(code->native.run != NULL))
		return code->native.run(data, captured, wire_len) != 0;
	return bpf_filter(code->program->bf_insns, data, wire_len, captured) != 0;
}

/* No program reads more than FILTER_REACH_MAX bytes, so only these are copied. */
static __attribute__((noinline)) bool run_chained(
	const struct filter_code *code, const struct rte_mbuf *mbuf)
{
	uint8_t copy[FILTER_REACH_MAX];
	uint32_t wire_len = rte_pktmbuf_pkt_len(mbuf);
	uint32_t captured = RTE_MIN(wire_len, (uint32_t)sizeof(copy));

	return run(code, rte_pktmbuf_read(mbuf, 0, captured, copy), captured, wire_len);
}

/* `matching` may be pkts, `others` may be NULL. Returns the number of matches. */
static inline __attribute__((always_inline)) uint32_t keep_matching(const struct filter *filter,
	struct rte_mbuf *const *pkts, uint32_t n, struct rte_mbuf **matching,
	struct rte_mbuf **others, const bool replay)
{
	uint32_t kept = 0;

	ASSERT(n, <=, BURST_MAX);
	if (replay)
		prefetch_first_mbufs(pkts, n);
	if (filter->reach > 0)
		prefetch_first_headers(pkts, n);
	for (uint32_t i = 0; i < n; i++) {
		struct rte_mbuf *mbuf = pkts[i];
		const struct filter_code *code = &filter->codes[0];
		uint32_t wire_len = mbuf->pkt_len;
		bool keep;

		if (replay && i + MBUF_AHEAD < n)
			prefetch_mbuf(pkts[i + MBUF_AHEAD]);
		if (filter->reach > 0 && i + DATA_AHEAD < n)
			prefetch_data(pkts[i + DATA_AHEAD]);
		if (replay) {
			code += packet_meta(mbuf)->filter;
			wire_len = packet_meta(mbuf)->wire_len;
		}
		if (likely(mbuf->nb_segs == 1 || filter->reach <= mbuf->data_len))
			keep = run(code, rte_pktmbuf_mtod(mbuf, const uint8_t *), mbuf->data_len,
				wire_len);
		else
			keep = run_chained(code, mbuf);
		/* A branch here would often be mispredicted. */
		matching[kept] = mbuf;
		if (others != NULL)
			others[i - kept] = mbuf;
		kept += keep;
	}
	return kept;
}

bool filter_match(
	const struct filter *filter, const uint8_t *data, uint32_t captured, uint32_t wire_len)
{
	return run(&filter->codes[0], data, captured, wire_len);
}

uint32_t filter_pick(const struct filter *filter, struct rte_mbuf *const *pkts, uint32_t n,
	struct rte_mbuf **matching)
{
	return filter->replay ? keep_matching(filter, pkts, n, matching, NULL, true)
			      : keep_matching(filter, pkts, n, matching, NULL, false);
}

uint32_t filter_burst(const struct filter *filter, struct rte_mbuf **pkts, uint32_t n)
{
	struct rte_mbuf *others[BURST_MAX];
	uint32_t kept = filter->replay ? keep_matching(filter, pkts, n, pkts, others, true)
				       : keep_matching(filter, pkts, n, pkts, others, false);

	memcpy(pkts + kept, others, (n - kept) * sizeof(others[0]));
	return kept;
}
