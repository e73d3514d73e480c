/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Samples of several exporters, each packet once, in small networks with known traffic. In every
 * epoch the true count is within the figure, the packets in doubt, and chance; in a stable network
 * nothing is in doubt once the roles are learned.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "collect/dedup/dedup.h"

#define EXPORTERS  16
#define SECOND     INT64_C(1000000000)
#define START      (INT64_C(1700000000) * SECOND)
#define EPOCH      (10 * SECOND)
#define TIMEOUT    (60 * SECOND)
#define WARM       12 /* epochs */
#define HOPS       5
#define CHANCE     6.0 /* standard deviations */
#define FLOWS_MOST 4000

struct hop_of {
	uint32_t exporter, input;
	uint8_t ttl;
	uint16_t segment;
};

struct way {
	struct hop_of hops[HOPS];
	uint32_t nb;
};

/* Event in the network. */
enum event {
	NOTHING_HAPPENS,
	FIRST_DIES,   /* exporter 0; its router keeps forwarding */
	FIRST_IS_NEW, /* exporter 0 starts */
	RATE_CHANGES, /* sampling of every second exporter */
	MANY_RATES,   /* each exporter has its own sampling */
	LOCAL_FLOW,   /* a flow that only exporter 2 sees, at a fed interface */
};

struct network {
	const char *name;
	void (*way)(uint32_t flow, struct way *way);
	uint32_t flows;
	uint64_t packets; /* packets per flow and epoch */
	uint32_t sampling;
	enum event event;
	bool ttl;     /* exporters report the TTL */
	bool steady;  /* nothing may be in doubt at the end */
	bool sprayed; /* each packet passes one of the hops */
};

struct world {
	const struct network *network;
	struct dedup *dedup;
	struct key_burst burst;
	struct key_weights weights;
	struct dedup_counts counts;
	struct record_counts records[EXPORTERS];
	struct observation waiting[BURST_MAX];
	uint32_t nb;
	uint64_t packets; /* packets counted in the epoch */
	int64_t time;
	struct random random;
};

static void add_up(struct world *world)
{
	for (uint32_t i = 0; i < world->burst.n; i++)
		world->packets += world->weights.packets[i];
}

static void flush(struct world *world)
{
	dedup_burst(world->dedup, world->waiting, world->nb, &world->burst, &world->counts,
		world->records);
	add_up(world);
	world->nb = 0;
}

static uint64_t binomial(struct random *random, uint64_t packets, uint32_t interval)
{
	uint64_t taken = 0;

	for (uint64_t i = 0; i < packets; i++)
		taken += random_below(random, interval) == 0;
	return taken;
}

static uint32_t sampling_of(const struct network *network, uint32_t exporter, uint32_t epoch)
{
	if (network->event == RATE_CHANGES && epoch >= 2 * WARM && exporter % 2)
		return network->sampling / 5;
	if (network->event == MANY_RATES)
		return network->sampling + 7 * exporter;
	return network->sampling;
}

static bool is_up(const struct network *network, uint32_t exporter, uint32_t epoch)
{
	if (exporter > 0)
		return true;
	return network->event == FIRST_DIES ? epoch < 2 * WARM
					    : network->event != FIRST_IS_NEW || epoch >= 2 * WARM;
}

static void give(struct world *world, uint32_t flow, const struct hop_of *hop, uint32_t epoch)
{
	const struct network *network = world->network;
	uint32_t sampling = sampling_of(network, hop->exporter, epoch);
	uint64_t packets = network->sprayed ? network->packets / 2 : network->packets;
	uint64_t n = binomial(&world->random, packets, sampling);
	struct observation o;

	if (n == 0)
		return;
	memset(&o, 0, sizeof(o));
	o.family = KEY_IPV4;
	memcpy(o.key4.src_ip, &flow, sizeof(flow));
	memcpy(o.key4.dst_ip, &epoch, sizeof(epoch));
	o.exporter = hop->exporter;
	o.side = OBSERVED_INGRESS;
	o.input = hop->input;
	o.output = 1;
	o.next = EXPORTER_NONE;
	o.ttl = network->ttl ? hop->ttl : 0;
	o.segment = hop->segment;
	o.sampling = sampling;
	o.packets = n;
	o.bytes = 100 * n;
	o.time = world->time + 1 + (int64_t)random_below(&world->random, (uint64_t)EPOCH - 2);
	world->waiting[world->nb++] = o;
	if (world->nb == BURST_MAX)
		flush(world);
}

static void ignore(void *arg, const struct path_row *row)
{
	(void)arg;
	(void)row;
}

/* Returns the packets seen by an exporter that is alive. */
static uint64_t run_epoch(struct world *world, uint32_t epoch)
{
	uint64_t truth = 0;

	world->counts = (struct dedup_counts){0};
	world->packets = 0;
	for (uint32_t flow = 0; flow < world->network->flows; flow++) {
		bool seen = false;
		struct way way = {.nb = 0};

		world->network->way(flow, &way);
		for (uint32_t h = 0; h < way.nb; h++) {
			if (!is_up(world->network, way.hops[h].exporter, epoch))
				continue;
			seen = true;
			give(world, flow, &way.hops[h], epoch);
		}
		truth += seen ? world->network->packets : 0;
	}
	if (world->network->event == LOCAL_FLOW && epoch >= 2 * WARM) {
		give(world, world->network->flows, &(struct hop_of){.exporter = 2, .input = 10},
			epoch);
		truth += world->network->packets;
	}
	flush(world);
	world->time += EPOCH;
	dedup_learn(world->dedup, world->time, false, &world->counts);
	while (dedup_settle(world->dedup, &world->burst, &world->counts) > 0)
		add_up(world);
	dedup_end_epoch(world->dedup, world->time, ignore, NULL);
	return truth;
}

/* Returns the deviation of figures expected by chance. */
static double chance(const struct network *network, double packets)
{
	return CHANCE * sqrt(packets * 2 * network->sampling);
}

static void check_epoch(struct world *world, uint64_t truth, bool calm)
{
	const struct network *network = world->network;
	double figure = (double)world->packets, t = (double)truth;
	double low = figure - (double)world->counts.duplicate_packets;
	double high = figure + (double)world->counts.new_packets;

	if (world->counts.observers > 1 && low < figure / world->counts.observers)
		low = figure / world->counts.observers;
	assert_true(low - chance(network, figure) <= t);
	if (!world->counts.unknown)
		assert_true(high + chance(network, high) >= t);
	if (!calm)
		return;
	assert_true(fabs(figure - t) <= chance(network, t));
	assert_true(low >= figure * 0.95);
	assert_true(high <= figure * 1.05);
}

static void begin(struct world *world, const struct network *network)
{
	memset(world, 0, sizeof(*world));
	world->network = network;
	world->dedup = dedup_create(&(struct dedup_params){
		.method = DEDUP_BEST,
		.flows = 100000,
		.exporters = EXPORTERS,
		.timeout = TIMEOUT,
		.seed = 42,
		.allocator = sketch_allocator_malloc,
	});
	assert_non_null(world->dedup);
	world->burst.weights = &world->weights;
	world->time = START;
	random_init(&world->random, network->flows);
}

static void check(const struct network *network)
{
	static struct world world;
	const uint32_t epochs = 5 * WARM;

	begin(&world, network);
	for (uint32_t epoch = 0; epoch < epochs; epoch++) {
		uint64_t truth = run_epoch(&world, epoch);
		bool changed =
			network->event != NOTHING_HAPPENS && epoch >= 2 * WARM && epoch < 4 * WARM;

		check_epoch(&world, truth, network->steady && epoch >= WARM && !changed);
	}
	dedup_destroy(world.dedup);
}

static void set_hop(struct way *way, uint32_t exporter, uint32_t input)
{
	way->hops[way->nb] = (struct hop_of){exporter, input, (uint8_t)(64 - way->nb), 0};
	way->nb++;
}

/* Three routers in a row; hosts at either end. */
static void in_a_row(uint32_t flow, struct way *way)
{
	for (uint32_t h = 0; h < 3; h++)
		set_hop(way, flow % 2 ? h : 2 - h, h == 0 ? 10 : flow % 2 ? 1 : 2);
}

/* A pair of switches: each flow passes one of them. */
static void by_a_pair(uint32_t flow, struct way *way)
{
	set_hop(way, flow % 2, 1);
}

/* Four leaves, two spines; some flows stay at one leaf. */
static void by_leaves(uint32_t flow, struct way *way)
{
	uint32_t from = flow % 4, to = flow / 4 % 4, spine = 4 + flow / 16 % 2;

	set_hop(way, from, 10);
	if (from == to)
		return;
	set_hop(way, spine, 1 + from);
	set_hop(way, to, spine);
}

/* Half of the flows pass a second router. */
static void by_one_or_two(uint32_t flow, struct way *way)
{
	set_hop(way, 0, 1);
	if (flow % 2)
		set_hop(way, 1, 1);
}

/* Two switches in a row, which change neither the TTL nor the MAC addresses. */
static void by_switches(uint32_t flow, struct way *way)
{
	for (uint32_t h = 0; h < 2; h++)
		way->hops[way->nb++] = (struct hop_of){h, 1 + h, 64, (uint16_t)(100 + flow % 8)};
}

/* Each packet passes one of two routers, which have MAC addresses of their own. */
static void by_either(uint32_t flow, struct way *way)
{
	for (uint32_t h = 0; h < 2; h++)
		way->hops[way->nb++] =
			(struct hop_of){h, 1, 64, (uint16_t)(100 + 10 * h + flow % 8)};
}

/* A single router. */
static void by_one(uint32_t flow, struct way *way)
{
	set_hop(way, flow % 1, 1);
}

static void test_networks(void **state)
{
	static const struct network networks[] = {
		{"one", by_one, 300, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"row", in_a_row, 300, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"row, mice", in_a_row, 4000, 20, 100, NOTHING_HAPPENS, true, true, false},
		{"row, without TTL", in_a_row, 301, 1000, 100, NOTHING_HAPPENS, false, true, false},
		{"pair", by_a_pair, 300, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"pair, without TTL", by_a_pair, 302, 1000, 100, NOTHING_HAPPENS, false, true,
			false},
		{"pair, mice", by_a_pair, 4000, 20, 100, NOTHING_HAPPENS, true, true, false},
		{"leaves", by_leaves, 320, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"leaves, mice", by_leaves, 4000, 20, 100, NOTHING_HAPPENS, true, true, false},
		{"one or two", by_one_or_two, 303, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"one or two, without TTL", by_one_or_two, 304, 1000, 100, NOTHING_HAPPENS, false,
			true},
		{"leaves, many rates", by_leaves, 320, 1000, 60, MANY_RATES, true, true, false},
		{"one or two, mice", by_one_or_two, 4000, 20, 100, NOTHING_HAPPENS, false, true,
			false},
		{"switches", by_switches, 300, 1000, 100, NOTHING_HAPPENS, true, true, false},
		{"sprayed", by_either, 300, 1000, 100, NOTHING_HAPPENS, true, false, true},
		{"sprayed, mice", by_either, 4000, 20, 100, NOTHING_HAPPENS, true, false, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		check(&networks[i]);
}

static void test_changes(void **state)
{
	static const struct network networks[] = {
		{"row, a death", in_a_row, 300, 1000, 100, FIRST_DIES, true, true, false},
		{"row, a death, without TTL", in_a_row, 301, 1000, 100, FIRST_DIES, false, true,
			false},
		{"row, mice, a death", in_a_row, 4000, 20, 100, FIRST_DIES, true, true, false},
		{"leaves, a death", by_leaves, 320, 1000, 100, FIRST_DIES, true, false, false},
		{"row, a start", in_a_row, 300, 1000, 100, FIRST_IS_NEW, true, true, false},
		{"row, a start, without TTL", in_a_row, 301, 1000, 100, FIRST_IS_NEW, false, true,
			false},
		{"leaves, a start", by_leaves, 320, 1000, 100, FIRST_IS_NEW, true, true, false},
		{"row, a local flow", in_a_row, 31, 500000, 100, LOCAL_FLOW, false, false, false},
		{"row, rates", in_a_row, 300, 1000, 100, RATE_CHANGES, true, true, false},
		{"leaves, rates", by_leaves, 320, 1000, 100, RATE_CHANGES, true, true, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
		check(&networks[i]);
}

/* A slot that changed owners until its number repeats: what was learned before is void. */
static void test_slot_of_many(void **state)
{
	static const struct network network = {
		"row", in_a_row, 300, 1000, 100, NOTHING_HAPPENS, true, true, false};
	static struct world world;

	(void)state;
	begin(&world, &network);
	run_epoch(&world, 0);
	for (uint32_t i = 0; i < 1 << 14; i++)
		dedup_forget_exporter(world.dedup, 1);
	for (uint32_t epoch = 1; epoch < 4; epoch++)
		check_epoch(&world, run_epoch(&world, epoch), false);
	dedup_destroy(world.dedup);
}

/* --- restarts of the collector --- */

struct saved_roles {
	struct interface_role_row rows[64];
	uint32_t nb;
};

static void save_role(void *arg, const struct interface_role_row *row)
{
	struct saved_roles *saved = arg;

	assert_true(saved->nb < sizeof(saved->rows) / sizeof(saved->rows[0]));
	saved->rows[saved->nb++] = *row;
}

static enum interface_role role_of(
	const struct saved_roles *saved, uint32_t exporter, uint32_t input, uint32_t *fed_by)
{
	for (uint32_t i = 0; i < saved->nb; i++) {
		const struct interface_role_row *row = &saved->rows[i];

		if (row->exporter == exporter && row->interface == input &&
			row->side == OBSERVED_INGRESS) {
			*fed_by = row->fed_by;
			return row->role;
		}
	}
	fail_msg("no row of exporter %u, interface %u", exporter, input);
	return ROLE_OPEN;
}

/* Learns the roles of a network, and starts another run with them. */
static void restart(struct world *world, struct saved_roles *saved, const struct network *learned,
	const struct network *next, int64_t age)
{
	saved->nb = 0;
	begin(world, learned);
	for (uint32_t epoch = 0; epoch < WARM; epoch++)
		run_epoch(world, epoch);
	dedup_emit_roles(world->dedup, save_role, saved);
	dedup_destroy(world->dedup);
	begin(world, next);
	for (uint32_t i = 0; i < saved->nb; i++)
		dedup_restore_role(world->dedup, &saved->rows[i], world->time - age);
}

static const struct network few_samples = {
	"row, few samples", in_a_row, 400, 50, 100, NOTHING_HAPPENS, true, true};

/* Exporters 0 and 2 have edges at interface 10; the other interfaces are fed by the neighbour. */
static void test_role_rows(void **state)
{
	static const struct network network = {
		"row", in_a_row, 300, 1000, 100, NOTHING_HAPPENS, true, true, false};
	static struct world world;
	struct saved_roles saved;
	uint32_t fed_by;

	(void)state;
	restart(&world, &saved, &network, &network, SECOND);
	assert_int_equal(role_of(&saved, 0, 10, &fed_by), ROLE_EDGE);
	assert_int_equal(fed_by, EXPORTER_NONE);
	assert_int_equal(role_of(&saved, 1, 1, &fed_by), ROLE_FED);
	assert_int_equal(fed_by, 0);
	assert_int_equal(role_of(&saved, 1, 2, &fed_by), ROLE_FED);
	assert_int_equal(fed_by, 2);
	assert_int_equal(role_of(&saved, 0, 2, &fed_by), ROLE_FED);
	assert_int_equal(fed_by, 1);
	assert_int_equal(role_of(&saved, 2, 1, &fed_by), ROLE_FED);
	assert_int_equal(fed_by, 1);
	dedup_destroy(world.dedup);
}

/* After a restart the figures of the first epochs are calm, also with too few flows to learn. */
static void test_restart(void **state)
{
	static const struct network network = {
		"row", in_a_row, 300, 1000, 100, NOTHING_HAPPENS, true, true, false};
	static struct world world;
	struct saved_roles saved;

	(void)state;
	restart(&world, &saved, &network, &few_samples, 600 * SECOND);
	for (uint32_t epoch = 0; epoch < 3; epoch++)
		check_epoch(&world, run_epoch(&world, epoch), true);
	dedup_destroy(world.dedup);
}

/* Roles of an hour ago, or of other exporters, are not used: bounds are open as without them. */
static void test_stale_roles(void **state)
{
	static const struct network network = {
		"row", in_a_row, 300, 1000, 100, NOTHING_HAPPENS, true, true, false};
	static const struct network without_first = {
		"row, a death", in_a_row, 400, 50, 100, FIRST_DIES, true, true};
	static struct world world;
	struct saved_roles saved;
	struct dedup_counts fresh;

	(void)state;
	begin(&world, &few_samples);
	run_epoch(&world, 0);
	fresh = world.counts;
	assert_true(fresh.duplicate_packets + fresh.new_packets > 0);
	dedup_destroy(world.dedup);
	restart(&world, &saved, &network, &few_samples, 3601 * SECOND);
	run_epoch(&world, 0);
	assert_int_equal(world.counts.duplicate_packets, fresh.duplicate_packets);
	assert_int_equal(world.counts.new_packets, fresh.new_packets);
	dedup_destroy(world.dedup);
	restart(&world, &saved, &network, &without_first, SECOND);
	for (uint32_t epoch = 2 * WARM; epoch < 2 * WARM + 3; epoch++) {
		check_epoch(&world, run_epoch(&world, epoch), false);
		assert_true(world.counts.duplicate_packets + world.counts.new_packets > 0);
	}
	dedup_destroy(world.dedup);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_role_rows),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_stale_roles),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_slot_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
