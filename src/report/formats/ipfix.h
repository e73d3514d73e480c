/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Encodes epochs as IPFIX messages (RFC 7011). The caller supplies the clock and sends the messages
 * (struct ipfix_sink).
 *
 * Each measurement is an observation domain: measurements count the same packets, so a collector
 * must not add up their records. A domain has its own sequence number and its own templates,
 * created when a record first needs them. Once per session it sends an options record with its name
 * and a sampling rate of 1:1. An extra domain for totals sends only options records: the same
 * record for every domain, and after each epoch the ledger totals of each measurement.
 *
 * Counts already include the weights of --overload and of exporters. The sampling rate is therefore
 * always 1:1, so that a collector does not scale them again.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define IPFIX_MESSAGE_MAX      1400 /* bytes; default of ipfix_options.message_max */
#define IPFIX_MESSAGE_MIN      512  /* bytes; below the minimum MTU of IPv6 */
#define IPFIX_REFRESH_NS       INT64_C(30000000000)
#define IPFIX_REFRESH_MESSAGES 1000

struct ipfix_options {
	bool flows;               /* records of flow tables; false: heavy hitters */
	bool reliable;            /* TCP: templates once per session, sequence from 0 */
	uint32_t domain;          /* domain of totals; those of measurements follow */
	uint32_t ingress, egress; /* interfaces; with in_port in the key: ingress of port 0 */
	uint32_t message_max;     /* bytes; 0: IPFIX_MESSAGE_MAX */
};

enum ipfix_peer {
	IPFIX_GONE,
	IPFIX_THERE,
	IPFIX_ANEW, /* reconnected since the last message: has no templates */
};

/* Receiver of messages. */
struct ipfix_sink {
	void *arg;
	int64_t (*now)(void *arg); /* ns since 1970-01-01 UTC */
	enum ipfix_peer (*peer)(void *arg);
	/* Sends a message that contains `rows` rows. Returns false if it was not sent. */
	bool (*send)(void *arg, const uint8_t *message, uint32_t len, uint32_t rows);
};

struct ipfix;

/* Returns NULL if out of memory. */
struct ipfix *ipfix_create(const struct ipfix_options *options);
void ipfix_free(struct ipfix *ipfix);

/* Limits further messages to `message_max` bytes. */
void ipfix_limit(struct ipfix *ipfix, uint32_t message_max);

/*
 * Returns true if IPFIX has information elements for all fields of the key. Otherwise stores the
 * reason in `why`.
 */
#define IPFIX_WHY_MAX 128
bool ipfix_carries(const struct key_rule *rule, char *why);

/* Returns the number of rows that ipfix_epoch() sends for the epoch. */
uint64_t ipfix_rows(const struct ipfix *ipfix, const struct report_epoch *epoch);

/* Sends the templates, rows and totals of the epoch. Totals also count rows that were not sent. */
void ipfix_epoch(
	struct ipfix *ipfix, const struct report_epoch *epoch, const struct ipfix_sink *sink);

/* Counts an epoch that is not sent: the next totals include its rows and ledger. Any thread. */
void ipfix_miss(struct ipfix *ipfix, const struct report_epoch *epoch);
