/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/collector.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/key_burst.h"
#include "base/printable.h"
#include "base/rarely.h"
#include "base/router_names.h"
#include "base/units.h"
#include "collect/exporter.h"
#include "collect/links.h"
#include "collect/losses.h"
#include "collect/observe.h"
#include "collect/sampling.h"
#include "collect/template_file.h"
#include "collect/template_saver.h"
#include "collect/waiting.h"
#include "wire/sequence.h"
#include "wire/template.h"

#define SOCKETS_MAX    OPTION_LIST_MAX
#define KNOWN_MAX      64 /* templates of one datagram that are told apart */
#define LINE_MAX_BYTES 320
/* Of a domain's share of the template memory, what its sampling intervals may take. */
#define SAMPLING_PART  8
#define SHARE_MIN      2048
#define BORROWERS      16 /* at least so many domains can have more templates than most have */
/* Clocks that are set while nobody listens move an exporter's start by a little. */
#define SAME_START_MS  5000

struct domain {
	const struct exporter_rule *rule; /* NULL: none */
	struct in6_addr sender;           /* of its last datagram: it is allowed */
	struct templates *templates;      /* NULL: it sent none */
	uint64_t template_changes;
	size_t borrowed; /* bytes of its templates above a share */
	struct sampling sampling;
	struct sequence sequence;
	uint64_t owner; /* of its samplers: never another's */
	uint32_t socket;
	uint64_t gaps; /* datagrams of this epoch, from sequence numbers */
	uint64_t
		harmless; /* unusable records of this epoch that hide no packets: not IP, or 0 packets */
	int64_t started; /* ms since 1970-01-01 UTC, by its clock; 0: not known */
	bool from_file;  /* its templates are, and it said none since */
	/* What there is to say, once for each domain. */
	bool clock_said, convention_due, fault_said, sampler_seen, sampler_due;
	uint32_t pool_due; /* the interval by its sample pool; 0: nothing */
	uint32_t pool_interval;
	enum wire_fault fault;
	struct exporter_row row;
};

struct collector {
	struct collector_params params;
	struct exporter_table *exporters;
	struct domain *domains; /* [exporters_max] */
	struct waiting *waiting;
	struct links *links; /* NULL: they are not asked for */
	struct sampling_checks *checks;
	struct exporter_loss *losses; /* [exporters_max] */
	struct socket_loss sockets[SOCKETS_MAX];
	/* What every domain can have, what is there to be lent, of it to one domain, and is lent. */
	size_t template_share, template_pool, template_loan_max, template_lent;
	uint32_t sampling_limit;
	uint64_t owners;

	/* The epoch's. */
	uint64_t datagrams, dropped, evicted;
	bool unknown_sampler; /* packets that records stand for are not known */
	struct exporter_row others;
	uint64_t others_gaps, others_harmless;

	/* What is said. */
	bool said;
	int64_t said_at, now;
	struct rarely eviction_said;
	bool file_fails_said;

	struct template_saver *saver; /* NULL: templates are not kept */
	bool file_due;                /* they changed since the file's were copied */

	/* The datagram that is decoded. */
	struct domain *domain;
	struct observer observer;
	const struct wire_header *header;
	bool retrying, still_unknown; /* sets that waited */
	uint32_t nb_known;            /* KNOWN_MAX + 1: more */
	uint16_t known[KNOWN_MAX];
	uint32_t nb_observations;
	struct wire_sink sink;
	struct observation observations[BURST_MAX];
	struct flow_record batch[WIRE_BATCH];
};

size_t collector_memory(const struct collector_params *params)
{
	return sizeof(struct collector) + exporter_table_memory(params->exporters_max) +
	       (size_t)params->exporters_max *
		       (sizeof(struct domain) + sizeof(struct exporter_loss)) +
	       waiting_memory(params->waiting_bytes, params->exporters_max) +
	       sampling_checks_memory() + params->template_bytes +
	       (params->links ? links_memory(params->exporters_max) : 0) +
	       (params->template_file != NULL ? template_saver_memory(params->template_bytes) : 0);
}

static bool may_say(const struct collector *collector)
{
	return !collector->said || collector->now < collector->said_at ||
	       collector->now - collector->said_at >= SECOND_NS;
}

/* False: it was not said, because another line was within the second. */
__attribute__((format(printf, 3, 4))) static bool say(
	struct collector *collector, bool warning, const char *format, ...)
{
	char line[LINE_MAX_BYTES];
	va_list values;

	if (!may_say(collector))
		return false;
	collector->said = true;
	collector->said_at = collector->now;
	va_start(values, format);
	vsnprintf(line, sizeof(line), format, values);
	va_end(values);
	make_ascii(line);
	collector->params.say(collector->params.arg, warning, line);
	return true;
}

static uint32_t slot_of(const struct collector *collector, const struct domain *domain)
{
	return (uint32_t)(domain - collector->domains);
}

static void print_address(const struct in6_addr *address, char text[INET6_ADDRSTRLEN])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		inet_ntop(AF_INET, address->s6_addr + 12, text, INET6_ADDRSTRLEN);
	else
		inet_ntop(AF_INET6, address, text, INET6_ADDRSTRLEN);
}

/* "NAME" or "ADDRESS", "/DOMAIN" behind it where the exporter has several. */
static void put_name(struct collector *collector, uint32_t slot, bool several)
{
	const struct exporter_id *id = exporter_id(collector->exporters, slot);
	const struct exporter_row *row = &collector->domains[slot].row;
	char address[INET6_ADDRSTRLEN], domain[16] = "", name[ROUTER_NAME_MAX];
	int room;

	print_address(&id->address, address);
	if (several)
		snprintf(domain, sizeof(domain), "/%u", id->domain);
	room = (int)(sizeof(name) - 1 - strlen(domain));
	snprintf(name, sizeof(name), "%.*s%s", room, row->name[0] != '\0' ? row->name : address,
		domain);
	router_name_put(slot, name);
}

static void put_names(struct collector *collector, uint32_t slot)
{
	const struct exporter_table *exporters = collector->exporters;
	uint32_t first = exporter_at(exporters, &exporter_id(exporters, slot)->address);
	uint32_t second = exporter_sibling(exporters, first);

	put_name(collector, slot, second != EXPORTER_NONE);
	/* The first one had no need of it so far. */
	if (second == slot && exporter_sibling(exporters, second) == EXPORTER_NONE)
		put_name(collector, first, true);
}

static void set_sampling(struct exporter_row *row, uint32_t sampling, enum sampling_source source)
{
	if (sampling <= row->sampling)
		return;
	row->sampling = sampling;
	row->sampling_source = source;
}

/* What becomes of a domain's epoch when its slot goes to another. */
static void add_to_others(struct collector *collector, const struct domain *domain)
{
	const struct exporter_row *row = &domain->row;
	struct exporter_row *others = &collector->others;

	others->datagrams += row->datagrams;
	others->bytes += row->bytes;
	others->records += row->records;
	others->unknown_template += row->unknown_template;
	others->unusable += row->unusable;
	others->malformed += row->malformed;
	others->reordered += row->reordered;
	others->repeated += row->repeated;
	others->restarts += row->restarts;
	set_sampling(others, row->sampling, row->sampling_source);
	collector->others_gaps += domain->gaps;
	collector->others_harmless += domain->harmless;
}

/* After its templates changed. */
static void settle_templates(struct collector *collector, struct domain *domain)
{
	size_t bytes = domain->templates != NULL ? templates_bytes(domain->templates) : 0;

	collector->template_lent -= domain->borrowed;
	domain->borrowed =
		bytes > collector->template_share ? bytes - collector->template_share : 0;
	collector->template_lent += domain->borrowed;
}

static size_t template_limit(const struct collector *collector, const struct domain *domain)
{
	size_t loan = domain->borrowed + collector->template_pool - collector->template_lent;

	if (loan > collector->template_loan_max)
		loan = collector->template_loan_max;
	return collector->template_share + loan;
}

static void forget_templates(struct collector *collector, struct domain *domain)
{
	if (domain->templates == NULL)
		return;
	if (templates_count(domain->templates) > 0)
		collector->file_due = true;
	templates_forget(domain->templates);
	settle_templates(collector, domain);
	domain->template_changes = templates_changes(domain->templates);
	domain->from_file = false;
}

static void evict(struct collector *collector, uint32_t slot)
{
	struct domain *domain = &collector->domains[slot];

	domain->row.unknown_template += waiting_forget(collector->waiting, slot);
	add_to_others(collector, domain);
	if (domain->templates != NULL && templates_count(domain->templates) > 0)
		collector->file_due = true;
	templates_destroy(domain->templates);
	collector->template_lent -= domain->borrowed;
	sampling_forget(&domain->sampling);
	if (collector->links != NULL)
		links_forget(collector->links, slot);
	collector->evicted++;
	collector->params.forget(collector->params.arg, slot);
}

static void start_row(struct domain *domain, const struct exporter_id *id, uint32_t slot)
{
	domain->row = (struct exporter_row){
		.address = id->address,
		.slot = slot,
		.domain = id->domain,
		.protocol = id->protocol,
	};
	if (domain->rule != NULL)
		snprintf(domain->row.name, sizeof(domain->row.name), "%s", domain->rule->name);
}

/* NULL: there is no room. */
static struct domain *admit(
	struct collector *collector, const struct exporter_id *id, const struct exporter_rule *rule)
{
	bool evicted;
	uint32_t slot = exporter_admit(collector->exporters, id, &evicted);
	struct domain *domain;

	if (slot == EXPORTER_NONE)
		return NULL;
	if (evicted)
		evict(collector, slot);
	domain = &collector->domains[slot];
	*domain = (struct domain){
		.rule = rule,
		.owner = ++collector->owners,
		.sampling = {.seed = collector->params.seed},
	};
	sequence_init(&domain->sequence, id->protocol);
	start_row(domain, id, slot);
	put_names(collector, slot);
	return domain;
}

static const struct exporter_rule *rule_of(
	const struct collector *collector, const struct in6_addr *address)
{
	return exporter_rule_find(collector->params.rules, collector->params.nb_rules, address);
}

/* Whether records with templates can be decoded. */
static bool make_templates(struct collector *collector, struct domain *domain)
{
	enum wire_protocol protocol = domain->row.protocol;

	if (protocol != WIRE_NETFLOW9 && protocol != WIRE_IPFIX)
		return true;
	if (domain->templates == NULL)
		domain->templates = templates_create(0);
	if (domain->templates == NULL)
		return false;
	templates_set_limit(domain->templates, template_limit(collector, domain));
	return true;
}

/* What wire_decode() tells. */

static void flush(struct collector *collector)
{
	if (collector->nb_observations == 0)
		return;
	if (collector->links != NULL)
		links_count(collector->links, collector->observations, collector->nb_observations);
	collector->params.observe(
		collector->params.arg, collector->observations, collector->nb_observations);
	collector->nb_observations = 0;
}

static void on_records(void *arg, uint32_t n)
{
	struct collector *collector = arg;
	struct exporter_row *row = &collector->domain->row;

	row->records += n;
	for (uint32_t i = 0; i < n; i++) {
		if (!observe(&collector->observer, &collector->batch[i],
			    &collector->observations[collector->nb_observations])) {
			row->unusable++;
			collector->domain->harmless++;
			continue;
		}
		if (++collector->nb_observations == BURST_MAX)
			flush(collector);
	}
}

static void on_option(void *arg, const struct wire_option *option)
{
	struct collector *collector = arg;

	sampling_learn(&collector->domain->sampling, option, collector->sampling_limit);
	if (collector->links != NULL)
		links_learn(collector->links, collector->observer.slot, option);
}

static void on_gone(void *arg, uint32_t exporter)
{
	struct collector *collector = arg;

	collector->domains[exporter].row.unknown_template++;
}

static void on_unknown(void *arg, uint16_t template_id, const uint8_t *data, uint32_t len)
{
	struct collector *collector = arg;
	struct waiting_set set = {
		.header = *collector->header,
		.time = collector->observer.time,
		.template_id = template_id,
		.len = len,
		.data = data,
	};

	if (collector->retrying) {
		collector->still_unknown = true;
		return;
	}
	waiting_put(collector->waiting, collector->observer.slot, &set, on_gone, collector);
}

static void on_template_known(void *arg, uint16_t template_id)
{
	struct collector *collector = arg;

	if (collector->nb_known < KNOWN_MAX)
		collector->known[collector->nb_known++] = template_id;
	else
		collector->nb_known = KNOWN_MAX + 1;
}

static void on_counters(void *arg, const struct wire_counters *counters)
{
	struct collector *collector = arg;

	if (collector->links != NULL)
		links_counters(collector->links, collector->observer.slot, counters,
			collector->observer.time);
}

static void on_sampler(void *arg, const struct wire_sampler *sampler)
{
	struct collector *collector = arg;
	struct domain *domain = collector->domain;
	uint32_t measured = sampling_check(collector->checks, domain->owner, sampler);

	if (measured == 0)
		return;
	domain->pool_due = measured;
	domain->pool_interval = sampler->sampling;
}

/* What is said of a domain, as far as there is room for another line. */

static int64_t clock_offset(const struct collector *collector)
{
	return collector->header->exported - collector->now;
}

static bool is_clock_off(const struct collector *collector)
{
	const struct wire_header *header = collector->header;
	int64_t offset = clock_offset(collector);
	/* v9 and IPFIX cut their time to seconds. */
	int64_t coarse = header->protocol == WIRE_NETFLOW5 ? 0 : SECOND_NS;

	return header->exported != 0 && (offset > SECOND_NS || offset < -SECOND_NS - coarse);
}

static void say_clock(struct collector *collector, struct domain *domain, const char *name)
{
	int64_t offset = clock_offset(collector);

	domain->clock_said = say(collector, true,
		"the clock of exporter %s is %.3f s %s; records count when they come", name,
		fabs((double)offset / 1e9), offset > 0 ? "ahead" : "behind");
}

static void say_sampling(struct collector *collector, struct domain *domain, const char *name)
{
	if (domain->sampler_due)
		domain->sampler_due = !say(collector, true,
			"exporter %s names a sampler whose interval it has not said; packets are "
			"taken to be unsampled until it does, or --exporter says sampling=N",
			name);
	if (domain->pool_due > 0 &&
		say(collector, true,
			"exporter %s says that it samples 1 of %u packets, its sample pool says 1 "
			"of %u",
			name, domain->pool_interval, domain->pool_due))
		domain->pool_due = 0;
}

/* The name costs a lock: it is looked up for what there is to say. */
static void say_news(struct collector *collector, struct domain *domain)
{
	bool clock_due = !domain->clock_said && is_clock_off(collector);
	bool fault_due = domain->fault != WIRE_FINE && !domain->fault_said;
	char name[ROUTER_NAME_MAX];

	if (!(clock_due || fault_due || domain->convention_due || domain->pool_due > 0 ||
		    domain->sampler_due) ||
		!may_say(collector))
		return;
	router_name_get(slot_of(collector, domain), name);
	if (clock_due)
		say_clock(collector, domain, name);
	if (domain->convention_due)
		domain->convention_due = !say(collector, false,
			"the sequence numbers of exporter %s count %s, which its protocol does not "
			"say",
			name, sequence_convention_words[domain->sequence.convention]);
	if (fault_due)
		domain->fault_said = say(collector, true,
			"a datagram of exporter %s is malformed: %s; how many there are is in "
			"--exporters",
			name, wire_fault_words[domain->fault]);
	say_sampling(collector, domain, name);
}

static bool is_standard(const struct sequence *sequence)
{
	bool messages = sequence->protocol == WIRE_NETFLOW9 || sequence->protocol == WIRE_SFLOW;

	return sequence->convention == (messages ? SEQUENCE_MESSAGES : SEQUENCE_RECORDS);
}

static void account_sequence(struct domain *domain, const struct sequence_news *news)
{
	domain->gaps += news->lost;
	if (news->recovered > 0) {
		domain->row.reordered++;
		domain->gaps -= domain->gaps > 0;
	}
	if (news->recognized && !is_standard(&domain->sequence))
		domain->convention_due = true;
}

/* Its templates, samplers and counters are void. */
static void restart(struct collector *collector, struct domain *domain)
{
	uint32_t slot = slot_of(collector, domain);

	domain->row.restarts++;
	forget_templates(collector, domain);
	domain->row.unknown_template += waiting_forget(collector->waiting, slot);
	sampling_forget(&domain->sampling);
	domain->owner = ++collector->owners;
	if (collector->links != NULL)
		links_restart(collector->links, slot);
}

/* When it started, by its own clock; v9 alone tells. */
static void note_start(struct collector *collector, struct domain *domain)
{
	const struct wire_header *header = collector->header;
	int64_t started = header->exported / 1000000 - header->uptime;
	int32_t moved; /* uptimes wrap */

	if (header->protocol != WIRE_NETFLOW9)
		return;
	moved = (int32_t)(uint32_t)(uint64_t)(started - domain->started);
	if (domain->from_file && domain->started != 0 &&
		(moved > SAME_START_MS || moved < -SAME_START_MS))
		forget_templates(collector, domain);
	domain->started = started;
}

static void account(struct collector *collector, const struct wire_result *result)
{
	struct domain *domain = collector->domain;

	domain->row.records += result->unusable;
	domain->row.unusable += result->unusable;
	domain->harmless += result->non_ip;
	if (result->fault != WIRE_FINE) {
		domain->row.malformed++;
		domain->fault = result->fault;
	}
	if (result->templates > 0)
		domain->from_file = false;
	if (domain->from_file && (result->fault == WIRE_LENGTH || result->fault == WIRE_COUNT))
		forget_templates(collector, domain);
	settle_templates(collector, domain);
	if (domain->templates != NULL &&
		templates_changes(domain->templates) != domain->template_changes) {
		domain->template_changes = templates_changes(domain->templates);
		collector->file_due = true;
	}
}

static bool is_known(void *arg, uint16_t template_id)
{
	const struct collector *collector = arg;

	for (uint32_t i = 0; i < collector->nb_known && i < KNOWN_MAX; i++)
		if (collector->known[i] == template_id)
			return true;
	return collector->nb_known > KNOWN_MAX;
}

static bool decode_waiting(void *arg, const struct waiting_set *set)
{
	struct collector *collector = arg;
	struct wire_result result;

	collector->header = &set->header;
	collector->observer.time = set->time;
	collector->still_unknown = false;
	result = wire_decode_set(&set->header, collector->domain->templates, set->template_id,
		set->data, set->len, &collector->sink);
	if (!collector->still_unknown)
		account(collector, &result);
	return !collector->still_unknown;
}

static void decode(
	struct collector *collector, const struct datagram *datagram, struct wire_result *result)
{
	const struct wire_header *header = collector->header;
	struct domain *domain = collector->domain;

	collector->nb_known = 0;
	*result = wire_decode(
		header, domain->templates, datagram->data, datagram->len, &collector->sink);
	account(collector, result);
	if (collector->nb_known > 0 &&
		waiting_count(collector->waiting, collector->observer.slot) > 0) {
		collector->retrying = true;
		waiting_offer(collector->waiting, collector->observer.slot, is_known,
			decode_waiting, collector);
		collector->retrying = false;
		collector->header = header;
		collector->observer.time = datagram->time;
	}
	flush(collector);
	set_sampling(&domain->row, collector->observer.coarsest, collector->observer.source);
	if (collector->observer.unknown_sampler) {
		collector->unknown_sampler = true;
		domain->sampler_due |= !domain->sampler_seen;
		domain->sampler_seen = true;
	}
}

static void start_observer(struct collector *collector, const struct datagram *datagram)
{
	collector->observer = (struct observer){
		.slot = slot_of(collector, collector->domain),
		.protocol = collector->header->protocol,
		.link_overhead = collector->params.link_overhead,
		.time = datagram->time,
		.rule = collector->domain->rule,
		.sampling = &collector->domain->sampling,
		.exporters = collector->exporters,
		.next = EXPORTER_NONE, /* of ::, which is nobody's */
	};
}

static void take_from(struct collector *collector, struct domain *domain,
	const struct datagram *datagram, const struct wire_header *header)
{
	struct sequence_news news;
	struct wire_result result;

	domain->row.datagrams++;
	domain->row.bytes += datagram->len;
	domain->socket = datagram->socket < SOCKETS_MAX ? datagram->socket : 0;
	collector->domain = domain;
	collector->header = header;
	news = sequence_begin(&domain->sequence, header);
	account_sequence(domain, &news);
	if (news.repeated) {
		domain->row.repeated++;
		return;
	}
	if (news.restarted)
		restart(collector, domain);
	note_start(collector, domain);
	start_observer(collector, datagram);
	decode(collector, datagram, &result);
	news = sequence_end(&domain->sequence, header, &result);
	account_sequence(domain, &news);
	say_news(collector, domain);
}

/* An exporter of sFlow is the agent, where it says who that is. */
static void identify(
	const struct datagram *datagram, const struct wire_header *header, struct exporter_id *id)
{
	static const struct in6_addr none;
	struct in6_addr agent = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

	id->address = datagram->src;
	id->domain = header->domain;
	id->protocol = header->protocol;
	if (header->protocol != WIRE_SFLOW || header->agent_family == 0 ||
		memcmp(header->agent, &none, header->agent_family == 4 ? 4 : 16) == 0)
		return;
	if (header->agent_family == 4)
		memcpy(agent.s6_addr + 12, header->agent, 4);
	else
		memcpy(&agent, header->agent, sizeof(agent));
	id->address = agent;
}

static void count_other(
	struct collector *collector, const struct datagram *datagram, uint64_t *reason)
{
	collector->others.datagrams++;
	collector->others.bytes += datagram->len;
	++*reason;
}

/* By its sender: what it says of itself, as sFlow's agent, proves nothing. */
static bool is_refused(const struct collector *collector, const struct datagram *datagram)
{
	return collector->params.nb_rules > 0 && rule_of(collector, &datagram->src) == NULL;
}

/* NULL: there is no room. */
static struct domain *admit_sender(
	struct collector *collector, const struct datagram *datagram, const struct exporter_id *id)
{
	const struct exporter_rule *rule = rule_of(collector, &id->address);

	return admit(collector, id, rule != NULL ? rule : rule_of(collector, &datagram->src));
}

static bool same_address(const struct in6_addr *a, const struct in6_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/* NULL: it is counted already. */
static struct domain *domain_of(struct collector *collector, const struct datagram *datagram,
	const struct wire_header *header)
{
	struct exporter_row *others = &collector->others;
	struct domain *domain = NULL;
	struct exporter_id id;
	uint32_t slot;

	identify(datagram, header, &id);
	slot = exporter_find(collector->exporters, &id);
	if (slot != EXPORTER_NONE)
		domain = &collector->domains[slot];
	if ((domain == NULL || !same_address(&domain->sender, &datagram->src)) &&
		is_refused(collector, datagram)) {
		count_other(collector, datagram, &others->refused);
		return NULL;
	}
	if (domain != NULL)
		exporter_heard(collector->exporters, slot);
	else
		domain = admit_sender(collector, datagram, &id);
	if (domain == NULL || !make_templates(collector, domain)) {
		count_other(collector, datagram, &others->shed);
		return NULL;
	}
	domain->sender = datagram->src;
	return domain;
}

void collector_take(struct collector *collector, const struct datagram *datagram)
{
	struct exporter_row *others = &collector->others;
	struct wire_header header;
	struct domain *domain;

	collector->datagrams++;
	collector->now = datagram->time;
	if (wire_read_header(datagram->data, datagram->len, &header) != WIRE_FINE) {
		count_other(collector, datagram,
			is_refused(collector, datagram) ? &others->refused : &others->malformed);
		return;
	}
	domain = domain_of(collector, datagram, &header);
	if (domain != NULL)
		take_from(collector, domain, datagram, &header);
}

void collector_dropped(struct collector *collector, uint32_t socket, uint64_t datagrams)
{
	collector->dropped += datagrams;
	collector->sockets[socket < SOCKETS_MAX ? socket : 0].dropped += datagrams;
}

void collector_unread(struct collector *collector, uint64_t datagrams)
{
	collector->others.datagrams += datagrams;
	collector->others.malformed += datagrams;
}

/* The end of an epoch. */

static void share_losses(struct collector *collector)
{
	uint32_t used = exporter_table_used(collector->exporters);

	for (uint32_t slot = 0; slot < used; slot++)
		collector->domains[slot].row.lost_network = collector->domains[slot].gaps;
	collector->others.lost_network = collector->others_gaps;
	for (uint32_t i = 0; i < SOCKETS_MAX; i++) {
		struct socket_loss *socket = &collector->sockets[i];
		uint32_t n = 0;

		if (socket->dropped == 0 && socket->counted == 0)
			continue;
		for (uint32_t slot = 0; slot < used; slot++)
			if (collector->domains[slot].gaps > 0 &&
				collector->domains[slot].socket == i)
				collector->losses[n++] = (struct exporter_loss){
					.slot = slot,
					.gaps = collector->domains[slot].gaps,
				};
		collector->others.lost_socket += losses_share(socket, collector->losses, n);
		for (uint32_t j = 0; j < n; j++) {
			struct exporter_row *row =
				&collector->domains[collector->losses[j].slot].row;

			row->lost_socket = collector->losses[j].lost_socket;
			row->lost_network = collector->losses[j].lost_network;
		}
	}
}

/* harmless: of the unusable records. */
static bool leaves_unknown(const struct exporter_row *row, uint64_t harmless)
{
	return row->waiting + row->unknown_template + (row->unusable - harmless) + row->malformed +
		       row->shed + row->lost_network + row->lost_socket >
	       0;
}

static bool is_empty(const struct exporter_row *row)
{
	return row->datagrams == 0 && row->records == 0 && row->lost_socket == 0 &&
	       row->lost_network == 0 && row->unknown_template == 0 && row->waiting == 0;
}

static bool end_row(struct collector *collector, struct domain *domain,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg)
{
	struct exporter_row *row = &domain->row;
	struct exporter_id id = {row->address, row->domain, row->protocol};
	bool unknown;

	row->waiting = waiting_count(collector->waiting, row->slot);
	unknown = leaves_unknown(row, domain->harmless) || domain->gaps > 0;
	if (domain->templates != NULL)
		row->templates = templates_count(domain->templates);
	if (!is_empty(row))
		emit(arg, row);
	start_row(domain, &id, row->slot);
	domain->gaps = domain->harmless = 0;
	return unknown;
}

static bool end_others(struct collector *collector,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg)
{
	struct exporter_row *row = &collector->others;
	bool unknown = leaves_unknown(row, collector->others_harmless);

	row->others = true;
	row->slot = EXPORTER_NONE;
	if (!is_empty(row))
		emit(arg, row);
	*row = (struct exporter_row){0};
	collector->others_gaps = collector->others_harmless = 0;
	return unknown;
}

struct link_emission {
	const struct collector *collector;
	void (*emit)(void *arg, const struct link_row *row);
	void *arg;
};

static void emit_link(void *arg, uint32_t exporter, struct link_row *row)
{
	const struct link_emission *emission = arg;
	const struct exporter_row *owner = &emission->collector->domains[exporter].row;

	row->address = owner->address;
	row->domain = owner->domain;
	router_name_get(exporter, row->exporter);
	emission->emit(emission->arg, row);
}

struct copying {
	struct template_saver *saver;
	struct template_entry entry;
};

static void copy_set(void *arg, const uint8_t *set, uint32_t len)
{
	struct copying *copying = arg;

	copying->entry.set = set;
	copying->entry.len = len;
	template_saver_put(copying->saver, &copying->entry);
}

static void copy_templates(struct collector *collector)
{
	uint32_t used = exporter_table_used(collector->exporters);
	struct copying copying = {.saver = collector->saver};

	template_saver_clear(collector->saver);
	for (uint32_t slot = 0; slot < used; slot++) {
		const struct domain *domain = &collector->domains[slot];

		if (domain->templates == NULL)
			continue;
		copying.entry.id = *exporter_id(collector->exporters, slot);
		copying.entry.started = domain->started;
		templates_each(domain->templates, copy_set, &copying);
	}
	collector->file_due = false;
}

static void start_saving(struct collector *collector)
{
	if (collector->file_due)
		copy_templates(collector);
	template_saver_save(collector->saver, collector->now);
}

static bool say_saving(struct collector *collector, int status)
{
	const char *path = collector->params.template_file;

	if (status == 0)
		return say(collector, false, "--templates %.200s is written again", path);
	return say(collector, true, "--templates %.200s could not be written: %s", path,
		strerror(status));
}

static void save_templates(struct collector *collector)
{
	bool due;
	int status;

	if (collector->saver == NULL)
		return;
	due = template_saver_is_due(collector->saver, collector->file_due, collector->now);
	status = template_saver_status(collector->saver);
	if ((status != 0) != collector->file_fails_said && say_saving(collector, status))
		collector->file_fails_said = status != 0;
	if (due)
		start_saving(collector);
}

void collector_finish(struct collector *collector)
{
	int status;

	if (collector->saver == NULL)
		return;
	template_saver_wait(collector->saver);
	if (collector->file_due || template_saver_status(collector->saver) != 0)
		start_saving(collector);
	template_saver_wait(collector->saver);
	status = template_saver_status(collector->saver);
	/* That what changed is not kept is said even where it was before, and within the second. */
	collector->said = false;
	if (status != 0 || collector->file_fails_said)
		say_saving(collector, status);
	collector->file_fails_said = false;
}

static void say_evictions(struct collector *collector)
{
	uint64_t n = collector->evicted;

	collector->evicted = 0;
	if (n == 0 || !rarely_due(&collector->eviction_said, collector->now, n))
		return;
	if (!say(collector, true,
		    "%" PRIu64 " exporters gave their place to others, because there are more "
		    "than --exporters-max %u%s",
		    n, collector->params.exporters_max, collector->eviction_said.since))
		collector->eviction_said.said = false;
}

struct collector_epoch collector_end_epoch(struct collector *collector,
	void (*exporter)(void *arg, const struct exporter_row *row),
	void (*link)(void *arg, const struct link_row *row), void *arg)
{
	struct collector_epoch epoch = {
		.datagrams = collector->datagrams,
		.dropped = collector->dropped,
		.losses_unknown = collector->dropped > 0 || collector->unknown_sampler,
	};
	struct link_emission emission = {collector, link, arg};
	uint32_t used = exporter_table_used(collector->exporters);

	share_losses(collector);
	if (collector->links != NULL)
		links_end_epoch(collector->links, emit_link, &emission);
	for (uint32_t slot = 0; slot < used; slot++)
		epoch.losses_unknown |=
			end_row(collector, &collector->domains[slot], exporter, arg);
	epoch.losses_unknown |= end_others(collector, exporter, arg);
	save_templates(collector);
	say_evictions(collector);
	exporter_end_epoch(collector->exporters);
	collector->datagrams = collector->dropped = 0;
	collector->unknown_sampler = false;
	return epoch;
}

/* The beginning and the end of all. */

static bool restore(void *arg, const struct template_entry *entry)
{
	struct collector *collector = arg;
	const struct exporter_rule *rule = rule_of(collector, &entry->id.address);
	uint32_t slot = exporter_find(collector->exporters, &entry->id);
	struct domain *domain;

	if (rule == NULL && collector->params.nb_rules > 0)
		return true;
	if (slot != EXPORTER_NONE)
		domain = &collector->domains[slot];
	else if (exporter_table_used(collector->exporters) < collector->params.exporters_max)
		domain = admit(collector, &entry->id, rule);
	else
		return true; /* there is no room for what may be nobody */
	if (domain == NULL)
		return true;
	exporter_known(collector->exporters, slot_of(collector, domain));
	if (!make_templates(collector, domain) || domain->templates == NULL ||
		!templates_take(domain->templates, entry->id.protocol, entry->set, entry->len))
		return false;
	settle_templates(collector, domain);
	domain->template_changes = templates_changes(domain->templates);
	domain->started = entry->started;
	domain->from_file = true;
	return true;
}

static bool read_template_file(struct collector *collector, char *error)
{
	const char *path = collector->params.template_file;
	uint64_t damaged;
	int status;

	if (path == NULL)
		return true;
	status = template_file_read(path, restore, collector, &damaged);
	if (status == ENOENT)
		return true;
	if (status == EBADMSG) {
		snprintf(error, OPTION_WHY_MAX,
			"--templates %.200s holds something else, which it would replace: give "
			"another file, or remove it",
			path);
		return false;
	}
	if (status != 0) {
		snprintf(error, OPTION_WHY_MAX, "--templates %.200s cannot be read: %s", path,
			status == EINVAL ? "it is no regular file" : strerror(status));
		return false;
	}
	if (damaged > 0) {
		say(collector, true, "--templates %.200s: %" PRIu64 " damaged lines were left out",
			path, damaged);
		collector->said = false;
		collector->file_due = true;
	}
	return true;
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
	while (limit < 1024 &&
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

static bool allocate(struct collector *collector)
{
	uint32_t max = collector->params.exporters_max;

	collector->exporters = exporter_table_create(max);
	collector->domains = calloc(max, sizeof(*collector->domains));
	collector->losses = calloc(max, sizeof(*collector->losses));
	collector->waiting = waiting_create(collector->params.waiting_bytes, max);
	collector->checks = sampling_checks_create();
	if (collector->params.links)
		collector->links = links_create(max, collector->params.seed);
	return collector->exporters != NULL && collector->domains != NULL &&
	       collector->losses != NULL && collector->waiting != NULL &&
	       collector->checks != NULL && (collector->links != NULL || !collector->params.links);
}

static bool start_saver(struct collector *collector, char *error)
{
	const char *path = collector->params.template_file;
	int status;

	if (path == NULL)
		return true;
	status = template_file_check(path);
	if (status != 0) {
		snprintf(error, OPTION_WHY_MAX,
			"--templates %.200s cannot be written: %s; give a file in a directory that "
			"this user may write to",
			path,
			status == EINVAL ? "it, or its .new, is no regular file"
					 : strerror(status));
		return false;
	}
	status = template_saver_start(&collector->saver, path, collector->params.template_bytes);
	if (status != 0)
		snprintf(error, OPTION_WHY_MAX, "the thread for --templates cannot be started: %s",
			strerror(status));
	return status == 0;
}

struct collector *collector_create(const struct collector_params *params, char *error)
{
	struct collector *collector;

	if (params->exporters_max == 0 || params->exporters_max > ROUTER_UNKNOWN) {
		snprintf(error, OPTION_WHY_MAX, "--exporters-max is 1 to %u", ROUTER_UNKNOWN);
		return NULL;
	}
	collector = aligned_alloc(64, (sizeof(*collector) + 63) / 64 * 64);
	if (collector != NULL) {
		memset(collector, 0, sizeof(*collector));
		collector->params = *params;
	}
	if (collector == NULL || !allocate(collector)) {
		snprintf(error, OPTION_WHY_MAX, "there is no memory for %u exporters",
			params->exporters_max);
		collector_destroy(collector);
		return NULL;
	}
	collector->sink = (struct wire_sink){
		.batch = collector->batch,
		.arg = collector,
		.records = on_records,
		.option = on_option,
		.unknown = on_unknown,
		.template_known = on_template_known,
		.counters = on_counters,
		.sampler = on_sampler,
	};
	if (!share_templates(collector, error) || !read_template_file(collector, error) ||
		!start_saver(collector, error)) {
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
	if (collector->exporters != NULL && collector->domains != NULL)
		for (uint32_t i = 0; i < exporter_table_used(collector->exporters); i++) {
			templates_destroy(collector->domains[i].templates);
			sampling_forget(&collector->domains[i].sampling);
		}
	exporter_table_destroy(collector->exporters);
	waiting_destroy(collector->waiting);
	links_destroy(collector->links);
	sampling_checks_destroy(collector->checks);
	free(collector->domains);
	free(collector->losses);
	free(collector);
}
