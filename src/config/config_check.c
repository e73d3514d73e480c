/* SPDX-License-Identifier: BSD-3-Clause */

#include "config/config_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/pci_address.h"
#include "sketch/iblt.h"
#include "sketch/sketch.h"

#define THRESHOLD_MIN 1e-6 /* a million keys may reach it, and each must be remembered */
#define IBLT_LOAD_MIN 0.01

#define RING_PORT_QUEUES_MAX 16 /* an ethdev made of rings has no more */

__attribute__((format(printf, 4, 5))) static bool refuse(struct config_fault *fault,
	const char *option, const struct measurement_config *measurement, const char *format, ...)
{
	va_list arguments;

	fault->option = option;
	fault->measurement = measurement;
	va_start(arguments, format);
	vsnprintf(fault->why, sizeof(fault->why), format, arguments);
	va_end(arguments);
	return false;
}

static bool has_source(const struct config *config)
{
	return config->nb_pcap > 0 || config->nb_port > 0 || config->synthetic != NULL;
}

/* --- what options have an effect with --- */

/* Where there is no source, that is what is missing. */
static bool has_port(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return config->nb_port > 0 || (config->nb_pcap == 0 && config->synthetic == NULL);
}

static bool is_async(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return strcmp(config->design, "async") == 0;
}

static bool has_hash(const struct config *config, const struct measurement_config *measurement)
{
	return has_port(config, measurement) &&
	       (strcmp(config->design, "rss") == 0 ||
		       (is_async(config, measurement) && config->dispatch == DISPATCH_FLOW));
}

static bool any_sketch(const struct config *config, uint32_t caps)
{
	for (uint32_t m = 0; m < config->nb_measurements; m++)
		if ((sketch_find(config->measurements[m].sketch)->caps & caps) != 0)
			return true;
	return false;
}

static bool has_times(const struct config *config, const struct measurement_config *measurement)
{
	return has_port(config, measurement) && any_sketch(config, SKETCH_DETAILS);
}

static bool has_no_port(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return config->nb_port == 0;
}

static bool has_eal(const struct config *config, const struct measurement_config *measurement)
{
	return config->command != COMMAND_GENERATE || has_port(config, measurement) ||
	       config->output == NULL;
}

static bool is_shared(const struct config *config, const struct measurement_config *measurement)
{
	uint32_t tried = config->bench.sharings;

	(void)measurement;
	if (config->command >= COMMAND_BENCH_KERNELS)
		return tried == 0 || (tried >> SHARING_SHARED & 1) != 0;
	return strcmp(config->sharing, "shared") == 0;
}

static bool has_monitor(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return config->monitor != NULL;
}

static bool is_flow_table(const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return strcmp(measurement->sketch, "flow-table") == 0;
}

static bool has_idle_timeout(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return measurement->idle_timeout > 0;
}

static bool is_iblt(const struct config *config, const struct measurement_config *measurement)
{
	(void)config;
	return strcmp(measurement->sketch, "iblt") == 0;
}

static bool has_records(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return any_sketch(config, SKETCH_RECORDS);
}

static bool has_file(const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return config_names_files(config);
}

static bool draws_flows(const struct config *config, const struct measurement_config *measurement)
{
	const struct config_values *zipf = &config->bench.zipf;

	(void)measurement;
	for (uint32_t i = 0; i < zipf->n; i++)
		if (zipf->values[i] != CONFIG_ZIPF_RANDOM)
			return true;
	return zipf->n == 0 && (config->nb_pcap == 0 || config->bench.traffics != 0);
}

static bool is_not_verbose(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return !config->verbose;
}

const char *config_lacks(const struct option_row *row, const struct config *config,
	const struct measurement_config *measurement)
{
	static const struct {
		bool (*met)(
			const struct config *config, const struct measurement_config *measurement);
		const char *lacks;
	} needs[OPTION_NEED_COUNT] = {
		[OPTION_NEED_PORT] = {has_port, "without --port"},
		[OPTION_NEED_HASH] = {has_hash, "without --port, and --design rss or async with "
						"--dispatch flow"},
		[OPTION_NEED_TIMES] = {has_times, "without --port and --sketch flow-table"},
		[OPTION_NEED_NO_PORT] = {has_no_port, "with --port: who sends there sets the pace"},
		[OPTION_NEED_EAL] = {has_eal, "without --port"},
		[OPTION_NEED_ASYNC] = {is_async, "without --design async"},
		[OPTION_NEED_SHARED] = {is_shared, "without --sharing shared"},
		[OPTION_NEED_MONITOR] = {has_monitor, "without --monitor"},
		[OPTION_NEED_FLOW_TABLE] = {is_flow_table, "without --sketch flow-table"},
		[OPTION_NEED_IDLE_TIMEOUT] = {has_idle_timeout, "without --idle-timeout"},
		[OPTION_NEED_IBLT] = {is_iblt, "without --sketch iblt"},
		[OPTION_NEED_RECORDS] = {has_records, "without --sketch flow-table"},
		[OPTION_NEED_FILE] = {has_file,
			"on standard output, only on a file such as --output FILE"},
		[OPTION_NEED_DRAWN_FLOWS] = {draws_flows, "without traffic that is drawn from "
							  "flows"},
		[OPTION_NEED_NO_VERBOSE] = {is_not_verbose, "with --verbose"},
	};

	if (needs[row->need].met == NULL || needs[row->need].met(config, measurement))
		return NULL;
	return needs[row->need].lacks;
}

/* --- contradictions, and what is missing --- */

static bool check_stdin_once(const struct config *config, struct config_fault *fault)
{
	unsigned int times = 0;

	for (uint32_t i = 0; i < config->nb_pcap; i++) {
		if (strcmp(config->pcap[i], "-") == 0)
			times++;
	}
	if (times > 1)
		return refuse(fault, "pcap", NULL,
			"- is given %u times; standard input can be read once", times);
	return true;
}

/* A stretch of a port's text. */
struct part {
	const char *text;
	size_t len;
};

/* A port's name without its DEVARGS and without the bus that may stand before it. */
static struct part port_name_part(const char *port)
{
	if (strncmp(port, "pci:", 4) == 0)
		port += 4;
	else if (strncmp(port, "vdev:", 5) == 0)
		port += 5;
	return (struct part){port, strcspn(port, ",")};
}

/* The interface of the kernel that its DEVARGS name; empty where they name none. */
static struct part port_interface_part(const char *port)
{
	const char *at = strstr(port, ",iface=");

	if (at == NULL)
		return (struct part){port, 0};
	return (struct part){at + 7, strcspn(at + 7, ",")};
}

static bool same_part(struct part a, struct part b)
{
	return a.len > 0 && a.len == b.len && memcmp(a.text, b.text, a.len) == 0;
}

static bool same_pci(struct part a, struct part b)
{
	struct pci_address x, y;

	return pci_address_parse(a.text, a.len, &x) && pci_address_parse(b.text, b.len, &y) &&
	       x.domain == y.domain && x.bus == y.bus && x.device == y.device &&
	       x.function == y.function;
}

/* Whether two ports are one device, as far as their texts can tell. */
static bool same_port(const char *a, const char *b)
{
	struct part name_a = port_name_part(a), name_b = port_name_part(b);
	struct part interface_a = port_interface_part(a), interface_b = port_interface_part(b);

	return same_part(name_a, name_b) || same_pci(name_a, name_b) ||
	       same_part(interface_a, interface_b) || same_part(name_a, interface_b) ||
	       same_part(interface_a, name_b);
}

static bool check_ports(const struct config *config, struct config_fault *fault)
{
	for (uint32_t i = 0; i < config->nb_port; i++) {
		struct part name = port_name_part(config->port[i]);
		struct pci_address address;

		if (name.len == 0)
			return refuse(fault, "port", NULL,
				"'%.200s' has no name; write NAME[,DEVARGS]", config->port[i]);
		if (strncmp(config->port[i], "pci:", 4) == 0 &&
			!pci_address_parse(name.text, name.len, &address))
			return refuse(fault, "port", NULL,
				"'%.*s' is not a PCI address such as 0000:3b:00.0",
				(int)(name.len < 100 ? name.len : 100), name.text);
		for (uint32_t j = 0; j < i; j++)
			if (same_port(config->port[i], config->port[j]))
				return refuse(fault, "port", NULL,
					"'%.*s' is given twice, the other time as '%.100s': its "
					"packets would count twice",
					(int)(name.len < 100 ? name.len : 100), name.text,
					config->port[j]);
	}
	return true;
}

/* Words of EAL that the plan says already, or that end the process. */
static bool check_eal(const struct config *config, struct config_fault *fault)
{
	static const char *const owned[] = {"-h", "--help", "-v", "--version", "-l", "-c", "-s",
		"-S", "--lcores", "--main-lcore", "--proc-type", "--file-prefix", "-m", "--no-huge",
		"--in-memory", NULL};

	for (const char *word = config->eal; word != NULL && *word != '\0';) {
		size_t length = strcspn(word, " \t"), name = strcspn(word, "= \t");

		for (const char *const *row = owned; *row != NULL; row++) {
			bool is_short = (*row)[1] != '-';

			/* A short option's value may stand right behind it. */
			if (is_short ? length >= 2 && strncmp(word, *row, 2) == 0
				     : strlen(*row) == name && strncmp(word, *row, name) == 0)
				return refuse(fault, "eal", NULL,
					"%.*s is not for --eal: sketchtap's own options say it",
					(int)length, word);
		}
		word += length + (word[length] != '\0');
	}
	return true;
}

#define INSTANCE_NAME_MAX 40

static bool check_name(const struct config *config, struct config_fault *fault)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";

	if (config->name == NULL || (strspn(config->name, allowed) == strlen(config->name) &&
					    strlen(config->name) <= INSTANCE_NAME_MAX))
		return true;
	return refuse(fault, "name", NULL,
		"'%.200s' is not allowed; write at most %d letters, digits, dots, dashes and "
		"underscores",
		config->name, INSTANCE_NAME_MAX);
}

static bool check_source(const struct config *config, struct config_fault *fault)
{
	if (!has_source(config) && config->command != COMMAND_DOCTOR)
		return refuse(fault, NULL, NULL,
			"nothing to measure: give --pcap FILE, --port NAME or --synthetic SPEC");
	if (config->pace != PACE_UNPACED && config->nb_port > 0)
		return refuse(fault, "pace", NULL,
			"contradicts --port: a port's packets come when they come");
	if (config->workers > RING_PORT_QUEUES_MAX && has_source(config) && config->nb_port == 0 &&
		strcmp(config->design, "rss") == 0)
		return refuse(fault, "workers", NULL,
			"%u are too many; with --design rss and --pcap or --synthetic at most %d",
			config->workers, RING_PORT_QUEUES_MAX);
	return check_stdin_once(config, fault) && check_ports(config, fault) &&
	       check_eal(config, fault);
}

/* The next byte of a path in which "./" and repeated slashes are skipped. */
static const char *skip_nothing(const char *path, bool at_start)
{
	for (;;) {
		if (at_start && path[0] == '.' && path[1] == '/')
			path += 2;
		else if (at_start && path[0] == '/')
			path++;
		else
			return path;
	}
}

/* Whether two texts name one file, as far as texts can tell. */
static bool same_path(const char *a, const char *b)
{
	bool at_start = false;

	if ((*a == '/') != (*b == '/'))
		return false;
	a = skip_nothing(a, true);
	b = skip_nothing(b, true);
	while (*a == *b) {
		if (*a == '\0')
			return true;
		at_start = *a == '/';
		a = skip_nothing(a + 1, at_start);
		b = skip_nothing(b + 1, at_start);
	}
	return false;
}

static const char *option_of_rows(enum row_kind kind)
{
	const struct option_row *row = options;

	while (row->count_offset != offsetof(struct config, rows[kind].n))
		row++;
	return row->name;
}

/* Goes over the destinations of all kinds; kind and i are 0 at first. */
static const char *next_destination(const struct config *config, enum row_kind *kind, uint32_t *i)
{
	while (*kind < ROW_KINDS && *i == config->rows[*kind].n) {
		(*kind)++;
		*i = 0;
	}
	return *kind < ROW_KINDS ? config->rows[*kind].list[(*i)++] : NULL;
}

static bool check_output(const struct config *config, enum row_kind kind, const char *text,
	struct config_fault *fault)
{
	const char *name = destination_of(text).name, *option = option_of_rows(kind), *other;
	enum row_kind k = 0;
	uint32_t i = 0;

	if (*name == '\0')
		return refuse(fault, option, NULL,
			"'%.200s' names no file; give %.200sFILE, or %.200s- for standard output",
			text, text, text);
	if (strcmp(name, "/dev/null") == 0)
		return true;
	while ((other = next_destination(config, &k, &i)) != text)
		if (same_path(destination_of(other).name, name))
			return refuse(fault, option, NULL,
				"'%.200s' is where --%s goes; give another file", name,
				option_of_rows(k));
	return true;
}

static bool check_outputs(const struct config *config, struct config_fault *fault)
{
	enum row_kind kind = 0;
	uint32_t i = 0;

	for (const char *text; (text = next_destination(config, &kind, &i)) != NULL;)
		if (!check_output(config, kind, text, fault))
			return false;
	return true;
}

bool config_shows_table(const struct config *config, bool terminal)
{
	const struct destinations *to = &config->rows[ROWS_HEAVY_HITTERS];

	if (config->format != FORMAT_AUTO || !terminal)
		return config->format == FORMAT_TABLE;
	for (uint32_t i = 0; i < to->n; i++) {
		const struct destination destination = destination_of(to->list[i]);

		if (destination.format == FORMAT_AUTO && destination_is_stdout(destination.name))
			return true;
	}
	return false;
}

bool config_to_stdout(const struct config *config, enum row_kind kind)
{
	for (uint32_t i = 0; i < config->rows[kind].n; i++)
		if (!destination_is_stdout(destination_of(config->rows[kind].list[i]).name))
			return false;
	return true;
}

bool config_names_files(const struct config *config)
{
	for (enum row_kind kind = 0; kind < ROW_KINDS; kind++)
		if (!config_to_stdout(config, kind))
			return true;
	return config->output != NULL && !destination_is_stdout(config->output);
}

static struct sketch_params shape_of(const struct measurement_config *measurement)
{
	return (struct sketch_params){
		.depth = measurement->depth,
		.width = measurement->buckets != 0 ? measurement->buckets : measurement->width,
		.table_hash = measurement->table_hash,
		.load = measurement->iblt_load,
		.metric = measurement->count == METRIC_BYTES ? SKETCH_BYTES : SKETCH_PACKETS,
	};
}

static bool check_memory(const struct measurement_config *measurement, struct config_fault *fault)
{
	const struct sketch_ops *ops = sketch_find(measurement->sketch);
	struct sketch_params params = shape_of(measurement);
	uint64_t enough = measurement->memory;

	if (sketch_width_for(ops, &params, measurement->memory) != 0)
		return true;
	while (sketch_width_for(ops, &params, enough) == 0)
		enough *= 2;
	return refuse(fault, "memory", measurement,
		"%llu bytes are too few for one %s; give %lluKB",
		(unsigned long long)measurement->memory, ops->name,
		(unsigned long long)(enough + 1023) / 1024);
}

/* What only a flow-table has. */
static bool check_flow_table(const struct measurement_config *measurement, const char *sharing,
	struct config_fault *fault)
{
	static const char *const unshared[COLLISION_COUNT] = {
		[COLLISION_TREE] =
			"tree cannot be shared: balancing moves entries that others look at",
		[COLLISION_CUCKOO] = "cuckoo cannot be shared: others would see a new key before "
				     "its counters",
	};

	if (unshared[measurement->collision] != NULL && strcmp(sharing, "shared") == 0)
		return refuse(fault, "collision", measurement,
			"%s; give list, or --sharing separate", unshared[measurement->collision]);
	if (measurement->table_hash == TABLE_HASH_RSS && !key_rule_has_5tuple(&measurement->key))
		return refuse(fault, "table-hash", measurement,
			"rss is a hash of the 5-tuple and scatters a key of %s; give another, or "
			"--key 5tuple or 6tuple",
			measurement->key.name);
	return true;
}

static bool check_idle_timeout(const struct measurement_config *measurement, const char *sharing,
	struct config_fault *fault)
{
	if (measurement->idle_timeout == 0)
		return true;
	if (measurement->collision == COLLISION_CUCKOO)
		return refuse(fault, "idle-timeout", measurement,
			"takes entries away, which --collision cuckoo cannot; give list or tree");
	if (strcmp(sharing, "shared") == 0)
		return refuse(fault, "idle-timeout", measurement,
			"takes entries away, which others of a shared table may be looking at; "
			"give --sharing separate");
	return true;
}

/* What only an iblt has. */
static bool check_iblt(const struct measurement_config *measurement, struct config_fault *fault)
{
	double most = iblt_threshold(measurement->depth == 4 ? 4 : 3);

	if (measurement->iblt_load <= 0)
		return true;
	if (measurement->iblt_load < IBLT_LOAD_MIN || measurement->iblt_load > most)
		return refuse(fault, "iblt-load", measurement,
			"flows decode up to a load of %g; give 0.01 to %g", most, most);
	return true;
}

static bool check_key(const struct measurement_config *measurement, struct config_fault *fault)
{
	const struct sketch_ops *ops = sketch_find(measurement->sketch);
	const char *why = ops->check_key != NULL ? ops->check_key(&measurement->key) : NULL;

	return why == NULL ||
	       refuse(fault, "key", measurement, "%s %s", measurement->key.name, why);
}

static bool check_measurement(const struct config *config,
	const struct measurement_config *measurement, struct config_fault *fault)
{
	const struct sketch_ops *ops = sketch_find(measurement->sketch);
	struct sketch_params params = shape_of(measurement);
	const char *option = measurement->buckets != 0 ? "buckets"
			     : measurement->width != 0 ? "width"
						       : "depth";
	const char *why;

	if (!check_flow_table(measurement, config->sharing, fault) ||
		!check_idle_timeout(measurement, config->sharing, fault) ||
		!check_iblt(measurement, fault) || !check_key(measurement, fault))
		return false;
	/* With --memory the width follows; what is wrong then is a depth that no width suits. */
	if (measurement->memory != 0)
		params.width = sketch_width_for(ops, &params, SIZE_MAX);
	why = ops->check(&params);
	if (why != NULL) {
		return refuse(fault, option, measurement, "%u x %llu counters: %s", params.depth,
			(unsigned long long)params.width, why);
	}
	if (measurement->threshold > 0 && measurement->threshold < THRESHOLD_MIN)
		return refuse(fault, "threshold", measurement,
			"is too small to be of use; give 0.000001 or more");
	if (measurement->top == 0 && measurement->threshold <= 0)
		return refuse(fault, "top", measurement,
			"0 reports every key that reaches --threshold; give --threshold too");
	return measurement->memory == 0 || check_memory(measurement, fault);
}

static bool check_generate(const struct config *config, struct config_fault *fault)
{
	if (config->synthetic == NULL)
		return refuse(fault, NULL, NULL, "nothing to generate: give --synthetic SPEC");
	if (config->output == NULL && config->nb_port == 0)
		return refuse(
			fault, NULL, NULL, "nowhere to send it: give --output FILE or --port NAME");
	if (config->nb_port > 1)
		return refuse(fault, "port", NULL,
			"is given %u times; packets are sent on one port", config->nb_port);
	if (config->pace != PACE_UNPACED && config->output != NULL)
		return refuse(fault, "pace", NULL,
			"contradicts --output: a file is written as fast as it can be; rate=... "
			"in SPEC sets its time stamps");
	return check_ports(config, fault);
}

/* Structures and hashes are tried where a flow table is all that is. */
static bool check_tune_table(const struct bench_config *bench, struct config_fault *fault)
{
	uint32_t s = 0;

	while (strcmp(sketches[s]->name, "flow-table") != 0)
		s++;
	if (bench->sketches != 1u << s && (bench->collisions != 0 || bench->table_hashes != 0))
		return refuse(fault, bench->collisions != 0 ? "collision" : "table-hash", NULL,
			"is of a flow-table; give --sketch flow-table too, and no other");
	if ((bench->table_hashes >> TABLE_HASH_RSS & 1) != 0)
		return refuse(fault, "table-hash", NULL,
			"rss is what a card computes, and the generator has none");
	return true;
}

/* --hosts measures something else, with traffic of its own. */
static bool check_hosts(const struct config *config, struct config_fault *fault)
{
	const struct bench_config *bench = &config->bench;
	const struct {
		const char *name;
		bool given;
	} others[] = {
		{"pcap", config->nb_pcap > 0},
		{"traffic", bench->traffics != 0},
		{"collision", bench->collisions != 0},
		{"table-hash", bench->table_hashes != 0},
		{"width", bench->widths.n > 0},
		{"buckets", bench->buckets.n > 0},
		{"flows", bench->flows.n > 0},
	};

	if (bench->hosts.n == 0 && config->duration > 0)
		return refuse(fault, "duration", NULL, "is for --hosts; give --packets");
	for (size_t i = 0; bench->hosts.n > 0 && i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].given)
			return refuse(fault, others[i].name, NULL,
				"contradicts --hosts, which has traffic and tables of its own");
	return true;
}

/* Every width must suit every sketch that is to be tried. */
static bool check_bench(const struct config *config, struct config_fault *fault)
{
	const struct bench_config *bench = &config->bench;

	for (uint32_t s = 0; sketches[s] != NULL && config->command != COMMAND_BENCH_FLOW_TABLE;
		s++) {
		for (uint32_t w = 0; w < bench->widths.n; w++) {
			struct sketch_params params = {.width = bench->widths.values[w]};
			const char *why = sketches[s]->check(&params);

			if (why != NULL && (bench->sketches == 0 || bench->sketches >> s & 1))
				return refuse(fault, "width", NULL, "%llu for %s: %s",
					(unsigned long long)bench->widths.values[w],
					sketches[s]->name, why);
		}
	}
	if (config->command == COMMAND_BENCH_TUNE && !check_tune_table(bench, fault))
		return false;
	if (config->command == COMMAND_BENCH_FLOW_TABLE && !check_hosts(config, fault))
		return false;
	if (config->pace == PACE_RECORDED)
		return refuse(
			fault, "pace", NULL, "recorded is of captures; give a rate such as 72Mpps");
	return check_stdin_once(config, fault) && check_eal(config, fault);
}

bool config_check(const struct config *config, struct config_fault *fault)
{
	if (!check_name(config, fault))
		return false;
	if (config->command == COMMAND_GENERATE)
		return check_generate(config, fault);
	if (config->command >= COMMAND_BENCH_KERNELS)
		return check_bench(config, fault);
	for (uint32_t i = 0; i < config->nb_measurements; i++) {
		if (!check_measurement(config, &config->measurements[i], fault))
			return false;
	}
	return check_source(config, fault) && check_outputs(config, fault);
}
