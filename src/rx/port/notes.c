/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/notes.h"

#include <stdarg.h>
#include <stdio.h>

__attribute__((format(printf, 3, 0))) static void add(
	struct port_notes *notes, bool warning, const char *format, va_list args)
{
	struct port_note *note;

	if (notes->n == PORT_NOTES_MAX)
		return;
	note = &notes->notes[notes->n++];
	note->warning = warning;
	vsnprintf(note->text, sizeof(note->text), format, args);
}

void port_warn(struct port_notes *notes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(notes, true, format, args);
	va_end(args);
}

void port_notice(struct port_notes *notes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add(notes, false, format, args);
	va_end(args);
}
