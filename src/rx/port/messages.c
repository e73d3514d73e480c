/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/messages.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void add(
	struct port_messages *messages, bool warning, const char *format, va_list args)
{
	struct port_message *message;

	if (messages->n == PORT_MESSAGES_MAX)
		return;
	message = &messages->messages[messages->n++];
	message->warning = warning;
	vsnprintf(message->text, sizeof(message->text), format, args);
}

void port_warn(struct port_messages *messages, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(messages, true, format, args);
	va_end(args);
}

void port_notice(struct port_messages *messages, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(messages, false, format, args);
	va_end(args);
}
