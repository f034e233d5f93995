/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The core of the transport between two endpoints, small enough to be searched completely: window, SACK, loss, and
 * retransmission on another path; completion in order; the states of two paths (EVs); READ answers, which travel in
 * the responder's own stream. check.sh runs it; docs/reliability.md says what it shows.
 *
 * Endpoint A posts a WRITE, a READ and a SEND, of one packet each. Endpoint B only answers the READ.
 * The network is two paths. Each keeps its order; any of them may be dead for a while, in both directions, and a few
 * packets are lost or duplicated besides. At some time it is healed for good.
 *
 * A macro MISTAKE_... takes a rule away; check.sh sees that each of them is found.
 */

#define PACKETS 3
#define PATHS 2

#ifndef LOSSES
#define LOSSES 1
#endif
#ifndef DUPLICATES
#define DUPLICATES 1
#endif
#ifndef EARLY_TIMERS
#define EARLY_TIMERS 1
#endif
#ifndef DEATHS
#define DEATHS 1 /* of paths */
#endif
#ifndef MPR
#define MPR 2
#endif

#define A 0
#define B 1
#define OTHER(e) (1 - (e))

/* A's stream: WRITE, READ, SEND. B's: the READ's answer. */
#define WRITE_PACKET 0
#define READ_PACKET 1
#define SEND_PACKET 2

mtype = {data, sack, probe, probe_answer};

/* Into endpoint e by path v. Fields: kind; PSN, or the PSN that made the SACK go out; what has arrived, as bits;
 * how many messages are done (the transport ACK, which rides with the SACK here). */
chan net[4] = [2] of {mtype, byte, byte, byte};
#define INTO(e, v) net[(e) * PATHS + (v)]

/* --- the requester of each endpoint --- */
#define UNSENT 0
#define FLYING 1
#define LOST 2
#define DELIVERED 3
byte state[6];      /* of each packet */
byte path_of[6];    /* of its last copy */
byte sent_before[6]; /* packets that went out on the same path before its last copy, as bits */
#define AT(e, i) ((e) * PACKETS + (i))
byte total[2];      /* packets there are to send */
byte next[2];       /* the first one never sent */
byte oldest[2];     /* the first one not delivered */
bool bad[4];        /* path v of endpoint e is out of use */
bool probing[4];
#define PATH(e, v) ((e) * PATHS + (v))

/* --- the responder of each endpoint --- */
byte arrived[2];    /* as bits */
byte expected[2];
bool sack_due[2];
byte trigger[2];
byte trigger_path[2];

/* --- what the programs see --- */
byte placed[6];     /* how often the packet of endpoint e's stream was placed at the other side */
byte acknowledged;  /* messages of A that B said are done */
byte completed;     /* requests of A that were reported */
bool read_done;     /* the answer is in A's memory */
bool received;      /* B's receive request was reported */

byte losses = LOSSES;
byte duplicates = DUPLICATES;
byte early_timers = EARLY_TIMERS;
byte deaths = DEATHS;
bool dead[PATHS];
bool healed;

#define BIT(i) (1 << (i))
#define NOTHING_UNDER_WAY \
  (len(net[0]) + len(net[1]) + len(net[2]) + len(net[3]) == 0 && !sack_due[A] && !sack_due[B])

#define ANY(e, s) (state[AT(e, 0)] == s || state[AT(e, 1)] == s || state[AT(e, 2)] == s)
#define ROOM(e, v) (len(INTO(OTHER(e), v)) < 2)
#define MAY_SEND(e, v) (!bad[PATH(e, v)] && ROOM(e, v))

/* A packet that goes out on a path. A dead path takes it and keeps it. */
inline transmit(e, v, kind, a, b, c) {
  if
  :: dead[v] -> skip
  :: else -> INTO(OTHER(e), v)!kind, a, b, c
  fi
}

inline send_packet(e, i, v) {
  state[AT(e, i)] = FLYING;
  path_of[AT(e, i)] = v;
  sent_before[AT(e, i)] = 0;
  j = 0;
  do
  :: j < PACKETS ->
    sent_before[AT(e, j)] = sent_before[AT(e, j)] & ~BIT(i);
    if
    :: j != i && state[AT(e, j)] == FLYING && path_of[AT(e, j)] == v ->
      sent_before[AT(e, i)] = sent_before[AT(e, i)] | BIT(j)
    :: else
    fi;
    j++
  :: else -> break
  od;
  j = 0;
  transmit(e, v, data, i, 0, 0)
}

/* A packet of this path was lost: it is put aside, unless it is the last one that is used. */
inline demote(e, v) {
  if
  :: !bad[PATH(e, v)] && !bad[PATH(e, 1 - v)] -> bad[PATH(e, v)] = true
  :: else
  fi
}

inline complete(e) {
  do
  :: e == A && completed < PACKETS &&
     ((completed == READ_PACKET && read_done) || (completed != READ_PACKET && acknowledged > completed)) ->
    /* What is reported has happened, all of it and once. */
    if
    :: completed == WRITE_PACKET -> assert(placed[AT(A, WRITE_PACKET)] == 1)
    :: completed == READ_PACKET -> assert(placed[AT(B, 0)] == 1)
    :: completed == SEND_PACKET -> assert(received)
    fi;
    completed++
  :: else -> break
  od
}

inline on_sack(e, v, psn, bits, done) {
  /* A path keeps its order: what went out on it before the packet that arrived, and did not, is lost. */
  i = 0;
  do
  :: i < PACKETS ->
    if
    :: (bits & BIT(i)) && state[AT(e, i)] != UNSENT -> state[AT(e, i)] = DELIVERED
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0;
  do
  :: i < PACKETS ->
    if
    :: state[AT(e, i)] == FLYING && path_of[AT(e, i)] == v && path_of[AT(e, psn)] == v &&
       (sent_before[AT(e, psn)] & BIT(i)) ->
      state[AT(e, i)] = LOST;
      demote(e, v)
    :: else
    fi;
    i++
  :: else -> break
  od;
  i = 0;
  do
  :: oldest[e] < next[e] && state[AT(e, oldest[e])] == DELIVERED -> oldest[e]++
  :: else -> break
  od;
  if
#ifndef MISTAKE_COMPLETE_ON_SACK
  :: e == A && done > acknowledged -> acknowledged = done
#else
  :: e == A && bits != 0 -> acknowledged = next[A]
#endif
  :: else
  fi;
  complete(e)
}

/* All before a packet are there: its message's turn. */
inline in_order(e, i) {
  if
  :: e == B && i == WRITE_PACKET -> skip
  :: e == B && i == READ_PACKET ->
    assert(placed[AT(A, WRITE_PACKET)] == 1); /* it reads what was written before */
    total[B] = 1
  :: e == B && i == SEND_PACKET ->
    assert(!received && total[B] == 1);
    received = true
  :: e == A ->
    assert(!read_done);
    read_done = true
  fi
}

inline on_data(e, v, psn) {
  if
#ifndef MISTAKE_PLACE_DUPLICATES
  :: arrived[e] & BIT(psn) -> skip /* a duplicate is answered, never placed */
#endif
  :: else ->
    placed[AT(OTHER(e), psn)]++;
    assert(placed[AT(OTHER(e), psn)] == 1);
    arrived[e] = arrived[e] | BIT(psn);
#ifdef MISTAKE_READ_ON_ARRIVAL
    if
    :: e == B && psn == READ_PACKET && expected[B] < psn -> assert(placed[AT(A, WRITE_PACKET)] == 1)
    :: else
    fi;
#endif
    do
    :: expected[e] < PACKETS && (arrived[e] & BIT(expected[e])) ->
      in_order(e, expected[e]);
      expected[e]++
    :: else -> break
    od;
    complete(e)
  fi;
  sack_due[e] = true;
  trigger[e] = psn;
  trigger_path[e] = v
}

proctype endpoint(byte e) {
  byte i, j, v, psn, bits, done;
  mtype kind;
  do
  /* New packets, within the window; those that were lost first. */
  :: atomic {
      (MAY_SEND(e, 0) || MAY_SEND(e, 1)) && next[e] < total[e] && next[e] - oldest[e] < MPR &&
      !ANY(e, LOST) ->
      if
      :: MAY_SEND(e, 0) -> v = 0
      :: MAY_SEND(e, 1) -> v = 1
      fi;
      next[e]++;
      send_packet(e, next[e] - 1, v);
      v = 0
    }
#ifndef MISTAKE_NO_RETRANSMISSION
  :: atomic {
      (MAY_SEND(e, 0) || MAY_SEND(e, 1)) && ANY(e, LOST) ->
      if
      :: MAY_SEND(e, 0) -> v = 0
      :: MAY_SEND(e, 1) -> v = 1
      fi;
      i = 0;
      do
      :: state[AT(e, i)] == LOST -> break
      :: else -> i++
      od;
      send_packet(e, i, v);
      i = 0;
      v = 0
    }
#endif
  :: atomic {
      sack_due[e] && ROOM(e, trigger_path[e]) ->
      sack_due[e] = false;
      transmit(e, trigger_path[e], sack, trigger[e], arrived[e], expected[e]);
      trigger[e] = 0;
      trigger_path[e] = 0
    }
  /* A path that is out of use is tried now and then. */
#ifndef MISTAKE_NO_PROBES
  :: atomic { bad[PATH(e, 0)] && !probing[PATH(e, 0)] && ROOM(e, 0) ->
      probing[PATH(e, 0)] = true; transmit(e, 0, probe, 0, 0, 0) }
  :: atomic { bad[PATH(e, 1)] && !probing[PATH(e, 1)] && ROOM(e, 1) ->
      probing[PATH(e, 1)] = true; transmit(e, 1, probe, 0, 0, 0) }
#endif
  :: atomic {
      len(INTO(e, 0)) + len(INTO(e, 1)) > 0 ->
      if
      :: len(INTO(e, 0)) > 0 -> v = 0
      :: len(INTO(e, 1)) > 0 -> v = 1
      fi;
      INTO(e, v)?kind, psn, bits, done;
      if
      :: kind == data -> on_data(e, v, psn)
      :: kind == sack -> on_sack(e, v, psn, bits, done)
      :: kind == probe -> 
        /* An answer that finds no room is lost like any other. */
        if
        :: ROOM(e, v) -> transmit(e, v, probe_answer, 0, arrived[e], expected[e])
        :: else
        fi
      :: kind == probe_answer -> bad[PATH(e, v)] = false; probing[PATH(e, v)] = false
      fi;
      kind = 0; i = 0; j = 0; v = 0; psn = 0; bits = 0; done = 0
    }
  /* The timer: when nothing is under way any more, and now and then too early. What was sent and not acknowledged goes
   * again; so does the question for a path. */
#ifndef MISTAKE_NO_TIMER
  :: atomic {
      ANY(e, FLYING) && (NOTHING_UNDER_WAY || early_timers > 0) ->
      if
      :: NOTHING_UNDER_WAY -> skip
      :: else -> early_timers--
      fi;
      i = oldest[e];
      do
      :: i < next[e] ->
        if
        :: state[AT(e, i)] == FLYING ->
          state[AT(e, i)] = LOST;
          demote(e, path_of[AT(e, i)])
        :: else
        fi;
        i++
      :: else -> break
      od;
      i = 0
    }
#endif
  /* The acknowledgement of the last message may have been lost: it is asked for. */
  :: atomic {
      e == A && NOTHING_UNDER_WAY && oldest[A] == PACKETS && acknowledged < PACKETS && completed < PACKETS ->
      if
      :: MAY_SEND(A, 0) -> v = 0
      :: MAY_SEND(A, 1) -> v = 1
      fi;
      transmit(A, v, data, SEND_PACKET, 0, 0);
      v = 0
    }
  :: atomic { NOTHING_UNDER_WAY && (probing[PATH(e, 0)] || probing[PATH(e, 1)]) ->
      probing[PATH(e, 0)] = false; probing[PATH(e, 1)] = false }
  /* Everything is done on both sides. */
  :: completed == PACKETS && oldest[A] == total[A] && oldest[B] == total[B] && NOTHING_UNDER_WAY &&
     !bad[0] && !bad[1] && !bad[2] && !bad[3] && !probing[0] && !probing[1] && !probing[2] && !probing[3] -> break
  od
}

inline drop(c) { net[c]?kind, x, y, z; kind = 0; x = 0; y = 0; z = 0 }
inline lose(c) {
  atomic { losses > 0 && len(net[c]) > 0 -> losses--; drop(c) }
}
inline duplicate(c) {
  atomic {
    duplicates > 0 && len(net[c]) == 1 ->
    duplicates--;
    net[c]?<kind, x, y, z>;
    net[c]!kind, x, y, z;
    kind = 0; x = 0; y = 0; z = 0
  }
}
/* What is on a path when it dies is lost as well. */
inline die_with(c) {
  atomic { dead[c % PATHS] && len(net[c]) > 0 -> drop(c) }
}

proctype faults() {
  mtype kind;
  byte x, y, z;
  do
  :: atomic { deaths > 0 && !dead[0] -> deaths--; dead[0] = true }
  :: atomic { deaths > 0 && !dead[1] -> deaths--; dead[1] = true }
  :: dead[0] -> dead[0] = false
  :: dead[1] -> dead[1] = false
  :: die_with(0)
  :: die_with(1)
  :: die_with(2)
  :: die_with(3)
  :: lose(0)
  :: lose(1)
  :: lose(2)
  :: lose(3)
  :: duplicate(0)
  :: duplicate(1)
  :: duplicate(2)
  :: duplicate(3)
  :: atomic { !healed -> healed = true; dead[0] = false; dead[1] = false; losses = 0; duplicates = 0; deaths = 0; break }
  od
}

init {
  atomic {
    total[A] = PACKETS;
    run endpoint(A);
    run endpoint(B);
    run faults()
  }
}

/* Whatever happened before: once the network is healed, everything is completed and every path is in use again. */
ltl live { [] (healed -> <> (completed == PACKETS && received && !bad[0] && !bad[1] && !bad[2] && !bad[3])) }
