import { join } from "node:path";
import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { expect, onTestFinished, test } from "vitest";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { turns } from "../../support/turns.ts";
import { folderFor } from "./on-disk.ts";

const SECRET = "a signing secret";
const ENOUGH = 200;
const MOST = 20_000;

test("a stream without a pause is handled while it comes, also what came before the start", async () => {
  const receiver = createReceiver({ secret: SECRET, inbox: sqliteInbox(join(folderFor(), "inbox.db")), log: false });
  onTestFinished(async () => void (await receiver.close({ drainMs: 1_000 })));
  let sent = 0;
  let handled = 0;
  receiver.on("email", () => void (handled += 1));

  async function send(): Promise<void> {
    sent += 1;
    const body = bodyOf({ payloads: [change(`m-${sent}`)] });
    const { status } = await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
    expect(status).toBe(200);
  }

  /** One each turn of the loop, whatever has become of those before, until enough was handled. */
  async function stream(): Promise<void> {
    const sending: Promise<void>[] = [];
    while (sent < MOST && handled < ENOUGH) {
      sending.push(send());
      await turns(1);
    }
    await Promise.all(sending);
  }

  const streaming = stream();
  await receiver.start();
  await streaming;
  expect(sent).toBeLessThan(MOST);
  await receiver.idle();
  expect(receiver.stats()).toMatchObject({ kept: sent, succeeded: sent });
});
