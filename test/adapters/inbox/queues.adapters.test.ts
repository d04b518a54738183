import { createReceiver, forwardInbox, memoryInbox, type Receiver, type StoredDelivery } from "hookline";
import type { WritingInbox } from "hookline/adapter";
import { bullmqInbox, bullmqProcessor } from "hookline/bullmq";
import { natsConsumer, natsInbox } from "hookline/nats";
import { pgBossHandler, pgBossInbox, type PgBossJob } from "hookline/pg-boss";
import { sqsConsumer, sqsInbox } from "hookline/sqs";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";

const SECRET = "a signing secret";
const QUEUE_URL = "https://sqs.eu-central-1.amazonaws.com/123456789012/deliveries";

/** What a front handed over, one delivery for each account. */
async function forwarded(...accounts: readonly number[]): Promise<StoredDelivery[]> {
  const queue: StoredDelivery[] = [];
  const inbox = forwardInbox(async (deliveries) => void queue.push(...deliveries));
  const front = createReceiver({ secret: SECRET, inbox, log: false });
  for (const accountId of accounts) {
    const body = bodyOf({ accountId, payloads: [change(`m-${accountId}`)] });
    await front.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  }
  await front.close();
  return queue;
}

/** A receiver that runs handlers while the queue waits. Those of account 13 fail. */
function handling(): { readonly receiver: Receiver; readonly seen: number[] } {
  const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), log: false });
  const seen: number[] = [];
  receiver.on("email", ({ accountId }) => {
    if (accountId === 13) throw new Error("no");
    seen.push(accountId);
  });
  onTestFinished(async () => void (await receiver.close()));
  return { receiver, seen };
}

const store = (inbox: unknown, ...accountIds: readonly number[]) =>
  (inbox as WritingInbox).store(accountIds.map((accountId) => mail(["a"], { accountId })));

describe("BullMQ", () => {
  test("jobs are tried for a day and leave no trace when they are done, unless the queue says otherwise", async () => {
    const added: { opts: object; data: StoredDelivery }[][] = [];
    const addBulk = async (jobs: { opts: object; data: StoredDelivery }[]) => void added.push(jobs);
    await store(bullmqInbox({ addBulk }, { maxBatch: 2 }), 1, 2, 3);
    await store(bullmqInbox({ addBulk, defaultJobOptions: { attempts: 3, priority: 5 } }), 4);
    expect(added.map(({ length }) => length)).toEqual([2, 1, 1]);
    const [[one], , [other]] = added as [(typeof added)[0], (typeof added)[0], (typeof added)[0]];
    expect(one?.opts).toMatchObject({
      attempts: 2_880,
      stackTraceLimit: 3,
      backoff: { delay: 40_000 },
      removeOnComplete: true,
      jobId: one?.data.id,
    });
    expect(other?.opts).toMatchObject({ attempts: 3, priority: 5, jobId: other?.data.id });
  });

  test("nothing is given to a queue that has not reached Redis yet: it would add it later, although it was answered 503", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const [added, ready] = [vi.fn(async () => {}), Promise.withResolvers<void>()];
    const inbox = bullmqInbox({ addBulk: added, waitUntilReady: () => ready.promise });
    const refused = store(inbox, 1);
    await vi.advanceTimersByTimeAsync(3_000);
    expect(await refused).toMatchObject([{ code: "storage-failed", cause: { message: "Redis was not reached yet." } }]);
    ready.resolve();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(added).not.toHaveBeenCalled();
    expect(await store(inbox, 2)).toMatchObject([{ expanded: false }]);
    expect(added).toHaveBeenCalledOnce();
  });

  test("a job that deduplication drops is not stored", async () => {
    const addBulk = async (jobs: { data: StoredDelivery }[]) =>
      jobs.map(({ data }, place) => ({ id: place === 1 ? "another" : data.id }));
    const [one, other] = await store(bullmqInbox({ addBulk }), 1, 2);
    expect(one).toMatchObject({ expanded: false });
    expect(other).toMatchObject({ cause: { message: expect.stringContaining("deduplication") as string } });
  });

  test("a job fails with what failed, and for good where no retry helps", async () => {
    const { receiver, seen } = handling();
    const run = bullmqProcessor(receiver);
    const [good, bad] = await forwarded(1, 13);
    await run({ data: good });
    await expect(run({ data: bad })).rejects.toMatchObject({ code: "handle-failed" });
    await expect(run({ data: "text" })).rejects.toMatchObject({
      name: "UnrecoverableError",
      cause: { code: "delivery-invalid" },
    });
    expect(seen).toEqual([1]);
  });

  test("handlers are told when the worker cancels their job", async () => {
    const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), log: false });
    onTestFinished(async () => void (await receiver.close()));
    const begun = Promise.withResolvers<void>();
    const reasons: unknown[] = [];
    receiver.on("email", (_, { signal }) => {
      begun.resolve();
      return new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => resolve(void reasons.push(signal.reason)));
      });
    });
    const controller = new AbortController();
    const [data] = await forwarded(1);
    const running = bullmqProcessor(receiver)({ data }, "token", controller.signal);
    await begun.promise;
    controller.abort(new Error("cancelled"));
    await running;
    expect(reasons).toMatchObject([{ message: "cancelled" }]);
  });
});

describe("pg-boss", () => {
  test("jobs are tried for a day; those of a group have its key", async () => {
    const inserted: PgBossJob[] = [];
    const boss = { insert: async (_: string, jobs: PgBossJob[]) => void inserted.push(...jobs) };
    await store(pgBossInbox(boss, { queue: "deliveries" }), 1);
    await store(pgBossInbox(boss, { queue: "deliveries", group: "account" }), 2);
    await store(pgBossInbox(boss, { queue: "deliveries", group: "subscription" }), 3);
    expect(inserted.map(({ singletonKey }) => singletonKey)).toEqual([undefined, "account-2", "subscription-1001"]);
    for (const { id, data, ...retries } of inserted) {
      expect(id).toBe(data.id);
      expect(retries).toMatchObject({ retryLimit: 2_880, retryDelay: 30 });
    }
  });

  test("a job that the queue's policy drops is not stored", async () => {
    const boss = { insert: async (_: string, jobs: PgBossJob[]) => jobs.slice(0, 1).map(({ id }) => id) };
    const [one, other] = await store(pgBossInbox(boss, { queue: "deliveries" }), 1, 2);
    expect(one).toMatchObject({ expanded: false });
    expect(other).toMatchObject({ cause: { message: expect.stringContaining("policy") as string } });
    const none = { insert: async () => null, findJobs: async () => [] };
    expect(await store(pgBossInbox(none, { queue: "deliveries" }), 3)).toMatchObject([{ code: "storage-failed" }]);
    // A wrapper that says nothing of ids.
    expect(await store(pgBossInbox({ insert: async () => [] }, { queue: "deliveries" }), 5)).toMatchObject([
      { expanded: false },
    ]);
    expect(await store(bullmqInbox({ addBulk: async () => [] }), 6)).toMatchObject([{ expanded: false }]);
    // An earlier version gives no ids, and has the job.
    const earlier = { insert: async () => null, findJobs: async () => [{}] };
    expect(await store(pgBossInbox(earlier, { queue: "deliveries" }), 4)).toMatchObject([{ expanded: false }]);
  });

  test("a batch fails as a whole, unless each of its jobs may end by itself", async () => {
    const { receiver } = handling();
    const [good, bad] = await forwarded(1, 13);
    const jobs = [good, bad, "text"].map((data, index) => ({ id: `j-${index}`, data }));
    await expect(pgBossHandler(receiver)(jobs)).rejects.toMatchObject({ code: "handle-failed" });
    await expect(pgBossHandler(receiver)(jobs.slice(0, 1))).resolves.toBeUndefined();
    expect(await pgBossHandler(receiver, { perJobResults: true })(jobs)).toMatchObject([
      { id: "j-0", status: "completed" },
      { id: "j-1", status: "failed", output: { message: expect.stringContaining("handlers failed") as string } },
      { id: "j-2", status: "deadletter", output: { name: "UsageError" } },
    ]);
  });

  test("what ended before pg-boss fails the whole batch is answered a second before: only the rest comes again", async () => {
    const deliveries = await forwarded(1, 2);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), log: false });
    const aborted: unknown[] = [];
    receiver.on("email", ({ accountId }, ctx) => {
      if (accountId !== 2) return undefined;
      ctx.signal.addEventListener("abort", () => aborted.push(accountId));
      return new Promise<void>(() => {});
    });
    const jobs = deliveries.map((data, index) => ({ id: `j-${index}`, data, expireInSeconds: 10 }));
    const answered = pgBossHandler(receiver, { perJobResults: true })(jobs);
    await vi.advanceTimersByTimeAsync(9_000);
    expect(await answered).toMatchObject([
      { id: "j-0", status: "completed" },
      { id: "j-1", status: "failed", output: { message: expect.stringContaining("expireInSeconds") as string } },
    ]);
    expect(aborted).toEqual([2]);
  });
});

describe("SQS", () => {
  interface Sent {
    readonly input: { readonly Entries: readonly Record<string, string>[] };
  }

  async function entriesOf(options: Parameters<typeof sqsInbox>[1], ...accounts: readonly number[]) {
    const sent: Sent[] = [];
    const client = {
      send: async (command: Sent) => (
        sent.push(command),
        { Successful: command.input.Entries.map(({ Id }) => ({ Id })) }
      ),
    };
    await store(sqsInbox(client, options), ...accounts);
    return sent.flatMap(({ input }) => input.Entries);
  }

  test("messages of a FIFO queue have the account as their group, or the subscription, and an id of their own", async () => {
    const fifo = `${QUEUE_URL}.fifo`;
    const [one, other] = await entriesOf({ queueUrl: fifo }, 1, 2);
    expect([one?.["MessageGroupId"], other?.["MessageGroupId"]]).toEqual(["account-1", "account-2"]);
    expect(one?.["MessageDeduplicationId"]).toBe((JSON.parse(one?.["MessageBody"] ?? "") as StoredDelivery).id);
    const [third] = await entriesOf({ queueUrl: fifo, group: "subscription" }, 1);
    expect(third?.["MessageGroupId"]).toBe("subscription-1001");
  });

  test("messages of another queue have none, unless they are to share it fairly", async () => {
    const [one] = await entriesOf({ queueUrl: QUEUE_URL }, 1);
    expect(Object.keys(one ?? {})).toEqual(["Id", "MessageBody"]);
    const [fair] = await entriesOf({ queueUrl: QUEUE_URL, group: "account" }, 1);
    expect(fair).toMatchObject({ MessageGroupId: "account-1" });
    expect(fair).not.toHaveProperty("MessageDeduplicationId");
  });

  test("a message that SQS refuses, or says nothing of, is not stored; the others are", async () => {
    const client = {
      send: async () => ({
        Successful: [{ Id: "0" }],
        Failed: [{ Id: "1", Code: "Throttled", Message: "Slow down." }],
      }),
    };
    const results = await store(sqsInbox(client, { queueUrl: QUEUE_URL }), 1, 2, 3);
    expect(results).toMatchObject([
      { expanded: false },
      { code: "storage-failed", cause: { message: "SQS did not take the message: Throttled Slow down." } },
      { code: "storage-failed", cause: { message: "SQS did not take the message: no answer" } },
    ]);
  });

  const recordOf = (data: unknown, messageId: string, group?: string) => ({
    messageId,
    body: typeof data === "string" ? data : JSON.stringify(data),
    attributes: group === undefined ? {} : { MessageGroupId: group, SequenceNumber: messageId },
  });

  test("only what failed comes again from a queue without an order", async () => {
    const { receiver, seen } = handling();
    const [one, bad, other] = await forwarded(1, 13, 2);
    const Records = [recordOf(one, "1"), recordOf(bad, "2"), recordOf("no json", "3"), recordOf(other, "4")];
    expect(await sqsConsumer(receiver)({ Records })).toEqual({
      batchItemFailures: [{ itemIdentifier: "2" }, { itemIdentifier: "3" }],
    });
    expect(seen).toEqual([1, 2]);
  });

  test("what comes behind a failed message of its group is not touched, and comes again with it", async () => {
    const { receiver, seen } = handling();
    const [one, bad, other, last] = await forwarded(1, 13, 2, 3);
    const Records = [
      recordOf(one, "1", "g"),
      recordOf(bad, "2", "g"),
      recordOf(other, "3", "h"),
      recordOf(last, "4", "g"),
    ];
    expect(await sqsConsumer(receiver)({ Records })).toEqual({
      batchItemFailures: [{ itemIdentifier: "2" }, { itemIdentifier: "4" }],
    });
    expect(seen).toEqual([1, 2]);
  });

  test("what no retry helps holds up nothing of its group", async () => {
    const { receiver, seen } = handling();
    const [one, other] = await forwarded(1, 2);
    const Records = [
      recordOf("no json", "1", "g"),
      recordOf(one, "2", "g"),
      recordOf({}, "3", "g"),
      recordOf(other, "4", "g"),
    ];
    expect(await sqsConsumer(receiver)({ Records })).toEqual({
      batchItemFailures: [{ itemIdentifier: "1" }, { itemIdentifier: "3" }],
    });
    expect(seen).toEqual([1, 2]);
  });

  test("handlers are to abort before the function's time is over", async () => {
    const { receiver } = handling();
    const signals: AbortSignal[] = [];
    receiver.use(async (_, ctx, next) => {
      signals.push(ctx.signal);
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      await next();
    });
    const Records = [recordOf((await forwarded(1))[0], "1")];
    await sqsConsumer(receiver)({ Records }, { getRemainingTimeInMillis: () => 1_010.5 });
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("a handler that ignores its signal fails its message and what is behind it, before the function's time is over", async () => {
    const { receiver, seen } = handling();
    receiver.use((event, _, next) => (event.accountId === 7 ? new Promise<void>(() => {}) : next()));
    const [hanging, behind, other, last] = await forwarded(7, 1, 2, 3);
    const Records = [
      recordOf(hanging, "1", "g"),
      recordOf(behind, "2", "g"),
      recordOf(other, "3", "h"),
      recordOf(last, "4", "h"), // another group waits for none of it
    ];
    expect(await sqsConsumer(receiver)({ Records }, { getRemainingTimeInMillis: () => 1_010 })).toEqual({
      batchItemFailures: [{ itemIdentifier: "1" }, { itemIdentifier: "2" }],
    });
    expect(seen).toEqual([2, 3]);
  });

  test("what fails is logged, also where a handler ignores its signal", async () => {
    const log = logRecorder();
    const receiver = createReceiver({ secret: undefined, inbox: memoryInbox(), log: log.logger });
    onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
    receiver.on("email", ({ accountId }) =>
      accountId === 13 ? Promise.reject(new Error("no")) : new Promise(() => {}),
    );
    const [bad, hanging] = await forwarded(13, 7);
    const Records = [recordOf(bad, "1"), recordOf(hanging, "2"), recordOf({}, "3")];
    const consume = sqsConsumer(receiver, { by: "handle" });
    await consume({ Records }, { getRemainingTimeInMillis: () => 1_010 });
    expect(log.of("handlers-failed")).toMatchObject([{ facts: { deliveryId: bad?.id } }]);
    expect(log.of("handlers-late")).toMatchObject([{ facts: { deliveryId: hanging?.id } }]);
    expect(log.of("delivery-invalid")).toHaveLength(1);
  });

  test.each([
    ["nothing", undefined],
    ["an HTTP request", { rawPath: "/", headers: {} }],
    ["an event of S3", { Records: [{ eventSource: "aws:s3", s3: {} }] }],
    ["records that are no list", { Records: {} }],
    ["an empty record", { Records: [null] }],
  ])("an event that is not SQS's is refused: %s", async (_, event) => {
    const { receiver, seen } = handling();
    await expect(sqsConsumer(receiver)(event as never)).rejects.toMatchObject({
      code: "lambda-event-unknown",
      fix: expect.stringContaining("SQS") as string,
    });
    expect(seen).toEqual([]);
  });

  test("a queue without a client, or without its methods, is refused at once", () => {
    const refused = expect.objectContaining({ code: "option-invalid" }) as Error;
    for (const client of [undefined, {}] as never[]) {
      expect(() => sqsInbox(client, { queueUrl: QUEUE_URL })).toThrow(refused);
      expect(() => bullmqInbox(client)).toThrow(refused);
      expect(() => pgBossInbox(client, { queue: "deliveries" })).toThrow(refused);
      expect(() => natsInbox(client, { subject: "deliveries" })).toThrow(refused);
    }
  });

  test("an event without messages is nothing to do", async () => {
    expect(await sqsConsumer(handling().receiver)({ Records: [] })).toEqual({ batchItemFailures: [] });
  });
});

describe("NATS", () => {
  function messageOf(content: unknown, deliveryCount = 1) {
    const said: unknown[] = [];
    const says = (what: string) => (value?: unknown) => void said.push(value === undefined ? what : [what, value]);
    const json = (): unknown => {
      if (content === undefined) throw new SyntaxError("no json");
      return content;
    };
    return {
      said,
      json,
      info: { deliveryCount },
      ack: says("ack"),
      nak: says("nak"),
      term: says("term"),
      working: says("working"),
    };
  }

  test("a message is acknowledged, comes again later and later, or is terminated where no retry helps", async () => {
    const { receiver } = handling();
    const consume = natsConsumer(receiver);
    const [good, bad] = await forwarded(1, 13);
    const messages = [messageOf(good), messageOf(bad), messageOf(bad, 4), messageOf(bad, 99), messageOf(undefined)];
    for (const message of messages) await consume(message);
    expect(messages.map(({ said }) => said)).toEqual([
      ["ack"],
      [["nak", 1_000]],
      [["nak", 8_000]],
      [["nak", 600_000]],
      ["term"],
    ]);
  });

  test("the server is told that a slow handler still works", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), log: false });
    onTestFinished(async () => void (await receiver.close()));
    const done = Promise.withResolvers<void>();
    receiver.on("email", () => done.promise);
    const message = messageOf((await forwarded(1))[0]);
    const consuming = natsConsumer(receiver)(message);
    vi.advanceTimersByTime(25_000);
    expect(message.said).toEqual(["working", "working"]);
    done.resolve();
    await consuming;
    vi.advanceTimersByTime(25_000);
    expect(message.said).toEqual(["working", "working", "ack"]);
  });

  test("a connection that closes meanwhile ends no process: the message comes again", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const receiver = createReceiver({ secret: SECRET, inbox: forwardInbox(async () => {}), log: false });
    onTestFinished(async () => void (await receiver.close()));
    const done = Promise.withResolvers<void>();
    receiver.on("email", () => done.promise);
    const closed = (): never => {
      throw new Error("CONNECTION_CLOSED");
    };
    const message = { ...messageOf((await forwarded(1))[0]), working: closed, ack: closed };
    const consuming = natsConsumer(receiver)(message);
    expect(() => vi.advanceTimersByTime(25_000)).not.toThrow();
    done.resolve();
    await expect(consuming).resolves.toBeUndefined();
  });

  test("a body is as long as the server's messages allow", () => {
    const publish = async () => {};
    const on = (info?: object) => natsInbox({ publish, nc: { info } } as never, { subject: "deliveries" }).maxBodyBytes;
    expect([on(), on({ max_payload: 8_388_608 })]).toEqual([783_360, 6_288_384]);
  });
});

test("options that cannot be are refused, with what was got and what is expected", () => {
  const refused = (make: () => unknown, ...words: readonly string[]) => {
    expect(make).toThrow(expect.objectContaining({ code: "option-invalid" }));
    for (const word of words) expect(make).toThrow(word);
  };
  refused(() => bullmqInbox({ addBulk: async () => {} }, { maxBatch: 0 }), "maxBatch 0", "from 1 on");
  refused(() => bullmqInbox({ addBulk: async () => {} }, { batch: 1 } as never), "batch");
  refused(() => pgBossInbox({ insert: async () => {} }, { queue: "" }), "queue an empty text");
  refused(
    () => pgBossInbox({ insert: async () => {} }, { queue: "q", group: "lane" as never }),
    `group "lane"`,
    '"account"',
  );
  refused(
    () => pgBossInbox({ insert: async () => {} }, { queue: "q", singleton: true } as never),
    'got "singleton", which is no option',
  );
  refused(
    () => sqsInbox({ send: async () => {} }, { queueUrl: "deliveries" }),
    'queueUrl "deliveries", expected the URL of a queue',
  );
  refused(
    () => sqsInbox({ send: async () => {} }, { queueUrl: "https://sqs.test/1/q", url: "x" } as never),
    'got "url", which is no option',
  );
  const publish = async (): Promise<void> => {};
  for (const subject of ["deliveries.>", "a.*", "", ".a", "a.", "a b", undefined])
    refused(() => natsInbox({ publish }, { subject } as never), "without wildcards");
  refused(
    () => natsInbox({ publish }, { subject: "deliveries", stream: "x" } as never),
    'got "stream", which is no option',
  );
  expect(natsInbox({ publish }, { subject: "hooks.deliveries" }).storage).toBe("network");
  const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: false });
  for (const make of [bullmqProcessor, pgBossHandler, sqsConsumer, natsConsumer])
    refused(() => make(receiver, { by: "both" as never }), `${make.name} got by "both"`);
});
