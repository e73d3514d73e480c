/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Packet sources of the feeder: capture files (rx/capture/replay.c) or the generator
 * (rx/generate/generate.c).
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/packet/link_type.h"

struct replay_options {
	struct option_list pcap;
};

OPTION_OWNER(replay)

#define SOURCE_SET "source" /* option set: each of its options selects a packet source */

#define SOURCE_ERROR_MAX 512 /* one line, with the final 0 */

/*
 * Timestamps are in [0, SOURCE_TIME_MAX] (1970 to 2255). Values of a capture outside of it are
 * clamped, so that adding an interval never overflows.
 */
#define SOURCE_TIME_MAX INT64_C(9000000000000000000)

#define SOURCE_PAYLOAD_MAX 16 /* bytes, maximum of restart() */

struct source_packet {
	const uint8_t *data; /* valid until the next call of next() */
	uint32_t captured;   /* bytes at data */
	uint32_t wire_len;   /* bytes on the wire without FCS */
	uint32_t snaplen;    /* maximum captured bytes of a packet; 0: no limit */
	int64_t time;        /* ns since 1970-01-01 UTC */
	enum link_type link;
	uint32_t filter;    /* index of its program in the set that filter() filled */
	uint16_t in_port;   /* number of its file, in the order of the options */
	uint64_t *left_out; /* counter for source_take(); NULL: the packet can be measured */
};

/* Counts a packet that cannot be measured. Call for each packet that the caller accounts for. */
static inline void source_take(const struct source_packet *packet)
{
	if (__builtin_expect(packet->left_out != NULL, 0))
		++*packet->left_out;
}

struct filter_set; /* rx/filter/filter_program.h */

struct source {
	/*
	 * Reads the next packet. Returns 1 if *packet is filled, 0 at the end, -1 if the input is
	 * damaged: error then holds one line, and the packets before the damage are valid. Do not
	 * call again after 0 or -1, except after restart().
	 * While it waits for standard input or a pipe, a signal that requests the end of the run
	 * (base/signals.h) interrupts it. It then also returns -1.
	 */
	int (*next)(struct source *source, struct source_packet *packet);
	/*
	 * Returns the share of the source that was read, 0 to 1; negative if unknown. Any thread.
	 */
	double (*progress)(const struct source *source);
	/*
	 * Compiles the expression for the link types of the source, before next() is called.
	 * Returns false with one line in error if the expression fits none of them. Packets of a
	 * link type that it does not fit do not match. NULL: all packets are Ethernet.
	 */
	bool (*filter)(struct source *source, const char *expression, struct filter_set *set);
	/*
	 * Restarts at the first packet. From then on, every frame has at least `payload` bytes
	 * after its headers, up to SOURCE_PAYLOAD_MAX. NULL: not supported.
	 */
	void (*restart)(struct source *source, uint32_t payload);
	/*
	 * Writes warning i (from 0) about packets that source_take() counted into
	 * text[SOURCE_ERROR_MAX]. Returns false if there are at most i warnings. Call after the
	 * last next(). NULL: no warnings.
	 */
	bool (*warning)(const struct source *source, unsigned int i, char *text);
	void (*close)(struct source *source); /* frees the source */
	bool generated;                       /* synthetic timestamps, not those of real traffic */
	char error[SOURCE_ERROR_MAX];
};

/* A row of the table of sources (parallel/sources/sources.h). */
struct source_kind {
	const struct option_owner *options; /* its first option selects the source */
	/*
	 * Returns 0, or an exit status with one line in error[SOURCE_ERROR_MAX]: 2 if an option has
	 * an invalid value, else 1. NULL: live ports, which EAL finds (rx/port/live_ports.c).
	 */
	int (*open)(const struct config *config, struct source **source, char *error);
};

/*
 * Opens capture files ("-" is standard input) and merges them by time. At equal times, the order of
 * the arguments decides; a file with decreasing times keeps its own order. Packets of an unknown
 * link type are LINK_UNKNOWN if other files have known ones.
 * Reads the first packet of each file. The paths must outlive the source. Returns NULL with one
 * line in error[SOURCE_ERROR_MAX] if a file cannot be read, all link types are unknown, or a signal
 * requested the end of the run. If one of several files turns out to be damaged later, the others
 * are read to their ends before next() returns -1.
 */
struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error);

/* As warning() of the source; false if it has none. */
bool source_warning(const struct source *source, unsigned int i, char *text);

/*
 * Compiles the expression for the source (NULL: live ports). Returns false with one line in
 * error[SOURCE_ERROR_MAX].
 */
bool source_filter(
	struct source *source, const char *expression, struct filter_set *set, char *error);

struct synthetic_spec;

/* Opens the generator. Returns NULL with one line in error[SOURCE_ERROR_MAX] if out of memory. */
struct source *generate_open(const struct synthetic_spec *spec, char *error);

/* Writes one line to error[SOURCE_ERROR_MAX]. Control characters (of a file name) become '?'. */
__attribute__((format(printf, 2, 3))) void source_error(char *error, const char *format, ...);
