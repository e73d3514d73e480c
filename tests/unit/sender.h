/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Sends flow records to a sink at a URL, and returns their text. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "many_flows.h"
#include "report/formats/format.h"
#include "report/sinks/sink.h"
#include "report/sinks/spool.h"

static _Atomic uint32_t warnings, notices;
/* Valid after the sink has stopped. */
static char last_notice[256], last_warning[256];

static void hear(bool warning, const char *line, void *arg)
{
	(void)arg;
	snprintf(warning ? last_warning : last_notice, sizeof(last_notice), "%s", line);
	*(warning ? &warnings : &notices) += 1;
}

static struct sink_log sink_log = {.log = hear};

static struct sink_options sink_options;
static const void *sink_own; /* struct of the keys of its type */

static inline struct sink_request request_of(const char *url)
{
	return (struct sink_request){
		.url = url,
		.name = url,
		.options = &sink_options,
		.own = sink_own,
		.kind = ROWS_FLOWS,
		.usual_format = FORMAT_CSV,
		.choice = {.key_fields = UINT32_MAX, .records = true},
	};
}

/* Asserts that each of the URLs up to NULL is accepted (good) or refused. */
static inline void assert_urls(const char *const *urls, bool good)
{
	for (; *urls != NULL; urls++) {
		const struct sink_request request = request_of(*urls);
		char why[SINK_ERROR_MAX] = "";

		assert_true(sink_is_url(*urls));
		assert_int_equal(sink_check(&request, why), good);
		assert_int_equal(why[0] == '\0', good);
	}
}

/* Asserts that the URLs up to NULL accept rows in JSON only. */
static inline void assert_json_alone(const char *const *urls)
{
	for (; *urls != NULL; urls++) {
		struct sink_request request = request_of(*urls);
		char why[SINK_ERROR_MAX];

		request.format = FORMAT_JSON;
		assert_true(sink_check(&request, why));
		request.format = FORMAT_CSV;
		assert_false(sink_check(&request, why));
	}
}

/* --- A sink with its thread, and the text of the rows */

struct sender {
	struct sink *sink;
	struct sink_queue *sink_queue;
	struct delivery *delivery;
	char url[128];
	int64_t second; /* length of a second for timeouts, in ns; 0: real seconds */
	bool require;   /* a receiver must be available before the thread starts */
	bool spools;
	char spool[64]; /* folder of the spool */
};

#define SHORT_SECOND 50000000

static inline void open_spool(struct sender *sender)
{
	struct sink_options options = {.spool = {.text = sender->spool, .size = 1 << 24}};
	struct spool_found found;
	char why[SPOOL_WHY_MAX];

	strcpy(sender->spool, "/tmp/sketchtap-sender-XXXXXX");
	assert_non_null(mkdtemp(sender->spool));
	options.spool.folder_len = (uint32_t)strlen(sender->spool);
	sender->sink->options = &options;
	assert_true(sink_spool_open(sender->sink, why, &found));
	sender->sink->options = &sink_options;
}

/* Removes the spool, which must be empty. */
static inline void remove_spool(struct sender *sender)
{
	static const char *const files[] = {"lock", "url"};
	char path[128];

	sink_spool_close(sender->sink->spooled);
	for (uint32_t f = 0; f < 2; f++) {
		snprintf(path, sizeof(path), "%s/%s", sender->spool, files[f]);
		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(sender->spool), 0);
}

static inline void start(struct sender *sender)
{
	const struct sink_request request = request_of(sender->url);
	struct sink_queue_params params = {.nb_deliveries = 1, .sink_log = &sink_log};
	char why[SINK_ERROR_MAX];

	warnings = notices = 0;
	assert_true(sink_check(&request, why));
	sender->sink = sink_create(&request, 0, &sink_log);
	assert_non_null(sender->sink);
	assert_int_equal(sink_open(sender->sink, sender->require, why), 0);
	sender->delivery = &sender->sink->delivery;
	if (sender->spools)
		open_spool(sender);
	params.ops = sender->spools ? &sink_spool_ops : &sender->sink->type->ops;
	params.place = sender->spools ? (void *)sender->sink->spooled : sender->sink;
	params.keeps = sender->spools;
	params.name = sender->url;
	params.second = sender->second;
	params.deliveries = &sender->delivery;
	sender->sink_queue = sink_queue_create(&params);
	assert_non_null(sender->sink_queue);
	sender->sink->sink_queue = sender->sink_queue;
	sink_queue_bound_flows(sender->sink_queue, SIZE_MAX);
	assert_int_equal(sink_queue_start(sender->sink_queue), 0);
}

static inline struct report_delivery stop(struct sender *sender)
{
	struct report_delivery delivery;

	assert_int_equal(sink_queue_end(sender->sink_queue), 0);
	delivery = delivery_look(sender->delivery);
	assert_int_equal(delivery.waiting, 0);
	sink_queue_free(sender->sink_queue);
	if (sender->spools)
		remove_spool(sender);
	sink_free(sender->sink);
	return delivery;
}

/* Waits until `rows` rows are acknowledged or lost, also if they pass through a spool. */
static inline void wait_for_fates(const struct sender *sender, uint64_t rows)
{
	while (sender->delivery->acknowledged + delivery_lost(sender->delivery) < rows)
		usleep(1000);
}

static inline void push(struct sender *sender, uint32_t n)
{
	struct report_epoch *epoch = many_flows(n);

	sink_queue_push(sender->sink_queue, epoch);
	report_epoch_free(epoch);
}

/* Returns the rows as files have them, with the exporter's columns. */
static inline struct text rows_of(const struct format *format, uint32_t n, bool header)
{
	const struct sink_request request = request_of("");
	struct column_choice choice = request.choice;
	struct columns *columns;
	struct report_epoch *epoch = many_flows(n);
	struct text text = {0};

	choice.sink = true;
	choice.named = format->named;
	columns = columns_of(&output_flows, &choice);
	assert_non_null(columns);
	if (header)
		format->header(&text, columns);
	else if (format->header == NULL)
		columns_suit(&columns, epoch);
	format_epoch(&text, format, columns, epoch);
	assert_false(text.failed);
	report_epoch_free(epoch);
	free(columns);
	return text;
}
