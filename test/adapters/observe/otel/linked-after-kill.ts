import type { Inbox } from "hookline";
import { expect } from "vitest";
import { startNode } from "../../../cli/child.ts";
import { eventually } from "../../../support/eventually.ts";
import { sdk3 } from "./sdk-3.ts";
import { createWorld } from "./world.ts";

/** A process stores a delivery and is killed; the call in this one links to the span of the other. */
export async function expectLinkedAfterKill(place: string, open: () => Inbox): Promise<void> {
  const child = startNode(["test/adapters/observe/otel/storing-process.ts", place]);
  const [, traceId, spanId] = await child.says("out", /^200 ([0-9a-f]{32}) ([0-9a-f]{16})\n/);
  child.kill("SIGKILL");
  await child.ended;
  await using world = createWorld(sdk3, { inbox: open() });
  world.receiver.on("email", () => {});
  await world.receiver.start();
  await eventually(() => expect(world.processes()).toHaveLength(1));
  const [processed] = world.processes();
  expect(processed?.links.map((link) => link.context)).toMatchObject([{ traceId, spanId, isRemote: true }]);
  expect(processed?.spanContext().traceId).not.toBe(traceId);
}
