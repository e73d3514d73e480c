/* SPDX-License-Identifier: BSD-3-Clause */

#include "commands/command.h"

#include <unistd.h>

#include <rte_version.h>

#include "base/log.h"
#include "base/signals.h"
#include "control/follow.h"
#include "rx/port/live_ports.h"

/* The address is a notice only if --name was given. */
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
		.log = conclude_log,
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
			return PREPARE_STOPPED;
		log_error("%s", error);
		return status;
	}
	log_control_address(config);
	run_log_overload(run);
	result = reporter_run(reporter, params);
	status = conclude_run(run, &result, writer_close(params->writer));
	follow_stop();
	return status;
}

/* Listens before any output file is changed. */
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
		.progress = progress, .notify = prepared.notify, .recent = recent_create()};
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
		return signals_stop_requested() ? PREPARE_STOPPED
		       : mistake                ? EXIT_TEXT
						: EXIT_MACHINE;
	}
	monitors = run_monitor(run, prepared.prefixes, error);
	prepared.prefixes = NULL; /* owned by the run now */
	if (!monitors) {
		log_error("%s", error);
		run_destroy(run);
		return EXIT_MACHINE;
	}
	reporter =
		run_filter(run, &prepared.filters) ? reporter_create(run, &prepared.profile) : NULL;
	if (reporter == NULL) {
		log_error("out of memory for the merged sketches; lower --width or --memory");
	} else {
		status = await_links(config, ports);
		if (status == 0)
			status = signals_stop_requested()
					 ? PREPARE_STOPPED
					 : measure_and_answer(config, run, reporter, progress);
		reporter_destroy(reporter);
	}
	run_destroy(run);
	return status;
}

int measure_traffic(struct config *config)
{
	static struct machine machine;
	static struct plan plan;
	static struct progress progress;
	static struct port ports[OPTION_LIST_MAX];
	char error[EAL_ERROR_MAX];
	struct source *source;
	int status = prepare_source(config, &source);

	if (status == 0)
		status = prepare_filter(config, source);
	if (status == 0)
		status = prepare_profile(config);
	if (status == 0)
		status = prepare_plan(config, &machine, &plan);
	if (status == 0)
		run_say_warnings(&plan);
	if (status != EXIT_TEXT && signals_stop_requested())
		status = PREPARE_STOPPED;
	if (status == 0) {
		control_offer();
		if (eal_start(&plan, config, error)) {
			progress_init(&progress, STDERR_FILENO, !progress_options(config)->none);
			status = prepare_ports(config, &plan, ports);
			if (status == 0)
				status = prepare_fit_plan(config, &machine, ports, &plan);
			if (status == 0 && (profile_options(config)->file != NULL ||
						   shed_policy_needs_controller(config)))
				prepare_costs(config, &plan);
			if (status == 0)
				status = put_together(config, &plan, source, ports, &progress);
			eal_stop();
		} else {
			log_error("%s", error);
			status = EXIT_MACHINE;
		}
	}
	if (source != NULL)
		source->close(source);
	if (status != PREPARE_STOPPED)
		return status;
	conclude_log_ledger(&(struct reporter_result){0});
	return 0;
}
