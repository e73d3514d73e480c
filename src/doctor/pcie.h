/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Bandwidth of a PCIe link towards the host, by the model of Neugebauer et al., "Understanding PCIe
 * performance for end host networking", SIGCOMM 2018, section 3: the line rate, less its encoding,
 * less 8 % for flow control and acknowledgements; every memory write has 24 bytes of overhead.
 */

#include <stdint.h>

/*
 * Returns bits per second for transaction packets; 0 for an impossible link. gts: GT/s; 8.0 is gen
 * 3.
 */
double pcie_bandwidth(double gts, uint32_t lanes);

/*
 * Returns the packets per second of `frame` bytes (with FCS) that a card can write, each with a
 * 16-byte descriptor (four per write) and its share of the reads of free descriptors.
 */
double pcie_packet_rate(double bandwidth, uint32_t frame, uint32_t max_payload);

/* Returns the packets per second of `frame` bytes (with FCS) on a saturated Ethernet link. */
double ethernet_packet_rate(double bits_per_second, uint32_t frame);

/* Returns the PCIe generation of a speed: 8.0 is 3; 0 if unknown. */
uint32_t pcie_generation(double gts);
