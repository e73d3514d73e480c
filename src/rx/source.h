/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sources of a run. struct source_traits describes any of them. struct source reads packets of
 * capture files (rx/capture/replay.c) or of the generator (rx/generate/generate.c) for the feeder.
 */

#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/packet/link_type.h"

struct replay_options {
	struct option_list pcap;
};

OPTION_OWNER(replay)

#define SOURCE_ERROR_MAX 512 /* bytes of one line, with the final 0 */

/*
 * Latest timestamp, in the year 2255. Timestamps of captures are clamped to [0, SOURCE_TIME_MAX],
 * so that adding an interval never overflows.
 */
#define SOURCE_TIME_MAX INT64_C(9000000000000000000)

#define SOURCE_PAYLOAD_MAX 16 /* maximum `payload` of restart(), in bytes */

struct source_packet {
	const uint8_t *data; /* valid until the next call of next() */
	uint32_t captured;   /* bytes at data */
	uint32_t wire_len;   /* bytes on the wire without FCS */
	uint32_t snaplen;    /* maximum captured bytes of a packet; 0: no limit */
	int64_t time;        /* ns since 1970-01-01 UTC */
	enum link_type link;
	uint32_t filter;  /* index of its program in the filter_set that filter() filled */
	uint16_t in_port; /* index of its capture file, in the order of --pcap */
	/* Counter that source_take() increments if the packet cannot be measured; else NULL. */
	uint64_t *left_out;
};

/* Counts the packet if it cannot be measured. The user of a source calls it once per packet. */
static inline void source_take(const struct source_packet *packet)
{
	if (__builtin_expect(packet->left_out != NULL, 0))
		++*packet->left_out;
}

struct filter_set; /* rx/filter/filter_program.h */

struct source {
	/*
	 * Reads the next packet. Returns 1 if *packet is filled, 0 at the end, -1 on failure with
	 * one line in `error`. If the input is damaged, the packets before the damage are valid.
	 * After 0 or -1, do not call it again before restart().
	 * A signal that requests the end of the run (base/signals.h) interrupts a wait for standard
	 * input or a pipe. The function then returns -1.
	 */
	int (*next)(struct source *source, struct source_packet *packet);
	/*
	 * Returns the share of the source that was read, 0 to 1; negative if unknown. Thread-safe.
	 */
	double (*progress)(const struct source *source);
	/*
	 * Compiles the expression for each link type of the source. Call it before next(). Returns
	 * false with one line in `error` if it compiles for none of them. If it compiles for some,
	 * packets of the other link types do not match. NULL: all packets are Ethernet.
	 */
	bool (*filter)(struct source *source, const char *expression, struct filter_set *set);
	/*
	 * Restarts at the first packet. From then on, every frame has at least `payload` bytes
	 * after its headers, up to SOURCE_PAYLOAD_MAX. NULL: not supported.
	 */
	void (*restart)(struct source *source, uint32_t payload);
	/*
	 * Writes warning number i, from 0, to text[SOURCE_ERROR_MAX]. The warnings describe the
	 * packets that source_take() counted. Returns false if there is no warning i. Call it after
	 * the last next(). NULL: the source has no warnings.
	 */
	bool (*warning)(const struct source *source, unsigned int i, char *text);
	void (*close)(struct source *source); /* frees the source */
	bool generated;                       /* timestamps are synthetic */
	char error[SOURCE_ERROR_MAX];
};

/*
 * Properties of a source. Option rows list in `not_for` the sources with which they have no effect.
 */
enum source_property {
	SOURCE_OF_PORTS = 1 << 0, /* live ports, which workers poll */
	SOURCE_OF_FEEDER =
		1 << 1, /* the feeder reads a struct source into rings that workers poll */
	SOURCE_OF_ITSELF = 1 << 2, /* its own loops read the input; it has no device */
	SOURCE_PACKETS = 1 << 3,   /* workers receive packets */
	SOURCE_KEYS = 1 << 4,      /* workers receive keys with weights */
	SOURCE_RECORDS = 1 << 5,   /* flow records */
};

/* Inputs that need different checks of `sketchtap doctor`, as bits */
enum host_source {
	HOST_CARD = 1 << 0,    /* a PCI device */
	HOST_KERNEL = 1 << 1,  /* a kernel interface, by af_packet or af_xdp */
	HOST_VIRTUAL = 1 << 2, /* any other virtual device of DPDK */
	HOST_REPLAY = 1 << 3,  /* capture files or the generator */
	HOST_UNNAMED = 1 << 4, /* no source given: any port */
	HOST_SOCKETS = 1 << 5, /* datagrams from exporters */
	HOST_PROGRAM = 1 << 6, /* a kernel interface, by an eBPF program */
};

struct plan_source; /* parallel/plan/plan.h */
struct source_ops;  /* parallel/sources/sources.h */

/* Description of a kind of source. Other modules do not test which kind is used. */
struct source_traits {
	struct option_selected selected; /* enum source_property */
	const struct option_owner *options;
	/*
	 * For live sources: the end of the error about --pace, "contradicts --port: the link sets
	 * the pace". NULL: the source can wait.
	 */
	const char *pacer;
	/*
	 * Error for a measurement that needs packets, such as "--kernel passes only keys; omit
	 * one".
	 */
	const char *no_packets;
	uint32_t header_bytes; /* bytes of a packet that filters may read; 0: all */
	bool own_rings;        /* option ring-size has an effect with every --design */
	bool coarse_times;     /* supports --timestamps coarse */
	uint32_t host; /* applicable checks of `sketchtap doctor`: bits of enum host_source */
	/*
	 * For SOURCE_OF_FEEDER: opens the source. Returns 0, or an exit status with one line in
	 * error[SOURCE_ERROR_MAX]. The exit status is 2 if an option has an invalid value, else 1.
	 */
	int (*open)(const struct config *config, struct source **source, char *error);
	/*
	 * For sources of keys or records. check_design() returns false if the design is not
	 * supported.
	 */
	bool (*check_design)(const struct config *config,
		const struct measurement_config *measurement, struct option_fault *fault);
	void (*plan)(const struct config *config, struct plan_source *plan);
	const struct source_ops *ops;
};

/* Initializers in the row of an option that selects a source */
#define SOURCE_OPTION(traits)                                                                      \
	.group = OPTION_GROUP_SOURCE, .set = "source", .selects = &(traits).selected

/*
 * Returns the source that an option selects. Without such an option, the default is live ports if
 * the command supports them.
 */
const struct source_traits *source_of(const struct config *config);
/*
 * Returns the name of the option that selected the source, such as "port" or "dedup"; NULL: none.
 */
const char *source_option(const struct config *config);

static inline bool source_is(const struct config *config, uint32_t properties)
{
	return (source_of(config)->selected.is & properties) != 0;
}

/*
 * Opens capture files ("-" is standard input), reads the first packet of each, and merges them by
 * time. If times are equal, the order of `paths` decides. A file with decreasing times keeps its
 * own order. Packets of an unknown link type are LINK_UNKNOWN if any file has a known one. The
 * paths must outlive the source.
 * Returns NULL with one line in error[SOURCE_ERROR_MAX] if a file cannot be read, all link types
 * are unknown, or a signal requested the end of the run. If one of several files turns out to be
 * damaged later, next() first reads the others to their ends, then returns -1.
 */
struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error);

/* Initializers of the row of --pcap. Its owner and its traits use the functions below. */
#define REPLAY_OPTION                                                                              \
	.name = "pcap", .letter = 'r', .placeholder = "FILE", .type = OPTION_LIST,                 \
	.reads = replay_reads, OPTION_FIELD(replay_options, pcap),                                 \
	.help = "Read capture files, pcap or pcapng. - is standard input. Repeatable: files are "  \
		"merged by time."

bool replay_reads(const char *text, const struct stat *file);
bool replay_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
int replay_open_options(const struct config *config, struct source **source, char *error);

/* Calls warning() of the source. Returns false if the source has none. */
bool source_warning(const struct source *source, unsigned int i, char *text);

/*
 * Compiles the expression for the source; NULL: live ports. Returns false with one line in
 * error[SOURCE_ERROR_MAX].
 */
bool source_filter(
	struct source *source, const char *expression, struct filter_set *set, char *error);

struct synthetic_spec;

/* Opens the generator. Returns NULL with one line in error[SOURCE_ERROR_MAX] if out of memory. */
struct source *generate_open(const struct synthetic_spec *spec, char *error);

/* Writes one line to error[SOURCE_ERROR_MAX]. Control characters (of a file name) become '?'. */
__attribute__((format(printf, 2, 3))) void source_error(char *error, const char *format, ...);
