import { expect, test } from "vitest";
import { startNode, type Child } from "../cli/child.ts";

async function start(): Promise<Child> {
  const child = startNode(["test/inbox/memory-process.ts"]);
  await child.says("out", /^found 0\nanswered 200, 1 waits\n/);
  return child;
}

test.each(["SIGKILL", "SIGTERM"] as const)(
  "a memory inbox is of its process alone: what it answered 200 and did not handle is gone after %s",
  async (signal) => {
    const first = await start();
    await start();
    first.kill(signal);
    expect(await first.ended).toBe(signal === "SIGTERM" ? 0 : null);
    await start();
  },
);
