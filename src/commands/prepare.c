/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"
#include "adapt/calibrate.h"
#include "base/assertion.h"
#include "base/log.h"
#include "base/signals.h"
#include "collect/record_filter.h"
#include "control/shed_controller.h"
#include "parallel/run/run.h"
#include "parallel/run/plan_capacity.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/node_memory.h"
#include "rx/port/live_ports.h"
#include "tester/loopback_test.h"
#include "tune/measure/figures.h"

#define CALIBRATION_MS      200 /* a warning and command.h also contain this number */
#define CALIBRATION_SAMPLES 2000
#define CALIBRATION_FLOWS   (UINT64_C(1) << 18)

struct prepared prepared;

int prepare_source(const struct config *config, struct source **source)
{
	char error[SOURCE_ERROR_MAX];
	int status = sources_open(config, source, error);

	/* A stop request interrupted the wait for the first packet. */
	if (status == EXIT_MACHINE && signals_stop_requested())
		return PREPARE_STOPPED;
	if (status != 0)
		log_error("%s", error);
	else
		VERIFY(*source != NULL, ==, source_is(config, SOURCE_OF_FEEDER));
	return status;
}

/* The filter is applied to Ethernet frames built from flow records. */
static bool compile_record_filter(const char *expression, char error[FILTER_ERROR_MAX])
{
	return filter_set_add_ethernet(&prepared.filters, expression, error) >= 0 &&
	       record_filter_check(
		       &prepared.filters.programs[0], expression, error, FILTER_ERROR_MAX);
}

int prepare_check_filter(const struct config *config)
{
	const char *expression = filter_options(config)->expression;
	char error[FILTER_ERROR_MAX];

	if (expression == NULL || (filter_check(expression, error) &&
					  (!source_is(config, SOURCE_RECORDS) ||
						  compile_record_filter(expression, error))))
		return 0;
	log_error("--filter: %s", error);
	return EXIT_TEXT;
}

int prepare_filter(const struct config *config, struct source *source)
{
	uint32_t provided = source_of(config)->header_bytes;
	char error[SOURCE_ERROR_MAX];

	if (filter_options(config)->expression == NULL || source_is(config, SOURCE_RECORDS))
		return 0;
	if (source_filter(source, filter_options(config)->expression, &prepared.filters, error)) {
		if (provided == 0 || prepared.filters.reach <= provided)
			return 0;
		snprintf(error, sizeof(error),
			"--filter: it reads %s%u bytes of a packet, but --%s provides %u: "
			"use a simpler filter, or --port",
			prepared.filters.reach == FILTER_REACH_MAX ? "up to " : "",
			prepared.filters.reach, source_option(config), provided);
	}
	log_error("%s", error);
	return EXIT_MACHINE;
}

static int read_prefixes(const struct config *config)
{
	char error[PREFIX_ERROR_MAX];
	bool mistake;

	if (prefix_options(config)->file == NULL)
		return 0;
	prepared.prefixes = prefix_rules_read(prefix_options(config)->file, &mistake, error);
	if (prepared.prefixes != NULL)
		return 0;
	log_error("%s", error);
	return mistake ? EXIT_TEXT : EXIT_MACHINE;
}

int prepare_machine(const struct config *config, struct machine *machine)
{
	char error[MACHINE_ERROR_MAX];

	if (machine_read(machine, config, prepared.port_names, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

int prepare_plan(const struct config *config, struct machine *machine, struct plan *plan)
{
	const struct source_traits *source = source_of(config);
	char error[PLAN_TEXT_MAX];
	int status = prepare_machine(config, machine);
	size_t of_source = 0;

	VERIFY(source->plan != NULL, ==, source->ops != NULL);
	if (source->plan != NULL)
		source->plan(config, &machine->ports.source);
	/* Small mbufs suffice if the filter reads only bytes that fit in them. */
	else if (!port_given(config) && prepared.filters.reach <= PLAN_PORT_MBUF_BYTES)
		machine->ports.mbuf_room = prepared.filters.reach;
	if (status == 0)
		status = read_prefixes(config);
	if (prepared.prefixes != NULL && source->ops != NULL && source->ops->rules_bytes != NULL)
		of_source = source->ops->rules_bytes(prepared.prefixes);
	/* A reload needs memory for two prefix tables; the new one may be 1.5 times as large. */
	if (prepared.prefixes != NULL)
		machine->ports.rules = (struct plan_rules){
			.table_bytes = prefix_filter_bytes(prepared.prefixes) / 2 * 5,
			.ordinary_bytes =
				(prefix_ordinary_bytes(prepared.prefixes) + of_source) / 2 * 5,
			.worker_bytes = prefix_worker_bytes(prepared.prefixes) / 2 * 5,
		};
	machine->ports.policy = shed_controller_memory(config);
	if (status != 0 || plan_make(plan, config, &machine->topology, &machine->ports, error))
		return status;
	log_error("%s", error);
	return plan->machine ? EXIT_MACHINE : EXIT_TEXT;
}

static int check_profile(const struct config *config)
{
	const char *file = profile_options(config)->file;
	char error[PROFILE_ERROR_MAX];
	struct profile_host host;

	host_facts_current(&host);
	if (profile_is_of(&prepared.profile, &host, file, error))
		return 0;
	if (!profile_options(config)->foreign) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	log_warning("%s", error);
	return 0;
}

int prepare_profile(const struct config *config)
{
	const char *file = profile_options(config)->file;
	char error[PROFILE_ERROR_MAX];
	bool right;
	FILE *in;

	if (file == NULL)
		return 0;
	in = regular_file_open(file);
	if (in == NULL) {
		log_error("--profile %s: %s%s", file,
			errno != 0 ? "cannot open: " : "not a regular file",
			errno != 0 ? strerror(errno) : "");
		return EXIT_MACHINE;
	}
	right = profile_read(&prepared.profile, in, file, error);
	fclose(in);
	if (right)
		return check_profile(config);
	log_error("%s", error);
	return EXIT_MACHINE;
}

static uint64_t read_clock(void)
{
	return rte_rdtsc_precise();
}

/* Only sketchtap-bench measures the costs of receive, parse and free. */
static void warn_incomplete(const struct config *config, const struct capacity_worker *worker)
{
	const struct capacity_state full = capacity_full();
	char text[PROFILE_WHAT_MAX];
	struct profile_what missing;
	double ns;

	if (capacity_ns(&prepared.profile, worker, &full, PROFILE_CACHED, &ns, &missing))
		return;
	profile_describe(&missing, text);
	log_warning("--profile %s: no cost of %s, so the cost of a packet is unknown; "
		    "create one with sketchtap-bench profile",
		profile_options(config)->file, text);
}

void prepare_costs(const struct config *config, const struct plan *plan)
{
	const struct capacity_worker worker = plan_worker(plan);
	bool late = false;
	struct calibration calibration = {
		.clock = read_clock,
		.ns = 1e9 / (double)rte_get_tsc_hz(),
		.cache_bytes = calibrate_cache_bytes(),
		.seed = seed_options(config)->seed,
		.allocator = node_memory_on_node(PLAN_NODE_ANY),
		.samples = CALIBRATION_SAMPLES,
		.flows_max = CALIBRATION_FLOWS,
		.until = read_clock() + rte_get_tsc_hz() / 1000 * CALIBRATION_MS,
		.late = &late,
	};
	const char *file = profile_options(config)->file;
	char text[PROFILE_WHAT_MAX];
	struct profile_what missing;
	uint32_t n = prepared.profile.n;

	if (calibrate_worker(&calibration, &worker, &prepared.profile, &missing)) {
		log_info("packet costs: %u values known, %u of them measured now",
			prepared.profile.n, prepared.profile.n - n);
		if (file != NULL)
			warn_incomplete(config, &worker);
	} else {
		profile_describe(&missing, text);
		/* Without --profile, the run also measures costs of its packets. */
		log_line(file != NULL ? RTE_LOG_WARNING : RTE_LOG_INFO, "%s%s: no cost of %s: %s",
			file != NULL ? "--profile " : "--overload", file != NULL ? file : "", text,
			late ? "200 ms are too short to measure it" : "out of memory");
	}
	if (file != NULL)
		control_offer_profile(&prepared.profile);
}

int prepare_ports(const struct config *config, const struct plan *plan, struct port *ports)
{
	char error[PORT_ERROR_MAX];

	for (uint32_t p = 0; p < port_options(config)->names.n; p++) {
		uint32_t nb_queues = plan->groups[plan->ports[p].group].nb_queues;

		if (port_probe(
			    &ports[p], &prepared.port_names[p], config, (uint16_t)nb_queues, error))
			continue;
		if (p > 0 && loopback_options(config)->port != NULL)
			loopback_log_error(error);
		else
			log_error("%s", error);
		return EXIT_MACHINE;
	}
	return 0;
}

int prepare_fit_plan(const struct config *config, const struct machine *machine,
	const struct port *ports, struct plan *plan)
{
	static struct plan_device devices[OPTION_LIST_MAX];
	char error[PLAN_TEXT_MAX];

	if (!port_given(config))
		return 0;
	devices_ask(plan, ports, devices);
	if (!plan_fit(plan, config, &machine->topology, devices, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	run_say_warnings(plan);
	return 0;
}

int prepare_port_names(struct config *config)
{
	char error[PORT_DEVICE_MAX];

	/* The plan is for another machine, whose ports cannot be resolved here. */
	if (topology_options(config)->directory != NULL)
		return 0;
	if (!live_ports_resolve(prepared.port_names, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	if (loopback_options(config)->port == NULL ||
		live_ports_resolve_beside(
			prepared.port_names, config, loopback_options(config)->port, error))
		return 0;
	loopback_log_error(error);
	return EXIT_MACHINE;
}

void prepare_undo(void)
{
	prefix_rules_free(prepared.prefixes);
	prepared.prefixes = NULL;
	profile_free(&prepared.profile);
	filter_set_free(&prepared.filters);
}
