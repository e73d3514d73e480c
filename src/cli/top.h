/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs `sketchtap top`; argv[0] is "top". Returns the exit status. */
int top(int argc, char **argv);
