/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/fixbuf.h"

#include <stdio.h>
#include <stdlib.h>

#ifdef HAVE_FIXBUF

#include <fixbuf/public.h>

/* Fields of a flow record that sketchtap reads. */
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
	fBuf_t *buffer; /* owns the session and the templates */
};

const char *fixbuf_version(void)
{
	return HAVE_FIXBUF;
}

#define INTERNAL_TEMPLATE 999

/* libfixbuf warns because messages are repeated, so that their sequence numbers are wrong. */
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
		failure != NULL ? failure->message : "out of memory");
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

static bool read_message(struct fixbuf *fixbuf, struct collect_bench_counts *counts)
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
	struct fixbuf *fixbuf, const struct exported *exported, struct collect_bench_counts *counts)
{
	for (uint32_t d = 0; d < exported->n; d++) {
		const struct exported_datagram *datagram = &exported->datagrams[d];

		fBufSetBuffer(fixbuf->buffer, exported->bytes + datagram->at, datagram->len);
		if (!read_message(fixbuf, counts))
			return false;
	}
	return true;
}

#define EXTERNAL_TEMPLATE 258
#define MESSAGE_MAX       1400 /* bytes, same as in the encoder of sketchtap */

struct fixbuf_flow {
	uint64_t packets, ip_bytes, bytes, first, last;
	uint32_t src, dst, ingress, egress, sampling;
	uint16_t src_port, dst_port;
	uint8_t proto, tcp_flags, end, padding[5];
};

static fbInfoElementSpec_t flow_fields[] = {
	{(char *)(uintptr_t) "packetDeltaCount", 8, 0},
	{(char *)(uintptr_t) "octetDeltaCount", 8, 0},
	{(char *)(uintptr_t) "layer2OctetDeltaCount", 8, 0},
	{(char *)(uintptr_t) "flowStartMilliseconds", 8, 0},
	{(char *)(uintptr_t) "flowEndMilliseconds", 8, 0},
	{(char *)(uintptr_t) "sourceIPv4Address", 4, 0},
	{(char *)(uintptr_t) "destinationIPv4Address", 4, 0},
	{(char *)(uintptr_t) "ingressInterface", 4, 0},
	{(char *)(uintptr_t) "egressInterface", 4, 0},
	{(char *)(uintptr_t) "samplingInterval", 4, 0},
	{(char *)(uintptr_t) "sourceTransportPort", 2, 0},
	{(char *)(uintptr_t) "destinationTransportPort", 2, 0},
	{(char *)(uintptr_t) "protocolIdentifier", 1, 0},
	{(char *)(uintptr_t) "tcpControlBits", 1, 0},
	{(char *)(uintptr_t) "flowEndReason", 1, 0},
	{(char *)(uintptr_t) "paddingOctets", 5, 1},
	FB_IESPEC_NULL,
};

struct fixbuf_writer {
	fbInfoModel_t *model;
	fBuf_t *buffer;
	uint8_t message[MESSAGE_MAX];
};

static bool add_flow_template(
	fbSession_t *session, gboolean internal, uint16_t id, GError **failure)
{
	fbTemplate_t *template = fbTemplateAlloc(fbSessionGetInfoModel(session));

	/* leaves out the padding of the structure */
	return fbTemplateAppendSpecArray(
		       template, flow_fields, internal ? UINT32_MAX : 0, failure) &&
	       fbSessionAddTemplate(session, internal, id, template, failure) != 0;
}

static bool create_writer(struct fixbuf_writer *writer, GError **failure)
{
	fbSession_t *session;

	writer->model = fbInfoModelAlloc();
	session = fbSessionAlloc(writer->model);
	if (!add_flow_template(session, TRUE, INTERNAL_TEMPLATE, failure) ||
		!add_flow_template(session, FALSE, EXTERNAL_TEMPLATE, failure))
		return false;
	writer->buffer = fBufAllocForExport(
		session, fbExporterAllocBuffer(writer->message, sizeof(writer->message)));
	fBufSetAutomaticMode(writer->buffer, TRUE);
	return fbSessionExportTemplates(session, failure) &&
	       fBufSetInternalTemplate(writer->buffer, INTERNAL_TEMPLATE, failure) &&
	       fBufSetExportTemplate(writer->buffer, EXTERNAL_TEMPLATE, failure);
}

struct fixbuf_writer *fixbuf_writer_create(char *error)
{
	struct fixbuf_writer *writer = calloc(1, sizeof(*writer));
	GError *failure = NULL;

	if (writer != NULL && create_writer(writer, &failure))
		return writer;
	snprintf(error, FIXBUF_ERROR_MAX, "libfixbuf: %s",
		failure != NULL ? failure->message : "out of memory");
	g_clear_error(&failure);
	if (writer != NULL)
		fixbuf_writer_destroy(writer);
	return NULL;
}

void fixbuf_writer_destroy(struct fixbuf_writer *writer)
{
	if (writer->buffer != NULL)
		fBufFree(writer->buffer);
	fbInfoModelFree(writer->model);
	free(writer);
}

static uint64_t read_big(const uint8_t *bytes, uint32_t n)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < n; i++)
		value = value << 8 | bytes[i];
	return value;
}

bool fixbuf_write(struct fixbuf_writer *writer, const struct report_flow *flows, size_t n)
{
	struct fixbuf_flow record = {.ingress = 1, .sampling = 1};
	GError *failure = NULL; /* fBufAppend() sends a full message by itself */

	for (size_t f = 0; f < n; f++) {
		const struct report_flow *flow = &flows[f];
		const struct key4 *key = &flow->key.v4;

		record.packets = flow->packets;
		record.ip_bytes = flow->ip_bytes;
		record.bytes = flow->bytes;
		record.first = (uint64_t)flow->first / 1000000;
		record.last = (uint64_t)flow->last / 1000000;
		record.src = (uint32_t)read_big(key->src_ip, 4);
		record.dst = (uint32_t)read_big(key->dst_ip, 4);
		record.src_port = (uint16_t)read_big(key->src_port, 2);
		record.dst_port = (uint16_t)read_big(key->dst_port, 2);
		record.proto = key->proto;
		record.tcp_flags = flow->tcp_flags;
		record.end = (uint8_t)(1u << flow->end);
		if (!fBufAppend(writer->buffer, (uint8_t *)&record, sizeof(record), &failure))
			break;
	}
	if (failure == NULL)
		(void)fBufEmit(writer->buffer, &failure);
	if (failure == NULL)
		return true;
	g_clear_error(&failure);
	return false;
}

#else

const char *fixbuf_version(void)
{
	return NULL;
}

struct fixbuf *fixbuf_create(char *error)
{
	snprintf(error, FIXBUF_ERROR_MAX, "built without libfixbuf");
	return NULL;
}

void fixbuf_destroy(struct fixbuf *fixbuf)
{
	free(fixbuf);
}

bool fixbuf_run(
	struct fixbuf *fixbuf, const struct exported *exported, struct collect_bench_counts *counts)
{
	(void)fixbuf;
	(void)exported;
	(void)counts;
	return false;
}

struct fixbuf_writer *fixbuf_writer_create(char *error)
{
	(void)fixbuf_create(error);
	return NULL;
}

void fixbuf_writer_destroy(struct fixbuf_writer *writer)
{
	free(writer);
}

bool fixbuf_write(struct fixbuf_writer *writer, const struct report_flow *flows, size_t n)
{
	(void)writer;
	(void)flows;
	(void)n;
	return false;
}

#endif
