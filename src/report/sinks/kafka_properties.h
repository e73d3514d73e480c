/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of librdkafka in a section [export NAME]: kafka.NAME = VALUE, or kafka.NAME.file =
 * FILE for a secret, which is the first line of FILE.
 */

#include <stdbool.h>

#include <librdkafka/rdkafka.h>

#include "config/option.h"

#define KAFKA_PROPERTY_MAX 128 /* bytes of a name */
#define KAFKA_WHY_MAX      256

/*
 * Returns true if librdkafka accepts the properties; does not read files. Else stores the wrong
 * name in key, as in the section, and a phrase in why.
 */
bool kafka_properties_check(const struct option_properties *properties,
	char key[KAFKA_PROPERTY_MAX], char why[KAFKA_WHY_MAX]);

/*
 * Sets the properties. Returns 0, or the exit status with a sentence in why. 1: a file cannot be
 * read.
 */
int kafka_properties_set(
	const struct option_properties *properties, rd_kafka_conf_t *conf, char why[KAFKA_WHY_MAX]);
