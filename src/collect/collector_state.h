/* SPDX-License-Identifier: BSD-3-Clause */
#pragma once

/*
 * State shared by the files of collector.h: datagrams (collector_take.c), domains of exporters,
 * ends of epochs, problems and log lines, saved templates. Owned by the decoder.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log_ratelimit.h"
#include "collect/collector.h"
#include "collect/exporters/exporter.h"
#include "collect/exporters/links.h"
#include "collect/exporters/losses.h"
#include "collect/exporters/observe.h"
#include "collect/exporters/sampling.h"
#include "collect/exporters/template_saver.h"
#include "collect/exporters/waiting.h"
#include "collect/problems.h"
#include "flow_protocols/netflow/template.h"
#include "flow_protocols/sequence.h"
#include "key/key_burst.h"

#define SOCKETS_MAX OPTION_LIST_MAX
#define KNOWN_MAX   8192 /* templates of one datagram: none has room for more */

#define SENDERS_MAX   64 /* rows of senders in an epoch */
#define STRANGERS_MAX 64 /* senders of unknown versions in an epoch */
#define LINES_MAX     64 /* lines that wait to be logged */
#define PORTS         65536

/* Packets and bytes that records stand for, duplicates too. */
struct record_sums {
	uint64_t packets, bytes;
};

#define SESSIONS_MAX  4 /* per domain */
#define SESSIONS_MORE 8 /* there is one additional session for 8 exporters */

/* Transport session of RFC 7011; the source address is the domain's. */
struct session_key {
	struct in6_addr dst;
	uint16_t src_port, dst_port;
};

/* State of an exporting process, valid until it restarts. */
struct session {
	struct session *next; /* in its domain's list, or in the list of free sessions */
	uint32_t slot;        /* its domain's slot; EXPORTER_NONE: free */
	struct session_key key;
	bool any_key;                /* restored from a file: the next datagram sets the key */
	bool proven;                 /* a second message continued the first */
	struct session *before;      /* the session before this one began; NULL: none */
	bool restart;                /* it may be a restart of `before` */
	bool by_clock;               /* its uptime shows the restart */
	bool counted;                /* it is in the column `restarts` */
	uint64_t before_taken;       /* messages of `before` when this one began */
	bool over;                   /* a restart ended it */
	uint8_t returns;             /* messages since that restart */
	uint16_t other_port;         /* source port of another process that also sends; 0: none */
	struct templates *templates; /* NULL: it sent none */
	uint64_t template_changes;
	struct sampling sampling;
	struct sequence sequence;
	uint64_t owner;  /* unique ID of the owner of its samplers */
	int64_t started; /* ms since 1970-01-01 UTC, by its clock; 0: not known */
	bool from_file;  /* its templates are, and it said none since */
	uint32_t sent;   /* sFlow: the sequence number of its last datagram */
	uint32_t breaks; /* sFlow: times that another one than the next came */
	struct reported_losses reported;
};

struct domain {
	const struct exporter_rule *rule; /* NULL: none */
	struct in6_addr sender;           /* sender of its last datagram; allowed */
	struct session *sessions;         /* the proven one with the last datagram is first */
	uint32_t nb_sessions;
	bool several;    /* several processes send at the same time */
	size_t borrowed; /* bytes of its templates above a share */
	uint32_t socket;
	uint16_t dst_port; /* the last datagram's */
	bool proven;       /* it sent a datagram that could be read to its end */
	bool jumped;       /* its sequence numbers jumped in this epoch: losses are unknown */
	uint64_t gaps;     /* datagrams of this epoch, from sequence numbers */
	int64_t excess; /* sFlow: packets of this epoch beyond those of its samples, by its pools */
	uint32_t excess_interval; /* their interval; 0: none */
	uint64_t
		harmless; /* unusable records of this epoch that hide no packets: not IP, or 0 packets */
	struct record_sums sums; /* the slot's in this epoch; earlier owners included */
	int64_t heard;           /* time of its last datagram */
	/*
	 * The coarsest sampling interval of its records, and the place that has it: until a record
	 * of that place has a finer one, or the exporter restarted. 0: it sent no records.
	 */
	uint32_t interval;
	uint64_t interval_place;
	bool interval_old;  /* it restarted since */
	uint32_t forwarded; /* the coarsest interval of records that it forwards as a mediator */
	bool had_records;   /* its datagrams of this epoch had usable ones, its own or forwarded */
	/* Records of this epoch, and of the last epoch with any, may be sampled by more than is
	 * known. */
	bool doubted, in_doubt;
	/* Pending log lines, one each per domain. */
	bool clock_said, doubt_seen;
	enum sequence_convention convention_due; /* SEQUENCE_UNSURE: nothing */
	uint16_t ports_due[2];                   /* source ports of two processes; 0: nothing */
	enum sampling_certainty doubt_due;
	uint32_t pool_due; /* the interval by its sample pool; 0: nothing */
	uint32_t pool_interval;
	struct exporter_row row;
};

/* A sender of datagrams without a readable header in this epoch. */
struct sender {
	struct exporter_row row;
	uint16_t dst_port; /* the last datagram's */
	bool exports;      /* certainly, whatever the port */
};

/* A sender of datagrams of an unknown version in this epoch. */
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
	/* [sessions_max]: one for each domain, and additional ones. */
	struct session *sessions, *free_sessions;
	uint32_t sessions_max, sessions_used, session_hand;
	struct waiting *waiting;
	struct links *links; /* NULL: they are not asked for */
	struct sampling_checks *checks;
	struct exporter_loss *losses; /* [exporters_max] */
	struct socket_loss sockets[SOCKETS_MAX];
	/* Bytes: share of every domain, pool to lend, most lent to one domain, and lent. */
	size_t template_share, template_pool, template_loan_max, template_lent;
	uint32_t sampling_limit;
	uint64_t sum_share, sum_loan_max; /* parts of an epoch's sums */
	uint64_t owners;

	/* Sums of the epoch. */
	uint64_t datagrams, dropped, evicted;
	struct record_sums lent; /* beyond the slots' shares */
	bool unknown_sampler;    /* packets that records stand for are not known */
	uint32_t finest;         /* interval of its records; 0: there were none */
	/* As struct collector_epoch's. */
	uint64_t lost_packets;
	uint32_t lost_interval;
	double overcount;
	bool process_options; /* a domain 0 described sampling, since the start */
	struct exporter_row others;
	uint64_t others_gaps, others_harmless;
	struct sender senders[SENDERS_MAX];
	struct stranger strangers[STRANGERS_MAX];
	uint32_t nb_senders, nb_strangers;

	/* A bit for each port to which readable exports came; TCP and SCTP: streams of IPFIX. */
	uint64_t export_ports[PORTS / 64], stream_ports[PORTS / 64];

	/* Log lines. */
	struct problems *problems;
	struct line lines[LINES_MAX]; /* a ring */
	uint32_t first_line, nb_lines;
	bool said;
	int64_t said_at, now;
	struct log_ratelimit eviction_said;
	bool file_fails_said;

	struct template_saver *saver; /* NULL: templates are not kept */
	bool file_due;                /* they changed since the file's were copied */

	/* The datagram that is decoded. */
	struct domain *domain;   /* the sender's */
	struct domain *original; /* exporter of the records; differs for a mediator's */
	struct session *session;
	bool copy; /* its records were counted before: only templates and options are read */
	struct observation_point observer;
	const struct datagram_header *header;
	bool retrying, still_unknown; /* sets that waited */
	uint32_t sets_left;           /* data sets of the datagram that may still start waiting */
	uint32_t domains_left;        /* new domains that the datagram may still create */
	uint32_t nb_known;
	uint16_t known[KNOWN_MAX];
	uint32_t nb_observations;
	struct record_handler sink;
	struct observation observations[BURST_MAX];
	struct flow_record batch[WIRE_BATCH];
};

/* collector_problems.c */

/*
 * Logs a line, one a second at most; until then it waits. Returns false if too many wait.
 */
__attribute__((format(printf, 3, 4))) bool collector_say(
	struct collector *collector, bool warning, const char *format, ...);
/* Logs a line that waits, if a second has passed. */
void collector_say_waiting(struct collector *collector);

/* Counts n more of a problem of a domain. */
void collector_note_domain(struct collector *collector, enum problem kind,
	const struct domain *domain, uint32_t detail, uint64_t n);
/* The same of a sender; NULL: of none. */
void collector_note_sender(struct collector *collector, enum problem kind,
	const struct in6_addr *sender, uint32_t detail, uint64_t n);

/* Returns true if exports come to this port. */
bool collector_is_export_port(const struct collector *collector, uint16_t port);
/* A datagram of this domain could be read to its end. */
void collector_prove(struct collector *collector, struct domain *domain);

/* Counts a datagram whose header cannot be read. It is not refused. */
void collector_take_unreadable(
	struct collector *collector, const struct datagram *datagram, enum decode_fault fault);
/* Before the rows of an epoch: decides which of its strangers are exporters. */
void collector_judge_strangers(struct collector *collector);
/* Emits the rows of senders. Returns true if exports were lost. */
bool collector_end_senders(struct collector *collector,
	void (*emit)(void *arg, const struct exporter_row *row), void *arg);
/* After the last epoch: logs everything that was not logged. */
void collector_log_problems(struct collector *collector);

/* collector_take.c */

/* Notes that exporters lost packets, each of which may stand for `interval`. */
void collector_note_lost(struct collector *collector, uint64_t packets, uint32_t interval);
/* Returns what is known about the sampling of a session's records. NULL: of a domain without one. */
struct sampling_knowledge session_sampling(const struct collector *collector,
	const struct domain *domain, const struct session *session);
/*
 * Returns the coarsest sampling interval of a domain, whether it sent records or not. 0: nothing is
 * known; SAMPLING_RATIO_UNKNOWN: it samples at an unknown ratio.
 */
uint32_t domain_interval(const struct collector *collector, const struct domain *domain);

/* Counts a datagram in the row of the others. */
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
/* The coarsest that was seen. */
void exporter_row_sampled(struct exporter_row *row, uint32_t sampling, enum sampling_source source);
/* Call after a session's templates changed. */
void domain_settle_templates(struct collector *collector, struct domain *domain);
/* The name that --exporter gives to a sender, else its address. */
void collector_sender_name(const struct collector *collector, const struct in6_addr *address,
	char name[ROUTER_NAME_MAX]);
/* NULL: there is none for the address. */
const struct exporter_rule *collector_rule_of(
	const struct collector *collector, const struct in6_addr *address);

/* collector_sessions.c */

static inline uint32_t session_index(
	const struct collector *collector, const struct session *session)
{
	return (uint32_t)(session - collector->sessions);
}

/* Returns the size of the pool of sessions. */
uint32_t collector_sessions_max(uint32_t exporters_max);
/* Adds a session for the next datagram of the domain, with any ports. */
struct session *session_add_any(struct collector *collector, struct domain *domain);
/*
 * Returns the session of a datagram, an existing or a new one. Sets *fit to the relation of the
 * datagram to the messages of the session.
 */
struct session *session_find(struct collector *collector, struct domain *domain,
	const struct datagram *datagram, const struct datagram_header *header,
	enum sequence_fit *fit);
/* A message of the session is about to be decoded. */
void session_heard(struct collector *collector, struct session *session);
/* Returns true if a copy of the message to another collector was counted. */
bool session_take_copy(
	struct domain *domain, const struct session *session, const struct datagram_header *header);
/* Returns the session of a domain with the same ports, else the first; NULL if there is none. */
const struct session *session_like(const struct domain *domain, const struct session *session);
/* Counts restarts that only one message shows so far. */
void domain_count_restarts(struct collector *collector, struct domain *domain);
/* Ends all sessions, before the slot is reused. */
void domain_end_sessions(struct collector *collector, struct domain *domain);
/* Prepares the session for templates. Returns false if out of memory. */
bool session_make_templates(struct collector *collector, struct session *session);
/* Also forgets options. */
void session_forget_templates(struct collector *collector, struct session *session);
/* Returns the number of templates of all current sessions. */
uint32_t domain_nb_templates(const struct domain *domain);
/* Drops waiting data sets older than `time`. Returns the number of the others. */
uint32_t domain_waiting(struct collector *collector, struct domain *domain, int64_t time);

/* collector_templates.c: --templates */

/* Takes what the file has, and starts to keep it. False with a line in error[OPTION_WHY_MAX]. */
bool collector_restore_templates(struct collector *collector, char *error);
