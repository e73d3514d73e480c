/* SPDX-License-Identifier: BSD-3-Clause */
#define ALLOW_EXPERIMENTAL_API /* interrupt handles and device events are experimental in 22.11 */

#include "rx/port/interrupts.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_dev.h>
#include <rte_interrupts.h>

#define STEP_NS  100000
#define PATIENCE 10000

static atomic_bool stopped;
/* Pending interrupt that makes EAL's interrupt thread run stay() */
static struct rte_intr_handle *handle;

/* Blocks EAL's interrupt thread until the process ends. Here, the thread holds no EAL lock. */
static void stay(void *arg)
{
	(void)arg;
	/* Pairs with the acquire in interrupts_stop(). */
	atomic_store_explicit(&stopped, true, memory_order_release);
	for (;;)
		pause();
}

/* Unlike this interrupt, an alarm would delay callers that wait for other alarms. */
static bool call_thread(void)
{
	int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);

	handle = rte_intr_instance_alloc(RTE_INTR_INSTANCE_F_PRIVATE);
	if (handle != NULL && fd >= 0 && rte_intr_fd_set(handle, fd) == 0 &&
		rte_intr_type_set(handle, RTE_INTR_HANDLE_EXT) == 0 &&
		rte_intr_callback_register(handle, stay, NULL) == 0)
		return true;
	rte_intr_instance_free(handle);
	handle = NULL;
	if (fd >= 0)
		close(fd);
	return false;
}

void interrupts_stop(void)
{
	static bool called;
	const struct timespec step = {.tv_nsec = STEP_NS};

	if (called || !call_thread())
		return;
	called = true;
	/* Pairs with the release in stay(). */
	for (int i = 0; i < PATIENCE && !atomic_load_explicit(&stopped, memory_order_acquire); i++)
		nanosleep(&step, NULL);
}

static void on_event(const char *device, enum rte_dev_event_type event, void *leaving)
{
	(void)device;
	if (event == RTE_DEV_EVENT_REMOVE)
		atomic_store_explicit((atomic_bool *)leaving, true, memory_order_relaxed);
}

void hot_unplug_hear(const char *device, atomic_bool *leaving)
{
	/* If this fails, removal requests have no effect. */
	rte_dev_event_callback_register(device, on_event, leaving);
}

void hot_unplug_forget(const char *device, atomic_bool *leaving)
{
	while (rte_dev_event_callback_unregister(device, on_event, leaving) == -EAGAIN)
		sched_yield();
}
