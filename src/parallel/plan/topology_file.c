/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/topology_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"

#define LINE_LEN  4096
#define WORDS_MAX 32

struct loader {
	struct topology_file *file;
	const char *path;
	unsigned int line;
	char *error;
	struct cpu_set cpus, isolated, offline;
	struct topology_cpu by_id[TOPOLOGY_CPUS_MAX]; /* of `cpus` */
};

__attribute__((format(printf, 2, 3))) static bool refuse(
	const struct loader *loader, const char *format, ...)
{
	int length = snprintf(
		loader->error, TOPOLOGY_ERROR_MAX, "%.256s:%u: ", loader->path, loader->line);
	va_list args;

	va_start(args, format);
	vsnprintf(loader->error + length, TOPOLOGY_ERROR_MAX - (size_t)length, format, args);
	va_end(args);
	return false;
}

/* What stands behind NAME= in a word; NULL where the word is another. */
static const char *value_of(const char *word, const char *name)
{
	size_t length = strlen(name);

	return strncmp(word, name, length) == 0 && word[length] == '=' ? word + length + 1 : NULL;
}

static bool read_number(
	const struct loader *loader, const char *text, unsigned long limit, uint32_t *number)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value >= limit)
		return refuse(loader, "'%.64s' is not a number below %lu", text, limit);
	*number = (uint32_t)value;
	return true;
}

static bool read_list(const struct loader *loader, const char *text, struct cpu_set *set)
{
	if (!cpu_set_parse(set, text))
		return refuse(loader,
			"'%.64s' is not a list of CPUs below %u; write 0-3,8 or 0-14:2", text,
			CPU_SET_MAX);
	return true;
}

static bool read_size(const struct loader *loader, const char *text, uint64_t *size)
{
	const char *why = units_size(text, size);

	return why == NULL || refuse(loader, "'%.64s' %s", text, why);
}

/* Adds the CPUs of a list; the i-th is a thread of the i-th core of the node. */
static bool add_cpus(struct loader *loader, const char *list, struct topology_cpu like,
	const struct cpu_set *first)
{
	struct cpu_set cpus;
	uint32_t core = 0;

	if (!read_list(loader, list, &cpus))
		return false;
	if (cpu_set_count(&cpus) == 0)
		return refuse(loader, "a node without CPUs; leave the line out");
	if (first != NULL && cpu_set_count(first) != cpu_set_count(&cpus))
		return refuse(loader, "siblings=%.64s are %u CPUs and cpus= are %u", list,
			cpu_set_count(&cpus), cpu_set_count(first));
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++) {
		if (!cpu_set_has(&cpus, cpu))
			continue;
		if (cpu_set_has(&loader->cpus, cpu))
			return refuse(loader, "CPU %u is given twice", cpu);
		cpu_set_add(&loader->cpus, cpu);
		loader->by_id[cpu] = like;
		loader->by_id[cpu].id = cpu;
		loader->by_id[cpu].core = core++;
	}
	return true;
}

static bool read_node(struct loader *loader, char **words, uint32_t n)
{
	struct topology_cpu cpu = {0};
	struct topology_node *node;
	struct cpu_set first = {0};
	const char *cpus = NULL, *value;
	uint32_t number = 0;

	if (n < 3 || !read_number(loader, words[1], TOPOLOGY_NODES_MAX, &number))
		return n < 3 ? refuse(loader, "write node N cpus=LIST") : false;
	node = &loader->file->topology.nodes[number];
	if (node->known)
		return refuse(loader, "node %u is given twice", number);
	node->known = true;
	cpu.node = (int)number;
	cpu.package = cpu.die = number; /* cores are numbered by node, so a node is a die */
	for (uint32_t w = 2; w < n; w++) {
		if ((value = value_of(words[w], "cpus")) != NULL && cpus == NULL)
			cpus = value;
		else if ((value = value_of(words[w], "package")) != NULL) {
			if (!read_number(loader, value, 1024, &cpu.package))
				return false;
		} else if ((value = value_of(words[w], "memory")) != NULL) {
			if (!read_size(loader, value, &node->free_memory))
				return false;
		} else if ((value = value_of(words[w], "hugepages")) != NULL) {
			if (!read_size(loader, value, &node->free_hugepages))
				return false;
		} else if (value_of(words[w], "siblings") == NULL)
			return refuse(loader,
				"'%.64s' is not one of cpus=, siblings=, package=, memory=, "
				"hugepages=",
				words[w]);
	}
	if (cpus == NULL)
		return refuse(loader, "node %u has no cpus=LIST", number);
	if (!add_cpus(loader, cpus, cpu, NULL) || !read_list(loader, cpus, &first))
		return false;
	for (uint32_t w = 2; w < n; w++)
		if ((value = value_of(words[w], "siblings")) != NULL &&
			!add_cpus(loader, value, cpu, &first))
			return false;
	loader->file->topology.memory += node->free_memory;
	return true;
}

static bool read_distance(struct loader *loader, char **words, uint32_t n)
{
	struct topology_node *nodes = loader->file->topology.nodes;
	uint32_t a = 0, b = 0, distance = 0;

	if (n != 4)
		return refuse(loader, "write distance A B D");
	if (!read_number(loader, words[1], TOPOLOGY_NODES_MAX, &a) ||
		!read_number(loader, words[2], TOPOLOGY_NODES_MAX, &b) ||
		!read_number(loader, words[3], 256, &distance))
		return false;
	if (distance < TOPOLOGY_DISTANCE_LOCAL)
		return refuse(loader, "%u is nearer than a node's own memory, which is %u",
			distance, TOPOLOGY_DISTANCE_LOCAL);
	nodes[a].distance[b] = nodes[b].distance[a] = (uint8_t)distance;
	return true;
}

static bool read_isolated(struct loader *loader, char **words, uint32_t n)
{
	return n == 2 ? read_list(loader, words[1], &loader->isolated)
		      : refuse(loader, "write isolated LIST");
}

static bool read_offline(struct loader *loader, char **words, uint32_t n)
{
	return n == 2 ? read_list(loader, words[1], &loader->offline)
		      : refuse(loader, "write offline LIST");
}

static bool read_quota(struct loader *loader, char **words, uint32_t n)
{
	char *end;
	double quota = n == 2 ? strtod(words[1], &end) : 0;

	if (n != 2 || *end != '\0' || !(quota > 0) || quota > TOPOLOGY_CPUS_MAX)
		return refuse(loader, "write quota X, X being CPUs, such as 2.5");
	loader->file->topology.cpu_quota = quota;
	return true;
}

static bool read_port(struct loader *loader, char **words, uint32_t n)
{
	struct topology_file *file = loader->file;
	const char *node = n == 3 ? value_of(words[2], "node") : NULL;
	struct topology_port *port;
	uint32_t number = 0;

	if (node == NULL)
		return refuse(loader, "write port NAME node=N");
	if (!read_number(loader, node, TOPOLOGY_NODES_MAX, &number))
		return false;
	if (file->nb_ports == TOPOLOGY_PORTS_MAX)
		return refuse(loader, "more than %u ports", TOPOLOGY_PORTS_MAX);
	if (topology_port_node(file, words[1]) >= 0)
		return refuse(loader, "port %.64s is given twice", words[1]);
	port = &file->ports[file->nb_ports];
	if ((size_t)snprintf(port->name, sizeof(port->name), "%s", words[1]) >= sizeof(port->name))
		return refuse(loader, "the name of the port is too long");
	port->node = (int)number;
	file->nb_ports++;
	return true;
}

static bool read_words(struct loader *loader, char **words, uint32_t n)
{
	static const struct {
		const char *name;
		bool (*read)(struct loader *loader, char **words, uint32_t n);
	} facts[] = {
		{"node", read_node},
		{"distance", read_distance},
		{"isolated", read_isolated},
		{"offline", read_offline},
		{"quota", read_quota},
		{"port", read_port},
	};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		if (strcmp(words[0], facts[i].name) == 0)
			return facts[i].read(loader, words, n);
	return refuse(loader,
		"'%.64s' is not one of node, distance, isolated, offline, quota, port", words[0]);
}

static bool read_line(struct loader *loader, char *line)
{
	char *words[WORDS_MAX], *rest = NULL;
	uint32_t n = 0;

	if (line[0] == '\0')
		return refuse(loader, "a byte 0 is not text; give a description of a machine");
	if (strchr(line, '\n') == NULL && strlen(line) == LINE_LEN - 1)
		return refuse(loader, "the line is longer than %d bytes", LINE_LEN - 2);
	line[strcspn(line, "#")] = '\0';
	for (char *word = strtok_r(line, " \t\r\n", &rest); word != NULL;
		word = strtok_r(NULL, " \t\r\n", &rest)) {
		if (n == WORDS_MAX)
			return refuse(loader, "more than %d words", WORDS_MAX);
		words[n++] = word;
	}
	return n == 0 || read_words(loader, words, n);
}

/* The CPUs that work, by number. */
static bool collect_cpus(struct loader *loader)
{
	struct topology *topology = &loader->file->topology;

	for (uint32_t cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++) {
		if (!cpu_set_has(&loader->cpus, cpu) || cpu_set_has(&loader->offline, cpu))
			continue;
		loader->by_id[cpu].isolated = cpu_set_has(&loader->isolated, cpu);
		topology->cpus[topology->nb_cpus++] = loader->by_id[cpu];
	}
	return topology->nb_cpus > 0 ||
	       refuse(loader, "no CPU is described; write node 0 cpus=0-7");
}

/* A port on a node that the machine has not would be planned for nowhere. */
static bool check_ports(const struct loader *loader)
{
	const struct topology_file *file = loader->file;

	for (uint32_t p = 0; p < file->nb_ports; p++)
		if (!file->topology.nodes[file->ports[p].node].known)
			return refuse(loader, "port %s sits on node %d, which is not described",
				file->ports[p].name, file->ports[p].node);
	return true;
}

enum topology_result topology_load(struct topology_file *file, const char *path, char *error)
{
	static _Thread_local struct loader loader;
	char line[LINE_LEN];
	bool good = true;
	FILE *in = fopen(path, "re");

	if (in == NULL) {
		snprintf(error, TOPOLOGY_ERROR_MAX, "--topology %.256s: %s", path, strerror(errno));
		return TOPOLOGY_UNREADABLE;
	}
	memset(file, 0, sizeof(*file));
	memset(&loader, 0, sizeof(loader));
	loader.file = file;
	loader.path = path;
	loader.error = error;
	while (good && fgets(line, sizeof(line), in) != NULL) {
		loader.line++;
		good = read_line(&loader, line);
	}
	if (good && ferror(in) != 0) {
		snprintf(error, TOPOLOGY_ERROR_MAX, "--topology %.256s: cannot be read: %s", path,
			strerror(errno));
		fclose(in);
		return TOPOLOGY_UNREADABLE;
	}
	fclose(in);
	return good && collect_cpus(&loader) && check_ports(&loader) ? TOPOLOGY_OK : TOPOLOGY_WRONG;
}

int topology_port_node(const struct topology_file *file, const char *spec)
{
	size_t length = strcspn(spec, ",");

	for (uint32_t p = 0; p < file->nb_ports; p++)
		if (strlen(file->ports[p].name) == length &&
			memcmp(file->ports[p].name, spec, length) == 0)
			return file->ports[p].node;
	return -1;
}
