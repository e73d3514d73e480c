/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One bucket of the candidate list under several threads (sketch/candidates_shared.c), checked
 * exhaustively: every interleaving of single loads, stores and compare-and-swaps, sequentially
 * consistent ones; which orders make them so is said beside each atomic there. Each of THREADS
 * threads counts PACKETS packets, of any of KEYS keys. Two keys share a counter in one of the two
 * rows. An unlisted key is admitted already above the smallest upper once, not four times: then
 * few packets do for replacements. The first thread may count EXTRA packets more.
 *
 * Claims, numbered as there: what is added to a count is of the key that is listed (1); no key is
 * listed twice (2); the floor is not above an upper (3); a key that took a free way is counted
 * exactly (4), and no other beyond the truth; nobody waits for ever (6, the verifier finds
 * invalid end states).
 */

#ifndef THREADS
#define THREADS 2
#endif
#ifndef PACKETS
#define PACKETS 3
#endif
#ifndef EXTRA
#define EXTRA 0
#endif
#ifndef KEYS
#define KEYS 3
#endif
#ifndef WAYS
#define WAYS 2
#endif
#define NONE 15

/* The sketch: key k is in counter k of row 0, and in counter k % 2 of row 1. */
byte row0[KEYS], row1[2];
byte floor = 0;
bit lock = 0;

/* A way's generation and count are one word: every statement that touches both is one step. */
byte generation[WAYS], count[WAYS], before[WAYS];
byte hash[WAYS] = NONE, tag[WAYS] = NONE;

byte listed[WAYS] = NONE; /* what a generation is for, for the claims alone */
byte truth[KEYS];
byte finished = 0;

#define is_listed(g) (g > 0 && g % 2 == 0)

/* Counts the packet where the way's generation is still g. */
inline add_to_count()
{
	atomic {
		if
		:: generation[w] == g ->
			assert(listed[w] == key); /* (1) */
			count[w] = count[w] + 1;
			counted = true
		:: else
		fi
	}
}

/* Lists the key in a way whose generation is odd and this thread's. */
inline list_key(already)
{
	before[w] = already;
	hash[w] = key;
	tag[w] = key;
	d_step {
		generation[w] = generation[w] + 1;
		count[w] = 1;
		listed[w] = key
	}
}

/* Waits until the way does not change hands, and reads its word. */
inline settle()
{
	d_step {
		generation[w] % 2 == 0 ->
		g = generation[w];
		c = count[w]
	}
}

inline insert()
{
	w = 0;
	do
	:: w < WAYS && !counted && !failed ->
		settle();
		if
		:: g == 0 ->
			atomic {
				if
				:: generation[w] == 0 -> generation[w] = 1; claimed = true
				:: else
				fi
			}
			if
			:: claimed ->
				list_key(0);
				d_step { claimed = false; counted = true }
			:: else -> settle()
			fi
		:: else
		fi;
		if
		:: !counted && hash[w] == key ->
			add_to_count();
			failed = !counted
		:: else
		fi;
		w++
	:: else -> break
	od
}

/* The smallest upper: of way s, whose generation is sg and whose count was sc. */
inline find_smallest()
{
	w = 0;
	smallest = 255;
	do
	:: w < WAYS ->
		settle();
		upper = before[w];
		upper = upper + count[w];
		if
		:: generation[w] == g ->
			d_step {
				if
				:: upper < smallest -> smallest = upper; s = w; sg = g; sc = c
				:: else
				fi;
				upper = 0;
				w++
			}
		:: else -> upper = 0
		fi
	:: else -> break
	od;
	atomic {
		floor = smallest;
		w = 0;
		do
		:: w < WAYS ->
			assert(!is_listed(generation[w]) || count[w] + before[w] >= floor); /* (3) */
			w++
		:: else -> break
		od;
		w = 0;
		c = 0
	}
}

inline challenge()
{
	do
	:: true ->
		find_smallest();
		if
		:: estimate <= smallest -> break
		:: else ->
			w = s;
			atomic {
				if
				:: generation[w] == sg && count[w] == sc ->
					generation[w] = sg + 1;
					count[w] = 0;
					listed[w] = NONE;
					claimed = true
				:: else
				fi
			}
			if
			:: claimed ->
				list_key(estimate - 1);
				claimed = false;
				break
			:: else
			fi
		fi
	od
}

inline enter_critical_section()
{
	atomic { lock == 0 -> lock = 1 };
	w = 0;
	do
	:: w < WAYS && !counted ->
		settle();
		if
		:: g != 0 && hash[w] == key ->
			add_to_count();
			assert(counted)
		:: else
		fi;
		w++
	:: else -> break
	od;
	if
	:: !counted -> challenge()
	:: else
	fi;
	lock = 0
}

inline count_packet()
{
	f = floor;
	w = 0;
	found = false;
	do
	:: w < WAYS && !found ->
		if
		:: tag[w] == key ->
			d_step { g = generation[w]; c = 0 };
			if
			:: is_listed(g) && hash[w] == key -> found = true
			:: else -> w++
			fi
		:: else -> w++
		fi
	:: else -> break
	od;
	if
	:: found -> add_to_count(); failed = !counted
	:: !found && f == 0 -> insert()
	:: else
	fi;
	if
	:: !counted && !failed && estimate > f ->
		find_smallest();
		failed = estimate > smallest
	:: else
	fi;
	if
	:: failed -> enter_critical_section()
	:: else /* counted, or turned away */
	fi
}

proctype thread(byte packets)
{
	byte n = 0, key, early, estimate, f, w, g, c, s, sg, sc, upper, smallest;
	bit found, counted, claimed, failed;

	do
	:: n < packets ->
		atomic {
			select(key : 0 .. KEYS - 1);
			truth[key] = truth[key] + 1
		};
		early = floor;
		d_step { row0[key] = row0[key] + 1; estimate = row0[key] };
		d_step {
			row1[key % 2] = row1[key % 2] + 1;
			estimate = (row1[key % 2] < estimate -> row1[key % 2] : estimate)
		};
		if
		:: estimate > early -> count_packet()
		:: else
		fi;
		d_step {
			early = 0; estimate = 0; f = 0; w = 0; g = 0; c = 0; s = 0; sg = 0; sc = 0;
			smallest = 0; key = 0; found = false; counted = false; failed = false;
			n++
		}
	:: else -> break
	od;
	atomic {
		finished++;
		n = 0;
		if
		:: finished == THREADS ->
			do
			:: n < WAYS ->
				if
				:: generation[n] != 0 ->
					assert(is_listed(generation[n]));
					assert(hash[n] == listed[n] && tag[n] == listed[n]);
					assert(count[n] <= truth[hash[n]]);
					assert(generation[n] != 2 ||
						count[n] == truth[hash[n]]); /* (4) */
					key = n + 1;
					do
					:: key < WAYS ->
						assert(hash[key] != hash[n]); /* (2) */
						key++
					:: else -> break
					od
				:: else
				fi;
				n++
			:: else -> break
			od
		:: else
		fi
	}
}

init {
	byte i = 0;

	atomic {
		do
		:: i < THREADS -> run thread((i == 0 -> PACKETS + EXTRA : PACKETS)); i++
		:: else -> break
		od
	}
}
