/** By its global name at each call: a test may replace it, and browsers refuse it as another object's method. */
export const callFetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init);
