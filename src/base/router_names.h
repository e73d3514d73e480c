/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Names of routers, for the key fields ingress and egress, which store a router's number.
 * Thread-safe. A name may be replaced.
 */

#include <stdbool.h>
#include <stdint.h>

#define ROUTER_NAME_MAX 48    /* bytes, with the final 0 */
#define ROUTER_UNKNOWN  65535 /* number of an unknown router; its name is empty */

/*
 * Stores a name, truncated if too long. Returns false if out of memory or the number is too high.
 */
bool router_name_put(uint32_t number, const char *name);
/* Writes the name, or the number as text if the router has no name. */
void router_name_get(uint32_t number, char name[ROUTER_NAME_MAX]);
