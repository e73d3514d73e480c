/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/options.h"

#include <string.h>

#define RUN      (1u << COMMAND_RUN | 1u << COMMAND_PLAN | 1u << COMMAND_DOCTOR)
#define PLAN     (1u << COMMAND_PLAN)
#define GENERATE (1u << COMMAND_GENERATE)
#define KERNELS  (1u << COMMAND_BENCH_KERNELS)
#define WORKER   (1u << COMMAND_BENCH_WORKER)
#define TARGETS  (1u << COMMAND_BENCH_TARGETS)
#define PIPELINE (1u << COMMAND_BENCH_PIPELINE)
#define TUNE     (1u << COMMAND_BENCH_TUNE)
#define TABLES   (1u << COMMAND_BENCH_FLOW_TABLE)
#define BENCH    (KERNELS | WORKER | TARGETS | PIPELINE | TABLES | TUNE)
#define ALL      (RUN | GENERATE | BENCH)
#define TRAFFIC  (RUN | GENERATE)

#define MILLISECOND UINT64_C(1000000)
#define CENTURY     (UINT64_C(36525) * 24 * 3600 * 1000 * MILLISECOND)

#define FIELD(type, member)                                                                        \
	.offset = offsetof(struct type, member), .size = sizeof(((struct type *)0)->member)
#define CONFIG(member)      .scope = OPTION_OF_CONFIG, FIELD(config, member)
#define MEASUREMENT(member) .scope = OPTION_OF_MEASUREMENT, FIELD(measurement_config, member)
#define LIST(member)        CONFIG(member), .count_offset = offsetof(struct config, nb_##member)
#define DESTINATIONS(kind)                                                                         \
	.type = OPTION_LIST, CONFIG(rows[kind].list),                                              \
	.count_offset = offsetof(struct config, rows[kind].n)
#define TEXT_OF(value) #value
#define TEXT(macro)    TEXT_OF(macro)
#define CHOICES(...)                                                                               \
	.choices = (const char *const[])                                                           \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

#define FORMAT_CHOICE(name, word) [FORMAT_##name] = #word,

#define FORMATS CHOICES([FORMAT_AUTO] = "auto", ROW_FORMATS(FORMAT_CHOICE)[FORMAT_TABLE] = "table")

#define COLLISIONS                                                                                 \
	CHOICES([COLLISION_LIST] = "list", [COLLISION_TREE] = "tree", [COLLISION_CUCKOO] = "cuckoo")
#define TABLE_HASHES                                                                               \
	CHOICES([TABLE_HASH_AES] = "aes", [TABLE_HASH_RSS] = "rss",                                \
		[TABLE_HASH_CORALREEF] = "coralreef", [TABLE_HASH_JENKINS] = "jenkins",            \
		[TABLE_HASH_MURMUR3] = "murmur3", [TABLE_HASH_CRC32] = "crc32",                    \
		[TABLE_HASH_FNV1A] = "fnv1a", [TABLE_HASH_HSIEH] = "hsieh",                        \
		[TABLE_HASH_XXH3] = "xxh3")

const char *const command_names[COMMAND_COUNT] = {
	[COMMAND_RUN] = "run",
	[COMMAND_PLAN] = "plan",
	[COMMAND_DOCTOR] = "doctor",
	[COMMAND_GENERATE] = "generate",
	[COMMAND_BENCH_KERNELS] = "bench kernels",
	[COMMAND_BENCH_WORKER] = "bench worker",
	[COMMAND_BENCH_TARGETS] = "bench targets",
	[COMMAND_BENCH_PIPELINE] = "bench pipeline",
	[COMMAND_BENCH_FLOW_TABLE] = "bench flow-table",
	[COMMAND_BENCH_TUNE] = "bench tune",
};

const char *const option_group_names[OPTION_GROUP_COUNT] = {
	[OPTION_GROUP_SOURCE] = "Source",
	[OPTION_GROUP_DESTINATION] = "Destination",
	[OPTION_GROUP_MEASURE] = "Measure",
	[OPTION_GROUP_BENCH] = "Try",
	[OPTION_GROUP_REPORT] = "Report",
	[OPTION_GROUP_HOST] = "Host",
};

const char *const option_unit_lines[] = {
	"N         5, 64K, 5M, 1G (powers of 1000; of 1024 where it is a power of two)",
	"SIZE      4096, 4KB, 4MB, 1GB (bytes, powers of 1024)",
	"TIME      10us, 500ms, 1s, 5m, 1h, 1d",
	"RATE      500kpps, 2Mpps (packets per second)",
	"FRACTION  0.25 or 25%",
	"LIST      CPU numbers: 0-3,6",
	NULL,
};

const char *const option_choice_lines[] = {
	"design   rss          the card spreads flows over queues: the fastest; start here",
	"         async        one queue for all: cards without RSS, tunnels that land on one "
	"queue",
	"         sync         as async, in lock step: for comparison, seldom faster",
	"sharing  separate     one sketch a worker: the fastest; memory grows with workers",
	"         shared       one sketch for all: memory hardly grows, atomics cost time",
	"sketch   count-min    any number of flows in fixed memory; estimates for every key",
	"         simple-hash  the cheapest; exact for heavy keys of a table that is not crowded",
	"         reversible   keeps no keys: finds them from its counters; the dearest",
	"         flow-table   exact packets, bytes, times and TCP flags, while every key fits",
	"         iblt         as exact, keys found by decoding: any number of workers add up",
	"atomic   cas          with shared: the default; add is faster where it applies",
	"         lock         the baseline that the others are measured against",
	NULL,
};

const struct option_row options[] = {
	{
		.name = "pcap",
		.letter = 'r',
		.placeholder = "FILE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		LIST(pcap),
		.set = OPTION_SET_SOURCE,
		.commands = RUN | TABLES | TUNE,
		.help = "Measure a capture file, pcap or pcapng; - is standard input. "
			"Repeatable: several files are merged by time.",
	},
	{
		.name = "port",
		.letter = 'i',
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_LIST,
		LIST(port),
		.set = OPTION_SET_SOURCE,
		.commands = RUN,
		.help = "Measure what a port receives: a PCI address (0000:3b:00.0), an interface "
			"of the kernel (eth0) or a virtual device of DPDK (net_tap0,iface=probe0). "
			"Repeatable: both directions of a tap.",
	},
	{
		.name = "rss-fields",
		.placeholder = "FIELDS",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		CONFIG(rss_fields),
		.need = OPTION_NEED_HASH,
		.commands = RUN,
		CHOICES([RSS_FIELDS_5TUPLE] = "5tuple", [RSS_FIELDS_ADDRESSES] = "addresses",
			[RSS_FIELDS_SRC] = "src", [RSS_FIELDS_DST] = "dst"),
		.default_text = "5tuple",
		.help = "What a port spreads packets over the workers by: 5tuple (addresses, and "
			"ports of TCP, UDP and SCTP; fragments by addresses), addresses, src or "
			"dst. What a device cannot do is said at the start.",
	},
	{
		.name = "rss-key",
		.placeholder = "KEY",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_RSS_KEY,
		CONFIG(rss_key),
		.need = OPTION_NEED_HASH,
		.commands = RUN,
		.default_text = "symmetric",
		.help = "Key of a port's flow hash: symmetric (both directions of a connection "
			"reach one worker), default (the driver's) or its bytes in hexadecimal, as "
			"many as the device takes.",
	},
	{
		.name = "mtu",
		.placeholder = "N|max",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_MTU,
		CONFIG(mtu),
		.need = OPTION_NEED_PORT,
		.commands = RUN,
		.min = 68,
		.max = 65535,
		.default_note = "what the device has",
		.help = "Receive frames with up to N bytes behind the Ethernet header, or as many "
			"as the device takes: for links with jumbo frames.",
	},
	{
		.name = "timestamps",
		.placeholder = "WHOSE",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_CHOICE,
		CONFIG(timestamps),
		.need = OPTION_NEED_TIMES,
		.commands = RUN,
		CHOICES([TIMESTAMPS_AUTO] = "auto", [TIMESTAMPS_POLL] = "poll"),
		.default_text = "auto",
		.help = "Times of a port's packets, where a measurement asks for them: auto (when "
			"they came, by the device's time stamps, where it has any) or poll (when "
			"they were polled: a device that stamps packets may be slower).",
	},
	{
		.name = "wait-link",
		.placeholder = "TIME",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_TIME,
		CONFIG(wait_link),
		.need = OPTION_NEED_PORT,
		.commands = RUN,
		.zero = true,
		.min = 1,
		.max = CENTURY,
		.default_note = "start at once",
		.help = "Begin when the link of every port is up, and give up after this time; 0: "
			"do not wait.",
	},
	{
		.name = "synthetic",
		.placeholder = "SPEC",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_STRING,
		CONFIG(synthetic),
		.set = OPTION_SET_SOURCE,
		.commands = TRAFFIC | TUNE,
		.help = "Packets of the built-in generator, as SPEC says: name=value,... with "
			"flows=1M, zipf=1.05|random, size=64|imix|MIN-MAX, packets=5M, "
			"rate=..., ipv6=0.0, vlan=0.0, seed=1. The same SPEC gives the same "
			"packets everywhere.",
	},
	{
		.name = "pace",
		.placeholder = "RATE|recorded",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_PACE,
		CONFIG(pace),
		.commands = TRAFFIC,
		.default_note = "as fast as nothing is lost",
		.help = "Replay or generate at so many packets per second, or by the packets' "
			"own time stamps. A paced source drops packets that find a full ring, "
			"as a card does.",
	},
	{
		.name = "duration",
		.placeholder = "TIME",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_TIME,
		CONFIG(duration),
		.commands = TRAFFIC,
		.min = 1,
		.max = CENTURY,
		.default_note = "no limit",
		.help = "Stop after this time: packet time on replay and in files, the clock's on "
			"a port.",
	},
	{
		.name = "packets",
		.letter = 'c',
		.placeholder = "N",
		.group = OPTION_GROUP_SOURCE,
		.type = OPTION_COUNT,
		CONFIG(packets),
		.commands = TRAFFIC,
		.min = 1,
		.max = UINT64_MAX,
		.default_note = "no limit",
		.help = "Stop after this many packets.",
	},
	{
		.name = "output",
		.letter = 'w',
		.placeholder = "FILE",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		CONFIG(output),
		.set = OPTION_SET_DESTINATION,
		.commands = GENERATE,
		.help = "Write a pcap file; - is standard output.",
	},
	{
		.name = "port",
		.letter = 'i',
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_LIST,
		LIST(port),
		.set = OPTION_SET_DESTINATION,
		.commands = GENERATE,
		.help = "Send on a port: a PCI address (0000:3b:00.0), an interface of the kernel "
			"(eth0) or a virtual device of DPDK (net_tap0,iface=probe0).",
	},
	{
		.name = "linger",
		.placeholder = "TIME",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_TIME,
		CONFIG(linger),
		.need = OPTION_NEED_PORT,
		.commands = GENERATE,
		.min = 1,
		.max = CENTURY,
		.default_note = "not at all",
		.help = "Keep the port open so long after the last packet. Who receives from a "
			"port in shared memory, such as memif, loses with it what is still "
			"under way.",
	},
	{
		.name = "output",
		.placeholder = "FILE",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_STRING,
		CONFIG(output),
		.commands = BENCH,
		.default_note = "not written",
		.help = "Write the rows as CSV too; - is standard output, in place of the table.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_DESTINATION,
		.type = OPTION_FLAG,
		CONFIG(force),
		.need = OPTION_NEED_FILE,
		.commands = GENERATE | BENCH,
		.help = "Replace an output file that exists. Without it such a file is refused.",
	},
	{
		.name = "design",
		.placeholder = "DESIGN",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_WORD,
		CONFIG(design),
		.commands = RUN,
		CHOICES("rss", "async", "sync"),
		.default_text = "rss",
		.help = "How packets reach the cores that count them: rss (each worker polls a "
			"queue of its own, which the card or the feeder fills by flow hash), async "
			"(one receiver deals them out over rings), sync (one receiver hands every "
			"worker its part of a burst and waits for all).",
	},
	{
		.name = "dispatch",
		.placeholder = "RULE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		CONFIG(dispatch),
		.need = OPTION_NEED_ASYNC,
		.commands = RUN,
		CHOICES([DISPATCH_FLOW] = "flow", [DISPATCH_ROUND_ROBIN] = "round-robin"),
		.default_text = "flow",
		.help = "Which worker the receiver of --design async chooses: flow (by the flow "
			"hash, so that a flow stays on one worker) or round-robin (by the packet's "
			"index).",
	},
	{
		.name = "sharing",
		.placeholder = "SHARING",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_WORD,
		CONFIG(sharing),
		.commands = RUN,
		CHOICES("separate", "shared"),
		.default_text = "separate",
		.help = "Whose sketch a worker updates: separate (its own; the reporter merges "
			"them) or shared (one for all, updated atomically).",
	},
	{
		.name = "atomic",
		.placeholder = "HOW",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		CONFIG(atomic),
		.need = OPTION_NEED_SHARED,
		.commands = RUN,
		CHOICES([ATOMIC_CAS] = "cas", [ATOMIC_ADD] = "add", [ATOMIC_LOCK] = "lock"),
		.default_text = "cas",
		.help = "How workers add to a shared sketch: cas (compare-and-swap), add "
			"(fetch-and-add where it can replace that) or lock (a spinlock around each "
			"burst).",
	},
	{
		.name = "filter",
		.placeholder = "EXPRESSION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		CONFIG(filter),
		.commands = RUN,
		.default_note = "everything",
		.help = "Measure only packets that match an expression of libpcap, as tcpdump's: "
			"'tcp port 443 and net 10.0.0.0/8'. The others are counted as filtered.",
	},
	{
		.name = "monitor",
		.placeholder = "FILE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_STRING,
		CONFIG(monitor),
		.commands = RUN,
		.default_note = "everything",
		.help = "Measure only packets of the hosts and prefixes in a file, a line "
			"'PREFIX NAME' for each; # begins a comment. The others are counted as "
			"filtered. Read again on SIGHUP.",
	},
	{
		.name = "monitor-side",
		.placeholder = "SIDE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		CONFIG(monitor_side),
		.need = OPTION_NEED_MONITOR,
		.commands = RUN,
		CHOICES([MONITOR_DST] = "dst", [MONITOR_SRC] = "src", [MONITOR_EITHER] = "either"),
		.default_text = "either",
		.help = "Which address of a packet --monitor looks up: dst, src or either.",
	},
	{
		.name = "workers",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		CONFIG(workers),
		.commands = RUN,
		.min = 1,
		.max = CONFIG_WORKERS_MAX,
		.default_note = "as many as there is room for",
		.help = "Cores that count; with --design rss they also receive, and are at most 16 "
			"with --pcap and --synthetic. The receiver of the other designs is one "
			"more.",
	},
	{
		.name = "seed",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_SEED,
		CONFIG(seed),
		.commands = RUN | BENCH,
		.default_note = "random",
		.help = "Fix the key of the hash, decimal or 0x hexadecimal: the same input, "
			"options and seed give the same output.",
	},
	{
		.name = "sketch",
		.placeholder = "SKETCH",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_SKETCH,
		MEASUREMENT(sketch),
		.commands = RUN,
		.default_text = "count-min",
		.help = "What counts: count-min (cms), reversible (rs), simple-hash (sht), "
			"flow-table (ft) or iblt (smon).",
	},
	{
		.name = "key",
		.placeholder = "KEY",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_KEY,
		MEASUREMENT(key),
		.commands = RUN,
		.default_text = "5tuple",
		.help = "What is counted: 5tuple, src, dst, src-dst, 6tuple (the 5-tuple and the "
			"TCP flags), or src_port, dst_port, proto, tcp_flags, vlan (the outermost "
			"tag's), dscp, mpls (the top label), in_port (the number of the --port or "
			"capture file, from 0). Several with commas: src,dst_port. Addresses as "
			"prefixes: src/24 of IPv4, src/24/48 of IPv4 and IPv6.",
	},
	{
		.name = "count",
		.placeholder = "METRIC",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		MEASUREMENT(count),
		.commands = RUN,
		CHOICES([METRIC_PACKETS] = "packets", [METRIC_BYTES] = "bytes"),
		.default_text = "packets",
		.help = "What makes a key heavy: packets or bytes.",
	},
	{
		.name = "depth",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		MEASUREMENT(depth),
		.commands = RUN,
		.min = 1,
		.max = 16,
		.default_note =
			"4 for count-min, 4 for reversible, 1 for simple-hash, 1 for flow-table, "
			"3 for iblt",
		.help = "Rows of the sketch. Of an iblt: cells of a flow, 3 or 4.",
	},
	{
		.name = "width",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		MEASUREMENT(width),
		.set = OPTION_SET_SHAPE,
		.commands = RUN,
		.min = 2,
		.max = UINT64_C(1) << 32,
		.power_of_two = true,
		.default_note =
			"262144 for count-min, 262144 for reversible, 262144 for simple-hash, "
			"262144 for flow-table, 131072 for iblt",
		.help = "Counters of each row, a power of two. Depth times log2(width) is at "
			"most 128. Of a flow-table: its buckets, and the keys that fit in any "
			"case. Of an iblt: its cells of each row; depth times width times 0.7 IPv4 "
			"flows can be decoded, and half as many IPv6 flows beside them.",
	},
	{
		.name = "buckets",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		MEASUREMENT(buckets),
		.set = OPTION_SET_SHAPE,
		.need = OPTION_NEED_FLOW_TABLE,
		.commands = RUN,
		.min = 16,
		.max = UINT64_C(1) << 30,
		.default_note = "--width",
		.help = "Instead of --width: buckets of a flow-table, any number.",
	},
	{
		.name = "memory",
		.placeholder = "SIZE",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_SIZE,
		MEASUREMENT(memory),
		.set = OPTION_SET_SHAPE,
		.commands = RUN,
		.min = 1,
		.max = UINT64_MAX,
		.help = "Instead of --width: the widest rows with which one instance of the "
			"sketch fits. A run has workers x 2 instances.",
	},
	{
		.name = "collision",
		.placeholder = "HOW",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		MEASUREMENT(collision),
		.need = OPTION_NEED_FLOW_TABLE,
		.commands = RUN,
		COLLISIONS,
		.default_text = "list",
		.help = "How a flow-table keeps keys that share a bucket: list (a chain), tree "
			"(balanced), or cuckoo (DPDK's rte_hash, to compare with); tree and cuckoo "
			"are for --sharing separate.",
	},
	{
		.name = "table-hash",
		.placeholder = "HASH",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_CHOICE,
		MEASUREMENT(table_hash),
		.need = OPTION_NEED_FLOW_TABLE,
		.commands = RUN,
		TABLE_HASHES,
		.default_text = "aes",
		.help = "What chooses a flow-table's bucket: aes (the run's keyed hash), rss (what "
			"the card computed), or a published hash, which a sender can aim at: "
			"coralreef, jenkins, murmur3, crc32, fnv1a, hsieh, xxh3.",
	},
	{
		.name = "idle-timeout",
		.placeholder = "TIME",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_TIME,
		MEASUREMENT(idle_timeout),
		.need = OPTION_NEED_FLOW_TABLE,
		.commands = RUN,
		.zero = true,
		.zero_means = "never",
		.min = 1000,
		.max = CENTURY,
		.default_text = "0",
		.help = "End a flow-table's record when its key had no packet for longer than "
			"this, by the packets' time, and give its place to another key; --flows "
			"has the records. For --sharing separate. 0: records end with the "
			"interval.",
	},
	{
		.name = "expired-keys",
		.placeholder = "N",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_COUNT,
		MEASUREMENT(expired_keys),
		.need = OPTION_NEED_IDLE_TIMEOUT,
		.commands = RUN,
		.min = 1,
		.max = UINT64_C(1) << 28,
		.default_text = TEXT(EXPIRED_KEYS_DEFAULT),
		.help = "Keys of records that --idle-timeout ended in an interval whose sums are "
			"kept for --output, at about 200 bytes each. What further keys had is in "
			"--flows alone, and in the bounds.",
	},
	{
		.name = "iblt-load",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_MEASURE,
		.type = OPTION_FRACTION,
		MEASUREMENT(iblt_load),
		.need = OPTION_NEED_IBLT,
		.commands = RUN,
		.zero = true,
		.default_text = "0",
		.help = "Fit an iblt's rows to the flows of the last two intervals: so many flows "
			"a cell, at most 0.8185 (0.7723 with --depth 4). They begin with 131072 "
			"cells and grow to what --width or --memory allows, else to 524288. 0: the "
			"size stays.",
	},
	{
		.name = "top",
		.placeholder = "N",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_COUNT,
		MEASUREMENT(top),
		.commands = RUN,
		.zero = true,
		.min = 1,
		.max = 1000 * 1000,
		.default_text = "100",
		.help = "Report the N heaviest keys of each interval. 0: as many as reach "
			"--threshold. Without this or --threshold a terminal shows 20 of a "
			"capture.",
	},
	{
		.name = "threshold",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		MEASUREMENT(threshold),
		.commands = RUN,
		.zero = true,
		.default_text = "0",
		.help = "Report only keys that have at least this share of the interval's "
			"packets, or of its bytes with --count bytes.",
	},
	{
		.name = "confidence",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		MEASUREMENT(confidence),
		.commands = RUN,
		.default_text = "0.999",
		.help = "Probability with which the bounds of all rows of an interval together "
			"hold.",
	},
	{
		.name = "sketch",
		.placeholder = "SKETCH,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_SKETCHES,
		CONFIG(bench.sketches),
		.commands = KERNELS | WORKER | TUNE,
		.default_note = "all",
		.help = "The sketches to try: count-min (cms), reversible (rs), simple-hash (sht), "
			"flow-table (ft), iblt (smon).",
	},
	{
		.name = "sharing",
		.placeholder = "SHARING,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.sharings),
		.commands = KERNELS | WORKER | TUNE,
		CHOICES([SHARING_SEPARATE] = "separate", [SHARING_SHARED] = "shared"),
		.default_note = "all",
		.help = "Whose sketch a thread updates: separate, shared.",
	},
	{
		.name = "atomic",
		.placeholder = "HOW,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.atomics),
		.need = OPTION_NEED_SHARED,
		.commands = KERNELS | WORKER,
		CHOICES([ATOMIC_CAS] = "cas", [ATOMIC_ADD] = "add", [ATOMIC_LOCK] = "lock"),
		.default_note = "all",
		.help = "How threads add to a shared sketch: cas, add, lock.",
	},
	{
		.name = "threads",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.threads),
		.commands = KERNELS,
		.min = 1,
		.max = 64,
		.default_note = "1,2",
		.help = "Threads that count at the same time, each on a CPU of its own. More than "
			"there are CPUs are not measured, and the row says so.",
	},
	{
		.name = "flows",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.flows),
		.need = OPTION_NEED_DRAWN_FLOWS,
		.commands = KERNELS,
		.min = 1,
		.max = UINT64_C(1) << 28,
		.default_note = "1K,100K,1M,20M",
		.help = "Flows that the packets are drawn from.",
	},
	{
		.name = "flows",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.flows),
		.need = OPTION_NEED_DRAWN_FLOWS,
		.commands = WORKER,
		.min = 1,
		.max = UINT64_C(1) << 28,
		.default_note = "1K,1M",
		.help = "Flows that the packets are drawn from.",
	},
	{
		.name = "zipf",
		.placeholder = "S,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_ZIPFS,
		CONFIG(bench.zipf),
		.commands = KERNELS,
		.default_note = "uniform,1.05,random",
		.help = "How unequal flows are: exponents of Zipf's law, uniform, or random (all "
			"headers at random, nearly every packet a new flow).",
	},
	{
		.name = "zipf",
		.placeholder = "S,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_ZIPFS,
		CONFIG(bench.zipf),
		.commands = WORKER,
		.default_note = "1.05,random",
		.help = "How unequal flows are: exponents of Zipf's law, uniform, or random (all "
			"headers at random, nearly every packet a new flow).",
	},
	{
		.name = "width",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.widths),
		.commands = KERNELS,
		.min = 16,
		.max = UINT64_C(1) << 28,
		.power_of_two = true,
		.default_note = "1K,64K,256K,4M",
		.help = "Counters of each row, or buckets, powers of two: from a sketch that fits "
			"the first cache to one that fits none.",
	},
	{
		.name = "width",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.widths),
		.commands = WORKER,
		.min = 16,
		.max = UINT64_C(1) << 28,
		.power_of_two = true,
		.default_note = "the sketch's own",
		.help = "Counters of each row, or buckets, powers of two.",
	},
	{
		.name = "packets",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.packets),
		.commands = KERNELS,
		.min = 4096,
		.max = UINT64_C(1) << 30,
		.default_note = "4M, or as many as there are flows",
		.help = "Packets of a round.",
	},
	{
		.name = "packets",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.packets),
		.commands = WORKER,
		.min = 4096,
		.max = UINT64_C(1) << 30,
		.default_note = "2M",
		.help = "Packets of a round.",
	},
	{
		.name = "rounds",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.rounds),
		.commands = KERNELS | WORKER | TARGETS | PIPELINE,
		.min = 1,
		.max = 101,
		.default_note = "7",
		.help = "Rounds in which all take turns; medians, minima and maxima are over them.",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FLAG,
		CONFIG(bench.quick),
		.commands = KERNELS,
		.help = "Smaller defaults, to see that everything works: 1K and 100K flows, a "
			"width of 64K, 3 rounds of 200K packets.",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FLAG,
		CONFIG(bench.quick),
		.commands = WORKER,
		.help = "Smaller defaults, to see that everything works: 1K flows, 3 rounds of "
			"100K packets.",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FLAG,
		CONFIG(bench.quick),
		.commands = TARGETS,
		.help = "Fewer packets and rounds, to see that everything works: the figures mean "
			"little.",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FLAG,
		CONFIG(bench.quick),
		.commands = PIPELINE,
		.help = "One round of 50ms each, to see that everything works: the figures mean "
			"little.",
	},
	{
		.name = "experiment",
		.placeholder = "WHAT,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.experiments),
		.commands = PIPELINE,
		CHOICES("combinations", "size", "mempool", "workers", "numa", "width", "atomic",
			"flows"),
		.default_note = "all",
		.help = "What to vary: combinations (of design, sharing and sketch), size (of "
			"packets), mempool, workers, numa (where the worker sits), width, atomic, "
			"flows.",
	},
	{
		.name = "port",
		.placeholder = "NAME[,DEVARGS]",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_LIST,
		LIST(port),
		.commands = PIPELINE,
		.default_note = "a generator of its own",
		.help = "Measure what a port receives (as of sketchtap run), on which something "
			"outside sends. Size and flows are the sender's then.",
	},
	{
		.name = "pace",
		.placeholder = "RATE",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_PACE,
		CONFIG(pace),
		.need = OPTION_NEED_NO_PORT,
		.commands = PIPELINE,
		.default_note = "72Mpps",
		.help = "Packets per second that the generator offers; those that find a full ring "
			"are lost.",
	},
	{
		.name = "duration",
		.placeholder = "TIME",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_TIME,
		CONFIG(duration),
		.commands = PIPELINE,
		.min = 10 * MILLISECOND,
		.max = 60 * 1000 * MILLISECOND,
		.default_note = "500ms",
		.help = "How long each setting runs in each round.",
	},
	{
		.name = "design",
		.placeholder = "DESIGN,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.designs),
		.commands = TUNE,
		CHOICES("rss", "sync", "async"), /* as in designs[] */
		.default_note = "all",
		.help = "How packets reach the cores that count them: rss, async, sync.",
	},
	{
		.name = "atomic",
		.placeholder = "HOW,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.atomics),
		.need = OPTION_NEED_SHARED,
		.commands = TUNE,
		CHOICES([ATOMIC_CAS] = "cas", [ATOMIC_ADD] = "add", [ATOMIC_LOCK] = "lock"),
		.default_note = "cas,add",
		.help = "How workers add to a shared sketch: cas, add, lock.",
	},
	{
		.name = "workers",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.workers),
		.commands = TUNE,
		.min = 1,
		.max = 16,
		.default_note = "1,2,4,8,16, as many as there are CPUs",
		.help = "Cores that count. With the generator's and the receiver's they must have "
			"a CPU each; what has not is marked, and not measured while there is "
			"anything else to choose.",
	},
	{
		.name = "width",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.widths),
		.commands = TUNE,
		.min = 16,
		.max = UINT64_C(1) << 28,
		.power_of_two = true,
		.default_note = "4K,16K,64K,256K,1M",
		.help = "Counters of each row, or buckets, powers of two.",
	},
	{
		.name = "memory",
		.placeholder = "SIZE",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_SIZE,
		CONFIG(bench.memory),
		.commands = TUNE,
		.min = 1,
		.max = UINT64_MAX,
		.default_note = "any",
		.help = "Memory that all of a run on one port may take: packets, rings, every "
			"sketch of every worker, as sketchtap plan adds it up.",
	},
	{
		.name = "error",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FRACTION,
		CONFIG(bench.error),
		.commands = TUNE,
		.zero = true,
		.default_text = "0.01",
		.help = "Relative error that the 100 heaviest keys may have on average, against "
			"exact counts of the same packets; a key that is not reported counts as 1.",
	},
	{
		.name = "packets",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.packets),
		.commands = TUNE,
		.min = 64,
		.max = UINT64_C(1) << 30,
		.default_note = "4M",
		.help = "Packets that are taken from the traffic, at most. They stand for one "
			"interval of a run: the more, the larger a sketch must be.",
	},
	{
		.name = "rounds",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.rounds),
		.commands = TABLES | TUNE,
		.min = 1,
		.max = 101,
		.default_note = "3",
		.help = "Rounds in which all take turns; medians, minima and maxima are over them.",
	},
	{
		.name = "duration",
		.placeholder = "TIME",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_TIME,
		CONFIG(duration),
		.commands = TUNE,
		.min = 10 * MILLISECOND,
		.max = 60 * 1000 * MILLISECOND,
		.default_note = "100ms",
		.help = "How long each configuration runs in each round.",
	},
	{
		.name = "duration",
		.placeholder = "TIME",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_TIME,
		CONFIG(duration),
		.commands = TABLES,
		.min = 10 * MILLISECOND,
		.max = 60 * 1000 * MILLISECOND,
		.default_note = "300ms",
		.help = "How long each run of --hosts takes in each round.",
	},
	{
		.name = "traffic",
		.placeholder = "WHAT,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.traffics),
		.commands = TABLES,
		CHOICES("deterministic", "random", "zipf", "netscan", "portscan",
			"crafted"), /* as in traffics[] */
		.default_note = "all, or the capture of --pcap alone",
		.help = "What the tables are fed: deterministic (clients and ports that count "
			"upwards), random (flows drawn uniformly), zipf (exponent 1.05), netscan "
			"(one sender, every address in turn), portscan (every port of host after "
			"host), crafted (512 keys each that coralreef, jenkins, murmur3 and crc32 "
			"take for the same).",
	},
	{
		.name = "collision",
		.placeholder = "HOW,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.collisions),
		.commands = TABLES | TUNE,
		COLLISIONS,
		.default_note = "all",
		.help = "Of a flow-table, how keys that share a bucket are kept: list, tree, "
			"cuckoo.",
	},
	{
		.name = "table-hash",
		.placeholder = "HASH,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_WORDS,
		CONFIG(bench.table_hashes),
		.commands = TABLES | TUNE,
		TABLE_HASHES,
		.default_note = "all",
		.help = "Of a flow-table, what chooses the bucket: aes, rss (bench flow-table "
			"only), coralreef, jenkins, murmur3, crc32, fnv1a, hsieh, xxh3.",
	},
	{
		.name = "width",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.widths),
		.commands = TABLES,
		.min = 16,
		.max = UINT64_C(1) << 28,
		.power_of_two = true,
		.default_note = "64K,256K,1M",
		.help = "Buckets, powers of two. What does not fit into memory is marked and not "
			"measured.",
	},
	{
		.name = "buckets",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.buckets),
		.commands = TABLES,
		.min = 16,
		.max = UINT64_C(1) << 28,
		.default_note = "100003, where --width is not given either",
		.help = "Buckets, any number, after those of --width.",
	},
	{
		.name = "flows",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.flows),
		.need = OPTION_NEED_DRAWN_FLOWS,
		.commands = TABLES,
		.min = 1,
		.max = UINT64_C(1) << 28,
		.default_note = "100K",
		.help = "Flows that the packets are drawn from.",
	},
	{
		.name = "packets",
		.placeholder = "N",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNT,
		CONFIG(bench.packets),
		.commands = TABLES,
		.min = 4096,
		.max = UINT64_C(1) << 30,
		.default_note = "524288",
		.help = "Packets of a round; of a capture at most so many.",
	},
	{
		.name = "quick",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_FLAG,
		CONFIG(bench.quick),
		.commands = TABLES,
		.help = "Smaller defaults, to see that everything works: 10K flows, 16K and 10007 "
			"buckets, a round of 64K packets; with --hosts a round of 50ms.",
	},
	{
		.name = "hosts",
		.placeholder = "N,...",
		.group = OPTION_GROUP_BENCH,
		.type = OPTION_COUNTS,
		CONFIG(bench.hosts),
		.commands = TABLES,
		.min = 1,
		.max = 65536,
		.default_note = "the tables are measured",
		.help = "Instead: what it costs to count the 6-tuples of so many monitored hosts "
			"in a flow-table (FCAP) and an iblt (SMON), in the core that receives and "
			"behind a ring.",
	},
	{
		.name = "interval",
		.placeholder = "TIME",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_TIME,
		CONFIG(interval),
		.commands = RUN,
		.zero = true,
		.zero_means = "once, at the end",
		.min = MILLISECOND,
		.max = CONFIG_INTERVAL_MAX,
		.default_text = "1s",
		.help = "Report at each multiple of this time, 1ms to 2500d. 0: once, at the end; "
			"so is a capture on a terminal, where no file is written.",
	},
	{
		.name = "output",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		DESTINATIONS(ROWS_HEAVY_HITTERS),
		.commands = RUN,
		.default_text = "-",
		.help = "Where the heavy hitters go; - is standard output. json:FILE (or json:-) "
			"gets JSON lines in place of CSV. Repeatable, for several destinations, "
			"as are --stats, --queues, --rules and --flows.",
	},
	{
		.name = "stats",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		DESTINATIONS(ROWS_STATS),
		.commands = RUN,
		.default_note = "not written",
		.help = "Where the account of each interval's packets goes, as CSV; - is "
			"standard output.",
	},
	{
		.name = "queues",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		DESTINATIONS(ROWS_QUEUES),
		.commands = RUN,
		.default_note = "not written",
		.help = "Where it goes how each interval's packets were spread over workers and "
			"queues, as CSV; - is standard output.",
	},
	{
		.name = "rules",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		DESTINATIONS(ROWS_RULES),
		.need = OPTION_NEED_MONITOR,
		.commands = RUN,
		.default_note = "not written",
		.help = "Where the packets, bytes and flows of every rule of --monitor go, as CSV; "
			"- is standard output.",
	},
	{
		.name = "flows",
		.placeholder = "FILE",
		.group = OPTION_GROUP_REPORT,
		DESTINATIONS(ROWS_FLOWS),
		.need = OPTION_NEED_RECORDS,
		.commands = RUN,
		.default_note = "not written",
		.help = "Where every record of every flow-table goes, as CSV, within seconds after "
			"it ended: by --idle-timeout, or with the interval; - is standard output.",
	},
	{
		.name = "max-loss",
		.placeholder = "FRACTION",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FRACTION,
		CONFIG(max_loss),
		.commands = RUN,
		.zero = true,
		.one = true,
		.default_text = "1",
		.help = "Exit with status 1 where the whole run lost a larger share of the "
			"packets that it was offered; all outputs are complete.",
	},
	{
		.name = "format",
		.placeholder = "FORMAT",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_CHOICE,
		CONFIG(format),
		.commands = RUN,
		FORMATS,
		.default_text = "auto",
		.help = "Of the heavy hitters: csv, json, table (for people), or auto (a table "
			"where standard output is a terminal, of a port one that is drawn again "
			"and again; else CSV). Of what doctor finds: csv, or a table.",
	},
	{
		.name = "append",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		CONFIG(append),
		.set = OPTION_SET_EXISTING,
		.need = OPTION_NEED_FILE,
		.commands = RUN,
		.help = "Go on after the last interval of output files that exist. Without it "
			"and without --force such files are refused.",
	},
	{
		.name = "force",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_FLAG,
		CONFIG(force),
		.set = OPTION_SET_EXISTING,
		.need = OPTION_NEED_FILE,
		.commands = RUN,
		.help = "Replace output files that exist.",
	},
	{
		.name = "rotate",
		.placeholder = "TIME|SIZE",
		.group = OPTION_GROUP_REPORT,
		.type = OPTION_ROTATE,
		CONFIG(rotate),
		.need = OPTION_NEED_FILE,
		.commands = RUN,
		.max = CENTURY,
		.default_note = "one file each",
		.help = "Begin new output files at each multiple of a time in UTC (1h), or before "
			"one grows beyond a size (1GB), or both (1h,1GB); what is written at once, "
			"an interval or 65536 records of --flows, is in one file even so. "
			"stats.csv is renamed to stats-20261120T170000Z.csv, by the second in "
			"which its first interval starts, and never over a file that exists.",
	},
	{
		.name = "config",
		.placeholder = "FILE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.commands = ALL,
		.help = "Read options from a file; the command line wins over it.",
	},
	{
		.name = "name",
		.placeholder = "NAME",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		CONFIG(name),
		.need = OPTION_NEED_EAL,
		.commands = ALL,
		.default_note = "the process number",
		.help = "What this run is called on this machine: dpdk-telemetry.py -f "
			"sketchtap-NAME talks to it. Two runs cannot have one name.",
	},
	{
		.name = "eal",
		.placeholder = "ARGS",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		CONFIG(eal),
		.need = OPTION_NEED_EAL,
		.commands = ALL,
		.help = "More arguments for DPDK's EAL, separated by spaces.",
	},
	{
		.name = "lcores",
		.placeholder = "LIST",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_LCORES,
		CONFIG(lcores),
		.need = OPTION_NEED_EAL,
		.commands = ALL,
		.default_note = "those that the process may use",
		.help = "The CPUs to run on.",
	},
	{
		.name = "topology",
		.placeholder = "FILE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		CONFIG(topology),
		.commands = PLAN,
		.default_note = "this machine",
		.help = "Plan for the machine that a file describes: lines as node 0 cpus=0-27 "
			"siblings=56-83 package=0 memory=128GB hugepages=8GB; distance 0 1 21; "
			"isolated 2-27; port 0000:3b:00.0 node=0. See docs/PLAN.md.",
	},
	{
		.name = "dot",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		CONFIG(dot),
		.commands = PLAN,
		.help = "Print the plan as a drawing for Graphviz: plan --dot | dot -Tsvg.",
	},
	{
		.name = "descriptors",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		CONFIG(descriptors),
		.commands = RUN,
		.min = 64,
		.max = 32768,
		.power_of_two = true,
		.default_note = "what suits the source",
		.help = "Entries of each receive ring, a power of two.",
	},
	{
		.name = "ring-size",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		CONFIG(ring_size),
		.need = OPTION_NEED_ASYNC,
		.commands = RUN,
		.min = 64,
		.max = 65536,
		.power_of_two = true,
		.default_text = "1024",
		.help = "Entries of each ring between the receiver of --design async and a worker, "
			"a power of two.",
	},
	{
		.name = "mbufs",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		CONFIG(mbufs),
		.need = OPTION_NEED_EAL,
		.commands = TRAFFIC,
		.min = 512,
		.max = UINT64_C(1) << 26,
		.default_note = "computed from rings and workers",
		.help = "Packet buffers of the pool; each NUMA node with ports has one.",
	},
	{
		.name = "mbuf-cache",
		.placeholder = "N",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_COUNT,
		CONFIG(mbuf_cache),
		.commands = RUN,
		.zero = true,
		.min = 1,
		.max = 512,
		.default_text = "256",
		.help = "Packet buffers that a core may keep for itself before it goes to the "
			"pool that all share; 0: none.",
	},
	{
		.name = "no-huge",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		CONFIG(no_huge),
		.need = OPTION_NEED_EAL,
		.commands = ALL,
		.help = "Do without hugepages. All memory is then on one NUMA node.",
	},
	{
		.name = "idle",
		.placeholder = "MODE",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_CHOICE,
		CONFIG(idle),
		.commands = RUN,
		CHOICES([IDLE_AUTO] = "auto", [IDLE_SPIN] = "spin", [IDLE_YIELD] = "yield",
			[IDLE_SLEEP] = "sleep"),
		.default_text = "auto",
		.help = "What a core without packets does: spin, yield (to other threads), sleep "
			"(yield, then sleep some 50us at a time) or auto (sleep where there are "
			"more lcores than CPUs, and on interfaces of the kernel; else spin).",
	},
	{
		.name = "no-progress",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		CONFIG(no_progress),
		.commands = RUN,
		.help = "No progress line, even where standard error is a terminal.",
	},
	{
		.name = "log-level",
		.placeholder = "LEVEL",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_CHOICE,
		CONFIG(log_level),
		.need = OPTION_NEED_NO_VERBOSE,
		.commands = ALL,
		CHOICES([LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARNING] = "warning",
			[LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_INFO] = "info"),
		.default_text = "notice",
		.help = "What is said on standard error: messages of this level and more urgent "
			"ones (error, warning, notice, info).",
	},
	{
		.name = "verbose",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		CONFIG(verbose),
		.commands = ALL,
		.help = "Say all there is on standard error, DPDK's own messages included.",
	},
	{
		.name = "help",
		.letter = 'h',
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.commands = ALL,
		.help = "Print this help and exit.",
	},
	{
		.name = "version",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_ACTION,
		.commands = ALL,
		.help = "Print the version and exit.",
	},
};

const unsigned int nb_options = sizeof(options) / sizeof(options[0]);

_Static_assert(sizeof(options) / sizeof(options[0]) <= OPTIONS_MAX, "raise OPTIONS_MAX");

const struct option_row *option_find(enum command command, const char *name)
{
	for (unsigned int i = 0; i < nb_options; i++) {
		if (option_of_command(&options[i], command) && strcmp(options[i].name, name) == 0)
			return &options[i];
	}
	return NULL;
}

const struct option_row *option_find_letter(enum command command, char letter)
{
	for (unsigned int i = 0; i < nb_options; i++) {
		if (option_of_command(&options[i], command) && options[i].letter == letter)
			return &options[i];
	}
	return NULL;
}

#define NAME_MAX_LEN 32 /* longer words are near to no option */

static unsigned int min3(unsigned int a, unsigned int b, unsigned int c)
{
	unsigned int least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters to put in, take out, change or swap with their neighbour; words of NAME_MAX_LEN. */
static unsigned int edit_distance(const char *a, const char *b)
{
	unsigned int rows[3][NAME_MAX_LEN + 1];
	unsigned int *last = rows[0], *row = rows[1], *next = rows[2];
	size_t len = strlen(b);

	for (unsigned int j = 0; j <= len; j++)
		row[j] = j;
	for (unsigned int i = 1; a[i - 1] != '\0'; i++) {
		unsigned int *spare = last;

		next[0] = i;
		for (size_t j = 1; j <= len; j++) {
			next[j] = min3(
				next[j - 1] + 1, row[j] + 1, row[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
				last[j - 2] < next[j])
				next[j] = last[j - 2] + 1;
		}
		last = row;
		row = next;
		next = spare;
	}
	return row[len];
}

const struct option_row *option_nearest(enum command command, const char *name)
{
	const struct option_row *nearest = NULL;
	size_t len = strlen(name);
	unsigned int least = (unsigned int)len / 5 + 1; /* a word of four has no near ones */

	if (len < 3 || len > NAME_MAX_LEN)
		return NULL;
	for (unsigned int i = 0; i < nb_options; i++) {
		const struct option_row *row = &options[i];
		unsigned int distance;

		if (!option_of_command(row, command))
			continue;
		if (strncmp(row->name, name, len) == 0) /* cut short */
			return row;
		distance = edit_distance(name, row->name);
		if (distance < least) {
			least = distance;
			nearest = row;
		}
	}
	return nearest;
}

const char *option_default(const struct option_row *row)
{
	return row->default_note != NULL ? row->default_note : row->default_text;
}

#define HELP_COLUMN 26
#define HELP_WIDTH  100

/* Where the cursor of one option's help stands. */
struct help_line {
	FILE *out;
	size_t column;
};

static void print_word(struct help_line *line, const char *word, size_t len)
{
	if (line->column + 1 + len > HELP_WIDTH) {
		fprintf(line->out, "\n%*s", HELP_COLUMN, "");
		line->column = HELP_COLUMN;
	} else if (line->column > HELP_COLUMN) {
		fputc(' ', line->out);
		line->column++;
	}
	fwrite(word, 1, len, line->out);
	line->column += len;
}

static void print_words(struct help_line *line, const char *text)
{
	while (*text != '\0') {
		size_t len = strcspn(text, " ");

		print_word(line, text, len);
		text += len;
		text += strspn(text, " ");
	}
}

static void print_row(const struct option_row *row, FILE *out)
{
	const char *default_text = option_default(row);
	struct help_line line = {.out = out, .column = HELP_COLUMN};
	int written = fprintf(out, "  --%s%s%s", row->name, row->placeholder != NULL ? " " : "",
		row->placeholder != NULL ? row->placeholder : "");

	if (written + 2 > HELP_COLUMN)
		fprintf(out, "\n%*s", HELP_COLUMN, "");
	else
		fprintf(out, "%*s", HELP_COLUMN - written, "");
	print_words(&line, row->help);
	if (row->letter != 0) {
		char also[] = {'A', 'l', 's', 'o', ' ', '-', row->letter, '.', '\0'};

		print_words(&line, also);
	}
	if (default_text != NULL) {
		char note[160];

		snprintf(note, sizeof(note), "[default: %s]", default_text);
		print_words(&line, note);
	}
	fputc('\n', out);
}

static void print_group(enum command command, enum option_group group, FILE *out)
{
	bool titled = false;

	for (unsigned int i = 0; i < nb_options; i++) {
		if (options[i].group != group || !option_of_command(&options[i], command))
			continue;
		if (!titled)
			fprintf(out, "\n%s:\n", option_group_names[group]);
		titled = true;
		print_row(&options[i], out);
	}
}

static void print_usage(enum command command, FILE *out)
{
	switch (command) {
	case COMMAND_RUN:
		fputs("Usage: sketchtap [run]    [options] [FILE...]\n"
		      "                                      measure the traffic of a link, or of "
		      "captures\n"
		      "       sketchtap plan     [options]   print which core would do what; start "
		      "nothing\n"
		      "       sketchtap doctor   [options]   look whether this host suits a run; "
		      "change nothing\n"
		      "       sketchtap generate [options]   write or send synthetic traffic\n"
		      "       sketchtap bench kernels|worker|targets|pipeline|flow-table|tune "
		      "[options]\n"
		      "                                      measure this host\n"
		      "       sketchtap COMMAND --help       the options of a command\n",
			out);
		break;
	case COMMAND_PLAN:
		fputs("Usage: sketchtap plan [options]\n"
		      "Prints which lcore would do what, on which NUMA node, with which queues and "
		      "memory.\n",
			out);
		break;
	case COMMAND_DOCTOR:
		fputs("Usage: sketchtap doctor [options]\n"
		      "Looks whether this host suits a run with these options. Each line is ok, "
		      "warning or missing,\n"
		      "with what was found and what mends it. Changes nothing. Exits with 0 when "
		      "nothing is missing.\n",
			out);
		break;
	case COMMAND_GENERATE:
		fputs("Usage: sketchtap generate --synthetic SPEC (--output FILE | --port NAME) "
		      "[options]\n"
		      "Writes synthetic traffic to a capture file, or sends it on a port.\n",
			out);
		break;
	case COMMAND_BENCH_KERNELS:
		fputs("Usage: sketchtap bench kernels [options]\n"
		      "Measures on this host what it costs to count a packet's key: each sketch, "
		      "beside a floor\n"
		      "of plain increments, DPDK's rte_member sketch and an exact rte_hash table, "
		      "on the same keys.\n",
			out);
		break;
	case COMMAND_BENCH_WORKER:
		fputs("Usage: sketchtap bench worker [options]\n"
		      "Measures on this host what a whole measurement adds to a worker that "
		      "receives "
		      "packets of the\n"
		      "generator from a ring and frees them. Needs two CPUs.\n",
			out);
		break;
	case COMMAND_BENCH_TARGETS:
		fputs("Usage: sketchtap bench targets [options]\n"
		      "Measures what the project wants to reach, and says of each target whether "
		      "this host meets it.\n",
			out);
		break;
	case COMMAND_BENCH_PIPELINE:
		fputs("Usage: sketchtap bench pipeline [options]\n"
		      "Measures loss, time and delay of all designs, sharings and sketches under "
		      "the "
		      "load of a generator\n"
		      "on a CPU of its own.\n",
			out);
		break;
	case COMMAND_BENCH_FLOW_TABLE:
		fputs("Usage: sketchtap bench flow-table [--pcap FILE] [options]\n"
		      "Measures on this host what a flow table costs: structures for keys that "
		      "collide, hashes and\n"
		      "sizes, on kinds of traffic, with the lengths of chains. The defaults take "
		      "about three minutes.\n",
			out);
		break;
	case COMMAND_BENCH_TUNE:
		fputs("Usage: sketchtap bench tune [--pcap FILE | --synthetic SPEC] [options] > "
		      "FILE\n"
		      "Tries designs, sharings, sketches, sizes and numbers of workers on this "
		      "host, and prints the\n"
		      "fastest that keeps within --memory and --error as a configuration file, "
		      "with the table that\n"
		      "it was chosen from in comments.\n",
			out);
		break;
	}
}

static void print_lines(const char *title, const char *const *lines, FILE *out)
{
	fprintf(out, "\n%s:\n", title);
	for (; *lines != NULL; lines++)
		fprintf(out, "  %s\n", *lines);
}

void options_print_help(enum command command, FILE *out)
{
	print_usage(command, out);
	for (enum option_group group = 0; group < OPTION_GROUP_COUNT; group++)
		print_group(command, group, out);
	print_lines("Values", option_unit_lines, out);
	if (command == COMMAND_RUN || command == COMMAND_PLAN)
		print_lines("Which to choose", option_choice_lines, out);
}
