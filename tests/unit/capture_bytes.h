/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Builds captures byte by byte: every format and byte order that libpcap reads. */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bytes {
	bool big; /* byte order of appended numbers */
	size_t len;
	uint8_t data[1 << 20];
};

static inline void add_bytes(struct bytes *b, const void *data, size_t len)
{
	if (b->len + len > sizeof(b->data))
		abort();
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static inline void add16(struct bytes *b, uint32_t value)
{
	uint8_t low = (uint8_t)value, high = (uint8_t)(value >> 8);

	add_bytes(b, b->big ? &high : &low, 1);
	add_bytes(b, b->big ? &low : &high, 1);
}

static inline void add32(struct bytes *b, uint32_t value)
{
	add16(b, b->big ? value >> 16 : value & 0xffff);
	add16(b, b->big ? value & 0xffff : value >> 16);
}

#define MAGIC_US UINT32_C(0xa1b2c3d4)
#define MAGIC_NS UINT32_C(0xa1b23c4d)

/* Adds the header of a classic capture file. */
static inline void add_pcap_header(
	struct bytes *b, uint32_t magic, uint32_t snaplen, uint32_t link_type)
{
	add32(b, magic);
	add16(b, 2);
	add16(b, 4);
	add32(b, 0);
	add32(b, 0);
	add32(b, snaplen);
	add32(b, link_type);
}

/* Adds a record whose captured bytes are all `fill`. */
static inline void add_record(struct bytes *b, uint32_t seconds, uint32_t fraction,
	uint32_t captured, uint32_t original, uint8_t fill)
{
	add32(b, seconds);
	add32(b, fraction);
	add32(b, captured);
	add32(b, original);
	for (uint32_t i = 0; i < captured; i++)
		add_bytes(b, &fill, 1);
}

static inline void add_section(struct bytes *b)
{
	add32(b, 0x0a0d0d0a);
	add32(b, 28);
	add32(b, 0x1a2b3c4d);
	add16(b, 1);
	add16(b, 0);
	add32(b, UINT32_MAX); /* section length: unspecified */
	add32(b, UINT32_MAX);
	add32(b, 28);
}

struct interface {
	uint32_t link_type, snaplen;
	uint8_t resolution; /* if_tsresol: 10^-n s, or 2^-n s with the highest bit set */
	int64_t offset;     /* if_tsoffset, in s */
};

static inline void add_any_interface(struct bytes *b, const struct interface *interface)
{
	const uint8_t resolution[4] = {interface->resolution};
	uint64_t offset = (uint64_t)interface->offset;

	add32(b, 1);
	add32(b, 44);
	add16(b, interface->link_type);
	add16(b, 0);
	add32(b, interface->snaplen);
	add16(b, 9); /* if_tsresol */
	add16(b, 1);
	add_bytes(b, resolution, 4);
	add16(b, 14); /* if_tsoffset */
	add16(b, 8);
	add32(b, (uint32_t)(b->big ? offset >> 32 : offset));
	add32(b, (uint32_t)(b->big ? offset : offset >> 32));
	add32(b, 0); /* end of options */
	add32(b, 44);
}

/* Adds an interface whose timestamps count 10^-decimals s. */
static inline void add_interface(struct bytes *b, uint32_t link_type, uint8_t decimals)
{
	add_any_interface(b, &(struct interface){link_type, 65535, decimals, 0});
}

/* Adds a block of any type; length is a multiple of 4. */
static inline void add_block(struct bytes *b, uint32_t type, uint32_t length)
{
	const uint8_t fill = 0xee;

	add32(b, type);
	add32(b, 12 + length);
	for (uint32_t i = 0; i < length; i++)
		add_bytes(b, &fill, 1);
	add32(b, 12 + length);
}

/* Adds an enhanced packet block; captured is a multiple of 4. */
static inline void add_packet(struct bytes *b, uint32_t interface, uint64_t stamp,
	uint32_t captured, uint32_t original, uint8_t fill)
{
	add32(b, 6);
	add32(b, 32 + captured);
	add32(b, interface);
	add32(b, (uint32_t)(stamp >> 32));
	add32(b, (uint32_t)stamp);
	add32(b, captured);
	add32(b, original);
	for (uint32_t i = 0; i < captured; i++)
		add_bytes(b, &fill, 1);
	add32(b, 32 + captured);
}

/* Adds an obsolete packet block. */
static inline void add_old_packet(struct bytes *b, uint32_t interface, uint64_t stamp,
	uint32_t captured, uint32_t original, uint8_t fill)
{
	size_t start = b->len;

	add_packet(b, 0, stamp, captured, original, fill);
	b->len = start;
	add32(b, 2);
	b->len += 4;
	add16(b, interface);
	add16(b, 7); /* packets dropped */
	b->len = start + 32 + captured;
}

/* Adds a packet without interface and timestamp. The block holds the captured bytes. */
static inline void add_simple_packet(
	struct bytes *b, uint32_t captured, uint32_t original, uint8_t fill)
{
	add32(b, 3);
	add32(b, 16 + captured);
	add32(b, original);
	for (uint32_t i = 0; i < captured; i++)
		add_bytes(b, &fill, 1);
	add32(b, 16 + captured);
}

#define TEMPORARY_PATH "/tmp/sketchtap-test-XXXXXX"

/* Writes a temporary file and stores its name in path[]. The test unlinks it. */
static inline void write_temporary(char path[sizeof(TEMPORARY_PATH)], const void *data, size_t len)
{
	int fd;

	strcpy(path, TEMPORARY_PATH);
	fd = mkstemp(path);
	if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
		perror(path);
		abort();
	}
	close(fd);
}
