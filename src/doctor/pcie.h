/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Bandwidth of a PCIe link towards the host, by the model of Neugebauer et al., "Understanding PCIe
 * performance for end host networking", SIGCOMM 2018, section 3. Line encoding reduces the line
 * rate; flow control and acknowledgements take 8 % of the rest. Each memory write has 24 bytes of
 * overhead.
 */

#include <stdint.h>

/*
 * Returns the bits per second for transaction packets; 0 if there is no such link. gts: GT/s per
 * lane, for example 8.0 for generation 3.
 */
double pcie_bandwidth(double gts, uint32_t lanes);

/*
 * Returns the packets per second that a card can write to memory. frame: bytes with FCS. Each
 * packet also needs a descriptor of 16 bytes, of which four are written together, and a share of
 * the reads that fetch free descriptors.
 */
double pcie_packet_rate(double bandwidth, uint32_t frame, uint32_t max_payload);

/* Returns the packets per second on a saturated Ethernet link. frame: bytes with FCS. */
double ethernet_packet_rate(double bits_per_second, uint32_t frame);

/* Returns the PCIe generation of a speed in GT/s, for example 3 for 8.0; 0 if unknown. */
uint32_t pcie_generation(double gts);
