import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { promises, promisesAfterACrash } from "../../src/testing/inbox-suite/promises.ts";

/** They say what a thing is, what the caller does, or what no case can show. Whatever else the port says has one. */
const NO_PROMISES: ReadonlySet<string> = new Set([
  "Where kept deliveries live, hence what they outlive.",
  "Where deliveries and jobs are kept.",
  "Its verbs are in `hookline/adapter`.",
  "What the receiver gives an inbox to work with.",
  "Namespace in a shared store: what one name keeps, another never sees.",
  "Throttled, a line a second for each code and level: what fails in an inbox fails as often as deliveries come.",
  "How long a natural key of tracking and booking is remembered, milliseconds.",
  "The writing half: all that a receiving process needs.",
  "Cheap: asked at every health check.",
  "Ends what `open` began, also where that or `work` is still under way.",
  "Where it rejects, nothing of it is left: another process can have the place, and the next call asks anew.",
  "Handlers outlive the receiver's close: what is kept open for them is not to keep the process.",
  "The working half: what a process with handlers needs beyond the writing one.",
  "In the order of `unexpanded`.",
  "What an inbox tells the process that works on it.",
  "All of it is lossy but `begin` and `end`: the worker also looks by itself.",
  "It does not any more: another one took over.",
  "It stands by, and `begin` may come again.",
  "This process works from now on. @returns false: it closes, the place is to be given back and not asked for again",
  "A delivery to keep, with its events if this process works.",
  "Its place in the delivery, from 0.",
  "May be held for the run to come; an inbox that does not hold it gives the delivery at the claim.",
  "A job to make: for one consumer, or for none.",
  "False: it waits for `expand`.",
  "A delivery that waits to be expanded, wholly or from an entry on.",
  "The entry to go on with.",
  "The next events of a delivery that was kept before.",
  "How much to claim.",
  "Jobs in a run.",
  "What a claim found.",
  "Some that are due come only when asked for: see ClaimLimits.suspects.",
  "It is its own token.",
  "A job whose turn it is.",
  "From 1, this one included.",
  "Wall-clock time of the first attempt: this one's, or an earlier one's.",
  "Where it has inherited an earlier time, that: see JobOutcome.",
  "The time in which it is tried again was over.",
  "Where the inbox still holds it.",
  "What is kept of whatever a handler threw; `at` in milliseconds since the epoch.",
  "Looking inside, and changing by hand.",
  "A job that waits for somebody to handle its event.",
  "Whose handler went; undefined when nobody ever had one.",
  "Types of events.",
  "One in trouble.",
  "The service's own words; may be empty.",
  "Synchronous, from a copy that each look renews: asked at every health check.",
  "The durable notes that subscriptions are unwanted.",
  "Resolves when durable.",
  "The note that one subscription is unwanted.",
  "Undefined: every source.",
  "Milliseconds since the epoch.",
  "Whether a delivery could be kept now.",
  "It gets no better in this process: only another one can help. @default false",
  "Whether any process works on it; undefined where that is not known.",
  "Where it is on a disk.",
  "How the disk of an inbox stands.",
  "Undefined where it is not known.",
  "How often something failed so that the file was opened anew, and when last; undefined where it never was.",
  "Hard links of its file, itself included: processes that open it by different ones do not know of each other.",
  "How often another process took the work over while this one had it, and when last; undefined where none ever did.",
  "Its files have no lasting numbers: that they are deleted or replaced while they are in use is not seen. @default false",
  "`none`: gone with the process.",
  "`fsync`: survives a power cut.",
  "`quorum`: survives a machine.",
  "`strict`: never two at once in a lane.",
  "`valid-claims`: never two valid claims; a stalled process may overlap.",
  "Whether several processes can receive into it.",
  "How many runs more would be claimed, at any time until the next claim, beside those of this one.",
]);

/** The port in its verbs, and what goes through them. */
const PORT = ["inbox", "storing", "claims", "jobs", "tombstones", "subscriptions", "inbox-stats"] as const;
const port = PORT.map((name) =>
  readFileSync(join(import.meta.dirname, `../../src/inbox/port/${name}.ts`), "utf8"),
).join("");

/** What stands beside each member, on one line. */
const docs = [...port.matchAll(/\/\*\*(.*?)\*\//gs)].map(([, text = ""]) =>
  text
    .replaceAll(/^\s*\* ?/gm, " ")
    .replaceAll(/\{@link (\S+)\}/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim(),
);

const quoted = Object.keys({ ...promises, ...promisesAfterACrash }).map((key) => key.slice(key.indexOf(": ") + 2));

describe("the inbox suite and the port", () => {
  test("what the suite quotes stands in the port, word for word", () => {
    expect(quoted.filter((promise) => !docs.some((doc) => doc.includes(promise)))).toEqual([]);
  });

  test("every promise of the port has a case", () => {
    const sentences = docs.flatMap((doc) => doc.split(/(?<=[.]) (?=[A-Z`])/));
    const without = sentences.filter((sentence) => !quoted.some((promise) => promise.includes(sentence)));
    expect(without.filter((sentence) => !NO_PROMISES.has(sentence))).toEqual([]);
    expect([...NO_PROMISES].filter((sentence) => !without.includes(sentence))).toEqual([]);
  });
});
