import type { SigningName } from "./signing.ts";

/** A server that is measured. */
export interface Contender {
  /** What `--only` takes. */
  readonly name: string;
  readonly title: string;
  /** Its file in `servers/`, and what it is started with. */
  readonly server: readonly [file: string, ...args: string[]];
  /** How its requests are signed. */
  readonly signing: SigningName;
  /** `peer`: its packages are those of the bench's own package.json. */
  readonly kind: "measure" | "by hand" | "peer" | "ours";
  /** It takes whatever comes: there is nothing to forge. */
  readonly open?: true;
}

/** What every ratio is of. */
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

function byHand(name: string, title: string): Contender {
  return { name, title, server: [`${name}.ts`], signing: "service", kind: "by hand" };
}

function peer(name: string, title: string, signing: SigningName): Contender {
  return { name, title, server: [`${name}.mjs`], signing, kind: "peer" };
}

/** Of `node-handler` the server is told `node handler`. */
function ours(name: string, title: string): Contender {
  return { name, title, server: ["hookline.ts", ...name.split("-")], signing: "service", kind: "ours" };
}
