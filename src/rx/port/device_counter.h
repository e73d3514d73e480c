/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a counter of a device has counted since it was first read, however the device keeps it:
 *
 *   it wraps    a register of `bits` bits that its driver does not extend. Right as long as less
 *               than half of its range passes between two readings.
 *   it resets   (its peer left, its link was reset) and begins again at 0. What it had counted
 *               between the last reading and the reset is nowhere to be read any more.
 *   it is late  the device updates it now and then: it stands still and then leaps.
 *   it sways    the driver computes it from registers that it does not read at one moment, so that
 *               it may step back a little (`derived`).
 */

#include <stdbool.h>
#include <stdint.h>

/* A derived counter that decreases by at most this, and by at most its value, was not reset. */
#define DEVICE_COUNTER_SWAY 65536

enum device_counter_change {
	DEVICE_COUNTER_GREW, /* increased or unchanged */
	/* what it counted from 0 on is in the total, what was unread is not */
	DEVICE_COUNTER_RESET,
};

struct device_counter {
	uint8_t bits; /* 1 to 64 */
	bool derived;
	uint64_t last;  /* the highest reading since the start or the last reset */
	uint64_t total; /* counted since the start */
};

/* `value` is what it says now: what it counts from here on is in the total. */
void device_counter_start(
	struct device_counter *counter, uint8_t bits, bool derived, uint64_t value);

enum device_counter_change device_counter_read(struct device_counter *counter, uint64_t value);
