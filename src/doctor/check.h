/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Checks of `sketchtap doctor` and their findings. A check is a pure function of struct host. It
 * reads files below host.root, and host.calls for facts that need a system call.
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
	char name[HOST_NAME_MAX];       /* value of --port without DEVARGS, in printable form */
	char address[HOST_ADDRESS_MAX]; /* PCI address with domain; "": not a PCI device */
	char interface[IFNAMSIZ];       /* kernel interface; "": none */
	/* DPDK driver of a virtual device, such as "net_af_packet"; "": a PCI device */
	char driver[HOST_NAME_MAX];
	bool sends;   /* can transmit */
	bool unknown; /* neither a virtual device nor an interface has this name */
	struct port_interface settings; /* kernel settings of the interface */
};

/*
 * Fills all members but `settings`, from the value of --port and from sysfs. root: see
 * base/sys_file.h.
 */
void host_port_read(struct host_port *port, const char *root, const char *spec);

/* Requirements of the run, from its options and its plan. */
struct host_needs {
	uint32_t sources;           /* bits of enum host_source */
	struct cpu_set polling;     /* CPUs of polling lcores; all CPUs if `floating` is set */
	uint32_t nb_polling;        /* number of polling lcores */
	bool floating;              /* lcores are not pinned to CPUs */
	bool forwards;              /* --forward is set */
	bool queue_fill;            /* workers read the fill level of port queues */
	bool huge;                  /* hugepages are required */
	const char *huge_directory; /* --huge-dir of --eal; NULL: none */
	/* required bytes in free hugepages: on node i, and in addition on whichever node */
	uint64_t huge_bytes[HOST_NODES_MAX], huge_anywhere;
	/* the same in ordinary memory */
	uint64_t ordinary_bytes[HOST_NODES_MAX], ordinary_anywhere;
	uint64_t receive_buffer; /* bytes per socket */
	uint16_t lowest_port;    /* lowest UDP port of --listen */
	/* a --listen with a public address that accepts any sender; NULL: none */
	const char *open_listen;
	const char *templates; /* template file; NULL: none */
	uint32_t nb_captures;  /* number of capture files */
	uint32_t nb_warnings;  /* warnings of the plan */
	const char *warnings[HOST_WARNINGS_MAX];
};

/* Facts from system calls. */
struct host_calls {
	const char *dpdk_version, *libpcap_version;
	const char *kernel_missing;    /* reason why --kernel is not available; NULL: available */
	const char *runtime_directory; /* parent of the EAL runtime directory */
	bool clock_known, clock_synchronised;
	int64_t clock_error_us; /* largest clock error, us */
	int templates_error;    /* errno of opening the template file; 0: writable */
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
	FINDING_NONE, /* the check does not apply; not printed */
	FINDING_OK,
	FINDING_WARNING, /* the run may be slower, lose packets or count wrongly */
	FINDING_MISSING, /* the run cannot start, or cannot measure as configured */
};

struct check;

struct finding {
	const char *title; /* title of the subject */
	const struct check *check;
	enum finding_status status;
	char found[HOST_TEXT_MAX];
	char wanted[HOST_TEXT_MAX];  /* required state, and why; "" with FINDING_OK */
	char command[HOST_TEXT_MAX]; /* command that repairs it; "": none */
};

typedef void check_host_function(const struct host *host, struct finding *finding);
typedef void check_port_function(
	const struct host *host, const struct host_port *port, struct finding *finding);
/* Returns true if a check applies to the port. */
typedef bool check_gate(const struct host *host, const struct host_port *port);

enum value_kind {
	VALUE_NUMBER,
	VALUE_KILOBYTES, /* a size in KB; {value} is text such as "512 MB" */
	VALUE_WORDS,     /* the first line */
	VALUE_VERSION,   /* compares MAJOR.MINOR of the first line; {value} is the whole line */
};

/*
 * Finding for a value that matches `values`: alternatives separated by |, each a pattern of
 * fnmatch(3) or a lower limit such as ">=1"; NULL matches all. The texts may contain {value},
 * {file}, {port} and {interface}.
 */
struct verdict {
	const char *values;
	enum finding_status status;
	const char *found, *wanted, *command;
};

/* A check of one value. The first verdict whose `values` match applies. */
struct check_value {
	enum value_kind kind;
	const char *file;                         /* may contain {interface} */
	const char *(*text)(const struct host *); /* instead of a file */
	const char *field;                        /* VALUE_KILOBYTES: label before the number */
	const char *name;                         /* name in messages; NULL: the file */
	const char *absent; /* OK text if the folder exists without the file; NULL: a warning */
	bool optional;      /* no finding if it is not readable */
	struct verdict verdicts[4];
};

/* A check. Each file check_*.c ends with a table of them. */
struct check {
	const char *name;
	uint32_t sources;         /* packet sources to which it applies, bits of enum host_source */
	const char *file;         /* file that the check needs; without it, a warning; NULL: none */
	struct check_value value; /* judged before look() and look_at(), which may be NULL */
	check_host_function *look;
	check_port_function *look_at; /* called for each port, instead of look() */
	check_gate *where; /* selects ports; NULL: all ports, or the check is not about ports */
};

extern const struct check run_checks[], memory_checks[], cpu_checks[], time_checks[], card_checks[],
	interface_checks[], forward_checks[], kernel_checks[];

/* Checks under a common title of the report. */
struct check_table {
	const char *title;
	const struct check *checks; /* ends with name NULL */
};

extern const struct check_table check_tables[];

/* Sets the status and the text `found`. */
__attribute__((format(printf, 3, 4))) void finding_set(
	struct finding *finding, enum finding_status status, const char *format, ...);
#define finding_ok(finding, ...)      finding_set(finding, FINDING_OK, __VA_ARGS__)
#define finding_warning(finding, ...) finding_set(finding, FINDING_WARNING, __VA_ARGS__)
#define finding_missing(finding, ...) finding_set(finding, FINDING_MISSING, __VA_ARGS__)

/* Writes a text from offset `at` on. Truncates it if necessary. */
__attribute__((format(printf, 3, 4))) void finding_write(
	char text[HOST_TEXT_MAX], size_t at, const char *format, ...);
/* Appends to the text `found`. */
#define finding_more(finding, ...)                                                                 \
	finding_write((finding)->found, strlen((finding)->found), __VA_ARGS__)
/* Set the texts `wanted` and `command`. */
#define finding_wanted(finding, ...)  finding_write((finding)->wanted, 0, __VA_ARGS__)
#define finding_command(finding, ...) finding_write((finding)->command, 0, __VA_ARGS__)

/*
 * Sets a command that adds a parameter to the kernel command line. The user must reboot after it.
 */
__attribute__((format(printf, 2, 3))) void finding_boot(
	struct finding *finding, const char *format, ...);

/* Sets a warning that `what` could not be read, and why. */
void finding_unseen(struct finding *finding, enum sys_read why, const char *what);
/* If `result` is not SYS_READ, calls finding_unseen() and returns true. */
bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what);

/* Judges a value by its verdicts. port: NULL if the value is not of a port. */
void judge_value(const struct host *host, const struct host_port *port,
	const struct check_value *value, struct finding *finding);

/* Formats a size: "512 MB". Returns text. */
#define HOST_SIZE_MAX 32
char *host_size_text(uint64_t bytes, char text[HOST_SIZE_MAX]);

/* A check_gate: returns true if the port has an existing kernel interface. */
bool host_interface_exists(const struct host *host, const struct host_port *port);
/* Returns true if /proc/cpuinfo lists the CPU feature. */
bool host_cpu_feature(const struct host *host, const char *name);
/* Sets *has if this process has the capability `number` (capabilities(7)). */
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

/* Formats the report for users. Wraps texts at FINDINGS_WIDTH columns, but not commands. */
#define FINDINGS_WIDTH 100
void findings_table(struct text *text, const struct findings *findings);

/* Formats CSV (RFC 4180, LF) with a header: one row per finding. */
#define FINDINGS_CSV_HEADER "check,status,found,wanted,command"
void findings_csv(struct text *text, const struct findings *findings);
