/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Sources of a run. struct source reads packets of capture files (rx/capture/replay.c) or of the
 * generator (rx/generate/generate.c).
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "config/option.h"
#include "rx/packet/link_type.h"

struct replay_options {
	struct option_list pcap;
};

OPTION_OWNER(replay)

#define SOURCE_ERROR_MAX 512

/* Year 2255. Times of captures are clamped to it, so that adding an interval never overflows. */
#define SOURCE_TIME_MAX INT64_C(9000000000000000000)

#define SOURCE_PAYLOAD_MAX 16 /* bytes */

struct source_packet {
	const uint8_t *data; /* valid until the next call of next() */
	uint32_t captured;
	uint32_t wire_len; /* bytes on the wire without FCS */
	uint32_t snaplen;  /* maximum captured bytes of a packet; 0: no limit */
	int64_t time;      /* ns since 1970-01-01 UTC */
	enum link_type link;
	uint32_t filter;  /* index in struct filter_set */
	uint16_t in_port; /* index of the capture file */
	/* Counter to increment if this packet cannot be measured; else NULL */
	uint64_t *left_out;
};

/* Call it once for each packet that next() returns. */
static inline void source_take(const struct source_packet *packet)
{
	if (__builtin_expect(packet->left_out != NULL, 0))
		++*packet->left_out;
}

struct filter_set;

struct source {
	/*
	 * Returns 1 if *packet is filled, 0 at the end, -1 with one line in `error`. If the input
	 * is damaged, the packets before the damage are valid. After 0 or -1, call restart() first.
	 * If a signal requests the end of the run, a wait for a pipe ends with -1.
	 */
	int (*next)(struct source *source, struct source_packet *packet);
	/* Returns the share that was read, 0 to 1; negative if unknown. Thread-safe. */
	double (*progress)(const struct source *source);
	/*
	 * Call it before next(). If the expression compiles for some link types, packets of the
	 * others do not match. If it compiles for none, returns false with one line in `error`.
	 * NULL: all packets are Ethernet.
	 */
	bool (*filter)(struct source *source, const char *expression, struct filter_set *set);
	/*
	 * Restarts at the first packet. Frames then have at least `payload` bytes after their
	 * headers. NULL: not supported.
	 */
	void (*restart)(struct source *source, uint32_t payload);
	/*
	 * Writes warning number i to text[SOURCE_ERROR_MAX], or returns false if there is none.
	 * Call it after the last next(). NULL: no warnings.
	 */
	bool (*warning)(const struct source *source, unsigned int i, char *text);
	void (*close)(struct source *source);
	bool generated;                 /* timestamps are synthetic */
	const _Atomic int64_t *written; /* struct epochs; NULL: unknown. Not for close(). */
	char error[SOURCE_ERROR_MAX];
};

enum source_property {
	SOURCE_OF_PORTS = 1 << 0, /* live ports, which workers poll */
	/* The feeder reads a struct source into rings that workers poll. */
	SOURCE_OF_FEEDER = 1 << 1,
	SOURCE_OF_ITSELF = 1 << 2, /* the source has loops of its own, and no device */
	SOURCE_PACKETS = 1 << 3,
	SOURCE_KEYS = 1 << 4, /* workers receive keys with weights */
	SOURCE_RECORDS = 1 << 5,
};

/* Inputs that need different checks of `sketchtap doctor` */
enum host_source {
	HOST_CARD = 1 << 0,
	HOST_KERNEL = 1 << 1,  /* a kernel interface, by af_packet or af_xdp */
	HOST_VIRTUAL = 1 << 2, /* any other virtual device of DPDK */
	HOST_REPLAY = 1 << 3,  /* capture files or the generator */
	HOST_UNNAMED = 1 << 4, /* no source given: any port */
	HOST_SOCKETS = 1 << 5, /* datagrams from exporters */
	HOST_PROGRAM = 1 << 6, /* a kernel interface, by an eBPF program */
};

struct plan_source;
struct source_ops;

/* Other modules do not test which source is used, only its traits. */
struct source_traits {
	struct option_selected selected; /* enum source_property */
	const struct option_owner *options;
	/* Reason that --pace contradicts a live source; NULL: the source can wait */
	const char *pacer;
	/* Error for a measurement that needs packets, such as "--kernel passes only keys" */
	const char *no_packets;
	uint32_t header_bytes; /* bytes of a packet that filters may read; 0: all */
	bool own_rings;        /* option ring-size has an effect with every --design */
	bool coarse_times;     /* supports --timestamps coarse */
	uint32_t host;         /* bits of enum host_source: checks of `sketchtap doctor` */
	/*
	 * For SOURCE_OF_FEEDER. Returns 0, or an exit status with one line in
	 * error[SOURCE_ERROR_MAX]: 2 if an option has an invalid value, else 1.
	 */
	int (*open)(const struct config *config, struct source **source, char *error);
	/* Returns false if a source of keys or records does not support the design. */
	bool (*check_design)(const struct config *config,
		const struct measurement_config *measurement, struct option_fault *fault);
	void (*plan)(const struct config *config, struct plan_source *plan);
	const struct source_ops *ops;
};

#define SOURCE_OPTION(traits)                                                                      \
	.group = OPTION_GROUP_SOURCE, .set = "source", .selects = &(traits).selected

/* If no option selects a source, returns live ports, provided that the command supports them. */
const struct source_traits *source_of(const struct config *config);
/* Returns a name such as "port" or "dedup"; NULL if no option selected the source. */
const char *source_option(const struct config *config);

static inline bool source_is(const struct config *config, uint32_t properties)
{
	return (source_of(config)->selected.is & properties) != 0;
}

/*
 * Opens capture files ("-" is standard input) and merges them by time, then by the order of
 * `paths`, which must outlive the source. Returns NULL with one line in error[SOURCE_ERROR_MAX] if
 * a file cannot be read, all link types are unknown, or a signal requested the end of the run. If a
 * file is damaged later, next() first reads the other files to their ends.
 */
struct source *replay_open(const char *const *paths, unsigned int nb_paths, char *error);

#define REPLAY_OPTION                                                                              \
	.name = "pcap", .letter = 'r', .placeholder = "FILE", .type = OPTION_LIST,                 \
	.reads = replay_reads, OPTION_FIELD(replay_options, pcap),                                 \
	.help = "Read capture files, pcap or pcapng. - is standard input. Repeatable: files are "  \
		"merged by time."

bool replay_reads(const char *text, const struct stat *file);
bool replay_check(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault);
int replay_open_options(const struct config *config, struct source **source, char *error);

bool source_warning(const struct source *source, unsigned int i, char *text);

/* `source` is NULL for live ports. Returns false with one line in error[SOURCE_ERROR_MAX]. */
bool source_filter(
	struct source *source, const char *expression, struct filter_set *set, char *error);

struct synthetic_spec;

/* Returns NULL with one line in error[SOURCE_ERROR_MAX] if out of memory. */
struct source *generate_open(const struct synthetic_spec *spec, char *error);

/* Control characters, for example in a file name, become '?'. */
__attribute__((format(printf, 2, 3))) void source_error(char *error, const char *format, ...);
