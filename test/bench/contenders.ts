import type { SigningName } from "./signing.ts";

/** A server to measure. */
export interface Contender {
  /** What `--only` takes. */
  readonly name: string;
  readonly title: string;
  /** Its file in `servers/`, and its arguments. */
  readonly server: readonly [file: string, ...args: string[]];
  /** How its requests are signed. */
  readonly signing: SigningName;
  /** `peer`: its packages are in the bench's own package.json. */
  readonly kind: "measure" | "by hand" | "peer" | "ours";
  /** It accepts every request: no forged one is tried. */
  readonly open?: true;
  /** Connections of the client. @default 64 */
  readonly connections?: number;
  /** Requests per second of the client. @default as many as are answered */
  readonly rate?: number;
  /** Two threads need longer until their code is compiled. @default the bench's time */
  readonly warmUpSeconds?: number;
  /** Additional time of an fsync, milliseconds. @default 0 */
  readonly syncMs?: number;
  /** Measured for so long, and in the first round alone. @default the bench's time, in each round */
  readonly seconds?: number;
}

/** The baseline of every ratio. */
export const BASELINE = "verify-only";

/** In the order of a round and of the table. */
export const CONTENDERS: readonly Contender[] = [
  { name: "bare", title: "bare node:http", server: ["bare.ts"], signing: "service", kind: "measure", open: true },
  { name: BASELINE, title: "verify only", server: ["verify-only.ts"], signing: "service", kind: "measure" },
  byHand("express-by-hand", "Express by hand"),
  byHand("koa-by-hand", "Koa by hand"),
  peer("octokit", "octokit/webhooks, node:http", "github"),
  peer("bolt", "Slack Bolt, HTTPReceiver", "slack"),
  peer("tern", "tern, Express", "stripe"),
  peer("standardwebhooks", "standardwebhooks, node:http", "standard"),
  ours("node", "hookline node, receiving only"),
  ours("node-handler", "hookline node, with a handler"),
  ours("express", "hookline Express, receiving only"),
  ours("express-handler", "hookline Express, with a handler"),
  ours("koa", "hookline Koa, receiving only"),
  ours("koa-handler", "hookline Koa, with a handler"),
];

/** Mounts of the other frameworks on Node, each with a hand-written receiver as in the framework's own documentation. */
export const MOUNTS: readonly Contender[] = [
  byHand("fastify-by-hand", "Fastify by hand"),
  ours("fastify", "hookline Fastify, receiving only"),
  byHand("hono-by-hand", "Hono by hand, on Node"),
  ours("hono", "hookline Hono, receiving only"),
  byHand("nest-by-hand", "Nest by hand, on Express"),
  ours("nest", "hookline Nest, receiving only"),
  byHand("gcp-by-hand", "Functions Framework by hand"),
  ours("gcp", "hookline Functions Framework, receiving only"),
];

/** Servers that store on disk before they answer. */
export const DURABLE: readonly Contender[] = [
  {
    name: "verify-only-256",
    title: "verify only, 256",
    server: ["verify-only.ts"],
    signing: "service",
    kind: "measure",
    connections: 256,
  },
  { ...byHand("transaction-each", "a transaction a request"), kind: "by hand" },
  durable("sqlite", "SQLite, receiving only"),
  durable("sqlite-handler", "SQLite, with a handler"),
  { ...durable("sqlite", "SQLite, receiving only, 256", "sqlite-256"), connections: 256 },
  { ...durable("sqlite-handler", "SQLite, with a handler, 256", "sqlite-handler-256"), connections: 256 },
  { ...durable("sqlite-handler", "the same, fsync 10 ms slower", "sqlite-slow-disk"), connections: 256, syncMs: 10 },
  { ...durable("sqlite-handler", "SQLite, 5,000 requests a second", "sqlite-paced"), rate: 5_000 },
  { ...durable("sqlite-handler", "SQLite, with a handler, a minute", "sqlite-minute"), seconds: 60 },
  { ...durable("sqlite-handler-retention", "the same, while retention runs", "sqlite-retention"), seconds: 60 },
];

/** `sqlite-handler` starts the server with `node sqlite handler`. */
function durable(flags: string, title: string, name = flags): Contender {
  const server = ["hookline.ts", "node", ...flags.split("-")] as const;
  return { name, title, server, signing: "service", kind: "ours", warmUpSeconds: 8 };
}

function byHand(name: string, title: string): Contender {
  return { name, title, server: [`${name}.ts`], signing: "service", kind: "by hand" };
}

function peer(name: string, title: string, signing: SigningName): Contender {
  return { name, title, server: [`${name}.mjs`], signing, kind: "peer" };
}

/** `node-handler` starts the server with `node handler`. */
function ours(name: string, title: string): Contender {
  return { name, title, server: ["hookline.ts", ...name.split("-")], signing: "service", kind: "ours" };
}
