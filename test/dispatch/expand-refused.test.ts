import { expect, test } from "vitest";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

test("deliveries that can be read one by one alone are expanded", async () => {
  const inbox = stubInbox((own) => ({
    unexpanded: (max) => (max > 1 ? Promise.reject(new Error("a bad page")) : own.unexpanded(max)),
  }));
  const { receiver, send, pass } = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  for (const id of ["a", "b", "c"]) await send(emails(id));
  receiver.on("email", handler);
  await receiver.start();
  for (let second = 0; second < 10; second += 1) await pass(1_000);
  expect(seen).toEqual(["a", "b", "c"]);
});
