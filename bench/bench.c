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
static const struct option_owner *const of_paper[] = {
	&experiment_owner, &paper_owner, &pipeline_pace_owner, &pipeline_port_owner, OF_HOST, NULL};
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
	.summary = "the cost of counting a key, beside other structures",
	.about = "Measures on this host what it costs to count a packet's key: each sketch, beside "
		 "a floor\nof plain increments, DPDK's rte_member sketch, an exact rte_hash "
		 "table and sketches of papers in\nthe memory of count-min, on the same keys.",
	.owners = of_kernels,
	.run = bench_kernels,
};

static const struct command worker = {
	.name = "worker",
	.usage = "[options]",
	.summary = "what a whole measurement adds to a worker",
	.about = "Measures on this host what a whole measurement adds to a worker that receives "
		 "packets of the\ngenerator from a ring and frees them. Needs two CPUs.",
	.owners = of_worker,
	.run = bench_worker,
};

static const struct command parts = {
	.name = "parts",
	.usage = "[options]",
	.summary = "what bench/targets judges",
	.about = "Measures on this host what the project has targets for, a row for each part and "
		 "round. The script\nbench/targets of the sources says of each target whether this "
		 "host meets it.",
	.owners = of_parts,
	.run = bench_parts,
};

static const struct command pipeline = {
	.name = "pipeline",
	.usage = "[options]",
	.summary = "loss, time and delay under the load of a generator",
	.about = "Measures loss, time and delay of all designs, sharings and sketches under the "
		 "load of a generator\non a CPU of its own.",
	.owners = of_pipeline,
	.run = bench_pipeline,
};

static const struct command paper = {
	.name = "paper",
	.usage = "[options]",
	.summary = "a paper's evaluation of sketches at 100 Gbit/s",
	.about =
		"Repeats the evaluation of Wu et al., \"Network Measurement for 100Gbps Links Using "
		"Multicore\nProcessors\" (2016), under a generator's load, with the paper's figures "
		"beside ours where\nsettings are the same. Takes about ten minutes.",
	.owners = of_paper,
	.run = bench_paper,
};

static const struct command flow_table = {
	.name = "flow-table",
	.usage = "[--pcap FILE] [options]",
	.summary = "what a flow table costs",
	.about = "Measures on this host what a flow table costs: structures for keys that collide, "
		 "hashes and\nsizes, on kinds of traffic, with the lengths of chains. The defaults "
		 "take about three minutes.",
	.owners = of_flow_table,
	.argument = "pcap",
	.run = bench_flow_table,
};

static const struct command collect = {
	.name = "collect",
	.usage = "[options]",
	.summary = "what it costs to collect NetFlow, IPFIX and sFlow",
	.about =
		"Measures on this host what a record costs that a router exports: decoded, beside "
		"libfixbuf; each\npacket once, and counted; received from a socket, beside nfcapd; "
		"and the memory. A row for each\nfigure and round, which the script bench/targets "
		"of the sources judges. Takes about eight minutes.",
	.owners = of_collect,
	.run = bench_collect,
};

static const struct command exports = {
	.name = "exports",
	.usage = "[options]",
	.summary = "what it costs to send what is measured",
	.about = "Measures on this host what it costs to bring flow records into IPFIX, beside "
		 "libfixbuf, and\ninto text, how long the records of an epoch's end take to "
		 "leave, what Kafka takes of them, and\nwhat sending takes of a worker, of memory "
		 "and of who scrapes. A row for each figure and round,\nwhich the script "
		 "bench/targets of the sources judges. Takes about two minutes.",
	.owners = of_exports,
	.run = bench_exports,
};

static const struct command forward = {
	.name = "forward",
	.usage = "[options]",
	.summary = "what it costs to measure what is forwarded",
	.about = "Measures on this host what measuring adds to a core that receives packets and "
		 "sends them on:\non its path and beside it, above a loop that only receives and "
		 "sends. Needs two CPUs.",
	.owners = of_forward,
	.run = bench_forward,
};

static const struct command profile = {
	.name = "profile",
	.usage = "[options] > FILE",
	.summary = "what the parts of a packet cost, for --profile",
	.about =
		"Measures on this host what the parts of a packet cost with the keys, sketches and "
		"widths of a run,\nand prints it as the file that sketchtap's --profile takes. It "
		"takes the options of a run, or its\nconfiguration file; where packets come from "
		"and go to does not matter, and --duration is how long\nit measures: 10 seconds. "
		"Needs two CPUs.",
	.owners = commands_owners_of_run,
	.run = bench_profile,
};

static const struct command kernel = {
	.name = "kernel",
	.usage = "[--rival OBJECT.o:PROGRAM] [options]",
	.summary = "what a packet costs that --kernel looks at",
	.about = "Measures on this host what the program of --kernel takes of a packet's time in "
		 "the kernel, on the\npath and beside it, above an empty program; beside the "
		 "kernel's own table, and programs of others,\nwhich take turns on the same "
		 "packets. Needs what --kernel needs.",
	.owners = of_kernel,
	.run = bench_kernel,
};

static const struct command adaptive = {
	.name = "adaptive",
	.usage = "[--profile FILE] [options]",
	.summary = "what adapting to a load is worth, beside a paper's figures",
	.about =
		"Repeats the figures of Tangari et al., \"Adaptive Traffic Monitoring for Software "
		"Dataplanes\"\n(2017): what a queue loses without adapting and with each way of it, "
		"by the paper's figures and\nby a profile of this host; and what takes time, measured "
		"here. Takes some ten seconds.",
	.owners = of_adaptive,
	.run = bench_adaptive,
};

static const struct command all = {
	.name = "all",
	.usage = "DIR [options]",
	.summary = "all of these, into a directory",
	.about =
		"Runs all of these on this host, one after the other, into CSV files in a directory, "
		"from which the\nscript bench/tables of the sources makes the tables and pictures of "
		"the documents. Takes about an\nhour, on a machine that does nothing else.",
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
