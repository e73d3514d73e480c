/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Network sinks: destinations of rows that are named by a URL. Each type is a struct sink_type in a
 * file of its own, and a row of the table in sink.c.
 */

#include "config/config.h"
#include "report/rows/rows.h"
#include "report/sinks/sink_log.h"
#include "report/sinks/sink_queue.h"

#define SINK_ERROR_MAX 768
#define SINK_KEY_MAX   160

/* Refused requests of several rows, after which a sink stops splitting an interval's rows. */
#define SINK_REFUSALS_MAX 4096

/* A requested sink. */
struct sink_request {
	const char *url;
	const char *name; /* name in messages and delivery counts */
	enum row_kind kind;
	enum output_format format;       /* FORMAT_AUTO: none was named */
	enum output_format usual_format; /* format of text if none was named */
	struct column_choice choice;     /* columns; sink_create() sets `named` by the format */
	const struct sink_options *options;
	const struct config *config;
	/*
	 * [SINK_KEY_MAX]: check() writes the key of the section that is at fault, if it is not the
	 * URL; NULL: not needed.
	 */
	char *key;
};

/* Common part of each network sink. Used only by the sink's thread, except for `delivery`. */
struct sink {
	const struct sink_type *scheme;
	enum row_kind kind;
	atomic_bool roused; /* retry now; set by any thread (sinks with a spool) */
	struct delivery delivery;
	struct columns *columns;     /* columns of text rows, from malloc(); NULL: binary rows */
	const struct format *format; /* format of text rows; NULL: binary rows */
	struct text header;          /* text sent first on each connection */
	struct text text;            /* rows of one report, as text */
	struct sink_log *sink_log;
	size_t queue;                  /* bytes; see struct sink_queue_params */
	struct sink_queue *sink_queue; /* NULL: not created yet */
	struct delivery *fates; /* counts of the rows' fates: &delivery, or those of the spool */
	struct sink_spool *spooled; /* NULL: no spool */
	uint64_t dropped;           /* rows that the spool did not accept */
	/* Rate limits of warnings: rows wait, rows were refused, rows may be lost. */
	struct log_ratelimit_state waits, refuses, doubts;
	/* failed and unknown rows at the last "resumed" message */
	uint64_t told_failed, told_unknown;
	bool hurried; /* retried at once at the end of the run */
	/* abandoned: it accepted nothing in time after the run */
	bool left;
};

/* Encoding of the rows of a sink. */
enum sink_encoding {
	SINK_ENCODING_TEXT, /* text of any format */
	SINK_ENCODING_JSON,
	SINK_ENCODING_ENCODED, /* encoded by the sink itself */
};

struct sink_type {
	const char *prefix;  /* prefix of its URLs */
	const char *form;    /* form of its URLs, for messages */
	const char *missing; /* reason why this build lacks it; NULL: supported */
	enum sink_encoding rows;
	/* keys of a section for this type only, NULL at the end; NULL: none */
	const char *const *keys;
	uint32_t needs; /* enum option_need */
	/*
	 * Returns true if the request is valid; else stores a phrase in why[SINK_ERROR_MAX] that
	 * continues "URL: ".
	 */
	bool (*check)(
		const struct sink_type *scheme, const struct sink_request *request, char *why);
	/*
	 * Allocates a sink that begins with struct sink, which sink_create() fills. The request is
	 * valid, and its URL outlives the sink. `number`: number of earlier sinks of the run with
	 * SINK_ENCODING_ENCODED. Returns NULL if out of memory.
	 */
	struct sink *(*create)(const struct sink_type *scheme, const struct sink_request *request,
		uint32_t number);
	/*
	 * Called by the opening thread before any output file is changed: prepares sending, and if
	 * `require` is set, waits some seconds for the receiver. Returns 0, or the exit status with
	 * a phrase in why[SINK_ERROR_MAX]. NULL: there is no way to test the receiver.
	 */
	int (*open)(struct sink *sink, bool require, char *why);
	/*
	 * Sends sink.text, which has `rows` rows, until their fates are known and counted. NULL:
	 * the sink uses no text and cannot have a spool.
	 */
	void (*bring)(struct sink *sink, uint64_t rows);
	void (*free)(struct sink *sink); /* frees the struct that create() returned */
	struct sink_queue_ops ops;       /* called with the struct sink */
};

extern const struct sink_type sink_type_clickhouse, sink_type_clickhouse_tls, sink_type_ipfix,
	sink_type_ipfix_tcp, sink_type_kafka, sink_type_tcp, sink_type_unix;

/* Copies a URL for messages, without secrets: user information and query. */
#define SINK_SHOWN_MAX 200
void sink_hide(const char *url, char shown[SINK_SHOWN_MAX]);

/* Returns true if a destination is a URL, also if its scheme is unknown. */
bool sink_is_url(const char *name);

/*
 * Returns the form of the URL that the name was meant for: it begins with a known scheme but is not
 * a URL. NULL: it does not.
 */
const char *sink_meant(const char *name);

/* Returns the section keys for this type of sink only, NULL at the end; NULL: none. */
const char *const *sink_keys(const char *name);

/* Returns true if this type of sink supports a spool. */
bool sink_may_spool(const char *name);

/* Returns true if this type of sink can test its receiver at the start. */
bool sink_may_require(const char *name);

/* Returns the needs of this type of sink: enum option_need. */
uint32_t sink_needs(const char *name);

/*
 * Returns false if the request is not valid, with a phrase in why[SINK_ERROR_MAX] that continues
 * "URL: ".
 */
bool sink_check(const struct sink_request *request, char *why);

/* Creates a sink for a request that passed sink_check(). Returns NULL if out of memory. */
struct sink *sink_create(
	const struct sink_request *request, uint32_t number, struct sink_log *sink_log);
void sink_free(struct sink *sink);

/* Used by open() if a required receiver is not reachable. Writes why[SINK_ERROR_MAX]; returns 1. */
int sink_absent(char *why, const char *reason);

/* Calls open() of its type; see there. */
int sink_open(struct sink *sink, bool require, char *why);

/* Copies the header. Returns false if out of memory. */
bool sink_copy_header(const struct sink *sink, struct text *header);

/* Called by the sink's thread; sink_patience() also by open(): */

/*
 * Same as sink_queue_patience(); before the queue is created 5 seconds, or 0 after a request to
 * stop.
 */
int64_t sink_patience(const struct sink *sink, uint32_t usual);

/*
 * Returns the number of rows of the report. Adapts the columns to it if the format has no header.
 */
uint64_t sink_rows(struct sink *sink, const struct report_epoch *epoch);
/*
 * Formats the rows of the report. Returns their number; 0 also if out of memory, after counting
 * them as failed.
 */
uint64_t sink_format(struct sink *sink, const struct report_epoch *epoch, struct text *text);
/* write() of struct sink_queue_ops for types with bring(). */
void sink_write(void *sink, const struct report_epoch *epoch);
/* Returns true once after each request to retry now. */
bool sink_roused(struct sink *sink);
/* Same during a wait; also true once when the run ends, since the receiver may be back. */
bool sink_hurries(struct sink *sink);
/* Logs "NAME: LINE". */
__attribute__((format(printf, 3, 4))) void sink_say(
	const struct sink *sink, bool warning, const char *format, ...);
/* Logs "NAME: WHY; WHAT" unless the rate limit suppresses it. */
void sink_warn(const struct sink *sink, struct log_ratelimit_state *ratelimit, const char *why,
	const char *what);
/*
 * Log with a rate limit: rows wait; rows were refused and are lost; rows of one interval may be
 * lost; rows are accepted again.
 */
void sink_say_waits(struct sink *sink, const char *why);
void sink_warn_refused(struct sink *sink, const char *why);
void sink_warn_doubtful(struct sink *sink, const char *why);
void sink_say_takes(struct sink *sink);
/* Abandons the sink at the end of the run, and logs that once. */
void sink_leave(struct sink *sink, const char *why);
