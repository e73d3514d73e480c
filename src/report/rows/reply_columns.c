/* SPDX-License-Identifier: BSD-3-Clause */

/* Columns of replies, with which clients also parse them. A row without a name ends a table. */

#include "report/rows/rows.h"

#define OF(tag, member) .at = offsetof(struct tag, member)
#define IF(tag, member) .known = offsetof(struct tag, member)

#define FIGURE(name, member, is_known)                                                             \
	{                                                                                          \
		name, COLUMN_U64, OF(report_row, member), IF(report_row, is_known)                 \
	}
const struct column reply_row_columns[] = {
	FIGURE("packets", packets.value, packets.known),
	FIGURE("packets_low", packets.low, packets.known),
	FIGURE("packets_high", packets.high, packets.high_known),
	FIGURE("bytes", bytes.value, bytes.known),
	FIGURE("bytes_low", bytes.low, bytes.known),
	FIGURE("bytes_high", bytes.high, bytes.high_known),
	{"share", COLUMN_RATIO, OF(report_row, share)},
	{0},
};

const struct column reply_measurement_columns[] = {
	{"distinct_keys", COLUMN_U64, OF(report_measurement, distinct_keys)},
	{"distinct_exact", COLUMN_BOOL, OF(report_measurement, distinct_exact)},
	{"incomplete", COLUMN_BOOL, OF(report_measurement, incomplete)},
	{"confidence", COLUMN_EXACT, OF(report_measurement, confidence),
		IF(report_measurement, confidence_known)},
	{"looked_at", COLUMN_RATIO, OF(report_measurement, looked_at), .when = COLUMN_KEPT_UP},
	{"weight", COLUMN_U64, OF(report_measurement, weight), .when = COLUMN_KEPT_UP},
	{0},
};

const struct column reply_port_columns[] = {
	{"name", COLUMN_STRING, OF(report_port, name)},
	{"up", COLUMN_BOOL, OF(report_port, up)},
	{"speed_mbits", COLUMN_U32, OF(report_port, speed)},
	{0},
};

#define LOAD(member) #member, COLUMN_U64, OF(report_load, member)
const struct column reply_load_columns[] = {
	{"lcore", COLUMN_U32, OF(report_load, lcore)},
	{"cpu", COLUMN_INT, OF(report_load, cpu)},
	{LOAD(received)},
	{LOAD(measured)},
	{LOAD(ring_full)},
	{LOAD(bytes)},
	{LOAD(busy_ns)},
	{LOAD(skipped), .when = COLUMN_KEPT_UP},
	{LOAD(backlog_max), .when = COLUMN_KEPT_UP},
	{LOAD(level_max), .when = COLUMN_KEPT_UP},
	{0},
};

#define DELIVERY(member)                                                                           \
	{                                                                                          \
#member, COLUMN_U64, OF(report_delivery, member)                                   \
	}
const struct column reply_delivery_columns[] = {
	{"export", COLUMN_STRING, OF(report_delivery, name)},
	{"kind", COLUMN_STRING, OF(report_delivery, kind)},
	DELIVERY(rows),
	DELIVERY(delivered),
	DELIVERY(acknowledged),
	DELIVERY(failed),
	DELIVERY(unknown),
	DELIVERY(dropped),
	DELIVERY(waiting),
	{0},
};
