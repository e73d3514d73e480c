/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* `sketchtap top`: a running sketchtap on the terminal. Takes main()'s arguments from the
 * command's name on; returns the exit status. */
int top(int argc, char **argv);
