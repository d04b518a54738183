import { Validator } from "@seriousme/openapi-schema-validator";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { createEmulator, type EmulatedAccount, type Emulator } from "../../../src/emulator.ts";
import { FURTHER_ROWS, UNIFIED_ROWS } from "../../client/protocol-table.ts";
import { SYNC_CONFIG_ROWS, UPDATE_ROWS } from "../../client/sync-config-table.ts";
import { call, startEmulator } from "../support.ts";
import { signUpOf } from "../sync-config/sign-up.ts";

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>;
}

type Content = Readonly<Record<"application/json", { readonly schema: Schema }>>;
type Schema = Readonly<Record<string, unknown>>;

async function documentOf(emulator: Emulator) {
  return (await (await fetch(`${emulator.url}/openapi.json`)).json()) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "method" | "path">>>>>;
  };
}

async function operationsOf(emulator: Emulator): Promise<readonly Operation[]> {
  const { paths } = await documentOf(emulator);
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      Object.assign({ method: method.toUpperCase(), path }, operation),
    ),
  );
}

test("GET /openapi.json is an OpenAPI document", async () => {
  const emulator = await startEmulator();
  expect(await new Validator().validate(await documentOf(emulator))).toMatchObject({ valid: true });
});

describe("the document has every row of the service's description", () => {
  test.each([...UNIFIED_ROWS, ...FURTHER_ROWS])(
    "$method $path",
    async ({ method, path, query = [], body = [], success, errors = [] }) => {
      const emulator = await startEmulator();
      const named = (text: string) => text.replaceAll(/\{\w+\}/g, "{}");
      const operation = (await operationsOf(emulator)).find(
        (one) => one.method === method && named(one.path) === named(path),
      );
      const parameters = operation?.parameters.filter((one) => one.in === "query").map(({ name }) => name);
      expect(parameters).toEqual(expect.arrayContaining([...query]));
      const fields = operation?.requestBody?.content["application/json"].schema["properties"] as object | undefined;
      expect(Object.keys(fields ?? {})).toEqual(expect.arrayContaining([...body]));
      expect(Object.keys(operation?.responses ?? {})).toEqual(
        expect.arrayContaining([success, 401, ...errors].map(String)),
      );
    },
  );
});

test("the document has every operation of the sync-configuration API", async () => {
  const found = (await operationsOf(await startEmulator())).map(({ method, path }) => `${method} ${path}`);
  const wanted = [...SYNC_CONFIG_ROWS, ...UPDATE_ROWS].map(({ method, path }) => `${method} /v2${path}`);
  expect(found).toEqual(expect.arrayContaining(wanted));
});

/** Texts that programs get wrong. */
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    "",
    "primary",
    "null",
    "-1",
    "2026-13-45T99:99:99Z",
    "2026-03-29T02:30:00+02:00",
    "😀",
    "../..",
    "%00",
  ),
);

/** What a schema allows, as far as this looks at it, and now and then something else. */
function valueOf(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 40, arbitrary: allowedBy(schema, depth) }, { weight: 1, arbitrary: fc.jsonValue() });
}

function allowedBy(schema: Schema, depth: number): fc.Arbitrary<unknown> {
  const { type, anyOf, properties, items } = schema;
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as readonly unknown[]));
  if ("const" in schema) return fc.constant(schema["const"]);
  if (Array.isArray(anyOf)) return fc.oneof(...(anyOf as readonly Schema[]).map((one) => valueOf(one, depth + 1)));
  if (type === "array" && depth < 6) return fc.array(valueOf((items ?? {}) as Schema, depth + 1), { maxLength: 3 });
  if (type === "object" && depth < 6) {
    const fields = Object.entries((properties ?? {}) as Readonly<Record<string, Schema>>);
    const model = Object.fromEntries(fields.map(([name, field]) => [name, valueOf(field, depth + 1)]));
    const requiredKeys = (schema["required"] ?? []) as readonly string[];
    return fc.record(model, { requiredKeys: requiredKeys.filter((key) => key in model) });
  }
  if (type === "integer" || type === "number") return fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.nat(100));
  if (type === "boolean") return fc.boolean();
  if (schema["format"] === "date-time") return fc.oneof(time, text);
  return type === "string" ? text : fc.jsonValue();
}

const time = fc
  .tuple(fc.date({ min: new Date("2025-01-01"), max: new Date("2027-12-31"), noInvalidDate: true }), fc.boolean())
  .map(([date, hasOffset]) => (hasOffset ? date.toISOString() : date.toISOString().slice(0, -1)));

interface Call {
  readonly operation: Operation;
  readonly path: string;
  readonly body: string | undefined;
}

/** A call of an operation. @param ids of records that are there */
function callOf(operation: Operation, ids: readonly string[]): fc.Arbitrary<Call> {
  const id = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...ids) }, { weight: 1, arbitrary: text });
  const inUrl = operation.parameters.filter((one) => one.in !== "header");
  const parameters = fc.record(
    Object.fromEntries(inUrl.map((one) => [`${one.in} ${one.name}`, one.in === "path" ? id : valueOf(one.schema)])),
    { requiredKeys: inUrl.flatMap((one) => (one.in === "path" ? [`path ${one.name}`] : [])) },
  );
  const schema = operation.requestBody?.content["application/json"].schema;
  const body =
    schema === undefined
      ? fc.constant(undefined)
      : fc.oneof({ weight: 9, arbitrary: valueOf(schema).map(toJson) }, { weight: 1, arbitrary: text });
  return fc.tuple(parameters, body).map(([given, sent]) => {
    const query = new URLSearchParams();
    let path = operation.path;
    for (const [key, value] of Object.entries(given)) {
      const [place, name = ""] = key.split(" ");
      if (place === "path") path = path.replace(`{${name}}`, () => encodeURIComponent(String(value)));
      else for (const one of Array.isArray(value) ? (value as unknown[]) : [value]) query.append(name, toText(one));
    }
    return { operation, path: `${path}?${query.toString()}`, body: sent };
  });
}

function toJson(value: unknown): string {
  return JSON.stringify(value);
}

function toText(value: unknown): string {
  return typeof value === "string" ? value : toJson(value);
}

const ERROR = z.object({ code: z.string().min(1), message: z.string().min(1), requestId: z.string().min(1) });

test(
  "no request that the document allows, or nearly, is answered by a 5xx, and answers are as the document says",
  { timeout: 180_000 },
  async () => {
    const emulator = await createEmulator({ clock: "virtual", pageSize: 2 });
    try {
      let account = await emulator.account();
      const seen = new Map<number, number>();
      const operations = await operationsOf(emulator);
      const answers = new Map(operations.map((operation) => [operation, answerOf(operation)]));
      const ids = ["primary", "default", "1001", "CALENDAR", await seedMail(account), await seedEvent(account)];
      const to = [{ address: "ada@example.com" }];
      const draft = await call(emulator, "POST /v1/email/drafts", { token: account.token, body: { to } });
      await call(emulator, "POST /v1/email/messages", { token: account.token, body: { to, tracking: {} } });
      ids.push(String(draft.json["id"]), "f-inbox", "3001", "1", "2001");
      ids.push(...(await seedBookings(emulator, account)));
      const signedUp = await call(emulator, "POST /v2/signup", { body: signUpOf(emulator) });
      const user = signedUp.json["accessToken"] as string;
      const property = fc.asyncProperty(
        fc.constantFrom(...operations).chain((one) => callOf(one, ids)),
        check,
      );
      await fc.assert(property, { numRuns: 2_000 });
      // Otherwise nothing is shown: most requests were refused.
      expect(seen.get(200) ?? 0).toBeGreaterThan(100);
      expect(seen.get(400) ?? 0).toBeGreaterThan(100);

      function authorizationFor(path: string): string {
        if (path.startsWith("/v2")) return `Basic ${btoa(`${user}:X`)}`;
        const isOfApplication = /^\/v1\/(?:am|auth\/token|book\/group)\//.test(path);
        return isOfApplication ? ofApplication(emulator) : `Bearer ${account.token}`;
      }

      async function check({ operation, path, body }: Call): Promise<void> {
        const response = await fetch(emulator.url + path, {
          method: operation.method,
          redirect: "manual",
          headers: {
            Authorization: authorizationFor(path),
            "If-Match": '"x"',
            ...(body !== undefined && { "Content-Type": "application/json" }),
          },
          ...(body !== undefined && { body }),
        });
        const answered = await response.text();
        seen.set(response.status, (seen.get(response.status) ?? 0) + 1);
        expect(response.status, answered).toBeLessThan(500);
        // The account is gone, or its token is.
        if (operation.method === "DELETE" && /^\/v1\/(?:account|am)/.test(path)) account = await emulator.account();
        if (response.status >= 400) return void ERROR.parse(JSON.parse(answered));
        expect(Object.keys(operation.responses)).toContain(String(response.status));
        const schema = answers.get(operation);
        if (schema !== undefined) schema.parse(JSON.parse(answered));
      }
    } finally {
      await emulator.close();
    }
  },
);

/** The id of a message with an attachment. */
async function seedMail(account: EmulatedAccount): Promise<string> {
  return (await account.receiveMail({ attachments: [{ content: "AAEC" }] })).id;
}

async function seedEvent(account: { addEvent(event: object): Promise<{ readonly id: string }> }): Promise<string> {
  const { id } = await account.addEvent({
    start: { dateTime: "2026-01-20T09:00:00Z" },
    end: { dateTime: "2026-01-20T10:00:00Z" },
  });
  return id;
}

function ofApplication({ appId, appSecret }: Emulator): string {
  return `Basic ${btoa(`${appId}:${appSecret}`)}`;
}

/** Ids of a profile of each kind, with a reservation, and the parts of a form's path. */
async function seedBookings(emulator: Emulator, { token, accountId }: EmulatedAccount): Promise<readonly string[]> {
  const headers = { Authorization: ofApplication(emulator) };
  const accountIds = [accountId];
  await call(emulator, "POST /v1/book/account/profiles", { token, body: { name: "intro" } });
  await call(emulator, "POST /v1/book/group/profiles", { headers, body: {} });
  await call(emulator, "POST /v1/book/group/profiles/4002/attachAccounts", { headers, body: { accountIds } });
  const reserve = "POST /v1/book/account/profiles/4001/meeting?reserveForMinutes=500000";
  await call(emulator, reserve, { token, body: { time: { start: "2026-01-05T09:00:00Z" } } });
  return ["4001", "4002", "5001", emulator.appId, "intro"];
}

function answerOf({ responses }: Operation): z.ZodType | undefined {
  const content = (responses["200"] ?? responses["201"])?.content;
  return content && z.fromJSONSchema(content["application/json"].schema);
}
