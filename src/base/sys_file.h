/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads what /sys, /proc, /dev and /etc say, below a root directory: "" is this host, any other is
 * a made-up one. Whatever a file holds, what comes out is printable and bounded. Nothing is
 * written.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SYS_PATH_MAX 1024

enum sys_read {
	SYS_READ,
	SYS_ABSENT,
	SYS_DENIED,
	SYS_GARBAGE, /* it is not what the kernel writes there */
};

/* The first line, without what cannot be printed. */
__attribute__((format(printf, 4, 5))) enum sys_read sys_line(
	const char *root, char *line, size_t size, const char *format, ...);

/* A decimal number that the first line begins with. */
__attribute__((format(printf, 3, 4))) enum sys_read sys_number(
	const char *root, int64_t *number, const char *format, ...);

/* The last part of what a symbolic link points to. */
__attribute__((format(printf, 4, 5))) enum sys_read sys_link(
	const char *root, char *name, size_t size, const char *format, ...);

/* Bytes as they are; returns how many, -1 where it cannot be read. */
__attribute__((format(printf, 4, 5))) int sys_bytes(
	const char *root, uint8_t *bytes, size_t size, const char *format, ...);

__attribute__((format(printf, 2, 3))) bool sys_exists(const char *root, const char *format, ...);

/* Whether this user may do what the mode of access(2) says. */
__attribute__((format(printf, 3, 4))) bool sys_allows(
	const char *root, int mode, const char *format, ...);

/* To be read line by line or entry by entry; NULL where that is impossible. */
__attribute__((format(printf, 2, 3))) FILE *sys_open(const char *root, const char *format, ...);
__attribute__((format(printf, 2, 3))) DIR *sys_directory(const char *root, const char *format, ...);

/* The number that ends a line "NAME  NUMBER ..." of a file; SYS_ABSENT where no line has the
 * name. */
enum sys_read sys_field(const char *root, const char *path, const char *name, int64_t *number);

/* The value of a parameter of the kernel's command line; the last one given holds. */
enum sys_read sys_kernel_parameter(const char *root, const char *name, char *value, size_t size);
