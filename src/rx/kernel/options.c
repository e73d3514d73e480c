/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx/kernel/options.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define set_error(error, ...) text_error(error, OPTION_WHY_MAX, __VA_ARGS__)

static bool is_text(const char *text, size_t length, const char *word)
{
	return length == strlen(word) && memcmp(text, word, length) == 0;
}

struct settings_given {
	bool hook, direction;
};

static bool read_word(const char *text, size_t length, struct attach_point *point,
	struct settings_given *given, char *why)
{
	static const struct {
		const char *word;
		bool hook;
		uint32_t value;
	} settings[] = {
		{"hook=tc", true, KERNEL_HOOK_TC},
		{"hook=xdp", true, KERNEL_HOOK_XDP},
		{"direction=both", false, KERNEL_IN | KERNEL_OUT},
		{"direction=in", false, KERNEL_IN},
		{"direction=out", false, KERNEL_OUT},
	};

	for (uint32_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		bool *seen = settings[i].hook ? &given->hook : &given->direction;

		if (!is_text(text, length, settings[i].word))
			continue;
		if (settings[i].hook)
			point->hook = settings[i].value;
		else
			point->directions = settings[i].value;
		if (*seen)
			return set_error(why, "hook= or direction= is given twice");
		*seen = true;
		return true;
	}
	return set_error(why,
		"'%.*s': unknown setting; settings: hook=tc, hook=xdp, direction=both, "
		"direction=in, direction=out",
		(int)(length < 60 ? length : 60), text);
}

bool attach_point_parse(const char *text, struct attach_point *point, char *why)
{
	size_t length = strcspn(text, ",");
	struct settings_given given = {false, false};

	*point = (struct attach_point){.directions = KERNEL_IN | KERNEL_OUT};
	if (length == 0 || length >= IFNAMSIZ || strcspn(text, "/ \t:") < length)
		return set_error(why,
			"must begin with an interface name: 1 to %d characters without '/', ':' "
			"and white space",
			IFNAMSIZ - 1);
	memcpy(point->interface, text, length);
	for (text += length; *text == ','; text += length) {
		text++;
		length = strcspn(text, ",");
		if (!read_word(text, length, point, &given, why))
			return false;
	}
	if (point->hook != KERNEL_HOOK_XDP)
		return true;
	if (given.direction && point->directions != KERNEL_IN)
		return set_error(why,
			"hook=xdp receives incoming packets only; use direction=in or hook=tc");
	point->directions = KERNEL_IN;
	return true;
}
