/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/neighbours.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"

/* Longer paths keep the order of path_order(). */
#define SEARCHED_HOPS  8
/* Weights of evidence: known order before matches, matches before the order of reports. */
#define KNOWN_WEIGHT   100.0
#define REPORT_WEIGHT  1e-3
/*
 * The match decides the order if every order without this pair of neighbours loses this part of their
 * match, and twice the spread of a share of these flows.
 */
#define LOST_PART      0.5
#define LOST_SPREADS   2.0
/* A link with less than this part of the best match of both of its ends is dropped. */
#define MATCH_PART     0.5
/*
 * A link from A to C is dropped if one in VIA_ONE_IN of its flows, and at least VIA_LEAST, show a
 * path from A over B to C: B did not report the others.
 */
#define VIA_ONE_IN     20
#define VIA_LEAST      2
/*
 * Limits of memory and time. Groups with few flows are left out beyond PAIRS_MAX, and keep the order
 * of their first flow beyond STEPS_MAX.
 */
#define PAIRS_MAX      (UINT64_C(1) << 20)
#define STEPS_MAX      (UINT64_C(1) << 28)
/* Limits of the paths of earlier intervals, which are evidence as well. */
#define KEPT_INTERVALS 32
#define KEPT_ROWS      (UINT64_C(1) << 16)
/*
 * A cable has changed if a pair of ends has common flows only before the last N intervals, or only
 * within them, and the probability of this by chance is at most CHANGE_CHANCE (Fisher's exact test).
 */
#define CHANGE_CHANCE  1e-4
#define NB_PERIODS     4
#define QUANTILE       1.96 /* 95 % of a normal distribution, two-sided */

static const uint32_t periods[NB_PERIODS] = {2, 4, 8, 16}; /* N, in intervals */

/* Flows that pass the same interfaces of the same exporters. */
struct route_group {
	const struct path_hop *hops; /* in the order of the first flow */
	uint32_t nb_hops;
	uint64_t flows;
	uint64_t now, packets, bytes; /* flows of this interval, and their counts */
	uint64_t recent[NB_PERIODS];  /* flows of the last periods[] */
	uint64_t number;
	/*
	 * [from * nb_hops + to]: flows in which hop `from` is before hop `to`, as reported, and
	 * known by next hops, edges or TTL.
	 */
	uint32_t *reported, *known;
};

struct path_entry {
	uint64_t hash, number;
	const struct path_row *path;
	uint32_t age; /* intervals since the flow was last seen */
};

/* Copies of the paths of an interval. */
struct kept_paths {
	char *rows;
	uint64_t nb;
};

struct neighbours {
	uint64_t seed;
	struct kept_paths kept[KEPT_INTERVALS]; /* newest first */
};

/* An interface of an exporter, as output or as input. */
struct link_end {
	uint32_t exporter, interface;
};

struct end_flows {
	struct link_end end;
	bool input;
	uint64_t flows, recent[NB_PERIODS];
	uint32_t since; /* paths of this age or older have another cable; 0: none */
	double best;    /* largest score of its links */
};

/* A pair of ends: the flows that pass both in this direction. */
struct end_pair {
	struct link_end from, to;
	struct end_flows *output, *input;    /* all flows of `from` and of `to` */
	uint64_t common, recent[NB_PERIODS]; /* flows that pass both */
	uint64_t reported;                   /* those that `from` reported before `to` */
	uint64_t next;                       /* those that pass no other exporter in between */
	uint64_t now;                        /* those of this interval */
	uint64_t via;                        /* flows that show a path over another exporter */
	uint64_t packets, bytes;             /* sums over `next` */
	double ordered;                      /* flows of `next`, times their certainty */
	double match;
	double score;      /* see set_score() */
	double first;      /* see reported_first() */
	uint32_t distance; /* see struct neighbour_row */
};

struct neighbourhood {
	struct route_group *groups;
	struct end_flows *ends;
	struct end_pair *pairs;
	double *complete;   /* [exporters]: see raise_complete() */
	uint32_t *matrices; /* storage for all groups */
	uint64_t nb_groups, nb_ends, nb_pairs;
};

/* --- groups --- */

/* Does not depend on the order of the hops. */
static uint64_t hash_of(const struct path_row *path, uint64_t seed)
{
	uint64_t hash = path->nb_hops;

	for (uint32_t h = 0; h < path->nb_hops; h++) {
		const struct path_hop *hop = &path->hops[h];
		uint64_t one = random_mix(seed ^ ((uint64_t)hop->exporter << 32 | hop->input));

		hash += random_mix(one + hop->output);
	}
	return hash;
}

static int by_hash(const void *a, const void *b)
{
	const struct path_entry *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

/* Returns the number of the hop in the group, or nb_hops. */
static uint32_t find_hop(const struct route_group *group, const struct path_hop *hop)
{
	uint32_t h = 0;

	while (h < group->nb_hops &&
		(group->hops[h].exporter != hop->exporter || group->hops[h].input != hop->input ||
			group->hops[h].output != hop->output))
		h++;
	return h;
}

static bool is_of_group(const struct route_group *group, const struct path_row *path)
{
	if (path->nb_hops != group->nb_hops)
		return false;
	for (uint32_t h = 0; h < path->nb_hops; h++)
		if (find_hop(group, &path->hops[h]) == group->nb_hops)
			return false;
	return true;
}

static bool is_known_before(
	const struct path_row *path, const struct path_hop *a, const struct path_hop *b)
{
	if (path->ordered)
		return a < b;
	return a->ttl > 0 && b->ttl > 0 && a->ttl > b->ttl;
}

static void add_recent(uint64_t *recent, const uint64_t *more)
{
	for (uint32_t i = 0; i < NB_PERIODS; i++)
		recent[i] += more[i];
}

static void add_flow(struct route_group *group, const struct path_row *path, uint32_t age)
{
	uint32_t numbers[PATH_HOPS_MAX];

	for (uint32_t h = 0; h < path->nb_hops; h++)
		numbers[h] = find_hop(group, &path->hops[h]);
	for (uint32_t i = 0; i < path->nb_hops; i++)
		for (uint32_t j = 0; j < path->nb_hops; j++) {
			uint32_t at = numbers[i] * group->nb_hops + numbers[j];

			group->reported[at] += i < j;
			group->known[at] +=
				i != j && is_known_before(path, &path->hops[i], &path->hops[j]);
		}
	group->flows++;
	for (uint32_t i = 0; i < NB_PERIODS; i++)
		group->recent[i] += age < periods[i];
	if (age > 0)
		return;
	group->now++;
	group->packets += path->packets;
	group->bytes += path->bytes;
}

static struct path_entry *add_kept(
	const struct kept_paths *kept, uint32_t age, struct path_entry *place)
{
	const char *at = kept->rows;

	for (uint64_t i = 0; i < kept->nb; i++, place++) {
		const struct path_row *path = (const struct path_row *)(const void *)at;

		*place = (struct path_entry){.path = path, .age = age};
		at += path_row_bytes(path->nb_hops);
	}
	return place;
}

static uint64_t hash_of_flow(const struct key *key, uint64_t seed)
{
	size_t size = key->family == KEY_IPV4 ? sizeof(key->v4) : sizeof(key->v6);
	uint64_t hash = seed + key->family;

	for (size_t at = 0; at < size; at += sizeof(hash)) {
		uint64_t word;

		memcpy(&word, (const char *)&key->v6 + at, sizeof(word));
		hash = random_mix(hash ^ word);
	}
	return hash;
}

/* Keeps the last path of each flow: it has the exporters that report late. */
static uint64_t keep_last(struct path_entry *entries, uint64_t n, uint64_t seed)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < n; i++)
		entries[i].hash = hash_of_flow(&entries[i].path->key, seed);
	qsort(entries, n, sizeof(*entries), by_hash);
	for (uint64_t i = 0; i < n; i++)
		if (kept == 0 || entries[i].hash != entries[kept - 1].hash ||
			key_compare(&entries[i].path->key, &entries[kept - 1].path->key) != 0)
			entries[kept++] = entries[i];
	return kept;
}

/* Returns the flows of all intervals, sorted so that those of a group are adjacent. */
static struct path_entry *sort_paths(const struct neighbours *neighbours,
	const struct path_row *const *paths, uint64_t n, uint64_t *all)
{
	struct path_entry *entries, *place;

	*all = n;
	for (uint32_t i = 0; i < KEPT_INTERVALS; i++)
		*all += neighbours->kept[i].nb;
	entries = malloc((*all + 1) * sizeof(*entries));
	if (entries == NULL)
		return NULL;
	for (uint64_t i = 0; i < n; i++)
		entries[i] = (struct path_entry){.path = paths[i]};
	place = entries + n;
	for (uint32_t i = 0; i < KEPT_INTERVALS; i++)
		place = add_kept(&neighbours->kept[i], i + 1, place);
	/* The last path of a flow has the smallest number. */
	for (uint64_t i = 0; i < *all; i++)
		entries[i].number = i;
	*all = keep_last(entries, *all, neighbours->seed);
	for (uint64_t i = 0; i < *all; i++)
		entries[i].hash = hash_of(entries[i].path, neighbours->seed);
	qsort(entries, *all, sizeof(*entries), by_hash);
	return entries;
}

/* A group begins where the hash changes; two groups may have one hash. */
static bool begins_group(const struct path_entry *entries, uint64_t i)
{
	const struct path_row *before;
	struct route_group group;

	if (i == 0 || entries[i].hash != entries[i - 1].hash)
		return true;
	before = entries[i - 1].path;
	group = (struct route_group){.hops = before->hops, .nb_hops = before->nb_hops};
	return !is_of_group(&group, entries[i].path);
}

static bool make_groups(struct neighbourhood *map, const struct path_entry *entries, uint64_t n)
{
	uint64_t cells = 0;
	uint32_t *matrix;

	for (uint64_t i = 0; i < n; i++)
		if (begins_group(entries, i)) {
			map->nb_groups++;
			cells += 2 * (uint64_t)entries[i].path->nb_hops * entries[i].path->nb_hops;
		}
	map->groups = calloc(map->nb_groups + 1, sizeof(map->groups[0]));
	map->matrices = calloc(cells + 1, sizeof(map->matrices[0]));
	if (map->groups == NULL || map->matrices == NULL)
		return false;
	matrix = map->matrices;
	map->nb_groups = 0;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t hops = entries[i].path->nb_hops;
		struct route_group *group;

		if (begins_group(entries, i)) {
			map->groups[map->nb_groups++] = (struct route_group){
				.hops = entries[i].path->hops,
				.number = i,
				.nb_hops = hops,
				.reported = matrix,
				.known = matrix + hops * hops,
			};
			matrix += 2 * (uint64_t)hops * hops;
		}
		group = &map->groups[map->nb_groups - 1];
		add_flow(group, entries[i].path, entries[i].age);
	}
	return true;
}

static int by_flows(const void *a, const void *b)
{
	const struct route_group *x = a, *y = b;

	if (x->flows != y->flows)
		return x->flows > y->flows ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static uint64_t pairs_of(const struct route_group *group)
{
	return (uint64_t)group->nb_hops * group->nb_hops - group->nb_hops;
}

/* Keeps the groups with the most flows. */
static void limit_groups(struct neighbourhood *map)
{
	uint64_t n = 0, pairs = 0;

	qsort(map->groups, map->nb_groups, sizeof(map->groups[0]), by_flows);
	while (n < map->nb_groups && pairs + pairs_of(&map->groups[n]) <= PAIRS_MAX)
		pairs += pairs_of(&map->groups[n++]);
	map->nb_groups = n;
}

/* --- ends and pairs --- */

static int compare_ends(const struct link_end *a, const struct link_end *b)
{
	if (a->exporter != b->exporter)
		return a->exporter < b->exporter ? -1 : 1;
	return (a->interface > b->interface) - (a->interface < b->interface);
}

static int by_end(const void *a, const void *b)
{
	const struct end_flows *x = a, *y = b;
	int order = compare_ends(&x->end, &y->end);

	return order != 0 ? order : x->input - y->input;
}

static int by_pair(const void *a, const void *b)
{
	const struct end_pair *x = a, *y = b;
	int order = compare_ends(&x->from, &y->from);

	return order != 0 ? order : compare_ends(&x->to, &y->to);
}

static struct link_end output_of(const struct path_hop *hop)
{
	return (struct link_end){hop->exporter, hop->output};
}

static struct link_end input_of(const struct path_hop *hop)
{
	return (struct link_end){hop->exporter, hop->input};
}

static struct end_flows *find_end(const struct neighbourhood *map, struct link_end end, bool input)
{
	const struct end_flows key = {.end = end, .input = input};

	return bsearch(&key, map->ends, map->nb_ends, sizeof(key), by_end);
}

/* Returns NULL if no flow passes both in this direction. */
static struct end_pair *find_pair(
	const struct neighbourhood *map, struct link_end from, struct link_end to)
{
	const struct end_pair key = {.from = from, .to = to};

	return bsearch(&key, map->pairs, map->nb_pairs, sizeof(key), by_pair);
}

/* Returns by how much the TTL of the second hop is smaller; 0: unknown, or not smaller. */
static uint32_t distance(const struct path_hop *from, const struct path_hop *to)
{
	return from->ttl > to->ttl && to->ttl > 0 ? (uint32_t)(from->ttl - to->ttl) : 0;
}

static void add_end(struct neighbourhood *map, const struct route_group *group,
	struct link_end place, bool input)
{
	struct end_flows *end = &map->ends[map->nb_ends++];

	*end = (struct end_flows){.end = place, .input = input, .flows = group->flows};
	add_recent(end->recent, group->recent);
}

static void add_ends(struct neighbourhood *map, const struct route_group *group)
{
	for (uint32_t i = 0; i < group->nb_hops; i++) {
		const struct path_hop *hop = &group->hops[i];

		add_end(map, group, output_of(hop), false);
		add_end(map, group, input_of(hop), true);
		for (uint32_t j = 0; j < group->nb_hops; j++) {
			struct end_pair *pair = &map->pairs[map->nb_pairs];

			if (i == j)
				continue;
			*pair = (struct end_pair){
				.from = output_of(hop),
				.to = input_of(&group->hops[j]),
				.common = group->flows,
				.reported = group->reported[i * group->nb_hops + j],
				.distance = distance(hop, &group->hops[j]),
			};
			add_recent(pair->recent, group->recent);
			map->nb_pairs++;
		}
	}
}

static void merge_ends(struct neighbourhood *map)
{
	uint64_t n = 0;

	qsort(map->ends, map->nb_ends, sizeof(map->ends[0]), by_end);
	for (uint64_t i = 0; i < map->nb_ends; i++)
		if (n > 0 && by_end(&map->ends[n - 1], &map->ends[i]) == 0) {
			map->ends[n - 1].flows += map->ends[i].flows;
			add_recent(map->ends[n - 1].recent, map->ends[i].recent);
		} else {
			map->ends[n++] = map->ends[i];
		}
	map->nb_ends = n;
}

static void add_pair(struct end_pair *pair, const struct end_pair *more)
{
	pair->common += more->common;
	pair->reported += more->reported;
	add_recent(pair->recent, more->recent);
	if (more->distance > 0 && (pair->distance == 0 || more->distance < pair->distance))
		pair->distance = more->distance;
}

static void merge_pairs(struct neighbourhood *map)
{
	uint64_t n = 0;

	qsort(map->pairs, map->nb_pairs, sizeof(map->pairs[0]), by_pair);
	for (uint64_t i = 0; i < map->nb_pairs; i++)
		if (n > 0 && by_pair(&map->pairs[n - 1], &map->pairs[i]) == 0)
			add_pair(&map->pairs[n - 1], &map->pairs[i]);
		else
			map->pairs[n++] = map->pairs[i];
	map->nb_pairs = n;
}

/* Sets the ends as well. */
static void set_match(const struct neighbourhood *map, struct end_pair *pair)
{
	pair->output = find_end(map, pair->from, false);
	pair->input = find_end(map, pair->to, true);
	pair->match = (double)pair->common /
		      (double)(pair->output->flows + pair->input->flows - pair->common);
}

/* Returns the lower bound of a share, for 95 % confidence (Wilson 1927). */
static double lower_bound(double share, double n)
{
	double z = QUANTILE * QUANTILE / n;
	double spread = QUANTILE * sqrt(share * (1 - share) / n + z / (4 * n));

	return fmax(0, (share + z / 2 - spread) / (1 + z));
}

/*
 * Raises the share of flows that an exporter reports, of those that pass it: the largest share of the
 * flows at an interface of another exporter.
 */
static void raise_complete(
	struct neighbourhood *map, uint32_t exporter, uint64_t common, uint64_t flows)
{
	double least = lower_bound((double)common / (double)flows, (double)flows);

	if (least > map->complete[exporter])
		map->complete[exporter] = least;
}

/*
 * Sets the match divided by that of two neighbours that report independently as many of their flows as
 * these two. Otherwise an exporter that reports late or samples seldom would be no neighbour.
 */
static void set_score(const struct neighbourhood *map, struct end_pair *pair)
{
	double x = map->complete[pair->from.exporter], y = map->complete[pair->to.exporter];
	double score = pair->match * (x + y - x * y) / (x * y);

	pair->score = score < 1 ? score : 1;
}

static bool set_scores(struct neighbourhood *map)
{
	uint32_t exporters = 0;

	for (uint64_t i = 0; i < map->nb_ends; i++)
		if (map->ends[i].end.exporter >= exporters)
			exporters = map->ends[i].end.exporter + 1;
	map->complete = calloc(exporters + 1UL, sizeof(map->complete[0]));
	if (map->complete == NULL)
		return false;
	for (uint64_t i = 0; i < map->nb_pairs; i++) {
		const struct end_pair *pair = &map->pairs[i];

		raise_complete(map, pair->to.exporter, pair->common, pair->output->flows);
		raise_complete(map, pair->from.exporter, pair->common, pair->input->flows);
	}
	for (uint64_t i = 0; i < map->nb_pairs; i++)
		set_score(map, &map->pairs[i]);
	return true;
}

static double share(const struct end_pair *pair)
{
	return (double)pair->reported / (double)pair->common;
}

/*
 * Returns the share of the flows that `from` reports before `to`, and that `to` reports before `from`
 * in the other direction. If one exporter is just slower, it is a half.
 */
static double reported_first(const struct neighbourhood *map, const struct end_pair *pair)
{
	const struct end_pair *back = find_pair(map, pair->to, pair->from);

	return back != NULL ? (share(pair) + share(back)) / 2 : share(pair);
}

static bool make_pairs(struct neighbourhood *map)
{
	uint64_t ends = 0, pairs = 0;

	for (uint64_t g = 0; g < map->nb_groups; g++) {
		ends += 2 * (uint64_t)map->groups[g].nb_hops;
		pairs += pairs_of(&map->groups[g]);
	}
	map->ends = malloc((ends + 1) * sizeof(map->ends[0]));
	map->pairs = malloc((pairs + 1) * sizeof(map->pairs[0]));
	if (map->ends == NULL || map->pairs == NULL)
		return false;
	for (uint64_t g = 0; g < map->nb_groups; g++)
		add_ends(map, &map->groups[g]);
	merge_ends(map);
	merge_pairs(map);
	for (uint64_t i = 0; i < map->nb_pairs; i++)
		set_match(map, &map->pairs[i]);
	for (uint64_t i = 0; i < map->nb_pairs; i++)
		map->pairs[i].first = reported_first(map, &map->pairs[i]);
	return set_scores(map);
}

/* --- order of the hops of a group --- */

/* Evidence about the hops of a group, and the best order that was found. */
struct order_search {
	uint32_t n;
	struct end_pair *pairs[SEARCHED_HOPS][SEARCHED_HOPS];
	double next[SEARCHED_HOPS][SEARCHED_HOPS];      /* weight of j directly after i */
	double before[SEARCHED_HOPS][SEARCHED_HOPS];    /* weight of j anywhere after i */
	double best[1 << SEARCHED_HOPS][SEARCHED_HOPS]; /* [set of hops][last hop]: weight */
	uint8_t previous[1 << SEARCHED_HOPS][SEARCHED_HOPS];
};

static double share_before(const uint32_t *matrix, uint32_t n, uint32_t i, uint32_t j)
{
	double before = matrix[i * n + j], after = matrix[j * n + i];

	return before + after > 0 ? before / (before + after) : 0.5;
}

static void weigh(struct order_search *search, const struct neighbourhood *map,
	const struct route_group *group)
{
	search->n = group->nb_hops;
	for (uint32_t i = 0; i < search->n; i++)
		for (uint32_t j = 0; j < search->n; j++) {
			double known;

			if (i == j)
				continue;
			known = share_before(group->known, search->n, i, j);
			search->pairs[i][j] = find_pair(
				map, output_of(&group->hops[i]), input_of(&group->hops[j]));
			search->next[i][j] = search->pairs[i][j]->score;
			search->before[i][j] =
				KNOWN_WEIGHT * known + REPORT_WEIGHT * search->pairs[i][j]->first;
		}
}

/*
 * Finds the order with the largest weight; from and to: hops that must not be adjacent, or n. All
 * orders of a set of hops with the same last hop continue alike (Held and Karp, A Dynamic
 * Programming Approach to Sequencing Problems, 1962). Returns the weight.
 */
static double find_order(struct order_search *search, uint32_t from, uint32_t to, uint32_t *order)
{
	uint32_t n = search->n, all = (UINT32_C(1) << n) - 1, last = 0;
	double best;

	for (uint32_t set = 1; set <= all; set++)
		for (uint32_t j = 0; j < n; j++) {
			uint32_t rest = set & ~(UINT32_C(1) << j);
			double before = 0;

			search->best[set][j] = -INFINITY;
			if (!(set >> j & 1))
				continue;
			for (uint32_t i = 0; i < n; i++)
				before += rest >> i & 1 ? search->before[i][j] : 0;
			if (rest == 0)
				search->best[set][j] = 0;
			for (uint32_t i = 0; i < n; i++) {
				double weight;

				if (!(rest >> i & 1) || (i == from && j == to))
					continue;
				weight = search->best[rest][i] + search->next[i][j] + before;
				if (weight > search->best[set][j]) {
					search->best[set][j] = weight;
					search->previous[set][j] = (uint8_t)i;
				}
			}
		}
	for (uint32_t j = 1; j < n; j++)
		if (search->best[all][j] > search->best[all][last])
			last = j;
	best = search->best[all][last];
	for (uint32_t set = all, at = n; order != NULL && at > 0; at--) {
		uint32_t previous = search->previous[set][last];

		order[at - 1] = last;
		set &= ~(UINT32_C(1) << last);
		last = previous;
	}
	return best;
}

/*
 * Returns the probability, by the order of reports, that hop k is not between hops i and j, of which i
 * is known to be first. 1 if hop k is known to be before i or after j.
 */
static double is_outside(const struct order_search *search, const struct route_group *group,
	uint32_t i, uint32_t j, uint32_t k)
{
	uint32_t n = search->n;
	double after_i, before_j, between;

	if (share_before(group->known, n, k, i) > 0.5 || share_before(group->known, n, j, k) > 0.5)
		return 1;
	after_i = search->pairs[i][k]->first;
	before_j = search->pairs[k][j]->first;
	between = after_i * before_j;
	between /= between + (1 - after_i) * before_j + after_i * (1 - before_j) + REPORT_WEIGHT;
	return 1 - between;
}

/* Returns the share of the group's flows that go from hop i directly to hop j. best: weight. */
static double certainty(struct order_search *search, const struct route_group *group, double best,
	uint32_t i, uint32_t j)
{
	const struct end_pair *pair = search->pairs[i][j];
	double spread = 1 / sqrt((double)pair->common), lost, certain;

	lost = best - find_order(search, i, j, NULL);
	if (lost > LOST_PART * pair->score && lost > LOST_SPREADS * spread &&
		lost < KNOWN_WEIGHT / 2)
		return 1;
	certain = share_before(group->known, search->n, i, j);
	if (certain <= 0.5)
		return pair->first;
	for (uint32_t k = 0; k < search->n; k++)
		certain *= k != i && k != j ? is_outside(search, group, i, j, k) : 1;
	return certain;
}

static void add_link(struct end_pair *pair, const struct route_group *group, double certain)
{
	pair->next += group->flows;
	pair->now += group->now;
	pair->packets += group->packets;
	pair->bytes += group->bytes;
	pair->ordered += certain * (double)group->flows;
}

static void follow_order(struct order_search *search, const struct route_group *group)
{
	uint32_t order[SEARCHED_HOPS];
	double best = find_order(search, search->n, search->n, order);

	for (uint32_t k = 0; k + 1 < search->n; k++)
		add_link(search->pairs[order[k]][order[k + 1]], group,
			certainty(search, group, best, order[k], order[k + 1]));
	for (uint32_t i = 0; i < search->n; i++)
		for (uint32_t k = i + 2; k < search->n; k++)
			search->pairs[order[i]][order[k]]->via += group->flows;
}

/* Takes the order of the first flow of a group with many hops. */
static void follow_first(const struct neighbourhood *map, const struct route_group *group)
{
	for (uint32_t k = 0; k + 1 < group->nb_hops; k++)
		add_link(find_pair(map, output_of(&group->hops[k]), input_of(&group->hops[k + 1])),
			group, share_before(group->known, group->nb_hops, k, k + 1));
}

/* Steps of one call of find_order(), for each pair of neighbours. */
static uint64_t steps_of(const struct route_group *group)
{
	uint64_t n = group->nb_hops;

	return n * n * n << n;
}

static void order_groups(struct neighbourhood *map, struct order_search *search)
{
	uint64_t steps = 0;

	for (uint64_t g = 0; g < map->nb_groups; g++) {
		const struct route_group *group = &map->groups[g];

		if (group->nb_hops < 2)
			continue;
		if (group->nb_hops <= SEARCHED_HOPS)
			steps += steps_of(group);
		if (group->nb_hops > SEARCHED_HOPS || steps > STEPS_MAX) {
			follow_first(map, group);
			continue;
		}
		weigh(search, map, group);
		follow_order(search, group);
	}
}

/* --- rows --- */

static void note_best(const struct end_pair *pair)
{
	pair->output->best = fmax(pair->output->best, pair->score);
	pair->input->best = fmax(pair->input->best, pair->score);
}

/* Returns true for two exporters with another one in between, which did not report some flows. */
static bool is_explained(const struct end_pair *pair)
{
	/* Without interfaces, a direct link and a detour have the same ends. */
	bool known = pair->from.interface > 0 && pair->to.interface > 0;

	if (pair->via >= VIA_LEAST && pair->via * (known ? VIA_ONE_IN : 1) >= pair->next)
		return true;
	return pair->score < MATCH_PART * pair->output->best &&
	       pair->score < MATCH_PART * pair->input->best;
}

/* Returns true if `to` was first in most of the flows, for 95 % confidence. */
static bool is_contradicted(const struct end_pair *pair)
{
	double next = (double)pair->next;

	return lower_bound(1 - pair->ordered / next, next) > 0.5;
}

static bool make_rows(
	const struct neighbourhood *map, struct neighbour_row **rows, uint64_t *nb_rows)
{
	struct neighbour_row *made = malloc((map->nb_pairs + 1) * sizeof(*made));

	if (made == NULL)
		return false;
	*rows = made;
	*nb_rows = 0;
	for (uint64_t i = 0; i < map->nb_pairs; i++)
		if (map->pairs[i].next > 0)
			note_best(&map->pairs[i]);
	for (uint64_t i = 0; i < map->nb_pairs; i++) {
		const struct end_pair *pair = &map->pairs[i];

		if (pair->now == 0 || is_explained(pair) || is_contradicted(pair))
			continue;
		made[(*nb_rows)++] = (struct neighbour_row){
			.from = pair->from.exporter,
			.from_interface = pair->from.interface,
			.to = pair->to.exporter,
			.to_interface = pair->to.interface,
			.flows = pair->now,
			.packets = pair->packets,
			.bytes = pair->bytes,
			.match = pair->match,
			.distance = pair->distance,
			.order = pair->ordered / (double)pair->next,
			.sure = lower_bound(
				pair->ordered / (double)pair->common, (double)pair->common),
		};
	}
	return true;
}

/* --- changes of cables --- */

static double log_factorial(uint64_t n)
{
	int sign;

	return lgamma_r((double)n + 1, &sign);
}

/* Returns the probability that `chosen` of `all` flows, at random, are all in a part of them. */
static double chance(uint64_t chosen, uint64_t part, uint64_t all)
{
	return exp(log_factorial(part) - log_factorial(part - chosen) - log_factorial(all) +
		   log_factorial(all - chosen));
}

/* Sets `since` if the flows of the pair began or ended, while others passed this end. */
static void note_change(struct end_flows *end, const struct end_pair *pair)
{
	for (uint32_t i = 0; i < NB_PERIODS; i++) {
		uint64_t part = 0;

		if (end->since > 0 && end->since <= periods[i])
			return;
		if (pair->recent[i] == 0)
			part = end->flows - end->recent[i];
		else if (pair->recent[i] == pair->common)
			part = end->recent[i];
		if (part >= pair->common &&
			chance(pair->common, part, end->flows) <= CHANGE_CHANCE) {
			end->since = periods[i];
			return;
		}
	}
}

static bool has_other_cable(const struct end_flows *end, uint32_t age)
{
	return end != NULL && end->since > 0 && age >= end->since;
}

static bool has_changed(const struct neighbourhood *map, const struct path_row *path, uint32_t age)
{
	for (uint32_t h = 0; h < path->nb_hops; h++)
		if (has_other_cable(find_end(map, output_of(&path->hops[h]), false), age) ||
			has_other_cable(find_end(map, input_of(&path->hops[h]), true), age))
			return true;
	return false;
}

static void forget_paths(const struct neighbourhood *map, struct kept_paths *kept, uint32_t age)
{
	char *from = kept->rows, *to = kept->rows;
	uint64_t n = kept->nb;

	kept->nb = 0;
	for (uint64_t i = 0; i < n; i++) {
		const struct path_row *path = (const struct path_row *)(const void *)from;
		uint64_t bytes = path_row_bytes(path->nb_hops);

		if (!has_changed(map, path, age)) {
			memmove(to, from, bytes);
			to += bytes;
			kept->nb++;
		}
		from += bytes;
	}
}

/* Forgets the paths of ends whose cable changed. Returns false if there are none. */
static bool forget_cables(struct neighbours *neighbours, const struct neighbourhood *map)
{
	bool changed = false;

	for (uint64_t i = 0; i < map->nb_pairs; i++) {
		const struct end_pair *pair = &map->pairs[i];

		note_change(pair->output, pair);
		note_change(pair->input, pair);
	}
	for (uint64_t i = 0; i < map->nb_ends; i++)
		changed |= map->ends[i].since > 0;
	for (uint32_t i = 0; changed && i < KEPT_INTERVALS; i++)
		forget_paths(map, &neighbours->kept[i], i + 1);
	return changed;
}

/* --- earlier intervals --- */

struct neighbours *neighbours_create(uint64_t seed)
{
	struct neighbours *neighbours = calloc(1, sizeof(*neighbours));

	if (neighbours != NULL)
		neighbours->seed = seed;
	return neighbours;
}

void neighbours_destroy(struct neighbours *neighbours)
{
	if (neighbours == NULL)
		return;
	for (uint32_t i = 0; i < KEPT_INTERVALS; i++)
		free(neighbours->kept[i].rows);
	free(neighbours);
}

/* Frees the oldest intervals beyond KEPT_ROWS. */
static void limit_kept(struct neighbours *neighbours)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < KEPT_INTERVALS; i++) {
		struct kept_paths *kept = &neighbours->kept[i];

		rows += kept->nb;
		if (rows <= KEPT_ROWS)
			continue;
		free(kept->rows);
		*kept = (struct kept_paths){0};
	}
}

/* Keeps a copy of the paths, the first ones if there are many. If out of memory, keeps none. */
static void keep_paths(
	struct neighbours *neighbours, const struct path_row *const *paths, uint64_t n)
{
	struct kept_paths *kept = neighbours->kept;
	size_t bytes = 0;
	char *at;

	n = n < KEPT_ROWS ? n : KEPT_ROWS;
	for (uint64_t i = 0; i < n; i++)
		bytes += path_row_bytes(paths[i]->nb_hops);
	free(kept[KEPT_INTERVALS - 1].rows);
	memmove(kept + 1, kept, (KEPT_INTERVALS - 1) * sizeof(kept[0]));
	at = malloc(bytes + 1);
	kept[0] = (struct kept_paths){at, at != NULL ? n : 0};
	for (uint64_t i = 0; i < kept[0].nb; i++) {
		memcpy(at, paths[i], path_row_bytes(paths[i]->nb_hops));
		at += path_row_bytes(paths[i]->nb_hops);
	}
	limit_kept(neighbours);
}

static void free_map(struct neighbourhood *map)
{
	free(map->groups);
	free(map->matrices);
	free(map->ends);
	free(map->pairs);
	free(map->complete);
	*map = (struct neighbourhood){0};
}

/* Sets *entries, to which the map points. Returns false if out of memory. */
static bool make_map(const struct neighbours *neighbours, const struct path_row *const *paths,
	uint64_t n, struct path_entry **entries, struct neighbourhood *map)
{
	uint64_t all;

	*entries = sort_paths(neighbours, paths, n, &all);
	if (*entries == NULL || !make_groups(map, *entries, all))
		return false;
	limit_groups(map);
	return make_pairs(map);
}

bool neighbours_find(struct neighbours *neighbours, const struct path_row *const *paths, uint64_t n,
	struct neighbour_row **rows, uint64_t *nb_rows)
{
	struct neighbourhood map = {0};
	struct path_entry *entries;
	struct order_search *search = malloc(sizeof(*search));
	bool done = make_map(neighbours, paths, n, &entries, &map);

	*rows = NULL;
	*nb_rows = 0;
	if (done && forget_cables(neighbours, &map)) {
		free(entries);
		free_map(&map);
		done = make_map(neighbours, paths, n, &entries, &map);
	}
	done = done && search != NULL;
	if (done) {
		order_groups(&map, search);
		done = make_rows(&map, rows, nb_rows);
	}
	free(entries);
	free(search);
	free_map(&map);
	keep_paths(neighbours, paths, n);
	return done;
}
