/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Commands run in stages and stop in reverse order. A stage that fails logs the reason in one line.
 */

#include "commands/commands.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_version.h>

#include "adapt/calibrate.h"
#include "config/config.h"
#include "config/options.h"
#include "base/log.h"
#include "base/regular_file.h"
#include "base/notify.h"
#include "base/signals.h"
#include "cli/ctl.h"
#include "collect/options.h"
#include "collect/record_filter.h"
#include "parallel/sources/collector_source.h"
#include "parallel/run/devices.h"
#include "parallel/epoch.h"
#include "parallel/sources/feeder.h"
#include "parallel/shed/shed_options.h"
#include "parallel/sources/kernel_plan.h"
#include "parallel/run/plan_capacity.h"
#include "parallel/workers/node_memory.h"
#include "doctor/doctor.h"
#include "cli/follow.h"
#include "cli/plot.h"
#include "cli/top.h"
#include "parallel/run/eal.h"
#include "parallel/process.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "parallel/run/run.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/drill_down.h"
#include "control/control.h"
#include "control/follow.h"
#include "control/shed_controller.h"
#include "report/metrics/metrics.h"
#include "report/rows/recent.h"
#include "report/formats/progress.h"
#include "control/reporter.h"
#include "base/text.h"
#include "report/sinks/writer.h"
#include "rx/filter/filter_program.h"
#include "rx/port/live_ports.h"
#include "rx/filter/prefix_filter.h"
#include "rx/port/port.h"
#include "tester/loopback_test.h"
#include "tester/tester.h"
#include "tester/export_source.h"
#include "rx/generate/synthetic.h"
#include "tune/tune.h"
#include "report/ledger/ledger.h"
#include "sketch/iblt/iblt.h"
#include "sketch/measurement.h"
#include "adapt/host_facts.h"
#include "tune/measure/figures.h"

#define STOPPED (-1) /* stop requested before the measurement began */

/* Limits of calibration for entries that the profile lacks. */
#define CALIBRATION_MS      200 /* also in a warning */
#define CALIBRATION_SAMPLES 2000
#define CALIBRATION_FLOWS   (UINT64_C(1) << 18)

static const struct notify *notify; /* the service manager */

static void log_text(bool warning, const char *line, void *arg)
{
	(void)arg;
	if (warning)
		log_warning("%s", line);
	else
		log_notice("%s", line);
}

/* Opens the source of packets; NULL without an error on live ports. */
static int open_source(const struct config *config, struct source **source)
{
	char error[SOURCE_ERROR_MAX];
	int status = sources_open(config, source, error);

	/* Stopped while it waited for the first packet. */
	if (status == EXIT_MACHINE && signals_stop_requested())
		return STOPPED;
	if (status != 0)
		log_error("%s", error);
	return status;
}

static struct filter_set filters; /* --filter, compiled */

/* A filter of flow records has one program, for the frames made from them. */
static bool compile_record_filter(const char *expression, char error[FILTER_ERROR_MAX])
{
	return filter_set_add_ethernet(&filters, expression, error) >= 0 &&
	       record_filter_check(&filters.programs[0], expression, error, FILTER_ERROR_MAX);
}

static int check_filter(const struct config *config)
{
	const char *expression = filter_options(config)->expression;
	char error[FILTER_ERROR_MAX];

	if (expression == NULL ||
		(filter_check(expression, error) &&
			(!collect_asked(config) || compile_record_filter(expression, error))))
		return 0;
	log_error("--filter: %s", error);
	return EXIT_TEXT;
}

/* Compiles the filter after the source was opened, which determines the link types. */
static int compile_filter(const struct config *config, struct source *source)
{
	char error[SOURCE_ERROR_MAX];

	if (filter_options(config)->expression == NULL || collect_asked(config))
		return 0;
	if (source_filter(source, filter_options(config)->expression, &filters, error)) {
		if (!kernel_given(config) || filters.reach <= KERNEL_HEADERS_MAX)
			return 0;
		snprintf(error, sizeof(error),
			"--filter: it reads %s%u bytes of a packet, but --kernel provides %d: "
			"use a simpler filter, or --port",
			filters.reach == FILTER_REACH_MAX ? "up to " : "", filters.reach,
			KERNEL_HEADERS_MAX);
	}
	log_error("%s", error);
	return EXIT_MACHINE;
}

static struct prefix_list *rules; /* rules of --prefixes; NULL: none, or owned by the run */

static int read_rules(const struct config *config)
{
	char error[PREFIX_ERROR_MAX];
	bool mistake;

	if (prefix_options(config)->file == NULL)
		return 0;
	rules = prefix_rules_read(prefix_options(config)->file, &mistake, error);
	if (rules != NULL)
		return 0;
	log_error("%s", error);
	return mistake ? EXIT_TEXT : EXIT_MACHINE;
}

static struct port_name port_names[OPTION_LIST_MAX]; /* resolved name of each --port */

static int read_machine(const struct config *config, struct machine *machine)
{
	char error[MACHINE_ERROR_MAX];

	if (machine_read(machine, config, port_names, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static int make_plan(const struct config *config, struct machine *machine, struct plan *plan)
{
	char error[PLAN_TEXT_MAX];
	int status = read_machine(config, machine);
	size_t in_kernel;

	if (collect_asked(config)) {
		machine->ports.collect = collector_source_plan(config);
		/* Nearly all datagrams fit in one mbuf. */
		machine->ports.mbuf_room = PLAN_PORT_MBUF_BYTES;
	} else if (kernel_given(config))
		machine->ports.kernel = kernel_plan_make(config);
	/* The bytes that a filter reads are also copied. If it reads more, large mbufs are used. */
	else if (!port_given(config) && filters.reach <= PLAN_PORT_MBUF_BYTES)
		machine->ports.mbuf_room = filters.reach;
	if (status == 0)
		status = read_rules(config);
	in_kernel = rules != NULL && kernel_given(config) ? kernel_prefix_maps_bytes(rules) : 0;
	/* During a reload there are two tables, and the new one may be half as large again. */
	if (rules != NULL)
		machine->ports.rules = (struct plan_rules){
			.table_bytes = prefix_filter_bytes(rules) / 2 * 5,
			.ordinary_bytes = (prefix_ordinary_bytes(rules) + in_kernel) / 2 * 5,
			.worker_bytes = prefix_worker_bytes(rules) / 2 * 5,
		};
	machine->ports.policy = shed_controller_memory(config);
	if (status != 0 || plan_make(plan, config, &machine->topology, &machine->ports, error))
		return status;
	log_error("%s", error);
	return plan->machine ? EXIT_MACHINE : EXIT_TEXT;
}

static struct profile profile; /* profile of --profile */

/* Returns 0, or an exit status with one line logged. */
static int check_profile(const struct config *config)
{
	const char *file = profile_options(config)->file;
	char error[PROFILE_ERROR_MAX];
	struct profile_host host;

	host_facts_current(&host);
	if (profile_is_of(&profile, &host, file, error))
		return 0;
	if (!profile_options(config)->foreign) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	log_warning("%s", error);
	return 0;
}

static int read_profile(const struct config *config)
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
	right = profile_read(&profile, in, file, error);
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

/* Warns if the profile lacks receiving, parsing or freeing, which only sketchtap-bench measures. */
static void check_whole(const struct config *config, const struct capacity_worker *worker)
{
	const struct capacity_state full = capacity_full();
	char text[PROFILE_WHAT_MAX];
	struct profile_what missing;
	double ns;

	if (capacity_ns(&profile, worker, &full, PROFILE_CACHED, &ns, &missing))
		return;
	profile_describe(&missing, text);
	log_warning("--profile %s: has no figure of %s, so the cost of a packet is unknown; "
		    "create one with sketchtap-bench profile",
		profile_options(config)->file, text);
}

/* Measures entries that the profile lacks before the run begins, within a time limit. */
static void complete_profile(const struct config *config, const struct plan *plan)
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
	uint32_t n = profile.n;

	if (calibrate_worker(&calibration, &worker, &profile, &missing)) {
		log_info("cost of packets: %u figures, %u of them measured now", profile.n,
			profile.n - n);
		if (file != NULL)
			check_whole(config, &worker);
	} else {
		profile_describe(&missing, text);
		/* Without a file, the run learns costs from its packets. */
		log_line(file != NULL ? RTE_LOG_WARNING : RTE_LOG_INFO,
			"%s%s: has no figure of %s, and %s",
			file != NULL ? "--profile " : "--overload", file != NULL ? file : "", text,
			late ? "200 ms are too short to measure it" : "out of memory");
	}
	if (file != NULL)
		control_offer_profile(&profile);
}

/* Probes the ports with the receive queues of the plan; none for a sender. */
static int probe_ports(const struct config *config, const struct plan *plan, struct port *ports)
{
	char error[PORT_ERROR_MAX];

	for (uint32_t p = 0; p < port_options(config)->names.n; p++) {
		uint32_t nb_queues = plan->groups[plan->ports[p].group].nb_queues;

		if (port_probe(&ports[p], &port_names[p], config, (uint16_t)nb_queues, error))
			continue;
		if (p > 0 && loopback_options(config)->port != NULL)
			loopback_log_error(error);
		else
			log_error("%s", error);
		return EXIT_MACHINE;
	}
	return 0;
}

/* Returns true and logs an error if losses exceed --max-loss. */
static bool lost_too_much(const struct config *config, const struct reporter_result *result)
{
	const struct ledger *sum = &result->sum;
	double rate = ledger_drop_rate(sum);

	if (rate <= ledger_options(config)->max_loss)
		return false;
	log_error("lost %s%llu of %llu packets (%.4g %%), more than --max-loss %.4g %%; the worst "
		  "interval is %llu (%.4g %%)",
		sum->losses_unknown ? "at least " : "", (unsigned long long)ledger_lost(sum),
		(unsigned long long)sum->offered, rate * 100,
		ledger_options(config)->max_loss * 100, (unsigned long long)result->worst_epoch,
		result->worst_rate * 100);
	return true;
}

/* Returns true and logs an error if unprocessed packets exceed max-skip. */
static bool skipped_too_much(const struct config *config, const struct ledger *sum)
{
	double share = sum->offered > 0 ? (double)sum->skipped / (double)sum->offered : 0;

	if (share <= ledger_options(config)->max_skip)
		return false;
	log_error("did not process %llu of %llu packets (%.4g %%), more than max-skip %.4g %%",
		(unsigned long long)sum->skipped, (unsigned long long)sum->offered, share * 100,
		ledger_options(config)->max_skip * 100);
	return true;
}

/* Adapts the plan to the limits of the probed devices. */
static int fit_plan(const struct config *config, const struct machine *machine,
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

/*
 * Logs the last line of a run. Packets shed by a sketch are lost only to its measurement. If there
 * are several measurements, lists these losses by name.
 */
static void log_ledger(const struct reporter_result *result)
{
	struct ledger sum = result->sum;
	bool lost = ledger_lost(&sum) > 0 || sum.doubtful > 0 || sum.unaccounted > 0;
	struct text text = {0};

	for (uint32_t i = 0; !result->several && i < result->nb_shed; i++) {
		sum.shed += result->shed[i].packets;
		sum.measured -= result->shed[i].packets;
	}
	ledger_sentence(&text, &sum, result->epochs);
	for (uint32_t i = 0; i < result->nb_shed; i++) {
		lost = true;
		if (result->several)
			text_printf(&text, "; %s: %llu shed", result->shed[i].name,
				(unsigned long long)result->shed[i].packets);
	}
	if (result->generated && sum.received > 0 && result->wall > 0)
		text_printf(&text,
			"; processed %.3f Mpps in %.3f s, %.3f s of CPU (generated timestamps)",
			(double)sum.received / (double)result->wall * 1e3,
			(double)result->wall / 1e9, (double)result->cpu / 1e9);
	text_char(&text, '\0');
	if (!text.failed)
		log_text(lost, text.data, NULL);
	text_free(&text);
}

/*
 * Logs the line before that for a run that forwards. Returns true if the counters of the devices
 * agree.
 */
static bool log_forwarded(const struct forwarded_sum *sum)
{
	struct text text = {0};

	if (sum->unaccounted > 0)
		log_error("%llu packets are unaccounted for: devices accepted them, but count "
			  "fewer or more as sent",
			(unsigned long long)sum->unaccounted);
	forwarded_sentence(&text, sum);
	text_char(&text, '\0');
	if (!text.failed)
		log_text(forwarded_unsent(&sum->of_all) > 0, text.data, NULL);
	text_free(&text);
	return sum->unaccounted == 0;
}

/* Logs the results of the run and returns the exit status. */
static int conclude(const struct run *run, const struct reporter_result *result, uint64_t lost_rows)
{
	const char *damage = run->feeder != NULL ? feeder_damage(run->feeder) : NULL;
	char warning[SOURCE_ERROR_MAX];
	bool failed = damage != NULL || result->sum.unaccounted > 0 || lost_rows > 0 ||
		      result->out_of_memory || result->port_gone;

	if (run->collect != NULL)
		failed |= !collector_source_finish(run->collect);
	failed |= lost_too_much(run->config, result);
	if (shed_policy_given(run->config))
		failed |= skipped_too_much(run->config, &result->sum);
	for (unsigned int i = 0; run->feeder != NULL && feeder_warning(run->feeder, i, warning);
		i++)
		log_warning("%s", warning);
	if (damage != NULL)
		log_error("%s", damage);
	if (result->sum.unaccounted > 0)
		log_error("%llu of %llu packets are unaccounted for: the ledger does not balance",
			(unsigned long long)result->sum.unaccounted,
			(unsigned long long)result->sum.offered);
	if (lost_rows > 0)
		log_error("%llu rows could not be written", (unsigned long long)lost_rows);
	if (run->collect != NULL && result->sum.received == 0)
		log_warning("no flow records counted; --exporters FILE shows "
			    "why");
	if (result->forwards)
		failed |= !log_forwarded(&result->forwarded);
	log_ledger(result);
	return failed ? EXIT_MACHINE : 0;
}

/* Logs the control socket, more visibly if the instance was named. */
static void log_control_address(const struct config *config)
{
	const char *path = process_socket(), *name = process_options(config)->name;

	if (path == NULL)
		log_warning("no control socket: the path of the runtime directory is too long");
	else if (access(path, F_OK) != 0) /* turned off by --eal */
		log_info("no control socket");
	else if (name != NULL)
		log_notice("control: %s (sketchtap ctl --name %s)", path, name);
	else
		log_info("control: %s (sketchtap ctl)", path);
}

static int measure(const struct config *config, struct run *run, struct reporter *reporter,
	struct reporter_params *params)
{
	const struct sink_log sink_log = {
		.log = log_text,
		.unread = signals_request_stop,
		.progress = params->progress,
		.lines_said = isatty(STDERR_FILENO) ? log_lines_written : NULL,
	};
	struct reporter_result result;
	char error[WRITER_ERROR_MAX];
	int status;

	params->writer = writer_open(config, &sink_log, &params->first_epoch, &status, error);
	if (params->writer == NULL) {
		if (signals_stop_requested())
			return STOPPED;
		log_error("%s", error);
		return status;
	}
	log_control_address(config);
	run_log_overload(run);
	result = reporter_run(reporter, params);
	status = conclude(run, &result, writer_close(params->writer));
	follow_stop();
	return status;
}

/* Called after all memory is allocated and all ports work. Listens before any output is changed. */
static int measure_and_serve(const struct config *config, const struct listen_address *address,
	struct run *run, struct reporter *reporter, struct reporter_params *params)
{
	char error[HTTP_ERROR_MAX] = "--metrics: out of memory";
	int status = EXIT_MACHINE;
	struct http *http = NULL;

	params->metrics =
		metrics_create(metrics_options(config)->top, rte_version(), params->recent);
	if (params->metrics != NULL)
		http = http_open(address, metrics_pages, params->metrics, error);
	if (http != NULL && http_start(http, error))
		status = measure(config, run, reporter, params);
	else
		log_error("%s", error);
	http_close(http);
	metrics_destroy(params->metrics);
	return status;
}

static int measure_and_answer(const struct config *config, struct run *run,
	struct reporter *reporter, struct progress *progress)
{
	struct reporter_params params = {
		.progress = progress, .notify = notify, .recent = recent_create()};
	struct listen_address address;
	int status = EXIT_MACHINE;

	if (params.recent == NULL)
		log_error("out of memory for the last intervals");
	else if (metrics_address(config, &address))
		status = measure_and_serve(config, &address, run, reporter, &params);
	else
		status = measure(config, run, reporter, &params);
	recent_destroy(params.recent);
	return status;
}

static int await_links(const struct config *config, const struct port *ports)
{
	char error[PORT_ERROR_MAX];

	if (live_ports_await(ports, port_options(config)->names.n, config, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static int put_together(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, struct progress *progress)
{
	char error[RUN_ERROR_MAX];
	struct reporter *reporter;
	struct run *run =
		run_create(config, plan, source, ports, port_options(config)->names.n, error);
	int status = EXIT_MACHINE;
	bool monitors, mistake;

	if (run == NULL) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	if (!run_decide(run, &mistake, error)) {
		log_error("%s", error);
		run_destroy(run);
		return signals_stop_requested() ? STOPPED : mistake ? EXIT_TEXT : EXIT_MACHINE;
	}
	monitors = run_monitor(run, rules, error);
	rules = NULL; /* owned by the run now */
	if (!monitors) {
		log_error("%s", error);
		run_destroy(run);
		return EXIT_MACHINE;
	}
	reporter = run_filter(run, &filters) ? reporter_create(run, &profile) : NULL;
	if (reporter == NULL) {
		log_error("out of memory for the merged sketches; lower --width or --memory");
	} else {
		status = await_links(config, ports);
		if (status == 0)
			status = signals_stop_requested()
					 ? STOPPED
					 : measure_and_answer(config, run, reporter, progress);
		reporter_destroy(reporter);
	}
	run_destroy(run);
	return status;
}

static int command_run(struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	static struct progress progress;
	static struct port ports[OPTION_LIST_MAX];
	char error[EAL_ERROR_MAX];
	struct source *source;
	int status = open_source(config, &source);

	if (status == 0)
		status = compile_filter(config, source);
	if (status == 0)
		status = read_profile(config);
	if (status == 0)
		status = make_plan(config, &machine, &plan);
	if (status == 0)
		run_say_warnings(&plan);
	if (status != EXIT_TEXT && signals_stop_requested())
		status = STOPPED;
	if (status == 0) {
		control_offer();
		if (eal_start(&plan, config, error)) {
			progress_init(&progress, STDERR_FILENO, !progress_options(config)->none);
			status = probe_ports(config, &plan, ports);
			if (status == 0)
				status = fit_plan(config, &machine, ports, &plan);
			if (status == 0 && (profile_options(config)->file != NULL ||
						   shed_policy_needs_controller(config)))
				complete_profile(config, &plan);
			if (status == 0)
				status = put_together(config, &plan, source, ports, &progress);
			eal_stop();
		} else {
			log_error("%s", error);
			status = EXIT_MACHINE;
		}
	}
	profile_free(&profile);
	filter_set_free(&filters);
	if (source != NULL)
		source->close(source);
	if (status != STOPPED)
		return status;
	log_ledger(&(struct reporter_result){0});
	return 0;
}

static int command_plan(struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	int status = read_profile(config);

	if (status == 0)
		status = make_plan(config, &machine, &plan);
	if (status == 0)
		plan_print(&plan, stdout);
	if (status == 0 && profile_options(config)->file != NULL)
		plan_print_capacity(&plan, config, &profile, profile_options(config)->file, stdout);
	profile_free(&profile);
	return status;
}

static int command_doctor(struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	int status = make_plan(config, &machine, &plan);

	return status == 0 ? doctor(config, &machine.topology, &plan, port_names, stdout) : status;
}

static int generate_to_port(const struct config *config, struct source *source)
{
	static struct machine machine;
	static struct plan plan;
	static struct port ports[2]; /* sending port, receiving port */
	bool receives = loopback_options(config)->port != NULL;
	uint32_t nb_ports = port_options(config)->names.n;
	char error[EAL_ERROR_MAX];
	int status = read_machine(config, &machine);

	if (status != 0)
		return status;
	if (!plan_make_sender(&plan, config, &machine.topology, &machine.ports, receives, error) ||
		!eal_start(&plan, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = probe_ports(config, &plan, ports);
	if (status == 0)
		status = receives ? loopback_measure(config, &plan, source, ports, nb_ports)
				  : send_to_port(config, &plan, source, ports);
	eal_stop();
	return status;
}

static int command_generate(struct config *config)
{
	char error[SOURCE_ERROR_MAX];
	struct source *source;
	int status = open_source(config, &source);

	if (status != 0)
		return status == STOPPED ? 0 : status;
	if (!export_source_wrap(config, &source, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = port_given(config) ? generate_to_port(config, source)
				    : send_to_file(config, source);
	source->close(source);
	return status;
}

static int resolve_ports(struct config *config)
{
	char error[PORT_DEVICE_MAX];

	/* Ports of another machine are not resolved. */
	if (topology_options(config)->directory != NULL)
		return 0;
	if (!live_ports_resolve(port_names, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	if (loopback_options(config)->port == NULL ||
		live_ports_resolve_beside(
			port_names, config, loopback_options(config)->port, error))
		return 0;
	loopback_log_error(error);
	return EXIT_MACHINE;
}

/* --- commands --- */

static bool check_pace(const struct config *config, struct option_fault *fault)
{
	if (feeder_options(config)->pace == PACE_UNPACED)
		return true;
	if (collect_listens(config))
		return option_fault(
			fault, "pace", NULL, "contradicts --listen: exporters set the pace");
	return !(port_given(config) || kernel_given(config)) ||
	       option_fault(fault, "pace", NULL, "contradicts --%s: %s sets the pace",
		       port_given(config) ? "port" : "kernel",
		       port_given(config) ? "the link" : "the kernel");
}

/* Profiles describe workers that receive packets. */
static bool check_profiled(const struct config *config, struct option_fault *fault)
{
	return profile_options(config)->file == NULL ||
	       (!kernel_given(config) && !collect_asked(config)) ||
	       option_fault(fault, "profile", NULL,
		       "contradicts --%s: a profile needs workers that receive packets",
		       kernel_given(config) ? "kernel" : "listen");
}

static const struct command run_of_program, collect_of_program;

/* Returns true if the option was given; sets the measurement, NULL for the run. */
static bool is_asked(const struct config *config, const char *option,
	const struct measurement_config **measurement)
{
	*measurement = NULL;
	if (config_asks(config, NULL, option))
		return true;
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		*measurement = &config->measurements[m];
		if (config_asks(config, *measurement, option))
			return true;
	}
	return false;
}

/*
 * plan and doctor accept options of run and of collect. Rejects those that have no effect in a
 * collector.
 */
static bool check_collector_takes(const struct config *config, struct option_fault *fault)
{
	static struct config run, collector;
	const struct measurement_config *measurement;

	if (!collect_listens(config))
		return true;
	config_init(&run, &run_of_program);
	config_init(&collector, &collect_of_program);
	for (uint32_t i = 0; i < run.nb_rows; i++) {
		const char *name = run.rows[i].row->name;

		if (options_find(&collector, name) == NULL && is_asked(config, name, &measurement))
			return option_fault(fault, name, measurement,
				"has no effect with --listen: not an option of collect");
	}
	return true;
}

/* Checks the source and options that depend on it. */
static bool check_source(const struct config *config, struct option_fault *fault)
{
	return sources_check(config, "measure", fault) && check_pace(config, fault) &&
	       check_profiled(config, fault) && check_collector_takes(config, fault);
}

static bool needs_intervals(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if (steps_options(&config->measurements[m])->deadline > 0 ||
			iblt_options(&config->measurements[m])->load > 0)
			return true;
	return drill_down_any(config);
}

/* On a terminal, shows a capture as one interval on one screen. Output to files does not change. */
static void suit_terminal(struct config *config)
{
	if (port_given(config) || kernel_given(config) || collect_listens(config) ||
		!writer_shows_table(config, true))
		return;
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		struct measurement_config *measurement = &config->measurements[m];

		if (writer_to_stdout(config, ROWS_HEAVY_HITTERS) &&
			!config_asks(config, measurement, "top") &&
			!config_asks(config, measurement, "threshold"))
			edit_measurement_options(measurement)->top = 20;
	}
	if (!writer_names_files(config) && !config_asks(config, NULL, "interval") &&
		!needs_intervals(config))
		edit_epoch_options(config)->interval = 0;
}

/* Owners of the options of each command, in the order of help. */
#define OF_HOST    &process_owner, &eal_owner, &machine_owner, &hugepages_owner, &log_owner
#define OF_MACHINE OF_HOST, &pool_owner
#define OF_RUN                                                                                     \
	&sources_owner, &feeder_owner, &measurement_owner, &shed_policy_owner, &steps_owner,       \
		&drill_down_owner, &filter_owner, &prefix_owner, &design_owner, &plan_owner,       \
		&seed_owner, &epoch_owner, &writer_owner, &sink_owner, &ledger_owner,              \
		&control_owner, &progress_owner, &profile_owner, &metrics_owner, OF_MACHINE

const struct option_owner *const commands_owners_of_run[] = {OF_RUN, NULL};
/* A collector has the counts of a run, but no --prefixes rules. */
static const struct option_owner *const of_collect[] = {&collect_owner, &replay_owner,
	&feeder_owner, &measurement_owner, &filter_owner, &plan_owner, &seed_owner, &epoch_owner,
	&collected_writer_owner, &writer_owner, &sink_owner, &ledger_owner, &control_owner,
	&progress_owner, &metrics_owner, OF_MACHINE, NULL};
static const struct option_owner *const of_plan[] = {
	OF_RUN, &collect_owner, &collected_writer_owner, &topology_owner, NULL};
static const struct option_owner *const of_doctor[] = {
	OF_RUN, &collect_owner, &collected_writer_owner, NULL};
static const struct option_owner *const of_generate[] = {&synthetic_owner, &export_source_owner,
	&feeder_owner, &send_owner, &send_port_owner, &loopback_owner, OF_MACHINE, NULL};
static const struct option_owner *const of_tune[] = {
	&replay_owner, &synthetic_owner, &tune_owner, &seed_owner, &figures_owner, OF_HOST, NULL};

static const struct command_letter tcpdump_letters[] = {
	{'n', NULL}, /* names are never resolved */
	{'w', "packets are measured, not kept; tcpdump -w writes a capture, sketchtap generate "
	      "--output FILE a synthetic one"},
	{0, NULL},
};

#define STRAY "give captures with --pcap FILE, filters with --filter 'EXPRESSION'"

static const char *const run_examples[] = {
	"sketchtap capture.pcap --key src/24",
	"sketchtap --port eth1 --key src,dst_port --stats stats.csv",
	"sketchtap --port 0000:3b:00.0 --interval 10s --output json:/var/log/heavy.json",
	NULL,
};

static const struct command run_of_program = {
	.name = "run",
	.usage = "[options] [FILE...]",
	.summary = "measure the traffic of links or captures",
	.owners = commands_owners_of_run,
	.argument = "pcap",
	.stray = STRAY,
	.letters = tcpdump_letters,
	.examples = run_examples,
	.check = check_source,
	.at_terminal = suit_terminal,
	.run = command_run,
};

static const struct command plan_of_program = {
	.name = "plan",
	.usage = "[options]",
	.summary = "show cores, queues and memory of a run; start nothing",
	.about =
		"Prints the lcores of a run with their tasks, NUMA nodes, queues and memory. Starts "
		"nothing.",
	.owners = of_plan,
	.argument = "pcap",
	.stray = STRAY,
	.letters = tcpdump_letters,
	.check = check_source,
	.run = command_plan,
};

static bool check_doctor(const struct config *config, struct option_fault *fault)
{
	if (writer_options(config)->format == FORMAT_JSON)
		return option_fault(
			fault, "format", NULL, "json: not supported by doctor; give csv or table");
	return check_pace(config, fault) && check_collector_takes(config, fault);
}

static const struct command doctor_of_program = {
	.name = "doctor",
	.usage = "[options]",
	.summary = "check whether this host can run a configuration",
	.about =
		"Checks whether this host can run with these options. Each line is ok, warning or "
		"missing, with\nthe value found and a command that fixes it. Changes nothing. Exits "
		"with 0 if nothing is missing.",
	.owners = of_doctor,
	.argument = "pcap",
	.stray = STRAY,
	.letters = tcpdump_letters,
	.check = check_doctor,
	.run = command_doctor,
};

static const struct command generate_of_program = {
	.name = "generate",
	.usage = "--synthetic SPEC (--output FILE | --port NAME [--rx-port NAME]) [options]",
	.summary = "write or send synthetic traffic; test a device",
	.about = "Writes synthetic traffic to a capture file, or sends it on a port.\n"
		 "--export-format: generate flow exports of simulated routers instead.\n"
		 "--rx-port: receive the packets again, and measure loss and latency of a device.",
	.owners = of_generate,
	.run = command_generate,
};

static const struct command tune_of_program = {
	.name = "tune",
	.usage = "[--pcap FILE | --synthetic SPEC] [options] > FILE",
	.summary = "find the fastest configuration of this host",
	.about =
		"Compares designs, sharings, sketches, widths and numbers of workers on this host. "
		"Prints the\nfastest within --memory and --error as a configuration file, with all "
		"results in comments.",
	.owners = of_tune,
	.argument = "pcap",
	.stray = STRAY,
	.letters = tcpdump_letters,
	.run = command_tune,
};

static const char *const collect_examples[] = {
	"sketchtap collect --listen :2055 --listen :6343 --exporters exporters.csv",
	"sketchtap collect --pcap exports.pcap --key src-dst --export paths=paths.csv",
	NULL,
};

static bool check_collector_rows(const struct config *config, struct option_fault *fault)
{
	if (config_asks_of_set(config, SOURCE_SET) == NULL)
		return option_fault(fault, NULL, NULL,
			"nothing to collect: give --listen ADDRESS:PORT or --pcap FILE");
	return check_pace(config, fault);
}

static const struct command collect_of_program = {
	.name = "collect",
	.usage = "(--listen ADDRESS:PORT | --pcap FILE) [options]",
	.summary = "measure a network from NetFlow, IPFIX and sFlow",
	.about =
		"Receives flow exports of routers, switches and hypervisors, and measures the network "
		"from them.\nCounts a packet once if several exporters report it. Figures have error "
		"bounds.",
	.owners = of_collect,
	.argument = "pcap",
	.stray = "give captures of datagrams with --pcap FILE",
	.examples = collect_examples,
	.check = check_collector_rows,
	.at_terminal = suit_terminal,
	.run = command_run,
};

static const struct program_term terms[] = {
	{"sketch", "table of fixed size that counts many keys with a bounded error"},
	{"key", "packet fields that are counted together; by default the 5-tuple"},
	{"heavy hitter", "key with a large share of the packets or bytes"},
	{"interval", "reporting period; each row belongs to one interval (column epoch)"},
	{"ledger", "every packet of an interval by term: measured, left out, or lost for a reason"},
	{"bounds", "lowest and highest possible value of a figure, at a given confidence"},
	{"lcore", "thread of DPDK that polls, usually on a CPU of its own"},
	{"candidate", "key that was heavy recently, and is stored next to the sketch"},
	{NULL, NULL},
};

static const struct program_other others[] = {
	{"ctl", "[--name NAME] COMMAND", "query a running instance, or change its measurements",
		ctl},
	{"follow", "[NAME] [--json]", "print each interval of a running instance when it ends",
		follow},
	{"top", "[NAME | FILE.csv...]", "show a running instance, or its files, on the terminal",
		top},
	{"plot", "FILE.csv... PICTURE.svg [--stats FILE.csv]... [--measurement NAME]",
		"draw a chart from output files", plot},
	{0},
};

const struct program commands = {
	.name = "sketchtap",
	.commands = (const struct command *const[]){&run_of_program, &collect_of_program,
		&plan_of_program, &doctor_of_program, &generate_of_program, &tune_of_program, NULL},
	.hint = "measure a capture with --pcap FILE",
	.terms = terms,
	.others = others,
};

int commands_run(struct config *config, const struct notify *service_manager)
{
	int status;

	notify = service_manager;
	if (!seed_pick(config)) {
		log_error("no random seed from the system; give --seed N");
		return EXIT_MACHINE;
	}
	status = check_filter(config);
	if (status == 0)
		status = resolve_ports(config);
	if (status == 0)
		status = config->command->run(config);
	prefix_rules_free(rules);
	return status;
}
