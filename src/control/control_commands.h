/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Commands of the control socket: control.c implements each in a function answer_NAME(), and
 * sketchtap ctl sends them.
 *
 * COMMAND(NAME, help of the socket, {arguments of "ctl NAME", help of ctl}, ...)
 *
 * Lower-case arguments are literal and select one of several uses. Upper-case arguments are
 * placeholders, [] encloses optional ones, and "..." means repeatable.
 */

#define CONTROL_PATH "/sketchtap/"

/*
 * Longest command, in characters. DPDK reads one more; a command of that length may be truncated.
 */
#define CONTROL_COMMAND_MAX 1022

/* Timeout of a reply in seconds: a change may have to prepare memory. */
#define CONTROL_ANSWER_S 30

#define CONTROL_COMMANDS(COMMAND)                                                                      \
	COMMAND(stats, "Packet ledgers of the last interval and since the start. No parameters",       \
		{"", "packet ledgers of the last interval and since the start"})                       \
	COMMAND(top,                                                                                   \
		"Heaviest keys of the last interval with packets. Parameters: measurement, number of " \
		"rows (10; at most 40)",                                                               \
		{"[MEASUREMENT [N]]", "N heaviest keys of the last interval: 10, at most 40"})         \
	COMMAND(follow,                                                                                \
		"Oldest stored interval from a number on, of the last 300. Parameters: "               \
		"interval (the last), first part of the reply (0)",                                    \
		{"[EPOCH [PART]]", "interval EPOCH, or the next one stored, of the last 300"})         \
	COMMAND(deliveries,                                                                            \
		"Delivery counts of each export from the start to the end of the last interval, for "  \
		"at most 40 exports. No parameters",                                                   \
		{"", "delivery counts of each export, for at most 40 exports"})                        \
	COMMAND(within,                                                                                \
		"At most 60 heavy keys into which a measurement drills down (within). Parameters: "    \
		"measurement",                                                                         \
		{"MEASUREMENT", "at most 60 keys into which MEASUREMENT drills down (within)"})        \
	COMMAND(plan, "Lcores with their tasks, queues and memory. No parameters",                     \
		{"", "lcores, queues, memory, measurements"})                                          \
	COMMAND(costs,                                                                                 \
		"Time per packet in each processing step, in ns, last interval with packets. "         \
		"Parameters: worker (all)",                                                            \
		{"[WORKER]", "time per packet in each processing step, last interval"})                \
	COMMAND(states,                                                                                \
		"Detail that --overload has reduced at present. Parameters: a worker (all), or a new " \
		"mode of --overload, except off",                                                      \
		{"[WORKER]", "detail that --overload has reduced"},                                    \
		{"MODE", "change --overload to MODE, except off"})                                     \
	COMMAND(measure,                                                                               \
		"Changes measurements. Parameters: add|change NAME OPTION=VALUE..., or remove "        \
		"NAME",                                                                                \
		{"list", "measurements, their first intervals, and pending changes"},                  \
		{"add NAME OPTION=VALUE ...", "add measurement NAME"},                                 \
		{"change NAME OPTION=VALUE ...",                                                       \
			"change its options; OPTION= restores the default"},                           \
		{"remove NAME", "remove measurement NAME"})                                            \
	COMMAND(reload,                                                                                \
		"As SIGHUP: reopens outputs and reloads --config and --prefixes. Reports refused "     \
		"changes. No parameters",                                                              \
		{"", "reload configuration and rules, reopen outputs (as SIGHUP)"})
