/**
 * Hears how somebody's function ends where nobody waits for it: a rejection that nobody hears ends the process. Takes whatever it
 * returned, thenables of any make too. Never throws.
 *
 * @param heard is told of a rejection; must not throw. @default nobody
 */
export function hearRejection(returned: unknown, heard: (error: unknown) => void = () => {}): void {
  if (returned === null || (typeof returned !== "object" && typeof returned !== "function")) return;
  try {
    // A promise's own `then` may throw: it is passed by.
    void Promise.prototype.then.call(returned, undefined, () => {});
  } catch {
    // It is none.
  }
  // Not Promise.resolve: it reads `constructor`, which may throw.
  new Promise((resolve) => resolve(returned)).catch((error: unknown) => {
    hearRejection(error); // may be a promise itself
    heard(error);
  });
}
