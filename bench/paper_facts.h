/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Looks up the figures of papers in bench/tangari2017.csv, nassopoulos2014.csv and wu2016.csv. */

#include <stdbool.h>

#define PAPER_FIELD_MAX 32

struct paper_fact {
	char none[PAPER_FIELD_MAX];     /* value without adapting; "" if not given */
	char adaptive[PAPER_FIELD_MAX]; /* the figure with adapting */
	char exact[PAPER_FIELD_MAX];    /* relation to the true value: yes, about, at_most, up_to */
};

/* Returns false and empty fields if the paper has no such figure. */
bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact);

/* Returns a figure of the paper, measured without adapting, as a number. It must exist. */
double paper_number(const char *figure, const char *setting, const char *quantity);
