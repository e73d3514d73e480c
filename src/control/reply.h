/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Builds replies of the control socket. Each thread builds one reply at a time. */

#include <stddef.h>
#include <stdint.h>

#include <rte_telemetry.h>

#include "report/rows/rows.h"

/* bytes with the final 0; longer texts are truncated */
#define REPLY_TEXT_MAX RTE_TEL_MAX_STRING_LEN

void reply_start(struct rte_tel_data *answer);
/* Return 0, as a handler must. */
int reply_error(struct rte_tel_data *answer, const char *why);
int reply_mistake(struct rte_tel_data *answer, const char *why);

void reply_uint(struct rte_tel_data *dict, const char *name, uint64_t value);
void reply_int(struct rte_tel_data *dict, const char *name, int value);
void reply_time(struct rte_tel_data *dict, const char *name, int64_t ns);
void reply_string(struct rte_tel_data *dict, const char *name, const char *value);
__attribute__((format(printf, 3, 4))) void reply_text(
	struct rte_tel_data *dict, const char *name, const char *format, ...);

/* `dict` owns the new dictionary. Returns NULL if out of memory. */
struct rte_tel_data *reply_dict(struct rte_tel_data *dict, const char *name);
/*
 * Adds a dictionary whose name is a number. `several` may be NULL. Returns NULL if out of memory.
 */
struct rte_tel_data *reply_numbered(struct rte_tel_data *several, uint32_t number);

/* Fills `dict` with element `number` of the object `of`. */
typedef void (*reply_item)(struct rte_tel_data *dict, const void *of, uint32_t number);

/* Adds the dictionary `name` with n items, numbered from `first`. */
void reply_list(struct rte_tel_data *dict, const char *name, uint32_t first, uint32_t n,
	reply_item item, const void *of);
/* Returns true if one more item fits. DPDK sends at most 16 KB of a reply and drops the rest. */
bool reply_fits(reply_item item, const void *of, uint32_t number);

/* Adds the known values of a row. columns: such as reply_row_columns. */
void reply_columns(
	struct rte_tel_data *dict, const struct column *columns, bool kept_up, const void *item);
void reply_key(struct rte_tel_data *dict, const struct key_rule *rule, const struct key *key);
void reply_row(struct rte_tel_data *dict, const void *measurement, uint32_t number);
void reply_ledger(struct rte_tel_data *dict, const struct ledger *ledger);
/* start, end: ns since 1970. took: processing ns if the time stamps are generated, else 0. */
void reply_account(struct rte_tel_data *dict, int64_t start, int64_t end, uint64_t took,
	const struct ledger *ledger, uint64_t expired);
