/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/pcapng.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assertion.h"
#include "base/units.h"
#include "rx/packet/link_type.h"
#include "rx/source.h"

#define PCAPNG_MAGIC     0x0a0d0d0au /* same in both byte orders */
#define BYTE_ORDER_MAGIC 0x1a2b3c4du

enum {
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 2, /* obsolete */
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_ENHANCED_PACKET = 6,
};

enum {
	OPTION_END = 0,
	OPTION_FLAGS = 2,
	OPTION_TSRESOL = 9,
	OPTION_FCSLEN = 13,
	OPTION_TSOFFSET = 14,
};

/* A block has type, length, body, and length again, each a multiple of four bytes. */
#define BODY_AT      8
#define BLOCK_MIN    12
#define SECTION_MIN  28
#define INTERFACE_AT (BODY_AT + 8) /* offset of the options of an interface block */
#define SIMPLE_AT    (BODY_AT + 4) /* offset of the packet in a simple packet block */
/* Offsets of the captured length and of the packet in enhanced and obsolete packet blocks */

#define CAPTURED_AT (BODY_AT + 12)
#define PACKET_AT   (BODY_AT + 20)

/*
 * Bits 5 to 8 of the packet flags are the FCS length in bytes. If they are 0, the FCS length of the
 * interface applies.
 */
#define FLAGS_FCS_SHIFT 5
#define FLAGS_FCS_MASK  15u

/* Bytes of a longer block that are kept. Any packet fits. */
#define KEPT_MAX       (PACKET_AT + PACKET_BYTES_MAX + 4)
#define OVER_MAX       4096
#define INTERFACES_MAX 65536

_Static_assert(KEPT_MAX <= CAPTURE_INPUT_WHOLE, "the input can hold all kept bytes of a block");
_Static_assert(LINK_KINDS <= 32, "kinds has a bit for each kind of interface");

struct flags_search {
	uint64_t skip;   /* bytes until the next option */
	bool value_next; /* the next four bytes are the flags */
	bool over;       /* true after the flags, or at the end of the options */
	uint32_t flags;  /* 0: no flags */
};

struct pcapng {
	struct capture_input *input;
	bool swapped;
	uint32_t type, length;
	struct flags_search search; /* searches the options of a block longer than KEPT_MAX */
	uint64_t packets, described;
	uint32_t kinds; /* one bit for each link kind (rx/packet/link_type.h) in the file so far */
	int first_link;
	bool links_differ;
	uint32_t nb_interfaces;
	struct pcapng_interface *interfaces;
	char error[SOURCE_ERROR_MAX];
	const uint8_t *block;
	uint8_t kept[KEPT_MAX]; /* start of a block longer than KEPT_MAX */
};

static int fail_read(struct pcapng *pcapng)
{
	capture_input_explain(pcapng->input, "incomplete last block", pcapng->error);
	return -1;
}

static bool find_byte_order(struct pcapng *pcapng)
{
	uint32_t magic = capture_u32(pcapng->block + BODY_AT, false);

	pcapng->swapped = magic != BYTE_ORDER_MAGIC;
	if (!pcapng->swapped || magic == __builtin_bswap32(BYTE_ORDER_MAGIC))
		return true;
	source_error(pcapng->error, "invalid byte-order magic: 0x%08x", magic);
	return false;
}

/* n is a multiple of four. */
static void search_flags(
	struct flags_search *search, const uint8_t *bytes, uint32_t n, bool swapped)
{
	uint32_t at = 0;

	ASSERT(n % 4, ==, 0);
	while (!search->over && search->skip < n - at) {
		const uint8_t *word = bytes + at + search->skip;
		uint32_t code = capture_u16(word, swapped), length = capture_u16(word + 2, swapped);

		at += (uint32_t)search->skip + 4;
		search->skip = 0;
		if (search->value_next)
			search->flags = capture_u32(word, swapped);
		search->over = search->value_next || code == OPTION_END;
		search->value_next = code == OPTION_FLAGS && length == 4;
		if (!search->value_next)
			search->skip = (length + 3) / 4 * 4;
	}
	if (!search->over)
		search->skip -= n - at;
}

static bool has_flags(const struct pcapng *pcapng)
{
	return pcapng->type == BLOCK_ENHANCED_PACKET || pcapng->type == BLOCK_PACKET;
}

/* `bytes` is a multiple of four. end[] gets the last four bytes. */
static bool read_over(struct pcapng *pcapng, uint32_t bytes, uint8_t end[4])
{
	struct capture_input *input = pcapng->input;

	ASSERT(bytes % 4, ==, 0);
	while (bytes > 0) {
		uint32_t n = bytes < OVER_MAX ? bytes : OVER_MAX;

		if (capture_input_have(input, n) < n)
			return false;
		memcpy(end, input->at + n - 4, 4);
		if (has_flags(pcapng)) /* the last word is the length of the block */
			search_flags(
				&pcapng->search, input->at, n < bytes ? n : n - 4, pcapng->swapped);
		input->at += n;
		bytes -= n;
	}
	return true;
}

/* The input overwrites the kept bytes of the block while the rest is skipped. */
static bool read_long(struct pcapng *pcapng, uint8_t end[4])
{
	uint64_t captured;

	memcpy(pcapng->kept, pcapng->block, KEPT_MAX);
	pcapng->block = pcapng->kept;
	captured = capture_u32(pcapng->block + CAPTURED_AT, pcapng->swapped);
	pcapng->search = (struct flags_search){.skip = PACKET_AT + (captured + 3) / 4 * 4};
	if (has_flags(pcapng))
		search_flags(&pcapng->search, pcapng->kept, KEPT_MAX, pcapng->swapped);
	return read_over(pcapng, pcapng->length - KEPT_MAX, end);
}

/* The first BLOCK_MIN bytes must be available. Returns 1, or -1 if the block is damaged. */
static int read_whole(struct pcapng *pcapng)
{
	uint32_t kept = pcapng->length < KEPT_MAX ? pcapng->length : KEPT_MAX;
	uint8_t end[4];

	if (capture_input_have(pcapng->input, kept) < kept)
		return fail_read(pcapng);
	pcapng->block = pcapng->input->at;
	pcapng->input->at += kept;
	memcpy(end, pcapng->block + kept - 4, 4);
	if (pcapng->length > kept && !read_long(pcapng, end))
		return fail_read(pcapng);
	/* libpcap ignores the second length of section blocks, and some files have a wrong one. */
	if (capture_u32(end, pcapng->swapped) == pcapng->length || pcapng->type == PCAPNG_MAGIC)
		return 1;
	source_error(pcapng->error, "block lengths differ: %u at its start, %u at its end",
		pcapng->length, capture_u32(end, pcapng->swapped));
	return -1;
}

/* Returns 1 if a block was read, 0 at the end, -1 if the block is damaged. */
static int read_block(struct pcapng *pcapng)
{
	size_t got = capture_input_have(pcapng->input, BLOCK_MIN);

	if (got == 0 && pcapng->input->failure == 0)
		return 0;
	if (got < BLOCK_MIN)
		return fail_read(pcapng);
	pcapng->block = pcapng->input->at;
	if (capture_u32(pcapng->block, false) == PCAPNG_MAGIC && !find_byte_order(pcapng))
		return -1;
	pcapng->type = capture_u32(pcapng->block, pcapng->swapped);
	pcapng->length = capture_u32(pcapng->block + 4, pcapng->swapped);
	if (pcapng->length >= BLOCK_MIN && pcapng->length % 4 == 0)
		return read_whole(pcapng);
	source_error(pcapng->error, "invalid block length: %u bytes", pcapng->length);
	return -1;
}

static bool has_bytes(struct pcapng *pcapng, uint32_t fixed)
{
	if (pcapng->length >= fixed + 4)
		return true;
	source_error(pcapng->error, "block type %u: invalid block length: %u bytes", pcapng->type,
		pcapng->length);
	return false;
}

static bool begin_section(struct pcapng *pcapng)
{
	uint32_t major;

	if (!has_bytes(pcapng, SECTION_MIN - 4))
		return false;
	pcapng->nb_interfaces = 0;
	major = capture_u16(pcapng->block + BODY_AT + 4, pcapng->swapped);
	if (major == 1)
		return true;
	source_error(pcapng->error, "pcapng version %u is not supported", major);
	return false;
}

/* if_tsresol is a negative power of ten, or of two if its highest bit is set. */
static bool set_resolution(
	struct pcapng *pcapng, struct pcapng_interface *interface, uint8_t resolution)
{
	uint32_t exponent = resolution & 0x7f;
	bool binary = resolution & 0x80;

	if (exponent > (binary ? 63 : 19)) {
		source_error(pcapng->error,
			"interface %u: timestamp unit %u^-%u s is not supported", interface->number,
			binary ? 2 : 10, exponent);
		return false;
	}
	interface->units = binary ? UINT64_C(1) << exponent : 1;
	while (!binary && exponent-- > 0)
		interface->units *= 10;
	return true;
}

/* if_fcslen is in bits, but Wireshark writes bytes. An FCS has 2 or 4 bytes. */
static uint32_t fcs_bytes(uint8_t length)
{
	return length < 8 ? length : length / 8;
}

static bool take_option(struct pcapng *pcapng, struct pcapng_interface *interface, uint32_t code,
	const uint8_t *value, uint32_t length)
{
	uint32_t expected = code == OPTION_TSRESOL ? 1 : code == OPTION_TSOFFSET ? 8 : length;

	if (length != expected) {
		source_error(pcapng->error, "interface %u: option %u has %u bytes instead of %u",
			interface->number, code, length, expected);
		return false;
	}
	if (code == OPTION_TSRESOL)
		return set_resolution(pcapng, interface, value[0]);
	/* A wrong length is not an error, because libpcap ignores this option. */
	if (code == OPTION_FCSLEN && length == 1)
		interface->fcs_bytes = fcs_bytes(value[0]);
	if (code == OPTION_TSOFFSET)
		interface->offset_seconds = (int64_t)capture_u64(value, pcapng->swapped);
	return true;
}

static bool take_options(struct pcapng *pcapng, struct pcapng_interface *interface)
{
	uint32_t at = INTERFACE_AT, end = pcapng->length - 4;

	while (at < end) { /* each option is padded to a multiple of four bytes */
		uint32_t code = capture_u16(pcapng->block + at, pcapng->swapped);
		uint32_t length = capture_u16(pcapng->block + at + 2, pcapng->swapped);

		at += 4;
		if (code == OPTION_END)
			break;
		if (length > end - at) {
			source_error(pcapng->error, "interface %u: truncated options",
				interface->number);
			return false;
		}
		if (!take_option(pcapng, interface, code, pcapng->block + at, length))
			return false;
		at += (length + 3) / 4 * 4;
	}
	return true;
}

static struct pcapng_interface *add_interface(struct pcapng *pcapng)
{
	struct pcapng_interface *grown;

	if (pcapng->nb_interfaces == INTERFACES_MAX) {
		source_error(pcapng->error, "more than %d interfaces", INTERFACES_MAX);
		return NULL;
	}
	grown = array_grow(pcapng->interfaces, pcapng->nb_interfaces, sizeof(*grown));
	if (grown == NULL) {
		source_error(pcapng->error, "out of memory for %u interfaces",
			pcapng->nb_interfaces + 1);
		return NULL;
	}
	pcapng->interfaces = grown;
	return &grown[pcapng->nb_interfaces];
}

static bool describe_interface(struct pcapng *pcapng)
{
	struct pcapng_interface *interface = add_interface(pcapng);
	const uint8_t *body = pcapng->block + BODY_AT;

	if (interface == NULL || !has_bytes(pcapng, INTERFACE_AT))
		return false;
	if (pcapng->length > KEPT_MAX) {
		source_error(
			pcapng->error, "interface block of %u bytes is too long", pcapng->length);
		return false;
	}
	*interface = (struct pcapng_interface){
		.number = pcapng->nb_interfaces,
		.link_type_number = capture_u16(body, pcapng->swapped),
		.kind = link_kind_find(capture_u16(body, pcapng->swapped), pcapng->swapped),
		.snaplen = capture_u32(body + 4, pcapng->swapped),
		.units = 1000000,
	};
	if (!take_options(pcapng, interface))
		return false;
	pcapng->nb_interfaces++;
	if (pcapng->described++ == 0)
		pcapng->first_link = interface->link_type_number;
	pcapng->links_differ |= pcapng->first_link != interface->link_type_number;
	interface->link = link_kind_type(interface->kind);
	if (interface->link != LINK_UNKNOWN)
		pcapng->kinds |= UINT32_C(1) << interface->kind;
	return true;
}

static int64_t time_of(const struct pcapng_interface *interface, uint64_t stamp)
{
	uint64_t rest = stamp % interface->units;
	__int128_t time = (__int128_t)(stamp / interface->units) + interface->offset_seconds;

	time = time * SECOND_NS + (int64_t)((__uint128_t)rest * SECOND_NS / interface->units);
	return time < 0 ? 0 : time < SOURCE_TIME_MAX ? (int64_t)time : SOURCE_TIME_MAX;
}

/* The packet is at offset `at` of the block. packet->captured and packet->wire_len must be set. */
static int take_packet(
	struct pcapng *pcapng, struct pcapng_packet *packet, uint32_t number, uint32_t at)
{
	if (number >= pcapng->nb_interfaces) {
		source_error(pcapng->error, "packet of unknown interface %u", number);
		return -1;
	}
	if (packet->captured > pcapng->length - 4 - at || packet->captured > PACKET_BYTES_MAX) {
		source_error(pcapng->error,
			"invalid packet capture length %u in a block of %u bytes", packet->captured,
			pcapng->length);
		return -1;
	}
	packet->data = pcapng->block + at;
	packet->interface = &pcapng->interfaces[number];
	packet->fcs_bytes = packet->interface->fcs_bytes;
	pcapng->packets++;
	return 1;
}

/* `at` is the offset of the packet options. */
static void take_flags(struct pcapng *pcapng, struct pcapng_packet *packet, uint32_t at)
{
	struct flags_search search = {0};
	uint32_t fcs_bytes;

	if (pcapng->length > KEPT_MAX)
		search = pcapng->search;
	else
		search_flags(&search, pcapng->block + at, pcapng->length - 4 - at, pcapng->swapped);
	fcs_bytes = search.flags >> FLAGS_FCS_SHIFT & FLAGS_FCS_MASK;
	if (fcs_bytes > 0)
		packet->fcs_bytes = fcs_bytes;
}

/* Enhanced and obsolete packet blocks differ only in the width of the interface number. */
static int take_stamped(struct pcapng *pcapng, struct pcapng_packet *packet, bool enhanced)
{
	const uint8_t *body = pcapng->block + BODY_AT;
	uint32_t options;
	uint64_t stamp;

	if (!has_bytes(pcapng, PACKET_AT))
		return -1;
	stamp = (uint64_t)capture_u32(body + 4, pcapng->swapped) << 32 |
		capture_u32(body + 8, pcapng->swapped);
	packet->captured = capture_u32(body + 12, pcapng->swapped);
	packet->wire_len = capture_u32(body + 16, pcapng->swapped);
	if (take_packet(pcapng, packet,
		    enhanced ? capture_u32(body, pcapng->swapped)
			     : capture_u16(body, pcapng->swapped),
		    PACKET_AT) < 0)
		return -1;
	packet->time = time_of(packet->interface, stamp);
	options = PACKET_AT + (packet->captured + 3) / 4 * 4;
	if (options < pcapng->length - 4)
		take_flags(pcapng, packet, options);
	return 1;
}

/*
 * A simple packet block has no captured length. The snap length of the first interface limits it.
 */
static int take_simple(struct pcapng *pcapng, struct pcapng_packet *packet)
{
	uint32_t snaplen = pcapng->nb_interfaces > 0 ? pcapng->interfaces[0].snaplen : 0;

	if (!has_bytes(pcapng, SIMPLE_AT))
		return -1;
	if (snaplen == 0 || snaplen > PACKET_BYTES_MAX)
		snaplen = PACKET_BYTES_MAX;
	packet->time = 0;
	packet->wire_len = capture_u32(pcapng->block + BODY_AT, pcapng->swapped);
	packet->captured = packet->wire_len < snaplen ? packet->wire_len : snaplen;
	return take_packet(pcapng, packet, 0, SIMPLE_AT);
}

static int end_file(struct pcapng *pcapng)
{
	if (pcapng->described > 0 && (pcapng->packets > 0 || !pcapng->links_differ))
		return 0;
	source_error(pcapng->error, "truncated: %s",
		pcapng->described > 0 ? "no packet, and the link types of the interfaces differ"
				      : "no interface");
	return -1;
}

int pcapng_next(struct pcapng *pcapng, struct pcapng_packet *packet)
{
	int status;

	while ((status = read_block(pcapng)) > 0) {
		switch (pcapng->type) {
		case PCAPNG_MAGIC:
			if (!begin_section(pcapng))
				return -1;
			break;
		case BLOCK_INTERFACE:
			if (!describe_interface(pcapng))
				return -1;
			break;
		case BLOCK_PACKET: return take_stamped(pcapng, packet, false);
		case BLOCK_ENHANCED_PACKET: return take_stamped(pcapng, packet, true);
		case BLOCK_SIMPLE_PACKET: return take_simple(pcapng, packet);
		}
	}
	return status == 0 ? end_file(pcapng) : -1;
}

const char *pcapng_error(const struct pcapng *pcapng)
{
	return pcapng->error;
}

uint32_t pcapng_kinds(const struct pcapng *pcapng)
{
	return pcapng->kinds;
}

bool pcapng_is(struct capture_input *input)
{
	return capture_input_magic(input) == PCAPNG_MAGIC;
}

struct pcapng *pcapng_create(struct capture_input *input)
{
	struct pcapng *pcapng = malloc(sizeof(*pcapng));

	if (pcapng == NULL)
		return NULL;
	memset(pcapng, 0, offsetof(struct pcapng, kept));
	pcapng->input = input;
	return pcapng;
}

void pcapng_destroy(struct pcapng *pcapng)
{
	if (pcapng == NULL)
		return;
	free(pcapng->interfaces);
	free(pcapng);
}
