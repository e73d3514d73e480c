/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* IPv4 addresses as IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2). */

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>

static inline void address_map_ipv4(struct in6_addr *address, const void *ipv4)
{
	*address = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
	memcpy(address->s6_addr + 12, ipv4, 4);
}

/* `bytes` has 16 bytes for IPv6, else 4. */
static inline void address_map(struct in6_addr *address, const void *bytes, bool ipv6)
{
	if (ipv6)
		memcpy(address, bytes, sizeof(*address));
	else
		address_map_ipv4(address, bytes);
}

/* Prints IPv4-mapped addresses as IPv4. */
static inline void address_print(const struct in6_addr *address, char text[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

/* Returns false unless `from` is an IP address. NULL is allowed. */
static inline bool address_of_socket(struct in6_addr *address, const struct sockaddr *from)
{
	struct sockaddr_in6 wide;
	struct sockaddr_in narrow;

	if (from == NULL || (from->sa_family != AF_INET && from->sa_family != AF_INET6))
		return false;
	if (from->sa_family == AF_INET) {
		memcpy(&narrow, from, sizeof(narrow));
		address_map_ipv4(address, &narrow.sin_addr);
	} else {
		memcpy(&wide, from, sizeof(wide));
		*address = wide.sin6_addr;
	}
	return true;
}
