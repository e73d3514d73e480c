/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Applies packet filter expressions to records: builds a frame from the record and runs the packet
 * filter on it. Rejects expressions at the start if they depend on bytes that no record has.
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "collect/exporters/observation.h"

#define RECORD_FRAME_MAX 80

/* Returns true if frames need a VLAN tag: the expression has `vlan`. */
bool record_filter_has_tags(const char *expression);

/* Builds an Ethernet frame; unknown bytes are 0. Returns its length. */
uint32_t record_frame_make(
	const struct observation *observation, bool tags, uint8_t frame[RECORD_FRAME_MAX]);

/*
 * Returns true if the program, compiled for Ethernet, returns the same verdict for the frame of a
 * record as for the packets of the flow. Otherwise writes a reason to error[size].
 */
bool record_filter_check(
	const struct bpf_program *program, const char *expression, char *error, size_t size);
