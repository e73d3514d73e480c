/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

#include <stdbool.h>

/*
 * True where what is written to fd goes to systemd's journal (systemd.exec(5), JOURNAL_STREAM). A
 * line there may begin with its priority, <3> for errors to <7>, and needs neither time nor name.
 */
bool journal_reads(int fd);
