/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Members of the sketch_ops of a sketch that lists every key but those of shed packets. */

#include <stdbool.h>
#include <stdint.h>

#include "sketch/sketch.h"

bool shed_nothing(const struct sketch *sketch); /* lists_all_keys() */
uint64_t shed_missed(const struct sketch *sketch, const struct key_hash *hash);
uint64_t shed_unlisted(struct sketch *const *parts, uint32_t nb_parts);
