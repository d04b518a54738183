// The mirror against the emulator, with kills and outages: `npm run example:mirror`.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import type { Clock } from "hookline";
import { createClient } from "hookline/client";
import { createEmulator } from "hookline/emulator";

const kills = Number(process.env["KILLS"] ?? 5);
const outages = Number(process.env["OUTAGES"] ?? 2);
const CHANGE_EVERY_MS = 15;
const FIRST_RECORDS = 60;
/** From the start of the app to its kill, at most. */
const LONGEST_LIFE_MS = 1_000;
const LONGEST_BOOT_MS = 600;
const OUTAGE_MS = 500;
const TOKEN_LIFE_MS = 1_800_000;
const DEADLINE_MS = 60_000;
const MAX_PRINTED = 10_000;
const RESOURCES = {
  mail: "/email/messages",
  events: "/calendars/primary/events",
  contacts: "/contacts",
  tasks: "/tasklists/default/tasks",
} as const;
const KINDS = Object.keys(RESOURCES) as Kind[];
type Kind = keyof typeof RESOURCES;

const folder = mkdtempSync(join(tmpdir(), "mail-mirror-"));
let app: ChildProcess | undefined;
let printed = "";
process.on("exit", () => {
  app?.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

// The service's time passes as it should but in outages: then hours pass. It begins some days ago, since a receiver takes no delivery of tomorrow.
let passed = -6 * 86_400_000;
const clock: Clock = {
  now: () => Date.now() + passed,
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return { clear: () => clearTimeout(timer) };
  },
};
const emulator = await createEmulator({ clock, pageSize: 5, deltaSync: { tokenLifeMs: TOKEN_LIFE_MS } });
const account = await emulator.account();
const client = createClient({ baseUrl: emulator.url, token: account.token, rateLimit: false });
const ids: Record<Kind, string[]> = { mail: [], events: [], contacts: [], tasks: [] };
let changes = 0;
for (let count = 0; count < FIRST_RECORDS; count += 1) await add(KINDS[count % KINDS.length] ?? "mail");

const port = await freePort();
await start();
for (const resource of Object.values(RESOURCES))
  await emulator.subscribe(account, resource, `http://127.0.0.1:${port}/webhooks`);
console.log(`The emulator is at ${emulator.url}, the app on port ${port}.`);

let [killed, down] = [0, 0];
while (killed < kills || down < outages) {
  const left = { kills: kills - killed, outages: outages - down };
  await (Math.random() * (left.kills + left.outages) < left.kills ? kill() : outage());
  await inStep();
}
console.log(
  `${kills} kills, ${outages} outages, ${changes} changes: the mirror equals the mailbox. Nothing is missing.`,
);
process.exit(0);

async function kill(): Promise<void> {
  await changeFor(Math.random() * LONGEST_LIFE_MS);
  await stop();
  killed += 1;
  const listens = start();
  if (Math.random() < 0.7 || killed === kills) return listens;
  // Killed once more before it listens, or just then.
  await changeFor(Math.random() * LONGEST_BOOT_MS);
  await stop();
  killed += 1;
  await listens;
  await start();
}

/** In turn: the app is down until its tokens have expired; the service has no access to the account, and announces nothing. */
async function outage(): Promise<void> {
  down += 1;
  if (down % 2 === 1) {
    await stop();
    await changeFor(OUTAGE_MS);
    passed += 2 * TOKEN_LIFE_MS;
    await start();
  } else {
    await account.expireCredentials();
    await changeFor(OUTAGE_MS);
    await account.restoreCredentials();
  }
}

async function start(): Promise<void> {
  const env = {
    ...process.env,
    SIGNING_SECRET: emulator.secret,
    API_URL: emulator.url,
    CALLS_PER_SECOND: "1000",
    ACCOUNTS: `${account.accountId}=${account.token}`,
    FOLDER: folder,
    PORT: String(port),
  };
  // Its log would hide the story.
  const child = fork(new URL("app.ts", import.meta.url), { env, stdio: ["ignore", "ignore", "pipe", "ipc"] });
  app = child;
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (printed = (printed + text).slice(-MAX_PRINTED)));
  const [first] = (await Promise.race([once(child, "message"), once(child, "exit")])) as [unknown];
  if (first === "listening" || child.killed) return;
  throw new Error(`The app ended by itself:\n${printed}`);
}

async function stop(): Promise<void> {
  const ended = app && once(app, "exit");
  app?.kill("SIGKILL");
  await ended;
}

async function changeFor(ms: number): Promise<void> {
  for (const end = performance.now() + ms; performance.now() < end;) {
    await change();
    await wait(CHANGE_EVERY_MS);
  }
}

/** One record more, one fewer, or another one: their number stays about the same. */
async function change(): Promise<void> {
  const kind = KINDS[Math.floor(Math.random() * KINDS.length)] ?? "mail";
  const known = ids[kind];
  const id = known[Math.floor(Math.random() * known.length)];
  const choice = Math.random();
  if (id === undefined || choice < 0.3) return add(kind);
  changes += 1;
  if (choice < 0.7) return account.update(RESOURCES[kind], id, { subject: `change ${changes}` });
  ids[kind] = known.filter((one) => one !== id);
  return account.remove(RESOURCES[kind], id);
}

async function add(kind: Kind): Promise<void> {
  changes += 1;
  const subject = `change ${changes}`;
  const { id } = await {
    mail: () => account.receiveMail({ subject }),
    events: () => account.addEvent({ subject, start: inHours(24), end: inHours(25) }),
    contacts: () => account.addContact({ subject }),
    tasks: () => account.addTask({ subject }),
  }[kind]();
  ids[kind].push(id);
}

function inHours(hours: number): object {
  return { dateTime: new Date(Date.now() + hours * 3_600_000).toISOString() };
}

/** What the mirror lacks, has too much, or has as it was. */
async function differences(): Promise<readonly string[]> {
  const db = new DatabaseSync(join(folder, "mirror.db"), { readOnly: true });
  const rows = db.prepare("SELECT id, json ->> 'subject' AS subject FROM record").all();
  db.close();
  const mirrored = new Map(rows.map(({ id, subject }) => [String(id), String(subject)]));
  const there = new Map<string, string>();
  for await (const { id, subject = "" } of client.messages.list({ includeTrashAndJunk: true })) there.set(id, subject);
  const year = { timeMin: new Date(Date.now() - 86_400_000), timeMax: new Date(Date.now() + 365 * 86_400_000) };
  for await (const { id, subject = "" } of client.calendar("primary").events.range(year)) there.set(id, subject);
  const { syncUpdatedToken: deltaToken } = await client.contacts.sync.start();
  for (const list of [client.tasks("default").list(), client.contacts.sync.updated({ deltaToken })])
    for await (const { id, subject } of list) there.set(id, String(subject));
  return [...new Set([...there.keys(), ...mirrored.keys()])]
    .filter((id) => there.get(id) !== mirrored.get(id))
    .map((id) => `${id}: "${mirrored.get(id)}" instead of "${there.get(id)}"`);
}

/** Waits until the mirror equals the mailbox. */
async function inStep(): Promise<void> {
  for (const end = performance.now() + DEADLINE_MS; ; await wait(20)) {
    const wrong = await differences();
    if (wrong.length === 0) return;
    if (performance.now() < end) continue;
    console.log(`After ${killed} kills and ${down} outages the mirror differs for ${DEADLINE_MS / 1_000} s:`);
    console.log(`${wrong.join("\n")}\nThe app: ${printed}`);
    process.exit(1);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port: free } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return free;
}
