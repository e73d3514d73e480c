/* SPDX-License-Identifier: BSD-3-Clause */

/* Captures of every format, written here byte by byte, are read back by replay_open() unchanged. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/signals.h"
#include "base/units.h"
#include "capture_bytes.h"
#include "rx/filter/filter_program.h"
#include "rx/source.h"

#define FILES_MAX   4
#define PACKETS_MAX 4096

/* The files of a test, and the packets read from them. */
struct fixture {
	struct bytes bytes; /* file under construction */
	char paths[FILES_MAX][sizeof(TEMPORARY_PATH)];
	unsigned int nb_paths;
	struct source *source;
	char error[SOURCE_ERROR_MAX];
	struct source_packet packets[PACKETS_MAX];
	uint8_t fills[PACKETS_MAX]; /* fill byte of each packet */
	unsigned int nb_packets;
	int end;           /* last result of next() */
	bool not_blocking; /* pipe at standard input */
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	if (f->source != NULL)
		f->source->close(f->source);
	for (unsigned int i = 0; i < f->nb_paths; i++)
		unlink(f->paths[i]);
	free(f);
	return 0;
}

/* Ends a file: the next byte added starts another one. */
static void end_file(struct fixture *f)
{
	write_temporary(f->paths[f->nb_paths++], f->bytes.data, f->bytes.len);
	f->bytes.len = 0;
}

static void end_gzip_file(struct fixture *f, unsigned int members, size_t cut)
{
	char *path = f->paths[f->nb_paths++];
	struct stat stat;

	write_temporary(path, "", 0);
	for (unsigned int m = 0; m < members; m++) {
		gzFile gz = gzopen(path, "ab");
		size_t from = f->bytes.len * m / members, to = f->bytes.len * (m + 1) / members;

		assert_int_equal(
			gzwrite(gz, f->bytes.data + from, (unsigned int)(to - from)), to - from);
		assert_int_equal(gzclose(gz), Z_OK);
	}
	assert_int_equal(lstat(path, &stat), 0);
	assert_int_equal(truncate(path, stat.st_size - (off_t)cut), 0);
	f->bytes.len = 0;
}

static void open_all(struct fixture *f)
{
	const char *paths[FILES_MAX];

	for (unsigned int i = 0; i < f->nb_paths; i++)
		paths[i] = f->paths[i];
	f->source = replay_open(paths, f->nb_paths, f->error);
}

static void read_rest(struct fixture *f)
{
	struct source_packet packet;

	while ((f->end = f->source->next(f->source, &packet)) == 1) {
		assert_true(f->nb_packets < PACKETS_MAX);
		f->fills[f->nb_packets] = packet.captured > 0 ? packet.data[0] : 0;
		for (uint32_t i = 0; i < packet.captured; i++)
			assert_int_equal(packet.data[i], packet.data[0]);
		f->packets[f->nb_packets++] = packet;
		source_take(&packet);
	}
}

static void read_all(struct fixture *f)
{
	open_all(f);
	if (f->source == NULL)
		fail_msg("%s", f->error);
	read_rest(f);
}

static void assert_packet(const struct fixture *f, unsigned int i, int64_t time, uint32_t captured,
	uint32_t wire_len, uint8_t fill)
{
	assert_true(i < f->nb_packets);
	assert_int_equal(f->packets[i].time, time);
	assert_int_equal(f->packets[i].captured, captured);
	assert_int_equal(f->packets[i].wire_len, wire_len);
	assert_int_equal(f->fills[i], fill);
}

static void assert_one_line(const char *error, const char *part)
{
	assert_null(strchr(error, '\n'));
	if (strstr(error, part) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", error, part);
}

/* Asserts warning number `number`. NULL: there is none. */
static void assert_warning(const struct fixture *f, unsigned int i, const char *part)
{
	char text[SOURCE_ERROR_MAX];

	assert_int_equal(source_warning(f->source, i, text), part != NULL);
	if (part != NULL)
		assert_one_line(text, part);
}

static void assert_refused(struct fixture *f, const char *part)
{
	open_all(f);
	assert_null(f->source);
	assert_one_line(f->error, f->paths[0]);
	assert_one_line(f->error, part);
}

static void assert_path_refused(const char *path, const char *part)
{
	char error[SOURCE_ERROR_MAX] = "";

	assert_null(replay_open(&path, 1, error));
	assert_one_line(error, part);
}

static void test_classic(void **state)
{
	for (int kind = 0; kind < 4; kind++) {
		struct fixture *f = *state;
		bool ns = kind & 1;

		f->bytes.big = kind & 2;
		add_pcap_header(&f->bytes, ns ? MAGIC_NS : MAGIC_US, 65535, 1);
		add_record(&f->bytes, 1000000000, 999999, 60, 60, 'a');
		add_record(&f->bytes, 1000000001, 0, 14, 1514, 'b');
		add_record(&f->bytes, 1000000001, 1, 0, 99, 0);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 3);
		assert_packet(
			f, 0, 1000000000 * SECOND_NS + (ns ? 999999 : 999999000), 60, 60, 'a');
		assert_packet(f, 1, 1000000001 * SECOND_NS, 14, 1514, 'b');
		assert_packet(f, 2, 1000000001 * SECOND_NS + (ns ? 1 : 1000), 0, 99, 0);
		assert_int_equal(f->packets[0].link, LINK_ETHERNET);
		teardown(state);
		setup(state);
	}
}

static void test_pcapng(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct fixture *f = *state;

		f->bytes.big = big;
		add_section(&f->bytes);
		add_interface(&f->bytes, 1, 9);
		add_packet(&f->bytes, 0, UINT64_C(1600000000123456789), 60, 1000, 'a');
		add_interface(&f->bytes, 1, 6); /* a second interface of the same type */
		add_packet(&f->bytes, 1, UINT64_C(1600000001123456), 64, 64, 'b');
		add_section(&f->bytes);
		add_interface(&f->bytes, 1, 3);
		add_packet(&f->bytes, 0, UINT64_C(1600000002123), 68, 68, 'c');
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 3);
		assert_packet(f, 0, INT64_C(1600000000123456789), 60, 1000, 'a');
		assert_packet(f, 1, INT64_C(1600000001123456000), 64, 64, 'b');
		assert_packet(f, 2, INT64_C(1600000002123000000), 68, 68, 'c');
		teardown(state);
		setup(state);
	}
}

/* Asserts that an FCS declared by the file is removed, also if it is truncated. */
static void assert_without_fcs(void **state)
{
	struct fixture *f = *state;

	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 4);
	assert_packet(f, 0, SECOND_NS, 60, 60, 'a');
	assert_packet(f, 1, SECOND_NS, 60, 60, 'b');
	assert_packet(f, 2, SECOND_NS, 60, 1514, 'c');
	assert_packet(f, 3, SECOND_NS, 0, 0, 0);
	teardown(state);
	setup(state);
}

static void test_fcs(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct fixture *f = *state;

		f->bytes.big = big;
		add_pcap_header(&f->bytes, MAGIC_NS, 65535, 0x24000001);
		add_record(&f->bytes, 1, 0, 64, 64, 'a');
		add_record(&f->bytes, 1, 0, 62, 64, 'b');
		add_record(&f->bytes, 1, 0, 60, 1518, 'c');
		add_record(&f->bytes, 1, 0, 3, 3, 0);
		assert_without_fcs(state);
	}
	/* The file does not mark this length as valid. */
	add_pcap_header(&((struct fixture *)*state)->bytes, MAGIC_NS, 65535, 0x20000001);
	add_record(&((struct fixture *)*state)->bytes, 1, 0, 64, 64, 'a');
	end_file(*state);
	read_all(*state);
	assert_packet(*state, 0, SECOND_NS, 64, 64, 'a');
}

/* Adds an interface with an if_fcslen of `length` bytes. */
static void add_fcslen(struct bytes *bytes, uint32_t length, const char *value)
{
	add32(bytes, 1);
	add32(bytes, 28);
	add32(bytes, 1); /* Ethernet */
	add32(bytes, 0); /* no snap length */
	add16(bytes, 13);
	add16(bytes, length);
	add_bytes(bytes, value, 4);
	add32(bytes, 28);
}

/* A length of 4 bytes, or of 32 bits. */
static void test_fcs_pcapng(void **state)
{
	static const char *const lengths[] = {"\4\0\0\0", "\40\0\0\0"};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		struct fixture *f = *state;

		add_section(&f->bytes);
		add_fcslen(&f->bytes, 1, lengths[i]);
		add_packet(&f->bytes, 0, 1000000, 64, 64, 'a');
		add_packet(&f->bytes, 0, 1000000, 60, 64, 'b');
		add_packet(&f->bytes, 0, 1000000, 60, 1518, 'c');
		add_packet(&f->bytes, 0, 1000000, 0, 3, 0);
		assert_without_fcs(state);
	}
}

#define FLAGS 2 /* epb_flags, and pack_flags of the obsolete packet block */

/* Ends the block of a packet added by add_packet() or add_old_packet() with options. */
static void add_options(struct bytes *bytes, size_t block, const struct bytes *options)
{
	uint32_t length;

	bytes->len -= 4;
	add_bytes(bytes, options->data, options->len);
	length = (uint32_t)(bytes->len + 4 - block);
	add32(bytes, length);
	bytes->len = block + 4;
	add32(bytes, length);
	bytes->len = block + length;
}

static void add_option(struct bytes *options, uint32_t code, uint32_t length)
{
	const uint8_t fill = 2;

	add16(options, code);
	add16(options, length);
	for (uint32_t i = 0; i < (length + 3) / 4 * 4; i++)
		add_bytes(options, &fill, 1);
}

static void add_flags(struct bytes *options, uint32_t flags)
{
	add16(options, FLAGS);
	add16(options, 4);
	add32(options, flags);
}

/* The FCS length of the packet takes precedence over that of its interface; 0 means none. */
static void test_fcs_in_flags(void **state)
{
	static const struct {
		uint32_t before; /* length of a comment before the flags */
		uint32_t flags;
		const char *of_interface;
		uint32_t wire_len; /* wire length of a frame of 64 bytes without its FCS */
	} rows[] = {
		{0, 4 << 5, "\0\0\0\0", 60},
		{0, 4 << 5, "\2\0\0\0", 60},
		{0, 2 << 5, "\4\0\0\0", 62},
		{0, 0, "\4\0\0\0", 60},
		{0, 0xffff0000 | 15 << 5 | 0x1d, "\4\0\0\0", 49},
		{0, 0xfffffe1f, "\4\0\0\0", 60},
		{5, 4 << 5, "\0\0\0\0", 60},
		{65535, 4 << 5, "\0\0\0\0", 60},
	};

	for (size_t i = 0; i < 4 * sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = *state;
		struct bytes *options = calloc(1, sizeof(*options));
		bool old = i & 1;
		size_t block;

		f->bytes.big = options->big = i & 2;
		if (rows[i / 4].before > 0)
			add_option(options, 1, rows[i / 4].before);
		add_flags(options, rows[i / 4].flags);
		add_option(options, 0, 0);
		add_section(&f->bytes);
		add_fcslen(&f->bytes, 1, rows[i / 4].of_interface);
		block = f->bytes.len;
		(old ? add_old_packet : add_packet)(&f->bytes, 0, 1000000, 64, 64, 'a');
		add_options(&f->bytes, block, options);
		free(options);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 1);
		assert_packet(f, 0, SECOND_NS, rows[i / 4].wire_len, rows[i / 4].wire_len, 'a');
		teardown(state);
		setup(state);
	}
}

/*
 * Options of the largest packet, which lie outside the reader's buffer, with flags at each offset.
 */
static void test_fcs_in_flags_of_long_blocks(void **state)
{
	for (uint32_t before = 0; before < 9000; before += before < 100 ? 4 : 1100) {
		struct fixture *f = *state;
		struct bytes *options = calloc(1, sizeof(*options));
		size_t block;

		if (before > 0)
			add_option(options, 1, before);
		add_flags(options, 4 << 5);
		add_section(&f->bytes);
		add_any_interface(&f->bytes, &(struct interface){1, 0, 6, 0});
		block = f->bytes.len;
		add_packet(&f->bytes, 0, 1000000, 262144, 262144, 'a');
		add_options(&f->bytes, block, options);
		add_packet(&f->bytes, 0, 1000000, 64, 64, 'b');
		free(options);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 2);
		assert_packet(f, 0, SECOND_NS, 262140, 262140, 'a');
		assert_packet(f, 1, SECOND_NS, 64, 64, 'b');
		teardown(state);
		setup(state);
	}
}

/*
 * Flags are ignored if truncated, of another length, after the end of options, or in a simple
 * block.
 */
static void test_no_flags(void **state)
{
	static const char *const rows[] = {
		"\2\0\4\0",                       /* the block ends here */
		"\2\0\x08\0\x80\0\0\0\x80\0\0\0", /* 8 bytes */
		"\2\0\3\0\x80\0\0\0",             /* 3 bytes */
		"\0\0\0\0\2\0\4\0\x80\0\0\0",     /* after the end of options */
		"\1\0\xff\xff\2\0\4\0\x80\0\0\0", /* in a truncated comment */
	};
	static const size_t lengths[] = {4, 12, 8, 12, 12};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = *state;
		struct bytes *options = calloc(1, sizeof(*options));

		add_bytes(options, rows[i], lengths[i]);
		add_section(&f->bytes);
		add_fcslen(&f->bytes, 1, "\2\0\0\0");
		for (uint32_t captured = 64; captured <= 262144; captured += 262080) {
			size_t block = f->bytes.len;

			add_packet(&f->bytes, 0, 1000000, captured, captured, 'a');
			add_options(&f->bytes, block, options);
		}
		free(options);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 2);
		assert_packet(f, 0, SECOND_NS, 62, 62, 'a');
		assert_packet(f, 1, SECOND_NS, 262142, 262142, 'a');
		teardown(state);
		setup(state);
	}
}

/* A simple block has no options: the FCS length of the first interface applies. */
static void test_fcs_of_simple_packets(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_fcslen(&f->bytes, 1, "\4\0\0\0");
	add_fcslen(&f->bytes, 1, "\2\0\0\0");
	add_simple_packet(&f->bytes, 64, 64, 'a');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_packet(f, 0, 0, 60, 60, 'a');
}

/* An odd FCS length does not make the file invalid. */
static void test_fcs_of_odd_length(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_fcslen(&f->bytes, 4, "\4\0\0\0");
	add_packet(&f->bytes, 0, 1000000, 64, 64, 'a');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 1);
	assert_packet(f, 0, SECOND_NS, 64, 64, 'a');
}

static void test_link_types(void **state)
{
	static const struct {
		uint32_t number;
		enum link_type link;
	} known[] = {
		{1, LINK_ETHERNET},
		{12, LINK_RAW},
		{14, LINK_RAW},
		{101, LINK_RAW},
		{228, LINK_RAW},
		{229, LINK_RAW},
		{0, LINK_NULL},
		{108, LINK_NULL},
		{113, LINK_SLL},
		{276, LINK_SLL2},
		{9, LINK_PPP},
		{104, LINK_C_HDLC},
	};
	static const uint32_t unknown[] = {105, 127, 192, 107, 231};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct fixture *f = *state;

		add_pcap_header(&f->bytes, MAGIC_US, 65535, known[i].number);
		add_record(&f->bytes, 1, 0, 60, 60, 'a');
		end_file(f);
		read_all(f);
		assert_int_equal(f->nb_packets, 1);
		assert_int_equal(f->packets[0].link, known[i].link);
		teardown(state);
		setup(state);
	}
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct fixture *f = *state;
		char part[32];

		add_pcap_header(&f->bytes, MAGIC_US, 65535, unknown[i]);
		add_record(&f->bytes, 1, 0, 60, 60, 'a');
		end_file(f);
		snprintf(part, sizeof(part), "link type %u (", unknown[i]);
		assert_refused(f, part);
		teardown(state);
		setup(state);
	}
}

/* Each interface has its own link type, snap length, resolution and time offset. */
static void test_interfaces_differ(void **state)
{
	static const struct interface interfaces[] = {
		{1, 65535, 6, 0},
		{0, 64, 9, -1000},
		{101, 0, 0x80 | 10, 5},
	};

	for (int big = 0; big < 2; big++) {
		struct fixture *f = *state;

		f->bytes.big = big;
		add_section(&f->bytes);
		add_any_interface(&f->bytes, &interfaces[0]);
		add_any_interface(&f->bytes, &interfaces[1]);
		add_packet(&f->bytes, 1, UINT64_C(1600000000123456789), 60, 1000, 'b');
		add_packet(&f->bytes, 0, UINT64_C(1600000001123456), 64, 64, 'a');
		add_any_interface(&f->bytes, &interfaces[2]); /* late */
		add_packet(&f->bytes, 2, UINT64_C(1600000002) << 10 | 512, 68, 68, 'c');
		add_packet(&f->bytes, 1, UINT64_C(1600000003000000000), 128, 128, 'd');
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 4);
		assert_packet(f, 0, INT64_C(1599999000123456789), 60, 1000, 'b');
		assert_packet(f, 1, INT64_C(1600000001123456000), 64, 64, 'a');
		assert_packet(f, 2, INT64_C(1600000007500000000), 68, 68, 'c');
		assert_packet(f, 3, INT64_C(1599999003000000000), 128, 128, 'd');
		assert_int_equal(f->packets[0].link, LINK_NULL);
		assert_int_equal(f->packets[1].link, LINK_ETHERNET);
		assert_int_equal(f->packets[2].link, LINK_RAW);
		assert_int_equal(f->packets[3].link, LINK_NULL);
		teardown(state);
		setup(state);
	}
}

/* Interfaces and byte order belong to the section. */
static void test_sections_differ(void **state)
{
	struct fixture *f = *state;

	for (uint32_t section = 0; section < 4; section++) {
		f->bytes.big = section & 1;
		add_section(&f->bytes);
		add_interface(&f->bytes, section < 2 ? 1 : 228, 9);
		add_packet(&f->bytes, 0, SECOND_NS * section, 60, 60 + section, 'a');
	}
	add_section(&f->bytes);
	add_packet(&f->bytes, 0, 0, 60, 60, 'b'); /* no flags */
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_one_line(f->source->error, "packet of unknown interface 0");
	assert_int_equal(f->nb_packets, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_packet(f, i, SECOND_NS * i, 60, 60 + i, 'a');
		assert_int_equal(f->packets[i].link, i < 2 ? LINK_ETHERNET : LINK_RAW);
	}
}

/* Every kind of block with a packet; unknown blocks of any length are skipped. */
static void test_blocks(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct fixture *f = *state;

		f->bytes.big = big;
		add_section(&f->bytes);
		add_block(&f->bytes, 0x0bad, 400);
		add_any_interface(&f->bytes, &(struct interface){1, 64, 9, 0});
		add_interface(&f->bytes, 101, 9);
		add_block(&f->bytes, 5, 0);
		add_simple_packet(&f->bytes, 64, 1500, 'a');
		add_simple_packet(&f->bytes, 60, 60, 'b');
		add_block(&f->bytes, 0x80000001, 600000);
		add_old_packet(&f->bytes, 1, 7, 60, 99, 'c');
		add_packet(&f->bytes, 0, 8, 0, 0, 'd');
		add_block(&f->bytes, 4, 4096);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 4);
		assert_packet(f, 0, 0, 64, 1500, 'a');
		assert_packet(f, 1, 0, 60, 60, 'b');
		assert_packet(f, 2, 7, 60, 99, 'c');
		assert_packet(f, 3, 8, 0, 0, 0);
		assert_int_equal(f->packets[1].link, LINK_ETHERNET);
		assert_int_equal(f->packets[2].link, LINK_RAW);
		teardown(state);
		setup(state);
	}
}

/* Adds a packet with 400 KB of options after its bytes. */
static void add_packet_with_options(struct fixture *f)
{
	size_t start = f->bytes.len, end;

	add_packet(&f->bytes, 0, 3, 60, 60, 'o');
	f->bytes.len -= 4;
	add_block(&f->bytes, 0x00010064, 400000);
	f->bytes.len -= 4;
	end = f->bytes.len + 4;
	f->bytes.len = start + 4;
	add32(&f->bytes, (uint32_t)(end - start));
	f->bytes.len = end - 4;
	add32(&f->bytes, (uint32_t)(end - start));
}

static void test_long_blocks(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 9);
	add_packet_with_options(f);
	add_any_interface(&f->bytes, &(struct interface){1, 0, 9, 0});
	add_packet(&f->bytes, 1, 4, 262144, 300000, 'a');
	add_packet(&f->bytes, 1, 5, 60, 60, 'b');
	add_packet(&f->bytes, 1, 6, 262148, 262148, 'c');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_one_line(f->source->error, "invalid packet capture length 262148");
	assert_int_equal(f->nb_packets, 3);
	assert_packet(f, 0, 3, 60, 60, 'o');
	assert_packet(f, 1, 4, 262144, 300000, 'a');
	assert_packet(f, 2, 5, 60, 60, 'b');
}

static void test_resolutions(void **state)
{
	static const struct {
		uint8_t resolution;
		int64_t offset;
		uint64_t stamp;
		int64_t time;
	} rows[] = {
		{0, 0, 1600000000, 1600000000 * SECOND_NS},
		{3, 0, 1600000000001, 1600000000 * SECOND_NS + 1000000},
		{9, 0, 1600000000000000001, 1600000000 * SECOND_NS + 1},
		{9, 86400, 1600000000000000001, 1600086400 * SECOND_NS + 1},
		{9, -1600000001, 1600000000000000001, 0},
		{12, 1600000000, 1999, 1600000000 * SECOND_NS + 1},
		{19, 1, UINT64_C(15000000000000000000), 2 * SECOND_NS + SECOND_NS / 2},
		{0x80, 0, 1600000000, 1600000000 * SECOND_NS},
		{0x80 | 1, 0, 3200000001, 1600000000 * SECOND_NS + SECOND_NS / 2},
		{0x80 | 40, 0, UINT64_C(3) << 39, SECOND_NS + SECOND_NS / 2},
		{0x80 | 63, 7, UINT64_C(7) << 61, 8 * SECOND_NS + SECOND_NS / 4 * 3},
		{0, 0, UINT64_MAX, SOURCE_TIME_MAX},
		{0, INT64_MAX, UINT64_MAX, SOURCE_TIME_MAX},
		{6, INT64_MIN, UINT64_MAX, 0},
	};
	const size_t n = sizeof(rows) / sizeof(rows[0]);
	struct fixture *f = *state;

	add_section(&f->bytes);
	for (uint32_t i = 0; i < n; i++) {
		add_any_interface(&f->bytes,
			&(struct interface){1, 65535, rows[i].resolution, rows[i].offset});
		add_packet(&f->bytes, i, rows[i].stamp, 60, 60, 'a');
	}
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, n);
	for (uint32_t i = 0; i < n; i++)
		assert_packet(f, i, rows[i].time, 60, 60, 'a');
}

/* Adds two packets of different interfaces. */
static void add_unlike(struct fixture *f)
{
	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 9);
	add_packet(&f->bytes, 0, 1, 60, 60, 'a');
	add_interface(&f->bytes, 101, 9);
	add_packet(&f->bytes, 1, 2, 60, 60, 'b');
}

/*
 * Truncated anywhere, it is measured up to the truncation; between two blocks this is a normal end.
 */
static void test_pcapng_cut(void **state)
{
	const size_t section = 28, interface = 44, packet = 92;
	const size_t first = section + interface + packet, second = first + interface + packet;

	for (size_t length = 4; length <= second; length += 4) {
		struct fixture *f = *state;
		bool border = length == first || length == first + interface || length == second;

		add_unlike(f);
		assert_int_equal(f->bytes.len, second);
		f->bytes.len = length;
		end_file(f);
		if (length == section) {
			assert_refused(f, "truncated: no interface");
		} else if (length == section + interface) {
			read_all(f);
			assert_int_equal(f->end, 0);
		} else if (length < first) {
			assert_refused(f, "truncated");
		} else {
			read_all(f);
			assert_int_equal(f->end, border ? 0 : -1);
			assert_int_equal(f->nb_packets, 1 + (length == second));
			if (!border)
				assert_one_line(f->source->error, "after 1 packets: truncated");
		}
		teardown(state);
		setup(state);
	}
}

/* Each row replaces a 4-byte number of the second interface or packet. */
static void test_pcapng_damage(void **state)
{
	const size_t interface = 28 + 44 + 92, packet = interface + 44;
	const struct {
		size_t at;
		uint32_t value;
		const char *part;
	} rows[] = {
		{interface + 4, 8, "invalid block length: 8 bytes"},
		{interface + 4, 46, "invalid block length: 46 bytes"},
		{interface + 4, 16, "block lengths differ"},
		{interface + 4, UINT32_MAX - 3, "truncated"},
		{interface + 40, 48, "block lengths differ: 44 at its start, 48 at its end"},
		{interface + 16, 9 | 100 << 16, "truncated options"},
		{interface + 16, 9 | 4 << 16, "option 9 has 4 bytes instead of 1"},
		{interface + 16, 14 | 4 << 16, "option 14 has 4 bytes instead of 8"},
		{interface + 20, 20, "unit 10^-20 s is not supported"},
		{interface + 20, 0x80 | 64, "unit 2^-64 s is not supported"},
		{packet + 8, 2, "packet of unknown interface 2"},
		{packet + 20, 61, "invalid packet capture length 61 in a block of 92 bytes"},
		{packet + 20, UINT32_MAX, "invalid packet capture length 4294967295"},
		{packet + 88, 91, "block lengths differ"},
		{packet, 0x0a0d0d0a, "invalid byte-order magic"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture *f = *state;

		add_unlike(f);
		f->bytes.len = rows[i].at;
		add32(&f->bytes, rows[i].value);
		f->bytes.len = packet + 92;
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, -1);
		assert_int_equal(f->nb_packets, 1);
		assert_one_line(f->source->error, "damaged after 1 packets: ");
		assert_one_line(f->source->error, rows[i].part);
		teardown(state);
		setup(state);
	}
}

/* Blocks that are too short for their contents. */
static void test_short_blocks(void **state)
{
	static const uint32_t types[] = {0x0a0d0d0a, 1, 2, 3, 6};

	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		struct fixture *f = *state;

		add_unlike(f);
		add32(&f->bytes, types[i]);
		add32(&f->bytes, types[i] == 3 ? 12 : 16);
		if (types[i] != 3)
			add32(&f->bytes, 0x1a2b3c4d);
		add32(&f->bytes, types[i] == 3 ? 12 : 16);
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, -1);
		assert_int_equal(f->nb_packets, 2);
		assert_one_line(f->source->error, "invalid block length");
		teardown(state);
		setup(state);
	}
}

static void test_pcapng_without_packets(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 6);
	add_interface(&f->bytes, 1, 9);
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 0);
	teardown(state);
	setup(state);
	f = *state;
	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 6);
	add_interface(&f->bytes, 0, 6);
	end_file(f);
	assert_refused(f, "no packet, and");
}

/* Packets of an unknown link type are returned as such, wherever their interface is described. */
static void test_unknown_interface(void **state)
{
	for (int big = 0; big < 2; big++) {
		struct fixture *f = *state;

		f->bytes.big = big;
		add_section(&f->bytes);
		add_interface(&f->bytes, 105, 9);
		add_packet(&f->bytes, 0, 1, 60, 80, 'a');
		add_interface(&f->bytes, 127, 9);
		add_packet(&f->bytes, 1, 2, 60, 60, 'b');
		add_simple_packet(&f->bytes, 60, 60, 'c');
		add_section(&f->bytes);
		add_interface(&f->bytes, 101, 9);
		add_interface(&f->bytes, 105, 9);
		add_packet(&f->bytes, 0, 3, 60, 60, 'd');
		add_old_packet(&f->bytes, 1, 4, 60, 60, 'e');
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 5);
		assert_packet(f, 0, 1, 60, 80, 'a');
		for (unsigned int i = 0; i < f->nb_packets; i++)
			assert_int_equal(f->packets[i].link, i == 3 ? LINK_RAW : LINK_UNKNOWN);
		assert_warning(f, 0,
			"link type 105 (IEEE802_11) of interface 0 and others: not "
			"supported: 3 packets not measured");
		assert_warning(f, 1,
			"link type 127 (IEEE802_11_RADIO) of interface 1: not "
			"supported: 1 packet not measured");
		assert_warning(f, 2, NULL);
		teardown(state);
		setup(state);
	}
}

/* A packet that was read but not used does not count. */
static void test_unknown_packets_that_are_not_taken(void **state)
{
	struct fixture *f = *state;
	struct source_packet packet;

	add_section(&f->bytes);
	add_interface(&f->bytes, 105, 9);
	add_interface(&f->bytes, 1, 9);
	add_packet(&f->bytes, 0, 1, 60, 60, 'a');
	add_packet(&f->bytes, 0, 2, 60, 60, 'b');
	end_file(f);
	open_all(f);
	assert_non_null(f->source);
	assert_int_equal(f->source->next(f->source, &packet), 1);
	assert_warning(f, 0, NULL);
	source_take(&packet);
	assert_int_equal(f->source->next(f->source, &packet), 1);
	assert_warning(f, 0, ": 1 packet not measured");
}

/* A file is refused if all of its link types are unknown, one or several. */
static void test_unknown_file(void **state)
{
	for (uint32_t n = 1; n < 3; n++) {
		struct fixture *f = *state;

		add_section(&f->bytes);
		for (uint32_t i = 0; i < n; i++)
			add_interface(&f->bytes, i == 0 ? 105 : 127, 9);
		for (uint32_t i = 0; i < n; i++)
			add_packet(&f->bytes, i, 1, 60, 60, 'a');
		end_file(f);
		assert_refused(f, "no readable packet: link type 105 (");
		teardown(state);
		setup(state);
	}
}

static void add_classic(struct fixture *f, uint32_t link_type, uint32_t n)
{
	add_pcap_header(&f->bytes, MAGIC_NS, 65535, link_type);
	for (uint32_t i = 0; i < n; i++)
		add_record(&f->bytes, i, 0, 60, 60, (uint8_t)link_type);
	end_file(f);
}

/* Among other files it is skipped, in the order of its packets; so are several. */
static void test_unknown_file_among_others(void **state)
{
	struct fixture *f = *state;

	add_classic(f, 127, 3);
	add_classic(f, 1, 2);
	add_section(&f->bytes);
	add_interface(&f->bytes, 127, 0);
	add_packet(&f->bytes, 0, 1, 60, 60, 'n');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 6);
	assert_memory_equal(f->fills, "\177\1\177\1n\177", 6);
	for (unsigned int i = 0; i < f->nb_packets; i++)
		assert_int_equal(
			f->packets[i].link, f->fills[i] == 1 ? LINK_ETHERNET : LINK_UNKNOWN);
	assert_warning(f, 0,
		" and other files: link type 127 (IEEE802_11_RADIO): not supported: 4 "
		"packets not measured");
	assert_warning(f, 1, NULL);
	teardown(state);
	setup(state);
	f = *state;
	add_classic(f, 127, 1);
	add_classic(f, 105, 0);
	assert_refused(f, ": link type 127 (");
}

/* The first link types have counters of their own; the rest share one. */
static void test_many_unknown_link_types(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 9);
	for (uint32_t i = 1; i <= 40; i++)
		add_interface(&f->bytes, 1000 + i, 9);
	for (uint32_t i = 1; i <= 40; i++)
		add_packet(&f->bytes, i, 1, 60, 60, 'a');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_warning(f, 0, "link type 1001 (no name) of interface 1: not supported: 1 packet");
	assert_warning(f, 30, "link type 1031 (no name) of interface 31: not supported: 1 packet");
	assert_warning(
		f, 31, "other link types of interface 32 and others: not supported: 9 packets");
	assert_warning(f, 32, NULL);
}

static bool set_filter(struct fixture *f, struct filter_set *set, const char *expression)
{
	open_all(f);
	if (f->source == NULL)
		fail_msg("%s", f->error);
	*set = (struct filter_set){0};
	return f->source->filter(f->source, expression, set);
}

/* Returns true if the program matches an Ethernet frame with VLAN 5. */
static bool matches(const struct filter_set *set, uint32_t program)
{
	static const uint8_t frame[64] = {[12] = 0x81, [15] = 5, [16] = 8};

	return bpf_filter(set->programs[program].bf_insns, frame, sizeof(frame), sizeof(frame)) !=
	       0;
}

/* Packets of an interface that the filter does not apply to do not match. */
static void test_filter_that_suits_some(void **state)
{
	static const char order[] = "abcd";

	for (int known_later = 0; known_later < 2; known_later++) {
		struct fixture *f = *state;
		struct filter_set set;

		add_section(&f->bytes);
		add_interface(&f->bytes, 101, 9);
		if (!known_later)
			add_interface(&f->bytes, 1, 9);
		add_packet(&f->bytes, 0, 1, 60, 60, 'a');
		if (known_later)
			add_interface(&f->bytes, 1, 9);
		add_interface(&f->bytes, 105, 9);
		add_packet(&f->bytes, 1, 2, 60, 60, 'b');
		add_packet(&f->bytes, 2, 3, 60, 60, 'c');
		add_packet(&f->bytes, 0, 4, 60, 60, 'd');
		end_file(f);
		assert_true(set_filter(f, &set, "vlan 5"));
		read_rest(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 4);
		assert_memory_equal(f->fills, order, 4);
		for (unsigned int i = 0; i < 4; i++)
			assert_int_equal(matches(&set, f->packets[i].filter), order[i] == 'b');
		assert_warning(f, 0,
			"link type 101 (RAW) of interface 0: --filter does not apply: "
			"2 packets not measured");
		assert_warning(f, 1,
			"link type 105 (IEEE802_11) of interface 2: not supported: 1 "
			"packet not measured");
		assert_warning(f, 2, NULL);
		filter_set_free(&set);
		teardown(state);
		setup(state);
	}
}

static void test_filter_that_suits_some_files(void **state)
{
	struct fixture *f = *state;
	struct filter_set set;

	add_classic(f, 101, 2);
	add_classic(f, 1, 1);
	add_classic(f, 105, 1);
	assert_true(set_filter(f, &set, "vlan 5"));
	read_rest(f);
	assert_int_equal(f->nb_packets, 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(matches(&set, f->packets[i].filter), f->fills[i] == 1);
	assert_warning(f, 0, ": link type 105 (IEEE802_11): not supported: 1 packet not measured");
	assert_warning(
		f, 1, ": link type 101 (RAW): --filter does not apply: 2 packets not measured");
	filter_set_free(&set);
}

static void test_filter_that_suits_nothing(void **state)
{
	struct fixture *f = *state;
	struct filter_set set;

	add_classic(f, 101, 1);
	add_section(&f->bytes);
	add_interface(&f->bytes, 101, 9);
	add_packet(&f->bytes, 0, 1, 60, 60, 'a');
	add_interface(&f->bytes, 105, 9);
	add_interface(&f->bytes, 228, 9);
	add_packet(&f->bytes, 1, 1, 60, 60, 'a');
	end_file(f);
	assert_false(set_filter(f, &set, "vlan 5"));
	assert_one_line(f->source->error, f->paths[0]);
	assert_one_line(f->source->error, "--filter does not apply: ");
	filter_set_free(&set);
}

static void test_no_packets(void **state)
{
	struct fixture *f = *state;

	add_pcap_header(&f->bytes, MAGIC_US, 65535, 1);
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 0);
}

/* Adds a header and n records, the first filled with 1, the second with 2, ... */
static void add_counted(struct fixture *f, unsigned int n)
{
	add_pcap_header(&f->bytes, MAGIC_US, 65535, 1);
	for (unsigned int i = 1; i <= n; i++)
		add_record(&f->bytes, 1000000000 + i, 0, 60, 60, (uint8_t)i);
}

static void test_gzip(void **state)
{
	/* One member, and several that end within headers and records. */
	for (unsigned int members = 1; members < 6; members++) {
		struct fixture *f = *state;

		add_counted(f, 1000);
		end_gzip_file(f, members, 0);
		read_all(f);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 1000);
		for (unsigned int i = 0; i < 1000; i++)
			assert_int_equal(f->fills[i], (uint8_t)(i + 1));
		teardown(state);
		setup(state);
	}
}

static void test_gzip_padding(void **state)
{
	struct fixture *f = *state;
	FILE *file;

	add_counted(f, 3);
	end_gzip_file(f, 1, 0);
	file = fopen(f->paths[0], "ab");
	fwrite("\0\0\0\0\0", 1, 5, file); /* padding, as on tapes */
	fclose(file);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 3);
}

/* All packets before a truncation are returned, and it is reported even between two records. */
static void test_gzip_cut(void **state)
{
	struct fixture *f = *state;

	add_counted(f, 1000);
	end_gzip_file(f, 1, 4); /* truncates only the trailer, so that all packets are complete */
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_int_equal(f->nb_packets, 1000);
	assert_one_line(f->source->error, "truncated gzip stream");
	assert_one_line(f->source->error, "after 1000 packets");
}

static void test_gzip_corrupt(void **state)
{
	struct fixture *f = *state;
	FILE *file;

	add_counted(f, 1000);
	end_gzip_file(f, 1, 0);
	file = fopen(f->paths[0], "r+b");
	fseek(file, -8, SEEK_END); /* the checksum */
	fputc(fgetc(file) ^ 1, file);
	fseek(file, -8, SEEK_END);
	fwrite("\1\2\3\4", 1, 4, file);
	fclose(file);
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_one_line(f->source->error, "corrupt gzip stream");
}

static void test_damage(void **state)
{
	static const struct {
		size_t cut; /* bytes missing at the end */
		const char *part;
	} cuts[] = {{1, "truncated"}, {60, "truncated"}, {61, "truncated"}, {75, "truncated"}};

	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		struct fixture *f = *state;

		add_counted(f, 5);
		f->bytes.len -= cuts[i].cut;
		end_file(f);
		read_all(f);
		assert_int_equal(f->end, -1);
		assert_int_equal(f->nb_packets, 4);
		assert_one_line(f->source->error, f->paths[0]);
		assert_one_line(f->source->error, "after 4 packets");
		assert_one_line(f->source->error, cuts[i].part);
		teardown(state);
		setup(state);
	}
}

static void test_corrupt_length(void **state)
{
	struct fixture *f = *state;

	add_counted(f, 2);
	add32(&f->bytes, 1);
	add32(&f->bytes, 1);
	add32(&f->bytes, 0x7fffffff);
	add32(&f->bytes, 0x7fffffff);
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_int_equal(f->nb_packets, 2);
	assert_one_line(f->source->error, "invalid packet capture length");
}

static void test_snaplen(void **state)
{
	struct fixture *f = *state;

	add_pcap_header(&f->bytes, MAGIC_US, 64, 1);
	add_record(&f->bytes, 1, 0, 100, 1500, 'a'); /* longer than the header allows */
	add_record(&f->bytes, 2, 0, 60, 1500, 'b');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_packet(f, 0, SECOND_NS, 64, 1500, 'a');
	assert_packet(f, 1, 2 * SECOND_NS, 60, 1500, 'b');
}

static void test_largest_frame(void **state)
{
	struct fixture *f = *state;

	add_pcap_header(&f->bytes, MAGIC_US, 262144, 1);
	add_record(&f->bytes, 1, 0, 262144, 300000, 'a');
	add_record(&f->bytes, 2, 0, 60, UINT32_MAX, 'b');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_packet(f, 0, SECOND_NS, 262144, 300000, 'a');
	assert_packet(f, 1, 2 * SECOND_NS, 60, UINT32_MAX, 'b');
}

/* Classic time fields are unsigned; a fraction above a second is carried. */
static void test_odd_times(void **state)
{
	struct fixture *f = *state;

	add_pcap_header(&f->bytes, MAGIC_NS, 65535, 1);
	add_record(&f->bytes, UINT32_MAX, 5, 60, 60, 'a');
	add_record(&f->bytes, 10, 1000000000, 60, 60, 'b');
	add_record(&f->bytes, 10, UINT32_C(0x80000000), 60, 60, 'c');
	end_file(f);
	read_all(f);
	assert_packet(f, 0, UINT32_MAX * SECOND_NS + 5, 60, 60, 'a');
	assert_packet(f, 1, 11 * SECOND_NS, 60, 60, 'b');
	assert_packet(f, 2, 10 * SECOND_NS + INT64_C(0x80000000), 60, 60, 'c');
}

static void test_odd_times_us(void **state)
{
	struct fixture *f = *state;

	add_pcap_header(&f->bytes, MAGIC_US, 65535, 1);
	add_record(&f->bytes, UINT32_MAX, UINT32_MAX, 60, 60, 'a');
	end_file(f);
	read_all(f);
	assert_packet(f, 0, UINT32_MAX * SECOND_NS + UINT32_MAX * INT64_C(1000), 60, 60, 'a');
}

static void test_times_are_clamped(void **state)
{
	struct fixture *f = *state;

	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 0); /* resolution of 1 s */
	add_packet(&f->bytes, 0, UINT64_MAX, 60, 60, 'a');
	add_packet(&f->bytes, 0, UINT64_C(1) << 62, 60, 60, 'b');
	add_packet(&f->bytes, 0, UINT64_C(8999999999), 60, 60, 'c');
	end_file(f);
	read_all(f);
	assert_int_equal(f->nb_packets, 3);
	for (unsigned int i = 0; i < 2; i++) {
		assert_true(f->packets[i].time >= 0);
		assert_true(f->packets[i].time <= SOURCE_TIME_MAX);
	}
	assert_int_equal(f->packets[1].time, SOURCE_TIME_MAX);
	assert_int_equal(f->packets[2].time, 8999999999 * SECOND_NS);
}

static void add_times(struct fixture *f, const char *times, char name)
{
	add_pcap_header(&f->bytes, MAGIC_US, 65535, 1);
	for (; *times != '\0'; times++)
		add_record(&f->bytes, (uint32_t)(*times - '0'), 0, 60, 60, (uint8_t)name);
	end_file(f);
}

static void test_merge(void **state)
{
	struct fixture *f = *state;
	char names[32] = "", seconds[32] = "";

	add_times(f, "1257", 'a');
	add_times(f, "2228", 'b');
	add_times(f, "", 'c');
	add_times(f, "3129", 'd'); /* times decrease: 1 waits until after 3 */
	read_all(f);
	assert_int_equal(f->end, 0);
	for (unsigned int i = 0; i < f->nb_packets; i++) {
		names[i] = (char)f->fills[i];
		seconds[i] = (char)('0' + f->packets[i].time / SECOND_NS);
	}
	assert_string_equal(names, "aabbbdddaabd");
	assert_string_equal(seconds, "122223125789");
}

/* A file with different interfaces among others. */
static void test_merge_pcapng(void **state)
{
	struct fixture *f = *state;

	add_times(f, "13", 'c');
	add_section(&f->bytes);
	add_interface(&f->bytes, 1, 0);
	add_interface(&f->bytes, 101, 3);
	add_packet(&f->bytes, 0, 0, 60, 60, 'a');
	add_packet(&f->bytes, 1, 2000, 60, 60, 'b');
	add_packet(&f->bytes, 0, 4, 60, 60, 'a');
	end_file(f);
	read_all(f);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 5);
	assert_memory_equal(f->fills, "acbca", 5);
	for (unsigned int i = 0; i < 5; i++) {
		assert_int_equal(f->packets[i].link, f->fills[i] == 'b' ? LINK_RAW : LINK_ETHERNET);
		assert_int_equal(f->packets[i].in_port, f->fills[i] == 'c' ? 0 : 1);
	}
}

/* Damage in one of several files: the others are read to their ends. */
static void test_merge_damage(void **state)
{
	struct fixture *f = *state;

	add_times(f, "123456789", 'a');
	add_counted(f, 2);
	f->bytes.len--;
	end_file(f);
	add_times(f, "13", 'c');
	read_all(f);
	assert_int_equal(f->end, -1);
	assert_int_equal(f->nb_packets, 12);
	assert_one_line(f->source->error, f->paths[1]);
}

static void test_refusals(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *part;
	} files[] = {
		{"", 0, "is empty"},
		{"a", 1, "pcap or pcapng"},
		{"epoch,measurement,start,end\n", 28, "pcap or pcapng"},
		{"\xd4\xc3\xb2\xa1\2\0\4\0", 8, "truncated"},
		{"\xfd"
		 "7zXZ\0",
			6, "xz -dc"},
		{"BZh9", 4, "bzip2 -dc"},
		{"\x28\xb5\x2f\xfd", 4, "zstd -dc"},
		{"\x1f\x8b\x08\0", 4, "truncated gzip stream"},
		{"\x1f\x8b no gzip in here", 18, "corrupt gzip stream"},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		struct fixture *f = *state;

		add_bytes(&f->bytes, files[i].data, files[i].len);
		end_file(f);
		assert_refused(f, files[i].part);
		teardown(state);
		setup(state);
	}
	assert_path_refused("/nonexistent/capture.pcap", "No such file");
	assert_path_refused("/tmp", "is a directory");
	assert_path_refused("/nonexistent/two\nlines", "two?lines");
}

/* Root reads everything, so the test briefly switches to another user. */
static void test_unreadable(void **state)
{
	struct fixture *f = *state;
	bool root = geteuid() == 0;

	add_counted(f, 1);
	end_file(f);
	assert_int_equal(chmod(f->paths[0], 0), 0);
	if (root)
		assert_int_equal(seteuid(65534), 0);
	open_all(f);
	if (root)
		assert_int_equal(seteuid(0), 0);
	assert_null(f->source);
	assert_one_line(f->error, f->paths[0]);
	assert_one_line(f->error, "Permission denied");
}

/* One invalid file among valid ones refuses all. */
static void test_refusal_of_second(void **state)
{
	struct fixture *f = *state;

	add_counted(f, 1);
	end_file(f);
	add_bytes(&f->bytes, "no capture", 10);
	end_file(f);
	open_all(f);
	assert_null(f->source);
	assert_one_line(f->error, f->paths[1]);
}

static void test_standard_input_twice(void **state)
{
	const char *paths[2] = {"-", "-"};
	char error[SOURCE_ERROR_MAX];

	(void)state;
	assert_null(replay_open(paths, 2, error));
	assert_one_line(error, "only once");
}

/* Makes `fd` the standard input; returns the old one. */
static int swap_standard_input(int fd)
{
	int old = dup(STDIN_FILENO);

	assert_true(dup2(fd, STDIN_FILENO) >= 0);
	close(fd);
	return old;
}

struct dribble {
	const struct bytes *bytes;
	size_t piece;
	int fd;
};

/* Writes to a pipe in pieces, each after the previous one was read. */
static void *dribble_main(void *arg)
{
	const struct dribble *dribble = arg;
	size_t done = 0;

	while (done < dribble->bytes->len) {
		size_t left = dribble->bytes->len - done;
		size_t piece = dribble->piece < left ? dribble->piece : left;
		int unread = 0;

		if (write(dribble->fd, dribble->bytes->data + done, piece) != (ssize_t)piece)
			break;
		while (ioctl(dribble->fd, FIONREAD, &unread) == 0 && unread > 0)
			sched_yield();
		done += piece;
	}
	close(dribble->fd);
	return NULL;
}

/* Reads f->bytes through a pipe at standard input. */
static void read_pipe(struct fixture *f, size_t piece)
{
	struct dribble dribble = {.bytes = &f->bytes, .piece = piece};
	const char *path = "-";
	pthread_t thread;
	int fds[2], old;

	assert_int_equal(pipe(fds), 0);
	if (f->not_blocking)
		assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
	dribble.fd = fds[1];
	old = swap_standard_input(fds[0]);
	assert_int_equal(pthread_create(&thread, NULL, dribble_main, &dribble), 0);
	f->source = replay_open(&path, 1, f->error);
	if (f->source == NULL)
		fail_msg("%s", f->error);
	read_rest(f);
	pthread_join(thread, NULL);
	close(swap_standard_input(old));
}

/* The pipe may split headers, records and gzip members anywhere. */
static void test_standard_input(void **state)
{
	for (size_t piece = 1; piece < 6; piece++) {
		struct fixture *f = *state;

		add_counted(f, 50);
		read_pipe(f, piece);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 50);
		assert_true(f->source->progress(f->source) < 0);
		teardown(state);
		setup(state);
	}
}

static void test_standard_input_pcapng(void **state)
{
	for (size_t piece = 1; piece < 12; piece++) {
		struct fixture *f = *state;
		FILE *file;

		add_unlike(f);
		if (piece % 2 == 0) {
			end_gzip_file(f, 3, 0);
			file = fopen(f->paths[0], "rb");
			f->bytes.len = fread(f->bytes.data, 1, sizeof(f->bytes.data), file);
			fclose(file);
		}
		read_pipe(f, piece);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 2);
		assert_packet(f, 1, 2, 60, 60, 'b');
		teardown(state);
		setup(state);
	}
}

/* A descriptor that another program has made non-blocking is still waited for. */
static void test_not_blocking(void **state)
{
	struct fixture *f = *state;

	add_counted(f, 50);
	f->not_blocking = true;
	read_pipe(f, 7);
	assert_int_equal(f->end, 0);
	assert_int_equal(f->nb_packets, 50);
}

static void test_standard_input_gzip(void **state)
{
	for (size_t piece = 1; piece < 6; piece++) {
		struct fixture *f = *state;
		FILE *file;

		add_counted(f, 50);
		end_gzip_file(f, 3, 0);
		file = fopen(f->paths[0], "rb");
		f->bytes.len = fread(f->bytes.data, 1, sizeof(f->bytes.data), file);
		fclose(file);
		read_pipe(f, piece);
		assert_int_equal(f->end, 0);
		assert_int_equal(f->nb_packets, 50);
		teardown(state);
		setup(state);
	}
}

struct interrupter {
	pthread_t reader;
	int pipe;
	const struct fixture *fixture;
	atomic_bool first_read;
};

static void interrupt(const struct interrupter *interrupter)
{
	for (int i = 0; i < 20; i++) {
		pthread_kill(interrupter->reader, i % 2 == 0 ? SIGUSR1 : SIGHUP);
		usleep(1000);
	}
}

/*
 * Sends harmless signals before the first byte and after the first packet, then the one that ends
 * the run.
 */
static void *interrupter_main(void *arg)
{
	struct interrupter *interrupter = arg;
	const struct bytes *bytes = &interrupter->fixture->bytes;

	interrupt(interrupter);
	if (write(interrupter->pipe, bytes->data, bytes->len) != (ssize_t)bytes->len)
		abort();
	while (!atomic_load(&interrupter->first_read))
		usleep(1000);
	interrupt(interrupter);
	pthread_kill(interrupter->reader, SIGTERM);
	return NULL;
}

/*
 * Packets of a pipe that stays open are returned at once. Signals do not interrupt the wait for
 * more, except those that end the run.
 */
static void test_signals(void **state)
{
	struct fixture *f = *state;
	struct interrupter interrupter = {.reader = pthread_self()};
	const char *path = "-";
	struct source_packet packet;
	pthread_t thread;
	int fds[2], old;

	add_counted(f, 2);
	f->bytes.len -= 10; /* half of the second packet */
	assert_int_equal(pipe(fds), 0);
	signals_install();
	interrupter.pipe = fds[1];
	interrupter.fixture = f;
	old = swap_standard_input(fds[0]);
	assert_int_equal(pthread_create(&thread, NULL, interrupter_main, &interrupter), 0);
	f->source = replay_open(&path, 1, f->error);
	if (f->source == NULL)
		fail_msg("%s", f->error);
	assert_int_equal(f->source->next(f->source, &packet), 1);
	assert_int_equal(packet.data[0], 1);
	atomic_store(&interrupter.first_read, true);
	assert_int_equal(f->source->next(f->source, &packet), -1);
	assert_true(signals_stop_requested());
	pthread_join(thread, NULL);
	assert_one_line(f->source->error, strerror(EINTR));
	close(swap_standard_input(old));
	close(fds[1]);
}

static void test_progress(void **state)
{
	struct fixture *f = *state;
	struct source_packet packet;
	double last = 0;

	for (int file = 0; file < 2; file++) {
		add_counted(f, 12000); /* longer than a buffer */
		end_file(f);
	}
	open_all(f);
	assert_non_null(f->source);
	while (f->source->next(f->source, &packet) == 1) {
		double now = f->source->progress(f->source);

		assert_true(now >= last && now <= 1);
		if (last == 0)
			assert_true(now < 0.7);
		last = now;
	}
	assert_true(last == 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	/* The last test ends the process. */
	const struct CMUnitTest tests[] = {
		TEST(test_classic),
		TEST(test_pcapng),
		TEST(test_fcs),
		TEST(test_fcs_pcapng),
		TEST(test_fcs_in_flags),
		TEST(test_fcs_in_flags_of_long_blocks),
		TEST(test_no_flags),
		TEST(test_fcs_of_simple_packets),
		TEST(test_fcs_of_odd_length),
		TEST(test_link_types),
		TEST(test_interfaces_differ),
		TEST(test_sections_differ),
		TEST(test_blocks),
		TEST(test_long_blocks),
		TEST(test_resolutions),
		TEST(test_pcapng_cut),
		TEST(test_pcapng_damage),
		TEST(test_short_blocks),
		TEST(test_pcapng_without_packets),
		TEST(test_unknown_interface),
		TEST(test_unknown_packets_that_are_not_taken),
		TEST(test_unknown_file),
		TEST(test_unknown_file_among_others),
		TEST(test_many_unknown_link_types),
		TEST(test_filter_that_suits_some),
		TEST(test_filter_that_suits_some_files),
		TEST(test_filter_that_suits_nothing),
		TEST(test_no_packets),
		TEST(test_gzip),
		TEST(test_gzip_padding),
		TEST(test_gzip_cut),
		TEST(test_gzip_corrupt),
		TEST(test_damage),
		TEST(test_corrupt_length),
		TEST(test_snaplen),
		TEST(test_largest_frame),
		TEST(test_odd_times),
		TEST(test_odd_times_us),
		TEST(test_times_are_clamped),
		TEST(test_merge),
		TEST(test_merge_pcapng),
		TEST(test_merge_damage),
		TEST(test_refusals),
		TEST(test_unreadable),
		TEST(test_refusal_of_second),
		TEST(test_standard_input_twice),
		TEST(test_standard_input),
		TEST(test_standard_input_gzip),
		TEST(test_standard_input_pcapng),
		TEST(test_not_blocking),
		TEST(test_progress),
		TEST(test_signals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
