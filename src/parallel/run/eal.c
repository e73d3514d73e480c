/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/run/eal.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>

#include "base/log.h"
#include "base/signals.h"
#include "parallel/process.h"
#include "parallel/run/quick_start.h"
#include "rx/port/driver_loader.h"
#include "rx/port/live_ports.h"

#define EAL_ARGS_MAX 128

struct eal_args {
	int n;
	char *text[EAL_ARGS_MAX + 1];
};

__attribute__((format(printf, 2, 3))) static void add_arg(
	struct eal_args *args, const char *format, ...)
{
	va_list list;

	if (args->n == EAL_ARGS_MAX)
		return;
	va_start(list, format);
	if (vasprintf(&args->text[args->n], format, list) >= 0)
		args->n++;
	va_end(list);
}

static void print_cpus(const struct cpu_set *cpus, FILE *out)
{
	char before = '(';

	for (uint32_t cpu = 0; cpu < CPU_SET_MAX; cpu++)
		if (cpu_set_has(cpus, cpu)) {
			fprintf(out, "%c%u", before, cpu);
			before = ',';
		}
	fprintf(out, ")");
}

/*
 * DPDK's other threads inherit this affinity. They would otherwise use the CPU of the main lcore.
 */
static void keep_to_ordinary_cpus(const struct plan *plan)
{
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	for (uint32_t cpu = 0; cpu < CPU_SET_MAX && cpu < CPU_SETSIZE; cpu++)
		if (cpu_set_has(&plan->ordinary, cpu))
			CPU_SET(cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

static void add_lcores(struct eal_args *args, const struct plan *plan)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (uint32_t i = 0; i < plan->nb_lcores; i++) {
		fprintf(out, "%s%u@", i == 0 ? "" : ",", i);
		if (i == 0 && plan->lcores[i].role == PLAN_REPORTER)
			print_cpus(&plan->ordinary, out);
		else if (plan->lcores[i].cpu < 0)
			print_cpus(&plan->cpus, out);
		else
			fprintf(out, "%d", plan->lcores[i].cpu);
	}
	fclose(out);
	add_arg(args, "--lcores=%s", text);
	free(text);
}

/* Mbufs may grow for --mtu, but their size is known only after EAL has probed the devices. */
static size_t growth_for_mtu(const struct plan *plan, const struct config *config)
{
	uint32_t room = live_ports_mtu_room(config);
	size_t bytes = 0;

	for (uint32_t g = 0; g < plan->nb_groups && room > plan->mbuf_room; g++)
		bytes += (size_t)plan->groups[g].mbufs * (room - plan->mbuf_room);
	return bytes;
}

static bool shares_memory(const struct config *config)
{
	bool shares = false;

	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		shares |=
			port_driver_of_device(port_options(config)->names.texts[p])->shares_memory;
	return shares;
}

static void add_memory(struct eal_args *args, const struct plan *plan, const struct config *config)
{
	const char *arguments = eal_options(config)->arguments;
	/* Too much does no harm: ordinary memory is only address space until it is used. */
	size_t megabytes = ((2 * plan->packet_bytes + growth_for_mtu(plan, config)) >> 20) + 64;

	if (plan->hugepages) {
		add_arg(args, "--in-memory");
		/*
		 * Without --huge-dir, EAL would lock a hugetlbfs directory, even with --in-memory.
		 */
		if (arguments == NULL || strstr(arguments, "--huge-dir") == NULL)
			add_arg(args, "--huge-dir=none");
		if (shares_memory(config))
			add_arg(args, "--single-file-segments"); /* default: one file per page */
		return;
	}
	log_info("ordinary memory: %s", plan->no_hugepages);
	add_arg(args, "--no-huge");
	add_arg(args, "--no-shconf");
	add_arg(args, "-m");
	add_arg(args, "%zu", megabytes);
}

/* Returns true if EAL probes a device at its start. */
static bool add_devices(struct eal_args *args, const struct config *config)
{
	bool any = false;

	for (uint32_t p = 0; p < port_options(config)->names.n; p++)
		if (port_is_pci(port_options(config)->names.texts[p])) {
			add_arg(args, "--allow=%s", port_options(config)->names.texts[p]);
			any = true;
		}
	if (!any) {
		add_arg(args, "--no-pci");
		add_arg(args, "--iova-mode=va");
	}
	return any;
}

static void add_user_args(struct eal_args *args, const char *text)
{
	while (text != NULL && *text != '\0') {
		size_t length = strcspn(text, " \t");

		if (length > 0)
			add_arg(args, "%.*s", (int)length, text);
		text += length + (text[length] != '\0');
	}
}

/* Standard error for on_abort(), while it is redirected to /dev/null. */
static int panic_fd = -1;

/* A panic of EAL calls abort() without a visible message. */
static void on_abort(int number)
{
	static const char line[] =
		"sketchtap: DPDK aborted at its start; --log-level debug shows its messages\n";
	ssize_t written = write(panic_fd, line, sizeof(line) - 1);

	(void)number;
	(void)written;
	_exit(1);
}

/* EAL prints its usage if it rejects an argument. Returns a descriptor of /dev/null, or -1. */
static int silence_begin(int saved[2])
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0)
		return -1;
	fflush(NULL);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		saved[fd - STDOUT_FILENO] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(null, fd);
	}
	panic_fd = saved[1];
	signal(SIGABRT, on_abort);
	return null;
}

static void silence_end(int null, const int saved[2])
{
	signal(SIGABRT, SIG_DFL);
	fflush(NULL);
	for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++) {
		int old = saved[fd - STDOUT_FILENO];

		if (old < 0) { /* the output was closed before */
			close(fd);
			continue;
		}
		dup2(old, fd);
		close(old);
	}
	close(null);
}

/*
 * EAL waits for each new thread in sleeps of 1 us, in which a SCHED_FIFO thread keeps its CPU. A
 * new thread on the same CPU would never run. A SCHED_RR thread gives it up after its time slice.
 */
static void leave_sched_fifo(void)
{
	struct sched_param param;
	int policy = sched_getscheduler(0), flag = policy & SCHED_RESET_ON_FORK;

	if (policy >= 0 && (policy & ~flag) == SCHED_FIFO && sched_getparam(0, &param) == 0)
		sched_setscheduler(0, SCHED_RR | flag, &param);
}

bool eal_start(const struct plan *plan, const struct config *config, char *error)
{
	struct eal_args args = {0};
	char *argv[EAL_ARGS_MAX + 1];
	int result, saved[2] = {-1, -1}, silence;
	bool any_device;

	if (!process_claim(process_options(config)->name, error))
		return false;
	add_arg(&args, "sketchtap");
	add_lcores(&args, plan);
	add_arg(&args, "--main-lcore=0");
	add_arg(&args, "--file-prefix=%s", process_prefix());
	if (process_socket() == NULL)
		add_arg(&args, "--no-telemetry"); /* EAL fails if the path is too long */
	add_memory(&args, plan, config);
	any_device = add_devices(&args, config);
	for (const char *const *arg =
			log_eal_args(log_level_asked(config), log_debug_asked(config));
		*arg != NULL; arg++)
		add_arg(&args, "%s", *arg);
	add_user_args(&args, eal_options(config)->arguments);

	memcpy(argv, args.text, sizeof(argv)); /* EAL reorders its arguments */
	silence = log_debug_asked(config) ? -1 : silence_begin(saved);
	keep_to_ordinary_cpus(plan);
	leave_sched_fifo();
	signals_block(); /* lcore threads inherit the signal mask */
	/* The user's arguments may need any driver. */
	quick_start_begin(any_device || eal_options(config)->arguments != NULL);
	result = rte_eal_init(args.n, argv);
	quick_start_end();
	driver_loader_mempools();
	signals_unblock();
	if (silence >= 0)
		silence_end(silence, saved);
	if (result < 0)
		snprintf(error, EAL_ERROR_MAX,
			"cannot start DPDK: %s%s%s; --log-level debug shows its messages%s",
			rte_strerror(rte_errno),
			eal_options(config)->arguments != NULL ? " with --eal " : "",
			eal_options(config)->arguments != NULL ? eal_options(config)->arguments
							       : "",
			hugepages_options(config)->no_huge ? ""
							   : ", --no-huge runs without hugepages");
	for (int i = 0; i < args.n; i++)
		free(args.text[i]);
	if (result >= 0 && process_socket() != NULL)
		process_keep_socket_private();
	return result >= 0;
}

void eal_stop(void)
{
	rte_eal_cleanup();
}

/* Rejects arguments that sketchtap sets itself, or that end the process. */
static bool check_eal(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	static const char *const owned[] = {"-h", "--help", "-v", "--version", "-l", "-c", "-s",
		"-S", "--lcores", "--main-lcore", "--proc-type", "--file-prefix", "-m", "--no-huge",
		"--in-memory", NULL};

	for (const char *word = eal_options(config)->arguments; word != NULL && *word != '\0';) {
		size_t length = strcspn(word, " \t"), name = strcspn(word, "= \t");

		for (const char *const *row = owned; *row != NULL; row++) {
			bool is_short = (*row)[1] != '-';

			/* The value can follow without a space, such as "-m512". */
			if (is_short ? length >= 2 && strncmp(word, *row, 2) == 0
				     : strlen(*row) == name && strncmp(word, *row, name) == 0)
				return option_fault(fault, "eal", measurement,
					"%.*s: not allowed; use the option of sketchtap",
					(int)length, word);
		}
		word += length + (word[length] != '\0');
	}
	return true;
}

static const struct option_row eal_rows[] = {
	{
		.name = "eal",
		.placeholder = "ARGS",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_STRING,
		.rare = true,
		OPTION_FIELD(eal_options, arguments),
		.help = "Pass these arguments to the EAL of DPDK, separated by spaces.",
	},
	{0},
};

const struct option_owner eal_owner = {
	.rows = eal_rows,
	.size = sizeof(struct eal_options),
	.check = check_eal,
};

#define LEVEL_DEBUG (LOG_LEVEL_INFO + 1) /* LOG_LEVEL_INFO, and DPDK also logs */

static bool log_debug_level(const struct config *config)
{
	return (uint32_t)log_options(config)->level >= LEVEL_DEBUG;
}

enum log_level log_level_asked(const struct config *config)
{
	return log_debug_level(config) ? LOG_LEVEL_INFO : log_options(config)->level;
}

bool log_debug_asked(const struct config *config)
{
	return log_options(config)->verbose || log_debug_level(config);
}

OPTION_WORDS_OF(level_word, [LOG_LEVEL_ERROR] = "error", [LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_NOTICE] = "notice", [LOG_LEVEL_INFO] = "info", [LEVEL_DEBUG] = "debug")

static const char *inapplicable_without_silence(
	const struct config *config, const struct measurement_config *measurement)
{
	(void)measurement;
	return log_options(config)->verbose && !log_debug_level(config) ? "with --log-level debug"
									: NULL;
}

static const struct option_row log_rows[] = {
	{
		.name = "log-level",
		.placeholder = "LEVEL",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_CHOICE,
		.rare = true,
		.inapplicable = inapplicable_without_silence,
		.word = level_word,
		OPTION_FIELD(log_options, level),
		.default_text = "notice",
		.help = "Log messages of LEVEL and above: error, warning, notice, info, debug. "
			"debug also logs messages of DPDK.",
	},
	{
		.name = "verbose",
		.group = OPTION_GROUP_HOST,
		.type = OPTION_FLAG,
		OPTION_FIELD(log_options, verbose),
		.hidden = true,
		.help = "Log everything, including messages of DPDK.",
	},
	{0},
};

const struct option_owner log_owner = {
	.rows = log_rows,
	.size = sizeof(struct log_options),
};
