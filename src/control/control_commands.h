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

#define CONTROL_COMMANDS(COMMAND)                                                                   \
	COMMAND(stats,                                                                              \
		"Account of the packets of the last epoch, and of all since the start. No "         \
		"parameters",                                                                       \
		{"", "account of the last epoch, and since the start"})                             \
	COMMAND(top,                                                                                \
		"Heaviest keys of the last epoch with packets. Parameters: measurement, number of " \
		"rows (10; at most 40)",                                                            \
		{"[MEASUREMENT [N]]", "heaviest keys of the last epoch; N is 10, at most 40"})      \
	COMMAND(follow,                                                                             \
		"First closed epoch from a number on, of the last 300. Parameters: epoch (the "     \
		"last), first of its parts (0)",                                                    \
		{"[EPOCH [PART]]", "first epoch from EPOCH on, of the last 300"})                   \
	COMMAND(deliveries,                                                                         \
		"What became of rows of each export since the start, until the last epoch was "     \
		"closed; of 40 exports at most. No parameters",                                     \
		{"", "what became of rows of each export, 40 exports at most"})                     \
	COMMAND(within,                                                                             \
		"Keys that a measurement with within looks into after the last epoch with "         \
		"packets, 60 at most. Parameters: measurement",                                     \
		{"MEASUREMENT", "what a measurement with within looks into, 60 keys at most"})      \
	COMMAND(plan, "Which lcore does what, with which queues and memory. No parameters",         \
		{"", "lcores, queues, memory, measurements"})                                       \
	COMMAND(costs,                                                                              \
		"What a packet costs, part by part: ns, of the bursts of the last epoch with "      \
		"packets that were timed. Parameters: worker (all)",                                \
		{"[WORKER]", "what a packet of the last epoch cost, part by part"})                 \
	COMMAND(states,                                                                             \
		"What --overload has given up at present. Parameters: a worker (all), or another "  \
		"way to keep up, a word of --overload but off",                                     \
		{"[WORKER]", "what --overload has given up"},                                       \
		{"HOW", "keeps up in another way, a word of --overload but off"})                   \
	COMMAND(measure,                                                                            \
		"Changes what is measured. Parameters: add|change NAME OPTION=VALUE..., or remove " \
		"NAME",                                                                             \
		{"list", "what is measured, from which epoch on, and what waits for one"},          \
		{"add NAME OPTION=VALUE ...", "measures one thing more"},                           \
		{"change NAME OPTION=VALUE ...",                                                    \
			"measures it otherwise; OPTION= takes back what was said"},                 \
		{"remove NAME", "measures it no more"})                                             \
	COMMAND(reload,                                                                             \
		"As SIGHUP: opens outputs, reads --config and --prefixes again; tells what was "    \
		"refused. No parameters",                                                           \
		{"", "as SIGHUP: configuration, rules and outputs again"})
