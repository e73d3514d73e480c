/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * sketchtap ctl: asks a running sketchtap by its control socket, or changes what it measures.
 * argv[0] is "ctl". Returns the exit status: 0; 1: nobody answers, or the run says no; 2: a mistake
 * in the text.
 */
int ctl(int argc, char **argv);
