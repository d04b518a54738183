import { createFifo } from "./collections/fifo.ts";
import type { Lane, LaneRow } from "./lane-queues.ts";
import type { ClaimRules } from "./port/claims.ts";

/** Ready lanes, or those of suspects. */
type Kind = "ready" | "suspect";

/** Whose jobs they are: an account's of one consumer are held, and counted, together. */
export type Owner = Pick<LaneRow, "consumer" | "account">;

/**
 * Lanes whose heads are due: which of them is next. Accounts take turns, and within an account the lane that became ready first is next. A lane
 * is in the turn of the account of its head. What may not start now is in no turn: it costs nothing until it may.
 */
export interface Turns {
  /** At the end of its account's queue, by its head. */
  add(lane: Lane, kind: Kind): void;
  /** @param head by which it was added */
  remove(lane: Lane, kind: Kind, head: LaneRow): void;
  /** The lane that is next leaves, and its account's turn is over: unless `mayLeave` keeps it where it is. */
  shift(kind: Kind, mayLeave: (lane: Lane) => boolean): Lane | undefined;
  has(kind: Kind): boolean;
  /** A claim begins (1), or has ended (-1). */
  count(owner: Owner, by: 1 | -1): void;
  /** By these rules from now on. */
  follow(rules: ClaimRules): void;
  /** By a stored pause. */
  isPaused(owner: Owner): boolean;
  /** Whether there is such a pause. */
  isPausing(): boolean;
  /** Whether a claim of it may begin now. */
  mayBegin(owner: Owner): boolean;
  /** Whether one of its lanes is ready. */
  hasReady(owner: Owner): boolean;
  /** Ready lanes of which none may start now, of each account the last one first. */
  held(): IterableIterator<Lane>;
}

/** Ready lanes of one account and consumer: linked, because one may leave from the middle. */
interface Place extends Owner {
  readonly turn: Turn;
  readonly lanes: Readonly<Record<Kind, { first: Lane | undefined; last: Lane | undefined; size: number }>>;
  /** Claims that have not ended. */
  taken: number;
}

/** An account. */
interface Turn {
  /** One for each consumer. */
  readonly places: Place[];
  /** How often it is in the order of turns. */
  readonly tickets: Record<Kind, number>;
}

export function createTurns(): Turns {
  const turns = new Map<number | undefined, Turn>();
  /** Places of which nothing could start when they were last looked at. */
  const stopped = new Set<Place>();
  const order = { ready: createFifo<Turn>(), suspect: createFifo<Turn>() };
  let rules: ClaimRules | undefined;
  let version = 0;
  let isFair = false;
  /** Lanes so far: says which of an account's became ready first. */
  let added = 0;
  /** Most jobs are of the same owner as the one before. */
  let last: Place | undefined;

  function placeOf(owner: Owner): Place {
    if (last === undefined || last.consumer !== owner.consumer || last.account !== owner.account)
      last = findOrAdd(owner);
    return last;
  }

  function findOrAdd({ consumer, account }: Owner): Place {
    const turn = turns.get(account) ?? { places: [], tickets: { ready: 0, suspect: 0 } };
    const known = turn.places.find((one) => one.consumer === consumer);
    if (known !== undefined) return known;
    const none = { first: undefined, last: undefined, size: 0 };
    const place: Place = { consumer, account, turn, lanes: { ready: { ...none }, suspect: { ...none } }, taken: 0 };
    turns.set(account, turn);
    turn.places.push(place);
    return place;
  }

  const isPaused = ({ consumer = "", account }: Owner): boolean => rules?.isPaused(consumer, account) === true;

  /** So many more of its claims may begin. */
  function freeOf({ consumer = "", account }: Owner, taken: number): number {
    if (rules === undefined) return Infinity;
    return rules.isHeld(consumer, account) ? 0 : rules.perAccount(consumer, account) - taken;
  }

  function freeIn(place: Place): number {
    const free = freeOf(place, place.taken);
    if (free <= 0) stopped.add(place);
    return free;
  }

  const find = ({ consumer, account }: Owner): Place | undefined =>
    turns.get(account)?.places.find((one) => one.consumer === consumer);

  /** It is in the order as often as is due to it: once, or, without turns, for each lane that may start. */
  function invite(turn: Turn, kind: Kind): void {
    if (isFair && turn.tickets[kind] > 0) return;
    let due = 0;
    for (const place of turn.places) {
      const { size } = place.lanes[kind];
      if (size > 0) due += Math.max(Math.min(size, freeIn(place)), 0); // the rules are asked of what waits alone
    }
    for (const most = isFair ? Math.min(due, 1) : due; turn.tickets[kind] < most; turn.tickets[kind] += 1)
      order[kind].push(turn);
  }

  function forget({ turn }: Place, account: number | undefined): void {
    const { places, tickets } = turn;
    const isEmpty = ({ lanes, taken }: Place): boolean => lanes.ready.size + lanes.suspect.size + taken === 0;
    if (tickets.ready + tickets.suspect > 0 || !places.every(isEmpty)) return;
    turns.delete(account);
    last = undefined;
    for (const place of places) stopped.delete(place);
  }

  /** Of those that may start, the one that became ready first. */
  function firstOf({ places }: Turn, kind: Kind): Place | undefined {
    let found: Place | undefined;
    for (const place of places) {
      const { first } = place.lanes[kind];
      if (first === undefined || freeIn(place) <= 0) continue;
      if (found === undefined || first.since < (found.lanes[kind].first?.since ?? 0)) found = place;
    }
    return found;
  }

  /** Those at the front that nothing may start of leave the order: they are invited again. */
  function next(kind: Kind): Place | undefined {
    const waiting = order[kind];
    for (let turn = waiting.peek(); turn !== undefined; turn = waiting.peek()) {
      const found = firstOf(turn, kind);
      if (found !== undefined) return found;
      waiting.shift();
      turn.tickets[kind] -= 1;
      const [place] = turn.places;
      if (place !== undefined) forget(place, place.account);
    }
    return undefined;
  }

  function inviteAll(): void {
    for (const turn of turns.values()) for (const kind of ["ready", "suspect"] as const) invite(turn, kind);
  }

  return {
    add(lane, kind) {
      if (lane.head === undefined) return;
      const place = placeOf(lane.head);
      const lanes = place.lanes[kind];
      lane.since = added += 1;
      lane.before = lanes.last;
      if (lanes.last === undefined) lanes.first = lane;
      else lanes.last.behind = lane;
      lanes.last = lane;
      lanes.size += 1;
      invite(place.turn, kind);
    },
    remove(lane, kind, head) {
      const place = placeOf(head);
      unlink(lane, place, kind);
      forget(place, place.account);
    },
    has: (kind) => next(kind) !== undefined,
    shift(kind, mayLeave) {
      const place = next(kind);
      const lane = place?.lanes[kind].first;
      if (place === undefined || lane === undefined || !mayLeave(lane)) return undefined;
      place.taken += 1;
      unlink(lane, place, kind);
      // Where no other account waits, its next turn is now.
      if (isFair && order[kind].size === 1 && place.lanes[kind].size > 0 && freeIn(place) > 0) return lane;
      order[kind].shift();
      place.turn.tickets[kind] -= 1;
      invite(place.turn, kind);
      return lane;
    },
    count(owner, by) {
      const place = placeOf(owner);
      place.taken += by;
      if (by > 0) return;
      invite(place.turn, "ready");
      invite(place.turn, "suspect");
      forget(place, owner.account);
    },
    follow(given) {
      const wasFair = isFair;
      const isSame = rules === given && version === given.version;
      [rules, isFair] = [given, given.fairness === "account"];
      if (isFair !== wasFair) {
        order.ready = createFifo();
        order.suspect = createFifo();
        for (const { tickets } of turns.values()) tickets.ready = tickets.suspect = 0;
      } else if (isSame) return;
      version = given.version;
      inviteAll();
    },
    isPaused,
    isPausing: () => rules?.isPausing === true,
    mayBegin: (owner) => freeOf(owner, find(owner)?.taken ?? 0) > 0,
    hasReady: (owner) => find(owner)?.lanes.ready.first !== undefined,
    *held() {
      for (const place of stopped) {
        if (freeOf(place, place.taken) > 0) {
          stopped.delete(place);
          continue;
        }
        for (let lane = place.lanes.ready.last; lane !== undefined;) {
          const { before }: Lane = lane; // it may leave
          yield lane;
          lane = before;
        }
      }
    },
  };
}

function unlink(lane: Lane, place: Place, kind: Kind): void {
  const lanes = place.lanes[kind];
  const { before, behind } = lane;
  if (before === undefined) lanes.first = behind;
  else before.behind = behind;
  if (behind === undefined) lanes.last = before;
  else behind.before = before;
  lane.before = lane.behind = undefined;
  lanes.size -= 1;
}
