import type { StorageKind } from "../inbox/port/inbox.ts";
import type { Logger } from "../logger.ts";
import { toProblem, type Problem } from "./health/problem-catalog.ts";
import { findInternals, type Internals } from "./internals.ts";
import type { Receiver } from "./receiver-types.ts";

/** Platforms that may freeze or end a process after the answer, by an environment variable that their documentation names. */
const PLATFORMS: readonly (readonly [variable: string, platform: string])[] = [
  ["AWS_LAMBDA_FUNCTION_NAME", "AWS Lambda"],
  ["VERCEL", "Vercel"],
  ["NETLIFY", "Netlify"],
  ["FUNCTIONS_WORKER_RUNTIME", "Azure Functions"],
  ["FUNCTION_TARGET", "Google Cloud Functions"],
  ["K_SERVICE", "Google Cloud Run"],
  ["DENO_DEPLOYMENT_ID", "Deno Deploy"],
];

const WORKERS = "Cloudflare Workers";

/** The function platform that this process runs on, if any. */
export function functionPlatform(
  env: Readonly<Record<string, string | undefined>>,
  userAgent: string | undefined,
): string | undefined {
  // Workers have no such variable, but a navigator.
  if (userAgent === "Cloudflare-Workers") return WORKERS;
  return PLATFORMS.find(([variable]) => Boolean(env[variable]))?.[1];
}

/**
 * Whether a request's I/O ends with the request, so that another request that waits for it would hang.
 * @see https://developers.cloudflare.com/workers/observability/errors/
 */
export function keepsRequestsApart(platform: string | undefined): boolean {
  return platform === WORKERS;
}

/** Reports a platform that may freeze the process after the answer, while stored deliveries still wait in it. */
export interface FreezeWarning {
  /** Deliveries are stored here and handled later: `start()` was called, or a mount answered before the handlers. */
  storesForLater(): void;
  problems(): readonly Problem[];
}

export function createFreezeWarning({
  storage,
  platform,
  log,
}: {
  readonly storage: StorageKind;
  /** The function platform that this process runs on. */
  readonly platform: string | undefined;
  readonly log: Logger;
}): FreezeWarning {
  if (platform === undefined || storage === "network") return { storesForLater() {}, problems: () => [] };
  let warned = false;
  const problem = toProblem("process-may-freeze", {
    detail: `Found ${platform}, and an inbox that stores in ${storage === "memory" ? "memory" : "a file"}.`,
  });
  return {
    storesForLater() {
      if (warned) return;
      warned = true;
      log.error({ code: problem.code, fix: problem.fix }, problem.message);
    },
    problems: () => (warned ? [problem] : []),
  };
}

/**
 * The work that a function mount passes to its platform's `waitUntil`: handles waiting jobs while the platform lets it. It buys speed, not
 * safety: interrupted jobs stay in the inbox. Where many processes may work, it works only while no other does, and gives all lanes back as it
 * resolves: the platform may freeze it then. Undefined for an inbox without a working half, and without handlers. Never rejects.
 */
export function workAfterResponse(receiver: Receiver): Promise<void> | undefined {
  const inside = findInternals(receiver);
  return inside?.workers !== undefined && inside.handlers.some() ? work(inside) : undefined;
}

async function work({ workUntilIdle }: Internals): Promise<void> {
  try {
    await workUntilIdle();
  } catch {
    // The delivery is stored. What prevents the start is in the log, and the next request fails on it again.
  }
}
