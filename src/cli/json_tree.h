/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* JSON as a run's control socket answers: objects of objects, text, whole numbers and null. */

#include <stdbool.h>
#include <stdio.h>

struct json_node {
	char *name;  /* in the object that it is in; "": it is in none */
	char *value; /* text or number as it is read; NULL: an object, or null */
	bool is_object;
	struct json_node *first; /* of its parts, in their order */
	struct json_node *next;  /* in the object that it is in */
};

/* From malloc(); NULL where the text is none, or memory is missing. */
struct json_node *json_read(const char *text);
void json_free(struct json_node *node); /* NULL is allowed */

/* The part of this name; NULL: there is none, or the node is NULL. */
const struct json_node *json_find(const struct json_node *node, const char *name);
/* Its value; "" where there is none. */
const char *json_value(const struct json_node *node, const char *name);

/* For a person: values a line each, objects of objects as tables. */
void json_print(const struct json_node *node, FILE *out);
