/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/choose.h"

#include <math.h>
#include <string.h>

#define EXACT_NS     1e-6 /* sums in another order differ by less */
#define SHARES       0x1p32
#define DIGIT_BITS   11 /* of a slope, 32 bits, in sorting */
#define DIGIT_VALUES (1 << DIGIT_BITS)

/* From one step of a measurement to one that takes less time. */
struct move {
	double ns;    /* that it saves */
	double slope; /* what it adds to the error, for each of them */
	uint32_t item;
	uint8_t to;
	bool pooled;
};

struct place {
	uint32_t slope; /* the bits of a float that is not negative: they order as it does */
	uint32_t move;
};

/* Moves of a key rule that are worth making together alone. */
struct pool {
	double ns, error;
	bool closed;
};

struct sum {
	const struct choose_problem *problem;
	struct choice *choice;
	double target_ns;
	uint32_t nb_running;
	uint32_t *running; /* of each group, measurements */
	struct pool *pools;
	struct move *moves;
	struct place *places, *others;
};

static size_t aligned(size_t bytes)
{
	return (bytes + 15) & ~(size_t)15;
}

size_t choose_work_size(uint32_t nb_items, uint32_t nb_groups)
{
	size_t nb_moves = (size_t)nb_items * CHOOSE_STEPS_MAX;

	return aligned(nb_groups * sizeof(uint32_t)) + aligned(nb_groups * sizeof(struct pool)) +
	       aligned(nb_moves * sizeof(struct move)) +
	       2 * aligned(nb_moves * sizeof(struct place));
}

static void *take(uint8_t **work, size_t bytes)
{
	void *taken = *work;

	*work += aligned(bytes);
	return taken;
}

static bool runs(const struct choose_item *item, uint32_t step)
{
	return !item->ends_off || step < item->nb_steps;
}

static double states_ns(const struct choose_states *states, const struct choose_flows *flows)
{
	double below = flows->share / SHARES, ns = 0;

	for (uint32_t s = 0; s < states->n; s++)
		ns += states->packets[s] * (states->ns[flows->to[0][s]] * (1 - below) +
						   states->ns[flows->to[1][s]] * below);
	return ns;
}

/* What only this measurement takes. */
static double own_ns(const struct sum *sum, uint32_t i, uint32_t step)
{
	const struct choose_item *item = &sum->problem->items[i];

	if (item->states == NULL)
		return item->ns[step];
	return item->ns[step] +
	       item->states->looked_at[step] * states_ns(item->states, &sum->choice->flows[i]);
}

static void start(struct sum *sum, const struct choose_item *item)
{
	if (sum->nb_running++ == 0)
		sum->choice->ns += sum->problem->parse_ns;
	if (sum->running[item->group]++ == 0)
		sum->choice->ns += sum->problem->group_ns[item->group];
}

static void stop(struct sum *sum, const struct choose_item *item)
{
	if (--sum->nb_running == 0)
		sum->choice->ns -= sum->problem->parse_ns;
	if (--sum->running[item->group] == 0)
		sum->choice->ns -= sum->problem->group_ns[item->group];
}

static void set_step(struct sum *sum, uint32_t i, uint32_t step)
{
	const struct choose_item *item = &sum->problem->items[i];
	uint8_t *now = &sum->choice->step[i];

	sum->choice->ns += own_ns(sum, i, step) - own_ns(sum, i, *now);
	if (runs(item, *now) && !runs(item, step))
		stop(sum, item);
	else if (!runs(item, *now) && runs(item, step))
		start(sum, item);
	*now = (uint8_t)step;
}

static bool fits(const struct sum *sum)
{
	return sum->choice->ns <= sum->target_ns + EXACT_NS;
}

/* One that takes more time. */
static bool try_step(struct sum *sum, uint32_t i, uint32_t step)
{
	uint8_t before = sum->choice->step[i];
	double more = own_ns(sum, i, step) - own_ns(sum, i, before);

	if (sum->choice->ns + more > sum->target_ns + EXACT_NS)
		return false;
	set_step(sum, i, step);
	if (fits(sum))
		return true;
	set_step(sum, i, before);
	return false;
}

/* All flows so many states lower. */
static void set_flows(struct sum *sum, uint32_t i, uint32_t lower)
{
	struct choose_flows *flows = &sum->choice->flows[i];
	double before = own_ns(sum, i, sum->choice->step[i]);

	for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
		flows->to[0][s] = flows->to[1][s] = (uint8_t)(s > lower ? s - lower : 0);
	flows->share = 0;
	sum->choice->ns += own_ns(sum, i, sum->choice->step[i]) - before;
}

/* What *choice says. */
static struct sum sum_of(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice)
{
	size_t nb_moves = (size_t)problem->nb_items * CHOOSE_STEPS_MAX;
	struct sum sum = {.problem = problem, .choice = choice, .target_ns = target_ns};
	uint8_t *at = work;

	sum.running = take(&at, problem->nb_groups * sizeof(*sum.running));
	sum.pools = take(&at, problem->nb_groups * sizeof(*sum.pools));
	sum.moves = take(&at, nb_moves * sizeof(*sum.moves));
	sum.places = take(&at, nb_moves * sizeof(*sum.places));
	sum.others = take(&at, nb_moves * sizeof(*sum.others));
	memset(sum.running, 0, problem->nb_groups * sizeof(*sum.running));
	choice->ns = problem->fixed_ns;
	for (uint32_t i = 0; i < problem->nb_items; i++) {
		choice->ns += own_ns(&sum, i, choice->step[i]);
		if (runs(&problem->items[i], choice->step[i]))
			start(&sum, &problem->items[i]);
	}
	choice->fits = fits(&sum);
	return sum;
}

static struct sum full(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice)
{
	for (uint32_t i = 0; i < problem->nb_items; i++) {
		choice->step[i] = 0;
		if (problem->items[i].states == NULL)
			continue;
		choice->flows[i].share = 0;
		for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
			choice->flows[i].to[0][s] = choice->flows[i].to[1][s] = (uint8_t)s;
	}
	return sum_of(problem, target_ns, work, choice);
}

/*
 * Flows of those whose hash is below the least share of the hashes that fits. `ns` is of none of
 * them, choice->ns of all of them. Returns that share, or 0 where it is all.
 */
static uint32_t split(struct sum *sum, double ns)
{
	double share = ceil(SHARES * (ns - sum->target_ns) / (ns - sum->choice->ns));

	if (!(share < SHARES))
		return 0;
	share = share < 1 ? 1 : share;
	sum->choice->ns = ns - (ns - sum->choice->ns) * share / SHARES;
	return (uint32_t)share;
}

static void share_flows(struct sum *sum, uint32_t lower, uint32_t share)
{
	for (uint32_t i = 0; i < sum->problem->nb_items; i++) {
		struct choose_flows *flows = &sum->choice->flows[i];

		if (sum->problem->items[i].states == NULL)
			continue;
		flows->share = share;
		for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
			flows->to[0][s] = (uint8_t)(s >= lower ? s - lower + 1 : 0);
	}
}

/* All flows a state lower than they are; true where it fits. */
static bool greedy_flows(struct sum *sum, uint32_t lower)
{
	double before = sum->choice->ns;
	uint32_t share;

	for (uint32_t i = 0; i < sum->problem->nb_items; i++)
		if (sum->problem->items[i].states != NULL)
			set_flows(sum, i, lower);
	if (!fits(sum))
		return false;
	share = split(sum, before);
	if (share > 0)
		share_flows(sum, lower, share);
	return true;
}

static uint32_t greedy_levels(const struct choose_problem *problem)
{
	uint32_t levels = 0;

	for (uint32_t i = 0; i < problem->nb_items; i++) {
		const struct choose_item *item = &problem->items[i];

		if (item->nb_steps > levels)
			levels = item->nb_steps;
		if (item->states != NULL && item->states->n > levels + 1)
			levels = item->states->n - 1;
	}
	return levels;
}

static bool greedy(struct sum *sum)
{
	const struct choose_problem *problem = sum->problem;
	uint32_t levels = greedy_levels(problem);

	for (uint32_t level = 1; level <= levels; level++) {
		if (greedy_flows(sum, level))
			return true;
		for (uint32_t i = 0; i < problem->nb_items; i++)
			if (level <= problem->items[i].nb_steps)
				set_step(sum, i, level);
		if (fits(sum))
			return true;
	}
	return false;
}

/* Each state of a measurement's flows one lower, the lightest first. */
static bool lower_states(struct sum *sum, uint32_t i, bool *moved)
{
	const struct choose_states *states = sum->problem->items[i].states;
	struct choose_flows *flows = &sum->choice->flows[i];
	double looked_at;

	if (states == NULL)
		return false;
	looked_at = states->looked_at[sum->choice->step[i]];
	for (uint32_t s = 1; s < states->n; s++) {
		uint8_t to = flows->to[0][s];
		double before = sum->choice->ns;

		if (to == 0)
			continue;
		*moved = true;
		flows->to[0][s] = flows->to[1][s] = (uint8_t)(to - 1);
		sum->choice->ns -=
			states->packets[s] * looked_at * (states->ns[to] - states->ns[to - 1]);
		if (!fits(sum))
			continue;
		flows->share = split(sum, before);
		if (flows->share > 0)
			flows->to[0][s] = to;
		return true;
	}
	return false;
}

static bool low_states_first(struct sum *sum)
{
	bool moved;

	do {
		moved = false;
		for (uint32_t i = sum->problem->nb_items; i-- > 0;) {
			uint8_t step = sum->choice->step[i];

			if (lower_states(sum, i, &moved))
				return true;
			if (step == sum->problem->items[i].nb_steps)
				continue;
			moved = true;
			set_step(sum, i, step + 1U);
			if (fits(sum))
				return true;
		}
	} while (moved);
	return false;
}

static bool queries(struct sum *sum)
{
	for (uint32_t i = sum->problem->nb_items; i-- > 0;) {
		const struct choose_item *item = &sum->problem->items[i];

		if (!item->ends_off)
			continue;
		set_step(sum, i, item->nb_steps);
		if (fits(sum))
			return true;
	}
	return false;
}

/*
 * The moves along the lower convex hull of a measurement's steps: time saved against error added.
 * Their slopes rise. The last of them takes the least time.
 */
static uint32_t add_moves(const struct sum *sum, uint32_t i, struct move *moves)
{
	const struct choose_item *item = &sum->problem->items[i];
	double ns[CHOOSE_STEPS_MAX + 1];
	uint32_t n = 0;
	uint8_t at = 0;

	for (uint32_t s = 0; s <= item->nb_steps; s++)
		ns[s] = own_ns(sum, i, s);
	for (;;) {
		struct move next = {.slope = INFINITY, .item = i};

		for (uint8_t s = 0; s <= item->nb_steps; s++) {
			double saved = ns[at] - ns[s], slope;

			if (saved <= 0)
				continue;
			slope = (item->error[s] - item->error[at]) / saved;
			if (slope < next.slope || (slope <= next.slope && saved > next.ns))
				next = (struct move){saved, slope, i, s, false};
		}
		if (next.ns <= 0)
			return n;
		moves[n++] = next;
		at = next.to;
	}
}

/* By slope; those of the same slope keep their order. */
static void sort_moves(struct sum *sum, uint32_t n)
{
	uint32_t digits_at[DIGIT_VALUES];

	for (uint32_t m = 0; m < n; m++) {
		float slope = (float)(sum->moves[m].slope > 0 ? sum->moves[m].slope : 0);

		sum->places[m].move = m;
		memcpy(&sum->places[m].slope, &slope, sizeof(slope));
	}
	for (uint32_t shift = 0; shift < 32; shift += DIGIT_BITS) {
		struct place *sorted = sum->others;
		uint32_t at = 0;

		memset(digits_at, 0, sizeof(digits_at));
		for (uint32_t p = 0; p < n; p++)
			digits_at[sum->places[p].slope >> shift & (DIGIT_VALUES - 1)]++;
		for (uint32_t d = 0; d < DIGIT_VALUES; d++) {
			uint32_t count = digits_at[d];

			digits_at[d] = at;
			at += count;
		}
		for (uint32_t p = 0; p < n; p++) {
			struct place place = sum->places[p];

			sorted[digits_at[place.slope >> shift & (DIGIT_VALUES - 1)]++] = place;
		}
		sum->others = sum->places;
		sum->places = sorted;
	}
}

/*
 * What is saved only where the last measurement of a group is off makes the last moves of the group
 * worth more together: as many as rise above them. They get one slope, so that they stand side by
 * side. (Parsing is saved behind the last move of all, and changes the order of none.)
 */
static void pool_moves(struct sum *sum, uint32_t n)
{
	const struct choose_item *items = sum->problem->items;

	for (uint32_t p = n; p-- > 0;) {
		struct move *move = &sum->moves[sum->places[p].move];
		struct pool *pool = &sum->pools[items[move->item].group];

		pool->closed |= move->slope * pool->ns < pool->error;
		move->pooled = !pool->closed;
		if (pool->closed)
			continue;
		pool->error += move->slope * move->ns;
		pool->ns += move->ns;
	}
	for (uint32_t m = 0; m < n; m++) {
		const struct pool *pool = &sum->pools[items[sum->moves[m].item].group];

		if (sum->moves[m].pooled)
			sum->moves[m].slope = pool->error / pool->ns;
	}
	sort_moves(sum, n);
}

/* All that [begin, end) may give up: each measurement the step that takes the least time. */
static void give_up(struct sum *sum, uint32_t begin, uint32_t end)
{
	for (uint32_t i = begin; i < end; i++) {
		const struct choose_item *item = &sum->problem->items[i];
		double least = own_ns(sum, i, 0);
		uint32_t to = 0;

		for (uint32_t s = 1; s <= item->nb_steps; s++) {
			double ns = own_ns(sum, i, s);

			if (ns > least || (ns >= least && item->error[s] >= item->error[to]))
				continue;
			least = ns;
			to = s;
		}
		if (to > 0)
			set_step(sum, i, to);
	}
}

/* Where all that [begin, end) may give up is enough: only as much as it takes. */
static void take_moves(struct sum *sum, uint32_t begin, uint32_t end)
{
	const struct choose_problem *problem = sum->problem;
	bool any_saved = false;
	uint32_t n = 0;

	for (uint32_t g = 0; g < problem->nb_groups; g++) {
		double saved = sum->running[g] == 0 ? problem->group_ns[g] : 0;

		sum->pools[g] = (struct pool){.ns = saved};
		any_saved |= saved > 0;
	}
	for (uint32_t i = begin; i < end; i++) {
		set_step(sum, i, 0);
		n += add_moves(sum, i, sum->moves + n);
	}
	sort_moves(sum, n);
	if (any_saved)
		pool_moves(sum, n);
	for (uint32_t p = 0; p < n && !fits(sum); p++) {
		const struct move *move = &sum->moves[sum->places[p].move];

		set_step(sum, move->item, move->to);
	}
}

/* Steps are whole, so there may be time left: for the best ranked that can do with it. */
static void give_back(struct sum *sum)
{
	for (uint32_t i = 0; i < sum->problem->nb_items; i++) {
		bool moved = true;

		for (uint32_t step = 0; step < sum->choice->step[i]; step++)
			if (try_step(sum, i, step))
				break;
		if (sum->problem->items[i].states == NULL)
			continue;
		set_flows(sum, i, 0);
		while (!fits(sum) && moved) {
			moved = false;
			lower_states(sum, i, &moved);
		}
	}
}

/* Of measurements of one rank: first their flows' states, which no bound hangs on. */
static bool best_of_rank(struct sum *sum, uint32_t begin, uint32_t end)
{
	bool moved;

	do {
		moved = false;
		for (uint32_t i = end; i-- > begin;)
			if (lower_states(sum, i, &moved))
				return true;
	} while (moved);
	give_up(sum, begin, end);
	if (!fits(sum))
		return false;
	take_moves(sum, begin, end);
	give_back(sum);
	return true;
}

static bool best(struct sum *sum)
{
	const struct choose_item *items = sum->problem->items;
	uint32_t end = sum->problem->nb_items;

	while (end > 0) {
		uint32_t begin = end - 1;

		while (begin > 0 && items[begin - 1].rank == items[end - 1].rank)
			begin--;
		if (best_of_rank(sum, begin, end))
			return true;
		end = begin;
	}
	return false;
}

void choose(enum choose_how how, const struct choose_problem *problem, double target_ns, void *work,
	struct choice *choice)
{
	static bool (*const ways[])(struct sum *) = {
		[CHOOSE_GREEDY] = greedy,
		[CHOOSE_LSF] = low_states_first,
		[CHOOSE_QUERIES] = queries,
		[CHOOSE_BEST] = best,
	};
	struct sum sum = full(problem, target_ns, work, choice);

	choice->fits = fits(&sum) || ways[how](&sum);
}

void choose_full(const struct choose_problem *problem, void *work, struct choice *choice)
{
	full(problem, INFINITY, work, choice);
}

void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice)
{
	sum_of(problem, target_ns, work, choice);
}

/* All flows one state deeper; first those that are behind the others. */
static bool flows_back(struct sum *sum, uint32_t i)
{
	const struct choose_states *states = sum->problem->items[i].states;
	struct choose_flows *flows, before;
	double ns = sum->choice->ns;
	bool moved = false;

	if (states == NULL)
		return false;
	flows = &sum->choice->flows[i];
	before = *flows;
	sum->choice->ns -= own_ns(sum, i, sum->choice->step[i]);
	for (uint32_t s = 0; s < states->n; s++) {
		if (before.share == 0 && flows->to[0][s] < s)
			flows->to[0][s]++;
		moved |= flows->to[1][s] != flows->to[0][s];
		flows->to[1][s] = flows->to[0][s];
	}
	flows->share = 0;
	sum->choice->ns += own_ns(sum, i, sum->choice->step[i]);
	if (moved && fits(sum))
		return true;
	*flows = before;
	sum->choice->ns = ns;
	return false;
}

bool choose_back(enum choose_how how, const struct choose_problem *problem, double target_ns,
	void *work, struct choice *choice)
{
	struct sum sum = sum_of(problem, target_ns, work, choice);

	for (uint32_t i = 0; i < problem->nb_items; i++) {
		for (uint32_t step = choice->step[i]; step > 0;) {
			step = how == CHOOSE_QUERIES ? 0 : step - 1;
			if (try_step(&sum, i, step))
				return true;
		}
		if (flows_back(&sum, i))
			return true;
	}
	return false;
}
