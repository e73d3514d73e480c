/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The kernel program, run by the kernel on frames of this test (bpf_prog_test_run). Its results for
 * random and mutated frames equal those of parse_packet(), and packets are lost only if a ring is
 * full, which counts them. Needs the right to load programs.
 */

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <cmocka.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/pkt_cls.h>

#include "base/random.h"
#include "rx/filter/prefix_file.h"
#include "rx/kernel/program.h"
#include "rx/kernel/ring.h"
#include "rx/packet/parse.h"

#define FRAME_MAX 1514
#define FRAMES    30000
#define BURST     64

struct world {
	struct kernel_program *program;
	struct kernel_reader reader; /* reader of the current CPU */
};

static void set_up_as(struct world *world, const struct kernel_program_params *params)
{
	char error[KERNEL_ERROR_MAX];
	cpu_set_t cpus;
	int cpu = sched_getcpu();

	CPU_ZERO(&cpus);
	CPU_SET((unsigned int)cpu, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof(cpus), &cpus), 0);
	world->program = kernel_program_load(params, error);
	if (world->program == NULL) {
		print_message("%s\n", error);
		skip();
	}
	kernel_reader_start(
		&world->reader, kernel_program_ring(world->program, (uint32_t)cpu), params->slots);
	kernel_program_measure(world->program, true);
}

static void set_up(struct world *world, uint32_t slots, bool headers_only)
{
	set_up_as(world,
		&(struct kernel_program_params){.slots = slots, .headers_only = headers_only});
}

static void tear_down(struct world *world)
{
	kernel_program_close(world->program);
}

/* GSO fields that the kernel passes with merged packets. */
struct gso {
	uint32_t segments, segment;
};

static void run(const struct world *world, enum kernel_hook hook, const uint8_t *frame, uint32_t n,
	struct gso gso)
{
	struct __sk_buff skb = {.gso_segs = gso.segments, .gso_size = gso.segment};
	struct bpf_test_run_opts opts = {
		.sz = sizeof(opts),
		.data_in = frame,
		.data_size_in = n,
		.repeat = 1,
	};

	if (gso.segment > 0) {
		opts.ctx_in = &skb;
		opts.ctx_size_in = sizeof(skb);
	}
	assert_int_equal(bpf_prog_test_run_opts(kernel_program_fd(world->program, hook), &opts), 0);
	assert_int_equal((int)opts.retval, hook == KERNEL_HOOK_TC ? TC_ACT_UNSPEC : XDP_PASS);
}

static const struct kernel_entry *take_one(struct world *world)
{
	const struct kernel_entry *entry;

	assert_true(kernel_reader_look(&world->reader));
	entry = kernel_reader_next(&world->reader);
	assert_non_null(entry);
	assert_null(kernel_reader_next(&world->reader));
	kernel_reader_release(&world->reader);
	return entry;
}

/* --- frames --- */

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t n;
};

static void put(struct frame *frame, uint32_t bytes, uint64_t value)
{
	for (uint32_t i = bytes; i-- > 0;)
		frame->bytes[frame->n++] = (uint8_t)(value >> (8 * i));
}

static void put_random(struct frame *frame, struct random *random, uint32_t bytes)
{
	while (bytes-- > 0)
		frame->bytes[frame->n++] = (uint8_t)random_next(random);
}

static uint32_t choose(struct random *random, uint32_t n)
{
	return (uint32_t)random_below(random, n);
}

static uint8_t choose_proto(struct random *random)
{
	static const uint8_t protos[] = {
		6, 6, 6, 17, 17, 132, 1, 58, 47, 50, 4, 41, 0, 43, 44, 51, 60, 59};

	return protos[choose(random, sizeof(protos))];
}

static void put_ipv4(struct frame *frame, struct random *random)
{
	uint32_t words = choose(random, 8) == 0 ? choose(random, 16) : 5;
	uint32_t fragment = choose(random, 6) == 0 ? choose(random, 0x10000) : 0;

	put(frame, 1, 0x40 | words);
	put_random(frame, random, 5);
	put(frame, 2, fragment);
	put_random(frame, random, 1);
	put(frame, 1, choose_proto(random));
	put_random(frame, random, 10);
	if (words > 5)
		put_random(frame, random, (words - 5) * 4);
}

static void put_ipv6(struct frame *frame, struct random *random)
{
	uint8_t proto = choose_proto(random);

	put(frame, 4, UINT64_C(0x60000000) | choose(random, 0x10000000));
	put_random(frame, random, 2);
	put(frame, 1, proto);
	put_random(frame, random, 33);
	for (uint32_t i = 0; i < 3 && (proto == 0 || proto == 43 || proto == 60); i++) {
		proto = choose_proto(random);
		put(frame, 1, proto);
		put(frame, 1, choose(random, 3));
		put_random(frame, random, 6 + 8 * (uint32_t)frame->bytes[frame->n - 1]);
	}
}

static void make_frame(struct frame *frame, struct random *random)
{
	static const uint16_t tags[] = {0x8100, 0x88a8, 0x9100, 0x9200};
	uint32_t kind = choose(random, 16);

	frame->n = 0;
	put_random(frame, random, 12);
	for (uint32_t t = choose(random, 5); t > 1; t--) {
		put(frame, 2, tags[choose(random, 4)]);
		put_random(frame, random, 2);
	}
	if (kind < 7) {
		put(frame, 2, 0x0800);
		put_ipv4(frame, random);
	} else if (kind < 13) {
		put(frame, 2, 0x86dd);
		put_ipv6(frame, random);
	} else if (kind == 13) {
		put(frame, 2, 0x8847);
		put(frame, 4, 0x00012100);
		put_ipv4(frame, random);
	} else {
		put_random(frame, random, 2);
	}
	put_random(frame, random, choose(random, 300));
	/* Damages the frame: a random byte, or a truncated end. */
	if (choose(random, 4) == 0)
		frame->bytes[choose(random, frame->n)] = (uint8_t)random_next(random);
	if (choose(random, 4) == 0)
		frame->n = 14 + choose(random, frame->n < 14 ? 1 : frame->n - 13);
	if (frame->n < 14)
		frame->n = 14;
}

/* Returns true for frames on which the kernel does not run tc programs. */
static bool is_cut_ip(const struct frame *frame)
{
	uint32_t type = (uint32_t)frame->bytes[12] << 8 | frame->bytes[13];

	return (type == 0x0800 && frame->n < 34) || (type == 0x86dd && frame->n < 54);
}

/* --- comparison --- */

static uint32_t vlan_of(const struct key_extra *extra)
{
	return (uint32_t)extra->vlan[0] << 8 | extra->vlan[1];
}

static void assert_as_parsed(const struct kernel_entry *entry, const struct frame *frame)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_packet(frame->bytes, frame->n, LINK_ETHERNET, &parsed);

	assert_int_equal(entry->length, frame->n);
	assert_int_equal(entry->segments, 1);
	if (entry->kind == KERNEL_ENTRY_HEADERS) {
		assert_int_equal(entry->headers,
			frame->n < KERNEL_HEADERS_MAX ? frame->n : KERNEL_HEADERS_MAX);
		assert_memory_equal(entry + 1, frame->bytes, entry->headers);
		return;
	}
	assert_int_equal(entry->kind == KERNEL_ENTRY_IPV4 ? PARSE_IPV4 : PARSE_IPV6, verdict);
	if (verdict == PARSE_IPV4)
		assert_memory_equal(entry->key, &parsed.key4, KERNEL_KEY4_BYTES);
	else
		assert_memory_equal(entry->key, &parsed.key6, KERNEL_KEY6_BYTES);
	assert_int_equal(entry->tcp_flags, parsed.extra.tcp_flags[0]);
	assert_int_equal(entry->tos >> 2, parsed.extra.dscp[0]);
	assert_int_equal(entry->vlan, vlan_of(&parsed.extra));
}

/* Returns true if the program's short path must handle the frame under the rules of parse.h. */
static bool is_plain(const struct frame *frame)
{
	struct parsed parsed;
	enum parse_verdict verdict = parse_packet(frame->bytes, frame->n, LINK_ETHERNET, &parsed);
	size_t header = parsed.transport_at - parsed.ip_at;
	uint32_t mpls =
		(uint32_t)parsed.extra.mpls[0] | parsed.extra.mpls[1] | parsed.extra.mpls[2];

	return !parsed.cut && mpls == 0 && parsed.ip_at <= 22 &&
	       ((verdict == PARSE_IPV4 && header == 20) || (verdict == PARSE_IPV6 && header == 40));
}

static void compare(enum kernel_hook hook, bool headers_only)
{
	struct random random;
	uint64_t keys = 0, plain = 0;
	struct world world;

	random_init(&random, 7);
	set_up(&world, 1024, headers_only);
	for (uint32_t i = 0; i < FRAMES; i++) {
		const struct kernel_entry *entry;
		struct frame frame;

		do
			make_frame(&frame, &random);
		while (hook == KERNEL_HOOK_TC && is_cut_ip(&frame));
		run(&world, hook, frame.bytes, frame.n, (struct gso){0});
		entry = take_one(&world);
		assert_as_parsed(entry, &frame);
		keys += entry->kind != KERNEL_ENTRY_HEADERS;
		plain += is_plain(&frame);
		if (is_plain(&frame) && !headers_only)
			assert_int_not_equal(entry->kind, KERNEL_ENTRY_HEADERS);
	}
	assert_int_equal(kernel_ring_received(world.reader.ring), FRAMES);
	assert_int_equal(kernel_ring_full(world.reader.ring), 0);
	assert_true(plain > FRAMES / 3);
	assert_true(headers_only ? keys == 0 : keys >= plain);
	tear_down(&world);
}

static void test_tc_says_what_the_parser_says(void **state)
{
	(void)state;
	compare(KERNEL_HOOK_TC, false);
}

static void test_xdp_says_what_the_parser_says(void **state)
{
	(void)state;
	compare(KERNEL_HOOK_XDP, false);
}

static void test_headers_alone(void **state)
{
	(void)state;
	compare(KERNEL_HOOK_TC, true);
	compare(KERNEL_HOOK_XDP, true);
}

/* Makes a merged packet: TCP with options, or a protocol that is not supported. */
static void make_joined(struct frame *frame, bool tcp, uint32_t bytes)
{
	memset(frame, 0, sizeof(*frame));
	frame->bytes[12] = 0x08;
	frame->bytes[14] = 0x45;
	frame->bytes[23] = tcp ? 6 : 132;
	frame->bytes[34 + 12] = 0x80; /* 32 bytes */
	frame->n = bytes;
}

static void test_joined_packets(void **state)
{
	static const struct {
		bool tcp;
		uint32_t bytes;
		struct gso gso;
		uint32_t segments;
	} rows[] = {
		{true, 66 + 1000, {10, 100}, 10},
		{true, 66 + 950, {10, 100}, 10},
		{true, 66 + 1000, {0, 100}, 10},
		{true, 66 + 1001, {0, 100}, 11},
		{true, 66 + 1, {0, 100}, 1},
		{true, 66, {0, 100}, 1},
		{false, 1000, {7, 100}, 7},
	};
	struct world world;

	(void)state;
	set_up(&world, 64, false);
	for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct kernel_entry *entry;
		struct frame frame;

		make_joined(&frame, rows[i].tcp, rows[i].bytes);
		run(&world, KERNEL_HOOK_TC, frame.bytes, frame.n, rows[i].gso);
		entry = take_one(&world);
		assert_int_equal(entry->segments, rows[i].segments);
		assert_int_equal(entry->segment, rows[i].gso.segment);
		assert_int_equal(entry->length, rows[i].bytes);
		assert_int_equal(
			entry->kind, rows[i].tcp ? KERNEL_ENTRY_IPV4 : KERNEL_ENTRY_HEADERS);
		if (rows[i].tcp)
			assert_int_equal(entry->headers, 66);
	}
	tear_down(&world);
}

static uint32_t number_of(const struct kernel_entry *entry)
{
	uint32_t number;

	memcpy(&number,
		entry->kind == KERNEL_ENTRY_HEADERS ? (const uint8_t *)(entry + 1) + 26
						    : entry->key,
		sizeof(number));
	return number;
}

/* Reads up to `few` entries, whose numbers must increase. Returns their number. */
static uint32_t take_some(struct world *world, uint32_t few, uint32_t *last)
{
	const struct kernel_entry *entry;
	uint32_t taken = 0;

	if (!kernel_reader_look(&world->reader))
		return 0;
	while (taken < few && (entry = kernel_reader_next(&world->reader)) != NULL) {
		assert_int_equal(entry->length, 100);
		assert_true(number_of(entry) > *last);
		*last = number_of(entry);
		taken++;
	}
	kernel_reader_release(&world->reader);
	return taken;
}

/* Entries of one slot and of five in turn, while the ring is nearly full or just emptied. */
static void test_a_full_ring(void **state)
{
	uint32_t sent = 0, taken = 0, last = 0;
	struct random random;
	struct world world;

	(void)state;
	random_init(&random, 3);
	set_up(&world, 64, false);
	for (uint32_t round = 0; round < 500; round++) {
		for (uint32_t n = choose(&random, 120); n > 0; n--) {
			struct frame frame;

			make_joined(&frame, true, 100);
			/* Packets with IP options go to the parser. */
			frame.bytes[14] = choose(&random, 3) > 0 ? 0x45 : 0x46;
			sent++;
			memcpy(frame.bytes + 26, &sent, sizeof(sent));
			run(&world, KERNEL_HOOK_TC, frame.bytes, frame.n, (struct gso){0});
		}
		taken += take_some(&world, 1 + choose(&random, 40), &last);
	}
	for (uint32_t n; (n = take_some(&world, BURST, &last)) > 0;)
		taken += n;
	assert_int_equal(kernel_ring_received(world.reader.ring), sent);
	assert_true(kernel_ring_full(world.reader.ring) > 0);
	assert_int_equal(taken + kernel_ring_full(world.reader.ring), sent);
	tear_down(&world);
}

static uint64_t clock_now(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void test_times(void **state)
{
	static const struct {
		enum kernel_times times;
		clockid_t clock;
	} rows[] = {{KERNEL_TIMES_EXACT, CLOCK_MONOTONIC},
		{KERNEL_TIMES_COARSE, CLOCK_MONOTONIC_COARSE}};
	struct world world;
	struct frame frame;

	(void)state;
	set_up(&world, 64, false);
	make_joined(&frame, true, 100);
	run(&world, KERNEL_HOOK_TC, frame.bytes, frame.n, (struct gso){0});
	assert_int_equal(take_one(&world)->time, 0);
	for (uint32_t i = 0; i < 2; i++) {
		uint64_t before = clock_now(rows[i].clock), time;

		kernel_program_stamp(world.program, rows[i].times);
		run(&world, KERNEL_HOOK_XDP, frame.bytes, frame.n, (struct gso){0});
		time = take_one(&world)->time;
		assert_true(time >= before && time <= clock_now(rows[i].clock));
	}
	tear_down(&world);
}

static void test_nothing_before_and_behind(void **state)
{
	struct world world;
	struct frame frame;

	(void)state;
	set_up(&world, 64, false);
	make_joined(&frame, true, 100);
	kernel_program_measure(world.program, false);
	run(&world, KERNEL_HOOK_TC, frame.bytes, frame.n, (struct gso){0});
	run(&world, KERNEL_HOOK_XDP, frame.bytes, frame.n, (struct gso){0});
	assert_false(kernel_reader_look(&world.reader));
	assert_int_equal(kernel_ring_received(world.reader.ring), 0);
	tear_down(&world);
}

/* --- tables --- */

#define FLOWS 600

/* True counts of every flow, by its number. */
struct truth {
	uint64_t packets[FLOWS], bytes[FLOWS];
	const struct kernel_tables *tables;
	uint32_t generation;
	uint64_t taken, wrong;
};

/* Makes a frame of flow `number`; odd numbers are IPv6. */
static void make_flow(struct frame *frame, uint32_t number, uint32_t bytes)
{
	bool v6 = number % 2 != 0;

	memset(frame, 0, sizeof(*frame));
	frame->n = bytes;
	frame->bytes[12] = v6 ? 0x86 : 0x08;
	frame->bytes[13] = v6 ? 0xdd : 0;
	frame->bytes[14] = v6 ? 0x60 : 0x45;
	frame->bytes[v6 ? 20 : 23] = 17;
	memcpy(frame->bytes + (v6 ? 34 : 26), &number, sizeof(number));
}

static void compare_flow(void *arg, const struct kernel_flow *flow)
{
	struct truth *truth = arg;
	bool v6 = flow->kind == KERNEL_ENTRY_IPV6;
	const uint8_t *key = (const uint8_t *)flow->key;
	uint32_t number;

	memcpy(&number, key + (v6 ? 12 : 0), sizeof(number));
	assert_true(number < FLOWS && (number % 2 != 0) == v6);
	assert_int_equal(key[v6 ? KERNEL_KEY6_BYTES - 1 : KERNEL_KEY4_BYTES - 1], 17);
	truth->taken += flow->packets;
	truth->wrong +=
		flow->packets != truth->packets[number] || flow->bytes != truth->bytes[number];
}

/* Asserts that the program puts the flow where the hash of user space expects it. */
static void assert_bucket(const struct truth *truth, const struct kernel_program_params *params,
	const struct frame *frame, uint32_t cpu)
{
	const struct kernel_tables *tables = truth->tables;
	__u64 keys[KERNEL_HASH_KEYS], words[2] = {0};
	uint64_t seed = params->seed;
	uint32_t bucket;

	for (uint32_t i = 0; i < KERNEL_HASH_KEYS; i++)
		keys[i] = random_split(&seed);
	memcpy(words, frame->bytes + 26, 8);
	memcpy(&words[1], frame->bytes + 34, 4);
	((uint8_t *)words)[12] = 17;
	bucket = (uint32_t)kernel_hash(keys, words, 2) & (tables->buckets - 1);
	assert_memory_equal(
		tables->flows[(uint64_t)cpu * 2 * tables->buckets + bucket].key, words, 8);
}

/* Sends frames of all flows in turn. Packets of flows without room must come through the ring. */
static void fill_tables(uint32_t buckets, bool all_share, bool full)
{
	const struct kernel_program_params params = {
		.slots = 65536, .buckets = buckets, .all_share = all_share, .seed = 5};
	struct random random;
	struct truth truth = {0};
	struct world world;
	const struct kernel_entry *entry;
	uint64_t sent = 0, told = 0;

	random_init(&random, 11);
	set_up_as(&world, &params);
	truth.tables = kernel_program_tables(world.program);
	for (uint32_t round = 0; round < 3; round++) {
		memset(truth.packets, 0, sizeof(truth.packets));
		memset(truth.bytes, 0, sizeof(truth.bytes));
		truth.taken = told = sent = 0;
		for (uint32_t i = 0; i < 10 * FLOWS; i++) {
			uint32_t number = i < FLOWS ? i : choose(&random, FLOWS);
			struct frame frame;

			make_flow(&frame, number, 80 + choose(&random, 100));
			run(&world, KERNEL_HOOK_XDP, frame.bytes, frame.n, (struct gso){0});
			truth.packets[number]++;
			truth.bytes[number] += frame.n;
			sent++;
			if (i == 0 && round == 0 && !all_share)
				assert_bucket(&truth, &params, &frame, (uint32_t)sched_getcpu());
		}
		kernel_reader_turn(&world.reader, round + 1);
		kernel_program_wait(world.program);
		kernel_tables_take(truth.tables, round & 1, compare_flow, &truth);
		assert_int_equal(truth.wrong, 0);
		kernel_reader_look(&world.reader);
		while ((entry = kernel_reader_next(&world.reader)) != NULL) {
			assert_int_not_equal(entry->kind, KERNEL_ENTRY_HEADERS);
			told++;
		}
		kernel_reader_release(&world.reader);
		assert_int_equal(truth.taken + told, sent);
		assert_int_equal(told > 0, full);
		assert_true(truth.taken > 0);
	}
	tear_down(&world);
}

static void test_tables(void **state)
{
	(void)state;
	fill_tables(1024, false, false);
}

/* The frames have no TCP flags; smoke tests compare those. */
static void test_shared_tables(void **state)
{
	(void)state;
	fill_tables(1024, true, false);
	fill_tables(16, true, true);
}

/* No bucket and no flow of the pool left; and chains of maximum length. */
static void test_full_tables(void **state)
{
	(void)state;
	fill_tables(256, false, true);
	fill_tables(8, false, true);
}

/* --- sketches --- */

static void compare_decoded(const struct sketch_candidate *candidate, void *arg)
{
	struct truth *truth = arg;
	bool v6 = candidate->key.family == KEY_IPV6;
	uint32_t number;

	if (candidate->packets == 0)
		return; /* no exact counts */
	memcpy(&number, v6 ? &candidate->key.v6.src_ip[12] : candidate->key.v4.src_ip,
		sizeof(number));
	assert_true(number < FLOWS && (number % 2 != 0) == v6);
	truth->taken += candidate->packets;
	truth->wrong += candidate->packets != truth->packets[number] ||
			candidate->bytes != truth->bytes[number];
}

static uint64_t empty_ring(struct world *world)
{
	uint64_t n = 0;

	kernel_reader_look(&world->reader);
	while (kernel_reader_next(&world->reader) != NULL)
		n++;
	kernel_reader_release(&world->reader);
	return n;
}

/*
 * Sends frames of all flows in turn: decoded flows are exact, and the rest is reported as undecoded
 * or comes through the ring. Returns the number of flows reported as undecoded.
 */
static uint64_t fill_sketch(const struct sketch_ops *ops, uint32_t width, uint64_t *in_ring)
{
	const struct kernel_program_params params = {
		.slots = 16384, .sketch = ops, .width = width, .seed = 5};
	struct random random;
	struct world world;
	uint64_t undecoded = 0;

	*in_ring = 0;
	random_init(&random, 11);
	set_up_as(&world, &params);
	for (uint32_t round = 0; round < 3; round++) {
		struct sketch_undecoded rest = {0};
		struct truth truth = {0};
		struct kernel_tally tally;
		uint64_t bytes = 0, told;

		for (uint32_t i = 0; i < 10 * FLOWS; i++) {
			uint32_t number = i < FLOWS ? i : choose(&random, FLOWS);
			struct frame frame;

			make_flow(&frame, number, 80 + choose(&random, 100));
			run(&world, KERNEL_HOOK_TC, frame.bytes, frame.n, (struct gso){0});
			truth.packets[number]++;
			truth.bytes[number] += frame.n;
			bytes += frame.n;
		}
		kernel_reader_turn(&world.reader, round + 1);
		kernel_program_wait(world.program);
		tally = kernel_sketch_take(kernel_program_sketch(world.program), round & 1,
			compare_decoded, &truth, &rest);
		told = empty_ring(&world);
		assert_int_equal(truth.wrong, 0);
		assert_int_equal(tally.packets[0] + tally.packets[1] + told, 10 * FLOWS);
		assert_true(told > 0 ? tally.bytes < bytes : tally.bytes == bytes);
		assert_int_equal(truth.taken + rest.packets + told, 10 * FLOWS);
		undecoded += rest.flows;
		*in_ring += told;
	}
	tear_down(&world);
	return undecoded;
}

static void test_iblt(void **state)
{
	const struct sketch_ops *iblt = sketch_find("iblt");
	uint64_t in_ring;

	(void)state;
	assert_int_equal(fill_sketch(iblt, 512, &in_ring), 0);
	assert_int_equal(in_ring, 0);
	/* More flows than can be decoded. */
	assert_true(fill_sketch(iblt, 64, &in_ring) > 0);
	assert_int_equal(in_ring, 0);
	assert_true(fill_sketch(iblt, 16, &in_ring) > 0);
	assert_int_equal(in_ring, 0);
}

/* Every sketch with a layout has an update in the program. */
static void test_sketches(void **state)
{
	uint64_t in_ring;

	(void)state;
	for (uint32_t i = 0; sketches[i] != NULL; i++) {
		if (sketches[i]->kernel == NULL)
			continue;
		fill_sketch(sketches[i], 512, &in_ring);
		assert_true(in_ring < 3 * 10 * FLOWS);
	}
}

/* --- rules --- */

#define RULES   400
#define LOOKUPS 6000

/* Searches the rules one after the other. */
static bool is_held(const struct prefix_list *rules, bool ipv6, const uint8_t *address)
{
	for (uint32_t i = 0; i < rules->n; i++) {
		const struct prefix_entry *rule = &rules->rules[i];
		uint32_t bit = 0;

		while (bit < rule->length &&
			((address[bit / 8] ^ rule->bits[bit / 8]) >> (7 - bit % 8) & 1) == 0)
			bit++;
		if (rule->ipv6 == ipv6 && bit == rule->length)
			return true;
	}
	return false;
}

/* Few bits differ, so that rules contain each other and addresses. */
static void choose_address(struct random *random, uint8_t *address, uint32_t bytes)
{
	memset(address, 0, bytes);
	address[0] = (uint8_t)(10 + choose(random, 3));
	for (uint32_t i = 1; i < bytes; i++)
		address[i] = choose(random, 3) == 0 ? (uint8_t)choose(random, 4) : 0;
	address[bytes - 1] = (uint8_t)choose(random, 256);
}

/* Writes a random prefix as text, or "" for a duplicate. */
static void choose_prefix(struct random *random, char (*texts)[64], uint32_t n)
{
	bool ipv6 = choose(random, 3) == 0;
	uint32_t bits = ipv6 ? 128 : 32;
	/* Mostly long prefixes: a short one would contain all addresses. */
	uint32_t length = bits - choose(random, choose(random, 9) == 0 ? bits - 9 : 12);
	uint8_t address[16];

	choose_address(random, address, bits / 8);
	for (uint32_t bit = length; bit < bits; bit++)
		address[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	inet_ntop(ipv6 ? AF_INET6 : AF_INET, address, texts[n], 48);
	sprintf(texts[n] + strlen(texts[n]), "/%u", length);
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(texts[i], texts[n]) == 0)
			texts[n][0] = '\0';
}

static struct prefix_list *make_rules(struct random *random)
{
	char path[] = "/tmp/test_kernel_program.XXXXXX", error[PREFIX_ERROR_MAX];
	static char texts[RULES][64];
	FILE *file = fdopen(mkstemp(path), "w");
	struct prefix_list *rules;
	bool mistake;

	assert_non_null(file);
	for (uint32_t i = 0; i < RULES; i++) {
		choose_prefix(random, texts, i);
		if (texts[i][0] != '\0')
			fprintf(file, "%s rule%u\n", texts[i], i);
	}
	fclose(file);
	rules = prefix_rules_read(path, &mistake, error);
	unlink(path);
	assert_non_null(rules);
	return rules;
}

static struct prefix_list *use_rules(
	struct world *world, struct random *random, uint64_t generation)
{
	char error[PREFIX_ERROR_MAX];
	struct prefix_list *rules = make_rules(random);
	struct kernel_prefix_maps *maps = kernel_prefix_maps_create(rules, error);

	assert_non_null(maps);
	kernel_program_rules(world->program, generation, maps);
	kernel_prefix_maps_destroy(maps); /* the program holds them */
	return rules;
}

/*
 * Packets pass if the rules contain their addresses; the others are counted in the right
 * generation.
 */
static void match_all(struct world *world, struct random *random, const struct prefix_list *rules,
	uint32_t monitor, uint64_t generation)
{
	uint64_t filtered = kernel_ring_filtered(world->reader.ring, generation);
	uint64_t other = kernel_ring_filtered(world->reader.ring, generation + 1);
	uint32_t held = 0;

	for (uint32_t i = 0; i < LOOKUPS; i++) {
		bool ipv6 = choose(random, 2) == 0, expected;
		uint32_t at = ipv6 ? 22 : 26, bytes = ipv6 ? 16 : 4;
		struct frame frame;

		make_flow(&frame, ipv6, 80);
		choose_address(random, frame.bytes + at, bytes);
		choose_address(random, frame.bytes + at + bytes, bytes);
		expected = ((monitor & KERNEL_PREFIX_SRC) != 0 &&
				   is_held(rules, ipv6, frame.bytes + at)) ||
			   ((monitor & KERNEL_PREFIX_DST) != 0 &&
				   is_held(rules, ipv6, frame.bytes + at + bytes));
		run(world, i % 2 == 0 ? KERNEL_HOOK_XDP : KERNEL_HOOK_TC, frame.bytes, frame.n,
			(struct gso){0});
		assert_int_equal(kernel_reader_look(&world->reader), expected);
		if (expected)
			take_one(world);
		held += expected;
	}
	assert_true(held > LOOKUPS / 20 && held < LOOKUPS * 19 / 20);
	assert_int_equal(
		kernel_ring_filtered(world->reader.ring, generation) - filtered, LOOKUPS - held);
	assert_int_equal(kernel_ring_filtered(world->reader.ring, generation + 1), other);
}

static void test_rules(void **state)
{
	static const uint32_t sides[] = {
		KERNEL_PREFIX_DST, KERNEL_PREFIX_SRC, KERNEL_PREFIX_DST | KERNEL_PREFIX_SRC};

	(void)state;
	for (uint32_t side = 0; side < 3; side++) {
		const struct kernel_program_params params = {.slots = 64, .monitor = sides[side]};
		struct random random;
		struct world world;

		random_init(&random, 20 + side);
		set_up_as(&world, &params);
		for (uint64_t generation = 0; generation < 2; generation++) {
			struct prefix_list *rules = use_rules(&world, &random, generation);

			kernel_reader_turn(&world.reader, generation);
			kernel_program_wait(world.program);
			match_all(&world, &random, rules, sides[side], generation);
			prefix_rules_free(rules);
		}
		tear_down(&world);
	}
}

/* All combinations: the verifier checks each as a separate program. */
static void test_verifier(void **state)
{
	const struct kernel_program_params ways[] = {{.slots = 64},
		{.slots = 64, .headers_only = true}, {.slots = 64, .buckets = 16},
		{.slots = 64, .buckets = 16, .all_share = true},
		{.slots = 64, .sketch = sketch_find("iblt"), .width = 16}};

	(void)state;
	for (uint32_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
		struct kernel_program_params params = ways[i / 2];
		char error[KERNEL_ERROR_MAX];
		struct kernel_program *program;

		params.monitor = i % 2 * (KERNEL_PREFIX_DST | KERNEL_PREFIX_SRC);
		program = kernel_program_load(&params, error);
		if (program == NULL && strstr(error, "rejects the program") == NULL)
			skip();
		if (program == NULL)
			fail_msg("%u: %s", i, error);
		kernel_program_close(program);
	}
}

/* --- filters, for kernels without links --- */

static const struct kernel_program_params as_before = {.slots = 64, .no_links = true};
static const struct attach_point loopback = {
	.interface = "lo", .directions = KERNEL_IN | KERNEL_OUT};

/* Moves to a new network namespace, so that no filter of others is touched and none remains. */
static void leave_network(void)
{
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *program = kernel_program_load(&as_before, error);

	if (program == NULL || unshare(CLONE_NEWNET) != 0)
		skip();
	kernel_program_close(program);
}

static struct kernel_program *load_without_network(void)
{
	char error[KERNEL_ERROR_MAX];

	leave_network();
	return kernel_program_load(&as_before, error);
}

static struct bpf_tc_opts filter_at(enum bpf_tc_attach_point point, int *result)
{
	struct bpf_tc_hook hook = {
		.sz = KERNEL_OPTS_SIZE(hook, attach_point), .ifindex = 1, .attach_point = point};
	struct bpf_tc_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, priority), .handle = 0x736b, .priority = 0x736b};

	*result = bpf_tc_query(&hook, &opts);
	return opts;
}

static void assert_filters(bool there)
{
	static const enum bpf_tc_attach_point points[] = {BPF_TC_INGRESS, BPF_TC_EGRESS};

	for (uint32_t i = 0; i < 2; i++) {
		int result;

		filter_at(points[i], &result);
		assert_int_equal(result == 0, there);
	}
}

static void test_filters_come_and_go(void **state)
{
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *first, *second;
	uint32_t index;

	(void)state;
	first = load_without_network();
	second = kernel_program_load(&as_before, error);
	assert_true(kernel_program_attach(first, &loopback, &index, error));
	assert_int_equal(index, 1);
	assert_filters(true);
	assert_false(kernel_program_attach(second, &loopback, &index, error));
	assert_non_null(strstr(error, "another sketchtap"));
	assert_filters(true);
	kernel_program_close(first);
	assert_filters(false);
	assert_true(kernel_program_attach(second, &loopback, &index, error));
	kernel_program_close(second);
	assert_filters(false);
}

/* Sets or clears CAP_SYS_ADMIN. A process without it can inspect only its own programs. */
static void set_sys_admin(bool on)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	assert_int_equal(syscall(SYS_capget, &header, sets), 0);
	sets[0].effective &= ~(1u << CAP_SYS_ADMIN);
	if (on)
		sets[0].effective |= 1u << CAP_SYS_ADMIN;
	assert_int_equal(syscall(SYS_capset, &header, sets), 0);
}

static void test_filters_without_root(void **state)
{
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *program;
	uint32_t index;

	(void)state;
	program = load_without_network();
	set_sys_admin(false);
	assert_true(kernel_program_attach(program, &loopback, &index, error));
	kernel_program_close(program);
	set_sys_admin(true);
	assert_filters(false);
}

/* As with two --kernel options. */
static void test_filters_of_one_direction_each(void **state)
{
	static const struct attach_point in = {.interface = "lo", .directions = KERNEL_IN};
	static const struct attach_point out = {.interface = "lo", .directions = KERNEL_OUT};
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *program;
	uint32_t index;

	(void)state;
	program = load_without_network();
	assert_true(kernel_program_attach(program, &in, &index, error));
	assert_true(kernel_program_attach(program, &out, &index, error));
	assert_filters(true);
	kernel_program_close(program);
	assert_filters(false);
}

/* A killed process left its filters. */
static void test_filters_are_taken_over(void **state)
{
	char error[KERNEL_ERROR_MAX];
	struct kernel_program *program;
	int left, taken, result, status;
	uint32_t index;
	pid_t child;

	(void)state;
	leave_network();
	child = fork();
	if (child == 0) {
		program = kernel_program_load(&as_before, error);
		_exit(program == NULL || !kernel_program_attach(program, &loopback, &index, error));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_filters(true);
	left = (int)filter_at(BPF_TC_INGRESS, &result).prog_id;
	program = kernel_program_load(&as_before, error);
	assert_true(kernel_program_attach(program, &loopback, &index, error));
	taken = (int)filter_at(BPF_TC_INGRESS, &result).prog_id;
	assert_int_not_equal(left, taken);
	kernel_program_close(program);
	assert_filters(false);
}

/* A filter of another program in the same place: it stays, and attaching fails. */
static void test_filters_of_others_stay(void **state)
{
	char error[KERNEL_ERROR_MAX];
	struct bpf_insn go_on[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = TC_ACT_UNSPEC},
		{.code = BPF_JMP | BPF_EXIT}};
	struct bpf_tc_hook hook = {.sz = KERNEL_OPTS_SIZE(hook, attach_point),
		.ifindex = 1,
		.attach_point = BPF_TC_EGRESS};
	struct bpf_tc_opts opts = {
		.sz = KERNEL_OPTS_SIZE(opts, priority), .handle = 0x736b, .priority = 0x736b};
	struct kernel_program *program;
	uint32_t index;
	int result;

	(void)state;
	leave_network();
	opts.prog_fd = bpf_prog_load(BPF_PROG_TYPE_SCHED_CLS, "other", "GPL", go_on, 2, NULL);
	assert_true(opts.prog_fd >= 0);
	assert_int_equal(bpf_tc_hook_create(&hook), 0);
	assert_int_equal(bpf_tc_attach(&hook, &opts), 0);
	program = kernel_program_load(&as_before, error);
	assert_false(kernel_program_attach(program, &loopback, &index, error));
	assert_non_null(strstr(error, "a foreign filter"));
	kernel_program_close(program);
	assert_int_equal(filter_at(BPF_TC_EGRESS, &result).prog_id, opts.prog_id);
	filter_at(BPF_TC_INGRESS, &result);
	assert_int_not_equal(result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tc_says_what_the_parser_says),
		cmocka_unit_test(test_xdp_says_what_the_parser_says),
		cmocka_unit_test(test_headers_alone),
		cmocka_unit_test(test_joined_packets),
		cmocka_unit_test(test_a_full_ring),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_nothing_before_and_behind),
		cmocka_unit_test(test_tables),
		cmocka_unit_test(test_full_tables),
		cmocka_unit_test(test_shared_tables),
		cmocka_unit_test(test_iblt),
		cmocka_unit_test(test_sketches),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_verifier),
		cmocka_unit_test(test_filters_come_and_go),
		cmocka_unit_test(test_filters_without_root),
		cmocka_unit_test(test_filters_of_one_direction_each),
		cmocka_unit_test(test_filters_are_taken_over),
		cmocka_unit_test(test_filters_of_others_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
