/* SPDX-License-Identifier: BSD-3-Clause */

/* Start in stages, stop in reverse. Every stage that fails says why in one line. */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/config.h"
#include "base/log.h"
#include "base/signals.h"
#include "parallel/eal.h"
#include "parallel/plan.h"
#include "parallel/run.h"
#include "parallel/topology.h"
#include "report/progress.h"
#include "report/reporter.h"
#include "report/writer.h"
#include "rx/port.h"
#include "rx/send.h"
#include "rx/source.h"
#include "rx/synthetic.h"

#define EXIT_MACHINE 1 /* it took the machine to find out */
#define EXIT_TEXT    2 /* to be seen from the command line or the configuration alone */

static void say(bool warning, const char *line, void *arg)
{
	(void)arg;
	if (warning)
		log_warning("%s", line);
	else
		log_notice("%s", line);
}

/* Opens what packets are read from; NULL without an error on a live port. */
static int open_source(const struct config *config, struct source **source)
{
	char error[SOURCE_ERROR_MAX];

	*source = NULL;
	if (config->nb_pcap > 0) {
		*source = replay_open(config->pcap, config->nb_pcap, error);
	} else if (config->synthetic != NULL) {
		struct synthetic_spec spec;

		if (!synthetic_parse(config->synthetic, &spec, error)) {
			log_error("%s", error);
			return EXIT_TEXT;
		}
		*source = generate_open(&spec, error);
	} else {
		return 0;
	}
	if (*source == NULL) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	return 0;
}

static int make_plan(const struct config *config, struct plan *plan)
{
	static struct topology topology;
	struct plan_ports ports = {.nb_ports = config->nb_port, .node = PLAN_NODE_ANY};
	char error[PLAN_TEXT_MAX];
	uint32_t missing;

	topology_read(&topology);
	if (config->lcores != NULL && topology_restrict(&topology, config->lcores, &missing) != 0) {
		log_error(
			"--lcores %s: this process may not run on CPU %u", config->lcores, missing);
		return EXIT_MACHINE;
	}
	if (config->nb_port > 0)
		ports.node = port_node(config->port[0]);
	if (!plan_make(plan, config, &topology, &ports, error)) {
		log_error("%s", error);
		return EXIT_TEXT;
	}
	return 0;
}

static int probe_ports(const struct config *config, struct port *ports)
{
	char error[PORT_ERROR_MAX];

	for (uint32_t p = 0; p < config->nb_port; p++)
		if (!port_probe(&ports[p], config->port[p], error)) {
			log_error("%s", error);
			return EXIT_MACHINE;
		}
	return 0;
}

/* Measures from the first packet to the last epoch; all stages before it are up. */
static int measure(const struct config *config, struct run *run, struct writer *writer,
	uint64_t first_epoch, struct progress *progress)
{
	struct reporter_params params = {
		.run = run,
		.writer = writer,
		.progress = progress,
		.first_epoch = first_epoch,
	};
	struct reporter_result result;
	const char *damage;
	int status = 0;

	signals_unblock();
	result = reporter_run(&params);
	damage = run->feeder != NULL ? feeder_damage(run->feeder) : NULL;
	if (damage != NULL) {
		log_error("%s", damage);
		status = EXIT_MACHINE;
	}
	if (result.unaccounted > 0) {
		log_error("%llu of %llu packets are unaccounted for: the ledger does not balance",
			(unsigned long long)result.unaccounted, (unsigned long long)result.offered);
		status = EXIT_MACHINE;
	}
	if (result.out_of_memory)
		status = EXIT_MACHINE;
	if (config->verbose)
		log_info("%llu packets in %llu epochs", (unsigned long long)result.offered,
			(unsigned long long)result.epochs);
	return status;
}

static int run_with_writer(const struct config *config, const struct plan *plan,
	struct source *source, struct port *ports, struct progress *progress)
{
	const struct writer_voice voice = {.say = say, .progress = progress};
	char error[RUN_ERROR_MAX];
	uint64_t first_epoch, lost;
	struct writer *writer;
	struct run *run;
	int status;

	/* All memory is there and all ports work before an output is touched. */
	run = run_create(config, plan, source, ports, config->nb_port, error);
	if (run == NULL) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	writer = writer_open(config, &voice, &first_epoch, &status, error);
	if (writer == NULL) {
		log_error("%s", error);
		run_destroy(run);
		return status;
	}
	status = measure(config, run, writer, first_epoch, progress);
	lost = writer_close(writer);
	if (lost > 0) {
		log_error("%llu rows could not be written", (unsigned long long)lost);
		status = EXIT_MACHINE;
	}
	run_destroy(run);
	return status;
}

static int command_run(const struct config *config)
{
	static struct plan plan;
	static struct progress progress;
	static struct port ports[CONFIG_LIST_MAX];
	char error[EAL_ERROR_MAX];
	struct source *source;
	int status = open_source(config, &source);

	if (status == 0)
		status = make_plan(config, &plan);
	for (uint32_t i = 0; status == 0 && i < plan.nb_warnings; i++)
		log_warning("%s", plan.warnings[i]);
	signals_install();
	if (status == 0 && !eal_start(&plan, config, error)) {
		log_error("%s", error);
		status = EXIT_MACHINE;
	} else if (status == 0) {
		progress_init(&progress, STDERR_FILENO, !config->no_progress);
		status = probe_ports(config, ports);
		if (status == 0)
			status = run_with_writer(config, &plan, source, ports, &progress);
		eal_stop();
	}
	if (source != NULL)
		source->close(source);
	return status;
}

static int command_plan(const struct config *config)
{
	static struct plan plan;
	int status = make_plan(config, &plan);

	if (status == 0)
		plan_print(&plan, stdout);
	return status;
}

static int generate_to_port(const struct config *config, struct source *source)
{
	static struct topology topology;
	static struct plan plan;
	struct port port;
	char error[EAL_ERROR_MAX];
	int status;

	topology_read(&topology);
	plan_make_sender(&plan, config, &topology);
	if (!eal_start(&plan, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = probe_ports(config, &port);
	if (status == 0)
		status = send_to_port(config, &plan, source, &port);
	eal_stop();
	return status;
}

static int command_generate(const struct config *config)
{
	struct source *source;
	int status = open_source(config, &source);

	if (status != 0)
		return status;
	signals_install();
	signals_unblock();
	status = config->nb_port > 0 ? generate_to_port(config, source)
				     : send_to_file(config, source);
	source->close(source);
	return status;
}

int main(int argc, char **argv)
{
	static struct config config;
	int status = 0;

	switch (config_load(&config, argc, argv, stdout, stderr)) {
	case CONFIG_OK: break;
	case CONFIG_EXIT_0: return 0;
	case CONFIG_EXIT_1: return EXIT_MACHINE;
	case CONFIG_EXIT_2: return EXIT_TEXT;
	}
	log_init(config.verbose);
	switch (config.command) {
	case COMMAND_RUN: status = command_run(&config); break;
	case COMMAND_PLAN: status = command_plan(&config); break;
	case COMMAND_GENERATE: status = command_generate(&config); break;
	}
	config_free(&config);
	return status;
}
