/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/pcapng.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "rx/packet/link_type.h"
#include "rx/source.h"

#define PCAPNG_MAGIC     0x0a0d0d0au /* in either byte order */
#define BYTE_ORDER_MAGIC 0x1a2b3c4du

enum {
	BLOCK_INTERFACE = 1,
	BLOCK_PACKET = 2, /* obsolete */
	BLOCK_SIMPLE_PACKET = 3,
	BLOCK_ENHANCED_PACKET = 6,
};

enum {
	OPTION_END = 0,
	OPTION_FLAGS = 2, /* of a packet */
	OPTION_TSRESOL = 9,
	OPTION_FCSLEN = 13,
	OPTION_TSOFFSET = 14,
};

/* A block is type, length, body, and the length again; all are multiples of four bytes. */
#define BODY_AT      8
#define BLOCK_MIN    12
#define SECTION_MIN  28
#define INTERFACE_AT (BODY_AT + 8)  /* where its options begin */
#define SIMPLE_AT    (BODY_AT + 4)  /* where the bytes of packets begin */
#define CAPTURED_AT  (BODY_AT + 12) /* the captured length in both others */
#define PACKET_AT    (BODY_AT + 20) /* and the bytes of packets */

/* Bits 5 to 8 of a packet's flags: the bytes of its FCS. 0: those of its interface. */
#define FLAGS_FCS_SHIFT 5
#define FLAGS_FCS_MASK  15u

/* What is kept of a block: as much as a packet takes. The rest of longer ones is read over. */
#define KEPT_MAX       (PACKET_AT + PACKET_BYTES_MAX + 4)
#define OVER_MAX       4096
#define INTERFACES_MAX 65536

_Static_assert(KEPT_MAX <= CAPTURE_INPUT_WHOLE, "a block that is kept is read as one");
_Static_assert(LINK_KINDS <= 32, "each kind of interface has a bit");

/* Looks for a packet's flags in its options, which may come in parts. */
struct flags_search {
	uint64_t skip;   /* bytes before the next option, or before the options */
	bool value_next; /* the flags are the next four bytes */
	bool over;       /* they were found, or the options end */
	uint32_t flags;  /* 0 where there are none */
};

struct pcapng {
	struct capture_input *input;
	bool swapped;
	uint32_t type, length;      /* of the block */
	struct flags_search search; /* in what is not kept of the block */
	uint64_t packets, described;
	uint32_t kinds; /* a bit for each kind of interface that was described */
	int first_link; /* link type of the first interface */
	bool links_differ;
	uint32_t nb_interfaces, max_interfaces;
	struct pcapng_interface *interfaces;
	char error[SOURCE_ERROR_MAX];
	const uint8_t *block;
	uint8_t kept[KEPT_MAX]; /* of a long one */
};

/* Blocks */

static int fail_read(struct pcapng *pcapng)
{
	capture_input_explain(pcapng->input, "the last block is cut", pcapng->error);
	return -1;
}

static bool find_byte_order(struct pcapng *pcapng)
{
	uint32_t magic = capture_u32(pcapng->block + BODY_AT, false);

	pcapng->swapped = magic != BYTE_ORDER_MAGIC;
	if (!pcapng->swapped || magic == __builtin_bswap32(BYTE_ORDER_MAGIC))
		return true;
	source_error(pcapng->error, "a section has no byte order: 0x%08x", magic);
	return false;
}

/* Takes the next n bytes, a multiple of four. */
static void search_flags(
	struct flags_search *search, const uint8_t *bytes, uint32_t n, bool swapped)
{
	uint32_t at = 0;

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

/* Reads over bytes, a multiple of four; end[] gets the last four of them. */
static bool read_over(struct pcapng *pcapng, uint32_t bytes, uint8_t end[4])
{
	struct capture_input *input = pcapng->input;

	while (bytes > 0) {
		uint32_t n = bytes < OVER_MAX ? bytes : OVER_MAX;

		if (capture_input_have(input, n) < n)
			return false;
		memcpy(end, input->at + n - 4, 4);
		if (has_flags(pcapng)) /* the block ends with its length */
			search_flags(
				&pcapng->search, input->at, n < bytes ? n : n - 4, pcapng->swapped);
		input->at += n;
		bytes -= n;
	}
	return true;
}

/* Where it is longer than what is kept, that is copied: the rest is read into the same buffer. */
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

/* The block, of which the first BLOCK_MIN bytes were looked at. */
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
	/* libpcap does not look at that of a file's first block, and some write it wrong. */
	if (capture_u32(end, pcapng->swapped) == pcapng->length || pcapng->type == PCAPNG_MAGIC)
		return 1;
	source_error(pcapng->error, "a block of %u bytes says at its end that it has %u",
		pcapng->length, capture_u32(end, pcapng->swapped));
	return -1;
}

/* 1: block[], type and length are filled. 0: the end. -1: damage. */
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
	source_error(pcapng->error, "a block has an impossible length: %u bytes", pcapng->length);
	return -1;
}

/* A block that is shorter than its fixed part. */
static bool has_bytes(struct pcapng *pcapng, uint32_t fixed)
{
	if (pcapng->length >= fixed + 4)
		return true;
	source_error(pcapng->error, "a block of type %u has an impossible length: %u bytes",
		pcapng->type, pcapng->length);
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
	source_error(pcapng->error, "version %u of pcapng is not known", major);
	return false;
}

/* Interfaces */

/* The byte of if_tsresol: a power of ten, or of two where its highest bit is set. */
static bool set_resolution(
	struct pcapng *pcapng, struct pcapng_interface *interface, uint8_t resolution)
{
	uint32_t exponent = resolution & 0x7f;
	bool binary = resolution & 0x80;

	if (exponent > (binary ? 63 : 19)) {
		source_error(pcapng->error,
			"interface %u: its time stamps count %u^-%u s, too fine", interface->number,
			binary ? 2 : 10, exponent);
		return false;
	}
	interface->units = binary ? UINT64_C(1) << exponent : 1;
	while (!binary && exponent-- > 0)
		interface->units *= 10;
	return true;
}

/* Bits, as it is specified, or bytes, as Wireshark takes it: an FCS has 2 or 4 of them. */
static uint32_t fcs_bytes(uint8_t length)
{
	return length < 8 ? length : length / 8;
}

static bool take_option(struct pcapng *pcapng, struct pcapng_interface *interface, uint32_t code,
	const uint8_t *value, uint32_t length)
{
	uint32_t expected = code == OPTION_TSRESOL ? 1 : code == OPTION_TSOFFSET ? 8 : length;

	if (length != expected) {
		source_error(pcapng->error,
			"interface %u: its option %u has %u bytes instead of %u", interface->number,
			code, length, expected);
		return false;
	}
	if (code == OPTION_TSRESOL)
		return set_resolution(pcapng, interface, value[0]);
	if (code == OPTION_FCSLEN && length == 1) /* libpcap reads over all of them */
		interface->fcs_bytes = fcs_bytes(value[0]);
	if (code == OPTION_TSOFFSET)
		interface->offset_seconds = (int64_t)capture_u64(value, pcapng->swapped);
	return true;
}

static bool take_options(struct pcapng *pcapng, struct pcapng_interface *interface)
{
	uint32_t at = INTERFACE_AT, end = pcapng->length - 4;

	while (at < end) { /* all are multiples of four */
		uint32_t code = capture_u16(pcapng->block + at, pcapng->swapped);
		uint32_t length = capture_u16(pcapng->block + at + 2, pcapng->swapped);

		at += 4;
		if (code == OPTION_END)
			break;
		if (length > end - at) {
			source_error(pcapng->error, "interface %u: its options are cut",
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
	uint32_t max = pcapng->max_interfaces > 0 ? 2 * pcapng->max_interfaces : 8;
	struct pcapng_interface *grown = pcapng->interfaces;

	if (pcapng->nb_interfaces == INTERFACES_MAX) {
		source_error(pcapng->error, "more than %d interfaces", INTERFACES_MAX);
		return NULL;
	}
	if (pcapng->nb_interfaces == pcapng->max_interfaces) {
		grown = realloc(pcapng->interfaces, max * sizeof(*grown));
		if (grown == NULL) {
			source_error(pcapng->error, "no memory for %u interfaces", max);
			return NULL;
		}
		pcapng->interfaces = grown;
		pcapng->max_interfaces = max;
	}
	return &grown[pcapng->nb_interfaces];
}

static bool describe_interface(struct pcapng *pcapng)
{
	struct pcapng_interface *interface = add_interface(pcapng);
	const uint8_t *body = pcapng->block + BODY_AT;

	if (interface == NULL || !has_bytes(pcapng, INTERFACE_AT))
		return false;
	if (pcapng->length > KEPT_MAX) {
		source_error(pcapng->error, "an interface is described in %u bytes, too many",
			pcapng->length);
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

/* Packets */

static int64_t time_of(const struct pcapng_interface *interface, uint64_t stamp)
{
	uint64_t rest = stamp % interface->units;
	__int128_t time = (__int128_t)(stamp / interface->units) + interface->offset_seconds;

	time = time * SECOND_NS + (int64_t)((__uint128_t)rest * SECOND_NS / interface->units);
	return time < 0 ? 0 : time < SOURCE_TIME_MAX ? (int64_t)time : SOURCE_TIME_MAX;
}

/* The packet whose bytes begin at `at`; captured and wire_len are filled. */
static int take_packet(
	struct pcapng *pcapng, struct pcapng_packet *packet, uint32_t number, uint32_t at)
{
	if (number >= pcapng->nb_interfaces) {
		source_error(pcapng->error, "a packet is of interface %u, which is not described",
			number);
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

/* Takes the FCS length from the packet's options, which begin at `at`. */
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

/* Those two differ in how wide the interface's number is. */
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

/* Of the first interface, without a time; as long as the packet was, up to the snap length. */
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

/* A file of several kinds of interfaces in which nothing was captured is taken for cut. */
static int end_file(struct pcapng *pcapng)
{
	if (pcapng->described > 0 && (pcapng->packets > 0 || !pcapng->links_differ))
		return 0;
	source_error(pcapng->error, "it describes %s",
		pcapng->described > 0 ? "interfaces and has no packet of them" : "no interface");
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
