/* SPDX-License-Identifier: BSD-3-Clause */
#include "key/classifier.h"

#include <stdlib.h>
#include <string.h>

#include "base/assertion.h"

#define PORTS      (UINT16_MAX + 1)
#define PROTOCOLS  (UINT8_MAX + 1)
#define HIGH_BITS  16 /* first bits of an address, which select its segments */
#define HIGH_COUNT (1 << HIGH_BITS)

enum field {
	FIELD_SRC,
	FIELD_DST,
	FIELD_SRC_PORT,
	FIELD_DST_PORT,
	FIELD_PROTO,
	FIELD_COUNT,
};

/* Distinct bit vectors. Each has a summary, then its words. */
struct vectors {
	uint32_t n, max, stride; /* stride: words of a vector with its summary */
	uint64_t *words;         /* [max][stride] */
	uint32_t *slots;         /* hash table: index + 1; 0: free */
	uint32_t nb_slots;       /* a power of two, at least 2 * max */
};

/* Addresses of segment i are from starts[i] to starts[i + 1] - 1. */
struct segments {
	uint32_t n;
	match_address *starts; /* starts[0] is 0 */
	uint32_t *vector;      /* [n] */
	uint32_t *first;       /* [HIGH_COUNT + 1]: segment of the lowest address with these bits */
};

struct classifier {
	uint32_t nb_boxes, nb_words, nb_summaries;
	uint32_t *condition; /* [nb_boxes] */
	struct vectors vectors;
	struct segments addresses[2][2]; /* [family][FIELD_SRC or FIELD_DST] */
	uint32_t *ports[2];              /* [PORTS]: vector */
	uint32_t protos[PROTOCOLS];      /* vector */
};

/* A box begins or ends to contain the values from `at` on. */
struct change {
	match_address at;
	uint32_t box;
};

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

static bool create_vectors(struct vectors *vectors, uint32_t stride)
{
	vectors->stride = stride;
	vectors->max = 64;
	vectors->nb_slots = 4 * vectors->max;
	vectors->words = calloc(vectors->max, stride * sizeof(uint64_t));
	vectors->slots = calloc(vectors->nb_slots, sizeof(vectors->slots[0]));
	return vectors->words != NULL && vectors->slots != NULL;
}

static uint32_t slot_of(const struct vectors *vectors, const uint64_t *words)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < vectors->stride; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return (uint32_t)hash & (vectors->nb_slots - 1);
}

static uint64_t *words_of(const struct vectors *vectors, uint32_t vector)
{
	return vectors->words + (size_t)vector * vectors->stride;
}

/* Returns the slot of an equal vector, or a free slot. */
static uint32_t find_slot(const struct vectors *vectors, const uint64_t *words)
{
	uint32_t slot = slot_of(vectors, words);

	while (vectors->slots[slot] != 0 && memcmp(words_of(vectors, vectors->slots[slot] - 1),
						    words, vectors->stride * sizeof(*words)) != 0)
		slot = (slot + 1) & (vectors->nb_slots - 1);
	return slot;
}

static bool grow_vectors(struct vectors *vectors)
{
	uint64_t *words =
		reallocarray(vectors->words, vectors->max, 2 * vectors->stride * sizeof(*words));
	uint32_t *slots;

	if (words == NULL)
		return false;
	vectors->words = words;
	slots = calloc(2 * vectors->nb_slots, sizeof(*slots));
	if (slots == NULL)
		return false;
	free(vectors->slots);
	vectors->slots = slots;
	vectors->max *= 2;
	vectors->nb_slots *= 2;
	for (uint32_t i = 0; i < vectors->n; i++)
		slots[find_slot(vectors, words_of(vectors, i))] = i + 1;
	return true;
}

/* *vector: the number of a vector equal to `words`. Returns false if out of memory. */
static bool add_vector(struct vectors *vectors, const uint64_t *words, uint32_t *vector)
{
	uint32_t slot = find_slot(vectors, words);

	if (vectors->slots[slot] == 0) {
		if (vectors->n == vectors->max) {
			if (!grow_vectors(vectors))
				return false;
			slot = find_slot(vectors, words);
		}
		memcpy(words_of(vectors, vectors->n), words, vectors->stride * sizeof(*words));
		vectors->slots[slot] = ++vectors->n;
	}
	*vector = vectors->slots[slot] - 1;
	return true;
}

static void toggle(const struct classifier *classifier, uint64_t *words, uint32_t box)
{
	uint64_t *word = &words[classifier->nb_summaries + box / 64];
	uint64_t bit = UINT64_C(1) << box / 64 % 64;

	*word ^= UINT64_C(1) << box % 64;
	words[box / 64 / 64] = (words[box / 64 / 64] & ~bit) | (*word != 0 ? bit : 0);
}

static void add_range(struct change *changes, uint32_t *n, uint32_t box, match_address low,
	match_address high, match_address max)
{
	changes[(*n)++] = (struct change){low, box};
	if (high < max)
		changes[(*n)++] = (struct change){high + 1, box};
}

struct sweep {
	struct classifier *classifier;
	uint32_t n;
	struct change *changes; /* [2 * nb_boxes] */
	uint64_t *words;        /* [stride] */
};

static void begin_sweep(struct sweep *sweep)
{
	qsort(sweep->changes, sweep->n, sizeof(sweep->changes[0]), compare_changes);
	memset(sweep->words, 0, sweep->classifier->vectors.stride * sizeof(sweep->words[0]));
}

/* Applies the changes at `at`, from change *i on. */
static void advance(struct sweep *sweep, uint32_t *i, match_address at)
{
	for (; *i < sweep->n && sweep->changes[*i].at == at; ++*i)
		toggle(sweep->classifier, sweep->words, sweep->changes[*i].box);
}

static bool fill_segments(struct sweep *sweep, struct segments *segments)
{
	uint32_t i = 0, high = 0;

	begin_sweep(sweep);
	segments->starts = calloc(sweep->n + 1, sizeof(segments->starts[0]));
	segments->vector = calloc(sweep->n + 1, sizeof(segments->vector[0]));
	segments->first = calloc(HIGH_COUNT + 1, sizeof(segments->first[0]));
	if (segments->starts == NULL || segments->vector == NULL || segments->first == NULL)
		return false;
	do {
		match_address at = segments->n == 0 ? 0 : sweep->changes[i].at;

		advance(sweep, &i, at);
		segments->starts[segments->n] = at;
		if (!add_vector(&sweep->classifier->vectors, sweep->words,
			    &segments->vector[segments->n]))
			return false;
		segments->n++;
	} while (i < sweep->n);
	for (uint32_t s = 0; s < segments->n; s++) {
		uint32_t end =
			s + 1 < segments->n
				? (uint32_t)((segments->starts[s + 1] - 1) >> (128 - HIGH_BITS))
				: HIGH_COUNT - 1;

		/* Segment s contains the lowest address of these high bits. */
		for (; high <= end; high++)
			segments->first[high] = s;
	}
	segments->first[HIGH_COUNT] = segments->n - 1;
	return true;
}

static bool fill_values(struct sweep *sweep, uint32_t *vector, uint32_t values)
{
	uint32_t i = 0;

	begin_sweep(sweep);
	for (uint32_t value = 0; value < values; value++) {
		bool same = value > 0 && (i == sweep->n || sweep->changes[i].at != value);

		if (same) {
			vector[value] = vector[value - 1];
			continue;
		}
		advance(sweep, &i, value);
		if (!add_vector(&sweep->classifier->vectors, sweep->words, &vector[value]))
			return false;
	}
	return true;
}

static bool fill_addresses(struct sweep *sweep, const struct match_box *const *boxes,
	uint32_t family, enum field field)
{
	sweep->n = 0;
	for (uint32_t b = 0; b < sweep->classifier->nb_boxes; b++) {
		const match_address *range = field == FIELD_SRC ? boxes[b]->src : boxes[b]->dst;

		if ((boxes[b]->families >> family & 1) != 0)
			add_range(sweep->changes, &sweep->n, b, range[0], range[1],
				~(match_address)0);
	}
	return fill_segments(sweep, &sweep->classifier->addresses[family][field]);
}

static bool fill_ports(struct sweep *sweep, const struct match_box *const *boxes, enum field field)
{
	uint32_t **ports = &sweep->classifier->ports[field - FIELD_SRC_PORT];

	sweep->n = 0;
	for (uint32_t b = 0; b < sweep->classifier->nb_boxes; b++) {
		const uint16_t *range =
			field == FIELD_SRC_PORT ? boxes[b]->src_port : boxes[b]->dst_port;

		add_range(sweep->changes, &sweep->n, b, range[0], range[1], UINT16_MAX);
	}
	*ports = calloc(PORTS, sizeof(**ports));
	return *ports != NULL && fill_values(sweep, *ports, PORTS);
}

static bool fill_protos(struct sweep *sweep, const struct match_box *const *boxes)
{
	sweep->n = 0;
	for (uint32_t b = 0; b < sweep->classifier->nb_boxes; b++)
		add_range(sweep->changes, &sweep->n, b, boxes[b]->proto[0], boxes[b]->proto[1],
			UINT8_MAX);
	return fill_values(sweep, sweep->classifier->protos, PROTOCOLS);
}

static bool fill(struct classifier *classifier, const struct match_box *const *boxes)
{
	struct sweep sweep = {
		.classifier = classifier,
		.changes = calloc(2 * classifier->nb_boxes + 1, sizeof(sweep.changes[0])),
		.words = calloc(classifier->vectors.stride, sizeof(sweep.words[0])),
	};
	bool filled = sweep.changes != NULL && sweep.words != NULL;

	for (uint32_t family = 0; family < 2; family++)
		filled = filled && fill_addresses(&sweep, boxes, family, FIELD_SRC) &&
			 fill_addresses(&sweep, boxes, family, FIELD_DST);
	filled = filled && fill_ports(&sweep, boxes, FIELD_SRC_PORT) &&
		 fill_ports(&sweep, boxes, FIELD_DST_PORT) && fill_protos(&sweep, boxes);
	free(sweep.changes);
	free(sweep.words);
	return filled;
}

struct numbered_box {
	const struct match_box *box;
	uint32_t condition, order;
};

#define COMPARE(member)                                                                            \
	do {                                                                                       \
		if (x->member != y->member)                                                        \
			return x->member < y->member ? -1 : 1;                                     \
	} while (0)

/* Addresses first: they have the most values. */
static int compare_boxes(const void *a, const void *b)
{
	const struct numbered_box *of_x = a, *of_y = b;
	const struct match_box *x = of_x->box, *y = of_y->box;

	if (of_x->order != of_y->order)
		return of_x->order < of_y->order ? -1 : 1;
	COMPARE(families);
	COMPARE(src[0]);
	COMPARE(src[1]);
	COMPARE(dst[0]);
	COMPARE(dst[1]);
	COMPARE(dst_port[0]);
	COMPARE(src_port[0]);
	COMPARE(proto[0]);
	return (of_x->condition > of_y->condition) - (of_x->condition < of_y->condition);
}

/* Returns the boxes in their order, or NULL if out of memory. */
static const struct match_box **sort_boxes(struct classifier *classifier,
	const struct match *matches, const uint32_t *order, uint32_t n)
{
	struct numbered_box *sorted = calloc(classifier->nb_boxes + 1, sizeof(*sorted));
	const struct match_box **boxes = calloc(classifier->nb_boxes + 1, sizeof(*boxes));
	uint32_t box = 0;

	if (sorted == NULL || boxes == NULL) {
		free(sorted);
		free(boxes);
		return NULL;
	}
	for (uint32_t m = 0; m < n; m++)
		for (uint32_t b = 0; b < matches[m].n; b++)
			sorted[box++] = (struct numbered_box){
				&matches[m].boxes[b], m, order != NULL ? order[m] : 0};
	qsort(sorted, box, sizeof(*sorted), compare_boxes);
	for (uint32_t i = 0; i < box; i++) {
		boxes[i] = sorted[i].box;
		classifier->condition[i] = sorted[i].condition;
	}
	free(sorted);
	return boxes;
}

struct classifier *classifier_create(const struct match *matches, const uint32_t *order, uint32_t n)
{
	struct classifier *classifier = calloc(1, sizeof(*classifier));
	const struct match_box **boxes = NULL;
	bool filled;

	if (classifier == NULL)
		return NULL;
	for (uint32_t m = 0; m < n; m++)
		classifier->nb_boxes += matches[m].n;
	ASSERT(classifier->nb_boxes, <=, CLASSIFIER_BOXES_MAX);
	classifier->nb_words = classifier->nb_boxes > 0 ? (classifier->nb_boxes + 63) / 64 : 1;
	classifier->nb_summaries = (classifier->nb_words + 63) / 64;
	classifier->condition = calloc(classifier->nb_boxes + 1, sizeof(classifier->condition[0]));
	if (classifier->condition != NULL)
		boxes = sort_boxes(classifier, matches, order, n);
	filled = boxes != NULL && create_vectors(&classifier->vectors,
					  classifier->nb_summaries + classifier->nb_words);
	filled = filled && fill(classifier, boxes);
	free(boxes);
	if (filled)
		return classifier;
	classifier_destroy(classifier);
	return NULL;
}

void classifier_destroy(struct classifier *classifier)
{
	if (classifier == NULL)
		return;
	for (uint32_t i = 0; i < 4; i++) {
		struct segments *segments = &classifier->addresses[i / 2][i % 2];

		free(segments->starts);
		free(segments->vector);
		free(segments->first);
	}
	free(classifier->ports[0]);
	free(classifier->ports[1]);
	free(classifier->vectors.words);
	free(classifier->vectors.slots);
	free(classifier->condition);
	free(classifier);
}

size_t classifier_bytes(const struct classifier *classifier)
{
	const struct vectors *vectors = &classifier->vectors;
	size_t bytes = sizeof(*classifier) + 2 * PORTS * sizeof(uint32_t) +
		       (size_t)vectors->max * vectors->stride * sizeof(uint64_t) +
		       vectors->nb_slots * sizeof(uint32_t) +
		       classifier->nb_boxes * sizeof(uint32_t);

	for (uint32_t i = 0; i < 4; i++)
		bytes += classifier->addresses[i / 2][i % 2].n *
				 (sizeof(match_address) + sizeof(uint32_t)) +
			 (HIGH_COUNT + 1) * sizeof(uint32_t);
	return bytes;
}

static uint32_t vector_of_address(const struct segments *segments, match_address address)
{
	uint32_t high = (uint32_t)(address >> (128 - HIGH_BITS));
	uint32_t low = segments->first[high], last = segments->first[high + 1];

	while (low < last) {
		uint32_t middle = (low + last + 1) / 2;

		if (segments->starts[middle] <= address)
			low = middle;
		else
			last = middle - 1;
	}
	return segments->vector[low];
}

static uint32_t port_of(const uint8_t bytes[2])
{
	return (uint32_t)bytes[0] << 8 | bytes[1];
}

static void begin(struct classifier_lookup *lookup, uint32_t family, match_address src,
	match_address dst, const uint8_t *src_port, const uint8_t *dst_port, uint8_t proto)
{
	const struct classifier *classifier = lookup->classifier;
	const struct segments *addresses = classifier->addresses[family];
	const uint32_t vectors[FIELD_COUNT] = {
		[FIELD_SRC] = vector_of_address(&addresses[FIELD_SRC], src),
		[FIELD_DST] = vector_of_address(&addresses[FIELD_DST], dst),
		[FIELD_SRC_PORT] = classifier->ports[0][port_of(src_port)],
		[FIELD_DST_PORT] = classifier->ports[1][port_of(dst_port)],
		[FIELD_PROTO] = classifier->protos[proto],
	};

	for (uint32_t f = 0; f < FIELD_COUNT; f++)
		lookup->vectors[f] = words_of(&classifier->vectors, vectors[f]);
	for (uint32_t s = 0; s < classifier->nb_summaries; s++) {
		lookup->words[s] = UINT64_MAX;
		for (uint32_t f = 0; f < FIELD_COUNT; f++)
			lookup->words[s] &= lookup->vectors[f][s];
	}
	lookup->left = 0;
	lookup->word = lookup->summary = 0;
}

static match_address address_of(const uint8_t *bytes, uint32_t n)
{
	match_address address = 0;

	for (uint32_t i = 0; i < n; i++)
		address = address << 8 | bytes[i];
	return address << (128 - 8 * n);
}

void classifier_look_up4(
	const struct classifier *classifier, const struct key4 *key, struct classifier_lookup *to)
{
	to->classifier = classifier;
	begin(to, 0, address_of(key->src_ip, 4), address_of(key->dst_ip, 4), key->src_port,
		key->dst_port, key->proto);
}

void classifier_look_up6(
	const struct classifier *classifier, const struct key6 *key, struct classifier_lookup *to)
{
	to->classifier = classifier;
	begin(to, 1, address_of(key->src_ip, 16), address_of(key->dst_ip, 16), key->src_port,
		key->dst_port, key->proto);
}

/* Reads words until one has a box. Returns false at the end. */
static bool read_word(struct classifier_lookup *lookup)
{
	const struct classifier *classifier = lookup->classifier;

	while (lookup->left == 0) {
		uint32_t word;

		while (lookup->words[lookup->summary] == 0)
			if (++lookup->summary >= classifier->nb_summaries) {
				lookup->summary = classifier->nb_summaries - 1;
				return false;
			}
		word = lookup->summary * 64 +
		       (uint32_t)__builtin_ctzll(lookup->words[lookup->summary]);
		lookup->words[lookup->summary] &= lookup->words[lookup->summary] - 1;
		lookup->word = word;
		lookup->left = UINT64_MAX;
		for (uint32_t f = 0; f < FIELD_COUNT; f++)
			lookup->left &= lookup->vectors[f][classifier->nb_summaries + word];
	}
	return true;
}

uint32_t classifier_next(struct classifier_lookup *lookup)
{
	uint32_t box;

	if (!read_word(lookup))
		return CLASSIFIER_NONE;
	box = lookup->word * 64 + (uint32_t)__builtin_ctzll(lookup->left);
	lookup->left &= lookup->left - 1;
	return lookup->classifier->condition[box];
}

void classifier_skip(struct classifier_lookup *lookup, uint32_t boxes)
{
	uint32_t word = boxes / 64, summary = word / 64;

	if (lookup->word < word)
		lookup->left = 0;
	for (uint32_t s = 0; s < lookup->classifier->nb_summaries; s++)
		if (s <= summary)
			lookup->words[s] &= s < summary ? 0 : UINT64_MAX << word % 64;
}
