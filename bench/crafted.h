/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * IPv4 keys of an attacker. A published hash without a secret key has the same value for all of
 * them, so any number of keys is in one bucket. Computing a key takes a few ns.
 */

#include "bench/table_hash.h"
#include "key/key.h"

#define CRAFTED_HASHES 4

/*
 * Hashes that have crafted keys. For the other hashes without key, an attacker needs trial and
 * error.
 */
extern const enum table_hash crafted_hashes[CRAFTED_HASHES];

/* Returns the n-th of the TCP keys that have the same value of `hash`. */
struct key4 crafted_key(enum table_hash hash, uint32_t n);
