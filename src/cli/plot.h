/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs `sketchtap plot`; argv[0] is "plot". Returns the exit status. */
int plot(int argc, char **argv);
