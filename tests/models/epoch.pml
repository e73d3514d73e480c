/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The epoch hand-over of parallel/epoch.h, checked exhaustively: WORKERS workers, EPOCHS epochs, every
 * interleaving of single loads and stores (sequentially consistent ones; which orders make them
 * so is said beside each atomic in epoch.c).
 *
 * The reporter takes up to CHANGES other sets of measurements, at any of its steps, puts the newest in
 * place where it hands a generation back, and frees what no generation has and none will get.
 *
 * Claims: nobody touches a generation while another does; every epoch's sum is exactly what was fed in
 * it; nobody waits for ever (the verifier finds invalid end states); nobody counts into a set that was
 * freed; an epoch is of one set, up to the epoch that is named when a set is taken of an older one, from
 * then on of that or a newer one.
 */

#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef EPOCHS
#define EPOCHS 4
#endif
#ifndef FED_MAX
#define FED_MAX WORKERS /* packets of an epoch */
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#define AHEAD 2 /* EPOCH_AHEAD, small so that the feeder has to wait too */
#define NEVER  255

byte open = 0, end_at = NEVER, ready = 2;
byte at[WORKERS];

/* Generation g of worker w is counted[w * 2 + g]; busy says that its worker is in it. */
byte counted[WORKERS * 2];
bit busy[WORKERS * 2];
byte fed[EPOCHS];

/* Sets of measurements, by number; that of generation g is placed[g], the newest that was taken `newest`. */
byte placed[2], newest = 0;
bit freed[CHANGES + 1];
byte from[CHANGES + 1]; /* the first epoch that has the set or a newer one, as it is told; 0: not taken */

inline check_set(e, set)
{
	assert(!freed[set]);
	assert(set == 0 || (from[set] > 0 && from[set] <= e));
	assert(set == CHANGES || from[set + 1] == 0 || e < from[set + 1])
}

inline release(set)
{
	if
	:: set != newest && set != placed[0] && set != placed[1] -> freed[set] = 1
	:: else
	fi
}

/* The reporter, before it hands back the generation of e: takes a set, or none. */
inline maybe_change(e)
{
	if
	:: newest < CHANGES ->
		d_step {
			before = newest;
			newest = newest + 1;
			from[newest] = e + 2;
			release(before)
		}
	:: true
	fi
}

chan ring[WORKERS] = [1] of { byte };

proctype feeder()
{
	byte epoch = 0, w;

	do
	:: epoch < EPOCHS ->
		(epoch < AHEAD || ready >= epoch - AHEAD + 3); /* epochs_may_open() */
		open = epoch;
		/* One packet or none to each worker: queues stay silent for whole epochs. */
		w = 0;
		do
		:: w < WORKERS ->
			if
			:: atomic {
				fed[epoch] < FED_MAX;
				fed[epoch] = fed[epoch] + 1;
				ring[w] ! epoch
			}
			:: skip
			fi;
			w++
		:: else -> break
		od;
		epoch++
	:: else -> break
	od;
	end_at = EPOCHS;
	open = EPOCHS
}

inline enter(w, new)
{
	epoch = new;
	at[w] = epoch;
	(epoch < ready)
}

proctype worker(byte w)
{
	byte epoch = 0, seen, seen_end, mark;

	do
	:: true ->
		seen = open;
		seen_end = end_at;
		if
		:: atomic { nempty(ring[w]) -> ring[w] ? mark };
			if
			:: mark != epoch -> enter(w, mark)
			:: else
			fi;
			atomic {
				assert(!busy[w * 2 + epoch % 2]);
				busy[w * 2 + epoch % 2] = 1
			};
			d_step {
				check_set(epoch, placed[epoch % 2]);
				counted[w * 2 + epoch % 2] = counted[w * 2 + epoch % 2] + 1;
				busy[w * 2 + epoch % 2] = 0
			}
		:: empty(ring[w]) && seen == seen_end -> at[w] = seen; break
		:: empty(ring[w]) && seen != seen_end && seen > epoch -> enter(w, seen)
		:: empty(ring[w]) && seen != seen_end && seen <= epoch /* and round again, when it may matter */
			-> (open != seen || nempty(ring[w]))
		fi
	od
}

proctype reporter()
{
	byte epoch = 0, w, sum, before;

	do
	:: epoch < EPOCHS ->
		w = 0;
		do
		:: w < WORKERS -> (at[w] > epoch); w++ /* epochs_is_closed() */
		:: else -> break
		od;
		maybe_change(epoch);
		sum = 0;
		w = 0;
		do
		:: w < WORKERS ->
			/* One step, which may fall into a worker's. */
			d_step {
				assert(!busy[w * 2 + epoch % 2]);
				sum = sum + counted[w * 2 + epoch % 2];
				counted[w * 2 + epoch % 2] = 0;
				w++
			}
		:: else -> break
		od;
		assert(sum == fed[epoch]);
		check_set(epoch, placed[epoch % 2]);
		maybe_change(epoch);
		d_step { /* the generation is its own until `ready` says so */
			before = placed[epoch % 2];
			placed[epoch % 2] = newest;
			release(before)
		}
		epoch++;
		ready = epoch + 2
	:: else -> break
	od
}

init {
	byte w = 0;

	atomic {
		run feeder();
		run reporter();
		do
		:: w < WORKERS -> run worker(w); w++
		:: else -> break
		od
	}
}
