/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads the lines of --export datagrams=tcp://..., in CSV. Pure functions. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HOST_MAX    65
#define DATAGRAM_RUN_MAX     17
#define DATAGRAM_PAYLOAD_MAX 65535
#define DATAGRAM_COLUMNS_MAX 32

enum datagram_line_kind {
	DATAGRAM_LINE_HEADER,
	DATAGRAM_LINE_CLOCK,   /* "#now NS", or "#now NS spooled" */
	DATAGRAM_LINE_PAYLOAD, /* a datagram */
	DATAGRAM_LINE_DROPPED, /* datagrams that the kernel dropped */
	DATAGRAM_LINE_END,     /* the end of the interval */
	DATAGRAM_LINE_BAD,     /* `why` is the reason */
};

struct datagram_line {
	char host[DATAGRAM_HOST_MAX], run[DATAGRAM_RUN_MAX];
	uint64_t epoch, row, dropped;
	int64_t start, end;
	int64_t time; /* arrival of the datagram, or time of the clock; ns since 1970-01-01 UTC */
	uint32_t socket;
	struct in6_addr src, dst;
	uint16_t src_port, dst_port;
	bool last;    /* the run of the collector ends with this interval */
	bool spooled; /* the collector stores the interval until it is acknowledged */
	const uint8_t *payload;
	uint32_t len;
	const char *why;
};

/* Positions of the columns in a line, from the header. Zero it for each connection. */
struct datagram_columns {
	uint32_t n;
	uint8_t kinds[DATAGRAM_COLUMNS_MAX];
};

/* Changes text[len], where a payload is decoded. text[len] must be writable. */
enum datagram_line_kind datagram_line_read(
	struct datagram_columns *columns, char *text, size_t len, struct datagram_line *line);
