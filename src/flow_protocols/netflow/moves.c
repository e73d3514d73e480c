/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/assertion.h"
#include "flow_protocols/netflow/moves.h"

#include <math.h>
#include <stddef.h>

#define MOVE_OF_FIELD(name, ...) MOVE_##name,

/* Operations that differ only in the length of a number are successive, shortest first. */
enum move_op {
	MOVE_BYTES_1,
	MOVE_BYTES_2,
	MOVE_BYTES_3,
	MOVE_BYTES_4,
	MOVE_BYTES_8,
	MOVE_BYTES_16,
	MOVE_U32_1,
	MOVE_U32_2,
	MOVE_U32_3,
	MOVE_U32_4,
	MOVE_U64_1,
	MOVE_U64_2,
	MOVE_U64_3,
	MOVE_U64_4,
	MOVE_U64_5,
	MOVE_U64_6,
	MOVE_U64_7,
	MOVE_U64_8,
	MOVE_TOS,
	KEY_EXTRA_FIELDS(MOVE_OF_FIELD) MOVE_DIRECTION,
	MOVE_NEXT_HOP_IPV4,
	MOVE_NEXT_HOP_IPV6,
	MOVE_EXPORTER_IPV4,
	MOVE_EXPORTER_IPV6,
	MOVE_SKIPPED_1, /* SKIPPED and POPULATION complete the interval in flow_record.sampling */
	MOVE_SKIPPED_2,
	MOVE_SKIPPED_3,
	MOVE_SKIPPED_4,
	MOVE_POPULATION_1,
	MOVE_POPULATION_2,
	MOVE_POPULATION_3,
	MOVE_POPULATION_4,
	MOVE_FLOAT,
	MOVE_DOUBLE,
	MOVE_ALGORITHM_1,
	MOVE_ALGORITHM_2,
	MOVE_OTHER_1, /* sets a counter only if it is still 0 */
	MOVE_OTHER_8 = MOVE_OTHER_1 + 7,
	MOVE_OTHER_LAYER2_1,
	MOVE_OTHER_LAYER2_8 = MOVE_OTHER_LAYER2_1 + 7,
	MOVE_FIREWALL_EVENT,
	MOVE_END_REASON,
	MOVE_DOT1Q_VLAN,
	MOVE_DOT1Q_CUSTOMER,
	MOVE_TIME, /* does nothing, because message.c reads the time; move.to is the length of the field */
};

#define FIREWALL_DELETED 2 /* firewallEvent (RFC 8158) */
#define ACTIVE_TIMEOUT   2 /* flowEndReason: the flow continues */
#define END_REASON_MAX   5

#define VLAN_ID 0x0fff

/* low bits of an element that are not part of its value */
#define FORM_SHIFT_NUMBER     0
#define FORM_SHIFT_MPLS_ENTRY 4 /* traffic class and bottom of stack */
#define FORM_SHIFT_INTERFACE  0
#define FORM_SHIFT_NONE       0

#define AT(member)  ((uint8_t)offsetof(struct flow_record, member))
#define AT4(member) AT(key.v4.member)
#define AT6(member) AT(key.v6.member)

/* IPv4 addresses of a template with both families wait here for move_choose_family(). */
enum {
	WAITING_SRC = sizeof(struct key6),
	WAITING_DST = WAITING_SRC + 4,
	WAITING_END = WAITING_DST + 4,
};

_Static_assert(offsetof(struct flow_record, key) == 0,
	"WAITING_SRC is an offset in the key, which must come first");
_Static_assert(offsetof(struct key, family) >= WAITING_END,
	"struct key needs room for two IPv4 addresses after key6");
_Static_assert(sizeof(((struct key *)0)->family) == 4, "a MOVE_U32 operation writes key.family");
_Static_assert(sizeof(struct flow_record) <= UINT8_MAX,
	"offsets in struct flow_record must fit in uint8_t");

/*
 * ipv4, ipv6: offset in records of each family. width: bytes to copy; 0: a number in host byte
 * order. has: enum flow_has.
 */
struct target {
	uint8_t ipv4, ipv6;
	uint8_t width;
	uint32_t has;
};

#define FIELD_TARGET(name, word, ...)                                                              \
	[USE_##name] = {AT(extra.word), AT(extra.word), KEY_EXTRA_SIZE(word), 0},

/* clang-format off */
static const struct target targets[ELEMENT_USE_COUNT] = {
	[USE_SRC_IPV4] = {AT4(src_ip), WAITING_SRC, 4, 0},
	[USE_DST_IPV4] = {AT4(dst_ip), WAITING_DST, 4, 0},
	[USE_SRC_IPV6] = {AT6(src_ip), AT6(src_ip), 16, 0},
	[USE_DST_IPV6] = {AT6(dst_ip), AT6(dst_ip), 16, 0},
	[USE_SRC_PORT] = {AT4(src_port), AT6(src_port), 2, 0},
	[USE_DST_PORT] = {AT4(dst_port), AT6(dst_port), 2, 0},
	[USE_PROTO] = {AT4(proto), AT6(proto), 1, 0},
	[USE_IP_VERSION] = {AT(key.family), AT(key.family), 0, 0},
	KEY_EXTRA_FIELDS(FIELD_TARGET)
	[USE_PACKETS... USE_POST_PACKETS] = {AT(packets), AT(packets), 0, FLOW_PACKETS},
	[USE_BYTES... USE_POST_BYTES] = {AT(bytes), AT(bytes), 0, FLOW_BYTES},
	[USE_LAYER2_BYTES] = {AT(bytes), AT(bytes), 0, FLOW_BYTES | FLOW_LAYER2_BYTES},
	[USE_TOTAL_PACKETS... USE_POST_TOTAL_PACKETS] = {AT(total_packets), AT(total_packets), 0,
		FLOW_TOTAL_PACKETS},
	[USE_TOTAL_BYTES...
		USE_POST_TOTAL_BYTES] = {AT(total_bytes), AT(total_bytes), 0, FLOW_TOTAL_BYTES},
	[USE_LAYER2_TOTAL_BYTES] = {AT(total_bytes), AT(total_bytes), 0,
		FLOW_TOTAL_BYTES | FLOW_LAYER2_TOTAL_BYTES},
	[USE_TTL] = {AT(ttl), AT(ttl), 1, 0},
	[USE_DOT1Q_VLAN] = {AT(extra.vlan), AT(extra.vlan), 2, 0},
	[USE_DOT1Q_CUSTOMER] = {AT(vlan_tags), AT(vlan_tags), 2, 0},
	[USE_INPUT] = {AT(input), AT(input), 0, FLOW_INPUT},
	[USE_OUTPUT] = {AT(output), AT(output), 0, FLOW_OUTPUT},
	[USE_NEXT_HOP_IPV4] = {AT(next_hop), AT(next_hop), 4, 0},
	[USE_NEXT_HOP_IPV6] = {AT(next_hop), AT(next_hop), 16, 0},
	[USE_EXPORTER_IPV4] = {AT(exporter), AT(exporter), 4, 0},
	[USE_EXPORTER_IPV6] = {AT(exporter), AT(exporter), 16, 0},
	[USE_EXPORTER_DOMAIN] = {AT(exporter_domain), AT(exporter_domain), 0, FLOW_EXPORTER_DOMAIN},
	[USE_DIRECTION] = {AT(direction), AT(direction), 1, 0},
	[USE_SAMPLER] = {AT(sampler), AT(sampler), 0, FLOW_SAMPLER},
	[USE_SAMPLING] = {AT(sampling), AT(sampling), 0, 0},
	[USE_SAMPLED_RUN] = {AT(sampling), AT(sampling), 0, 0},
	[USE_SKIPPED_RUN] = {AT(sampling), AT(sampling), 0, 0},
	[USE_SAMPLE_SIZE] = {AT(sampling), AT(sampling), 0, 0},
	[USE_POPULATION] = {AT(sampling), AT(sampling), 0, 0},
	[USE_PROBABILITY] = {AT(sampling), AT(sampling), 0, 0},
};
/* clang-format on */

#define COUNTERS (FLOW_PACKETS | FLOW_BYTES | FLOW_TOTAL_PACKETS | FLOW_TOTAL_BYTES)
#define LAYER2   (FLOW_LAYER2_BYTES | FLOW_LAYER2_TOTAL_BYTES)

void move_choices_add(struct move_choices *choices, const struct field *field, uint32_t at)
{
	bool reverse = field->enterprise == ENTERPRISE_REVERSE;
	const struct element *element =
		element_find(reverse ? 0 : field->enterprise, field->number);
	struct move_choice *choice;

	if (element == NULL || field->len == FIELD_VARIABLE ||
		!element_length_fits(element, field->len))
		return;
	choice = &(reverse != element->reverse ? choices->reverse : choices->forward)[element->use];
	if (choice->element != NULL && choice->element->rank <= element->rank)
		return;
	*choice = (struct move_choice){.element = element, .at = at, .len = field->len};
}

/* Reads only the low `longest` bytes of a longer field. */
static void number_move(struct move *move, uint32_t len, uint32_t longest, uint8_t op_of_1)
{
	if (len > longest) {
		move->from = (uint16_t)(move->from + len - longest);
		len = longest;
	}
	move->op = (uint8_t)(op_of_1 + len - 1);
}

/* Copies a big-endian field, aligned at the low bytes of a member of `width` bytes. */
static void bytes_move(struct move *move, uint32_t len, uint32_t width)
{
	if (len > width) {
		move->from = (uint16_t)(move->from + len - width);
	} else {
		move->to = (uint8_t)(move->to + width - len);
		width = len;
	}
	move->op = width == 16 ? MOVE_BYTES_16 : (uint8_t)(MOVE_BYTES_1 + width - 1);
}

static void plain_move(struct move *move, const struct move_choice *choice)
{
	const struct target *target = &targets[choice->element->use];

	if (target->width != 0)
		bytes_move(move, choice->len, target->width);
	else if (target->has & (COUNTERS | FLOW_SAMPLER))
		number_move(move, choice->len, 8, MOVE_U64_1);
	else
		number_move(move, choice->len, 4, MOVE_U32_1);
}

static void last_byte_move(struct move *move, uint32_t len, enum move_op op)
{
	move->from = (uint16_t)(move->from + len - 1);
	move->op = (uint8_t)op;
}

static void field_move(
	struct move *move, const struct move_choice *choice, enum move_op op, uint32_t bits)
{
	plain_move(move, choice);
	if (choice->element->form == FORM_TOS)
		move->op = MOVE_TOS;
	else if (choice->element->form == FORM_MPLS_ENTRY || bits % 8 != 0)
		move->op = (uint8_t)op;
}

static void find_op(struct move *move, const struct move_choice *choice)
{
	switch (choice->element->use) {
	case USE_NEXT_HOP_IPV4: move->op = MOVE_NEXT_HOP_IPV4; break;
	case USE_NEXT_HOP_IPV6: move->op = MOVE_NEXT_HOP_IPV6; break;
	case USE_EXPORTER_IPV4: move->op = MOVE_EXPORTER_IPV4; break;
	case USE_EXPORTER_IPV6: move->op = MOVE_EXPORTER_IPV6; break;
	case USE_PROBABILITY: move->op = choice->len == 8 ? MOVE_DOUBLE : MOVE_FLOAT; break;
#define FIELD_OP(name, word, bits, ...)                                                            \
	case USE_##name: field_move(move, choice, MOVE_##name, bits); break;
		KEY_EXTRA_FIELDS(FIELD_OP)
	case USE_DIRECTION:
		plain_move(move, choice);
		move->op = MOVE_DIRECTION;
		break;
	case USE_SKIPPED_RUN: number_move(move, choice->len, 4, MOVE_SKIPPED_1); break;
	case USE_POPULATION: number_move(move, choice->len, 4, MOVE_POPULATION_1); break;
	case USE_ALGORITHM: number_move(move, choice->len, 2, MOVE_ALGORITHM_1); break;
	case USE_START_UPTIME ... USE_END_NTP:
		move->op = MOVE_TIME;
		move->to = (uint8_t)choice->len;
		break;
	case USE_FIREWALL_EVENT: last_byte_move(move, choice->len, MOVE_FIREWALL_EVENT); break;
	case USE_END_REASON: last_byte_move(move, choice->len, MOVE_END_REASON); break;
	case USE_DOT1Q_VLAN:
	case USE_DOT1Q_CUSTOMER:
		move->from = (uint16_t)(move->from + choice->len - 2);
		move->op = choice->element->use == USE_DOT1Q_VLAN ? MOVE_DOT1Q_VLAN
								  : MOVE_DOT1Q_CUSTOMER;
		break;
	default: plain_move(move, choice);
	}
}

static bool chosen(const struct move_choice *choices, enum element_use use)
{
	return choices[use].element != NULL;
}

static void drop(struct move_choice *choices, enum element_use use)
{
	choices[use].element = NULL;
}

/* The presence of the fields decides, not their values. */
static uint32_t sampling_of_fields(const struct move_choice *choices)
{
	if (chosen(choices, USE_FLOW_SELECTION))
		return FLOW_SELECTED;
	/* If one of the two numbers of a ratio is missing, the interval is unknown. */
	return chosen(choices, USE_SAMPLED) ||
			       chosen(choices, USE_SAMPLED_RUN) !=
				       chosen(choices, USE_SKIPPED_RUN) ||
			       chosen(choices, USE_SAMPLE_SIZE) != chosen(choices, USE_POPULATION)
		       ? FLOW_SAMPLED
		       : 0;
}

static void drop_all(struct move_choice *choices, enum element_use from, enum element_use to)
{
	for (uint32_t use = from; use <= to; use++)
		drop(choices, use);
}

/* Removes fields whose second half the template lacks, and fields of options records. */
static void drop_halves(struct move_choice *choices)
{
	if (!chosen(choices, USE_SAMPLED_RUN) || !chosen(choices, USE_SKIPPED_RUN)) {
		drop(choices, USE_SAMPLED_RUN);
		drop(choices, USE_SKIPPED_RUN);
	}
	if (!chosen(choices, USE_SAMPLE_SIZE) || !chosen(choices, USE_POPULATION)) {
		drop(choices, USE_SAMPLE_SIZE);
		drop(choices, USE_POPULATION);
	}
	drop_all(choices, USE_SAMPLED, ELEMENT_USE_COUNT - 1);
}

static bool any_chosen(
	const struct move_choice *choices, enum element_use from, enum element_use to)
{
	for (uint32_t use = from; use <= to; use++)
		if (chosen(choices, use))
			return true;
	return false;
}

static uint8_t first_chosen(
	const struct move_choice *choices, enum element_use from, enum element_use to)
{
	for (uint32_t use = from; use <= to; use++)
		if (chosen(choices, use))
			return (uint8_t)use;
	return 0;
}

/* These fields have the same meaning, so only the first one is kept. */
static void keep_one(struct move_choice *choices, enum element_use from, enum element_use to)
{
	bool one = false;

	for (uint32_t use = from; use <= to; use++) {
		if (one)
			drop(choices, use);
		one |= chosen(choices, use);
	}
}

/*
 * Removes the end of a flow without total counters, second start and end times, and customer VLAN
 * tags without layer 2 bytes.
 */
static void drop_session(struct move_choice *choices)
{
	bool totals = any_chosen(choices, USE_TOTAL_PACKETS, USE_LAYER2_TOTAL_BYTES);

	/*
	 * Cisco ASA: only the last record of a session counts since its start, and updates do not.
	 */
	if (!any_chosen(choices, USE_INITIATOR_PACKETS, USE_INITIATOR_PACKETS) ||
		any_chosen(choices, USE_PACKETS, USE_PACKETS))
		drop(choices, USE_FIREWALL_EVENT);
	if (!totals)
		drop(choices, USE_END_REASON);
	keep_one(choices, USE_START_UPTIME, USE_START_NTP);
	keep_one(choices, USE_END_UPTIME, USE_END_NTP);
	if (!chosen(choices, USE_LAYER2_BYTES) && !chosen(choices, USE_LAYER2_TOTAL_BYTES))
		drop(choices, USE_DOT1Q_CUSTOMER);
}

static bool is_other(const struct move_choice *choices, enum element_use use)
{
	if (use < USE_PACKETS || use > USE_LAYER2_TOTAL_BYTES)
		return false;
	for (uint32_t before = USE_PACKETS; before < use; before++)
		if (chosen(choices, before) && targets[before].ipv4 == targets[use].ipv4)
			return true;
	return false;
}

/* Returns the number of bytes that the move copies unchanged; 0: it does not. */
static uint32_t copied_bytes(const struct move *move)
{
	return move->op <= MOVE_BYTES_4 ? move->op - MOVE_BYTES_1 + 1U : 0;
}

/*
 * Extends `last` by the next move, which copies adjacent bytes, such as the second address. Returns
 * false if it cannot.
 */
static bool extend_move(struct move *last, const struct move *move)
{
	uint32_t before = copied_bytes(last), bytes = copied_bytes(move);

	if (before == 0 || bytes != before || bytes == 3 || last->from + before != move->from ||
		last->to + before != move->to)
		return false;
	last->op = (uint8_t)(bytes == 4 ? MOVE_BYTES_8 : MOVE_BYTES_1 + 2 * bytes - 1);
	return true;
}

static uint32_t add_moves(
	struct move_plan *plan, const struct move_choice *choices, bool wide, bool variable)
{
	uint32_t has = 0, first = plan->nb_moves;

	for (uint32_t use = 0; use < ELEMENT_USE_COUNT; use++) {
		const struct move_choice *choice = &choices[use];
		struct move *move = &plan->moves[plan->nb_moves];

		ASSERT(plan->nb_moves, <, MOVES_MAX);

		if (choice->element == NULL)
			continue;
		*move = (struct move){
			.from = variable ? 0 : (uint16_t)choice->at,
			.to = wide ? targets[use].ipv6 : targets[use].ipv4,
		};
		find_op(move, choice);
		if (is_other(choices, use))
			move->op = (uint8_t)(move->op - MOVE_U64_1 +
					     (targets[use].has & LAYER2 ? MOVE_OTHER_LAYER2_1
									: MOVE_OTHER_1));
		else
			has |= targets[use].has;
		if (!variable && plan->nb_moves > first && extend_move(move - 1, move))
			continue;
		if (use == plan->start)
			plan->start_move = plan->nb_moves;
		if (use == plan->end)
			plan->end_move = plan->nb_moves;
		plan->fields[plan->nb_moves++] = choice->at;
	}
	return has;
}

/* The reverse key needs no moves: message.c swaps the forward key. */
static void add_reverse(struct move_plan *plan, struct move_choice *choices, bool variable)
{
	uint32_t before = plan->nb_moves;

	if (!any_chosen(choices, USE_PACKETS, USE_LAYER2_TOTAL_BYTES))
		return;
	drop_all(choices, USE_SRC_IPV4, USE_IP_VERSION);
	drop_all(choices, USE_EXPORTER_IPV4, USE_EXPORTER_DOMAIN);
	drop_all(choices, USE_SAMPLER, USE_FLOW_SELECTION);
	drop_all(choices, USE_FIREWALL_EVENT, USE_DOT1Q_CUSTOMER);
	drop_halves(choices);
	plan->reverse_has = add_moves(plan, choices, plan->family == KEY_IPV6, variable);
	plan->nb_reverse = (uint8_t)(plan->nb_moves - before);
}

static uint32_t uses_of(const struct move_choice *choices)
{
	uint32_t uses = chosen(choices, USE_DOT1Q_VLAN) ? USE_BIT(USE_VLAN) : 0;

	for (uint32_t use = 0; use < USE_HEADERS_END; use++)
		if (chosen(choices, use))
			uses |= USE_BIT(use);
	return uses;
}

void move_plan_make(
	struct move_plan *plan, struct move_choices *choices, const struct move_traits *traits)
{
	struct move_choice *forward = choices->forward;
	bool ipv4 = chosen(forward, USE_SRC_IPV4) || chosen(forward, USE_DST_IPV4);
	bool ipv6 = chosen(forward, USE_SRC_IPV6) || chosen(forward, USE_DST_IPV6);
	uint32_t sampling;

	*plan = (struct move_plan){0};
	plan->addresses = ipv4 || ipv6;
	plan->usable =
		(plan->addresses || traits->header) &&
		(traits->report || any_chosen(forward, USE_PACKETS, USE_LAYER2_TOTAL_BYTES) ||
			any_chosen(choices->reverse, USE_PACKETS, USE_LAYER2_TOTAL_BYTES));
	/* Without addresses, the packet section decides the family later. */
	plan->family = ipv6 || !plan->addresses ? KEY_IPV6 : KEY_IPV4;
	plan->both_families = ipv4 && ipv6;
	if (!plan->both_families)
		drop(forward, USE_IP_VERSION);
	sampling = sampling_of_fields(forward);
	/* The sampling elements then describe the selection of flows, not of packets. */
	if (sampling == FLOW_SELECTED)
		drop_all(forward, USE_SAMPLING, USE_ALGORITHM);
	drop_halves(forward);
	drop_session(forward);
	plan->start = first_chosen(forward, USE_START_UPTIME, USE_START_NTP);
	plan->end = first_chosen(forward, USE_END_UPTIME, USE_END_NTP);
	for (uint32_t use = USE_SAMPLING; use <= USE_PROBABILITY; use++)
		plan->sampling |= chosen(forward, use);
	if (!plan->usable)
		return;
	plan->uses = uses_of(forward);
	plan->has = add_moves(plan, forward, plan->family == KEY_IPV6, traits->variable) | sampling;
	add_reverse(plan, choices->reverse, traits->variable);
}

uint32_t sampling_interval(double interval)
{
	if (!(interval >= 1))
		return 0;
	return interval < (double)SAMPLING_RATIO_UNKNOWN ? (uint32_t)lround(interval)
							 : SAMPLING_RATIO_UNKNOWN;
}

static uint32_t interval_of(double probability)
{
	return probability > 0 ? sampling_interval(1 / probability) : 0;
}

/* *sampling: number of sampled packets. `other`: all packets if other_is_all, else skipped ones. */
static void make_ratio(uint32_t *sampling, uint32_t other, bool other_is_all)
{
	double sampled = *sampling, all = other;

	if (!other_is_all)
		all += sampled;
	*sampling = sampled == 0 ? 0 : sampling_interval(all / sampled);
}

double move_read_float(const uint8_t *data, uint32_t len)
{
	uint64_t bits = read_number(data, len);
	uint32_t bits32 = (uint32_t)bits;
	double value = 0;
	float value32;

	if (len == sizeof(value)) {
		memcpy(&value, &bits, sizeof(value));
	} else if (len == sizeof(value32)) {
		memcpy(&value32, &bits32, sizeof(value32));
		value = (double)value32;
	}
	return value;
}

static inline void store_u32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
}

static inline void store_u64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, sizeof(value));
}

/* Stores `bits` bits of the field, above its lowest `shift` bits. */
static inline void store_field(
	uint8_t *to, const uint8_t *from, uint32_t len, uint32_t shift, uint32_t bits)
{
	uint32_t value = (uint32_t)(read_number(from, len) >> shift) & ((UINT32_C(1) << bits) - 1);

	for (; len > 0; value >>= 8)
		to[--len] = (uint8_t)value;
}

static void store_direction(struct flow_record *record, uint8_t direction)
{
	if (direction > FLOW_EGRESS)
		return;
	record->direction = direction;
	record->has |= FLOW_DIRECTION;
}

static void note_algorithm(struct flow_record *record, uint32_t algorithm)
{
	if (algorithm != 0)
		record->has |= FLOW_SAMPLED;
}

static void store_other(uint8_t *to, uint64_t value)
{
	uint64_t there;

	memcpy(&there, to, sizeof(there));
	if (there == 0)
		store_u64(to, value);
}

static void store_other_layer2(
	struct flow_record *record, uint8_t *to, uint64_t value, uint32_t layer2)
{
	uint64_t there;

	memcpy(&there, to, sizeof(there));
	if (there != 0 || value == 0)
		return;
	store_u64(to, value);
	record->has |= layer2;
}

static void store_firewall_event(struct flow_record *record, uint8_t event)
{
	if (event == FIREWALL_DELETED)
		record->has |= FLOW_SESSION | FLOW_ENDED;
}

static void store_end_reason(struct flow_record *record, uint8_t reason)
{
	if (reason != 0 && reason != ACTIVE_TIMEOUT && reason <= END_REASON_MAX)
		record->has |= FLOW_ENDED;
}

/* VLAN ID 0 can mean an untagged frame. */
static void store_dot1q(struct flow_record *record, const uint8_t *from, bool customer)
{
	uint32_t id = read_u16(from) & VLAN_ID;

	if (id == 0)
		return;
	record->vlan_tags++;
	if (!customer && record->extra.vlan[0] == 0 && record->extra.vlan[1] == 0) {
		record->extra.vlan[0] = (uint8_t)(id >> 8);
		record->extra.vlan[1] = (uint8_t)id;
	}
}

/* Address 0 means no next hop. */
static void store_next_hop(struct flow_record *record, const uint8_t *from, uint32_t len)
{
	static const uint8_t none[16];

	if (memcmp(from, none, len) == 0)
		return;
	memcpy(record->next_hop, from, len);
	record->next_hop_ipv6 = len == sizeof(none);
	record->has |= FLOW_NEXT_HOP;
}

static void store_exporter(struct flow_record *record, const uint8_t *from, uint32_t len)
{
	static const uint8_t none[16];

	if (memcmp(from, none, len) == 0)
		return;
	memcpy(record->exporter, from, len);
	record->exporter_ipv6 = len == sizeof(none);
	record->has |= FLOW_EXPORTER;
}

/* The loop is inside each case of a switch, so that the switch runs once for all records. */
#define EACH(statement)                                                                            \
	do {                                                                                       \
		for (uint32_t row = 0; row < n;                                                    \
			row++, from += stride, to += sizeof(struct flow_record)) {                 \
			statement;                                                                 \
		}                                                                                  \
	} while (0)
#define RECORD (&records[row])

static void make_counter_move(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n)
{
	uint32_t layer2 = move->to == AT(bytes) ? FLOW_LAYER2_BYTES : FLOW_LAYER2_TOTAL_BYTES;
	uint8_t *to = (uint8_t *)records + move->to;
	uint32_t len;

	switch (move->op) {
	case MOVE_FIREWALL_EVENT: EACH(store_firewall_event(RECORD, from[0])); break;
	case MOVE_END_REASON: EACH(store_end_reason(RECORD, from[0])); break;
	case MOVE_DOT1Q_VLAN: EACH(store_dot1q(RECORD, from, false)); break;
	case MOVE_DOT1Q_CUSTOMER: EACH(store_dot1q(RECORD, from, true)); break;
	default:
		if (move->op >= MOVE_OTHER_LAYER2_1) {
			len = move->op - MOVE_OTHER_LAYER2_1 + 1U;
			EACH(store_other_layer2(RECORD, to, read_number(from, len), layer2));
		} else {
			len = move->op - MOVE_OTHER_1 + 1U;
			EACH(store_other(to, read_number(from, len)));
		}
	}
}

static void make_rare_move(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n)
{
	uint8_t *to = (uint8_t *)records + move->to;
	uint32_t len;

	switch (move->op) {
#define FIELD_MOVE(name, word, bits, type, column, number, form, ...)                              \
	case MOVE_##name:                                                                          \
		EACH(store_field(to, from, KEY_EXTRA_SIZE(word), FORM_SHIFT_##form, bits));        \
		break;
		KEY_EXTRA_FIELDS(FIELD_MOVE)
	case MOVE_NEXT_HOP_IPV6: EACH(store_next_hop(RECORD, from, 16)); break;
	case MOVE_EXPORTER_IPV4: EACH(store_exporter(RECORD, from, 4)); break;
	case MOVE_EXPORTER_IPV6: EACH(store_exporter(RECORD, from, 16)); break;
	case MOVE_SKIPPED_1:
	case MOVE_SKIPPED_2:
	case MOVE_SKIPPED_3:
	case MOVE_SKIPPED_4:
		len = move->op - MOVE_SKIPPED_1 + 1U;
		EACH(make_ratio(&RECORD->sampling, (uint32_t)read_number(from, len), false));
		break;
	case MOVE_POPULATION_1:
	case MOVE_POPULATION_2:
	case MOVE_POPULATION_3:
	case MOVE_POPULATION_4:
		len = move->op - MOVE_POPULATION_1 + 1U;
		EACH(make_ratio(&RECORD->sampling, (uint32_t)read_number(from, len), true));
		break;
	case MOVE_ALGORITHM_1: EACH(note_algorithm(RECORD, from[0])); break;
	case MOVE_ALGORITHM_2: EACH(note_algorithm(RECORD, read_u16(from))); break;
	case MOVE_FLOAT: EACH(RECORD->sampling = interval_of(move_read_float(from, 4))); break;
	case MOVE_DOUBLE: EACH(RECORD->sampling = interval_of(move_read_float(from, 8))); break;
	case MOVE_BYTES_3: EACH(memcpy(to, from, 3)); break;
	case MOVE_U32_3: EACH(store_u32(to, (uint32_t)read_number(from, 3))); break;
	default: EACH(store_u64(to, read_number(from, move->op - MOVE_U64_1 + 1U)));
	}
}

void move_make(const struct move *move, const uint8_t *from, uint32_t stride,
	struct flow_record *records, uint32_t n)
{
	uint8_t *to = (uint8_t *)records + move->to;

	switch (move->op) {
	case MOVE_BYTES_1: EACH(to[0] = from[0]); break;
	case MOVE_BYTES_2: EACH(memcpy(to, from, 2)); break;
	case MOVE_BYTES_4: EACH(memcpy(to, from, 4)); break;
	case MOVE_BYTES_8: EACH(memcpy(to, from, 8)); break;
	case MOVE_BYTES_16: EACH(memcpy(to, from, 16)); break;
	case MOVE_U32_1: EACH(store_u32(to, from[0])); break;
	case MOVE_U32_2: EACH(store_u32(to, read_u16(from))); break;
	case MOVE_U32_4: EACH(store_u32(to, read_u32(from))); break;
	case MOVE_U64_4: EACH(store_u64(to, read_u32(from))); break;
	case MOVE_U64_8: EACH(store_u64(to, read_u64(from))); break;
	case MOVE_TOS: EACH(key_extra_set_tos(&RECORD->extra, from[0])); break;
	case MOVE_DIRECTION: EACH(store_direction(RECORD, from[0])); break;
	case MOVE_NEXT_HOP_IPV4: EACH(store_next_hop(RECORD, from, 4)); break;
	case MOVE_TIME: break;
	default:
		if (move->op >= MOVE_OTHER_1)
			make_counter_move(move, from, stride, records, n);
		else
			make_rare_move(move, from, stride, records, n);
	}
}

static bool any(const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		if (bytes[i] != 0)
			return true;
	return false;
}

static void make_ipv4(struct flow_record *record)
{
	struct key key = {.family = KEY_IPV4};
	const uint8_t *bytes = (const uint8_t *)record;

	memcpy(key.v4.src_ip, bytes + WAITING_SRC, 4);
	memcpy(key.v4.dst_ip, bytes + WAITING_DST, 4);
	memcpy(key.v4.src_port, record->key.v6.src_port, 2);
	memcpy(key.v4.dst_port, record->key.v6.dst_port, 2);
	key.v4.proto = record->key.v6.proto;
	record->key = key;
}

void move_choose_family(struct flow_record *records, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct key *key = &records[i].key;
		uint32_t version;
		uint8_t *waiting = (uint8_t *)&records[i] + WAITING_SRC;
		bool ipv4 = any(waiting, WAITING_END - WAITING_SRC);
		bool ipv6 = any(key->v6.src_ip, 2 * sizeof(key->v6.src_ip));

		memcpy(&version, &key->family, sizeof(version));
		if (ipv4 == ipv6 ? version != KEY_IPV6 : ipv4) {
			make_ipv4(&records[i]);
		} else {
			memset(waiting, 0, WAITING_END - WAITING_SRC);
			key->family = KEY_IPV6;
		}
	}
}

void move_end_sampling(struct flow_record *records, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (records[i].sampling != 0)
			records[i].has |= FLOW_SAMPLING;
}
