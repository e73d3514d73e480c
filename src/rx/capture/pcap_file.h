/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads capture files of the classic format (draft-ietf-opsawg-pcap) and of its predecessors.
 * libpcap would take three times as long, because of its stdio calls.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/capture/capture_input.h"
#include "rx/source.h"

struct pcap_file {
	struct capture_input *input;
	bool swapped; /* not the byte order of this machine */
	bool patched;
	uint16_t major, minor;
	uint32_t snaplen;
	int32_t fraction_ns; /* ns per unit of the fraction of a second */
	int link_type_number;
	uint32_t fcs_bytes; /* bytes of FCS at the end of a packet */
	char error[SOURCE_ERROR_MAX];
};

bool pcap_file_is(struct capture_input *input);

/* Returns false with one line in file->error. */
bool pcap_file_begin(struct pcap_file *file, struct capture_input *input);

/* Returns 1 if *packet is filled, 0 at the end, -1 with one line in file->error. */
int pcap_file_next(struct pcap_file *file, struct source_packet *packet);
