/* SPDX-License-Identifier: BSD-3-Clause */

/* sketchtap-bench collect: CPU time per flow record and memory, also of libfixbuf and nfcapd. */

#include <inttypes.h>
#include <string.h>

#include "base/signals.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/collect_bench.h"
#include "bench/collectors.h"
#include "bench/exported.h"
#include "bench/fixbuf.h"
#include "bench/rounds.h"
#include "flow_protocols/export.h"

/* records per round, or one cycle of all flows if that is more */
#define RECORDS          UINT64_C(1000000)
#define QUICK_RECORDS    UINT64_C(50000)
#define RECEIVE_MS       3000
#define QUICK_RECEIVE_MS 300
#define RECEIVE_FLOWS    100000
#define TEMPLATES        20
#define EXPORTERS        10000
#define NAME_MAX_BYTES   80
#define ENTRIES_MAX      (FLOW_PROTOCOL_COUNT + 1)
#define START            INT64_C(1800000000)

struct entry {
	char name[NAME_MAX_BYTES];
	struct exported *exported;
	struct collect_bench *collecting;
	struct fixbuf *fixbuf;
	bool sampled;
	uint32_t sequence;
	int64_t now;
	struct collect_bench_counts counts;
};

static struct collect_bench_counts counts_of(const struct entry *entry)
{
	return entry->collecting != NULL ? collect_bench_counts(entry->collecting) : entry->counts;
}

static void run_entry(void *arg, uint32_t t)
{
	struct entry *entry = arg;

	(void)t;
	if (entry->collecting != NULL)
		collect_bench_run(entry->collecting, entry->exported, &entry->now);
	else
		fixbuf_run(entry->fixbuf, entry->exported, &entry->counts);
}

static bool is_right(const struct entry *entry, const struct collect_bench_counts *before)
{
	const struct exported *exported = entry->exported;
	struct collect_bench_counts now = counts_of(entry);

	if (now.records - before->records != exported->records)
		return false;
	if (entry->sampled)
		return true;
	return now.packets - before->packets == exported->packets * exported->spec.routers &&
	       (now.measured == 0 || now.measured - before->measured == exported->packets);
}

static bool time_entry(struct rounds_bench *bench, struct entry *entry, uint32_t round)
{
	struct collect_bench_counts before = counts_of(entry);
	double seconds;

	exported_number(entry->exported, entry->sequence);
	entry->sequence += entry->exported->sequence_end;
	if (!cpus_run(&bench->cpus, 1, run_entry, entry, &seconds))
		return false;
	if (!is_right(entry, &before))
		return rounds_fail(bench, "%s: wrong number of records or packets", entry->name);
	if (round != UINT32_MAX)
		rounds_row(bench, entry->name, round,
			seconds * 1e9 / (double)entry->exported->records, "ns");
	return true;
}

static bool take_turns(struct rounds_bench *bench, struct entry *entries, uint32_t n)
{
	for (uint32_t r = 0; r < bench->rounds; r++)
		for (uint32_t e = 0; e < n; e++)
			if (signals_stop_requested() || !time_entry(bench, &entries[e], r))
				return false;
	return true;
}

static struct exported *make_exports(const struct rounds_bench *bench, enum flow_protocol protocol,
	uint64_t flows, uint32_t routers, uint64_t seed)
{
	uint64_t wanted = bench->quick ? QUICK_RECORDS : RECORDS, cycle = flows * routers;
	struct exported_spec spec = {
		.protocol = protocol,
		.flows = flows,
		.routers = routers,
		.cycles = (uint32_t)(wanted > cycle ? wanted / cycle : 1),
		.seed = seed,
	};

	return exported_create(&spec);
}

static const uint64_t flow_counts[] = {10000, 1000000};
/* number of flows; a tenth of it with --quick */
static const char *const flow_names[] = {"10 K", "1 M"};
static const uint32_t router_counts[] = {1, 4};
static const char *const depth_names[] = {
	[COLLECT_BENCH_RECORDS] = "decode",
	[COLLECT_BENCH_OBSERVATIONS] = "decode, find the exporter",
	[COLLECT_BENCH_BEST] = "best",
	[COLLECT_BENCH_COUNTED] = "best, count-min",
};

static bool open_entry(struct rounds_bench *bench, struct entry *entry,
	enum collect_bench_depth depth, struct exported *exported)
{
	const struct exported_spec *spec = &exported->spec;

	*entry = (struct entry){
		.exported = exported,
		.collecting = collect_bench_create(depth, spec->flows, bench->seed),
		.sampled = flow_protocols[spec->protocol]->exports->sample != NULL,
		.now = START * SECOND_NS,
	};
	snprintf(entry->name, sizeof(entry->name), "%s: %s, %s flows x %u", depth_names[depth],
		flow_protocols[spec->protocol]->name, flow_names[spec->flows > flow_counts[0]],
		spec->routers);
	return entry->collecting != NULL;
}

/* Uses another order than later rounds, so that these do not find the order of insertion. */
static bool warm_up(struct rounds_bench *bench, struct entry *entries, uint32_t n)
{
	const struct exported_spec *spec = &entries[0].exported->spec;
	struct exported *other =
		make_exports(bench, spec->protocol, spec->flows, spec->routers, bench->seed + 1);
	struct exported *exported = entries[0].exported;
	bool fine = other != NULL;

	for (uint32_t e = 0; e < n && fine; e++) {
		entries[e].exported = other;
		fine = time_entry(bench, &entries[e], UINT32_MAX);
		entries[e].exported = exported;
	}
	exported_destroy(other);
	return fine;
}

static bool run_traffic(
	struct rounds_bench *bench, enum flow_protocol protocol, uint64_t flows, uint32_t routers)
{
	struct exported *exported = make_exports(bench, protocol, flows, routers, bench->seed);
	struct entry entries[ENTRIES_MAX];
	bool fine = exported != NULL;
	uint32_t n = 0;

	for (uint32_t d = COLLECT_BENCH_OBSERVATIONS; d <= COLLECT_BENCH_COUNTED && fine; d++)
		fine = open_entry(bench, &entries[n++], (enum collect_bench_depth)d, exported);
	if (fine && !signals_stop_requested())
		fine = warm_up(bench, entries, n) && take_turns(bench, entries, n);
	for (uint32_t e = 0; e < n; e++)
		if (entries[e].collecting != NULL)
			collect_bench_destroy(entries[e].collecting);
	exported_destroy(exported);
	return fine;
}

/* sFlow samples are four times as large as records, so a million flows have only one router. */
static bool run_memory(struct rounds_bench *bench)
{
	figures_heading(&bench->figures,
		"records in memory, on one lcore; %u routers report each flow, in any order",
		router_counts[1]);
	for (uint32_t p = 0; p < export_protocols(); p++)
		for (uint32_t f = 0; f < 2; f++)
			for (uint32_t r = 0; r < 2; r++) {
				if (p == FLOW_PROTOCOL_SFLOW && f == 1 && r == 1)
					continue;
				if (!run_traffic(bench, (enum flow_protocol)p,
					    bench->quick ? flow_counts[f] / 10 : flow_counts[f],
					    router_counts[r]))
					return false;
			}
	return true;
}

static bool open_fixbuf(struct rounds_bench *bench, struct entry *entry, struct exported *exported)
{
	char why[FIXBUF_ERROR_MAX];

	*entry = (struct entry){.exported = exported, .fixbuf = fixbuf_create(why)};
	snprintf(entry->name, sizeof(entry->name), "libfixbuf: ipfix");
	if (entry->fixbuf != NULL)
		return true;
	for (uint32_t r = 0; r < bench->rounds; r++)
		rounds_missing(bench, entry->name, r, "ns", why);
	return false;
}

static bool run_decoders(struct rounds_bench *bench)
{
	struct exported *exported[FLOW_PROTOCOL_COUNT] = {NULL};
	struct entry entries[ENTRIES_MAX];
	bool fine = true;
	uint32_t n = 0;

	figures_heading(&bench->figures, "decoders (libfixbuf %s)",
		fixbuf_version() != NULL ? fixbuf_version() : "not built in");
	for (uint32_t p = 0; p < export_protocols() && fine; p++) {
		exported[p] = make_exports(bench, (enum flow_protocol)p, 10000, 1, bench->seed);
		fine = exported[p] != NULL &&
		       open_entry(bench, &entries[n++], COLLECT_BENCH_RECORDS, exported[p]);
		snprintf(entries[p].name, sizeof(entries[p].name), "decode: %s",
			flow_protocols[p]->name);
	}
	if (fine && open_fixbuf(bench, &entries[n], exported[FLOW_PROTOCOL_IPFIX]))
		n++;
	fine = fine && take_turns(bench, entries, n);
	for (uint32_t e = 0; e < n; e++) {
		if (entries[e].collecting != NULL)
			collect_bench_destroy(entries[e].collecting);
		if (entries[e].fixbuf != NULL)
			fixbuf_destroy(entries[e].fixbuf);
	}
	for (uint32_t p = 0; p < export_protocols(); p++)
		exported_destroy(exported[p]);
	return fine;
}

static const uint64_t rates[] = {125000, 300000};

static const struct {
	const char *name, *missing;
	enum collectors_kind kind;
} receivers[] = {
	{"nfcapd", "nfcapd is not installed", COLLECTORS_NFCAPD},
	{"received, decoded", "", COLLECTORS_RECEIVED},
	{"received, best, count-min", "", COLLECTORS_COUNTED},
	{"sketchtap collect", "", COLLECTORS_SKETCHTAP},
	{"goflow2", "goflow2 is not installed", COLLECTORS_GOFLOW2},
};

#define NB_RECEIVERS (sizeof(receivers) / sizeof(receivers[0]))

static bool run_receiver(struct rounds_bench *bench, const struct exported *exported, uint32_t i,
	uint64_t rate, uint32_t round)
{
	uint64_t records = rate * (bench->quick ? QUICK_RECEIVE_MS : RECEIVE_MS) / 1000;
	struct collectors_sample sample;
	char ns[NAME_MAX_BYTES], lost[NAME_MAX_BYTES + 16];

	snprintf(ns, sizeof(ns), "%s, %" PRIu64 " records/s", receivers[i].name, rate);
	snprintf(lost, sizeof(lost), "lost by %s", ns);
	if (!collectors_has(receivers[i].kind)) {
		rounds_missing(bench, ns, round, "ns", receivers[i].missing);
		rounds_missing(bench, lost, round, "datagrams", receivers[i].missing);
		return true;
	}
	if (!collectors_run(bench->config, receivers[i].kind, exported, records, rate, &sample,
		    bench->error))
		return false;
	rounds_row(bench, ns, round, sample.ns, "ns");
	rounds_row(bench, lost, round, (double)sample.lost, "datagrams");
	return true;
}

static bool run_rates(struct rounds_bench *bench, const struct exported *exported)
{
	for (uint32_t rate = 0; rate < sizeof(rates) / sizeof(rates[0]); rate++)
		for (uint32_t r = 0; r < bench->rounds; r++)
			for (uint32_t i = 0; i < NB_RECEIVERS; i++)
				if (signals_stop_requested() ||
					!run_receiver(bench, exported, i, rates[rate], r))
					return false;
	return true;
}

static bool run_receivers(struct rounds_bench *bench)
{
	struct exported *exported =
		make_exports(bench, FLOW_PROTOCOL_NETFLOW9, RECEIVE_FLOWS, 1, bench->seed);
	bool fine;

	figures_heading(&bench->figures,
		"received from a loopback socket with a buffer of 4 MB: CPU time of the process, "
		"user and kernel");
	fine = exported != NULL && run_rates(bench, exported);
	exported_destroy(exported);
	return fine;
}

static bool run_growth(struct rounds_bench *bench)
{
	struct exported_spec spec = {
		.protocol = FLOW_PROTOCOL_IPFIX,
		.flows = bench->quick ? flow_counts[0] : flow_counts[1],
		.routers = 4,
		.cycles = 1,
		.seed = bench->seed,
	};
	struct exported *exported = exported_create(&spec);
	double flows, templates;

	if (exported == NULL)
		return false;
	figures_heading(&bench->figures, "memory of a collector process");
	flows = collectors_growth(exported);
	exported_destroy(exported);
	templates = collectors_templates_growth(bench->quick ? 100 : EXPORTERS, TEMPLATES);
	rounds_row(bench, "memory: 1 M flows x 4 routers", 0, flows, "MB");
	rounds_row(bench, "memory: 10 000 exporters x 20 templates", 0, templates, "MB");
	return (flows > 0 && templates > 0) ||
	       rounds_fail(bench, "flows or templates did not fit, or the memory is unknown");
}

static bool run_all(struct rounds_bench *bench)
{
	return run_growth(bench) && run_decoders(bench) && run_memory(bench) &&
	       run_receivers(bench);
}

int bench_collect(struct config *config)
{
	static struct rounds_bench bench;

	return rounds_run(&bench, "collect", config, run_all);
}
