/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* rte_dev_event_callback_register() */

#include "rx/port/hot_unplug.h"

#include <errno.h>
#include <sched.h>

#include <rte_dev.h>

/* Called on the interrupt thread. */
static void on_event(const char *device, enum rte_dev_event_type event, void *leaving)
{
	(void)device;
	if (event == RTE_DEV_EVENT_REMOVE)
		atomic_store_explicit((atomic_bool *)leaving, true, memory_order_relaxed);
}

void hot_unplug_hear(const char *device, atomic_bool *leaving)
{
	/* if out of memory, removal requests are not noticed */
	rte_dev_event_callback_register(device, on_event, leaving);
}

void hot_unplug_forget(const char *device, atomic_bool *leaving)
{
	while (rte_dev_event_callback_unregister(device, on_event, leaving) == -EAGAIN)
		sched_yield(); /* the callback is running */
}
