/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * 64-bit total of a device counter, which may wrap once between two readings or be reset to 0. A
 * derived counter is computed from registers that the driver reads at different times, so it may
 * decrease a little.
 */

#include <stdbool.h>
#include <stdint.h>

/* A derived counter that decreases by more, or by more than its new value, was reset. */
#define DEVICE_COUNTER_SWAY 65536

enum device_counter_change {
	DEVICE_COUNTER_GREW,
	/* Counts between the last reading and the reset are lost. */
	DEVICE_COUNTER_RESET,
};

struct device_counter {
	uint8_t bits; /* 1 to 64 */
	bool derived;
	uint64_t last;
	uint64_t total;
};

/* `value` is the present value of the counter. */
void device_counter_start(
	struct device_counter *counter, uint8_t bits, bool derived, uint64_t value);

enum device_counter_change device_counter_read(struct device_counter *counter, uint64_t value);
