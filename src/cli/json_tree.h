/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* JSON subset of the control socket: nested objects, strings, integers and null. */

#include <stdbool.h>
#include <stdio.h>

struct json_node {
	char *name;  /* "": root */
	char *value; /* text or number; NULL: object, or null */
	bool is_object;
	struct json_node *first;
	struct json_node *next; /* next member of the parent */
};

/* Returns NULL if `text` is invalid or out of memory. */
struct json_node *json_read(const char *text);
void json_free(struct json_node *node);

const struct json_node *json_find(const struct json_node *node, const char *name);
/* Returns "" if there is no such member. */
const char *json_value(const struct json_node *node, const char *name);

void json_print(const struct json_node *node, FILE *out);
