/* SPDX-License-Identifier: BSD-3-Clause */

/* Lines of --export datagrams, as a master reads them from a connection. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collect/datagram_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct datagram_columns columns = {0};
	const uint8_t *end = data + size;

	while (data < end) {
		const uint8_t *stop = memchr(data, '\n', (size_t)(end - data));
		size_t len = (size_t)((stop != NULL ? stop : end) - data);
		char *text = malloc(len + 1);
		struct datagram_line line;

		if (text == NULL)
			return 0;
		memcpy(text, data, len);
		if (datagram_line_read(&columns, text, len, &line) == DATAGRAM_LINE_PAYLOAD &&
			(line.len == 0 || line.payload < (uint8_t *)text ||
				line.payload + line.len > (uint8_t *)text + len))
			abort();
		free(text);
		data += len + 1;
	}
	return 0;
}
