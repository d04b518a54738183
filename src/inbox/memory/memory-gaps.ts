import { RESOURCE_LIFE_MS, type Gap, type GapCount, type Gaps, type SubscribedResource } from "../port/gaps.ts";

/** Resources and their gaps in memory. */
export interface MemoryGaps extends Gaps {
  /** @returns how many resources there were */
  forgetAccount(accountId: number): number;
}

/** Beyond it the resource of which nothing came for longest is forgotten: with its gap, if it has one, which is all that is lost. */
const MOST = 100_000;

interface ResourceRow extends SubscribedResource {
  readonly id: number;
  seenAt: number;
  gap: Pick<Gap, "cause" | "from" | "until"> | undefined;
  /** When the last error, or its end, was told. */
  toldAt: number;
}

export function createMemoryGaps(): MemoryGaps {
  /** Those of which nothing came for longest are first. */
  const rows = new Map<string, ResourceRow>();
  let lastId = 0;
  let markedAt: number | undefined;

  function rowOf(one: SubscribedResource): ResourceRow {
    const { source, subscription, accountId, resource, family } = one;
    const key = JSON.stringify([source, subscription, accountId, resource]);
    let row = rows.get(key);
    if (row === undefined) {
      const [first] = rows.keys();
      if (rows.size >= MOST && first !== undefined) rows.delete(first);
      lastId += 1;
      row = { id: lastId, source, subscription, accountId, resource, family, seenAt: 0, gap: undefined, toldAt: 0 };
    }
    rows.delete(key);
    rows.set(key, row); // behind the others
    return row;
  }

  function add(given: Gap): void {
    const row = rowOf(given);
    const { cause, from, until } = given;
    row.seenAt = Math.max(row.seenAt, until ?? from);
    if (cause !== "errored") return join(row, { cause, from, until });
    const at = until ?? from;
    if (until === undefined ? at <= row.toldAt : at < row.toldAt) return;
    // Of an error that ended early, and of one that was not told, the end tells.
    join(row, { cause, from: until === undefined || row.toldAt === 0 ? from : Math.min(from, row.toldAt), until });
    row.toldAt = at;
  }

  function forgetWhere(isOfIt: (row: ResourceRow) => boolean): number {
    const before = rows.size;
    for (const [key, row] of rows) if (isOfIt(row)) rows.delete(key);
    return before - rows.size;
  }

  function* gaps(): Generator<Gap & { readonly id: number }> {
    for (const { gap, seenAt: _seenAt, toldAt: _toldAt, ...row } of rows.values())
      if (gap !== undefined) yield { ...row, ...gap };
  }

  return {
    seen: async (resources, at) => {
      for (const one of resources) {
        const row = rowOf(one);
        row.seenAt = Math.max(row.seenAt, at);
      }
    },
    forget: async (subscription, source) => void forgetWhere((row) => isOf(row, subscription, source)),
    forgetAccount: (accountId) => forgetWhere((row) => row.accountId === accountId),
    resourcesOf: async (subscription, source) =>
      [...rows.values()]
        .filter((row) => isOf(row, subscription, source))
        .map(({ source: of, accountId, resource, family }) => ({
          source: of,
          subscription,
          accountId,
          resource,
          family,
        })),
    add: async (given) => given.forEach(add),
    find: async ({ families, accountId, hasEnded = false, after = "0", limit }) => {
      const found = [...gaps()]
        .filter(
          (gap) =>
            gap.id > Number(after) &&
            (families === undefined || families.includes(gap.family)) &&
            (accountId === undefined || gap.accountId === accountId) &&
            (!hasEnded || gap.until !== undefined),
        )
        .toSorted((one, other) => one.id - other.id);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return {
        gaps: page.map(({ id: _id, ...gap }) => gap),
        ...(last === undefined ? {} : { next: String(last.id) }),
      };
    },
    count: async () =>
      [...Map.groupBy(gaps(), ({ family }) => family)].map(([family, of]): GapCount => {
        const ends = of.flatMap(({ until }) => until ?? []);
        return {
          family,
          count: of.length,
          open: of.length - ends.length,
          // Not as arguments of one call, which a hundred thousand are too many for.
          from: of.reduce((least, { from }) => Math.min(least, from), Infinity),
          until: ends.length === 0 ? undefined : ends.reduce((last, end) => Math.max(last, end)),
        };
      }),
    remove: async (given) => {
      for (const { source, accountId, resource, until = Infinity } of given)
        for (const row of rows.values()) {
          const isSame = row.source === source && row.accountId === accountId && row.resource === resource;
          if (isSame && row.gap !== undefined && (row.gap.until ?? Infinity) <= until) row.gap = undefined;
        }
    },
    mark: async ({ at, afterMs }) => {
      const before = markedAt;
      markedAt = at;
      if (before === undefined) return undefined;
      const forgotten = Math.min(before, at) - RESOURCE_LIFE_MS;
      forgetWhere((row) => row.gap === undefined && row.seenAt < forgotten);
      if (at - before <= afterMs) return undefined;
      for (const row of rows.values()) {
        join(row, { cause: "down", from: before, until: at });
        row.seenAt = Math.min(row.seenAt + at - before, at);
      }
      return before;
    },
    isMine: () => true,
  };
}

function isOf(row: SubscribedResource, subscription: number, source: string | undefined): boolean {
  return row.subscription === subscription && (source === undefined || row.source === source);
}

/** The gap joins the one that there is. */
function join(row: ResourceRow, more: NonNullable<ResourceRow["gap"]>): void {
  const { gap = more, toldAt } = row;
  const isOpen = gap.until === undefined && (more.cause === "silent" || (more.until ?? 0) < toldAt);
  row.gap = {
    cause: more.until === undefined ? more.cause : gap.cause,
    from: Math.min(gap.from, more.from),
    until: more.until === undefined || isOpen ? undefined : Math.max(gap.until ?? 0, more.until),
  };
}
