/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PORT_MESSAGES_MAX 16
#define PORT_MESSAGE_MAX  400

struct port_message {
	bool warning; /* true: the result is affected; false: a notice */
	char text[PORT_MESSAGE_MAX];
};

struct port_messages {
	uint32_t n;
	struct port_message messages[PORT_MESSAGES_MAX];
};

__attribute__((format(printf, 3, 4))) void port_message(
	struct port_messages *messages, bool warning, const char *format, ...);

#define port_warn(messages, ...)   port_message(messages, true, __VA_ARGS__)
#define port_notice(messages, ...) port_message(messages, false, __VA_ARGS__)
