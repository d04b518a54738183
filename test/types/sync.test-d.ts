import type { Receiver } from "hookline";
import type { CalendarEvent, Client, Contact, Message, Task } from "hookline/client";
import { deltaSync, fetchChanged, sqliteTokens, type TokenStore } from "hookline/sync";
import { expectTypeOf } from "vitest";

declare const receiver: Receiver;
declare const client: (accountId: number) => Promise<Client>;
const tokens: TokenStore = sqliteTokens(receiver);

deltaSync(receiver, "email", {
  client,
  tokens,
  apply: async (records, { accountId, saves }) => {
    expectTypeOf(records).toEqualTypeOf<readonly Message[]>();
    expectTypeOf(accountId).toEqualTypeOf<number>();
    expectTypeOf(saves.token).toEqualTypeOf<string>();
  },
  remove: async (ids) => expectTypeOf(ids).toEqualTypeOf<readonly string[]>(),
  async *known({ window }) {
    expectTypeOf(window.from).toEqualTypeOf<Date | undefined>();
    yield "m-1";
  },
});
const sync = deltaSync(receiver, "calendarEvent", {
  client,
  tokens,
  apply: async (records) => expectTypeOf(records).toEqualTypeOf<readonly CalendarEvent[]>(),
  remove: async () => {},
  window: { daysPast: 1 },
});
expectTypeOf(sync.run(2001)).toEqualTypeOf<Promise<void>>();

const apply = async (): Promise<void> => {};
deltaSync(receiver, "contact", {
  client,
  tokens,
  apply: async (records) => expectTypeOf(records).toEqualTypeOf<readonly Contact[]>(),
  remove: apply,
});
deltaSync(receiver, "task", {
  client,
  tokens,
  apply: async (records) => expectTypeOf(records).toEqualTypeOf<readonly Task[]>(),
  remove: apply,
});
fetchChanged(receiver, "task", {
  client,
  apply: async (record) => expectTypeOf(record).toEqualTypeOf<Task>(),
  remove: apply,
});
// @ts-expect-error tracking events have no delta sync
deltaSync(receiver, "tracking", { client, tokens, apply, remove: apply });
// @ts-expect-error a sync without tokens begins anew each time
deltaSync(receiver, "email", { client, apply, remove: apply });
// @ts-expect-error `apply` is awaited: a token is saved after it
deltaSync(receiver, "email", { client, tokens, apply: () => {}, remove: apply });
// @ts-expect-error messages have a delta sync
fetchChanged(receiver, "email", { client, apply, remove: apply });
