import type { Context } from "hono";
import { streamSSE } from "hono/streaming";
import * as z from "zod";
import type { Account } from "../accounts/account.ts";
import type { Fault } from "../deliveries/faults.ts";
import type { Attempt } from "../deliveries/journal.ts";
import { samplePayload } from "../deliveries/sample-payload.ts";
import type { EmulatedService } from "../emulated-service.ts";
import { stateOf } from "../subscriptions/subscription.ts";
import { ApiError, bodyOf, checked, type Route } from "./routes.ts";

/** Those who watch the journal. */
export type AttemptListeners = Set<(attempt: Attempt) => void>;

const RECORDS = z.array(z.looseObject({})).optional();
const FAULT = z.custom<Fault>();
const SCHEMAS = {
  account: z.strictObject({
    name: z.string().optional(),
    email: z.string().optional(),
    hasBodiesInLists: z.boolean().optional(),
    mail: RECORDS,
    events: RECORDS,
    calendars: z
      .array(z.strictObject({ name: z.string(), isShared: z.boolean().default(false), events: RECORDS.default([]) }))
      .optional(),
    contacts: RECORDS,
    tasks: RECORDS,
    taskLists: z.array(z.strictObject({ title: z.string(), tasks: RECORDS.default([]) })).optional(),
  }),
  mail: z.looseObject({}),
  change: z.strictObject({
    resource: z.string(),
    changeType: z.enum(["created", "updated", "deleted"]),
    id: z.string().optional(),
    fields: z.looseObject({}).optional(),
  }),
  credentials: z.strictObject({ valid: z.boolean() }),
  billing: z.strictObject({ paid: z.boolean() }),
  subscription: z.strictObject({
    accountId: z.number().int(),
    resource: z.string(),
    notificationUrl: z.string(),
    filters: z.array(z.string()).optional(),
    detailLevel: z.enum(["status", "signal"]).optional(),
  }),
  emit: z.strictObject({ payloads: z.array(z.looseObject({})).optional() }),
  fault: z.strictObject({ fault: z.union([z.null(), z.array(z.union([z.null(), FAULT])), FAULT]) }),
  open: z.strictObject({
    id: z.string(),
    location: z.string().optional(),
    userAgent: z.string().optional(),
    remoteAddr: z.string().optional(),
  }),
  answer: z.strictObject({
    method: z.string(),
    path: z.string(),
    answer: z
      .strictObject({
        status: z.number().optional(),
        json: z.json().optional(),
        headers: z.record(z.string(), z.string()).optional(),
      })
      .nullable(),
  }),
  advance: z.strictObject({ ms: z.number().min(0) }),
  nothing: z.strictObject({}),
  journal: z.strictObject({
    subscription: z.coerce.number().int().optional(),
    limit: z.coerce.number().int().min(1).max(10_000).default(100),
  }),
};

/** What a program in any language, and the page, tell the emulator to do. */
export function controlRoutes(service: EmulatedService, listeners: AttemptListeners): readonly Route[] {
  function accountOf(context: Context): Account {
    const account = service.accounts.get(Number(context.req.param("id")));
    if (account !== undefined) return account;
    const known = [...service.accounts.keys()].join(", ") || "none";
    throw new ApiError(
      404,
      "account-not-found",
      `There is no account ${context.req.param("id")}. There are: ${known}.`,
    );
  }

  const methodsOf = (context: Context) => service.methodsOf(accountOf(context));

  return [
    post("/emulator/accounts", async (context) => {
      const { accountId, token } = await service.account(await bodyOf(context, SCHEMAS.account));
      return { accountId, token };
    }),
    post("/emulator/accounts/:id/mail", async (context) =>
      methodsOf(context).receiveMail(await bodyOf(context, SCHEMAS.mail)),
    ),
    post("/emulator/accounts/:id/changes", async (context) => {
      const { mailbox } = accountOf(context);
      const { resource, changeType, id, fields = {} } = await bodyOf(context, SCHEMAS.change);
      const collection = mailbox.collection(resource);
      if (changeType === "created") return { id: mailbox.create(collection, fields).id };
      if (id === undefined)
        throw new ApiError(400, "badRequest", `The field "id" is missing: which record is ${changeType}?`);
      const record = changeType === "updated" ? mailbox.update(collection, id, fields) : mailbox.remove(collection, id);
      if (record === undefined) throw new ApiError(404, "record-not-found", `There is no record ${id} at ${resource}.`);
      return { id };
    }),
    post("/emulator/accounts/:id/credentials", async (context) => {
      const account = methodsOf(context);
      const { valid } = await bodyOf(context, SCHEMAS.credentials);
      await (valid ? account.restoreCredentials() : account.expireCredentials());
    }),
    post("/emulator/accounts/:id/billing", async (context) =>
      methodsOf(context).setPaid((await bodyOf(context, SCHEMAS.billing)).paid),
    ),
    post("/emulator/subscriptions", async (context) => {
      const { accountId, ...wanted } = await bodyOf(context, SCHEMAS.subscription);
      return { id: (await service.subscribe(accountId, wanted)).id };
    }),
    post("/emulator/subscriptions/:id/emit", async (context) => {
      const { payloads } = await bodyOf(context, SCHEMAS.emit);
      const subscription = service.subscriptions.get(subscriptionId(context));
      await service.emit(
        subscriptionId(context),
        payloads ?? (subscription === undefined ? [] : [samplePayload(subscription.resource, service)]),
      );
    }),
    post("/emulator/subscriptions/:id/fault", async (context) => {
      const { fault } = await bodyOf(context, SCHEMAS.fault);
      const given = Array.isArray(fault) ? fault.map((one) => one ?? undefined) : (fault ?? undefined);
      service.fault(subscriptionId(context), given);
    }),
    post("/emulator/open", async (context) => {
      const { id, ...by } = await bodyOf(context, SCHEMAS.open);
      await service.open({ id }, by);
    }),
    post("/emulator/answers", async (context) => {
      const { method, path, answer } = await bodyOf(context, SCHEMAS.answer);
      service.respond(method, path, answer ?? undefined);
    }),
    post("/emulator/sync/expire-tokens", async (context) => {
      await bodyOf(context, SCHEMAS.nothing);
      service.syncConfig.expireTokens();
    }),
    post("/emulator/clock/advance", async (context) => {
      await service.advance((await bodyOf(context, SCHEMAS.advance)).ms);
      return { now: new Date(service.clock.now()) };
    }),
    post("/emulator/settled", async (context) => {
      await bodyOf(context, SCHEMAS.nothing);
      await service.settled();
    }),
    post("/emulator/reset", async (context) => {
      await bodyOf(context, SCHEMAS.nothing);
      await service.reset();
    }),
    get("/emulator/state", () => ({
      now: new Date(service.clock.now()),
      isVirtual: service.isVirtual,
      secret: service.secret,
      attempts: service.attempts,
      accounts: [...service.accounts.values()].map(accountState),
      subscriptions: [...service.subscriptions.values()].map(stateOf),
    })),
    get("/emulator/journal", (context) => {
      const { subscription, limit } = checked(SCHEMAS.journal, context.req.query());
      const attempts = service.journal.filter(
        (attempt) => subscription === undefined || attempt.subscription === subscription,
      );
      return { attempts: attempts.slice(-limit), total: service.attempts };
    }),
    get("/emulator/live", (context) => streamSSE(context, (stream) => watch(stream, service, listeners))),
  ];
}

function accountState({ id, name, email, token, hasAccess }: Account) {
  return { accountId: id, name, email, token, hasAccess };
}

function subscriptionId(context: Context): number {
  return Number(context.req.param("id"));
}

/** What this needs of Hono's stream. */
interface EventStream {
  writeSSE(message: { readonly event: string; readonly data: string; readonly id?: string }): Promise<void>;
  onAbort(listener: () => void): void;
}

/** A browser that does not read: more attempts than these are not kept for it. */
const MAX_UNSENT = 1_000;

/** Writes each attempt with its number as the id, until the reader has gone. A number that is missing was not kept. */
async function watch(stream: EventStream, service: EmulatedService, listeners: AttemptListeners): Promise<void> {
  const unsent: { readonly number: number; readonly attempt: Attempt }[] = [];
  let wake: (() => void) | undefined;
  let isGone = false;
  const listener = (attempt: Attempt): void => {
    if (unsent.length < MAX_UNSENT) unsent.push({ number: service.attempts, attempt });
    wake?.();
  };
  listeners.add(listener);
  stream.onAbort(() => {
    isGone = true;
    wake?.();
  });
  await stream.writeSSE({ event: "open", data: "{}" });
  while (!isGone) {
    const next = unsent.shift();
    if (next !== undefined)
      await stream.writeSSE({ event: "attempt", id: String(next.number), data: JSON.stringify(next.attempt) });
    else await new Promise<void>((resolve) => (wake = resolve));
  }
  listeners.delete(listener);
}

function post(path: string, run: Route["run"]): Route {
  return { method: "POST", path, run };
}

function get(path: string, run: Route["run"]): Route {
  return { method: "GET", path, run };
}
