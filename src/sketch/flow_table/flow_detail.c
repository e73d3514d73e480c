/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/flow_table/flow_detail.h"

#include "base/assertion.h"
#include "sketch/implement.h"

size_t flow_deep_memory(const struct sketch_params *params)
{
	if (params->deep.deepest == FLOW_COUNT)
		return 0;
	return sizeof(struct flow_deep) +
	       ((size_t)params->deep.flows + 1) * sizeof(struct flow_detail) +
	       (params->queries != NULL ? line_up(sizeof(struct flow_query_packets)) : 0);
}

struct flow_deep *flow_deep_init(void *memory, const struct sketch_params *params)
{
	static const struct flow_states identity = FLOW_STATES_IDENTITY;
	struct flow_deep *deep = memory;

	deep->params = params->deep;
	deep->queries = params->queries;
	flow_deep_set_states(deep, &identity);
	deep->details = (struct flow_detail *)(deep + 1);
	if (params->queries != NULL)
		deep->of_queries =
			(struct flow_query_packets *)(deep->details + deep->params.flows + 1);
	flow_deep_reset(deep);
	return deep;
}

void flow_deep_set_states(struct flow_deep *deep, const struct flow_states *states)
{
	deep->states = *states;
	deep->held = false;
	memset(deep->steady, 0, sizeof(deep->steady));
	for (uint32_t share = 0; share < 2; share++)
		for (uint32_t own = FLOW_RATE; own < FLOW_STATES; own++) {
			uint32_t looked = states->to[share][own];

			deep->held |= looked != own;
			deep->steady[share][FLOW_DEEP_OF(own, looked)] =
				FLOW_STEADY_OF(own, looked);
		}
}

void flow_deep_reset(struct flow_deep *deep)
{
	memset(deep->packets, 0, sizeof(deep->packets));
	if (deep->of_queries != NULL)
		memset(deep->of_queries, 0, sizeof(*deep->of_queries));
	deep->total = 0;
	deep->refused = 0;
	deep->used = 1;
	deep->returned = 0;
}

uint32_t flow_detail_take(struct flow_deep *deep)
{
	uint32_t detail = deep->returned;

	if (detail != 0)
		deep->returned = (uint32_t)deep->details[detail].packets;
	else if (deep->used <= deep->params.flows)
		detail = deep->used++;
	else
		return 0;
	deep->details[detail] = (struct flow_detail){.gap_min = UINT32_MAX};
	return detail;
}

void flow_deep_end(struct flow_deep *deep, struct flow_entry *entry)
{
	uint32_t detail = entry->deep >> FLOW_DEEP_DETAIL;

	entry->deep = 0;
	if (detail == 0)
		return;
	ASSERT(detail, <, deep->used);
	deep->details[detail].packets = deep->returned;
	deep->returned = detail;
}

struct flow_figures flow_deep_figures(
	const struct flow_entry *entry, const struct flow_detail *detail)
{
	if (entry->deep >> FLOW_DEEP_DETAIL == 0)
		return FLOW_FIGURES_NONE;
	return (struct flow_figures){
		.state = (uint8_t)(entry->deep >> FLOW_DEEP_LOOKED & FLOW_DEEP_STATE),
		.tcp = (entry->deep & FLOW_DEEP_MARK) != 0,
		.packets = detail->packets,
		.gaps = detail->gaps,
		.gap_min = detail->gap_min,
		.peak_bytes = detail->peak_bytes,
		.bursts = detail->bursts,
		.retransmitted = detail->retransmitted,
		.out_of_order = detail->out_of_order,
		.zero_windows = detail->zero_windows,
	};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void flow_figures_add(struct flow_figures *sum, const struct flow_figures *figures)
{
	sum->packets += figures->packets;
	sum->gaps += figures->gaps;
	sum->bursts += figures->bursts;
	sum->retransmitted += figures->retransmitted;
	sum->out_of_order += figures->out_of_order;
	sum->zero_windows += figures->zero_windows;
	if (figures->gap_min < sum->gap_min)
		sum->gap_min = figures->gap_min;
	sum->peak_bytes = larger(sum->peak_bytes, figures->peak_bytes);
	sum->state = (uint8_t)larger(sum->state, figures->state);
	sum->tcp |= figures->tcp;
}
