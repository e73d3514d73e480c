/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Files of the classic format, complete, truncated and damaged: the packets that libpcap reads come
 * out, and no more.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "base/random.h"
#include "base/units.h"
#include "capture_bytes.h"
#include "rx/source.h"

#define FILES         4000
#define MAGIC_PATCHED 0xa1b2cd34u

/* Number of files per kind of ending, to check that each kind occurs. */
struct met {
	unsigned int refused, ended, damaged, clipped;
};

static uint32_t one_of(struct random *random, const uint32_t *values, uint32_t n)
{
	return values[random_next(random) % n];
}

#define ONE_OF(random, ...)                                                                        \
	one_of(random, (const uint32_t[]){__VA_ARGS__},                                            \
		sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t))

static void add_random_head(struct bytes *bytes, struct random *random, uint32_t magic)
{
	static const uint16_t versions[][2] = {
		{2, 4}, {2, 4}, {2, 4}, {2, 3}, {2, 2}, {2, 0}, {543, 0}, {543, 1}, {1, 9}, {3, 0}};
	const uint16_t *version = versions[random_next(random) % 10];

	add32(bytes, magic);
	add16(bytes, version[0]);
	add16(bytes, version[1]);
	add32(bytes, (uint32_t)random_next(random));
	add32(bytes, (uint32_t)random_next(random));
	add32(bytes, ONE_OF(random, 0, 1, 60, 65535, 262144, INT32_MAX, INT32_MIN, UINT32_MAX));
	add32(bytes, ONE_OF(random, 1, 1, 101, 113, 0x50000001));
}

static void add_random_packet(struct bytes *bytes, struct random *random, bool patched)
{
	uint32_t captured = (uint32_t)(random_next(random) % 100);

	add32(bytes, (uint32_t)random_next(random));
	add32(bytes, (uint32_t)(random_next(random) % 2000000000));
	add32(bytes, random_next(random) % 40 == 0 ? ONE_OF(random, 262144, 262145, UINT32_MAX)
						   : captured);
	add32(bytes, ONE_OF(random, captured, captured, captured / 2, 1500, 262145, UINT32_MAX));
	for (uint32_t i = 0; patched && i < 8; i++)
		add_bytes(bytes, &(uint8_t){(uint8_t)random_next(random)}, 1);
	for (uint32_t i = 0; i < captured; i++)
		add_bytes(bytes, &(uint8_t){(uint8_t)random_next(random)}, 1);
}

/* Returns the unit of the timestamps in ns. */
static int64_t make_file(struct bytes *bytes, struct random *random)
{
	uint32_t magic = ONE_OF(random, MAGIC_US, MAGIC_NS, MAGIC_PATCHED);
	uint64_t packets = random_next(random) % 8;

	bytes->len = 0;
	bytes->big = random_next(random) % 2;
	add_random_head(bytes, random, magic);
	while (packets-- > 0)
		add_random_packet(bytes, random, magic == MAGIC_PATCHED);
	if (random_next(random) % 3 == 0)
		bytes->len = random_next(random) % (bytes->len + 1);
	return magic == MAGIC_NS ? 1 : 1000;
}

/* Both parts of a timestamp are unsigned; libpcap treats them as signed. */
static int64_t time_of(const struct pcap_pkthdr *header, int64_t unit)
{
	int64_t fraction = header->ts.tv_usec;

	if (fraction < 0)
		fraction += unit << 32;
	return (uint32_t)header->ts.tv_sec * SECOND_NS + fraction;
}

static void assert_same(const struct source_packet *packet, const struct pcap_pkthdr *header,
	const uint8_t *data, int64_t unit)
{
	assert_int_equal(packet->time, time_of(header, unit));
	assert_int_equal(packet->captured, header->caplen);
	assert_int_equal(packet->wire_len, header->len);
	assert_memory_equal(packet->data, data, header->caplen);
}

/* A file whose first packet cannot be read is refused. unit: that of the timestamps, in ns. */
static void compare(const char *path, int64_t unit, struct met *met)
{
	char reason[PCAP_ERRBUF_SIZE], error[SOURCE_ERROR_MAX] = "";
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, reason);
	struct source *source = replay_open(&path, 1, error);
	struct pcap_pkthdr *header;
	struct source_packet packet;
	const uint8_t *data;
	int status = pcap != NULL ? pcap_next_ex(pcap, &header, &data) : PCAP_ERROR;

	if (status == PCAP_ERROR) {
		assert_null(source);
		assert_non_null(strstr(error, path));
		met->refused++;
	} else {
		if (source == NULL)
			fail_msg("%s", error);
		for (; status == 1; status = pcap_next_ex(pcap, &header, &data)) {
			assert_int_equal(source->next(source, &packet), 1);
			assert_same(&packet, header, data, unit);
			met->clipped += header->caplen == 1 || header->caplen == 60;
		}
		assert_int_equal(source->next(source, &packet), status == PCAP_ERROR ? -1 : 0);
		met->damaged += status == PCAP_ERROR;
		met->ended += status != PCAP_ERROR;
		source->close(source);
	}
	if (pcap != NULL)
		pcap_close(pcap);
}

static void test_as_libpcap(void **state)
{
	struct bytes *bytes = calloc(1, sizeof(*bytes));
	struct random random;
	struct met met = {0};

	(void)state;
	assert_non_null(bytes);
	random_init(&random, 1);
	for (unsigned int i = 0; i < FILES; i++) {
		char path[sizeof(TEMPORARY_PATH)];
		int64_t unit = make_file(bytes, &random);

		write_temporary(path, bytes->data, bytes->len);
		compare(path, unit, &met);
		unlink(path);
	}
	free(bytes);
	assert_true(met.refused > FILES / 20 && met.ended > FILES / 20);
	assert_true(met.damaged > FILES / 20 && met.clipped > FILES / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_libpcap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
