/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Any bytes as a capture file: opened and read to the end, with every captured byte touched. Every
 * packet that libpcap reads from it is read here as well.
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "rx/packet/link_type.h"
#include "rx/source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void check(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "not true: %s\n", what);
	abort();
}

static void check_line(const char *error)
{
	check(error[0] != '\0' && strlen(error) < SOURCE_ERROR_MAX, "an error has a text");
	check(strchr(error, '\n') == NULL, "an error is one line");
}

static void read_all(struct source *source)
{
	struct source_packet packet;
	double progress;
	int status;

	while ((status = source->next(source, &packet)) == 1) {
		for (uint32_t i = 0; i < packet.captured; i++)
			sink = packet.data[i];
		check(packet.link < LINK_COUNT, "the link is known");
		check(packet.time >= 0 && packet.time <= SOURCE_TIME_MAX, "times are in bounds");
	}
	if (status < 0)
		check_line(source->error);
	progress = source->progress(source);
	check(progress >= 0 && progress <= 1, "progress is a share");
}

/*
 * With pcapng, seconds wrap in libpcap but are clamped here, and fine resolutions give libpcap
 * invalid fractions. With the classic format, both parts are signed in libpcap, and this reader
 * carries between them.
 */
static bool same_second(int64_t time, const struct pcap_pkthdr *header)
{
	int64_t seconds = time / 1000000000;

	return time == 0 || time == SOURCE_TIME_MAX || seconds == header->ts.tv_sec ||
	       (header->ts.tv_sec < 0 && seconds >= (uint32_t)header->ts.tv_sec) ||
	       header->ts.tv_usec < 0 || header->ts.tv_usec >= 1000000000;
}

/* Compares lengths except for the FCS, which libpcap does not remove. */
static void compare_lengths(const struct source_packet *packet, const struct pcap_pkthdr *header)
{
	uint32_t fcs = header->len - packet->wire_len;
	bool clipped = fcs > 0 && header->caplen > packet->wire_len;

	check(fcs <= UINT8_MAX, "the wire lengths are equal");
	check(packet->captured == (clipped ? packet->wire_len : header->caplen),
		"the captured lengths are equal");
}

static void compare(struct source *source, pcap_t *pcap)
{
	struct pcap_pkthdr *header;
	struct source_packet packet;
	const uint8_t *data;

	while (pcap_next_ex(pcap, &header, &data) == 1) {
		check(source != NULL, "what libpcap reads is not refused");
		check(source->next(source, &packet) == 1, "no packet of libpcap is missing");
		compare_lengths(&packet, header);
		check(same_second(packet.time, header), "the seconds are equal");
		check(memcmp(packet.data, data, packet.captured) == 0, "the bytes are equal");
	}
}

static void check_against_libpcap(const char *path)
{
	char error[SOURCE_ERROR_MAX];
	pcap_t *pcap =
		pcap_open_offline_with_tstamp_precision(path, PCAP_TSTAMP_PRECISION_NANO, error);
	struct source *source;

	if (pcap == NULL)
		return;
	if (link_type_find(pcap_datalink(pcap)) >= 0) {
		source = replay_open(&path, 1, error);
		compare(source, pcap);
		if (source != NULL)
			source->close(source);
	}
	pcap_close(pcap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("capture", MFD_CLOEXEC);
	char path[64], error[SOURCE_ERROR_MAX] = "";
	const char *paths[2] = {path, path};
	struct source *source;

	check(fd >= 0 && write(fd, data, size) == (ssize_t)size, "a file in memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (unsigned int nb_paths = 1; nb_paths <= 2; nb_paths++) {
		source = replay_open(paths, nb_paths, error);
		if (source == NULL) {
			check_line(error);
			continue;
		}
		read_all(source);
		source->close(source);
	}
	check_against_libpcap(path);
	close(fd);
	return 0;
}
