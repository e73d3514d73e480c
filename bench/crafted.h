/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* IPv4 keys with the same value of a published hash that has no secret key. */

#include "bench/table_hash.h"
#include "key/key.h"

#define CRAFTED_HASHES 4

/* For the other hashes without a secret key, an attacker needs trial and error. */
extern const enum table_hash crafted_hashes[CRAFTED_HASHES];

/* Returns the n-th of the TCP keys with the same value of `hash`. */
struct key4 crafted_key(enum table_hash hash, uint32_t n);
