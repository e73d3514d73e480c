/* SPDX-License-Identifier: BSD-3-Clause */
#include "doctor/check.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

void finding_set(struct finding *finding, enum finding_status status, const char *format, ...)
{
	va_list args;

	finding->status = status;
	finding->wanted[0] = finding->command[0] = '\0';
	va_start(args, format);
	vsnprintf(finding->found, sizeof(finding->found), format, args);
	va_end(args);
}

void finding_write(char text[HOST_TEXT_MAX], size_t at, const char *format, ...)
{
	va_list args;

	VERIFY(at, <, (size_t)HOST_TEXT_MAX);
	va_start(args, format);
	vsnprintf(text + at, HOST_TEXT_MAX - at, format, args);
	va_end(args);
}

void finding_boot(struct finding *finding, const char *format, ...)
{
	char parameter[HOST_TEXT_MAX], file[32];
	va_list args;

	va_start(args, format);
	vsnprintf(parameter, sizeof(parameter), format, args);
	va_end(args);
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
		finding_wanted(finding, "read permission");
		finding_command(finding, "sudo sketchtap doctor");
		break;
	case SYS_GARBAGE:
		finding_warning(finding, "unexpected content: %s", what);
		finding_wanted(finding, "the format of Linux");
		break;
	case SYS_READ:
	case SYS_ABSENT:
		finding_warning(finding, "unknown: there is no %s", what);
		finding_wanted(finding, "another way to check this");
		break;
	}
}

bool finding_unless_read(struct finding *finding, enum sys_read result, const char *what)
{
	if (result != SYS_READ)
		finding_unseen(finding, result, what);
	return result != SYS_READ;
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
	char flags[4096];

	return sys_labelled(host->root, "/proc/cpuinfo", "flags", flags, sizeof(flags)) ==
		       SYS_READ &&
	       has_word(flags, name);
}

enum sys_read host_capability(const struct host *host, uint32_t number, bool *has)
{
	char text[256], *end;
	enum sys_read result =
		sys_labelled(host->root, "/proc/self/status", "CapEff", text, sizeof(text));
	unsigned long long set = strtoull(text, &end, 16);

	*has = result == SYS_READ && (set >> number & 1) != 0;
	return result == SYS_READ && end == text ? SYS_GARBAGE : result;
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
