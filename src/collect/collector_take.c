/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/collector.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/address.h"
#include "base/assertion.h"
#include "base/router_names.h"
#include "base/units.h"
#include "collect/collector_state.h"

/* Sampling intervals use at most 1/SAMPLING_PART of a domain's template memory. */
#define SAMPLING_PART  8
#define SHARE_MIN      2048
#define BORROWERS      16 /* at least this number of domains can exceed their share */
/*
 * Start times that differ by at most this belong to the same start of an exporter, whose clock may
 * be adjusted between runs.
 */
#define SAME_START_MS  5000
/* Drift of the start time that is ignored during a run. */
#define START_DRIFT_MS 2000
/* Most packets and bytes of a record after upscaling. */
#define RECORD_PACKETS (UINT64_C(1) << 39)
#define RECORD_BYTES   (UINT64_C(1) << 52)
/*
 * Sums of an epoch must stay below 2^63 for any input. One half of this range is divided equally
 * among the slots. Slots borrow from the other half. So no exporter can take the share of another.
 */
#define SUM_HALF       ((UINT64_C(1) << 62) - 1)
/* Ports of IPFIX over TCP and SCTP (IANA): without and with TLS. */
#define IPFIX_PORT     4739
#define IPFIXS_PORT    4740
#define CACHE_LINE     64

size_t collector_memory(const struct collector_params *params)
{
	return sizeof(struct collector) + exporter_table_memory(params->exporters_max) +
	       (size_t)params->exporters_max *
		       (sizeof(struct domain) + sizeof(struct exporter_loss) + sizeof(uint64_t)) +
	       collector_sessions_max(params->exporters_max) * sizeof(struct session) +
	       waiting_memory(
		       params->waiting_bytes, collector_sessions_max(params->exporters_max)) +
	       sampling_checks_memory() + problems_memory() + params->template_bytes +
	       (params->links ? links_memory(params->exporters_max) : 0) +
	       (params->template_file != NULL ? template_saver_memory(collector_saved_bytes(params))
					      : 0);
}

/*
 * A datagram may store 8 data sets without a template, plus one per 32 bytes. Even a tiny set
 * occupies a block of memory.
 */
#define SETS_LEAST  8
#define SET_BYTES   32
/* Most new domains per datagram: each costs as much time as many records. */
#define DOMAINS_NEW 4

/* --- callbacks of flow_protocol_decode() --- */

void collector_flush(struct collector *collector)
{
	ASSERT(collector->nb_observations, <=, BURST_MAX);
	if (collector->nb_observations == 0)
		return;
	if (collector->links != NULL)
		links_count(collector->links, collector->observations, collector->nb_observations);
	collector->params.observe(
		collector->params.arg, collector->observations, collector->nb_observations);
	collector->nb_observations = 0;
}

/* Computes upscaled packets and bytes. Returns false if they are impossibly large. */
static bool multiply(const struct observation *observation, struct record_sums *record)
{
	uint64_t sampling = observation->sampling;

	record->packets = observation->packets;
	record->bytes = observation->bytes;
	if (sampling != 1 &&
		(__builtin_mul_overflow(record->packets, sampling, &record->packets) ||
			__builtin_mul_overflow(record->bytes, sampling, &record->bytes)))
		return false;
	return record->packets < RECORD_PACKETS && record->bytes < RECORD_BYTES;
}

/*
 * Increases *lent by the part of `more` that exceeds the share of the slot. Returns false if the
 * slot cannot borrow that much.
 */
static bool borrow(const struct collector *collector, uint64_t sum, uint64_t more, uint64_t *lent)
{
	uint64_t share = collector->sum_share, after = sum + more;
	uint64_t borrowed = sum > share ? sum - share : 0;
	uint64_t wanted = after > share ? after - share : 0;

	if (wanted > collector->sum_loan_max || wanted - borrowed > SUM_HALF - *lent)
		return false;
	*lent += wanted - borrowed;
	ASSERT(*lent, <=, SUM_HALF);
	return true;
}

static __attribute__((noinline)) bool add_above_share(
	struct collector *collector, struct record_sums *sums, const struct record_sums *record)
{
	struct record_sums lent = collector->lent;

	if (!borrow(collector, sums->packets, record->packets, &lent.packets) ||
		!borrow(collector, sums->bytes, record->bytes, &lent.bytes))
		return false;
	sums->packets += record->packets;
	sums->bytes += record->bytes;
	collector->lent = lent;
	return true;
}

/*
 * Adds a record to the sums of its exporter. Returns false if it exceeds what the slot has and can
 * borrow.
 */
static bool add_up(struct collector *collector, const struct record_sums *record)
{
	struct record_sums *sums = &collector->original->sums;
	uint64_t packets = sums->packets + record->packets, bytes = sums->bytes + record->bytes;

	if (packets > collector->sum_share || bytes > collector->sum_share)
		return add_above_share(collector, sums, record);
	sums->packets = packets;
	sums->bytes = bytes;
	return true;
}

/* Records of a batch that are not counted, by reason. */
struct refusals {
	uint32_t too_large, of_sum, no_place;
};

static bool can_be(struct collector *collector, const struct observation *observation,
	struct refusals *refusals)
{
	struct record_sums record;

	if (!multiply(observation, &record))
		refusals->too_large++;
	else if (!add_up(collector, &record))
		refusals->of_sum++;
	else
		return true;
	return false;
}

static bool is_left_out(struct collector *collector, const struct observation *observation)
{
	return collector->params.matches != NULL &&
	       !collector->params.matches(collector->params.arg, observation);
}

static void note_refusals(struct collector *collector, struct refusals *refusals)
{
	const struct domain *original = collector->original;

	if (refusals->no_place > 0)
		collector_note_domain(
			collector, PROBLEM_NO_PLACE, collector->domain, 0, refusals->no_place);
	if (refusals->too_large > 0)
		collector_note_domain(
			collector, PROBLEM_TOO_LARGE, original, 0, refusals->too_large);
	if (refusals->of_sum > 0)
		collector_note_domain(collector, PROBLEM_SUM, original, 0, refusals->of_sum);
	*refusals = (struct refusals){0};
}

/* Updates the largest and smallest sampling intervals from the records decoded so far. */
static void note_intervals(struct collector *collector)
{
	const struct observation_point *point = &collector->point;
	struct domain *domain = collector->domain, *original = collector->original;

	if (point->finest == 0)
		return;
	domain->had_records = original->had_records = true;
	if (collector->finest == 0 || point->finest < collector->finest)
		collector->finest = point->finest;
	if (original != domain && point->coarsest > domain->forwarded)
		domain->forwarded = point->coarsest;
	if (point->coarsest < original->interval && !point->finer && !original->interval_old)
		return;
	if (point->coarsest < original->interval && original->interval > original->interval_before)
		original->interval_before = original->interval;
	original->interval = point->coarsest;
	original->interval_position = point->coarsest_place;
	original->interval_old = false;
}

/*
 * Returns the reason why records of the datagram may have a larger sampling interval than assumed.
 */
static enum sampling_certainty certainty_of(struct collector *collector)
{
	const struct observation_point *point = &collector->point;
	struct sampling *sampling = &collector->session->sampling;

	sampling->named |= (point->has & FLOW_SAMPLER) != 0;
	sampling->unsampled |= point->unsampled;
	if (point->certainty == SAMPLING_SURE && point->unsampled && !sampling->named &&
		sampling_has_samplers(&point->sampling))
		return SAMPLING_UNNAMED;
	return point->certainty;
}

/* Stores the sampling of the records since begin_original(). Returns its certainty. */
static enum sampling_certainty end_original(struct collector *collector)
{
	struct observation_point *point = &collector->point;
	struct domain *original = collector->original;
	enum sampling_certainty certainty = certainty_of(collector);

	original->doubted |= certainty != SAMPLING_SURE && certainty != SAMPLING_LATE;
	exporter_row_sampled(&original->row, point->coarsest, point->source);
	note_intervals(collector);
	point->coarsest = point->finest = 0;
	point->finer = false;
	point->source = SAMPLING_NONE;
	observe_anew(point);
	return certainty;
}

void collector_expect_sampling(
	struct collector *collector, uint32_t slot, uint32_t interval, bool mixed)
{
	atomic_store_explicit(&collector->expected[slot], interval | (mixed ? EXPECTED_MIXED : 0),
		memory_order_relaxed);
}

void collector_scale_sampling(struct collector *collector, uint32_t rule, uint32_t interval)
{
	atomic_store_explicit(&collector->scaled[rule], interval, memory_order_relaxed);
}

static uint32_t rule_sampling(const struct exporter_rule *rule)
{
	return rule != NULL ? rule->sampling : 0;
}

/* Selects the exporter of the following records. */
static void begin_original(struct collector *collector, struct domain *original)
{
	struct observation_point *point = &collector->point;

	collector->original = original;
	point->slot = slot_of(collector, original);
	point->rule = original->rule;
	/* Looks up the sampling again: domain 0 of the sender may have lost its slot. */
	point->sampling = session_sampling(collector, collector->domain, collector->session);
	point->sampling.configured = rule_sampling(original->rule);
	point->known = original->interval;
	point->known_place = original->interval_position;
	observe_anew(point);
}

static struct exporter_id id_of_original(
	const struct collector *collector, const struct flow_record *record)
{
	const struct exporter_row *sender = &collector->domain->row;
	struct exporter_id id = {
		.domain = record->has & FLOW_EXPORTER_DOMAIN ? record->exporter_domain
							     : sender->domain,
		.protocol = sender->protocol,
	};

	address_map(&id.address, record->exporter, record->exporter_ipv6);
	return id;
}

/*
 * Returns the domain of the original exporter of a forwarded record; NULL: no slot is free.
 * Forwarded records and messages share the limit of new domains per datagram. Forwarded records do
 * not prove their exporter (exporter_prove()).
 */
static struct domain *domain_of_original(struct collector *collector, const struct exporter_id *id)
{
	struct domain *sender = collector->domain, *original = NULL;
	uint32_t slot = exporter_find(collector->exporters, id);
	const struct exporter_rule *rule;

	if (slot != EXPORTER_NONE) {
		exporter_heard(collector->exporters, slot);
		original = &collector->domains[slot];
	} else if (collector->domains_left > 0) {
		collector->domains_left--;
		rule = collector_rule_of(collector, &id->address);
		original = domain_admit(collector, id, rule != NULL ? rule : sender->rule);
	}
	if (original == NULL)
		return NULL;
	original->socket = sender->socket;
	original->dst_port = sender->dst_port;
	original->heard = sender->heard;
	original->proven |= sender->proven;
	return original;
}

static bool same_exporter(const struct exporter_row *row, const struct exporter_id *id)
{
	return row->domain == id->domain && row->protocol == id->protocol &&
	       memcmp(&row->address, &id->address, sizeof(id->address)) == 0;
}

/* Selects the exporter of a record, which may be forwarded. Returns false if no slot is free. */
static bool choose_original(
	struct collector *collector, const struct flow_record *record, struct refusals *refusals)
{
	struct domain *original = collector->domain;
	struct exporter_id id;

	if (record->has & FLOW_EXPORTER) {
		id = id_of_original(collector, record);
		if (same_exporter(&collector->original->row, &id))
			return true;
	}
	note_refusals(collector, refusals);
	end_original(collector);
	/* The slot of the previous original exporter may be reused below. */
	begin_original(collector, collector->domain);
	if (record->has & FLOW_EXPORTER)
		original = domain_of_original(collector, &id);
	if (original == NULL)
		return false;
	begin_original(collector, original);
	return true;
}

static void take_record(
	struct collector *collector, const struct flow_record *record, struct refusals *refusals)
{
	struct observation *observation = &collector->observations[collector->nb_observations];
	struct exporter_row *row = &collector->original->row;
	bool some = observe(&collector->point, record, observation);

	row->records++;
	if (!some || !can_be(collector, observation, refusals)) {
		row->unusable++;
		collector->original->harmless += !some;
	} else if (is_left_out(collector, observation)) {
		row->records--;
		row->left_out++;
	} else if (++collector->nb_observations == BURST_MAX) {
		collector_flush(collector);
	}
}

static void on_records(void *arg, uint32_t n)
{
	struct collector *collector = arg;
	struct refusals refusals = {0};

	if (collector->copy)
		return;
	sampling_settle(&collector->session->sampling);
	observe_anew(&collector->point);
	for (uint32_t i = 0; i < n; i++) {
		const struct flow_record *record = &collector->batch[i];

		if ((record->has & FLOW_EXPORTER || collector->original != collector->domain) &&
			!choose_original(collector, record, &refusals)) {
			collector->domain->row.records++;
			collector->domain->row.unusable++;
			refusals.no_place++;
			continue;
		}
		take_record(collector, record, &refusals);
	}
	note_refusals(collector, &refusals);
}

/* Returns the session of domain `number` of the same exporter; NULL if there is none. */
static const struct session *sibling(const struct collector *collector, const struct domain *domain,
	const struct session *session, uint32_t number)
{
	const struct exporter_row *row = &domain->row;
	struct exporter_id id = {row->address, number, row->protocol};
	uint32_t slot = exporter_find(collector->exporters, &id);

	return slot != EXPORTER_NONE ? session_like(&collector->domains[slot], session) : NULL;
}

/* Returns true if records of the option's domain were counted as unsampled before. */
static bool counted_unsampled(const struct collector *collector, const struct option_record *option)
{
	const struct session *session = collector->session;

	if (option->has & OPTION_RECORD_DOMAIN && option->domain != collector->domain->row.domain)
		session = sibling(collector, collector->domain, session, option->domain);
	else if (collector->point.unsampled)
		return true;
	return session != NULL && session->sampling.unsampled;
}

void collector_note_lost(struct collector *collector, uint64_t packets, uint32_t interval)
{
	uint64_t stand_for;

	if (packets == 0)
		return;
	if (__builtin_mul_overflow(packets, (uint64_t)(interval > 0 ? interval : 1), &stand_for) ||
		stand_for > SUM_HALF - collector->lost_packets)
		collector->unknown_sampler = true;
	else
		collector->lost_packets += stand_for;
	if (interval > collector->lost_interval)
		collector->lost_interval = interval;
}

/*
 * Returns the largest sampling interval of all domains of the exporter and of records it forwards.
 */
static uint32_t coarsest_of_exporter(const struct collector *collector, const struct domain *domain)
{
	uint32_t slot = exporter_at(collector->exporters, &domain->row.address), coarsest = 0;

	for (; slot != EXPORTER_NONE; slot = exporter_sibling(collector->exporters, slot)) {
		const struct domain *sibling = &collector->domains[slot];
		uint32_t interval = domain_interval(collector, sibling);

		interval = sibling->forwarded > interval ? sibling->forwarded : interval;
		if (interval > coarsest)
			coarsest = interval;
	}
	return coarsest;
}

/* Returns false for a restart that only one message has shown so far. */
static bool is_certain(const struct session *session)
{
	return session->proven || !session->restart;
}

/* Counts losses that the exporter reports. They may concern any of its domains. */
static void note_reported(struct collector *collector, const struct option_record *option)
{
	struct domain *domain = collector->domain;
	struct reported_loss loss = losses_reported(&collector->session->reported, option);
	uint32_t interval;

	if (collector->copy)
		return;
	domain->row.lost_agent += loss.packets;
	collector->unknown_sampler |= loss.unknown;
	if (loss.packets == 0 || loss.unknown)
		return;
	interval = coarsest_of_exporter(collector, domain);
	if (interval == SAMPLING_RATIO_UNKNOWN)
		collector->unknown_sampler = true;
	else
		collector_note_lost(collector, loss.packets, interval);
}

static void on_option(void *arg, const struct option_record *option)
{
	struct collector *collector = arg;
	struct domain *domain = collector->domain;

	if (sampling_learn(&collector->session->sampling, domain->row.domain, option,
		    collector->sampling_limit)) {
		collector->file_due = true;
		collector->process_options |= domain->row.domain == 0;
		/* If the option describes a sampler, records that name it were already in doubt. */
		if (!(option->has & OPTION_RECORD_SAMPLER) && option->sampling > 1 &&
			counted_unsampled(collector, option))
			collector->point.certainty = SAMPLING_LATE;
	}
	if (option->has_lost != 0 && is_certain(collector->session))
		note_reported(collector, option);
	if (collector->links != NULL)
		links_learn(collector->links, slot_of(collector, collector->domain), option);
}

static void on_gone(void *arg, uint32_t session)
{
	struct collector *collector = arg;

	collector->domains[collector->sessions[session].slot].row.unknown_template++;
}

static void on_unknown(void *arg, uint16_t template_id, const uint8_t *data, uint32_t len)
{
	struct collector *collector = arg;
	uint32_t session = session_index(collector, collector->session);
	struct waiting_set set = {
		.header = *collector->header,
		.time = collector->point.time,
		.template_id = template_id,
		.proven = exporter_is_proven(
			collector->exporters, slot_of(collector, collector->domain)),
		.len = len,
		.data = data,
	};

	set.header.body = NULL; /* the set outlives its datagram */
	set.header.body_len = 0;
	if (collector->retrying) {
		collector->still_unknown = true;
		return;
	}
	if (collector->copy)
		return;
	if (collector->sets_left == 0) {
		on_gone(collector, session);
		return;
	}
	collector->sets_left--;
	waiting_put(collector->waiting, session, &set, on_gone, collector);
}

static void on_template_known(void *arg, uint16_t template_id)
{
	struct collector *collector = arg;

	if (collector->nb_known < KNOWN_MAX)
		collector->known[collector->nb_known++] = template_id;
}

static void on_counters(void *arg, const struct interface_counters *counters)
{
	struct collector *collector = arg;

	/* Interface counters cannot be filtered, so --filter disables them. */
	if (collector->links != NULL && collector->params.matches == NULL && !collector->copy &&
		is_certain(collector->session))
		links_counters(collector->links, slot_of(collector, collector->domain), counters,
			collector->point.time);
}

/* Counts the difference if a sample pool contradicts the announced sampling interval. */
static void note_pool(struct collector *collector, const struct sampler_state *sampler,
	const struct sampler_result *result)
{
	struct domain *domain = collector->domain;

	domain->excess += result->excess;
	if (result->pool_interval > sampler->sampling) {
		if (result->pool_interval > domain->excess_interval)
			domain->excess_interval = result->pool_interval;
	} else if (result->pool_interval > 0) {
		/* pool_interval may have been rounded up by as much as 0.5. */
		double factor = sampler->sampling / ((double)result->pool_interval - 0.5);

		if (factor > collector->overcount)
			collector->overcount = factor;
	}
}

static void on_sampler(void *arg, const struct sampler_state *sampler)
{
	struct collector *collector = arg;
	struct domain *domain = collector->domain;
	struct session *session = collector->session;
	struct sampler_result result;

	if (!sampling_check(collector->checks, session->owner, session->breaks, sampler, &result) ||
		collector->copy)
		return;
	domain->row.lost_agent += result.lost;
	collector_note_lost(collector, result.lost, sampler->sampling);
	note_pool(collector, sampler, &result);
	if (result.measured == 0)
		return;
	domain->pool_due = result.measured;
	domain->pool_interval = sampler->sampling;
}

/* --- log messages of a domain --- */

static int64_t clock_offset(const struct collector *collector)
{
	return collector->header->exported - collector->now;
}

static bool is_clock_off(const struct collector *collector)
{
	const struct datagram_header *header = collector->header;
	int64_t offset = clock_offset(collector);
	int64_t coarse = flow_protocols[header->protocol]->whole_seconds ? SECOND_NS : 0;

	return header->exported != 0 && (offset > SECOND_NS || offset < -SECOND_NS - coarse);
}

static void warn_clock(struct collector *collector, struct domain *domain, const char *name)
{
	int64_t offset = clock_offset(collector);

	domain->clock_logged = collector_log(collector, true,
		"the clock of exporter %s is %.3f s %s: records count in the interval in which they "
		"arrive",
		name, fabs((double)offset / 1e9), offset > 0 ? "ahead" : "behind");
}

static const char *const doubt_words[] = {
	[SAMPLING_UNDESCRIBED] = "has not sent the interval of its sampler: until then its packets "
				 "count as unsampled; set --exporter ...,sampling=N",
	[SAMPLING_UNNAMED] = "has samplers, but its records do not name them: its packets count "
			     "as unsampled; set --exporter ...,sampling=N",
	[SAMPLING_TOO_MANY] = "has more samplers and interfaces with sampling than the table can "
			      "store: packets of the others count as unsampled; lower "
			      "exporters-max, or set --exporter ...,sampling=N",
	[SAMPLING_LATE] = "has sent its sampling interval late: its earlier packets were counted "
			  "as unsampled",
	[SAMPLING_RATIO] = "samples packets and does not report its interval: upper bounds are "
			   "empty; set --exporter ...,sampling=N",
	[SAMPLING_PARTS] = "samples differently by line card, cache or process, which its records "
			   "do not name: the smallest interval is used and upper bounds are empty; "
			   "set --exporter ...,sampling=N",
	[SAMPLING_FLOWS] = "exports only some flows (RFC 7014): upper bounds are empty",
};

static void warn_sampling(struct collector *collector, struct domain *domain, const char *name)
{
	if (domain->doubt_due != SAMPLING_SURE && collector_log(collector, true, "exporter %s %s",
							  name, doubt_words[domain->doubt_due]))
		domain->doubt_due = SAMPLING_SURE;
	if (domain->pool_due > 0 &&
		collector_log(collector, true,
			"exporter %s reports a sampling interval of %u, but its sample pool grows "
			"by %u packets per sample",
			name, domain->pool_interval, domain->pool_due))
		domain->pool_due = 0;
}

/* Reading the name takes a lock, so it is read only if there is something to log. */
static void warn_domain(struct collector *collector, struct domain *domain)
{
	bool clock_due = !domain->clock_logged && is_clock_off(collector);
	char name[ROUTER_NAME_MAX];

	if (!clock_due && domain->ports_due[1] == 0 && domain->convention_due == SEQUENCE_UNSURE &&
		domain->pool_due == 0 && domain->doubt_due == SAMPLING_SURE)
		return;
	router_name_get(slot_of(collector, domain), name);
	if (clock_due)
		warn_clock(collector, domain, name);
	if (domain->convention_due != SEQUENCE_UNSURE &&
		collector_log(collector, false,
			"the sequence numbers of exporter %s count %s, contrary to its protocol",
			name, sequence_convention_words[domain->convention_due]))
		domain->convention_due = SEQUENCE_UNSURE;
	if (domain->ports_due[1] != 0 &&
		collector_log(collector, false,
			"exporter %s sends from ports %u and %u at the same time: their counts are "
			"added; if both see the same packets, configure a domain for each (source "
			"ID, observation domain, engine ID or sub-agent)",
			name, domain->ports_due[0], domain->ports_due[1]))
		domain->ports_due[0] = domain->ports_due[1] = 0;
	warn_sampling(collector, domain, name);
}

static bool is_standard(const struct sequence *sequence)
{
	return sequence->convention == flow_protocols[sequence->protocol]->sequence;
}

static void count_sequence(struct collector *collector, const struct sequence_result *result)
{
	struct domain *domain = collector->domain;
	const struct sequence *sequence = &collector->session->sequence;

	domain->after_loss |= result->lost > 0 || result->jumped || result->maybe_lost;
	domain->gaps += result->lost;
	domain->gaps -= result->withdrawn < domain->gaps ? result->withdrawn : domain->gaps;
	if (result->recovered > 0) {
		domain->row.reordered++;
		domain->gaps -= domain->gaps > 0;
	}
	if (result->recognized && !is_standard(sequence))
		domain->convention_due = sequence->convention;
	if (result->jumped) {
		domain->jumped = true;
		collector_note_domain(collector, PROBLEM_JUMP, domain, 0, 1);
	}
}

static bool is_farther(int32_t ms, int32_t limit)
{
	return ms > limit || ms < -limit;
}

/*
 * Stores the time at which the exporter started, by its own clock. Only NetFlow v9 reports it. If
 * it differs from the time in the template file, the templates of the file are outdated.
 */
static void note_start(struct collector *collector, struct session *session)
{
	const struct datagram_header *header = collector->header;
	int64_t started = header->exported / 1000000 - header->uptime;
	int32_t moved; /* uptimes wrap around */

	if (!flow_protocols[header->protocol]->has_templates || header->uptime == 0)
		return;
	moved = (int32_t)(uint32_t)((uint64_t)started - (uint64_t)session->started);
	if (session->started != 0 && !is_farther(moved, START_DRIFT_MS))
		return;
	if (session->from_file && session->started != 0 && is_farther(moved, SAME_START_MS))
		session_forget_templates(collector, session);
	collector->file_due |=
		session->templates != NULL && templates_count(session->templates) > 0;
	session->started = started;
}

_Static_assert(PROBLEM_OTHERS - PROBLEM_NO_ADDRESSES == DECODE_SKIP_OTHERS, "the same order");

static void count_templates(
	struct collector *collector, struct session *session, const struct decode_result *result)
{
	if (result->templates > 0)
		session->from_file = false;
	if (session->from_file && (result->fault == DECODE_LENGTH || result->fault == DECODE_COUNT))
		session_forget_templates(collector, session);
	domain_settle_templates(collector, collector->domain);
	if (session->templates != NULL &&
		templates_changes(session->templates) != session->template_changes) {
		session->template_changes = templates_changes(session->templates);
		collector->file_due = true;
	}
}

static void account(struct collector *collector, const struct decode_result *result)
{
	struct domain *domain = collector->domain;
	struct session *session = collector->session;

	count_templates(collector, session, result);
	if (collector->copy)
		return;
	domain->row.records += result->unusable;
	domain->row.unusable += result->unusable;
	domain->harmless += result->harmless;
	if (result->fault != DECODE_FINE) {
		domain->row.malformed++;
		collector_note_domain(collector, PROBLEM_MALFORMED, domain, result->fault, 1);
	}
	for (uint32_t i = 0; i < result->nb_skipped; i++)
		collector_note_domain(collector,
			(enum problem)(PROBLEM_NO_ADDRESSES + result->skipped[i].why), domain,
			result->skipped[i].detail, result->skipped[i].records);
}

static bool decode_waiting(void *arg, const struct waiting_set *set)
{
	struct collector *collector = arg;
	struct decode_result result;

	collector->header = &set->header;
	collector->point.time = set->time;
	collector->still_unknown = false;
	result = flow_protocol_decode_set(&set->header, collector->session->templates,
		set->template_id, set->data, set->len, &collector->sink);
	if (!collector->still_unknown)
		account(collector, &result);
	return !collector->still_unknown;
}

/* Notes a doubt about the sampling of the datagram's records, and that it must be logged once. */
static void note_doubt(struct collector *collector, enum sampling_certainty certainty)
{
	struct domain *domain = collector->domain;

	if (certainty == SAMPLING_SURE)
		return;
	domain->doubted |= certainty != SAMPLING_LATE;
	collector->unknown_sampler = true;
	if (!domain->doubt_seen)
		domain->doubt_due = certainty;
	domain->doubt_seen = true;
}

static void decode(
	struct collector *collector, const struct datagram *datagram, struct decode_result *result)
{
	const struct datagram_header *header = collector->header;
	const struct templates *templates = collector->session->templates;
	uint32_t index = session_index(collector, collector->session);

	collector->nb_known = 0;
	*result = flow_protocol_decode(header, collector->session->templates, datagram->data,
		datagram->len, &collector->sink);
	account(collector, result);
	if (collector->nb_known > 0 && waiting_count(collector->waiting, index) > 0) {
		collector->retrying = true;
		collector->copy = false; /* sets that waited were not counted yet */
		for (uint32_t i = 0; i < collector->nb_known; i++)
			/* A later set of the datagram may have withdrawn the template. */
			if (templates_has(templates, collector->known[i]))
				waiting_offer(collector->waiting, index, collector->known[i],
					decode_waiting, collector);
		collector->retrying = false;
		collector->header = header;
		collector->point.time = datagram->time;
	}
	note_doubt(collector, end_original(collector));
}

/* Returns 0 if the records of the domain are not scaled by their exporter. */
static uint32_t scaled_interval(const struct collector *collector, const struct domain *domain)
{
	const struct exporter_rule *rule = domain->rule;
	uint32_t interval;

	if (rule == NULL || rule->ovsdb[0] == '\0' || domain->row.protocol != FLOW_PROTOCOL_IPFIX)
		return 0;
	interval = atomic_load_explicit(
		&collector->scaled[rule - collector->params.rules], memory_order_relaxed);
	return interval > 0 ? interval : SAMPLING_RATIO_UNKNOWN;
}

struct sampling_knowledge session_sampling(const struct collector *collector,
	const struct domain *domain, const struct session *session)
{
	static const struct sampling nothing;
	const struct session *process = NULL;

	if (collector->process_options && flow_protocols[domain->row.protocol]->process_domain &&
		domain->row.domain != 0)
		process = sibling(collector, domain, session, 0);
	return (struct sampling_knowledge){
		.scaled = scaled_interval(collector, domain),
		.own = session != NULL ? &session->sampling : &nothing,
		.process = process != NULL ? &process->sampling : NULL,
		.domain = domain->row.domain,
		.configured = rule_sampling(domain->rule),
		.protocol = domain->row.protocol,
	};
}

/*
 * Returns the largest sampling interval that options of the exporter's processes describe. Returns
 * 0 or SAMPLING_RATIO_UNKNOWN as sampling_described() does.
 */
static uint32_t domain_described(const struct collector *collector, const struct domain *domain)
{
	const struct session *session = domain->sessions;
	uint32_t coarsest = 0;

	do {
		struct sampling_knowledge knowledge = session_sampling(collector, domain, session);
		uint32_t described = sampling_described(&knowledge);

		/* This session ended with a restart: a later session describes the sampling. */
		if (session != NULL && session->over)
			described = 0;
		if (coarsest == 0 || coarsest == SAMPLING_RATIO_UNKNOWN ||
			(described > coarsest && described != SAMPLING_RATIO_UNKNOWN))
			coarsest = described != 0 ? described : coarsest;
		session = session != NULL ? session->next : NULL;
	} while (session != NULL);
	return coarsest;
}

uint32_t domain_interval(const struct collector *collector, const struct domain *domain)
{
	uint32_t configured = rule_sampling(domain->rule);
	uint32_t described = domain_described(collector, domain);

	if (domain->interval > 0)
		return described > domain->interval && described != SAMPLING_RATIO_UNKNOWN
			       ? described
			       : domain->interval;
	if (configured > 0 && (described == 0 || described == SAMPLING_RATIO_UNKNOWN))
		return configured;
	return described;
}

static void start_point(struct collector *collector, const struct datagram *datagram)
{
	const struct domain *domain = collector->domain;
	struct observation_point *point = &collector->point;

	/* memset() avoids the copy of a compound literal. */
	memset(point, 0, sizeof(*point));
	point->slot = slot_of(collector, collector->domain);
	point->link_overhead = collector->params.link_overhead;
	point->time = datagram->time;
	point->rule = domain->rule;
	point->sampling = session_sampling(collector, domain, collector->session);
	point->known = domain->interval;
	point->known_place = domain->interval_position;
	point->random = &collector->random;
	point->after_loss = domain->after_loss;
	point->exporters = collector->exporters;
	collector->original = collector->domain;
}

/*
 * Counts gaps between datagrams. After a gap, sampling_check() cannot tell whether the agent or the
 * network lost samples.
 */
static void note_break(struct session *session, const struct datagram_header *header)
{
	session->breaks += header->sequence != session->sent + 1;
	session->sent = header->sequence;
}

/* Returns true if the datagram was decoded completely and was not empty. */
static bool is_good(const struct decode_result *result)
{
	return result->fault == DECODE_FINE &&
	       result->data_records + result->templates + result->samples > 0;
}

static void take_from(struct collector *collector, struct session *session,
	const struct datagram *datagram, const struct datagram_header *header)
{
	struct domain *domain = collector->domain;
	struct sequence_result sequence_result;
	struct decode_result result;
	bool copy;

	session_heard(collector, session);
	copy = domain->nb_sessions > 1 && session_take_copy(domain, session, header);
	domain->row.repeated += copy;
	collector->copy = copy;
	note_break(session, header);
	note_start(collector, session);
	start_point(collector, datagram);
	decode(collector, datagram, &result);
	domain->after_loss &= result.data_records == 0;
	if (result.fault == DECODE_FINE)
		collector_prove(collector, domain);
	if (is_good(&result))
		exporter_prove(collector->exporters, slot_of(collector, domain));
	sequence_result = sequence_end(&session->sequence, header, &result, !copy);
	count_sequence(collector, &sequence_result);
	warn_domain(collector, domain);
}

/*
 * Sets the ID of an exporter. Its address is that of the sFlow agent if the datagram contains it,
 * else the source address.
 */
static void identify(const struct datagram *datagram, const struct datagram_header *header,
	struct exporter_id *id)
{
	static const uint8_t none[16];

	id->address = datagram->src;
	id->domain = header->domain;
	id->protocol = header->protocol;
	if (header->agent_family == 0 ||
		memcmp(header->agent, none, header->agent_family == 4 ? 4 : 16) == 0)
		return;
	address_map(&id->address, header->agent, header->agent_family != 4);
}

void collector_count_other(
	struct collector *collector, const struct datagram *datagram, uint64_t *reason)
{
	collector->others.datagrams++;
	collector->others.bytes += datagram->len;
	++*reason;
}

/* The agent address of sFlow does not count, because it can be forged. */
bool collector_refuses(const struct collector *collector, const struct datagram *datagram)
{
	return collector->params.nb_rules > 0 &&
	       collector_rule_of(collector, &datagram->src) == NULL;
}

static void count_refused(struct collector *collector, const struct datagram *datagram)
{
	collector_count_other(collector, datagram, &collector->others.refused);
	collector_note_sender(collector, PROBLEM_REFUSED, &datagram->src, 0, 1);
}

static void shed(struct collector *collector, const struct datagram *datagram)
{
	collector_count_other(collector, datagram, &collector->others.shed);
	collector_note_sender(collector, PROBLEM_NO_ROOM, NULL, 0, 1);
}

/* Returns NULL if no slot is free. */
static struct domain *admit_sender(
	struct collector *collector, const struct datagram *datagram, const struct exporter_id *id)
{
	const struct exporter_rule *rule = collector_rule_of(collector, &id->address);

	return domain_admit(
		collector, id, rule != NULL ? rule : collector_rule_of(collector, &datagram->src));
}

static bool same_address(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * Returns the domain of a message. Returns NULL if the message is refused or no slot is free; it is
 * then already counted.
 */
static struct domain *domain_of(struct collector *collector, const struct datagram *datagram,
	const struct datagram_header *header)
{
	struct domain *domain = NULL;
	struct exporter_id id;
	uint32_t slot;

	identify(datagram, header, &id);
	slot = exporter_find(collector->exporters, &id);
	if (slot != EXPORTER_NONE)
		domain = &collector->domains[slot];
	if ((domain == NULL || !same_address(&domain->sender, &datagram->src)) &&
		collector_refuses(collector, datagram)) {
		count_refused(collector, datagram);
		return NULL;
	}
	/* This cannot be the first message of the datagram, so the datagram is already counted. */
	if (domain == NULL && collector->domains_left == 0) {
		collector->others.shed++;
		collector_note_sender(collector, PROBLEM_NEW_DOMAINS, &datagram->src, 0, 1);
		return NULL;
	}
	if (domain != NULL) {
		exporter_heard(collector->exporters, slot);
	} else {
		collector->domains_left--;
		domain = admit_sender(collector, datagram, &id);
	}
	if (domain == NULL) {
		shed(collector, datagram);
		return NULL;
	}
	domain->sender = datagram->src;
	return domain;
}

/* Processes the next message of a datagram. Returns its length. */
static uint32_t take_message(
	struct collector *collector, const struct datagram *datagram, bool first)
{
	struct datagram message = *datagram;
	struct datagram_header header;
	struct domain *domain;
	struct session *session;
	enum sequence_fit fit;
	enum decode_fault fault = flow_protocol_read_header(datagram->data, datagram->len, &header);
	uint32_t len = datagram->len;

	if (fault != DECODE_FINE) {
		if (collector_refuses(collector, datagram))
			count_refused(collector, datagram);
		else
			collector_take_unreadable(collector, datagram, fault);
		return len;
	}
	ASSERT(header.len, <=, header.total);
	ASSERT(header.total, <=, len);
	len = header.total;
	header.came = datagram->time;
	header.body = datagram->data + header.len;
	header.body_len = len - header.len;
	domain = domain_of(collector, datagram, &header);
	if (domain == NULL)
		return datagram->len;
	domain->heard = datagram->time;
	domain->socket = datagram->socket < SOCKETS_MAX ? datagram->socket : 0;
	domain->dst_port = datagram->dst_port;
	message.len = len;
	session = session_find(collector, domain, &message, &header, &fit);
	if (!session_make_templates(collector, session)) {
		shed(collector, datagram);
		return datagram->len;
	}
	domain->row.datagrams += first;
	domain->row.bytes += len;
	collector->domain = domain;
	collector->session = session;
	collector->header = &header;
	if (fit == SEQUENCE_REPEATED)
		domain->row.repeated++;
	else
		take_from(collector, session, datagram, &header);
	return len;
}

void collector_take(struct collector *collector, const struct datagram *datagram)
{
	struct datagram left = *datagram;
	uint32_t taken;

	for (uint32_t at = 0; at < datagram->len; at += CACHE_LINE)
		__builtin_prefetch(datagram->data + at);
	collector->datagrams++;
	collector->now = datagram->time;
	exporter_datagram(collector->exporters, datagram->time);
	collector_log_next(collector);
	collector->sets_left = SETS_LEAST + datagram->len / SET_BYTES;
	collector->domains_left = DOMAINS_NEW;
	do {
		taken = take_message(collector, &left, left.len == datagram->len);
		left.data += taken;
		left.len -= taken;
	} while (flow_protocol_is_framed(left.data, left.len));
}

/*
 * Returns true if the port is used for IPFIX streams. If `ipfix` is set, the port counts as such
 * from now on.
 */
static bool is_stream_port(struct collector *collector, uint16_t port, bool ipfix)
{
	uint64_t bit = UINT64_C(1) << port % 64, *word = &collector->stream_ports[port / 64];

	if (ipfix)
		*word |= bit;
	return (*word & bit) != 0 || port == IPFIX_PORT || port == IPFIXS_PORT;
}

void collector_take_stream(struct collector *collector, const struct datagram *segment)
{
	bool ipfix = flow_protocol_is_framed(segment->data, segment->len);

	if (!is_stream_port(collector, segment->dst_port, ipfix))
		return;
	collector->datagrams++;
	collector->now = segment->time;
	if (collector_refuses(collector, segment))
		count_refused(collector, segment);
	else
		collector_take_unreadable(collector, segment, DECODE_FINE);
}

void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams)
{
	collector->dropped += datagrams;
	collector->sockets[socket < SOCKETS_MAX ? socket : 0].dropped += datagrams;
}

void collector_unread(struct collector *collector, const struct collector_lost *lost)
{
	uint64_t exports = lost->ports[0];

	for (uint32_t port = 1; port < PORTS; port++)
		if (lost->ports[port] > 0 && collector_is_export_port(collector, (uint16_t)port))
			exports += lost->ports[port];
	collector->others.datagrams += exports;
	collector->others.malformed += exports;
	for (uint32_t kind = 0; kind < COLLECTOR_LOST_KINDS; kind++)
		if (lost->counts[kind] > 0)
			collector_note_sender(collector, (enum problem)(PROBLEM_CUT + kind), NULL,
				0, lost->counts[kind]);
}

static bool share_templates(struct collector *collector, char *error)
{
	uint32_t max = collector->params.exporters_max, limit = 16;
	size_t share = collector->params.template_bytes / max;

	if (share < SHARE_MIN) {
		snprintf(error, OPTION_WHY_MAX,
			"%zu bytes for templates are too few for %u exporters: each needs %u",
			collector->params.template_bytes, max, SHARE_MIN);
		return false;
	}
	while (limit < SAMPLING_LIMIT_MAX &&
		limit * 2 * sizeof(struct sampling_interval) <= share / SAMPLING_PART)
		limit *= 2;
	collector->sampling_limit = limit;
	share -= limit * sizeof(struct sampling_interval);
	collector->template_share = share - share / 2;
	collector->template_pool = share / 2 * max;
	collector->template_loan_max =
		collector->template_pool / (max < BORROWERS ? max : BORROWERS);
	return true;
}

static void share_sums(struct collector *collector)
{
	uint32_t max = collector->params.exporters_max;

	collector->sum_share = SUM_HALF / max;
	collector->sum_loan_max = SUM_HALF / (max < BORROWERS ? max : BORROWERS);
}

static bool allocate(struct collector *collector)
{
	uint32_t max = collector->params.exporters_max;

	collector->sessions_max = collector_sessions_max(max);
	collector->sessions = calloc(collector->sessions_max, sizeof(*collector->sessions));
	collector->exporters = exporter_table_create(max, collector->params.seed);
	collector->domains = calloc(max, sizeof(*collector->domains));
	collector->losses = calloc(max, sizeof(*collector->losses));
	collector->expected = calloc(max, sizeof(*collector->expected));
	collector->waiting = waiting_create(
		collector->params.waiting_bytes, collector->sessions_max, collector->params.seed);
	collector->checks = sampling_checks_create();
	collector->problems = problems_create();
	if (collector->params.links)
		collector->links = links_create(max, collector->params.seed);
	return collector->exporters != NULL && collector->domains != NULL &&
	       collector->sessions != NULL && collector->losses != NULL &&
	       collector->expected != NULL && collector->waiting != NULL &&
	       collector->checks != NULL && collector->problems != NULL &&
	       (collector->links != NULL || !collector->params.links);
}

struct collector *collector_create(const struct collector_params *params, char *error)
{
	struct collector *collector;

	if (params->exporters_max == 0 || params->exporters_max > ROUTER_UNKNOWN) {
		snprintf(error, OPTION_WHY_MAX, "exporters-max is 1 to %u", ROUTER_UNKNOWN);
		return NULL;
	}
	collector = aligned_alloc(64, (sizeof(*collector) + 63) / 64 * 64);
	if (collector != NULL) {
		memset(collector, 0, sizeof(*collector));
		collector->params = *params;
	}
	if (collector == NULL || !allocate(collector)) {
		snprintf(error, OPTION_WHY_MAX, "out of memory for %u exporters",
			params->exporters_max);
		collector_destroy(collector);
		return NULL;
	}
	collector->sink = (struct record_handler){
		.batch = collector->batch,
		.arg = collector,
		.records = on_records,
		.option = on_option,
		.unknown = on_unknown,
		.template_known = on_template_known,
		.counters = on_counters,
		.sampler = on_sampler,
	};
	random_init(&collector->random, params->seed);
	share_sums(collector);
	if (!share_templates(collector, error) || !collector_restore_templates(collector, error)) {
		collector_destroy(collector);
		return NULL;
	}
	return collector;
}

void collector_destroy(struct collector *collector)
{
	if (collector == NULL)
		return;
	template_saver_stop(collector->saver);
	for (uint32_t i = 0; i < collector->sessions_used; i++) {
		templates_destroy(collector->sessions[i].templates);
		sampling_forget(&collector->sessions[i].sampling);
	}
	exporter_table_destroy(collector->exporters);
	waiting_destroy(collector->waiting);
	links_destroy(collector->links);
	sampling_checks_destroy(collector->checks);
	problems_destroy(collector->problems);
	free(collector->domains);
	free(collector->sessions);
	free(collector->losses);
	free(collector->expected);
	free(collector);
}
