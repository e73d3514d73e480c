/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * 64-bit total of a device counter, which may have these properties:
 *  - It wraps: it is a register of `bits` bits, which the driver does not extend. The total is
 *    correct if the register advances by less than half of its range between two readings.
 *  - It is reset to 0 if the peer leaves or the link is reset. The counts since the last reading
 *    are lost.
 *  - It is derived: the driver computes it from registers that it reads at different times. So it
 *    may decrease a little.
 */

#include <stdbool.h>
#include <stdint.h>

/*
 * Maximum decrease of a derived counter without a reset. A decrease by more than the new value is
 * also a reset.
 */
#define DEVICE_COUNTER_SWAY 65536

enum device_counter_change {
	DEVICE_COUNTER_GREW,
	/* Counts between the last reading and the reset are lost. */
	DEVICE_COUNTER_RESET,
};

struct device_counter {
	uint8_t bits; /* 1 to 64 */
	bool derived;
	uint64_t last;  /* highest reading since the start or the last reset */
	uint64_t total; /* counted since device_counter_start() */
};

/* Starts the total at 0. `value` is the present value of the counter. */
void device_counter_start(
	struct device_counter *counter, uint8_t bits, bool derived, uint64_t value);

enum device_counter_change device_counter_read(struct device_counter *counter, uint64_t value);
