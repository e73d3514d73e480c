/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Assertions. A failed assertion prints the expression and both values to standard error and
 * aborts. Arguments must be integers or pointers without side effects.
 *
 * VERIFY(a, op, b) is evaluated in every build. ASSERT(a, op, b) is for the packet path: only debug
 * and sanitizer builds evaluate it, like RTE_ASSERT of DPDK. ASSERT_IF(condition, a, op, b) asserts
 * only if the condition is true.
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
/*
 * Compiles the condition but never evaluates it, so that the compiler warns of no unused variable.
 */
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
