/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/capture/pcap_file.h"

#include "base/units.h"

#define MAGIC_MICRO   0xa1b2c3d4u
#define MAGIC_NANO    0xa1b23c4du
#define MAGIC_PATCHED 0xa1b2cd34u /* libpcap for Linux of 1998, patched by Alexey Kuznetzov */

#define HEAD_BYTES    24
#define PACKET_BYTES  16
#define PATCHED_BYTES 24

#define ETHERNET       1
/* Bytes that the patched format adds before a packet. The snap length does not include them. */
#define FAKED_ETHERNET 14

#define LINK_TYPE_BITS   0x03ffffffu
#define FCS_LENGTH_VALID 0x04000000u
#define FCS_SHIFT        28 /* bits 28 to 31: FCS length in 16-bit words, if FCS_LENGTH_VALID */
#define MAJOR_DGUX       543

static bool is_magic(uint32_t magic)
{
	return magic == MAGIC_MICRO || magic == MAGIC_NANO || magic == MAGIC_PATCHED;
}

bool pcap_file_is(struct capture_input *input)
{
	uint32_t magic = capture_input_magic(input);

	return is_magic(magic) || is_magic(__builtin_bswap32(magic));
}

bool pcap_file_begin(struct pcap_file *file, struct capture_input *input)
{
	uint32_t magic, link;

	*file = (struct pcap_file){
		.input = input, .swapped = !is_magic(capture_input_magic(input))};
	if (capture_input_have(input, HEAD_BYTES) < HEAD_BYTES) {
		capture_input_explain(input, "incomplete file header", file->error);
		return false;
	}
	magic = capture_u32(input->at, file->swapped);
	file->patched = magic == MAGIC_PATCHED;
	file->fraction_ns = magic == MAGIC_NANO ? 1 : 1000;
	file->major = capture_u16(input->at + 4, file->swapped);
	file->minor = capture_u16(input->at + 6, file->swapped);
	file->snaplen = capture_u32(input->at + 16, file->swapped);
	link = capture_u32(input->at + 20, file->swapped);
	file->link_type_number = (int)(link & LINK_TYPE_BITS);
	file->fcs_bytes = link & FCS_LENGTH_VALID ? 2 * (link >> FCS_SHIFT) : 0;
	input->at += HEAD_BYTES;
	if (file->major != 2 && (file->major != MAJOR_DGUX || file->minor != 0)) {
		source_error(file->error, "pcap version %u.%u is not supported", file->major,
			file->minor);
		return false;
	}
	if (file->snaplen == 0 || file->snaplen > INT32_MAX)
		file->snaplen = PACKET_BYTES_MAX;
	else if (file->patched && file->link_type_number == ETHERNET)
		file->snaplen += FAKED_ETHERNET;
	return true;
}

/* Before version 2.3, the wire length came first. Some files of version 2.3 still have it first. */
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
		capture_input_explain(input, "incomplete header of the last packet", file->error);
		return -1;
	}
	/* The seconds are unsigned, and last until 2106. */
	packet->time = capture_u32(input->at, file->swapped) * SECOND_NS +
		       (int64_t)capture_u32(input->at + 4, file->swapped) * file->fraction_ns;
	captured = capture_u32(input->at + 8, file->swapped);
	wire_len = capture_u32(input->at + 12, file->swapped);
	if (__builtin_expect(file->minor < 4, 0) && lengths_swapped(file, captured, wire_len)) {
		uint32_t first = captured;

		captured = wire_len;
		wire_len = first;
	}
	if (captured > PACKET_BYTES_MAX) {
		source_error(file->error, "invalid packet capture length %u, the maximum is %d",
			captured, PACKET_BYTES_MAX);
		return -1;
	}
	if (capture_input_have(input, header + captured) < header + captured) {
		capture_input_explain(input, "incomplete last packet", file->error);
		return -1;
	}
	packet->data = input->at + header;
	packet->captured = captured < file->snaplen ? captured : file->snaplen;
	packet->wire_len = wire_len;
	packet->snaplen = file->snaplen;
	input->at += header + captured;
	return 1;
}
