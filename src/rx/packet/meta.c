/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/meta.h"

#include <stdalign.h>

int packet_meta_offset = -1;

int packet_meta_register(void)
{
	static const struct rte_mbuf_dynfield field = {
		.name = "sketchtap_packet_meta",
		.size = sizeof(struct packet_meta),
		.align = alignof(struct packet_meta),
	};

	if (packet_meta_offset < 0)
		packet_meta_offset = rte_mbuf_dynfield_register(&field);
	return packet_meta_offset < 0 ? -1 : 0;
}
