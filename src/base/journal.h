/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/*
 * Returns true if fd is connected to systemd's journal (systemd.exec(5), JOURNAL_STREAM). Lines may
 * then begin with a priority, <3> for errors to <7>, and need no time or name.
 */
bool journal_reads(int fd);
