/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as packets that are read into bursts, put into a ring of any size as digests, and taken
 * out again, with marks between them. Each digest is what parse_packet() returns for its packet, in
 * the same order, except for refused packets. Packets are refused only if the ring has no room. The
 * first byte selects the contents of digests and the size of the ring; the actions follow.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "parallel/designs/digest_burst.h"
#include "rx/packet/parse_burst.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SIZE_MIN      8
#define SIZE_MAX_LOG2 4   /* the ring has SIZE_MIN << 0 to SIZE_MIN << 4 units */
#define HELD          256 /* more than the units of a ring plus the packets of a burst */
#define TIME          INT64_C(0x123456789abcdef)
#define FORMS         4 /* values of enum digest_form */

/*
 * Ranges of the first byte of an action. Smaller values are the length of the packet that follows.
 */
enum { DO_PUT = 0x80, DO_TAKE = 0xa0, DO_MARK = 0xd0 };

static const uint16_t in_ports[RTE_MAX_ETHPORTS];

/* One expected digest or mark. */
struct expected {
	bool mark, v6;
	uint64_t number; /* number of the mark */
	uint32_t wire_len;
	struct parsed parsed;
};

static struct {
	enum digest_form form;
	struct digest_ring ring;
	struct packet_times times;

	uint32_t n; /* packets in hand */
	struct rte_mbuf mbufs[BURST_MAX];
	void *bytes[BURST_MAX];

	struct expected expected[HELD]; /* entries [first, last) are in the ring */
	uint32_t first, last;
	uint32_t units; /* units of these entries */
	uint64_t epoch;
	uint32_t marks; /* marks not yet taken */
	uint64_t keys, refused, taken;
} state;

static void require(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static uint32_t units_of(const struct expected *expected)
{
	if (expected->mark)
		return 1;
	if (state.form == DIGEST_FORM_EXTRA)
		return expected->v6 ? DIGEST_UNITS_MAX : 2;
	return expected->v6 ? 2 : 1;
}

static void expect(const struct expected *expected)
{
	state.expected[state.last++ % HELD] = *expected;
	state.units += units_of(expected);
}

/* --- actions --- */

static void add_packet(const uint8_t *data, uint32_t len)
{
	struct rte_mbuf *mbuf = &state.mbufs[state.n];
	void *bytes =
		malloc(len + (size_t)(len == 0)); /* exact size, so that ASan detects an overread */

	require(bytes != NULL, "there is memory");
	if (len > 0)
		memcpy(bytes, data, len);
	*mbuf = (struct rte_mbuf){
		.buf_addr = bytes,
		.buf_len = (uint16_t)len,
		.data_len = (uint16_t)len,
		.pkt_len = len,
		.nb_segs = 1,
	};
	state.bytes[state.n++] = bytes;
}

static void expect_packet(const struct rte_mbuf *mbuf, uint32_t *refused)
{
	struct expected expected = {.wire_len = mbuf->pkt_len};
	enum parse_verdict verdict =
		parse_packet(mbuf->buf_addr, mbuf->data_len, LINK_ETHERNET, &expected.parsed);

	if (parse_verdicts[verdict].class != PARSE_CLASS_KEY)
		return;
	state.keys++;
	expected.v6 = verdict == PARSE_IPV6;
	if (state.units + units_of(&expected) + DIGEST_MARKS > state.ring.size)
		++*refused;
	else
		expect(&expected);
}

static void put_burst(void)
{
	struct key_burst burst = {.n = 0};
	struct parse_counts counts = {.smallest_frame = UINT32_MAX};
	struct rte_mbuf *pkts[BURST_MAX];
	uint32_t refused = 0;

	for (uint32_t i = 0; i < state.n; i++) {
		pkts[i] = &state.mbufs[i];
		expect_packet(pkts[i], &refused);
	}
	if (state.form == DIGEST_FORM_PLAIN)
		parse_burst_port(pkts, state.n, &burst, &counts, PARSE_KEYS, false, NULL, NULL);
	else if (state.form == DIGEST_FORM_DETAILS)
		parse_burst_port(
			pkts, state.n, &burst, &counts, PARSE_DETAILS, true, &state.times, NULL);
	else
		parse_burst_port(
			pkts, state.n, &burst, &counts, PARSE_EXTRA, false, &state.times, in_ports);
	require(digest_burst_put(&state.ring, &burst, state.form) == refused,
		"number of refused packets");
	digest_ring_publish(&state.ring);
	state.refused += refused;
	for (uint32_t i = 0; i < state.n; i++)
		free(state.bytes[i]);
	state.n = 0;
}

static void put_mark(enum digest_kind kind)
{
	expect(&(struct expected){.mark = true, .number = ++state.epoch});
	state.marks++;
	require(state.units <= state.ring.size, "room for a mark");
	digest_ring_mark(&state.ring, kind, state.epoch);
}

static void check_entry(const struct key_burst *burst, uint32_t i)
{
	const struct expected *expected = &state.expected[state.first++ % HELD];
	const struct parsed *parsed = &expected->parsed;

	state.units -= units_of(expected);
	state.taken++;
	require(!expected->mark, "a packet is not taken for a mark");
	require((burst->v6 >> i & 1) == expected->v6, "its version");
	require(burst->wire_len[i] == expected->wire_len, "its length");
	require(expected->v6 ? memcmp(&burst->key6[i], &parsed->key6, sizeof(parsed->key6)) == 0
			     : memcmp(&burst->key4[i], &parsed->key4, sizeof(parsed->key4)) == 0,
		"its key");
	if (state.form == DIGEST_FORM_PLAIN)
		return;
	require(burst->time[i] == TIME, "its time");
	require(burst->tcp_flags[i] == parsed->extra.tcp_flags[0], "its TCP flags");
	require(state.form != DIGEST_FORM_FLAGS ||
			burst->extra[i].tcp_flags[0] == parsed->extra.tcp_flags[0],
		"its TCP flags as a field");
	require(state.form != DIGEST_FORM_EXTRA ||
			memcmp(&burst->extra[i], &parsed->extra, sizeof(parsed->extra)) == 0,
		"its other fields");
}

/* Returns false if the ring was empty. */
static bool take_burst(void)
{
	static struct key_burst burst;
	struct digest_mark mark = digest_burst_take(&state.ring, &burst, state.form);
	const struct expected *expected;

	for (uint32_t i = 0; i < burst.n; i++) {
		require(state.first != state.last, "nothing is taken twice");
		check_entry(&burst, i);
	}
	if (mark.kind != DIGEST_EPOCH && mark.kind != DIGEST_END)
		return burst.n > 0;
	require(state.first != state.last, "no mark is taken twice");
	expected = &state.expected[state.first++ % HELD];
	require(expected->mark && mark.number == expected->number, "a mark is where it was put");
	state.units--;
	state.marks--;
	return true;
}

static void act(uint8_t what)
{
	put_burst();
	if (what >= DO_TAKE && what < DO_MARK)
		take_burst();
	/* No epoch opens before the mark of the last one was taken. */
	if (what >= DO_MARK && state.marks == 0)
		put_mark(DIGEST_EPOCH);
}

static void begin(uint8_t how)
{
	uint32_t size = SIZE_MIN << how / FORMS % (SIZE_MAX_LOG2 + 1);

	memset(&state, 0, sizeof(state));
	state.form = (enum digest_form)(how % FORMS);
	state.times.polled = TIME;
	state.ring.size = size;
	state.ring.units = aligned_alloc(
		DIGEST_UNIT, DIGEST_RING_UNITS((size_t)size) * sizeof(struct digest_unit));
	require(state.ring.units != NULL, "there is memory");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t at = 1;

	if (size == 0)
		return 0;
	begin(data[0]);
	while (at < size) {
		uint8_t what = data[at++];
		size_t len = what < size - at ? what : size - at;

		if (what >= DO_PUT) {
			act(what);
			continue;
		}
		add_packet(data + at, (uint32_t)len);
		at += len;
		if (state.n == BURST_MAX)
			put_burst();
	}
	put_burst();
	put_mark(DIGEST_END);
	while (take_burst())
		;
	require(state.first == state.last && state.units == 0, "nothing is left");
	require(state.marks == 0, "no mark is lost");
	require(state.taken + state.refused == state.keys, "all were taken or refused");
	free(state.ring.units);
	return 0;
}
