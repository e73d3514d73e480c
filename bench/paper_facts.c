/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/paper_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tangari2017.h"

#define FIELDS 8

struct fields {
	char text[FIELDS][PAPER_FIELD_MAX];
};

/* None is quoted. */
static const char *read_line(const char *at, const char *end, struct fields *fields)
{
	memset(fields, 0, sizeof(*fields));
	for (unsigned int f = 0; at < end && *at != '\n'; at++) {
		size_t len = strlen(fields->text[f]);

		if (*at == ',' && f < FIELDS - 1)
			f++;
		else if (len < PAPER_FIELD_MAX - 1)
			fields->text[f][len] = *at;
	}
	return at + 1;
}

bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact)
{
	const char *at = (const char *)tangari2017, *end = at + sizeof(tangari2017);
	struct fields fields;

	memset(fact, 0, sizeof(*fact));
	while (at < end) {
		at = read_line(at, end, &fields);
		if (strcmp(fields.text[0], figure) != 0 || strcmp(fields.text[2], setting) != 0 ||
			strcmp(fields.text[3], quantity) != 0)
			continue;
		strcpy(fact->none, fields.text[5]);
		strcpy(fact->adaptive, fields.text[6]);
		strcpy(fact->exact, fields.text[7]);
		return true;
	}
	return false;
}

double paper_number(const char *figure, const char *setting, const char *quantity)
{
	struct paper_fact fact;

	if (paper_fact(figure, setting, quantity, &fact))
		return strtod(fact.none, NULL);
	fprintf(stderr, "bench/tangari2017.csv: no %s, %s, %s\n", figure, setting, quantity);
	abort();
}
