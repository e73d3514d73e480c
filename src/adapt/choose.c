/* SPDX-License-Identifier: BSD-3-Clause */
#include "adapt/choose.h"

#include <math.h>
#include <string.h>

#include "base/assertion.h"

#define EXACT_NS     1e-6 /* ns; tolerance for rounding */
#define SHARES       0x1p32
#define DIGIT_BITS   11
#define DIGIT_VALUES (1 << DIGIT_BITS)

struct choice_move {
	double ns;      /* saved per packet */
	uint32_t slope; /* added error per ns saved; see bits_of() */
	uint32_t item;
	uint8_t to;
};

struct choose_sum {
	const struct choose_problem *problem;
	struct choice *choice;
	double target_ns;
	bool any_states;
	struct choice_move *moves;
};

size_t choose_work_size(uint32_t nb_items)
{
	return nb_items * CHOOSE_STEPS_MAX * sizeof(struct choice_move);
}

static double cost_of_states(const struct choose_states *states, const struct choose_flows *flows)
{
	double below = flows->share / SHARES, ns = 0;

	if (states->ranks != NULL)
		return states->ranks[CHOOSE_RANKS_MAX - flows->ranks_off];
	for (uint32_t s = 0; s < states->n; s++)
		ns += states->packets[s] * (states->ns[flows->to[0][s]] * (1 - below) +
						   states->ns[flows->to[1][s]] * below);
	return ns;
}

static void whole_flows(struct choose_flows *flows)
{
	flows->share = 0;
	flows->ranks_off = 0;
	for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
		flows->to[0][s] = flows->to[1][s] = (uint8_t)s;
}

/* The packets of a flow advance it from state to state. */
static bool has_own_states(const struct choose_item *item)
{
	return item->states != NULL && item->states->ranks == NULL;
}

static double own_ns(const struct choose_sum *sum, uint32_t i, uint32_t step)
{
	const struct choose_item *item = &sum->problem->items[i];

	if (item->states == NULL)
		return item->ns[step];
	return item->ns[step] +
	       item->states->looked_at[step] * cost_of_states(item->states, &sum->choice->flows[i]);
}

/* Returns the times of the item; if they must be computed first, returns room[]. */
static const double *step_ns(const struct choose_sum *sum, uint32_t i, double *room)
{
	const struct choose_item *item = &sum->problem->items[i];

	if (item->states == NULL)
		return item->ns;
	for (uint32_t s = 0; s <= item->nb_steps; s++)
		room[s] = own_ns(sum, i, s);
	return room;
}

static void set_step(struct choose_sum *sum, uint32_t i, uint32_t step)
{
	uint8_t *now = &sum->choice->step[i];

	sum->choice->ns += own_ns(sum, i, step) - own_ns(sum, i, *now);
	ASSERT(step, <=, sum->problem->items[i].nb_steps);
	*now = (uint8_t)step;
}

static bool fits(const struct choose_sum *sum)
{
	return sum->choice->ns <= sum->target_ns + EXACT_NS;
}

static bool try_step(struct choose_sum *sum, uint32_t i, uint32_t step)
{
	double more = own_ns(sum, i, step) - own_ns(sum, i, sum->choice->step[i]);

	if (sum->choice->ns + more > sum->target_ns + EXACT_NS)
		return false;
	sum->choice->ns += more;
	sum->choice->step[i] = (uint8_t)step;
	return true;
}

static void set_ranks_off(struct choose_sum *sum, uint32_t i, uint32_t ranks_off)
{
	double before = own_ns(sum, i, sum->choice->step[i]);

	sum->choice->flows[i].ranks_off = ranks_off;
	sum->choice->ns += own_ns(sum, i, sum->choice->step[i]) - before;
}

/* Turns off the fewest ranks that meet the target, or all. Skips ranks that save no time. */
static void lower_ranks(struct choose_sum *sum, uint32_t i)
{
	const struct choose_states *states = sum->problem->items[i].states;
	double looked_at, saved = 0, more = sum->choice->ns - sum->target_ns - EXACT_NS;
	uint32_t off = 0, last = 0;

	if (states == NULL || states->ranks == NULL)
		return;
	looked_at = states->looked_at[sum->choice->step[i]];
	for (; off <= CHOOSE_RANKS_MAX && saved < more; off++) {
		double less = looked_at * (states->ranks[CHOOSE_RANKS_MAX] -
						  states->ranks[CHOOSE_RANKS_MAX - off]);

		if (less > saved)
			last = off;
		saved = less;
	}
	set_ranks_off(sum, i, last);
}

/* Returns true if this meets the target. */
static bool lower_all_ranks(struct choose_sum *sum)
{
	for (uint32_t i = sum->problem->nb_items; i-- > 0;) {
		lower_ranks(sum, i);
		if (fits(sum))
			return true;
	}
	return false;
}

static void set_flows(struct choose_sum *sum, uint32_t i, uint32_t lower)
{
	struct choose_flows *flows = &sum->choice->flows[i];
	double before = own_ns(sum, i, sum->choice->step[i]);

	for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
		flows->to[0][s] = flows->to[1][s] = (uint8_t)(s > lower ? s - lower : 0);
	flows->share = 0;
	sum->choice->ns += own_ns(sum, i, sum->choice->step[i]) - before;
}

static struct choose_sum sum_of(const struct choose_problem *problem, bool full, double target_ns,
	void *work, struct choice *choice)
{
	struct choose_sum sum = {
		.problem = problem, .choice = choice, .target_ns = target_ns, .moves = work};
	double ns = problem->fixed_ns;

	for (uint32_t i = 0; i < problem->nb_items; i++) {
		bool states = problem->items[i].states != NULL;

		sum.any_states |= states;
		if (full) {
			choice->step[i] = 0;
			if (states)
				whole_flows(&choice->flows[i]);
		}
		ns += own_ns(&sum, i, choice->step[i]);
	}
	choice->ns = ns;
	choice->fits = fits(&sum);
	return sum;
}

/*
 * Changes only the share of the flows that meets the target. ns: time per packet before the change.
 * choice->ns: time if the change applied to all flows. Returns the share times 2^32; 0: all flows.
 */
static uint32_t split(struct choose_sum *sum, double ns)
{
	double share = ceil(SHARES * (ns - sum->target_ns) / (ns - sum->choice->ns));

	if (!(share < SHARES))
		return 0;
	share = share < 1 ? 1 : share;
	sum->choice->ns = ns - (ns - sum->choice->ns) * share / SHARES;
	return (uint32_t)share;
}

static void share_flows(struct choose_sum *sum, uint32_t lower, uint32_t share)
{
	for (uint32_t i = 0; i < sum->problem->nb_items; i++) {
		struct choose_flows *flows = &sum->choice->flows[i];

		if (!has_own_states(&sum->problem->items[i]))
			continue;
		flows->share = share;
		for (uint32_t s = 0; s < CHOOSE_STATES_MAX; s++)
			flows->to[0][s] = (uint8_t)(s >= lower ? s - lower + 1 : 0);
	}
}

/* If this meets the target, changes only as many flows as necessary and returns true. */
static bool greedy_flows(struct choose_sum *sum, uint32_t lower)
{
	double before = sum->choice->ns;
	uint32_t share;

	for (uint32_t i = 0; i < sum->problem->nb_items; i++)
		if (has_own_states(&sum->problem->items[i]))
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
		if (has_own_states(item) && item->states->n > levels + 1)
			levels = item->states->n - 1;
	}
	return levels;
}

static bool greedy(struct choose_sum *sum)
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

/* Lowers flows in the lowest states first. Returns true as soon as the total meets the target. */
static bool lower_states(struct choose_sum *sum, uint32_t i, bool *moved)
{
	const struct choose_states *states = sum->problem->items[i].states;
	struct choose_flows *flows = &sum->choice->flows[i];
	double looked_at;

	if (!has_own_states(&sum->problem->items[i]))
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

static bool low_states_first(struct choose_sum *sum)
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

/* Moves each measurement to the step with the most detail that takes no more time than now. */
static void pass_over_useless(struct choose_sum *sum)
{
	for (uint32_t i = 0; i < sum->problem->nb_items; i++) {
		double ns = own_ns(sum, i, sum->choice->step[i]);
		uint32_t step = 0;

		while (own_ns(sum, i, step) > ns)
			step++;
		set_step(sum, i, step);
	}
}

static bool queries(struct choose_sum *sum)
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

/* The IEEE 754 bits of floats >= 0 have the same order as their values. */
static uint32_t bits_of(float slope)
{
	uint32_t bits;

	ASSERT(slope < 0, ==, false);
	memcpy(&bits, &slope, sizeof(bits));
	return bits;
}

/*
 * Finds the move from step `at` that adds the least error per ns saved. Successive moves follow the
 * lower convex hull of the points (time, error). Returns false if no step takes less time.
 */
static bool find_move(
	const struct choose_item *item, const double *ns, uint32_t at, struct choice_move *move)
{
	double least = INFINITY, most = 0;
	uint8_t to = 0;

	for (uint8_t s = 0; s <= item->nb_steps; s++) {
		double saved = ns[at] - ns[s], slope;

		if (saved <= 0)
			continue;
		slope = (item->error[s] - item->error[at]) / saved;
		if (slope < least || (slope <= least && saved > most)) {
			least = slope;
			most = saved;
			to = s;
		}
	}
	*move = (struct choice_move){
		.ns = most, .slope = bits_of(least > 0 ? (float)least : 0), .to = to};
	return most > 0;
}

static uint32_t digit_of(uint32_t slope, uint32_t shift)
{
	return slope >> shift & (DIGIT_VALUES - 1);
}

/* Appends the moves from step 0 to step `last` by ascending slope. Returns the new end. */
static struct choice_move *add_moves(
	const struct choose_sum *sum, uint32_t i, uint32_t last, struct choice_move *moves)
{
	const struct choose_item *item = &sum->problem->items[i];
	double room[CHOOSE_STEPS_MAX + 1];
	const double *ns = step_ns(sum, i, room);
	uint32_t slope = 0;

	for (uint32_t at = 0; at != last && find_move(item, ns, at, moves); at = moves++->to) {
		if (moves->slope < slope)
			moves->slope = slope;
		slope = moves->slope;
		moves->item = i;
	}
	return moves;
}

/*
 * Makes moves by ascending slope until the total meets the target. Finds the last move by radix
 * selection: for each digit, starting with the highest, it finds the value at which the target is
 * met, makes all moves with smaller digits, and drops those with larger digits. Moves with equal
 * slopes are made in list order.
 */
static void make_moves(struct choose_sum *sum, struct choice_move *end)
{
	const double target_ns = sum->target_ns + EXACT_NS;
	double ns = sum->choice->ns, saved[DIGIT_VALUES];
	uint8_t *step = sum->choice->step;

	for (uint32_t shift = 2 * DIGIT_BITS; shift < 32; shift -= DIGIT_BITS) {
		struct choice_move *kept = sum->moves;
		uint32_t last = 0;

		memset(saved, 0, sizeof(saved));
		for (struct choice_move *move = sum->moves; move < end; move++)
			saved[digit_of(move->slope, shift)] += move->ns;
		while (last < DIGIT_VALUES - 1 && ns - saved[last] > target_ns)
			ns -= saved[last++];
		for (struct choice_move *move = sum->moves; move < end; move++) {
			uint32_t digit = digit_of(move->slope, shift);

			if (digit < last)
				step[move->item] = move->to;
			else if (digit == last)
				*kept++ = *move;
		}
		end = kept;
	}
	for (struct choice_move *move = sum->moves; move < end && ns > target_ns; move++) {
		ns -= move->ns;
		step[move->item] = move->to;
	}
	sum->choice->ns = ns;
}

static void shed_range(struct choose_sum *sum, uint32_t begin, uint32_t end)
{
	double sum_ns = sum->choice->ns;

	for (uint32_t i = begin; i < end; i++) {
		const struct choose_item *item = &sum->problem->items[i];
		double room[CHOOSE_STEPS_MAX + 1];
		const double *ns = step_ns(sum, i, room);
		uint8_t to = 0;

		for (uint8_t s = 1; s <= item->nb_steps; s++)
			if (ns[s] < ns[to] || (ns[s] <= ns[to] && item->error[s] < item->error[to]))
				to = s;
		sum_ns += ns[to] - ns[0];
		sum->choice->step[i] = to;
	}
	sum->choice->ns = sum_ns;
}

static void take_moves(struct choose_sum *sum, uint32_t begin, uint32_t end, double ns)
{
	struct choice_move *moves_end = sum->moves;

	for (uint32_t i = begin; i < end; i++) {
		moves_end = add_moves(sum, i, sum->choice->step[i], moves_end);
		sum->choice->step[i] = 0;
	}
	sum->choice->ns = ns;
	make_moves(sum, moves_end);
}

/* A move can save more time than necessary. Uses the rest to restore detail, lowest rank first. */
static void restore_detail(struct choose_sum *sum)
{
	for (uint32_t i = 0; i < sum->problem->nb_items; i++) {
		bool moved = true;

		for (uint32_t step = 0; step < sum->choice->step[i]; step++)
			if (try_step(sum, i, step))
				break;
		if (!has_own_states(&sum->problem->items[i]))
			continue;
		set_flows(sum, i, 0);
		while (!fits(sum) && moved) {
			moved = false;
			lower_states(sum, i, &moved);
		}
	}
}

/* Lowers flow states first, because they do not widen error bounds. */
static bool best_of_rank(struct choose_sum *sum, uint32_t begin, uint32_t end)
{
	bool moved = sum->any_states;
	double ns;

	while (moved) {
		moved = false;
		for (uint32_t i = end; i-- > begin;)
			if (lower_states(sum, i, &moved))
				return true;
	}
	ns = sum->choice->ns;
	shed_range(sum, begin, end);
	if (!fits(sum))
		return false;
	take_moves(sum, begin, end, ns);
	restore_detail(sum);
	return true;
}

static bool best(struct choose_sum *sum)
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
	static bool (*const ways[])(struct choose_sum *) = {
		[CHOOSE_GREEDY] = greedy,
		[CHOOSE_LSF] = low_states_first,
		[CHOOSE_QUERIES] = queries,
		[CHOOSE_BEST] = best,
	};
	struct choose_sum sum = sum_of(problem, true, target_ns, work, choice);

	choice->fits = fits(&sum) || lower_all_ranks(&sum) || ways[how](&sum);
	if (how == CHOOSE_GREEDY || how == CHOOSE_LSF)
		pass_over_useless(&sum);
}

void choose_full(const struct choose_problem *problem, void *work, struct choice *choice)
{
	sum_of(problem, true, INFINITY, work, choice);
}

void choose_predict(
	const struct choose_problem *problem, double target_ns, void *work, struct choice *choice)
{
	sum_of(problem, false, target_ns, work, choice);
}

/* Turns on half of the ranks that are off, or as many as the target allows. */
static bool ranks_back(struct choose_sum *sum, uint32_t i)
{
	const uint32_t before = sum->choice->flows[i].ranks_off;

	for (uint32_t off = before / 2; off < before; off = (off + before + 1) / 2) {
		set_ranks_off(sum, i, off);
		if (fits(sum))
			return true;
	}
	set_ranks_off(sum, i, before);
	return false;
}

/* If only a share of the flows was lowered last, raises only this share. */
static bool flows_back(struct choose_sum *sum, uint32_t i)
{
	const struct choose_states *states = sum->problem->items[i].states;
	struct choose_flows *flows, before;
	double ns = sum->choice->ns;
	bool moved = false;

	if (states == NULL)
		return false;
	if (states->ranks != NULL)
		return ranks_back(sum, i);
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
	struct choose_sum sum = sum_of(problem, false, target_ns, work, choice);

	for (uint32_t i = 0; i < problem->nb_items; i++) {
		for (uint32_t step = choice->step[i]; step > 0;) {
			step = how == CHOOSE_QUERIES ? 0 : step - 1;
			if (try_step(&sum, i, step)) {
				pass_over_useless(&sum);
				return true;
			}
		}
		if (flows_back(&sum, i))
			return true;
	}
	return false;
}
