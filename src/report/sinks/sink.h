/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * Places that URLs name: who takes the rows of one kind, elsewhere than in a file. Each kind of
 * place is a struct sink_type, a file, and a row of the table in sink.c.
 */

#include "config/config.h"
#include "report/rows/rows.h"
#include "report/sinks/sink_log.h"
#include "report/sinks/sink_queue.h"

#define SINK_ERROR_MAX 768
#define SINK_KEY_MAX   160

/* Refusals of more than one row after which a place sends an interval's rows in no smaller parts. */
#define SINK_REFUSALS_MAX 4096

/* What is asked for. */
struct sink_request {
	const char *url;
	const char *name; /* what the place is called */
	enum row_kind kind;
	enum output_format format;       /* FORMAT_AUTO: none was named */
	enum output_format usual_format; /* that text then has */
	struct column_choice choice;     /* but for `named`, which is the format's */
	const struct sink_options *options;
	const struct config *config;
	/* [SINK_KEY_MAX]: check() says here which key of the section is at fault, where it is not the
	 * URL; NULL: nobody asks. */
	char *key;
};

/* The beginning of each place; by its own thread, but for the account. */
struct sink {
	const struct sink_type *scheme;
	enum row_kind kind;
	atomic_bool roused; /* it is to be tried at once, where a spool has it; any thread */
	struct delivery delivery;
	struct columns *columns;     /* of rows as text, from malloc(); NULL: others */
	const struct format *format; /* theirs */
	struct text header;          /* what begins a connection with them */
	struct text text;            /* of the report: sink_rows() */
	struct sink_log *sink_log;
	size_t queue;                  /* as of struct sink_queue_params */
	struct sink_queue *sink_queue; /* from before its thread starts; NULL: not yet */
	struct delivery *fates; /* where those of rows are counted: the account's, or a spool's */
	struct sink_spool *spooled; /* NULL: it has no spool */
	uint64_t dropped;           /* rows that the spool did not take */
	/* That rows wait, that rows are refused, that nobody can say what became of some. */
	struct log_ratelimit_state waits, refuses, doubts;
	uint64_t told_failed, told_unknown; /* rows, when it was said that it takes rows again */
	bool hurried;                       /* it was tried at once because the run ends */
	bool left;                          /* the run is over, and it took nothing for too long */
};

/* What its rows are. */
enum sink_encoding {
	SINK_ENCODING_TEXT, /* of any format */
	SINK_ENCODING_JSON,
	SINK_ENCODING_ENCODED, /* the place's own business */
};

struct sink_type {
	const char *prefix;  /* of URLs */
	const char *form;    /* of a URL, for a person */
	const char *missing; /* why this build has it not; NULL: it has */
	enum sink_encoding rows;
	const char *const *keys; /* of a section, that such places alone heed; NULL: none */
	uint32_t needs;          /* enum option_need */
	/* Whether it can have that: false with a phrase in why[SINK_ERROR_MAX] that goes on after the
	 * URL. */
	bool (*check)(
		const struct sink_type *scheme, const struct sink_request *request, char *why);
	/*
	 * Of a request that it can have, whose URL lives longer: what is behind struct sink, which
	 * sink_create() fills. `number` is that of the place among those of its run whose rows are
	 * SINK_ENCODING_ENCODED, from 0. NULL where memory is missing.
	 */
	struct sink *(*create)(const struct sink_type *scheme, const struct sink_request *request,
		uint32_t number);
	/*
	 * By the thread that opens places, before any output is touched: makes what sending needs, and
	 * where `require` is set waits some seconds for who is there. Returns 0, or the exit status
	 * with a phrase in why[SINK_ERROR_MAX]. NULL: nobody can know whether anybody is there.
	 */
	int (*open)(struct sink *sink, bool require, char *why);
	/* Sends sink.text, of so many rows, until their fates are known and counted. NULL: it
	 * makes no text, and has no spool. */
	void (*bring)(struct sink *sink, uint64_t rows);
	void (*free)(struct sink *sink); /* what is behind struct sink, and it */
	struct sink_queue_ops ops;       /* of the struct sink */
};

extern const struct sink_type sink_type_clickhouse, sink_type_clickhouse_tls, sink_type_ipfix,
	sink_type_ipfix_tcp, sink_type_kafka, sink_type_tcp, sink_type_unix;

/* A URL that is refused, without what may be a secret: a user's part and a query. */
#define SINK_SHOWN_MAX 200
void sink_hide(const char *url, char shown[SINK_SHOWN_MAX]);

/* Whether a destination is a URL, of a scheme that there is or of none. */
bool sink_is_url(const char *name);

/* The form of the URL that a name was meant for which begins as one, but is none; NULL: it does not. */
const char *sink_meant(const char *name);

/* The keys of a section that it heeds beside those of all places, NULL behind the last; NULL: none. */
const char *const *sink_keys(const char *name);

/* Whether its rows can wait in a spool. */
bool sink_may_spool(const char *name);

/* Whether it is known who is there. */
bool sink_may_require(const char *name);

/* What its scheme needs: enum option_need. */
uint32_t sink_needs(const char *name);

/* False, with a phrase in why[SINK_ERROR_MAX] that goes on after the URL, where it cannot be had. */
bool sink_check(const struct sink_request *request, char *why);

/* Of a request that sink_check() takes. From malloc(); NULL where memory is missing. */
struct sink *sink_create(
	const struct sink_request *request, uint32_t number, struct sink_log *sink_log);
void sink_free(struct sink *sink);

/* For open() where a place that is required is not there. Writes why[SINK_ERROR_MAX]; returns 1. */
int sink_absent(char *why, const char *reason);

/* As open() of its scheme. */
int sink_open(struct sink *sink, bool require, char *why);

/* A copy of its header; false: there is no memory. */
bool sink_copy_header(const struct sink *sink, struct text *header);

/* By the place's thread, the first also by open(): */

/* As sink_queue_patience(); 5 seconds before there is an outlet. */
int64_t sink_patience(const struct sink *sink, uint32_t usual);

/* How many rows the report has for it, in whose columns they will be. */
uint64_t sink_rows(struct sink *sink, const struct report_epoch *epoch);
/* Brings them into the text. Returns how many they are; 0 also where memory is missing, and then they
 * have failed. */
uint64_t sink_format(struct sink *sink, const struct report_epoch *epoch, struct text *text);
/* As of struct sink_queue_ops, of a scheme that can bring(). */
void sink_write(void *sink, const struct report_epoch *epoch);
/* Whether it is to be tried at once, since the last call. */
bool sink_roused(struct sink *sink);
/* The same of one that is waited for; also, once, when the run ends: it may be there again. */
bool sink_hurries(struct sink *sink);
/* Says "URL: LINE". */
__attribute__((format(printf, 3, 4))) void sink_say(
	const struct sink *sink, bool warning, const char *format, ...);
/* "WHY; WHAT", where that is to be said now. */
void sink_warn(const struct sink *sink, struct log_ratelimit_state *ratelimit, const char *why,
	const char *what);
/* As of struct log_ratelimit_state: rows wait; some are lost, for it does not take them; of some, an interval's,
 * nobody can say what became of them; it takes rows. */
void sink_say_waits(struct sink *sink, const char *why);
void sink_warn_refused(struct sink *sink, const char *why);
void sink_warn_doubtful(struct sink *sink, const char *why);
void sink_say_takes(struct sink *sink);
/* Leaves it at the end of the run, once. */
void sink_leave(struct sink *sink, const char *why);
