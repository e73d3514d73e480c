/* SPDX-License-Identifier: BSD-3-Clause */
#include "flow_protocols/packet_section.h"

#include <string.h>

#include "base/assertion.h"
#include "flow_protocols/big_endian.h"
#include "rx/packet/parse.h"

#define JOINED_MAX      1024
#define LABEL           4
#define BOTTOM_OF_STACK 0x01

#define FRAME_TYPE_ETHERNET 0x01

#define NOWHERE SIZE_MAX

bool section_is_data(const struct field *field)
{
	return field->enterprise == 0 &&
	       (field->number == SECTION_OF_V9 || (field->number >= SECTION_IP_HEADER &&
							  field->number <= SECTION_MPLS_PAYLOAD));
}

bool section_is_header(const struct field *field)
{
	return section_is_data(field) && field->number != SECTION_IP_PAYLOAD;
}

bool section_is_report(const struct field *field)
{
	return section_is_header(field) ||
	       (field->enterprise == 0 &&
		       (field->number == SECTION_FRAME_SIZE || field->number == SECTION_SELECTION));
}

void sections_add(
	struct sections *sections, const struct field *field, const uint8_t *data, uint32_t len)
{
	uint64_t number = len <= 8 ? read_number(data, len) : 0;

	if (field->enterprise != 0)
		return;
	if (section_is_data(field)) {
		if (sections->n < SECTIONS_MAX)
			sections->list[sections->n++] = (struct section){
				.element = field->number, .data = data, .len = len};
		return;
	}
	switch (field->number) {
	case SECTION_OFFSET_OF_V9:
	case SECTION_OFFSET_OF_IPFIX:
		if (sections->nb_offsets < SECTIONS_MAX)
			sections->offsets[sections->nb_offsets++] = (uint16_t)number;
		break;
	case SECTION_SIZE_OF_V9:
	case SECTION_EXPORTED:
		if (sections->nb_exported < SECTIONS_MAX)
			sections->exported[sections->nb_exported++] = (uint16_t)number;
		break;
	case SECTION_FRAME_SIZE:
		sections->frame = number < UINT32_MAX ? (uint32_t)number : 0;
		break;
	case SECTION_FRAME_TYPE: sections->type = (uint32_t)number; break;
	case SECTION_IP_LENGTH: sections->ip_length = number; break;
	default: break;
	}
}

static void set_extents(struct sections *sections)
{
	for (uint32_t i = 0; i < sections->n; i++) {
		struct section *section = &sections->list[i];

		if (i < sections->nb_offsets)
			section->offset = sections->offsets[i];
		if (i < sections->nb_exported && sections->exported[i] < section->len)
			section->len = sections->exported[i];
	}
}

/* Returns the element of the payload after the header in `element`; 0: none. */
static uint32_t payload_of(uint32_t element)
{
	switch (element) {
	case SECTION_IP_HEADER: return SECTION_IP_PAYLOAD;
	case SECTION_LABELS: return SECTION_MPLS_PAYLOAD;
	default: return 0;
	}
}

/* Returns the bytes of the IP header or MPLS labels; NOWHERE: unknown. */
static size_t end_of_header(uint32_t element, const uint8_t *data, size_t len)
{
	if (element == SECTION_IP_HEADER) {
		if (len > 0 && data[0] >> 4 == 6)
			return PART_IPV6_HEADER;
		return len > 0 && data[0] >> 4 == 4 ? (data[0] & 15) * 4u : NOWHERE;
	}
	for (size_t at = 0; at + LABEL <= len; at += LABEL)
		if (data[at + 2] & BOTTOM_OF_STACK)
			return at + LABEL;
	return NOWHERE;
}

/* Returns where the section `other` continues `data`, or NOWHERE. */
static size_t offset_in(
	uint32_t element, const uint8_t *data, size_t len, const struct section *other)
{
	size_t end;

	if (other->element == element)
		return other->offset > 0 ? other->offset : NOWHERE;
	if (other->element != payload_of(element))
		return NOWHERE;
	end = end_of_header(element, data, len);
	return end != NOWHERE ? end + other->offset : NOWHERE;
}

/* Appends sections to joined[0..len). Returns the new length. */
static size_t join(const struct sections *sections, uint32_t element, uint8_t *joined, size_t len)
{
	for (uint32_t pass = 0; pass < sections->n; pass++)
		for (uint32_t i = 0; i < sections->n; i++) {
			const struct section *other = &sections->list[i];
			size_t at = offset_in(element, joined, len, other);
			size_t n = other->len;

			if (at > len || at + n <= len)
				continue;
			if (n > JOINED_MAX - at)
				n = JOINED_MAX - at;
			memcpy(joined + at, other->data, n);
			len = at + n;
		}
	return len;
}

static enum link_type link_of(uint32_t element)
{
	switch (element) {
	case SECTION_IP_HEADER: return LINK_RAW;
	case SECTION_LABELS: return LINK_MPLS;
	default: return LINK_ETHERNET;
	}
}

static enum section_verdict read_from(
	const struct sections *sections, const struct section *section, struct packet_flow *flow)
{
	struct packet_part part = {
		.data = section->data,
		.len = section->len,
		.link = link_of(section->element),
		.frame = sections->frame,
	};
	uint8_t joined[JOINED_MAX];

	if (sections->n > 1 && section->len <= JOINED_MAX) {
		memcpy(joined, section->data, section->len);
		part.data = joined;
		part.len = (uint32_t)join(sections, section->element, joined, section->len);
	}
	return packet_part_read(
		&part, &flow->key, &flow->extra, &flow->bytes, &flow->ttl, &flow->segment);
}

/* The parser expects labels, so a placeholder precedes the payload. */
static enum section_verdict read_payload(
	const struct sections *sections, const struct section *section, struct packet_flow *flow)
{
	static const uint8_t label[LABEL] = {0, 1, BOTTOM_OF_STACK, 64};
	uint8_t joined[JOINED_MAX];
	uint32_t room = JOINED_MAX - LABEL, len = section->len < room ? section->len : room;
	struct packet_part part = {
		.data = joined,
		.len = LABEL + len,
		.link = LINK_MPLS,
		.frame = sections->frame,
	};
	enum section_verdict verdict;

	memcpy(joined, label, LABEL);
	memcpy(joined + LABEL, section->data, len);
	verdict = packet_part_read(
		&part, &flow->key, &flow->extra, &flow->bytes, &flow->ttl, &flow->segment);
	memset(flow->extra.mpls, 0, sizeof(flow->extra.mpls));
	return verdict;
}

static bool has_labels(const struct sections *sections)
{
	for (uint32_t i = 0; i < sections->n; i++)
		if (sections->list[i].element == SECTION_LABELS && sections->list[i].offset == 0)
			return true;
	return false;
}

static enum section_verdict read_section(
	const struct sections *sections, const struct section *section, struct packet_flow *flow)
{
	bool ethernet = section->element == SECTION_FRAME || section->element == SECTION_OF_V9;

	if (section->element == SECTION_IP_PAYLOAD ||
		(ethernet && sections->type != 0 && !(sections->type & FRAME_TYPE_ETHERNET)))
		return SECTION_OTHER;
	if (section->offset > 0)
		return SECTION_OFFSET;
	if (section->len == 0 && sections->n > 1)
		return SECTION_OTHER;
	if (section->element != SECTION_MPLS_PAYLOAD)
		return read_from(sections, section, flow);
	return has_labels(sections) ? SECTION_OTHER : read_payload(sections, section, flow);
}

static void complete(uint8_t *field, const uint8_t *other, uint32_t len)
{
	static const uint8_t none[sizeof(struct key_extra)];

	if (memcmp(field, none, len) == 0)
		memcpy(field, other, len);
}

#define COMPLETE(name, word, ...)                                                                  \
	complete(flow->extra.word, one.extra.word, sizeof(one.extra.word));

enum section_verdict sections_read(struct sections *sections, struct packet_flow *flow)
{
	enum section_verdict best = SECTION_OTHER;

	ASSERT(sections->n, <=, SECTIONS_MAX);
	*flow = (struct packet_flow){0};
	set_extents(sections);
	for (uint32_t i = 0; i < sections->n; i++) {
		struct packet_flow one = {0};
		enum section_verdict verdict = read_section(sections, &sections->list[i], &one);

		if (verdict == SECTION_FLOW && best != SECTION_FLOW) {
			flow->key = one.key;
			flow->bytes = one.bytes;
		}
		if (verdict < best)
			best = verdict;
		KEY_EXTRA_FIELDS(COMPLETE)
	}
	return best;
}
