/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/router_names.h"
#include "flow_protocols/flow_protocol.h"
#include "key/key.h"

#define EXPORTER_NAME_MAX  ROUTER_NAME_MAX
#define INTERFACE_NAME_MAX 48
#define WHOLE_EXPORTER     3u /* side: all interfaces of an exporter together */

struct record_counts {
	/* `duplicate` records add no packets */
	uint64_t counted, duplicate;
	/* records of both kinds that the method `edge` decided because the flow cache was full */
	uint64_t edge_only;
};

/* docs/COLLECTOR.md describes every column. */
struct exporter_row {
	struct in6_addr address; /* sFlow: agent */
	uint32_t slot;
	uint32_t domain;
	enum flow_protocol protocol;
	/* sum of senders without a row: refused, not exporters, or above exporters-max */
	bool others;
	/* a sender with unreadable headers, without domain, protocol and slot */
	bool sender;
	char name[EXPORTER_NAME_MAX];
	uint64_t datagrams, bytes;
	/* Records that pass --filter: counted + duplicate + unusable + lost to full rings. */
	uint64_t records;
	uint64_t left_out; /* records that do not pass --filter */
	struct record_counts counts;
	uint64_t waiting;          /* data sets that wait for a template at the end of the epoch */
	uint64_t unknown_template; /* data sets dropped without a template */
	uint64_t unusable;         /* records without packets or key, or with impossible values */
	uint64_t malformed;        /* datagrams not decoded completely */
	uint64_t refused;
	uint64_t shed;
	uint64_t lost_network, lost_socket; /* datagrams, by sequence numbers */
	uint64_t reordered, repeated, restarts;
	uint32_t templates;
	uint32_t sampling; /* largest interval of the records; 0: no records */
	enum sampling_source sampling_source;
	uint64_t lost_agent; /* samples, packets or flows that the exporter reports as lost */
};

enum interface_role {
	ROLE_OPEN,
	ROLE_EDGE,
	ROLE_FED,
};

/* An input interface. Roles are learned from flows that several exporters report. */
struct interface_role_row {
	uint32_t exporter;
	uint32_t side; /* enum observation_side, or WHOLE_EXPORTER */
	uint32_t interface;
	enum interface_role role;
	enum interface_role saved;
	/*
	 * slot of the nearest exporter that sends packets to the interface; EXPORTER_NONE: unknown
	 */
	uint32_t fed_by;
};

enum link_direction {
	LINK_IN,
	LINK_OUT,
	LINK_NEITHER,
};

struct link_row {
	uint32_t slot;
	struct in6_addr address;
	uint32_t domain;
	char exporter[EXPORTER_NAME_MAX];
	uint32_t interface;
	bool has_interface; /* false: sum of records without interface */
	char name[INTERFACE_NAME_MAX];
	enum link_direction direction;
	uint64_t packets, bytes; /* upscaled counts of records */
	uint64_t speed;          /* bit/s; 0: unknown */
	/* sFlow interface counters, which cover `counted_ns` of the epoch. 0 ns: none. */
	uint64_t counter_packets, counter_bytes;
	uint64_t counted_ns;
	/* ROLE_OPEN unless direction is LINK_IN */
	enum interface_role role;
	/* exporter that sends packets to the interface; NULL: unknown */
	const struct exporter_row *fed_by;
};

#define PATH_HOPS_MAX 32

struct path_hop {
	uint32_t exporter;
	uint32_t input, output;
	uint8_t ttl; /* on arrival; 0: unknown */
};

struct path_row {
	struct key key;
	bool ordered; /* false: some hops are ordered only by their first report */
	bool changed;
	uint32_t observers;
	uint32_t nb_hops;
	uint64_t packets, bytes;
	struct path_hop hops[PATH_HOPS_MAX]; /* ingress first; must be the last member */
};

/* Unused hops are not stored. */
static inline uint64_t path_row_bytes(uint32_t nb_hops)
{
	uint64_t bytes = offsetof(struct path_row, hops) + nb_hops * sizeof(struct path_hop);

	return (bytes + _Alignof(struct path_row) - 1) / _Alignof(struct path_row) *
	       _Alignof(struct path_row);
}

/* Two neighbours, and the traffic in one direction. */
struct neighbour_row {
	uint32_t from, from_interface;  /* exporter and output interface; 0: unknown interface */
	uint32_t to, to_interface;      /* exporter and input interface */
	uint64_t flows, packets, bytes; /* flows that pass one directly after the other */
	double match; /* share of the flows at these two interfaces that pass both */
	double order; /* share of `flows` in which `from` is known to be, or reported, first */
	double sure;  /* lower bound of the share of common flows that pass one after the other */
	uint32_t distance; /* least difference of TTL; 0: unknown */
};

/*
 * A row of --export datagrams: a received datagram, datagrams that the kernel dropped, or the end
 * of the interval.
 */
struct datagram_row {
	struct in6_addr src, dst;
	int64_t time;     /* arrival, ns since 1970-01-01 UTC */
	uint64_t at;      /* offset of the payload in report_collected.payloads */
	uint64_t row;     /* number in the interval, from 1 */
	uint64_t dropped; /* datagrams that the kernel dropped from the socket before `time` */
	uint32_t len;     /* bytes of payload; 0: not a datagram */
	uint32_t socket;
	uint32_t src_port, dst_port;
	bool addressed; /* src, dst and ports are valid */
	bool last;      /* the collector ends */
};

/* A row of --export sampling. */
#define SAMPLING_MESSAGE_MAX 200
struct sampling_row {
	int64_t time; /* ns since 1970-01-01 UTC */
	struct in6_addr address;
	enum flow_protocol protocol;
	char name[EXPORTER_NAME_MAX];
	uint32_t from, to;           /* sampling intervals */
	const char *reason, *action; /* static words */
	double records;              /* per second, of all domains of the exporter */
	/* Largest distance of a bound from its estimate, in parts of the estimate. */
	double error;
	bool error_known;
	char message[SAMPLING_MESSAGE_MAX]; /* may be from the program that sets the sampling */
};
