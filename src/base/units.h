/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Parses numbers with units. Each function returns NULL, or an error such as `not a time;
 * examples: 500ms, 1s, 5m` and leaves *value unchanged. 1.5s is allowed.
 */

#include <stdint.h>

#define SECOND_NS INT64_C(1000000000)

/* 5, 64K, 5M, 1G; powers of 1000 */
const char *units_count(const char *text, uint64_t *value);
/* Table entries: 1024, 64K, 1M; powers of 1024 */
const char *units_entries(const char *text, uint64_t *value);
/* 4096, 4KB, 4MB, 1GB, 1TB; powers of 1024 */
const char *units_size(const char *text, uint64_t *bytes);
const char *units_time(const char *text, uint64_t *ns);  /* 0, 10ns, 5us, 500ms, 1s, 5m, 1h, 1d */
const char *units_rate(const char *text, uint64_t *pps); /* 2Mpps, 500kpps, 100pps */
const char *units_millionths(const char *text, uint64_t *e6);   /* 1.05: 1050000 */
const char *units_fraction(const char *text, double *fraction); /* 0.25 or 25%; 0 to 1 */
