/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * IPv4 keys that an attacker computes, each in a few ns, so that a published hash without a key has
 * the same value for all of them: they fall into one bucket however many there are.
 */

#include "bench/table_hash.h"
#include "key/key.h"

#define CRAFTED_HASHES 4

/* The hashes for which there are keys. The others are as open to trial and error. */
extern const enum table_hash crafted_hashes[CRAFTED_HASHES];

/* The n-th TCP connection of those that one of these hashes takes for the same. */
struct key4 crafted_key(enum table_hash hash, uint32_t n);
