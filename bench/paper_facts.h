/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Looks up the figures of papers in bench/tangari2017.csv, nassopoulos2014.csv and wu2016.csv. */

#include <stdbool.h>

#define PAPER_FIELD_MAX 32

struct paper_fact {
	const char *none, *adaptive;
	const char *exact; /* relation to the true value: yes, about, at_most, up_to */
};

/* Returns false and empty texts if the paper has no such figure. */
bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact);

/* Returns paper_fact.none as a number. The figure must exist. */
double paper_number(const char *figure, const char *setting, const char *quantity);
