import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createReceiverStates,
  RECEIVER_STATES,
  type ReceiverState,
  type ReceiverStep,
} from "../../src/receiver/lifecycle.ts";

const edges = Object.entries(RECEIVER_STATES).flatMap(([from, ways]) =>
  Object.entries(ways).map(([step, to]) => ({ from, step, to })),
);
const docs = join(import.meta.dirname, "../../docs");
const chapter = readFileSync(join(docs, "operate/lifecycle.md"), "utf8");
const drawing = readFileSync(join(docs, "pictures/receiver-states.mmd"), "utf8");

describe("the states of a receiver", () => {
  test("are drawn in docs/pictures/receiver-states.mmd, with every way between them and no other", () => {
    const drawn = [...drawing.matchAll(/^ {2}(\S+) --> (\S+): (\S+)$/gm)].map(([, from, to, step]) => ({
      from,
      step,
      to,
    }));
    expect(drawn).toEqual(edges);
  });

  test("each have a row in its table", () => {
    const rows = [...chapter.matchAll(/^\| `([a-z]+)` /gm)].map(([, state]) => state);
    expect(rows).toEqual(Object.keys(RECEIVER_STATES));
  });

  test("can all be come to, and all but the last one can be closed", () => {
    expect(new Set(edges.map(({ to }) => to))).toEqual(
      new Set(Object.keys(RECEIVER_STATES).filter((state) => state !== "idle")),
    );
    const closable = new Set(edges.filter(({ step }) => step === "close").map(({ from }) => from));
    expect(Object.keys(RECEIVER_STATES).filter((state) => !closable.has(state))).toEqual(["closing", "closed"]);
  });

  test("change by the ways that are there, and by nothing else", () => {
    for (const state of Object.keys(RECEIVER_STATES) as ReceiverState[])
      for (const step of new Set(edges.map((edge) => edge.step)) as Set<ReceiverStep>) {
        const states = createReceiverStates();
        for (const taken of wayTo(state)) states.take(taken);
        const to = RECEIVER_STATES[state][step];
        expect([state, step, states.take(step), states.current]).toEqual([state, step, to !== undefined, to ?? state]);
        expect(states.isClosing).toBe(["closing", "closed"].includes(states.current));
      }
  });
});

/** The shortest way there from the beginning. */
function wayTo(state: ReceiverState): readonly ReceiverStep[] {
  const ways = new Map<string, readonly ReceiverStep[]>([["idle", []]]);
  for (const [from, way] of ways)
    for (const edge of edges)
      if (edge.from === from && !ways.has(edge.to)) ways.set(edge.to, [...way, edge.step as ReceiverStep]);
  return ways.get(state) ?? [];
}
