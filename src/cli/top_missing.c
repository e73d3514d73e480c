/* SPDX-License-Identifier: BSD-3-Clause */

/* Replaces top.c in a build without ncurses. */

#include "cli/error.h"
#include "cli/top.h"

int top(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cli_error(1, "top: not part of this build: " TOP_MISSING
			    "; build again, or use sketchtap follow");
}
