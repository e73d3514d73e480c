/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Source of generated packets. Packet i is the same for every number of packets, unless the Zipf
 * exponent drifts over all packets.
 */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/assertion.h"
#include "rx/packet/frame.h"
#include "base/random.h"
#include "rx/generate/arrivals.h"
#include "rx/source.h"
#include "rx/generate/synthetic.h"
#include "rx/generate/zipf.h"

#define BATCH      64 /* packets that are built together, so that their cache misses overlap */
#define CACHE_LINE 64
#define START_NS   (INT64_C(946684800) * SECOND_NS) /* 2000-01-01T00:00:00Z */

#define BENCHMARK_NET UINT32_C(0xc6120000) /* 198.18.0.0/15 (RFC 2544) */

struct generator {
	struct source source; /* first member: cast to struct generator */
	struct synthetic_spec spec;
	struct zipf zipf;         /* unused if headers are random or the exponent drifts */
	struct zipf_drift *drift; /* NULL: constant exponent */
	struct frame_templates templates;
	/*
	 * Two sequences of random numbers, so that a batch can first draw all flows, then all sizes
	 */
	struct random flow_random, packet_random;
	uint64_t flow_key;     /* selects the 5-tuple of each rank */
	_Atomic uint64_t made; /* packets; written by the thread that calls next() */

	struct arrivals arrivals;
	uint32_t batch_next, batch_size;
	uint32_t lengths[BATCH];
	uint32_t stride; /* bytes of a frame buffer, a multiple of CACHE_LINE */
	uint8_t *frames;
};

/* Finalizer of MurmurHash3 (Appleby 2011) between two additions of the key */
static uint32_t permute32(uint32_t x, uint64_t key)
{
	x += (uint32_t)key;
	x = (x ^ x >> 16) * UINT32_C(0x85ebca6b);
	x = (x ^ x >> 13) * UINT32_C(0xc2b2ae35);
	return (x ^ x >> 16) + (uint32_t)(key >> 32);
}

/* Returns true for a share of share_e6 / 10^6 of all values of `fraction`. */
static bool within(uint32_t fraction, uint32_t share_e6)
{
	return (uint64_t)fraction * 1000000 >> 32 < share_e6;
}

static uint32_t scale16(uint64_t bits, uint32_t bound)
{
	return (uint32_t)(bits & 0xffff) * bound >> 16;
}

/* Returns 80 % TCP, 19 % UDP and 1 % ICMP. */
static enum frame_l4 pick_l4(uint64_t bits)
{
	uint32_t percent = scale16(bits, 100);

	return percent < 80 ? FRAME_TCP : percent < 99 ? FRAME_UDP : FRAME_ICMP;
}

/* Sets a client port and a service port, in either direction, or the ICMP identifier. */
static void pick_ports(struct frame_flow *flow, uint64_t bits)
{
	static const uint16_t services[2][16] = {
		[FRAME_TCP] = {443, 443, 443, 443, 443, 443, 443, 80, 80, 22, 25, 53, 445, 993,
			3389, 8080},
		[FRAME_UDP] = {443, 443, 443, 443, 443, 443, 53, 53, 53, 53, 123, 123, 161, 500,
			4500, 51820},
	};
	uint16_t client = (uint16_t)(1024 + scale16(bits, 65536 - 1024)), service;

	if (flow->l4 == FRAME_ICMP) {
		flow->src_port = client;
		flow->dst_port = 0;
		return;
	}
	service = services[flow->l4][bits >> 16 & 15];
	flow->src_port = bits >> 20 & 1 ? client : service;
	flow->dst_port = bits >> 20 & 1 ? service : client;
}

/*
 * The low halves of both addresses are 32 permuted bits of the rank, so no two ranks have the same
 * addresses. IPv6 and VLAN follow from rank times an irrational number, whose fractional parts are
 * spread evenly over any range of ranks. So the share of IPv6 packets is about that of IPv6 flows.
 */
static void flow_of_rank(const struct generator *generator, uint32_t rank, struct frame_flow *flow)
{
	uint32_t pair = permute32(rank, generator->flow_key);
	uint64_t hash = random_mix(generator->flow_key + pair);
	uint32_t key = (uint32_t)generator->flow_key;

	flow->ipv6 = within(rank * UINT32_C(0x9e3779b9) + key, generator->spec.ipv6_e6);
	flow->vlan = within(rank * UINT32_C(0x6a09e667) + key, generator->spec.vlan_e6);
	flow->src = (pair >> 16) | (hash & 1) << 16;
	flow->dst = (pair & 0xffff) | (hash >> 1 & 1) << 16;
	if (!flow->ipv6) {
		flow->src |= BENCHMARK_NET;
		flow->dst |= BENCHMARK_NET;
	}
	flow->l4 = pick_l4(hash >> 2);
	pick_ports(flow, hash >> 18);
}

static void flow_at_random(struct generator *generator, struct frame_flow *flow)
{
	struct random *random = &generator->flow_random;
	uint64_t kind = random_next(random), ports = random_next(random);

	flow->ipv6 = within((uint32_t)kind, generator->spec.ipv6_e6);
	flow->vlan = within((uint32_t)(kind >> 32), generator->spec.vlan_e6);
	flow->l4 = ports >> 63 ? FRAME_TCP : FRAME_UDP;
	flow->src_port = (uint16_t)ports;
	flow->dst_port = (uint16_t)(ports >> 16);
	flow->src = random_next(random);
	flow->dst = random_next(random);
	if (!flow->ipv6) {
		flow->src &= UINT32_MAX;
		flow->dst &= UINT32_MAX;
	}
}

static uint32_t pick_size(struct generator *generator)
{
	const struct synthetic_spec *spec = &generator->spec;
	uint64_t number;

	if (spec->size == SYNTHETIC_SIZE_IMIX) {
		number = random_below(&generator->packet_random, SYNTHETIC_IMIX_TOTAL);
		return number < 7 ? 64 : number < 11 ? 590 : 1514;
	}
	if (spec->size_min == spec->size_max)
		return spec->size_min;
	return spec->size_min + (uint32_t)random_below(&generator->packet_random,
					spec->size_max - spec->size_min + 1);
}

static void make_frame(struct generator *generator, uint32_t slot, const struct frame_flow *flow)
{
	generator->lengths[slot] = frame_build(&generator->templates, flow, pick_size(generator),
		generator->frames + (size_t)slot * generator->stride);
	ASSERT(generator->lengths[slot], <=, generator->stride);
}

static void make_zipf(struct generator *generator, uint32_t count)
{
	struct zipf_draw draws[BATCH];
	struct frame_flow flow;

	for (uint32_t i = 0; i < count; i++)
		draws[i] = zipf_draw(&generator->zipf, random_next(&generator->flow_random));
	for (uint32_t i = 0; i < count; i++) {
		flow_of_rank(generator, zipf_rank(&generator->zipf, draws[i]), &flow);
		make_frame(generator, i, &flow);
	}
}

/* Returns how far the exponent has drifted at the first packet of a batch, 0 to ZIPF_DRIFT_END. */
static uint64_t drifted(const struct generator *generator)
{
	uint64_t done = atomic_load_explicit(&generator->made, memory_order_relaxed);
	uint64_t all = generator->spec.packets;

	if (generator->spec.drift_time > 0) {
		done = (uint64_t)(generator->arrivals.time - START_NS);
		all = generator->spec.drift_time;
	}
	return done >= all ? ZIPF_DRIFT_END
			   : (uint64_t)((unsigned __int128)done * ZIPF_DRIFT_END / all);
}

static void make_drifting(struct generator *generator, uint32_t count)
{
	const struct zipf_drift *drift = generator->drift;
	uint64_t x = drifted(generator);

	for (uint32_t made = 0; made < count;) {
		uint32_t wanted = count - made, coins[BATCH];
		const struct zipf *ends[BATCH];
		struct zipf_draw draws[BATCH];

		for (uint32_t i = 0; i < wanted; i++) {
			uint64_t choice = random_next(&generator->flow_random);

			ends[i] = &drift->ends[choice >> 32 < x];
			coins[i] = (uint32_t)choice;
			draws[i] = zipf_draw(ends[i], random_next(&generator->flow_random));
		}
		for (uint32_t i = 0; i < wanted; i++) {
			uint32_t rank = zipf_rank(ends[i], draws[i]);
			struct frame_flow flow;

			if (!zipf_drift_keeps(drift, x, rank, coins[i]))
				continue;
			flow_of_rank(generator, rank, &flow);
			make_frame(generator, made++, &flow);
		}
	}
}

static void make_random(struct generator *generator, uint32_t count)
{
	struct frame_flow flow;

	for (uint32_t i = 0; i < count; i++) {
		flow_at_random(generator, &flow);
		make_frame(generator, i, &flow);
	}
}

/* Returns false after the last packet. */
static bool make_batch(struct generator *generator)
{
	uint64_t made = atomic_load_explicit(&generator->made, memory_order_relaxed);
	uint64_t packets = generator->spec.packets;
	uint32_t count = BATCH;

	if (packets > 0 && packets - made < BATCH)
		count = (uint32_t)(packets - made);
	if (generator->spec.random)
		make_random(generator, count);
	else if (generator->drift != NULL)
		make_drifting(generator, count);
	else
		make_zipf(generator, count);
	generator->batch_next = 0;
	generator->batch_size = count;
	atomic_store_explicit(&generator->made, made + count, memory_order_relaxed);
	return count > 0;
}

static int generate_next(struct source *source, struct source_packet *packet)
{
	struct generator *generator = (struct generator *)source;
	uint32_t slot;

	if (generator->batch_next == generator->batch_size && !make_batch(generator))
		return 0;
	slot = generator->batch_next++;
	packet->data = generator->frames + (size_t)slot * generator->stride;
	packet->captured = generator->lengths[slot];
	packet->wire_len = generator->lengths[slot];
	packet->snaplen = 0;
	packet->time = generator->arrivals.time;
	packet->link = LINK_ETHERNET;
	packet->filter = 0;
	packet->in_port = 0;
	packet->left_out = NULL;
	arrivals_step(&generator->arrivals);
	return 1;
}

static double generate_progress(const struct source *source)
{
	const struct generator *generator = (const struct generator *)source;
	uint64_t made = atomic_load_explicit(&generator->made, memory_order_relaxed);

	if (generator->spec.packets == 0)
		return -1;
	return (double)made / (double)generator->spec.packets;
}

static void begin_packets(struct generator *generator)
{
	uint64_t seed = generator->spec.seed;

	random_init(&generator->flow_random, random_split(&seed));
	random_init(&generator->packet_random, random_split(&seed));
	generator->flow_key = random_split(&seed);
	arrivals_begin(&generator->arrivals, &generator->spec, START_NS);
	generator->batch_next = generator->batch_size = 0;
	atomic_store_explicit(&generator->made, 0, memory_order_relaxed);
}

static void generate_restart(struct source *source, uint32_t payload)
{
	struct generator *generator = (struct generator *)source;

	generator->templates.payload = payload < SOURCE_PAYLOAD_MAX ? payload : SOURCE_PAYLOAD_MAX;
	begin_packets(generator);
}

static void generate_close(struct source *source)
{
	struct generator *generator = (struct generator *)source;

	zipf_fini(&generator->zipf);
	if (generator->drift != NULL)
		zipf_drift_fini(generator->drift);
	free(generator->drift);
	free(generator->frames);
	free(generator);
}

/* Bytes of the longest frame, in whole cache lines */
static uint32_t stride_of(const struct synthetic_spec *spec)
{
	uint32_t longest = spec->size == SYNTHETIC_SIZE_IMIX ? 1514 : spec->size_max;

	if (longest < FRAME_HEADERS_MAX + SOURCE_PAYLOAD_MAX)
		longest = FRAME_HEADERS_MAX + SOURCE_PAYLOAD_MAX;
	return (longest + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
}

static bool allocate(struct generator *generator)
{
	const struct synthetic_spec *spec = &generator->spec;

	generator->stride = stride_of(spec);
	generator->frames = aligned_alloc(CACHE_LINE, (size_t)generator->stride * BATCH);
	if (generator->frames == NULL)
		return false;
	memset(generator->frames, 0, (size_t)generator->stride * BATCH);
	if (!spec->drifts)
		return spec->random || zipf_init(&generator->zipf, spec->flows, spec->zipf_e6) == 0;
	generator->drift = calloc(1, sizeof(*generator->drift));
	return generator->drift != NULL &&
	       zipf_drift_init(generator->drift, spec->flows, spec->zipf_e6, spec->zipf_to_e6) == 0;
}

struct source *generate_open(const struct synthetic_spec *spec, char *error)
{
	struct generator *generator = calloc(1, sizeof(*generator));

	if (generator != NULL)
		generator->spec = *spec;
	if (generator == NULL || !allocate(generator)) {
		source_error(error, "out of memory for %llu synthetic flows, %d bytes each",
			(unsigned long long)spec->flows, spec->drifts ? 16 : 8);
		if (generator != NULL)
			generate_close(&generator->source);
		return NULL;
	}
	generator->source.next = generate_next;
	generator->source.progress = generate_progress;
	generator->source.restart = generate_restart;
	generator->source.close = generate_close;
	generator->source.generated = true;
	frame_templates_init(&generator->templates);
	begin_packets(generator);
	return &generator->source;
}

static int open_specified(const struct config *config, struct source **source, char *error)
{
	struct synthetic_spec spec;

	/* Cannot fail: check_spec() has parsed the same text. */
	if (!synthetic_parse(synthetic_options(config)->spec, &spec, error))
		return 2;
	*source = generate_open(&spec, error);
	return *source != NULL ? 0 : 1;
}

const struct source_traits source_generate = {
	.selected.is = SOURCE_OF_FEEDER | SOURCE_PACKETS,
	.options = &synthetic_owner,
	.host = HOST_REPLAY,
	.open = open_specified,
};
