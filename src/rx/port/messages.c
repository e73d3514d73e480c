/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/messages.h"

#include <stdarg.h>
#include <stdio.h>

void port_message(struct port_messages *messages, bool warning, const char *format, ...)
{
	struct port_message *message;
	va_list args;

	if (messages->n == PORT_MESSAGES_MAX)
		return;
	message = &messages->messages[messages->n++];
	message->warning = warning;
	va_start(args, format);
	vsnprintf(message->text, sizeof(message->text), format, args);
	va_end(args);
}
