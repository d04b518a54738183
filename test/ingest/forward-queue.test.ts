import { createReceiver, forwardInbox } from "hookline";
import { nodeReceiver } from "hookline/node";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { expect, onTestFinished, test, vi } from "vitest";
import { startNode } from "../cli/child.ts";
import { send, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";

const SECRET = "a secret";

const LANES = ["a", "b", "c", "d"];
const DELIVERIES = 50;

/** At which of its events a consumer hangs until it is killed; 0 for one that is killed wherever it is. */
const KILLED = [7, 0, 1, 0, 20];
/** Where the latter is at the latest: those after it want some too. */
const MOST = 30;

test("a consumer that is killed in the middle loses nothing of what was answered 200, nor its order", async () => {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const book = join(folder, "book");
  writeFileSync(book, "");
  const written = (what: string): string[][] =>
    readFileSync(book, "utf8")
      .split("\n")
      .map((line) => line.split(" "))
      .filter(([verb]) => verb === what);

  const [, port = ""] = await startNode(["test/ingest/queue-process.ts"]).says("out", /port (\d+)/);
  const { url } = await serve(
    nodeReceiver(createReceiver({ secret: SECRET, inbox: await queueAt(Number(port)), log: false })),
  );

  const consume = async (hangsAt: number): Promise<void> => {
    const before = written("begun").length;
    const child = startNode(["test/ingest/queue-consumer.ts"], {
      QUEUE_PORT: port,
      SECRET,
      BOOK: book,
      HANGS_AT: String(hangsAt || MOST),
    });
    await vi.waitFor(() => expect(written("begun").length).toBeGreaterThanOrEqual(before + (hangsAt || 5)), {
      timeout: 50_000,
      interval: 1,
    });
    child.kill("SIGKILL");
    await child.ended;
  };
  const killing = (async () => {
    for (const hangsAt of KILLED) await consume(hangsAt);
  })();

  // Each lane's deliveries one after another, as an order needs.
  const answered = await Promise.all(
    LANES.map(async (lane) => {
      const statuses: number[] = [];
      for (let n = 0; n < DELIVERIES; n += 1) statuses.push(await deliver(url, lane, n));
      return statuses;
    }),
  );
  expect(new Set(answered.flat())).toEqual(new Set([200]));
  await killing;

  startNode(["test/ingest/queue-consumer.ts"], { QUEUE_PORT: port, SECRET, BOOK: book });
  const all = LANES.length * DELIVERIES;
  await vi.waitFor(() => expect(new Set(written("done").map(String)).size).toBe(all), { timeout: 50_000 });
  for (const lane of LANES) {
    const handled = written("done").flatMap(([, id, n]) => (id === lane ? [Number(n)] : []));
    // Again is in order too: a delivery that comes again comes before the next.
    expect(handled).toEqual(handled.toSorted((one, other) => one - other));
  }
  expect(written("begun").length).toBeGreaterThanOrEqual(all + KILLED.filter((hangsAt) => hangsAt > 0).length);
});

/** An inbox whose deliveries are stored when the queue says so. */
async function queueAt(port: number): Promise<ReturnType<typeof forwardInbox>> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  const taken: (() => void)[] = [];
  createInterface(socket).on("line", () => taken.shift()?.());
  return forwardInbox(
    (deliveries) =>
      new Promise((resolve) => {
        taken.push(resolve);
        socket.write(`${JSON.stringify({ put: deliveries })}\n`);
      }),
  );
}

async function deliver(url: string, lane: string, n: number): Promise<number> {
  const payloads = [{ id: lane, changeType: "updated", attributes: { threadId: String(n) } }];
  const body = JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads });
  return (await send(url, { body, headers: signedHeaders(body, { secret: SECRET }) })).status;
}
