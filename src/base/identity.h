/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Identifies this run and this host in output rows. Thread-safe. */

/* Returns 16 random hexadecimal digits, fixed for the life of the process. */
const char *identity_run(void);
/* Returns the host name. */
const char *identity_host(void);
