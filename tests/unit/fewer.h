/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* SANITIZED where AddressSanitizer or ThreadSanitizer is built in: gcc and clang say so in ways of
 * their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/* Of rounds that look at the same code again: with a sanitizer each takes ten times as long. */
#ifdef SANITIZED
#define FEWER(all, few) (few)
#else
#define FEWER(all, few) (all)
#endif
