/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Of rounds that look at the same code again: with AddressSanitizer each takes ten times as long. */
#ifdef __SANITIZE_ADDRESS__
#define FEWER(all, few) (few)
#else
#define FEWER(all, few) (all)
#endif
