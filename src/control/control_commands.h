/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * COMMAND(NAME, help of the socket, {arguments of "ctl NAME", help of ctl}, ...). Lower-case
 * arguments are literal and select one of several forms. Upper-case arguments are placeholders.
 */

#define CONTROL_PATH "/sketchtap/"

/* DPDK truncates commands at 1023 characters: a longer one may be incomplete. */
#define CONTROL_COMMAND_MAX 1022

/* Timeout of a reply in seconds. It is long because a change may allocate much memory. */
#define CONTROL_ANSWER_S 30

#define CONTROL_COMMANDS(COMMAND)                                                                         \
	COMMAND(stats, "Packet ledgers of the last interval and since the start. No parameters",          \
		{"", "packet ledgers of the last interval and since the start"})                          \
	COMMAND(top,                                                                                      \
		"Heaviest keys of the last interval with packets. Parameters: measurement, number of "    \
		"rows (default 10, at most 40)",                                                          \
		{"[MEASUREMENT [N]]",                                                                     \
			"N heaviest keys of the last interval; default 10, at most 40"})                  \
	COMMAND(follow,                                                                                   \
		"Interval EPOCH, or the next of the last 300. Parameters: EPOCH (default: last), "        \
		"first part of the reply (default: 0)",                                                   \
		{"[EPOCH [PART]]", "interval EPOCH, or the next stored one of the last 300"})             \
	COMMAND(deliveries,                                                                               \
		"Delivery counts of each export since the start of the run, for "                         \
		"at most 40 exports. No parameters",                                                      \
		{"", "delivery counts of exports (at most 40) since the start"})                          \
	COMMAND(within,                                                                                   \
		"Heavy keys into which a measurement drills down (option within); at most 60. "           \
		"Parameters: measurement",                                                                \
		{"MEASUREMENT", "keys into which MEASUREMENT drills down (within); at most 60"})          \
	COMMAND(plan, "Lcores with their tasks, queues and memory. No parameters",                        \
		{"", "lcores, queues, memory, measurements"})                                             \
	COMMAND(costs,                                                                                    \
		"ns per packet in each processing step, in the last interval with packets. "              \
		"Parameters: worker (default: all)",                                                      \
		{"[WORKER]", "ns per packet in each processing step, in the last interval"})              \
	COMMAND(states,                                                                                   \
		"Present reduction of detail by --overload. Parameters: worker (default: all), or a new " \
		"mode other than off",                                                                    \
		{"[WORKER]", "present reduction of detail by --overload"},                                \
		{"MODE", "set the mode of --overload, other than off"})                                   \
	COMMAND(measure,                                                                                  \
		"Changes measurements. Parameters: add|change NAME OPTION=VALUE..., or remove "           \
		"NAME",                                                                                   \
		{"list", "measurements, their first intervals, and pending changes"},                     \
		{"add NAME OPTION=VALUE ...", "add measurement NAME"},                                    \
		{"change NAME OPTION=VALUE ...",                                                          \
			"change its options; OPTION= undoes earlier changes"},                            \
		{"remove NAME", "remove measurement NAME"})                                               \
	COMMAND(reload,                                                                                   \
		"Reopens outputs and reloads --config and --prefixes, as SIGHUP. Reports refused "        \
		"changes. No parameters",                                                                 \
		{"", "reload configuration and rules, reopen outputs (as SIGHUP)"})
