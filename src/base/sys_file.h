/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Reads files of /sys, /proc, /dev and /etc below the directory `root`: "" for this host, others in
 * tests. Results are printable and of limited length, whatever a file contains. Writes nothing.
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
	SYS_GARBAGE, /* not in the kernel's format */
};

/* Reads the first line, without unprintable characters. */
__attribute__((format(printf, 4, 5))) enum sys_read sys_line(
	const char *root, char *line, size_t size, const char *format, ...);

/* Reads a decimal number at the start of the first line. */
__attribute__((format(printf, 3, 4))) enum sys_read sys_number(
	const char *root, int64_t *number, const char *format, ...);

/* Reads the last path component of a symbolic link. */
__attribute__((format(printf, 4, 5))) enum sys_read sys_link(
	const char *root, char *name, size_t size, const char *format, ...);

/* Reads raw bytes. Returns their number, or -1 on error. */
__attribute__((format(printf, 4, 5))) int sys_bytes(
	const char *root, uint8_t *bytes, size_t size, const char *format, ...);

__attribute__((format(printf, 2, 3))) bool sys_exists(const char *root, const char *format, ...);

/* Returns true if this user has access `mode` (R_OK, W_OK, X_OK) to the file. */
__attribute__((format(printf, 3, 4))) bool sys_allows(
	const char *root, int mode, const char *format, ...);

/* Opens a file or directory. Returns NULL on error. */
__attribute__((format(printf, 2, 3))) FILE *sys_open(const char *root, const char *format, ...);
__attribute__((format(printf, 2, 3))) DIR *sys_directory(const char *root, const char *format, ...);

/* Reads the number in a line "NAME NUMBER ..."; SYS_ABSENT if no line has the name. */
enum sys_read sys_field(const char *root, const char *path, const char *name, int64_t *number);

/* Reads the rest of the first line "LABEL: REST"; SYS_ABSENT if no line has the label. */
enum sys_read sys_labelled(
	const char *root, const char *path, const char *label, char *rest, size_t size);

/* Reads a parameter NAME=VALUE of the kernel command line. The last one counts. */
enum sys_read sys_kernel_parameter(const char *root, const char *name, char *value, size_t size);
