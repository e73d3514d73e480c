/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * A template is created when a record first needs it. It depends on the key rule and on which
 * values of the row are known (enum shape). Each template has its own message buffer, and a list of
 * pieces to copy from a row into the key. A record has the key, the figures, and constant fields.
 */

#include "report/formats/ipfix.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/units.h"
#include "config/config.h"
#include "flow_protocols/netflow/set_writer.h"

#define MILLISECOND_NS (SECOND_NS / 1000)
#define DOMAINS_MAX    CONFIG_MEASUREMENTS_MAX
#define FIELDS_MAX     32
#define CONSTANT_BYTES 16 /* interfaces, sampling interval and prefix lengths */
/* Each memcpy() of a piece copies this many bytes. No piece is longer. */
#define COPIED         40
#define NAME_BYTES     128 /* includes the final 0; longer names are truncated */

/* Template IDs of options records. Data records have IDs from FIRST_TEMPLATE on. */
#define OPTIONS_WHO    256
#define OPTIONS_LEDGER 257
#define FIRST_TEMPLATE 258

/* Optional parts of a record. Each combination has its own template. */
enum shape {
	SHAPE_IPV4 = 1 << 0,
	SHAPE_PACKETS = 1 << 1,
	SHAPE_BYTES = 1 << 2,
	SHAPE_TIMES = 1 << 3,
	SHAPE_LIMITS = 1 << 4,
	SHAPE_END = 1 << 5,
	SHAPE_IP_BYTES = 1 << 6, /* bytes of IP packets, besides bytes of frames */
	SHAPES = 1 << 7,
};

enum piece_kind {
	PIECE_COPY,
	PIECE_ZEROS, /* padding of a prefix */
	PIECE_MPLS,
	PIECE_INTERFACE, /* port number, to which ipfix_options.ingress is added */
};

struct piece {
	uint8_t kind;
	uint8_t from;
	uint8_t len;
};

struct ipfix_template {
	uint16_t id;
	uint32_t shape;
	bool key_flags;
	uint32_t nb_fields;
	struct set_field fields[FIELDS_MAX];
	uint32_t nb_pieces, nb_constants;
	struct piece pieces[KEY_FIELD_COUNT + 2];
	uint8_t constants[CONSTANT_BYTES];
	uint32_t record_len;
	bool sent; /* the collector has received it in this session */
	/* rows and bytes of the message that is being filled */
	uint32_t rows, len;
	uint8_t message[];
};

struct ipfix_domain {
	uint32_t number, sequence;
	char name[NAME_BYTES];
	/* Key rule of the templates. No fields: there are no templates. */
	struct key_rule rule;
	uint32_t next_id;
	struct ipfix_template *templates[SHAPES];
	bool sent;         /* the options record of this domain was sent in this session */
	int64_t sent_at;   /* start of the refresh period, ns since 1970-01-01 UTC */
	uint32_t messages; /* sent in the refresh period */
	uint64_t exported, not_sent;
	uint64_t offered, measured, ignored;
};

/* Sums over epochs that were not sent. Any thread may write them. */
struct ipfix_missed {
	_Atomic uint64_t rows, offered, measured, ignored;
};

struct ipfix {
	struct ipfix_options options;
	struct ipfix_missed missed[DOMAINS_MAX]; /* not yet part of the domains */
	struct ipfix_domain
		/* totals.sent: the options records of all domains were sent. */
		totals;
	struct ipfix_domain *domains[DOMAINS_MAX];
	uint8_t *message; /* [message_max], for messages without rows */
};

/* Kind and length of the piece for each optional key field. */
#define KIND_OF_NUMBER             PIECE_COPY
#define KIND_OF_MPLS_ENTRY         PIECE_MPLS
#define KIND_OF_INTERFACE          PIECE_INTERFACE
#define KIND_OF_NONE               PIECE_COPY
#define LENGTH_OF_NUMBER(size)     (size)
#define LENGTH_OF_MPLS_ENTRY(size) (size)
#define LENGTH_OF_INTERFACE(size)  4
#define LENGTH_OF_NONE(size)       0
#define ELEMENT_OF_FIELD(name, word, bits, type, column, number, form, ...)                        \
	[KEY_##name] = {                                                                           \
		(number), .len = LENGTH_OF_##form(KEY_EXTRA_SIZE(word)), .kind = KIND_OF_##form},

/* clang-format off */
static const struct {
	/* elements for full addresses; other fields use only ipv4 */
	uint16_t ipv4, ipv6;
	uint16_t prefix4, prefix6;         /* elements for prefixes */
	uint16_t prefix_len4, prefix_len6; /* elements for prefix lengths */
	uint8_t len;                       /* bytes; 0 for addresses */
	uint8_t kind;
} key_elements[KEY_FIELD_COUNT] = {
	[KEY_SRC_IP] = {.ipv4 = IE_SOURCE_IPV4,
		.ipv6 = IE_SOURCE_IPV6,
		.prefix4 = IE_SOURCE_IPV4_PREFIX,
		.prefix6 = IE_SOURCE_IPV6_PREFIX,
		.prefix_len4 = IE_SOURCE_IPV4_PREFIX_LENGTH,
		.prefix_len6 = IE_SOURCE_IPV6_PREFIX_LENGTH},
	[KEY_DST_IP] = {.ipv4 = IE_DESTINATION_IPV4,
		.ipv6 = IE_DESTINATION_IPV6,
		.prefix4 = IE_DESTINATION_IPV4_PREFIX,
		.prefix6 = IE_DESTINATION_IPV6_PREFIX,
		.prefix_len4 = IE_DESTINATION_IPV4_PREFIX_LENGTH,
		.prefix_len6 = IE_DESTINATION_IPV6_PREFIX_LENGTH},
	[KEY_SRC_PORT] = {IE_SOURCE_PORT, .len = 2},
	[KEY_DST_PORT] = {IE_DESTINATION_PORT, .len = 2},
	[KEY_PROTO] = {IE_PROTOCOL, .len = 1},
	KEY_EXTRA_FIELDS(ELEMENT_OF_FIELD)
};
/* clang-format on */

bool ipfix_carries(const struct key_rule *rule, char *why)
{
	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		if (!key_rule_has(rule, (enum key_field_id)f) || key_elements[f].ipv4 != 0)
			continue;
		snprintf(why, IPFIX_WHY_MAX,
			"has the field %s, for which IPFIX has no information element",
			key_fields[f].word);
		return false;
	}
	return true;
}

static void add_field(struct ipfix_template *template, uint16_t element, uint32_t len)
{
	VERIFY(template->nb_fields, <, FIELDS_MAX);
	template->fields[template->nb_fields++] = (struct set_field){element, (uint16_t)len};
	template->record_len += len;
}

/* Extends the previous piece if it is adjacent, to save a copy. */
static void add_piece(struct ipfix_template *template, uint8_t kind, uint32_t from, uint32_t len)
{
	struct piece *last = template->pieces + template->nb_pieces - 1;

	if (len == 0)
		return;
	if (template->nb_pieces > 0 && kind == PIECE_COPY && last->kind == PIECE_COPY &&
		last->from + last->len == (int)from)
		last->len = (uint8_t)(last->len + len);
	else
		template->pieces[template->nb_pieces++] =
			(struct piece){kind, (uint8_t)from, (uint8_t)len};
}

static void add_constant(
	struct ipfix_template *template, uint16_t element, uint32_t value, uint32_t len)
{
	uint8_t *at = template->constants + template->nb_constants;

	VERIFY(template->nb_constants + len, <=, CONSTANT_BYTES);
	add_field(template, element, len);
	if (len == 1)
		put8(at, value);
	else
		put32(at, value);
	template->nb_constants += len;
}

static void add_address(
	struct ipfix_template *template, const struct key_rule *rule, int field, uint32_t from)
{
	bool ipv4 = (template->shape & SHAPE_IPV4) != 0;
	uint32_t len = ipv4 ? 4 : 16, bits = (ipv4 ? &rule->ipv4 : &rule->ipv6)->bits[field];
	/* In a key with optional fields, a prefix has only the bytes that it needs. */
	uint32_t there = rule->extra ? (bits + 7) / 8 : len;

	if (bits == 8 * len)
		add_field(
			template, ipv4 ? key_elements[field].ipv4 : key_elements[field].ipv6, len);
	else
		add_field(template,
			ipv4 ? key_elements[field].prefix4 : key_elements[field].prefix6, len);
	add_piece(template, PIECE_COPY, from, there);
	add_piece(template, PIECE_ZEROS, 0, len - there);
}

static void add_key(struct ipfix_template *template, const struct key_rule *rule, size_t key_at)
{
	const struct key_layout *layout = template->shape & SHAPE_IPV4 ? &rule->ipv4 : &rule->ipv6;

	for (int f = 0; f < KEY_FIELD_COUNT; f++) {
		uint32_t from = (uint32_t)key_at + layout->at[f];

		if (!key_rule_has(rule, (enum key_field_id)f))
			continue;
		if (key_fields[f].type == KEY_FIELD_ADDRESS) {
			add_address(template, rule, f, from);
		} else if (key_elements[f].ipv4 != 0) {
			add_field(template, key_elements[f].ipv4, key_elements[f].len);
			add_piece(template, key_elements[f].kind, from, key_elements[f].len);
		}
	}
	template->key_flags = key_rule_has(rule, KEY_TCP_FLAGS);
}

/* The order is that of put_row() and put_flow(). */
static void add_figures(struct ipfix_template *template)
{
	uint32_t shape = template->shape;

	if (shape & SHAPE_PACKETS)
		add_field(template, IE_PACKET_DELTA_COUNT, 8);
	if (shape & SHAPE_PACKETS && shape & SHAPE_LIMITS) {
		add_field(template, IE_LOWER_LIMIT, 8);
		add_field(template, IE_UPPER_LIMIT, 8);
	}
	if (shape & SHAPE_IP_BYTES)
		add_field(template, IE_OCTET_DELTA_COUNT, 8);
	if (shape & SHAPE_BYTES)
		add_field(template, IE_LAYER2_OCTET_DELTA_COUNT, 8);
	if (shape & SHAPE_BYTES && shape & SHAPE_LIMITS) {
		add_field(template, IE_LOWER_LIMIT, 8);
		add_field(template, IE_UPPER_LIMIT, 8);
	}
	if (shape & SHAPE_LIMITS)
		add_field(template, IE_CONFIDENCE, 8);
	add_field(template, IE_START_MILLISECONDS, 8);
	add_field(template, IE_END_MILLISECONDS, 8);
	if (shape & SHAPE_TIMES && !template->key_flags)
		add_field(template, IE_TCP_CONTROL_BITS, 1);
	if (shape & SHAPE_END)
		add_field(template, IE_END_REASON, 1);
}

static void add_constants(struct ipfix_template *template, const struct key_rule *rule,
	const struct ipfix_options *options)
{
	bool ipv4 = (template->shape & SHAPE_IPV4) != 0;

	if (!key_rule_has(rule, KEY_IN_PORT))
		add_constant(template, IE_INGRESS_INTERFACE, options->ingress, 4);
	add_constant(template, IE_EGRESS_INTERFACE, options->egress, 4);
	add_constant(template, IE_SAMPLING_INTERVAL, 1, 4);
	for (int f = KEY_SRC_IP; f <= KEY_DST_IP; f++) {
		uint32_t bits = (ipv4 ? &rule->ipv4 : &rule->ipv6)->bits[f];

		if (key_rule_has(rule, (enum key_field_id)f) && bits < (ipv4 ? 32 : 128))
			add_constant(template,
				ipv4 ? key_elements[f].prefix_len4 : key_elements[f].prefix_len6,
				bits, 1);
	}
}

static struct ipfix_template *make_template(
	const struct ipfix *ipfix, struct ipfix_domain *domain, uint32_t shape)
{
	const struct ipfix_options *options = &ipfix->options;
	struct ipfix_template *template =
		calloc(1, sizeof(*template) + options->message_max + COPIED);

	if (template == NULL)
		return NULL;
	template->id = (uint16_t)domain->next_id;
	domain->next_id = domain->next_id < UINT16_MAX ? domain->next_id + 1 : FIRST_TEMPLATE;
	template->shape = shape;
	template->len = IPFIX_HEADER + SET_HEADER;
	add_key(template, &domain->rule,
		options->flows ? offsetof(struct report_flow, key)
			       : offsetof(struct report_row, key));
	add_figures(template);
	add_constants(template, &domain->rule, options);
	domain->templates[shape] = template;
	return template;
}

static bool send_message(struct ipfix_domain *domain, uint8_t *message, uint32_t len, uint32_t rows,
	uint32_t data_records, const struct ipfix_sink *sink)
{
	put_ipfix_header(message, len, sink->now(sink->arg), domain->sequence, domain->number);
	/* A gap in the sequence numbers shows the collector that a message was lost. */
	domain->sequence += data_records;
	domain->messages++;
	return sink->send(sink->arg, message, len, rows);
}

/* The name is last: nfdump 1.7.5 reads a field after a variable-length field at a wrong offset. */
static const struct set_field who_fields[] = {{IE_OBSERVATION_DOMAIN, 4},
	{IE_SELECTOR_ALGORITHM, 2}, {IE_SAMPLED_PACKETS, 4}, {IE_SKIPPED_PACKETS, 4},
	{IE_DOMAIN_NAME, FIELD_VARIABLE}};
static const struct set_field ledger_fields[] = {{IE_OBSERVATION_DOMAIN, 4},
	{IE_OBSERVATION_MILLISECONDS, 8}, {IE_EXPORTED_FLOWS, 8}, {IE_NOT_SENT_FLOWS, 8},
	{IE_PACKETS_OBSERVED, 8}, {IE_PACKETS_SELECTED, 8}, {IE_IGNORED_PACKETS, 8}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The sampling rate is 1:1, as 1 packet is selected and 0 are skipped. */
static uint8_t *put_who(uint8_t *at, const struct ipfix_domain *domain)
{
	uint32_t len = (uint32_t)strlen(domain->name);

	at = put32(put32(put16(put32(at, domain->number), 1), 1), 0);
	return put_bytes(put8(at, len), domain->name, len);
}

/* `in` is `domain` or the domain of totals. */
static bool send_domain(struct ipfix *ipfix, struct ipfix_domain *in,
	const struct ipfix_domain *domain, const struct ipfix_sink *sink)
{
	uint8_t *set = ipfix->message + IPFIX_HEADER,
		*at = put_set_header(set, SET_IPFIX_OPTIONS, 0);

	at = put_options_template(at, OPTIONS_WHO, who_fields, COUNT(who_fields));
	set = end_set(set, at);
	at = end_set(set, put_who(put_set_header(set, OPTIONS_WHO, 0), domain));
	return send_message(in, ipfix->message, (uint32_t)(at - ipfix->message), 0, 1, sink);
}

static bool send_domains(struct ipfix *ipfix, const struct ipfix_sink *sink)
{
	for (uint32_t d = 0; d < DOMAINS_MAX; d++)
		if (ipfix->domains[d] != NULL &&
			!send_domain(ipfix, &ipfix->totals, ipfix->domains[d], sink))
			return false;
	return true;
}

/* Writes as many unsent templates as fit into one message. */
static uint8_t *put_templates(struct ipfix *ipfix, struct ipfix_domain *domain)
{
	uint8_t *end = ipfix->message + ipfix->options.message_max;
	uint8_t *at = put_set_header(ipfix->message + IPFIX_HEADER, SET_IPFIX_TEMPLATES, 0);

	for (uint32_t s = 0; s < SHAPES; s++) {
		struct ipfix_template *template = domain->templates[s];

		if (template == NULL || template->sent || at + 4 + 4 * template->nb_fields > end)
			continue;
		at = put_template(at, template->id, template->fields, template->nb_fields);
		template->sent = true;
	}
	return end_set(ipfix->message + IPFIX_HEADER, at);
}

static void forget_templates(struct ipfix_domain *domain)
{
	for (uint32_t s = 0; s < SHAPES; s++)
		if (domain->templates[s] != NULL)
			domain->templates[s]->sent = false;
}

static void forget_all(const struct ipfix *ipfix, struct ipfix_domain *domain)
{
	domain->sent = false;
	forget_templates(domain);
	if (ipfix->options.reliable)
		domain->sequence = 0;
}

static bool send_templates(
	struct ipfix *ipfix, struct ipfix_domain *domain, const struct ipfix_sink *sink)
{
	uint8_t *nothing = ipfix->message + IPFIX_HEADER + SET_HEADER, *at;

	while ((at = put_templates(ipfix, domain)) > nothing)
		if (!send_message(
			    domain, ipfix->message, (uint32_t)(at - ipfix->message), 0, 0, sink))
			return false;
	return true;
}

static void begin_session(struct ipfix *ipfix)
{
	forget_all(ipfix, &ipfix->totals);
	for (uint32_t d = 0; d < DOMAINS_MAX; d++)
		if (ipfix->domains[d] != NULL)
			forget_all(ipfix, ipfix->domains[d]);
}

static bool is_resend_due(const struct ipfix *ipfix, const struct ipfix_domain *domain, int64_t now)
{
	return !ipfix->options.reliable &&
	       (now < domain->sent_at || now - domain->sent_at >= IPFIX_REFRESH_NS ||
		       domain->messages >= IPFIX_REFRESH_MESSAGES);
}

static bool is_there(struct ipfix *ipfix, const struct ipfix_sink *sink)
{
	enum ipfix_peer peer = sink->peer(sink->arg);

	if (peer == IPFIX_ANEW)
		begin_session(ipfix);
	return peer != IPFIX_GONE;
}

/* Returns true if templates must be sent now, and then begins a refresh period. */
static bool renews(
	const struct ipfix *ipfix, struct ipfix_domain *domain, const struct ipfix_sink *sink)
{
	int64_t now = sink->now(sink->arg);

	if (domain->sent && !is_resend_due(ipfix, domain, now))
		return false;
	domain->sent_at = now;
	domain->messages = 0;
	return true;
}

/*
 * Sends the templates and the options record that the collector lacks, or returns false. The
 * options record is sent once per session, before any data: some collectors do not count it in the
 * sequence number, contrary to RFC 7011, and would report a gap.
 */
static bool prepare(struct ipfix *ipfix, struct ipfix_domain *domain, const struct ipfix_sink *sink)
{
	if (!is_there(ipfix, sink))
		return false;
	if (renews(ipfix, domain, sink))
		forget_templates(domain);
	if (!send_templates(ipfix, domain, sink)) {
		forget_templates(domain);
		return false;
	}
	domain->sent = domain->sent || send_domain(ipfix, domain, domain, sink);
	return domain->sent;
}

static bool prepare_totals(struct ipfix *ipfix, const struct ipfix_sink *sink)
{
	struct ipfix_domain *totals = &ipfix->totals;
	uint8_t *set = ipfix->message + IPFIX_HEADER, *at;

	if (!is_there(ipfix, sink))
		return false;
	if (!renews(ipfix, totals, sink))
		return true;
	at = put_options_template(put_set_header(set, SET_IPFIX_OPTIONS, 0), OPTIONS_LEDGER,
		ledger_fields, COUNT(ledger_fields));
	at = end_set(set, at);
	totals->sent =
		send_message(totals, ipfix->message, (uint32_t)(at - ipfix->message), 0, 0, sink) &&
		send_domains(ipfix, sink);
	return totals->sent;
}

static void flush(struct ipfix *ipfix, struct ipfix_domain *domain, struct ipfix_template *template,
	const struct ipfix_sink *sink)
{
	uint32_t rows = template->rows, len = template->len;
	uint8_t *set = template->message + IPFIX_HEADER;

	template->rows = 0;
	template->len = IPFIX_HEADER + SET_HEADER;
	if (rows == 0)
		return;
	put_set_header(set, template->id, len - IPFIX_HEADER);
	if (prepare(ipfix, domain, sink) &&
		send_message(domain, template->message, len, rows, rows, sink))
		domain->exported += rows;
	else
		domain->not_sent += rows;
}

static uint8_t *put_piece(
	uint8_t *at, const struct ipfix *ipfix, const uint8_t *row, const struct piece *piece)
{
	const uint8_t *from = row + piece->from;

	switch (piece->kind) {
	case PIECE_ZEROS: memset(at, 0, piece->len); break;
	/* Drops the label's other bits. The element has the 4 bits after the label. */
	case PIECE_MPLS:
		put8(put16(at, ((uint32_t)from[0] << 16 | (uint32_t)from[1] << 8 | from[2]) >> 4),
			(uint32_t)from[2] << 4);
		break;
	case PIECE_INTERFACE:
		put32(at, ipfix->options.ingress + ((uint32_t)from[0] << 8 | from[1]));
		break;
	default: memcpy(at, from, COPIED); break;
	}
	return at + piece->len;
}

/*
 * Each copy writes COPIED bytes, more than most pieces have. The next field overwrites the rest.
 * The message has room for the rest of the last piece.
 */
static inline uint8_t *put_key(uint8_t *at, const struct ipfix *ipfix,
	const struct ipfix_template *template, const void *row)
{
	for (uint32_t p = 0; p < template->nb_pieces; p++)
		at = put_piece(at, ipfix, row, &template->pieces[p]);
	return at;
}

_Static_assert(offsetof(struct report_flow, key) + KEY6_ROOM + COPIED <= sizeof(struct report_flow),
	"COPIED bytes from the end of the key must lie within the row");
_Static_assert(offsetof(struct report_row, key) + KEY6_ROOM + COPIED <= sizeof(struct report_row),
	"COPIED bytes from the end of the key must lie within the row");

static inline uint8_t *put_time(uint8_t *at, int64_t time)
{
	return put64(at, time > 0 ? (uint64_t)time / MILLISECOND_NS : 0);
}

static uint8_t *put_double(uint8_t *at, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return put64(at, bits);
}

/* Infinity stands for an unknown upper bound. */
static uint8_t *put_figure(uint8_t *at, const struct report_figure *figure, bool limits)
{
	at = put64(at, figure->value);
	if (!limits)
		return at;
	at = put_double(at, (double)figure->low);
	return put_double(at, figure->high_known ? (double)figure->high : INFINITY);
}

static inline uint8_t *put_flow(
	uint8_t *at, const struct ipfix_template *template, const struct report_flow *flow)
{
	/* flowEndReason: idle timeout, active timeout, forced end */
	static const uint8_t reasons[] = {
		[FLOW_END_IDLE] = 1, [FLOW_END_INTERVAL] = 2, [FLOW_END_RUN] = 4};

	at = put64(at, flow->packets);
	if (template->shape & SHAPE_IP_BYTES)
		at = put64(at, flow->ip_bytes);
	at = put64(at, flow->bytes);
	at = put_time(put_time(at, flow->first), flow->last);
	if (!template->key_flags)
		at = put8(at, flow->tcp_flags);
	return put8(at, reasons[flow->end]);
}

static uint8_t *put_row(uint8_t *at, const struct ipfix_template *template,
	const struct report_epoch *epoch, const struct report_measurement *measurement,
	const struct report_row *row)
{
	bool limits = (template->shape & SHAPE_LIMITS) != 0;
	bool record = (template->shape & SHAPE_TIMES) != 0;

	if (template->shape & SHAPE_PACKETS)
		at = put_figure(at, &row->packets, limits);
	if (template->shape & SHAPE_IP_BYTES)
		at = put64(at, row->record.ip_bytes);
	if (template->shape & SHAPE_BYTES)
		at = put_figure(at, &row->bytes, limits);
	if (limits)
		at = put_double(at, measurement->confidence);
	at = put_time(at, record ? row->record.first : epoch->start);
	at = put_time(at, record ? row->record.last : epoch->end);
	if (record && !template->key_flags)
		at = put8(at, row->record.tcp_flags);
	return at;
}

/* Sends the template's message if it is full. Returns NULL if out of memory. */
static inline struct ipfix_template *template_for(struct ipfix *ipfix, struct ipfix_domain *domain,
	uint32_t shape, const struct ipfix_sink *sink)
{
	struct ipfix_template *template = domain->templates[shape];

	if (template == NULL)
		return make_template(ipfix, domain, shape);
	if (template->len + template->record_len > ipfix->options.message_max)
		flush(ipfix, domain, template, sink);
	return template;
}

static inline void end_record(struct ipfix_template *template, uint8_t *at)
{
	memcpy(at, template->constants, sizeof(template->constants));
	template->len += template->record_len;
	template->rows++;
}

static void add_flows(struct ipfix *ipfix, struct ipfix_domain *domain,
	const struct report_measurement *measurement, const struct ipfix_sink *sink)
{
	for (size_t f = 0; f < measurement->nb_flows; f++) {
		const struct report_flow *flow = &measurement->flows[f];
		uint32_t shape = SHAPE_PACKETS | SHAPE_BYTES | SHAPE_TIMES | SHAPE_END |
				 (measurement->ip_bytes ? SHAPE_IP_BYTES : 0) |
				 (key_is_ipv4(&flow->key) ? SHAPE_IPV4 : 0);
		struct ipfix_template *template = template_for(ipfix, domain, shape, sink);
		uint8_t *at;

		if (template == NULL) {
			domain->not_sent++;
			continue;
		}
		at = put_key(template->message + template->len, ipfix, template, flow);
		end_record(template, put_flow(at, template, flow));
	}
}

static uint32_t shape_of(const struct report_measurement *measurement, const struct report_row *row)
{
	return (key_is_ipv4(&row->key) ? SHAPE_IPV4 : 0) |
	       (row->packets.known ? SHAPE_PACKETS : 0) | (row->bytes.known ? SHAPE_BYTES : 0) |
	       (row->record.known ? SHAPE_TIMES : 0) |
	       (row->record.known && measurement->ip_bytes ? SHAPE_IP_BYTES : 0) |
	       (measurement->confidence_known ? SHAPE_LIMITS : 0);
}

static void add_rows(struct ipfix *ipfix, struct ipfix_domain *domain,
	const struct report_epoch *epoch, const struct report_measurement *measurement,
	const struct ipfix_sink *sink)
{
	for (uint32_t r = 0; r < measurement->nb_rows; r++) {
		const struct report_row *row = &measurement->rows[r];
		struct ipfix_template *template =
			template_for(ipfix, domain, shape_of(measurement, row), sink);
		uint8_t *at;

		if (template == NULL) {
			domain->not_sent++;
			continue;
		}
		at = put_key(template->message + template->len, ipfix, template, row);
		end_record(template, put_row(at, template, epoch, measurement, row));
	}
}

static uint64_t rows_of(const struct ipfix *ipfix, const struct report_measurement *measurement)
{
	return ipfix->options.flows ? measurement->nb_flows : measurement->nb_rows;
}

uint64_t ipfix_rows(const struct ipfix *ipfix, const struct report_epoch *epoch)
{
	uint64_t rows = 0;

	for (uint32_t m = 0; m < epoch->nb_measurements; m++)
		rows += rows_of(ipfix, &epoch->measurements[m]);
	return rows;
}

static void drop_templates(struct ipfix_domain *domain)
{
	for (uint32_t s = 0; s < SHAPES; s++) {
		free(domain->templates[s]);
		domain->templates[s] = NULL;
	}
}

/* Returns NULL if `number` is too large or if out of memory. */
static struct ipfix_domain *domain_of(
	struct ipfix *ipfix, const struct report_measurement *measurement, uint32_t number)
{
	struct ipfix_domain *domain;

	if (number >= DOMAINS_MAX)
		return NULL;
	if (ipfix->domains[number] == NULL)
		ipfix->domains[number] = calloc(1, sizeof(*domain));
	domain = ipfix->domains[number];
	if (domain == NULL)
		return NULL;
	if (domain->next_id == 0) {
		domain->next_id = FIRST_TEMPLATE;
		domain->number = ipfix->options.domain + 1 + number;
	}
	if (!key_rule_equal(&domain->rule, measurement->key_rule)) {
		drop_templates(domain);
		domain->rule = *measurement->key_rule;
	}
	if (strncmp(domain->name, measurement->name, NAME_BYTES - 1) != 0) {
		snprintf(domain->name, NAME_BYTES, "%s", measurement->name);
		domain->sent = false;
		ipfix->totals.sent = false;
	}
	return domain;
}

static void add_ledger(struct ipfix_domain *domain, const struct report_epoch *epoch,
	const struct report_measurement *measurement)
{
	struct ledger ledger = report_ledger(epoch, measurement);

	domain->offered += ledger.offered;
	domain->measured += ledger.measured;
	domain->ignored += ledger_lost(&ledger) + ledger.skipped;
}

void ipfix_miss(struct ipfix *ipfix, const struct report_epoch *epoch)
{
	for (uint32_t m = 0; m < epoch->nb_measurements && m < DOMAINS_MAX; m++) {
		const struct report_measurement *measurement = &epoch->measurements[m];
		struct ipfix_domain sums = {0};

		if (!epoch->flows_only)
			add_ledger(&sums, epoch, measurement);
		atomic_fetch_add(&ipfix->missed[m].rows, rows_of(ipfix, measurement));
		atomic_fetch_add(&ipfix->missed[m].offered, sums.offered);
		atomic_fetch_add(&ipfix->missed[m].measured, sums.measured);
		atomic_fetch_add(&ipfix->missed[m].ignored, sums.ignored);
	}
}

static void add_missed(struct ipfix_domain *domain, struct ipfix_missed *missed)
{
	domain->not_sent += atomic_exchange(&missed->rows, 0);
	domain->offered += atomic_exchange(&missed->offered, 0);
	domain->measured += atomic_exchange(&missed->measured, 0);
	domain->ignored += atomic_exchange(&missed->ignored, 0);
}

static void reply_ledger(struct ipfix *ipfix, struct ipfix_domain *domain, int64_t end,
	const struct ipfix_sink *sink)
{
	uint8_t *set = ipfix->message + IPFIX_HEADER, *at;

	if (!prepare_totals(ipfix, sink))
		return;
	at = put_time(put32(put_set_header(set, OPTIONS_LEDGER, 0), domain->number), end);
	at = put64(put64(at, domain->exported), domain->not_sent);
	at = put64(put64(put64(at, domain->offered), domain->measured), domain->ignored);
	at = end_set(set, at);
	(void)send_message(
		&ipfix->totals, ipfix->message, (uint32_t)(at - ipfix->message), 0, 1, sink);
}

void ipfix_epoch(
	struct ipfix *ipfix, const struct report_epoch *epoch, const struct ipfix_sink *sink)
{
	for (uint32_t m = 0; m < epoch->nb_measurements; m++) {
		const struct report_measurement *measurement = &epoch->measurements[m];
		struct ipfix_domain *domain = domain_of(ipfix, measurement, m);

		if (domain == NULL)
			continue;
		if (ipfix->options.flows)
			add_flows(ipfix, domain, measurement, sink);
		else
			add_rows(ipfix, domain, epoch, measurement, sink);
		for (uint32_t s = 0; s < SHAPES; s++)
			if (domain->templates[s] != NULL)
				flush(ipfix, domain, domain->templates[s], sink);
		if (epoch->flows_only)
			continue;
		add_ledger(domain, epoch, measurement);
		add_missed(domain, &ipfix->missed[m]);
		reply_ledger(ipfix, domain, epoch->end, sink);
	}
}

struct ipfix *ipfix_create(const struct ipfix_options *options)
{
	struct ipfix *ipfix = calloc(1, sizeof(*ipfix));

	if (ipfix == NULL)
		return NULL;
	ipfix->options = *options;
	ipfix->totals.number = options->domain;
	if (ipfix->options.message_max == 0)
		ipfix->options.message_max = IPFIX_MESSAGE_MAX;
	ipfix->message = malloc(ipfix->options.message_max);
	if (ipfix->message != NULL)
		return ipfix;
	free(ipfix);
	return NULL;
}

void ipfix_limit(struct ipfix *ipfix, uint32_t message_max)
{
	if (message_max < IPFIX_MESSAGE_MIN)
		message_max = IPFIX_MESSAGE_MIN;
	if (message_max < ipfix->options.message_max)
		ipfix->options.message_max = message_max;
}

void ipfix_free(struct ipfix *ipfix)
{
	if (ipfix == NULL)
		return;
	for (uint32_t d = 0; d < DOMAINS_MAX; d++) {
		if (ipfix->domains[d] != NULL)
			drop_templates(ipfix->domains[d]);
		free(ipfix->domains[d]);
	}
	free(ipfix->message);
	free(ipfix);
}
