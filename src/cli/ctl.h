/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Runs `sketchtap ctl`: queries a running instance or changes its measurements through the control
 * socket. argv[0] is "ctl". Returns the exit status. 0: success. 1: no instance answers, or it
 * refuses the command. 2: usage error.
 */
int ctl(int argc, char **argv);
