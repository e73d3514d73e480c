/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the user should know of a port, line by line, collected while it is set up. */

#include <stdbool.h>
#include <stdint.h>

#define PORT_NOTES_MAX 16
#define PORT_NOTE_MAX  400

struct port_note {
	bool warning; /* it touches the result; else it only says what was done */
	char text[PORT_NOTE_MAX];
};

struct port_notes {
	uint32_t n;
	struct port_note notes[PORT_NOTES_MAX];
};

__attribute__((format(printf, 2, 3))) void port_warn(
	struct port_notes *notes, const char *format, ...);
__attribute__((format(printf, 2, 3))) void port_notice(
	struct port_notes *notes, const char *format, ...);
