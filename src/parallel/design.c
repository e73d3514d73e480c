/* SPDX-License-Identifier: BSD-3-Clause */
#include "parallel/plan/design.h"

#include <stddef.h>
#include <string.h>

const struct design_ops *const designs[] = {
	&design_rss,
	&design_sync,
	&design_async,
	NULL,
};

const struct design_ops *design_find(const char *name)
{
	for (const struct design_ops *const *design = designs; *design != NULL; design++)
		if (strcmp((*design)->name, name) == 0)
			return *design;
	return NULL;
}
