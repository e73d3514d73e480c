/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Filter expressions on records: the headers of a packet of the record, for the program that filters
 * packets. An expression that depends on bytes that no record has is refused at the start.
 */

#include <stdbool.h>
#include <stdint.h>

#include <pcap/pcap.h>

#include "collect/exporters/observation.h"

#define RECORD_FRAME_MAX 80

/* Returns true if frames must have their VLAN tag: the expression has `vlan`. */
bool record_filter_has_tags(const char *expression);

/* Makes an Ethernet frame, with 0 where the record knows nothing. Returns its length. */
uint32_t record_frame_make(
	const struct observation *observation, bool tags, uint8_t frame[RECORD_FRAME_MAX]);

/*
 * Returns true if the program, compiled for Ethernet, gives every frame of a record the verdict of
 * the packets that it stands for. Else writes a reason into error[size].
 */
bool record_filter_check(
	const struct bpf_program *program, const char *expression, char *error, size_t size);
