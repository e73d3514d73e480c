/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/port/frames.h"

#include <stdio.h>

#include "config/config.h"
#include "rx/port/port_name.h"
#include "rx/source.h"
#include <string.h>

#define MTU_UNLIMITED UINT16_MAX /* ethdev reports it for drivers without a limit */
#define MTU_JUMBO     9000

/* Returns the bytes, including FCS, that a frame has beyond its MTU. */
static uint32_t overhead_of(const struct rte_eth_dev_info *info)
{
	if (info->max_mtu != MTU_UNLIMITED && info->max_rx_pktlen > info->max_mtu)
		return info->max_rx_pktlen - info->max_mtu;
	return RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
}

static uint16_t largest_mtu(const struct rte_eth_dev_info *info)
{
	uint32_t by_frame = info->max_rx_pktlen - overhead_of(info);

	if (info->max_rx_pktlen == 0 || by_frame > info->max_mtu)
		return info->max_mtu;
	return (uint16_t)by_frame;
}

static bool choose_mtu(struct port_frame_plan *plan, const char *port,
	const struct rte_eth_dev_info *info, uint16_t current, uint32_t wanted, bool scatters,
	struct port_messages *messages, char *error)
{
	uint16_t largest = largest_mtu(info);

	plan->mtu = current < largest ? current : largest;
	plan->set_mtu = wanted != 0;
	if (wanted == 0)
		return true;
	if (wanted != PORT_MTU_MAX) {
		if (wanted > largest || wanted < info->min_mtu) {
			snprintf(error, PORT_MESSAGE_MAX,
				"--mtu %u: %s supports %u to %u; --mtu max is the largest that "
				"every port supports",
				wanted, port, info->min_mtu, largest);
			return false;
		}
		plan->mtu = (uint16_t)wanted;
		return true;
	}
	/* A driver that reports no limit may still reject an MTU when it is set. */
	plan->mtu = largest >= MTU_UNLIMITED - RTE_ETHER_HDR_LEN - RTE_ETHER_CRC_LEN ? MTU_JUMBO
										     : largest;
	if (!scatters && plan->mtu > PORT_MTU_MAX_UNCHAINED)
		plan->mtu = PORT_MTU_MAX_UNCHAINED;
	port_notice(messages, "%s: MTU %u", port, plan->mtu);
	return true;
}

bool port_frames_plan(struct port_frame_plan *plan, const char *port,
	const struct port_driver *driver, const struct rte_eth_dev_info *info, uint16_t current,
	uint32_t wanted, uint32_t room, struct port_messages *messages, char *error)
{
	bool scatters = (info->rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER) != 0;
	uint32_t frame;

	*plan = (struct port_frame_plan){.mtu = current};
	if (driver->frames != PORT_FRAMES_MTU) {
		if (current > largest_mtu(info))
			plan->mtu = largest_mtu(info);
		if (scatters)
			plan->offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
		return true;
	}
	if (!choose_mtu(plan, port, info, current, wanted, scatters, messages, error))
		return false;
	plan->largest_frame = plan->mtu + PORT_FRAME_OVERHEAD;
	/* Some devices do not remove the FCS, which then needs room. */
	frame = plan->largest_frame + RTE_ETHER_CRC_LEN;
	if (frame + RTE_PKTMBUF_HEADROOM <= room)
		return true;
	if (scatters) {
		plan->offloads = RTE_ETH_RX_OFFLOAD_SCATTER;
	} else if (frame + RTE_PKTMBUF_HEADROOM <= UINT16_MAX) {
		plan->mbuf_room = frame + RTE_PKTMBUF_HEADROOM;
	} else {
		plan->mbuf_room = UINT16_MAX;
		port_warn(messages,
			"%s: frames longer than %u bytes do not fit in an mbuf and are lost or "
			"truncated: lower --mtu",
			port, (unsigned int)(UINT16_MAX - RTE_PKTMBUF_HEADROOM));
	}
	return true;
}

static bool read_mtu(const struct option_text *text)
{
	if (strcmp(text->text, "max") != 0)
		return option_read_count(text);
	*(uint32_t *)text->field = PORT_MTU_MAX;
	return true;
}

static const struct option_row frames_rows[] = {
	{
		.name = "mtu",
		.placeholder = "N|max",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_OWN,
		.rare = true,
		.not_for = SOURCE_OF_FEEDER | SOURCE_OF_ITSELF,
		.read = read_mtu,
		OPTION_FIELD(frames_options, mtu),
		.min = 68,
		.max = 65535,
		.default_note = "that of the device",
		.help = "Receive frames of up to N bytes after the Ethernet header. max: as long "
			"as the device allows.",
	},
	{0},
};

const struct option_owner frames_owner = {
	.rows = frames_rows,
	.size = sizeof(struct frames_options),
};
