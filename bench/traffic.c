/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/traffic.h"

#include <endian.h>

#include "bench/common.h"
#include "bench/crafted.h"
#include "base/random.h"

#define SEED                1
#define ZIPF_E6             1050000
#define CRAFTED_KEYS        512
#define CLIENT_PORTS        64
#define PORTS               65535
#define ADDRESS(a, b, c, d) ((uint32_t)(a) << 24 | (b) << 16 | (c) << 8 | (d))
#define HERE                ADDRESS(198, 51, 100, 7)
#define THERE               ADDRESS(10, 0, 0, 0)

static struct key4 make_key(uint32_t src, uint32_t dst, uint32_t src_port, uint32_t dst_port)
{
	uint16_t ports[2] = {htobe16((uint16_t)src_port), htobe16((uint16_t)dst_port)};
	struct key4 key = {.proto = 6};

	src = htobe32(src);
	dst = htobe32(dst);
	memcpy(key.src_ip, &src, sizeof(src));
	memcpy(key.dst_ip, &dst, sizeof(dst));
	memcpy(key.src_port, &ports[0], sizeof(ports[0]));
	memcpy(key.dst_port, &ports[1], sizeof(ports[1]));
	return key;
}

/* Consecutive clients have CLIENT_PORTS connections each to one server. */
static struct key4 client(uint32_t k)
{
	return make_key(THERE + k / CLIENT_PORTS, HERE, 1024 + k % CLIENT_PORTS, 443);
}

/* One sender scans one port of consecutive addresses. */
static struct key4 scanned_host(uint32_t k)
{
	return make_key(HERE, THERE + k, 40000, 443);
}

/* One sender scans all ports of one host, then of the next. */
static struct key4 scanned_port(uint32_t k)
{
	return make_key(HERE, THERE + k / PORTS, 40000, 1 + k % PORTS);
}

/* Repeats the keys 0 to spec->flows - 1 in order. */
static bool in_turn(
	const struct workload_spec *spec, struct key4 *keys, struct key4 (*key)(uint32_t k))
{
	for (uint64_t i = 0; i < spec->packets; i++)
		keys[i] = key((uint32_t)(i % spec->flows));
	return true;
}

static bool draw_single(const struct workload_spec *spec, struct key4 *keys)
{
	for (uint64_t i = 0; i < spec->packets; i++)
		keys[i] = client(0);
	return true;
}

static bool draw_deterministic(const struct workload_spec *spec, struct key4 *keys)
{
	return in_turn(spec, keys, client);
}

static bool draw_netscan(const struct workload_spec *spec, struct key4 *keys)
{
	return in_turn(spec, keys, scanned_host);
}

static bool draw_portscan(const struct workload_spec *spec, struct key4 *keys)
{
	return in_turn(spec, keys, scanned_port);
}

/* Each hash that has crafted keys gets the same number of packets. */
static bool draw_crafted(const struct workload_spec *spec, struct key4 *keys)
{
	struct key4 crafted[CRAFTED_HASHES * CRAFTED_KEYS];

	for (uint32_t k = 0; k < CRAFTED_HASHES * CRAFTED_KEYS; k++)
		crafted[k] = crafted_key(crafted_hashes[k / CRAFTED_KEYS], k % CRAFTED_KEYS);
	for (uint64_t i = 0; i < spec->packets; i++)
		keys[i] = crafted[random_mix(spec->seed + i) % (CRAFTED_HASHES * CRAFTED_KEYS)];
	return true;
}

const struct traffic traffics[] = {
	{.name = "single", .draw = draw_single, .fixed = true},
	{.name = "deterministic", .draw = draw_deterministic},
	{.name = "random", .draw = workload_generate},
	{.name = "zipf", .draw = workload_generate, .zipf_e6 = ZIPF_E6},
	{.name = "netscan", .draw = draw_netscan},
	{.name = "portscan", .draw = draw_portscan},
	{.name = "crafted", .draw = draw_crafted, .fixed = true},
	{.name = NULL},
};

struct workload *traffic_create(
	const struct traffic *traffic, uint64_t flows, uint64_t packets, uint64_t hash_seed)
{
	const struct workload_spec spec = {
		.flows = traffic->fixed ? 0 : flows,
		.packets = packets,
		.zipf_e6 = traffic->zipf_e6,
		.seed = SEED,
	};

	return workload_create_from(&spec, traffic->draw, hash_seed);
}
