/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Appends; truncates at HOST_TEXT_MAX. */
__attribute__((format(printf, 2, 0))) static void add(
	char text[HOST_TEXT_MAX], const char *format, va_list args)
{
	size_t used = strlen(text);

	vsnprintf(text + used, HOST_TEXT_MAX - used, format, args);
}

#define ADD(text, format)                                                                          \
	do {                                                                                       \
		va_list args;                                                                      \
                                                                                                   \
		va_start(args, format);                                                            \
		add(text, format, args);                                                           \
		va_end(args);                                                                      \
	} while (0)

static void begin_finding(struct finding *finding, enum finding_status status)
{
	finding->status = status;
	finding->found[0] = finding->wanted[0] = finding->command[0] = '\0';
}

void finding_ok(struct finding *finding, const char *format, ...)
{
	begin_finding(finding, FINDING_OK);
	ADD(finding->found, format);
}

void finding_warning(struct finding *finding, const char *format, ...)
{
	begin_finding(finding, FINDING_WARNING);
	ADD(finding->found, format);
}

void finding_missing(struct finding *finding, const char *format, ...)
{
	begin_finding(finding, FINDING_MISSING);
	ADD(finding->found, format);
}

void finding_more(struct finding *finding, const char *format, ...)
{
	ADD(finding->found, format);
}

void finding_wanted(struct finding *finding, const char *format, ...)
{
	finding->wanted[0] = '\0';
	ADD(finding->wanted, format);
}

void finding_command(struct finding *finding, const char *format, ...)
{
	finding->command[0] = '\0';
	ADD(finding->command, format);
}

void finding_boot(struct finding *finding, const char *format, ...)
{
	char parameter[HOST_TEXT_MAX] = "", file[32];

	ADD(parameter, format);
	snprintf(file, sizeof(file), "%.*s", (int)strcspn(parameter, "= "), parameter);
	finding_command(finding,
		"echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX %s\"' | sudo tee "
		"/etc/default/grub.d/sketchtap-%s.cfg && sudo update-grub",
		parameter, file);
}

void finding_unseen(struct finding *finding, enum sys_read why, const char *what)
{
	switch (why) {
	case SYS_DENIED:
		finding_warning(finding, "not readable by this user: %s", what);
		finding_wanted(finding, "the permission to read it");
		finding_command(finding, "sudo sketchtap doctor");
		break;
	case SYS_GARBAGE:
		finding_warning(finding, "unexpected content: %s", what);
		finding_wanted(finding, "the format of Linux");
		break;
	case SYS_READ:
	case SYS_ABSENT:
		finding_warning(finding, "unknown: there is no %s", what);
		finding_wanted(finding, "a check by other means");
		break;
	}
}

bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what)
{
	if (result != SYS_READ)
		finding_unseen(finding, result, what);
	return result != SYS_READ;
}

void judge_sysctl(const struct host *host, const struct sysctl *sysctl, struct finding *finding)
{
	char path[HOST_NAME_MAX];
	enum sys_read result;
	int64_t value;

	snprintf(path, sizeof(path), "/proc/sys/kernel/%s", sysctl->name);
	result = sys_number(host->root, &value, "%s", path);
	if (result == SYS_ABSENT && sys_exists(host->root, "/proc/sys/kernel")) {
		finding_ok(finding, "%s", sysctl->none);
		return;
	}
	if (finding_unless_read(finding, result, path))
		return;
	if (value >= sysctl->least && value <= sysctl->most) {
		finding_ok(finding, "%s", sysctl->right);
	} else {
		finding_warning(finding, "%s", sysctl->wrong);
		finding_wanted(finding, "%s", sysctl->wanted);
		finding_command(
			finding, "sudo sysctl -w kernel.%s=%" PRId64, sysctl->name, sysctl->set);
	}
	if (sysctl->show)
		finding_more(finding, " (%" PRId64 ")", value);
}

char *host_size_text(uint64_t bytes, char text[HOST_SIZE_MAX])
{
	static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
	double value = (double)bytes;
	unsigned int unit = 0;

	for (; value >= 1024 && unit < 4; unit++)
		value /= 1024;
	snprintf(text, HOST_SIZE_MAX, value < 10 && unit > 0 ? "%.1f %s" : "%.0f %s", value,
		units[unit]);
	return text;
}

/* Returns true if the word is in the list. */
static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
		if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
			return true;
	return false;
}

bool host_cpu_feature(const struct host *host, const char *name)
{
	FILE *stream = sys_open(host->root, "/proc/cpuinfo");
	char *line = NULL;
	size_t size = 0;
	bool has = false;

	if (stream == NULL)
		return false;
	while (getline(&line, &size, stream) > 0)
		if (strncmp(line, "flags", 5) == 0) {
			line[strcspn(line, "\n")] = '\0';
			has = has_word(line, name);
			break;
		}
	free(line);
	fclose(stream);
	return has;
}

enum sys_read host_capability(const struct host *host, uint32_t number, bool *has)
{
	FILE *stream = sys_open(host->root, "/proc/self/status");
	enum sys_read result = SYS_ABSENT;
	unsigned long long set;
	char line[256];

	*has = false;
	if (stream == NULL)
		return SYS_ABSENT;
	while (result == SYS_ABSENT && fgets(line, sizeof(line), stream) != NULL)
		if (strncmp(line, "CapEff:", 7) == 0) {
			char *end;

			set = strtoull(line + 7, &end, 16);
			result = end != line + 7 ? SYS_READ : SYS_GARBAGE;
			*has = result == SYS_READ && (set >> number & 1) != 0;
		}
	fclose(stream);
	return result;
}

uint32_t host_nb_nodes(const struct host *host)
{
	uint32_t nodes = 0;

	for (uint32_t node = 0; node < HOST_NODES_MAX; node++)
		nodes += host->topology->nodes[node].known;
	return nodes > 0 ? nodes : 1;
}

char *host_cpus_text(const struct cpu_set *cpus, char *text, size_t size)
{
	cpu_set_print(cpus, text, size);
	if (text[0] == '\0')
		snprintf(text, size, "none");
	return text;
}
