/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/*
 * Returns true if fd is connected to systemd's journal, by JOURNAL_STREAM of systemd.exec(5). A
 * line for the journal may begin with its priority, <3> for errors to <7>. The journal adds time
 * and program name.
 */
bool journal_reads(int fd);
