/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Names of routers by number, for keys that hold the number of one (ingress, egress). Any thread
 * may ask; a name may be replaced.
 */

#include <stdbool.h>
#include <stdint.h>

#define ROUTER_NAME_MAX 48    /* with the final 0 */
#define ROUTER_UNKNOWN  65535 /* the number of none; its name is empty */

/* A longer name is cut. False where there is no memory, or the number is too high. */
bool router_name_put(uint32_t number, const char *name);
/* The name, or the number as text where it has none. */
void router_name_get(uint32_t number, char name[ROUTER_NAME_MAX]);
