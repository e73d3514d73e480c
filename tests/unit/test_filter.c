/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Filters compared with libpcap's interpreter: expressions, and random programs on random packets
 * whose captured length and wire length differ. Packets lie at the end of a page before an unmapped
 * one, so that an overread ends the test.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/mman.h>
#include <unistd.h>

#include <rte_mbuf.h>

#include "key/key_burst.h"
#include "eal.h"
#include "fewer.h"
#include "rx/filter/filter.h"
#include "rx/packet/meta.h"
#include "base/random.h"

#define PACKET_MAX 160
#define PAGE       4096
#define PROGRAMS   FEWER(20000, 4000)

static struct rte_mempool *pool;
static struct rte_mbuf *pkts[BURST_MAX];
static uint8_t *pages[BURST_MAX]; /* the next page is unmapped */
static struct rte_mbuf_ext_shared_info shared;

static int start_eal(void **state)
{
	(void)state;
	if (eal_begin("test_filter", 64) != 0)
		return -1;
	pool = rte_pktmbuf_pool_create("packets", 2 * BURST_MAX, 0, 0, 256, SOCKET_ID_ANY);
	if (pool == NULL || packet_meta_register() != 0 ||
		rte_pktmbuf_alloc_bulk(pool, pkts, BURST_MAX) != 0)
		return -1;
	for (uint32_t i = 0; i < BURST_MAX; i++) {
		pages[i] = mmap(
			NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages[i] == MAP_FAILED || mprotect(pages[i] + PAGE, PAGE, PROT_NONE) != 0)
			return -1;
		rte_pktmbuf_attach_extbuf(pkts[i], pages[i], 0, PAGE, &shared);
	}
	return 0;
}

static int stop_eal(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < BURST_MAX; i++)
		munmap(pages[i], 2 * PAGE);
	return eal_end();
}

/* Places packet i of a burst, with captured bytes that end at the end of the page. */
static uint8_t *place(uint32_t i, uint32_t captured, uint32_t wire_len, uint32_t program)
{
	struct rte_mbuf *mbuf = pkts[i];

	mbuf->data_off = (uint16_t)(PAGE - captured);
	mbuf->data_len = (uint16_t)captured;
	mbuf->pkt_len = captured;
	mbuf->next = NULL;
	mbuf->nb_segs = 1;
	packet_meta(mbuf)->wire_len = wire_len;
	packet_meta(mbuf)->filter = program;
	return rte_pktmbuf_mtod(mbuf, uint8_t *);
}

/*
 * Places a random packet, truncated anywhere. Half of them look like IPv4 or IPv6 with TCP or UDP.
 */
static void put_random(uint32_t i, struct random *random, uint32_t program)
{
	static const uint16_t types[] = {0x0800, 0x86dd, 0x8100, 0x0806};
	uint32_t captured = (uint32_t)random_below(random, PACKET_MAX + 1);
	uint8_t bytes[PACKET_MAX];

	for (uint32_t b = 0; b < PACKET_MAX; b++)
		bytes[b] = (uint8_t)random_next(random);
	if (random_next(random) & 1) {
		uint16_t type = types[random_below(random, 4)];

		bytes[12] = (uint8_t)(type >> 8);
		bytes[13] = (uint8_t)type;
		bytes[14] = type == 0x86dd ? 0x60 : (uint8_t)(0x45 + random_below(random, 3));
		bytes[20] = bytes[21] = 0;
		bytes[23] = random_next(random) & 1 ? 6 : 17;
		bytes[20 + (type == 0x86dd ? 0 : 3)] = random_next(random) & 1 ? 6 : 17;
	}
	memcpy(place(i, captured, captured + (uint32_t)random_below(random, 100), program), bytes,
		captured);
}

/*
 * Runs all packets of the burst through the filter and through libpcap, with live lengths or not.
 */
static void check_burst(
	const struct filter_set *set, const struct filter *filter, uint32_t n, bool replay)
{
	struct rte_mbuf *burst[BURST_MAX], *expected[BURST_MAX], *picked[BURST_MAX];
	uint32_t kept = 0, others = n, got;

	memcpy(burst, pkts, sizeof(burst));
	for (uint32_t i = n; i-- > 0;) {
		const struct packet_meta *meta = packet_meta(pkts[i]);
		const struct bpf_program *program = &set->programs[replay ? meta->filter : 0];

		if (bpf_filter(program->bf_insns, rte_pktmbuf_mtod(pkts[i], uint8_t *),
			    replay ? meta->wire_len : pkts[i]->pkt_len, pkts[i]->data_len) == 0)
			expected[--others] = pkts[i];
	}
	for (uint32_t i = 0, at = others; i < n; i++) {
		if (at < n && expected[at] == pkts[i])
			at++;
		else
			expected[kept++] = pkts[i];
	}
	assert_int_equal(filter_pick(filter, burst, n, picked), others);
	assert_memory_equal(burst, pkts, n * sizeof(burst[0]));
	assert_memory_equal(picked, expected, others * sizeof(picked[0]));
	got = filter_burst(filter, burst, n);
	assert_int_equal(got, others);
	assert_int_equal(kept, others);
	assert_memory_equal(burst, expected, n * sizeof(burst[0]));
}

static void check_set(const struct filter_set *set, struct random *random, uint32_t bursts)
{
	for (uint32_t replay = 0; replay < 2; replay++) {
		struct filter *filter = filter_create(set, replay);

		assert_non_null(filter);
		for (uint32_t b = 0; b < bursts; b++) {
			for (uint32_t i = 0; i < BURST_MAX; i++)
				put_random(i, random, (uint32_t)random_below(random, set->n));
			check_burst(
				set, filter, (uint32_t)random_below(random, BURST_MAX + 1), replay);
		}
		filter_destroy(filter);
	}
}

/* --- expressions --- */

static const char *const expressions[] = {"tcp", "ip6", "vlan", "tcp port 80 or udp", "len > 100",
	"greater 150", "less 60", "ip[0] & 0xf > 5", "tcp[((tcp[12] & 0xf0) >> 2):4] = 0x47455420",
	"ether[1 - 4:4] = 0", "ether[ether[0]-100:4] != 7", "ip[ip[2:2]:2] > 3", "udp[8:4] > 65536",
	"ether[0] << ether[1] = 4096", "ether[65533:2] = 0 or tcp", "ether[70000] = 1 or udp",
	"len & ether[0] = 0 or ip", "icmp or (dst net 10.0.0.0/8 and portrange 1-1024)",
	"ip6 protochain 6", "len - 20 > ether[3]", "not ip and not ip6", "not (len < 70)",
	"ip[2:2] - ((ip[0] & 15) << 2) > (tcp[12] >> 4) * 4 + len / 2"};

static void expressions_match_as_libpcap_says(void **state)
{
	struct random random;
	char error[FILTER_ERROR_MAX];

	(void)state;
	random_init(&random, 1);
	for (size_t e = 0; e < sizeof(expressions) / sizeof(expressions[0]); e++) {
		struct filter_set set = {0};

		if (filter_set_add_ethernet(&set, expressions[e], error) != 0)
			fail_msg("%s: %s", expressions[e], error);
		check_set(&set, &random, 40);
		filter_set_free(&set);
	}
}

/* Every packet uses the program of its capture; equal programs are stored once. */
static void captures_have_their_own_programs(void **state)
{
	static const int links[] = {DLT_EN10MB, DLT_RAW, DLT_NULL, DLT_LINUX_SLL, DLT_EN10MB};
	struct filter_set set = {0};
	struct random random;
	char error[FILTER_ERROR_MAX];

	(void)state;
	random_init(&random, 2);
	for (int i = 0; i < 5; i++) {
		pcap_t *pcap = pcap_open_dead(links[i], 65535);

		assert_int_equal(
			filter_set_add(&set, pcap, "tcp or len > 120", error), i < 4 ? i : 0);
		pcap_close(pcap);
	}
	assert_int_equal(set.n, 4);
	check_set(&set, &random, 100);
	filter_set_free(&set);
}

/* A link type on which nothing can match excludes all packets and is not an error. */
static void impossible_is_no_mistake(void **state)
{
	struct filter_set set = {0};
	pcap_t *pcap = pcap_open_dead(DLT_IPV4, 65535);
	struct random random;
	char error[FILTER_ERROR_MAX];

	(void)state;
	random_init(&random, 3);
	assert_int_equal(filter_set_add(&set, pcap, "ip6", error), 0);
	assert_int_equal(set.reach, 0);
	check_set(&set, &random, 1);
	pcap_close(pcap);
	filter_set_free(&set);
}

static void reach_is_what_is_read(void **state)
{
	static const struct {
		const char *expression;
		uint32_t least, most;
	} rows[] = {{"ip", 14, 14}, {"dst net 10.0.0.0/8", 34, 42}, {"len > 9", 0, 0},
		{"udp[8:4] = 1", 14 + 20 + 12, 14 + 60 + 12}, {"ether[2000] = 1", 2001, 2001},
		{"ether[ether[0]] = 1", FILTER_REACH_MAX, FILTER_REACH_MAX},
		{"ether[100000] = 1", FILTER_REACH_MAX, FILTER_REACH_MAX}};
	char error[FILTER_ERROR_MAX];

	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		struct filter_set set = {0};

		assert_int_equal(filter_set_add_ethernet(&set, rows[r].expression, error), 0);
		assert_in_range(set.reach, rows[r].least, rows[r].most);
		filter_set_free(&set);
	}
}

/* Headers across two segments are read as one packet. */
static void chains_are_one_packet(void **state)
{
	static const char *const chained[] = {
		"udp[8:4] = 0x01020304", "ip6 protochain 17 or len = 60"};
	char error[FILTER_ERROR_MAX];

	(void)state;
	for (size_t e = 0; e < 2; e++)
		for (uint32_t cut = 1; cut < 59; cut++) {
			uint8_t frame[60] = {[12] = 8, [14] = 0x45, [23] = 17, [42] = 1, 2, 3, 4};
			struct filter_set set = {0};
			struct rte_mbuf *mbuf = pkts[0];
			struct filter *filter;

			memcpy(place(0, cut, cut, 0), frame, cut);
			memcpy(place(1, 60 - cut, 0, 0), frame + cut, 60 - cut);
			mbuf->next = pkts[1];
			mbuf->nb_segs = 2;
			mbuf->pkt_len = 60;
			assert_int_equal(filter_set_add_ethernet(&set, chained[e], error), 0);
			filter = filter_create(&set, false);
			assert_int_equal(filter_burst(filter, &mbuf, 1), 1);
			filter_destroy(filter);
			filter_set_free(&set);
		}
}

/* --- random programs --- */

static bool has_no_constant(const struct bpf_insn *insn)
{
	uint32_t class = BPF_CLASS(insn->code);

	return class == BPF_MISC || BPF_MODE(insn->code) == BPF_LEN ||
	       insn->code == BPF_RET + BPF_A || insn->code == BPF_ALU + BPF_NEG ||
	       ((class == BPF_ALU || class == BPF_JMP) && BPF_SRC(insn->code) == BPF_X);
}

static struct bpf_insn random_insn(struct random *random, uint32_t left)
{
	static const uint16_t codes[] = {BPF_LD | BPF_W | BPF_ABS, BPF_LD | BPF_H | BPF_ABS,
		BPF_LD | BPF_B | BPF_ABS, BPF_LD | BPF_W | BPF_IND, BPF_LD | BPF_H | BPF_IND,
		BPF_LD | BPF_B | BPF_IND, BPF_LD | BPF_W | BPF_LEN, BPF_LDX | BPF_W | BPF_LEN,
		BPF_LDX | BPF_B | BPF_MSH, BPF_LD | BPF_IMM, BPF_LDX | BPF_IMM, BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA, BPF_ALU | BPF_ADD | BPF_K, BPF_ALU | BPF_SUB | BPF_X,
		BPF_ALU | BPF_MUL | BPF_X, BPF_ALU | BPF_DIV | BPF_X, BPF_ALU | BPF_MOD | BPF_X,
		BPF_ALU | BPF_AND | BPF_K, BPF_ALU | BPF_OR | BPF_X, BPF_ALU | BPF_XOR | BPF_X,
		BPF_ALU | BPF_LSH | BPF_K, BPF_ALU | BPF_RSH | BPF_K, BPF_ALU | BPF_LSH | BPF_X,
		BPF_ALU | BPF_NEG, BPF_JMP | BPF_JEQ | BPF_K, BPF_JMP | BPF_JGT | BPF_X,
		BPF_JMP | BPF_JGE | BPF_K, BPF_JMP | BPF_JSET | BPF_X, BPF_JMP | BPF_JA,
		BPF_RET | BPF_K, BPF_RET | BPF_A};
	static const uint32_t edges[] = {
		0xffffffff, 0xfffffffc, 0x80000000, 0x7fffffff, 65535, 65536, PACKET_MAX, 0};
	struct bpf_insn insn = {
		.code = codes[random_below(random, sizeof(codes) / sizeof(codes[0]))]};

	insn.k = random_below(random, 8) == 0 ? edges[random_below(random, 8)]
					      : (uint32_t)random_below(random, 64);
	if (BPF_CLASS(insn.code) == BPF_JMP) {
		insn.jt = (u_char)random_below(random, left);
		insn.jf = (u_char)random_below(random, left);
		if (BPF_OP(insn.code) == BPF_JA)
			insn.k = (uint32_t)random_below(random, left);
	}
	if (has_no_constant(&insn))
		insn.k = 0;
	if (BPF_CLASS(insn.code) == BPF_ALU && insn.k >= 32 &&
		(BPF_OP(insn.code) == BPF_LSH || BPF_OP(insn.code) == BPF_RSH))
		insn.k &= 31; /* longer shifts are undefined in C */
	return insn;
}

static void random_programs_agree(void **state)
{
	struct random random;
	uint32_t native = 0;

	(void)state;
	random_init(&random, 4);
	for (uint32_t p = 0; p < PROGRAMS; p++) {
		struct filter_set set = {.n = 1};
		uint32_t n = 2 + (uint32_t)random_below(&random, 24);
		struct filter *filter;

		set.programs[0].bf_len = n;
		set.programs[0].bf_insns = calloc(n, sizeof(struct bpf_insn));
		for (uint32_t i = 0; i + 1 < n; i++)
			set.programs[0].bf_insns[i] = random_insn(&random, n - 1 - i);
		set.programs[0].bf_insns[n - 1].code = BPF_RET | BPF_A;
		assert_true(bpf_validate(set.programs[0].bf_insns, (int)n));
		filter = filter_create(&set, true);
		native += filter_interpreted(filter) == 0;
		filter_destroy(filter);
		check_set(&set, &random, 2);
		filter_set_free(&set);
	}
#ifdef RTE_ARCH_X86_64
	assert_int_equal(native, PROGRAMS);
#endif
}

/* --- errors --- */

static void mistakes_are_placed(void **state)
{
	static const struct {
		const char *expression, *mention;
	} rows[] = {{"foo bar", "at character 1, 'foo'"},
		{"tcp port and udp", "at character 10, 'and'"}, {"host", "at the end, character 5"},
		{"(tcp", "at the end"}, {"tcp)", "at character 4, ')'"},
		{"tcp and port 99999", "99999 > 65535 at character 14, '99999'"},
		{"tcp & udp", "at character 5, '&'"}, {"ip[0:3] = 1", ""},
		{"ip and ip host 1.2.3.999", "character"}};
	char error[FILTER_ERROR_MAX];

	(void)state;
	assert_true(filter_check("tcp", error));
	assert_true(filter_check("outbound", error)); /* for cooked captures */
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		assert_false(filter_check(rows[r].expression, error));
		if (strstr(error, rows[r].mention) == NULL)
			fail_msg("%s: %s", rows[r].expression, error);
		assert_null(strchr(error, '\n'));
	}
}

/* Any text gets a reply of one line. */
static void garbage_is_answered(void **state)
{
	struct random random;
	char text[600], error[FILTER_ERROR_MAX];

	(void)state;
	random_init(&random, 5);
	for (uint32_t t = 0; t < 200; t++) {
		size_t length = 1 + random_below(&random, t < 190 ? 20 : sizeof(text) - 1);

		for (size_t i = 0; i < length; i++)
			text[i] = "ip tcp(port)12 and\n[:]=&|\x01\xff"[random_below(&random, 26)];
		text[length] = '\0';
		if (!filter_check(text, error))
			assert_null(strchr(error, '\n'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions_match_as_libpcap_says),
		cmocka_unit_test(captures_have_their_own_programs),
		cmocka_unit_test(impossible_is_no_mistake),
		cmocka_unit_test(reach_is_what_is_read),
		cmocka_unit_test(chains_are_one_packet),
		cmocka_unit_test(random_programs_agree),
		cmocka_unit_test(mistakes_are_placed),
		cmocka_unit_test(garbage_is_answered),
	};

	return cmocka_run_group_tests(tests, start_eal, stop_eal);
}
