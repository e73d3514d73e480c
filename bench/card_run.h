/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Runs the whole packet pipeline with simulated NICs (bench/card.h), and without a reporter. */

#include "tune/measure/pipeline.h"

/* n packets of a burst take n packet_ns, and burst_ns more. */
struct burst_cost {
	double packet_ns, burst_ns;
};

/* A step of processing: mean packets per burst, and ns per packet. */
struct card_step {
	double burst, ns;
};

struct card_sample {
	double offered_pps, measured_pps;
	double drop_rate; /* share of the offered packets */
	double ring_drop; /* async: share of the received packets that found the ring full */
	double rx_ns, count_ns, free_ns, delay_ns; /* per packet, without dma_ns */
	double dma_ns; /* time of writing headers, which a NIC does itself */
	/* The steps that the model of the design needs (bench/design_model.h). */
	struct card_step poll; /* polling; async: and passing to the rings */
	struct card_step work; /* parsing, counting and freeing; async: and reading the ring */
	double interrupted;    /* share of the time in which another program had a CPU */
	double handover_ns;    /* sync: per poll, more than the slowest worker works */
};

/*
 * Like pipeline_run(), which uses a generator. `workers` and a receiver need a CPU each. Returns
 * false with a line in error[LOAD_GENERATOR_ERROR_MAX].
 */
bool card_run(const struct pipeline_setting *setting, const struct config *from,
	const struct topology *topology, const uint32_t *cpus, uint32_t nb_cpus,
	uint32_t milliseconds, struct card_sample *sample, char *error);

/* Threads that poll. */
uint32_t card_threads(const struct pipeline_setting *setting);
