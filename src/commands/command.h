/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include "adapt/profile.h"
#include "collect/options.h"
#include "control/control.h"
#include "control/reporter.h"
#include "parallel/epoch.h"
#include "parallel/plan/design.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "parallel/process.h"
#include "parallel/run/eal.h"
#include "parallel/run/run.h"
#include "parallel/shed/shed_options.h"
#include "parallel/sources/collector_source.h"
#include "parallel/sources/feeder.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/drill_down.h"
#include "report/formats/progress.h"
#include "report/ledger/ledger.h"
#include "report/metrics/metrics.h"
#include "report/sinks/sink_config.h"
#include "rx/filter/filter_program.h"
#include "rx/filter/prefix_file.h"
#include "rx/filter/prefix_filter.h"
#include "rx/port/port.h"
#include "rx/source.h"
#include "sketch/measurement.h"
#include "sketch/queries.h"

#define EXIT_MACHINE 1 /* failure that depends on the machine */
#define EXIT_TEXT    2 /* error in the command line or the configuration */

extern const struct command command_run, command_collect;

#define OF_HOST    &process_owner, &eal_owner, &machine_owner, &hugepages_owner, &log_owner
#define OF_MACHINE OF_HOST, &pool_owner
#define OF_RUN                                                                                     \
	&sources_owner, &feeder_owner, &measurement_owner, &query_owner, &shed_policy_owner,       \
		&steps_owner, &drill_down_owner, &filter_owner, &prefix_owner, &design_owner,      \
		&plan_owner, &seed_owner, &epoch_owner, &writer_owner, &sink_owner, &ledger_owner, \
		&control_owner, &progress_owner, &profile_owner, &metrics_owner, OF_MACHINE

/* Ends the error about an argument that is not an option. */
#define CHECKS_STRAY "give captures with --pcap FILE, filters with --filter 'EXPRESSION'"

extern const struct command_letter checks_letters[];

/* Each check returns true if the options are valid; otherwise it fills *fault. */
bool checks_pace(const struct config *config, struct option_fault *fault);

/*
 * For plan and doctor, which accept all options of run and collect: rejects options that collect
 * lacks if the source is flow records.
 */
bool checks_collector(const struct config *config, struct option_fault *fault);

/* Also checks the options that depend on the source. */
bool checks_source(const struct config *config, struct option_fault *fault);

/*
 * If the results of a capture are printed on a terminal, the defaults are a single interval and at
 * most 20 rows per measurement.
 */
void checks_at_terminal(struct config *config);

/* Each int function below returns 0, or an exit status after logging an error. */

#define PREPARE_STOPPED (-1) /* a stop was requested before the measurement began */

struct prepared {
	const struct notify *notify;
	struct filter_set filters;
	struct prefix_list *prefixes; /* NULL: none, or owned by the run */
	struct port_name port_names[OPTION_LIST_MAX];
	struct profile profile;
};

extern struct prepared prepared;

/* *source is NULL on live ports. */
int prepare_source(const struct config *config, struct source **source);

int prepare_check_filter(const struct config *config);

/* Call it after prepare_source(), which sets the link types. */
int prepare_filter(const struct config *config, struct source *source);

int prepare_port_names(struct config *config);
int prepare_profile(const struct config *config);
int prepare_machine(const struct config *config, struct machine *machine);
int prepare_plan(const struct config *config, struct machine *machine, struct plan *plan);

/* Measures CPU costs per packet that --profile lacks, in at most 200 ms. */
void prepare_costs(const struct config *config, const struct plan *plan);

/* `plan` has the number of receive queues, 0 for a sender. */
int prepare_ports(const struct config *config, const struct plan *plan, struct port *ports);

int prepare_fit_plan(const struct config *config, const struct machine *machine,
	const struct port *ports, struct plan *plan);

void prepare_undo(void);

int measure_traffic(struct config *config);

void conclude_log(bool warning, const char *line, void *arg);

/* Packets that a sketch shed are lost only to its measurement. */
void conclude_log_ledger(const struct reporter_result *result);

int conclude_run(const struct run *run, const struct reporter_result *result, uint64_t lost_rows);
