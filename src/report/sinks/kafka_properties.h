/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Properties of librdkafka as a section of a place says them: kafka.NAME = VALUE; and
 * kafka.NAME.file = FILE for a value that is a secret, which is a file's first line.
 */

#include <stdbool.h>

#include <librdkafka/rdkafka.h>

#include "config/option.h"

#define KAFKA_PROPERTY_MAX 128 /* bytes of a name */
#define KAFKA_WHY_MAX      256

/*
 * Whether librdkafka knows them, and takes what stands there; files are not looked at. False with
 * the name at fault, as it stands in the section, in key, and a phrase in why.
 */
bool kafka_properties_check(const struct option_properties *properties,
	char key[KAFKA_PROPERTY_MAX], char why[KAFKA_WHY_MAX]);

/* Sets them. Returns 0, or with a sentence in why the exit status: 1 of a file that cannot be read. */
int kafka_properties_set(
	const struct option_properties *properties, rd_kafka_conf_t *conf, char why[KAFKA_WHY_MAX]);
