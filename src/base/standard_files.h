/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/*
 * Descriptors 0 to 2 that the caller closed would be given to the first files opened, and what is
 * meant for standard error would land in an output. Each is filled with what fails as a closed one.
 */
void standard_files_fill(void);

/* Whether what was printed is there, or whoever reads it has gone. */
bool standard_files_printed(void);

/* Whether the name of an output means standard output. */
bool standard_files_is_output(const char *name);
