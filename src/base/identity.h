/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Returns 16 random hexadecimal digits, fixed for the life of the process. Thread-safe. */
const char *identity_run(void);
const char *identity_host(void);
