/** An error's message may be a page of somebody's answer: this much is stored. */
const MAX_CHARACTERS = 2_000;

/**
 * Whatever was thrown, in words. Never throws, though reading it may: an error's own fields may be getters, or objects without a text,
 * and at a revoked proxy every look throws.
 */
export function describeThrown(thrown: unknown): { readonly name: string; readonly message: string } {
  if (!isError(thrown)) {
    const text = textOf(() => thrown);
    return { name: "Error", message: `${typeof thrown} was thrown: ${text}`.slice(0, MAX_CHARACTERS) };
  }
  return { name: textOf(() => thrown.name), message: textOf(() => thrown.message) };
}

/** Whether it is an error, of this realm or another. Never throws. */
export function isError(thrown: unknown): thrown is Error {
  try {
    return thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
  } catch {
    return false;
  }
}

function textOf(read: () => unknown): string {
  try {
    return String(read()).slice(0, MAX_CHARACTERS);
  } catch {
    return "it cannot be shown";
  }
}
