/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What papers print: the rows of bench/tangari2017.csv, nassopoulos2014.csv and wu2016.csv. */

#include <stdbool.h>

#define PAPER_FIELD_MAX 32

struct paper_fact {
	char none[PAPER_FIELD_MAX];     /* of Tangari et al. without adapting; "": not told */
	char adaptive[PAPER_FIELD_MAX]; /* with it */
	char exact[PAPER_FIELD_MAX];    /* yes, about, at_most, up_to */
};

/* False where the paper has no such figure; then all of it is empty. */
bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact);

/* The figure without adapting, which is there. */
double paper_number(const char *figure, const char *setting, const char *quantity);
