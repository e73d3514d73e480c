/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses numbers with units, from the command line and the configuration file. Each function
 * returns NULL and sets *value, or returns an error such as `not a time; examples: 500ms, 1s, 5m`
 * and leaves *value unchanged. The text must contain only the number and its unit. Decimals are
 * allowed if the result is a whole number (1.5s, 0.5Mpps).
 */

#include <stdint.h>

#define SECOND_NS INT64_C(1000000000)

/* Reads 5, 64K, 5M, 1G; units are powers of 1000. */
const char *units_count(const char *text, uint64_t *value);
/* Reads a number of table entries: 1024, 64K, 1M; units are powers of 1024. */
const char *units_entries(const char *text, uint64_t *value);
/* Reads 4096, 4KB, 4MB, 1GB, 1TB; units are powers of 1024. */
const char *units_size(const char *text, uint64_t *bytes);
const char *units_time(const char *text, uint64_t *ns);  /* 0, 10ns, 5us, 500ms, 1s, 5m, 1h, 1d */
const char *units_rate(const char *text, uint64_t *pps); /* 2Mpps, 500kpps, 100pps */
const char *units_millionths(const char *text, uint64_t *e6);   /* 1.05: 1050000 */
const char *units_fraction(const char *text, double *fraction); /* 0.25 or 25%; 0 to 1 */
