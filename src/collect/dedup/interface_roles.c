/* SPDX-License-Identifier: BSD-3-Clause */

#include "collect/dedup/interface_roles.h"

#include <math.h>
#include <string.h>

#include "base/power_of_two.h"
#include "base/random.h"
#include "base/units.h"
#include "collect/dedup/record_value.h"

#define INTERFACES_OF_EXPORTER 4
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define INTERFACES_LEAST 16 /* few, so that inputs can fill them */
#define EVIDENCE_ROOM    64
#else
#define INTERFACES_LEAST 1024
#define EVIDENCE_ROOM    32768
#endif
#define UNSAMPLED_SPARSE    63 /* initial value */
#define INTERFACES_QUOTA    4  /* an exporter has at most one in INTERFACES_QUOTA */
#define PAIRS_OF_INTERFACE  4
#define HITS                10.0f  /* fewest flows for a decision */
#define YOUNG               3.0f   /* common flows from which a new pair counts */
#define MEMORY              400.0f /* flows after which evidence is halved */
#define NEARLY_ALL          0.7f
#define NEARLY_NONE         0.1f
#define SURELY_MOST         0.5f  /* minimum of share minus two standard deviations */
#define SURELY_FEW          0.25f /* maximum of share plus two standard deviations */
#define COMMON_NONE         0.5f  /* evidence below which two exporters have no common flow */
#define SHARE_FEEDS         0.05f /* least share of flows of an exporter on some paths */
#define SHARE_BLIND         0.2f
#define WRONG_MOST          3  /* large flows of an interface that no exporter counts */
#define WRONG_ONE_IN        10 /* one in N: above both limits, the interface loses its role */
#define WINDOW_LEAST        (5 * TICKS_PER_SECOND) /* in addition to the longest record */
#define SILENCE             ((uint32_t)(EXPORTER_LIFE_NS >> TICK_SHIFT))
#define RECORD_DELAY        (2 * TICKS_PER_SECOND) /* until a record that ended is reported */
#define SILENCE_DOUBT       (TICKS_PER_SECOND / 2) /* in addition to the longest previous silence */
#define INTERFACE_FORGOTTEN (3600 * TICKS_PER_SECOND)
#define KEPT_MOST_NS        (3600 * SECOND_NS) /* age of saved roles */

enum interface_roles_mark {
	MARK_FED = 1 << 0,
	MARK_MIXED = 1 << 1,
	MARK_UNREADY = 1 << 2,
	MARK_DOUBT = 1 << 3, /* an exporter that feeds it is silent */
	MARK_FADE = 1 << 4,
	MARK_WRONG = 1 << 5,
	MARK_KEPT = 1 << 6, /* the role is of an earlier run */
	MARK_MAYBE_FED = 1 << 7,
	MARK_NOT_EDGE = 1 << 8,
};

static uint32_t room_for(uint32_t exporters)
{
	uint64_t room = (uint64_t)exporters * INTERFACES_OF_EXPORTER + INTERFACES_LEAST;

	return room < UINT16_MAX ? (uint32_t)room : UINT16_MAX;
}

static uint32_t index_size(uint32_t exporters)
{
	return (uint32_t)power_of_two_at_least((uint64_t)room_for(exporters) * 2);
}

static uint32_t pairs_size(uint32_t exporters)
{
	return (uint32_t)power_of_two_at_least((uint64_t)room_for(exporters) * PAIRS_OF_INTERFACE);
}

/* Computes the sizes of the arrays, in order. */
static void sizes_of(uint32_t exporters, size_t sizes[7])
{
	uint32_t room = room_for(exporters);

	sizes[0] = room * sizeof(struct role_interface);
	sizes[1] = index_size(exporters) * sizeof(uint32_t);
	sizes[2] = pairs_size(exporters) * sizeof(struct role_pair);
	sizes[3] = exporters * sizeof(struct role_exporter);
	sizes[4] = room * ROLE_DISTANCES * 3 * sizeof(float);
	sizes[5] = room * sizeof(uint32_t);
	sizes[6] = EVIDENCE_ROOM * sizeof(struct role_evidence_of);
}

size_t roles_memory(uint32_t exporters)
{
	size_t sizes[7], sum = 0;

	sizes_of(exporters, sizes);
	for (uint32_t i = 0; i < 7; i++)
		sum += sizes[i];
	return sum;
}

bool roles_init(struct roles *roles, uint32_t exporters, uint64_t seed,
	const struct sketch_allocator *allocator)
{
	size_t sizes[7];

	sizes_of(exporters, sizes);
	*roles = (struct roles){
		.interfaces = allocator->alloc(sizes[0], allocator->arg),
		.index = allocator->alloc(sizes[1], allocator->arg),
		.pairs = allocator->alloc(sizes[2], allocator->arg),
		.exporters = allocator->alloc(sizes[3], allocator->arg),
		.upstream = allocator->alloc(sizes[4], allocator->arg),
		.marks = allocator->alloc(sizes[5], allocator->arg),
		.evidence = allocator->alloc(sizes[6], allocator->arg),
		.seed = random_mix(seed + 2),
		.nb_exporters = exporters,
		.room = room_for(exporters),
		.mask = index_size(exporters) - 1,
		.pairs_mask = pairs_size(exporters) - 1,
		.evidence_mask = EVIDENCE_ROOM - 1,
		.sparse = {UNSAMPLED_SPARSE, 0},
		.generation = 1,
	};
	return roles->interfaces && roles->index && roles->pairs && roles->exporters &&
	       roles->upstream && roles->marks && roles->evidence;
}

static void release(const struct sketch_allocator *allocator, void *memory, size_t size)
{
	if (memory)
		allocator->free(memory, size, allocator->arg);
}

void roles_fini(struct roles *roles, const struct sketch_allocator *allocator)
{
	size_t sizes[7];

	sizes_of(roles->nb_exporters, sizes);
	release(allocator, roles->interfaces, sizes[0]);
	release(allocator, roles->index, sizes[1]);
	release(allocator, roles->pairs, sizes[2]);
	release(allocator, roles->exporters, sizes[3]);
	release(allocator, roles->upstream, sizes[4]);
	release(allocator, roles->marks, sizes[5]);
	release(allocator, roles->evidence, sizes[6]);
}

void roles_lose(struct roles *roles, uint32_t exporter, uint32_t now)
{
	roles->exporters[exporter].lost = now > 0 ? now : 1;
}

static uint32_t longest(const struct roles *roles)
{
	return roles->longest > roles->longest_last ? roles->longest : roles->longest_last;
}

uint32_t roles_record_most(const struct roles *roles, uint32_t exporter)
{
	const struct role_exporter *of = &roles->exporters[exporter];
	uint32_t most = of->longest > longest(roles) ? of->longest : longest(roles);

	return of->timeless ? INT32_MAX : most + RECORD_DELAY;
}

void roles_hear(struct roles *roles, uint32_t exporter, uint32_t now)
{
	struct role_exporter *of = &roles->exporters[exporter];

	uint32_t silent = now - of->heard;

	/* Records that waited for a template have an earlier time. */
	if (of->heard == 0) {
		of->heard = now > 0 ? now : 1;
	} else if ((int32_t)silent > 0) {
		of->heard = now > 0 ? now : 1;
		if (silent > of->gap && silent < SILENCE + longest(roles))
			of->gap = silent;
	}
	of->alive = true;
}

/* --- interfaces --- */

/* Returns the index position of the interface, or the free one for it. */
static uint32_t find_role(const struct roles *roles, uint32_t point, uint32_t input)
{
	uint64_t mixed = random_mix((uint64_t)point << 32 ^ input ^ roles->seed);
	uint32_t at = (uint32_t)mixed & roles->mask;

	for (; roles->index[at]; at = (at + 1) & roles->mask) {
		const struct role_interface *interface = &roles->interfaces[roles->index[at] - 1];

		if (interface->point == point && interface->input == input)
			break;
	}
	return at;
}

static uint32_t get(
	struct roles *roles, uint32_t exporter, uint32_t point, uint32_t input, uint32_t now)
{
	uint32_t at = find_role(roles, point, input);

	if (roles->index[at])
		return roles->index[at] - 1;
	if (roles->nb == roles->room)
		return INTERFACE_NONE;
	roles->index[at] = ++roles->nb;
	roles->interfaces[roles->nb - 1] = (struct role_interface){
		.point = point,
		.input = input,
		.exporter = (uint16_t)exporter,
		.heard = now,
		.role = ROLE_OPEN,
	};
	return roles->nb - 1;
}

static uint32_t whole_of(struct roles *roles, const struct observation_points *points,
	uint32_t exporter, uint32_t now)
{
	uint32_t point = observation_points_number(points, exporter, WHOLE_EXPORTER);
	struct role_exporter *of = &roles->exporters[exporter];

	if (of->whole > 0 && roles->interfaces[of->whole - 1].point == point)
		return of->whole - 1;
	of->whole = get(roles, exporter, point, 0, now) + 1;
	return of->whole - 1;
}

struct role_interface *roles_interface(
	struct roles *roles, struct observation_points *points, uint32_t number, uint32_t now)
{
	struct hop *hop = &points->hops[number];
	uint32_t whole, interface;

	/* A reassigned slot has no interface for the whole exporter yet. */
	if (hop->interface_generation == roles->generation &&
		roles->exporters[hop->exporter].whole > 0)
		return &roles->interfaces[hop->interface];
	whole = whole_of(roles, points, hop->exporter, now);
	if (whole == INTERFACE_NONE)
		return NULL;
	interface = whole;
	if (roles->exporters[hop->exporter].nb < roles->room / INTERFACES_QUOTA) {
		uint32_t nb = roles->nb;

		interface = get(roles, hop->exporter, hop->point, hop->input, now);
		roles->exporters[hop->exporter].nb += roles->nb - nb;
		if (interface == INTERFACE_NONE)
			interface = whole;
	}
	hop->interface = interface;
	hop->interface_generation = roles->generation;
	if (interface != whole && hop->flags & OBSERVATION_EDGES)
		roles->interfaces[interface].configured =
			hop->flags & OBSERVATION_ENTERS ? ROLE_EDGE : ROLE_FED;
	return &roles->interfaces[interface];
}

/* --- evidence --- */

/*
 * Returns true if the evidence table is full. Unsampled flows only detect dead exporters, which
 * needs few.
 */
static bool is_full(const struct roles *roles, bool sampled)
{
	return roles->nb_evidence[sampled] >= (sampled ? EVIDENCE_ROOM / 2 : EVIDENCE_ROOM / 16);
}

/* Returns the evidence of the share, or the free entry for it. */
static struct role_evidence_of *find_evidence(
	const struct roles *roles, uint32_t flow, uint32_t share)
{
	/* The shares of a flow are adjacent. */
	for (uint32_t at = roles_evidence_at(roles, flow);; at = (at + 1) & roles->evidence_mask) {
		struct role_evidence_of *of = &roles->evidence[at];

		if (of->flow == 0 || (of->flow == flow + 1 && of->share == share))
			return of;
	}
}

void roles_add(struct roles *roles, const struct flow *flow, const struct role_evidence *evidence)
{
	bool sampled = evidence->sampling > 1;
	struct role_evidence_of *of;
	uint64_t samples;

	roles_report(roles, evidence->exporter, evidence->sampling);
	if (evidence->duration > roles->longest)
		roles->longest = evidence->duration;
	/* An unsampled flow is known once its exporters are. */
	if (!sampled && is_full(roles, false))
		return;
	of = find_evidence(roles, evidence->flow, evidence->share);
	if (of->flow == 0 || of->hash != (uint32_t)flow->hash.lo) {
		if (of->flow == 0 && is_full(roles, sampled))
			return;
		roles->nb_evidence[sampled] += of->flow == 0;
		*of = (struct role_evidence_of){
			.flow = evidence->flow + 1,
			.hash = (uint32_t)flow->hash.lo,
			.share = (uint8_t)evidence->share,
		};
	}
	samples = of->samples + evidence->packets;
	of->samples = samples < UINT16_MAX ? (uint16_t)samples : UINT16_MAX;
	if (evidence->ttl > of->ttl) {
		of->ttl = evidence->ttl;
		of->segment = evidence->segment;
	} else if (evidence->ttl == of->ttl && evidence->segment != of->segment) {
		of->segment = 0;
	}
}

uint8_t roles_ttl(const struct roles *roles, uint32_t flow, uint32_t share)
{
	return find_evidence(roles, flow, share)->ttl;
}

/* Returns the entry of a pair, or the free one for it. */
static struct role_pair *find_pair(
	const struct roles *roles, uint32_t interface, uint32_t exporter, uint32_t distance)
{
	uint64_t key = (uint64_t)interface << 32 | exporter << 8 | distance;
	uint32_t at = (uint32_t)random_mix(key ^ roles->seed) & roles->pairs_mask;

	for (;; at = (at + 1) & roles->pairs_mask) {
		struct role_pair *pair = &roles->pairs[at];

		if (pair->interface == 0 ||
			(pair->interface == interface + 1 && pair->exporter == exporter &&
				pair->distance == distance))
			return pair;
	}
}

/* Returns true if the evidence belongs to the present exporter of the slot. */
static bool is_of_now(const struct roles *roles, const struct role_pair *pair)
{
	return pair->generation == roles->exporters[pair->exporter].generation;
}

static void add_common(struct roles *roles, uint32_t interface, uint32_t exporter,
	uint32_t distance, float hit, bool apart)
{
	struct role_pair *pair = find_pair(roles, interface, exporter, distance);

	if (pair->interface == 0) {
		if (roles->nb_pairs >= roles->pairs_mask / 4 * 3)
			return;
		roles->nb_pairs++;
	}
	if (pair->interface == 0 || !is_of_now(roles, pair)) {
		*pair = (struct role_pair){
			.interface = interface + 1,
			.exporter = (uint16_t)exporter,
			.distance = (uint8_t)distance,
			.generation = roles->exporters[exporter].generation,
			.before = roles->interfaces[interface].own[roles->exporters[exporter].rate],
		};
	}
	pair->common += hit;
	pair->apart += apart ? hit : 0;
}

/* Samples of a flow at one exporter in the window. */
struct seen {
	uint32_t exporter, interface;
	uint32_t samples;
	uint32_t next; /* slot of the exporter at its next hop; EXPORTER_NONE: unknown */
	uint8_t ttl;
	uint16_t segment;
};

/* Collects the evidence of a flow, one entry per exporter. Returns their number. */
static uint32_t collect_seen(struct roles *roles, struct observation_points *points,
	struct observed_flows *flows, struct flow *flow, uint32_t now, struct seen *seen)
{
	uint32_t n = 0, number = flow_number(flows, flow);

	for (uint32_t i = 0; i < flow->nb; i++) {
		const struct role_evidence_of *of = find_evidence(roles, number, i);
		const struct share *share = observed_flows_share(flows, flow, i);
		const struct hop *hop = &points->hops[share->hop];
		struct role_interface *interface;

		if (of->flow == 0 || of->samples == 0 || of->hash != (uint32_t)flow->hash.lo ||
			share->total || !observation_points_has(points, hop) ||
			roles->exporters[hop->exporter].rate >= ROLE_RATES ||
			roles->exporters[hop->exporter].sampling == 0)
			continue;
		interface = roles_interface(roles, points, share->hop, now);
		if (interface == NULL)
			continue;
		interface->heard = now;
		roles->interfaces[roles->exporters[hop->exporter].whole - 1].heard = now;
		seen[n++] = (struct seen){
			.exporter = hop->exporter,
			.interface = (uint32_t)(interface - roles->interfaces),
			.samples = of->samples,
			.next = hop->next != EXPORTER_NONE && hop->next_generation ==
								      points->generation[hop->next]
					? hop->next
					: EXPORTER_NONE,
			.ttl = of->ttl,
			.segment = of->segment,
		};
	}
	return n;
}

/* Returns the interval to which both exporters are thinned, so that they have equal sampling. */
static double target_of(double a, double b)
{
	if (a <= 1 && b <= 1)
		return 1;
	return 2 * (a > b ? a : b);
}

/*
 * Returns the probability that one of n samples at 1:sampling remains after thinning to 1:target.
 */
static double any(double n, double sampling, double target)
{
	return target <= 1 ? 1 : 1 - pow(1 - sampling / target, n);
}

/* Returns the probability that both halves of the samples keep at least one after thinning. */
static double both(double n, double sampling, double target)
{
	double rest = 1 - 2 * sampling / target;

	if (target <= 1)
		return 1;
	return 1 - 2 * pow(1 - sampling / target, n) + (rest > 0 ? pow(rest, n) : 0);
}

/* Returns the distance of exporter y upstream of x; 0: unknown; negative: downstream. */
static int upstream(const struct seen *y, const struct seen *x)
{
	if (y->next == x->exporter)
		return 1;
	if (x->next == y->exporter)
		return -1;
	if (y->ttl == 0 || x->ttl == 0)
		return 0;
	return (int)y->ttl - (int)x->ttl;
}

/*
 * Returns true if both saw the flow on different segments at equal TTL: probably not the same
 * packets.
 */
static bool are_apart(const struct seen *x, const struct seen *y)
{
	return x->ttl == y->ttl && x->segment != y->segment && x->segment > 0 && y->segment > 0;
}

static void add_own(struct roles *roles, uint32_t interface, double samples, double sampling)
{
	struct role_interface *of = &roles->interfaces[interface];

	for (uint32_t r = 0; r < ROLE_RATES; r++)
		if (roles->rates[r] > 0)
			of->own_now[r] += (float)both(
				samples, sampling, target_of(sampling, roles->rates[r]));
}

/* Returns the distance learned from other flows; 0: unknown. */
static int distance_of_others(const struct roles *roles, const struct seen *y, const struct seen *x)
{
	for (uint32_t d = 1; d < ROLE_DISTANCES; d++) {
		const struct role_pair *pair = find_pair(roles, x->interface, y->exporter, d);

		if (pair->interface > 0 && is_of_now(roles, pair) && pair->common >= YOUNG)
			return (int)d;
	}
	return 0;
}

/* distance: of y upstream of x, from this flow. */
static void learn_pair(
	struct roles *roles, const struct seen *x, const struct seen *y, int distance)
{
	double sampling_x = roles->exporters[x->exporter].sampling;
	double sampling_y = roles->exporters[y->exporter].sampling;
	double target = target_of(sampling_x, roles->rates[roles->exporters[y->exporter].rate]);
	double hit = any(x->samples, sampling_x, target) * any(y->samples, sampling_y, target);

	roles->interfaces[roles->exporters[x->exporter].whole - 1].common += (float)hit;
	if (distance == 0)
		distance = distance_of_others(roles, y, x);
	if (distance == 0 && distance_of_others(roles, x, y) > 0)
		return;
	if (distance < 0)
		return;
	if (distance >= ROLE_DISTANCES)
		distance = ROLE_DISTANCES - 1;
	add_common(
		roles, x->interface, y->exporter, (uint32_t)distance, (float)hit, are_apart(x, y));
	if (distance == 0)
		add_common(roles, roles->exporters[x->exporter].whole - 1, y->exporter, 0,
			(float)hit, are_apart(x, y));
}

/*
 * Checks roles by a flow. An exporter counts the flow unless its interface is ROLE_FED. If no
 * exporter counts a large flow, one of the roles is wrong.
 */
static void check_roles(
	struct roles *roles, const struct flow *flow, const struct seen *seen, uint32_t n)
{
	bool counted = false;

	for (uint32_t i = 0; i < n; i++)
		counted |= roles->interfaces[seen[i].interface].role != ROLE_FED;
	for (uint32_t i = 0; i < n; i++) {
		struct role_interface *interface = &roles->interfaces[seen[i].interface];

		if (interface->role != ROLE_FED || seen[i].samples < ROLE_SAMPLES_LARGE)
			continue;
		interface->right += counted;
		interface->wrong += !counted;
		/* Another exporter may report the flow in another window. */
		if (!counted && flow->nb == 1)
			interface->missed += (uint64_t)seen[i].samples *
					     roles->exporters[seen[i].exporter].sampling;
	}
}

static int8_t clamp(int distance)
{
	if (distance > ROLE_DISTANCES)
		return ROLE_DISTANCES;
	return distance < -ROLE_DISTANCES ? -ROLE_DISTANCES : (int8_t)distance;
}

/* order[k][i]: distance of k upstream of i, directly or through others. */
static void find_order(const struct seen *seen, uint32_t n, int8_t order[SHARES_MAX][SHARES_MAX])
{
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t i = 0; i < n; i++)
			order[k][i] = k == i ? 0 : clamp(upstream(&seen[k], &seen[i]));
	for (uint32_t via = 0; via < n; via++)
		for (uint32_t k = 0; k < n; k++)
			for (uint32_t i = 0; i < n; i++) {
				if (k == i || order[k][i] != 0 || order[k][via] <= 0 ||
					order[via][i] <= 0)
					continue;
				order[k][i] = clamp(order[k][via] + order[via][i]);
				order[i][k] = (int8_t)-order[k][i];
			}
}

static void learn_flow(struct roles *roles, struct observation_points *points,
	struct observed_flows *flows, struct flow *flow, uint32_t now)
{
	struct seen seen[SHARES_MAX];
	uint32_t n = collect_seen(roles, points, flows, flow, now, seen);
	int8_t order[SHARES_MAX][SHARES_MAX];

	check_roles(roles, flow, seen, n);
	find_order(seen, n, order);
	for (uint32_t i = 0; i < n; i++) {
		const struct seen *x = &seen[i];
		double sampling = roles->exporters[x->exporter].sampling;

		add_own(roles, x->interface, x->samples, sampling);
		if (roles->exporters[x->exporter].whole - 1 != x->interface)
			add_own(roles, roles->exporters[x->exporter].whole - 1, x->samples,
				sampling);
		for (uint32_t k = 0; k < n; k++)
			if (seen[k].exporter != x->exporter)
				learn_pair(roles, x, &seen[k], order[k][i]);
	}
}

/* --- a window ends --- */

/* Returns the sampling interval rounded up: evidence is stored per power of two. */
static uint32_t rounded(uint32_t sampling)
{
	return sampling > 1 ? (uint32_t)power_of_two_at_least(sampling) : 1;
}

static uint32_t rate_of(struct roles *roles, uint32_t interval, bool *cleared)
{
	uint32_t unused = ROLE_RATES, sampling = rounded(interval);

	for (uint32_t r = 0; r < ROLE_RATES; r++) {
		if (roles->rates[r] == sampling)
			return r;
		if (roles->rates[r] == 0 && unused == ROLE_RATES)
			unused = r;
	}
	if (unused < ROLE_RATES) {
		roles->rates[unused] = sampling;
		*cleared = true;
	}
	return unused;
}

/* Stores the pair at its hash position. */
static void put_pair(struct roles *roles, const struct role_pair *pair)
{
	*find_pair(roles, pair->interface - 1, pair->exporter, pair->distance) = *pair;
}

/* Rehashes all pairs after some were freed. */
static void put_pairs_again(struct roles *roles)
{
	/* Two passes, because pairs may wrap around the end of the table. */
	for (uint32_t at = 0; at <= 2 * roles->pairs_mask + 1; at++) {
		struct role_pair *pair = &roles->pairs[at & roles->pairs_mask], moved = *pair;

		if (moved.interface == 0)
			continue;
		pair->interface = 0;
		put_pair(roles, &moved);
	}
}

/* Removes pairs of interfaces with wrong roles, and of exporters whose slots were reassigned. */
static void remove_pairs(struct roles *roles)
{
	uint32_t before = roles->nb_pairs;

	for (uint32_t at = 0; roles->nb_pairs > 0 && at <= roles->pairs_mask; at++) {
		struct role_pair *pair = &roles->pairs[at];

		if (pair->interface == 0 ||
			(is_of_now(roles, pair) &&
				!(roles->marks[pair->interface - 1] & MARK_WRONG)))
			continue;
		pair->interface = 0;
		roles->nb_pairs--;
	}
	if (roles->nb_pairs < before)
		put_pairs_again(roles);
}

static void drop_rates(struct roles *roles)
{
	bool used[ROLE_RATES] = {false};

	for (uint32_t e = 0; e < roles->nb_exporters; e++)
		if (roles->exporters[e].sampling > 0 && roles->exporters[e].rate < ROLE_RATES)
			used[roles->exporters[e].rate] = true;
	for (uint32_t r = 0; r < ROLE_RATES; r++)
		if (!used[r])
			roles->rates[r] = 0;
}

/*
 * Restarts evidence of exporters whose sampling changed: common flows were counted at another rate.
 */
static void set_rates(struct roles *roles)
{
	bool cleared[ROLE_RATES] = {false};

	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		struct role_exporter *exporter = &roles->exporters[e];

		if (exporter->coarsest == 0)
			continue;
		if (exporter->coarsest != exporter->sampling) {
			bool fresh = false;

			exporter->generation++;
			exporter->sampling = exporter->coarsest;
			exporter->rate = ROLE_RATES;
			drop_rates(roles);
			exporter->rate = (uint8_t)rate_of(roles, exporter->sampling, &fresh);
			if (fresh)
				cleared[exporter->rate] = true;
		}
		exporter->coarsest = 0;
	}
	for (uint32_t r = 0; r < ROLE_RATES; r++)
		for (uint32_t i = 0; cleared[r] && i < roles->nb; i++)
			roles->interfaces[i].own[r] = 0;
}

/* Evidence about dead exporters is not updated. */
static void add_window(struct roles *roles)
{
	for (uint32_t at = 0; roles->nb_pairs > 0 && at <= roles->pairs_mask; at++) {
		struct role_pair *pair = &roles->pairs[at];
		const struct role_exporter *exporter = &roles->exporters[pair->exporter];

		if (pair->interface > 0 && is_of_now(roles, pair) && !exporter->alive &&
			exporter->rate < ROLE_RATES)
			pair->before +=
				roles->interfaces[pair->interface - 1].own_now[exporter->rate];
	}
	for (uint32_t i = 0; i < roles->nb; i++) {
		struct role_interface *interface = &roles->interfaces[i];

		roles->marks[i] = 0;
		for (uint32_t r = 0; r < ROLE_RATES; r++) {
			interface->own[r] += interface->own_now[r];
			interface->own_now[r] = 0;
			if (interface->own[r] > MEMORY)
				roles->marks[i] |= MARK_FADE;
		}
	}
}

static void fade_interface(struct role_interface *interface)
{
	interface->common /= 2;
	for (uint32_t r = 0; r < ROLE_RATES; r++)
		interface->own[r] /= 2;
}

static void fade(struct roles *roles)
{
	for (uint32_t at = 0; roles->nb_pairs > 0 && at <= roles->pairs_mask; at++) {
		struct role_pair *pair = &roles->pairs[at];

		if (pair->interface > 0 && roles->marks[pair->interface - 1] & MARK_FADE) {
			pair->common /= 2;
			pair->apart /= 2;
			pair->before /= 2;
		}
	}
	for (uint32_t i = 0; i < roles->nb; i++)
		if (roles->marks[i] & MARK_FADE)
			fade_interface(&roles->interfaces[i]);
}

/* Selects more flows if the table had free entries, fewer if it was full. */
static void set_sparse(struct roles *roles, bool sampled)
{
	uint32_t *sparse = &roles->sparse[sampled], nb = roles->nb_evidence[sampled];
	uint32_t room = sampled ? EVIDENCE_ROOM / 2 : EVIDENCE_ROOM / 16;

	if (is_full(roles, sampled))
		*sparse = *sparse << 1 | 1;
	else if (nb < room / 4)
		*sparse >>= 1;
}

/* Returns true for the first evidence of a flow; each flow is evaluated once. */
static bool is_first(const struct roles *roles, const struct role_evidence_of *of)
{
	for (uint32_t share = 0; share < of->share; share++)
		if (find_evidence(roles, of->flow - 1, share)->flow > 0)
			return false;
	return true;
}

static void learn_roles(struct roles *roles, struct observation_points *points,
	struct observed_flows *flows, uint32_t now)
{
	set_rates(roles);
	for (uint32_t i = 0; i < roles->nb; i++)
		roles->interfaces[i].missed = 0;
	for (uint32_t at = 0; at < EVIDENCE_ROOM; at++) {
		struct role_evidence_of *of = &roles->evidence[at];
		struct flow *flow = of->flow > 0 ? &flows->flows[of->flow - 1] : NULL;

		if (flow != NULL && is_first(roles, of))
			learn_flow(roles, points, flows, flow, now);
	}
	add_window(roles);
	fade(roles);
	for (uint32_t sampled = 0; sampled < 2; sampled++)
		set_sparse(roles, sampled);
	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		roles->exporters[e].gap_last = roles->exporters[e].gap;
		roles->exporters[e].gap = 0;
	}
	roles->longest_last = roles->longest;
	roles->longest = 0;
	roles->began = now;
	roles->learned = true;
}

/* --- roles --- */

static uint32_t longest_gap(const struct role_exporter *exporter)
{
	return exporter->gap > exporter->gap_last ? exporter->gap : exporter->gap_last;
}

/* Roles of an earlier run hold while exactly its exporters report flows. */
static void find_kept(struct roles *roles)
{
	bool any_kept = false;

	roles->kept = true;
	roles->kept_in_doubt = false;
	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		const struct role_exporter *exporter = &roles->exporters[e];
		bool reports = exporter->alive && exporter->sampling + exporter->coarsest > 0;

		any_kept |= exporter->kept_at != 0;
		roles->kept &= reports == (exporter->kept_at != 0);
		roles->kept_in_doubt |= exporter->kept_at != 0 && exporter->in_doubt;
	}
	roles->kept &= any_kept;
}

static void find_alive(struct roles *roles, uint32_t now)
{
	roles->reporting = 0;
	memset(roles->reporting_at, 0, sizeof(roles->reporting_at));
	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		struct role_exporter *exporter = &roles->exporters[e];
		uint32_t silent = now - exporter->heard;

		if (exporter->heard == 0)
			continue;
		exporter->alive = (int32_t)silent <= (int32_t)(SILENCE + longest(roles));
		exporter->in_doubt =
			(int32_t)silent > (int32_t)(SILENCE_DOUBT + longest_gap(exporter));
		/* Exporters new in this window report but have no sampling interval yet. */
		roles->reporting += exporter->alive && exporter->sampling + exporter->coarsest > 0;
		if (exporter->alive && exporter->sampling > 0)
			roles->reporting_at[exporter->rate]++;
	}
	find_kept(roles);
}

struct pair_share {
	float own, share;
	float low, high; /* share minus and plus two standard deviations */
	bool ready;
};

static struct pair_share share_of(const struct roles *roles, const struct role_pair *pair)
{
	const struct role_exporter *exporter = &roles->exporters[pair->exporter];
	struct pair_share share = {0, 0, 0, 0, false};
	float spread;

	if (exporter->rate >= ROLE_RATES || !is_of_now(roles, pair))
		return share;
	share.own = roles->interfaces[pair->interface - 1].own[exporter->rate] - pair->before;
	share.ready = share.own >= HITS;
	share.share = share.own > 0 ? pair->common / share.own : 1;
	if (share.share > 1)
		share.share = 1;
	spread = 2 * sqrtf(pair->common);
	share.low = share.own > 0 ? (pair->common - spread) / share.own : 0;
	share.high = share.own > 0 ? (pair->common + spread) / share.own : 1;
	return share;
}

/* Returns the share of flows of an exporter that another also reports, in unknown order. */
static float covered(const struct roles *roles, uint32_t exporter, uint32_t by)
{
	uint32_t whole = roles->exporters[exporter].whole;
	const struct role_pair *pair;

	if (whole == 0)
		return 0;
	pair = find_pair(roles, whole - 1, by, 0);
	return pair->interface > 0 ? share_of(roles, pair).share : 0;
}

/*
 * Returns true if x has priority over y, two exporters on common paths in unknown order: the one
 * that reports all flows of the other has it, else the lower slot. Applies to all their interfaces.
 */
static bool has_priority(const struct roles *roles, uint32_t x, uint32_t y)
{
	bool x_covered = covered(roles, x, y) >= NEARLY_ALL;
	bool y_covered = covered(roles, y, x) >= NEARLY_ALL;

	return x_covered != y_covered ? y_covered : x < y;
}

/* Evaluates the share of flows that another exporter reports. */
static uint32_t mark_of(const struct pair_share *share)
{
	uint32_t marks = 0;

	if (share->share >= NEARLY_ALL && share->low >= SURELY_MOST)
		return MARK_FED;
	if (share->share > NEARLY_NONE || share->high > SURELY_FEW)
		marks |= MARK_MIXED;
	if (share->high >= NEARLY_ALL)
		marks |= MARK_MAYBE_FED;
	if (share->low > NEARLY_NONE)
		marks |= MARK_NOT_EDGE;
	return marks;
}

/* The nearest exporter upstream feeds the interface; of several, the one with most of its flows. */
static void note_feeder(struct role_interface *interface, const struct role_pair *pair, float share)
{
	uint32_t distance = pair->distance > 0 ? pair->distance : ROLE_DISTANCES;
	uint32_t noted = interface->fed_distance;

	if (interface->fed_share > 0 &&
		(distance > noted || (distance == noted && share <= interface->fed_share)))
		return;
	interface->fed_by = pair->exporter;
	interface->fed_distance = (uint8_t)distance;
	interface->fed_share = share;
}

static void judge_pair(struct roles *roles, const struct role_pair *pair, bool *blind)
{
	uint32_t i = pair->interface - 1, x = roles->interfaces[i].exporter, y = pair->exporter;
	struct role_interface *interface = &roles->interfaces[i];
	struct pair_share share = share_of(roles, pair);
	bool behind = pair->distance > 0 || !has_priority(roles, x, y);

	if (!roles->exporters[y].alive) {
		*blind |= share.ready && share.share >= SHARE_BLIND && behind &&
			  pair->distance <= 1 &&
			  interface->counted_packets + interface->dropped_packets > 0;
		return;
	}
	if (!share.ready) {
		roles->marks[i] |= pair->common >= YOUNG ? MARK_UNREADY : 0;
		return;
	}
	if (pair->distance == 0 && pair->apart > pair->common / 2) {
		roles->marks[i] |= mark_of(&share) ? MARK_MIXED : 0;
		return;
	}
	if (behind && share.share > SHARE_FEEDS && roles->exporters[y].in_doubt)
		roles->marks[i] |= MARK_DOUBT;
	if (behind && share.share > SHARE_FEEDS)
		note_feeder(interface, pair, share.share);
	if (pair->distance > 0) {
		float *upstream = &roles->upstream[(i * ROLE_DISTANCES + pair->distance) * 3];

		upstream[0] += share.share;
		upstream[1] += pair->common;
		upstream[2] = share.own;
	} else if (behind) {
		roles->marks[i] |= mark_of(&share);
	}
}

/*
 * Returns true if the whole exporter has enough flows, and no other exporter reported any of them.
 */
static bool is_alone(
	const struct roles *roles, const struct role_interface *interface, uint32_t rate)
{
	uint32_t whole = roles->exporters[interface->exporter].whole;

	return whole > 0 && roles->interfaces[whole - 1].own[rate] >= HITS &&
	       roles->interfaces[whole - 1].common < COMMON_NONE;
}

/*
 * Returns true if there are enough flows to detect another exporter, at each sampling interval in
 * use.
 */
static bool is_ready(const struct roles *roles, const struct role_interface *interface)
{
	const struct role_exporter *own = &roles->exporters[interface->exporter];

	for (uint32_t r = 0; r <= ROLE_RATES; r++) {
		uint32_t others = roles->reporting_at[r];

		others -= own->alive && own->sampling > 0 && own->rate == r;
		if (others > 0 && (r == ROLE_RATES || (interface->own[r] < HITS &&
							      !is_alone(roles, interface, r))))
			return false;
	}
	return true;
}

/*
 * Returns the role of an earlier run for an interface without enough evidence, unless the evidence
 * contradicts it.
 */
static enum interface_role kept_role(struct roles *roles, uint32_t i, uint32_t marks)
{
	const struct role_interface *interface = &roles->interfaces[i];

	if (!roles->kept || (interface->kept == ROLE_EDGE && marks & MARK_NOT_EDGE) ||
		(interface->kept == ROLE_FED && marks & MARK_MIXED && !(marks & MARK_MAYBE_FED)))
		return ROLE_OPEN;
	if (interface->kept == ROLE_FED && roles->kept_in_doubt)
		roles->marks[i] |= MARK_DOUBT;
	roles->marks[i] |= MARK_KEPT;
	return (enum interface_role)interface->kept;
}

static enum interface_role role_of(struct roles *roles, uint32_t i)
{
	uint32_t marks = roles->marks[i];

	for (uint32_t d = 1; d < ROLE_DISTANCES; d++) {
		const float *upstream = &roles->upstream[(i * ROLE_DISTANCES + d) * 3];
		float spread = 2 * sqrtf(upstream[1]);
		struct pair_share share = {.share = upstream[0]};

		if (upstream[2] <= 0)
			continue;
		share.low = upstream[0] - spread / upstream[2];
		share.high = upstream[0] + spread / upstream[2];
		marks |= mark_of(&share);
	}
	/* Interface 0 is unknown: usually a mixture of interfaces. */
	if (roles->interfaces[i].input == 0 && marks)
		return ROLE_OPEN;
	if (marks & MARK_FED)
		return ROLE_FED;
	if (marks & (MARK_MIXED | MARK_UNREADY) || !is_ready(roles, &roles->interfaces[i]))
		return kept_role(roles, i, marks);
	return ROLE_EDGE;
}

/* Returns true if the exporter reports the packets of an egress record at ingress also. */
static bool is_second_side(const struct roles *roles, const struct role_interface *interface)
{
	uint32_t ingress, at;

	if (interface->point % OBSERVATION_POINT_SIDES != OBSERVED_EGRESS || interface->input == 0)
		return false;
	ingress = interface->point - OBSERVED_EGRESS + OBSERVED_INGRESS;
	at = find_role(roles, ingress, interface->input);
	return roles->index[at] > 0 &&
	       (int32_t)(interface->heard - roles->interfaces[roles->index[at] - 1].heard) <
		       (int32_t)(SILENCE + longest(roles));
}

/* Notes doubt for the packets of flows that were dropped although no other exporter reported them. */
static void doubt_missed(const struct role_interface *interface, struct role_doubt *doubt)
{
	uint64_t dropped = interface->dropped_packets;
	uint64_t missed = interface->missed < dropped ? interface->missed : dropped;
	uint64_t least = (dropped - missed) * PACKET_LEAST; /* bytes of the others */

	if (missed == 0)
		return;
	doubt->new_packets += missed;
	if (interface->dropped_bytes > least)
		doubt->new_bytes += interface->dropped_bytes - least;
}

static void set_role(struct roles *roles, uint32_t i, struct role_doubt *doubt)
{
	struct role_interface *interface = &roles->interfaces[i];
	enum interface_role role;

	role = is_second_side(roles, interface) ? ROLE_FED : role_of(roles, i);
	if (role != ROLE_EDGE) {
		doubt->duplicate_packets += interface->counted_packets;
		doubt->duplicate_bytes += interface->counted_bytes;
	}
	if (role != ROLE_FED || roles->marks[i] & MARK_DOUBT) {
		doubt->new_packets += interface->dropped_packets;
		doubt->new_bytes += interface->dropped_bytes;
	} else {
		doubt_missed(interface, doubt);
	}
	interface->role = (uint8_t)role;
	/* Evidence replaces the role of an earlier run. */
	if (role != ROLE_OPEN && !(roles->marks[i] & MARK_KEPT))
		interface->kept = ROLE_OPEN;
	interface->counted_packets = interface->counted_bytes = 0;
	interface->dropped_packets = interface->dropped_bytes = 0;
}

/* Restarts roles that large flows contradict. */
static void drop_wrong(struct roles *roles)
{
	bool any_wrong = false;

	for (uint32_t i = 0; i < roles->nb; i++) {
		struct role_interface *interface = &roles->interfaces[i];

		if (interface->wrong > WRONG_MOST &&
			interface->wrong > (interface->right + interface->wrong) / WRONG_ONE_IN) {
			memset(interface->own, 0, sizeof(interface->own));
			interface->kept = ROLE_OPEN;
			roles->marks[i] |= MARK_WRONG;
			any_wrong = true;
		}
		if ((float)(interface->right + interface->wrong) > MEMORY ||
			roles->marks[i] & MARK_WRONG)
			interface->right = interface->wrong = 0;
	}
	if (any_wrong || roles->nb_pairs > roles->pairs_mask / 2)
		remove_pairs(roles);
}

static void decide(struct roles *roles, struct role_doubt *doubt)
{
	memset(roles->upstream, 0, (size_t)roles->nb * ROLE_DISTANCES * 3 * sizeof(float));
	for (uint32_t i = 0; i < roles->nb; i++) {
		roles->marks[i] = 0;
		roles->interfaces[i].fed_share = 0;
	}
	drop_wrong(roles);
	for (uint32_t at = 0; roles->nb_pairs > 0 && at <= roles->pairs_mask; at++)
		if (roles->pairs[at].interface > 0)
			judge_pair(roles, &roles->pairs[at], &doubt->blind);
	for (uint32_t i = 0; i < roles->nb; i++)
		set_role(roles, i, doubt);
}

/* If an exporter became silent, the packets of flows that it reported unsampled may be missing. */
static void check_unsampled(struct roles *roles, struct role_doubt *doubt)
{
	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		struct role_exporter *exporter = &roles->exporters[e];

		if (exporter->in_doubt || !exporter->alive) {
			doubt->new_packets += exporter->covered_packets;
			doubt->new_bytes += exporter->covered_bytes;
		}
		exporter->covered_packets = exporter->covered_bytes = 0;
	}
}

/* --- room --- */

/* Removes interfaces of removed exporters, and interfaces that were silent for long. */
static void compact(struct roles *roles, const struct observation_points *points, uint32_t now)
{
	uint32_t *moved = roles->marks, nb = 0, pairs = 0;

	for (uint32_t e = 0; e < roles->nb_exporters; e++)
		roles->exporters[e].whole = roles->exporters[e].nb = 0;
	memset(roles->index, 0, (roles->mask + (size_t)1) * sizeof(roles->index[0]));
	for (uint32_t i = 0; i < roles->nb; i++) {
		const struct role_interface *interface = &roles->interfaces[i];
		uint32_t side = interface->point % OBSERVATION_POINT_SIDES;
		struct role_exporter *exporter = &roles->exporters[interface->exporter];

		moved[i] = INTERFACE_NONE;
		if (interface->point !=
				observation_points_number(points, interface->exporter, side) ||
			(int32_t)(now - interface->heard) > INTERFACE_FORGOTTEN)
			continue;
		moved[i] = nb;
		roles->interfaces[nb] = *interface;
		roles->index[find_role(roles, interface->point, interface->input)] = ++nb;
		if (side == WHOLE_EXPORTER)
			exporter->whole = nb;
		else
			exporter->nb++;
	}
	roles->nb = nb;
	for (uint32_t at = 0; roles->nb_pairs > 0 && at <= roles->pairs_mask; at++) {
		struct role_pair *pair = &roles->pairs[at];

		if (pair->interface == 0)
			continue;
		pair->interface = moved[pair->interface - 1] + 1;
		pairs += pair->interface > 0;
	}
	roles->nb_pairs = pairs;
	put_pairs_again(roles);
	roles->generation = roles->generation == UINT16_MAX ? 1 : roles->generation + 1;
}

void roles_end_epoch(struct roles *roles, struct observation_points *points,
	struct observed_flows *flows, uint32_t now, bool last, struct role_doubt *doubt)
{
	uint32_t window = WINDOW_LEAST + longest(roles);

	if (!roles->started) {
		roles->started = true;
		roles->began = now - window;
	}
	if (last || (int32_t)(now - roles->began) >= (int32_t)window)
		learn_roles(roles, points, flows, now);
	find_alive(roles, now);
	decide(roles, doubt);
	check_unsampled(roles, doubt);
	if (roles->nb > roles->room / 4 * 3)
		compact(roles, points, now);
}

/* --- restarts of the collector --- */

void roles_restore(struct roles *roles, const struct observation_points *points,
	const struct interface_role_row *row, int64_t saved_at, uint32_t now)
{
	uint32_t point = observation_points_number(points, row->exporter, row->side);
	struct role_exporter *exporter = &roles->exporters[row->exporter];
	uint32_t nb = roles->nb, interface;

	exporter->kept_at = saved_at;
	if (row->side == WHOLE_EXPORTER) {
		interface = whole_of(roles, points, row->exporter, now);
	} else if (exporter->nb < roles->room / INTERFACES_QUOTA) {
		interface = get(roles, row->exporter, point, row->interface, now);
		exporter->nb += roles->nb - nb;
	} else {
		interface = INTERFACE_NONE;
	}
	if (interface != INTERFACE_NONE)
		roles->interfaces[interface].kept = (uint8_t)row->saved;
}

void roles_expire_restored(struct roles *roles, int64_t now)
{
	for (uint32_t e = 0; e < roles->nb_exporters; e++) {
		int64_t kept_at = roles->exporters[e].kept_at;

		if (now - kept_at > KEPT_MOST_NS || kept_at - now > KEPT_MOST_NS)
			roles->exporters[e].kept_at = 0;
	}
	for (uint32_t i = 0; i < roles->nb; i++)
		if (roles->exporters[roles->interfaces[i].exporter].kept_at == 0)
			roles->interfaces[i].kept = ROLE_OPEN;
}

static uint32_t feeder_of(const struct role_interface *interface)
{
	return interface->fed_share > 0 && interface->role != ROLE_EDGE ? interface->fed_by
									: EXPORTER_NONE;
}

void roles_emit(const struct roles *roles, const struct observation_points *points,
	void (*emit)(void *arg, const struct interface_role_row *row), void *arg)
{
	for (uint32_t i = 0; i < roles->nb; i++) {
		const struct role_interface *interface = &roles->interfaces[i];
		uint32_t side = interface->point % OBSERVATION_POINT_SIDES;
		bool kept = interface->role == ROLE_OPEN && !roles->kept;
		struct interface_role_row row = {
			.exporter = interface->exporter,
			.side = side,
			.interface = interface->input,
			.role = interface->configured != ROLE_OPEN ? interface->configured
								   : interface->role,
			.saved = kept ? interface->kept : interface->role,
			.fed_by = feeder_of(interface),
		};

		if (interface->point == observation_points_number(points, row.exporter, side))
			emit(arg, &row);
	}
}

void roles_begin_epoch(struct roles *roles)
{
	if (!roles->learned)
		return;
	memset(roles->evidence, 0, EVIDENCE_ROOM * sizeof(roles->evidence[0]));
	roles->nb_evidence[0] = roles->nb_evidence[1] = 0;
	roles->learned = false;
}

void roles_forget(struct roles *roles, uint32_t exporter)
{
	uint16_t generation = roles->exporters[exporter].generation;

	roles->exporters[exporter] =
		(struct role_exporter){.generation = (uint16_t)(generation + 1)};
}
