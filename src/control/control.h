/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Serves requests to a running measurement on DPDK's telemetry socket, under /sketchtap/. Handlers
 * run in threads of the telemetry library and read only reports published here, which are
 * immutable. The lock is held to exchange pointers and counts, never while a reply is built. Add a
 * command as a row of CONTROL_COMMANDS() (control_commands.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "parallel/plan/plan.h"
#include "control/changes.h"
#include "report/rows/report.h"
#include "config/option.h"

/* Use of the control socket. */
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

/* Sets the profile of this host before control_start(). It is immutable. */
void control_offer_profile(const struct profile *profile);

/*
 * Sets the controller of --overload; NULL: none. Call before control_start(); it must live until
 * control_stop().
 */
struct shed_controller;
void control_set_shed_controller(struct shed_controller *controller);

/*
 * Starts serving requests, until control_stop(). first_epoch: first epoch of the plan's
 * measurements. The plan must live until then, or until it is replaced. control_stop() waits for
 * running handlers. With `changes` NULL or read_only, commands that change something are refused.
 */
void control_start(
	const struct plan *plan, uint64_t first_epoch, struct changes *changes, bool read_only);
void control_stop(void);

/*
 * Publishes another plan, or other first epochs of its measurements. control_settle() waits until
 * no thread reads an older plan.
 */
void control_change(const struct plan *plan, const struct change_since *since);
void control_settle(void);

/*
 * Publishes a closed epoch, and the deliveries so far; NULL: disabled. Handlers share the reports;
 * the caller keeps its references.
 */
void control_publish(struct report_epoch *epoch, struct report_epoch *deliveries);

/*
 * Returns the number of the last /sketchtap/reload, which raises the same request as SIGHUP and
 * waits for completion. The thread that reloads calls this first and reports the number afterwards.
 */
uint32_t control_reload_asked(void);

struct control_reloaded {
	uint32_t outputs; /* reopened files */
	bool changeable;  /* measurements can change; `measurements` has the result */
	struct change_answer change;
	bool has_monitor; /* --prefixes is set */
	uint32_t rules;   /* number of prefixes now in effect */
	/* Reason for a failed reload; empty: success. */
	char outputs_error[CONTROL_ERROR_MAX], rules_error[CONTROL_ERROR_MAX];
};

void control_reload_done(uint32_t asked, const struct control_reloaded *reloaded);
