/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * ASSERT() and ASSERT_IF() are for the packet path: only debug and sanitizer builds evaluate them.
 * All builds evaluate VERIFY(). Arguments must have no side effects.
 */

#include <stdbool.h>

__attribute__((noreturn, cold)) void assertion_failed(const char *file, int line,
	const char *function, const char *expected, long long left, long long right);

#define VERIFY(a, op, b)                                                                           \
	do {                                                                                       \
		if (__builtin_expect(!((a)op(b)), 0))                                              \
			assertion_failed(__FILE__, __LINE__, __func__, #a " " #op " " #b,          \
				(long long)(a), (long long)(b));                                   \
	} while (0)

#ifdef SKETCHTAP_ASSERTIONS
#define ASSERT(a, op, b) VERIFY(a, op, b)
#else
/* Never evaluated. Prevents warnings about unused variables. */
#define ASSERT(a, op, b)                                                                           \
	do {                                                                                       \
		if (false)                                                                         \
			VERIFY(a, op, b);                                                          \
	} while (0)
#endif

#define ASSERT_IF(condition, a, op, b)                                                             \
	do {                                                                                       \
		if (condition)                                                                     \
			ASSERT(a, op, b);                                                          \
	} while (0)
