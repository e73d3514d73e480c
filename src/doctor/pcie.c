/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/pcie.h"

#include "base/assertion.h"

#define LINK_LAYER 0.92 /* share of transaction packets (TLPs); the rest is ACKs and flow control */
#define TLP_BYTES  24   /* overhead of a write: framing 2, data link 6, header 16 */

#define DESCRIPTOR_BYTES     16
#define DESCRIPTORS_PER_TLP  4
#define FREE_ENTRIES_PER_TLP 8

#define ETHERNET_GAP 20 /* bytes between frames: preamble, start of frame, gap */
#define ETHERNET_FCS 4

struct pcie_generation {
	double gts;
	double encoding;
};

/*
 * Index: generation - 1. In generation 6, a flit of 256 bytes has 236 bytes for transaction
 * packets.
 */
static const struct pcie_generation generations[] = {
	{2.5, 8.0 / 10},
	{5, 8.0 / 10},
	{8, 128.0 / 130},
	{16, 128.0 / 130},
	{32, 128.0 / 130},
	{64, 236.0 / 256},
};

uint32_t pcie_generation(double gts)
{
	for (uint32_t g = 0; g < sizeof(generations) / sizeof(generations[0]); g++)
		if (gts > generations[g].gts * 0.99 && gts < generations[g].gts * 1.01)
			return g + 1;
	return 0;
}

double pcie_bandwidth(double gts, uint32_t lanes)
{
	uint32_t generation = pcie_generation(gts);

	if (generation == 0 || lanes == 0 || lanes > 32)
		return 0;
	return gts * 1e9 * lanes * generations[generation - 1].encoding * LINK_LAYER;
}

double pcie_packet_rate(double bandwidth, uint32_t frame, uint32_t max_payload)
{
	uint32_t data = frame - ETHERNET_FCS;
	uint32_t writes = (data + max_payload - 1) / max_payload;
	double bytes = data + (double)writes * TLP_BYTES + DESCRIPTOR_BYTES +
		       (double)TLP_BYTES / DESCRIPTORS_PER_TLP +
		       (double)TLP_BYTES / FREE_ENTRIES_PER_TLP;

	VERIFY(frame, >, (uint32_t)ETHERNET_FCS);
	return bandwidth / 8 / bytes;
}

double ethernet_packet_rate(double bits_per_second, uint32_t frame)
{
	return bits_per_second / 8 / (frame + ETHERNET_GAP);
}
