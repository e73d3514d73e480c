/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * How a worker gets what it is to give up: parallel/shed/shed_setting.h between the reporter's governor and one worker, every
 * interleaving of single loads and stores (sequentially consistent ones; what an order forbids stands there in the
 * order that it asks for).
 *
 * The governor has two buffers, and publishes up to STATES states, each as soon as the worker has the one before, or
 * later. The worker looks for new states when it likes, reads those that it has as often as it likes, field by field,
 * and says which ones it has.
 *
 * Claims: nothing is written that the worker may read; whatever it reads is of one state; states come one after
 * another, none is left out; nobody waits for ever.
 *
 * With one of these an order is broken, and a claim fails: PUBLISHED_FIRST (`next` without release), READ_LATE (`taken`
 * without release, or read without acquire), HASTY (the governor does not wait for `taken`).
 */

#ifndef STATES
#define STATES 5
#endif
#define DECIDED 2 /* what the worker begins with is nobody's buffer */

/* Of buffer b: its number, and what else stands in it. */
byte number_of[3];
byte steps_of[3];
/* Somebody is in the middle of reading it. */
bit is_read[3];

/* The line. */
byte next = DECIDED, taken = 0;

inline store(place, value)
{
	atomic {
		assert(!is_read[b]);
		place = value
	}
}

inline fill()
{
	store(number_of[b], number + 1);
	store(steps_of[b], number + 1)
}

active proctype governor()
{
	byte at = 0, number = 0, b;

	do
	:: number < STATES ->
#ifndef HASTY
		taken == number;
#endif
		b = 1 - at;
#ifdef PUBLISHED_FIRST
		next = b;
		fill();
#else
		fill();
		next = b;
#endif
		at = b;
		number++
	:: else -> break
	od
}

inline read()
{
	atomic { is_read[has] = 1; seen = number_of[has] };
	assert(seen == number);
	atomic { assert(steps_of[has] == seen); is_read[has] = 0 }
}

active proctype worker()
{
	byte has = DECIDED, number = 0, seen, latest;

	do
	:: number < STATES ->
		latest = next;
		if
		:: latest != has ->
#ifdef READ_LATE
			taken = number_of[latest];
			read();
			has = latest;
			number++
#else
			has = latest;
			number++;
			taken = number_of[has]
#endif
		:: else
		fi;
		if
		:: read()
		:: true
		fi
	:: else -> break
	od;
	read()
}
