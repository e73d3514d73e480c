/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Encodes epochs as IPFIX messages (RFC 7011). The caller supplies the clock and sends the messages
 * (struct ipfix_sink).
 *
 * Each measurement is an observation domain of its own: measurements count the same packets, so a
 * collector must not add up their records. A domain has its own sequence numbers and templates. A
 * template is created when a record first needs it. Once per session each domain sends an options
 * record with its name and a sampling rate of 1:1.
 *
 * An extra domain, the domain of totals, sends no data records. It sends the options records of all
 * domains, and after each epoch the sums of the ledger of each measurement.
 *
 * The sampling rate is always 1:1, because counts already include the weights of --overload and of
 * the exporters. A collector must not multiply them again.
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
	bool flows; /* true: send flow records; false: send heavy hitters */
	/* true for TCP: templates are sent once per session, and records are numbered from 0 */
	bool reliable;
	/* ID of the domain of totals; the IDs of the measurements follow */
	uint32_t domain;
	/*
	 * Interface indexes of all records. If the key has in_port, `ingress` is the interface
	 * index of port 0.
	 */
	uint32_t ingress, egress;
	uint32_t message_max; /* bytes; 0: IPFIX_MESSAGE_MAX */
};

enum ipfix_peer {
	IPFIX_GONE,
	IPFIX_THERE,
	IPFIX_ANEW, /* the session is new: the receiver has no templates */
};

/* Receiver of messages. */
struct ipfix_sink {
	void *arg;
	int64_t (*now)(void *arg); /* ns since 1970-01-01 UTC */
	enum ipfix_peer (*peer)(void *arg);
	/* Sends a message with `rows` data records. Returns false if it was not sent. */
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

/*
 * Sends the templates, rows and totals of the epoch. The totals also count rows that could not be
 * sent.
 */
void ipfix_epoch(
	struct ipfix *ipfix, const struct report_epoch *epoch, const struct ipfix_sink *sink);

/* Counts an epoch that is not sent. Its rows and ledger are part of the next totals. Any thread. */
void ipfix_miss(struct ipfix *ipfix, const struct report_epoch *epoch);
