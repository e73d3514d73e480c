/* SPDX-License-Identifier: BSD-3-Clause */
#include "sketch/queries.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key/classifier.h"
#include "key/match.h"
#include "sketch/measurement.h"

#define PROTO_TCP 6

_Static_assert(QUERY_NO_RANK <= UINT8_MAX, "a rank is one byte");

static bool is_query(const struct config_named *section)
{
	return section->owner == &query_owner;
}

static const struct query_options *options_of(const struct config_named *section)
{
	return config_named_block(section, &query_owner);
}

bool queries_given(const struct config *config)
{
	for (uint32_t n = 0; n < config->nb_named; n++)
		if (is_query(&config->named[n]))
			return true;
	return false;
}

static bool is_suitable(const struct measurement_config *measurement)
{
	return (measurement_sketch(measurement)->caps & SKETCH_RECORDS) != 0 &&
	       key_rule_equal(&measurement_options(measurement)->key, &key_rules[0]);
}

bool queries_apply(const struct config *config, const struct measurement_config *measurement)
{
	return queries_given(config) && is_suitable(measurement);
}

const char *queries_inapplicable(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	/* A run may remove all queries, and add some later. */
	return config->again || queries_given(config) ? NULL : "without [query NAME]";
}

__attribute__((format(printf, 4, 5))) static bool set_fault(struct option_fault *fault,
	const struct config_named *section, const char *key, const char *format, ...)
{
	char why[sizeof(fault->why)];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(why, sizeof(why), format, arguments);
	va_end(arguments);
	option_fault(fault, key, NULL, "%s", why);
	fault->named = section;
	return false;
}

/* One measurement must permit the state. Others use the deepest one that they permit. */
static bool check_state(
	const struct config *config, const struct config_named *section, struct option_fault *fault)
{
	enum flow_depth state = (enum flow_depth)options_of(section)->state;
	const char *word = flow_depth_word(state);
	const struct measurement_config *with_states = NULL;
	bool suitable = false;

	for (uint32_t m = 0; m < config->nb_measurements; m++) {
		const struct measurement_config *measurement = &config->measurements[m];

		if (!is_suitable(measurement))
			continue;
		suitable = true;
		if (measurement_params(measurement).deep.deepest >= state)
			return true;
		if (with_states == NULL && measurement_sketch(measurement)->set_states != NULL)
			with_states = measurement;
	}
	if (!suitable)
		return set_fault(fault, section, "match",
			"no measurement counts flows; give --sketch flow-table and --key 5tuple");
	if (with_states == NULL)
		return set_fault(fault, section, "state",
			"%s: no measurement has states; give --sketch flow-table --flow-detail %s",
			word, word);
	return set_fault(fault, section, "state",
		"%s: more than flow-detail of measurement %.64s permits; give it flow-detail = %s",
		word, with_states->name, word);
}

static bool check_query(const struct config *config, const struct config_named *section,
	uint32_t *boxes, struct option_fault *fault)
{
	const char *text = options_of(section)->match;
	char why[MATCH_WHY_MAX];
	struct match match;

	if (text == NULL)
		return set_fault(fault, section, "match", "missing key; write match = EXPRESSION");
	if (!match_compile(&match, text, why))
		return set_fault(fault, section, "match", "%s", why);
	*boxes += match.n;
	match_free(&match);
	if (*boxes > CLASSIFIER_BOXES_MAX)
		return set_fault(fault, section, "match",
			"the queries up to this one need %u combinations of ranges; the limit is "
			"%d; name src or dst in conditions, or remove queries",
			*boxes, CLASSIFIER_BOXES_MAX);
	return check_state(config, section, fault);
}

static bool check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	uint32_t boxes = 0;

	(void)measurement;
	for (uint32_t n = 0; n < config->nb_named; n++)
		if (is_query(&config->named[n]) &&
			!check_query(config, &config->named[n], &boxes, fault))
			return false;
	return true;
}

static const struct option_row rows[] = {
	{
		.name = "match",
		.placeholder = "EXPRESSION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		OPTION_FIELD(query_options, match),
		.help = "Select the flows of the query, in the language of tcpdump: ip, ip6, tcp, "
			"udp, sctp, icmp, icmp6, proto, host, net, port and portrange, with src, "
			"dst, and, or, not and parentheses.",
	},
	{
		.name = "state",
		.placeholder = "LEVEL",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		.word = flow_depth_word,
		OPTION_FIELD(query_options, state),
		.default_text = "count",
		.help = "Measure these flows at least in this state. Levels are those of "
			"--flow-detail, which limits them.",
	},
	{
		.name = "rank",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		OPTION_FIELD(query_options, rank),
		.min = 1,
		.max = QUERY_RANKS,
		.default_text = "1",
		.help = "Set the rank under overload. 1 is turned off last. Queries of a rank are "
			"turned off together.",
	},
	{0},
};

const struct option_owner query_owner = {
	.rows = rows,
	.size = sizeof(struct query_options),
	.section = "query",
	.sections_max = QUERIES_MAX,
	.live = true,
	.check = check,
};

struct sorted {
	const struct config_named *section;
	uint32_t rank;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct sorted *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->section > y->section) - (x->section < y->section);
}

/* Keeps the conditions with a state. */
static bool fill_deep(struct queries *queries, struct match *matches)
{
	uint32_t *order = calloc(queries->n + 1, sizeof(*order)), boxes = 0;

	if (order == NULL)
		return false;
	for (uint32_t q = 0; q < queries->n; q++) {
		const struct query *query = &queries->list[q];

		if (query->state == FLOW_COUNT)
			match_free(&matches[q]);
		else if (query->state == FLOW_TCP)
			queries->tcp_boxes += matches[q].n;
		boxes += matches[q].n;
		order[q] = query->rank + (query->state == FLOW_TCP ? 0 : QUERY_NO_RANK);
	}
	if (boxes > 0)
		queries->deep = classifier_create(matches, order, queries->n);
	free(order);
	return boxes == 0 || queries->deep != NULL;
}

bool queries_classify(struct queries *queries, struct match *matches)
{
	queries->classifier = classifier_create(matches, NULL, queries->n);
	return queries->classifier != NULL && fill_deep(queries, matches);
}

static bool fill(struct queries *queries, const struct sorted *sorted, struct match *matches)
{
	for (uint32_t q = 0; q < queries->n; q++) {
		const struct query_options *options = options_of(sorted[q].section);
		struct query *query = &queries->list[q];
		char why[MATCH_WHY_MAX];

		snprintf(query->name, sizeof(query->name), "%s", sorted[q].section->name);
		query->rank = (uint8_t)options->rank;
		query->state = (enum flow_depth)options->state;
		if (!match_compile(&matches[q], options->match, why))
			return false;
	}
	return queries_classify(queries, matches);
}

struct queries *queries_create(const struct config *config)
{
	struct queries *queries = calloc(1, sizeof(*queries));
	struct sorted *sorted = calloc(config->nb_named + 1, sizeof(*sorted));
	struct match *matches = calloc(config->nb_named + 1, sizeof(*matches));
	bool filled = false;

	if (queries != NULL && sorted != NULL && matches != NULL) {
		for (uint32_t n = 0; n < config->nb_named; n++)
			if (is_query(&config->named[n]))
				sorted[queries->n++] = (struct sorted){
					&config->named[n], options_of(&config->named[n])->rank};
		qsort(sorted, queries->n, sizeof(*sorted), compare_ranks);
		queries->list = calloc(queries->n + 1, sizeof(queries->list[0]));
		filled = queries->list != NULL && fill(queries, sorted, matches);
	}
	for (uint32_t n = 0; matches != NULL && n < config->nb_named; n++)
		match_free(&matches[n]);
	free(matches);
	free(sorted);
	if (filled)
		return queries;
	queries_destroy(queries);
	return NULL;
}

void queries_destroy(struct queries *queries)
{
	if (queries == NULL)
		return;
	classifier_destroy(queries->classifier);
	classifier_destroy(queries->deep);
	free(queries->list);
	free(queries);
}

size_t queries_bytes(const struct queries *queries)
{
	return sizeof(*queries) + queries->n * sizeof(queries->list[0]) +
	       classifier_bytes(queries->classifier) +
	       (queries->deep != NULL ? classifier_bytes(queries->deep) : 0);
}

/* No rank is below 1. */
static struct query_ranks ranks_of(
	const struct queries *queries, struct classifier_lookup *lookup, uint8_t proto)
{
	struct query_ranks ranks = {QUERY_NO_RANK, QUERY_NO_RANK};
	uint32_t found;

	while (ranks.rate > 1 && (found = classifier_next(lookup)) != CLASSIFIER_NONE) {
		const struct query *query = &queries->list[found];

		if (query->rank < ranks.rate)
			ranks.rate = query->rank;
		if (query->state == FLOW_RATE)
			break;
		if (proto == PROTO_TCP && query->rank < ranks.tcp)
			ranks.tcp = query->rank;
		classifier_skip(lookup, queries->tcp_boxes);
	}
	return ranks;
}

struct query_ranks queries_ranks4(const struct queries *queries, const struct key4 *key)
{
	struct classifier_lookup lookup;

	if (queries->deep == NULL)
		return (struct query_ranks){QUERY_NO_RANK, QUERY_NO_RANK};
	classifier_look_up4(queries->deep, key, &lookup);
	return ranks_of(queries, &lookup, key->proto);
}

struct query_ranks queries_ranks6(const struct queries *queries, const struct key6 *key)
{
	struct classifier_lookup lookup;

	if (queries->deep == NULL)
		return (struct query_ranks){QUERY_NO_RANK, QUERY_NO_RANK};
	classifier_look_up6(queries->deep, key, &lookup);
	return ranks_of(queries, &lookup, key->proto);
}

void queries_match(const struct queries *queries, const struct key *key,
	void (*found)(uint32_t query, void *arg), void *arg)
{
	struct classifier_lookup lookup;
	uint32_t query;

	classifier_look_up(queries->classifier, key, &lookup);
	while ((query = classifier_next(&lookup)) != CLASSIFIER_NONE)
		found(query, arg);
}
