/* SPDX-License-Identifier: BSD-3-Clause */
#include "report/sinks/kafka_properties.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define VALUE_MAX 4096 /* bytes of the first line of a file */

static const char of_file[] = ".file";

struct property {
	char name[KAFKA_PROPERTY_MAX]; /* name in librdkafka */
	const char *value;             /* value, or file with the value */
	bool in_file;
};

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len > end_len && strcmp(text + len - end_len, end) == 0;
}

/* Parses NAME=VALUE or NAME.file=FILE. */
static struct property property_of(const char *text)
{
	size_t len = strcspn(text, "=");
	struct property property = {.value = text + len + 1};

	snprintf(property.name, sizeof(property.name), "%.*s", (int)len, text);
	property.in_file = ends_with(property.name, of_file);
	if (property.in_file)
		property.name[strlen(property.name) - strlen(of_file)] = '\0';
	return property;
}

/* Returns true if the value must not be in the configuration file, which may be printed. */
static bool is_secret(const char *name)
{
	return strstr(name, "password") != NULL || strstr(name, "secret") != NULL;
}

static bool is_of_url(const char *name)
{
	return strcmp(name, "bootstrap.servers") == 0 || strcmp(name, "metadata.broker.list") == 0;
}

static bool check_property(
	rd_kafka_conf_t *conf, const struct property *property, char why[KAFKA_WHY_MAX])
{
	/* The value is in a file: checks only the name. */
	rd_kafka_conf_res_t result = rd_kafka_conf_set(
		conf, property->name, property->in_file ? "" : property->value, why, KAFKA_WHY_MAX);

	if (is_of_url(property->name))
		snprintf(why, KAFKA_WHY_MAX, "the URL contains the brokers; omit it");
	else if (strcmp(property->name, "delivery.report.only.error") == 0)
		snprintf(why, KAFKA_WHY_MAX, "hides acknowledgements; omit it");
	else if (result == RD_KAFKA_CONF_UNKNOWN)
		snprintf(why, KAFKA_WHY_MAX, "not a property of librdkafka %s",
			rd_kafka_version_str());
	else if (property->in_file && *property->value == '\0')
		snprintf(why, KAFKA_WHY_MAX, "no file name");
	else if (ends_with(property->name, "key.pem"))
		snprintf(why, KAFKA_WHY_MAX,
			"a secret of several lines; write kafka.ssl.key.location = FILE");
	else if (!property->in_file && is_secret(property->name))
		snprintf(why, KAFKA_WHY_MAX,
			"a secret; write kafka.%s.file = FILE, with the secret in the first line "
			"of FILE",
			property->name);
	else
		return property->in_file || result == RD_KAFKA_CONF_OK;
	return false;
}

bool kafka_properties_check(const struct option_properties *properties,
	char key[KAFKA_PROPERTY_MAX], char why[KAFKA_WHY_MAX])
{
	rd_kafka_conf_t *conf = rd_kafka_conf_new();
	bool good = true;

	for (uint32_t p = 0; p < properties->n && good; p++) {
		const char *text = properties->texts[p];
		struct property property = property_of(text);

		snprintf(key, KAFKA_PROPERTY_MAX, "%.*s", (int)strcspn(text, "="), text);
		good = check_property(conf, &property, why);
	}
	rd_kafka_conf_destroy(conf);
	return good;
}

static bool read_first_line(const char *path, char value[VALUE_MAX], char why[KAFKA_WHY_MAX])
{
	FILE *stream = fopen(path, "re");
	bool read = stream != NULL && fgets(value, VALUE_MAX, stream) != NULL;

	if (!read)
		snprintf(why, KAFKA_WHY_MAX, "%.150s: %s", path,
			stream == NULL || ferror(stream) ? strerror(errno) : "empty");
	if (stream != NULL)
		fclose(stream);
	if (read)
		value[strcspn(value, "\r\n")] = '\0';
	return read;
}

int kafka_properties_set(
	const struct option_properties *properties, rd_kafka_conf_t *conf, char why[KAFKA_WHY_MAX])
{
	char value[VALUE_MAX];
	int status = 0;

	for (uint32_t p = 0; p < properties->n && status == 0; p++) {
		struct property property = property_of(properties->texts[p]);

		if (property.in_file && !read_first_line(property.value, value, why))
			status = 1;
		else if (rd_kafka_conf_set(conf, property.name,
				 property.in_file ? value : property.value, why,
				 KAFKA_WHY_MAX) != RD_KAFKA_CONF_OK)
			status = 2;
	}
	explicit_bzero(value, sizeof(value));
	return status;
}
