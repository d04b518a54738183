import type { Jobs } from "../../index.ts";

/** Jobs read, and printed, in one go. */
const PAGE = 1_000;

/** Page by page, so that nobody waits for all, up to so many jobs. */
export async function* pagesOf(
  jobs: Jobs,
  filter: NonNullable<Parameters<Jobs["list"]>[0]>,
  limit: number,
): AsyncGenerator<Awaited<ReturnType<Jobs["list"]>>> {
  let left = limit;
  let { after } = filter;
  do {
    const page = await jobs.list({ ...filter, after, limit: Math.min(left, PAGE) });
    yield page;
    left -= page.jobs.length;
    after = page.next;
  } while (after !== undefined && left > 0);
}
