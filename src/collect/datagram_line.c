/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/datagram_line.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/address.h"
#include "base/base64.h"
#include "base/decimal.h"
#include "base/text.h"
#include "rx/source.h"

#define CLOCK_PREFIX "#now "

enum column {
	COLUMN_OTHER,
	COLUMN_EPOCH,
	COLUMN_START,
	COLUMN_END,
	COLUMN_ROW,
	COLUMN_TIME,
	COLUMN_SOCKET,
	COLUMN_DROPPED,
	COLUMN_SOURCE,
	COLUMN_SOURCE_PORT,
	COLUMN_DESTINATION,
	COLUMN_DESTINATION_PORT,
	COLUMN_PAYLOAD,
	COLUMN_LAST,
	COLUMN_HOST,
	COLUMN_RUN,
	COLUMNS,
};

#define EVERY_COLUMN ((UINT32_C(1) << COLUMNS) - 2)

static const char *const names[COLUMNS] = {"", "epoch", "start", "end", "row", "time_ns", "socket",
	"dropped", "source", "source_port", "destination", "destination_port", "payload", "last",
	"host", "run"};

static enum datagram_line_kind bad(struct datagram_line *line, const char *why)
{
	line->why = why;
	return DATAGRAM_LINE_BAD;
}

/* Ends the first value of *text with NUL, and moves *text to the next one. */
static char *next_value(char **text)
{
	char *value = *text;

	*text += strcspn(value, ",");
	if (**text != '\0')
		*(*text)++ = '\0';
	return value;
}

static uint8_t column_of(const char *name)
{
	for (uint8_t c = 1; c < COLUMNS; c++)
		if (strcmp(name, names[c]) == 0)
			return c;
	return COLUMN_OTHER;
}

static enum datagram_line_kind read_header(
	struct datagram_columns *columns, char *text, struct datagram_line *line)
{
	uint32_t found = 0;

	columns->n = 0;
	while (*text != '\0') {
		if (columns->n == DATAGRAM_COLUMNS_MAX)
			return bad(line, "too many columns");
		columns->kinds[columns->n] = column_of(next_value(&text));
		found |= UINT32_C(1) << columns->kinds[columns->n++];
	}
	if ((found & EVERY_COLUMN) == EVERY_COLUMN)
		return DATAGRAM_LINE_HEADER;
	columns->n = 0;
	return bad(line, "a column is missing");
}

/* An empty value is port 0. */
static bool read_port(const char *text, uint16_t *port)
{
	uint32_t value = 0;
	bool valid = *text == '\0' || decimal_read_u32(text, UINT16_MAX, &value);

	*port = (uint16_t)value;
	return valid;
}

static bool read_time(const char *text, int64_t *time)
{
	uint64_t value = 0;
	bool valid = decimal_read(text, SOURCE_TIME_MAX, &value);

	*time = (int64_t)value;
	return valid;
}

/* An empty value is ::. */
static bool read_address(const char *text, struct in6_addr *address)
{
	struct in_addr ipv4;

	*address = in6addr_any;
	if (*text == '\0')
		return true;
	if (inet_pton(AF_INET, text, &ipv4) != 1)
		return inet_pton(AF_INET6, text, address) == 1;
	address_map_ipv4(address, &ipv4);
	return true;
}

static bool read_date(const char *text, int64_t *time)
{
	return text_read_time(text, time) && *time >= 0 && *time <= SOURCE_TIME_MAX;
}

/* Other characters than printable ASCII become '?', because the name is logged. */
static bool read_name(const char *text, char *name, size_t size)
{
	size_t len = strlen(text);

	if (len == 0 || len >= size)
		return false;
	for (size_t i = 0; i <= len; i++)
		name[i] = text[i] == '\0' || (text[i] > ' ' && text[i] <= '~') ? text[i] : '?';
	return true;
}

static bool read_payload(char *text, struct datagram_line *line)
{
	size_t len = 0;
	bool valid = base64_decode(text, strlen(text), (uint8_t *)text, &len);

	line->payload = (const uint8_t *)text;
	line->len = (uint32_t)len;
	return valid && len <= DATAGRAM_PAYLOAD_MAX;
}

static bool read_value(enum column column, char *text, struct datagram_line *line)
{
	uint32_t flag = 0;
	bool valid;

	switch (column) {
	case COLUMN_EPOCH: return decimal_read(text, UINT64_MAX / 2, &line->epoch);
	case COLUMN_START: return read_date(text, &line->start);
	case COLUMN_END: return read_date(text, &line->end);
	case COLUMN_ROW: return decimal_read(text, UINT64_MAX / 2, &line->row) && line->row > 0;
	case COLUMN_TIME: return read_time(text, &line->time);
	case COLUMN_SOCKET: return decimal_read_u32(text, UINT16_MAX, &line->socket);
	case COLUMN_DROPPED: return decimal_read(text, UINT32_MAX, &line->dropped);
	case COLUMN_SOURCE: return read_address(text, &line->src);
	case COLUMN_SOURCE_PORT: return read_port(text, &line->src_port);
	case COLUMN_DESTINATION: return read_address(text, &line->dst);
	case COLUMN_DESTINATION_PORT: return read_port(text, &line->dst_port);
	case COLUMN_PAYLOAD: return read_payload(text, line);
	case COLUMN_LAST:
		valid = decimal_read_u32(text, 1, &flag);
		line->last = flag;
		return valid;
	case COLUMN_HOST: return read_name(text, line->host, sizeof(line->host));
	case COLUMN_RUN: return read_name(text, line->run, sizeof(line->run));
	default: return true;
	}
}

static enum datagram_line_kind read_row(
	const struct datagram_columns *columns, char *text, struct datagram_line *line)
{
	const char *end = text + strlen(text);
	uint32_t c = 0;

	for (; c < columns->n && text < end; c++)
		if (!read_value((enum column)columns->kinds[c], next_value(&text), line))
			return bad(line, names[columns->kinds[c]]);
	if (c < columns->n || text < end)
		return bad(line, "the number of values differs from that of the header");
	if (line->end < line->start)
		return bad(line, names[COLUMN_END]);
	if (line->len > 0)
		return DATAGRAM_LINE_PAYLOAD;
	return line->dropped > 0 ? DATAGRAM_LINE_DROPPED : DATAGRAM_LINE_END;
}

static enum datagram_line_kind read_clock(char *text, struct datagram_line *line)
{
	char *end = text + strcspn(text, " ");

	line->spooled = strcmp(end, " spooled") == 0;
	if (line->spooled)
		*end = '\0';
	return read_time(text, &line->time) ? DATAGRAM_LINE_CLOCK
					    : bad(line, "the time of the clock");
}

enum datagram_line_kind datagram_line_read(
	struct datagram_columns *columns, char *text, size_t len, struct datagram_line *line)
{
	*line = (struct datagram_line){0};
	text[len] = '\0';
	if (strlen(text) != len)
		return bad(line, "a NUL character");
	if (strncmp(text, CLOCK_PREFIX, strlen(CLOCK_PREFIX)) == 0)
		return read_clock(text + strlen(CLOCK_PREFIX), line);
	if (columns->n == 0 || strncmp(text, "epoch,", strlen("epoch,")) == 0)
		return read_header(columns, text, line);
	return read_row(columns, text, line);
}
