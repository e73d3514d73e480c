/* SPDX-License-Identifier: BSD-3-Clause */

/* A toy source: flows 1 to N of UDP. Flow f has f packets and the source port f. */

#include <stdlib.h>

#include "rx/packet/frame.h"
#include "rx/source.h"

struct countdown_options {
	uint32_t flows;
};

OPTION_OWNER(countdown)

struct countdown {
	struct source source; /* first, because callers hold a pointer to it */
	struct frame_templates templates;
	uint32_t flow, left;
	int64_t time;
	uint8_t frame[2 * FRAME_HEADERS_MAX];
};

static int countdown_next(struct source *source, struct source_packet *packet)
{
	struct countdown *countdown = (struct countdown *)source;
	struct frame_flow flow = {.src = 1, .dst = 2, .dst_port = 9, .l4 = FRAME_UDP};
	uint32_t length;

	if (countdown->left == 0)
		countdown->left = --countdown->flow;
	if (countdown->flow == 0)
		return 0;
	countdown->left--;
	flow.src_port = (uint16_t)countdown->flow;
	length = frame_build(&countdown->templates, &flow, 100, countdown->frame);
	*packet = (struct source_packet){
		.data = countdown->frame,
		.captured = length,
		.wire_len = length,
		.time = countdown->time++,
		.link = LINK_ETHERNET,
	};
	return 1;
}

static double countdown_progress(const struct source *source)
{
	(void)source;
	return -1;
}

static void countdown_close(struct source *source)
{
	free(source);
}

static int countdown_open(const struct config *config, struct source **source, char *error)
{
	uint32_t flows = countdown_options(config)->flows;
	struct countdown *countdown = calloc(1, sizeof(*countdown));

	if (flows == 13) {
		source_error(error, "--countdown: 13 brings bad luck");
		free(countdown);
		return 2;
	}
	if (countdown == NULL) {
		source_error(error, "out of memory");
		return 1;
	}
	frame_templates_init(&countdown->templates);
	countdown->flow = flows + 1;
	countdown->source.next = countdown_next;
	countdown->source.progress = countdown_progress;
	countdown->source.close = countdown_close;
	*source = &countdown->source;
	return 0;
}

extern const struct source_traits source_countdown;

static const struct option_row countdown_rows[] = {
	{
		.name = "countdown",
		.placeholder = "N",
		.type = OPTION_COUNT,
		SOURCE_OPTION(source_countdown),
		OPTION_FIELD(countdown_options, flows),
		.min = 1,
		.max = 1000,
		.help = "The toy: N flows, the first of 1 packet, the last of N.",
	},
	{0},
};

const struct option_owner countdown_owner = {
	.rows = countdown_rows,
	.size = sizeof(struct countdown_options),
};

const struct source_traits source_countdown = {
	.selected.is = SOURCE_OF_FEEDER | SOURCE_PACKETS,
	.options = &countdown_owner,
	.host = HOST_REPLAY,
	.open = countdown_open,
};
