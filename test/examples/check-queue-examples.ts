import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { folderFor } from "../adapters/inbox/on-disk.ts";
import { startNode } from "../cli/child.ts";
import { freePort, send } from "../support/http.ts";
import { bodyOf } from "../support/make-delivery.ts";
import type { QueueEngine } from "../support/queues/engines.ts";
import { poisonedDelivery } from "../support/queues/poisoned-delivery.ts";
import { signedHeaders } from "../support/sign.ts";

const SECRET = "whsec";
/** Of one account. A worker that waited for each of them, as pg-boss does by its polling, would not end within the test's time. */
const IDS = Array.from({ length: 40 }, (_, place) => `m-${place}`);

/** The examples of a queue, on the real one. @param variable the one that has its URL */
export function checkQueueExamples({ name, skip, start }: QueueEngine, variable: string): void {
  const title = `${name}: what the front answers 200 is handled by the worker, and both end well`;
  test.skipIf(skip !== undefined)(skip === undefined ? title : `${title} (${skip})`, async () => {
    const engine = await start();
    onTestFinished(() => engine.remove());
    const port = await freePort();
    const inbox = join(folderFor(), "inbox.db");
    const env = { SIGNING_SECRET: SECRET, [variable]: engine.url, INBOX: inbox, PORT: String(port) };
    const front = startNode([`examples/queues/${name}-front.ts`], env);
    await front.says("out", /listening/);
    const worker = startNode([`examples/queues/${name}-worker.ts`], env);
    const deliver = async (id: string): Promise<void> => {
      const body = bodyOf({ payloads: [{ id, changeType: "created" }] });
      const headers = signedHeaders(body, { secret: SECRET, at: new Date() });
      expect((await send(`http://127.0.0.1:${port}/webhooks`, { headers, body })).status).toBe(200);
    };
    const isHandled = (id: string) => worker.says("out", new RegExp(`account 2002: message ${id}\\b`));
    for (const id of IDS) await deliver(id);
    for (const id of IDS) await isHandled(id);
    // A dead letter of the account holds up nothing that comes behind it.
    await engine.put([poisonedDelivery(1, SECRET)], "account-2002");
    await expect.poll(() => engine.deadCount(), { timeout: 20_000 }).toBe(1);
    await deliver("m-last");
    await isHandled("m-last");
    for (const each of [front, worker]) {
      each.kill("SIGTERM");
      expect(await each.ended, each.err()).toBe(0);
    }
  });
}
