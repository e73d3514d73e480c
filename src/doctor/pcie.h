/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Bandwidth of a PCIe link towards the host, by the model of Neugebauer et al., "Understanding PCIe
 * performance for end host networking", SIGCOMM 2018, section 3.
 */

#include <stdint.h>

/* Returns bits per second for transaction packets; 0 for an unknown link. gts: GT/s per lane. */
double pcie_bandwidth(double gts, uint32_t lanes);

/*
 * Returns packets per second. frame: bytes with FCS. A packet also needs a descriptor of 16 bytes,
 * of which four are written together, and a share of the reads of free descriptors.
 */
double pcie_packet_rate(double bandwidth, uint32_t frame, uint32_t max_payload);

double ethernet_packet_rate(double bits_per_second, uint32_t frame);

/* gts: GT/s per lane. Returns 0 if unknown. */
uint32_t pcie_generation(double gts);
