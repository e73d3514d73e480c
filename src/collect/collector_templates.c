/* SPDX-License-Identifier: BSD-3-Clause */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/regular_file.h"
#include "collect/collector_state.h"
#include "collect/exporters/template_file.h"
#include "flow_protocols/big_endian.h"
#include "flow_protocols/fields.h"

/*
 * Set ID in the template file for the sampling intervals of a domain. Template sets have other IDs.
 */
#define SAMPLING_SET      UINT16_MAX
/* Set ID for roles: ns since 1970-01-01 UTC (64 bits); then side, role (8 each), index (32). */
#define ROLES_SET         (UINT16_MAX - 1)
#define ROLES_HEADER      (SET_HEADER + 8)
#define ROLE_BYTES        6
/* bytes per exporter, in addition to ROLE_BYTES per interface */
#define ROLES_OF_EXPORTER 128
/* interfaces of one exporter: the length of a set has 16 bits */
#define ROLES_MAX         ((UINT16_MAX - ROLES_HEADER) / ROLE_BYTES)
/* interfaces of all exporters: senders could invent any number of them */
#define ROLES_ALL         UINT16_MAX

static bool is_roles(const struct template_file_entry *entry)
{
	return entry->len >= SET_HEADER && read_u16(entry->set) == ROLES_SET;
}

static bool restore_roles(
	struct collector *collector, uint32_t slot, const struct template_file_entry *entry)
{
	const uint8_t *end = entry->set + entry->len;
	int64_t saved_at;

	if (read_u16(entry->set + 2) != entry->len || entry->len < ROLES_HEADER ||
		(entry->len - ROLES_HEADER) % ROLE_BYTES != 0)
		return false;
	saved_at = (int64_t)(read_u64(entry->set + SET_HEADER) & INT64_MAX);
	for (const uint8_t *at = entry->set + ROLES_HEADER; at < end; at += ROLE_BYTES) {
		const struct interface_role_row row = {
			.exporter = slot,
			.side = at[0],
			.saved = (enum interface_role)at[1],
			.interface = read_u32(at + 2),
			.fed_by = EXPORTER_NONE,
		};

		if (row.side > WHOLE_EXPORTER || row.saved > ROLE_FED)
			return false;
		collector->has_roles = true;
		if (collector->params.restore_role != NULL)
			collector->params.restore_role(collector->params.arg, &row, saved_at);
	}
	return true;
}

static bool restore_set(struct collector *collector, struct session *session,
	const struct template_file_entry *entry)
{
	if (entry->len >= SET_HEADER && read_u16(entry->set) == SAMPLING_SET) {
		collector->process_options |= entry->id.domain == 0;
		return read_u16(entry->set + 2) == entry->len &&
		       sampling_read(&session->sampling, entry->set + SET_HEADER,
			       entry->len - SET_HEADER, collector->sampling_limit);
	}
	return templates_take(session->templates, entry->id.protocol, entry->set, entry->len);
}

static bool restore(void *arg, const struct template_file_entry *entry)
{
	struct collector *collector = arg;
	const struct exporter_rule *rule = collector_rule_of(collector, &entry->id.address);
	uint32_t slot = exporter_find(collector->exporters, &entry->id);
	struct session *session;
	struct domain *domain;

	if (rule == NULL && collector->params.nb_rules > 0)
		return true;
	if (slot != EXPORTER_NONE)
		domain = &collector->domains[slot];
	else if (exporter_table_used(collector->exporters) < collector->params.exporters_max)
		domain = domain_admit(collector, &entry->id, rule);
	else
		return true; /* A saved exporter that may no longer exist must not evict another one. */
	if (domain == NULL)
		return true;
	exporter_restore(collector->exporters, slot_of(collector, domain));
	domain->proven = true;
	if (is_roles(entry))
		return restore_roles(collector, slot_of(collector, domain), entry);
	session = domain->sessions;
	if (session == NULL)
		session = session_add_any(collector, domain);
	if (!session_make_templates(collector, session) || session->templates == NULL ||
		!restore_set(collector, session, entry))
		return false;
	domain_settle_templates(collector, domain);
	session->template_changes = templates_changes(session->templates);
	session->started = entry->started;
	session->from_file = true;
	return true;
}

static bool read_template_file(struct collector *collector, char *error)
{
	const char *path = collector->params.template_file;
	uint64_t damaged;
	int status;

	if (path == NULL)
		return true;
	status = template_file_read(path, restore, collector, &damaged);
	if (status == ENOENT)
		return true;
	if (status == EBADMSG) {
		snprintf(error, OPTION_WHY_MAX,
			"--templates %.200s: not a template file, not overwritten; give "
			"another file, or remove this one",
			path);
		return false;
	}
	if (status != 0) {
		snprintf(error, OPTION_WHY_MAX, "--templates %.200s: cannot read: %s", path,
			status == EINVAL ? "not a regular file" : file_error(status));
		return false;
	}
	if (damaged > 0) {
		collector_log(collector, true,
			"--templates %.200s: %" PRIu64 " damaged lines ignored", path, damaged);
		collector->logged = false;
		collector->file_due = true;
	}
	return true;
}

size_t collector_saved_bytes(const struct collector_params *params)
{
	return params->template_bytes + (size_t)params->exporters_max * ROLES_OF_EXPORTER +
	       (size_t)ROLES_ALL * ROLE_BYTES;
}

static bool start_saver(struct collector *collector, char *error)
{
	const char *path = collector->params.template_file;
	int status;

	if (path == NULL)
		return true;
	status = template_file_check(path);
	if (status != 0) {
		snprintf(error, OPTION_WHY_MAX,
			"--templates %.200s: cannot write: %s; give a file in a directory that "
			"%s",
			path, status == EINVAL ? "not a regular file" : file_error(status),
			status >= FILE_LINK_OF_ANOTHER ? "only this user may write to"
						       : "this user may write to");
		return false;
	}
	status = template_saver_start(
		&collector->saver, path, collector_saved_bytes(&collector->params));
	if (status != 0)
		snprintf(error, OPTION_WHY_MAX, "--templates: cannot start a thread: %s",
			strerror(status));
	return status == 0;
}

bool collector_restore_templates(struct collector *collector, char *error)
{
	return read_template_file(collector, error) && start_saver(collector, error);
}

struct copying {
	struct template_saver *saver;
	struct template_file_entry entry;
};

static void copy_set(void *arg, const uint8_t *set, uint32_t len)
{
	struct copying *copying = arg;

	copying->entry.set = set;
	copying->entry.len = len;
	template_saver_put(copying->saver, &copying->entry);
}

static void copy_sampling(struct copying *copying, const struct sampling *sampling)
{
	uint8_t set[SET_HEADER + SAMPLING_BYTES_MAX];
	uint32_t len = SET_HEADER + sampling_write(sampling, set + SET_HEADER);

	put16(put16(set, SAMPLING_SET), len);
	if (len > SET_HEADER)
		copy_set(copying, set, len);
}

struct copying_roles {
	struct collector *collector;
	struct copying copying;
	uint32_t slot, n;
	uint32_t all; /* rows in the sets of all exporters */
	uint8_t set[ROLES_HEADER + ROLES_MAX * ROLE_BYTES];
};

static void finish_roles(struct copying_roles *roles)
{
	uint32_t len = ROLES_HEADER + roles->n * ROLE_BYTES;

	if (roles->n == 0)
		return;
	put64(put16(put16(roles->set, ROLES_SET), len), (uint64_t)roles->collector->now);
	roles->copying.entry.id = *exporter_id(roles->collector->exporters, roles->slot);
	copy_set(&roles->copying, roles->set, len);
	roles->collector->has_roles = true;
	roles->n = 0;
}

static void copy_role(void *arg, const struct interface_role_row *row)
{
	struct copying_roles *roles = arg;
	uint8_t *to;

	if (row->exporter >= exporter_table_used(roles->collector->exporters))
		return;
	if (row->exporter != roles->slot)
		finish_roles(roles);
	roles->slot = row->exporter;
	if (roles->n == ROLES_MAX || roles->all == ROLES_ALL)
		return;
	roles->all++;
	to = roles->set + ROLES_HEADER + roles->n++ * ROLE_BYTES;
	*to++ = (uint8_t)row->side;
	*to++ = (uint8_t)row->saved;
	put32(to, row->interface);
}

/* Returns false if the roles cannot be read now. */
static bool copy_roles(struct collector *collector)
{
	struct copying_roles roles = {
		.collector = collector,
		.copying.saver = collector->saver,
		.slot = EXPORTER_NONE,
	};

	if (collector->params.emit_roles == NULL)
		return true;
	if (!collector->params.emit_roles(collector->params.arg, copy_role, &roles))
		return false;
	finish_roles(&roles);
	return true;
}

/* Returns false if the copy is incomplete. */
static bool copy_templates(struct collector *collector)
{
	uint32_t used = exporter_table_used(collector->exporters);
	struct copying copying = {.saver = collector->saver};

	template_saver_clear(collector->saver);
	for (uint32_t slot = 0; slot < used; slot++) {
		const struct domain *domain = &collector->domains[slot];
		const struct session *session = domain->sessions;

		/* The file has no ports, so it cannot distinguish processes. */
		if (session == NULL || session->templates == NULL || domain->several)
			continue;
		copying.entry.id = *exporter_id(collector->exporters, slot);
		copying.entry.started = session->started;
		templates_each(session->templates, copy_set, &copying);
		copy_sampling(&copying, &session->sampling);
	}
	collector->file_due = !copy_roles(collector);
	return !collector->file_due;
}

static void start_saving(struct collector *collector)
{
	if (collector->file_due && !copy_templates(collector))
		return;
	template_saver_save(collector->saver, collector->now);
}

static bool log_saving(struct collector *collector, int status)
{
	const char *path = collector->params.template_file;

	if (status == 0)
		return collector_log(collector, false, "--templates %.200s: writing again", path);
	return collector_log(
		collector, true, "--templates %.200s: cannot write: %s", path, file_error(status));
}

static bool roles_changed(const struct collector *collector)
{
	return collector->params.roles_changed != NULL &&
	       collector->params.roles_changed(collector->params.arg);
}

void collector_save_templates(struct collector *collector)
{
	bool due;
	int status;

	if (collector->saver == NULL)
		return;
	collector->file_due |= roles_changed(collector);
	due = template_saver_is_due(collector->saver, collector->file_due, collector->now);
	status = template_saver_status(collector->saver);
	if ((status != 0) != collector->file_failure_logged && log_saving(collector, status))
		collector->file_failure_logged = status != 0;
	if (due)
		start_saving(collector);
}

/* Returns false if the template file is not up to date. */
static bool finish_saving(struct collector *collector)
{
	int status;

	if (collector->saver == NULL)
		return true;
	template_saver_wait(collector->saver);
	/* The age of saved roles counts from the time of saving. */
	collector->file_due |= collector->has_roles || roles_changed(collector);
	if (collector->file_due || template_saver_status(collector->saver) != 0)
		start_saving(collector);
	template_saver_wait(collector->saver);
	status = template_saver_status(collector->saver);
	/* The limit of one log line per second must not suppress this failure. */
	collector->logged = false;
	if (status != 0 || collector->file_failure_logged)
		log_saving(collector, status);
	collector->file_failure_logged = false;
	return status == 0;
}

bool collector_finish(struct collector *collector)
{
	bool saved = finish_saving(collector);

	collector_log_problems(collector);
	return saved;
}
