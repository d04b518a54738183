import { GiveUp, HooklineError, RetryLater } from "hookline";
import { runInNewContext } from "node:vm";

/** A value that a user's function may throw, reject with, or return. */
export interface Thing {
  readonly name: string;
  /** Creates a new one. */
  readonly make: () => unknown;
  /** The retry decision that it asks for when a handler throws it, as far as it is readable. */
  readonly asks: "nothing" | "to give up" | "for later";
}

const fail = (): never => {
  throw new Error("it cannot be read");
};

/** An error, or anything else, with fields that are getters. */
function withGetters<T extends object>(target: T, ...names: readonly PropertyKey[]): T {
  for (const name of names) Object.defineProperty(target, name, { get: fail, configurable: true });
  return target;
}

/** Each getter throws what ends a process, unless somebody handles it. */
function withPromises<T extends object>(target: T, ...names: readonly PropertyKey[]): T {
  const get = (): never => {
    throw Promise.reject(new Error("nobody waits for it")) as unknown;
  };
  for (const name of names) Object.defineProperty(target, name, { get, configurable: true });
  return target;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

/** A proxy on which these traps throw. */
function guarded(target: object, ...traps: readonly (keyof ProxyHandler<object>)[]): unknown {
  return new Proxy(target, Object.fromEntries(traps.map((trap) => [trap, fail])));
}

const EVERY_TRAP = ["get", "has", "getPrototypeOf", "ownKeys", "getOwnPropertyDescriptor", "set"] as const;

/** A property that is readable once. */
function once(target: object, name: string, value: unknown): object {
  let read = false;
  return Object.defineProperty(target, name, {
    get() {
      if (read) return fail();
      read = true;
      return value;
    },
  });
}

const later = (delayMs: unknown): unknown => Object.assign(new RetryLater({ afterMs: 1 }), { delayMs });

class Unfixed extends HooklineError {
  constructor() {
    super("own", "of the user's own");
    withGetters(this, "fix");
  }
}

const plain: Readonly<Record<string, () => unknown>> = {
  undefined: () => undefined,
  null: () => null,
  "a number": () => 5,
  "not a number": () => Number.NaN,
  "a bigint": () => 5n,
  "an empty text": () => "",
  "a long text": () => "x".repeat(1_000_000),
  "a boolean": () => false,
  "a symbol": () => Symbol("thing"),
  "a function": () => () => fail(),
  "a class": () => class Thing extends Error {},
  "a list": () => [[[]]],
  "a buffer": () => Buffer.from("x"),
  "a date that is none": () => new Date(Number.NaN),
  "an object without prototype": () => Object.create(null),
  "an object whose toString throws": () => ({ toString: fail }),
  "an object whose toJSON throws": () => ({ toJSON: fail }),
  "an object that gives no primitive": () => ({ [Symbol.toPrimitive]: fail }),
  "an object whose tag throws": () => withGetters({}, Symbol.toStringTag),
  "a promise that rejects": () => Promise.reject(new Error("nobody waits for it")),
  "an error": () => new Error("no"),
  "an error of another realm": () => runInNewContext("new TypeError('no')"),
  "an error that is its own cause": () => {
    const error = new Error("no");
    return Object.assign(error, { cause: error });
  },
  "an error of many": () => new AggregateError([fail, revoked({})], "no"),
  "an error whose message is an object": () => Object.assign(new Error("no"), { message: { toString: fail } }),
  "an error whose name is a symbol": () => Object.assign(new Error("no"), { name: Symbol("name") }),
  "an error whose message throws": () => withGetters(new Error("no"), "message"),
  "an error whose message throws a promise": () => withPromises(new Error("no"), "message"),
  "an error whose name and code throw promises": () => withPromises(new Error("no"), "name", "code"),
  "an error whose name throws": () => withGetters(new Error("no"), "name"),
  "an error whose code throws": () => withGetters(new Error("no"), "code"),
  "an error whose stack and cause throw": () => withGetters(new Error("no"), "stack", "cause"),
  "an error whose then throws": () => withGetters(new Error("no"), "then"),
  "an error with a field that throws": () =>
    Object.defineProperty(new Error("no"), "x", { get: fail, enumerable: true }),
  "an error whose constructor throws": () => withGetters(new Error("no"), "constructor"),
  "an error of ours whose fix throws": () => new Unfixed(),
  "a code that can be read once": () => once(new GiveUp("no"), "code", "give-up"),
  "a revoked proxy": () => revoked({}),
  "a revoked proxy of an error": () => revoked(new Error("no")),
  "a revoked proxy of a function": () => revoked(fail),
  "a proxy that throws": () => guarded({}, ...EVERY_TRAP),
  "a proxy of an error that throws": () => guarded(new Error("no"), ...EVERY_TRAP),
  "a proxy without prototype": () => guarded(new Error("no"), "getPrototypeOf"),
  "a proxy that has nothing": () => guarded(new RetryLater({ afterMs: 1 }), "has"),
};

const giveUps: Readonly<Record<string, () => unknown>> = {
  GiveUp: () => new GiveUp("no"),
  "GiveUp whose message and stack throw": () => withGetters(new GiveUp("no"), "message", "stack"),
};

const laters: Readonly<Record<string, () => unknown>> = {
  RetryLater: () => new RetryLater({ afterMs: 1_000 }),
  "RetryLater whose delay throws": () => later(fail),
  "RetryLater whose delay is no function": () => later(1_000),
  "RetryLater of no number": () => later(() => Number.NaN),
  "RetryLater of a symbol": () => later(() => Symbol("later")),
  "RetryLater whose message throws": () => withGetters(new RetryLater({ afterMs: 1_000 }), "message"),
};

const of = (asks: Thing["asks"], makers: Readonly<Record<string, () => unknown>>): Thing[] =>
  Object.entries(makers).map(([name, make]) => ({ name, make, asks }));

/** All of these values. */
export const THINGS: readonly Thing[] = [
  ...of("nothing", plain),
  ...of("to give up", giveUps),
  ...of("for later", laters),
];
