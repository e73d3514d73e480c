/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* By what rows are told from those of other runs and hosts. Any thread. */

/* 16 hexadecimal digits, drawn at random once in a process. */
const char *identity_run(void);
/* The name of the machine. */
const char *identity_host(void);
