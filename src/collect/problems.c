/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/problems.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "flow_protocols/flow_protocol.h"

#define FORMAT_BITS 12 /* low bits of an sFlow data_format; the enterprise is above them */

struct problems_kind {
	struct problem_entry entries[PROBLEM_PLACES];
	uint32_t nb;
	uint64_t others, others_logged;
};

struct problems {
	struct problems_kind kinds[PROBLEM_COUNT];
};

/* printed between `what` and `why` */
enum problems_detail {
	DETAIL_NONE,
	DETAIL_NUMBER,
	DETAIL_FAULT,    /* enum decode_fault */
	DETAIL_SECTION,  /* an information element */
	DETAIL_PROTOCOL, /* sFlow's header_protocol */
	DETAIL_FORMAT,   /* sFlow's data_format: enterprise << 12 | format */
};

/* Log line: "exporter NAME: WHAT DETAIL WHY (N UNITs); ADVICE". */
struct kind_text {
	const char *unit, *what, *advice;
	enum problems_detail detail;
	const char *why;
	bool notice;
	bool senders; /* one entry, with the name of the first sender */
};

static const struct kind_text texts[PROBLEM_COUNT] = {
	[PROBLEM_MALFORMED] = {"datagram", "malformed: ", "see malformed in --exporters",
		DETAIL_FAULT},
	[PROBLEM_NETFLOW_VERSION] = {"datagram", "NetFlow v", "export NetFlow v9 or v5, or IPFIX",
		DETAIL_NUMBER, ": not supported"},
	[PROBLEM_SFLOW_VERSION] = {"datagram", "sFlow version ", "export sFlow version 5",
		DETAIL_NUMBER, ": not supported"},
	[PROBLEM_DTLS] = {"datagram", "IPFIX over DTLS: not supported",
		"export without encryption"},
	[PROBLEM_TCP] = {"segment", "IPFIX over TCP: not supported", "export over UDP"},
	[PROBLEM_SCTP] = {"packet", "IPFIX over SCTP: not supported", "export over UDP"},
	[PROBLEM_REFUSED] = {"datagram", "refused: no --exporter allows its address",
		"add --exporter ADDRESS to accept it", .notice = true},
	[PROBLEM_NO_ROOM] = {"datagram", "ignored: more exporters than exporters-max",
		"raise exporters-max"},
	[PROBLEM_NEW_DOMAINS] = {"datagram",
		"ignored: more than 4 new observation domains in one datagram",
		"send one message per datagram"},
	[PROBLEM_NO_EXPORT] = {"datagram", "not a known flow protocol: ignored",
		"send NetFlow v5 or v9, IPFIX or sFlow version 5", .notice = true, .senders = true},
	[PROBLEM_JUMP] = {"datagram", "sequence number jumped: losses at that point are unknown",
		"check that one exporter sends from this address"},
	[PROBLEM_NO_TEMPLATE] = {"data set", "data without a template: not counted",
		"send templates more often, or keep them with --templates FILE"},
	[PROBLEM_NO_ADDRESSES] = {"record", "records without IP addresses: not counted",
		"export the source and destination address"},
	[PROBLEM_NO_PACKETS] = {"record", "records without a packet count: not counted",
		"export a packet count"},
	[PROBLEM_SECTION] = {"record", "records with a packet section (",
		"export addresses, ports and counts", DETAIL_SECTION, "): not supported"},
	[PROBLEM_HEADER_PROTOCOL] = {"sample", "samples of header protocol ",
		"send Ethernet, PPP, MPLS, IPv4 or IPv6", DETAIL_PROTOCOL, ": not supported"},
	[PROBLEM_HEADER] = {"sample",
		"sampled packets with a truncated or malformed header: not counted",
		"sample 128 bytes of each packet"},
	[PROBLEM_OFFSET] = {"record", "records with a packet section (",
		"export packet sections from offset 0", DETAIL_SECTION,
		") that does not start at offset 0: not counted"},
	[PROBLEM_SAMPLE_FORMAT] = {"sample", "samples of format ",
		"send flow and counter samples of sFlow version 5", DETAIL_FORMAT,
		": not supported"},
	[PROBLEM_FLOW_FORMAT] = {"sample", "samples with flow records of format ",
		"send sampled headers", DETAIL_FORMAT, " only: not supported"},
	[PROBLEM_OTHERS] = {"record", "records that are unusable for other reasons: not counted",
		"see unusable in --exporters"},
	[PROBLEM_TOO_LARGE] = {"record", "records with impossible counts: not counted",
		"see unusable in --exporters"},
	[PROBLEM_SUM] = {"record",
		"records above the limit of packets or bytes per exporter and interval: not counted",
		"see unusable in --exporters"},
	[PROBLEM_NO_PLACE] = {"record",
		"forwarded records whose original exporter does not fit in the table: not counted",
		"raise exporters-max if this repeats; one datagram can add only 4 exporters"},
	[PROBLEM_CUT] = {"packet", "packets of the capture are truncated",
		"capture whole packets: tcpdump -s 0"},
	[PROBLEM_BAD_HEADERS] = {"packet", "packets of the capture have contradictory headers",
		"inspect them with tcpdump -v"},
	[PROBLEM_OVERLAPPING] = {"datagram", "fragments of the capture contradict each other",
		"inspect them with tcpdump -v"},
	[PROBLEM_MISSING_FRAGMENTS] = {"datagram", "fragments are missing in the capture",
		"check the capture for losses"},
};

static const struct {
	uint32_t number;
	const char *name;
} sections[] = {
	{104, "layer2packetSectionData"},
	{313, "ipHeaderPacketSection"},
	{314, "ipPayloadPacketSection"},
	{315, "dataLinkFrameSection"},
	{316, "mplsLabelStackSection"},
	{317, "mplsPayloadPacketSection"},
};

/* sflow_version_5.txt, enum header_protocol */
static const char *const header_protocols[] = {"unknown", "Ethernet", "token bus", "token ring",
	"FDDI", "frame relay", "X.25", "PPP", "SMDS", "AAL5", "AAL5-IP", "IPv4", "IPv6", "MPLS",
	"POS", "802.11 MAC", "802.11 AMPDU", "802.11 AMSDU"};

static const char *section_name(uint32_t number)
{
	for (uint32_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (sections[i].number == number)
			return sections[i].name;
	return "element";
}

static void print_detail(enum problems_detail form, uint32_t detail, char *text, size_t size)
{
	const uint32_t known = sizeof(header_protocols) / sizeof(header_protocols[0]);

	text[0] = '\0';
	switch (form) {
	case DETAIL_NONE: break;
	case DETAIL_NUMBER: snprintf(text, size, "%u", detail); break;
	case DETAIL_FAULT: snprintf(text, size, "%s", decode_fault_words[detail]); break;
	case DETAIL_SECTION: snprintf(text, size, "%s, %u", section_name(detail), detail); break;
	case DETAIL_PROTOCOL:
		snprintf(text, size, "%u (%s)", detail,
			header_protocols[detail < known ? detail : 0]);
		break;
	case DETAIL_FORMAT:
		snprintf(text, size, "%u:%u", detail >> FORMAT_BITS,
			detail & ((1U << FORMAT_BITS) - 1));
		break;
	}
}

size_t problems_memory(void)
{
	return sizeof(struct problems);
}

struct problems *problems_create(void)
{
	return calloc(1, sizeof(struct problems));
}

void problems_destroy(struct problems *problems)
{
	free(problems);
}

static bool is_same(
	const struct problem_entry *entry, const struct problem_source *source, uint32_t detail)
{
	return entry->detail == detail && entry->source.domain == source->domain &&
	       entry->source.protocol == source->protocol &&
	       memcmp(&entry->source.address, &source->address, sizeof(source->address)) == 0;
}

struct problem_entry *problems_add(struct problems *problems, enum problem kind,
	const struct problem_source *source, bool proven, uint32_t detail, uint64_t n)
{
	struct problems_kind *of = &problems->kinds[kind];
	struct problem_entry *entry;

	for (uint32_t i = 0; i < of->nb; i++)
		if (is_same(&of->entries[i], source, detail)) {
			of->entries[i].count += n;
			return &of->entries[i];
		}
	if (of->nb >= (proven ? PROBLEM_PLACES : PROBLEM_UNPROVEN)) {
		of->others += n;
		return NULL;
	}
	VERIFY(of->nb, <, PROBLEM_PLACES);
	entry = &of->entries[of->nb++];
	*entry = (struct problem_entry){.source = *source, .detail = detail, .count = n};
	return entry;
}

static void print_line(const struct kind_text *text, const char *prefix, const char *detail,
	uint64_t count, const char *first, char line[PROBLEM_LINE_BYTES])
{
	snprintf(line, PROBLEM_LINE_BYTES, "%s%s%s%s (%" PRIu64 " %s%s%s%s); %s", prefix,
		text->what, detail, text->why != NULL ? text->why : "", count, text->unit,
		count == 1 ? "" : "s", first[0] != '\0' ? ", first from " : "", first,
		text->advice);
}

bool problem_line(
	enum problem kind, const struct problem_entry *entry, char line[PROBLEM_LINE_BYTES])
{
	const struct kind_text *text = &texts[kind];
	char prefix[sizeof("exporter : ") + ROUTER_NAME_MAX] = "", detail[96];

	if (entry->name[0] != '\0' && !text->senders)
		snprintf(prefix, sizeof(prefix), "exporter %s: ", entry->name);
	print_detail(text->detail, entry->detail, detail, sizeof(detail));
	print_line(text, prefix, detail, entry->count, text->senders ? entry->name : "", line);
	return !text->notice;
}

static bool others_line(enum problem kind, uint64_t count, char line[PROBLEM_LINE_BYTES])
{
	static const char *const details[] = {
		[DETAIL_NONE] = "",
		[DETAIL_NUMBER] = " of any number",
		[DETAIL_FAULT] = "for various reasons",
		[DETAIL_SECTION] = "any",
		[DETAIL_PROTOCOL] = "of any number",
		[DETAIL_FORMAT] = "of any number",
	};
	const struct kind_text *text = &texts[kind];

	print_line(text, "other exporters: ", details[text->detail], count, "", line);
	return !text->notice;
}

void problems_log(struct problems *problems, void (*log)(void *arg, bool warning, const char *line),
	void *arg)
{
	char line[PROBLEM_LINE_BYTES];

	for (uint32_t kind = 0; kind < PROBLEM_COUNT; kind++) {
		struct problems_kind *of = &problems->kinds[kind];

		for (uint32_t i = 0; i < of->nb; i++) {
			struct problem_entry *entry = &of->entries[i];
			bool warning;

			if (entry->count == entry->logged)
				continue;
			entry->logged = entry->count;
			warning = problem_line((enum problem)kind, entry, line);
			log(arg, warning, line);
		}
		if (of->others == of->others_logged)
			continue;
		of->others_logged = of->others;
		log(arg, others_line((enum problem)kind, of->others, line), line);
	}
}
