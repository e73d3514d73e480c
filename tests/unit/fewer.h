/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Defines SANITIZED with AddressSanitizer or ThreadSanitizer. gcc and clang report them
 * differently.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

/*
 * Number of rounds that repeat the same code: `few` with a sanitizer, which takes ten times as
 * long.
 */
#ifdef SANITIZED
#define FEWER(all, few) (few)
#else
#define FEWER(all, few) (all)
#endif
