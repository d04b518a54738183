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
}

/** The baseline of every ratio. */
export const VERIFY_ONLY: Contender = {
  name: "verify-only",
  title: "verify only",
  server: ["verify-only.ts"],
  signing: "service",
  kind: "measure",
};
export const BASELINE = VERIFY_ONLY.name;

/** In the order of a round and of the table. */
export const CONTENDERS: readonly Contender[] = [
  { name: "bare", title: "bare node:http", server: ["bare.ts"], signing: "service", kind: "measure", open: true },
  VERIFY_ONLY,
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
