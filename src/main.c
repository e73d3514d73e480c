/* SPDX-License-Identifier: BSD-3-Clause */

/* Start in stages, stop in reverse. Every stage that fails says why in one line. */

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "config/config.h"
#include "base/log.h"
#include "base/notify.h"
#include "base/process_limits.h"
#include "base/signals.h"
#include "bench/bench.h"
#include "parallel/devices.h"
#include "host/doctor.h"
#include "parallel/eal.h"
#include "parallel/instance.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "parallel/run.h"
#include "report/control.h"
#include "report/output/progress.h"
#include "report/reporter.h"
#include "report/output/text.h"
#include "report/output/writer.h"
#include "rx/packet/filter_program.h"
#include "rx/port/live_ports.h"
#include "rx/packet/monitor.h"
#include "rx/port/port.h"
#include "parallel/send.h"
#include "rx/capture/source.h"
#include "rx/capture/synthetic.h"

#define EXIT_MACHINE 1    /* it took the machine to find out */
#define EXIT_TEXT    2    /* to be seen from the command line or the configuration alone */
#define STOPPED      (-1) /* asked to end before anything was measured */

static struct notify notify; /* the service manager */

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
	if (*source != NULL)
		return 0;
	if (signals_stop_requested()) /* while it waited for the first packet */
		return STOPPED;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static struct filter_set filters; /* --filter, compiled */

static int check_filter(const struct config *config)
{
	char error[FILTER_ERROR_MAX];

	if (config->filter == NULL || filter_check(config->filter, error))
		return 0;
	log_error("--filter: %s", error);
	return EXIT_TEXT;
}

/* After the source was opened, which says what link types there are. */
static int compile_filter(const struct config *config, struct source *source)
{
	char error[SOURCE_ERROR_MAX];

	if (config->filter == NULL || source_filter(source, config->filter, &filters, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static struct monitor_rules *rules; /* of --monitor; NULL: none, or a run has taken them over */

static int read_rules(const struct config *config)
{
	char error[MONITOR_ERROR_MAX];

	if (config->monitor == NULL)
		return 0;
	rules = monitor_rules_read(config->monitor, error);
	if (rules != NULL)
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static struct port_name port_names[CONFIG_LIST_MAX]; /* of every --port, resolved */

static int read_machine(const struct config *config, struct machine *machine)
{
	char error[MACHINE_ERROR_MAX];
	bool text;

	if (machine_read(machine, config, port_names, &text, error))
		return 0;
	log_error("%s", error);
	return text ? EXIT_TEXT : EXIT_MACHINE;
}

static int make_plan(const struct config *config, struct machine *machine, struct plan *plan)
{
	char error[PLAN_TEXT_MAX];
	int status = read_machine(config, machine);

	/* What a filter looks at is copied too; deep looks take large mbufs. */
	if (config->nb_port == 0 && filters.reach <= PLAN_PORT_MBUF_BYTES)
		machine->ports.mbuf_room = filters.reach;
	if (status == 0)
		status = read_rules(config);
	/* Two tables at once while rules are read again, and those may be half as many again. */
	if (rules != NULL)
		machine->ports.rules = (struct plan_rules){
			.table_bytes = monitor_table_bytes(rules) / 2 * 5,
			.ordinary_bytes = monitor_ordinary_bytes(rules) / 2 * 5,
			.worker_bytes = monitor_worker_bytes(rules) / 2 * 5,
		};
	if (status != 0 || plan_make(plan, config, &machine->topology, &machine->ports, error))
		return status;
	log_error("%s", error);
	return plan->machine ? EXIT_MACHINE : EXIT_TEXT;
}

/* As many receive queues as the plan says; none for a sender. */
static int probe_ports(const struct config *config, const struct plan *plan, struct port *ports)
{
	char error[PORT_ERROR_MAX];

	for (uint32_t p = 0; p < config->nb_port; p++) {
		uint32_t nb_queues = plan->groups[plan->ports[p].group].nb_queues;

		if (!port_probe(&ports[p], &port_names[p], config, (uint16_t)nb_queues, error)) {
			log_error("%s", error);
			return EXIT_MACHINE;
		}
	}
	return 0;
}

/* Says so where more was lost than --max-loss allows. */
static bool lost_too_much(const struct config *config, const struct reporter_result *result)
{
	const struct ledger *sum = &result->sum;
	double rate = ledger_drop_rate(sum);

	if (rate <= config->max_loss)
		return false;
	log_error("lost %s%llu of %llu packets (%.4g %%), more than --max-loss %.4g %%; the worst "
		  "epoch is %llu (%.4g %%)",
		sum->losses_unknown ? "at least " : "", (unsigned long long)ledger_lost(sum),
		(unsigned long long)sum->offered, rate * 100, config->max_loss * 100,
		(unsigned long long)result->worst_epoch, result->worst_rate * 100);
	return true;
}

static void say_warnings(const struct plan *plan)
{
	for (uint32_t i = 0; i < plan->nb_warnings; i++)
		log_warning("%s", plan->warnings[i]);
}

/* The devices are there: brings the plan within what they can. */
static int fit_plan(const struct config *config, const struct machine *machine,
	const struct port *ports, struct plan *plan)
{
	static struct plan_device devices[CONFIG_LIST_MAX];
	char error[PLAN_TEXT_MAX];

	if (config->nb_port == 0)
		return 0;
	devices_ask(plan, ports, devices);
	if (!plan_fit(plan, config, &machine->topology, devices, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	say_warnings(plan);
	return 0;
}

/*
 * The last line of a run. What a sketch shed is lost to its measurement alone: where there are more
 * of them, each says its own.
 */
static void say_account(const struct plan *plan, const struct reporter_result *result)
{
	struct ledger sum = result->sum;
	bool lost = ledger_lost(&sum) > 0 || sum.doubtful > 0 || sum.unaccounted > 0;
	struct text text = {0};

	if (plan->nb_measurements == 1) {
		sum.shed += result->shed[0];
		sum.measured -= result->shed[0];
	}
	ledger_sentence(&text, &sum, result->epochs);
	for (uint32_t m = 0; m < plan->nb_measurements; m++) {
		lost |= result->shed[m] > 0;
		if (plan->nb_measurements > 1 && result->shed[m] > 0)
			text_printf(&text, "; %s: %llu shed", plan->measurements[m].config->name,
				(unsigned long long)result->shed[m]);
	}
	text_char(&text, '\0');
	if (!text.failed)
		say(lost, text.data, NULL);
	text_free(&text);
}

/* What the run as a whole has to say, and its exit status. */
static int conclude(const struct run *run, const struct reporter_result *result, uint64_t lost_rows)
{
	const char *damage = run->feeder != NULL ? feeder_damage(run->feeder) : NULL;
	bool failed = damage != NULL || result->sum.unaccounted > 0 || lost_rows > 0 ||
		      result->out_of_memory || result->port_gone;

	failed |= lost_too_much(run->config, result);
	if (damage != NULL)
		log_error("%s", damage);
	if (result->sum.unaccounted > 0)
		log_error("%llu of %llu packets are unaccounted for: the ledger does not balance",
			(unsigned long long)result->sum.unaccounted,
			(unsigned long long)result->sum.offered);
	if (lost_rows > 0)
		log_error("%llu rows could not be written", (unsigned long long)lost_rows);
	say_account(run->plan, result);
	return failed ? EXIT_MACHINE : 0;
}

/* Who gave the instance a name wants to talk to it. */
static void say_where_control_is(const struct config *config)
{
	const char *path = instance_socket();

	if (path == NULL)
		log_warning("no control socket: the path of the runtime directory is too long");
	else if (access(path, F_OK) != 0) /* --eal turned it off */
		log_info("no control socket");
	else if (config->name != NULL)
		log_notice("control: %s (dpdk-telemetry.py -f %s)", path, instance_prefix());
	else
		log_info("control: %s (dpdk-telemetry.py -f %s)", path, instance_prefix());
}

/* All memory is there and all ports work: opens the outputs, measures, closes them. */
static int measure(const struct config *config, struct run *run, struct reporter *reporter,
	struct progress *progress)
{
	const struct writer_voice voice = {
		.say = say,
		.unread = signals_request_stop,
		.progress = progress,
		.lines_said = isatty(STDERR_FILENO) ? log_lines_written : NULL,
	};
	struct reporter_params params = {.progress = progress, .notify = &notify};
	struct reporter_result result;
	char error[WRITER_ERROR_MAX];
	int status;

	params.writer = writer_open(config, &voice, &params.first_epoch, &status, error);
	if (params.writer == NULL) {
		if (signals_stop_requested())
			return STOPPED;
		log_error("%s", error);
		return status;
	}
	control_start(run->plan);
	say_where_control_is(config);
	result = reporter_run(reporter, &params);
	control_stop();
	return conclude(run, &result, writer_close(params.writer));
}

static int await_links(const struct config *config, const struct port *ports)
{
	char error[PORT_ERROR_MAX];

	if (live_ports_await(ports, config->nb_port, config, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

static int put_together(const struct config *config, const struct plan *plan, struct source *source,
	struct port *ports, struct progress *progress)
{
	char error[RUN_ERROR_MAX];
	struct reporter *reporter;
	struct run *run = run_create(config, plan, source, ports, config->nb_port, error);
	int status = EXIT_MACHINE;

	if (run == NULL) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	if (!run_monitor(run, rules, error)) {
		rules = NULL;
		log_error("%s", error);
		run_destroy(run);
		return EXIT_MACHINE;
	}
	rules = NULL;
	reporter = run_filter(run, &filters) ? reporter_create(run) : NULL;
	if (reporter == NULL) {
		log_error("no memory to merge the sketches: lower --width or --memory");
	} else {
		status = await_links(config, ports);
		if (status == 0)
			status = signals_stop_requested()
					 ? STOPPED
					 : measure(config, run, reporter, progress);
		reporter_destroy(reporter);
	}
	run_destroy(run);
	return status;
}

static int command_run(const struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	static struct progress progress;
	static struct port ports[CONFIG_LIST_MAX];
	char error[EAL_ERROR_MAX];
	struct source *source;
	int status = open_source(config, &source);

	if (status == 0)
		status = compile_filter(config, source);
	if (status == 0)
		status = make_plan(config, &machine, &plan);
	if (status == 0)
		say_warnings(&plan);
	if (status == 0 && signals_stop_requested())
		status = STOPPED;
	if (status == 0) {
		control_offer();
		if (eal_start(&plan, config, error)) {
			progress_init(&progress, STDERR_FILENO, !config->no_progress);
			status = probe_ports(config, &plan, ports);
			if (status == 0)
				status = fit_plan(config, &machine, ports, &plan);
			if (status == 0)
				status = put_together(config, &plan, source, ports, &progress);
			eal_stop();
		} else {
			log_error("%s", error);
			status = EXIT_MACHINE;
		}
	}
	filter_set_free(&filters);
	if (source != NULL)
		source->close(source);
	if (status != STOPPED)
		return status;
	say_account(&plan, &(struct reporter_result){0});
	return 0;
}

static int command_plan(const struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	int status = make_plan(config, &machine, &plan);

	if (status != 0)
		return status;
	if (config->dot)
		plan_print_dot(&plan, &machine.topology, stdout);
	else
		plan_print(&plan, stdout);
	return 0;
}

static int command_doctor(const struct config *config)
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
	struct port port;
	char error[EAL_ERROR_MAX];
	int status = read_machine(config, &machine);

	if (status != 0)
		return status;
	if (!plan_make_sender(&plan, config, &machine.topology, &machine.ports, error) ||
		!eal_start(&plan, config, error)) {
		log_error("%s", error);
		return EXIT_MACHINE;
	}
	status = probe_ports(config, &plan, &port);
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
		return status == STOPPED ? 0 : status;
	status = config->nb_port > 0 ? generate_to_port(config, source)
				     : send_to_file(config, source);
	source->close(source);
	return status;
}

static int resolve_ports(struct config *config)
{
	char error[PORT_DEVICE_MAX];

	/* The ports of a machine that is described are words. */
	if (config->topology != NULL || live_ports_resolve(port_names, config, error))
		return 0;
	log_error("%s", error);
	return EXIT_MACHINE;
}

/*
 * Descriptors 0 to 2 that the caller closed would be given to the first files opened, and what is
 * meant for standard error would land in an output. Each is filled with what fails as a closed one.
 */
static void fill_standard_files(void)
{
	for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
		if (fd > STDERR_FILENO) {
			close(fd);
			return;
		}
		if (fd == STDOUT_FILENO) {
			int read_only = open("/dev/null", O_RDONLY);

			dup2(read_only, fd);
			close(read_only);
		}
	}
}

static int run_command(const struct config *config, int argc, char **argv)
{
	switch (config->command) {
	case COMMAND_RUN: return command_run(config);
	case COMMAND_PLAN: return command_plan(config);
	case COMMAND_DOCTOR: return command_doctor(config);
	case COMMAND_GENERATE: return command_generate(config);
	case COMMAND_BENCH_KERNELS: return bench_kernels(config, argc, argv);
	case COMMAND_BENCH_WORKER: return bench_worker(config, argc, argv);
	case COMMAND_BENCH_TARGETS: return bench_targets(config, argc, argv);
	case COMMAND_BENCH_PIPELINE: return bench_pipeline(config, port_names, argc, argv);
	case COMMAND_BENCH_FLOW_TABLE: return bench_flow_table(config, argc, argv);
	case COMMAND_BENCH_TUNE: return bench_tune(config, argc, argv);
	}
	return EXIT_TEXT;
}

int main(int argc, char **argv)
{
	static struct config config;
	char error[PROCESS_LIMITS_ERROR_MAX];
	const char *deaf;
	int status;

	fill_standard_files();

	switch (config_load(&config, argc, argv, stdout, stderr)) {
	case CONFIG_OK: break;
	case CONFIG_EXIT_0: return 0;
	case CONFIG_EXIT_1: return EXIT_MACHINE;
	case CONFIG_EXIT_2: return EXIT_TEXT;
	}
	log_init(config.log_level, config.verbose);
	if (!process_limits_check(error)) {
		log_error("%s", error);
		config_free(&config);
		return EXIT_MACHINE;
	}
	deaf = notify_open(&notify);
	if (deaf != NULL)
		log_warning("%s: the service manager is told nothing", deaf);
	signals_install();
	status = check_filter(&config);
	if (status == 0)
		status = resolve_ports(&config);
	if (status == 0)
		status = run_command(&config, argc, argv);
	monitor_rules_free(rules);
	notify_close(&notify);
	config_free(&config);
	return status;
}
