/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Reads files of /sys, /proc, /dev and /etc below the directory `root`: "" for this host. */

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
	SYS_GARBAGE, /* not in the kernel's format */
};

__attribute__((format(printf, 4, 5))) enum sys_read sys_line(
	const char *root, char *line, size_t size, const char *format, ...);

__attribute__((format(printf, 3, 4))) enum sys_read sys_number(
	const char *root, int64_t *number, const char *format, ...);

/* Reads the last path component of a symbolic link. */
__attribute__((format(printf, 4, 5))) enum sys_read sys_link(
	const char *root, char *name, size_t size, const char *format, ...);

/* Returns the number of bytes, or -1. */
__attribute__((format(printf, 4, 5))) int sys_bytes(
	const char *root, uint8_t *bytes, size_t size, const char *format, ...);

__attribute__((format(printf, 2, 3))) bool sys_exists(const char *root, const char *format, ...);

/* `mode` is R_OK, W_OK or X_OK. */
__attribute__((format(printf, 3, 4))) bool sys_allows(
	const char *root, int mode, const char *format, ...);

/* Return NULL on error. */
__attribute__((format(printf, 2, 3))) FILE *sys_open(const char *root, const char *format, ...);
__attribute__((format(printf, 2, 3))) DIR *sys_directory(const char *root, const char *format, ...);

/* Reads the number in a line "NAME NUMBER ...". */
enum sys_read sys_field(const char *root, const char *path, const char *name, int64_t *number);

/* Reads the rest of the first line "LABEL: REST". */
enum sys_read sys_labelled(
	const char *root, const char *path, const char *label, char *rest, size_t size);

/* Reads NAME=VALUE in the kernel command line. The last one counts. */
enum sys_read sys_kernel_parameter(const char *root, const char *name, char *value, size_t size);
