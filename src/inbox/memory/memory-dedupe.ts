/** The natural keys that were seen, each for a window of time. */
export interface UniqueKeys {
  /** `conflict`: the key was seen with other content. Either way it is remembered from now on. */
  add(unique: { readonly key: string; readonly content: string }, now: number): "new" | "duplicate" | "conflict";
}

/**
 * In memory, oldest forgotten first when there are more than `max`.
 */
export function createUniqueKeys(options: { readonly windowMs: number; readonly max: number }): UniqueKeys {
  /**
   * When a key with its content was first seen, and when a key alone last made a job. A Map keeps the order of insertion, so the
   * oldest is first.
   */
  const seen = new Map<string, number>();

  function remember(key: string, now: number): void {
    for (const [oldest, at] of seen) {
      if (seen.size < options.max && now - at < options.windowMs) break;
      seen.delete(oldest);
    }
    const at = Math.max(now, seen.get(key) ?? now); // a wall clock that jumped back shortens no window
    seen.delete(key);
    seen.set(key, at);
  }

  const known = (key: string, now: number): boolean => {
    const at = seen.get(key);
    return at !== undefined && now - at < options.windowMs;
  };

  return {
    add({ key, content }, now) {
      const whole = `${key}\n${content}`;
      if (known(whole, now)) return "duplicate";
      const conflict = known(key, now);
      remember(key, now);
      remember(whole, now);
      return conflict ? "conflict" : "new";
    },
  };
}
