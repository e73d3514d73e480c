/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Template IDs, sequence numbers and options are valid for one exporting process until it restarts
 * (RFC 3954, 9; RFC 7011, 8). So each process has a session. After a restart, the old session stays
 * for a while, so that a forged datagram does not destroy it.
 */

#include <string.h>

#include "base/assertion.h"
#include "collect/collector_state.h"
#include "flow_protocols/fields.h"

#define LATE_MAX         4 /* late messages of the old session after a restart */
#define RETURNS_CERTAIN  2 /* messages of the old session that disprove a restart */
#define MEANS_OF_SILENCE 4 /* silence that ends a process, in mean intervals of its messages */

uint32_t collector_sessions_max(uint32_t exporters_max)
{
	return exporters_max + exporters_max / SESSIONS_MORE + 2 * SESSIONS_MAX;
}

static struct domain *domain_of_session(struct collector *collector, const struct session *session)
{
	return &collector->domains[session->slot];
}

static bool same_key(const struct session_key *a, const struct session_key *b)
{
	return a->src_port == b->src_port && a->dst_port == b->dst_port &&
	       memcmp(&a->dst, &b->dst, sizeof(a->dst)) == 0;
}

static bool same_destination(const struct session_key *a, const struct session_key *b)
{
	return a->dst_port == b->dst_port && memcmp(&a->dst, &b->dst, sizeof(a->dst)) == 0;
}

static void unlink_session(struct domain *domain, const struct session *session)
{
	struct session **at = &domain->sessions;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	VERIFY(domain->nb_sessions, >, 0);
	domain->nb_sessions--;
	for (struct session *s = domain->sessions; s != NULL; s = s->next)
		if (s->before == session)
			s->before = NULL;
}

static void end_session(struct collector *collector, struct session *session)
{
	struct domain *domain = domain_of_session(collector, session);

	domain->row.unknown_template +=
		waiting_forget(collector->waiting, session_index(collector, session));
	if (session->templates != NULL && templates_count(session->templates) > 0)
		collector->file_due = true;
	templates_destroy(session->templates);
	sampling_forget(&session->sampling);
	unlink_session(domain, session);
	domain_settle_templates(collector, domain);
	*session = (struct session){.slot = EXPORTER_NONE, .next = collector->free_sessions};
	collector->free_sessions = session;
}

void domain_end_sessions(struct collector *collector, struct domain *domain)
{
	while (domain->sessions != NULL)
		end_session(collector, domain->sessions);
}

/* Ignores the first session and `keep`. Returns NULL if there is no other. */
static struct session *worst_of(const struct domain *domain, const struct session *keep)
{
	struct session *worst = NULL;

	for (struct session *s = domain->sessions->next; s != NULL; s = s->next)
		if (s != keep && (worst == NULL || !s->proven || worst->proven))
			worst = s;
	return worst;
}

/* Some other domain has several sessions, because there are more sessions than domains. */
static void end_any_other(struct collector *collector, const struct domain *domain)
{
	for (;;) {
		uint32_t at = collector->session_hand;
		struct session *session = &collector->sessions[at];
		const struct domain *of = domain_of_session(collector, session);

		collector->session_hand = at + 1 == collector->sessions_max ? 0 : at + 1;
		if (of == domain || of->sessions == session)
			continue;
		end_session(collector, session);
		return;
	}
}

static struct session *take_free(struct collector *collector, const struct domain *domain)
{
	struct session *session;

	if (collector->free_sessions == NULL && collector->sessions_used == collector->sessions_max)
		end_any_other(collector, domain);
	session = collector->free_sessions;
	if (session == NULL)
		return &collector->sessions[collector->sessions_used++];
	collector->free_sessions = session->next;
	return session;
}

static struct session *add_session(struct collector *collector, struct domain *domain,
	const struct session_key *key, struct session *before)
{
	struct session *session, **at = &domain->sessions;

	if (domain->nb_sessions == SESSIONS_MAX)
		end_session(collector, worst_of(domain, before));
	session = take_free(collector, domain);
	*session = (struct session){
		.slot = slot_of(collector, domain),
		.key = *key,
		.before = before,
		.owner = ++collector->owners,
		.sampling = {.seed = collector->params.seed},
	};
	if (before != NULL)
		sequence_init_like(&session->sequence, &before->sequence);
	else
		sequence_init(&session->sequence, domain->row.protocol);
	/* The first position in the list is only for a proven session. */
	if (*at != NULL)
		at = &(*at)->next;
	session->next = *at;
	*at = session;
	domain->nb_sessions++;
	VERIFY(domain->nb_sessions, <=, SESSIONS_MAX);
	return session;
}

struct session *session_add_any(struct collector *collector, struct domain *domain)
{
	static const struct session_key none;
	struct session *session = add_session(collector, domain, &none, NULL);

	session->any_key = true;
	return session;
}

const struct session *session_like(const struct domain *domain, const struct session *session)
{
	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		if (same_key(&s->key, &session->key))
			return s;
	return domain->sessions;
}

static struct session *find_by_key(const struct domain *domain, const struct session_key *key,
	const struct datagram_header *header, enum sequence_fit *fit)
{
	struct session *best = NULL;

	for (struct session *s = domain->sessions; s != NULL; s = s->next) {
		enum sequence_fit this;

		if (!s->any_key && !same_key(&s->key, key))
			continue;
		this = sequence_fit(&s->sequence, header);
		if (best != NULL && this <= *fit)
			continue;
		best = s;
		*fit = this;
		if (this >= SEQUENCE_NEAR)
			break;
	}
	return best;
}

/* Returns true if the session has all templates of the message, with the same definitions. */
static bool templates_fit(const struct session *session, const struct datagram *datagram,
	const struct datagram_header *header)
{
	const uint8_t *set = datagram->data + header->len, *end = datagram->data + datagram->len;

	if (session->templates == NULL)
		return true;
	while (end - set >= SET_HEADER) {
		uint32_t id = read_u16(set), len = read_u16(set + 2);

		if (len < SET_HEADER || len > end - set)
			return true;
		if (id <= SET_IPFIX_OPTIONS && !templates_agree(session->templates, (uint16_t)id,
						       set + SET_HEADER, len - SET_HEADER))
			return false;
		set += len;
	}
	return true;
}

/*
 * Finds the session of a message from new ports: NAT may have changed the source port, or the
 * message is a copy for another collector. Returns NULL if it is from another process.
 */
static struct session *find_by_number(const struct domain *domain, const struct session_key *key,
	const struct datagram *datagram, const struct datagram_header *header,
	enum sequence_fit *fit)
{
	for (struct session *s = domain->sessions; s != NULL; s = s->next) {
		*fit = sequence_fit(&s->sequence, header);
		if (*fit == SEQUENCE_REPEATED && !same_destination(&s->key, key))
			return s;
		if (*fit == SEQUENCE_NEXT && templates_fit(s, datagram, header)) {
			s->key = *key;
			return s;
		}
	}
	return NULL;
}

struct session *session_find(struct collector *collector, struct domain *domain,
	const struct datagram *datagram, const struct datagram_header *header,
	enum sequence_fit *fit)
{
	struct session_key key = {datagram->dst, datagram->src_port, datagram->dst_port};
	struct session *found = find_by_key(domain, &key, header, fit), *before = found;

	if (found != NULL && *fit > SEQUENCE_ANEW) {
		found->key = key;
		found->any_key = false;
		return found;
	}
	if (found == NULL && domain->sessions != NULL) {
		found = find_by_number(domain, &key, datagram, header, fit);
		if (found != NULL)
			return found;
		before = domain->sessions;
		*fit = sequence_fit(&before->sequence, header);
	}
	found = add_session(collector, domain, &key, before);
	found->restart = before != NULL && *fit <= SEQUENCE_ANEW;
	found->by_clock = *fit == SEQUENCE_RESTARTED && before != NULL;
	if (before != NULL)
		found->before_taken = before->sequence.taken;
	/* The loss counters of the exporter restart at 0: losses_reported() needs the old ones. */
	if (found->restart)
		found->reported = before->reported;
	*fit = SEQUENCE_FAR;
	return found;
}

/* After a counted restart, a single message proves nothing, because it may be late. */
static void return_to(struct domain *domain, struct session *session)
{
	if (session->over && ++session->returns < RETURNS_CERTAIN)
		return;
	session->over = false;
	for (struct session *s = domain->sessions; s != NULL; s = s->next) {
		if (s->before != session)
			continue;
		if (s->counted && domain->row.restarts > 0)
			domain->row.restarts--;
		s->counted = s->by_clock = false;
		if (same_destination(&s->key, &session->key) &&
			s->key.src_port != session->key.src_port)
			s->other_port = session->key.src_port;
		if (s->proven || !same_key(&s->key, &session->key)) {
			s->before = NULL;
			s->restart = false;
		}
	}
}

static void note_several(struct domain *domain, const struct session *session)
{
	if (domain->several || session->other_port == 0)
		return;
	domain->several = true;
	domain->ports_due[0] = session->other_port;
	domain->ports_due[1] = session->key.src_port;
}

static void move_first(struct domain *domain, struct session *session)
{
	struct session **at = &domain->sessions;

	while (*at != session)
		at = &(*at)->next;
	*at = session->next;
	session->next = domain->sessions;
	domain->sessions = session;
}

/* Data sets of the previous session wait for templates that will not arrive. */
static void count_restart(struct collector *collector, struct session *session)
{
	struct domain *domain = domain_of_session(collector, session);
	struct session *before = session->before;

	session->counted = true;
	domain->row.restarts++;
	domain->interval_old = true;
	domain->after_loss = true;
	if (collector->links != NULL)
		links_restart(collector->links, session->slot);
	if (before == NULL)
		return;
	before->over = true;
	before->returns = 0;
	domain->row.unknown_template +=
		waiting_forget(collector->waiting, session_index(collector, before));
}

/* The session has a single message, which was forged or stray. */
static void end_stray(struct collector *collector, const struct session *session)
{
	struct domain *domain = domain_of_session(collector, session);

	for (struct session *s = domain->sessions; s != NULL; s = s->next) {
		if (s->proven || s->before != session || !same_key(&s->key, &session->key) ||
			session->sequence.taken - s->before_taken <= LATE_MAX)
			continue;
		end_session(collector, s);
		return;
	}
}

void session_heard(struct collector *collector, struct session *session)
{
	struct domain *domain = domain_of_session(collector, session);

	if (domain->nb_sessions > 1) {
		return_to(domain, session);
		end_stray(collector, session);
	}
	if (!session->sequence.started)
		return;
	if (!session->proven && session->restart && !session->counted)
		count_restart(collector, session);
	session->proven = true;
	note_several(domain, session);
	if (domain->sessions != session)
		move_first(domain, session);
}

/*
 * The previous session must have been silent since `session` began: for MEANS_OF_SILENCE of its
 * mean message intervals, and for at least the time between its last message and `session`.
 */
static bool is_silent(const struct session *session, int64_t now)
{
	const struct sequence *old = &session->before->sequence;
	int64_t began = session->sequence.first_came, least = began - old->base.came;

	if (old->taken > 1) {
		int64_t mean = (old->base.came - old->first_came) / (int64_t)(old->taken - 1);

		least = mean * MEANS_OF_SILENCE > least ? mean * MEANS_OF_SILENCE : least;
	}
	return now - began >= least;
}

void domain_count_restarts(struct collector *collector, struct domain *domain)
{
	for (struct session *s = domain->sessions; s != NULL; s = s->next)
		if (s->by_clock && !s->counted && s->before != NULL && is_silent(s, collector->now))
			count_restart(collector, s);
}

bool session_take_copy(
	struct domain *domain, const struct session *session, const struct datagram_header *header)
{
	for (struct session *s = domain->sessions; s != NULL; s = s->next)
		if (s != session && !same_destination(&s->key, &session->key) &&
			sequence_take_copy(&s->sequence, header))
			return true;
	return false;
}

static size_t template_limit(const struct collector *collector, const struct domain *domain)
{
	size_t loan = domain->borrowed + collector->template_pool - collector->template_lent;

	if (loan > collector->template_loan_max)
		loan = collector->template_loan_max;
	return collector->template_share + loan;
}

static size_t bytes_of_others(const struct domain *domain, const struct session *session)
{
	size_t bytes = 0;

	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		bytes += s != session && s->templates != NULL ? templates_bytes(s->templates) : 0;
	return bytes;
}

bool session_make_templates(struct collector *collector, struct session *session)
{
	struct domain *domain = domain_of_session(collector, session);
	struct session *worst;
	size_t limit, others;

	if (!flow_protocols[domain->row.protocol]->has_templates)
		return true;
	if (session->templates == NULL)
		session->templates = templates_create(0);
	if (session->templates == NULL)
		return false;
	limit = template_limit(collector, domain);
	others = domain->nb_sessions > 1 ? bytes_of_others(domain, session) : 0;
	while (others > limit / 2 && (worst = worst_of(domain, session)) != NULL) {
		end_session(collector, worst);
		others = bytes_of_others(domain, session);
	}
	templates_set_limit(session->templates, limit > others ? limit - others : 0);
	return true;
}

void session_forget_templates(struct collector *collector, struct session *session)
{
	if (session->templates == NULL)
		return;
	if (templates_count(session->templates) > 0)
		collector->file_due = true;
	templates_forget(session->templates);
	sampling_forget(&session->sampling);
	domain_settle_templates(collector, domain_of_session(collector, session));
	session->template_changes = templates_changes(session->templates);
	session->from_file = false;
}

uint32_t domain_nb_templates(const struct domain *domain)
{
	uint32_t nb = 0;

	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		if (s->templates != NULL && !s->over && (s->counted || !s->restart))
			nb += templates_count(s->templates);
	return nb;
}

uint32_t domain_waiting(struct collector *collector, struct domain *domain, int64_t time)
{
	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		domain->row.unknown_template +=
			waiting_forget_old(collector->waiting, session_index(collector, s), time);
	return domain_waiting_sets(collector, domain);
}

uint32_t domain_waiting_sets(const struct collector *collector, const struct domain *domain)
{
	uint32_t nb = 0;

	for (const struct session *s = domain->sessions; s != NULL; s = s->next)
		nb += waiting_count(collector->waiting, session_index(collector, s));
	return nb;
}
