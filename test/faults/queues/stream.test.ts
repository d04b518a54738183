import type { SqsBatchResponse } from "hookline/sqs";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { Agent } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as later } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { send } from "../../support/http.ts";
import { bodyOf } from "../../support/make-delivery.ts";
import { signedHeaders } from "../../support/sign.ts";
import { report, rounds } from "../matrix/rounds.ts";
import { ENGINES } from "../../support/queues/engines.ts";
import { pollAsLambda } from "../../support/queues/poll-as-lambda.ts";
import { poisonedDelivery } from "../../support/queues/poisoned-delivery.ts";

const SECRET = "a signing secret";
const LANES = 100;
const POISONED = 10;
/** Deliveries between two kills. */
const BETWEEN_KILLS = 500;

describe.each(ENGINES)("$name in front of an inbox", ({ name, skip, ordered, start }) => {
  const count = rounds(20_000);
  const title = `${count} deliveries, while front, consumer and queue are killed`;
  test.skipIf(skip !== undefined)(skip === undefined ? title : `${title} (${skip})`, { timeout: 900_000 }, async () => {
    const engine = await start({ harsh: true });
    onTestFinished(() => engine.remove());
    const folder = mkdtempSync(join(tmpdir(), "hookline-queue-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const journal = join(folder, "journal");
    const consumer = program("consumer-program.ts", [name, engine.url, SECRET, join(folder, "inbox.db"), journal]);
    await consumer.start();
    const front = program("front-program.ts", [name, engine.url, SECRET]);
    await front.start();
    const polling = new AbortController();
    onTestFinished(() => polling.abort());
    if (engine.sqs !== undefined)
      void pollAsLambda(engine.sqs, (event) => invokeRemotely(consumer.port(), event), polling.signal);
    await engine.put(Array.from({ length: POISONED }, (_, index) => poisonedDelivery(index, SECRET)));

    const agent = new Agent({ keepAlive: true, maxSockets: LANES });
    onTestFinished(() => agent.destroy());
    let [acknowledged, refused, kills] = [0, 0, 0];
    // The next of a lane follows when the one before was acknowledged: so an order is defined.
    const lanes = Array.from({ length: LANES }, async (_, lane) => {
      for (let number = 1; number <= count / LANES; number += 1) {
        const body = bodyOf({
          accountId: lane + 1,
          payloads: [{ id: `m-${lane}`, changeType: "updated", attributes: { threadId: String(number) } }],
        });
        while (!(await offer(front.port(), body, agent))) {
          refused += 1;
          await later(50);
        }
        acknowledged += 1;
      }
    });
    const sending = Promise.all(lanes);
    const victims = [front.restart, consumer.restart, ...(engine.crash === undefined ? [] : [() => engine.crash!()])];
    for (let next = BETWEEN_KILLS; next < count; next += BETWEEN_KILLS) {
      await eventually(() => expect(acknowledged).toBeGreaterThanOrEqual(next), 120_000);
      await victims[kills % victims.length]!();
      kills += 1;
    }
    await sending;

    const expected = new Set(
      Array.from({ length: LANES }, (_, lane) =>
        Array.from({ length: count / LANES }, (__, index) => `m-${lane} ${index + 1}`),
      ).flat(),
    );
    const lines = (): string[] => readFileSync(journal, "utf8").split("\n").slice(0, -1);
    await eventually(() => expect(new Set(lines()).size).toBe(expected.size), 300_000);
    // NATS tells an end once more where the server was killed before it had written it.
    await eventually(async () => expect(await engine.deadCount()).toBeGreaterThanOrEqual(POISONED), 120_000);
    const seen = [...new Set(lines())];
    expect(seen.filter((line) => !expected.has(line))).toEqual([]);
    const early = ordered ? outOfOrder(seen) : [];
    report(`stream through ${name}`, {
      acknowledged,
      refused,
      kills,
      again: lines().length - seen.length,
      early: early.length,
      poisoned: POISONED,
    });
    expect(early).toEqual([]);
    if (name !== "nats") expect(await engine.deadCount()).toBe(POISONED);
  });
});

/** Lines of a lane that come before the one in front of them. */
function outOfOrder(lines: readonly string[]): readonly string[] {
  const last = new Map<string, number>();
  return lines.filter((line) => {
    const [lane = "", number = ""] = line.split(" ");
    const before = last.get(lane) ?? 0;
    last.set(lane, Math.max(before, Number(number)));
    return Number(number) !== before + 1;
  });
}

async function offer(port: number | undefined, body: string, agent: Agent): Promise<boolean> {
  if (port === undefined) return false;
  const headers = signedHeaders(body, { secret: SECRET, at: new Date() });
  return send(`http://127.0.0.1:${port}/hooks`, { headers, body, agent }).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** An invocation in the process of the consumer, whichever runs now. */
async function invokeRemotely(port: number | undefined, event: object): Promise<SqsBatchResponse> {
  if (port === undefined) throw new Error("The consumer does not run.");
  const { body } = await send(`http://127.0.0.1:${port}/`, { body: JSON.stringify(event) });
  return JSON.parse(body) as SqsBatchResponse;
}

interface Program {
  /** Undefined while it does not run. */
  readonly port: () => number | undefined;
  start(): Promise<void>;
  /** Kills it, and starts it again. */
  readonly restart: () => Promise<void>;
}

function program(file: string, given: readonly string[]): Program {
  let child: ChildProcess | undefined;
  let port: number | undefined;

  async function start(): Promise<void> {
    const path = fileURLToPath(new URL(file, import.meta.url));
    const started = spawn(process.execPath, ["--conditions=hookline-source", path, ...given], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    child = started;
    await new Promise<void>((resolve, reject) => {
      started.once("exit", (code) => reject(new Error(`${file} ended with ${code}.`)));
      started.stdout.on("data", (text: Buffer) => {
        const [, ready] = /^ready (\d+)/m.exec(text.toString()) ?? [];
        if (ready === undefined) return;
        port = Number(ready);
        resolve();
      });
    });
  }

  async function restart(): Promise<void> {
    port = undefined;
    const ended = new Promise((resolve) => child!.once("exit", resolve));
    child!.kill("SIGKILL");
    await ended;
    await start();
  }

  onTestFinished(() => void child?.kill("SIGKILL"));
  return { port: () => port, start, restart };
}
