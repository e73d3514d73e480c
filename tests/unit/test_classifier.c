/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Conditions on 5-tuples, compared with libpcap's interpreter on packets with the same 5-tuple; and
 * the classifier of many conditions, compared with one condition after the other.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "base/random.h"
#include "fewer.h"
#include "key/classifier.h"
#include "key/match.h"

#define TEXT_MAX   1024
#define CONDITIONS FEWER(3000, 300)
#define PACKETS    40

static uint64_t state = 1;
static const uint8_t protos[] = {6, 17, 132, 1, 58, 47};

static uint32_t below(uint32_t n)
{
	return (uint32_t)(random_split(&state) % n);
}

/* Few values, so that conditions and packets often meet. */
static void fill_address(uint8_t *address, size_t size)
{
	for (size_t i = 0; i < size; i++)
		address[i] = (uint8_t)(below(8) == 0 ? below(256) : below(2));
}

static uint32_t some_port(void)
{
	return below(4) == 0 ? 1 + below(65535) : 1 + below(4);
}

static struct key some_key(void)
{
	struct key key = {.family = below(2) == 0 ? KEY_IPV4 : KEY_IPV6};
	uint8_t proto = protos[below(sizeof(protos))];
	uint32_t ports[2] = {some_port(), some_port()};

	if (proto != 6 && proto != 17 && proto != 132)
		ports[0] = ports[1] = 0;
	if (key.family == KEY_IPV4) {
		fill_address(key.v4.src_ip, 4);
		fill_address(key.v4.dst_ip, 4);
		key.v4.proto = proto;
		for (uint32_t i = 0; i < 2; i++) {
			key.v4.src_port[i] = (uint8_t)(ports[0] >> 8 * (1 - i));
			key.v4.dst_port[i] = (uint8_t)(ports[1] >> 8 * (1 - i));
		}
	} else {
		fill_address(key.v6.src_ip, 16);
		fill_address(key.v6.dst_ip, 16);
		key.v6.proto = proto;
		for (uint32_t i = 0; i < 2; i++) {
			key.v6.src_port[i] = (uint8_t)(ports[0] >> 8 * (1 - i));
			key.v6.dst_port[i] = (uint8_t)(ports[1] >> 8 * (1 - i));
		}
	}
	return key;
}

/* Writes an Ethernet frame with this 5-tuple. Returns its length. */
static uint32_t write_frame(uint8_t *frame, const struct key *key)
{
	uint32_t at = 14;

	memset(frame, 0, 100);
	if (key->family == KEY_IPV4) {
		frame[12] = 0x08;
		frame[at] = 0x45;
		frame[at + 3] = 46;
		frame[at + 9] = key->v4.proto;
		memcpy(frame + at + 12, key->v4.src_ip, 4);
		memcpy(frame + at + 16, key->v4.dst_ip, 4);
		at += 20;
		memcpy(frame + at, key->v4.src_port, 2);
		memcpy(frame + at + 2, key->v4.dst_port, 2);
	} else {
		frame[12] = 0x86;
		frame[13] = 0xdd;
		frame[at] = 0x60;
		frame[at + 5] = 26;
		frame[at + 6] = key->v6.proto;
		memcpy(frame + at + 8, key->v6.src_ip, 16);
		memcpy(frame + at + 24, key->v6.dst_ip, 16);
		at += 40;
		memcpy(frame + at, key->v6.src_port, 2);
		memcpy(frame + at + 2, key->v6.dst_port, 2);
	}
	return at + 26;
}

static bool in_range(const match_address range[2], match_address value)
{
	return range[0] <= value && value <= range[1];
}

static match_address address_of(const uint8_t *bytes, uint32_t n)
{
	match_address address = 0;

	for (uint32_t i = 0; i < 16; i++)
		address = address << 8 | (i < n ? bytes[i] : 0);
	return address;
}

static bool matches(const struct match *match, const struct key *key)
{
	bool v4 = key->family == KEY_IPV4;
	const uint8_t *src = v4 ? key->v4.src_ip : key->v6.src_ip,
		      *dst = v4 ? key->v4.dst_ip : key->v6.dst_ip;
	const uint8_t *ports[2] = {
		v4 ? key->v4.src_port : key->v6.src_port, v4 ? key->v4.dst_port : key->v6.dst_port};
	uint8_t proto = v4 ? key->v4.proto : key->v6.proto;
	uint16_t src_port = (uint16_t)(ports[0][0] << 8 | ports[0][1]),
		 dst_port = (uint16_t)(ports[1][0] << 8 | ports[1][1]);

	for (uint32_t b = 0; b < match->n; b++) {
		const struct match_box *box = &match->boxes[b];

		if ((box->families & (v4 ? MATCH_IPV4 : MATCH_IPV6)) != 0 &&
			in_range(box->src, address_of(src, v4 ? 4 : 16)) &&
			in_range(box->dst, address_of(dst, v4 ? 4 : 16)) &&
			box->src_port[0] <= src_port && src_port <= box->src_port[1] &&
			box->dst_port[0] <= dst_port && dst_port <= box->dst_port[1] &&
			box->proto[0] <= proto && proto <= box->proto[1])
			return true;
	}
	return false;
}

static void add(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(char *text, const char *format, ...)
{
	size_t len = strlen(text);
	va_list args;

	va_start(args, format);
	vsnprintf(text + len, TEXT_MAX - len, format, args);
	va_end(args);
}

static void add_address(char *text, bool prefix)
{
	uint8_t bytes[16];
	uint32_t n = below(2) == 0 ? 4 : 16, bits = n * 8, len = bits;

	fill_address(bytes, sizeof(bytes));
	if (prefix)
		len = below(3) == 0 ? below(bits + 1) : 8 * below(n + 1);
	for (uint32_t bit = len; bit < bits; bit++)
		bytes[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	for (uint32_t i = 0; i < n; i++)
		add(text,
			n == 4       ? "%s%u"
			: i % 2 == 0 ? "%s%02x"
				     : "%.0s%02x",
			i == 0   ? ""
			: n == 4 ? "."
				 : ":",
			bytes[i]);
	if (prefix)
		add(text, "/%u", len);
}

static void add_side(char *text)
{
	static const char *const sides[] = {"", "src ", "dst ", "src or dst ", "src and dst "};

	add(text, "%s", sides[below(5)]);
}

enum value {
	VALUE_NET,
	VALUE_HOST,
	VALUE_PORT,
	VALUE_PORTRANGE,
};

static void add_value(char *text, enum value kind)
{
	uint32_t a = some_port(), b = some_port();

	if (kind == VALUE_NET || kind == VALUE_HOST)
		add_address(text, kind == VALUE_NET);
	else if (kind == VALUE_PORT)
		add(text, "%u", a);
	else
		add(text, "%u-%u", a < b ? a : b, a < b ? b : a);
}

/* A value, or several with the keywords before the first one. */
static void add_values(char *text, enum value kind)
{
	static const char *const words[] = {" and ", " or ", " or not "};
	uint32_t more = below(4) == 0 ? 1 + below(2) : 0;
	bool parentheses = more > 0 && below(2) == 0;

	add(text, parentheses ? "(" : "");
	add_value(text, kind);
	for (uint32_t i = 0; i < more; i++) {
		bool inner = below(4) == 0;

		add(text, "%s%s", words[below(3)], inner ? "(" : "");
		add_value(text, kind);
		add(text, inner ? ")" : "");
	}
	add(text, parentheses ? ")" : "");
}

static void add_primitive(char *text)
{
	static const char *const whole[] = {"ip", "ip6", "tcp", "udp", "sctp", "icmp", "icmp6",
		"proto 47", "ip proto 6", "ip6 proto 17", "proto 47 or 6", "ip proto (6 or 17)"};
	static const char *const transport[] = {"", "tcp ", "udp ", "sctp "};
	static const char *const sides[] = {"src ", "dst ", "src or dst ", "src and dst "};

	switch (below(6)) {
	case 0: add(text, "%s", whole[below(12)]); break;
	case 1:
		add_side(text);
		add(text, "net ");
		add_values(text, VALUE_NET);
		break;
	case 2:
		add_side(text);
		add(text, "host ");
		add_values(text, VALUE_HOST);
		break;
	case 3:
		add(text, "%s", transport[below(4)]);
		add_side(text);
		add(text, "port ");
		add_values(text, VALUE_PORT);
		break;
	case 4:
		add(text, "%s", sides[below(4)]);
		add_values(text, VALUE_HOST);
		break;
	default:
		add(text, "%s", transport[below(4)]);
		add_side(text);
		add(text, "portrange ");
		add_values(text, VALUE_PORTRANGE);
	}
}

static void add_expression(char *text, uint32_t depth)
{
	uint32_t n = 1 + below(3);

	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			add(text, "%s", below(2) == 0 ? " and " : " or ");
		if (below(5) == 0)
			add(text, "not ");
		if (depth > 0 && below(3) == 0) {
			add(text, "(");
			add_expression(text, depth - 1);
			add(text, ")");
		} else {
			add_primitive(text);
		}
	}
}

/* Conditions that need too many boxes are skipped; there must be few. */
static void test_same_as_libpcap(void **unused)
{
	pcap_t *pcap = pcap_open_dead(DLT_EN10MB, 65535);
	uint32_t compared = 0, both[2] = {0};

	(void)unused;
	assert_non_null(pcap);
	for (uint32_t c = 0; c < CONDITIONS; c++) {
		char text[TEXT_MAX] = "", why[MATCH_WHY_MAX] = "";
		struct bpf_program program;
		struct match match;

		add_expression(text, 1);
		/* libpcap rejects conditions that it can prove to be false. */
		if (pcap_compile(pcap, &program, text, 1, PCAP_NETMASK_UNKNOWN) != 0) {
			if (strstr(pcap_geterr(pcap), "rejects all packets") == NULL)
				fail_msg("%s: %s", text, pcap_geterr(pcap));
			continue;
		}
		if (!match_compile(&match, text, why)) {
			if (strstr(why, "combinations") == NULL)
				fail_msg("%s: %s", text, why);
			pcap_freecode(&program);
			continue;
		}
		compared++;
		for (uint32_t p = 0; p < PACKETS; p++) {
			struct key key = some_key();
			uint8_t frame[100];
			struct pcap_pkthdr header = {.len = 0};
			bool expected;

			header.len = header.caplen = write_frame(frame, &key);
			expected = pcap_offline_filter(&program, &header, frame) != 0;
			if (matches(&match, &key) != expected)
				fail_msg("%s: packet %u: libpcap %d", text, p, expected);
			both[expected]++;
		}
		match_free(&match);
		pcap_freecode(&program);
	}
	assert_true(compared > CONDITIONS * 4 / 5);
	assert_true(both[0] > compared && both[1] > compared);
	pcap_close(pcap);
}

static void check_lookup(const struct classifier *classifier, const struct match *conditions,
	uint32_t n, const struct key *key, uint64_t *hits)
{
	struct classifier_lookup lookup;
	static bool seen[4096];
	uint32_t found;

	classifier_look_up(classifier, key, &lookup);
	memset(seen, 0, sizeof(seen));
	while ((found = classifier_next(&lookup)) != CLASSIFIER_NONE) {
		assert_true(found < n);
		*hits += !seen[found];
		seen[found] = true;
	}
	for (uint32_t c = 0; c < n; c++)
		assert_int_equal(matches(&conditions[c], key), seen[c]);
	assert_int_equal(classifier_next(&lookup), CLASSIFIER_NONE);
}

/* As many boxes as fit. */
static void test_full(void **unused)
{
	static struct match conditions[64];
	struct classifier *classifier;
	uint64_t hits = 0;

	(void)unused;
	for (uint32_t c = 0; c < 64; c++) {
		conditions[c] = (struct match){
			MATCH_BOXES_MAX, calloc(MATCH_BOXES_MAX, sizeof(struct match_box))};
		assert_non_null(conditions[c].boxes);
		for (uint32_t b = 0; b < MATCH_BOXES_MAX; b++) {
			uint16_t port = (uint16_t)(c * MATCH_BOXES_MAX + b);

			conditions[c].boxes[b] = (struct match_box){.src = {0, ~(match_address)0},
				.dst = {0, ~(match_address)0},
				.src_port = {port, port},
				.dst_port = {0, UINT16_MAX},
				.proto = {0, UINT8_MAX},
				.families = MATCH_IPV4 | MATCH_IPV6};
		}
	}
	classifier = classifier_create(conditions, NULL, 64);
	assert_non_null(classifier);
	for (uint32_t p = 0; p < 2000; p++) {
		struct key key = some_key();

		check_lookup(classifier, conditions, 64, &key, &hits);
	}
	assert_true(hits > 1000);
	classifier_destroy(classifier);
	for (uint32_t c = 0; c < 64; c++)
		match_free(&conditions[c]);
}

static uint32_t make_conditions(struct match *conditions, uint32_t max, uint32_t depth)
{
	uint32_t boxes = 0, n = 0;

	while (n < max) {
		char text[TEXT_MAX] = "", why[MATCH_WHY_MAX];

		add_expression(text, depth);
		if (!match_compile(&conditions[n], text, why))
			continue;
		boxes += conditions[n].n;
		if (boxes > CLASSIFIER_BOXES_MAX) {
			match_free(&conditions[n]);
			break;
		}
		n++;
	}
	return n;
}

static void test_all_matching_conditions(void **unused)
{
	static const uint32_t sizes[] = {0, 1, 2, 16, 17, 300, 4096};
	static struct match conditions[4096];
	uint64_t hits = 0;

	(void)unused;
	for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t n = make_conditions(conditions, sizes[s], sizes[s] < 1000);
		struct classifier *classifier = classifier_create(conditions, NULL, n);

		assert_non_null(classifier);
		assert_true(n == sizes[s] || n > 1000);
		for (uint32_t p = 0; p < FEWER(2000, 200); p++) {
			struct key key = some_key();

			check_lookup(classifier, conditions, n, &key, &hits);
		}
		classifier_destroy(classifier);
		while (n > 0)
			match_free(&conditions[--n]);
	}
	assert_true(hits > 1000);
}

/* Returns the lowest order of conditions [from, to) that match, or UINT32_MAX. */
static uint32_t lowest_order(const struct match *conditions, const uint32_t *order, uint32_t from,
	uint32_t to, const struct key *key)
{
	uint32_t lowest = UINT32_MAX;

	for (uint32_t c = from; c < to; c++)
		if (order[c] < lowest && matches(&conditions[c], key))
			lowest = order[c];
	return lowest;
}

/* Conditions before `half` have lower orders than the others, and `boxes` boxes. */
static void check_order(const struct classifier *classifier, const struct match *conditions,
	const uint32_t *order, uint32_t half, uint32_t n, uint32_t boxes, const struct key *key)
{
	uint32_t first = lowest_order(conditions, order, 0, n, key),
		 second = lowest_order(conditions, order, half, n, key), last = 0, found;
	struct classifier_lookup lookup, skipped;

	classifier_look_up(classifier, key, &lookup);
	skipped = lookup;
	found = classifier_next(&lookup);
	assert_int_equal(found != CLASSIFIER_NONE ? order[found] : UINT32_MAX, first);
	for (; found != CLASSIFIER_NONE; found = classifier_next(&lookup)) {
		assert_true(order[found] >= last);
		last = order[found];
	}
	if (below(2) == 0)
		classifier_next(&skipped);
	classifier_skip(&skipped, boxes);
	for (uint32_t i = 0; (found = classifier_next(&skipped)) != CLASSIFIER_NONE; i++) {
		if (found >= half)
			break;
		assert_true(i < 63);
	}
	assert_int_equal(found != CLASSIFIER_NONE ? order[found] : UINT32_MAX, second);
}

static void test_order(void **unused)
{
	static const uint32_t sizes[] = {2, 40, 300, 4096};
	static struct match conditions[4096];
	static uint32_t order[4096];

	(void)unused;
	for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint32_t n = make_conditions(conditions, sizes[s], sizes[s] < 1000), boxes = 0;
		struct classifier *classifier;

		for (uint32_t c = 0; c < n; c++) {
			order[c] = below(254) + (c < n / 2 ? 0 : 254);
			boxes += c < n / 2 ? conditions[c].n : 0;
		}
		classifier = classifier_create(conditions, order, n);
		assert_non_null(classifier);
		for (uint32_t p = 0; p < FEWER(2000, 200); p++) {
			struct key key = some_key();

			check_order(classifier, conditions, order, n / 2, n, boxes, &key);
		}
		classifier_destroy(classifier);
		while (n > 0)
			match_free(&conditions[--n]);
	}
}

/* Words of boxes that a lookup reads. */
static uint32_t words_to_read(const struct classifier_lookup *lookup)
{
	uint32_t words = 0;

	for (uint32_t s = 0; s < CLASSIFIER_SUMMARIES_MAX; s++)
		words += (uint32_t)__builtin_popcountll(lookup->words[s]);
	return words;
}

/*
 * A lookup reads no boxes of conditions whose addresses it does not have, for any number of
 * conditions; with one that matches, it reads one word.
 */
static void test_work(void **unused)
{
	static const uint32_t sizes[] = {256, 1024, 4096};
	static struct match conditions[4096];

	(void)unused;
	for (uint32_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		struct classifier *classifier;

		for (uint32_t c = 0; c < sizes[s]; c++) {
			char text[TEXT_MAX] = "", why[MATCH_WHY_MAX];

			add(text, "src host 198.51.%u.%u and src port %u", c >> 8, c & 255, 1 + c);
			assert_true(match_compile(&conditions[c], text, why));
		}
		classifier = classifier_create(conditions, NULL, sizes[s]);
		assert_non_null(classifier);
		for (uint32_t p = 0; p < 2000; p++) {
			struct key key = {.family = KEY_IPV4,
				.v4 = {.src_ip = {198, 50},
					.src_port = {(uint8_t)(p >> 8), (uint8_t)p}}};
			struct classifier_lookup lookup = {0};
			uint32_t c = p % sizes[s];

			classifier_look_up(classifier, &key, &lookup);
			assert_int_equal(words_to_read(&lookup), 0);
			assert_int_equal(classifier_next(&lookup), CLASSIFIER_NONE);
			memcpy(key.v4.src_ip, (uint8_t[]){198, 51, (uint8_t)(c >> 8), (uint8_t)c},
				4);
			memcpy(key.v4.src_port,
				(uint8_t[]){(uint8_t)((1 + c) >> 8), (uint8_t)(1 + c)}, 2);
			memset(&lookup, 0, sizeof(lookup));
			classifier_look_up(classifier, &key, &lookup);
			assert_int_equal(words_to_read(&lookup), 1);
			assert_int_equal(classifier_next(&lookup), c);
			assert_int_equal(classifier_next(&lookup), CLASSIFIER_NONE);
		}
		classifier_destroy(classifier);
		for (uint32_t c = 0; c < sizes[s]; c++)
			match_free(&conditions[c]);
	}
}

static void test_errors(void **unused)
{
	static const char *const texts[][2] = {
		{"", "ends too early"},
		{"tcp and", "ends too early"},
		{"net 10.0.0.1/8", "bits are set beyond"},
		{"net 10.0.0.0/33", "not an IP prefix"},
		{"host 10.0.0.0/8", "not an IP address"},
		{"src net bogus", "not an IP prefix"},
		{"port 65536", "not a port number"},
		{"portrange 9-3", "not a port range"},
		{"port http", "not a port number"},
		{"proto 256", "not a protocol number"},
		{"(tcp", "not closed"},
		{"tcp)", "')': no '(' before it"},
		{"tcp udp", "'udp': write 'and' or 'or' before it"},
		{"tcp 80", "'80': write 'and' or 'or' before it"},
		{"port 80 or tcp or 443", "'443': unknown condition"},
		{"(port 80) or 443", "'443': unknown condition"},
		{"port (80 or tcp)", "'tcp': not a port number"},
		{"port (80", "not closed"},
		{"host 10.0.0.1 or 10.0.0.0/8", "not an IP address"},
		{"src or dst", "not an IP address"},
		{"src or dst port bogus", "not a port number"},
		{"vlan 5", "unknown condition"},
		{"len > 100", "unknown condition"},
		{"tcp[13] = 2", "unknown condition"},
		{"((((((((((((((((((((((((((((((((((tcp", "nested too deeply"},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
			"word too long"},
	};
	char text[8 * TEXT_MAX] = "port 1", why[MATCH_WHY_MAX];
	struct match match;

	(void)unused;
	for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		why[0] = '\0';
		assert_false(match_compile(&match, texts[i][0], why));
		if (strstr(why, texts[i][1]) == NULL)
			fail_msg("%s: %s", texts[i][0], why);
		assert_null(strchr(why, '\n'));
	}
	for (uint32_t i = 2; i < 300; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), " or port %u", i);
	assert_false(match_compile(&match, text, why));
	assert_non_null(strstr(why, "too long"));
	for (uint32_t side = 0; side < 2; side++) {
		snprintf(side == 0 ? text : text + strlen(text), TEXT_MAX, "%s(%s port 1",
			side == 0 ? "" : " and ", side == 0 ? "src" : "dst");
		for (uint32_t i = 2; i < 20; i++)
			snprintf(text + strlen(text), TEXT_MAX, " or %s port %u",
				side == 0 ? "src" : "dst", i);
		snprintf(text + strlen(text), TEXT_MAX, ")");
	}
	assert_false(match_compile(&match, text, why));
	assert_non_null(strstr(why, "combinations"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_libpcap),
		cmocka_unit_test(test_all_matching_conditions),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_work),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
