/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* What the feeder reads packets from: capture files (rx/capture/replay.c) or the generator
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

#define SOURCE_SET "source" /* of options: each asks for a source of packets */

#define SOURCE_ERROR_MAX 512 /* one line: what, where, what to do */

/*
 * Time stamps lie in [0, SOURCE_TIME_MAX] (1970 to 2255): what a capture claims beyond is clamped,
 * so that an interval can be added to any of them without overflow.
 */
#define SOURCE_TIME_MAX INT64_C(9000000000000000000)

#define SOURCE_PAYLOAD_MAX 16 /* that restart() may be asked for */

struct source_packet {
	const uint8_t *data; /* valid until the next call of next() */
	uint32_t captured;   /* bytes at data */
	uint32_t wire_len;   /* bytes on the wire without FCS */
	uint32_t snaplen;    /* bytes of a packet that the source keeps at most; 0: all */
	int64_t time;        /* ns since 1970-01-01 UTC */
	enum link_type link;
	uint32_t filter;    /* number of its program in the set that filter() filled */
	uint16_t in_port;   /* number of its file, in the order in which they were named */
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
	 * 1: *packet is filled. 0: the end. -1: the end, and something was damaged; error holds one
	 * line, and every packet that was delivered counts. After 0 or -1 it is not called again,
	 * unless the source is restarted.
	 * Signals do not end a wait for standard input or a pipe, but for those that ask for the
	 * end of the run (base/signals.h): that is reported as damage of that file.
	 */
	int (*next)(struct source *source, struct source_packet *packet);
	/*
	 * Share of the source that was read, 0 to 1; negative where it cannot be known. Any thread.
	 */
	double (*progress)(const struct source *source);
	/*
	 * Compiles the expression for what the source has, before next() is called; NULL: for
	 * Ethernet is enough. Returns false with one line in error if it suits no link type of the
	 * source. Packets of a link type that it does not suit do not match.
	 */
	bool (*filter)(struct source *source, const char *expression, struct filter_set *set);
	/*
	 * Back to the first packet; from there on every frame has at least `payload` bytes, up to
	 * SOURCE_PAYLOAD_MAX, behind its headers. NULL: the source cannot.
	 */
	void (*restart)(struct source *source, uint32_t payload);
	/*
	 * Writes warning i, from 0, about packets that source_take() counted into
	 * text[SOURCE_ERROR_MAX]. Returns false if there are fewer. Call after the last next().
	 * NULL: no warnings.
	 */
	bool (*warning)(const struct source *source, unsigned int i, char *text);
	void (*close)(struct source *source); /* frees the source */
	bool generated; /* time stamps are made up: of no traffic that ever was */
	char error[SOURCE_ERROR_MAX];
};

/* A row of the table of sources (parallel/sources/sources.h). */
struct source_kind {
	const struct option_owner
		*options; /* its first option, of SOURCE_SET, asks for the source */
	/*
	 * Returns 0, or an exit status with one line in error[SOURCE_ERROR_MAX]: 2 where the text of
	 * an option is at fault, else 1. NULL: live ports, which EAL finds (rx/port/live_ports.c).
	 */
	int (*open)(const struct config *config, struct source **source, char *error);
};

/*
 * Opens capture files, merged by time ("-" is standard input); at equal times the file that was
 * named first comes first, and a file that goes back in time keeps its own order. Reads the first
 * packet of each; the paths must outlive the source. Returns NULL and one line in
 * error[SOURCE_ERROR_MAX] if one of them cannot be read, all of them are of unknown link types, or
 * a signal asked for the end of the run: nothing was delivered then. When one of
 * several files turns out to be damaged later, the others are read to their ends before next()
 * returns -1. Packets of an unknown link type among others are LINK_UNKNOWN.
 */
struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error);

/* As its warning(). */
bool source_warning(const struct source *source, unsigned int i, char *text);

/*
 * Compiles the expression for the source, NULL for live ports. Returns false with one line in
 * error[SOURCE_ERROR_MAX].
 */
bool source_filter(
	struct source *source, const char *expression, struct filter_set *set, char *error);

struct synthetic_spec;

/* Opens the generator. Returns NULL and one line in error[] where memory is missing. */
struct source *generate_open(const struct synthetic_spec *spec, char *error);

/* Writes one line to error[SOURCE_ERROR_MAX]; control characters (of a file name) become '?'. */
__attribute__((format(printf, 2, 3))) void source_error(char *error, const char *format, ...);
