/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * State of the collector (collect/collector.h), shared by the files collector_*.c. Owned by the
 * thread that decodes.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "base/random.h"
#include "collect/collector.h"
#include "collect/exporters/exporter.h"
#include "collect/exporters/links.h"
#include "collect/exporters/losses.h"
#include "collect/exporters/observe.h"
#include "collect/exporters/sampling.h"
#include "collect/exporters/template_file.h"
#include "collect/exporters/waiting.h"
#include "collect/problems.h"
#include "flow_protocols/netflow/template.h"
#include "flow_protocols/sequence.h"
#include "key/key_burst.h"

#define SOCKETS_MAX OPTION_LIST_MAX
#define KNOWN_MAX   8192 /* most templates in one datagram */

#define SENDERS_MAX   64 /* most senders with unreadable headers per epoch */
#define STRANGERS_MAX 64 /* most senders of unknown versions per epoch */
#define LINES_MAX     64 /* most pending log lines */
#define PORTS         65536

#define EXPECTED_MIXED (UINT64_C(1) << 32)

/* Upscaled packets and bytes of records, including duplicates. */
struct record_sums {
	uint64_t packets, bytes;
};

#define SESSIONS_MAX  4 /* per domain */
#define SESSIONS_MORE 8 /* one additional session per 8 exporters */

/*
 * Key of a transport session (RFC 7011) within a domain. The source address is that of the domain.
 */
struct session_key {
	struct in6_addr dst;
	uint16_t src_port, dst_port;
};

/* State of an exporting process, valid until it restarts. */
struct session {
	struct session *next; /* next session of the domain, or next free session */
	uint32_t slot;        /* slot of its domain; EXPORTER_NONE: free */
	struct session_key key;
	bool any_key;                /* restored from a file: the next datagram sets the key */
	bool proven;                 /* two messages had consecutive sequence numbers */
	struct session *before;      /* session that this one may replace; NULL: none */
	bool restart;                /* this may be a restart of `before` */
	bool by_clock;               /* the uptime field proves the restart */
	bool counted;                /* the restart is counted in exporter_row.restarts */
	uint64_t before_taken;       /* number of messages of `before` when this session began */
	bool over;                   /* ended by a restart */
	uint8_t returns;             /* messages received after the restart that ended it */
	uint16_t other_port;         /* source port of a second, concurrent process; 0: none */
	struct templates *templates; /* NULL: none received */
	uint64_t template_changes;
	struct sampling sampling;
	struct sequence sequence;
	uint64_t owner; /* unique ID of the session, for sampling_check() */
	/* start of the process by its own clock, ms since 1970-01-01 UTC; 0: unknown */
	int64_t started;
	bool from_file;  /* its templates are from the file; none were received since */
	uint32_t sent;   /* sequence number of its last datagram */
	uint32_t breaks; /* number of datagrams whose sequence number was not the next one */
	struct reported_losses reported;
};

struct domain {
	const struct exporter_rule *rule; /* NULL: none */
	/* source address of its last datagram, which --exporter allows */
	struct in6_addr sender;
	/* list; the proven session with the latest datagram is first */
	struct session *sessions;
	uint32_t nb_sessions;
	bool several;    /* several processes send concurrently */
	size_t borrowed; /* template bytes in excess of its share */
	uint32_t socket;
	uint16_t dst_port; /* the last datagram's */
	bool proven;       /* at least one datagram was decoded completely */
	bool jumped;       /* sequence numbers jumped in this epoch: losses are unknown */
	uint64_t gaps;     /* datagrams lost in this epoch, by sequence numbers */
	/* sFlow: packets of the sample pools minus upscaled samples, in this epoch */
	int64_t excess;
	uint32_t excess_interval; /* sampling interval of `excess`; 0: none */
	/* unusable records of this epoch without loss: not IP, or without packets */
	uint64_t harmless;
	/* sums of this epoch, including those of earlier exporters in this slot */
	struct record_sums sums;
	int64_t heard; /* time of the last datagram, ns since 1970-01-01 UTC */
	/*
	 * Largest sampling interval of its records, and the place of that record (coarsest_place in
	 * exporters/observe.h). Valid until records of that place have a smaller interval, or until
	 * the exporter restarts. 0: no records yet.
	 */
	uint32_t interval;
	uint64_t interval_position;
	bool interval_old; /* the exporter restarted after `interval` was set */
	/* largest value of `interval` in this epoch; 0: `interval` did not decrease */
	uint32_t interval_before;
	/* largest sampling interval of records that it forwards as a mediator */
	uint32_t forwarded;
	bool after_loss; /* records were lost since its last datagram with records */
	/* usable records, its own or forwarded ones, were received in this epoch */
	bool had_records;
	/*
	 * The sampling interval may be larger than the known one. doubted: in this epoch. in_doubt:
	 * in the last epoch with records.
	 */
	bool doubted, in_doubt;
	/* Log lines that are due. Each is logged once per domain. */
	bool clock_logged, doubt_seen;
	enum sequence_convention convention_due; /* SEQUENCE_UNSURE: nothing is due */
	/* source ports of two processes; 0: nothing is due */
	uint16_t ports_due[2];
	enum sampling_certainty doubt_due;
	uint32_t pool_due; /* sampling interval by the sample pool; 0: nothing is due */
	uint32_t pool_interval;
	struct exporter_row row;
};

/* A sender of datagrams with unreadable headers, in this epoch. */
struct sender {
	struct exporter_row row;
	uint16_t dst_port; /* the last datagram's */
	bool exports;      /* certainly an exporter, on any port */
};

/* A sender of datagrams of an unknown version, in this epoch. */
struct stranger {
	struct in6_addr address;
	uint16_t dst_port; /* the last datagram's */
	uint64_t datagrams, bytes;
};

struct line {
	bool warning;
	char text[PROBLEM_LINE_BYTES];
};

struct collector {
	struct collector_params params;
	struct exporter_table *exporters;
	struct domain *domains; /* [exporters_max] */
	/* [sessions_max] */
	struct session *sessions, *free_sessions;
	uint32_t sessions_max, sessions_used, session_hand;
	struct waiting *waiting;
	struct links *links; /* NULL: disabled */
	/* Written by any thread, relaxed: collector_expect_sampling(), collector_scale_sampling(). */
	_Atomic uint64_t *expected;               /* [exporters_max]: interval, EXPECTED_MIXED */
	_Atomic uint32_t scaled[OPTION_LIST_MAX]; /* index: number of the rule */
	struct sampling_checks *checks;
	struct exporter_loss *losses; /* [exporters_max] */
	struct socket_loss sockets[SOCKETS_MAX];
	/*
	 * Template memory in bytes: the share of each domain; the pool from which domains borrow;
	 * the most that one domain can borrow; the sum that is borrowed.
	 */
	size_t template_share, template_pool, template_loan_max, template_lent;
	uint32_t sampling_limit;
	/* limits of packets and bytes per slot and epoch: share, and most that it can borrow */
	uint64_t sum_share, sum_loan_max;
	uint64_t owners;

	/* Sums of the epoch. */
	uint64_t datagrams, dropped, evicted;
	struct record_sums lent; /* packets and bytes that slots borrowed above their share */
	bool unknown_sampler;    /* a record has an unknown sampling interval */
	uint32_t finest;         /* smallest sampling interval of records; 0: no records */
	/* The next three are those of struct collector_epoch. */
	uint64_t lost_packets;
	uint32_t lost_interval;
	double overcount;
	struct random random; /* for records that are scaled by their exporter */
	bool process_options; /* an observation domain 0 has sent options about sampling */
	struct exporter_row others;
	uint64_t others_gaps, others_harmless;
	struct sender senders[SENDERS_MAX];
	struct stranger strangers[STRANGERS_MAX];
	uint32_t nb_senders, nb_strangers;

	/* Bitmaps of ports that received readable exports (UDP), and IPFIX streams (TCP, SCTP). */
	uint64_t export_ports[PORTS / 64], stream_ports[PORTS / 64];

	/* Log lines. */
	struct problems *problems;
	struct line lines[LINES_MAX]; /* ring buffer */
	uint32_t first_line, nb_lines;
	bool logged;
	int64_t logged_at, now;
	struct log_ratelimit eviction_limit;
	bool file_failure_logged;

	struct template_saver *saver; /* NULL: templates are not saved */
	bool file_due;                /* templates changed since the last copy for the file */
	bool has_roles;               /* the file has roles, which expire */

	/* Current datagram. */
	struct domain *domain;   /* domain of the sender */
	struct domain *original; /* domain of the exporter; differs if the sender is a mediator */
	struct session *session;
	bool copy; /* duplicate datagram: read templates and options only */
	struct observation_point point;
	const struct datagram_header *header;
	/* retrying: waiting sets are decoded now; still_unknown: their template is missing */
	bool retrying, still_unknown;
	/* data sets without a template that this datagram may still store */
	uint32_t sets_left;
	uint32_t domains_left; /* domains that this datagram may still add */
	uint32_t nb_known;
	uint16_t known[KNOWN_MAX];
	uint32_t nb_observations;
	struct record_handler sink;
	struct observation observations[BURST_MAX];
	struct flow_record batch[DECODE_BATCH];
};

/* collector_problems.c */

/*
 * Queues a line for the log, which gets at most one per second. Returns false if the queue is full.
 */
__attribute__((format(printf, 3, 4))) bool collector_log(
	struct collector *collector, bool warning, const char *format, ...);
/* Logs a queued line if a second has passed since the last one. */
void collector_log_next(struct collector *collector);

/* Counts a problem of a domain n times. */
void collector_note_domain(struct collector *collector, enum problem kind,
	const struct domain *domain, uint32_t detail, uint64_t n);
/* Counts a problem of a sender n times. NULL: sender unknown. */
void collector_note_sender(struct collector *collector, enum problem kind,
	const struct in6_addr *sender, uint32_t detail, uint64_t n);

/* Returns true if datagrams of flow protocols are expected on this port. */
bool collector_is_export_port(const struct collector *collector, uint16_t port);
/* Marks the domain as proven: a datagram was decoded completely. */
void collector_prove(struct collector *collector, struct domain *domain);

/* Counts a datagram with an unreadable header, whose sender is allowed. */
void collector_take_unreadable(
	struct collector *collector, const struct datagram *datagram, enum decode_fault fault);
/*
 * Counts datagrams of unknown versions: as malformed if their sender is an exporter, else in the
 * row `others`. Call it before the rows of an epoch are emitted.
 */
void collector_judge_strangers(struct collector *collector);
/* Emits the rows of senders with unreadable headers. Returns true if data of exporters was lost. */
bool collector_end_senders(struct collector *collector,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg);
/* Logs all pending messages, after the last epoch. */
void collector_log_problems(struct collector *collector);

/* collector_take.c */

/* Counts packets that an exporter lost. Each may represent `interval` packets. */
void collector_note_lost(struct collector *collector, uint64_t packets, uint32_t interval);
/*
 * Returns the known sampling of the records of a session. `session` is NULL if the domain has none.
 */
struct sampling_knowledge session_sampling(const struct collector *collector,
	const struct domain *domain, const struct session *session);
/*
 * Returns the largest sampling interval of a domain, even if it sent no records. 0: unknown;
 * SAMPLING_RATIO_UNKNOWN: sampled at an unknown ratio.
 */
uint32_t domain_interval(const struct collector *collector, const struct domain *domain);

/* Counts a datagram in the row `others`, and increments *reason. */
void collector_count_other(
	struct collector *collector, const struct datagram *datagram, uint64_t *reason);

/* collector_domains.c */

static inline uint32_t slot_of(const struct collector *collector, const struct domain *domain)
{
	return (uint32_t)(domain - collector->domains);
}

/*
 * Returns a new domain for an exporter, in a free slot or that of another exporter; NULL: no room.
 */
struct domain *domain_admit(struct collector *collector, const struct exporter_id *id,
	const struct exporter_rule *rule);
/* Begins the row of a new epoch. */
void domain_start_row(struct domain *domain, const struct exporter_id *id, uint32_t slot);
/* Raises the sampling interval of the row to at least `sampling`. */
void exporter_row_sampled(struct exporter_row *row, uint32_t sampling, enum sampling_source source);
/*
 * Updates the template memory that a domain borrows. Call it after the templates of a session
 * changed.
 */
void domain_settle_templates(struct collector *collector, struct domain *domain);
/* Writes the name of a sender: from --exporter, else its address. */
void collector_sender_name(const struct collector *collector, const struct in6_addr *address,
	char name[ROUTER_NAME_MAX]);
/* Returns the --exporter rule for an address, or NULL. */
const struct exporter_rule *collector_rule_of(
	const struct collector *collector, const struct in6_addr *address);

/* collector_sessions.c */

static inline uint32_t session_index(
	const struct collector *collector, const struct session *session)
{
	return (uint32_t)(session - collector->sessions);
}

/* Returns the number of sessions that a collector allocates. */
uint32_t collector_sessions_max(uint32_t exporters_max);
/* Adds a session that takes the ports of the next datagram of the domain. */
struct session *session_add_any(struct collector *collector, struct domain *domain);
/*
 * Returns the session of a datagram, creating it if necessary. Sets *fit to the relation of the
 * datagram to the earlier messages.
 */
struct session *session_find(struct collector *collector, struct domain *domain,
	const struct datagram *datagram, const struct datagram_header *header,
	enum sequence_fit *fit);
/* Marks the session as current. Call before decoding a message. */
void session_heard(struct collector *collector, struct session *session);
/* Returns true if the message was already counted, as a copy for another collector. */
bool session_take_copy(
	struct domain *domain, const struct session *session, const struct datagram_header *header);
/* Returns the session of a domain with the same ports, else the first; NULL if there is none. */
const struct session *session_like(const struct domain *domain, const struct session *session);
/* Counts restarts that only one message has shown so far. */
void domain_count_restarts(struct collector *collector, struct domain *domain);
/* Ends all sessions. Call before the slot is reused. */
void domain_end_sessions(struct collector *collector, struct domain *domain);
/* Allocates the template table of the session. Returns false if out of memory. */
bool session_make_templates(struct collector *collector, struct session *session);
/* Discards templates and options of the session. */
void session_forget_templates(struct collector *collector, struct session *session);
/* Returns the number of templates in all current sessions. */
uint32_t domain_nb_templates(const struct domain *domain);
/* Drops waiting data sets older than `time`. Returns the number that remains. */
uint32_t domain_waiting(struct collector *collector, struct domain *domain, int64_t time);

/* Returns the number of data sets of all sessions that wait for a template. */
uint32_t domain_waiting_sets(const struct collector *collector, const struct domain *domain);

/* collector_templates.c: --templates */

/* Returns the memory for a copy of the template file, in bytes. */
size_t collector_saved_bytes(const struct collector_params *params);

/*
 * Loads the template file and starts saving to it. Returns false, with a message in
 * error[OPTION_WHY_MAX], if that fails.
 */
bool collector_restore_templates(struct collector *collector, char *error);
