/** How an entry's bundle is made. */
type Target = "workers" | "node";

interface Budget {
  readonly target: Target;
  /** Minified and gzipped, KiB. */
  readonly kib: number;
}

/**
 * What each entry may weigh, by its name in package.json's `exports`: a mount together with `createReceiver` and `forwardInbox`. On Node
 * pino is there whole, nearly 20 KiB more than its build for browsers.
 */
export const BUDGETS: Readonly<Record<string, Budget>> = {
  ".": { target: "node", kib: 75 },
  "./adapter": { target: "node", kib: 79 },
  "./signature": { target: "workers", kib: 8 },
  "./testing": { target: "node", kib: 98 },
  "./node": { target: "node", kib: 76 },
  "./express": { target: "node", kib: 76 },
  "./koa": { target: "node", kib: 76 },
  "./fastify": { target: "node", kib: 76 },
  "./nest": { target: "node", kib: 76 },
  "./gcp": { target: "node", kib: 76 },
  "./azure": { target: "node", kib: 70 },
  "./aws-lambda": { target: "node", kib: 70 },
  "./fetch": { target: "workers", kib: 56 },
  "./hono": { target: "workers", kib: 56 },
  "./next": { target: "node", kib: 76 },
  "./workers": { target: "workers", kib: 56 },
  "./sqlite": { target: "node", kib: 86 },
};
