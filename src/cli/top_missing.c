/* SPDX-License-Identifier: BSD-3-Clause */

/* Replaces top.c if it cannot be built. */

#include "cli/error.h"
#include "cli/top.h"

int top(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cli_error(1, "top: sketchtap was built without it, because " TOP_MISSING
			    ": change that and build again, or use sketchtap follow");
}
