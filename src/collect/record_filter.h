/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Applies filter expressions to frames built from records, if records have all bytes they need. */

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
 * Returns true if the program gives a record the same verdict as its packets, else false with a
 * reason in error[size].
 */
bool record_filter_check(
	const struct bpf_program *program, const char *expression, char *error, size_t size);
