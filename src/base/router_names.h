/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Names of routers, whose numbers are in keys. Thread-safe. */

#include <stdbool.h>
#include <stdint.h>

#define ROUTER_NAME_MAX 48    /* bytes, with the final NUL */
#define ROUTER_UNKNOWN  65535 /* number of an unknown router; its name is empty */

/* Truncates the name. Returns false if out of memory or if the number is too high. */
bool router_name_put(uint32_t number, const char *name);
/* Writes the number if the router has no name. */
void router_name_get(uint32_t number, char name[ROUTER_NAME_MAX]);
