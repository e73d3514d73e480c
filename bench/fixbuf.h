/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads and writes the same IPFIX messages as sketchtap, with libfixbuf (optional at build time).
 */

#include <stdbool.h>
#include <stdint.h>

#include "bench/collect_bench.h"
#include "bench/exported.h"
#include "report/rows/report.h"

/* Returns NULL if built without libfixbuf. */
const char *fixbuf_version(void);

struct fixbuf;

/* Returns NULL with one line in error[FIXBUF_ERROR_MAX]. */
#define FIXBUF_ERROR_MAX 256
struct fixbuf *fixbuf_create(char *error);
void fixbuf_destroy(struct fixbuf *fixbuf);

/* Adds the decoded records to *counts. Returns false on error. */
bool fixbuf_run(struct fixbuf *fixbuf, const struct exported *exported,
	struct collect_bench_counts *counts);

/* Encodes IPv4 flow records, with the fields of report/formats/ipfix.h. */
struct fixbuf_writer;
struct fixbuf_writer *fixbuf_writer_create(char *error);
void fixbuf_writer_destroy(struct fixbuf_writer *writer);
bool fixbuf_write(struct fixbuf_writer *writer, const struct report_flow *flows, size_t n);
