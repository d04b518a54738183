/** Enough for the longest chain of steps that wait for the event loop alone: store, expand a page, claim, run, settle. */
const ENOUGH = 10;

/** Runs turns of the event loop, so that pending work proceeds without time passing. */
export async function turns(count = ENOUGH): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Runs turns of the event loop until a condition holds; the test's timeout ends a wait in vain. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turns(1);
}

/** A promise with its resolve and reject. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** Records how a promise settles. */
export function watch<T>(promise: Promise<T>) {
  const seen: { ended: boolean; value?: T; error?: unknown } = { ended: false };
  promise.then(
    (value) => Object.assign(seen, { ended: true, value }),
    (error: unknown) => Object.assign(seen, { ended: true, error }),
  );
  return seen;
}
