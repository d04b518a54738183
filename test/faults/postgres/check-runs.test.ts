import { expect, test } from "vitest";
import { checkRuns, type Evidence, type Life, type Sent } from "./check-runs.ts";
import type { Line } from "./journal.ts";

let now = 0;

interface RunOptions {
  readonly instance?: string;
  readonly ok?: boolean;
  /** Null: nothing is known of its settlement. */
  readonly held?: boolean | null;
  readonly lane?: string;
}

/** The lines of a run: its claim with its start, its end, its settlement. The jobs are `j<id>`. */
function run(jobs: readonly number[], { instance = "1", ok = true, held = true, lane = "x" }: RunOptions = {}) {
  const number = (now += 1);
  const at = (): number => (now += 1);
  const names = jobs.map((job) => `j${job}`);
  const begin: Line[] = [
    { what: "claim", instance, at: at(), claim: number, consumer: "default", lane, jobs, names },
    { what: "start", instance, at: at(), call: number, job: jobs.at(-1) ?? 0, merged: jobs.length },
  ];
  const end: Line = { what: "end", instance, at: 0, call: number, ok };
  const settle: Line = {
    what: "settle",
    instance,
    at: 0,
    claim: number,
    to: [ok ? "done" : "retry"],
    held: held === true,
  };
  return {
    begin,
    end: (): Line => ({ ...end, at: at() }),
    settle: (): Line[] => (held === null ? [] : [{ ...settle, at: at() }]),
    whole: (): Line[] => [...begin, { ...end, at: at() }, ...(held === null ? [] : [{ ...settle, at: at() }])],
  };
}

function sent(...names: readonly string[]): Sent[] {
  return names.map((name) => ({ lane: "x", names: [name], ackedAt: 1 }));
}

/** The broken rules. */
function broken(evidence: Partial<Evidence>): readonly string[] {
  const { wrong } = checkRuns({ sent: [], journal: [], lives: [], settled: [], dead: new Set(), open: 0, ...evidence });
  return wrong.map((text) => text.split(" ")[0] ?? "");
}

const lives = (fencedAt: number | undefined): Life[] => [{ instance: "1", bornAt: 0, fencedAt }];

test("accepts runs one after the other, a failed merged run that runs its first jobs again, and what was not acknowledged in any place", () => {
  const journal = [
    ...run([1]).whole(),
    ...run([2, 3], { ok: false }).whole(),
    ...run([2]).whole(),
    ...run([3, 5]).whole(),
    ...run([4]).whole(),
  ];
  const unknown: Sent = { lane: "x", names: ["j4"], ackedAt: undefined };
  expect(broken({ sent: [...sent("j1", "j2", "j3"), unknown, ...sent("j5")], journal })).toEqual([]);
});

test("LOST: acknowledged, and no run of it ended well; or its only one had lost its claim", () => {
  expect(broken({ sent: sent("j1") })).toEqual(["LOST"]);
  expect(broken({ sent: sent("j1"), journal: run([1], { ok: false }).whole() })).toEqual(["LOST"]);
  expect(broken({ sent: sent("j1"), journal: run([1], { held: false }).whole() })).toEqual(["LOST"]);
  expect(broken({ sent: sent("j1"), dead: new Set(["j1"]) })).toEqual([]);
  expect(broken({ open: 1 })).toEqual(["LOST"]);
});

test("accepts one whose process never heard that it was settled, once", () => {
  const one = run([1], { held: false });
  const journal = one.whole();
  const settled = [{ job: 1, instance: "1", at: now }];
  expect(broken({ sent: sent("j1"), journal })).toEqual(["LOST"]);
  expect(broken({ sent: sent("j1"), journal, settled })).toEqual([]);
  expect(broken({ sent: sent("j1"), journal, settled: [{ job: 1, instance: "2", at: now }] })).toEqual(["LOST"]);
});

test("ORDER: a run began before what was acknowledged before it was done", () => {
  expect(broken({ sent: sent("j1", "j2"), journal: [...run([2]).whole(), ...run([1]).whole()] })).toContain("ORDER");
  const [first, second] = [run([1]), run([2])];
  const journal = [...first.begin, ...second.begin, first.end(), ...first.settle(), second.end(), ...second.settle()];
  expect(broken({ sent: sent("j1", "j2"), journal })).toContain("ORDER");
});

test("ORDER: a run of a killed process runs again, and what is behind it had begun", () => {
  const journal = [...run([1], { held: null }).whole(), ...run([2], { instance: "2" }).whole(), ...run([1], { instance: "2" }).whole()]; // prettier-ignore
  expect(broken({ sent: sent("j1", "j2"), journal })).toEqual(["ORDER"]);
});

test("ORDER: entries of one delivery have an order as well", () => {
  const one: Sent[] = [{ lane: "x", names: ["j1", "j2"], ackedAt: 1 }];
  expect(broken({ sent: one, journal: [...run([1]).whole(), ...run([2]).whole()] })).toEqual([]);
  expect(broken({ sent: one, journal: [...run([2]).whole(), ...run([1]).whole()] })).toContain("ORDER");
});

test("TWICE: settled twice, run again after it was settled, or two jobs of one that was sent", () => {
  expect(broken({ sent: sent("j1"), journal: [...run([1]).whole(), ...run([1]).whole()] })).toEqual(["TWICE", "TWICE"]);
  expect(broken({ sent: sent("j1"), journal: [...run([1]).whole(), ...run([1], { held: null }).whole()] })).toEqual(["TWICE"]); // prettier-ignore
});

test("a line counts where its time is, also where its process was suspended before it was written", () => {
  const [first, second] = [run([1], { held: false }), run([1], { instance: "2" })];
  const [claim, start] = first.begin as [Line, Line];
  const fencedAt = second.begin[0]?.at ?? 0;
  const late = [claim, ...second.whole(), start, first.end(), ...first.settle()];
  expect(broken({ sent: sent("j1"), journal: late, lives: lives(fencedAt) })).toEqual([]);
});

test("OVERLAP: two runs of a lane at once, unless one of them had lost its claim when the other began", () => {
  const pair = (held: boolean) => {
    const [first, second] = [run([1], { held }), run([1], { instance: "2" })];
    const fencedAt = (now += 1);
    return { journal: [...first.begin, ...second.begin, second.end(), ...second.settle(), first.end(), ...first.settle()], fencedAt, secondAt: second.begin[1]?.at ?? 0 }; // prettier-ignore
  };
  const valid = pair(false);
  expect(broken({ sent: sent("j1"), ...valid, lives: lives(valid.fencedAt) })).toEqual(["OVERLAP"]);
  const lost = pair(false);
  expect(broken({ sent: sent("j1"), ...lost, lives: lives(lost.secondAt - 1) })).toEqual([]);
  // Whoever had taken it away: it settled.
  const settled = pair(true);
  expect(broken({ sent: sent("j1"), ...settled, lives: lives(settled.secondAt - 1) })).toEqual(["TWICE", "OVERLAP"]);
});
