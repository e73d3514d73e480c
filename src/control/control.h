/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Serves requests to a running instance on DPDK's telemetry socket, under /sketchtap/.
 *
 * Handlers run in threads of the telemetry library. They read reports that are published here and
 * never change. The lock protects pointers and counts; no reply is built under it. To add a
 * command, add a row to CONTROL_COMMANDS() (control_commands.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/plan.h"
#include "control/changes.h"
#include "report/rows/report.h"
#include "config/option.h"

/* Permissions of clients (--control). */
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

/* Registers the commands. Call once, before EAL opens the socket. */
void control_offer(void);

/* Sets the packet costs of this host, which never change. Call before control_start(). */
void control_offer_profile(const struct profile *profile);

/*
 * Sets the controller of --overload; NULL: none. Call before control_start(). The controller must
 * live until control_stop().
 */
struct shed_controller;
void control_set_shed_controller(struct shed_controller *controller);

/*
 * Starts serving requests. first_epoch: first interval of all measurements. The plan must live
 * until control_stop(), or until control_change() and control_settle() replace it. Commands that
 * change the run are refused if `changes` is NULL or read_only is set. control_stop() waits for
 * running handlers.
 */
void control_start(
	const struct plan *plan, uint64_t first_epoch, struct changes *changes, bool read_only);
void control_stop(void);

/*
 * control_change() publishes another plan, or other first intervals of its measurements.
 * control_settle() waits until no thread reads an older plan.
 */
void control_change(const struct plan *plan, const struct change_since *since);
void control_settle(void);

/*
 * Publishes the report of an epoch, and the delivery counts up to its end; NULL: disabled. Handlers
 * take references; the caller keeps its own.
 */
void control_publish(struct report_epoch *epoch, struct report_epoch *deliveries);

/*
 * Returns the number of the last /sketchtap/reload request. Such a request acts as SIGHUP, and its
 * handler waits for the result. The reporter calls this before a reload, and passes the number to
 * control_reload_done() afterwards.
 */
uint32_t control_reload_asked(void);

struct control_reloaded {
	uint32_t outputs; /* reopened files */
	bool changeable;  /* `change` is valid; otherwise, the run cannot change measurements */
	struct change_answer change;
	bool has_monitor; /* --prefixes is set */
	uint32_t rules;   /* number of --prefixes now in effect */
	/* Reasons for failure; empty: success. */
	char outputs_error[CONTROL_ERROR_MAX], rules_error[CONTROL_ERROR_MAX];
};

void control_reload_done(uint32_t asked, const struct control_reloaded *reloaded);
