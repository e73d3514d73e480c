/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/return_window.h"

#include <stdlib.h>

#include "base/assertion.h"

bool return_window_init(struct return_window *window, uint64_t size, uint64_t next)
{
	VERIFY(size, >=, 64);
	VERIFY(size & (size - 1), ==, 0);
	*window = (struct return_window){
		.seen = calloc(size / 64, sizeof(uint64_t)), .size = size, .next = next};
	return_window_begin(window);
	return window->seen != NULL;
}

void return_window_fini(struct return_window *window)
{
	free(window->seen);
}

void return_window_begin(struct return_window *window)
{
	window->first = window->expected = window->next;
	window->counts = (struct loopback_counts){0};
}

static uint64_t *word_of(const struct return_window *window, uint64_t number)
{
	return &window->seen[(number & (window->size - 1)) / 64];
}

void return_window_sent(struct return_window *window, uint64_t n)
{
	ASSERT(n, <=, window->size);
	for (uint64_t end = window->next + n; window->next < end; window->next++)
		*word_of(window, window->next) &= ~(UINT64_C(1) << (window->next & 63));
	window->counts.sent += n;
}

static enum return_kind take_number(struct return_window *window, uint64_t number)
{
	uint64_t *word = word_of(window, number);
	uint64_t bit = UINT64_C(1) << (number & 63);

	if (*word & bit) {
		window->counts.twice++;
		return RETURN_TWICE;
	}
	*word |= bit;
	window->counts.returned++;
	if (number < window->expected)
		window->counts.out_of_order++;
	else
		window->expected = number + 1;
	return RETURN_FIRST;
}

enum return_kind return_window_take(struct return_window *window, uint32_t number)
{
	uint64_t back = (uint32_t)((uint32_t)window->next - 1 - number);

	if (back >= window->next)
		return RETURN_NONE;
	if (back >= window->size || window->next - 1 - back < window->first) {
		window->counts.late++;
		return RETURN_LATE;
	}
	return take_number(window, window->next - 1 - back);
}
