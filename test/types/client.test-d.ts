// The client: what its calls give, and what the service would refuse.
import type { HooklineError, Id } from "hookline";
import {
  clients,
  createClient,
  createSyncConfigClient,
  type CalendarEvent,
  type Client,
  type Message,
  type NotFound,
  type Paged,
  type ServiceError,
  type SyncConfigUser,
} from "hookline/client";
import type { Equal, Expect, Fits } from "./support.ts";

declare const client: Client;
declare const user: SyncConfigUser;
declare const zoned: { toString(): string };

const window = { timeMin: new Date(), timeMax: zoned };
const { events } = client.calendar("primary");
const clientOf = clients((accountId) => ({ token: String(accountId) }));
const messages = client.messages.list();
const range = events.range(window);
const anything = client.request("GET", "/v1/contacts");
const known = client.request<{ readonly a: 1 }>("GET", "/v1/contacts");

// Fields that nobody typed can be read, and values that the service has added be compared.
const message = await client.messages.get("m-1");
const { subject, ["addedLater"]: added } = message;
const { accessRole } = await client.calendars.get("primary");
export const isNew: boolean = accessRole === "addedLater";

export type Face = [
  Expect<Equal<typeof clientOf, (accountId: Id) => Client>>,
  Expect<Equal<typeof messages, Paged<Message>>>,
  Expect<Equal<typeof range, Paged<CalendarEvent>>>,
  Expect<Equal<typeof anything, Promise<unknown>>>,
  Expect<Equal<typeof known, Promise<{ readonly a: 1 }>>>,
  Expect<Equal<typeof subject, string | undefined>>,
  Expect<Equal<typeof added, unknown>>,
  Expect<Fits<NotFound, ServiceError>>,
  Expect<Fits<ServiceError, HooklineError>>,
];

// A token is a text, or a function that gives one, now or later.
createClient({ token: () => "t" });
createClient({ token: async () => "t", rateLimit: false, retry: { attempts: 2 } });
// @ts-expect-error -- it may be missing
createClient({ token: () => process.env["TOKEN"] });
// @ts-expect-error -- without a token
createClient({});
// @ts-expect-error -- no such option
createClient({ token: "t", timeout: 5 });

// @ts-expect-error -- an update needs the entity tag
await events.update("e-1", {});
// @ts-expect-error -- a range has two ends
events.range({ timeMin: new Date() });
// @ts-expect-error -- a search by iCal ids has a list
events.find({ iCalUId: "u" });
// @ts-expect-error -- the id of a subscription is a number
await client.subscriptions.get("1001");
// @ts-expect-error -- a walk begins at a token
client.messages.sync.updated({});

createSyncConfigClient({ baseUrl: "https://sync.example.com/v2", appId: "a", appSecret: "s", signedText: "literal" });
// @ts-expect-error -- a run says whether it is the initial one
await user.sync.start({});
// @ts-expect-error -- as a boolean, not as the text that is sent
await user.sync.start({ initial: "true" });
// @ts-expect-error -- a service has a type
await user.services.create({});
