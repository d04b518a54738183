import type { SqsBatchResponse, SqsEventLike } from "hookline/sqs";
import pg from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startNode, type Child } from "../cli/child.ts";
import { eventually } from "../support/eventually.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { newDatabase } from "../support/postgres.ts";
import { startFakeSqs, type FakeSqs, type FakeSqsOptions } from "../support/queues/fake-sqs.ts";
import { poisonedDelivery } from "../support/queues/poisoned-delivery.ts";
import { pollAsLambda } from "../support/queues/poll-as-lambda.ts";
import { buildFunctions, deployConsumer, deployReceiver, SECRET, urlEvent } from "./lambda-queue-stack.ts";

let build: ReturnType<typeof buildFunctions>;
beforeAll(() => {
  build = buildFunctions();
});
afterAll(() => build.remove());

test("what the URL gets is handled by the worker, each account's in order; SIGTERM ends the worker", async () => {
  const stack = await deploy();
  const worker = startWorker(stack);
  stack.poll();
  const accounts = [7, 8, 9];
  const messages = Array.from({ length: 10 }, (_, number) => `m-${number}`);

  await Promise.all(
    accounts.map(async (account) => {
      for (const id of messages) expect(await stack.send(account, id)).toBe(200);
    }),
  );

  await eventually(() => expect(handledBy(worker)).toHaveLength(accounts.length * messages.length));
  for (const account of accounts) expect(handledBy(worker, account)).toEqual(messages);
  expect(stack.sqs.size).toBe(0);
  worker.kill("SIGTERM");
  expect(await worker.ended, worker.err()).toBe(0);
});

test("a message whose signature does not hold ends in the dead letters; other accounts do not wait for it, its own goes on then", async () => {
  const stack = await deploy({ visibilityMs: 1_000, maxReceiveCount: 3 });
  const worker = startWorker(stack);
  const poison = JSON.stringify(poisonedDelivery(1, SECRET));
  stack.sqs.put([{ body: poison, group: "account-7" }]);
  for (const account of [8, 9]) expect(await stack.send(account, "beside")).toBe(200);
  stack.poll();

  for (const account of [8, 9]) await eventually(() => expect(handledBy(worker, account)).toEqual(["beside"]));
  await eventually(() => expect(stack.sqs.dead).toEqual([poison]));
  expect(stack.consumer.log()).toContain('"code":"signature-invalid"');

  expect(await stack.send(7, "after")).toBe(200);
  await eventually(() => expect(handledBy(worker, 7)).toEqual(["after"]));
});

test("a batch that comes again, because its answer was lost, is stored once", async () => {
  const stack = await deploy({ visibilityMs: 2_000 });
  const worker = startWorker(stack);
  const sent = ["m-0", "m-1", "m-2"];
  for (const id of sent) expect(await stack.send(7, id)).toBe(200);
  const answers: SqsBatchResponse[] = [];
  stack.poll(async (event) => {
    const answer = await stack.consumer.invoke(event);
    answers.push(answer);
    if (answers.length === 1) throw new Error("the invocation timed out after it had stored");
    return answer;
  });
  await eventually(() => expect(stack.sqs.size).toBe(0));
  expect(answers).toEqual([{ batchItemFailures: [] }, { batchItemFailures: [] }]);

  // Would come behind a second one of them.
  expect(await stack.send(7, "last")).toBe(200);
  await eventually(() => expect(handledBy(worker, 7)).toContain("last"));
  expect(handledBy(worker, 7)).toEqual([...sent, "last"]);
});

test("functions store while there is no worker, and hold nothing in the database while they are frozen", async () => {
  const stack = await deploy();
  stack.poll();
  for (const id of ["m-0", "m-1"]) expect(await stack.send(7, id)).toBe(200);
  await eventually(() => expect(stack.sqs.size).toBe(0));
  await eventually(async () => expect(await query(stack, IN_TRANSACTION)).toEqual([]));

  const worker = startWorker(stack);

  await eventually(() => expect(handledBy(worker, 7)).toEqual(["m-0", "m-1"]));
});

test("a function whose connections ended while it was frozen stores the next message, at the latest when it comes again", async () => {
  const stack = await deploy({ visibilityMs: 2_000 });
  stack.poll();
  expect(await stack.send(7, "m-0")).toBe(200);
  await eventually(() => expect(stack.sqs.size).toBe(0));
  expect(await query(stack, END_CONNECTIONS)).not.toEqual([]);

  expect(await stack.send(7, "m-1")).toBe(200);

  await eventually(() => expect(stack.sqs.size).toBe(0));
  const worker = startWorker(stack);
  await eventually(() => expect(handledBy(worker, 7)).toEqual(["m-0", "m-1"]));
});

const OTHERS = "from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
const IN_TRANSACTION = `select application_name ${OTHERS} and xact_start is not null`;
const END_CONNECTIONS = `select pg_terminate_backend(pid) ${OTHERS}`;

interface Stack {
  readonly sqs: FakeSqs;
  readonly database: string;
  readonly consumer: ReturnType<typeof deployConsumer>;
  /** The service delivers. @returns the status */
  send(accountId: number, id: string): Promise<number>;
  /** The event source mapping, from now on. */
  poll(invoke?: (event: SqsEventLike) => Promise<SqsBatchResponse>): void;
}

async function deploy(options: FakeSqsOptions = {}): Promise<Stack> {
  const database = await newDatabase();
  onTestFinished(() => database.drop());
  const sqs = await startFakeSqs({ fifo: true, ...options });
  onTestFinished(() => sqs.close());
  const deployed = { folder: build.folder, sqs, database: database.connectionString };
  const receiver = deployReceiver(deployed);
  const consumer = deployConsumer(deployed);
  return {
    sqs,
    database: database.connectionString,
    consumer,
    async send(accountId, id) {
      const body = bodyOf({ subscription: 1_000 + accountId, accountId, payloads: [change(id)] });
      const { statusCode } = await receiver.invoke(urlEvent(body));
      return statusCode;
    },
    poll(invoke = consumer.invoke) {
      const polling = new AbortController();
      onTestFinished(() => polling.abort());
      void pollAsLambda(sqs, invoke, polling.signal);
    },
  };
}

function startWorker({ database }: Stack): Child {
  return startNode(["examples/lambda-queue/worker.ts"], { SIGNING_SECRET: SECRET, DATABASE_URL: database });
}

/** Messages of an account, or of all, in the order in which they were handled. */
function handledBy(worker: Child, accountId?: number): string[] {
  const lines = worker.out().matchAll(/^account (\d+): updated message (\S+)$/gm);
  return [...lines].flatMap(([, account, id = ""]) =>
    accountId === undefined || accountId === Number(account) ? [id] : [],
  );
}

async function query({ database }: Stack, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
