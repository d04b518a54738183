import type { Metafile } from "esbuild";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { bundle, FOR_NODE, FOR_WORKERS } from "./bundle.ts";

const root = join(import.meta.dirname, "../..");

/** Kind of bundle. */
type Target = "workers" | "node";

interface Budget {
  readonly target: Target;
  /** Minified and gzipped, KiB. */
  readonly kib: number;
}

/**
 * Size budget of each entry, by its name in package.json's `exports`: a mount with `createReceiver` and `forwardInbox`. A bundle for Node
 * has all of pino, nearly 20 KiB more than pino's build for browsers.
 */
const BUDGETS: Readonly<Record<string, Budget>> = {
  ".": { target: "node", kib: 105.25 },
  "./adapter": { target: "node", kib: 99.25 },
  "./signature": { target: "workers", kib: 8 },
  // zod is most of it: test/client/size.test.ts has the budget without it.
  "./client": { target: "workers", kib: 27.25 },
  "./subscriptions": { target: "node", kib: 99.25 },
  "./testing": { target: "node", kib: 98.95 },
  "./sync": { target: "node", kib: 99.25 },
  // No app has it in a bundle; what computes series is a third of it.
  "./emulator": { target: "node", kib: 251 },
  "./node": { target: "node", kib: 102.5 },
  "./express": { target: "node", kib: 102.5 },
  "./koa": { target: "node", kib: 102.5 },
  "./fastify": { target: "node", kib: 102.5 },
  "./nest": { target: "node", kib: 103.5 },
  "./gcp": { target: "node", kib: 102.5 },
  "./azure": { target: "node", kib: 96.5 },
  "./aws-lambda": { target: "node", kib: 96.75 },
  "./fetch": { target: "workers", kib: 80.75 },
  "./hono": { target: "workers", kib: 81 },
  "./next": { target: "node", kib: 103.25 },
  "./workers": { target: "workers", kib: 80.75 },
  "./sqlite": { target: "node", kib: 123.5 },
  "./sqlite-thread": { target: "node", kib: 20 },
  // Without `pg`, which has 26 KiB.
  "./postgres": { target: "node", kib: 166.25 },
  "./bullmq": { target: "node", kib: 96.25 },
  "./pg-boss": { target: "node", kib: 96.5 },
  // Without the client of AWS.
  "./sqs": { target: "node", kib: 96.75 },
  "./nats": { target: "node", kib: 96 },
  // Its page is read from files.
  "./dashboard": { target: "node", kib: 102.25 },
  "./redis": { target: "node", kib: 95.25 },
  "./prometheus": { target: "node", kib: 97.75 },
  // Without `@opentelemetry/api`.
  "./opentelemetry": { target: "node", kib: 97.5 },
};

describe("the size of an entry in a bundle", () => {
  test("has a budget for each", () => {
    const entries = Object.keys(manifest.exports).filter((entry) => entry !== "./package.json");
    expect(Object.keys(BUDGETS).toSorted()).toEqual(entries.toSorted());
  });

  test.each(Object.entries(BUDGETS))("%s", async (entry, { target, kib }) => {
    const { code, metafile } = await bundle({
      ...(target === "workers" ? FOR_WORKERS : FOR_NODE),
      minify: true,
      stdin: { contents: programOf(entry), resolveDir: root },
    });
    const isOfObservers = ["./prometheus", "./opentelemetry"].includes(entry);
    const observers = Object.keys(metafile.inputs).filter((path) => /adapters\/observe\/|@opentelemetry/.test(path));
    expect(observers.length > 0, observers.join(" ")).toBe(isOfObservers);
    const weighs = gzipSync(code, { level: 9 }).byteLength / 1024;
    expect(weighs, heaviest(metafile)).toBeLessThan(kib);
  });
});

describe("a client in a bundle", () => {
  const weighs = async (names: string) => {
    const contents = `export { ${names} } from "hookline/client";`;
    const { code, metafile } = await bundle({ ...FOR_WORKERS, minify: true, stdin: { contents, resolveDir: root } });
    const inputs = Object.values(metafile.outputs)[0]?.inputs ?? {};
    const files = Object.entries(inputs).filter(
      ([path, { bytesInOutput }]) => path.startsWith("src/") && bytesInOutput > 0,
    );
    return { kib: gzipSync(code, { level: 9 }).byteLength / 1024, files: files.map(([path]) => path) };
  };

  test("createClient has messages, calendars, conversations and subscriptions, and pays for no other part", async () => {
    const { kib, files } = await weighs("createClient");
    expect(kib).toBeLessThan(24);
    expect(files.filter((path) => PARTS.test(path))).toEqual([]);
  });

  test.each([
    ["foldersOf", 0.6],
    ["draftsOf, draftTrackingOf", 1],
    ["trackingOf", 1],
    ["accountOf", 0.6],
    ["bookingsOf", 1.2],
  ])("%s adds %d KiB at most", async (names, most) => {
    const alone = await weighs("createClient");
    const { kib, files } = await weighs(`createClient, ${names}`);
    expect(kib - alone.kib).toBeLessThan(most);
    expect(files.filter((path) => PARTS.test(path))).toHaveLength(1);
  });
});

/** Modules that `createClient` does not need. */
const PARTS =
  /\/(?:application\/|bookings\/bookings|oauth\/|sync-config\/|unified\/(?:account|drafts|folders|tracking)\.ts)/;

/** A mount needs a receiver; the signature functions, the client and a thread do not. */
function programOf(entry: string): string {
  const all = `export * from "${join("hookline", entry)}";`;
  return ["./signature", "./client", "./sqlite-thread"].includes(entry)
    ? all
    : `export { createReceiver, forwardInbox } from "hookline"; ${all}`;
}

/** Size by package, KiB before compression. */
function heaviest({ outputs }: Metafile): string {
  const byOwner = new Map<string, number>();
  for (const { inputs } of Object.values(outputs))
    for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
      const owner = path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)/)?.[1] ?? path.split("/").slice(0, 2).join("/");
      byOwner.set(owner, (byOwner.get(owner) ?? 0) + bytesInOutput);
    }
  const rows = [...byOwner].toSorted(([, a], [, b]) => b - a).slice(0, 12);
  return `Largest parts, minified:\n${rows.map(([owner, bytes]) => `${(bytes / 1024).toFixed(1)} KiB ${owner}`).join("\n")}\n`;
}
