/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/* Builds replies of the control socket. */

#include <stddef.h>
#include <stdint.h>

#include <rte_telemetry.h>
#include <rte_version.h>

#include "report/rows/report.h"

#if RTE_VERSION < RTE_VERSION_NUM(23, 3, 0, 0)
#define rte_tel_data_add_dict_uint rte_tel_data_add_dict_u64
#endif

#define REPLY_TEXT_MAX RTE_TEL_MAX_STRING_LEN /* longest text without truncation, with a final 0 */

/* Size limit of a reply: 16 KB of JSON. The library silently drops the rest. */
#define ANSWER_BYTES 16000

/* Replies with an error. Returns 0, as handlers do. */
int reply_error(struct rte_tel_data *answer, const char *why);
/* Replies that the request is malformed. Returns 0. */
int reply_mistake(struct rte_tel_data *answer, const char *why);

void reply_time(struct rte_tel_data *dict, const char *name, int64_t ns);
__attribute__((format(printf, 3, 4))) void reply_text(
	struct rte_tel_data *dict, const char *name, const char *format, ...);

/* Adds a dictionary to another one, which owns it. Returns NULL if out of memory. */
struct rte_tel_data *reply_dict(struct rte_tel_data *dict, const char *name);
/* Adds a dictionary under a number. Returns NULL if `several` is NULL or out of memory. */
struct rte_tel_data *reply_numbered(struct rte_tel_data *several, uint32_t number);

/* Adds values under the names of CSV columns. Unknown values are omitted. */
void reply_key(struct rte_tel_data *dict, const struct key_rule *rule, const struct key *key);
void reply_row(
	struct rte_tel_data *dict, const struct key_rule *rule, const struct report_row *row);
/* Returns the maximum bytes of a row and its rank in a reply. */
size_t reply_row_bytes(const struct key_rule *rule, const struct report_row *row);
void reply_ledger(struct rte_tel_data *dict, const struct ledger *ledger);
/*
 * Adds a ledger with start and end (ns since 1970), rates and expired records. If time stamps are
 * generated, rates use `took` (struct report_epoch), which is added; else it is 0.
 */
void reply_account(struct rte_tel_data *dict, int64_t start, int64_t end, uint64_t took,
	const struct ledger *ledger, uint64_t expired);
