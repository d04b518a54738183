import type { StorageKind } from "../../inbox/port/inbox.ts";
import type { Logger } from "../../logger.ts";
import { toProblem, type Problem } from "../health/problem.ts";

/** Watches for work that is meant to go on after the answer, where the platform may freeze the process then. */
export interface FreezeWarning {
  /** Deliveries are stored here and handled later: `start()` was called, or a mount answered before the handlers. */
  saw(): void;
  problems(): readonly Problem[];
}

export function createFreezeWarning({
  storage: keeps,
  platform,
  log,
}: {
  readonly storage: StorageKind;
  /** The function platform that this process runs on. */
  readonly platform: string | undefined;
  readonly log: Logger;
}): FreezeWarning {
  if (platform === undefined || keeps === "network") return { saw() {}, problems: () => [] };
  let seen = false;
  const problem = toProblem("may-freeze", {
    got: `Found ${platform}, and an inbox that keeps in ${keeps === "memory" ? "memory" : "a file"}.`,
  });
  return {
    saw() {
      if (seen) return;
      seen = true;
      log.error({ code: problem.code, fix: problem.fix }, problem.message);
    },
    problems: () => (seen ? [problem] : []),
  };
}
