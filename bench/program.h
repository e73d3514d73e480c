/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* The whole of sketchtap, started as a user would, on capture files of its own. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define PROGRAM_ERROR_MAX 512

/* In a child: becomes the sketchtap beside this program. Returns where there is none. */
void program_execute(const char *const *arguments);

struct program_captures {
	char directory[64];
	char small[96], large[96]; /* paths: 10 packets, and many */
	uint64_t packets;          /* of the large one */
};

/* Writes captures of 64-byte packets into a new directory. Returns false with one line in error. */
bool program_captures_write(struct program_captures *captures, uint64_t packets, char *error);
void program_captures_remove(struct program_captures *captures);

/*
 * Measures a capture with the sketchtap beside this program, in a process of its own, whose output
 * is thrown away.
 * Returns wall seconds, or 0 with one line in error[PROGRAM_ERROR_MAX].
 */
double program_replay(const struct config *config, const char *path, char *error);

/* Reads a capture with libpcap and does nothing with it. Returns wall seconds, or 0. */
double program_read_alone(const char *path, uint64_t packets, char *error);
