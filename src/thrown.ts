/** An error's message may be a whole HTML page. */
const MAX_CHARACTERS = 2_000;

/**
 * Name and message of any thrown value. Never throws, although reading it may: an error's fields may be getters or objects without a
 * text, and every access to a revoked proxy throws. What no database stores is replaced in them: NUL, and halves of surrogate pairs.
 */
export function describeThrown(thrown: unknown): { readonly name: string; readonly message: string } {
  if (!isError(thrown)) {
    const text = textOf(() => thrown);
    return { name: "Error", message: toStorable(`${typeof thrown} was thrown: ${text}`) };
  }
  return { name: textOf(() => thrown.name), message: textOf(() => thrown.message) };
}

/** Whether it is an error, of this realm or another. Never throws. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
  } catch (unreadable) {
    catchRejection(unreadable);
    return false;
  }
}

/**
 * Attaches a rejection handler to whatever a user's function returned, thenables included: an unhandled rejection ends the process.
 * Never throws.
 *
 * @param onRejected must not throw. @default ignores the rejection
 */
export function catchRejection(returned: unknown, onRejected: (error: unknown) => void = () => {}): void {
  follow(returned, onRejected, MOST_NESTED);
}

/** A thenable may reject with itself, or fulfil with one that does, without end. */
const MOST_NESTED = 8;

function follow(value: unknown, onRejected: (error: unknown) => void, left: number): void {
  if (left === 0 || !isObject(value)) return;
  let isSettled = false;
  function once(run: () => void): void {
    if (isSettled) return;
    isSettled = true;
    run();
  }
  const rejected = (error: unknown): void =>
    once(() => {
      follow(error, () => {}, left - 1); // it may itself be a promise
      onRejected(error);
    });
  try {
    // Not `value.then`, which may throw.
    void Promise.prototype.then.call(value, undefined, rejected);
    return;
  } catch {
    // Not a native promise.
  }
  queueMicrotask(() => {
    try {
      const { then } = value as { readonly then?: unknown };
      if (typeof then === "function")
        then.call(value, (inner: unknown) => once(() => follow(inner, onRejected, left - 1)), rejected);
    } catch (error) {
      rejected(error);
    }
  });
}

function textOf(read: () => unknown): string {
  let unreadable: unknown;
  try {
    const value = read();
    catchRejection(value);
    // Not `String(value)`, which holds no promise that an async `toString` gives.
    unreadable = isObject(value) ? (value as { readonly toString: () => unknown }).toString() : value;
    if (!isObject(unreadable)) return toStorable(String(unreadable));
  } catch (error) {
    unreadable = error;
  }
  catchRejection(unreadable);
  return "it cannot be shown";
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

/** A copy: in V8 a part of a text, here or in what was thrown, keeps all of it in memory, for each job that waits for its retry. */
function toStorable(text: string): string {
  const cut = cutText(text, MAX_CHARACTERS).replaceAll(/[\0\p{Surrogate}]/gu, "\uFFFD");
  return JSON.parse(JSON.stringify(cut)) as string;
}

/** The first characters of a text. Not half of a surrogate pair at its end, which no database stores. */
export function cutText(text: string, mostCharacters: number): string {
  return text.length <= mostCharacters ? text : text.slice(0, mostCharacters).replace(/[\uD800-\uDBFF]$/, "");
}
