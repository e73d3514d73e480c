/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "flow_protocols/sequence.h"

#include <string.h>

#include "base/random.h"
#include "base/units.h"

#define MS           (SECOND_NS / 1000)
#define TOLERANCE    5000 /* ms; largest difference of clocks, and largest delay of a message */
#define VOTES_ENOUGH 3
#define VOTES_MAX    16
#define VOTES_MISSED 4  /* votes that a wrong convention loses if another one was right */
#define COPY_DELAY   MS /* ns */
/* successive messages that prove a restart with a clock set back */
#define OLD_ENOUGH   3
/*
 * Datagrams that an exporter can lose at once. An exporter whose first number is lower may have started
 * in this run.
 */
#define BURST        65536
/* Messages until a unit of the numbers is recognized, if there is one. */
#define UNSURE_MOST  64
#define RATE_FACTOR  16 /* an exporter can reach 16 times its mean rate */
#define RATE_MAX     1000000

const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT] = {
	[SEQUENCE_UNSURE] = "an unknown unit",
	[SEQUENCE_MESSAGES] = "messages",
	[SEQUENCE_RECORDS] = "data records before the message",
	[SEQUENCE_RECORDS_AFTER] = "data records up to and including the message",
	[SEQUENCE_FLOWS] = "data records except options records, before the message",
	[SEQUENCE_FLOWS_AFTER] =
		"data records except options records, up to and including the message",
	[SEQUENCE_CONSTANT] = "nothing",
};

struct sequence_message {
	uint32_t number, data, flows;
	bool uncertain;
	bool unknown_sets;
};

static enum sequence_convention standard(enum flow_protocol protocol)
{
	return flow_protocols[protocol]->sequence;
}

void sequence_init(struct sequence *sequence, enum flow_protocol protocol)
{
	*sequence = (struct sequence){.protocol = protocol};
}

void sequence_init_like(struct sequence *sequence, const struct sequence *before)
{
	sequence_init(sequence, before->protocol);
	sequence->convention = before->convention;
	sequence->messages = before->messages;
	sequence->records = before->records;
	memcpy(sequence->votes, before->votes, sizeof(sequence->votes));
}

/* Returns b - a modulo 2^32, signed. */
static inline int32_t ahead(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a);
}

static uint32_t units(enum sequence_convention convention, uint32_t data, uint32_t flows)
{
	switch (convention) {
	case SEQUENCE_MESSAGES: return 1;
	case SEQUENCE_RECORDS:
	case SEQUENCE_RECORDS_AFTER: return data;
	case SEQUENCE_FLOWS:
	case SEQUENCE_FLOWS_AFTER: return flows;
	default: return 0;
	}
}

static bool is_after(enum sequence_convention convention)
{
	return convention == SEQUENCE_RECORDS_AFTER || convention == SEQUENCE_FLOWS_AFTER;
}

/* Returns by how much the number grows from sequence->base to the next message. */
static uint32_t growth(const struct sequence *sequence, enum sequence_convention convention,
	const struct sequence_message *message)
{
	const struct sequence_base *base = &sequence->base;

	if (is_after(convention))
		return units(convention, message->data, message->flows);
	return units(convention, base->data, base->flows);
}

/*
 * Returns the units missing between sequence->base and the message, if `convention` is right;
 * negative if late. Returns at most 0 if it depends on records that could not be counted.
 */
static int32_t gap_by(const struct sequence *sequence, enum sequence_convention convention,
	const struct sequence_message *message)
{
	bool counts_records = convention == SEQUENCE_RECORDS || convention == SEQUENCE_FLOWS;
	bool after = is_after(convention);
	int32_t step = ahead(sequence->base.number, message->number);

	if (after ? message->uncertain : counts_records && sequence->base.uncertain)
		return step < 0 || (after && step == 0) ? -1 : 0;
	return ahead(
		sequence->base.number + growth(sequence, convention, message), message->number);
}

/* Returns the conventions that predict the number of the message, as bits. */
static uint32_t right_conventions(
	const struct sequence *sequence, const struct sequence_message *message)
{
	uint32_t step = message->number - sequence->base.number, right = 0;

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++)
		right |= (uint32_t)(step == growth(sequence, c, message)) << c;
	return right;
}

static bool are_counted(const struct sequence *sequence, const struct sequence_message *message)
{
	return !sequence->base.uncertain && !message->uncertain;
}

static void count_vote(uint32_t *votes, bool right, uint32_t missed)
{
	if (right)
		*votes += *votes < VOTES_MAX;
	else
		*votes -= *votes < missed ? *votes : missed;
}

/*
 * A convention that predicted the number gains a vote, and the others lose VOTES_MISSED. If none
 * did, the votes stay. If some records could not be counted, only a standard of SEQUENCE_MESSAGES
 * is judged. right: from right_conventions().
 */
static void vote(struct sequence *sequence, const struct sequence_message *message, uint32_t right)
{
	if (!are_counted(sequence, message)) {
		if (standard(sequence->protocol) == SEQUENCE_MESSAGES)
			count_vote(&sequence->votes[SEQUENCE_MESSAGES],
				right >> SEQUENCE_MESSAGES & 1, 1);
		return;
	}
	for (uint32_t c = SEQUENCE_MESSAGES; right != 0 && c < SEQUENCE_CONVENTION_COUNT; c++)
		count_vote(&sequence->votes[c], right >> c & 1, VOTES_MISSED);
}

static uint32_t most_votes(const struct sequence *sequence)
{
	uint32_t most = 0;

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++)
		if (sequence->votes[c] > most)
			most = sequence->votes[c];
	return most;
}

/*
 * A convention that replaces a recognized one needs two votes, because one can be chance: with two
 * records per message, a lost message looks like a count of records.
 */
static bool is_possible(const struct sequence *sequence, uint32_t convention, uint32_t most)
{
	if (sequence->convention != SEQUENCE_UNSURE) {
		if (convention == sequence->convention)
			return true;
		if (sequence->votes[convention] < 2)
			return false;
	}
	return sequence->votes[convention] * 2 > most;
}

/* Returns true if the convention changed. */
static bool recognize(struct sequence *sequence)
{
	uint32_t most = most_votes(sequence);
	uint32_t best = standard(sequence->protocol);

	if (most < VOTES_ENOUGH)
		return false;
	if (sequence->votes[sequence->convention] == most)
		return false;
	if (sequence->votes[best] < most)
		for (best = SEQUENCE_MESSAGES; sequence->votes[best] < most;)
			best++;
	if (best == sequence->convention)
		return false;
	sequence->convention = best;
	return true;
}

/* Returns the gap closest to 0 of all possible conventions; 0 if their signs differ. */
static int32_t gap_of(const struct sequence *sequence, const struct sequence_message *message)
{
	int32_t least = INT32_MAX, largest = INT32_MIN;
	uint32_t most = most_votes(sequence);

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++) {
		int32_t gap;

		if (!is_possible(sequence, c, most))
			continue;
		gap = gap_by(sequence, c, message);
		least = gap < least ? gap : least;
		largest = gap > largest ? gap : largest;
	}
	if (least > 0)
		/* least > largest: no convention is possible */
		return least <= largest ? least : 0;
	return largest < 0 ? largest : 0;
}

/* Returns the length of SEQUENCE_WINDOW messages in units of the sequence numbers. */
static int32_t window(const struct sequence *sequence)
{
	uint64_t mean = 1;

	if (sequence->convention == SEQUENCE_MESSAGES)
		return SEQUENCE_WINDOW;
	if (sequence->messages != 0)
		mean += sequence->records / sequence->messages;
	return (int32_t)(SEQUENCE_WINDOW * (mean < 65536 ? mean : 65536));
}

static uint32_t part_of(uint64_t hash)
{
	return (uint32_t)(hash >> 32) | 1;
}

/* Multiplication by an odd factor is invertible modulo 2^64. */
#define ODD_NUMBER UINT64_C(0x9e3779b97f4a7c15)
#define ODD_TIME   UINT64_C(0xbf58476d1ce4e5b9)
#define ODD_LENGTH UINT64_C(0x94d049bb133111eb)

/* Called after decoding where possible: the bytes are in the cache then. */
static uint64_t digest_of(const struct datagram_header *header)
{
	return header->body_len > 0 ? flow_protocol_digest(header->body, header->body_len) : 0;
}

static struct sequence_print print_of(const struct datagram_header *header)
{
	uint64_t digest = digest_of(header);
	uint64_t number = (uint64_t)header->sequence << 32 | header->uptime;
	uint64_t length = (uint64_t)header->total << 32 | header->count;
	uint64_t mixed = number * ODD_NUMBER + (uint64_t)header->exported * ODD_TIME +
			 length * ODD_LENGTH + digest;

	return (struct sequence_print){
		.whole = part_of(random_mix(mixed)),
		.body = part_of(digest),
	};
}

static uint32_t nb_recent(const struct sequence *sequence)
{
	return sequence->nb_recent < SEQUENCE_WINDOW ? sequence->nb_recent : SEQUENCE_WINDOW;
}

static bool is_recent(const struct sequence *sequence, uint32_t whole)
{
	uint32_t n = nb_recent(sequence);
	bool found = false;

	for (uint32_t i = 0; i < n; i++)
		found |= sequence->recent[i].whole == whole;
	return found;
}

static void remember(struct sequence *sequence, struct sequence_print print)
{
	/* prevents a wrap after 2^32 messages; the ring stays full */
	if (sequence->nb_recent == 2 * SEQUENCE_WINDOW)
		sequence->nb_recent = SEQUENCE_WINDOW;
	ASSERT(sequence->nb_recent, <, 2 * SEQUENCE_WINDOW);
	sequence->recent[sequence->nb_recent++ % SEQUENCE_WINDOW] = print;
}

bool sequence_take_copy(struct sequence *sequence, const struct datagram_header *header)
{
	uint32_t n = nb_recent(sequence), body = part_of(digest_of(header));

	for (uint32_t i = 0; i < n; i++) {
		if (sequence->recent[i].body != body)
			continue;
		sequence->recent[i].body = 0;
		return true;
	}
	return false;
}

/* With a constant sequence number, equal messages can be different ones. */
static bool may_stand_still(const struct sequence *sequence)
{
	if (sequence->convention != SEQUENCE_UNSURE)
		return sequence->convention == SEQUENCE_CONSTANT;
	return sequence->votes[SEQUENCE_CONSTANT] > sequence->votes[standard(sequence->protocol)];
}

/* With constant sequence numbers, only a message within 1 ms can be a copy. */
static bool is_same_moment(const struct sequence *sequence, const struct datagram_header *header)
{
	int64_t passed = header->came - sequence->base.came;

	return passed >= -COPY_DELAY && passed <= COPY_DELAY;
}

static bool is_repeated(const struct sequence *sequence, const struct datagram_header *header)
{
	bool behind =
		ahead(sequence->base.number, header->sequence) <= 0 ||
		(sequence->nb_aside > 0 && ahead(sequence->aside.number, header->sequence) <= 0);

	return behind && (!may_stand_still(sequence) || is_same_moment(sequence, header)) &&
	       is_recent(sequence, print_of(header).whole);
}

enum life {
	LIFE_UNKNOWN,
	LIFE_SAME,
	LIFE_NEW,
	LIFE_SLOW, /* may have restarted: the uptime grew by less than the elapsed time */
	LIFE_ODD,  /* the uptime does not measure time, or is that of another exporter */
};

/* After a restart, uptime <= time since `base`, by the clock of exporter or collector. */
static enum life life_of(const struct sequence_base *base, const struct datagram_header *header)
{
	int64_t passed = (header->came - base->came) / MS, least = passed, most = passed;
	uint32_t advance = header->uptime - base->uptime; /* wraps after 49.7 days */

	if (header->uptime == 0 || base->uptime == 0)
		return LIFE_UNKNOWN;
	if (header->exported != 0 && base->exported != 0) {
		int64_t exported = (header->exported - base->exported) / MS;

		least = exported < least ? exported : least;
		most = exported > most ? exported : most;
	}
	most = most > 0 ? most : 0;
	if (most > (int64_t)UINT32_MAX - 2 * TOLERANCE)
		return LIFE_UNKNOWN;
	if ((int32_t)advance <= 0 && (int32_t)advance >= -TOLERANCE)
		return LIFE_SAME;
	if (advance > most + TOLERANCE)
		return header->uptime <= most + TOLERANCE ? LIFE_NEW : LIFE_ODD;
	if (advance < least - TOLERANCE && header->uptime <= most + TOLERANCE)
		return LIFE_SLOW;
	return LIFE_SAME;
}

static bool is_older(const struct sequence_base *base, const struct datagram_header *header)
{
	if (header->uptime != 0 && base->uptime != 0)
		return ahead(header->uptime, base->uptime) > 0;
	return header->exported < base->exported;
}

/* Returns the most units since `base`: a burst plus RATE_FACTOR times the mean rate. */
static double units_possible(const struct sequence *sequence, const struct sequence_base *base,
	const struct datagram_header *header)
{
	double passed = (double)(header->came - base->came) / SECOND_NS;
	double seen = (double)(base->came - sequence->first_came) / SECOND_NS;
	double rate = RATE_FACTOR * (double)sequence->taken / (seen > 1 ? seen : 1);
	double datagrams = BURST;

	if (passed > 0)
		datagrams += passed * (rate < RATE_MAX ? rate : RATE_MAX);
	return datagrams * window(sequence) / SEQUENCE_WINDOW;
}

/* Returns false if the expected number is that of `base`. */
static bool is_next(const struct sequence *sequence, const struct sequence_base *base,
	const struct datagram_header *header)
{
	uint32_t most = most_votes(sequence);

	if (base->uncertain || header->sequence == base->number)
		return false;
	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++)
		if ((is_possible(sequence, c, most) ||
			    (most == 0 && c == standard(sequence->protocol))) &&
			!is_after(c) &&
			header->sequence == base->number + units(c, base->data, base->flows))
			return true;
	return false;
}

/*
 * A smaller number within the window is late. A number beyond it, or further ahead than the
 * exporter can have sent, is out of range. The uptime shows a restart. Without uptime, a small
 * number out of range does.
 */
static enum sequence_fit fit_behind(const struct sequence *sequence,
	const struct sequence_base *base, const struct datagram_header *header)
{
	enum life life = life_of(base, header);
	int32_t step = ahead(base->number, header->sequence), far = window(sequence);
	double possible;
	bool away;

	if (life == LIFE_NEW)
		return SEQUENCE_RESTARTED;
	if (sequence->convention == SEQUENCE_CONSTANT)
		return life == LIFE_ODD ? SEQUENCE_DOUBTFUL : SEQUENCE_NEAR;
	if (step >= -far && step <= far && life != LIFE_SLOW) {
		if (life == LIFE_ODD)
			return SEQUENCE_DOUBTFUL;
		return is_next(sequence, base, header) ? SEQUENCE_NEXT : SEQUENCE_NEAR;
	}
	possible = units_possible(sequence, base, header);
	away = step < -far || step > possible;
	if (life == LIFE_SLOW && (away || step < 0 || step > far || (step == 0 && base->data != 0)))
		return SEQUENCE_RESTARTED;
	if (away && life == LIFE_UNKNOWN && header->sequence <= possible)
		return is_older(base, header) ? SEQUENCE_OFF : SEQUENCE_ANEW;
	if (away)
		return SEQUENCE_OFF;
	if (life == LIFE_ODD)
		return SEQUENCE_DOUBTFUL;
	if (is_next(sequence, base, header))
		return SEQUENCE_NEXT;
	return step <= far ? SEQUENCE_NEAR : SEQUENCE_FAR;
}

static bool continues_aside(const struct sequence *sequence, const struct datagram_header *header)
{
	return sequence->nb_aside > 0 &&
	       (sequence->aside_proven || ahead(sequence->aside.number, header->sequence) >= 0) &&
	       fit_behind(sequence, &sequence->aside, header) >= SEQUENCE_NEAR;
}

static bool is_anew_and_older(const struct sequence *sequence, const struct datagram_header *header)
{
	return !sequence->aside_proven && sequence->nb_aside + 1 >= OLD_ENOUGH &&
	       is_older(&sequence->base, header) &&
	       life_of(&sequence->base, header) == LIFE_UNKNOWN &&
	       header->sequence <= units_possible(sequence, &sequence->base, header);
}

enum sequence_fit sequence_fit(
	const struct sequence *sequence, const struct datagram_header *header)
{
	enum sequence_fit fit;

	if (!sequence->started)
		return SEQUENCE_FAR;
	if (is_repeated(sequence, header))
		return SEQUENCE_REPEATED;
	fit = fit_behind(sequence, &sequence->base, header);
	if (fit > SEQUENCE_DOUBTFUL || !continues_aside(sequence, header))
		return fit;
	return is_anew_and_older(sequence, header) ? SEQUENCE_ANEW : SEQUENCE_NEAR;
}

/* Returns at least 1. The next call corrects the rounding error. */
static uint32_t datagrams_of(struct sequence *sequence, uint32_t lost)
{
	uint32_t convention = sequence->convention, expected = standard(sequence->protocol);
	uint64_t datagrams;

	if (convention == SEQUENCE_UNSURE && sequence->votes[expected] == most_votes(sequence))
		convention = expected;
	if (convention == SEQUENCE_MESSAGES || sequence->records == 0)
		return lost;
	sequence->lost_units += lost;
	datagrams = (uint64_t)((double)sequence->lost_units * (double)sequence->messages /
				       (double)sequence->records +
			       0.5);
	datagrams = datagrams > sequence->lost + 1 ? datagrams - sequence->lost : 1;
	if (datagrams > lost)
		datagrams = lost;
	sequence->lost += datagrams;
	return (uint32_t)datagrams;
}

static struct sequence_message message_of(
	const struct datagram_header *header, const struct decode_result *result)
{
	uint32_t data = flow_protocols[header->protocol]->counts_records ? header->count
									 : result->data_records;

	return (struct sequence_message){
		.number = header->sequence,
		.data = data,
		.flows = data - (result->options < data ? result->options : data),
		.uncertain = result->unknown_sets || result->fault != DECODE_FINE,
		.unknown_sets = result->unknown_sets,
	};
}

static struct sequence_base base_of(
	const struct datagram_header *header, const struct sequence_message *message)
{
	return (struct sequence_base){
		.number = message->number,
		.data = message->data,
		.flows = message->flows,
		.uncertain = message->uncertain,
		.uptime = header->uptime,
		.exported = header->exported,
		.came = header->came,
	};
}

/* If numbers count records, the message after one without records has the same number. */
static void note_message(struct sequence *sequence, const struct datagram_header *header,
	const struct sequence_message *message, bool counted)
{
	struct sequence_print print = print_of(header);
	enum sequence_convention convention = sequence->convention;

	if (convention == SEQUENCE_UNSURE)
		convention = standard(sequence->protocol);
	if (message->data != 0) {
		sequence->messages++;
		sequence->records += message->data;
	}
	if (!counted)
		print.body = 0;
	if (message->data != 0 || message->unknown_sets || convention == SEQUENCE_MESSAGES)
		remember(sequence, print);
}

/* `step`: number of the message minus that of sequence->base */
static bool judge(struct sequence *sequence, int32_t gap, int32_t step,
	struct sequence_result *sequence_result)
{
	if (sequence->convention == SEQUENCE_CONSTANT)
		return true;
	if (sequence->convention == SEQUENCE_UNSURE && gap < 0 && step >= 0)
		return true;
	if (gap < 0) {
		sequence_result->recovered = sequence->missing > 0 && gap >= -window(sequence);
		sequence->missing -= sequence_result->recovered;
		return false;
	}
	if (gap > 0) {
		sequence_result->lost_units = (uint32_t)gap;
		sequence_result->lost = datagrams_of(sequence, sequence_result->lost_units);
		sequence->missing += sequence_result->lost;
	}
	return true;
}

/* A large gap may come from a forged message, so `base` must be recoverable. */
static void keep_base(struct sequence *sequence)
{
	sequence->aside = sequence->base;
	sequence->aside_proven = true;
	sequence->aside_lost = sequence->aside_age = 0;
	sequence->nb_aside = 1;
}

/*
 * Continues sequence->base or sequence->aside. The first message out of range only becomes `aside`,
 * so that a forged one changes nothing. If the next one continues it, both change places. Returns
 * false if the message continues neither.
 */
static bool find_line(struct sequence *sequence, const struct datagram_header *header,
	const struct sequence_message *message, enum sequence_fit fit,
	struct sequence_result *sequence_result)
{
	struct sequence_base base;

	if (fit > SEQUENCE_DOUBTFUL) {
		if (fit == SEQUENCE_FAR)
			keep_base(sequence);
		else if (!sequence->aside_proven || ++sequence->aside_age > SEQUENCE_WINDOW)
			sequence->nb_aside = 0;
		return true;
	}
	if (continues_aside(sequence, header)) {
		bool old = is_older(&sequence->base, header) && sequence->base.uptime == 0;

		if (!sequence->aside_proven && old && ++sequence->nb_aside < OLD_ENOUGH) {
			sequence->aside = base_of(header, message);
			return false;
		}
		sequence_result->jumped = !sequence->aside_proven;
		sequence_result->withdrawn = sequence->aside_lost;
		sequence->missing -= sequence->aside_lost < sequence->missing ? sequence->aside_lost
									      : sequence->missing;
		base = sequence->aside;
		keep_base(sequence);
		sequence->base = base;
		return true;
	}
	if (fit == SEQUENCE_DOUBTFUL)
		return true;
	sequence->aside = base_of(header, message);
	sequence->aside_proven = false;
	sequence->aside_lost = sequence->aside_age = 0;
	sequence->nb_aside = 1;
	return false;
}

/* Sets sequence->settled. Call when the votes or the convention changed. */
static void settle(struct sequence *sequence)
{
	uint32_t settled = 0;
	bool all = true;

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++) {
		settled |= (uint32_t)(sequence->votes[c] == VOTES_MAX) << c;
		all &= sequence->votes[c] == VOTES_MAX || sequence->votes[c] == 0;
	}
	sequence->settled = all && settled >> sequence->convention & 1 ? settled : 0;
}

/* Judges a message that continues sequence->base. Returns true if it is ahead of all earlier ones. */
static bool take_next(struct sequence *sequence, const struct sequence_message *message,
	struct sequence_result *sequence_result)
{
	uint32_t right = right_conventions(sequence, message);
	bool farther;

	/* No vote changes, and nothing was lost. */
	if (right != 0 && right == sequence->settled && are_counted(sequence, message))
		return true;
	/* Some exporters never have numbers that count messages or records. */
	if (sequence->convention == SEQUENCE_UNSURE && sequence->taken <= UNSURE_MOST)
		sequence_result->maybe_lost =
			gap_by(sequence, standard(sequence->protocol), message) > 0;
	vote(sequence, message, right);
	sequence_result->recognized = recognize(sequence);
	farther = judge(sequence, gap_of(sequence, message),
		ahead(sequence->base.number, message->number), sequence_result);
	settle(sequence);
	return farther;
}

/* Returns true if the first message heard is not the first of an exporter that started recently. */
static bool is_second(enum flow_protocol protocol, const struct sequence_message *message)
{
	uint32_t first = units(standard(protocol), message->data, message->flows);

	return message->number > (first > 1 ? first : 1) && message->number < BURST;
}

struct sequence_result sequence_end(struct sequence *sequence, const struct datagram_header *header,
	const struct decode_result *result, bool counted)
{
	struct sequence_message message = message_of(header, result);
	struct sequence_result sequence_result = {0};
	enum sequence_fit fit = SEQUENCE_NEXT;
	bool farther = true;

	if (!sequence->started) {
		sequence->first_came = header->came;
		sequence_result.maybe_lost = is_second(sequence->protocol, &message);
	}
	sequence->taken++;
	if (sequence->started) {
		fit = fit_behind(sequence, &sequence->base, header);
		farther = find_line(sequence, header, &message, fit, &sequence_result);
	}
	if (sequence->started && farther) {
		farther = take_next(sequence, &message, &sequence_result);
		if (fit == SEQUENCE_FAR)
			sequence->aside_lost = sequence_result.lost;
	}
	if (farther) {
		sequence->started = true;
		sequence->base = base_of(header, &message);
	}
	note_message(sequence, header, &message, counted);
	return sequence_result;
}
