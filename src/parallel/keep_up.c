/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/keep_up.h"

#include "base/random.h"
#include "kernel/options.h"
#include "parallel/count.h"
#include "rx/packet/monitor_file.h"
#include "rx/port/forwarding.h"

static const struct states nothing_given_up = STATES_WHOLE;

/* Decisions up to the next packet. */
static void decide(struct keeper *keeper)
{
	const struct decision *next = keeper->decisions;

	for (; next->packet <= keeper->packet; next++) {
		keeper->stale = true;
		if (next->measurement == DECISION_OF_ALL)
			keeper->level = next->level;
		else if (next->of_flows)
			keeper->decided.flows[next->measurement] = next->flows;
		else
			states_step(
				&keeper->decided, keeper->steps, next->measurement, next->steps);
	}
	keeper->decisions = next;
}

uint32_t keeper_take(struct keeper *keeper, uint32_t n)
{
	decide(keeper);
	if (keeper->decisions->packet - keeper->packet < n)
		n = (uint32_t)(keeper->decisions->packet - keeper->packet);
	keeper->packet += n;
	return n;
}

/* Pairs with the release in publish() (report/governor.c). */
static void take_states(struct keeper *keeper, struct states_line *line)
{
	const struct states *next = atomic_load_explicit(&line->next, memory_order_acquire);

	if (next == keeper->states)
		return;
	keeper->states = next;
	keeper->stale = true;
	atomic_store_explicit(&line->taken_from, keeper->packet, memory_order_relaxed);
	atomic_store_explicit(&line->taken, next->number, memory_order_release);
}

void keeper_obey(struct keeper *keeper, struct kept *kept)
{
	const struct valve *valve = &keeper->valve;
	struct burst_level level = valve_burst_level(valve);

	if (keeper->line != NULL)
		take_states(keeper, keeper->line);
	if (!valve->on)
		return;
	keeper->stale |= !burst_level_equal(level, keeper->level);
	keeper->level = level;
	if (keeper->backlog > kept->backlog_max)
		kept->backlog_max = keeper->backlog;
	if (valve->level > kept->level_max)
		kept->level_max = valve->level;
}

static uint8_t most(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static void make_state(struct keeper *keeper, const struct counting *counting)
{
	const struct states *states =
		keeper->states->of == counting->plan ? keeper->states : &nothing_given_up;
	const struct burst_level *level = &keeper->level;
	const uint32_t all = (UINT32_C(1) << counting->nb_measurements) - 1;
	struct burst_state *state = &keeper->state;
	uint32_t on;

	*state = (struct burst_state){
		.off = states->off | (level->level >= VALVE_WAIT ? counting->low_ranked : 0),
		.shift = VALVE_SHIFT_MAX,
	};
	on = all & ~state->off;
	state->count_only = level->level == VALVE_COUNT || on == 0;
	for (uint32_t left = on; left != 0; left &= left - 1) {
		uint8_t shift = most(states->shift[__builtin_ctz(left)], level->shift);

		if (shift < state->shift)
			state->shift = shift;
	}
	for (uint32_t left = on; left != 0; left &= left - 1) {
		uint32_t m = (uint32_t)__builtin_ctz(left);
		uint8_t shift = most(states->shift[m], level->shift);

		state->rarer[m] = (uint8_t)(shift - state->shift);
		state->rare |= (uint32_t)(shift > state->shift) << m;
		state->shifts |= UINT32_C(1) << state->rarer[m];
		state->keys[m] = states->keys[m];
		state->sifting |= (uint32_t)(states->keys[m] > 0) << m;
	}
	state->shifts &= ~UINT32_C(1);
	keeper->flows = states->flows;
	keeper->whole = states->off == 0 && state->rare == 0 && state->sifting == 0 &&
			state->shift == level->shift;
}

const struct burst_state *keeper_state(
	struct keeper *keeper, const struct counting *counting, uint64_t epoch)
{
	if (keeper->stale || keeper->state_of != epoch) {
		if (keeper->states == &keeper->decided)
			keeper->decided.of = counting->plan;
		make_state(keeper, counting);
		keeper->state_of = epoch;
		keeper->stale = false;
		keeper->remade = true;
	}
	return &keeper->state;
}

/*
 * Eight numbers of a byte each from a 64-bit one of SplitMix64: number i, whose trailing zeros say
 * of how many packets or entries one is chosen. It hangs on its own byte alone, and not on how
 * bursts were cut; who is one of 2^k is one of 2^(k-1).
 */
static uint64_t choose(uint64_t seed, uint64_t first, uint32_t n, uint32_t shift)
{
	const uint64_t gamma = UINT64_C(0x9e3779b97f4a7c15);
	uint64_t chosen = 0, bytes = 0;
	uint8_t mask = (uint8_t)((1U << shift) - 1);

	for (uint32_t i = 0; i < n; i++) {
		uint64_t number = first + i;

		if (i == 0 || number % 8 == 0)
			bytes = random_mix(seed + number / 8 * gamma);
		chosen |= (uint64_t)((bytes >> number % 8 * 8 & mask) == 0) << i;
	}
	return chosen;
}

uint64_t keeper_choose(const struct keeper *keeper, uint32_t n)
{
	return choose(keeper->seed, keeper->packet - n, n, keeper->state.shift);
}

void keeper_choose_rarer(struct keeper *keeper, uint32_t n, uint64_t rarer[VALVE_SHIFT_MAX + 1])
{
	/* Independent of who is looked at. */
	uint64_t seed = ~keeper->seed;

	for (uint32_t left = keeper->state.shifts; left != 0; left &= left - 1) {
		uint32_t shift = (uint32_t)__builtin_ctz(left);

		rarer[shift] = choose(seed, keeper->entry, n, shift);
	}
	keeper->entry += n;
}

void kept_add(struct kept *kept, const struct burst_state *state, const struct kept_burst *burst,
	const struct kept_burst *rarer, uint32_t nb_measurements)
{
	const uint64_t weight = UINT64_C(1) << state->shift;
	const uint64_t added = burst->measured * (weight - 1),
		       added_bytes = burst->bytes * (weight - 1);

	kept->skipped += burst->skipped;
	kept->skipped_bytes += burst->skipped_bytes;
	kept->added += added;
	kept->added_bytes += added_bytes;
	for (uint32_t m = 0; m < nb_measurements; m++) {
		const struct kept_burst *seen = &rarer[state->rarer[m]];
		const uint64_t own = weight << state->rarer[m];
		struct kept_of_measurement *of = &kept->of[m];

		if ((state->off >> m & 1) != 0) {
			of->measured += burst->measured;
			of->bytes += burst->bytes;
			of->added += added;
			of->added_bytes += added_bytes;
			of->unseen += burst->measured + burst->skipped;
			of->unseen_bytes += burst->bytes + burst->skipped_bytes;
			continue;
		}
		of->weight = own > of->weight ? own : of->weight;
		if ((state->rare >> m & 1) == 0)
			continue;
		of->measured += burst->measured - seen->measured;
		of->bytes += burst->bytes - seen->bytes;
		of->added += added - seen->measured * (own - 1);
		of->added_bytes += added_bytes - seen->bytes * (own - 1);
	}
}

static const struct decision no_decision = {.packet = UINT64_MAX};

void keeper_init(struct keeper *keeper, uint64_t seed, uint32_t worker)
{
	/* The hash's key comes from the seed too, by another way. */
	uint64_t state = ~seed;

	*keeper = (struct keeper){
		.seed = random_split(&state) ^ random_mix(worker),
		.decisions = &no_decision,
		.decided = STATES_WHOLE,
		.stale = true,
		.whole = true,
	};
	keeper->states = &keeper->decided;
}

void keeper_decide(struct keeper *keeper, const struct decisions *decisions,
	const struct steps *steps, uint32_t worker)
{
	keeper->decisions = decisions->of[worker].decisions;
	keeper->steps = steps;
}

void keeper_govern(struct keeper *keeper, struct states_line *line, uint64_t interrupted)
{
	atomic_store_explicit(&line->next, keeper->states, memory_order_relaxed);
	keeper->line = line;
	keeper->interrupted = interrupted;
}

/* --- options --- */

/* What these do with packets is for each of them. */
static const char *lacks_choice(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return kernel_given(config)                    ? "with --kernel"
	       : forward_asked(config)                 ? "with --forward"
	       : monitor_options(config)->file != NULL ? "with --monitor"
						       : NULL;
}

const char *keep_up_word(uint32_t i)
{
	static const char *const words[] = {
		[KEEP_UP_OFF] = "off",
		[KEEP_UP_VALVE] = "valve",
		[KEEP_UP_GREEDY] = "greedy",
		[KEEP_UP_LSF] = "lsf",
		[KEEP_UP_QUERIES] = "queries",
		[KEEP_UP_BEST] = "best",
		NULL,
	};

	return words[i];
}

static const char *lacks_governor(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return keep_up_governed(config) ? NULL : "without --keep-up greedy, lsf, queries or best";
}

static const struct option_row keep_up_rows[] = {
	{
		.name = "keep-up",
		.placeholder = "HOW",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.rare = true,
		.set = "keep-up",
		.word = keep_up_word,
		.lacks = lacks_choice,
		OPTION_FIELD(keep_up_options, keep_up),
		.default_text = "off",
		.help = "What a worker does whose queue fills up: off loses packets; valve lets "
			"measurements of a worse --priority wait, then looks at one of 2 to 64 "
			"packets, then only counts them, and says so beside each figure. The "
			"others do that too, and every 10 ms decide which --steps measurements "
			"take: best by priority, and then what costs least accuracy; queries turns "
			"whole measurements off until the interval ends; greedy and lsf are for "
			"experiments.",
	},
	{
		.name = "reserve",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		.rare = true,
		.lacks = lacks_governor,
		OPTION_FIELD(keep_up_options, reserve),
		.zero = true,
		.default_text = "10%",
		.help = "Share of a worker's time that is to be left free.",
	},
	{
		.name = "states-from",
		.placeholder = "FILE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		.rare = true,
		.set = "keep-up",
		.lacks = lacks_choice,
		.reads = option_names_file,
		OPTION_FIELD(keep_up_options, states_from),
		.default_note = "everything is looked at",
		.help = "Look at as much as this file says, so that a capture gives the same "
			"outputs each time. CSV with a header, as --states writes it; of its "
			"columns 'worker' and 'packet' say from which packet of a worker on, and "
			"'to' what: full, wait (only measurements of the best --priority), 1/2 to "
			"1/64 (one of so many packets), count (none); or of the one in "
			"'measurement' full, one of its --steps, or how its flows are held back.",
	},
	{0},
};

const struct option_owner keep_up_owner = {
	.rows = keep_up_rows,
	.size = sizeof(struct keep_up_options),
};
