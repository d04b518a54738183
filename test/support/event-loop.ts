/** More than any chain of steps takes that waits for nothing but the loop: keep, expand a page, claim, run, settle. */
const ENOUGH = 10;

/** Lets the loop turn, so that what was begun goes as far as it can without time passing. */
export async function turns(count = ENOUGH): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets the loop turn until something holds; a test that waits in vain is ended by its own time limit. */
export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await turns(1);
}

/** A promise with its handles, and whether it was settled. */
export function deferred<T = void>() {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** How a promise ended, if it has. */
export function watch<T>(promise: Promise<T>) {
  const seen: { ended: boolean; value?: T; error?: unknown } = { ended: false };
  promise.then(
    (value) => Object.assign(seen, { ended: true, value }),
    (error: unknown) => Object.assign(seen, { ended: true, error }),
  );
  return seen;
}
