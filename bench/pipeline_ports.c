/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs the pipeline on live ports. The offered packets are those that the devices received or lost.
 */

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_ethdev.h>

#include "base/log.h"
#include "base/signals.h"
#include "bench/pipeline_ports.h"
#include "tune/measure/setup.h"
#include "parallel/run/run.h"
#include "rx/port/loss.h"
#include "sketch/measurement.h"

#define NAP_NS     1000000
#define PATIENCE_S 10

struct live {
	struct config config;
	struct plan plan;
	uint32_t nb_ports;
	struct port ports[OPTION_LIST_MAX];
	struct rte_device *devices[OPTION_LIST_MAX];
	struct port_meter meters[OPTION_LIST_MAX];
	struct run *run;
};

static void nap(void)
{
	const struct timespec time = {.tv_nsec = NAP_NS};

	nanosleep(&time, NULL);
}

static double seconds_since(uint64_t start)
{
	return (double)(rte_rdtsc() - start) / (double)rte_get_tsc_hz();
}

void pipeline_ports_config(
	struct config *config, const struct pipeline_setting *setting, const struct config *from)
{
	setup_run_config(config, from, &setting->subject);
	edit_design_options(config)->design = design_index(setting->design);
	edit_plan_options(config)->workers = setting->workers;
	edit_measurement_options(&config->measurements[0])->width = setting->subject.width;
	edit_pool_options(config)->mbufs = setting->mbufs;
	edit_port_options(config)->names = port_options(from)->names;
}

/* Probes a NIC again that an earlier run detached. port_probe() creates virtual devices. */
static bool probe(struct live *live, const struct port_name *names, char *error)
{
	_Static_assert(PORT_ERROR_MAX <= LOAD_GENERATOR_ERROR_MAX, "the line fits");

	while (live->nb_ports < port_options(&live->config)->names.n) {
		uint32_t p = live->nb_ports, group = live->plan.ports[p].group;
		struct rte_eth_dev_info info;
		uint16_t id;

		if (names[p].pci && rte_eth_dev_get_port_by_name(names[p].device, &id) != 0)
			rte_dev_probe(names[p].device);
		if (!port_probe(&live->ports[p], &names[p], &live->config,
			    (uint16_t)live->plan.groups[group].nb_queues, error))
			return false;
		live->nb_ports++;
		if (rte_eth_dev_info_get(live->ports[p].id, &info) == 0)
			live->devices[p] = info.device;
	}
	return true;
}

/* Detaches the devices, so that the next run can open them. */
static void give_back(const struct live *live)
{
	for (uint32_t p = 0; p < live->nb_ports; p++)
		if (live->devices[p] != NULL)
			rte_dev_remove(live->devices[p]);
}

static bool fit(struct live *live, const struct topology *topology, char *error)
{
	static struct plan_device devices[OPTION_LIST_MAX];

	devices_ask(&live->plan, live->ports, devices);
	return plan_fit(&live->plan, &live->config, topology, devices, error);
}

static void start_meters(struct live *live)
{
	for (uint32_t p = 0; p < live->nb_ports; p++)
		port_meter_start(&live->meters[p], &live->ports[p], live->meters, p);
}

static uint64_t lost(struct live *live, bool *unknown)
{
	uint64_t packets = 0;

	*unknown = false;
	for (uint32_t p = 0; p < live->nb_ports; p++) {
		struct port_meter *meter = &live->meters[p];

		port_meter_read(meter);
		for (enum port_column c = PORT_MISSED; c <= PORT_NO_MBUF; c++)
			packets += port_meter_count(meter, c);
		*unknown |= !meter->complete;
	}
	return packets;
}

static bool has_received(const struct live *live)
{
	struct rte_eth_stats stats;

	for (uint32_t p = 0; p < live->nb_ports; p++)
		if (rte_eth_stats_get(live->ports[p].id, &stats) == 0 && stats.ipackets > 0)
			return true;
	return false;
}

static bool await_packets(const struct live *live)
{
	uint64_t start = rte_rdtsc();

	while (!has_received(live)) {
		if (signals_stop_requested() || seconds_since(start) > PATIENCE_S)
			return false;
		nap();
	}
	return true;
}

static void let_run(const struct live *live, uint32_t milliseconds)
{
	uint64_t start = rte_rdtsc();

	while (seconds_since(start) * 1000 < milliseconds && !signals_stop_requested())
		nap();
	/* Packets that arrive later are still counted, and extend the measured time. */
	epochs_end(live->run->epochs, 1);
	while (!run_finished(live->run))
		nap();
}

static bool judge(struct live *live, double seconds, struct pipeline_sample *sample, char *error)
{
	struct pipeline_totals totals = pipeline_add_up(live->run);
	bool unknown;
	uint64_t offered = totals.received + lost(live, &unknown);

	if (totals.counted == 0 || totals.counted + totals.ring_full != totals.received) {
		snprintf(error, LOAD_GENERATOR_ERROR_MAX,
			"of %llu packets, %llu were lost between lcores and %llu were counted: the "
			"figures are wrong",
			(unsigned long long)totals.received, (unsigned long long)totals.ring_full,
			(unsigned long long)totals.counted);
		return false;
	}
	*sample = pipeline_sample_of(&totals, offered, seconds);
	sample->loss_unknown = unknown;
	return true;
}

static bool measure(
	struct live *live, uint32_t milliseconds, struct pipeline_sample *sample, char *error)
{
	uint64_t start;
	double seconds;
	bool come;

	start_meters(live);
	run_start(live->run);
	come = await_packets(live);
	start = rte_rdtsc();
	let_run(live, come ? milliseconds : 0);
	seconds = seconds_since(start);
	run_join(live->run);
	if (come)
		return judge(live, seconds, sample, error);
	snprintf(error, LOAD_GENERATOR_ERROR_MAX,
		"--port %s: no packet received within %d s: start the sender first",
		live->ports[0].name, PATIENCE_S);
	return false;
}

static bool run_on(struct live *live, const struct machine *machine, const struct port_name *names,
	const uint32_t *cpus, uint32_t nb_cpus, uint32_t milliseconds,
	struct pipeline_sample *sample, char *error)
{
	bool right = probe(live, names, error) && fit(live, &machine->topology, error);

	if (right) {
		pipeline_pin(live->plan.nb_lcores, cpus, nb_cpus);
		live->run = run_create(
			&live->config, &live->plan, NULL, live->ports, live->nb_ports, error);
		if (live->run == NULL)
			return false; /* run_create() has closed the ports */
		right = measure(live, milliseconds, sample, error);
		run_destroy(live->run);
	} else {
		ports_close(live->ports, live->nb_ports);
	}
	return right;
}

/* Logs warnings about ports in the first run only. */
static bool run_quietly(struct live *live, const struct machine *machine,
	const struct port_name *names, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct pipeline_sample *sample, char *error)
{
	static bool said;
	int level = rte_log_get_level(log_type);
	bool right;

	if (said)
		rte_log_set_level(log_type, RTE_LOG_ERR);
	right = run_on(live, machine, names, cpus, nb_cpus, milliseconds, sample, error);
	rte_log_set_level(log_type, (uint32_t)level);
	said = true;
	return right;
}

bool pipeline_run_ports(const struct pipeline_setting *setting, const struct config *from,
	const struct machine *machine, const struct port_name *names, const uint32_t *cpus,
	uint32_t nb_cpus, uint32_t milliseconds, struct pipeline_sample *sample, char *error)
{
	static struct live live;
	bool right;

	memset(&live, 0, sizeof(live));
	pipeline_ports_config(&live.config, setting, from);
	if (!plan_make(&live.plan, &live.config, &machine->topology, &machine->ports, error))
		return false;
	live.plan.idle = pipeline_threads(setting) > nb_cpus ? IDLE_SLEEP : IDLE_SPIN;
	right = run_quietly(&live, machine, names, cpus, nb_cpus, milliseconds, sample, error);
	give_back(&live);
	return right;
}
