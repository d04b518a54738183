import * as z from "zod/mini";
import { recordReader, text, type Open, type Reader } from "./reader.ts";

interface FolderFields {
  readonly id: string;
  readonly name?: string;
  readonly parentId?: string;
  readonly sysLabel?: Open<"inbox" | "sent" | "draft" | "junk" | "trash" | "unread" | "flagged" | "important">;
}

/** A folder of messages, or a label. Fields that are not listed here are kept. */
export interface Folder extends FolderFields {
  readonly [field: string]: unknown;
}

export const readFolder: Reader<Folder> = recordReader<FolderFields>({
  id: z.string(),
  name: text,
  parentId: text,
  sysLabel: text,
});

/** The ids of folders to which messages go. */
export interface WellKnownFolders {
  readonly archive?: string;
  readonly sent?: string;
}

export const readWellKnown: Reader<WellKnownFolders> = recordReader<WellKnownFolders>({ archive: text, sent: text });
