import { assertOptions, kindOf, wholeNumber } from "../assert.ts";
import { systemClock } from "../clock.ts";
import { UsageError } from "../errors.ts";
import type { Id } from "../protocol/event-types.ts";
import { callFetch } from "./http/call-fetch.ts";
import { createTransport, type Credentials, type Send } from "./http/transport.ts";
import { SERVICE_URL, toBaseUrl } from "./http/url.ts";
import { readAnything, type Reader } from "./records/reader.ts";
import type { ConnectionOptions, RequestOptions } from "./request-options.ts";
import { createAvailability, type Availability } from "./unified/availability.ts";
import { createCalendar, type OneCalendar } from "./unified/calendar.ts";
import { createCalendars, type Calendars } from "./unified/calendars.ts";
import { createConversations, type Conversations } from "./unified/conversations.ts";
import { withParts } from "./unified/part.ts";
import { createMessages, type Messages } from "./unified/messages.ts";
import { createContacts, type Contacts } from "./unified/contacts.ts";
import { createSubscriptions, type Subscriptions } from "./unified/subscriptions.ts";
import { createTaskLists, createTasks, type TaskLists, type Tasks } from "./unified/tasks.ts";

/** Options of {@link createClient}. */
export interface ClientOptions extends ConnectionOptions {
  /** The account's token, or a function that is asked for it before each request. */
  token: string | (() => string | Promise<string>);
  /** @default "https://api.aurinko.io" */
  baseUrl?: string | URL | undefined;
  /**
   * How many requests of the account this process starts in a second; the others wait. False: no limit. There is none on Cloudflare
   * Workers, where requests cannot wait for each other.
   *
   * @default { perSecond: 10 }
   */
  rateLimit?: { perSecond: number } | false | undefined;
}

/** The unified API for one account. @see protocol 4.1 */
export interface Client extends Availability {
  readonly calendars: Calendars;
  /** One calendar. @param id `primary` is an alias */
  calendar(id: string): OneCalendar;
  readonly messages: Messages;
  readonly conversations: Conversations;
  readonly subscriptions: Subscriptions;
  readonly contacts: Contacts;
  readonly taskLists: TaskLists;
  /** Tasks of a list. @param listId `default` is an alias */
  tasks(listId: string): Tasks;
  /**
   * Calls what has no member of its own, and gives the JSON of the answer as it came. GET, HEAD, PUT and DELETE are repeated by themselves.
   *
   * @param path from the base URL on, such as `/v1/contacts`
   */
  request<T = unknown>(method: string, path: string, options?: AnyRequest): Promise<T>;
}

/** A request of any kind. */
export interface AnyRequest extends RequestOptions {
  /** Lists are repeated, undefined and null are left out. */
  query?: Record<string, unknown> | undefined;
  /** Sent as JSON. */
  body?: unknown;
  headers?: Record<string, string> | undefined;
}

/** What providers behind the service allow for a mailbox: Microsoft Graph, 10,000 requests in 10 minutes, 16.7 a second. */
const PER_SECOND = 10;

const ALLOWED: Readonly<Record<keyof ClientOptions, true>> = {
  token: true,
  baseUrl: true,
  rateLimit: true,
  fetch: true,
  clock: true,
  signal: true,
  timeoutMs: true,
  retry: true,
};

/**
 * Makes a client of the unified API for one account.
 *
 * @throws UsageError `option-invalid`
 * @example
 * const client = createClient({ token });
 * for await (const message of client.messages.list({ q: "from:grace@example.com" })) console.log(message.subject);
 */
export function createClient(options: ClientOptions): Client {
  assertOptions("createClient", options, ALLOWED);
  const { token, baseUrl = SERVICE_URL, rateLimit, fetch = callFetch, clock = systemClock, ...defaults } = options;
  if (typeof token !== "string" && typeof token !== "function")
    throw new UsageError(
      "option-invalid",
      `createClient got ${kindOf(token)} for token, expected a text or a function.`,
    );
  const send = createTransport({
    baseUrl: toBaseUrl("createClient", baseUrl),
    credentials: async () => toBearer(typeof token === "function" ? await token() : token),
    ofAccount: true,
    defaults,
    fetch,
    perSecond: toPerSecond(rateLimit),
    clock,
    random: Math.random,
  });
  const client: Client = {
    ...createAvailability(send),
    calendars: createCalendars(send),
    calendar: (id) => createCalendar(send, id),
    messages: createMessages(send),
    conversations: createConversations(send),
    subscriptions: createSubscriptions(send, defaults.timeoutMs),
    contacts: createContacts(send),
    taskLists: createTaskLists(send),
    tasks: (listId) => createTasks(send, listId),
    request: async (method, path, given) => requestAny(send, { ...given, method, path }),
  };
  return withParts(client, send);
}

/**
 * One client for each account, made when it is first asked for.
 *
 * @example
 * const clientOf = clients((accountId) => ({ token: () => tokenOf(accountId) }));
 * receiver.on("email.created", (event) => clientOf(event.accountId).messages.get(event.id));
 */
export function clients(optionsOf: (accountId: Id) => ClientOptions): (accountId: Id) => Client {
  const known = new Map<Id, Client>();
  return (accountId) => {
    let client = known.get(accountId);
    if (client === undefined) known.set(accountId, (client = createClient(optionsOf(accountId))));
    return client;
  };
}

function toPerSecond(rateLimit: ClientOptions["rateLimit"]): number {
  if (rateLimit === false) return Infinity;
  const value = rateLimit?.perSecond ?? PER_SECOND;
  return wholeNumber({ where: "createClient", name: "rateLimit.perSecond", value, least: 1 });
}

/** @throws UsageError `token-invalid`. The text stays out of it: `fetch` would show it. */
function toBearer(token: unknown): Credentials {
  if (typeof token === "string" && /^[\u0021-\u007e]+$/.test(token))
    return { authorization: `Bearer ${token}`, secret: token };
  throw new UsageError(
    "token-invalid",
    `The client's token is ${kindOf(token)}${typeof token === "string" && token !== "" ? " with a space or a control character" : ""}, expected one without spaces.`,
  );
}

/** A path may have ids and addresses: messages show its beginning alone. */
function requestAny<T>(send: Send, { method, path, query, body, headers, ...options }: PathRequest): Promise<T> {
  const [, start, rest] = /^(\/[^/?#{]*(?:\/[^/?#{]*)?)([^?#]*)$/.exec(path) ?? [];
  if (start === undefined || rest === undefined)
    throw new UsageError("option-invalid", 'request() got a path that does not begin with "/", or has a query.', {
      fix: "Give it a path such as /v1/contacts, and the query as `query`.",
    });
  const read = readAnything as Reader<T>; // the caller says what it is
  return send({ method, path: start, rest, query: query ?? {}, body, headers, read, options });
}

interface PathRequest extends AnyRequest {
  readonly method: string;
  readonly path: string;
}
