/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/sources/kernel_source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/units.h"
#include "parallel/sources/kernel_take.h"
#include "rx/filter/filter.h"
#include "rx/port/clock.h"
#include "rx/port/device_counter.h"
#include "rx/port/interface.h"
#include "rx/port/kernel_interface.h"
#include "sketch/measurement.h"

#define LOOK_EVERY_NS (SECOND_NS / 2)

#define FRAME_OVERHEAD 22 /* bytes of an Ethernet header with two tags */

/* An interface and its counters. */
struct watched {
	struct attach_point place;
	uint32_t index;
	uint32_t mtu;
	bool up, gone;
	struct device_counter missed, errors;
	uint64_t missed_told, errors_told;
};

struct kernel_source {
	struct kernel_source_params params;
	struct kernel_origin origin;
	uint32_t nb_watched;
	struct watched watched[OPTION_LIST_MAX];
	int64_t looked; /* monotonic ns of the last check */
	uint32_t nb_takers;
	struct kernel_taker *takers; /* indexed by worker */
};

/* --- setup --- */

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

/* Packets sent on lo are also received there: attach to one direction only, to count each once. */
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

		attach_point_parse(places->texts[i], &watched->place,
			why); /* checked when options were read */
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

/* Returns the match mode of prefixes; 0 without --prefixes. */
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

struct kernel_source *kernel_source_create(const struct kernel_source_params *params, char *error)
{
	struct kernel_source *input = calloc(1, sizeof(*input));
	const struct kernel_program_params program = {
		.slots = params->plan->kernel.entries,
		.buckets = params->plan->kernel.buckets,
		.all_share = params->plan->kernel.all_share,
		.sketch = params->plan->kernel.sketch,
		.width = params->plan->kernel.width,
		.seed = seed_options(params->config)->seed,
		.headers_only = params->plan->kernel.headers,
		.monitor = prefix_of(params->config),
		.log = log_libbpf,
	};

	if (input == NULL) {
		snprintf(error, KERNEL_ERROR_MAX, "--kernel: out of memory");
		return NULL;
	}
	input->params = *params;
	input->origin.entries = params->plan->kernel.entries;
	input->origin.on_path = params->plan->kernel.on_path;
	input->origin.stamps = stamps_of(params->config);
	input->origin.program = kernel_program_load(&program, error);
	if (input->origin.program != NULL && create_takers(input, error) && attach(input, error))
		return input;
	kernel_source_destroy(input);
	return NULL;
}

void kernel_source_destroy(struct kernel_source *input)
{
	if (input == NULL)
		return;
	kernel_program_close(input->origin.program);
	for (uint32_t w = 0; w < input->nb_takers; w++)
		kernel_taker_free(&input->takers[w]);
	free(input->takers);
	free(input);
}

const struct kernel_program *kernel_source_program(const struct kernel_source *input)
{
	return input->origin.program;
}

void kernel_source_start(struct kernel_source *input)
{
	if (measurements_any(input->params.config, SKETCH_DETAILS))
		kernel_program_stamp(input->origin.program, input->origin.stamps);
	kernel_program_measure(input->origin.program, true);
}

void kernel_source_stop(struct kernel_source *input)
{
	kernel_program_measure(input->origin.program, false);
}

uint64_t kernel_source_received(const struct kernel_source *input)
{
	uint64_t received = 0;

	for (uint32_t cpu = 0; cpu < kernel_program_rings(input->origin.program); cpu++)
		received += kernel_ring_received(kernel_program_ring(input->origin.program, cpu));
	return received;
}

uint64_t kernel_source_difference(const struct kernel_source *input)
{
	uint64_t received = kernel_source_received(input), taken = 0;

	for (uint32_t w = 0; w < input->nb_takers; w++)
		taken += input->takers[w].taken;
	return received > taken ? received - taken : taken - received;
}

/* --- interfaces --- */

/* Adds the losses of an interface, unless only its sent packets are measured. */
static void read_counters(struct watched *watched, struct kernel_losses *losses)
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

struct kernel_losses kernel_source_losses(struct kernel_source *input)
{
	struct kernel_losses losses = {0};

	for (uint32_t i = 0; i < input->nb_watched; i++) {
		struct watched *watched = &input->watched[i];

		read_counters(watched, &losses);
		if (watched->mtu + FRAME_OVERHEAD > losses.largest_frame)
			losses.largest_frame = watched->mtu + FRAME_OVERHEAD;
	}
	return losses;
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

bool kernel_source_look(struct kernel_source *input, int64_t now, uint64_t epoch)
{
	bool all_there = true;

	if (now - input->looked < LOOK_EVERY_NS)
		return true;
	input->looked = now;
	for (uint32_t i = 0; i < input->nb_watched; i++)
		if (!input->watched[i].gone)
			all_there &= update_link(&input->watched[i], epoch);
	return all_there;
}
