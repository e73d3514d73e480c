/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/device_counter.h"

#include "base/assertion.h"

static uint64_t range_mask(const struct device_counter *counter)
{
	return UINT64_MAX >> (64 - counter->bits);
}

void device_counter_start(
	struct device_counter *counter, uint8_t bits, bool derived, uint64_t value)
{
	VERIFY(bits, >=, 1);
	VERIFY(bits, <=, 64);
	*counter = (struct device_counter){.bits = bits, .derived = derived};
	counter->last = value & range_mask(counter);
}

enum device_counter_change device_counter_read(struct device_counter *counter, uint64_t value)
{
	uint64_t mask = range_mask(counter);
	uint64_t forward = (value - counter->last) & mask;
	uint64_t back = (counter->last - value) & mask;

	if (forward <= mask / 2) {
		counter->total += forward;
		counter->last = value & mask;
		return DEVICE_COUNTER_GREW;
	}
	if (counter->derived && back <= DEVICE_COUNTER_SWAY && back <= (value & mask))
		return DEVICE_COUNTER_GREW;
	counter->total += value & mask;
	counter->last = value & mask;
	return DEVICE_COUNTER_RESET;
}
