/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"

#include <stdio.h>
#include <stdlib.h>

void assertion_failed(const char *file, int line, const char *function, const char *expected,
	long long left, long long right)
{
	fprintf(stderr, "sketchtap: %s:%d: %s(): expected %s; found %lld and %lld\n", file, line,
		function, expected, left, right);
	abort();
}
