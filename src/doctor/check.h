/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * What the doctor looks at, and what it finds. A check is a pure function of a struct host: of the
 * files below its root, and of the few facts in it that only system calls tell.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/sys_file.h"
#include "parallel/plan/cpu_set.h"
#include "parallel/plan/topology.h"
#include "rx/port/interface.h"

#define HOST_NODES_MAX    TOPOLOGY_NODES_MAX
#define HOST_WARNINGS_MAX 16
#define HOST_TEXT_MAX     768
#define HOST_NAME_MAX     64
#define HOST_ADDRESS_MAX  16 /* 0000:3b:00.0 */

/* What a run reads from; bits. Checks say which of them they are for. */
enum host_source {
	HOST_CARD = 1 << 0,    /* a PCI device */
	HOST_KERNEL = 1 << 1,  /* an interface of the kernel, through af_packet or af_xdp */
	HOST_VIRTUAL = 1 << 2, /* any other device that DPDK makes */
	HOST_REPLAY = 1 << 3,  /* a capture or the generator */
	HOST_UNNAMED = 1 << 4, /* some port: no source was given */
	HOST_SOCKETS = 1 << 5, /* datagrams of exporters */
	HOST_PROGRAM = 1 << 6, /* an interface of the kernel, by a program in it */
};
#define HOST_LIVE (HOST_CARD | HOST_KERNEL | HOST_VIRTUAL | HOST_UNNAMED)
#define HOST_ANY  (HOST_LIVE | HOST_REPLAY | HOST_SOCKETS | HOST_PROGRAM)

struct host_port {
	enum host_source source;
	char name[HOST_NAME_MAX];       /* as given, without DEVARGS; printable */
	char address[HOST_ADDRESS_MAX]; /* of a card, with its domain; else empty */
	char interface[IFNAMSIZ];       /* of the kernel; else empty */
	char driver[HOST_NAME_MAX];     /* DPDK's, of what is not a card: "net_af_packet" */
	bool sends;                     /* what is sent on it goes somewhere */
	bool unknown; /* neither a device of DPDK's making nor an interface is called so */
	struct port_interface settings; /* of the interface */
};

/* What the planned run asks of the host. */
struct host_needs {
	uint32_t sources;           /* bits of enum host_source */
	struct cpu_set polling;     /* CPUs whose lcores poll; where they float, all of them */
	uint32_t nb_polling;        /* lcores that poll */
	bool floating;              /* they have no CPUs of their own */
	bool forwards;              /* what comes in by ports leaves by ports */
	bool queue_fill;            /* workers go by how full queues of ports are */
	bool huge;                  /* hugepages are asked for */
	const char *huge_directory; /* --huge-dir of --eal; NULL: none */
	/* Bytes of hugepages that must be free on each node, and wherever they are. */
	uint64_t huge_bytes[HOST_NODES_MAX], huge_anywhere;
	/* Bytes of ordinary memory on each node, and wherever it is. */
	uint64_t ordinary_bytes[HOST_NODES_MAX], ordinary_anywhere;
	uint64_t receive_buffer; /* bytes, of each socket */
	uint16_t lowest_port;    /* of the sockets */
	const char *open_listen; /* --listen that any host may send to; NULL: none */
	const char *templates;   /* the file that keeps them; NULL: none */
	uint32_t nb_captures;    /* files that are measured */
	uint32_t nb_warnings;    /* of the plan */
	const char *warnings[HOST_WARNINGS_MAX];
};

/* What no file tells. */
struct host_calls {
	const char *dpdk_version, *libpcap_version;
	const char *kernel_missing;    /* why there is no program for --kernel; NULL: there is */
	const char *runtime_directory; /* below which EAL makes its own */
	bool clock_known, clock_synchronised;
	int64_t clock_error_us; /* at most */
	int templates_error;    /* why their file cannot be written: errno; or 0 */
	const char *capture;    /* the first of them that cannot be read; NULL: none */
	int capture_error;      /* why not: errno */
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
	FINDING_NONE, /* the check does not apply after all: no line */
	FINDING_OK,
	FINDING_WARNING, /* costs speed, packets or certainty */
	FINDING_MISSING, /* the run as asked would not start, or would not measure what is asked */
};

struct check;

struct finding {
	const char *title; /* of the check's subject */
	const struct check *check;
	enum finding_status status;
	char found[HOST_TEXT_MAX];
	char wanted[HOST_TEXT_MAX];  /* and why, where status is not FINDING_OK */
	char command[HOST_TEXT_MAX]; /* that mends it; empty where no command does */
};

typedef void check_host_function(const struct host *host, struct finding *finding);
typedef void check_port_function(
	const struct host *host, const struct host_port *port, struct finding *finding);
/* Whether a check of a port has anything to look at. */
typedef bool check_gate(const struct host *host, const struct host_port *port);

/* A number in /proc/sys/kernel, and what it should be. */
struct sysctl {
	const char *name;
	int64_t least, most; /* that are right */
	int64_t set;         /* by the command */
	const char *none, *right, *wrong, *wanted;
	bool show; /* the number behind what was found */
};

/* One row of its subject's table, which stands at the end of the subject's file. */
struct check {
	const char *name;
	uint32_t sources;     /* that it is for */
	const char *file;     /* without which there is nothing to look at; NULL: none */
	struct sysctl sysctl; /* judged first; where it says all, there is no function */
	check_host_function *look;
	check_port_function *look_at; /* each port, in place of look */
	check_gate *where;            /* looks only at such ports; NULL: at all */
};

extern const struct check run_checks[], memory_checks[], cpu_checks[], time_checks[], card_checks[],
	interface_checks[], forward_checks[], kernel_checks[];

/* The subjects, in the order in which they are printed. */
struct check_table {
	const char *title;
	const struct check *checks; /* up to one without a name */
};

extern const struct check_table check_tables[];

#define FINDING_PRINTF __attribute__((format(printf, 2, 3)))

/* Set the status, and say what was found; nothing that was said before is left. */
FINDING_PRINTF void finding_ok(struct finding *finding, const char *format, ...);
FINDING_PRINTF void finding_warning(struct finding *finding, const char *format, ...);
FINDING_PRINTF void finding_missing(struct finding *finding, const char *format, ...);
/* Go on with what was found. */
FINDING_PRINTF void finding_more(struct finding *finding, const char *format, ...);
/* Say what should be, and what mends it. */
FINDING_PRINTF void finding_wanted(struct finding *finding, const char *format, ...);
FINDING_PRINTF void finding_command(struct finding *finding, const char *format, ...);

/* Have the command add a parameter to the kernel's command line; it takes a new start. */
FINDING_PRINTF void finding_boot(struct finding *finding, const char *format, ...);

/* A warning that the fact could not be seen, and why; never "ok". */
void finding_unseen(struct finding *finding, enum sys_read why, const char *what);
/* The same, and true, unless it was read. */
bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what);

void judge_sysctl(const struct host *host, const struct sysctl *sysctl, struct finding *finding);

/* Memory for a person: "512 MB". */
#define HOST_SIZE_MAX 32
char *host_size_text(uint64_t bytes, char text[HOST_SIZE_MAX]);

/* Whether a word stands among the CPU's features in /proc/cpuinfo. */
bool host_cpu_feature(const struct host *host, const char *name);
/* Whether this process has the capability of that number (CAP_NET_RAW is 13). */
enum sys_read host_capability(const struct host *host, uint32_t number, bool *has);
/* NUMA nodes that the kernel shows; 1 where it shows none. */
uint32_t host_nb_nodes(const struct host *host);
/* "2-5,8", or "none"; cut with "..." where text[size] is too small. Returns text. */
char *host_cpus_text(const struct cpu_set *cpus, char *text, size_t size);
/* The driver of a port's card: its name; false where none is bound. */
bool host_card_driver(
	const struct host *host, const struct host_port *port, char name[HOST_NAME_MAX]);
