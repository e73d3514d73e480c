/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs the sketchtap program as a user would, on temporary capture files. */

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define PROGRAM_ERROR_MAX 512

/* Replaces this process, a child, by the sketchtap in its directory. Returns only on error. */
void program_execute(const char *const *arguments);

struct program_captures {
	char directory[64];
	char small[96], large[96];
	uint64_t packets;
};

/* Writes 64-byte packets into a new directory. Returns false with one line in error. */
bool program_captures_write(struct program_captures *captures, uint64_t packets, char *error);
void program_captures_remove(struct program_captures *captures);

/* Measures a capture. Returns seconds, or 0 with one line in error[PROGRAM_ERROR_MAX]. */
double program_replay(const struct config *config, const char *path, char *error);

/* Reads with libpcap and ignores the packets. Returns seconds, or 0 with one line in error. */
double program_read_alone(const char *path, uint64_t packets, char *error);
