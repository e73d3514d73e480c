/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/link_type.h"

#include <stdio.h>

#include <pcap/pcap.h>

/* RAW differs between systems, and files are found with each of its numbers. */
const struct link_type_number link_type_numbers[LINK_TYPE_NUMBERS] = {
	{DLT_EN10MB, LINK_ETHERNET},
	{12, LINK_RAW},
	{14, LINK_RAW},
	{101, LINK_RAW},
	{DLT_IPV4, LINK_RAW},
	{DLT_IPV6, LINK_RAW},
	{DLT_NULL, LINK_NULL},
	{DLT_LOOP, LINK_NULL},
	{DLT_LINUX_SLL, LINK_SLL},
	{DLT_LINUX_SLL2, LINK_SLL2},
	{DLT_PPP, LINK_PPP},
	{DLT_C_HDLC, LINK_C_HDLC},
};

int link_type_find(int number)
{
	for (int row = 0; row < LINK_TYPE_NUMBERS; row++)
		if (link_type_numbers[row].number == number)
			return row;
	return -1;
}

void link_type_unknown(int number, char *text)
{
	const char *name = pcap_datalink_val_to_name(number);

	snprintf(text, LINK_TYPE_TEXT_MAX,
		"link type %d (%s) is not known; known are Ethernet, raw IP, NULL, LOOP, Linux SLL "
		"and SLL2, PPP and C-HDLC",
		number, name != NULL ? name : "no name");
}
