/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Finds the options of a command, and prints help, man page and words for completion. */

#include <stdio.h>

#include "config/config.h"

/* Returns the option of this name, current or former, or NULL. */
const struct config_row *options_find(const struct config *config, const char *name);
/* Returns the option of -LETTER, or NULL. */
const struct config_row *options_find_letter(const struct config *config, char letter);
/* Returns the name of the row that equals `name`: the current or the former one. */
const char *options_name_as(const struct option_row *row, const char *name);
/* Writes the documented spelling, such as "--top" or "--set confidence". Returns text. */
const char *options_spelling(const struct option_row *row, char *text, size_t size);
/* Returns the option with the name most similar to a mistyped one, or NULL. */
const struct config_row *options_nearest(const struct config *config, const char *name);
/* Writes the error of an unknown key, with a suggestion, to text[size]. */
void options_say_unknown(const struct config *config, const char *name, char *text, size_t size);

/* Returns the keys of the owner's sections, also those of its parts, from 0; NULL after the last. */
struct config_row options_key(const struct option_owner *owner, uint32_t i);
/*
 * Return the row of a key of the owner's sections (NAME or NAME.PROPERTY), or NULL; write the error
 * of an unknown key.
 */
struct config_row options_find_key(const struct option_owner *owner, const char *key);
void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size);

/* Prints --help, or with `all` --help all. */
void options_help(const struct config *config, const struct program *program, bool all, FILE *out);
/* Print the options for the man page in roff, and the sections that occur once. */
void options_man(const struct config *config, FILE *out);
void options_man_terms(const struct config *config, const struct program *program, FILE *out);
/*
 * Prints words for completion, one per line: commands, options, and "OPTION VALUE" for known
 * values.
 */
void options_words(const struct config *config, const struct program *program, FILE *out);
