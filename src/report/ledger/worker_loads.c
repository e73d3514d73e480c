/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/ledger/worker_loads.h"

#include <stdlib.h>

#include <rte_cycles.h>

#include "base/assertion.h"
#include "base/text.h"
#include "base/units.h"

static const char *name_of(const struct run *run, uint16_t id)
{
	for (uint32_t p = 0; p < run->nb_ports; p++)
		if (run->ports[p].id == id)
			return run->ports[p].name;
	return ""; /* port of the feeder */
}

/* Returns "" if the worker gets packets from a receiving core. Returns NULL if out of memory. */
static char *list_ports(const struct run *run, const struct poller *poller)
{
	struct text list = {0};

	for (uint32_t q = 0; q < poller->nb_queues; q++) {
		text_str(&list, q > 0 ? " " : "");
		text_str(&list, name_of(run, poller->queues[q].port));
	}
	text_char(&list, '\0');
	if (list.failed) {
		text_free(&list);
		return NULL;
	}
	return list.data;
}

bool worker_loads_init(struct worker_loads *loads, const struct run *run)
{
	*loads = (struct worker_loads){.run = run};
	for (uint32_t i = 0; i < run->plan->nb_lcores; i++) {
		const struct plan_lcore *lcore = &run->plan->lcores[i];
		const struct poller *poller;

		if (lcore->role != PLAN_WORKER)
			continue;
		poller = &run->workers[lcore->worker]->poller;
		loads->ports[lcore->worker] = list_ports(run, poller);
		if (loads->ports[lcore->worker] == NULL)
			return false;
		loads->fixed[lcore->worker] = (struct report_load){
			.lcore = i,
			.cpu = lcore->cpu,
			.ports = loads->ports[lcore->worker],
			.queue = poller->nb_queues > 0 ? poller->queues[0].queue : -1,
		};
	}
	return true;
}

void worker_loads_fini(struct worker_loads *loads)
{
	for (uint32_t w = 0; w < PLAN_WORKERS_MAX; w++)
		free(loads->ports[w]);
}

void worker_loads_report(
	const struct worker_loads *loads, uint64_t epoch, struct report_epoch *report)
{
	const struct run *run = loads->run;

	VERIFY(report->workers, ==, run->nb_workers);
	report->live = run_is_live(run);
	for (uint32_t w = 0; w < run->nb_workers; w++) {
		struct worker *worker = run->workers[w];
		const struct generation *generation = worker_generation(worker, epoch);
		struct report_load *load = &report->loads[w];
		uint64_t cycles =
			generation->rx_cycles + generation->ppt_cycles + generation->free_cycles;

		*load = loads->fixed[w];
		load->received = generation->counted;
		load->measured = generation->measured;
		load->bytes = generation->counts.bytes;
		costs_add(&report->costs[w], &generation->costs,
			(double)SECOND_NS / (double)rte_get_tsc_hz());
		load->backlog_max = generation->kept.backlog_max;
		load->level_max = generation->kept.level_max;
		load->skipped = generation->kept.skipped;
		load->busy_ns = (uint64_t)((__uint128_t)cycles * SECOND_NS / rte_get_tsc_hz());
		if (run->nb_rx_cores > 0)
			load->ring_full = rx_core_generation(run->rx_cores[worker->group], epoch)
						  ->ring_full[worker->part];
		load->ring_full += generation->ring_full;
		load->received += load->ring_full;
	}
}
