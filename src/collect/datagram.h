/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <netinet/in.h>
#include <stdint.h>

/* IPv4 addresses are mapped to IPv6 (::ffff:a.b.c.d). */
struct datagram {
	struct in6_addr src;
	struct in6_addr dst;         /* :: if received by a socket */
	uint16_t src_port, dst_port; /* host byte order */
	uint32_t len;
	const uint8_t *data;
	int64_t time;    /* arrival, ns since 1970-01-01 UTC */
	uint32_t socket; /* index of the --listen option; 0 for a capture */
	/* 0: UDP; IPPROTO_TCP or IPPROTO_SCTP: `data` is part of a stream */
	uint8_t proto;
};
