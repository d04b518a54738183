import { createReceiver, type Inbox } from "hookline";
import { expect, onTestFinished } from "vitest";
import { startNode } from "../cli/child.ts";
import { eventually } from "./eventually.ts";
import { bodyOf, change, signedRequest } from "./make-delivery.ts";

const SECRET = "a signing secret";

/** Another process pauses an account, and is killed; this one, and the next, hold it until somebody resumes it. */
export async function checkPauseOfOther(where: string, inbox: () => Inbox): Promise<void> {
  const seen: string[] = [];
  const make = () => {
    const receiver = createReceiver({ secret: SECRET, inbox: inbox(), log: false });
    receiver.on("email", ({ accountId, id }) => void seen.push(`${accountId} ${id}`));
    onTestFinished(() => void receiver.close({ drainMs: 0 }));
    return receiver;
  };
  const first = make();
  const send = async (receiver: typeof first, accountId: number, id: string): Promise<void> => {
    const request = signedRequest(bodyOf({ accountId, payloads: [change(id)] }), { secret: SECRET, at: new Date() });
    await eventually(async () => expect((await receiver.receive(request)).status).toBe(200));
  };
  await first.start();
  await send(first, 1, "before");
  await eventually(() => expect(seen).toEqual(["1 before"]));

  const other = startNode(["test/adapters/inbox/pausing-process.ts", where]);
  await other.says("out", /^paused\n/m);
  other.kill("SIGKILL");
  await other.ended;
  await eventually(async () => expect((await first.health()).problems.map(({ code }) => code)).toContain("paused"));
  await send(first, 1, "held");
  await send(first, 2, "other");
  await eventually(() => expect(seen).toEqual(["1 before", "2 other"]));
  await first.close();

  const second = make();
  await second.start();
  await send(second, 2, "again");
  await eventually(() => expect(seen).toEqual(["1 before", "2 other", "2 again"]));
  await expect(second.flow.paused()).resolves.toMatchObject([{ accountId: 1, reason: "import", waiting: 1 }]);
  await expect(second.flow.resume({ accountId: 1 })).resolves.toEqual({ resumed: true });
  await eventually(() => expect(seen).toEqual(["1 before", "2 other", "2 again", "1 held"]));
}
