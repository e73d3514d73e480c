/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Neighbours from the paths of flows, compared with the cables of networks: chains and leaf-spine
 * networks with ECMP, of which exporters miss flows, report in any order, or are silent, and whose
 * cables change.
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
#include "collect/dedup/neighbours.h"

#define FLOWS_MAX     4000
#define EXPORTERS     40
#define HOST_PORT     100
#define PACKETS       10
#define SECRET        7
#define SURE          0.5
#define FEW_FLOWS     20 /* at fewer flows a link may be missing */
#define SEEDS         320
#define HOPS_OF_FLOWS 6
#define INTERVALS     16

/* A network: exporter `a` at port p is connected to peer[a][p] at its port peer_port[a][p]. */
struct network {
	uint32_t peer[EXPORTERS][EXPORTERS], peer_port[EXPORTERS][EXPORTERS];
	uint32_t ports[EXPORTERS];
	bool silent[EXPORTERS]; /* does not export */
	struct path_row paths[FLOWS_MAX];
	uint64_t nb_paths;
	/* flows that leave an exporter by a port */
	uint64_t crossed[EXPORTERS][EXPORTERS];
	struct random random;
};

static struct network *network_create(uint64_t seed)
{
	struct network *network = calloc(1, sizeof(*network));

	assert_non_null(network);
	random_init(&network->random, seed);
	return network;
}

/* Ports count from 1. */
static void connect_routers(struct network *network, uint32_t a, uint32_t b)
{
	uint32_t port_a = ++network->ports[a], port_b = ++network->ports[b];

	network->peer[a][port_a] = b;
	network->peer_port[a][port_a] = port_b;
	network->peer[b][port_b] = a;
	network->peer_port[b][port_b] = port_a;
}

static uint32_t port_to(const struct network *network, uint32_t a, uint32_t b)
{
	uint32_t port = 1;

	while (port <= network->ports[a] && network->peer[a][port] != b)
		port++;
	assert_true(port <= network->ports[a]);
	return port;
}

/* Order and completeness of the reports. */
struct habits {
	double missed;  /* part of the reports that are missing */
	double swapped; /* part of the flows whose exporters report in random order */
	uint8_t ttl;    /* TTL of the first exporter; 0: unknown */
	bool ordered;   /* next hops are known */
};

static void shuffle(struct network *network, struct path_row *path)
{
	for (uint32_t i = path->nb_hops; i > 1; i--) {
		uint32_t k = (uint32_t)random_below(&network->random, i);
		struct path_hop other = path->hops[i - 1];

		path->hops[i - 1] = path->hops[k];
		path->hops[k] = other;
	}
}

static bool happens(struct network *network, double part)
{
	return (double)random_below(&network->random, 1000000) < part * 1000000;
}

/* Sends a flow over way[n] from host port `in` to host port `out`. */
static void send_flow(struct network *network, const uint32_t *way, uint32_t n, uint32_t in,
	uint32_t out, const struct habits *habits)
{
	struct path_row *path = &network->paths[network->nb_paths];

	assert_true(network->nb_paths < FLOWS_MAX);
	memset(path, 0, sizeof(*path));
	path->key.family = KEY_IPV4;
	memcpy(path->key.v4.src_ip, &network->nb_paths, sizeof(path->key.v4.src_ip));
	path->packets = PACKETS;
	path->bytes = 1000;
	for (uint32_t k = 0; k < n; k++) {
		struct path_hop hop = {
			.exporter = way[k],
			.input = k > 0 ? port_to(network, way[k], way[k - 1]) : HOST_PORT + in,
			.output =
				k + 1 < n ? port_to(network, way[k], way[k + 1]) : HOST_PORT + out,
			.ttl = habits->ttl > 0 ? (uint8_t)(habits->ttl - k) : 0,
		};

		if (k + 1 < n)
			network->crossed[way[k]][hop.output]++;
		if (!network->silent[way[k]] && !happens(network, habits->missed))
			path->hops[path->nb_hops++] = hop;
	}
	path->ordered = habits->ordered;
	if (happens(network, habits->swapped))
		shuffle(network, path);
	network->nb_paths += path->nb_hops > 0;
}

struct found {
	struct neighbour_row *rows;
	uint64_t nb;
};

static struct found find(const struct network *network)
{
	static const struct path_row *paths[FLOWS_MAX];
	struct neighbours *neighbours = neighbours_create(SECRET);
	struct found found;

	assert_non_null(neighbours);
	for (uint64_t i = 0; i < network->nb_paths; i++)
		paths[i] = &network->paths[i];
	assert_true(neighbours_find(neighbours, paths, network->nb_paths, &found.rows, &found.nb));
	neighbours_destroy(neighbours);
	for (uint64_t i = 0; i < found.nb; i++) {
		const struct neighbour_row *row = &found.rows[i];

		assert_true(row->match > 0 && row->match <= 1);
		assert_true(row->order >= 0 && row->order <= 1);
		assert_true(row->sure >= 0 && row->sure <= row->order);
		assert_int_equal(row->packets, row->flows * PACKETS);
		assert_int_equal(row->bytes, row->flows * 1000);
	}
	return found;
}

static const struct neighbour_row *row_of(
	const struct found *found, uint32_t from, uint32_t port, uint32_t to, uint32_t to_port)
{
	for (uint64_t i = 0; i < found->nb; i++) {
		const struct neighbour_row *row = &found->rows[i];

		if (row->from == from && row->from_interface == port && row->to == to &&
			row->to_interface == to_port)
			return row;
	}
	return NULL;
}

static bool is_cable(const struct network *network, const struct neighbour_row *row)
{
	return row->from_interface < EXPORTERS &&
	       network->peer[row->from][row->from_interface] == row->to &&
	       network->peer_port[row->from][row->from_interface] == row->to_interface;
}

/*
 * Checks that each sure row is a cable, and that each cable between exporters with enough flows has
 * a sure row. Returns the number of other rows.
 */
static uint32_t check_cables(const struct network *network, bool exact)
{
	struct found found = find(network);
	uint32_t wrong = 0;

	for (uint64_t i = 0; i < found.nb; i++) {
		wrong += !is_cable(network, &found.rows[i]);
		if (found.rows[i].sure >= SURE)
			assert_true(is_cable(network, &found.rows[i]));
	}
	for (uint32_t a = 0; a < EXPORTERS; a++)
		for (uint32_t port = 1; port <= network->ports[a]; port++) {
			uint32_t b = network->peer[a][port];
			const struct neighbour_row *row =
				row_of(&found, a, port, b, network->peer_port[a][port]);

			if (network->silent[a] || network->silent[b] ||
				network->crossed[a][port] < FEW_FLOWS)
				continue;
			assert_non_null(row);
			assert_true(row->sure >= SURE);
			if (exact)
				assert_int_equal(row->flows, network->crossed[a][port]);
		}
	free(found.rows);
	return wrong;
}

/* Leaves 0 to `leaves` - 1 and spines; the hash of a flow selects the spine. */
static struct network *leaf_spine(uint64_t seed, uint32_t leaves, uint32_t spines, uint32_t flows,
	const struct habits *habits)
{
	struct network *network = network_create(seed);

	for (uint32_t leaf = 0; leaf < leaves; leaf++)
		for (uint32_t spine = 0; spine < spines; spine++)
			connect_routers(network, leaf, leaves + spine);
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t from = (uint32_t)random_below(&network->random, leaves);
		uint32_t to = (uint32_t)random_below(&network->random, leaves);
		uint32_t spine = leaves + (uint32_t)random_below(&network->random, spines);
		uint32_t in = (uint32_t)random_below(&network->random, 3);
		uint32_t out = (uint32_t)random_below(&network->random, 3);

		if (from == to)
			send_flow(network, &from, 1, in, out, habits);
		else
			send_flow(network, (const uint32_t[]){from, spine, to}, 3, in, out, habits);
	}
	return network;
}

/* Matches suffice: exporters report in random order, without TTL. */
static void test_leaf_spine(void **state)
{
	const struct habits habits = {.swapped = 1};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		uint32_t leaves = 2 + seed % 5, spines = 1 + seed / 5 % 3;
		struct network *network = leaf_spine(seed, leaves, spines, 600, &habits);

		assert_int_equal(check_cables(network, true), 0);
		free(network);
	}
}

/* Exporters miss flows, as samplers do. The exporters around one that missed a flow are not linked. */
static void test_missed_reports(void **state)
{
	const struct habits habits = {.missed = 0.2, .swapped = 1};
	uint32_t wrong = 0;

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct network *network =
			leaf_spine(seed, 2 + seed % 5, 1 + seed / 5 % 3, 3000, &habits);

		wrong += check_cables(network, false);
		free(network);
	}
	assert_true(wrong < SEEDS / 20);
}

/* A chain with hosts only at its ends. All interfaces have the same flows. */
static struct network *chain(
	uint64_t seed, uint32_t routers, uint32_t flows, const struct habits *habits)
{
	struct network *network = network_create(seed);

	for (uint32_t i = 0; i + 1 < routers; i++)
		connect_routers(network, i, i + 1);
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t way[HOPS_OF_FLOWS];
		bool back = random_below(&network->random, 2);

		for (uint32_t k = 0; k < routers; k++)
			way[k] = back ? routers - 1 - k : k;
		send_flow(network, way, routers, 0, 0, habits);
	}
	return network;
}

/* Next hops, TTL, or most of the reports tell the order in a chain. */
static void test_chain_in_order(void **state)
{
	static const struct habits habits[] = {
		{.ordered = true},
		{.ttl = 64, .swapped = 1},
		{.swapped = 0},
		{.swapped = 0.3},
	};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++)
		for (size_t i = 0; i < sizeof(habits) / sizeof(habits[0]); i++) {
			struct network *network = chain(seed, 2 + seed % 5, 200, &habits[i]);

			assert_int_equal(check_cables(network, true), 0);
			free(network);
		}
}

/* Nothing tells the order in a chain: no row is sure. */
static void test_chain_without_order(void **state)
{
	const struct habits habits = {.swapped = 1};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct network *network = chain(seed, 3 + seed % 4, 300, &habits);
		struct found found = find(network);

		assert_true(found.nb > 0);
		for (uint64_t i = 0; i < found.nb; i++)
			assert_true(found.rows[i].sure < 0.75);
		free(found.rows);
		free(network);
	}
}

/* Hosts at each router of a chain: matches tell the order. */
static void test_chain_with_hosts(void **state)
{
	const struct habits habits = {.swapped = 1};

	(void)state;
	for (uint32_t seed = 0; seed < SEEDS; seed++) {
		struct network *network = network_create(seed);
		uint32_t routers = 3 + seed % 4;

		for (uint32_t i = 0; i + 1 < routers; i++)
			connect_routers(network, i, i + 1);
		for (uint32_t i = 0; i < 1000; i++) {
			uint32_t from = (uint32_t)random_below(&network->random, routers);
			uint32_t to = (uint32_t)random_below(&network->random, routers);
			uint32_t in = (uint32_t)random_below(&network->random, 3);
			uint32_t out = (uint32_t)random_below(&network->random, 3);
			uint32_t way[HOPS_OF_FLOWS], n = 0;

			for (uint32_t at = from;; at += to > at ? 1 : UINT32_MAX) {
				way[n++] = at;
				if (at == to)
					break;
			}
			send_flow(network, way, n, in, out, &habits);
		}
		assert_int_equal(check_cables(network, true), 0);
		free(network);
	}
}

/* A spine does not export: the leaves are neighbours over it, on the ports to the spine. */
static void test_silent_spine(void **state)
{
	const struct habits habits = {.swapped = 1};

	(void)state;
	for (uint32_t seed = 0; seed < 20; seed++) {
		struct network *network = network_create(seed);
		struct found found;

		for (uint32_t leaf = 0; leaf < 3; leaf++)
			connect_routers(network, leaf, 3);
		network->silent[3] = true;
		for (uint32_t i = 0; i < 900; i++) {
			uint32_t from = i % 3, to = (i + 1 + i / 3 % 2) % 3;

			send_flow(network, (const uint32_t[]){from, 3, to}, 3,
				(uint32_t)random_below(&network->random, 3),
				(uint32_t)random_below(&network->random, 3), &habits);
		}
		found = find(network);
		for (uint32_t a = 0; a < 3; a++)
			for (uint32_t b = 0; b < 3; b++) {
				const struct neighbour_row *row = row_of(&found, a, 1, b, 1);

				if (a == b)
					continue;
				assert_non_null(row);
				assert_int_equal(row->flows, 150);
				assert_true(row->match > 0.3 && row->match < 0.4);
				assert_true(row->sure > SURE);
			}
		assert_int_equal(found.nb, 6);
		free(found.rows);
		free(network);
	}
}

/* Long paths, and more groups than are searched. */
static void test_limits(void **state)
{
	const struct habits habits = {.ordered = true};
	struct network *network = network_create(1);
	uint32_t way[PATH_HOPS_MAX];
	struct found found;

	(void)state;
	for (uint32_t i = 0; i < PATH_HOPS_MAX; i++)
		way[i] = i;
	for (uint32_t i = 0; i + 1 < PATH_HOPS_MAX; i++)
		connect_routers(network, i, i + 1);
	/* Each flow is a group of 992 pairs; about a million are stored. */
	for (uint32_t i = 0; i < 2000; i++)
		send_flow(network, way, PATH_HOPS_MAX, i, 0, &habits);
	found = find(network);
	assert_int_equal(found.nb, PATH_HOPS_MAX - 1);
	for (uint64_t i = 0; i < found.nb; i++) {
		assert_true(is_cable(network, &found.rows[i]));
		assert_in_range(found.rows[i].flows, 1000, 1100);
		assert_true(found.rows[i].order > 0.99);
	}
	free(found.rows);
	free(network);
}

/*
 * Few flows per interval: the rows of an interval have its traffic, and are as sure as the flows of
 * many intervals make them. The oldest ones are forgotten.
 */
static void test_intervals(void **state)
{
	const struct habits habits = {.swapped = 1};
	struct network *network = leaf_spine(3, 3, 2, 800, &habits);
	struct neighbours *neighbours = neighbours_create(SECRET);
	uint64_t flows = 0, sum = 0;
	double surest = 0;

	(void)state;
	for (uint64_t at = 0; at < network->nb_paths; at += 20) {
		const struct path_row *paths[20];
		struct found found;

		for (uint64_t i = 0; i < 20; i++) {
			paths[i] = &network->paths[at + i];
			flows += paths[i]->nb_hops - 1;
		}
		assert_true(neighbours_find(neighbours, paths, 20, &found.rows, &found.nb));
		for (uint64_t i = 0; i < found.nb; i++) {
			const struct neighbour_row *row = &found.rows[i];

			sum += row->flows;
			assert_int_equal(row->packets, row->flows * PACKETS);
			if (at < 600)
				continue;
			assert_true(is_cable(network, row));
			assert_true(row->sure > SURE);
			surest = row->sure > surest ? row->sure : surest;
		}
		if (at >= 600)
			assert_true(sum <= flows);
		free(found.rows);
	}
	assert_true(surest > 0.9);
	/* No path of the last 32 intervals remains. */
	for (uint32_t i = 0; i < 40; i++) {
		struct found found;

		assert_true(neighbours_find(neighbours, NULL, 0, &found.rows, &found.nb));
		assert_int_equal(found.nb, 0);
		free(found.rows);
	}
	neighbours_destroy(neighbours);
	free(network);
}

enum change {
	CABLES_SWAPPED, /* at two ports of a router */
	ROUTER_REMOVED, /* a cable replaces it */
	ROUTER_SILENT,
	ROUTER_EXPORTS, /* was silent */
	NB_CHANGES,
};

/* A link between two exporters, of which the routers in between are silent. */
struct link {
	uint32_t from, output, to, input;
	uint64_t flows;
};

struct links {
	struct link links[EXPORTERS * EXPORTERS];
	uint32_t nb;
};

static void add_link_flow(
	struct links *links, const struct path_hop *from, const struct path_hop *to)
{
	uint32_t i = 0;

	while (i < links->nb &&
		(links->links[i].from != from->exporter || links->links[i].output != from->output ||
			links->links[i].to != to->exporter || links->links[i].input != to->input))
		i++;
	if (i == links->nb)
		links->links[links->nb++] =
			(struct link){from->exporter, from->output, to->exporter, to->input, 0};
	links->links[i].flows++;
}

/* Sends flows for an interval. The links are in the order of the flows, without habits. */
static void send_interval(struct network *network, bool is_chain, uint32_t routers, uint32_t flows,
	const struct habits *habits, struct links *links)
{
	static const struct habits exact;

	links->nb = 0;
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t way[HOPS_OF_FLOWS], n = 0, a, b;
		struct path_row *path = &network->paths[network->nb_paths];

		if (is_chain) {
			bool back = random_below(&network->random, 2);

			for (uint32_t k = 0; k < routers; k++) {
				uint32_t router = back ? routers - 1 - k : k;

				/* A removed router has no ports. */
				if (network->ports[router] > 0)
					way[n++] = router;
			}
		} else {
			a = (uint32_t)random_below(&network->random, routers);
			b = (a + 1 + (uint32_t)random_below(&network->random, routers - 1)) %
			    routers;
			way[n++] = a;
			way[n++] = routers + (uint32_t)random_below(&network->random, 2);
			way[n++] = b;
		}
		send_flow(network, way, n,
			(uint32_t)random_below(&network->random, is_chain ? 1 : 3),
			(uint32_t)random_below(&network->random, is_chain ? 1 : 3), &exact);
		for (uint32_t k = 0; k + 1 < path->nb_hops; k++)
			add_link_flow(links, &path->hops[k], &path->hops[k + 1]);
		if (happens(network, habits->swapped))
			shuffle(network, path);
	}
}

static void set_cable(
	struct network *network, uint32_t a, uint32_t port_a, uint32_t b, uint32_t port_b)
{
	network->peer[a][port_a] = b;
	network->peer_port[a][port_a] = port_b;
	network->peer[b][port_b] = a;
	network->peer_port[b][port_b] = port_a;
}

static void change_network(
	struct network *network, enum change change, bool is_chain, uint32_t routers)
{
	uint32_t victim = is_chain ? 1 : routers;
	uint32_t port = network->peer_port[0][1], other = network->peer_port[0][2];

	switch (change) {
	case CABLES_SWAPPED:
		set_cable(network, 0, 1, routers + 1, other);
		set_cable(network, 0, 2, routers, port);
		break;
	case ROUTER_REMOVED:
		network->ports[victim] = 0;
		set_cable(network, 0, 1, 2, ++network->ports[2]);
		network->peer[2][1] = EXPORTERS;
		break;
	default: network->silent[victim] = change == ROUTER_SILENT;
	}
}

/* Each sure row is a link, and each link with enough flows has a row with these flows. */
static void check_links(const struct found *found, const struct links *links)
{
	uint64_t sure = 0;

	for (uint32_t i = 0; i < links->nb; i++) {
		const struct link *link = &links->links[i];
		const struct neighbour_row *row =
			row_of(found, link->from, link->output, link->to, link->input);

		sure += row != NULL && row->sure >= SURE;
		if (link->flows < FEW_FLOWS)
			continue;
		assert_non_null(row);
		assert_int_equal(row->flows, link->flows);
		assert_true(row->sure >= SURE);
	}
	for (uint64_t i = 0; i < found->nb; i++)
		sure -= found->rows[i].sure >= SURE;
	assert_int_equal(sure, 0);
}

/* A change shows from its second interval on. */
static void check_change(uint64_t seed, enum change change, bool is_chain, uint32_t flows)
{
	const struct habits habits = {.swapped = 0.2};
	struct network *network = network_create(seed);
	struct neighbours *neighbours = neighbours_create(SECRET);
	uint32_t routers = 3 + (uint32_t)(seed % 3);
	uint32_t at = 2 + (uint32_t)random_below(&network->random, INTERVALS - 4);

	for (uint32_t i = 0; is_chain && i + 1 < routers; i++)
		connect_routers(network, i, i + 1);
	for (uint32_t leaf = 0; !is_chain && leaf < routers; leaf++)
		for (uint32_t spine = 0; spine < 2; spine++)
			connect_routers(network, leaf, routers + spine);
	network->silent[is_chain ? 1 : routers] = change == ROUTER_EXPORTS;
	for (uint32_t interval = 0; interval < INTERVALS; interval++) {
		static const struct path_row *paths[FLOWS_MAX];
		static struct links links;
		uint64_t first = network->nb_paths;
		struct found found;

		if (interval == at)
			change_network(network, change, is_chain, routers);
		send_interval(network, is_chain, routers, flows, &habits, &links);
		for (uint64_t i = first; i < network->nb_paths; i++)
			paths[i - first] = &network->paths[i];
		assert_true(neighbours_find(
			neighbours, paths, network->nb_paths - first, &found.rows, &found.nb));
		if (interval != at && interval > 0)
			check_links(&found, &links);
		free(found.rows);
	}
	neighbours_destroy(neighbours);
	free(network);
}

static void test_changes(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < SEEDS / 6; seed++)
		for (uint32_t change = 0; change < NB_CHANGES; change++) {
			if (change != CABLES_SWAPPED)
				check_change(seed, change, true, 60);
			if (change != ROUTER_REMOVED)
				check_change(seed, change, false, 240);
		}
}

#define SURE_SEEDS 600
#define SURE_FLOWS 300
/* `sure` may exceed the share in 2.5 % of the seeds, and by chance in five standard errors more. */
#define SURE_RISK  0.025

/* Shares of the flows that go directly, or in which `from` reports first. */
static const double known_shares[] = {0.55, 0.6, 0.7, 0.8, 0.9};

static double known_share(uint32_t seed)
{
	return known_shares[seed % (sizeof(known_shares) / sizeof(known_shares[0]))];
}

struct sure_check {
	uint32_t rows, above; /* above: `sure` exceeds the share */
};

/* Adds the row from exporter 0 to exporter 1. Most flows of a sample may have the other order. */
static void add_sure(
	struct sure_check *check, const struct network *network, uint32_t port, double share)
{
	struct found found = find(network);
	const struct neighbour_row *row = row_of(&found, 0, port, 1, port);

	if (row != NULL) {
		check->rows++;
		check->above += row->sure > share;
		assert_true(row->sure > share - 0.25);
	}
	free(found.rows);
}

static void check_sure(const struct sure_check *check)
{
	double mean = SURE_RISK * SURE_SEEDS;

	print_message("`sure` is above the share in %u of %u rows\n", check->above, check->rows);
	assert_true(check->rows > SURE_SEEDS * 95 / 100);
	assert_true(check->above <= mean + 5 * sqrt(mean * (1 - SURE_RISK)));
}

/* Without interface numbers: a known share of the flows from 0 to 1 passes exporter 2. */
static void test_sure_of_known_order(void **state)
{
	struct sure_check check = {0};

	(void)state;
	for (uint32_t seed = 0; seed < SURE_SEEDS; seed++) {
		struct network *network = network_create(seed);
		double direct = known_share(seed);

		for (uint32_t i = 0; i < SURE_FLOWS; i++) {
			struct path_row *path = &network->paths[network->nb_paths++];

			path->key.family = KEY_IPV4;
			memcpy(path->key.v4.src_ip, &i, sizeof(path->key.v4.src_ip));
			path->packets = PACKETS;
			path->bytes = 1000;
			path->ordered = true;
			path->hops[path->nb_hops++] = (struct path_hop){.exporter = 0};
			if (!happens(network, direct))
				path->hops[path->nb_hops++] = (struct path_hop){.exporter = 2};
			path->hops[path->nb_hops++] = (struct path_hop){.exporter = 1};
		}
		add_sure(&check, network, 0, direct);
		free(network);
	}
	check_sure(&check);
}

/* Only the order of reports tells the direction: exporter 0 reports a known share of the flows first. */
static void test_sure_of_reports(void **state)
{
	struct sure_check check = {0};

	(void)state;
	for (uint32_t seed = 0; seed < SURE_SEEDS; seed++) {
		struct network *network = network_create(seed);
		double first = known_share(seed);
		const struct habits habits = {.swapped = 2 * (1 - first)};

		connect_routers(network, 0, 1);
		for (uint32_t i = 0; i < SURE_FLOWS; i++)
			send_flow(network, (const uint32_t[]){0, 1}, 2, 0, 0, &habits);
		add_sure(&check, network, 1, first);
		free(network);
	}
	check_sure(&check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_leaf_spine),
		cmocka_unit_test(test_missed_reports),
		cmocka_unit_test(test_chain_in_order),
		cmocka_unit_test(test_chain_without_order),
		cmocka_unit_test(test_chain_with_hosts),
		cmocka_unit_test(test_silent_spine),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_intervals),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_sure_of_known_order),
		cmocka_unit_test(test_sure_of_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
