/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fixbuf_read PORT: reads IPFIX with libfixbuf from a TCP connection to 127.0.0.1, and prints a CSV
 * line per record: addresses, ports, protocol, packets, octets, start, end, flags. Reports unknown
 * data and gaps in the sequence on standard error.
 */

#include <arpa/inet.h>
#include <fixbuf/public.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct fixbuf_row {
	uint8_t src6[16], dst6[16];
	uint32_t src, dst; /* in host byte order */
	uint64_t packets, octets, start, end;
	uint16_t src_port, dst_port;
	uint8_t proto, flags, padding[2];
};

static fbInfoElementSpec_t fields[] = {{"sourceIPv6Address", 16, 0},
	{"destinationIPv6Address", 16, 0}, {"sourceIPv4Address", 4, 0},
	{"destinationIPv4Address", 4, 0}, {"packetDeltaCount", 8, 0}, {"octetDeltaCount", 8, 0},
	{"flowStartMilliseconds", 8, 0}, {"flowEndMilliseconds", 8, 0},
	{"sourceTransportPort", 2, 0}, {"destinationTransportPort", 2, 0},
	{"protocolIdentifier", 1, 0}, {"tcpControlBits", 1, 0}, {"paddingOctets", 2, 0},
	FB_IESPEC_NULL};

static void print(const struct fixbuf_row *record, bool ipv4)
{
	const uint32_t ends[] = {htonl(record->src), htonl(record->dst)};
	char src[INET6_ADDRSTRLEN], dst[INET6_ADDRSTRLEN];

	if (ipv4) {
		inet_ntop(AF_INET, &ends[0], src, sizeof(src));
		inet_ntop(AF_INET, &ends[1], dst, sizeof(dst));
	} else {
		inet_ntop(AF_INET6, record->src6, src, sizeof(src));
		inet_ntop(AF_INET6, record->dst6, dst, sizeof(dst));
	}
	printf("%s,%s,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%u\n", src, dst,
		record->src_port, record->dst_port, record->proto, record->packets, record->octets,
		record->start, record->end, record->flags);
}

int main(int argc, char **argv)
{
	fbConnSpec_t on = {.transport = FB_TCP, .host = "127.0.0.1", .svc = argv[argc - 1]};
	fbInfoModel_t *model = fbInfoModelAlloc();
	fbSession_t *session = fbSessionAlloc(model);
	fbTemplate_t *template = fbTemplateAlloc(model), *read = NULL;
	fbListener_t *listener;
	GError *error = NULL;
	struct fixbuf_row record;
	size_t len = sizeof(record);
	fBuf_t *buffer;

	if (!fbTemplateAppendSpecArray(template, fields, UINT32_MAX, &error) ||
		!fbSessionAddTemplate(session, TRUE, 999, template, &error) ||
		(listener = fbListenerAlloc(&on, session, NULL, NULL, &error)) == NULL)
		return 1;
	fprintf(stderr, "listens\n");
	buffer = fbListenerWait(listener, &error);
	if (buffer == NULL || !fBufSetInternalTemplate(buffer, 999, &error))
		return 1;
	while ((read = fBufNextCollectionTemplate(buffer, NULL, &error)) != NULL &&
		fBufNext(buffer, (uint8_t *)&record, &len, &error)) {
		if (fbTemplateGetOptionsScope(read) == 0)
			print(&record, fbTemplateContainsElementByName(read, &fields[2]));
		len = sizeof(record);
	}
	fprintf(stderr, "%s\n", error != NULL ? error->message : "no more");
	return !g_error_matches(error, FB_ERROR_DOMAIN, FB_ERROR_EOF);
}
