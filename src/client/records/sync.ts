import * as z from "zod/mini";
import { AnswerProblem, recordReader, text, type Reader } from "./reader.ts";

/** How a sync begins. The two tokens are independent: keep each. @see protocol 2.1 */
export interface SyncStart {
  /** For `updated`; empty until the sync is ready. */
  readonly syncUpdatedToken: string;
  /** For `deleted`; empty until the sync is ready. */
  readonly syncDeletedToken: string;
  /** False: the service prepares the sync; start again later, with the same window. */
  readonly ready: boolean;
}

const readFields = recordReader<{ syncUpdatedToken?: string; syncDeletedToken?: string; ready: boolean }>({
  syncUpdatedToken: text,
  syncDeletedToken: text,
  ready: z.boolean(),
});

export const readSyncStart: Reader<SyncStart> = (json) => {
  const { syncUpdatedToken = "", syncDeletedToken = "", ready } = readFields(json);
  if (ready && (syncUpdatedToken === "" || syncDeletedToken === ""))
    throw new AnswerProblem("it is ready and lacks a token");
  return { syncUpdatedToken, syncDeletedToken, ready };
};

interface DeletedFields {
  readonly id: string;
  readonly timestamp?: string;
  /** Of a message. */
  readonly internetMessageId?: string;
}

/** A record that is gone. Fields that are not listed here are kept. */
export interface DeletedRecord extends DeletedFields {
  readonly [field: string]: unknown;
}

export const readDeletedRecord: Reader<DeletedRecord> = recordReader<DeletedFields>({
  id: z.string(),
  timestamp: text,
  internetMessageId: text,
});
