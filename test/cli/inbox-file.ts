import { createReceiver, type Clock, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { runCli, type Run, type RunOptions } from "./in-process.ts";

/** A path in a folder that goes with the test. */
export function inboxPath(ended: (clean: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  ended(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "inbox.db");
}

/** What works on a file: its handler of e-mail fails where the id says `bad`. @param clock by default one whose time stands still */
export function shop(file: string, clock: Clock = still): Receiver<"disk"> {
  const receiver = createReceiver({
    secret: SECRET,
    name: "shop",
    inbox: sqliteInbox(file),
    clock,
    log: false,
    storeTimeoutMs: 60_000,
    attempts: 1,
  });
  receiver.on("email", ({ id }) => {
    if (id.startsWith("bad")) throw new TypeError(`no ${id} for ann@example.com`);
  });
  // Other changes of contacts are skipped, which costs next to nothing.
  receiver.on("contact.created", () => {});
  return receiver;
}

/** The time of every file here. */
const AT = new Date("2026-05-06T07:08:09Z");
/** Its timers run: nothing waits for a test. */
const still: Clock = { ...systemClock, now: () => AT.getTime() };
const SECRET = "a secret of these tests";

/** A file that a receiver named `shop` has worked on: received at 2026-05-06T07:08:09Z. */
export async function fileWith(bodies: readonly string[], file: string = inboxPath()): Promise<string> {
  const receiver = shop(file);
  await receiver.start();
  await receiver.idle(); // what is received while it still starts gets other ids
  await offer(receiver, bodies);
  await receiver.idle();
  await receiver.close();
  return file;
}

/** A file with these subscriptions unwanted, each for its reason, from now on. */
export async function fileWithTombstones(
  ...stones: readonly (readonly [id: number, reason: string, source?: string])[]
) {
  const file = inboxPath();
  const receiver = shop(file, systemClock);
  for (const [id, reason, source] of stones)
    await receiver.unsubscribe(id, reason, source === undefined ? {} : { source });
  await receiver.close();
  return file;
}

/** Each is acknowledged before the next one is sent. */
export async function offer(receiver: Receiver, bodies: readonly string[]): Promise<void> {
  for (const body of bodies) {
    const request = signedRequest(body, { secret: SECRET, at: AT });
    expect(await receiver.receive(request)).toMatchObject({ status: 200 });
  }
}

/** What `hookline inbox ...` prints, and how it ends. */
export async function inbox(
  file: string,
  words: string,
  { started = () => {}, ...options }: RunOptions & { readonly started?: (cli: Run) => void } = {},
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const cli = runCli(["inbox", ...words.split(" ")], { env: { HOOKLINE_INBOX: file }, ...options });
  started(cli);
  const code = await cli.ended;
  return { code, out: cli.out(), err: cli.err() };
}

/** Lines of JSON. */
export function jsonOf(out: string): readonly Record<string, unknown>[] {
  return out
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
}
