import { createReceiver, type Receiver, type ReceiverOptions } from "hookline";
import { onTestFinished } from "vitest";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { logRecorder, type LogRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";

const SECRET = "a signing secret";

export interface ReceiverOnFile {
  readonly receiver: Receiver<"disk">;
  readonly log: LogRecorder;
  /** Delivers a change of one e-mail. @returns what was answered */
  send(id: string): Promise<number>;
}

/** A receiver on a file, until the test ends. */
export function receiverOn(
  file: string,
  inbox: Partial<SqliteOptions> = {},
  options: Partial<Omit<ReceiverOptions, "inbox">> = {},
): ReceiverOnFile {
  const log = logRecorder();
  const own = createSqliteInbox({ file, ...inbox });
  const receiver = createReceiver({
    secret: SECRET,
    storeTimeoutMs: 30_000,
    ...options,
    inbox: own,
    log: log.logger,
  });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return {
    receiver,
    log,
    async send(id) {
      const body = bodyOf({ payloads: [change(id)] });
      return (await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }))).status;
    },
  };
}
