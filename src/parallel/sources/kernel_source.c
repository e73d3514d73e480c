/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Source of a run with an eBPF program (--kernel), which writes the key of each packet to the ring
 * of its CPU, or its first bytes if it cannot parse the packet. With N workers, each reads the
 * rings of every N-th CPU.
 *
 * Entries belong to the epoch that was open before the worker read the ring (parallel/epoch.h).
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/units.h"
#include "parallel/sources/kernel_plan.h"
#include "parallel/sources/kernel_take.h"
#include "parallel/sources/sources.h"
#include "rx/filter/filter.h"
#include "rx/port/clock.h"
#include "rx/port/device_counter.h"
#include "rx/port/interface.h"
#include "rx/port/kernel_interface.h"
#include "sketch/measurement.h"

#define LOOK_EVERY_NS (SECOND_NS / 2)

#define FRAME_OVERHEAD 22 /* bytes of an Ethernet header with two tags */

struct watched {
	struct attach_point place;
	uint32_t index;
	uint32_t mtu;
	bool up, gone;
	struct device_counter missed, errors;
	uint64_t missed_told, errors_told;
};

struct kernel_source {
	struct source_params params;
	struct kernel_origin origin;
	uint32_t nb_watched;
	struct watched watched[OPTION_LIST_MAX];
	int64_t looked; /* monotonic ns of the last check */
	uint32_t nb_takers;
	struct kernel_taker *takers; /* indexed by worker */
};

static bool create_takers(struct kernel_source *input, char *error)
{
	uint32_t rings = kernel_program_rings(input->origin.program), n = input->params.nb_workers;

	if (n > rings) {
		snprintf(error, KERNEL_ERROR_MAX,
			"--workers %u: --kernel uses one ring per CPU, and this "
			"machine has %u CPUs; give %u or fewer",
			n, rings, rings);
		return false;
	}
	input->takers = calloc(n, sizeof(input->takers[0]));
	input->nb_takers = input->takers != NULL ? n : 0;
	for (uint32_t w = 0; w < n; w++)
		if (input->takers == NULL || !kernel_taker_start(&input->takers[w], &input->origin,
						     input->params.workers[w], n)) {
			snprintf(error, KERNEL_ERROR_MAX, "--kernel: out of memory");
			return false;
		}
	return true;
}

static void watch(struct watched *watched)
{
	struct kernel_interface counters = {0};
	struct port_interface facts;

	if (port_interface_read(watched->place.interface, &facts))
		watched->mtu = facts.mtu;
	watched->up =
		kernel_interface_read(watched->index, &counters) == KERNEL_THERE && counters.up;
	device_counter_start(&watched->missed, 64, false, counters.rx_missed_errors);
	device_counter_start(&watched->errors, 64, false, counters.rx_errors);
	if (!watched->up)
		log_warning("%s: its link is down: no packets until it is up",
			watched->place.interface);
}

/* A loopback interface receives all packets that it sends, so they would count twice. */
static void look_once(struct attach_point *point)
{
	struct port_interface facts;

	if ((point->directions & KERNEL_IN) != 0 && port_interface_read(point->interface, &facts) &&
		facts.loops)
		point->directions = KERNEL_IN;
}

static bool attach(struct kernel_source *input, char *error)
{
	const struct option_list *places = &kernel_options(input->params.config)->places;
	char why[OPTION_WHY_MAX];

	for (uint32_t i = 0; i < places->n; i++) {
		struct watched *watched = &input->watched[i];

		/* check_kernel() has already parsed the text */
		attach_point_parse(places->texts[i], &watched->place, why);
		look_once(&watched->place);
		if (!kernel_program_attach(
			    input->origin.program, &watched->place, &watched->index, error))
			return false;
		input->origin.interfaces[input->nb_watched++] = watched->index;
		input->origin.nb_interfaces = input->nb_watched;
		watch(watched);
	}
	return true;
}

static void log_libbpf(const char *line)
{
	log_info("--kernel: %s", line);
}

static enum kernel_times stamps_of(const struct config *config)
{
	switch (clock_options(config)->timestamps) {
	case TIMESTAMPS_AUTO: return KERNEL_TIMES_EXACT;
	case TIMESTAMPS_POLL: return KERNEL_TIMES_NONE;
	case TIMESTAMPS_COARSE: break;
	}
	return KERNEL_TIMES_COARSE;
}

/* KERNEL_PREFIX_* bits of the addresses that must match --prefixes; 0: without --prefixes. */
static uint32_t prefix_of(const struct config *config)
{
	static const uint32_t bits[] = {
		[PREFIX_DST] = KERNEL_PREFIX_DST,
		[PREFIX_SRC] = KERNEL_PREFIX_SRC,
		[PREFIX_EITHER] = KERNEL_PREFIX_DST | KERNEL_PREFIX_SRC,
	};
	const struct prefix_options *options = prefix_options(config);

	return options->file != NULL ? bits[options->side] : 0;
}

static void kernel_source_destroy(void *source)
{
	struct kernel_source *input = source;

	kernel_program_close(input->origin.program);
	for (uint32_t w = 0; w < input->nb_takers; w++)
		kernel_taker_free(&input->takers[w]);
	free(input->takers);
	free(input);
}

static void *kernel_source_create(const struct source_params *params, char *error)
{
	struct kernel_source *input = calloc(1, sizeof(*input));
	const struct kernel_plan plan = kernel_plan_make(params->config);
	const struct kernel_program_params program = {
		.slots = plan.entries,
		.buckets = plan.buckets,
		.all_share = plan.all_share,
		.sketch = plan.sketch,
		.width = plan.width,
		.tcp_flags = plan.tcp_flags,
		.seed = seed_options(params->config)->seed,
		.headers_only = plan.headers,
		.monitor = prefix_of(params->config),
		.log = log_libbpf,
	};

	if (input == NULL) {
		snprintf(error, KERNEL_ERROR_MAX, "--kernel: out of memory");
		return NULL;
	}
	input->params = *params;
	input->origin.entries = plan.entries;
	input->origin.on_path = plan.on_path;
	input->origin.stamps = stamps_of(params->config);
	input->origin.program = kernel_program_load(&program, error);
	if (input->origin.program != NULL && create_takers(input, error) && attach(input, error))
		return input;
	kernel_source_destroy(input);
	return NULL;
}

static void kernel_source_start(void *source)
{
	struct kernel_source *input = source;

	if (measurements_any(input->params.config, SKETCH_DETAILS))
		kernel_program_stamp(input->origin.program, input->origin.stamps);
	kernel_program_measure(input->origin.program, true);
}

static void kernel_source_stop(void *source)
{
	struct kernel_source *input = source;

	kernel_program_measure(input->origin.program, false);
}

static uint64_t kernel_source_received(const void *source)
{
	const struct kernel_source *input = source;
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < kernel_program_rings(input->origin.program); cpu++)
		sum += kernel_ring_received(kernel_program_ring(input->origin.program, cpu));
	return sum;
}

static uint64_t kernel_source_difference(const void *source)
{
	const struct kernel_source *input = source;
	uint64_t in = kernel_source_received(input), taken = 0;

	for (uint32_t w = 0; w < input->nb_takers; w++)
		taken += input->takers[w].taken;
	return in > taken ? in - taken : taken - in;
}

static size_t kernel_source_rules_bytes(const struct prefix_list *rules)
{
	return kernel_prefix_maps_bytes(rules);
}

static void *kernel_source_rules_create(const struct prefix_list *rules, char *error)
{
	_Static_assert(PREFIX_ERROR_MAX <= SOURCE_ERROR_MAX, "each line fits in `error`");
	return kernel_prefix_maps_create(rules, error);
}

static void kernel_source_rules_use(void *source, uint64_t epoch, const void *rules)
{
	struct kernel_source *input = source;

	kernel_program_rules(input->origin.program, epoch, rules);
}

static void kernel_source_rules_destroy(void *rules)
{
	kernel_prefix_maps_destroy(rules);
}

/* Ignores an interface of which only outgoing packets are measured. */
static void read_counters(struct watched *watched, struct source_losses *losses)
{
	struct kernel_interface counters;

	if (watched->gone || (watched->place.directions & KERNEL_IN) == 0 ||
		kernel_interface_read(watched->index, &counters) != KERNEL_THERE)
		return;
	device_counter_read(&watched->missed, counters.rx_missed_errors);
	device_counter_read(&watched->errors, counters.rx_errors);
	losses->missed += watched->missed.total - watched->missed_told;
	losses->errors += watched->errors.total - watched->errors_told;
	watched->missed_told = watched->missed.total;
	watched->errors_told = watched->errors.total;
}

static struct source_losses kernel_source_losses(void *source)
{
	struct kernel_source *input = source;
	struct source_losses sum = {0};

	for (uint32_t i = 0; i < input->nb_watched; i++) {
		struct watched *watched = &input->watched[i];

		read_counters(watched, &sum);
		if (watched->mtu + FRAME_OVERHEAD > sum.largest_frame)
			sum.largest_frame = watched->mtu + FRAME_OVERHEAD;
	}
	return sum;
}

static void log_link(const struct watched *watched, bool up, uint64_t epoch)
{
	if (up)
		log_notice("interval %llu: %s: link up", (unsigned long long)epoch,
			watched->place.interface);
	else
		log_warning("interval %llu: %s: link down", (unsigned long long)epoch,
			watched->place.interface);
}

/* Returns false if the interface was removed. */
static bool update_link(struct watched *watched, uint64_t epoch)
{
	struct kernel_interface counters;

	switch (kernel_interface_read(watched->index, &counters)) {
	case KERNEL_UNSAID: break;
	case KERNEL_GONE:
		watched->gone = true;
		log_error("--kernel %s: interface removed in interval %llu: the run ends",
			watched->place.interface, (unsigned long long)epoch);
		return false;
	case KERNEL_THERE:
		if (counters.up != watched->up)
			log_link(watched, counters.up, epoch);
		watched->up = counters.up;
	}
	return true;
}

static bool kernel_source_look(void *source, int64_t now, uint64_t epoch)
{
	struct kernel_source *input = source;
	bool all_there = true;

	if (now - input->looked < LOOK_EVERY_NS)
		return true;
	input->looked = now;
	for (uint32_t i = 0; i < input->nb_watched; i++)
		if (!input->watched[i].gone)
			all_there &= update_link(&input->watched[i], epoch);
	return all_there;
}

static const struct source_ops kernel_ops = {
	.create = kernel_source_create,
	.destroy = kernel_source_destroy,
	.rules_bytes = kernel_source_rules_bytes,
	.rules_create = kernel_source_rules_create,
	.rules_use = kernel_source_rules_use,
	.rules_destroy = kernel_source_rules_destroy,
	.start = kernel_source_start,
	.stop = kernel_source_stop,
	.look = kernel_source_look,
	.received = kernel_source_received,
	.losses = kernel_source_losses,
	.difference = kernel_source_difference,
	.takes = kernel_plan_takes,
};

static bool check_kernel(const struct config *config, const struct measurement_config *measurement,
	struct option_fault *fault)
{
	const struct option_list *list = &kernel_options(config)->places;
	struct attach_point places[OPTION_LIST_MAX];
	char why[OPTION_WHY_MAX];

	for (uint32_t i = 0; i < list->n; i++) {
		if (!attach_point_parse(list->texts[i], &places[i], why))
			return option_fault(fault, "kernel", measurement, "'%.60s': %.220s",
				list->texts[i], why);
		for (uint32_t j = 0; j < i; j++)
			if (strcmp(places[i].interface, places[j].interface) == 0 &&
				(places[i].directions & places[j].directions) != 0)
				return option_fault(fault, "kernel", measurement,
					"'%.60s' measures the same packets as '%.60s': they would "
					"count twice; omit one",
					list->texts[i], list->texts[j]);
	}
	return true;
}

extern const struct source_traits source_kernel;

static const struct option_row kernel_rows[] = {
	{
		.name = "kernel",
		.placeholder = "IFACE[,hook=tc|xdp][,direction=both|in|out]",
		.type = OPTION_LIST,
		OPTION_FIELD(kernel_options, places),
		SOURCE_OPTION(source_kernel),
		.help = "Measure an interface with an eBPF program. Packets continue unchanged. "
			"hook=tc: both directions, or the one of direction. hook=xdp: incoming "
			"packets, before the network stack. Repeatable.",
	},
	{0},
};

const struct option_owner kernel_owner = {
	.rows = kernel_rows,
	.size = sizeof(struct kernel_options),
	.check = check_kernel,
};

const struct source_traits source_kernel = {
	.selected.is = SOURCE_OF_ITSELF | SOURCE_KEYS,
	.options = &kernel_owner,
	.pacer = "the kernel sets the pace",
	.no_packets = "needs packets, and --kernel passes only keys; omit one",
	.header_bytes = KERNEL_HEADERS_MAX,
	.own_rings = true,
	.coarse_times = true,
	.host = HOST_PROGRAM,
	.check_design = kernel_plan_check,
	.plan = kernel_plan_source,
	.ops = &kernel_ops,
};
