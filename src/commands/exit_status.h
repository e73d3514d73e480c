/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Exit statuses other than 0. */
#define EXIT_MACHINE 1 /* failure that depends on the machine */
#define EXIT_TEXT    2 /* error in the command line or the configuration */
