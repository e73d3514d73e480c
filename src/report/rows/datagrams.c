/* SPDX-License-Identifier: BSD-3-Clause */

/* --export datagrams: a row for each received datagram, for `sketchtap collect --collectors`. */

#include "base/base64.h"
#include "collect/exporters/collector_rows.h"
#include "collect/options.h"
#include "report/rows/rows.h"

COLUMN_PRINTER(print_source)
{
	const struct datagram_row *datagram = row->item;

	if (datagram->addressed)
		text_address(text, &datagram->src);
}

COLUMN_PRINTER(print_destination)
{
	const struct datagram_row *datagram = row->item;

	if (datagram->addressed)
		text_address(text, &datagram->dst);
}

COLUMN_PRINTER(print_payload)
{
	const struct datagram_row *datagram = row->item;
	const uint8_t *payloads = row->epoch->collected->payloads;
	size_t len = base64_len(datagram->len);

	if (datagram->len == 0 || !text_reserve(text, len))
		return;
	base64_encode(payloads + datagram->at, datagram->len, text->data + text->len);
	text->len += len;
}

#define AT(member)    .at = offsetof(struct datagram_row, member)
#define KNOWN(member) .known = offsetof(struct datagram_row, member)

static const struct column columns[] = {
	EPOCH_NUMBER,
	EPOCH_START,
	EPOCH_END,
	{"row", COLUMN_U64, AT(row)},
	{"time_ns", COLUMN_U64, AT(time)},
	{"socket", COLUMN_U32, AT(socket)},
	{"dropped", COLUMN_U64, AT(dropped)},
	{"source", COLUMN_WORD, .print = print_source},
	{"source_port", COLUMN_U32, AT(src_port), KNOWN(addressed)},
	{"destination", COLUMN_WORD, .print = print_destination},
	{"destination_port", COLUMN_U32, AT(dst_port), KNOWN(addressed)},
	{"payload", COLUMN_WORD, .print = print_payload},
	{"last", COLUMN_BOOL, AT(last)},
};

ITEMS(epoch->collected, datagrams, nb_datagrams)

const struct output output_datagrams = {
	OUTPUT_PART(DATAGRAMS, "datagrams", "datagrams", COLLECT_OPTION,
		.help = "Send every received datagram at the end of the interval to another "
			"sketchtap collect --collectors ADDRESS:PORT, by tcp://ADDRESS:PORT."),
	.collected = true,
	OUTPUT_COLUMNS(columns),
	.of_epoch = true,
	.items = items,
};
