/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* FNV-1a, of 64 bits: whether bytes of a file are those that were written. No protection from who
 * means to change them. */

#include <stddef.h>
#include <stdint.h>

#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* Of what came before, and these bytes. */
uint64_t checksum_add(uint64_t sum, const void *bytes, size_t len);
