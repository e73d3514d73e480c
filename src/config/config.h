/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the user asked for: the options table (config/options.c) applied to a configuration file and
 * a command line, checked as far as the text alone can be.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/key.h"
#include "base/log_level.h"
#include "config/destination.h"
#include "sketch/sketch.h"

#define CONFIG_MEASUREMENTS_MAX 16
#define CONFIG_LIST_MAX         DESTINATIONS_MAX /* --pcap, --port, outputs */
#define CONFIG_WORKERS_MAX      120
#define CONFIG_VALUES_MAX       16 /* of an option that takes a list of numbers */
/* ns: 2500 days, so that an epoch of any packet's time ends within an int64_t
 * (parallel/feeder.c). */
#define CONFIG_INTERVAL_MAX     (UINT64_C(2500) * 24 * 3600 * 1000000000)

enum command {
	COMMAND_RUN,
	COMMAND_PLAN,
	COMMAND_DOCTOR,
	COMMAND_GENERATE,
	COMMAND_BENCH_KERNELS,
	COMMAND_BENCH_WORKER,
	COMMAND_BENCH_TARGETS,
	COMMAND_BENCH_PIPELINE,
	COMMAND_BENCH_FLOW_TABLE,
	COMMAND_BENCH_TUNE,
};

enum pace {
	PACE_UNPACED,  /* as fast as everything can be measured; waits when a ring is full */
	PACE_RECORDED, /* by the packets' time stamps; drops when a ring is full */
	PACE_RATE,     /* so many packets per second; drops when a ring is full */
};

enum idle_mode {
	IDLE_AUTO, /* sleep where lcores outnumber CPUs or packets come through the kernel, else
		      spin */
	IDLE_SPIN,
	IDLE_YIELD,
	IDLE_SLEEP, /* yield, and sleep once that brought nothing for a while */
};

/* Which worker the receiver of the async design chooses. */
enum dispatch {
	DISPATCH_FLOW,        /* by the flow hash: a flow stays on one worker */
	DISPATCH_ROUND_ROBIN, /* by the packet's index */
};

/* Which address of a packet --monitor looks up. */
enum monitor_side {
	MONITOR_DST,
	MONITOR_SRC,
	MONITOR_EITHER,
};

/* What a device's hash of a packet is made of. */
enum rss_fields {
	RSS_FIELDS_5TUPLE, /* addresses, and the ports of TCP, UDP and SCTP; fragments: addresses */
	RSS_FIELDS_ADDRESSES,
	RSS_FIELDS_SRC,
	RSS_FIELDS_DST,
};

enum rss_key {
	RSS_KEY_SYMMETRIC, /* both directions of a connection hash alike */
	RSS_KEY_DEFAULT,   /* the driver's */
	RSS_KEY_GIVEN,     /* rss_key_bytes */
};

/* When a port's packets came. */
enum timestamps {
	TIMESTAMPS_AUTO, /* what the device says, else when they were polled */
	TIMESTAMPS_POLL,
};

#define CONFIG_RSS_KEY_MAX   64
#define EXPIRED_KEYS_DEFAULT 1000000
#define CONFIG_MTU_MAX       UINT32_MAX /* --mtu max */

enum metric {
	METRIC_PACKETS,
	METRIC_BYTES,
};

/* How a flow-table keeps the keys of a bucket: a struct flow_store each. */
enum collision {
	COLLISION_LIST,
	COLLISION_TREE,
	COLLISION_CUCKOO,
	COLLISION_COUNT,
};

/* One question put to the traffic: a section [measurement NAME], or the command line's own. */
struct measurement_config {
	const char *name; /* "main" where there is one */
	struct key_rule key;
	enum metric count;
	const char *sketch; /* a name of sketches[] */
	uint32_t depth;     /* 0: the sketch's default */
	uint64_t width;     /* 0: the sketch's default, or what --memory allows */
	uint64_t memory;    /* bytes of one instance; 0: not given. Excludes width. */
	uint64_t buckets;   /* of a flow-table, instead of width; 0: not given */
	enum collision collision;
	enum table_hash table_hash;
	uint64_t idle_timeout; /* ns after which a flow-table's record ends; 0: none does */
	uint32_t expired_keys; /* of ended records, that are remembered for --output */
	double iblt_load; /* flows per cell that an iblt's next rows are made for; 0: all rows */
	uint32_t top;     /* 0: no limit, threshold rules */
	double threshold; /* share of the measured metric a reported key has at least; 0: none */
	double confidence;
};

/* When an output file is complete. 0: not by it. */
struct rotate_limits {
	uint64_t period; /* ns: at its multiples in UTC */
	uint64_t size;   /* bytes: before it grows beyond them */
};

/* What an option with a list of numbers gave; none: it was not given. */
struct config_values {
	uint32_t n;
	uint64_t values[CONFIG_VALUES_MAX];
};

#define CONFIG_ZIPF_RANDOM UINT64_MAX /* among exponents: all-random headers */

/* What `bench` tries. A set is a bit for each choice; an empty one: all. */
struct bench_config {
	uint32_t sketches;     /* bit i: sketches[i] */
	uint32_t sharings;     /* bit s: enum sketch_sharing */
	uint32_t atomics;      /* bit a: enum sketch_atomic */
	uint32_t designs;      /* bit d: designs[d] (parallel/plan/design.h) */
	uint32_t experiments;  /* bit e: a row of experiments[] (bench/pipeline.c) */
	uint32_t collisions;   /* bit c: enum collision */
	uint32_t table_hashes; /* bit h: enum table_hash */
	uint32_t traffics;     /* bit t: a row of traffics[] (bench/traffic.c) */
	struct config_values threads;
	struct config_values flows;
	struct config_values zipf; /* exponents x 10^6; 0: uniform */
	struct config_values widths;
	struct config_values buckets; /* any number, beside widths */
	struct config_values hosts;   /* monitored ones; none: that is not measured */
	struct config_values workers;
	uint64_t packets; /* of a round; 0: the default */
	uint64_t memory;  /* bytes that a run may take; 0: any */
	double error;     /* that the heaviest keys may have on average */
	uint32_t rounds;  /* 0: the default */
	bool quick;
};

struct config_file;

struct config {
	enum command command;

	/* source: exactly one kind */
	const char *pcap[CONFIG_LIST_MAX];
	uint32_t nb_pcap;
	const char *port[CONFIG_LIST_MAX];
	uint32_t nb_port;
	const char *synthetic; /* SPEC, checked by rx/capture/synthetic.h; NULL: not given */
	enum pace pace;
	uint64_t pace_rate; /* packets per second, for PACE_RATE */
	uint64_t linger;    /* ns that a sender keeps its port after the last packet */
	uint64_t duration;  /* ns; 0: no limit. Packet time on replay, wall clock on a port */
	uint64_t packets;   /* 0: no limit */

	/* measure */
	const char *monitor; /* a file of rules; NULL: none */
	enum monitor_side monitor_side;
	const char *filter; /* an expression of libpcap; NULL: everything */
	const char *design;
	const char *sharing;
	enum dispatch dispatch;
	enum sketch_atomic atomic;
	uint32_t workers; /* 0: as many as there is room for */
	uint64_t seed;
	bool seed_given;
	struct measurement_config measurements[CONFIG_MEASUREMENTS_MAX];
	uint32_t nb_measurements;

	/* report */
	uint64_t interval; /* ns; 0: one epoch */
	struct destinations rows[ROW_KINDS];
	const char *output; /* of generate and bench; "-": standard output */
	double max_loss;    /* share of lost packets from which on the exit status is 1; 1: any */
	enum output_format format;
	bool append, force;
	struct rotate_limits rotate;
	bool no_progress;

	/* host */
	const char *name;     /* of this instance; NULL: its process number */
	const char *eal;      /* more arguments for EAL */
	const char *lcores;   /* CPU list; NULL: those the process may use */
	const char *topology; /* plan: a file that describes a machine; NULL: this one */
	bool dot;             /* plan: a drawing */
	uint32_t descriptors; /* entries of each RX ring; 0: default */
	uint32_t ring_size;   /* entries of each ring between receiver and worker */
	uint32_t mbufs;       /* of the packet pool; 0: computed */
	uint32_t mbuf_cache;  /* mbufs that an lcore may keep for itself */
	enum rss_fields rss_fields;
	enum rss_key rss_key;
	uint8_t rss_key_len; /* with RSS_KEY_GIVEN */
	uint8_t rss_key_bytes[CONFIG_RSS_KEY_MAX];
	uint32_t mtu;       /* 0: as the device has it; CONFIG_MTU_MAX: as much as it takes */
	uint64_t wait_link; /* ns; 0: do not wait */
	enum timestamps timestamps;
	bool no_huge;
	enum idle_mode idle;
	enum log_level log_level;
	bool verbose;

	struct bench_config bench;

	struct config_file *file; /* owns the strings that came from it; NULL: there is none */
};

enum config_result {
	CONFIG_OK,
	CONFIG_EXIT_0, /* --help or --version was answered on `out` */
	CONFIG_EXIT_1, /* the machine said no (a configuration file that cannot be read): one line
			  on `err` */
	CONFIG_EXIT_2, /* a mistake in the text: one line on `err` */
};

/*
 * Reads argv, and the file that --config names under it (the command line wins). Strings of the
 * result live until config_free(), as long as argv does. What is not CONFIG_OK needs no
 * config_free().
 */
enum config_result config_load(
	struct config *config, int argc, char *const argv[], FILE *out, FILE *err);
void config_free(struct config *config);

/* The option, without its dashes, by which the run reads this regular file; NULL: it does not. */
const char *config_input(const struct config *config, const struct stat *file);
