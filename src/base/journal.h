/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/* Returns true if fd is connected to systemd's journal: JOURNAL_STREAM of systemd.exec(5). */
bool journal_reads(int fd);
