/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the collector says of an epoch beside the measurements: rows of --exporters, --export paths and
 * --export links. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/router_names.h"
#include "flow_protocols/flow_protocol.h"
#include "key/key.h"

#define EXPORTER_NAME_MAX  ROUTER_NAME_MAX
#define INTERFACE_NAME_MAX 48

/* What the records of a domain became, counted by those who count them. */
struct record_counts {
	uint64_t counted, duplicate; /* records that brought packets, or none */
	uint64_t edge_only;          /* of both: decided by the edge rule, for want of room */
};

enum sampling_source {
	SAMPLING_NONE, /* nothing says that packets are sampled: all are counted */
	SAMPLING_SAMPLE,
	SAMPLING_HEADER,
	SAMPLING_OPTIONS,
	SAMPLING_RECORD,
	SAMPLING_CONFIGURED,
	SAMPLING_SOURCE_COUNT,
};

extern const char *const sampling_source_words[SAMPLING_SOURCE_COUNT];

/* One domain of an exporter in one epoch. docs/COLLECTOR.md has every column. */
struct exporter_row {
	struct in6_addr address; /* sFlow: the agent's */
	uint32_t slot;
	uint32_t domain;
	enum flow_protocol protocol;
	bool others; /* what has no row of its own: refused, no exports, beyond exporters-max */
	bool sender; /* datagrams whose header cannot be read: no domain, no protocol, no slot */
	char name[EXPORTER_NAME_MAX]; /* "": none */
	uint64_t datagrams, bytes;
	/* Decoded, without those that --filter leaves out: counted + duplicate + unusable + what
	 * rings had no room for. */
	uint64_t records;
	struct record_counts counts;
	uint64_t waiting;          /* data sets that wait for their template at the epoch's end */
	uint64_t unknown_template; /* data sets that were given up */
	uint64_t unusable;  /* records that bring no packets or no key, or more than can be */
	uint64_t malformed; /* datagrams that could not be decoded, or not to their end */
	uint64_t refused;   /* datagrams that --exporter does not allow */
	uint64_t shed;      /* datagrams for which there was no room */
	uint64_t lost_network, lost_socket; /* datagrams, from sequence numbers */
	uint64_t reordered, repeated, restarts;
	uint32_t templates;
	uint32_t sampling; /* the coarsest interval of the epoch's records; 0: there were none */
	enum sampling_source sampling_source;
	uint64_t lost_agent; /* samples, packets or flows, by what the exporter reports of itself */
};

enum link_direction {
	LINK_IN,
	LINK_OUT,
	LINK_NEITHER, /* records name no interface */
};

/* One direction of an exporter's interface in one epoch. */
struct link_row {
	struct in6_addr address;
	uint32_t domain;
	char exporter[EXPORTER_NAME_MAX];
	uint32_t interface;
	bool has_interface; /* false: records name none */
	char name[INTERFACE_NAME_MAX];
	enum link_direction direction;
	uint64_t packets, bytes; /* by records, times their sampling */
	uint64_t speed;          /* bits per second; 0: unknown */
	/* By the interface's own counters (sFlow), over `counted_ns` of the epoch; 0 ns: none. */
	uint64_t counter_packets, counter_bytes;
	uint64_t counted_ns;
};

#define PATH_HOPS_MAX 32

struct path_hop {
	uint32_t exporter; /* slot */
	uint32_t input, output;
};

/* Where a flow went, as far as observers told. */
struct path_row {
	struct key key;     /* the 5-tuple */
	bool ordered;       /* false: some hops stand by time of first sight alone */
	bool changed;       /* another path than before */
	uint32_t observers; /* that reported it in the epoch */
	uint32_t nb_hops;
	uint64_t packets, bytes;
	struct path_hop hops[PATH_HOPS_MAX]; /* in order, the ingress first; the last member */
};
