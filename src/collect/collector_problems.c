/* SPDX-License-Identifier: BSD-3-Clause */
/* Unreadable datagrams, problems per exporter, and rate-limited log lines. */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"
#include "base/router_names.h"
#include "base/units.h"
#include "collect/collector_state.h"

#define PROTO_TCP 6

static bool may_log(const struct collector *collector)
{
	return !collector->logged || collector->now < collector->logged_at ||
	       collector->now - collector->logged_at >= SECOND_NS;
}

static void log_line(void *arg, bool warning, const char *text)
{
	struct collector *collector = arg;
	char line[PROBLEM_LINE_BYTES];

	snprintf(line, sizeof(line), "%s", text);
	make_ascii(line);
	collector->params.log(collector->params.arg, warning, line);
}

static void log_first(struct collector *collector)
{
	const struct line *line = &collector->lines[collector->first_line];

	collector->logged = true;
	collector->logged_at = collector->now;
	collector->first_line = (collector->first_line + 1) % LINES_MAX;
	collector->nb_lines--;
	log_line(collector, line->warning, line->text);
}

void collector_log_next(struct collector *collector)
{
	if (collector->nb_lines > 0 && may_log(collector))
		log_first(collector);
}

bool collector_log(struct collector *collector, bool warning, const char *format, ...)
{
	struct line *line;
	va_list values;

	if (collector->nb_lines == LINES_MAX)
		return false;
	line = &collector->lines[(collector->first_line + collector->nb_lines++) % LINES_MAX];
	line->warning = warning;
	va_start(values, format);
	vsnprintf(line->text, sizeof(line->text), format, values);
	va_end(values);
	collector_log_next(collector);
	return true;
}

/* Captures are short: their problems are logged at the end, with final counts. */
static void log_new(struct collector *collector, enum problem kind, struct problem_entry *entry)
{
	char line[PROBLEM_LINE_BYTES];
	bool warning;

	if (!collector->params.live || entry->logged > 0)
		return;
	warning = problem_line(kind, entry, line);
	if (collector_log(collector, warning, "%s", line))
		entry->logged = entry->count;
}

void collector_note_domain(struct collector *collector, enum problem kind,
	const struct domain *domain, uint32_t detail, uint64_t n)
{
	const struct problem_source source = {
		.address = domain->row.address,
		.domain = domain->row.domain,
		.protocol = domain->row.protocol,
	};
	struct problem_entry *entry =
		problems_add(collector->problems, kind, &source, domain->proven, detail, n);

	if (entry == NULL)
		return;
	if (entry->name[0] == '\0')
		router_name_get(slot_of(collector, domain), entry->name);
	log_new(collector, kind, entry);
}

static bool is_exporter(const struct collector *collector, const struct in6_addr *address)
{
	return exporter_at(collector->exporters, address) != EXPORTER_NONE;
}

void collector_note_sender(struct collector *collector, enum problem kind,
	const struct in6_addr *sender, uint32_t detail, uint64_t n)
{
	struct problem_source source = {.protocol = FLOW_PROTOCOL_COUNT};
	struct problem_entry *entry;
	bool proven = sender == NULL || is_exporter(collector, sender);

	/* Datagrams of unknown versions from all senders share one entry. */
	if (sender != NULL && kind != PROBLEM_NO_EXPORT)
		source.address = *sender;
	entry = problems_add(collector->problems, kind, &source, proven, detail, n);
	if (entry == NULL)
		return;
	if (sender != NULL && entry->name[0] == '\0')
		collector_sender_name(collector, sender, entry->name);
	log_new(collector, kind, entry);
}

static void note_waiting(struct collector *collector)
{
	for (uint32_t slot = 0; slot < exporter_table_used(collector->exporters); slot++) {
		struct domain *domain = &collector->domains[slot];
		uint64_t sets = domain_waiting_sets(collector, domain);

		if (sets > 0)
			collector_note_domain(collector, PROBLEM_NO_TEMPLATE, domain, 0, sets);
	}
}

void collector_log_problems(struct collector *collector)
{
	note_waiting(collector);
	while (collector->nb_lines > 0)
		log_first(collector);
	problems_log(collector->problems, log_line, collector);
}

bool collector_is_export_port(const struct collector *collector, uint16_t port)
{
	/* 4740: IPFIX over DTLS (IANA). The others are often used for NetFlow. */
	static const uint16_t more[] = {4740, 2056, 9995, 9996};

	if (collector->params.live)
		return true;
	for (uint32_t p = 0; p < FLOW_PROTOCOL_COUNT; p++)
		if (flow_protocols[p]->port == port)
			return true;
	for (uint32_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		if (more[i] == port)
			return true;
	return (collector->export_ports[port / 64] >> port % 64 & 1) != 0;
}

void collector_prove(struct collector *collector, struct domain *domain)
{
	domain->proven = true;
	collector->export_ports[domain->dst_port / 64] |= UINT64_C(1) << domain->dst_port % 64;
}

static struct sender *sender_of(struct collector *collector, const struct in6_addr *address)
{
	const struct exporter_rule *rule;
	struct sender *sender;

	for (uint32_t i = 0; i < collector->nb_senders; i++) {
		sender = &collector->senders[i];
		if (memcmp(&sender->row.address, address, sizeof(*address)) == 0)
			return sender;
	}
	if (collector->nb_senders == SENDERS_MAX)
		return NULL;
	sender = &collector->senders[collector->nb_senders++];
	*sender = (struct sender){
		.row = {.address = *address, .sender = true, .slot = EXPORTER_NONE},
	};
	rule = collector_rule_of(collector, address);
	if (rule != NULL)
		snprintf(sender->row.name, sizeof(sender->row.name), "%s", rule->name);
	return sender;
}

/* `exports`: certainly a flow protocol, on any port */
static void count_unreadable(struct collector *collector, const struct in6_addr *address,
	uint16_t dst_port, uint64_t datagrams, uint64_t bytes, bool exports)
{
	struct sender *sender = sender_of(collector, address);
	struct exporter_row *row = sender != NULL ? &sender->row : &collector->others;

	row->datagrams += datagrams;
	row->bytes += bytes;
	row->malformed += datagrams;
	if (sender == NULL)
		return;
	sender->exports |= exports || collector_is_export_port(collector, dst_port);
	sender->dst_port = dst_port;
}

/* The datagram counts as malformed if the sender is an exporter by the end of the epoch. */
static void take_stranger(struct collector *collector, const struct datagram *datagram)
{
	struct stranger *stranger = NULL;

	for (uint32_t i = 0; i < collector->nb_strangers && stranger == NULL; i++)
		if (memcmp(&collector->strangers[i].address, &datagram->src,
			    sizeof(datagram->src)) == 0 &&
			collector->strangers[i].dst_port == datagram->dst_port)
			stranger = &collector->strangers[i];
	if (stranger == NULL && collector->nb_strangers < STRANGERS_MAX) {
		stranger = &collector->strangers[collector->nb_strangers++];
		*stranger =
			(struct stranger){.address = datagram->src, .dst_port = datagram->dst_port};
	}
	if (stranger != NULL) {
		stranger->datagrams++;
		stranger->bytes += datagram->len;
		return;
	}
	collector->others.datagrams++;
	collector->others.bytes += datagram->len;
	collector_note_sender(collector, PROBLEM_NO_EXPORT, &datagram->src, 0, 1);
}

static enum problem problem_of(
	const struct datagram *datagram, const struct export_version *version)
{
	if (datagram->proto != 0)
		return datagram->proto == PROTO_TCP ? PROBLEM_TCP : PROBLEM_SCTP;
	if (version->family == EXPORT_FAMILY_DTLS)
		return PROBLEM_DTLS;
	if (version->family == EXPORT_FAMILY_SUPPORTED)
		return PROBLEM_MALFORMED;
	return version->family == EXPORT_FAMILY_SFLOW ? PROBLEM_SFLOW_VERSION
						      : PROBLEM_NETFLOW_VERSION;
}

/* DTLS has many uses. NetFlow v2 to v4 were never released, but TFTP has the same numbers. */
static bool has_other_uses(const struct export_version *version)
{
	return version->family == EXPORT_FAMILY_DTLS ||
	       (version->family == EXPORT_FAMILY_NETFLOW && version->number >= 2 &&
		       version->number <= 4);
}

void collector_take_unreadable(
	struct collector *collector, const struct datagram *datagram, enum decode_fault fault)
{
	struct export_version version = flow_protocol_identify(datagram->data, datagram->len);
	bool stream = datagram->proto != 0, exports = version.family != EXPORT_FAMILY_SUPPORTED;
	enum problem kind = problem_of(datagram, &version);
	uint32_t detail = version.number;

	if (has_other_uses(&version) && !collector_is_export_port(collector, datagram->dst_port))
		version.family = EXPORT_FAMILY_NONE;
	if (stream) {
		exports = flow_protocol_is_framed(datagram->data, datagram->len);
		detail = 0;
	} else if (version.family == EXPORT_FAMILY_NONE) {
		if (!is_exporter(collector, &datagram->src) ||
			!collector_is_export_port(collector, datagram->dst_port)) {
			take_stranger(collector, datagram);
			return;
		}
		kind = PROBLEM_MALFORMED;
		detail = DECODE_VERSION;
	} else if (kind == PROBLEM_MALFORMED) {
		detail = fault;
	}
	count_unreadable(collector, &datagram->src, datagram->dst_port, 1, datagram->len, exports);
	collector_note_sender(collector, kind, &datagram->src, detail, 1);
}

/* The address of an sFlow agent may differ from the address from which it sends. */
static bool sends_for_an_agent(const struct collector *collector, const struct in6_addr *sender)
{
	for (uint32_t slot = 0; slot < exporter_table_used(collector->exporters); slot++)
		if (memcmp(&collector->domains[slot].sender, sender, sizeof(*sender)) == 0)
			return true;
	return false;
}

void collector_judge_strangers(struct collector *collector)
{
	for (uint32_t i = 0; i < collector->nb_strangers; i++) {
		const struct stranger *stranger = &collector->strangers[i];

		if (collector_is_export_port(collector, stranger->dst_port) &&
			(is_exporter(collector, &stranger->address) ||
				sends_for_an_agent(collector, &stranger->address))) {
			count_unreadable(collector, &stranger->address, stranger->dst_port,
				stranger->datagrams, stranger->bytes, true);
			collector_note_sender(collector, PROBLEM_MALFORMED, &stranger->address,
				DECODE_VERSION, stranger->datagrams);
			continue;
		}
		collector->others.datagrams += stranger->datagrams;
		collector->others.bytes += stranger->bytes;
		collector_note_sender(
			collector, PROBLEM_NO_EXPORT, &stranger->address, 0, stranger->datagrams);
	}
	collector->nb_strangers = 0;
}

bool collector_end_senders(struct collector *collector,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg)
{
	bool lost = false;

	for (uint32_t i = 0; i < collector->nb_senders; i++) {
		struct sender *sender = &collector->senders[i];

		lost |= sender->exports || collector_is_export_port(collector, sender->dst_port);
		emit(arg, &sender->row);
	}
	collector->nb_senders = 0;
	return lost;
}
