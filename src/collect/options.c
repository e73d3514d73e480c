/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/options.h"

#include <stdio.h>
#include <string.h>

#include "base/subprocess.h"
#include "collect/listen.h"
#include "config/config.h"
#include "sketch/measurement.h"

/* bytes for templates of all exporters, minimum per exporter, bytes for waiting data sets */
#define TEMPLATE_BYTES      ((size_t)64 << 20)
#define TEMPLATE_BYTES_EACH ((size_t)6 << 10)
#define WAITING_BYTES       ((size_t)16 << 20)

static uint32_t read_rules(const struct config *config, struct exporter_rule *rules)
{
	const struct option_list *list = &collect_options(config)->exporters;
	char why[OPTION_WHY_MAX];
	uint32_t n = 0;

	for (uint32_t i = 0; i < list->n; i++)
		n += exporter_rule_parse(list->texts[i], &rules[n], why);
	return n;
}

/* A prefix of length 0 does not limit senders. */
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

const char *collect_missing_program(const struct config *config, int *failure)
{
	const struct collect_options *options = collect_options(config);
	struct exporter_rule rules[OPTION_LIST_MAX];
	uint32_t n = options->listen.n > 0 ? read_rules(config, rules) : 0;

	if (options->listen.n > 0 && options->sampling_command != NULL) {
		*failure = subprocess_find(options->sampling_command);
		if (*failure != 0)
			return options->sampling_command;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (rules[i].ovsdb[0] == '\0')
			continue;
		*failure = subprocess_find("ovs-vsctl");
		return *failure != 0 ? "ovs-vsctl" : NULL;
	}
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
		.live = options->listen.n > 0 || options->collectors != NULL,
		.links = config_exports(config, "links"),
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
		.paths = config_exports(config, "paths") || config_exports(config, "neighbours"),
		.routes = counts_routers(config),
		.edges = knows_edges(config),
		.allocator = sketch_allocator_malloc,
	};
}

/* The paths of flows, which ingress and egress need, must be tracked from the start of the run. */
bool collect_takes(const struct config *running, const struct config *config, char *why)
{
	if (counts_routers(running) || !counts_routers(config))
		return true;
	snprintf(why, OPTION_WHY_MAX,
		"key: ingress and egress can only be added if a measurement had them when the run "
		"started; restart sketchtap");
	return false;
}

size_t collect_memory(const struct config *config, uint32_t workers)
{
	struct exporter_rule rules[OPTION_LIST_MAX];
	struct collector_params collector = collect_collector_params(config, rules);
	struct dedup_params dedup = collect_dedup_params(config);

	/* Flows are divided among workers. */
	dedup.flows = (dedup.flows + workers - 1) / workers;
	return collector_memory(&collector) + workers * dedup_memory(&dedup);
}

const char *sampling_target_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	const struct collect_options *options = collect_options(config);

	(void)measurement;
	return options->sampling_budget > 0 || options->sampling_error > 0
		       ? NULL
		       : "without --sampling-budget or --sampling-error";
}

static bool check_collect(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *list = &collect_options(config)->exporters;
	struct exporter_rule rule, other;
	char why[OPTION_WHY_MAX];

	(void)measurement;
	for (uint32_t i = 0; i < list->n; i++) {
		if (!exporter_rule_parse(list->texts[i], &rule, why))
			return option_fault(
				fault, "exporter", NULL, "'%.100s': %s", list->texts[i], why);
		for (uint32_t j = 0; j < i; j++)
			if (exporter_rule_parse(list->texts[j], &other, why) &&
				exporter_rule_same(&rule, &other))
				return option_fault(fault, "exporter", NULL,
					"'%.100s': same prefix as '%.100s'; omit one",
					list->texts[i], list->texts[j]);
	}
	return collect_options(config)->dedup != DEDUP_EDGE || knows_edges(config) ||
	       option_fault(fault, "dedup", NULL,
		       "edge needs the edge interfaces; give --exporter PREFIX,edge=LIST");
}

static const struct option_row collect_rows[] = {
	{
		.name = "exporter",
		COLLECT_OPTION,
		.placeholder = "PREFIX[=NAME][,sampling=N][,edge=LIST][,ovsdb=DATABASE]",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		OPTION_FIELD(collect_options, exporters),
		.default_note = "all senders, named by address",
		.help = "Accept datagrams only from senders in PREFIX, and call them NAME. "
			"sampling=N: sampling interval of records that do not state it. "
			"edge=LIST: interfaces that lead out of the network, such as 1+3-5 or "
			"all. ovsdb=DATABASE: Open vSwitch whose sampling --sampling-budget and "
			"--sampling-error set, such as unix:/run/openvswitch/db.sock. Repeatable; "
			"the longest prefix wins.",
		.man = "For sFlow the rule of the agent address takes precedence over that of the "
		       "sender.",
	},
	{
		.name = "templates",
		COLLECT_OPTION,
		.placeholder = "FILE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_STRING,
		OPTION_FIELD(collect_options, templates),
		.default_note = "kept in memory only",
		.help = "Keep templates of NetFlow v9 and IPFIX in FILE across restarts.",
	},
	{
		.name = "dedup",
		COLLECT_OPTION,
		.placeholder = "METHOD",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.word = dedup_word,
		.suits = dedup_suits,
		OPTION_FIELD(collect_options, dedup),
		.default_text = "best",
		.help = "Select how to count a flow that several exporters report:",
	},
	{
		.name = "active-timeout",
		COLLECT_OPTION,
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		OPTION_FIELD(collect_options, export_timeout),
		.min = 1000000,
		.max = OPTION_CENTURY,
		.default_text = "2m",
		.former = "export-timeout",
		.rare = true,
		.help = "Treat a flow as ended after TIME without a record. Set it slightly above "
			"the largest active timeout of your exporters.",
	},
	{
		.name = "flow-cache-size",
		COLLECT_OPTION,
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, observed_flows),
		.min = 64,
		.max = UINT64_C(1) << 30,
		.default_text = "1M",
		.former = "observed-flows",
		.rare = true,
		.help = "Set the size of the flow cache, in flows of about 170 bytes. Records of "
			"further flows are counted as with --dedup edge (column edge_only).",
	},
	{
		.name = "link-overhead",
		COLLECT_OPTION,
		.rare = true,
		.placeholder = "BYTES",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, link_overhead),
		.max = 256,
		.zero = true,
		.default_text = "14",
		.config_only = true,
		.help = "Add BYTES of layer 2 header to each packet of a record. 14: Ethernet. 0: "
			"count layer 3 bytes.",
	},
	{
		.name = "sampling-budget",
		COLLECT_OPTION,
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, sampling_budget),
		.min = 1,
		.max = 1000000000,
		.default_note = "no limit",
		.help = "Recommend sampling with which each exporter sends at most N records per "
			"second. --export sampling has the recommendations.",
	},
	{
		.name = "sampling-error",
		COLLECT_OPTION,
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		OPTION_FIELD(collect_options, sampling_error),
		.default_note = "no target",
		.help = "Recommend the coarsest sampling with which the bounds of all reported keys "
			"(--top, --threshold) are at most FRACTION of the estimate away from it. "
			"--sampling-budget takes precedence.",
	},
	{
		.name = "sampling-command",
		.not_for = SOURCE_PACKETS | SOURCE_KEYS | SOURCE_OF_FEEDER,
		.placeholder = "PROGRAM",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		OPTION_FIELD(collect_options, sampling_command),
		.default_note = "only recommend, except with ovsdb=",
		.inapplicable = sampling_target_inapplicable,
		.help = "Run PROGRAM ADDRESS PROTOCOL N to set the sampling of an exporter to 1:N. "
			"It must end with status 0 within 10 s, after the change.",
	},
	{
		.name = "exporters-max",
		COLLECT_OPTION,
		.rare = true,
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		OPTION_FIELD(collect_options, exporters_max),
		.min = 1,
		.max = 65000,
		.default_text = "10000",
		.config_only = true,
		.help = "Limit the number of exporters. Each observation domain counts as one. Above "
			"the limit, new exporters replace each other. An exporter that has sent two "
			"valid datagrams is kept until it is silent for an hour.",
	},
	{
		.name = "receive-buffer",
		.not_for = SOURCE_PACKETS | SOURCE_KEYS | SOURCE_OF_FEEDER,
		.rare = true,
		.placeholder = "SIZE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_SIZE,
		OPTION_FIELD(collect_options, receive_buffer),
		.min = 4096,
		.max = UINT64_C(1) << 30,
		.default_text = "32MB",
		.config_only = true,
		.help = "Set the receive buffer of each --listen socket.",
	},
	{0},
};

const struct option_owner collect_owner = {
	.rows = collect_rows,
	.size = sizeof(struct collect_options),
	.check = check_collect,
};
