/* SPDX-License-Identifier: BSD-2-Clause
 *
 * One direction of a same-host link (dpdk_io/link): a ring whose entries carry their turn, frames that are used again
 * when the reader says that it has taken them, and a reader that falls asleep and is woken by a bell. check.sh searches
 * every interleaving; docs/reliability.md says what it shows.
 *
 * Stores wait in a buffer of their process and come out in order, later than the loads behind them: what x86 does, and
 * what release and acquire leave of weaker machines here. A fence waits until the own buffer is empty.
 *
 * A macro MISTAKE_... takes a rule away; check.sh sees that each of them is found.
 */

#define RING 2
#ifndef FRAMES
#define FRAMES 2 /* few, so that they are used again soon */
#endif
#define MESSAGES 6
#define TURNS 3 /* they wrap, as 8 bits do */

#define TURN_OF(count) (((count) / RING + 1) % TURNS)
#define PACK(frame, turn) ((turn) * FRAMES + (frame))
#define FRAME_IN(word) ((word) % FRAMES)
#define TURN_IN(word) ((word) / FRAMES)

/* --- memory --- */
byte memory[RING + FRAMES + 2];
#define ENTRY(i) ((i) % RING)
#define CONTENT(frame) (RING + (frame))
#define TAKEN (RING + FRAMES)
#define BELL (RING + FRAMES + 1)
bool any = false;

chan writer_stores = [3] of {byte, byte}; /* address, value */
chan reader_stores = [3] of {byte, byte};

active proctype writer_buffer() {
  byte address, value;
end:
  do
  :: d_step { writer_stores ? address, value; memory[address] = value }
  od
}

active proctype reader_buffer() {
  byte address, value;
end:
  do
  :: d_step { reader_stores ? address, value; memory[address] = value }
  od
}

/* --- the process that sends --- */
active proctype writer() {
  byte head = 0, tail = 0;
  byte frame, count;
  byte under_way[RING];
  chan free = [FRAMES] of {byte};
  do
  :: len(free) < FRAMES -> free ! len(free)
  :: else -> break
  od;
  do
  :: head == MESSAGES -> break
#ifdef MISTAKE_OVERFILL
  :: head < MESSAGES && nempty(free) ->
#else
  :: head < MESSAGES && head - tail < RING && nempty(free) ->
#endif
     free ? frame;
     writer_stores ! CONTENT(frame), head;
     writer_stores ! ENTRY(head), PACK(frame, TURN_OF(head));
     under_way[head % RING] = frame;
     head++;
#ifndef MISTAKE_NO_FENCE
     empty(writer_stores); /* the fence */
#endif
     if
     :: memory[BELL] == 0 ->
        empty(writer_stores);
        memory[BELL] = 1; /* one step with the load that it begins with, so nobody's store comes in between */
        any = true
     :: else
     fi
  :: tail != memory[TAKEN] && head > tail ->
     count = memory[TAKEN];
     do
     :: tail != count ->
        free ! under_way[tail % RING];
        tail++
     :: else -> break
     od
  od
}

/* --- the process that receives --- */
byte received = 0;

active proctype reader() {
  byte next = 0;
  byte word;
  do
  :: received == MESSAGES -> break
  :: else ->
     word = memory[ENTRY(next)];
     if
#ifdef MISTAKE_NO_TURN
     :: word != 0 ->
#else
     :: TURN_IN(word) == TURN_OF(next) ->
#endif
        next++;
#ifdef MISTAKE_RELEASE_EARLY
        reader_stores ! TAKEN, next;
#endif
        assert(memory[CONTENT(FRAME_IN(word))] == received);
        assert(memory[CONTENT(FRAME_IN(word))] == received); /* as long as it is held */
        received++;
#ifndef MISTAKE_RELEASE_EARLY
        reader_stores ! TAKEN, next
#endif
     :: else ->
        /* Falls asleep, or looks again. */
        if
        :: skip
        :: reader_stores ! BELL, 0;
           empty(reader_stores); /* the fence */
#ifndef MISTAKE_NO_SECOND_LOOK
           word = memory[ENTRY(next)];
           if
           :: TURN_IN(word) == TURN_OF(next) -> memory[BELL] = 1
           :: else ->
#endif
              do
              :: any -> any = false;
                 if
                 :: memory[BELL] == 1 -> break
                 :: else
                 fi
              od
#ifndef MISTAKE_NO_SECOND_LOOK
           fi
#endif
        fi
     fi
  od
}

init {
  skip
}
