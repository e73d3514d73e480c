/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Options of a command: finds them by name; prints help, the man page, and words for completion. */

#include <stdio.h>

#include "config/config.h"

/* name: current or former. Returns NULL if there is none. */
const struct config_row *options_find(const struct config *config, const char *name);
const struct config_row *options_find_letter(const struct config *config, char letter);
const char *options_name_as(const struct option_row *row, const char *name);
/* Writes the documented form, such as "--top" or "--set confidence". Returns `text`. */
const char *options_spelling(const struct option_row *row, char *text, size_t size);
/* Returns the option with the most similar name; NULL: none is similar. */
const struct config_row *options_nearest(const struct config *config, const char *name);
void options_say_unknown(const struct config *config, const char *name, char *text, size_t size);

/* Returns key i of the owner and its sub-owners; row is NULL after the last. */
struct config_row options_key(const struct option_owner *owner, uint32_t i);
/* key: NAME or NAME.PROPERTY in a section of the owner. row is NULL if it is unknown. */
struct config_row options_find_key(const struct option_owner *owner, const char *key);
void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size);

void options_help(const struct config *config, const struct program *program, bool all, FILE *out);
void options_man(const struct config *config, FILE *out);
void options_man_terms(const struct config *config, const struct program *program, FILE *out);
/* Prints one per line: commands, options, and "OPTION VALUE" for known values. */
void options_words(const struct config *config, const struct program *program, FILE *out);
