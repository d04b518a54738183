import * as z from "zod/mini";
import type { Id } from "../../protocol/event-types.ts";
import { idField } from "../../protocol/read-fields.ts";
import { flag, recordReader, text, type Open, type Reader } from "./reader.ts";

interface AccountFields {
  /** As deliveries have it. */
  readonly id: Id;
  readonly active?: boolean;
  readonly tokenStatus?: Open<"active" | "invalid" | "dead">;
  readonly type?: Open<"daemon" | "personal" | "managed">;
  readonly email?: string;
}

/** An account. Fields that are not listed here are kept, such as `serviceType` and `parentId`. */
export interface Account extends AccountFields {
  readonly [field: string]: unknown;
}

export const readAccount: Reader<Account> = recordReader<AccountFields>({
  id: idField,
  active: flag,
  tokenStatus: text,
  type: text,
  email: text,
});

interface TokenFields {
  readonly accountId: Id;
  /** For `createClient`. It does not end by itself: store it as a secret. */
  readonly accessToken: string;
  readonly userId?: string;
}

/** The token of an account. */
export interface AccountToken extends TokenFields {
  readonly [field: string]: unknown;
}

export const readToken: Reader<AccountToken> = recordReader<TokenFields>({
  accountId: idField,
  accessToken: z.string(),
  userId: text,
});
