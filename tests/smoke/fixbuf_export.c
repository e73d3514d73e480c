/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * fixbuf_export PORT N: sends N IPFIX records of each of three templates to 127.0.0.1 with
 * libfixbuf: IPv4 with a leading name and counters of 3 and 5 bytes; IPv6 with a name longer than
 * 255 bytes; and the number of the first template redefined with other fields. Record i has i + 1
 * packets of 100 bytes.
 */

#include <arpa/inet.h>
#include <fixbuf/public.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fixbuf_row {
	uint32_t src, dst;
	uint8_t src6[16], dst6[16];
	uint64_t packets, bytes;
	fbVarfield_t name;
	uint16_t src_port, dst_port;
	uint8_t proto, padding[3];
};

static fbInfoElementSpec_t inside[] = {{"sourceIPv4Address", 4, 0},
	{"destinationIPv4Address", 4, 0}, {"sourceIPv6Address", 16, 0},
	{"destinationIPv6Address", 16, 0}, {"packetDeltaCount", 8, 0}, {"octetDeltaCount", 8, 0},
	{"interfaceName", FB_IE_VARLEN, 0}, {"sourceTransportPort", 2, 0},
	{"destinationTransportPort", 2, 0}, {"protocolIdentifier", 1, 0}, {"paddingOctets", 3, 0},
	FB_IESPEC_NULL};
static fbInfoElementSpec_t named[] = {{"interfaceName", FB_IE_VARLEN, 0},
	{"sourceIPv4Address", 4, 0}, {"destinationIPv4Address", 4, 0}, {"packetDeltaCount", 3, 0},
	{"octetDeltaCount", 5, 0}, {"sourceTransportPort", 2, 0},
	{"destinationTransportPort", 2, 0}, {"protocolIdentifier", 1, 0}, FB_IESPEC_NULL};
static fbInfoElementSpec_t ipv6[] = {{"sourceIPv6Address", 16, 0},
	{"destinationIPv6Address", 16, 0}, {"interfaceName", FB_IE_VARLEN, 0},
	{"protocolIdentifier", 1, 0}, {"sourceTransportPort", 2, 0},
	{"destinationTransportPort", 2, 0}, {"octetDeltaCount", 8, 0}, {"packetDeltaCount", 8, 0},
	FB_IESPEC_NULL};
static fbInfoElementSpec_t other[] = {{"octetDeltaCount", 8, 0}, {"destinationIPv4Address", 4, 0},
	{"sourceIPv4Address", 4, 0}, {"protocolIdentifier", 1, 0}, {"sourceTransportPort", 2, 0},
	{"destinationTransportPort", 2, 0}, {"packetDeltaCount", 2, 0}, FB_IESPEC_NULL};

static GError *error;

static void must(int done)
{
	if (done)
		return;
	fprintf(stderr, "%s\n", error != NULL ? error->message : "no memory");
	exit(1);
}

static void add(fbSession_t *session, gboolean internal, uint16_t id, fbInfoElementSpec_t *spec)
{
	fbTemplate_t *made = fbTemplateAlloc(fbSessionGetInfoModel(session));

	must(fbTemplateAppendSpecArray(made, spec, UINT32_MAX, &error));
	must(fbSessionAddTemplate(session, internal, id, made, &error) != 0);
}

static void send_records(fBuf_t *buffer, uint16_t id, uint32_t phase, uint32_t n)
{
	static uint8_t name[300];
	struct fixbuf_row record = {.proto = 17, .dst_port = 443};

	memset(name, 'n', sizeof(name));
	must(fBufSetExportTemplate(buffer, id, &error));
	for (uint32_t i = 0; i < n; i++) {
		record.src = 0x0a000000 + (phase << 16);
		record.dst = 0xc0000201;
		record.src6[0] = record.dst6[0] = 0x20;
		record.src6[1] = record.dst6[1] = record.dst6[15] = 1;
		record.src_port = (uint16_t)i;
		record.packets = i + 1;
		record.bytes = record.packets * 100;
		record.name =
			(fbVarfield_t){.buf = name, .len = phase == 1 ? 256 + i % 40 : i % 20};
		must(fBufAppend(buffer, (uint8_t *)&record, sizeof(record), &error));
	}
	must(fBufEmit(buffer, &error));
}

int main(int argc, char **argv)
{
	fbConnSpec_t to = {.transport = FB_UDP, .host = "127.0.0.1"};
	fbSession_t *session = fbSessionAlloc(fbInfoModelAlloc());
	uint32_t n;
	fBuf_t *buffer;

	if (argc != 3)
		return 2;
	to.svc = argv[1];
	n = (uint32_t)atoi(argv[2]);
	add(session, TRUE, 400, inside);
	add(session, FALSE, 256, named);
	add(session, FALSE, 257, ipv6);
	buffer = fBufAllocForExport(session, fbExporterAllocNet(&to));
	fBufSetAutomaticMode(buffer, TRUE);
	must(fbSessionExportTemplates(session, &error));
	must(fBufSetInternalTemplate(buffer, 400, &error));
	send_records(buffer, 256, 0, n);
	send_records(buffer, 257, 1, n);
	add(session, FALSE, 256, other);
	must(fbSessionExportTemplate(session, 256, &error));
	send_records(buffer, 256, 2, n);
	fBufFree(buffer);
	return 0;
}
