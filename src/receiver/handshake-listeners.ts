import type { AfterHandlers } from "../ingest/after-handlers.ts";
import { receive } from "../ingest/receive.ts";
import type { Refused } from "../ingest/refusals.ts";
import type { IngestDeps, RawRequest, Reply } from "../ingest/types.ts";
import { tokenOf } from "../protocol/handshake.ts";

/** A verification request that was answered. */
export interface AnsweredHandshake {
  /** Without its query. */
  readonly path: string;
  /** Of its query. */
  readonly token: string;
  readonly status: number;
  /** Why it was refused. */
  readonly refused?: Refused;
}

export type HandshakeListener = (handshake: AnsweredHandshake) => void;

/** `receive`, which calls listeners with each verification request, refused or not. Costs nothing while there are none. */
export function receiveHeard(deps: IngestDeps, listeners: ReadonlySet<HandshakeListener>) {
  async function heard(request: RawRequest, token: string, afterHandlers?: AfterHandlers): Promise<Reply> {
    let refused: Refused | undefined;
    const reporter: IngestDeps["reporter"] = {
      ...deps.reporter,
      refused(refusal, status) {
        refused = refusal;
        deps.reporter.refused(refusal, status);
      },
    };
    const reply = await receive(request, { ...deps, reporter }, afterHandlers);
    const path = URL.parse(request.url, "http://localhost")?.pathname ?? "";
    for (const listener of listeners) listener({ path, token, status: reply.status, ...(refused && { refused }) });
    return reply;
  }

  return (request: RawRequest, afterHandlers?: AfterHandlers): Promise<Reply> => {
    const token = listeners.size > 0 && typeof request.url === "string" ? tokenOf(request.url) : undefined;
    return token === undefined ? receive(request, deps, afterHandlers) : heard(request, token, afterHandlers);
  };
}
