/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Messages about a port for the user, collected during its setup. */

#include <stdbool.h>
#include <stdint.h>

#define PORT_MESSAGES_MAX 16
#define PORT_MESSAGE_MAX  400

struct port_message {
	bool warning; /* affects the result; otherwise a notice */
	char text[PORT_MESSAGE_MAX];
};

struct port_messages {
	uint32_t n;
	struct port_message messages[PORT_MESSAGES_MAX];
};

__attribute__((format(printf, 2, 3))) void port_warn(
	struct port_messages *messages, const char *format, ...);
__attribute__((format(printf, 2, 3))) void port_notice(
	struct port_messages *messages, const char *format, ...);
