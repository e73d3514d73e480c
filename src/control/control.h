/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a running measurement answers on DPDK's telemetry socket, under /sketchtap/. Handlers run on
 * threads of the telemetry library and see nothing but what is published here: reports that nobody
 * changes any more. The lock is held to exchange pointers and counts, never while an answer is
 * made.
 *
 * A new command is a row of CONTROL_COMMANDS() (control_commands.h).
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

/* Before EAL opens the socket; once. */
void control_offer(void);

/* Sets the profile of this host before control_start(). It is immutable. */
void control_offer_profile(const struct profile *profile);

/* Before control_start(): what decides of --overload, until control_stop(). NULL: nothing does. */
struct shed_controller;
void control_offer_governor(struct shed_controller *governor);

/*
 * The plan's measurements hold from first_epoch on. From control_start() to control_stop() the
 * commands answer; the plan must live as long, or until it is replaced. control_stop() waits for
 * who is answering. Without `changes` (NULL), or with read_only, what would change something is
 * refused.
 */
void control_start(
	const struct plan *plan, uint64_t first_epoch, struct changes *changes, bool read_only);
void control_stop(void);

/*
 * Publishes another plan, or other starts of its measurements. control_settle() waits until no
 * thread reads an older one.
 */
void control_change(const struct plan *plan, const struct change_since *since);
void control_settle(void);

/*
 * Publishes a closed epoch, and the deliveries until then; NULL: not enabled. Reports are shared
 * with the handlers; the caller keeps its references.
 */
void control_publish(struct report_epoch *epoch, struct report_epoch *deliveries);

/*
 * /sketchtap/reload raises the same request as SIGHUP and waits for completion. The thread that
 * reloads reads the number of the last request before, and reports it afterwards.
 */
uint32_t control_reload_asked(void);

struct control_reloaded {
	uint32_t outputs; /* files that were opened again */
	bool changeable;  /* measurements can change; then what came of that: */
	struct change_answer change;
	bool has_monitor; /* there is --prefixes */
	uint32_t rules;   /* rules in effect from now on */
	/* Reason for a failed reload; empty: success. */
	char outputs_error[CONTROL_ERROR_MAX], rules_error[CONTROL_ERROR_MAX];
};

void control_reload_done(uint32_t asked, const struct control_reloaded *reloaded);
