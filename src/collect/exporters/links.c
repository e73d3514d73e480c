/* SPDX-License-Identifier: BSD-3-Clause */
#include "collect/exporters/links.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"
#include "base/power_of_two.h"
#include "base/printable.h"
#include "base/random.h"

#define LINKS_MAX     (UINT32_C(1) << 16)
#define LINKS_EACH    64 /* mean number of links per exporter */
#define OF_EXPORTER   4096
#define SHARE_PART    2 /* one guaranteed entry per SHARE_PART shared entries */
#define WRAP          (UINT64_C(1) << 32)
#define WRAPS_MAX     3 /* a sum of three 32-bit counters wraps up to 3 times */
#define FORGET_EPOCHS 600
#define GONE_PART     4 /* one additional entry per GONE_PART entries, for removed links */

struct traffic_sum {
	uint64_t packets, bytes;
};

struct link_side {
	/* own: records of this interface; others: records of other interfaces */
	struct traffic_sum own, others;
	struct traffic_sum last; /* last counter values */
	struct traffic_sum counted;
	uint64_t counted_ns; /* time that the counters cover */
};

struct link {
	uint32_t exporter;
	uint32_t interface;
	uint32_t generation; /* if it differs from owner.generation, the link is removed */
	uint32_t starts;     /* if it differs from owner.starts, `last` is invalid */
	uint64_t speed;
	int64_t counters_at; /* time of `last`; 0: `last` is invalid */
	uint32_t silent;
	struct link_side sides[2];
	char name[INTERFACE_NAME_MAX];
};

struct owner {
	uint32_t links;
	uint32_t generation; /* incremented if the slot is reassigned */
	uint32_t starts;
	struct traffic_sum nowhere; /* records without a link */
};

struct links {
	uint32_t n, size; /* entries of `all`: used, including removed links; total */
	uint32_t gone;    /* removed links, included in n */
	uint32_t exporters;
	uint32_t share;
	uint32_t pool, borrowed; /* shared links: total and borrowed */
	uint64_t mask, seed;
	uint32_t *cells; /* hash table: index in `all` + 1; 0: empty */
	struct owner *owners;
	struct link *all;
	struct link **order; /* [size], sorted for output */
};

static uint32_t pool_for(uint32_t exporters)
{
	uint64_t wanted = (uint64_t)exporters * LINKS_EACH;

	return wanted < LINKS_MAX ? (uint32_t)wanted : LINKS_MAX;
}

static uint32_t share_for(uint32_t exporters)
{
	return pool_for(exporters) / SHARE_PART / exporters;
}

static uint32_t size_for(uint32_t exporters)
{
	uint32_t max = pool_for(exporters) + share_for(exporters) * exporters;

	return max + max / GONE_PART;
}

static uint64_t cells_for(uint32_t links)
{
	return power_of_two_at_least((uint64_t)links * 2);
}

size_t links_memory(uint32_t exporters)
{
	uint32_t size = size_for(exporters);

	return sizeof(struct links) + cells_for(size) * sizeof(uint32_t) +
	       exporters * sizeof(struct owner) +
	       (size_t)size * (sizeof(struct link) + sizeof(struct link *));
}

struct links *links_create(uint32_t exporters, uint64_t seed)
{
	struct links *links = calloc(1, sizeof(*links));

	if (links == NULL)
		return NULL;
	links->seed = seed;
	links->size = size_for(exporters);
	links->exporters = exporters;
	links->share = share_for(exporters);
	links->pool = pool_for(exporters);
	links->mask = cells_for(links->size) - 1;
	links->cells = calloc(links->mask + 1, sizeof(uint32_t));
	links->owners = calloc(exporters, sizeof(struct owner));
	links->all = calloc(links->size, sizeof(struct link));
	links->order = calloc(links->size, sizeof(struct link *));
	if (links->cells == NULL || links->owners == NULL || links->all == NULL ||
		links->order == NULL) {
		links_destroy(links);
		return NULL;
	}
	return links;
}

void links_destroy(struct links *links)
{
	if (links == NULL)
		return;
	free(links->cells);
	free(links->owners);
	free(links->all);
	free(links->order);
	free(links);
}

static bool is_gone(const struct links *links, const struct link *link)
{
	return link->generation != links->owners[link->exporter].generation;
}

static uint32_t *find_cell(const struct links *links, uint32_t exporter, uint32_t interface)
{
	uint64_t hash = random_mix(((uint64_t)exporter << 32 | interface) ^ links->seed);

	for (uint64_t i = random_mix(hash + links->seed);; i++) {
		uint32_t *cell = &links->cells[i & links->mask];

		if (*cell == 0 || (links->all[*cell - 1].exporter == exporter &&
					  links->all[*cell - 1].interface == interface))
			return cell;
	}
}

static void release_link(struct links *links, uint32_t exporter)
{
	struct owner *owner = &links->owners[exporter];

	ASSERT(owner->links, >, 0);
	owner->links--;
	links->borrowed -= owner->links >= links->share;
}

/* Discards removed links, and links silent for more than silent_max epochs. Compacts the others. */
static void compact(struct links *links, uint32_t silent_max)
{
	uint32_t stay = 0;

	memset(links->cells, 0, (links->mask + 1) * sizeof(uint32_t));
	for (uint32_t i = 0; i < links->n; i++) {
		const struct link *link = &links->all[i];

		if (is_gone(links, link))
			continue;
		if (link->silent > silent_max) {
			release_link(links, link->exporter);
			continue;
		}
		if (stay != i)
			links->all[stay] = *link;
		link = &links->all[stay++];
		*find_cell(links, link->exporter, link->interface) = stay;
	}
	links->n = stay;
	links->gone = 0;
}

/* Returns NULL if the table is full. Compacting the table moves links. */
static uint32_t *make_room(
	struct links *links, uint32_t exporter, uint32_t interface, uint32_t *cell)
{
	uint32_t has = links->owners[exporter].links;
	bool borrows = has >= links->share;

	if (has == OF_EXPORTER || (borrows && links->borrowed == links->pool))
		return NULL;
	links->borrowed += borrows;
	if (*cell != 0) {
		links->gone--;
		return cell;
	}
	if (links->n == links->size) {
		compact(links, UINT32_MAX);
		cell = find_cell(links, exporter, interface);
	}
	*cell = ++links->n;
	ASSERT(links->n, <=, links->size);
	return cell;
}

static struct link *find_link(struct links *links, uint32_t exporter, uint32_t interface)
{
	struct owner *owner = &links->owners[exporter];
	uint32_t *cell = find_cell(links, exporter, interface);

	if (*cell != 0 && !is_gone(links, &links->all[*cell - 1]))
		return &links->all[*cell - 1];
	cell = make_room(links, exporter, interface, cell);
	if (cell == NULL)
		return NULL;
	owner->links++;
	links->all[*cell - 1] = (struct link){
		.exporter = exporter,
		.interface = interface,
		.generation = owner->generation,
	};
	return &links->all[*cell - 1];
}

static void pass(struct traffic_sum *sum, const struct observation *observation)
{
	uint64_t packets, bytes;

	if (__builtin_mul_overflow(observation->packets, observation->sampling, &packets) ||
		__builtin_add_overflow(sum->packets, packets, &sum->packets))
		sum->packets = UINT64_MAX;
	if (__builtin_mul_overflow(observation->bytes, observation->sampling, &bytes) ||
		__builtin_add_overflow(sum->bytes, bytes, &sum->bytes))
		sum->bytes = UINT64_MAX;
}

/* `own`: the exporter observed the flow at this interface. Interface 0 has no link. */
static bool pass_side(struct links *links, const struct observation *observation,
	uint32_t interface, enum link_direction direction, bool own)
{
	struct link *link =
		interface > 0 ? find_link(links, observation->exporter, interface) : NULL;
	struct link_side *side;

	if (link == NULL)
		return false;
	side = &link->sides[direction];
	pass(own ? &side->own : &side->others, observation);
	return true;
}

void links_count(struct links *links, const struct observation *observations, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct observation *o = &observations[i];
		bool egress = o->side == OBSERVED_EGRESS, in, out;

		/* Totals since the start of the flow are not counts of this epoch. */
		if (o->flags & OBSERVATION_SINCE_START)
			continue;
		in = pass_side(links, o, o->input, LINK_IN, !egress);
		out = pass_side(links, o, o->output, LINK_OUT, egress);
		if (!in && !out)
			pass(&links->owners[o->exporter].nowhere, o);
	}
}

/* `narrow`: the counter is a sum of up to three 32-bit ones. Returns false if it restarted. */
static bool advance(uint64_t last, uint64_t now, bool narrow, uint64_t *advanced)
{
	*advanced = now - last;
	if (now >= last)
		return true;
	if (!narrow || last >= WRAP * WRAPS_MAX)
		return false;
	while (*advanced > WRAP * WRAPS_MAX)
		*advanced += WRAP;
	return true;
}

/* Returns false if a counter restarted. Unknown increases are 0. */
static bool difference(
	const struct link_side *side, const struct traffic_sum *now, struct traffic_sum *grown)
{
	*grown = (struct traffic_sum){0};
	if (now->bytes != UINT64_MAX && side->last.bytes != UINT64_MAX &&
		!advance(side->last.bytes, now->bytes, false, &grown->bytes))
		return false;
	if (now->packets != UINT64_MAX && side->last.packets != UINT64_MAX &&
		!advance(side->last.packets, now->packets, true, &grown->packets))
		return false;
	/* A packet has at least 20 bytes: a smaller increase of bytes is a restart. */
	return now->packets >= side->last.packets || now->bytes == UINT64_MAX ||
	       side->last.bytes == UINT64_MAX || grown->packets <= grown->bytes / 20 + 1;
}

static bool has_bytes(const struct link_side *side, const struct traffic_sum *now)
{
	return now->bytes != UINT64_MAX && side->last.bytes != UINT64_MAX;
}

void links_counters(struct links *links, uint32_t exporter,
	const struct interface_counters *counters, int64_t time)
{
	struct link *link = find_link(links, exporter, counters->interface);
	struct traffic_sum now[2] = {
		[LINK_IN] = {counters->in_packets, counters->in_bytes},
		[LINK_OUT] = {counters->out_packets, counters->out_bytes},
	};
	struct traffic_sum grown[2];
	uint32_t starts = links->owners[exporter].starts;
	bool moved, goes_on;

	if (link == NULL)
		return;
	/* Another speed means another interface, or a link that was down. */
	moved = counters->speed != 0 && link->speed != 0 && counters->speed != link->speed;
	if (counters->speed != 0)
		link->speed = counters->speed;
	goes_on = link->counters_at != 0 && link->starts == starts && time > link->counters_at &&
		  !moved;
	for (int i = 0; i < 2; i++)
		goes_on = goes_on && difference(&link->sides[i], &now[i], &grown[i]);
	for (int i = 0; i < 2; i++) {
		if (goes_on) {
			link->sides[i].counted.packets += grown[i].packets;
			link->sides[i].counted.bytes += grown[i].bytes;
			if (has_bytes(&link->sides[i], &now[i]))
				link->sides[i].counted_ns += (uint64_t)(time - link->counters_at);
		}
		link->sides[i].last = now[i];
	}
	link->counters_at = time;
	link->starts = starts;
}

void links_learn(struct links *links, uint32_t exporter, const struct option_record *option)
{
	struct link *link;
	char name[INTERFACE_NAME_MAX];
	uint32_t len = option->name_len;

	if (!(option->has & OPTION_RECORD_INTERFACE) || !(option->has & OPTION_RECORD_NAME))
		return;
	link = find_link(links, exporter, option->interface);
	if (link == NULL)
		return;
	len = len < sizeof(name) - 1 ? len : (uint32_t)sizeof(name) - 1;
	memset(name, 0, sizeof(name));
	memcpy(name, option->name, len);
	make_ascii(name);
	/* With another name, the index belongs to another interface. */
	if (link->name[0] != '\0' && strcmp(link->name, name) != 0)
		link->counters_at = 0;
	memcpy(link->name, name, sizeof(name));
}

void links_restart(struct links *links, uint32_t exporter)
{
	links->owners[exporter].starts++;
}

void links_forget(struct links *links, uint32_t exporter)
{
	struct owner *owner = &links->owners[exporter];

	links->gone += owner->links;
	while (owner->links > 0)
		release_link(links, exporter);
	owner->nowhere = (struct traffic_sum){0};
	owner->generation++;
}

static int by_place(const void *a, const void *b)
{
	const struct link *x = *(struct link *const *)a, *y = *(struct link *const *)b;

	if (x->exporter != y->exporter)
		return x->exporter < y->exporter ? -1 : 1;
	return (x->interface > y->interface) - (x->interface < y->interface);
}

static bool fill_row(const struct link *link, enum link_direction direction, struct link_row *row)
{
	const struct link_side *side = &link->sides[direction];
	const struct traffic_sum *records = side->own.packets > 0 ? &side->own : &side->others;

	*row = (struct link_row){
		.interface = link->interface,
		.has_interface = true,
		.direction = direction,
		.packets = records->packets,
		.bytes = records->bytes,
		.speed = link->speed,
		.counter_packets = side->counted.packets,
		.counter_bytes = side->counted.bytes,
		.counted_ns = side->counted_ns,
	};
	memcpy(row->name, link->name, sizeof(row->name));
	return row->packets > 0 || row->bytes > 0 || row->counted_ns > 0;
}

static void emit_nowhere(struct links *links, uint32_t exporter,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg)
{
	struct traffic_sum *nowhere = &links->owners[exporter].nowhere;
	struct link_row row = {
		.direction = LINK_NEITHER,
		.packets = nowhere->packets,
		.bytes = nowhere->bytes,
	};

	if (nowhere->packets == 0)
		return;
	emit(arg, exporter, &row);
	*nowhere = (struct traffic_sum){0};
}

static void start_epoch(struct link *link, bool silent)
{
	link->silent = silent ? link->silent + 1 : 0;
	for (int i = 0; i < 2; i++) {
		struct link_side *side = &link->sides[i];

		side->own = side->others = side->counted = (struct traffic_sum){0};
		side->counted_ns = 0;
	}
}

void links_end_epoch(struct links *links,
	void (*emit)(void *arg, uint32_t exporter, struct link_row *row), void *arg)
{
	struct link_row row;
	uint32_t exporter = 0;

	if (links->gone > 0)
		compact(links, UINT32_MAX);
	for (uint32_t i = 0; i < links->n; i++)
		links->order[i] = &links->all[i];
	qsort(links->order, links->n, sizeof(links->order[0]), by_place);
	for (uint32_t i = 0; i < links->n; i++) {
		struct link *link = links->order[i];
		bool silent = true;

		while (exporter <= link->exporter)
			emit_nowhere(links, exporter++, emit, arg);
		for (int direction = 0; direction < 2; direction++) {
			if (!fill_row(link, (enum link_direction)direction, &row))
				continue;
			silent = false;
			emit(arg, link->exporter, &row);
		}
		start_epoch(link, silent);
	}
	while (exporter < links->exporters)
		emit_nowhere(links, exporter++, emit, arg);
	if (links->n > links->size / 2)
		compact(links, FORGET_EPOCHS);
}
