/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs `sketchtap plot`: draws a chart from files of a run. argv[0] is "plot". Returns the exit
 * status.
 */
int plot(int argc, char **argv);
