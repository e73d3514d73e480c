/* SPDX-License-Identifier: BSD-3-Clause */

#include <stdlib.h>

#include "report/outlet/ipfix_place.h"

static bool ending(void *arg)
{
	const struct ipfix_place *place = arg;

	return outlet_ending(place->outlet);
}

static void say(bool warning, const char *line, void *arg)
{
	const struct ipfix_place *place = arg;

	voice_say(warning, line, place->voice);
}

static void begin(void *arg, struct outlet *outlet)
{
	struct ipfix_place *place = arg;

	place->outlet = outlet;
}

static void write_report(void *arg, const struct report_epoch *epoch)
{
	struct ipfix_place *place = arg;
	const struct ipfix_account account = ipfix_socket_write(place->socket, epoch);

	delivery_count(&place->delivery.delivered, account.delivered);
	delivery_count(&place->delivery.failed, account.failed);
	delivery_count(&place->delivery.bytes, account.bytes);
	delivery_count(&place->delivery.reconnects, account.reconnects);
}

static void reopen(void *arg)
{
	struct ipfix_place *place = arg;

	ipfix_socket_reopen(place->socket);
}

const struct outlet_ops ipfix_ops = {.begin = begin, .write = write_report, .reopen = reopen};

struct ipfix_place *ipfix_place_create(
	const char *name, const struct output *output, uint32_t domain, struct writer_voice *voice)
{
	struct ipfix_place *place = calloc(1, sizeof(*place));
	const struct ipfix_socket_options options = {
		.records = {.flows = output == &output_flows,
			.domain = domain,
			.ingress = 1,
			.egress = 0},
		.ending = ending,
		.say = say,
		.arg = place,
	};
	struct ipfix_url url;
	char why[IPFIX_WHY_MAX];

	if (place == NULL || !ipfix_url_parse(name, &url, why)) {
		free(place);
		return NULL;
	}
	place->delivery = (struct delivery){.name = name, .output = output};
	place->voice = voice;
	place->socket = ipfix_socket_create(name, &url, &options);
	if (place->socket == NULL) {
		free(place);
		return NULL;
	}
	return place;
}

void ipfix_place_free(struct ipfix_place *place)
{
	if (place == NULL)
		return;
	ipfix_socket_free(place->socket);
	free(place);
}
