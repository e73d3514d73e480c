/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Applies packet filter expressions to frames built from records. Rejects expressions that depend
 * on bytes that no record has.
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "collect/exporters/observation.h"

#define RECORD_FRAME_MAX 80

/* Returns true if the expression has `vlan`. */
bool record_filter_has_tags(const char *expression);

/* Unknown bytes are 0. Returns the length of the Ethernet frame. */
uint32_t record_frame_make(
	const struct observation *observation, bool tags, uint8_t frame[RECORD_FRAME_MAX]);

/*
 * Returns true if the program gives the frame of a record the same verdict as the packets of the
 * flow. Otherwise writes a reason to error[size].
 */
bool record_filter_check(
	const struct bpf_program *program, const char *expression, char *error, size_t size);
