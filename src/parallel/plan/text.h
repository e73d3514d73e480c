/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Words that both pictures of a plan use (plan_print.c, plan_dot.c). */

#include <stddef.h>

#define PLAN_SIZE_MAX 32

/* By enum plan_role. */
extern const char *const plan_role_names[];

/* "1.5 MB" */
void plan_text_size(size_t bytes, char text[PLAN_SIZE_MAX]);
