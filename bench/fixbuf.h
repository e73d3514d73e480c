/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* libfixbuf, where it was there when this was built: the same IPFIX messages, into records with the
 * same fields, and the other way round. */

#include <stdbool.h>
#include <stdint.h>

#include "bench/collect_bench.h"
#include "bench/exported.h"
#include "report/rows/report.h"

/* Its version; NULL: it was not there. */
const char *fixbuf_version(void);

struct fixbuf;

/* NULL with a line in error[FIXBUF_ERROR_MAX]. */
#define FIXBUF_ERROR_MAX 256
struct fixbuf *fixbuf_create(char *error);
void fixbuf_destroy(struct fixbuf *fixbuf);

/* Decodes all; adds to *counts. False where it could not. */
bool fixbuf_run(struct fixbuf *fixbuf, const struct exported *exported,
	struct collect_bench_counts *counts);

/* Flow records of IPv4 into messages with the fields that report/formats/ipfix.h has. */
struct fixbuf_writer;
struct fixbuf_writer *fixbuf_writer_create(char *error);
void fixbuf_writer_destroy(struct fixbuf_writer *writer);
/* False where it could not. */
bool fixbuf_write(struct fixbuf_writer *writer, const struct report_flow *flows, size_t n);
