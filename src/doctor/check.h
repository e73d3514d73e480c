/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Checks of `sketchtap doctor` and their findings. A check reads only struct host, files below
 * host.root, and the results in host.calls.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/sys_file.h"
#include "base/text.h"
#include "parallel/plan/cpu_set.h"
#include "parallel/plan/topology.h"
#include "rx/port/interface.h"
#include "rx/source.h"

#define HOST_NODES_MAX    TOPOLOGY_NODES_MAX
#define HOST_WARNINGS_MAX 16
#define HOST_TEXT_MAX     768
#define HOST_NAME_MAX     64
#define HOST_ADDRESS_MAX  16

#define HOST_LIVE (HOST_CARD | HOST_KERNEL | HOST_VIRTUAL | HOST_UNNAMED)
#define HOST_ANY  (HOST_LIVE | HOST_REPLAY | HOST_SOCKETS | HOST_PROGRAM)

struct host_port {
	enum host_source source;
	char name[HOST_NAME_MAX];       /* value of --port without DEVARGS */
	char address[HOST_ADDRESS_MAX]; /* PCI address with domain; "": not a PCI device */
	char interface[IFNAMSIZ];       /* "": none */
	/* such as "net_af_packet"; "": a PCI device */
	char driver[HOST_NAME_MAX];
	bool sends;
	bool unknown; /* neither a virtual device nor an interface */
	struct port_interface settings;
};

/* spec: value of --port. Fills all members but `settings`. root: prefix of the path of sysfs. */
void host_port_read(struct host_port *port, const char *root, const char *spec);

struct host_needs {
	uint32_t sources; /* bits of enum host_source */
	struct cpu_set polling;
	uint32_t nb_polling;
	bool floating; /* lcores are not pinned to CPUs */
	bool forwards;
	bool queue_fill; /* workers read the fill level of port queues */
	bool huge;
	const char *huge_directory; /* --huge-dir of --eal; NULL: none */
	/* bytes in free hugepages: per node, and in addition on any node */
	uint64_t huge_bytes[HOST_NODES_MAX], huge_anywhere;
	/* bytes in ordinary memory: per node, and in addition on any node */
	uint64_t ordinary_bytes[HOST_NODES_MAX], ordinary_anywhere;
	uint64_t receive_buffer;
	uint16_t lowest_port;
	/* a --listen with a public address and any sender; NULL: none */
	const char *open_listen;
	const char *templates;
	uint32_t nb_captures;
	uint32_t nb_warnings;
	const char *warnings[HOST_WARNINGS_MAX];
};

struct host_calls {
	const char *dpdk_version, *libpcap_version;
	const char *kernel_missing; /* why --kernel is not available; NULL: available */
	const char *runtime_directory;
	bool clock_known, clock_synchronised;
	int64_t clock_error_us;
	int templates_error; /* errno of opening the template file; 0: writable */
	const char *capture; /* first unreadable capture; NULL: none */
	int capture_error;
	const char *program; /* cannot be executed; NULL: none */
	int program_error;
};

struct host {
	const char *root; /* prefix of all paths; "": this host */
	const struct topology *topology;
	const struct host_needs *needs;
	struct host_calls calls;
	const struct host_port *ports;
	uint32_t nb_ports;
};

enum finding_status {
	FINDING_NONE,
	FINDING_OK,
	FINDING_WARNING, /* the run may be slower, lose packets or count wrongly */
	FINDING_MISSING, /* the run cannot start, or cannot measure as configured */
};

struct check;

struct finding {
	const char *title;
	const struct check *check;
	enum finding_status status;
	char found[HOST_TEXT_MAX];
	char wanted[HOST_TEXT_MAX];
	char command[HOST_TEXT_MAX];
};

typedef void check_host_function(const struct host *host, struct finding *finding);
typedef void check_port_function(
	const struct host *host, const struct host_port *port, struct finding *finding);
typedef bool check_gate(const struct host *host, const struct host_port *port);

enum value_kind {
	VALUE_NUMBER,
	VALUE_KILOBYTES,
	VALUE_WORDS,
	VALUE_VERSION, /* compares only MAJOR.MINOR */
};

/*
 * `values` are alternatives separated by |: patterns of fnmatch(3), or lower limits such as ">=1".
 * NULL matches all. The texts may contain {value}, {file}, {port} and {interface}.
 */
struct verdict {
	const char *values;
	enum finding_status status;
	const char *found, *wanted, *command;
};

/* The first verdict whose `values` match applies. */
struct check_value {
	enum value_kind kind;
	const char *file;
	const char *(*text)(const struct host *); /* replaces `file` */
	const char *field;                        /* VALUE_KILOBYTES: label before the number */
	const char *name;
	const char *absent; /* OK text if the folder exists without the file; NULL: a warning */
	bool optional;      /* no finding if it is not readable */
	struct verdict verdicts[4];
};

struct check {
	const char *name;
	uint32_t sources;         /* bits of enum host_source to which the check applies */
	const char *file;         /* without this file, the check warns; NULL: none */
	struct check_value value; /* judged before look() and look_at(), which may be NULL */
	check_host_function *look;
	check_port_function *look_at;
	check_gate *where; /* selects ports; NULL: all */
};

extern const struct check run_checks[], memory_checks[], cpu_checks[], time_checks[], card_checks[],
	interface_checks[], forward_checks[], kernel_checks[];

struct check_table {
	const char *title;
	const struct check *checks;
};

extern const struct check_table check_tables[];

__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *finding, enum finding_status status, const char *format, ...);
#define finding_ok(finding, ...)      finding_set(finding, FINDING_OK, __VA_ARGS__)
#define finding_warning(finding, ...) finding_set(finding, FINDING_WARNING, __VA_ARGS__)
#define finding_missing(finding, ...) finding_set(finding, FINDING_MISSING, __VA_ARGS__)

__attribute__((format(printf, 3, 4))) void finding_write(
	char text[HOST_TEXT_MAX], size_t at, const char *format, ...);
#define finding_more(finding, ...)                                                                 \
	finding_write((finding)->found, strlen((finding)->found), __VA_ARGS__)
#define finding_wanted(finding, ...)  finding_write((finding)->wanted, 0, __VA_ARGS__)
#define finding_command(finding, ...) finding_write((finding)->command, 0, __VA_ARGS__)

/* Sets a command that adds a kernel parameter, which needs a reboot. */
__attribute__((format(printf, 2, 3))) void finding_boot(
	struct finding *finding, const char *format, ...);

/* Sets a warning that `what` could not be read, and why. */
void finding_unseen(struct finding *finding, enum sys_read why, const char *what);
/* Returns true, and calls finding_unseen(), unless `result` is SYS_READ. */
bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what);

void judge_value(const struct host *host, const struct host_port *port,
	const struct check_value *value, struct finding *finding);

#define HOST_SIZE_MAX 32
char *host_size_text(uint64_t bytes, char text[HOST_SIZE_MAX]);

bool host_interface_exists(const struct host *host, const struct host_port *port);
/* name: as in /proc/cpuinfo. */
bool host_cpu_feature(const struct host *host, const char *name);
/* number: see capabilities(7), of this process. */
enum sys_read host_capability(const struct host *host, uint32_t number, bool *has);
/* Returns 1 if the kernel shows no nodes. */
uint32_t host_nb_nodes(const struct host *host);
/* Writes "2-5,8" or "none" and returns text. A truncated list ends in "...". */
char *host_cpus_text(const struct cpu_set *cpus, char *text, size_t size);
bool host_card_driver(
	const struct host *host, const struct host_port *port, char name[HOST_NAME_MAX]);

struct findings {
	struct finding *rows;
	size_t nb_rows, room;
	uint32_t counts[FINDING_MISSING + 1];
};

bool findings_make(struct findings *findings, const struct host *host);
void findings_free(struct findings *findings);

/* Wraps texts at FINDINGS_WIDTH columns, but not commands. */
#define FINDINGS_WIDTH 100
void findings_table(struct text *text, const struct findings *findings);

/* CSV as in RFC 4180, but with LF. */
#define FINDINGS_CSV_HEADER "check,status,found,wanted,command"
void findings_csv(struct text *text, const struct findings *findings);
