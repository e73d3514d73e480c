/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Several threads on one Count-Min, fed from captures: checks that every bound holds. Reads the
 * captures of the project, and those in $SKETCHTAP_TRACES if they exist.
 */

#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <pcap/pcap.h>

#include "key/hash.h"
#include "rx/packet/parse.h"
#include "sketch/count_min.h"

#define THREADS_MAX 4
#define SLOTS                                                                                      \
	(1 << 20) /* slots of the table of true counts; the captures hold less than 2^18 keys */

struct packet {
	struct key key;
	uint32_t wire_len;
};

struct truth {
	struct key key;
	uint64_t packets, bytes;
	struct sketch_candidate listed; /* the sum over all threads */
};

struct capture {
	struct packet *packets;
	uint32_t nb_packets, max_packets;
	struct hash_key hash_key;
	struct truth *truth; /* open addressing by hash; packets == 0: free */
};

struct thread {
	const struct capture *capture;
	struct sketch *sketch;
	uint32_t id, nb_threads;
	pthread_t pthread;
};

static struct truth *truth_of(const struct capture *capture, const struct key *key)
{
	uint64_t slot = hash_one(&capture->hash_key, key).lo % SLOTS;

	while (capture->truth[slot].packets != 0 && !key_equal(&capture->truth[slot].key, key))
		slot = (slot + 1) % SLOTS;
	return &capture->truth[slot];
}

static void take_packet(struct capture *capture, const struct key *key, uint32_t wire_len)
{
	struct truth *truth = truth_of(capture, key);

	if (capture->nb_packets == capture->max_packets) {
		capture->max_packets = 2 * capture->max_packets + 1024;
		capture->packets =
			realloc(capture->packets, capture->max_packets * sizeof(*capture->packets));
		assert_non_null(capture->packets);
	}
	capture->packets[capture->nb_packets++] =
		(struct packet){.key = *key, .wire_len = wire_len};
	truth->key = *key;
	truth->packets++;
	truth->bytes += wire_len;
}

/* The large captures are Ethernet. */
static void read_capture(struct capture *capture, const char *path)
{
	char command[PATH_MAX + 16], error[PCAP_ERRBUF_SIZE];
	struct pcap_pkthdr *header;
	const uint8_t *data;
	FILE *pipe;
	pcap_t *pcap;

	memset(capture, 0, sizeof(*capture));
	hash_key_init(&capture->hash_key, 1);
	capture->truth = calloc(SLOTS, sizeof(*capture->truth));
	assert_non_null(capture->truth);
	snprintf(command, sizeof(command), "xz -dc '%s'", path);
	pipe = popen(command, "r");
	assert_non_null(pipe);
	pcap = pcap_fopen_offline(pipe, error);
	assert_non_null(pcap);
	assert_int_equal(pcap_datalink(pcap), DLT_EN10MB);
	while (pcap_next_ex(pcap, &header, &data) == 1) {
		struct parsed parsed;
		enum parse_verdict verdict =
			parse_packet(data, header->caplen, LINK_ETHERNET, &parsed);
		struct key key = {.family = KEY_IPV4};

		if (verdict == PARSE_IPV4)
			key.v4 = parsed.key4;
		else if (verdict == PARSE_IPV6)
			key = (struct key){.v6 = parsed.key6, .family = KEY_IPV6};
		else
			continue;
		take_packet(capture, &key, header->len);
	}
	pcap_close(pcap); /* also closes the stream of the pipe */
	assert_true(capture->nb_packets > 30000);
}

/* Feeds every nb_threads-th packet. */
static void *feed(void *arg)
{
	struct thread *thread = arg;
	const struct capture *capture = thread->capture;
	struct key_burst burst = {.writer = thread->id};

	for (uint32_t i = thread->id; i < capture->nb_packets; i += thread->nb_threads) {
		const struct packet *packet = &capture->packets[i];

		if (packet->key.family == KEY_IPV6) {
			burst.v6 |= UINT64_C(1) << burst.n;
			burst.key6[burst.n] = packet->key.v6;
		} else {
			burst.key4[burst.n] = packet->key.v4;
		}
		burst.wire_len[burst.n++] = packet->wire_len;
		if (burst.n == BURST_MAX || i + thread->nb_threads >= capture->nb_packets) {
			hash_burst(&capture->hash_key, &burst);
			count_min_ops.update[SHARING_SHARED](thread->sketch, &burst);
			burst.n = 0;
			burst.v6 = 0;
		}
	}
	return NULL;
}

static void take_candidate(const struct sketch_candidate *candidate, void *arg)
{
	struct truth *truth = truth_of(arg, &candidate->key);

	assert_true(truth->packets > 0);
	truth->listed.packets += candidate->packets;
	truth->listed.bytes += candidate->bytes;
	truth->listed.before = candidate->before;
}

static uint32_t check_truth(const struct truth *truth)
{
	const struct sketch_candidate *listed = &truth->listed;

	assert_true(listed->packets <= truth->packets);
	assert_true(listed->bytes <= truth->bytes);
	assert_true(listed->packets == 0 || truth->packets <= listed->packets + listed->before);
	return listed->packets > 0;
}

static void run_threads(struct capture *capture, uint32_t nb_threads)
{
	struct sketch_params params = {
		.seed = 1, .writers = nb_threads, .allocator = sketch_allocator_malloc};
	struct thread threads[THREADS_MAX];
	struct sketch *sketch;
	uint32_t listed = 0;

	assert_null(count_min_ops.check(&params));
	sketch = count_min_ops.create(&params);
	assert_non_null(sketch);
	for (uint32_t t = 0; t < nb_threads; t++) {
		threads[t] = (struct thread){capture, sketch, t, nb_threads, 0};
		assert_int_equal(pthread_create(&threads[t].pthread, NULL, feed, &threads[t]), 0);
	}
	for (uint32_t t = 0; t < nb_threads; t++)
		pthread_join(threads[t].pthread, NULL);

	for (uint32_t slot = 0; slot < SLOTS; slot++)
		capture->truth[slot].listed = (struct sketch_candidate){0};
	count_min_ops.candidates(sketch, take_candidate, capture);
	for (uint32_t slot = 0; slot < SLOTS; slot++)
		listed += check_truth(&capture->truth[slot]);
	assert_true(listed > CANDIDATES_DEFAULT / 2);
	count_min_ops.destroy(sketch);
}

static void check_capture(const char *traces, const char *name)
{
	char path[PATH_MAX];
	struct capture capture;

	if (traces == NULL)
		skip();
	snprintf(path, sizeof(path), "%s/large/%s.pcap.xz", traces, name);
	if (access(path, R_OK) != 0)
		skip();
	read_capture(&capture, path);
	for (uint32_t nb_threads = 1; nb_threads <= THREADS_MAX; nb_threads *= 2)
		run_threads(&capture, nb_threads);
	free(capture.packets);
	free(capture.truth);
}

static void test_uplink(void **state)
{
	(void)state;
	check_capture(OWN_CAPTURES, "uplink");
}

static void test_crowd(void **state)
{
	(void)state;
	check_capture(OWN_CAPTURES, "crowd");
}

static void test_auckland2(void **state)
{
	(void)state;
	check_capture(getenv("SKETCHTAP_TRACES"), "auckland2");
}

static void test_mix(void **state)
{
	(void)state;
	check_capture(getenv("SKETCHTAP_TRACES"), "mix");
}

static void test_mix_x4(void **state)
{
	(void)state;
	check_capture(getenv("SKETCHTAP_TRACES"), "mix-x4-snap64");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_uplink),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_auckland2),
		cmocka_unit_test(test_mix),
		cmocka_unit_test(test_mix_x4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
