import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";

/** An inbox of which one can tell whether a verb is under way. */
export interface Watched {
  readonly inbox: WorkingInbox;
  /** Verbs that have not ended. */
  pending(): number;
}

export function watched(inbox: WorkingInbox): Watched {
  let pending = 0;
  const end = (): void => void (pending -= 1);

  function part<P extends object>(whole: P): P {
    return new Proxy(whole, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (
          typeof value === "object" &&
          value !== null &&
          (name === "jobs" || name === "tombstones" || name === "pauses")
        )
          return part(value);
        if (typeof value !== "function") return value;
        return (...given: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, given);
          if (!(result instanceof Promise)) return result;
          pending += 1;
          result.then(end, end);
          return result;
        };
      },
    });
  }

  return { inbox: part(inbox), pending: () => pending };
}
