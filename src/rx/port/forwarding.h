/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdint.h>

#include "config/option.h"

enum forward_mode {
	FORWARD_OFF,
	FORWARD_PAIRS, /* between ports 0 and 1, ports 2 and 3, ... */
	FORWARD_LOOP,  /* back out of the ingress port */
};

struct forward_options {
	enum forward_mode mode;
};

OPTION_OWNER(forward)

static inline bool forward_asked(const struct config *config)
{
	return forward_options(config)->mode != FORWARD_OFF;
}

static inline uint32_t forward_out(enum forward_mode mode, uint32_t p)
{
	return mode == FORWARD_PAIRS ? p ^ 1 : p;
}

const char *forward_option_inapplicable(
	const struct config *config, const struct measurement_config *measurement);
