/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Checks of the doctor, and their findings. A check is a pure function of struct host: of files
 * below `root`, and of the few facts that only system calls return.
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
#define HOST_ADDRESS_MAX  16 /* 0000:3b:00.0 */

#define HOST_LIVE (HOST_CARD | HOST_KERNEL | HOST_VIRTUAL | HOST_UNNAMED)
#define HOST_ANY  (HOST_LIVE | HOST_REPLAY | HOST_SOCKETS | HOST_PROGRAM)

struct host_port {
	enum host_source source;
	char name[HOST_NAME_MAX];       /* option value without DEVARGS; printable */
	char address[HOST_ADDRESS_MAX]; /* PCI address with domain; "": not a card */
	char interface[IFNAMSIZ];       /* kernel interface; "": none */
	char driver[HOST_NAME_MAX];     /* DPDK driver, such as "net_af_packet"; "": a card */
	bool sends;                     /* can transmit */
	bool unknown;                   /* no virtual device and no interface has this name */
	struct port_interface settings; /* kernel settings of the interface */
};

/* Resolves a --port by its text and sysfs: all but `settings`. root: see base/sys_file.h. */
void host_port_read(struct host_port *port, const char *root, const char *spec);

/* Requirements of the planned run. */
struct host_needs {
	uint32_t sources;           /* bits of enum host_source */
	struct cpu_set polling;     /* CPUs of polling lcores; all CPUs if floating */
	uint32_t nb_polling;        /* number of polling lcores */
	bool floating;              /* lcores are not pinned to CPUs */
	bool forwards;              /* --forward is set */
	bool queue_fill;            /* workers read the fill level of port queues */
	bool huge;                  /* hugepages are required */
	const char *huge_directory; /* --huge-dir of --eal; NULL: none */
	/* Required bytes of free hugepages, per node and on any node. */
	uint64_t huge_bytes[HOST_NODES_MAX], huge_anywhere;
	/* Required bytes of ordinary memory, per node and on any node. */
	uint64_t ordinary_bytes[HOST_NODES_MAX], ordinary_anywhere;
	uint64_t receive_buffer; /* bytes per socket */
	uint16_t lowest_port;    /* lowest UDP port of --listen */
	const char *open_listen; /* a --listen that accepts any sender; NULL: none */
	const char *templates;   /* template file; NULL: none */
	uint32_t nb_captures;    /* number of capture files */
	uint32_t nb_warnings;    /* warnings of the plan */
	const char *warnings[HOST_WARNINGS_MAX];
};

/* Facts from system calls. */
struct host_calls {
	const char *dpdk_version, *libpcap_version;
	const char *kernel_missing;    /* reason why --kernel is not available; NULL: available */
	const char *runtime_directory; /* parent of the EAL runtime directory */
	bool clock_known, clock_synchronised;
	int64_t clock_error_us; /* bound of the clock error, us */
	int templates_error;    /* errno of the template file; 0: writable */
	const char *capture;    /* first unreadable capture; NULL: none */
	int capture_error;      /* errno of `capture` */
};

struct host {
	const char *root; /* "": this host */
	const struct topology *topology;
	const struct host_needs *needs;
	struct host_calls calls;
	const struct host_port *ports;
	uint32_t nb_ports;
};

enum finding_status {
	FINDING_NONE, /* not applicable: not printed */
	FINDING_OK,
	FINDING_WARNING, /* may cost speed, packets or certainty */
	FINDING_MISSING, /* the run cannot start, or cannot measure as configured */
};

struct check;

struct finding {
	const char *title; /* title of the subject */
	const struct check *check;
	enum finding_status status;
	char found[HOST_TEXT_MAX];
	char wanted[HOST_TEXT_MAX];  /* required state and reason; "": FINDING_OK */
	char command[HOST_TEXT_MAX]; /* repairs it; "": no command */
};

typedef void check_host_function(const struct host *host, struct finding *finding);
typedef void check_port_function(
	const struct host *host, const struct host_port *port, struct finding *finding);
/* Returns true if a check applies to the port. */
typedef bool check_gate(const struct host *host, const struct host_port *port);

enum value_kind {
	VALUE_NUMBER,
	VALUE_KILOBYTES, /* {value} is a size: "512 MB" */
	VALUE_WORDS,     /* the first line */
	VALUE_VERSION,   /* MAJOR.MINOR; {value} is the first line */
};

/*
 * A finding for some values. values: patterns of fnmatch(3), and numbers as ">=1", separated by |;
 * NULL: any. The texts may contain {value}, {file}, {port} and {interface}.
 */
struct verdict {
	const char *values;
	enum finding_status status;
	const char *found, *wanted, *command;
};

/* A value that decides a check: the first verdict that has the value applies. */
struct check_value {
	enum value_kind kind;
	const char *file;                         /* may contain {interface} */
	const char *(*text)(const struct host *); /* instead of a file */
	const char *field;                        /* VALUE_KILOBYTES: word in front of the number */
	const char *name;                         /* for messages; NULL: the file */
	const char *absent; /* finding if its folder exists without the file; NULL: a warning */
	bool optional;      /* not readable: no finding */
	struct verdict verdicts[4];
};

/* A check: a row of the table at the end of its subject's file. */
struct check {
	const char *name;
	uint32_t sources; /* applicable sources, bits of enum host_source */
	const char *file; /* required file: without it the check does not apply; NULL: none */
	struct check_value value; /* evaluated first; may be the whole check */
	check_host_function *look;
	check_port_function *look_at; /* per port, instead of `look` */
	check_gate *where;            /* selects ports; NULL: all, or `value` is of the host */
};

extern const struct check run_checks[], memory_checks[], cpu_checks[], time_checks[], card_checks[],
	interface_checks[], forward_checks[], kernel_checks[];

/* Subjects, in the order of printing. */
struct check_table {
	const char *title;
	const struct check *checks; /* ends with a check without a name */
};

extern const struct check_table check_tables[];

/* Sets the status and the text of the finding; replaces an earlier one. */
__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *finding, enum finding_status status, const char *format, ...);
#define finding_ok(finding, ...)      finding_set(finding, FINDING_OK, __VA_ARGS__)
#define finding_warning(finding, ...) finding_set(finding, FINDING_WARNING, __VA_ARGS__)
#define finding_missing(finding, ...) finding_set(finding, FINDING_MISSING, __VA_ARGS__)

/* Writes from an offset on; truncates. */
__attribute__((format(printf, 3, 4))) void finding_write(
	char text[HOST_TEXT_MAX], size_t at, const char *format, ...);
/* Appends to the text of the finding. */
#define finding_more(finding, ...)                                                                 \
	finding_write((finding)->found, strlen((finding)->found), __VA_ARGS__)
/* Set the required state, and the command that repairs it. */
#define finding_wanted(finding, ...)  finding_write((finding)->wanted, 0, __VA_ARGS__)
#define finding_command(finding, ...) finding_write((finding)->command, 0, __VA_ARGS__)

/* Sets a command that adds a parameter to the kernel command line; requires a reboot. */
__attribute__((format(printf, 2, 3))) void finding_boot(
	struct finding *finding, const char *format, ...);

/* Sets a warning that the fact could not be read, and why; never "ok". */
void finding_unseen(struct finding *finding, enum sys_read why, const char *what);
/* As finding_unseen(), and returns true, unless `result` is SYS_READ. */
bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what);

/* port: NULL for a value of the host. */
void judge_value(const struct host *host, const struct host_port *port,
	const struct check_value *value, struct finding *finding);

/* Formats a size: "512 MB". Returns text. */
#define HOST_SIZE_MAX 32
char *host_size_text(uint64_t bytes, char text[HOST_SIZE_MAX]);

/* A gate: the port has an interface that exists. */
bool host_interface_exists(const struct host *host, const struct host_port *port);
/* Returns true if /proc/cpuinfo lists the CPU feature. */
bool host_cpu_feature(const struct host *host, const char *name);
/* Sets *has if this process has the capability (CAP_NET_RAW is 13). */
enum sys_read host_capability(const struct host *host, uint32_t number, bool *has);
/* Returns the number of NUMA nodes; 1 if the kernel shows none. */
uint32_t host_nb_nodes(const struct host *host);
/* Formats a CPU list: "2-5,8" or "none"; ends in "..." if truncated. Returns text. */
char *host_cpus_text(const struct cpu_set *cpus, char *text, size_t size);
/* Writes the name of the kernel driver of a card. Returns false if none is bound. */
bool host_card_driver(
	const struct host *host, const struct host_port *port, char name[HOST_NAME_MAX]);

/* Findings of all checks on one host. */
struct findings {
	struct finding *rows;
	size_t nb_rows, room;
	uint32_t counts[FINDING_MISSING + 1]; /* number of findings per status */
};

/* Runs all checks that apply to the sources of the run. Returns false if out of memory. */
bool findings_make(struct findings *findings, const struct host *host);
void findings_free(struct findings *findings);

/*
 * Formats text for operators: at most FINDINGS_WIDTH columns, except for commands, which are not
 * wrapped.
 */
#define FINDINGS_WIDTH 100
void findings_table(struct text *text, const struct findings *findings);

/* Formats CSV (RFC 4180, LF) with a header: one row per finding. */
#define FINDINGS_CSV_HEADER "check,status,found,wanted,command"
void findings_csv(struct text *text, const struct findings *findings);
