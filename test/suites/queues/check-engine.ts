import { createReceiver, memoryInbox, type Receiver, type ReceiverOptions } from "hookline";
import type { WritingInbox } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { CONNECTIONS, type Front } from "../../support/queues/connect.ts";
import type { QueueEngine, RunningEngine } from "../../support/queues/engines.ts";
import { poisonedDelivery } from "../../support/queues/poisoned-delivery.ts";
import { pollAsLambda } from "../../support/queues/poll-as-lambda.ts";

const SECRET = "a signing secret";
const MIB = 1_048_576;

/** What a queue with an inbox behind it does, against the real one. */
export function checkEngine({ name, start }: QueueEngine): void {
  const { openFront, consume } = CONNECTIONS[name];

  test("a delivery goes through it into the inbox behind, and is handled", async () => {
    const engine = await started();
    const front = await frontOf(engine);
    const { seen, receiver } = await behind(engine);
    for (const id of ["a", "b", "c"]) expect(await deliver(front, bodyWith(id))).toBe(200);
    await eventually(() => expect(seen.toSorted()).toEqual(["a", "b", "c"]));
    expect(receiver.stats()).toMatchObject({ stored: 3, refused: {} });
  });

  test("what could not be stored comes again, until it is", async () => {
    const engine = await started();
    const front = await frontOf(engine);
    let failures = 2;
    const inbox = memoryInbox() as WritingInbox<"memory">;
    const store: WritingInbox["store"] = async (deliveries) => {
      if (failures-- > 0) throw new Error("the disk is away");
      return inbox.store(deliveries);
    };
    const failing: WritingInbox = { ...inbox, store };
    const { seen } = await behind(engine, { inbox: failing });
    expect(await deliver(front, bodyWith("a"))).toBe(200);
    await eventually(() => expect(seen).toEqual(["a"]), 30_000);
    expect(failures).toBeLessThan(0);
  });

  test("what a consumer had that went away comes to the next one", async () => {
    const engine = await started();
    const front = await frontOf(engine);
    const inbox = memoryInbox() as WritingInbox<"memory">;
    const hanging: WritingInbox = { ...inbox, store: () => new Promise(() => {}) };
    const gone = await behind(engine, { inbox: hanging, storeTimeoutMs: 60_000 });
    expect(await deliver(front, bodyWith("a"))).toBe(200);
    await eventually(() => expect(gone.receiver.stats().stored).toBe(0));
    gone.leave();
    const { seen } = await behind(engine);
    await eventually(() => expect(seen).toEqual(["a"]), 30_000);
  });

  test("what no retry helps is among the dead letters, and nothing waits behind it", async () => {
    const engine = await started();
    const front = await frontOf(engine);
    const { seen, receiver } = await behind(engine);
    await engine.put([poisonedDelivery(1, SECRET), poisonedDelivery(2, SECRET)]);
    expect(await deliver(front, bodyWith("a"))).toBe(200);
    await eventually(async () => expect(await engine.deadCount()).toBe(2), 30_000);
    await eventually(() => expect(seen).toEqual(["a"]));
    expect(receiver.stats().refused["signature-invalid"]).toBeGreaterThanOrEqual(2);
  });

  test("the longest body that a receiver in front takes is stored", async () => {
    const engine = await started();
    const front = await frontOf(engine);
    const longest = Math.min(front.inbox.maxBodyBytes ?? MIB, MIB);
    const { receiver } = await behind(engine, { maxBodyBytes: MIB });
    const body = bodyWith("a");
    expect(await deliver(front, body.padEnd(longest))).toBe(200);
    expect(await deliver(front, body.padEnd(longest + 1))).toBe(413);
    await eventually(() => expect(receiver.stats().stored).toBe(1));
  });

  async function started(): Promise<RunningEngine> {
    const engine = await start();
    onTestFinished(() => engine.remove());
    return engine;
  }

  async function frontOf({ url }: RunningEngine): Promise<Front> {
    const front = await openFront(url);
    onTestFinished(async () => void (await front.close()));
    return front;
  }

  /** A worker behind the queue. */
  async function behind(engine: RunningEngine, options: Partial<ReceiverOptions> = {}) {
    const receiver: Receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: false, ...options });
    const seen: string[] = [];
    receiver.on("email", ({ id }) => void seen.push(id), { merge: false });
    await receiver.start();
    const consumer = await consume(engine.url, receiver);
    const polling = new AbortController();
    if (engine.sqs !== undefined && consumer.invoke !== undefined)
      void pollAsLambda(engine.sqs, consumer.invoke, polling.signal);
    let left: Promise<unknown> | undefined;
    const leave = (): void => {
      polling.abort();
      left ??= consumer.close();
    };
    onTestFinished(async () => {
      leave();
      await Promise.race([left, new Promise((resolve) => setTimeout(resolve, 1_000))]);
      await receiver.close({ drainMs: 0 });
    });
    return { receiver, seen, leave };
  }
}

function bodyWith(id: string): string {
  return bodyOf({ payloads: [change(id)] });
}

async function deliver({ inbox }: Front, body: string): Promise<number> {
  const receiver = createReceiver({ secret: SECRET, inbox, log: false });
  const { status } = await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  await receiver.close();
  return status;
}
