/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Counts what a collector cannot read or use, in bounded memory. Single-threaded. */

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/router_names.h"

enum problem {
	PROBLEM_MALFORMED,       /* detail: enum decode_fault */
	PROBLEM_NETFLOW_VERSION, /* detail: the version */
	PROBLEM_SFLOW_VERSION,   /* detail: the version */
	PROBLEM_DTLS,
	PROBLEM_TCP,
	PROBLEM_SCTP,
	PROBLEM_REFUSED,
	PROBLEM_NO_ROOM,
	PROBLEM_NEW_DOMAINS,
	PROBLEM_NO_EXPORT,
	PROBLEM_JUMP, /* jump of a sequence number */
	/* Data sets */
	PROBLEM_NO_TEMPLATE,
	/* Records, in the order of enum decode_skip */
	PROBLEM_NO_ADDRESSES,
	PROBLEM_NO_PACKETS,
	PROBLEM_SECTION,         /* detail: the element */
	PROBLEM_HEADER_PROTOCOL, /* detail: the protocol */
	PROBLEM_HEADER,
	PROBLEM_OFFSET,        /* detail: the element */
	PROBLEM_SAMPLE_FORMAT, /* detail: enterprise << 12 | format */
	PROBLEM_FLOW_FORMAT,   /* detail: enterprise << 12 | format */
	PROBLEM_OTHERS,
	PROBLEM_TOO_LARGE,
	PROBLEM_SUM,
	PROBLEM_NO_PLACE, /* no slot for the original exporter of forwarded records */
	/* Packets of a capture */
	PROBLEM_CUT,
	PROBLEM_BAD_HEADERS,
	PROBLEM_OVERLAPPING,
	PROBLEM_MISSING_FRAGMENTS,
	PROBLEM_COUNT,
};

#define PROBLEM_PLACES     64
#define PROBLEM_UNPROVEN   32 /* entries per kind for senders without readable datagrams */
#define PROBLEM_LINE_BYTES 320

struct problem_source {
	struct in6_addr address; /* :: if the kind is not counted per exporter */
	uint32_t domain;
	uint32_t protocol; /* enum flow_protocol; FLOW_PROTOCOL_COUNT: a sender */
};

struct problem_entry {
	struct problem_source source;
	uint32_t detail;
	uint64_t count, logged;     /* logged: `count` in the last log line; 0: none */
	char name[ROUTER_NAME_MAX]; /* set by the owner; "": not set */
};

struct problems;

size_t problems_memory(void);
/* Returns NULL if out of memory. */
struct problems *problems_create(void);
void problems_destroy(struct problems *problems);

/* Unproven exporters get at most PROBLEM_UNPROVEN entries. Returns NULL if no entry is free. */
struct problem_entry *problems_add(struct problems *problems, enum problem kind,
	const struct problem_source *source, bool proven, uint32_t detail, uint64_t n);

/* Returns true if the line is a warning, false if a notice. */
bool problem_line(
	enum problem kind, const struct problem_entry *entry, char line[PROBLEM_LINE_BYTES]);

/* Passes the lines of new and grown entries to log(). */
void problems_log(struct problems *problems, void (*log)(void *arg, bool warning, const char *line),
	void *arg);
