/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * 64-bit total of a device counter since its first reading. Device counters can have these
 * properties:
 *
 *   wraps    A register of `bits` bits that its driver does not extend. Correct if it advances by
 * less than half of its range between two readings.
 *   resets   The counter restarts at 0, because its peer left or its link was reset. Counts between
 * the last reading and the reset are lost.
 *   is late  The device updates it rarely: it is constant for a while, then jumps.
 *   sways    The driver computes it from registers that it reads at different times, so that it may
 * decrease a little (`derived`).
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Maximum decrease of a derived counter without a reset. It must also be at most the value itself.
 */
#define DEVICE_COUNTER_SWAY 65536

enum device_counter_change {
	DEVICE_COUNTER_GREW, /* increased or unchanged */
	/* counts since the reset are in the total; unread counts before it are not */
	DEVICE_COUNTER_RESET,
};

struct device_counter {
	uint8_t bits; /* 1 to 64 */
	bool derived;
	uint64_t last;  /* highest reading since the start or the last reset */
	uint64_t total; /* counted since the start */
};

/* Starts at the present `value`: later counts are added to the total. */
void device_counter_start(
	struct device_counter *counter, uint8_t bits, bool derived, uint64_t value);

enum device_counter_change device_counter_read(struct device_counter *counter, uint64_t value);
