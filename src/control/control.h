/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Serves requests to a running instance on DPDK's telemetry socket, under /sketchtap/. Handlers run
 * in threads of the telemetry library.
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/plan.h"
#include "control/changes.h"
#include "report/rows/report.h"
#include "config/option.h"

enum control_use {
	CONTROL_CHANGE,
	CONTROL_READ,
};

struct control_options {
	enum control_use use;
};

OPTION_OWNER(control)

struct profile;

#define CONTROL_ERROR_MAX 1024

/* Call it once, before EAL opens the socket. */
void control_offer(void);

/* Packet costs of this host. Call it before control_start(). */
void control_offer_profile(const struct profile *profile);

/*
 * Call it before control_start(). The controller must live until control_stop(). NULL is allowed.
 */
struct shed_controller;
void control_set_shed_controller(struct shed_controller *controller);

/*
 * The plan must live until control_stop(), or until control_change() and control_settle() replace
 * it. Requests to change the run are refused if `changes` is NULL or read_only is true.
 * first_epoch: first interval of all measurements. control_stop() waits for running handlers.
 */
void control_start(
	const struct plan *plan, uint64_t first_epoch, struct changes *changes, bool read_only);
void control_stop(void);

/*
 * control_change() publishes another plan, or other first intervals. control_settle() waits until
 * no thread reads an older plan.
 */
void control_change(const struct plan *plan, const struct change_since *since);
void control_settle(void);

/*
 * Publishes the report of an epoch, and the delivery counts up to its end (may be NULL). Handlers
 * take references of their own.
 */
void control_publish(struct report_epoch *epoch, struct report_epoch *deliveries);

/*
 * Returns the number of the last /sketchtap/reload request. The reporter calls it before a reload,
 * and passes the number to control_reload_done() afterwards, for which the handler waits.
 */
uint32_t control_reload_asked(void);

struct control_reloaded {
	uint32_t outputs;
	bool changeable; /* `change` is valid; else the run cannot change measurements */
	struct change_answer change;
	bool has_monitor;
	uint32_t rules;
	/* Empty on success. */
	char outputs_error[CONTROL_ERROR_MAX], rules_error[CONTROL_ERROR_MAX];
};

void control_reload_done(uint32_t asked, const struct control_reloaded *reloaded);
