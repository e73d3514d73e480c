/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The link headers that the parser knows. Which pcap link type is which: rx/replay.c. */
enum link_type {
	LINK_ETHERNET, /* every live port */
	LINK_RAW,      /* IPv4 or IPv6 without a link header */
	LINK_NULL,     /* BSD NULL and LOOP */
	LINK_SLL,      /* Linux cooked capture */
	LINK_SLL2,
	LINK_PPP,
	LINK_C_HDLC,
	LINK_COUNT,
};
