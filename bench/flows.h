/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <linux/types.h>

#define FLOWS_CONTROL_SECTION ".data.control"
#define FLOWS_FAILED          77 /* return value of the program if the tail call failed */

enum flows_times {
	FLOWS_TIMES_NONE,
	FLOWS_TIMES_EXACT,
	FLOWS_TIMES_COARSE,
};

struct flows_control {
	__u32 flows;
	__u32 next;
	__u32 times; /* enum flows_times of the hash map program */
};

/* The hash map of map_tc. */
struct flows_key {
	__u32 addresses[2];
	__u32 ports;
	__u32 proto;
};

struct flows_counts {
	__u64 packets, bytes, first, last;
};
