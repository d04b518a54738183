import * as z from "zod/mini";
import { kindOf } from "../assert.ts";
import { isHooklineError, UsageError } from "../index.ts";
import type { SyncScope } from "./scopes.ts";
import type { TokenStore } from "./token-store.ts";

/** One of the two independent walks of a sync. */
export type Chain = "updated" | "deleted";

/** How far one walk of a sync is: the value of a token store, as JSON. */
export interface Place {
  /** Of the sync: the same in both chains. */
  readonly start: {
    /** Random: tokens of two starts are not to be mixed. */
    readonly id: string;
    /** Milliseconds since the epoch. */
    readonly at: number;
    /** The days that it covers, as a text. */
    readonly window: string;
  };
  /** Where the walk begins. */
  readonly delta: string;
  /** The next page of a walk that has begun. */
  readonly page?: string | undefined;
  /** Of `updated`: its listing is compared with `known`, by the process that began it. */
  readonly isComparing?: true | undefined;
  /** Of `updated`: an earlier sync was lost, and nothing was compared. */
  readonly isIncomplete?: true | undefined;
}

/** Both walks of one sync. */
export type Places = Readonly<Record<Chain, Place>>;

/** What is stored of a resource. */
interface StoredPlaces {
  readonly places: Places | undefined;
  /** There was a sync, and its tokens cannot be used. */
  readonly isLost: boolean;
}

/** The token store of one consumer. */
export interface PlaceStore {
  /** @throws UsageError `tokens-invalid` where the store gives something else than texts */
  load(scope: SyncScope): Promise<StoredPlaces>;
  /** What the store is given for a place. */
  entry(scope: SyncScope, chain: Chain, place: Place): { readonly key: string; readonly token: string };
  /** @throws HooklineError `claim-lost` where the handler's job was taken away, as where its account was erased: nothing is stored then */
  save(scope: SyncScope, chain: Chain, place: Place): Promise<void>;
}

const PLACE = z.object({
  v: z.literal(1),
  start: z.object({ id: z.string(), at: z.number(), window: z.string() }),
  delta: z.string().check(z.minLength(1)),
  page: z.optional(z.string()),
  isComparing: z.optional(z.literal(true)),
  isIncomplete: z.optional(z.literal(true)),
});

export function createPlaceStore(tokens: TokenStore, consumer: string | undefined): PlaceStore {
  function keyOf({ accountId, resource }: SyncScope, chain: Chain): string {
    return [accountId, resource, chain, ...(consumer === undefined ? [] : [consumer])].join(" ");
  }

  function entry(scope: SyncScope, chain: Chain, place: Place) {
    return { key: keyOf(scope, chain), token: JSON.stringify({ v: 1, ...place }) };
  }

  async function read(scope: SyncScope, chain: Chain): Promise<Place | "none" | "unreadable"> {
    const text: unknown = await tokens.get(keyOf(scope, chain));
    if (text === undefined || text === null) return "none";
    if (typeof text !== "string")
      throw new UsageError("tokens-invalid", `The token store gave ${kindOf(text)}, expected a text or undefined.`, {
        fix: "Let `get` give the text that `set` got: a column of type text, not json or bytea.",
      });
    const result = PLACE.safeParse(parsed(text));
    return result.success ? result.data : "unreadable";
  }

  return {
    entry,
    async load(scope) {
      const [updated, deleted] = [await read(scope, "updated"), await read(scope, "deleted")];
      // It is written last: without it no sync has begun.
      if (updated === "none") return { places: undefined, isLost: false };
      if (typeof updated === "string" || typeof deleted === "string" || updated.start.id !== deleted.start.id)
        return { places: undefined, isLost: true };
      return { places: { updated, deleted }, isLost: false };
    },
    async save(scope, chain, place) {
      // Not for a handler that is late, or closed: it did what it saves.
      if (isHooklineError(scope.signal.reason, "claim-lost")) throw scope.signal.reason;
      const { key, token } = entry(scope, chain, place);
      await tokens.set(key, token);
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
