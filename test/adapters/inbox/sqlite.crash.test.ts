import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { startNode, type Child } from "../../cli/child.ts";

const ROUNDS = Number(process.env["HOOKLINE_ROUNDS"] ?? 10);

function fileIn(): string {
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "inbox.db");
}

function start(file: string, ...name: readonly string[]): Child {
  return startNode(["test/adapters/inbox/mortal-process.ts", file, ...name]);
}

/** The names that whole lines of this kind give. */
function namesIn(out: string, kind: "stored" | "handled"): string[] {
  return [...out.matchAll(new RegExp(`^${kind} (.+)\\n`, "gm"))].map(([, name]) => name ?? "");
}

function integrityOf(file: string): unknown {
  const db = new DatabaseSync(file);
  try {
    return db.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  } finally {
    db.close();
  }
}

/** First times that do not come in the order of their sender's numbers. Two senders of a lane store at once, in either order. */
function disorderIn(handled: readonly string[]): string[] {
  const [seen, last] = [new Set<string>(), new Map<string, number>()];
  return handled.filter((name) => {
    if (seen.has(name)) return false;
    seen.add(name);
    const at = name.lastIndexOf(":");
    const [sender, number] = [name.slice(0, at), Number(name.slice(at + 1))];
    const before = last.get(sender) ?? -1;
    last.set(sender, number);
    return number < before;
  });
}

test(
  `killed ${ROUNDS} times while two processes receive, it loses nothing that it stored, and keeps the order`,
  { timeout: 60_000 + ROUNDS * 30_000 },
  async () => {
    const file = fileIn();
    const [stored, handled]: [string[], string[]] = [[], []];
    const note = (child: Child): void => {
      stored.push(...namesIn(child.out(), "stored"));
      handled.push(...namesIn(child.out(), "handled"));
    };
    let working = start(file, "0");
    await working.says("out", /^worker\n/m);
    for (let round = 1; round <= ROUNDS; round += 1) {
      const standby = start(file, String(round));
      await standby.says("out", new RegExp(`^stored ${round}:.*(?:\\n.*){${Math.floor(Math.random() * 500)}}\\n`, "m"));
      working.kill("SIGKILL");
      await working.ended;
      note(working);
      await standby.says("out", /^worker\n/m);
      working = standby;
    }
    await working.says("out", /^handled/m);
    working.kill("SIGKILL");
    await working.ended;
    note(working);
    const rest = start(file);
    expect(await rest.ended, rest.err()).toBe(0);
    note(rest);
    const done = new Set(handled);
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.filter((name) => !done.has(name))).toEqual([]);
    expect(disorderIn(handled)).toEqual([]);
    expect(integrityOf(file)).toBe("ok");
  },
);
