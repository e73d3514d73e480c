/* SPDX-License-Identifier: BSD-3-Clause */
#include "tester/routers.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/random.h"
#include "base/units.h"
#include "flow_protocols/export.h"
#include "flow_protocols/big_endian.h"
#include "rx/packet/parse.h"
#include "rx/packet/unaligned.h"

/* router r has run for (r + 1) * BOOT_NS at the first packet */
#define BOOT_NS    (3600 * SECOND_NS)
/* A flow with more bytes is exported before a 32-bit counter overflows. */
#define BYTES_MAX  (UINT32_MAX - (UINT32_C(1) << 17))
#define LINK_SPEED UINT64_C(100000000000)
/* Interfaces 0 to ROUTER_EDGES - 1 lead to networks; then one leads to each router. */
#define INTERFACES (ROUTER_EDGES + ROUTERS_MAX)

#define FLOW_CACHE_MAX   65536
#define FLOW_CACHE_SLOTS (2 * FLOW_CACHE_MAX)

/* Observed flows that are not exported yet (RFC 7011). */
struct flow_cache {
	uint32_t n;
	struct export_flow *flows; /* [FLOW_CACHE_MAX], in order of their start */
	uint32_t *slots;           /* hash table: index in flows[] + 1; 0: free */
	uint32_t *slot_of;         /* [FLOW_CACHE_MAX]: slot of each flow */
};

struct router_interface {
	struct interface_counters counters;
	struct sampler_state sampler;
	uint32_t counter_sequence;
};

struct router {
	uint32_t number;
	struct export_sender sender;
	struct random random;
	struct flow_cache cache;
	/* [INTERFACES] with sFlow; NULL: other protocols */
	struct router_interface *interfaces;
	uint32_t sequence;
	uint64_t sent;
	uint64_t ticks;
	int64_t due;
	bool open;
	struct export_message message;
};

struct routers {
	struct routers_params params;
	uint64_t network_key; /* seed that assigns networks to routers */
	bool started, ended;
	int64_t end;
	int64_t left;
	int64_t due;
	struct router routers[ROUTERS_MAX];
};

/* Router on the path of a packet. input, output: indexes into router.interfaces. */
struct router_hop {
	uint32_t router, input, output;
	uint8_t next[4];
};

struct packet_info {
	const struct source_packet *packet;
	struct key key; /* family 0: no key */
	uint8_t tcp_flags, tos;
	uint32_t bytes;
	uint32_t prefix_len;
};

/* Ignores the last byte of the address. */
static uint64_t network_hash(const struct routers *routers, const uint8_t *address, uint32_t len)
{
	uint64_t hash = routers->network_key + len;

	for (uint32_t i = 0; i < len - 1; i++)
		hash = (hash ^ address[i]) * UINT64_C(0x100000001b3);
	return random_mix(hash);
}

static uint32_t edge_of(uint64_t network)
{
	return (uint32_t)(network >> 32) % ROUTER_EDGES;
}

static void pick_between(uint8_t *way, uint32_t path, uint32_t n, uint64_t seed)
{
	uint8_t others[ROUTERS_MAX];
	uint32_t left = 0;

	for (uint32_t r = 0; r < n; r++)
		if (r != way[0] && r != way[path - 1])
			others[left++] = (uint8_t)r;
	VERIFY(left + 2, >=, path);
	for (uint32_t h = 1; h + 1 < path; h++) {
		uint32_t pick = (uint32_t)(random_split(&seed) % left);

		way[h] = others[pick];
		others[pick] = others[--left];
	}
}

static void find_way(const struct routers *routers, const struct key *key, struct router_hop *hops)
{
	bool ipv6 = key->family == KEY_IPV6;
	uint32_t n = routers->params.n, path = routers->params.path;
	uint64_t src = network_hash(routers, ipv6 ? key->v6.src_ip : key->v4.src_ip, ipv6 ? 16 : 4);
	uint64_t dst = network_hash(routers, ipv6 ? key->v6.dst_ip : key->v4.dst_ip, ipv6 ? 16 : 4);
	uint8_t way[ROUTERS_MAX];

	way[0] = (uint8_t)(src % n);
	if (path > 1) {
		way[path - 1] = (uint8_t)(dst % n);
		if (way[path - 1] == way[0])
			way[path - 1] = (uint8_t)((way[0] + 1u) % n);
		pick_between(way, path, n, src * 3 + dst);
	}
	for (uint32_t h = 0; h < path; h++) {
		bool last = h + 1 == path;

		hops[h].router = way[h];
		hops[h].input = h == 0 ? edge_of(src) : ROUTER_EDGES + way[h - 1];
		hops[h].output = last ? edge_of(dst) : ROUTER_EDGES + way[h + 1];
		put32(hops[h].next, last ? 0 : ROUTER_ADDRESS(way[h + 1]));
	}
}

static uint32_t interface_number(uint32_t place)
{
	return place < ROUTER_EDGES ? ROUTER_EDGE_FIRST + place : place - ROUTER_EDGES + 1;
}

static void flow_cache_fini(struct flow_cache *cache)
{
	free(cache->flows);
	free(cache->slots);
	free(cache->slot_of);
	*cache = (struct flow_cache){0};
}

static bool flow_cache_init(struct flow_cache *cache)
{
	cache->n = 0;
	cache->flows = calloc(FLOW_CACHE_MAX, sizeof(*cache->flows));
	cache->slots = calloc(FLOW_CACHE_SLOTS, sizeof(*cache->slots));
	cache->slot_of = calloc(FLOW_CACHE_MAX, sizeof(*cache->slot_of));
	if (cache->flows != NULL && cache->slots != NULL && cache->slot_of != NULL)
		return true;
	flow_cache_fini(cache);
	return false;
}

static uint32_t flow_home(const struct key *key)
{
	size_t len = key->family == KEY_IPV4 ? sizeof(key->v4) : sizeof(key->v6);
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t hash = key->family;

	for (size_t at = 0; at < len; at += 8)
		hash = random_mix(hash * 3 + load64(bytes + at));
	return (uint32_t)(hash % FLOW_CACHE_SLOTS);
}

static uint32_t flow_slot(const struct flow_cache *cache, const struct key *key)
{
	uint32_t slot = flow_home(key);

	while (cache->slots[slot] != 0 &&
		!key_equal(&cache->flows[cache->slots[slot] - 1].key, key))
		slot = (slot + 1) % FLOW_CACHE_SLOTS;
	return slot;
}

static void put_in_slot(struct flow_cache *cache, uint32_t slot, uint32_t place)
{
	cache->slots[slot] = place + 1;
	cache->slot_of[place] = slot;
}

/* Adds a missing flow. Returns NULL if the cache is full. */
static struct export_flow *flow_cache_get(struct flow_cache *cache, const struct key *key)
{
	uint32_t slot = flow_slot(cache, key);
	struct export_flow *flow;

	if (cache->slots[slot] != 0)
		return &cache->flows[cache->slots[slot] - 1];
	if (cache->n == FLOW_CACHE_MAX)
		return NULL;
	put_in_slot(cache, slot, cache->n);
	flow = &cache->flows[cache->n++];
	memset(flow, 0, sizeof(*flow));
	flow->key = *key;
	return flow;
}

static void index_anew(struct flow_cache *cache, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		cache->slots[cache->slot_of[i]] = 0;
	for (uint32_t i = 0; i < cache->n; i++)
		put_in_slot(cache, flow_slot(cache, &cache->flows[i].key), i);
}

static void send_message(struct routers *routers, struct router *router, int64_t now)
{
	const struct export_ops *ops = export_ops_of(&router->sender);

	if (!router->open)
		return;
	if (now < routers->left + ROUTER_MESSAGE_NS)
		now = routers->left + ROUTER_MESSAGE_NS;
	routers->left = now;
	router->open = false;
	router->sent++;
	router->sequence += ops->end(&router->message, &router->sender, now, router->sequence);
	routers->params.send(routers->params.arg, router->number, router->message.bytes,
		router->message.len, now);
}

static struct export_message *open_message(struct router *router)
{
	if (!router->open) {
		export_begin(&router->message, &router->sender,
			router->sent % ROUTER_TEMPLATE_MESSAGES == 0);
		router->open = true;
	}
	return &router->message;
}

struct router_batch {
	struct routers *routers;
	struct router *router;
	int64_t now;
};

static void send_flow(const struct router_batch *batch, const struct export_flow *flow)
{
	struct router *router = batch->router;
	const struct export_ops *ops = export_ops_of(&router->sender);

	if (ops->flow(open_message(router), &router->sender, flow))
		return;
	send_message(batch->routers, router, batch->now);
	ops->flow(open_message(router), &router->sender, flow);
}

/*
 * Exports and removes flows that began at `began` or before (active timeout), or whose last packet
 * was at `silent` or before (idle timeout). full: exports all flows, because the cache is full.
 */
static void expire(const struct router_batch *batch, int64_t began, int64_t silent, bool full)
{
	struct flow_cache *cache = &batch->router->cache;
	uint32_t kept = 0, n = cache->n;

	for (uint32_t i = 0; i < n; i++) {
		struct export_flow *flow = &cache->flows[i];

		if (!full && flow->first > began && flow->last > silent) {
			cache->flows[kept++] = *flow;
			continue;
		}
		flow->end = full                   ? EXPORT_NO_ROOM
			    : flow->last <= silent ? EXPORT_IDLE
						   : EXPORT_ACTIVE;
		send_flow(batch, flow);
	}
	cache->n = kept;
	if (kept < n)
		index_anew(cache, n);
}

static void send_sample(struct routers *routers, struct router *router,
	const struct export_sample *sample, int64_t now)
{
	const struct export_ops *ops = export_ops_of(&router->sender);

	if (ops->sample(open_message(router), sample))
		return;
	send_message(routers, router, now);
	ops->sample(open_message(router), sample);
}

static void send_counters(struct routers *routers, struct router *router,
	struct router_interface *interface, int64_t now)
{
	const struct export_ops *ops = export_ops_of(&router->sender);
	uint32_t sequence = ++interface->counter_sequence;

	if (ops->counters(open_message(router), sequence, &interface->counters))
		return;
	send_message(routers, router, now);
	ops->counters(open_message(router), sequence, &interface->counters);
}

/* The length in the IP header excludes Ethernet padding. */
static uint32_t ip_bytes(const struct source_packet *packet, bool ipv6)
{
	uint32_t at = 12;

	while (at + 8 <= packet->captured && packet->data[at] == 0x81 && packet->data[at + 1] == 0)
		at += 4;
	at += 2 + (ipv6 ? 4 : 2);
	if (at + 2 > packet->captured)
		return 0;
	return (uint32_t)(packet->data[at] << 8 | packet->data[at + 1]) + (ipv6 ? 40 : 0);
}

static void parse_source_packet(const struct source_packet *packet, struct packet_info *info)
{
	struct parsed parsed;

	memset(info, 0, sizeof(*info));
	info->packet = packet;
	switch (parse_packet(packet->data, packet->captured, packet->link, &parsed)) {
	case PARSE_IPV4:
		info->key.v4 = parsed.key4;
		info->key.family = KEY_IPV4;
		info->prefix_len = 24;
		break;
	case PARSE_IPV6:
		info->key.v6 = parsed.key6;
		info->key.family = KEY_IPV6;
		info->prefix_len = 120;
		break;
	default: return;
	}
	info->bytes = ip_bytes(packet, info->key.family == KEY_IPV6);
	info->tcp_flags = parsed.extra.tcp_flags[0];
	info->tos = key_extra_tos(&parsed.extra);
}

static bool looks_at_it(struct router *router)
{
	return router->sender.sampling <= 1 ||
	       random_below(&router->random, router->sender.sampling) == 0;
}

static void fill_flow(struct export_flow *flow, const struct router_hop *hop,
	const struct packet_info *info, int64_t now)
{
	if (flow->packets == 0) {
		flow->first = now;
		flow->input = interface_number(hop->input);
		flow->output = interface_number(hop->output);
		flow->tos = info->tos;
		memcpy(flow->next_hop, hop->next, sizeof(flow->next_hop));
	}
	flow->packets++;
	flow->bytes += info->bytes;
	flow->last = now;
	flow->tcp_flags |= info->tcp_flags;
}

/* Keeps the flow in the cache, with counts of 0. */
static void export_early(const struct router_batch *batch, struct export_flow *flow)
{
	flow->end = EXPORT_ACTIVE;
	send_flow(batch, flow);
	flow->packets = 0;
	flow->bytes = 0;
	flow->tcp_flags = 0;
}

static void observe_flow(struct routers *routers, struct router *router,
	const struct router_hop *hop, const struct packet_info *info)
{
	int64_t now = info->packet->time;
	struct router_batch batch = {routers, router, now};
	struct export_flow *flow;

	if (info->key.family != KEY_IPV4 &&
		(info->key.family != KEY_IPV6 || export_ops_of(&router->sender)->ipv4_only))
		return;
	if (!looks_at_it(router))
		return;
	flow = flow_cache_get(&router->cache, &info->key);
	if (flow == NULL) {
		expire(&batch, 0, 0, true);
		flow = flow_cache_get(&router->cache, &info->key);
	}
	if (flow->bytes > BYTES_MAX)
		export_early(&batch, flow);
	fill_flow(flow, hop, info, now);
}

static void count(const struct router *router, const struct router_hop *hop, uint32_t bytes)
{
	struct interface_counters *in = &router->interfaces[hop->input].counters;
	struct interface_counters *out = &router->interfaces[hop->output].counters;

	in->in_packets++;
	in->in_bytes += bytes;
	out->out_packets++;
	out->out_bytes += bytes;
}

static void sample_packet(struct routers *routers, struct router *router,
	const struct router_hop *hop, const struct packet_info *info)
{
	const struct source_packet *packet = info->packet;
	struct sampler_state *sampler = &router->interfaces[hop->input].sampler;
	struct export_sample sample = {
		.header = packet->data,
		.captured = packet->captured,
		.wire_len = packet->wire_len,
		.input = interface_number(hop->input),
		.output = interface_number(hop->output),
		.prefix_len = info->prefix_len,
	};

	count(router, hop, packet->wire_len);
	sampler->pool++;
	if (!looks_at_it(router))
		return;
	sampler->sequence++;
	sample.sampler = *sampler;
	memcpy(sample.next_hop, hop->next, sizeof(sample.next_hop));
	send_sample(routers, router, &sample, packet->time);
}

static void start(struct routers *routers, int64_t now)
{
	for (uint32_t r = 0; r < routers->params.n; r++) {
		struct router *router = &routers->routers[r];

		router->sender.booted = now - (r + 1) * BOOT_NS;
		if (router->sender.booted < 0)
			router->sender.booted = 0;
		router->due = now;
	}
	routers->left = now;
	routers->due = now;
	routers->started = true;
	while (routers->due <= now)
		routers_do(routers);
}

void routers_take(struct routers *routers, const struct source_packet *packet)
{
	struct router_hop hops[ROUTERS_MAX];
	struct packet_info info;

	if (!routers->started)
		start(routers, packet->time);
	routers->end = packet->time;
	parse_source_packet(packet, &info);
	find_way(routers, &info.key, hops);
	for (uint32_t h = 0; h < routers->params.path; h++) {
		struct router *router = &routers->routers[hops[h].router];

		if (router->interfaces != NULL)
			sample_packet(routers, router, &hops[h], &info);
		else
			observe_flow(routers, router, &hops[h], &info);
	}
}

static void send_all_counters(struct routers *routers, struct router *router, int64_t now)
{
	for (uint32_t i = 0; i < ROUTER_EDGES + routers->params.n; i++)
		if (i != ROUTER_EDGES + router->number)
			send_counters(routers, router, &router->interfaces[i], now);
}

/*
 * All routers first check their flows with the first packet. Later checks are spread over
 * ROUTER_TICK_NS.
 */
static int64_t next_tick(const struct routers *routers, const struct router *router)
{
	int64_t now = router->due;

	if (router->ticks == 1)
		now += ROUTER_TICK_NS * (int64_t)router->number / (int64_t)routers->params.n;
	return now + ROUTER_TICK_NS;
}

static void tick(struct routers *routers, struct router *router)
{
	struct router_batch batch = {routers, router, router->due};
	bool counts = router->interfaces != NULL && router->ticks % ROUTER_COUNTER_TICKS == 0;
	bool done;

	if (counts)
		send_all_counters(routers, router, batch.now);
	if (router->interfaces == NULL)
		expire(&batch, batch.now - ROUTER_ACTIVE_NS, batch.now - ROUTER_IDLE_NS, false);
	send_message(routers, router, batch.now);
	router->ticks++;
	done = router->interfaces != NULL ? counts : router->cache.n == 0;
	router->due = routers->ended && done ? INT64_MAX : next_tick(routers, router);
}

void routers_do(struct routers *routers)
{
	int64_t due = INT64_MAX;

	for (uint32_t r = 0; r < routers->params.n; r++) {
		struct router *router = &routers->routers[r];

		if (router->due == routers->due && router->due != INT64_MAX)
			tick(routers, router);
		if (router->due < due)
			due = router->due;
	}
	routers->due = due;
}

int64_t routers_due(const struct routers *routers)
{
	return routers->due;
}

void routers_end(struct routers *routers)
{
	routers->ended = true;
}

static bool set_up(struct routers *routers, uint32_t r, uint64_t *seed)
{
	struct router *router = &routers->routers[r];

	router->number = r;
	router->due = INT64_MAX;
	router->sender = (struct export_sender){
		.protocol = routers->params.protocol,
		.domain = r + 1,
		.sampling = routers->params.sampling,
	};
	put32(router->sender.address, ROUTER_ADDRESS(r));
	random_init(&router->random, random_split(seed));
	if (export_ops_of(&router->sender)->flow != NULL)
		return flow_cache_init(&router->cache);
	router->sender.domain = 0;
	router->sequence = 1;
	router->interfaces = calloc(INTERFACES, sizeof(*router->interfaces));
	if (router->interfaces == NULL)
		return false;
	for (uint32_t i = 0; i < INTERFACES; i++) {
		struct router_interface *interface = &router->interfaces[i];

		interface->counters.interface = interface_number(i);
		interface->counters.speed = LINK_SPEED;
		interface->sampler.source = interface_number(i);
		interface->sampler.sampling = routers->params.sampling;
	}
	return true;
}

struct routers *routers_create(const struct routers_params *params)
{
	struct routers *routers = calloc(1, sizeof(*routers));
	uint64_t seed = random_mix(params->seed + 1);

	if (routers == NULL)
		return NULL;
	routers->params = *params;
	routers->network_key = random_split(&seed);
	routers->due = INT64_MAX;
	for (uint32_t r = 0; r < params->n; r++) {
		if (!set_up(routers, r, &seed)) {
			routers_destroy(routers);
			return NULL;
		}
	}
	return routers;
}

void routers_destroy(struct routers *routers)
{
	if (routers == NULL)
		return;
	for (uint32_t r = 0; r < routers->params.n; r++) {
		flow_cache_fini(&routers->routers[r].cache);
		free(routers->routers[r].interfaces);
	}
	free(routers);
}
