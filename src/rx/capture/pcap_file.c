/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/pcap_file.h"

#include <string.h>

#include "base/units.h"

#define MAGIC_MICRO   0xa1b2c3d4u
#define MAGIC_NANO    0xa1b23c4du
#define MAGIC_PATCHED 0xa1b2cd34u /* Linux' libpcap of 1998, with Alexey Kuznetzov's patch */

#define HEAD_BYTES    24
#define PACKET_BYTES  16
#define PATCHED_BYTES 24 /* a packet's header there; the rest says how it came */

#define ETHERNET       1
#define FAKED_ETHERNET 14 /* bytes that were put before packets there, beyond the snap length */

#define LINK_TYPE_BITS 0x03ffffffu /* above: whether frames have their FCS */
#define MAJOR_DGUX     543

/* In the byte order of the file. */
static uint32_t get32(const struct pcap_file *file, const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return file->swapped ? __builtin_bswap32(value) : value;
}

static uint16_t get16(const struct pcap_file *file, const uint8_t *bytes)
{
	uint16_t value;

	memcpy(&value, bytes, sizeof(value));
	return file->swapped ? __builtin_bswap16(value) : value;
}

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_MICRO || magic == MAGIC_NANO || magic == MAGIC_PATCHED;
}

static uint32_t magic_of(struct capture_input *input)
{
	uint32_t magic = 0;

	if (capture_input_have(input, sizeof(magic)) == sizeof(magic))
		memcpy(&magic, input->at, sizeof(magic));
	return magic;
}

bool pcap_file_is(struct capture_input *input)
{
	uint32_t magic = magic_of(input);

	return is_magic(magic) || is_magic(__builtin_bswap32(magic));
}

bool pcap_file_begin(struct pcap_file *file, struct capture_input *input)
{
	uint32_t magic;

	*file = (struct pcap_file){.input = input, .swapped = !is_magic(magic_of(input))};
	if (capture_input_have(input, HEAD_BYTES) < HEAD_BYTES) {
		capture_input_explain(input, "its head is cut", file->error);
		return false;
	}
	magic = get32(file, input->at);
	file->patched = magic == MAGIC_PATCHED;
	file->fraction_ns = magic == MAGIC_NANO ? 1 : 1000;
	file->major = get16(file, input->at + 4);
	file->minor = get16(file, input->at + 6);
	file->snaplen = get32(file, input->at + 16);
	file->link_type_number = (int)(get32(file, input->at + 20) & LINK_TYPE_BITS);
	input->at += HEAD_BYTES;
	if (file->major != 2 && (file->major != MAJOR_DGUX || file->minor != 0)) {
		source_error(file->error, "version %u.%u of pcap is not known", file->major,
			file->minor);
		return false;
	}
	if (file->snaplen == 0 || file->snaplen > INT32_MAX)
		file->snaplen = PACKET_BYTES_MAX;
	else if (file->patched && file->link_type_number == ETHERNET)
		file->snaplen += FAKED_ETHERNET;
	return true;
}

/* Before version 2.3, and in some files of it, the captured length was the second. */
static bool lengths_swapped(const struct pcap_file *file, uint32_t captured, uint32_t wire_len)
{
	if (file->major == MAJOR_DGUX || file->minor < 3)
		return true;
	return file->minor == 3 && captured > wire_len;
}

int pcap_file_next(struct pcap_file *file, struct source_packet *packet)
{
	struct capture_input *input = file->input;
	const uint32_t header = file->patched ? PATCHED_BYTES : PACKET_BYTES;
	size_t got = capture_input_have(input, header);
	uint32_t captured, wire_len;

	if (got == 0 && input->failure == 0)
		return 0;
	if (got < header) {
		capture_input_explain(input, "the last packet's header is cut", file->error);
		return -1;
	}
	/* Unsigned numbers of 32 bits: until 2106, and fractions of more than a second are carried. */
	packet->time = get32(file, input->at) * SECOND_NS +
		       (int64_t)get32(file, input->at + 4) * file->fraction_ns;
	captured = get32(file, input->at + 8);
	wire_len = get32(file, input->at + 12);
	if (__builtin_expect(file->minor < 4, 0) && lengths_swapped(file, captured, wire_len)) {
		uint32_t first = captured;

		captured = wire_len;
		wire_len = first;
	}
	if (captured > PACKET_BYTES_MAX) {
		source_error(file->error,
			"invalid packet capture length %u, more than the %d of any capture",
			captured, PACKET_BYTES_MAX);
		return -1;
	}
	if (capture_input_have(input, header + captured) < header + captured) {
		capture_input_explain(input, "the last packet is cut", file->error);
		return -1;
	}
	packet->data = input->at + header;
	packet->captured = captured < file->snaplen ? captured : file->snaplen;
	packet->wire_len = wire_len;
	input->at += header + captured;
	return 1;
}
