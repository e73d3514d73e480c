/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sources of a run, and the packet sources of the feeder: capture files (rx/capture/replay.c) or
 * the generator (rx/generate/generate.c).
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/packet/link_type.h"

struct replay_options {
	struct option_list pcap;
};

OPTION_OWNER(replay)

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

/* Properties of a source, for not_for of option rows: where its input comes from, and its units. */
enum source_property {
	SOURCE_OF_PORTS = 1 << 0, /* live ports, which workers poll */
	SOURCE_OF_FEEDER =
		1 << 1, /* the feeder reads a struct source, and workers poll its rings */
	SOURCE_OF_ITSELF = 1 << 2, /* no device: its own loops bring the input */
	SOURCE_PACKETS = 1 << 3,   /* workers receive packets */
	SOURCE_KEYS = 1 << 4,      /* workers receive keys with weights */
	SOURCE_RECORDS = 1 << 5,   /* flow records */
};

/* Bits: what a run needs from its host. A check of the doctor applies to some of them. */
enum host_source {
	HOST_CARD = 1 << 0,    /* a PCI device */
	HOST_KERNEL = 1 << 1,  /* a kernel interface, by af_packet or af_xdp */
	HOST_VIRTUAL = 1 << 2, /* any other virtual device of DPDK */
	HOST_REPLAY = 1 << 3,  /* a capture or the generator */
	HOST_UNNAMED = 1 << 4, /* any port: no source was given */
	HOST_SOCKETS = 1 << 5, /* datagrams from exporters */
	HOST_PROGRAM = 1 << 6, /* a kernel interface, by an eBPF program */
};

struct plan_source; /* parallel/plan/plan.h */
struct source_ops;  /* parallel/sources/sources.h */

/* A source: the only place that knows which one it is. */
struct source_traits {
	struct option_selected selected; /* enum source_property */
	const struct option_owner *options;
	const char
		*pacer; /* "the link sets the pace": live; NULL: the source waits, or has --pace */
	/* Objection to a measurement that needs packets: "--kernel passes only keys; omit one". */
	const char *no_packets;
	uint32_t header_bytes; /* bytes of a packet that filters may read; 0: all */
	bool own_rings;        /* ring-size applies in every design */
	bool coarse_times;     /* supports --timestamps coarse */
	uint32_t host;         /* its checks of the doctor: bits of enum host_source */
	/*
	 * SOURCE_OF_FEEDER: returns 0, or an exit status with one line in error[SOURCE_ERROR_MAX]:
	 * 2 if an option has an invalid value, else 1.
	 */
	int (*open)(const struct config *config, struct source **source, char *error);
	/* Sources of keys or records. The first returns false if the design is not supported. */
	bool (*check_design)(const struct config *config,
		const struct measurement_config *measurement, struct option_fault *fault);
	void (*plan)(const struct config *config, struct plan_source *plan);
	const struct source_ops *ops;
};

/* Members of the row of an option that selects a source. */
#define SOURCE_OPTION(traits)                                                                      \
	.group = OPTION_GROUP_SOURCE, .set = "source", .selects = &(traits).selected

/* Returns the source of a run. Without an option: live ports, unless the command has none. */
const struct source_traits *source_of(const struct config *config);
/* Returns the name of the option that decided the source, such as "port" or "dedup"; or NULL. */
const char *source_option(const struct config *config);

static inline bool source_is(const struct config *config, uint32_t properties)
{
	return (source_of(config)->selected.is & properties) != 0;
}

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

/* Members of the row of --pcap, and of its owner and traits. */
#define REPLAY_OPTION                                                                              \
	.name = "pcap", .letter = 'r', .placeholder = "FILE", .type = OPTION_LIST,                 \
	.reads = replay_reads, OPTION_FIELD(replay_options, pcap),                                 \
	.help = "Read capture files, pcap or pcapng. - is standard input. Repeatable: files are "  \
		"merged by time."

bool replay_reads(const char *text, const struct stat *file);
bool replay_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
int replay_open_options(const struct config *config, struct source **source, char *error);

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
