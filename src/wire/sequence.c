/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire/sequence.h"

#include "base/random.h"

#define MS             1000000 /* ns */
#define TOLERANCE      5000    /* ms that clocks and late messages may differ */
#define VOTES_ENOUGH   3
#define VOTES_MAX      16
#define VOTES_MISSED   4 /* that a convention loses where another one was right */
#define BEHIND_MAX     3
#define NOT_COMPARABLE INT32_MIN

const char *const sequence_convention_words[SEQUENCE_CONVENTION_COUNT] = {
	[SEQUENCE_UNSURE] = "what is not known yet",
	[SEQUENCE_MESSAGES] = "messages",
	[SEQUENCE_RECORDS] = "data records before the message",
	[SEQUENCE_RECORDS_AFTER] = "data records, the message's own included",
	[SEQUENCE_FLOWS] = "data records without those of options",
	[SEQUENCE_FLOWS_AFTER] =
		"data records without those of options, the message's own included",
	[SEQUENCE_CONSTANT] = "nothing",
};

/* A message as its sequence number sees it. */
struct message {
	uint32_t number, data, flows;
	bool uncertain;
	bool unknown_sets; /* with records, certainly */
};

static enum sequence_convention standard(enum wire_protocol protocol)
{
	return protocol == WIRE_NETFLOW9 || protocol == WIRE_SFLOW ? SEQUENCE_MESSAGES
								   : SEQUENCE_RECORDS;
}

void sequence_init(struct sequence *sequence, enum wire_protocol protocol)
{
	*sequence = (struct sequence){.protocol = protocol};
}

/* How far b is ahead of a; numbers wrap. */
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

/*
 * How many units are missing between the message that is farthest on and this one, by a convention;
 * below 0: it comes late. *certain: the records that decide could all be counted.
 */
static int32_t gap_by(const struct sequence *sequence, enum sequence_convention convention,
	const struct message *message, bool *certain)
{
	bool after = convention == SEQUENCE_RECORDS_AFTER || convention == SEQUENCE_FLOWS_AFTER;
	bool counts_records = convention == SEQUENCE_RECORDS || convention == SEQUENCE_FLOWS;
	int32_t step = ahead(sequence->number, message->number);
	uint32_t last = units(convention, sequence->data, sequence->flows);

	*certain = !(after ? message->uncertain : counts_records && sequence->uncertain);
	if (!*certain)
		return step < 0 || (after && step == 0) ? -1 : 0;
	if (after)
		last = units(convention, message->data, message->flows);
	return ahead(sequence->number + last, message->number);
}

static void count_vote(uint32_t *votes, bool right, uint32_t missed)
{
	if (right)
		*votes += *votes < VOTES_MAX;
	else
		*votes -= *votes < missed ? *votes : missed;
}

/*
 * A convention whose next number was right gets a vote; where one was right, those that were wrong
 * lose some. Where none was, something else happened. Of records that cannot be counted only that
 * messages are counted can be learned, and only where that is expected.
 */
static void vote(struct sequence *sequence, const struct message *message)
{
	bool right[SEQUENCE_CONVENTION_COUNT] = {false}, any = false, all_certain = true;

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++) {
		bool certain;

		right[c] = gap_by(sequence, c, message, &certain) == 0 && certain;
		any |= right[c];
		all_certain &= certain;
	}
	if (!all_certain) {
		if (standard(sequence->protocol) == SEQUENCE_MESSAGES)
			count_vote(
				&sequence->votes[SEQUENCE_MESSAGES], right[SEQUENCE_MESSAGES], 1);
		return;
	}
	for (uint32_t c = SEQUENCE_MESSAGES; any && c < SEQUENCE_CONVENTION_COUNT; c++)
		count_vote(&sequence->votes[c], right[c], VOTES_MISSED);
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
 * It may be the one: nothing that was seen tells it from the one with most votes. One that is
 * recognized stays so until another is. Beside it, to be right once is chance: of messages of two
 * records each one that is lost looks as if records were counted.
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

/* True where it is known now, and was not, or was another. */
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

/* 0 where the conventions that are possible do not agree that something is missing, or late. */
static int32_t gap_of(const struct sequence *sequence, const struct message *message)
{
	int32_t least = INT32_MAX, largest = INT32_MIN;
	uint32_t most = most_votes(sequence);

	for (uint32_t c = SEQUENCE_MESSAGES; c < SEQUENCE_CONVENTION_COUNT; c++) {
		bool certain;
		int32_t gap;

		if (!is_possible(sequence, c, most))
			continue;
		gap = gap_by(sequence, c, message, &certain);
		least = gap < least ? gap : least;
		largest = gap > largest ? gap : largest;
	}
	if (least > 0)
		return least <= largest ? least : 0; /* where none is possible, nothing is known */
	return largest < 0 ? largest : 0;
}

/* Units of a window of messages: what is farther behind is not late. */
static int32_t window(const struct sequence *sequence)
{
	uint64_t mean = 1;

	if (sequence->convention == SEQUENCE_MESSAGES)
		return SEQUENCE_WINDOW;
	if (sequence->messages != 0)
		mean += sequence->records / sequence->messages;
	return (int32_t)(SEQUENCE_WINDOW * (mean < 65536 ? mean : 65536));
}

/* The same for a message that comes twice, and hardly ever for two messages. */
static uint32_t fingerprint(const struct wire_header *header)
{
	uint64_t mixed = random_mix((uint64_t)header->sequence << 32 | header->uptime);

	mixed = random_mix(mixed ^ (uint64_t)header->exported);
	mixed = random_mix(mixed ^ ((uint64_t)header->total << 32 | header->count));
	return (uint32_t)mixed;
}

static bool is_recent(const struct sequence *sequence, uint32_t print)
{
	uint32_t n = sequence->nb_recent < SEQUENCE_WINDOW ? sequence->nb_recent : SEQUENCE_WINDOW;
	bool found = false;

	for (uint32_t i = 0; i < n; i++)
		found |= sequence->recent[i] == print;
	return found;
}

static void remember(struct sequence *sequence, uint32_t print)
{
	/* It would wrap after 2^32 messages: the ring stays full. */
	if (sequence->nb_recent == 2 * SEQUENCE_WINDOW)
		sequence->nb_recent = SEQUENCE_WINDOW;
	sequence->recent[sequence->nb_recent++ % SEQUENCE_WINDOW] = print;
}

/* Of what came before, where the number went on by any of the message's own. */
static bool is_repeated(const struct sequence *sequence, const struct wire_header *header)
{
	int32_t step = ahead(sequence->number, header->sequence);

	/* Without a convention that tells messages apart, equal headers may be of two messages. */
	if (sequence->convention == SEQUENCE_UNSURE || sequence->convention == SEQUENCE_CONSTANT)
		return false;
	return step <= 0 && is_recent(sequence, fingerprint(header));
}

/* When the exporter started, in ms by its own clock; wraps as the uptime does. */
static uint32_t start_of(int64_t exported, uint32_t uptime)
{
	return (uint32_t)(exported / MS) - uptime;
}

/* The exporter's uptime says that it started later than was known. */
static bool uptime_went_back(const struct sequence *sequence, const struct wire_header *header)
{
	if (header->uptime == 0 || sequence->uptime == 0)
		return false;
	if (ahead(header->uptime, sequence->uptime) > TOLERANCE)
		return header->exported == 0 || sequence->exported == 0 ||
		       header->exported >= sequence->exported;
	return header->exported != 0 && sequence->exported != 0 &&
	       ahead(start_of(sequence->exported, sequence->uptime),
		       start_of(header->exported, header->uptime)) > TOLERANCE;
}

/* It was sent before the message that is farthest on, as far as clocks tell. */
static bool is_older(const struct sequence *sequence, const struct wire_header *header)
{
	if (header->uptime != 0 && sequence->uptime != 0)
		return ahead(header->uptime, sequence->uptime) > 0;
	return header->exported < sequence->exported;
}

/*
 * A number that goes back is late where it is within the window, and its clocks agree. One that
 * begins anew may look like one far ahead, because numbers wrap.
 */
static bool is_restart(struct sequence *sequence, const struct wire_header *header)
{
	int32_t step = ahead(sequence->number, header->sequence);
	int32_t far = window(sequence);
	bool anew = header->sequence < (uint32_t)far && (step > far || step < -far);
	bool back = uptime_went_back(sequence, header);
	bool same_time =
		header->exported == sequence->exported && header->uptime == sequence->uptime;

	if (sequence->convention == SEQUENCE_CONSTANT)
		return back;
	if (back && (step < 0 || anew || (step == 0 && sequence->data != 0)))
		return true;
	if (step >= -far && !anew) {
		sequence->behind = 0;
		return false;
	}
	if (!is_older(sequence, header) && (anew || !same_time))
		return true;
	/* A message on its own may have strayed. */
	return ++sequence->behind == BEHIND_MAX;
}

struct sequence_news sequence_begin(struct sequence *sequence, const struct wire_header *header)
{
	struct sequence_news news = {0};

	if (!sequence->started)
		return news;
	news.repeated = is_repeated(sequence, header);
	if (news.repeated)
		return news;
	news.restarted = is_restart(sequence, header);
	if (news.restarted) {
		sequence->started = false;
		sequence->behind = 0;
		sequence->missing = 0;
		sequence->nb_recent = 0;
	}
	return news;
}

/*
 * Lost units as datagrams of the mean size, at least one. What rounding said too much or too little
 * is made up for by the next.
 */
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

static struct message message_of(const struct wire_header *header, const struct wire_result *result)
{
	uint32_t data = result->data_records;

	if (header->protocol == WIRE_NETFLOW5)
		data = header->count; /* with those that are unusable */
	return (struct message){
		.number = header->sequence,
		.data = data,
		.flows = data - (result->options < data ? result->options : data),
		.uncertain = result->unknown_sets || result->fault != WIRE_FINE,
		.unknown_sets = result->unknown_sets,
	};
}

static void go_on(
	struct sequence *sequence, const struct wire_header *header, const struct message *message)
{
	sequence->started = true;
	sequence->number = message->number;
	sequence->data = message->data;
	sequence->flows = message->flows;
	sequence->uncertain = message->uncertain;
	sequence->uptime = header->uptime;
	sequence->exported = header->exported;
}

/* For mean sizes and repeated messages; one without records has the number of another, and may have
 * its length. */
static void note(
	struct sequence *sequence, const struct wire_header *header, const struct message *message)
{
	if (message->data != 0) {
		sequence->messages++;
		sequence->records += message->data;
	}
	if (message->data != 0 || message->unknown_sets ||
		sequence->convention == SEQUENCE_MESSAGES)
		remember(sequence, fingerprint(header));
}

/*
 * What a gap is worth; step: how far the number went on. True where the message is farther on than
 * those before. Until a convention is recognized a number that went on is none that came late.
 */
static bool judge(struct sequence *sequence, int32_t gap, int32_t step, struct sequence_news *news)
{
	if (sequence->convention == SEQUENCE_CONSTANT)
		return true;
	if (sequence->convention == SEQUENCE_UNSURE && gap < 0 && step >= 0)
		return true;
	if (gap < 0) {
		news->recovered = sequence->missing > 0 && gap >= -window(sequence);
		sequence->missing -= news->recovered;
		return false;
	}
	if (gap > 0) {
		news->lost_units = (uint32_t)gap;
		news->lost = datagrams_of(sequence, news->lost_units);
		sequence->missing += news->lost;
	}
	return true;
}

struct sequence_news sequence_end(struct sequence *sequence, const struct wire_header *header,
	const struct wire_result *result)
{
	struct message message = message_of(header, result);
	struct sequence_news news = {0};
	bool farther = true;

	if (sequence->started) {
		vote(sequence, &message);
		news.recognized = recognize(sequence);
		farther = judge(sequence, gap_of(sequence, &message),
			ahead(sequence->number, message.number), &news);
	}
	if (farther)
		go_on(sequence, header, &message);
	note(sequence, header, &message);
	return news;
}
