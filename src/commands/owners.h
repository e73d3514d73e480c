/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Owners of the options of several commands, in the order of help. */

#include "adapt/profile.h"
#include "control/control.h"
#include "parallel/epoch.h"
#include "parallel/plan/design.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "parallel/process.h"
#include "parallel/run/eal.h"
#include "parallel/shed/shed_options.h"
#include "parallel/sources/feeder.h"
#include "parallel/sources/sources.h"
#include "parallel/workers/drill_down.h"
#include "report/formats/progress.h"
#include "report/ledger/ledger.h"
#include "report/metrics/metrics.h"
#include "report/sinks/sink_config.h"
#include "rx/filter/filter_program.h"
#include "rx/filter/prefix_file.h"
#include "sketch/measurement.h"

#define OF_HOST    &process_owner, &eal_owner, &machine_owner, &hugepages_owner, &log_owner
#define OF_MACHINE OF_HOST, &pool_owner
#define OF_RUN                                                                                     \
	&sources_owner, &feeder_owner, &measurement_owner, &shed_policy_owner, &steps_owner,       \
		&drill_down_owner, &filter_owner, &prefix_owner, &design_owner, &plan_owner,       \
		&seed_owner, &epoch_owner, &writer_owner, &sink_owner, &ledger_owner,              \
		&control_owner, &progress_owner, &profile_owner, &metrics_owner, OF_MACHINE
