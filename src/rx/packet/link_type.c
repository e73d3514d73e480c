/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/packet/link_type.h"

#include <stdio.h>
#include <string.h>

#include <pcap/pcap.h>

#include "base/assertion.h"

#define LINKTYPE_RAW 101 /* raw IP in capture files, where libpcap reports DLT_RAW */

/* DLT_RAW is 12 or 14, depending on the system. Capture files contain both. */
const struct link_type_number link_type_numbers[LINK_TYPE_NUMBERS] = {
	{DLT_EN10MB, LINK_ETHERNET},
	{12, LINK_RAW},
	{14, LINK_RAW},
	{LINKTYPE_RAW, LINK_RAW},
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

int link_kind_find(int number, bool swapped)
{
	int row = link_type_find(number);

	return row < 0 ? LINK_KIND_UNKNOWN : 2 * row + swapped;
}

enum link_type link_kind_type(int kind)
{
	return kind == LINK_KIND_UNKNOWN ? LINK_UNKNOWN : link_type_numbers[kind / 2].link;
}

int link_kind_number(int kind)
{
	VERIFY(kind, >=, 0);
	VERIFY(kind, <, LINK_KIND_UNKNOWN);
	return link_type_numbers[kind / 2].number;
}

void link_type_name(int number, char *text)
{
	/* libpcap has no name for LINKTYPE_RAW. */
	const char *name = pcap_datalink_val_to_name(number == LINKTYPE_RAW ? DLT_RAW : number);

	snprintf(text, LINK_TYPE_TEXT_MAX, "link type %d (%s)", number,
		name != NULL ? name : "no name");
}

void link_type_unknown(int number, char *text)
{
	size_t used;

	link_type_name(number, text);
	used = strlen(text);
	snprintf(text + used, LINK_TYPE_TEXT_MAX - used,
		": not supported; supported: Ethernet, raw IP, NULL, LOOP, Linux SLL, Linux SLL2, "
		"PPP, C-HDLC");
}
