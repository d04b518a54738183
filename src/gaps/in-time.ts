import type { InboxWatch } from "../inbox/standstill-watch.ts";
import type { Gaps } from "../inbox/port/gaps.ts";

/** Gaps whose calls fail where the inbox does not answer: after one that hangs, no mark and no look would ever come again. */
export function inTime(gaps: Gaps, { limit }: Pick<InboxWatch, "limit">): Gaps {
  return {
    seen: (...given) => limit("gaps.seen", () => gaps.seen(...given)),
    forget: (...given) => limit("gaps.forget", () => gaps.forget(...given)),
    resourcesOf: (...given) => limit("gaps.resourcesOf", () => gaps.resourcesOf(...given)),
    add: (...given) => limit("gaps.add", () => gaps.add(...given)),
    find: (...given) => limit("gaps.find", () => gaps.find(...given)),
    count: () => limit("gaps.count", () => gaps.count()),
    remove: (...given) => limit("gaps.remove", () => gaps.remove(...given)),
    mark: (...given) => limit("gaps.mark", () => gaps.mark(...given)),
    isMine: () => gaps.isMine(),
  };
}
