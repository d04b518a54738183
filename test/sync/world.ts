import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { createClient } from "hookline/client";
import type { EmulatedAccount, Emulator } from "hookline/emulator";
import { deltaSync, type ResourceSync, type SyncFamily, type TokenStore } from "hookline/sync";
import { DAY_MS } from "../emulator/support.ts";

/** What happens at some point of a sync. A change is one of the mailbox. */
export type Incident =
  | "fail"
  | "half"
  | "crash"
  | "lose-answer"
  | "refuse-page"
  | "refuse"
  | "expire"
  | Change
  | undefined;

/** Of a record: the nth of those that are there. `out` and `in` move an event across the end of the window. */
export interface Change {
  readonly change: "add" | "update" | "remove" | "out" | "in";
  readonly nth: number;
  /** When an added event is. @default 30 */
  readonly days?: number;
}

/** Where an incident may happen. */
export interface Point {
  readonly at: "request" | "apply" | "remove" | "save" | "saved";
  /** Of a request: the path and its query. */
  readonly url: string;
}

interface Copied {
  readonly id: string;
  readonly revision: number;
}

export const TOKEN_LIFE_MS = 3_600_000;

/** A mailbox or calendar, the copy of it, and what was wrong with the copy so far. */
export interface World {
  /** One change of the mailbox. */
  change(change: Change): Promise<void>;
  /** Lets all tokens expire. */
  expire(): Promise<void>;
  /** Syncs once. Without a process there is a new one. Gives its error. @param incidents at its points, in their order; or what happens at a point */
  sync(incidents?: readonly Incident[] | ((point: Point) => Incident)): Promise<unknown>;
  /** The process is gone, with what it had in memory. @param changed options of the next one */
  crash(changed?: Partial<WorldOptions>): Promise<void>;
  /** The copy with its revisions, and what it should be. */
  contents(): { readonly copy: object; readonly mailbox: object };
  /** Codes of `health()`. */
  problems(): Promise<readonly string[]>;
  /** Rules that were broken. */
  readonly wrong: readonly string[];
  readonly tokens: Map<string, string>;
  /** The calls of the service, such as `POST /v1/email/sync`, with `?deltaToken` or `?pageToken` where they have one. */
  readonly calls: string[];
}

export interface WorldOptions {
  readonly family: SyncFamily;
  readonly hasKnown: boolean;
  readonly window?: { daysPast: number; daysAhead?: number };
  readonly consumer?: string;
}

const RESOURCES = {
  email: "/email/messages",
  calendarEvent: "/calendars/primary/events",
  contact: "/contacts",
  task: "/tasklists/default/tasks",
} as const;

/** A world in an account of its own. */
export async function createWorld(emulator: Emulator, given: WorldOptions): Promise<World> {
  const { family } = given;
  let options = given;
  const account = await emulator.account();
  const mailbox = createMailbox(emulator, account, family);
  const copy = new Map<string, number>();
  const tokens = new Map<string, string>();
  const gone = new Set<string>();
  const wrong: string[] = [];
  const calls: string[] = [];
  let process: Process | undefined;

  function apply({ id, revision }: Copied): void {
    if (revision < (copy.get(id) ?? 0)) wrong.push(`${id} went back to ${revision}`);
    // A record that was removed never comes back; an event may come back into the window.
    if (family !== "calendarEvent" && gone.has(id)) wrong.push(`${id} was applied after its removal`);
    copy.set(id, revision);
  }

  function remove(id: string): void {
    if (family !== "calendarEvent" && mailbox.live.has(id)) wrong.push(`${id} was removed while it is there`);
    copy.delete(id);
    gone.add(id);
  }

  async function startProcess(): Promise<Process> {
    let isDead = false;
    let next: (point: Point) => Incident = () => undefined;

    async function happen(point: Point["at"], url = ""): Promise<Incident> {
      if (isDead) throw new Error("The process is dead.");
      const incident = next({ at: point, url });
      if (typeof incident === "object") await mailbox.change(incident);
      if (incident === "expire") await emulator.advance(TOKEN_LIFE_MS + 1);
      if (incident === "crash") {
        isDead = true;
        throw new Error(`The process dies at ${point}.`);
      }
      const isLost = incident === "lose-answer" && point !== "request";
      const isRefused =
        (incident === "refuse-page" && !url.includes("pageToken=")) ||
        (incident === "refuse" && !url.includes("Token="));
      if (incident === "fail" || isLost || isRefused) throw new Error(`It fails at ${point}.`);
      return incident;
    }

    const store: TokenStore = {
      get: async (key) => tokens.get(key),
      async set(key, token) {
        await happen("save");
        if (token !== undefined) tokens.set(key, token);
        await happen("saved");
      },
    };
    const fetchWithIncidents = async (input: unknown, init?: RequestInit): Promise<Response> => {
      const url = String(input);
      const { pathname, search } = new URL(url);
      calls.push(`${init?.method} ${pathname}${/\?(?:delta|page)Token/.exec(search)?.[0] ?? ""}`);
      const incident = await happen("request", url);
      if (incident === "refuse-page") return Response.json({ code: "token.notValid" }, { status: 400 });
      if (incident === "refuse") return Response.json({ code: "token.expired" }, { status: 410 });
      const answer = await fetch(url, init);
      if (incident === "lose-answer") throw new Error("The connection is cut.");
      return answer;
    };
    const client = createClient({
      baseUrl: emulator.url,
      token: account.token,
      fetch: fetchWithIncidents,
      retry: false,
      rateLimit: false,
    });
    const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), clock: emulator.clock, log: false });
    const sync = deltaSync(receiver, family, {
      client: () => client,
      tokens: store,
      async apply(records: readonly { readonly id: string; readonly [field: string]: unknown }[]) {
        const isHalf = (await happen("apply")) === "half";
        const applied = isHalf ? records.slice(0, records.length / 2) : records;
        for (const { id, revision } of applied) apply({ id, revision: Number(revision) });
        if (isHalf) throw new Error("It fails in the middle of a page.");
      },
      async remove(ids) {
        const isHalf = (await happen("remove")) === "half";
        for (const id of isHalf ? ids.slice(0, ids.length / 2) : ids) remove(id);
        if (isHalf) throw new Error("It fails in the middle of a page.");
      },
      ...(options.hasKnown && { known: () => [...copy.keys()] }),
      window: options.window,
      consumer: options.consumer,
    });
    await receiver.start();
    return {
      receiver,
      sync,
      meet: (incidents) => (next = incidents),
      get isDead() {
        return isDead;
      },
    };
  }

  async function crash(changed: Partial<WorldOptions> = {}): Promise<void> {
    options = { ...options, ...changed };
    await process?.receiver.close();
    process = undefined;
  }

  return {
    change: mailbox.change,
    expire: () => emulator.advance(TOKEN_LIFE_MS + 1),
    async sync(incidents = []) {
      process ??= await startProcess();
      const list = typeof incidents === "function" ? [] : [...incidents];
      process.meet(typeof incidents === "function" ? incidents : () => list.shift());
      const error: unknown = await process.sync.run(account.accountId).catch((thrown: unknown) => thrown);
      if (process.isDead) await crash();
      return error;
    },
    crash,
    contents: () => ({ copy: sorted(copy), mailbox: sorted(mailbox.live) }),
    problems: async () => (await process?.receiver.health())?.problems.map(({ code }) => code) ?? [],
    wrong,
    tokens,
    calls,
  };
}

interface Process {
  readonly receiver: Receiver;
  readonly sync: ResourceSync;
  readonly meet: (incidents: (point: Point) => Incident) => void;
  readonly isDead: boolean;
}

/** The account's records of one resource. */
function createMailbox(emulator: Emulator, account: EmulatedAccount, family: SyncFamily) {
  const resource = RESOURCES[family];
  /** Those inside the window, by id. */
  const live = new Map<string, number>();
  const outside = new Set<string>();
  let revision = 0;

  const at = (days: number): object => {
    const time = (hours: number): object => ({
      dateTime: new Date(emulator.clock.now() + days * DAY_MS + hours * 3_600_000).toISOString(),
    });
    return { start: time(0), end: time(1) };
  };
  const [inside, beyond] = [at(30), at(2_000)];

  async function update(id: string, fields: object): Promise<void> {
    revision += 1;
    await account.update(resource, id, { ...fields, revision });
  }

  function addTo(record: object): Promise<{ readonly id: string }> {
    if (family === "email") return account.receiveMail(record);
    if (family === "contact") return account.addContact(record);
    return family === "task" ? account.addTask(record) : account.addEvent(record);
  }

  async function change({ change: kind, nth, days }: Change): Promise<void> {
    const pool = [...(kind === "in" ? outside : live.keys())];
    const id = pool[nth % Math.max(pool.length, 1)];
    if (kind === "add" || id === undefined) {
      const record = {
        revision: (revision += 1),
        ...(family === "calendarEvent" && (days === undefined ? inside : at(days))),
      };
      const added = await addTo(record);
      live.set(added.id, revision);
    } else if (kind === "remove") {
      live.delete(id);
      await account.remove(resource, id);
    } else if (kind === "out" && family === "calendarEvent") {
      live.delete(id);
      outside.add(id);
      await update(id, beyond);
    } else {
      outside.delete(id);
      await update(id, kind === "in" ? inside : {});
      live.set(id, revision);
    }
  }

  return { live, change };
}

function sorted(map: ReadonlyMap<string, number>): object {
  return Object.fromEntries([...map].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
