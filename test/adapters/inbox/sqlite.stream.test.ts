import { createReceiver, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { turns } from "../../support/event-loop.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { telling } from "./observed-thread.ts";
import { folderFor, onDisk } from "./on-disk.ts";

const SECRET = "a signing secret";
const MOST = 40_000;

interface StreamOptions {
  readonly atOnce: number;
  readonly isEnough: (handled: number) => boolean;
}

/** Sends one each turn of the loop, whatever has become of those before, until enough were handled. */
async function stream(receiver: Receiver, { atOnce, isEnough }: StreamOptions) {
  onTestFinished(async () => void (await receiver.close({ drainMs: 1_000 })));
  let sent = 0;
  let handled = 0;
  let onTheirWay = 0;
  receiver.on("email", () => void (handled += 1));

  async function send(): Promise<void> {
    sent += 1;
    onTheirWay += 1;
    const body = bodyOf({ payloads: [change(`m-${sent}`)] });
    const { status } = await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
    onTheirWay -= 1;
    expect(status).toBe(200);
  }

  const sending: Promise<void>[] = [];
  const starting = turns(50).then(() => receiver.start());
  while (sent < MOST && !isEnough(handled)) {
    if (onTheirWay < atOnce) sending.push(send());
    await turns(1);
  }
  await Promise.all([starting, ...sending]);
  return sent;
}

test("a stream without a pause is handled while it comes, however much more it is than can be expanded", async () => {
  const receiver = createReceiver({
    secret: SECRET,
    inbox: sqliteInbox(join(folderFor(), "inbox.db")),
    storeTimeoutMs: 60_000,
    log: false,
  });
  const sent = await stream(receiver, { atOnce: MOST, isEnough: (handled) => handled >= 200 });
  expect(sent).toBeLessThan(MOST);
  await receiver.idle();
  expect(receiver.stats()).toMatchObject({ stored: sent, succeeded: sent });
});

test.each([20, 100])(
  "what waited unexpanded at the start is caught up with, though %d at once go on: from then on a delivery is stored expanded",
  async (atOnce) => {
    let expansions = 0;
    const inbox = createSqliteInbox({
      file: join(folderFor(), "inbox.db"),
      openThread: telling(openThread, ({ tasks }) => {
        expansions += tasks.filter(({ verb }) => verb === "expand").length;
      }),
    });
    const receiver = createReceiver({ secret: SECRET, inbox, storeTimeoutMs: 60_000, log: false });
    // What was handled without an expansion was stored expanded. Where it never catches up, that is next to nothing.
    const sent = await stream(receiver, { atOnce, isEnough: (handled) => handled - expansions >= 1_000 });
    expect(sent).toBeLessThan(MOST);
  },
);

test("of long ones that wait unexpanded no more than 16 MiB are read at once, and one at least", async () => {
  const { inbox } = await onDisk();
  const filler = "x".repeat(6 * 1024 * 1024);
  await storeAll(inbox, raw(mail(["a"], { filler: filler.repeat(3) })));
  expect(await inbox.unexpanded(10)).toHaveLength(1);
  await storeAll(inbox, ...["b", "c", "d"].map((id) => raw(mail([id], { filler }))));
  const [first, ...rest] = await inbox.unexpanded(10);
  expect(rest).toEqual([]);
  await inbox.expand([{ id: first?.id ?? "", events: [], cursor: undefined }]);
  expect(await inbox.unexpanded(10)).toHaveLength(2);
});
