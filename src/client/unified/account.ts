import * as z from "zod/mini";
import type { Client } from "../create-client.ts";
import { readAccount, type Account } from "../records/account.ts";
import { readNothing, recordReader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { sendOf } from "./part.ts";

/** The account of a client. @see the service's public description, account and auth */
export interface OwnAccount {
  /** `GET /v1/account` */
  get(options?: OwnAccountOptions): Promise<Account>;
  /** `DELETE /v1/account`: its subscriptions end, and its token holds no more. */
  delete(options?: RequestOptions): Promise<void>;
  /** `DELETE /v1/account/token`: the token holds no more, and the service loses its access to the mailbox. */
  revokeToken(options?: RequestOptions): Promise<void>;
  /** `POST /v1/auth/prepare`: a token for the parameter `token` of `authorizeUserUrl`. */
  prepareAuth(options?: RequestOptions): Promise<string>;
}

/** What is wanted of the account. */
export interface OwnAccountOptions extends RequestOptions {
  /** The service tries whether it can reach the mailbox. @default false */
  pingProvider?: boolean | undefined;
  /** @default false */
  includeProviderAuth?: boolean | undefined;
}

const readPrepared = recordReader<{ token: string }>({ token: z.string() });
const done = { read: readNothing, answerOptional: true };

/** The account of a client: a part of its own. */
export function accountOf(client: Client): OwnAccount {
  const send = sendOf(client);
  return {
    get: ({ pingProvider, includeProviderAuth, ...options } = {}) =>
      send({
        method: "GET",
        path: "/v1/account",
        query: { pingProvider, includeProviderAuth },
        read: readAccount,
        options,
      }),
    delete: (options) => send({ method: "DELETE", path: "/v1/account", ...done, options }),
    revokeToken: (options) => send({ method: "DELETE", path: "/v1/account/token", ...done, options }),
    async prepareAuth(options) {
      const { token } = await send({ method: "POST", path: "/v1/auth/prepare", read: readPrepared, options });
      return token;
    },
  };
}
