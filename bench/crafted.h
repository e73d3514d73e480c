/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * IPv4 keys of an attacker: an unkeyed, published hash has the same value for all of them, so any
 * number of them falls into one bucket. Each takes a few ns to compute.
 */

#include "bench/table_hash.h"
#include "key/key.h"

#define CRAFTED_HASHES 4

/* Hashes that have crafted keys. The other unkeyed hashes can be attacked by trial and error. */
extern const enum table_hash crafted_hashes[CRAFTED_HASHES];

/* Returns the key of the n-th TCP connection with the same value of `hash`. */
struct key4 crafted_key(enum table_hash hash, uint32_t n);
