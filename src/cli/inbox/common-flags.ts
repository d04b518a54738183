import { fileFlag, switchFlag } from "../flags.ts";

/** What every command on an inbox takes. */
export const INBOX_FLAGS = { inbox: fileFlag, json: switchFlag } as const;

/** What those take that show jobs. */
export const SHOW_FLAGS = { ...INBOX_FLAGS, "show-content": switchFlag } as const;
