/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Capture files of the classic format (draft-ietf-opsawg-pcap), and of those that came before it:
 * of either byte order, with stamps in microseconds or nanoseconds, with lengths that are swapped
 * or patched headers. What libpcap reads of a file is read, byte for byte; tests hold it to that.
 * libpcap takes stdio's calls for each packet, which is twice as long as all the rest.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rx/capture/capture_input.h"
#include "rx/source.h"

struct pcap_file {
	struct capture_input *input;
	bool swapped; /* not in this machine's byte order */
	bool patched; /* headers of packets are longer */
	uint16_t major, minor;
	uint32_t snaplen;
	int32_t fraction_ns;  /* ns per unit of the fraction of a second */
	int link_type_number; /* link type number of the file */
	uint32_t fcs_bytes;   /* bytes of FCS at the end of a packet */
	char error[SOURCE_ERROR_MAX];
};

/* Returns true if the input begins like such a file. Consumes nothing. */
bool pcap_file_is(struct capture_input *input);

/* Reads the head of the file. Returns false with one line in file->error. */
bool pcap_file_begin(struct pcap_file *file, struct capture_input *input);

/* 1: data, lengths, snaplen and time of *packet are filled. 0: the end. -1: damage, one line in
 * file->error. */
int pcap_file_next(struct pcap_file *file, struct source_packet *packet);
