/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What a PCIe link carries towards the host, by the model of Neugebauer et al., "Understanding PCIe
 * performance for end host networking", SIGCOMM 2018, section 3: the line's rate, less its
 * encoding, less 8 % for flow control and acknowledgements; and 24 bytes around the payload of
 * every memory write.
 */

#include <stdint.h>

/* Bits per second for transaction packets; 0 for a link that cannot be. gts: 8.0 is gen 3. */
double pcie_bandwidth(double gts, uint32_t lanes);

/*
 * Packets per second of so many bytes (with FCS) that a card can write, each with a 16-byte
 * descriptor of which four share a write, and its part of the reads that fetch free ones.
 */
double pcie_packet_rate(double bandwidth, uint32_t frame, uint32_t max_payload);

/* Packets per second of so many bytes (with FCS) on an Ethernet link at full rate. */
double ethernet_packet_rate(double bits_per_second, uint32_t frame);

/* The generation that a speed belongs to: 8.0 is 3; 0 where it is none. */
uint32_t pcie_generation(double gts);
