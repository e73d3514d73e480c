/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/router_names.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Indexed by the router's number. Protected by `lock`. */
static char (*names)[ROUTER_NAME_MAX];
static uint32_t nb_names;

static bool make_room(uint32_t number)
{
	uint32_t wanted = number < 64 ? 64 : number * 2 + 1;
	char(*larger)[ROUTER_NAME_MAX];

	if (number < nb_names)
		return true;
	larger = realloc(names, wanted * sizeof(*names));
	if (larger == NULL)
		return false;
	memset(larger + nb_names, 0, (wanted - nb_names) * sizeof(*names));
	names = larger;
	nb_names = wanted;
	return true;
}

bool router_name_put(uint32_t number, const char *name)
{
	bool put;

	if (number >= ROUTER_UNKNOWN)
		return false;
	pthread_mutex_lock(&lock);
	put = make_room(number);
	if (put)
		snprintf(names[number], ROUTER_NAME_MAX, "%s", name);
	pthread_mutex_unlock(&lock);
	return put;
}

void router_name_get(uint32_t number, char name[ROUTER_NAME_MAX])
{
	pthread_mutex_lock(&lock);
	if (number < nb_names && names[number][0] != '\0')
		memcpy(name, names[number], ROUTER_NAME_MAX);
	else if (number == ROUTER_UNKNOWN)
		name[0] = '\0';
	else
		snprintf(name, ROUTER_NAME_MAX, "%u", number);
	pthread_mutex_unlock(&lock);
}
