/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Choice of detail to reduce: compared with a search through all configurations that each algorithm
 * can reach, and through all possible ones.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adapt/choose.h"
#include "base/random.h"

#define ITEMS    5
#define STATES   5
#define STEPS    3
#define PROBLEMS 10000 /* ten times as many with SKETCHTAP_FULL */
#define NEAR     1e-5  /* ns */
#define POINTS   1024  /* STEPS + 1 to the power of ITEMS */

struct made {
	struct choose_problem problem;
	struct choose_item items[ITEMS];
	struct choose_states states[ITEMS];
	double target;
};

struct config {
	uint8_t step[ITEMS];
	uint8_t to[ITEMS][STATES];
};

static double uniform(struct random *random)
{
	return (double)(random_next(random) >> 11) * 0x1p-53;
}

static void make_states(
	struct random *random, struct choose_states *states, const struct choose_item *item)
{
	double sum = 0;

	states->n = 2 + (uint32_t)random_below(random, STATES - 1);
	for (uint32_t s = 0; s < states->n; s++) {
		states->packets[s] = uniform(random);
		states->ns[s] = s == 0 ? 0 : states->ns[s - 1] + 20 * uniform(random);
		sum += states->packets[s];
	}
	for (uint32_t s = 0; s < states->n; s++)
		states->packets[s] /= sum;
	for (uint32_t s = 0; s <= item->nb_steps; s++)
		states->looked_at[s] = s == 0 ? 1 : states->looked_at[s - 1] * uniform(random);
	if (item->ends_off)
		states->looked_at[item->nb_steps] = 0;
}

/* Time usually falls from step to step, and bounds widen. */
static void make_item(struct random *random, struct choose_item *item, uint32_t rank)
{
	*item = (struct choose_item){
		.rank = rank, .nb_steps = (uint32_t)random_below(random, STEPS + 1)};
	item->ends_off = item->nb_steps > 0 && random_below(random, 3) > 0;
	for (uint32_t s = 0; s <= item->nb_steps; s++) {
		item->ns[s] = s == 0 ? 5 + 40 * uniform(random)
				     : item->ns[s - 1] * (0.2 + 0.9 * uniform(random));
		item->error[s] = s == 0 ? 0.01 : item->error[s - 1] + uniform(random);
	}
	if (item->ends_off)
		item->ns[item->nb_steps] = 0;
}

static void make(struct random *random, struct made *made)
{
	uint32_t n = 1 + (uint32_t)random_below(random, ITEMS), rank = 0;

	memset(made, 0, sizeof(*made));
	made->problem = (struct choose_problem){
		.fixed_ns = 10 * uniform(random), .nb_items = n, .items = made->items};
	for (uint32_t i = 0; i < n; i++) {
		rank += random_below(random, 2) == 0;
		make_item(random, &made->items[i], rank);
		if (random_below(random, 3) > 0)
			continue;
		make_states(random, &made->states[i], &made->items[i]);
		made->items[i].states = &made->states[i];
	}
}

static double total(const struct made *made, const struct config *config)
{
	double ns = made->problem.fixed_ns;

	for (uint32_t i = 0; i < made->problem.nb_items; i++) {
		const struct choose_item *item = &made->items[i];
		uint8_t step = config->step[i];

		ns += item->ns[step];
		for (uint32_t s = 0; item->states != NULL && s < item->states->n; s++)
			ns += item->states->packets[s] * item->states->looked_at[step] *
			      item->states->ns[config->to[i][s]];
	}
	return ns;
}

static struct config full_detail(void)
{
	struct config config = {.step = {0}};

	for (uint32_t i = 0; i < ITEMS; i++)
		for (uint8_t s = 0; s < STATES; s++)
			config.to[i][s] = s;
	return config;
}

static bool fits(const struct made *made, const struct config *config)
{
	return total(made, config) <= made->target + NEAR / 10;
}

/*
 * The sequence of configurations that an algorithm tries, up to the first that fits; and the one
 * before it.
 */
struct path {
	const struct made *made;
	struct config before, now;
	bool found;
	bool divisible;   /* the last change can apply to a share of the flows */
	bool passed_over; /* steps that save nothing were skipped: some time may be left */
};

/* Returns true if the path ends here. */
static bool go(struct path *path, const struct config *next, bool divisible)
{
	path->before = path->now;
	path->now = *next;
	path->divisible = divisible;
	path->found = fits(path->made, next);
	return path->found;
}

static void greedy_path(struct path *path)
{
	const struct choose_problem *problem = &path->made->problem;
	struct config next = path->now;

	for (uint32_t level = 1; level <= STATES + STEPS; level++) {
		for (uint32_t i = 0; i < problem->nb_items; i++)
			for (uint32_t s = 0; s < STATES; s++)
				next.to[i][s] = (uint8_t)(s > level ? s - level : 0);
		if (go(path, &next, true))
			return;
		for (uint32_t i = 0; i < problem->nb_items; i++)
			if (next.step[i] < problem->items[i].nb_steps)
				next.step[i]++;
		if (go(path, &next, false))
			return;
	}
}

static void lsf_path(struct path *path)
{
	const struct choose_problem *problem = &path->made->problem;
	struct config next = path->now;

	for (uint32_t pass = 0; pass < STATES + STEPS; pass++)
		for (uint32_t i = problem->nb_items; i-- > 0;) {
			const struct choose_item *item = &problem->items[i];

			for (uint32_t s = 1; item->states != NULL && s < item->states->n; s++) {
				if (next.to[i][s] == 0)
					continue;
				next.to[i][s]--;
				if (go(path, &next, true))
					return;
			}
			if (next.step[i] == item->nb_steps)
				continue;
			next.step[i]++;
			if (go(path, &next, false))
				return;
		}
}

static void queries_path(struct path *path)
{
	const struct choose_problem *problem = &path->made->problem;
	struct config next = path->now;

	for (uint32_t i = problem->nb_items; i-- > 0;) {
		if (!problem->items[i].ends_off)
			continue;
		next.step[i] = (uint8_t)problem->items[i].nb_steps;
		if (go(path, &next, false))
			return;
	}
}

struct chosen {
	struct choice choice;
	uint8_t step[ITEMS];
	struct choose_flows flows[ITEMS];
	uint64_t work[8192];
};

static void init_chosen(struct chosen *chosen)
{
	assert_true(choose_work_size(ITEMS) <= sizeof(chosen->work));
	chosen->choice = (struct choice){.step = chosen->step, .flows = chosen->flows};
}

static void choose_made(enum choose_how how, const struct made *made, struct chosen *chosen)
{
	init_chosen(chosen);
	memset(chosen->work, 0x5a, sizeof(chosen->work));
	choose(how, &made->problem, made->target, chosen->work, &chosen->choice);
}

/* Returns the configuration of flows whose hash is below (side 1) or above (side 0) their share. */
static struct config config_of(const struct made *made, const struct chosen *chosen, uint32_t side)
{
	struct config config = full_detail();

	for (uint32_t i = 0; i < made->problem.nb_items; i++) {
		config.step[i] = chosen->step[i];
		for (uint32_t s = 0; s < STATES && made->items[i].states != NULL; s++)
			config.to[i][s] = chosen->flows[i].share == 0
						  ? chosen->flows[i].to[0][s]
						  : chosen->flows[i].to[side][s];
	}
	return config;
}

static uint32_t share_of(const struct made *made, const struct chosen *chosen)
{
	uint32_t share = 0;

	for (uint32_t i = 0; i < made->problem.nb_items; i++)
		if (made->items[i].states != NULL && chosen->flows[i].share > 0)
			share = chosen->flows[i].share;
	return share;
}

/* Compares the relevant parts of two configurations. */
static void assert_same(const struct made *made, const struct config *a, const struct config *b)
{
	for (uint32_t i = 0; i < made->problem.nb_items; i++) {
		assert_int_equal(a->step[i], b->step[i]);
		for (uint32_t s = 0; made->items[i].states != NULL && s < made->items[i].states->n;
			s++)
			assert_int_equal(a->to[i][s], b->to[i][s]);
	}
}

/* Returns the packet time with all flow shares reduced by `less` hash values. */
static double mixed(const struct made *made, const struct chosen *chosen, uint32_t less)
{
	struct config above = config_of(made, chosen, 0), below = config_of(made, chosen, 1);
	double ns = total(made, &above);

	for (uint32_t i = 0; i < made->problem.nb_items; i++) {
		struct config one = above;

		if (made->items[i].states == NULL || chosen->flows[i].share == 0)
			continue;
		memcpy(one.to[i], below.to[i], sizeof(one.to[i]));
		ns += (total(made, &one) - total(made, &above)) * (chosen->flows[i].share - less) *
		      0x1p-32;
	}
	return ns;
}

/* Returns the packet time if a share of the flows has the new configuration. */
static double total_of(const struct path *path, uint32_t i, uint8_t step, double share)
{
	struct config before = path->before, now = path->now;

	before.step[i] = now.step[i] = step;
	return (1 - share) * total(path->made, &before) + share * total(path->made, &now);
}

/* Skips the steps of each measurement that save nothing. */
static void pass_over(struct path *path, const struct chosen *chosen)
{
	double share =
		share_of(path->made, chosen) == 0 ? 1 : share_of(path->made, chosen) * 0x1p-32;

	for (uint32_t i = 0; i < path->made->problem.nb_items; i++) {
		uint8_t step = 0, last = path->now.step[i];

		while (step < last &&
			total_of(path, i, step, share) > total_of(path, i, last, share))
			step++;
		path->passed_over |= step < last;
		path->before.step[i] = path->now.step[i] = step;
	}
}

static void check_path(const struct path *path, const struct chosen *chosen)
{
	const struct made *made = path->made;
	struct config above = config_of(made, chosen, 0), below = config_of(made, chosen, 1);

	assert_int_equal(chosen->choice.fits, path->found);
	assert_same(made, &below, &path->now);
	assert_true(fabs(mixed(made, chosen, 0) - chosen->choice.ns) < NEAR);
	if (!path->found)
		return;
	assert_true(chosen->choice.ns <= made->target + NEAR);
	if (share_of(made, chosen) == 0)
		return;
	/* No smaller share would fit: the remaining time is less than one flow in 2^32. */
	assert_true(path->divisible);
	assert_same(made, &above, &path->before);
	assert_true(path->passed_over || mixed(made, chosen, 1) > made->target - 1e-10);
}

static double draw_target(struct random *random, const struct made *made)
{
	struct config config = full_detail();

	return total(made, &config) * (uniform(random) * 1.1);
}

static uint32_t nb_problems(void)
{
	return getenv("SKETCHTAP_FULL") != NULL ? 10 * PROBLEMS : PROBLEMS;
}

static void check_paths(enum choose_how how, void (*follow)(struct path *))
{
	struct random random;
	struct made made;
	struct chosen chosen;
	uint32_t divided = 0, whole = 0, never = 0, passed_over = 0;

	random_init(&random, 1 + how);
	for (uint32_t p = 0; p < nb_problems(); p++) {
		struct config start = full_detail();
		struct path path = {.made = &made};

		make(&random, &made);
		made.target = draw_target(&random, &made);
		if (!go(&path, &start, false))
			follow(&path);
		choose_made(how, &made, &chosen);
		if (how != CHOOSE_QUERIES)
			pass_over(&path, &chosen);
		passed_over += path.passed_over;
		check_path(&path, &chosen);
		divided += share_of(&made, &chosen) > 0;
		whole += chosen.choice.fits && share_of(&made, &chosen) == 0;
		never += !chosen.choice.fits;
	}
	assert_true(how == CHOOSE_QUERIES || divided > nb_problems() / 20);
	assert_true(whole > nb_problems() / 20);
	assert_true(never > nb_problems() / 20);
	assert_true(how == CHOOSE_QUERIES || passed_over > nb_problems() / 100);
}

static void test_greedy(void **state)
{
	(void)state;
	check_paths(CHOOSE_GREEDY, greedy_path);
}

static void test_low_states_first(void **state)
{
	(void)state;
	check_paths(CHOOSE_LSF, lsf_path);
}

static void test_queries(void **state)
{
	(void)state;
	check_paths(CHOOSE_QUERIES, queries_path);
}

/* All combinations of steps of measurements [begin, end), with fixed steps of the others. */
struct search {
	const struct made *made;
	uint32_t begin, end;
	struct config base;
	double ns[POINTS], error[POINTS];
	struct config least; /* configuration of least time */
	uint32_t n;
};

static double error_of(
	const struct made *made, const struct config *config, uint32_t begin, uint32_t end)
{
	double error = 0;

	for (uint32_t i = begin; i < end; i++)
		error += made->items[i].error[config->step[i]];
	return error;
}

static void search_all(struct search *search)
{
	struct config config = search->base;
	double least = INFINITY;
	uint32_t i;

	for (i = search->begin; i < search->end; i++) {
		config.step[i] = 0;
		memset(config.to[i], 0, sizeof(config.to[i]));
	}
	search->n = 0;
	do {
		double ns = total(search->made, &config);

		if (ns < least)
			search->least = config;
		least = fmin(least, ns);
		search->ns[search->n] = ns;
		search->error[search->n++] =
			error_of(search->made, &config, search->begin, search->end);
		for (i = search->begin; i < search->end; i++) {
			if (config.step[i]++ < search->made->items[i].nb_steps)
				break;
			config.step[i] = 0;
		}
	} while (i < search->end);
}

/* Returns the least error of all configurations that fit. */
static double least_error(const struct search *search)
{
	double least = INFINITY;

	for (uint32_t p = 0; p < search->n; p++)
		if (search->ns[p] <= search->made->target + NEAR / 10)
			least = fmin(least, search->error[p]);
	return least;
}

/*
 * Returns the error of the first fitting corner of the convex hull of all points: at most one step
 * more than necessary.
 */
static double hull_error(const struct search *search)
{
	uint32_t at = 0;

	while (search->ns[at] > search->made->target + NEAR / 10) {
		double slope = INFINITY;
		uint32_t next = at;

		for (uint32_t p = 0; p < search->n; p++) {
			double saved = search->ns[at] - search->ns[p];
			double slope_p = (search->error[p] - search->error[at]) / saved;

			if (saved > NEAR && slope_p < slope) {
				slope = slope_p;
				next = p;
			}
		}
		if (next == at)
			return INFINITY;
		at = next;
	}
	return search->error[at];
}

/* Finds the rank that must be reduced only partly. Returns false if there is none. */
static bool find_rank(struct search *search)
{
	const struct made *made = search->made;

	search->base = full_detail();
	for (search->end = made->problem.nb_items; search->end > 0; search->end = search->begin) {
		search->begin = search->end - 1;
		while (search->begin > 0 &&
			made->items[search->begin - 1].rank == made->items[search->end - 1].rank)
			search->begin--;
		search_all(search);
		if (fits(made, &search->least))
			return true;
		search->base = search->least;
	}
	return false;
}

/* No measurement can get back a milder step. */
static void check_left(const struct made *made, const struct chosen *chosen)
{
	for (uint32_t i = 0; i < made->problem.nb_items; i++) {
		const double *ns = made->items[i].ns;
		uint8_t step = chosen->step[i];

		for (uint32_t milder = 0; milder < step; milder++)
			assert_true(
				chosen->choice.ns + ns[milder] - ns[step] > made->target - NEAR);
	}
}

/* Returns 1 if the choice is the best one, and 2 if not. */
static uint32_t check_best(const struct made *made, const struct chosen *chosen)
{
	static struct search search;
	struct config config = config_of(made, chosen, 1);
	double error;

	search.made = made;
	assert_true(fabs(mixed(made, chosen, 0) - chosen->choice.ns) < NEAR);
	assert_int_equal(chosen->choice.fits, find_rank(&search));
	if (!chosen->choice.fits) {
		assert_true(total(made, &config) < total(made, &search.base) + NEAR);
		return 0;
	}
	assert_true(chosen->choice.ns <= made->target + NEAR);
	check_left(made, chosen);
	for (uint32_t i = 0; i < search.begin; i++)
		assert_int_equal(config.step[i], 0);
	error = error_of(made, &config, search.begin, search.end);
	assert_true(error <= hull_error(&search) + 1e-9);
	assert_true(error >= least_error(&search) - 1e-9);
	return error > least_error(&search) + 1e-9 ? 2 : 1;
}

static void test_best(void **state)
{
	struct random random;
	struct made made;
	struct chosen chosen;
	uint32_t nb[3] = {0};

	(void)state;
	random_init(&random, 9);
	for (uint32_t p = 0; p < nb_problems(); p++) {
		struct config start = full_detail();

		make(&random, &made);
		made.target = draw_target(&random, &made);
		choose_made(CHOOSE_BEST, &made, &chosen);
		if (fits(&made, &start)) {
			struct config config = config_of(&made, &chosen, 1);

			assert_same(&made, &config, &start);
			continue;
		}
		nb[check_best(&made, &chosen)]++;
	}
	print_message("no choice fits %u, the best choice %u, another %u\n", nb[0], nb[1], nb[2]);
	assert_true(nb[1] > 10 * nb[2] && nb[2] > 0 && nb[0] > nb_problems() / 20);
}

#define MANY 500

/* One of many measurements that can be switched off on its own. */
struct query {
	uint32_t item;
	float slope;
};

static int by_slope(const void *a, const void *b)
{
	const struct query *x = a, *y = b;

	if (x->slope < y->slope || x->slope > y->slope)
		return x->slope < y->slope ? -1 : 1;
	return x->item < y->item ? -1 : 1;
}

/*
 * Switches off the measurements with the least error per ns until the rest fits; then switches on
 * again the first ones that fit. Slopes are equal in all or some of their digits.
 */
static double sort_queries(const struct choose_item *items, double target_ns, uint8_t *step)
{
	struct query queries[MANY];
	double ns = 0;

	for (uint32_t i = 0; i < MANY; i++) {
		queries[i] = (struct query){i, (float)(items[i].error[1] / items[i].ns[0])};
		ns += items[i].ns[0];
		step[i] = 0;
	}
	qsort(queries, MANY, sizeof(queries[0]), by_slope);
	for (uint32_t q = 0; q < MANY && ns > target_ns + NEAR; q++) {
		ns -= items[queries[q].item].ns[0];
		step[queries[q].item] = 1;
	}
	for (uint32_t i = 0; i < MANY; i++) {
		if (step[i] == 0 || ns + items[i].ns[0] > target_ns + NEAR)
			continue;
		ns += items[i].ns[0];
		step[i] = 0;
	}
	return ns;
}

static void test_many(void **state)
{
	static struct choose_item items[MANY];
	static uint8_t step[MANY], wanted[MANY];
	const struct choose_problem problem = {.nb_items = MANY, .items = items};
	void *work = malloc(choose_work_size(MANY));
	struct choice choice = {.step = step};
	struct random random;

	(void)state;
	assert_non_null(work);
	random_init(&random, 11);
	for (uint32_t p = 0; p < 200; p++) {
		double whole = 0, target, ns;

		for (uint32_t i = 0; i < MANY; i++) {
			items[i] = (struct choose_item){.nb_steps = 1, .ends_off = true};
			items[i].ns[0] = (double)(1 + random_below(&random, 1000)) / 8;
			items[i].error[1] =
				items[i].ns[0] *
				(1 + ldexp((double)random_below(&random, 4), -(int)(p % 30)));
			whole += items[i].ns[0];
		}
		target = whole * uniform(&random);
		ns = sort_queries(items, target, wanted);
		choose(CHOOSE_BEST, &problem, target, work, &choice);
		assert_true(choice.fits && fabs(choice.ns - ns) < NEAR);
		assert_memory_equal(step, wanted, MANY);
	}
	free(work);
}

/* Half of the ranks have no packets. */
static void make_ranks(struct random *random, double ranks[CHOOSE_RANKS_MAX + 1])
{
	ranks[0] = 0;
	for (uint32_t r = 1; r <= CHOOSE_RANKS_MAX; r++)
		ranks[r] =
			ranks[r - 1] + (random_below(random, 2) == 0 ? 0 : 0.2 * uniform(random));
}

/*
 * With queries, each algorithm first turns off the fewest ranks, and reduces other detail only if
 * the target is not met without all ranks. A larger target brings them back in order.
 */
static void test_ranks(void **state)
{
	static double ranks[CHOOSE_RANKS_MAX + 1];
	struct random random;
	void *work = malloc(choose_work_size(1));
	uint32_t partly = 0;

	(void)state;
	random_init(&random, 13);
	assert_non_null(work);
	for (uint32_t p = 0; p < 4000; p++) {
		struct choose_item item;
		struct choose_states states = {.n = 3, .ranks = ranks};
		struct choose_problem problem = {.fixed_ns = 5, .nb_items = 1, .items = &item};
		struct choose_flows flows;
		uint8_t step;
		struct choice choice = {.step = &step, .flows = &flows};
		enum choose_how how = (enum choose_how)(p % 4);
		double base, target;
		uint32_t off = 0;

		make_item(&random, &item, 1);
		make_ranks(&random, ranks);
		for (uint32_t s = 0; s <= item.nb_steps; s++)
			states.looked_at[s] = 1;
		item.states = &states;
		base = problem.fixed_ns + item.ns[0];
		target = base + ranks[CHOOSE_RANKS_MAX] * (1.1 * uniform(&random) - 0.05);
		choose(how, &problem, target, work, &choice);
		while (off < CHOOSE_RANKS_MAX && base + ranks[CHOOSE_RANKS_MAX - off] > target)
			off++;
		assert_true(fabs(ranks[CHOOSE_RANKS_MAX - flows.ranks_off] -
				    ranks[CHOOSE_RANKS_MAX - off]) < NEAR);
		assert_true(flows.ranks_off <= off);
		if (base > target)
			continue;
		assert_true(choice.fits && step == 0 && choice.ns <= target + NEAR);
		partly += off > 0 && off < CHOOSE_RANKS_MAX;
		for (uint32_t before; flows.ranks_off > 0;) {
			double next = ranks[CHOOSE_RANKS_MAX - flows.ranks_off];

			before = flows.ranks_off;
			assert_false(
				choose_back(how, &problem, base + next - 2 * NEAR, work, &choice));
			assert_int_equal(flows.ranks_off, before);
			assert_true(choose_back(how, &problem, INFINITY, work, &choice));
			assert_true(flows.ranks_off < before);
		}
		assert_true(fabs(choice.ns - base - ranks[CHOOSE_RANKS_MAX]) < NEAR);
	}
	assert_true(partly > 1000);
	free(work);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_greedy),
		cmocka_unit_test(test_low_states_first),
		cmocka_unit_test(test_queries),
		cmocka_unit_test(test_best),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_ranks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
