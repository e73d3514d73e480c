/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What flows.bpf.c and kernel.c share. */

#include <linux/types.h>

#define FLOWS_CONTROL_SECTION ".data.control"
#define FLOWS_FAILED          77 /* what a packet is told that no program was called for */

enum flows_times {
	FLOWS_TIMES_NONE,
	FLOWS_TIMES_EXACT,
	FLOWS_TIMES_COARSE,
};

struct flows_control {
	__u32 flows; /* that packets are of */
	__u32 next;  /* packet */
	__u32 times; /* enum flows_times, of the kernel's table */
};
