/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/sampling.h"

#include <math.h>
#include <stdlib.h>

#include "base/assertion.h"
#include "base/random.h"
#include "flow_protocols/big_endian.h"

#define FIRST_CAPACITY 16
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
#define CHECK_SETS 4 /* few, so that a fuzzer can fill them */
#else
#define CHECK_SETS 4096
#endif
#define CHECK_WAYS    4
#define CHECK_SAMPLES 128 /* fewest samples for a result */

/* --templates files contain these values. OF_DOMAIN and OF_FLOWS only describe other domains. */
enum interval_kind {
	OF_SAMPLER = 1,
	OF_INTERFACE,
	OF_DOMAIN,
	OF_TEMPLATE,
	OF_PART,
	OF_FLOWS,
	/* Only for other domains, which domain 0 describes. */
	OF_PART_OF_OTHER,
	OF_FINEST_PART,
	OF_COARSEST_PART,
	OF_ANY_SAMPLER, /* a sampler that does not select all packets */
	INTERVAL_KIND_END,
};

/* high 32 bits of a cell's ID: the other domain that domain 0 describes; 0: its own domain */
#define ABOUT_SHIFT 32

/* Contains 32 bits of the hash of the part. */
static uint64_t part_of_other(uint64_t about, uint64_t part)
{
	return about << ABOUT_SHIFT | (uint32_t)(part ^ part >> 32);
}

static struct sampling_interval *find_interval(
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

/* A quarter of the cells stays empty. Returns false if the table is full. */
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
			*find_interval(&larger, old->kind, old->id) = *old;
	}
	free(sampling->intervals);
	*sampling = larger;
	return true;
}

/* Returns true if the interval changed. */
static bool set_interval(uint32_t *interval, uint32_t value)
{
	bool changed = *interval != value;

	*interval = value;
	return changed;
}

static bool put(struct sampling *sampling, enum interval_kind kind, uint64_t id, uint32_t interval,
	uint32_t limit)
{
	struct sampling_interval *cell;

	if (kind == OF_DOMAIN && id == 0)
		return set_interval(&sampling->of_domain, interval);
	if (kind == OF_FLOWS && id == 0) {
		bool changed = !sampling->selects_flows;

		sampling->selects_flows = true;
		return changed;
	}
	if (sampling->capacity > 0) {
		cell = find_interval(sampling, kind, id);
		if (cell->kind != 0)
			return set_interval(&cell->interval, interval);
	}
	if (!make_room(sampling, limit)) {
		sampling->turned_away = true;
		return false;
	}
	*find_interval(sampling, kind, id) =
		(struct sampling_interval){.id = id, .kind = kind, .interval = interval};
	sampling->n++;
	ASSERT(sampling->n, <, sampling->capacity);
	return true;
}

/* about: another domain that domain 0 describes, or 0. Returns 0 if unknown. */
static uint32_t look_up(
	const struct sampling *sampling, enum interval_kind kind, uint64_t id, uint64_t about)
{
	return sampling->n > 0 ? find_interval(sampling, kind, id ^ about << ABOUT_SHIFT)->interval
			       : 0;
}

/* If a part changes, the exporter will repeat the options of the other parts. */
static void note_part(struct sampling *sampling, uint64_t about, uint32_t before, uint32_t interval,
	uint32_t limit)
{
	uint64_t id = about << ABOUT_SHIFT;
	uint32_t finest = look_up(sampling, OF_FINEST_PART, 0, about);
	uint32_t coarsest = look_up(sampling, OF_COARSEST_PART, 0, about);

	if (finest == 0 || (before != 0 && before != interval))
		finest = coarsest = interval;
	put(sampling, OF_FINEST_PART, id, interval < finest ? interval : finest, limit);
	put(sampling, OF_COARSEST_PART, id, interval > coarsest ? interval : coarsest, limit);
}

static void note_sampler(struct sampling *sampling, uint64_t about, uint32_t limit)
{
	if (about == 0)
		sampling->has_samplers = true;
	else
		put(sampling, OF_ANY_SAMPLER, about << ABOUT_SHIFT, 1, limit);
}

struct sampled_parts {
	uint32_t finest; /* smallest interval; 0: none */
	bool differ;
};

/* Not inlined: the caller runs per record and rarely needs it. */
static __attribute__((noinline)) struct sampled_parts compare_all_parts(
	const struct sampling *sampling)
{
	struct sampled_parts parts = {0};

	for (uint32_t i = 0; i < sampling->capacity; i++) {
		const struct sampling_interval *cell = &sampling->intervals[i];

		if (cell->kind != OF_PART)
			continue;
		parts.differ |= parts.finest != 0 && parts.finest != cell->interval;
		if (parts.finest == 0 || cell->interval < parts.finest)
			parts.finest = cell->interval;
	}
	return parts;
}

static struct sampled_parts compare_parts(const struct sampling *sampling)
{
	if (sampling->parts_changed)
		return compare_all_parts(sampling);
	return (struct sampled_parts){sampling->of_parts, sampling->parts_differ};
}

void sampling_settle(struct sampling *sampling)
{
	struct sampled_parts parts = compare_parts(sampling);

	sampling->of_parts = parts.finest;
	sampling->parts_differ = parts.differ;
	sampling->parts_changed = false;
}

static enum interval_kind scope_of(const struct option_record *option, uint64_t *id)
{
	*id = option->sampler;
	if (option->has & OPTION_RECORD_SAMPLER)
		return OF_SAMPLER;
	*id = option->interface;
	if (option->has & OPTION_RECORD_INTERFACE)
		return OF_INTERFACE;
	*id = option->template_id;
	if (option->has & OPTION_RECORD_TEMPLATE)
		return OF_TEMPLATE;
	*id = option->part;
	if (option->has & OPTION_RECORD_PART)
		return OF_PART;
	*id = 0;
	return OF_DOMAIN;
}

bool sampling_learn(struct sampling *sampling, uint32_t domain, const struct option_record *option,
	uint32_t limit)
{
	uint64_t about =
		option->has & OPTION_RECORD_DOMAIN && option->domain != domain ? option->domain : 0;
	uint32_t interval = option->sampling;
	enum interval_kind kind;
	bool changed = false;
	uint64_t id;

	if (about != 0 && domain != 0)
		return false;
	if (option->has & OPTION_RECORD_FLOWS) {
		changed = put(sampling, OF_FLOWS, about << ABOUT_SHIFT, 1, limit);
		interval = 1; /* the sampler selects flows, and all of their packets */
		if (!(option->has & OPTION_RECORD_SAMPLER))
			return changed;
	} else if (!(option->has & OPTION_RECORD_SAMPLING)) {
		return false;
	}
	kind = scope_of(option, &id);
	if (kind == OF_SAMPLER && interval > 1)
		note_sampler(sampling, about, limit);
	if (kind == OF_PART && about != 0) {
		uint64_t part = part_of_other(about, id);
		uint32_t before = look_up(sampling, OF_PART_OF_OTHER, part, 0);

		changed |= put(sampling, OF_PART_OF_OTHER, part, interval, limit);
		note_part(sampling, about, before, interval, limit);
		return changed;
	}
	changed |= put(sampling, kind, id ^ about << ABOUT_SHIFT, interval, limit);
	/* sampling_settle() compares them once: thousands of options may precede a record. */
	sampling->parts_changed |= kind == OF_PART && changed;
	return changed;
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
	if (sampling->selects_flows)
		to = write_interval(to, OF_FLOWS, 1, 0);
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
		uint64_t id = read_u64(bytes + 8);

		if (kind < OF_SAMPLER || kind >= INTERVAL_KIND_END || interval == 0)
			return false;
		if (kind == OF_SAMPLER && interval > 1 && id >> ABOUT_SHIFT == 0)
			note_sampler(sampling, 0, limit);
		put(sampling, kind, id, interval, limit);
	}
	sampling->parts_changed = true;
	return true;
}

void sampling_forget(struct sampling *sampling)
{
	free(sampling->intervals);
	*sampling = (struct sampling){.seed = sampling->seed};
}

/* Returns the interval by a field of the record; 0: unknown. */
static uint32_t by_fields(
	const struct sampling *sampling, uint64_t about, const struct flow_record *record)
{
	bool egress = (record->has & FLOW_DIRECTION) && record->direction == FLOW_EGRESS;
	uint32_t interval = 0;

	if (sampling->n == 0)
		return 0;
	if (record->has & FLOW_SAMPLER)
		interval = look_up(sampling, OF_SAMPLER, record->sampler, about);
	if (interval == 0 && record->has & (egress ? FLOW_OUTPUT : FLOW_INPUT))
		interval = look_up(
			sampling, OF_INTERFACE, egress ? record->output : record->input, about);
	if (interval == 0 && record->template_id != 0)
		interval = look_up(sampling, OF_TEMPLATE, record->template_id, about);
	return interval;
}

static uint32_t by_options(const struct sampling_knowledge *knowledge,
	const struct flow_record *record, enum sampling_certainty *certainty)
{
	const struct sampling *own = knowledge->own, *process = knowledge->process;
	struct sampled_parts parts = compare_parts(own);
	uint32_t interval = by_fields(own, 0, record);

	if (interval == 0 && parts.finest > 0) {
		interval = parts.finest;
		if (parts.differ)
			*certainty = SAMPLING_PARTS;
	}
	if (interval == 0)
		interval = own->of_domain;
	if (interval > 0 || process == NULL)
		return interval;
	interval = by_fields(process, knowledge->domain, record);
	if (interval == 0 && process->n > 0) {
		interval = look_up(process, OF_FINEST_PART, 0, knowledge->domain);
		if (interval != look_up(process, OF_COARSEST_PART, 0, knowledge->domain))
			*certainty = SAMPLING_PARTS;
	}
	if (interval == 0 && process->n > 0)
		interval = look_up(process, OF_DOMAIN, 0, knowledge->domain);
	return interval;
}

/* The larger of two known intervals, else the known one, else SAMPLING_RATIO_UNKNOWN, else 0. */
static uint32_t coarser(uint32_t a, uint32_t b)
{
	if (a == 0 || b == 0 || (a != SAMPLING_RATIO_UNKNOWN && b != SAMPLING_RATIO_UNKNOWN))
		return a > b ? a : b;
	return a < b ? a : b;
}

/* about 0: the domain itself */
static uint32_t coarsest_about(const struct sampling *sampling, uint64_t about)
{
	uint32_t coarsest = about == 0 ? sampling->of_domain : 0;

	for (uint32_t i = 0; i < sampling->capacity; i++) {
		const struct sampling_interval *cell = &sampling->intervals[i];

		if (cell->kind != 0 &&
			(about == 0 || (cell->kind != OF_PART && cell->id >> ABOUT_SHIFT == about)))
			coarsest = coarser(coarsest, cell->interval);
	}
	return coarsest;
}

uint32_t sampling_described(const struct sampling_knowledge *knowledge)
{
	uint32_t coarsest = coarsest_about(knowledge->own, 0);

	if (knowledge->process != NULL)
		coarsest = coarser(coarsest, coarsest_about(knowledge->process, knowledge->domain));
	return coarsest;
}

/* Returns true if domain 0 has a cell of this kind for the domain. */
static bool process_describes(const struct sampling_knowledge *knowledge, enum interval_kind kind)
{
	const struct sampling *process = knowledge->process;

	return process != NULL && process->n > 0 &&
	       look_up(process, kind, 0, knowledge->domain) > 0;
}

bool sampling_has_samplers(const struct sampling_knowledge *knowledge)
{
	return knowledge->own->has_samplers || process_describes(knowledge, OF_ANY_SAMPLER);
}

/* Returns SAMPLING_SURE if a record without a known interval is unsampled, else the reason. */
static enum sampling_certainty certainty_of_unsampled(
	const struct sampling_knowledge *knowledge, const struct flow_record *record)
{
	if (knowledge->own->turned_away ||
		(knowledge->process != NULL && knowledge->process->turned_away))
		return SAMPLING_TOO_MANY;
	return record->has & FLOW_SAMPLER && record->sampler != 0 ? SAMPLING_UNDESCRIBED
								  : SAMPLING_SURE;
}

struct sampling_verdict sampling_of(
	const struct sampling_knowledge *knowledge, const struct flow_record *record)
{
	struct sampling_verdict verdict = {0, SAMPLING_OPTIONS, SAMPLING_SURE};
	enum sampling_source source = flow_protocols[knowledge->protocol]->sampling;

	if (knowledge->scaled == SAMPLING_RATIO_UNKNOWN)
		return (struct sampling_verdict){1, SAMPLING_CONFIGURED, SAMPLING_RATIO};
	if (knowledge->scaled > 0)
		return (struct sampling_verdict){
			knowledge->scaled, SAMPLING_CONFIGURED, SAMPLING_SURE};
	if (record->has & FLOW_SAMPLING) {
		verdict.interval = record->sampling;
		verdict.source = source;
	} else if (source != SAMPLING_SAMPLE) {
		verdict.interval = by_options(knowledge, record, &verdict.certainty);
	}
	if (verdict.interval == 0 && (record->has & FLOW_SAMPLED || source == SAMPLING_SAMPLE)) {
		verdict.interval = SAMPLING_RATIO_UNKNOWN;
		verdict.source = source;
	}
	if (knowledge->configured > 0 &&
		(verdict.interval == 0 || verdict.certainty == SAMPLING_PARTS ||
			verdict.interval == SAMPLING_RATIO_UNKNOWN))
		verdict = (struct sampling_verdict){
			knowledge->configured, SAMPLING_CONFIGURED, SAMPLING_SURE};
	if (verdict.interval == SAMPLING_RATIO_UNKNOWN) {
		verdict.interval = 1;
		verdict.certainty = SAMPLING_RATIO;
	} else if (verdict.interval == 0) {
		verdict.interval = 1;
		verdict.source = SAMPLING_NONE;
		verdict.certainty = certainty_of_unsampled(knowledge, record);
	}
	if (verdict.certainty == SAMPLING_SURE &&
		(record->has & FLOW_SELECTED || knowledge->own->selects_flows ||
			process_describes(knowledge, OF_FLOWS)))
		verdict.certainty = SAMPLING_FLOWS;
	return verdict;
}

struct pool_check {
	uint64_t owner; /* 0: free */
	uint64_t samples, packets;
	uint64_t used;
	uint64_t source;
	uint32_t sequence, pool, drops, sampling, breaks;
	bool reported;
	bool differs; /* the pool differs from the upscaled samples */
	bool steady;  /* numbers were consecutive, so these are not two alternating samplers */
};

struct sampling_checks {
	uint64_t clock;
	struct pool_check *recent; /* last result of find_check(); NULL: none */
	struct pool_check cells[CHECK_SETS][CHECK_WAYS];
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

static __attribute__((noinline)) void start(struct pool_check *check, uint64_t owner,
	uint32_t breaks, const struct sampler_state *sampler)
{
	bool reported =
		check->owner == owner && check->source == sampler->source && check->reported;

	*check = (struct pool_check){
		.owner = owner,
		.used = check->used,
		.source = sampler->source,
		.sequence = sampler->sequence,
		.pool = sampler->pool,
		.drops = sampler->drops,
		.sampling = sampler->sampling,
		.breaks = breaks,
		.reported = reported,
	};
}

/* Reassigns the least recently used cell of its set if the sampler has none. */
static __attribute__((noinline)) struct pool_check *search_check(struct sampling_checks *checks,
	uint64_t owner, uint32_t breaks, const struct sampler_state *sampler)
{
	struct pool_check *set =
		checks->cells[random_mix(owner ^ sampler->source << 20) % CHECK_SETS];
	struct pool_check *oldest = &set[0];

	for (uint32_t i = 0; i < CHECK_WAYS; i++) {
		if (set[i].owner == owner && set[i].source == sampler->source)
			return &set[i];
		if (set[i].used < oldest->used)
			oldest = &set[i];
	}
	start(oldest, owner, breaks, sampler);
	return oldest;
}

static inline struct pool_check *find_check(struct sampling_checks *checks, uint64_t owner,
	uint32_t breaks, const struct sampler_state *sampler)
{
	const struct pool_check *recent = checks->recent;

	if (recent == NULL || recent->owner != owner || recent->source != sampler->source)
		checks->recent = search_check(checks, owner, breaks, sampler);
	return checks->recent;
}

/* Returns the interval by the sample pool; 0: unknown. */
static uint32_t measure(const struct pool_check *check)
{
	double measured;

	if (check->samples < CHECK_SAMPLES || check->packets == 0)
		return 0;
	measured = (double)check->packets / (double)check->samples;
	if (measured > UINT32_MAX)
		return UINT32_MAX;
	return measured < 1 ? 1 : (uint32_t)(measured + 0.5);
}

/* More than 10 % plus five standard errors; n samples have a relative error of 1 / sqrt(n). */
static bool disagrees(const struct pool_check *check, uint32_t measured)
{
	double announced = check->sampling;

	return measured != 0 && fabs((double)measured - announced) >
					announced * (0.1 + 5 / sqrt((double)check->samples));
}

/* Fast check without division: returns true only if disagrees() returns false. */
static bool agrees(const struct pool_check *check)
{
	/* Signed integers convert to double faster. The sums stay below 2^63. */
	double samples = (double)(int64_t)check->samples, expected = samples * check->sampling;
	double apart = fabs((double)(int64_t)check->packets - expected);

	return 2 * apart < samples || 10 * apart + 5 * samples <= expected;
}

/* Returns true if the pool differed. Not inlined, because most samples agree. */
static __attribute__((noinline)) bool doubt_pool(
	struct pool_check *check, uint32_t packets, uint64_t samples, struct sampler_result *result)
{
	uint32_t measured = measure(check);

	if (disagrees(check, measured)) {
		if (!check->reported)
			result->measured = measured;
		check->reported = check->differs = true;
	}
	if (!check->differs)
		return false;
	result->pool_interval = measured;
	if (measured > check->sampling)
		result->excess = (int64_t)packets - (int64_t)(samples * check->sampling);
	return true;
}

/*
 * `packets` and `samples` count since the last sample of the sampler. Returns true if the pool
 * differed once.
 */
static inline bool compare_pool(
	struct pool_check *check, uint32_t packets, uint64_t samples, struct sampler_result *result)
{
	check->samples += samples;
	check->packets += packets;
	return (check->differs || !agrees(check)) && doubt_pool(check, packets, samples, result);
}

bool sampling_check(struct sampling_checks *checks, uint64_t owner, uint32_t breaks,
	const struct sampler_state *sampler, struct sampler_result *result)
{
	uint32_t samples, drops, lost = 0;
	struct pool_check *check;
	bool differs;

	*result = (struct sampler_result){0};
	if (sampler->discarded || sampler->sampling == 0)
		return false;
	check = find_check(checks, owner, breaks, sampler);
	check->used = ++checks->clock;
	samples = sampler->sequence - check->sequence;
	drops = sampler->drops - check->drops;
	/* A late sample is ignored. If the numbers jump, the agent restarted or was silent. */
	if (samples == 0 || samples > UINT32_MAX - 64)
		return false;
	if (samples > 1U << 20 || drops > 1U << 20) {
		start(check, owner, breaks, sampler);
		return false;
	}
	if (check->steady)
		lost = drops + (check->breaks == breaks ? samples - 1 : 0);
	result->lost = lost;
	if (sampler->sampling != check->sampling) {
		start(check, owner, breaks, sampler);
		return lost > 0;
	}
	differs =
		compare_pool(check, sampler->pool - check->pool, (uint64_t)samples + drops, result);
	check->sequence = sampler->sequence;
	check->pool = sampler->pool;
	check->drops = sampler->drops;
	check->breaks = breaks;
	check->steady = true;
	return lost > 0 || differs;
}
