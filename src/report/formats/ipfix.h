/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Epochs as messages of IPFIX (RFC 7011). No clock and no socket: who sends is told the messages,
 * one by one, and says what time it is.
 *
 * Every measurement is an observation domain of its own: its records tell of packets that those of
 * another measurement tell of, too, and nobody is to add them up. Each has its templates, made as
 * records need them, its sequence number, and once a session a record of options: who it is and that
 * its counts are of all packets. A further domain has nothing but options: that again, with its
 * templates, and behind each epoch the totals of each measurement's ledger.
 *
 * Counts are those of the epoch with the weights of --overload or of exporters in them, so the rate
 * that is said is always 1:1: who multiplies by it must not do so a second time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "report/rows/report.h"

#define IPFIX_MESSAGE_MAX      1400 /* bytes; default */
#define IPFIX_MESSAGE_MIN      512  /* IPv4 and IPv6 take more than that everywhere */
#define IPFIX_REFRESH_NS       INT64_C(30000000000)
#define IPFIX_REFRESH_MESSAGES 1000

struct ipfix_options {
	bool flows;               /* records of flow tables; else heavy hitters */
	bool reliable;            /* TCP: templates are sent once, and a session begins at 0 */
	uint32_t domain;          /* domain of totals; measurements have the following ones */
	uint32_t ingress, egress; /* interfaces; with in_port in the key, that of port 0 */
	uint32_t message_max;     /* bytes; 0: IPFIX_MESSAGE_MAX */
};

enum ipfix_peer {
	IPFIX_GONE,
	IPFIX_THERE,
	IPFIX_ANEW, /* since the last message: it knows no template */
};

/* Receiver of messages. */
struct ipfix_sink {
	void *arg;
	int64_t (*now)(void *arg); /* ns since 1970-01-01 UTC */
	enum ipfix_peer (*peer)(void *arg);
	/* A message, and how many rows are in it. False: it was not sent. */
	bool (*send)(void *arg, const uint8_t *message, uint32_t len, uint32_t rows);
};

struct ipfix;

/* NULL where memory is missing. */
struct ipfix *ipfix_create(const struct ipfix_options *options);
void ipfix_free(struct ipfix *ipfix);

/* Limits further messages to `message_max` bytes. */
void ipfix_limit(struct ipfix *ipfix, uint32_t message_max);

/* Returns true if IPFIX has elements for the rule's keys; else stores the field that has none. */
#define IPFIX_WHY_MAX 128
bool ipfix_carries(const struct key_rule *rule, char *why);

/* The rows of an epoch that ipfix_epoch() sends. */
uint64_t ipfix_rows(const struct ipfix *ipfix, const struct report_epoch *epoch);

/* Sends the epoch, templates and totals. The next totals include what was not sent. */
void ipfix_epoch(
	struct ipfix *ipfix, const struct report_epoch *epoch, const struct ipfix_sink *sink);

/* Any thread: an epoch that will not come. Its rows and its ledger are in the totals of the next. */
void ipfix_miss(struct ipfix *ipfix, const struct report_epoch *epoch);
