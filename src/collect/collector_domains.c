/* SPDX-License-Identifier: BSD-3-Clause */
/* Observation domains of exporters: slots, names, shares of template memory. */

#include <stdio.h>
#include <string.h>

#include "base/address.h"
#include "base/assertion.h"
#include "base/router_names.h"
#include "collect/collector_state.h"

/* Stores NAME or ADDRESS, followed by /DOMAIN if the exporter has several domains. */
static void put_name(struct collector *collector, uint32_t slot, bool several)
{
	const struct exporter_id *id = exporter_id(collector->exporters, slot);
	const struct exporter_row *row = &collector->domains[slot].row;
	char address[INET6_ADDRSTRLEN], domain[16] = "", name[ROUTER_NAME_MAX];
	int room;

	address_print(&id->address, address);
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
	/* The second domain of an exporter also adds /DOMAIN to the name of the first one. */
	if (second == slot && exporter_sibling(exporters, second) == EXPORTER_NONE)
		put_name(collector, first, true);
}

void exporter_row_sampled(struct exporter_row *row, uint32_t sampling, enum sampling_source source)
{
	if (sampling <= row->sampling)
		return;
	row->sampling = sampling;
	row->sampling_source = source;
}

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
	others->lost_agent += row->lost_agent;
	exporter_row_sampled(others, row->sampling, row->sampling_source);
	collector->others_gaps += domain->gaps;
	collector->others_harmless += domain->harmless;
}

void domain_settle_templates(struct collector *collector, struct domain *domain)
{
	size_t bytes = 0;

	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		bytes += s->templates != NULL ? templates_bytes(s->templates) : 0;
	VERIFY(collector->template_lent, >=, domain->borrowed);
	collector->template_lent -= domain->borrowed;
	domain->borrowed =
		bytes > collector->template_share ? bytes - collector->template_share : 0;
	collector->template_lent += domain->borrowed;
}

static void evict(struct collector *collector, uint32_t slot)
{
	struct domain *domain = &collector->domains[slot];

	collector_flush(collector); /* some observations may be of this slot */
	domain_end_sessions(collector, domain);
	if (domain->row.unknown_template > 0)
		collector_note_domain(
			collector, PROBLEM_NO_TEMPLATE, domain, 0, domain->row.unknown_template);
	add_to_others(collector, domain);
	collector->unknown_sampler |= domain->jumped;
	if (collector->links != NULL)
		links_forget(collector->links, slot);
	collector->evicted++;
	collector->params.forget(collector->params.arg, slot);
}

void domain_start_row(struct domain *domain, const struct exporter_id *id, uint32_t slot)
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

struct domain *domain_admit(
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
		.sums = domain->sums,
		.rule = rule,
	};
	domain_start_row(domain, id, slot);
	put_names(collector, slot);
	return domain;
}

void collector_sender_name(const struct collector *collector, const struct in6_addr *address,
	char name[ROUTER_NAME_MAX])
{
	const struct exporter_rule *rule = collector_rule_of(collector, address);
	char text[INET6_ADDRSTRLEN];

	address_print(address, text);
	snprintf(name, ROUTER_NAME_MAX, "%s",
		rule != NULL && rule->name[0] != '\0' ? rule->name : text);
}

const struct exporter_rule *collector_rule_of(
	const struct collector *collector, const struct in6_addr *address)
{
	return exporter_rule_find(collector->params.rules, collector->params.nb_rules, address);
}
