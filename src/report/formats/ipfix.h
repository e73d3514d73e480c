/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Encodes epochs as IPFIX messages (RFC 7011). Each measurement is an observation domain, because
 * measurements count the same packets and must not be added up. The domain of totals sends no data
 * records, but the options records of all domains and sums of their packet counts. The sampling
 * rate is 1:1, because counts already include the weights of --overload and of the exporters.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define IPFIX_MESSAGE_MAX      1400 /* bytes; default of ipfix_options.message_max */
#define IPFIX_MESSAGE_MIN      512  /* bytes; less than the minimum MTU of IPv6 */
#define IPFIX_REFRESH_NS       INT64_C(30000000000)
#define IPFIX_REFRESH_MESSAGES 1000

struct ipfix_options {
	bool flows; /* false: send heavy hitters */
	/* TCP: templates are sent once per session, and records are numbered from 0 */
	bool reliable;
	/* ID of the domain of totals; the IDs of the measurements follow */
	uint32_t domain;
	/* Interface indexes of all records. For a key with in_port, `ingress` is that of port 0. */
	uint32_t ingress, egress;
	uint32_t message_max; /* bytes; 0: IPFIX_MESSAGE_MAX */
};

enum ipfix_peer {
	IPFIX_GONE,
	IPFIX_THERE,
	IPFIX_ANEW, /* new session: the receiver has no templates */
};

struct ipfix_sink {
	void *arg;
	int64_t (*now)(void *arg); /* ns since 1970-01-01 UTC */
	enum ipfix_peer (*peer)(void *arg);
	/* Returns false if the message, which has `rows` data records, was not sent. */
	bool (*send)(void *arg, const uint8_t *message, uint32_t len, uint32_t rows);
};

struct ipfix;

/* Returns NULL if out of memory. */
struct ipfix *ipfix_create(const struct ipfix_options *options);
void ipfix_free(struct ipfix *ipfix);

/* Limits further messages to `message_max` bytes. */
void ipfix_limit(struct ipfix *ipfix, uint32_t message_max);

/* Returns true if IPFIX has elements for all fields of the key. Else stores the reason. */
#define IPFIX_WHY_MAX 128
bool ipfix_carries(const struct key_rule *rule, char *why);

uint64_t ipfix_rows(const struct ipfix *ipfix, const struct report_epoch *epoch);

/* Sends the templates, rows and totals of the epoch. Totals include rows that were not sent. */
void ipfix_epoch(
	struct ipfix *ipfix, const struct report_epoch *epoch, const struct ipfix_sink *sink);

/* Adds an epoch that is not sent to the next totals. Any thread may call it. */
void ipfix_miss(struct ipfix *ipfix, const struct report_epoch *epoch);
