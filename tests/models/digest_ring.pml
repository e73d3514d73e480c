/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Marks in a ring that drops: parallel/designs/digest_ring.h between one who puts and one who takes, under the
 * epochs of parallel/epoch.h, every interleaving of single loads and stores (sequentially consistent ones).
 *
 * Who puts offers up to OFFERED digests of one or two units in each of EPOCHS epochs, publishes them when
 * it likes, and puts a mark before each epoch but the first, and one at the end. It asks how far room was
 * given back only where what it remembers is not enough. The next epoch is open only when who takes has
 * left the one before the last. Who takes gives back what it took when it likes, but always with a mark.
 *
 * Claims: no unit is written that was not given back; a mark always finds room, in MARKS units that digests
 * leave free; every digest is taken in its epoch, or was refused; nobody waits for ever.
 */

#ifndef SIZE
#define SIZE 4 /* units */
#endif
#ifndef EPOCHS
#define EPOCHS 4
#endif
#ifndef OFFERED
#define OFFERED 2
#endif
#ifndef MARKS
#define MARKS 2 /* DIGEST_MARKS */
#endif
#define END    (EPOCHS + 1) /* of the last mark */
#define NOTHING 255

/* Positions count units and never go back. */
byte tail = 0, head = 0;
byte at = 0; /* the epoch of who takes, as it has said */

/* By unit: the epoch that a digest is of, or a mark begins, NOTHING: it was given back; its length. */
byte epoch_of[SIZE] = NOTHING;
byte units_of[SIZE];
bit is_mark[SIZE];

byte put_in[EPOCHS], taken_in[EPOCHS];

inline write(position, units, mark, number)
{
	d_step {
		u = 0;
		do
		:: u < units ->
			assert(epoch_of[(position + u) % SIZE] == NOTHING);
			epoch_of[(position + u) % SIZE] = number;
			u++
		:: else -> break
		od;
		units_of[position % SIZE] = units;
		is_mark[position % SIZE] = mark
	}
}

active proctype puts()
{
	byte put = 0, head_seen = 0, epoch = 0, offered, units, u;

	do
	:: epoch < EPOCHS ->
		offered = 0;
		do
		:: offered < OFFERED ->
			offered++;
			if
			:: units = 1
			:: units = 2
			fi;
			if
			:: put + units + MARKS - head_seen > SIZE -> head_seen = head
			:: else
			fi;
			if
			:: put + units + MARKS - head_seen <= SIZE ->
				write(put, units, 0, epoch);
				put = put + units;
				put_in[epoch]++
			:: else /* refused */
			fi;
			if
			:: tail = put
			:: true
			fi
		:: true -> break
		od;
		tail = put;
		epoch++;
		if
		:: epoch < EPOCHS ->
			at + 2 > epoch; /* the one before the last was left */
			write(put, 1, 1, epoch);
			put++;
			tail = put
		:: else
		fi
	:: else -> break
	od;
	write(put, 1, 1, END);
	put++;
	tail = put
}

active proctype takes()
{
	byte taken = 0, given = 0, tail_seen = 0, epoch = 0, units, number, u;
	bit mark;

	do
	:: number != END ->
		if
		:: taken == tail_seen -> tail != taken; tail_seen = tail
		:: else
		fi;
		d_step {
			units = units_of[taken % SIZE];
			number = epoch_of[taken % SIZE];
			mark = is_mark[taken % SIZE];
			u = 0;
			do
			:: u < units ->
				assert(epoch_of[(taken + u) % SIZE] == number);
				u++
			:: else -> break
			od
		};
		if
		:: !mark ->
			assert(number == epoch);
			taken_in[epoch]++
		:: else ->
			assert(number == epoch + 1 || number == END);
		fi;
		taken = taken + units;
		if
		:: d_step {
			do
			:: given < taken -> epoch_of[given % SIZE] = NOTHING; given++
			:: else -> break
			od;
			head = taken
		   }
		:: !mark
		fi;
		if
		:: mark && number != END -> epoch = number; at = epoch
		:: else
		fi
	:: else -> break
	od;
	assert(epoch == EPOCHS - 1);
	number = 0;
	do
	:: number < EPOCHS -> assert(taken_in[number] == put_in[number]); number++
	:: else -> break
	od
}
