import { RESOURCE_LIFE_MS, type Gaps } from "../../../../src/adapter.ts";
import type { CommitQueue } from "../store/commit-queue.ts";

/** Subscribed resources and their gaps in a file. */
export function createFileGaps(commits: CommitQueue): Gaps {
  return {
    seen: (resources, at) => commits.add("seeResources", { resources, at }, sizeOf(resources)),
    forget: (subscription, source) => commits.add("forgetResources", { subscription, source }),
    resourcesOf: (subscription, source) => commits.add("resourcesOf", { subscription, source }),
    add: (gaps) => commits.add("addGaps", gaps, sizeOf(gaps)),
    find: (query) => commits.add("findGaps", query),
    count: () => commits.add("countGaps", undefined),
    remove: (gaps) => commits.add("removeGaps", gaps, sizeOf(gaps)),
    mark: ({ at, afterMs }) => commits.add("markAlive", { at, afterMs, lifeMs: RESOURCE_LIFE_MS }),
    isMine: () => true,
  };
}

function sizeOf(list: readonly unknown[]) {
  return { items: list.length, bytes: 0 };
}
