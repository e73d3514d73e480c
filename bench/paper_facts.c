/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/paper_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "bench/nassopoulos2014.h"
#include "bench/tangari2017.h"
#include "bench/wu2016.h"

#define FIELDS 8

struct fields {
	char text[FIELDS][PAPER_FIELD_MAX];
};

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

static bool find(const unsigned char *text, size_t size, const char *figure, const char *setting,
	const char *quantity, struct paper_fact *fact)
{
	const char *at = (const char *)text, *end = at + size;
	struct fields fields;

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

bool paper_fact(
	const char *figure, const char *setting, const char *quantity, struct paper_fact *fact)
{
	memset(fact, 0, sizeof(*fact));
	return find(tangari2017, sizeof(tangari2017), figure, setting, quantity, fact) ||
	       find(nassopoulos2014, sizeof(nassopoulos2014), figure, setting, quantity, fact) ||
	       find(wu2016, sizeof(wu2016), figure, setting, quantity, fact);
}

double paper_number(const char *figure, const char *setting, const char *quantity)
{
	struct paper_fact fact;

	bool known = paper_fact(figure, setting, quantity, &fact);

	VERIFY(known, ==, true);
	return strtod(fact.none, NULL);
}
