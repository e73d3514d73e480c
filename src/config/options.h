/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Finds options of a command by name. Prints help, the man page, and words for shell completion. */

#include <stdio.h>

#include "config/config.h"

/* Returns the option of this name, current or former, or NULL. */
const struct config_row *options_find(const struct config *config, const char *name);
/* Returns the option of -LETTER, or NULL. */
const struct config_row *options_find_letter(const struct config *config, char letter);
/* Returns the row's current or former name that equals `name`; valid as long as the row. */
const char *options_name_as(const struct option_row *row, const char *name);
/* Writes the option as documented, for example "--top" or "--set confidence". Returns `text`. */
const char *options_spelling(const struct option_row *row, char *text, size_t size);
/* Returns the option with the name most similar to a mistyped one, or NULL. */
const struct config_row *options_nearest(const struct config *config, const char *name);
/* Writes the error of an unknown key, with a suggestion, to text[size]. */
void options_say_unknown(const struct config *config, const char *name, char *text, size_t size);

/* Returns key i of the owner and its sub-owners, from 0; the row is NULL after the last. */
struct config_row options_key(const struct option_owner *owner, uint32_t i);
/*
 * Find a key (NAME or NAME.PROPERTY) of the sections of an owner, or write the error of an unknown
 * key. The returned row is NULL if there is no such key.
 */
struct config_row options_find_key(const struct option_owner *owner, const char *key);
void options_say_unknown_key(
	const struct option_owner *owner, const char *key, char *text, size_t size);

/* Prints the text of --help. all: of --help all. */
void options_help(const struct config *config, const struct program *program, bool all, FILE *out);
/* Print the man page in roff: options of a command, and the sections that all commands share. */
void options_man(const struct config *config, FILE *out);
void options_man_terms(const struct config *config, const struct program *program, FILE *out);
/*
 * Prints words for shell completion, one per line: commands, options, and "OPTION VALUE" for known
 * values.
 */
void options_words(const struct config *config, const struct program *program, FILE *out);
