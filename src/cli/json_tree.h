/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* JSON subset of the control socket: nested objects, strings, integers and null. */

#include <stdbool.h>
#include <stdio.h>

struct json_node {
	char *name;  /* name in the parent object; "": root */
	char *value; /* text or number as read; NULL: object, or null */
	bool is_object;
	struct json_node *first; /* first member of an object */
	struct json_node *next;  /* next member of the parent object */
};

/* Parses text. Returns NULL if it is invalid or out of memory. Free it with json_free(). */
struct json_node *json_read(const char *text);
void json_free(struct json_node *node); /* NULL is allowed */

/* Returns the member with this name; NULL if there is none or node is NULL. */
const struct json_node *json_find(const struct json_node *node, const char *name);
/* Returns the value of the member with this name; "" if there is none. */
const char *json_value(const struct json_node *node, const char *name);

/* Prints one line per value. Prints an object whose members are objects as a table. */
void json_print(const struct json_node *node, FILE *out);
