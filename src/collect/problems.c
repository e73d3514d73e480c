/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/problems.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "flow_protocols/flow_protocol.h"

#define FORMAT_BITS 12 /* low bits of a data_format: format; high bits: enterprise */

struct problems_kind {
	struct problem_entry entries[PROBLEM_PLACES];
	uint32_t nb;
	uint64_t others, others_logged;
};

struct problems {
	struct problems_kind kinds[PROBLEM_COUNT];
};

/* Format of a detail, printed between `what` and `why`. */
enum problems_detail {
	DETAIL_NONE,
	DETAIL_NUMBER,
	DETAIL_FAULT,    /* enum decode_fault */
	DETAIL_SECTION,  /* an information element */
	DETAIL_PROTOCOL, /* sFlow's header_protocol */
	DETAIL_FORMAT,   /* sFlow's data_format: enterprise << 12 | format */
};

/* A line: "exporter NAME: WHAT DETAIL WHY (N UNITs); ADVICE". */
struct kind_text {
	const char *what;
	enum problems_detail detail;
	const char *why, *unit, *advice;
	bool notice;  /* nothing is lost */
	bool senders; /* one entry, with the name of the first sender */
};

static const struct kind_text texts[PROBLEM_COUNT] = {
	[PROBLEM_MALFORMED] = {.what = "malformed: ",
		.detail = DETAIL_FAULT,
		.why = "",
		.unit = "datagram",
		.advice = "see malformed in --exporters"},
	[PROBLEM_NETFLOW_VERSION] = {.what = "NetFlow v",
		.detail = DETAIL_NUMBER,
		.why = ": not supported",
		.unit = "datagram",
		.advice = "export NetFlow v9 or v5, or IPFIX"},
	[PROBLEM_SFLOW_VERSION] = {.what = "sFlow version ",
		.detail = DETAIL_NUMBER,
		.why = ": not supported",
		.unit = "datagram",
		.advice = "export sFlow version 5"},
	[PROBLEM_DTLS] = {.what = "IPFIX over DTLS: not supported",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "export without encryption"},
	[PROBLEM_TCP] = {.what = "IPFIX over TCP: not supported",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "segment",
		.advice = "export over UDP"},
	[PROBLEM_SCTP] = {.what = "IPFIX over SCTP: not supported",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "packet",
		.advice = "export over UDP"},
	[PROBLEM_REFUSED] = {.what = "refused: no --exporter allows its address",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "add --exporter ADDRESS to accept it",
		.notice = true},
	[PROBLEM_NO_ROOM] = {.what = "ignored: more exporters than exporters-max",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "raise exporters-max"},
	[PROBLEM_NEW_DOMAINS] =
		{.what = "ignored: messages of more than 4 new domains in a datagram",
			.detail = DETAIL_NONE,
			.why = "",
			.unit = "datagram",
			.advice = "send a datagram for each message"},
	[PROBLEM_NO_EXPORT] = {.what = "UDP of an unknown version: not an export, ignored",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "read are NetFlow v5 and v9, IPFIX and sFlow version 5",
		.notice = true,
		.senders = true},
	[PROBLEM_JUMP] = {.what = "sequence number jumped: losses at that point are unknown",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "check that one exporter sends from this address"},
	[PROBLEM_NO_TEMPLATE] = {.what = "data without a template: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "data set",
		.advice = "send templates more often, or keep them with --templates FILE"},
	[PROBLEM_NO_ADDRESSES] = {.what = "records without IP addresses: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "record",
		.advice = "export the source and destination address"},
	[PROBLEM_NO_PACKETS] = {.what = "records without a packet count: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "record",
		.advice = "export a packet count"},
	[PROBLEM_SECTION] = {.what = "records with a section of the packet (",
		.detail = DETAIL_SECTION,
		.why = "): not supported",
		.unit = "record",
		.advice = "export addresses, ports and counts"},
	[PROBLEM_HEADER_PROTOCOL] = {.what = "samples of header protocol ",
		.detail = DETAIL_PROTOCOL,
		.why = ": not supported",
		.unit = "sample",
		.advice = "read are Ethernet, PPP, MPLS, IPv4 and IPv6"},
	[PROBLEM_HEADER] = {.what = "sampled packets whose header is cut or malformed: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "sample",
		.advice = "sample 128 bytes of each packet"},
	[PROBLEM_OFFSET] = {.what = "records whose section of the packet (",
		.detail = DETAIL_SECTION,
		.why = ") begins at an offset: not counted",
		.unit = "record",
		.advice = "export it from offset 0"},
	[PROBLEM_SAMPLE_FORMAT] = {.what = "samples of format ",
		.detail = DETAIL_FORMAT,
		.why = ": not supported",
		.unit = "sample",
		.advice = "send flow and counter samples of sFlow version 5"},
	[PROBLEM_FLOW_FORMAT] = {.what = "samples with flow records of format ",
		.detail = DETAIL_FORMAT,
		.why = " only: not supported",
		.unit = "sample",
		.advice = "send sampled headers"},
	[PROBLEM_OTHERS] = {.what = "records for further reasons: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "record",
		.advice = "see unusable in --exporters"},
	[PROBLEM_TOO_LARGE] = {.what = "records with impossible counts: not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "record",
		.advice = "see unusable in --exporters"},
	[PROBLEM_SUM] =
		{.what = "records beyond one exporter's share of the interval's sum: not counted",
			.detail = DETAIL_NONE,
			.why = "",
			.unit = "record",
			.advice = "see unusable in --exporters"},
	[PROBLEM_NO_PLACE] = {.what = "records of an exporter without a place, behind this one: "
				      "not counted",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "record",
		.advice = "a datagram adds 4 exporters; raise exporters-max if it goes on"},
	[PROBLEM_CUT] = {.what = "packets of the capture are cut",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "packet",
		.advice = "capture whole packets: tcpdump -s 0"},
	[PROBLEM_BAD_HEADERS] = {.what = "packets of the capture have contradictory headers",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "packet",
		.advice = "look at them with tcpdump -v"},
	[PROBLEM_OVERLAPPING] = {.what = "fragments of the capture contradict each other",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "look at them with tcpdump -v"},
	[PROBLEM_MISSING_FRAGMENTS] = {.what = "fragments are missing in the capture",
		.detail = DETAIL_NONE,
		.why = "",
		.unit = "datagram",
		.advice = "check the capture for losses"},
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

/* sflow_version_5.txt, enum header_protocol. */
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
	entry = &of->entries[of->nb++];
	*entry = (struct problem_entry){.source = *source, .detail = detail, .count = n};
	return entry;
}

static void print_line(const struct kind_text *text, const char *who, const char *detail,
	uint64_t count, const char *first, char line[PROBLEM_LINE_BYTES])
{
	snprintf(line, PROBLEM_LINE_BYTES, "%s%s%s%s (%" PRIu64 " %s%s%s%s); %s", who, text->what,
		detail, text->why, count, text->unit, count == 1 ? "" : "s",
		first[0] != '\0' ? ", first from " : "", first, text->advice);
}

bool problem_line(
	enum problem kind, const struct problem_entry *entry, char line[PROBLEM_LINE_BYTES])
{
	const struct kind_text *text = &texts[kind];
	char who[sizeof("exporter : ") + ROUTER_NAME_MAX] = "", detail[96];

	if (entry->name[0] != '\0' && !text->senders)
		snprintf(who, sizeof(who), "exporter %s: ", entry->name);
	print_detail(text->detail, entry->detail, detail, sizeof(detail));
	print_line(text, who, detail, entry->count, text->senders ? entry->name : "", line);
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
