import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { StoredDelivery } from "hookline";
import { eventually } from "../support/eventually.ts";
import { send, serve } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { bundle, FOR_WORKERS } from "./bundle.ts";

const SECRET = "a secret of the shop";
const folder = join(import.meta.dirname, "../../examples/cloudflare-queue");

/** The used part of miniflare, whose types are not there without this folder's packages. */
interface Miniflare {
  readonly ready: Promise<URL>;
  getQueueProducer(binding: string, worker: string): Promise<{ send(body: unknown): Promise<unknown> }>;
  dispose(): Promise<void>;
}

interface WranglerConfig {
  readonly name: string;
  readonly compatibility_date: string;
  readonly compatibility_flags: readonly string[];
  readonly queues: {
    readonly producers: readonly { readonly binding: string; readonly queue: string }[];
    readonly consumers: readonly {
      readonly queue: string;
      readonly max_batch_size: number;
      readonly max_retries: number;
      readonly dead_letter_queue: string;
    }[];
  };
}

// The formatter puts commas behind last elements.
const text = readFileSync(join(folder, "wrangler.jsonc"), "utf8").replaceAll(/,(\s*[\]}])/g, "$1");
const config = JSON.parse(text) as WranglerConfig;

/** The consumer of the dead letters: tells them to a server. */
const TELL_DEAD = `export default {
  async queue({ messages }, { TOLD }) {
    for (const { body } of messages) await fetch(TOLD, { method: "POST", body: JSON.stringify(body) });
  },
};`;

let code: string;

beforeAll(async () => {
  ({ code } = await bundle({ ...FOR_WORKERS, entryPoints: [join(folder, "worker.ts")] }));
});

/** The example's Worker and queues on workerd, and the application that it calls. */
async function start({ maxRetries = 2 }: { readonly maxRetries?: number } = {}) {
  const calls: string[] = [];
  const failing = new Map<string, number>();
  const dead: unknown[] = [];
  const app = await serve((request, response) => {
    if (request.url === "/dead") {
      const chunks: Buffer[] = [];
      request
        .on("data", (chunk: Buffer) => void chunks.push(chunk))
        .on("end", () => {
          dead.push(JSON.parse(Buffer.concat(chunks).toString()));
          response.end();
        });
      return;
    }
    const id = request.url?.replace("/messages/", "") ?? "";
    calls.push(id);
    const left = failing.get(id) ?? 0;
    failing.set(id, left - 1);
    response.writeHead(left > 0 ? 500 : 204).end();
  });
  const { Miniflare: Constructor } = createRequire(import.meta.url)("miniflare") as {
    Miniflare: new (options: object) => Miniflare;
  };
  const { producers, consumers } = config.queues;
  const miniflare = new Constructor({
    workers: [
      {
        name: config.name,
        modules: [{ type: "ESModule", path: "worker.js", contents: code }],
        compatibilityDate: config.compatibility_date,
        compatibilityFlags: config.compatibility_flags,
        bindings: { SIGNING_SECRET: SECRET, APP_URL: app.url },
        queueProducers: Object.fromEntries(producers.map(({ binding, queue }) => [binding, queue])),
        queueConsumers: Object.fromEntries(
          consumers.map((consumer) => [
            consumer.queue,
            { maxBatchSize: consumer.max_batch_size, maxRetries, deadLetterQueue: consumer.dead_letter_queue },
          ]),
        ),
      },
      {
        name: "dead",
        modules: [{ type: "ESModule", path: "dead.js", contents: TELL_DEAD }],
        bindings: { TOLD: `${app.url}/dead` },
        queueConsumers: Object.fromEntries(consumers.map((consumer) => [consumer.dead_letter_queue, {}])),
      },
    ],
  });
  onTestFinished(() => miniflare.dispose());
  const url = new URL("/webhooks", await miniflare.ready).href;
  return {
    calls,
    dead,
    /** The application fails for a message, so many times. */
    fail: (id: string, times: number) => void failing.set(id, times),
    async deliver(body: string): Promise<number> {
      const { status } = await send(url, { body, headers: signedHeaders(body, { secret: SECRET }) });
      return status;
    },
    put: async (body: unknown) => void (await (await miniflare.getQueueProducer("DELIVERIES", config.name)).send(body)),
  };
}

function createdBody(id: string): string {
  return bodyOf({ payloads: [change(id, "created")] });
}

describe("examples/cloudflare-queue, bundled, on workerd with the queues of miniflare", () => {
  test("one message that failed comes again, while the others are acknowledged", async () => {
    const { deliver, fail, calls, dead } = await start();
    fail("m-2", 1);
    expect(await Promise.all(["m-1", "m-2", "m-3"].map((id) => deliver(createdBody(id))))).toEqual([200, 200, 200]);
    await eventually(() => expect(calls.filter((id) => id === "m-2")).toHaveLength(2));
    expect(calls.toSorted()).toEqual(["m-1", "m-2", "m-2", "m-3"]);
    expect(dead).toEqual([]);
  });

  test("what always fails is in the dead-letter queue after its retries, and nothing waits behind it", async () => {
    const { deliver, fail, calls, dead } = await start({ maxRetries: 1 });
    fail("m-1", Infinity);
    expect(await deliver(createdBody("m-1"))).toBe(200);
    expect(await deliver(createdBody("m-2"))).toBe(200);
    await eventually(() => expect(dead).toHaveLength(1));
    const [{ bodyBase64 }] = dead as [StoredDelivery];
    expect(Buffer.from(bodyBase64, "base64").toString()).toBe(createdBody("m-1"));
    expect(calls.toSorted()).toEqual(["m-1", "m-1", "m-2"]);
  });

  test("what is no delivery is in the dead-letter queue without a retry", async () => {
    const { put, deliver, dead, calls } = await start({ maxRetries: 100 });
    await put({ hello: "world" });
    expect(await deliver(createdBody("m-1"))).toBe(200);
    await eventually(() => expect(dead).toEqual([{ hello: "world" }]));
    await eventually(() => expect(calls).toEqual(["m-1"]));
  });

  test("a body over the limit is answered 413, one at the limit fits into a message", async () => {
    const { deliver, calls } = await start();
    const bodyWith = (length: number): string => {
      const bare = bodyOf({ payloads: [change("m-1", "created")], note: "" });
      return bodyOf({ payloads: [change("m-1", "created")], note: "x".repeat(length - bare.length) });
    };
    expect(await deliver(bodyWith(90_000))).toBe(200);
    expect(await deliver(bodyWith(90_001))).toBe(413);
    expect(await deliver(bodyWith(1_048_576))).toBe(413);
    await eventually(() => expect(calls).toEqual(["m-1"]));
  });
});
