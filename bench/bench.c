/* SPDX-License-Identifier: BSD-3-Clause */
#include "bench/bench.h"

#include "adapt/profile.h"
#include "bench/kernel_options.h"
#include "bench/rounds.h"
#include "commands/commands.h"
#include "parallel/run/eal.h"
#include "parallel/process.h"
#include "parallel/plan/machine.h"
#include "parallel/plan/plan.h"
#include "rx/source.h"
#include "tune/measure/figures.h"

#define OF_HOST                                                                                    \
	&seed_owner, &figures_owner, &process_owner, &eal_owner, &machine_owner, &hugepages_owner, \
		&log_owner

static const struct option_owner *const of_kernels[] = {&kernels_owner, OF_HOST, NULL};
static const struct option_owner *const of_worker[] = {&worker_owner, OF_HOST, NULL};
static const struct option_owner *const of_parts[] = {&parts_owner, OF_HOST, NULL};
static const struct option_owner *const of_pipeline[] = {&experiment_owner, &pipeline_owner,
	&pipeline_pace_owner, &pipeline_port_owner, OF_HOST, NULL};
static const struct option_owner *const of_paper[] = {&papers_owner, &experiment_owner,
	&paper_owner, &pipeline_pace_owner, &pipeline_port_owner, OF_HOST, NULL};
static const struct option_owner *const of_flow_table[] = {
	&replay_owner, &flow_table_bench_owner, &flow_table_common_owner, OF_HOST, NULL};
static const struct option_owner *const of_collect[] = {&rounds_owner, OF_HOST, NULL};
static const struct option_owner *const of_exports[] = {&rounds_owner, OF_HOST, NULL};
static const struct option_owner *const of_forward[] = {&forward_bench_owner, OF_HOST, NULL};
static const struct option_owner *const of_kernel[] = {
	&kernel_bench_owner, &kernel_bench_common_owner, OF_HOST, NULL};

static const struct option_owner *const of_adaptive[] = {
	&adaptive_bench_owner, &profile_owner, OF_HOST, NULL};

static const struct option_owner *const of_all[] = {
	&all_owner, &seed_owner, &hugepages_owner, &log_owner, NULL};

static const struct command kernels = {
	.name = "kernels",
	.usage = "[options]",
	.summary = "the cost of counting a key, compared with other structures",
	.about = "Measures the cost of counting a key on this host, for each sketch. For "
		 "comparison, the same\nkeys are counted with plain increments, DPDK's rte_member "
		 "sketch, an exact rte_hash table,\nand sketches from papers with as much memory "
		 "as count-min.",
	.owners = of_kernels,
	.run = bench_kernels,
};

static const struct command worker = {
	.name = "worker",
	.usage = "[options]",
	.summary = "the cost of a whole measurement on a worker",
	.about = "Measures the time that a whole measurement adds to a worker on this host. The "
		 "worker\nreceives packets of the generator from a ring and frees them. Needs two "
		 "CPUs.",
	.owners = of_worker,
	.run = bench_worker,
};

static const struct command parts = {
	.name = "parts",
	.usage = "[options]",
	.summary = "all figures that have a performance target",
	.about = "Measures everything that has a performance target on this host, with one row "
		 "per part and\nround. The script bench/targets of the sources checks whether "
		 "this host meets each target.",
	.owners = of_parts,
	.run = bench_parts,
};

static const struct command pipeline = {
	.name = "pipeline",
	.usage = "[options]",
	.summary = "loss, time and delay under the load of a generator",
	.about = "Measures loss, time and delay of all designs, sharings and sketches under the "
		 "load of a\ngenerator, which has its own CPU.",
	.owners = of_pipeline,
	.run = bench_pipeline,
};

static const struct command paper = {
	.name = "paper",
	.usage = "[options]",
	.summary = "a paper's evaluation of sketches at 100 Gbit/s",
	.about = "Repeats the evaluation of Wu et al., \"Network Measurement for 100Gbps Links "
		 "Using Multicore\nProcessors\" (2016), under the load of a generator, and prints "
		 "the figures of the paper\nwhere settings are the same. Takes about ten minutes. "
		 "With --all, compares the figures of five\npapers with those of this host.",
	.owners = of_paper,
	.run = bench_paper,
};

static const struct command flow_table = {
	.name = "flow-table",
	.usage = "[--pcap FILE] [options]",
	.summary = "the cost of a flow table",
	.about = "Measures the cost of a flow table and the lengths of its chains on this host, "
		 "by collision\nstructure, hash, size and traffic. The defaults take about three "
		 "minutes.",
	.owners = of_flow_table,
	.argument = "pcap",
	.run = bench_flow_table,
};

static const struct command collect = {
	.name = "collect",
	.usage = "[options]",
	.summary = "the cost of collecting NetFlow, IPFIX and sFlow",
	.about = "Measures the CPU time per flow record and the memory of a collector on this "
		 "host: decoding,\ncompared with libfixbuf; deduplication and counting; receiving "
		 "from a socket, compared with\nnfcapd. Prints one row per figure and round, for "
		 "the script bench/targets of the sources.\nTakes about eight minutes.",
	.owners = of_collect,
	.run = bench_collect,
};

static const struct command exports = {
	.name = "exports",
	.usage = "[options]",
	.summary = "the cost of exporting results",
	.about = "Measures the cost of exports on this host: encoding flow records as IPFIX, "
		 "compared with\nlibfixbuf, and as text; sending the records of an interval; "
		 "Kafka; and the effect on a\nworker, on memory and on scrapers. Prints one row "
		 "per figure and round, for the script\nbench/targets of the sources. Takes about "
		 "two minutes.",
	.owners = of_exports,
	.run = bench_exports,
};

static const struct command forward = {
	.name = "forward",
	.usage = "[options]",
	.summary = "the cost of measuring forwarded packets",
	.about = "Measures the time that measuring adds to a forwarding core on this host, "
		 "on-path and off-\npath, compared with a loop that only receives and sends. "
		 "Needs two CPUs.",
	.owners = of_forward,
	.run = bench_forward,
};

static const struct command profile = {
	.name = "profile",
	.usage = "[options] > FILE",
	.summary = "the cost of each step of packet processing, for --profile",
	.about = "Measures the time of each step of packet processing on this host, with the "
		 "keys, sketches and\nwidths of a run, and prints a file for --profile of "
		 "sketchtap. Takes the options or the\nconfiguration file of a run. Sources and "
		 "destinations are ignored. --duration sets the\nmeasuring time, 10 seconds by "
		 "default. Needs two CPUs.",
	.owners = commands_owners_of_run,
	.run = bench_profile,
};

static const struct command kernel = {
	.name = "kernel",
	.usage = "[--rival OBJECT.o:PROGRAM] [options]",
	.summary = "the cost of a packet with --kernel",
	.about = "Measures the time per packet of the eBPF programs of --kernel on this host, "
		 "on-path and off-\npath, less the time of an empty program. The kernel's own "
		 "table and the programs of --rival\nare measured on the same packets. Has the "
		 "same requirements as --kernel.",
	.owners = of_kernel,
	.run = bench_kernel,
};

static const struct command adaptive = {
	.name = "adaptive",
	.usage = "[--profile FILE] [options]",
	.summary = "losses with and without adapting, compared with a paper",
	.about = "Repeats the figures of Tangari et al., \"Adaptive Traffic Monitoring for "
		 "Software Dataplanes\"\n(2017): modelled losses of a queue without adapting and "
		 "with each way of adapting, with the\ncosts of the paper and of a profile of "
		 "this host; and measured times. Takes about ten\nseconds.",
	.owners = of_adaptive,
	.run = bench_adaptive,
};

static const struct command all = {
	.name = "all",
	.usage = "DIR [options]",
	.summary = "all benches, into a directory",
	.about = "Runs all benches on this host, one after the other, and writes CSV files into a "
		 "directory.\nFrom these the script bench/tables of the sources makes the tables "
		 "and figures of the\ndocuments. Takes about an hour on an idle machine.",
	.owners = of_all,
	.argument = "directory",
	.run = bench_all,
};

const struct program bench_program = {
	.name = "sketchtap-bench",
	.named = true,
	.commands = (const struct command *const[]){&kernels, &worker, &parts, &pipeline, &paper,
		&flow_table, &collect, &exports, &forward, &profile, &adaptive, &kernel, &all,
		NULL},
};
