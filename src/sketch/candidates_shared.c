/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The list of heavy keys under several threads: the paper's Algorithm 5, a set into which threads
 * insert without a lock, while a bucket has a free way, and its Algorithm 6, a critical section,
 * from then on. Both are seldom: most packets are of keys that are listed, or do not pass the
 * floor.
 *
 * - A listed key: one compare-and-swap on its count (candidate_count.h).
 * - A free way: claimed by compare-and-swap; the winner publishes its key, and others wait to see
 *   whether it is theirs.
 * - A full bucket: find the smallest upper. Where the estimate is above the admission, take the
 *   bucket's lock, look for the key once more, and for the smallest, and replace that.
 *
 * A listed key enters the critical section only to have its count carried, every 2^22 packets or
 * 2^33 bytes; any other one only where its estimate is above the admission.
 *
 * Linearization. A way's count is changed by compare-and-swap alone, and never has one value twice
 * in two generations, so the changes of a way are in one order. A packet takes effect when the
 * change succeeds that counts it or lists its key; one that is turned away, when it read the floor.
 *
 * (1) What is added to a count is of the key that the way lists. The hash is read after the count,
 *     of generation g. A thread that lists another key has made the generation odd before it
 *     stores any of the hash (release); who reads that (acquire) and expects generation g fails.
 * (2) A key is in one way at most. Ways are taken in ascending order and never freed. Who claims
 *     way w has seen every lower way hold another key, having waited for those that were changing
 *     hands; of two threads with one key the later claim in a bucket thus sees the earlier. Nobody
 *     replaces before all ways are taken and published, and then one at a time, by one that holds
 *     the lock and has looked at all ways; and who found no way to claim looks again under the
 *     lock.
 * (3) floor <= the upper of every key in the bucket: it is computed from published counts while no
 *     way is free, and uppers only rise, those of ways that change hands too. Two threads may store
 *     floors in the wrong order; the lower one is a floor as well.
 * (4) A key that takes a free way, and is still listed, has every packet counted exactly once, so
 *     before = 0 though other threads may have counted packets of it in the sketch already:
 *     - No packet of it is turned away before it is listed. That takes a floor above 0, and those
 *       are stored when all ways are taken and published.
 *     - No packet of it is turned away after. Its thread reads the floor f before it adds the
 *       packet to the sketch. f is at most the key's count at that time (3), all of which had been
 *       added to the sketch before it was counted here (count: release, the scan: acquire, f:
 *       release, acquire). So every counter of the key then read f or more, the packet raises them
 *       further, and its estimate is above f. It is looked up after a floor was read again, f';
 *       if f' is 0 the estimate is above the admission, and else the key was published before f'
 *       was stored, and is found.
 *     - A packet that is found or lists its key is counted once, by (1).
 *     While nobody was turned away this holds for all keys: the list is complete.
 * (5) A key that takes another's place has `before` as if one thread wrote: its estimate without
 *     the packet. It serves to compute floors. It is no bound, because a packet of the key that
 *     another thread has added to one row and not to the next may be missing in the estimate and be
 *     turned away; and for such keys (4) is not claimed. What was counted of it is, by (1), still
 *     not more than the truth; its bound is the sketch's estimate when all is at rest.
 * (6) Nobody waits for ever: a thread waits for one that publishes, which takes no lock, or for one
 *     that holds the bucket's lock, which waits for publishers alone.
 *
 * tests/models/critical_section.pml checks (1), (2), (4) and (6) over all interleavings of a few
 * threads.
 *
 * On one thread the state is that of candidates_update(). Where no packet of a burst needs more
 * than the count of a listed key, which is first changed does not matter, and each group of equal
 * keys is counted at once; else packets go one by one.
 */

#include "sketch/candidate_list.h"
#include "sketch/candidates.h"

/* Acquire: pairs with the release in list_key() and in add_to_count(). */
static inline uint64_t count_of(const struct candidate_entry *entry)
{
	return atomic_load_explicit(&entry->count, memory_order_acquire);
}

/* Acquire: pairs with the release in raise_floor(). */
static inline uint64_t floor_of(const struct candidates *candidates, uint32_t b)
{
	return atomic_load_explicit(&candidates->floor[b], memory_order_acquire);
}

static inline uint32_t bucket_of(const struct candidates *candidates, const struct key_hash *hash)
{
	return (uint32_t)(hash->hi >> candidates->bucket_shift);
}

/* Acquire: pairs with the release in list_key(), for (1). */
static inline bool has_hash(const struct candidate_entry *entry, const struct key_hash *hash)
{
	uint64_t lo = atomic_load_explicit(&entry->hash_lo, memory_order_acquire);
	uint64_t hi = atomic_load_explicit(&entry->hash_hi, memory_order_acquire);

	return ((lo ^ hash->lo) | (hi ^ hash->hi)) == 0;
}

/* Where a hash is listed, and the count that was read before it. */
struct place {
	struct candidate_entry *entry; /* NULL: nowhere */
	uint64_t count;
};

static inline struct place probe(struct candidate_bucket *bucket, const struct key_hash *hash)
{
	uint32_t match = tag_match_shared(bucket->tag, tag_of(hash));

	for (; match != 0; match &= match - 1) {
		struct candidate_entry *entry = &bucket->entry[__builtin_ctz(match)];
		uint64_t count = count_of(entry);

		if (count_is_listed(count) && has_hash(entry, hash))
			return (struct place){entry, count};
	}
	return (struct place){NULL, 0};
}

/*
 * Adds to the count of the key that was found there. Returns false where it is not listed there any
 * more, or where the count must be carried first.
 */
static inline bool add_to_count(struct place place, uint64_t amount)
{
	uint64_t generation = count_generation(place.count);

	/* Release: the packets are in the sketch before they are counted here. */
	do {
		if (count_is_full(place.count) || count_generation(place.count) != generation)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&place.entry->count, &place.count,
		place.count + amount, memory_order_release, memory_order_relaxed));
	return true;
}

/* The way's count when it lists a key, or is free. */
static uint64_t settled_count(const struct candidate_entry *entry)
{
	uint64_t count = count_of(entry);

	for (uint32_t spins = 0; count_generation(count) % 2 != 0; count = count_of(entry))
		spin_wait(&spins);
	return count;
}

enum insertion {
	COUNTED, /* where the key is listed, or as the first packet of a key in a free way */
	FOUND,   /* the key, but it must be carried, or is on its way out */
	FULL,    /* is the bucket, of other keys */
};

/* Algorithm 5, for packet i. */
static enum insertion insert(struct candidates *candidates, uint32_t b,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];

	for (uint32_t way = 0; way < TAG_WAYS; way++) {
		struct candidate_entry *entry = &bucket->entry[way];
		struct place place = {entry, settled_count(entry)};
		uint64_t claimed = count_next(0);

		if (place.count == 0) {
			if (atomic_compare_exchange_strong_explicit(&entry->count, &place.count,
				    claimed, memory_order_relaxed, memory_order_relaxed)) {
				list_key(candidates, b, way, burst, i,
					before_of_first(candidates, burst, i, estimate), claimed);
				return COUNTED;
			}
			place.count = settled_count(entry);
		}
		if (has_hash(entry, &burst->hash[i]))
			return add_to_count(place, COUNT_PACKET + burst->wire_len[i]) ? COUNTED
										      : FOUND;
	}
	return FULL;
}

/* The lock is held: no way changes hands. */
static uint32_t way_of(const struct candidate_bucket *bucket, const struct key_hash *hash)
{
	for (uint32_t way = 0; way < TAG_WAYS; way++)
		if (settled_count(&bucket->entry[way]) != 0 && has_hash(&bucket->entry[way], hash))
			return way;
	return TAG_WAYS;
}

/* The lock is held. */
static void carry_and_count(struct candidate_bucket *bucket, uint32_t way, uint32_t wire_len)
{
	struct candidate_entry *entry = &bucket->entry[way];
	struct place place = {entry, count_of(entry)};

	while (!add_to_count(place, COUNT_PACKET + wire_len)) {
		place.count = count_of(entry);
		if (count_is_full(place.count) &&
			atomic_compare_exchange_strong_explicit(&entry->count, &place.count,
				place.count & -COUNT_GENERATION, memory_order_relaxed,
				memory_order_relaxed))
			carry(bucket, way, place.count);
	}
}

struct smallest {
	uint32_t way;
	uint64_t count, upper;
};

/*
 * In a bucket that is full. An upper is what it was at some time in here, or less, as its way had
 * one generation before and after it was read.
 */
static struct smallest find_smallest(
	const struct candidates *candidates, const struct candidate_bucket *bucket)
{
	struct smallest smallest = {.upper = UINT64_MAX};

	for (uint32_t way = 0; way < TAG_WAYS; way++) {
		const struct candidate_entry *entry = &bucket->entry[way];
		uint64_t count, upper;

		do {
			count = settled_count(entry);
			upper = upper_of(candidates, bucket, way);
		} while (count_generation(count_of(entry)) != count_generation(count));
		if (way == 0 || upper < smallest.upper)
			smallest = (struct smallest){way, count, upper};
	}
	return smallest;
}

/* The lock is held, packet i is of no listed key, and its bucket is full. */
static void challenge(struct candidates *candidates, uint32_t b, const struct key_burst *burst,
	uint32_t i, uint64_t estimate)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];
	struct smallest smallest;

	/* Once more where a packet of the smallest key was counted in between. */
	do {
		smallest = find_smallest(candidates, bucket);
		raise_floor(candidates, b, smallest.upper);
		if (estimate <= admission_of(smallest.upper))
			return;
	} while (!atomic_compare_exchange_strong_explicit(&bucket->entry[smallest.way].count,
		&smallest.count, count_next(smallest.count), memory_order_relaxed,
		memory_order_relaxed));
	list_key(candidates, b, smallest.way, burst, i,
		counted_before(candidates, burst, i, estimate), count_next(smallest.count));
	bucket->replaced++;
}

/* Algorithm 6, for packet i. */
static void enter_critical_section(struct candidates *candidates, uint32_t b,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	struct candidate_bucket *bucket = &candidates->bucket[b];
	uint32_t way;

	spinlock_lock(&bucket->lock);
	bucket->entered++;
	way = way_of(bucket, &burst->hash[i]);
	if (way < TAG_WAYS)
		carry_and_count(bucket, way, burst->wire_len[i]);
	else
		challenge(candidates, b, burst, i, estimate);
	spinlock_unlock(&bucket->lock);
}

/* Packet i was not found, and its bucket is full. */
static __attribute__((noinline)) void miss(struct candidates *candidates, uint32_t b,
	const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	uint64_t smallest = find_smallest(candidates, &candidates->bucket[b]).upper;

	raise_floor(candidates, b, smallest);
	if (estimate > admission_of(smallest))
		enter_critical_section(candidates, b, burst, i, estimate);
}

/* Packet i has passed the floor. */
static void count_packet(
	struct candidates *candidates, const struct key_burst *burst, uint32_t i, uint64_t estimate)
{
	const struct key_hash *hash = &burst->hash[i];
	uint32_t b = bucket_of(candidates, hash);
	uint64_t floor = floor_of(candidates, b); /* before the probe: (4) */
	struct place place = probe(&candidates->bucket[b], hash);
	enum insertion insertion = FULL;

	if (place.entry != NULL)
		insertion =
			add_to_count(place, COUNT_PACKET + burst->wire_len[i]) ? COUNTED : FOUND;
	else if (floor == 0)
		insertion = insert(candidates, b, burst, i, estimate);

	if (insertion == FOUND)
		enter_critical_section(candidates, b, burst, i, estimate);
	else if (insertion == FULL && estimate > admission_of(floor))
		miss(candidates, b, burst, i, estimate);
}

static __attribute__((noinline)) void count_one_by_one(struct candidates *candidates,
	const struct key_burst *burst, const struct burst_groups *groups, const uint64_t *floor,
	const uint64_t *estimate)
{
	for (uint32_t i = 0; i < burst->n; i++)
		if (estimate[i] > floor[groups->leader[i]])
			count_packet(candidates, burst, i, estimate[i]);
}

static __attribute__((noinline)) void count_group_one_by_one(struct candidates *candidates,
	const struct key_burst *burst, const struct burst_groups *groups, uint32_t leader,
	const uint64_t *estimate)
{
	for (uint32_t i = leader; i < burst->n; i++)
		if (groups->leader[i] == leader)
			count_packet(candidates, burst, i, estimate[i]);
}

void candidates_read_floors(const struct candidates *candidates, const struct key_burst *burst,
	const struct burst_groups *groups, uint64_t *floor)
{
	for (uint64_t left = groups->leaders; left != 0;) {
		uint32_t i = mask_next(&left);

		floor[i] = floor_of(candidates, bucket_of(candidates, &burst->hash[i]));
	}
}

static void note_writer(struct candidates *candidates)
{
	static _Thread_local const char mark;
	const void *none = NULL;

	/* Relaxed: what they say is read when all is at rest. */
	if (atomic_load_explicit(&candidates->first_writer, memory_order_relaxed) == &mark ||
		atomic_load_explicit(&candidates->several_writers, memory_order_relaxed))
		return;
	if (!atomic_compare_exchange_strong_explicit(&candidates->first_writer, &none, &mark,
		    memory_order_relaxed, memory_order_relaxed))
		atomic_store_explicit(&candidates->several_writers, true, memory_order_relaxed);
}

/* Groups whose last estimate, their largest, passes the floor. */
static inline uint32_t pass_groups(const struct burst_groups *groups, const uint64_t *floor,
	const uint64_t *estimate, uint8_t *passed)
{
	uint32_t nb_passed = 0;

	/* Written before it is known whether it stays: a branch here would be a coin's toss. */
	for (uint64_t left = groups->leaders; left != 0;) {
		uint32_t leader = mask_next(&left);

		passed[nb_passed] = (uint8_t)leader;
		nb_passed += estimate[groups->last[leader]] > floor[leader];
	}
	return nb_passed;
}

void candidates_update_shared(struct candidates *candidates, const struct key_burst *burst,
	const struct burst_groups *groups, const uint64_t *floor, const uint64_t *estimate)
{
	uint8_t passed[BURST_MAX];
	struct place places[BURST_MAX];
	uint32_t nb_passed = pass_groups(groups, floor, estimate, passed);

	note_writer(candidates);
	for (uint32_t k = 0; k < nb_passed; k++) {
		uint32_t leader = passed[k];
		uint32_t b = bucket_of(candidates, &burst->hash[leader]);
		uint64_t floor_now = floor_of(candidates, b); /* before the probe: (4) */

		places[k] = probe(&candidates->bucket[b], &burst->hash[leader]);
		if ((places[k].entry == NULL &&
			    estimate[groups->last[leader]] > admission_of(floor_now)) ||
			weight_bytes(groups->weight[leader]) >= COUNT_BYTES_FULL) {
			count_one_by_one(candidates, burst, groups, floor, estimate);
			return;
		}
	}
	for (uint32_t k = 0; k < nb_passed; k++) {
		uint64_t weight = groups->weight[passed[k]];
		uint64_t amount = weight_packets(weight) * COUNT_PACKET + weight_bytes(weight);

		if (places[k].entry != NULL && !add_to_count(places[k], amount))
			count_group_one_by_one(candidates, burst, groups, passed[k], estimate);
	}
}
