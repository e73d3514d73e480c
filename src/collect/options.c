/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/options.h"

#include <stdio.h>
#include <string.h>

#include "collect/listen.h"
#include "config/config.h"
#include "rx/source.h"
#include "sketch/measurement.h"

/* Of all exporters; so much of each at least. */
#define TEMPLATE_BYTES      ((size_t)64 << 20)
#define TEMPLATE_BYTES_EACH ((size_t)6 << 10)
#define WAITING_BYTES       ((size_t)16 << 20)

bool collect_listens(const struct config *config)
{
	return collect_options(config)->listen.n > 0;
}

bool collect_asked(const struct config *config)
{
	bool collects = config->command != NULL && strcmp(config->command->name, "collect") == 0;

	return collects || collect_listens(config);
}

static uint32_t read_rules(const struct config *config, struct exporter_rule *rules)
{
	const struct option_list *list = &collect_options(config)->exporters;
	char why[OPTION_WHY_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		n += exporter_rule_parse(list->texts[i], &rules[n], why);
	return n;
}

/* A prefix of length 0 limits nothing. */
static bool limits_senders(const struct config *config)
{
	struct exporter_rule rules[OPTION_LIST_MAX];
	uint32_t n = read_rules(config, rules);

	for (uint32_t i = 0; i < n; i++)
		if (exporter_rule_is_any(&rules[i]))
			return false;
	return n > 0;
}

const char *collect_open_address(const struct config *config)
{
	const struct option_list *listen = &collect_options(config)->listen;
	struct listen_address address;
	char why[OPTION_WHY_MAX];

	if (limits_senders(config))
		return NULL;
	for (uint32_t i = 0; i < listen->n; i++)
		if (listen_parse(listen->texts[i], &address, why) && listen_is_public(&address))
			return listen->texts[i];
	return NULL;
}

static size_t template_bytes(uint32_t exporters)
{
	size_t wanted = exporters * TEMPLATE_BYTES_EACH;

	return wanted > TEMPLATE_BYTES ? wanted : TEMPLATE_BYTES;
}

struct collector_params collect_collector_params(
	const struct config *config, struct exporter_rule *rules)
{
	const struct collect_options *options = collect_options(config);

	return (struct collector_params){
		.rules = rules,
		.nb_rules = read_rules(config, rules),
		.exporters_max = options->exporters_max,
		.template_bytes = template_bytes(options->exporters_max),
		.waiting_bytes = WAITING_BYTES,
		.link_overhead = options->link_overhead,
		.template_file = options->templates,
		.live = collect_listens(config),
		.links = config_asks(config, NULL, "links"),
	};
}

static bool knows_edges(const struct config *config)
{
	const struct option_list *list = &collect_options(config)->exporters;
	struct exporter_rule rule;
	char why[OPTION_WHY_MAX];
	bool edges = false;

	for (uint32_t i = 0; i < list->n; i++)
		edges |= exporter_rule_parse(list->texts[i], &rule, why) &&
			 (rule.all_edges || rule.nb_edges > 0);
	return edges;
}

static bool counts_routers(const struct config *config)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct key_rule *key = &measurement_options(&config->measurements[m])->key;

		if (key_rule_has(key, KEY_INGRESS) || key_rule_has(key, KEY_EGRESS))
			return true;
	}
	return false;
}

struct dedup_params collect_dedup_params(const struct config *config)
{
	const struct collect_options *options = collect_options(config);

	return (struct dedup_params){
		.method = (enum dedup_method)options->dedup,
		.flows = options->observed_flows,
		.exporters = options->exporters_max,
		.timeout = options->export_timeout,
		.paths = config_asks(config, NULL, "paths"),
		.routes = counts_routers(config),
		.edges = knows_edges(config),
		.allocator = sketch_allocator_malloc,
	};
}

/* Where flows go is followed from the start of the run or not at all. */
bool collect_takes(const struct config *running, const struct config *config, char *why)
{
	if (!collect_asked(running) || counts_routers(running) || !counts_routers(config))
		return true;
	snprintf(why, OPTION_WHY_MAX,
		"key: ingress and egress of flows are known only to a run that began with a "
		"measurement of them; start it anew");
	return false;
}

size_t collect_memory(const struct config *config, uint32_t workers)
{
	struct exporter_rule rules[OPTION_LIST_MAX];
	struct collector_params collector = collect_collector_params(config, rules);
	struct dedup_params dedup = collect_dedup_params(config);

	/* Flows are dealt out over the workers. */
	dedup.flows = (dedup.flows + workers - 1) / workers;
	return collector_memory(&collector) + workers * dedup_memory(&dedup);
}

static bool check_exporters(const struct config *config, struct option_fault *fault)
{
	const struct option_list *list = &collect_options(config)->exporters;
	struct exporter_rule rule, other;
	char why[OPTION_WHY_MAX];

	for (uint32_t i = 0; i < list->n; i++) {
		if (!exporter_rule_parse(list->texts[i], &rule, why))
			return option_fault(
				fault, "exporter", NULL, "'%.100s' %s", list->texts[i], why);
		for (uint32_t j = 0; j < i; j++)
			if (exporter_rule_parse(list->texts[j], &other, why) &&
				exporter_rule_same(&rule, &other))
				return option_fault(fault, "exporter", NULL,
					"'%.100s' is of the same prefix as '%.100s'; write one of them",
					list->texts[i], list->texts[j]);
	}
	return collect_options(config)->dedup != DEDUP_EDGE || knows_edges(config) ||
	       option_fault(fault, "dedup", NULL,
		       "edge needs to know where the edge is; give --exporter PREFIX,edge=IF-LIST");
}

static bool check_collect(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *list = &collect_options(config)->listen;
	struct listen_address address;
	char why[OPTION_WHY_MAX];

	(void)measurement;
	for (uint32_t i = 0; i < list->n; i++) {
		if (!listen_parse(list->texts[i], &address, why))
			return option_fault(
				fault, "listen", NULL, "'%.100s' %s", list->texts[i], why);
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(list->texts[i], list->texts[j]) == 0)
				return option_fault(fault, "listen", NULL,
					"'%.100s' is given twice; leave one out", list->texts[i]);
	}
	return check_exporters(config, fault);
}

/* Plans and the doctor take the options of all runs. */
static const char *lacks_collector(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return collect_asked(config) ? NULL : "without --listen";
}

static const char *lacks_sockets(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return collect_listens(config) ? NULL : "without --listen";
}

static const struct option_row collect_rows[] = {
	{
		.name = "listen",
		.placeholder = "ADDRESS:PORT",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		.set = SOURCE_SET,
		OPTION_FIELD(collect_options, listen),
		.help = "Receive datagrams of NetFlow v5 and v9, IPFIX and sFlow v5 at this UDP "
			"address; :PORT is every address of this host, [ADDRESS]:PORT one of IPv6. "
			"Any protocol may come to any port. Repeatable.",
	},
	{
		.name = "exporter",
		.lacks = lacks_collector,
		.placeholder = "PREFIX[=NAME][,sampling=N][,edge=LIST]",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		OPTION_FIELD(collect_options, exporters),
		.default_note = "anybody, by address",
		.help = "Only who sends from an address in one of these prefixes is listened to; "
			"the rest is refused. Of sFlow the rule of the agent's address holds, or "
			"else that of its sender. NAME is what outputs call it. sampling: of N packets it "
			"looks at one, where it does not say so itself. edge: interfaces that lead "
			"out of the network, as 1+3-5 or all. Repeatable; the longest prefix wins.",
	},
	{
		.name = "templates",
		.lacks = lacks_collector,
		.placeholder = "FILE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_STRING,
		OPTION_FIELD(collect_options, templates),
		.default_note = "kept in memory alone",
		.help = "Keep templates of NetFlow v9 and IPFIX in this file, so that after a "
			"restart nothing waits for exporters to send them again.",
	},
	{
		.name = "dedup",
		.lacks = lacks_collector,
		.placeholder = "METHOD",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.word = dedup_word,
		.suits = dedup_suits,
		OPTION_FIELD(collect_options, dedup),
		.default_text = "best",
		.help = "How a flow that several exporters report is counted:",
	},
	{
		.name = "export-timeout",
		.lacks = lacks_collector,
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		OPTION_FIELD(collect_options, export_timeout),
		.min = 1000000,
		.max = OPTION_CENTURY,
		.default_text = "2m",
		.help = "The longest time between an exporter's reports of a flow: the largest of "
			"their active timeouts, and some. A flow that nobody reported for so long "
			"is a new one.",
	},
	{
		.name = "observed-flows",
		.lacks = lacks_collector,
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, observed_flows),
		.min = 64,
		.max = UINT64_C(1) << 30,
		.default_text = "1M",
		.help = "Flows of which it is remembered at once who reported how much; about 170 "
			"bytes each. Records of more are counted by the edge rule, and said to be "
			"(edge_only).",
	},
	{
		.name = "link-overhead",
		.lacks = lacks_collector,
		.rare = true,
		.placeholder = "BYTES",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, link_overhead),
		.max = 256,
		.zero = true,
		.default_text = "14",
		.help = "Added to the layer-3 bytes of each packet that a record tells, so that "
			"bytes are those of a tap: 14 of Ethernet. 0: layer 3 alone.",
	},
	{
		.name = "exporters-max",
		.lacks = lacks_collector,
		.rare = true,
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, exporters_max),
		.min = 1,
		.max = 65000,
		.default_text = "10000",
		.help = "Exporters, each of their domains counted, that are known at once. Where "
			"there are more, newcomers take each other's places; an exporter that sent "
			"two good datagrams is forgotten only after an hour of silence.",
	},
	{
		.name = "receive-buffer",
		.lacks = lacks_sockets,
		.rare = true,
		.placeholder = "SIZE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_SIZE,
		OPTION_FIELD(collect_options, receive_buffer),
		.min = 4096,
		.max = UINT64_C(1) << 30,
		.default_text = "32MB",
		.help = "What the kernel may hold of datagrams for each --listen.",
	},
	{0},
};

const struct option_owner collect_owner = {
	.rows = collect_rows,
	.size = sizeof(struct collect_options),
	.check = check_collect,
};
