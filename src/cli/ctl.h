/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs `sketchtap ctl`; argv[0] is "ctl". Returns the exit status. 1: no run answers, or it refuses
 * the command. 2: usage error.
 */
int ctl(int argc, char **argv);
