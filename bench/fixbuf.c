/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/fixbuf.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_FIXBUF

#include <fixbuf/public.h>

/* What our decoder takes of a record. */
struct fixbuf_record {
	uint32_t src, dst, next_hop, input, output;
	uint16_t src_port, dst_port;
	uint8_t proto, tos, tcp_flags, direction, padding[4];
	uint64_t packets, bytes;
};

static fbInfoElementSpec_t fields[] = {
	{(char *)(uintptr_t) "sourceIPv4Address", 4, 0},
	{(char *)(uintptr_t) "destinationIPv4Address", 4, 0},
	{(char *)(uintptr_t) "ipNextHopIPv4Address", 4, 0},
	{(char *)(uintptr_t) "ingressInterface", 4, 0},
	{(char *)(uintptr_t) "egressInterface", 4, 0},
	{(char *)(uintptr_t) "sourceTransportPort", 2, 0},
	{(char *)(uintptr_t) "destinationTransportPort", 2, 0},
	{(char *)(uintptr_t) "protocolIdentifier", 1, 0},
	{(char *)(uintptr_t) "ipClassOfService", 1, 0},
	{(char *)(uintptr_t) "tcpControlBits", 1, 0},
	{(char *)(uintptr_t) "flowDirection", 1, 0},
	{(char *)(uintptr_t) "paddingOctets", 4, 1},
	{(char *)(uintptr_t) "packetDeltaCount", 8, 0},
	{(char *)(uintptr_t) "octetDeltaCount", 8, 0},
	FB_IESPEC_NULL,
};

struct fixbuf {
	fbInfoModel_t *model;
	fBuf_t *buffer; /* has the session, which has the template */
};

const char *fixbuf_version(void)
{
	return HAVE_FIXBUF;
}

#define INTERNAL_TEMPLATE 999

/* The same messages come again and again: their sequence is not what it expects. */
static void stay_silent(const char *domain, GLogLevelFlags level, const char *text, void *arg)
{
	(void)domain;
	(void)level;
	(void)text;
	(void)arg;
}

static bool create(struct fixbuf *fixbuf, GError **failure)
{
	fbSession_t *session;
	fbTemplate_t *template;

	g_log_set_default_handler(stay_silent, NULL);
	fixbuf->model = fbInfoModelAlloc();
	session = fbSessionAlloc(fixbuf->model);
	template = fbTemplateAlloc(fixbuf->model);
	if (!fbTemplateAppendSpecArray(template, fields, UINT32_MAX, failure) ||
		!fbSessionAddTemplate(session, TRUE, INTERNAL_TEMPLATE, template, failure))
		return false;
	fixbuf->buffer = fBufAllocForCollection(session, NULL);
	fBufSetAutomaticMode(fixbuf->buffer, FALSE);
	return fBufSetInternalTemplate(fixbuf->buffer, INTERNAL_TEMPLATE, failure);
}

struct fixbuf *fixbuf_create(char *error)
{
	struct fixbuf *fixbuf = calloc(1, sizeof(*fixbuf));
	GError *failure = NULL;

	if (fixbuf != NULL && create(fixbuf, &failure))
		return fixbuf;
	snprintf(error, FIXBUF_ERROR_MAX, "libfixbuf: %s",
		failure != NULL ? failure->message : "no memory");
	g_clear_error(&failure);
	if (fixbuf != NULL)
		fixbuf_destroy(fixbuf);
	return NULL;
}

void fixbuf_destroy(struct fixbuf *fixbuf)
{
	if (fixbuf->buffer != NULL)
		fBufFree(fixbuf->buffer);
	fbInfoModelFree(fixbuf->model);
	free(fixbuf);
}

/* The whole of one message. */
static bool read_message(struct fixbuf *fixbuf, struct collecting_counts *counts)
{
	struct fixbuf_record record;
	size_t len = sizeof(record);
	GError *failure = NULL;
	bool whole;

	while (fBufNext(fixbuf->buffer, (uint8_t *)&record, &len, &failure)) {
		counts->records++;
		counts->packets += record.packets;
		counts->bytes += record.bytes;
		len = sizeof(record);
	}
	whole = g_error_matches(failure, FB_ERROR_DOMAIN, FB_ERROR_EOM) ||
		g_error_matches(failure, FB_ERROR_DOMAIN, FB_ERROR_BUFSZ);
	g_clear_error(&failure);
	return whole;
}

bool fixbuf_run(
	struct fixbuf *fixbuf, const struct exported *exported, struct collecting_counts *counts)
{
	for (uint32_t d = 0; d < exported->n; d++) {
		const struct exported_datagram *datagram = &exported->datagrams[d];

		fBufSetBuffer(fixbuf->buffer, exported->bytes + datagram->at, datagram->len);
		if (!read_message(fixbuf, counts))
			return false;
	}
	return true;
}

#else

const char *fixbuf_version(void)
{
	return NULL;
}

struct fixbuf *fixbuf_create(char *error)
{
	snprintf(error, FIXBUF_ERROR_MAX, "libfixbuf was not there when this was built");
	return NULL;
}

void fixbuf_destroy(struct fixbuf *fixbuf)
{
	free(fixbuf);
}

bool fixbuf_run(
	struct fixbuf *fixbuf, const struct exported *exported, struct collecting_counts *counts)
{
	(void)fixbuf;
	(void)exported;
	(void)counts;
	return false;
}

#endif
