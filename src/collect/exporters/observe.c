/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/observe.h"

#include <string.h>

#include "base/address.h"
#include "base/random.h"
#include "sketch/counter.h"

#define ETHERNET_HEADER 14
#define VLAN_TAG        4
#define IPV4_HEADER     20
#define IPV6_HEADER     40
#define IP_PACKET_MAX   65535

/* Below these limits, sums and products of a record do not overflow. */
#define PACKETS_USUAL (UINT64_C(1) << 32)
#define BYTES_USUAL   (UINT64_C(1) << 48)

static uint64_t times(uint64_t packets, uint32_t bytes)
{
	uint64_t product;

	return __builtin_mul_overflow(packets, (uint64_t)bytes, &product) ? UINT64_MAX : product;
}

/* Subtracts the Ethernet headers and known VLAN tags of all packets. */
static uint64_t without_layer2(const struct flow_record *record, uint64_t bytes, uint64_t packets)
{
	uint64_t headers = times(packets, ETHERNET_HEADER + VLAN_TAG * (uint32_t)record->vlan_tags);

	return bytes > headers ? bytes - headers : 0;
}

/*
 * Selects the counts since the previous record, or the totals if these counts are 0. Returns true
 * if the counts include layer 2. If the record has fields for both, earlier records may have
 * reported a part of the totals. OBSERVATION_SESSION marks this case.
 */
static bool choose_counts(const struct flow_record *record, struct observation *observation)
{
	if ((record->packets | record->bytes) != 0) {
		observation->packets = record->packets;
		observation->bytes = record->bytes;
		if (record->has & FLOW_SESSION)
			observation->flags |= OBSERVATION_SESSION;
		return (record->has & FLOW_LAYER2_BYTES) != 0;
	}
	observation->packets = record->total_packets;
	observation->bytes = record->total_bytes;
	observation->flags |= record->has & (FLOW_PACKETS | FLOW_BYTES) ? OBSERVATION_SESSION
									: OBSERVATION_TOTALS;
	return (record->has & FLOW_LAYER2_TOTAL_BYTES) != 0;
}

/*
 * Replaces unknown counts by lower bounds: a packet has at most IP_PACKET_MAX bytes, and at least
 * an IP header (RFC 791, RFC 8200). Bytes below this bound count as unknown.
 */
static void complete_counts(const struct flow_record *record, struct observation *observation)
{
	uint64_t least;

	if (observation->packets == 0) {
		observation->packets = (observation->bytes + IP_PACKET_MAX - 1) / IP_PACKET_MAX;
		observation->flags |= OBSERVATION_PACKETS_UNKNOWN;
	}
	least = times(
		observation->packets, record->key.family == KEY_IPV6 ? IPV6_HEADER : IPV4_HEADER);
	if (observation->bytes < least) {
		observation->bytes = least;
		observation->flags |= OBSERVATION_BYTES_UNKNOWN;
	}
}

/* Returns true if packets and bytes need no change except for link_overhead. */
static bool is_usual(const struct flow_record *record)
{
	const uint32_t unusual = FLOW_SESSION | FLOW_LAYER2_BYTES | FLOW_ENDED;

	return (record->has & unusual) == 0 && record->packets - 1 < PACKETS_USUAL &&
	       record->bytes < BYTES_USUAL && record->bytes >= record->packets * IPV6_HEADER;
}

/* Sets packets and bytes. Returns false if the record has none. */
static __attribute__((noinline)) bool count(const struct observation_point *point,
	const struct flow_record *record, struct observation *observation)
{
	bool layer2 = choose_counts(record, observation);

	if ((observation->packets | observation->bytes) == 0)
		return false;
	if (layer2)
		observation->bytes =
			without_layer2(record, observation->bytes, observation->packets);
	complete_counts(record, observation);
	if (record->has & FLOW_ENDED)
		observation->flags |= OBSERVATION_ENDED;
	observation->bytes = counter64_sum(
		observation->bytes, times(observation->packets, point->link_overhead));
	return true;
}

/* Sets the key that a packet of the flow would have, so that it is the same for all exporters. */
static void put_key(const struct observation_point *point, const struct flow_record *record,
	struct observation *observation)
{
	observation->family = (uint8_t)record->key.family;
	if (record->key.family == KEY_IPV4) {
		observation->key4 = record->key.v4;
		if (!flow_has_ports(record->key.v4.proto)) {
			memset(observation->key4.src_port, 0, sizeof(observation->key4.src_port));
			memset(observation->key4.dst_port, 0, sizeof(observation->key4.dst_port));
		}
	} else {
		observation->key6 = record->key.v6;
		if (!flow_has_ports(record->key.v6.proto)) {
			memset(observation->key6.src_port, 0, sizeof(observation->key6.src_port));
			memset(observation->key6.dst_port, 0, sizeof(observation->key6.dst_port));
		}
	}
	observation->extra = record->extra;
	observation->extra.in_port[0] = (uint8_t)(point->slot >> 8);
	observation->extra.in_port[1] = (uint8_t)point->slot;
}

static void put_edges(const struct exporter_rule *rule, struct observation *observation)
{
	if (!rule->all_edges && rule->nb_edges == 0)
		return;
	observation->flags |= OBSERVATION_EDGES;
	if (exporter_rule_edge(rule, observation->input))
		observation->flags |= OBSERVATION_ENTERS;
	if (exporter_rule_edge(rule, observation->output))
		observation->flags |= OBSERVATION_LEAVES;
}

/*
 * Returns true if the direction field is the side on which the exporter observed the flow. Probes
 * on a link, such as softflowd, use it for the direction of a connection. Their records have
 * interface 0 on both sides.
 */
static inline bool has_side(const struct flow_record *record)
{
	const uint32_t both = FLOW_INPUT | FLOW_OUTPUT;

	return (record->has & FLOW_DIRECTION) != 0 &&
	       ((record->has & both) != both || record->input != 0 || record->output != 0);
}

static void put_direction(const struct flow_record *record, struct observation *observation)
{
	if (has_side(record))
		observation->side =
			record->direction == FLOW_EGRESS ? OBSERVED_EGRESS : OBSERVED_INGRESS;
	if (record->has & FLOW_SAMPLE)
		observation->flags |= OBSERVATION_SAMPLE;
	if (record->has & FLOW_REVERSE)
		observation->flags |= OBSERVATION_REVERSE;
}

static void put_position(const struct observation_point *point, const struct flow_record *record,
	struct observation *observation)
{
	observation->exporter = point->slot;
	observation->input = record->input;
	observation->output = record->output;
	observation->side = OBSERVED_ANYWHERE;
	if (record->has & (FLOW_DIRECTION | FLOW_SAMPLE | FLOW_REVERSE))
		put_direction(record, observation);
	if (point->rule != NULL)
		put_edges(point->rule, observation);
}

/* Looks up the exporter at the next hop as an IPv6 address; IPv4 is mapped. */
static __attribute__((noinline)) void find_next(
	struct observation_point *point, const struct flow_record *record)
{
	struct in6_addr address;

	address_map(&address, record->next_hop, record->next_hop_ipv6);
	point->next = exporter_at(point->exporters, &address);
	memcpy(point->next_hop, record->next_hop, sizeof(point->next_hop));
	point->next_hop_ipv6 = record->next_hop_ipv6;
	point->next_known = true;
}

/* It compares words, because loading bytes stalls on store forwarding. */
static uint32_t exporter_of(struct observation_point *point, const struct flow_record *record)
{
	uint64_t words[2], last[2];

	memcpy(words, record->next_hop, sizeof(words));
	memcpy(last, point->next_hop, sizeof(last));
	if (((words[0] ^ last[0]) | (words[1] ^ last[1])) != 0 ||
		record->next_hop_ipv6 != point->next_hop_ipv6 || !point->next_known)
		find_next(point, record);
	return point->next;
}

/*
 * Returns the place of a record: a number for interface, side, template and sampler. Records of one
 * place have the same sampling interval at any time.
 */
static uint64_t position_of(const struct flow_record *record, const struct observation *observation)
{
	bool egress = observation->side == OBSERVED_EGRESS;

	return (uint64_t)(egress ? observation->output : observation->input) |
	       (uint64_t)record->template_id << 32 | (uint64_t)egress << 48 | record->sampler << 49;
}

static __attribute__((noinline)) void decide_sampling(struct observation_point *point,
	const struct flow_record *record, const struct observation *observation)
{
	struct sampling_verdict verdict = sampling_of(&point->sampling, record);

	/* Scaled records are all converted one by one (put_sampling()). */
	point->decided = point->sampling.scaled == 0;
	point->basis = sampling_basis_of(record);
	point->verdict = verdict;
	if (verdict.interval > point->coarsest && verdict.certainty != SAMPLING_RATIO) {
		point->coarsest = verdict.interval;
		point->source = verdict.source;
		point->coarsest_place = position_of(record, observation);
	}
	if (point->finest == 0 || verdict.interval < point->finest)
		point->finest = verdict.interval;
	point->unsampled |= verdict.source == SAMPLING_NONE;
	if (verdict.certainty != SAMPLING_SURE)
		point->certainty = verdict.certainty;
}

/*
 * Converts the estimates of a scaled record to samples at 1:interval. The interval that the
 * exporter used may be smaller, so the number of samples need not be an integer: it is rounded at
 * random, without bias. docs/ESTIMATES.md has the proof that the bounds still hold.
 */
static void unscale(struct observation_point *point, struct observation *observation)
{
	uint64_t interval = point->verdict.interval, packets = observation->packets;

	observation->packets = packets / interval;
	if (random_below(point->random, interval) < packets % interval)
		observation->packets++;
	observation->bytes = (uint64_t)((double)observation->bytes * (double)observation->packets /
					(double)packets);
}

/* Returns false if the record has no sample left. */
static bool put_sampling(struct observation_point *point, const struct flow_record *record,
	struct observation *observation)
{
	if (!point->decided || !sampling_is_same(&point->sampling, &point->basis, record)) {
		decide_sampling(point, record, observation);
		if (point->sampling.scaled > 0 && point->verdict.interval > 1)
			unscale(point, observation);
		if (observation->packets == 0)
			return false;
	}
	observation->sampling = point->verdict.interval;
	point->has |= record->has;
	if (observation->sampling < point->known &&
		position_of(record, observation) == point->known_place)
		point->finer = true;
	return true;
}

#define TIMES_SHIFT 8

_Static_assert(FLOW_AGE >> TIMES_SHIFT == OBSERVATION_FIRST, "TIMES_SHIFT must convert this flag");
_Static_assert(FLOW_IDLE >> TIMES_SHIFT == OBSERVATION_LAST, "TIMES_SHIFT must convert this flag");
_Static_assert(FLOW_CUT_TIMES >> TIMES_SHIFT == OBSERVATION_CUT_TIMES,
	"TIMES_SHIFT must convert this flag");

static void put_times(const struct flow_record *record, struct observation *observation)
{
	observation->flags |=
		(uint16_t)((record->has & (FLOW_AGE | FLOW_IDLE | FLOW_CUT_TIMES)) >> TIMES_SHIFT);
	observation->first = record->age;
	observation->last = record->idle;
	observation->ttl = record->ttl;
	observation->segment = record->segment;
}

bool observe(struct observation_point *point, const struct flow_record *record,
	struct observation *observation)
{
	observation->flags = point->after_loss ? OBSERVATION_AFTER_LOSS : 0;
	if (is_usual(record)) {
		observation->packets = record->packets;
		observation->bytes = record->bytes + record->packets * point->link_overhead;
	} else if (!count(point, record, observation)) {
		return false;
	}
	put_key(point, record, observation);
	put_position(point, record, observation);
	put_times(record, observation);
	observation->next =
		record->has & FLOW_NEXT_HOP ? exporter_of(point, record) : EXPORTER_NONE;
	observation->time = point->time;
	return put_sampling(point, record, observation);
}
