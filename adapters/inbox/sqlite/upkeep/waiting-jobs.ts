import type { WaitingJobs } from "../../../../src/inbox/pauses.ts";
import type { CommitQueue } from "../store/commit-queue.ts";
import type { TextPage } from "../thread/records.ts";

/** Jobs that are counted in one query: what else reads the file waits for no more. */
const PAGE = 50_000;

/** Open jobs with a row that do not run. */
export async function countWaitingJobs(
  commits: CommitQueue,
  of: { readonly accounts: readonly number[]; readonly consumers: readonly string[] },
): Promise<readonly WaitingJobs[]> {
  const [accounts, consumers] = [JSON.stringify(of.accounts), JSON.stringify(of.consumers)];
  const all: WaitingJobs[] = [];
  for (let after: number | null = 0; after !== null;) {
    const { last, rows }: TextPage = await commits.add("countWaiting", { after, limit: PAGE, accounts, consumers });
    all.push(...(JSON.parse(rows) as WaitingJobs[]));
    after = last;
  }
  return all;
}
