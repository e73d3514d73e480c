/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* A collector of IPFIX as a place of reports: the rows of one kind, to one URL. */

#include "report/outlet/ipfix_socket.h"
#include "report/outlet/outlet.h"
#include "report/outlet/voice.h"

struct ipfix_place {
	struct delivery delivery;
	struct writer_voice *voice;
	struct ipfix_socket *socket;
	struct outlet *outlet; /* the thread's own */
};

extern const struct outlet_ops ipfix_ops;

/*
 * From malloc(). `name` is the URL, which ipfix_url_parse() takes, and outlives the place. `domain`
 * is that of its first measurement. NULL where memory is missing.
 */
struct ipfix_place *ipfix_place_create(
	const char *name, const struct output *output, uint32_t domain, struct writer_voice *voice);
/* NULL is allowed. */
void ipfix_place_free(struct ipfix_place *place);
