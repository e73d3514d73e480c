/* SPDX-License-Identifier: BSD-3-Clause */

/* Any bytes as a returned frame; and the same frame with a stamp. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tester/stamp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FRAME_MAX UINT16_MAX
#define FRAME_MIN (14 + STAMP_BYTES)

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return false;
	return true;
}

static void check_stamped(const struct stamp_secrets *secrets, uint8_t *frame, uint32_t length)
{
	static const struct stamp sent = {.number = 0x12345678, .time = 0x123456789abc};
	uint32_t headers = FRAME_HEADERS_MAX;
	enum stamp_content content;
	struct stamp stamp;

	if (headers > length - STAMP_BYTES)
		headers = length - STAMP_BYTES;
	stamp_write(secrets, &sent, frame, length);
	check(stamp_read(secrets, &stamp, frame, length), "a stamp is read");
	check(stamp.number == sent.number && stamp.time == sent.time, "it is the same");
	content = stamp_compare(secrets, &stamp, frame, length);
	if (is_zero(frame + headers, length - STAMP_BYTES - headers))
		check(content == STAMP_SAME, "nothing was changed");
	else
		check(content == STAMP_CHANGED, "a payload that is not zero was changed");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint32_t length = (uint32_t)(size < FRAME_MAX ? size : FRAME_MAX);
	uint8_t *frame = malloc(length + (size_t)(length == 0));
	struct stamp_secrets secrets;
	struct stamp stamp;
	bool stamped;

	if (frame == NULL)
		return 0;
	memcpy(frame, data, length);
	stamp_secrets_init(&secrets, 1);
	stamped = stamp_read(&secrets, &stamp, frame, length);
	if (length < FRAME_MIN)
		check(!stamped, "too short for a stamp");
	if (stamped)
		stamp_compare(&secrets, &stamp, frame, length);
	if (length >= FRAME_MIN)
		check_stamped(&secrets, frame, length);
	free(frame);
	return 0;
}
