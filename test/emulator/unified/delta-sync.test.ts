import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createEmulator, type EmulatedAccount, type Emulator, type EmulatorOptions } from "../../../src/emulator.ts";
import { call, DAY_MS, startEmulator } from "../support.ts";

const WINDOW = "timeMin=2026-01-01T00:00:00Z&timeMax=2026-02-01T00:00:00Z";
const inJanuary = { start: { dateTime: "2026-01-20T09:00:00Z" }, end: { dateTime: "2026-01-20T10:00:00Z" } };
const inMarch = { start: { dateTime: "2026-03-20T09:00:00Z" }, end: { dateTime: "2026-03-20T10:00:00Z" } };

interface Row {
  readonly resource: string;
  readonly root: string;
  readonly query: string;
  readonly add: (account: EmulatedAccount) => Promise<{ readonly id: string }>;
  /** Fields of a record inside the window, and of one outside: where a record can move. */
  readonly moves?: { readonly inside: object; readonly outside: object };
}

const ROWS: readonly Row[] = [
  {
    resource: "/email/messages",
    root: "/v1/email/sync",
    query: "daysWithin=7",
    add: (account) => account.receiveMail(),
  },
  {
    resource: "/calendars/primary/events",
    root: "/v1/calendars/primary/sync",
    query: WINDOW,
    add: (account) => account.addEvent(inJanuary),
    moves: { inside: inJanuary, outside: inMarch },
  },
  { resource: "/contacts", root: "/v1/contacts/sync", query: "", add: (account) => account.addContact() },
  {
    resource: "/tasklists/default/tasks",
    root: "/v1/tasklists/default/sync",
    query: "skipCompletedBeforeDate=2026-01-01T00:00:00Z",
    add: (account) => account.addTask(),
    moves: { inside: { completed: undefined }, outside: { completed: "2025-12-31T10:00:00Z" } },
  },
];

async function startMailbox(options: EmulatorOptions = {}) {
  const emulator = await startEmulator(options);
  const account = await emulator.account();
  return { emulator, account, ask: (line: string) => call(emulator, line, { token: account.token }) };
}

type Ask = (line: string) => ReturnType<typeof call>;

/** All pages from a token: the ids, and the token of the next walk. */
async function walk(ask: Ask, path: string, deltaToken: unknown) {
  const ids: string[] = [];
  let query = `deltaToken=${String(deltaToken)}`;
  for (;;) {
    const { status, json } = await ask(`GET ${path}?${query}`);
    expect(status).toBe(200);
    ids.push(...(json["records"] as readonly { readonly id: string }[]).map(({ id }) => id));
    if (json["nextPageToken"] === undefined) return { ids, next: json["nextDeltaToken"] };
    expect(json).not.toHaveProperty("nextDeltaToken");
    query = `pageToken=${json["nextPageToken"] as string}`;
  }
}

describe.each(ROWS)("delta sync at $root", ({ resource, root, query, add }) => {
  test(`POST ${root} gives two tokens as soon as the service is ready`, async () => {
    const { emulator, ask } = await startMailbox({ deltaSync: { readyAfterMs: 5_000 } });
    const start = () => ask(`POST ${root}?${query}`);
    expect(await start()).toMatchObject({ status: 200, json: { ready: false } });
    await emulator.advance(5_000);
    const { json } = await start();
    expect(json).toMatchObject({ ready: true });
    expect(json["syncUpdatedToken"]).not.toBe(json["syncDeletedToken"]);
    expect(await call(emulator, `POST ${root}?${query}`)).toMatchObject({ status: 401 });
  });

  test(`GET ${root}/updated and ${root}/deleted tell everything once, in pages, with changes in between`, async () => {
    const { account, ask } = await startMailbox({ pageSize: 2 });
    const ids: string[] = [];
    for (let count = 0; count < 5; count += 1) ids.push((await add(account)).id);
    const { json } = await ask(`POST ${root}?${query}`);
    const first = await ask(`GET ${root}/updated?deltaToken=${String(json["syncUpdatedToken"])}`);
    expect(first.json).toMatchObject({ length: 2, records: [{ id: ids[0] }, { id: ids[1] }] });
    await account.remove(resource, ids[4] ?? "");
    await account.update(resource, ids[0] ?? "", { subject: "new" });
    const second = await ask(`GET ${root}/updated?pageToken=${String(first.json["nextPageToken"])}`);
    expect(second.json).toMatchObject({ records: [{ id: ids[2] }, { id: ids[3] }] });
    expect(second.json).not.toHaveProperty("nextPageToken");

    const updated = await walk(ask, `${root}/updated`, second.json["nextDeltaToken"]);
    expect(updated.ids).toEqual([ids[0]]);
    expect((await walk(ask, `${root}/updated`, updated.next)).ids).toEqual([]);
    const deleted = await walk(ask, `${root}/deleted`, json["syncDeletedToken"]);
    expect(deleted.ids).toEqual([ids[4]]);
    expect((await walk(ask, `${root}/deleted`, deleted.next)).ids).toEqual([]);
  });

  test("410 when a token has expired, and a new start goes on", async () => {
    const { emulator, account, ask } = await startMailbox({ deltaSync: { tokenLifeMs: DAY_MS } });
    await add(account);
    const { json } = await ask(`POST ${root}?${query}`);
    await emulator.advance(DAY_MS);
    const updated = await walk(ask, `${root}/updated`, json["syncUpdatedToken"]);
    await emulator.advance(1);
    for (const [chain, token] of [
      ["updated", json["syncUpdatedToken"]],
      ["deleted", json["syncDeletedToken"]],
    ])
      expect(await ask(`GET ${root}/${String(chain)}?deltaToken=${String(token)}`)).toMatchObject({
        status: 410,
        json: { code: "token.expired" },
      });
    expect((await walk(ask, `${root}/updated`, updated.next)).ids).toEqual([]);
    const again = await ask(`POST ${root}?${query}`);
    expect((await walk(ask, `${root}/updated`, again.json["syncUpdatedToken"])).ids).toHaveLength(1);
  });

  test("400 for a token that is none, of another chain, or of another account", async () => {
    const { emulator, ask } = await startMailbox();
    const other = await emulator.account();
    const { json } = await ask(`POST ${root}?${query}`);
    const foreign = await call(emulator, `POST ${root}?${query}`, { token: other.token });
    for (const token of ["x", "", json["syncDeletedToken"], foreign.json["syncUpdatedToken"]]) {
      const answer = await ask(`GET ${root}/updated?deltaToken=${String(token)}`);
      expect(answer).toMatchObject({ status: 400 });
      expect(answer.json["code"]).toBe(token === "" ? "badRequest" : "token.notValid");
    }
    const asPage = await ask(`GET ${root}/updated?pageToken=${String(json["syncUpdatedToken"])}`);
    expect(asPage).toMatchObject({ status: 400, json: { code: "token.notValid" } });
    expect((await ask(`GET ${root}/updated`)).json["message"]).toContain('"deltaToken"');
  });
});

test("messages are those of the last days, with bodies as asked for at the start", async () => {
  const { emulator, account, ask } = await startMailbox();
  await account.receiveMail({ body: "<p>Old</p>" });
  await emulator.advance(2 * DAY_MS);
  const { id } = await account.receiveMail({ body: "<p>New</p>", internetMessageId: "<1@example.com>" });
  const { json } = await ask("POST /v1/email/sync?daysWithin=1&bodyType=text");
  const page = await ask(`GET /v1/email/sync/updated?deltaToken=${String(json["syncUpdatedToken"])}`);
  expect(page.json["records"]).toMatchObject([{ id, body: "New" }]);
  await account.remove("/email/messages", id);
  const deleted = await ask(`GET /v1/email/sync/deleted?deltaToken=${String(json["syncDeletedToken"])}`);
  expect(deleted.json["records"]).toEqual([
    { id, internetMessageId: "<1@example.com>", folderId: "f-inbox", timestamp: "2026-01-04T03:04:05.000Z" },
  ]);
  expect((await ask("POST /v1/email/sync?daysWithin=week")).json["message"]).toContain('"daysWithin"');
});

test("an event that leaves the window is told as deleted, and as updated when it is back", async () => {
  const { account, ask } = await startMailbox();
  const root = "/v1/calendars/primary/sync";
  const { id } = await account.addEvent(inJanuary);
  const { json } = await ask(`POST ${root}?${WINDOW}`);
  const first = await walk(ask, `${root}/updated`, json["syncUpdatedToken"]);
  await account.update("/calendars/primary/events", id, inMarch);
  const deleted = await walk(ask, `${root}/deleted`, json["syncDeletedToken"]);
  expect(deleted.ids).toEqual([id]);
  await account.update("/calendars/primary/events", id, inJanuary);
  expect((await walk(ask, `${root}/deleted`, deleted.next)).ids).toEqual([]);
  expect((await walk(ask, `${root}/updated`, first.next)).ids).toEqual([id]);
  for (const query of ["", "?timeMin=2026-01-01T00:00:00Z", WINDOW.replaceAll("Z", "")])
    expect((await ask(`POST ${root}?${query}`)).json["message"]).toMatch(/"time(Min|Max)"/);
  expect(await ask(`POST /v1/calendars/none/sync?${WINDOW}`)).toMatchObject({ status: 404 });
});

type Edit = { readonly kind: "add" } | { readonly kind: "update" | "remove" | "move"; readonly which: number };
type Step = Edit | { readonly kind: "expire" } | { readonly kind: "walk"; readonly meanwhile: readonly Edit[] };

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.constant<Edit>({ kind: "add" }),
  fc.record({ kind: fc.constantFrom("update", "remove", "move"), which: fc.nat(20) }) as fc.Arbitrary<Edit>,
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 8, arbitrary: edit },
  { weight: 4, arbitrary: fc.array(edit, { maxLength: 4 }).map((meanwhile): Step => ({ kind: "walk", meanwhile })) },
  { weight: 1, arbitrary: fc.constant<Step>({ kind: "expire" }) },
);

/** Follows both chains as a client should: tokens are saved when the pages behind them are applied. */
function createFollower(ask: Ask, { root, query }: Row) {
  const copy = new Map<string, unknown>();
  let afterPage = async (): Promise<void> => {};
  let tokens: { updated: unknown; deleted: unknown } | undefined;

  async function follow(chain: "updated" | "deleted", apply: (record: { id: string; subject?: unknown }) => void) {
    let line = `deltaToken=${String(tokens?.[chain])}`;
    for (;;) {
      await ask(`GET ${root}/${chain}?${line}`); // the answer is lost on the way: the page is asked for again
      const { status, json } = await ask(`GET ${root}/${chain}?${line}`);
      if (status === 410) return false;
      for (const record of json["records"] as readonly { id: string }[]) apply(record);
      if (tokens !== undefined && json["nextDeltaToken"] !== undefined) tokens[chain] = json["nextDeltaToken"];
      await afterPage();
      if (json["nextPageToken"] === undefined) return true;
      line = `pageToken=${json["nextPageToken"] as string}`;
    }
  }

  async function walkOnce(): Promise<void> {
    const listed = tokens === undefined ? new Set<string>() : undefined;
    if (tokens === undefined) {
      const { json } = await ask(`POST ${root}?${query}`);
      tokens = { updated: json["syncUpdatedToken"], deleted: json["syncDeletedToken"] };
    }
    const isDone =
      (await follow("updated", ({ id, subject }) => {
        listed?.add(id);
        copy.set(id, subject);
      })) && (await follow("deleted", ({ id }) => copy.delete(id)));
    if (!isDone) {
      tokens = undefined;
      return walkOnce();
    }
    if (listed !== undefined) for (const id of copy.keys()) if (!listed.has(id)) copy.delete(id);
    return undefined;
  }

  return {
    copy,
    walk(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
      afterPage = meanwhile;
      return walkOnce();
    },
  };
}

describe.each(ROWS)("a client that follows both chains of $root", (row) => {
  test("ends with exactly what is in the window, whatever happens in between", async () => {
    const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.integer({ min: 1, max: 4 }), check);
    await fc.assert(property, { numRuns: 25 });
  });

  async function check(steps: readonly Step[], pageSize: number): Promise<void> {
    const emulator = await createEmulator({ clock: "virtual", pageSize, deltaSync: { tokenLifeMs: 60_000 } });
    try {
      const account = await emulator.account();
      const follower = createFollower((line) => call(emulator, line, { token: account.token }), row);
      const mailbox = await play(emulator, account, { row, steps, walk: follower.walk });
      await follower.walk();
      expect(follower.copy).toEqual(mailbox);
    } finally {
      await emulator.close();
    }
  }
});

interface Play {
  readonly row: Row;
  readonly steps: readonly Step[];
  /** @param meanwhile called after each page */
  readonly walk: (meanwhile: () => Promise<void>) => Promise<void>;
}

/** Plays the steps. Gives what is in the window at the end: subjects by id. */
async function play(emulator: Emulator, account: EmulatedAccount, { row, steps, walk: follow }: Play) {
  const inside = new Map<string, unknown>();
  const all: string[] = [];
  let subjects = 0;
  const { inside: back = {}, outside } = row.moves ?? {};
  for (const one of steps) {
    if (one.kind === "walk") {
      const edits = [...one.meanwhile];
      await follow(async () => {
        const next = edits.shift();
        if (next !== undefined) await apply(next);
      });
    } else if (one.kind === "expire") await emulator.advance(60_001);
    else await apply(one);
  }
  return inside;

  async function apply(one: Edit): Promise<void> {
    if (one.kind === "add") {
      const { id } = await row.add(account);
      all.push(id);
      return change(id, {});
    }
    const id = all[one.which % Math.max(all.length, 1)];
    if (id === undefined) return;
    if (one.kind === "remove") {
      await account.remove(row.resource, id);
      all.splice(all.indexOf(id), 1);
      inside.delete(id);
    } else if (one.kind === "move" && outside !== undefined) {
      await account.update(row.resource, id, outside);
      inside.delete(id);
    } else await change(id, back);
  }

  async function change(id: string, fields: object): Promise<void> {
    const subject = `subject ${(subjects += 1)}`;
    await account.update(row.resource, id, { ...fields, subject });
    inside.set(id, subject);
  }
}
