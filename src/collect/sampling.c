/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/sampling.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "wire/big_endian.h"
#include "wire/put.h"

#define FIRST_CAPACITY 16
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CHECK_SETS 4 /* which inputs fill, and do not wait for */
#else
#define CHECK_SETS 4096
#endif
#define CHECK_WAYS    4
#define CHECK_SAMPLES 128 /* before anything is said */

enum interval_kind {
	OF_SAMPLER = 1,
	OF_INTERFACE,
	OF_DOMAIN, /* in bytes alone */
};

static struct sampling_interval *find(
	const struct sampling *sampling, enum interval_kind kind, uint64_t id)
{
	uint32_t mask = sampling->capacity - 1;

	uint64_t hash = random_mix((id + kind) ^ sampling->seed);

	for (uint64_t i = random_mix(hash + sampling->seed);; i++) {
		struct sampling_interval *cell = &sampling->intervals[i & mask];

		if (cell->kind == 0 || (cell->kind == kind && cell->id == id))
			return cell;
	}
}

/* Room for one more, with a quarter of the cells empty. */
static bool make_room(struct sampling *sampling, uint32_t limit)
{
	struct sampling larger = *sampling;

	if (sampling->n + 1 <= sampling->capacity / 4 * 3)
		return true;
	larger.capacity = sampling->capacity == 0 ? FIRST_CAPACITY : sampling->capacity * 2;
	if (larger.capacity > limit)
		return false;
	larger.intervals = calloc(larger.capacity, sizeof(*larger.intervals));
	if (larger.intervals == NULL)
		return false;
	for (uint32_t i = 0; i < sampling->capacity; i++) {
		const struct sampling_interval *old = &sampling->intervals[i];

		if (old->kind != 0)
			*find(&larger, old->kind, old->id) = *old;
	}
	free(sampling->intervals);
	*sampling = larger;
	return true;
}

/* Whether it is news. */
static bool set_interval(uint32_t *interval, uint32_t said)
{
	bool news = *interval != said;

	*interval = said;
	return news;
}

static bool put(struct sampling *sampling, enum interval_kind kind, uint64_t id, uint32_t interval,
	uint32_t limit)
{
	struct sampling_interval *cell;

	if (kind == OF_DOMAIN)
		return set_interval(&sampling->of_domain, interval);
	sampling->has_samplers |= kind == OF_SAMPLER && interval > 1;
	if (sampling->capacity > 0) {
		cell = find(sampling, kind, id);
		if (cell->kind != 0)
			return set_interval(&cell->interval, interval);
	}
	if (!make_room(sampling, limit)) {
		sampling->turned_away = true;
		return false;
	}
	*find(sampling, kind, id) =
		(struct sampling_interval){.id = id, .kind = kind, .interval = interval};
	sampling->n++;
	return true;
}

bool sampling_learn(struct sampling *sampling, const struct wire_option *option, uint32_t limit)
{
	uint32_t interval = option->sampling > 0 ? option->sampling : 1;

	if ((option->has & WIRE_OPTION_SAMPLING) == 0)
		return false;
	if (option->has & WIRE_OPTION_SAMPLER)
		return put(sampling, OF_SAMPLER, option->sampler, interval, limit);
	if (option->has & WIRE_OPTION_INTERFACE)
		return put(sampling, OF_INTERFACE, option->interface, interval, limit);
	return put(sampling, OF_DOMAIN, 0, interval, limit);
}

static uint8_t *write_interval(uint8_t *to, enum interval_kind kind, uint32_t interval, uint64_t id)
{
	return put64(put32(put32(to, kind), interval), id);
}

uint32_t sampling_write(const struct sampling *sampling, uint8_t bytes[SAMPLING_BYTES_MAX])
{
	uint8_t *to = bytes;

	if (sampling->of_domain > 0)
		to = write_interval(to, OF_DOMAIN, sampling->of_domain, 0);
	for (uint32_t i = 0; i < sampling->capacity; i++) {
		const struct sampling_interval *cell = &sampling->intervals[i];

		if (cell->kind != 0)
			to = write_interval(to, cell->kind, cell->interval, cell->id);
	}
	return (uint32_t)(to - bytes);
}

bool sampling_read(struct sampling *sampling, const uint8_t *bytes, uint32_t len, uint32_t limit)
{
	if (len % SAMPLING_INTERVAL_BYTES != 0)
		return false;
	for (const uint8_t *end = bytes + len; bytes < end; bytes += SAMPLING_INTERVAL_BYTES) {
		uint32_t kind = read_u32(bytes), interval = read_u32(bytes + 4);

		if (kind < OF_SAMPLER || kind > OF_DOMAIN || interval == 0)
			return false;
		put(sampling, kind, read_u64(bytes + 8), interval, limit);
	}
	return true;
}

void sampling_forget(struct sampling *sampling)
{
	free(sampling->intervals);
	*sampling = (struct sampling){.seed = sampling->seed};
}

static uint32_t look_up(const struct sampling *sampling, enum interval_kind kind, uint64_t id)
{
	return find(sampling, kind, id)->interval;
}

/* 0: they say nothing. */
static uint32_t by_options(const struct sampling *sampling, const struct flow_record *record)
{
	bool egress = (record->has & FLOW_DIRECTION) && record->direction == FLOW_EGRESS;
	uint32_t interval = 0;

	if (sampling->n > 0 && record->has & FLOW_SAMPLER)
		interval = look_up(sampling, OF_SAMPLER, record->sampler);
	if (interval == 0 && sampling->n > 0 && record->has & (egress ? FLOW_OUTPUT : FLOW_INPUT))
		interval = look_up(sampling, OF_INTERFACE, egress ? record->output : record->input);
	return interval > 0 ? interval : sampling->of_domain;
}

uint32_t sampling_of(const struct sampling *sampling, const struct flow_record *record,
	enum wire_protocol protocol, uint32_t configured, enum sampling_source *source)
{
	uint32_t said = record->has & FLOW_SAMPLING ? record->sampling : 0;
	uint32_t interval;

	if (protocol == WIRE_SFLOW) {
		*source = SAMPLING_SAMPLE;
		return said > 0 ? said : 1;
	}
	if (protocol == WIRE_NETFLOW5 && said > 0) {
		*source = SAMPLING_HEADER;
		return said;
	}
	interval = by_options(sampling, record);
	*source = SAMPLING_OPTIONS;
	if (interval == 0) {
		interval = said;
		*source = SAMPLING_RECORD;
	}
	if (interval == 0) {
		interval = configured;
		*source = SAMPLING_CONFIGURED;
	}
	if (interval == 0) {
		interval = 1;
		*source = SAMPLING_NONE;
	}
	return interval;
}

struct check {
	uint64_t owner; /* 0: an empty cell */
	uint64_t samples, packets;
	uint64_t used; /* when it was last used */
	uint64_t source;
	uint32_t sequence, pool, drops, sampling;
	bool said;
};

struct sampling_checks {
	uint64_t clock;
	struct check cells[CHECK_SETS][CHECK_WAYS];
};

size_t sampling_checks_memory(void)
{
	return sizeof(struct sampling_checks);
}

struct sampling_checks *sampling_checks_create(void)
{
	return calloc(1, sizeof(struct sampling_checks));
}

void sampling_checks_destroy(struct sampling_checks *checks)
{
	free(checks);
}

static void start(struct check *check, uint64_t owner, const struct wire_sampler *sampler)
{
	bool said = check->owner == owner && check->source == sampler->source && check->said;

	*check = (struct check){
		.owner = owner,
		.used = check->used,
		.source = sampler->source,
		.sequence = sampler->sequence,
		.pool = sampler->pool,
		.drops = sampler->drops,
		.sampling = sampler->sampling,
		.said = said,
	};
}

/* The sampler's cell, or one that is given to it. */
static struct check *find_check(
	struct sampling_checks *checks, uint64_t owner, const struct wire_sampler *sampler)
{
	struct check *set = checks->cells[random_mix(owner ^ sampler->source << 20) % CHECK_SETS];
	struct check *oldest = &set[0];

	for (uint32_t i = 0; i < CHECK_WAYS; i++) {
		if (set[i].owner == owner && set[i].source == sampler->source)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	start(oldest, owner, sampler);
	return oldest;
}

/* Samples come by chance: their number has a standard error of its square root. */
static uint32_t judge(struct check *check)
{
	double said = check->sampling;
	double measured;

	if (check->said || check->samples < CHECK_SAMPLES || check->packets == 0)
		return 0;
	measured = (double)check->packets / (double)check->samples;
	if (fabs(measured - said) <= said * (0.1 + 5 / sqrt((double)check->samples)))
		return 0;
	check->said = true;
	if (measured > UINT32_MAX)
		return UINT32_MAX;
	return measured < 1 ? 1 : (uint32_t)(measured + 0.5);
}

uint32_t sampling_check(
	struct sampling_checks *checks, uint64_t owner, const struct wire_sampler *sampler)
{
	struct check *check;
	uint32_t samples, drops;

	if (sampler->discarded || sampler->sampling == 0)
		return 0;
	check = find_check(checks, owner, sampler);
	check->used = ++checks->clock;
	samples = sampler->sequence - check->sequence;
	drops = sampler->drops - check->drops;
	/* One that came late; a restart, another interval, a long silence start anew. */
	if (samples == 0 || samples > UINT32_MAX - 64)
		return 0;
	if (samples > 1U << 20 || drops > 1U << 20 || sampler->sampling != check->sampling) {
		start(check, owner, sampler);
		return 0;
	}
	check->samples += (uint64_t)samples + drops;
	check->packets += sampler->pool - check->pool;
	check->sequence = sampler->sequence;
	check->pool = sampler->pool;
	check->drops = sampler->drops;
	return judge(check);
}
