import type { Wire } from "./arrivals.ts";

/** What was told once. */
export interface Uniques {
  /** @param got what the inbox said: it counts where the rules leave it open */
  look(natural: Wire["natural"], wall: number, got: Verdict): Verdict;
}

type Verdict = "new" | "duplicate" | "conflict";

/** The default, which is never below the age of the oldest delivery that is taken, and one day. */
const WINDOW_MS = 8 * 86_400_000;

/** Tracking and booking come once within the window; other content of the same key is a conflict. */
export function createUniques(): Uniques {
  /** When each key was first seen, and each key with its content. */
  const seen = new Map<string, number>();
  let latest = 0;

  /** What was out of the window once may be forgotten, though the wall clock jumped back since. */
  function known(text: string, wall: number): boolean | "perhaps" {
    const at = seen.get(text);
    if (at === undefined || wall - at >= WINDOW_MS) return false;
    return latest - at >= WINDOW_MS ? "perhaps" : true;
  }

  function expected(same: ReturnType<typeof known>, key: ReturnType<typeof known>, got: Verdict): Verdict {
    if (same === true) return "duplicate";
    if (same === "perhaps" || key === "perhaps") return got;
    return key ? "conflict" : "new";
  }

  return {
    look(natural, wall, got) {
      latest = Math.max(latest, wall);
      if (natural === undefined) return "new";
      const { key } = natural;
      const content = `${key} ${natural.content}`;
      const verdict = expected(known(content, wall), known(key, wall), got);
      if (verdict === "new") seen.set(key, wall);
      if (verdict !== "duplicate") seen.set(content, wall);
      return verdict;
    },
  };
}
