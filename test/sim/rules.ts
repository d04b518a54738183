import type { JobOutcome } from "../../src/inbox/port/claims.ts";
import { mergeOf, specFor, type Spec } from "./handler-plans.ts";
import { show, windowStart, type Books, type Call, type End, type Entry, type OpenClaim } from "./ledger.ts";

/** Whether a job may come along with the one before it, as both were made. */
export function isMoreToMerge(head: Entry, next: Entry): boolean {
  return (
    head.lane !== undefined &&
    head.merge !== undefined &&
    head.merge === next.merge &&
    head.replay === next.replay &&
    head.deaths < 2 &&
    next.deaths < 2
  );
}

/** How many of a claim go together in one call: those that today's handlers would merge. */
export function callSize(entries: readonly Entry[], plan: readonly Spec[]): number {
  const [head] = entries as [Entry];
  const specOf = (entry: Entry): Spec | undefined => specFor(plan, entry.consumer, entry.wire);
  const spec = specOf(head);
  const keyOf = (entry: Entry): string | undefined => spec && mergeOf(spec, entry.wire, entry.source);
  const other = entries.findIndex(
    (entry, index) =>
      index > 0 && (specOf(entry) !== spec || (spec !== undefined && (keyOf(entry) ?? "never") !== keyOf(head))),
  );
  return other === -1 ? entries.length : other;
}

/** Holds what became of a claim against what must have. */
export function judge(
  books: Books,
  open: OpenClaim,
  { outcomes, wasHeld }: { readonly outcomes: readonly JobOutcome[]; readonly wasHeld: (entry: Entry) => boolean },
): void {
  const { entries, call, life } = open;
  const [head] = entries as [Entry];
  const { broken } = books;
  if (outcomes.length !== entries.length) broken("an outcome for each", { got: outcomes.length, job: show(head) });
  const tos = outcomes.map(({ to }) => to);
  if (call !== undefined) return judgeCall(books, { entries, call, outcomes });
  const size = callSize(entries, life.plan);
  const spec = specFor(life.plan, head.consumer, head.wire);
  if (tos.every((to) => to === "release")) {
    if (!life.closing && !hasSuspects(books) && !wasHeld(head))
      broken("given back at a close only, for suspects, or because it is held", show(head));
  } else if (tos[0] === "unhandled") {
    if (spec !== undefined || tos.some((to, index) => to !== (index < size ? "unhandled" : "release")))
      broken("unhandled where its handler is gone", { job: show(head), tos });
  } else if (tos.join() === "dead") {
    if (head.deaths < 3) broken("three deaths", { job: show(head), deaths: head.deaths });
    if (head.company !== undefined) broken("only who was alone dies of it", { job: show(head), company: head.company });
    checkAnnounced(books, head);
  } else {
    broken("settled without a call", { job: show(head), tos });
  }
}

/** There are some, or were. */
function hasSuspects({ entries, suspectsLeft }: Books): boolean {
  return suspectsLeft || [...entries.values()].some(({ deaths, state }) => deaths >= 2 && state === "waiting");
}

interface Ended {
  readonly entries: readonly Entry[];
  readonly call: Call;
  readonly outcomes: readonly JobOutcome[];
}

function judgeCall(books: Books, { entries, call, outcomes }: Ended): void {
  const { end, life } = call;
  const [head] = entries as [Entry];
  const spec = specFor(life.plan, head.consumer, head.wire);
  if (end === undefined || spec === undefined) return books.broken("settled before it ended", show(head));
  for (const [index, entry] of entries.entries()) {
    const outcome = outcomes[index] ?? { to: "release" };
    const expected = index < call.entries.length ? expectedOf(entry, end, spec) : "release";
    const wasAborted = life.closing && !end.ok && call.abortedAt !== undefined;
    if (outcome.to !== expected && !(wasAborted && outcome.to === "release"))
      books.broken("what becomes of a job", {
        job: show(entry),
        got: outcome,
        expected,
        end,
        attempts: entry.attempts,
        spec,
      });
    if (outcome.to === "dead") {
      checkAnnounced(books, entry);
      const ofWindow = end.verdict !== "give-up" && leftMs(entry, end, spec) <= 0 && spec.retryForMs > 0;
      if (ofWindow !== (outcome.ofWindow ?? false)) books.broken("dead of its window", { job: show(entry), outcome });
    }
    if (outcome.to !== "retry") continue;
    const isAnyOver = call.entries.some((other) => leftMs(other, end, spec) <= 0);
    const left = isAnyOver ? 0 : leftMs(entry, end, spec);
    checkDelay(books, outcome.delayMs, { end, attempt: head.attempts, leftMs: left });
    if (outcome.at !== end.at + outcome.delayMs || outcome.counted !== (typeof end.verdict === "string"))
      books.broken("retry", { job: show(entry), outcome, end });
  }
}

/** Of the time in which it is tried again. */
function leftMs(entry: Entry, { at }: Pick<End, "at">, { retryForMs }: Spec): number {
  return retryForMs - Math.max(at - windowStart(entry), 0);
}

function expectedOf(entry: Entry, { ok, verdict, at }: End, spec: Spec): JobOutcome["to"] {
  if (ok) return "done";
  if (verdict === "give-up") return "dead";
  return leftMs(entry, { at }, spec) <= 0 || (verdict === "failed" && entry.attempts >= spec.attempts)
    ? "dead"
    : "retry";
}

/** 1 s doubling to 10 min, half of it by chance; what a handler asked for to the millisecond, within bounds, and like a first failure where it is not ahead. */
function checkDelay(
  books: Books,
  delay: number,
  { end, attempt, leftMs: left }: { readonly end: End; readonly attempt: number; readonly leftMs: number },
): void {
  const asked = typeof end.verdict === "object" ? end.verdict.laterMs : undefined;
  const full = Math.min(1_000 * 2 ** (asked === 0 ? 0 : attempt - 1), 600_000);
  const range = asked === undefined || asked === 0 ? [full / 2, full] : [asked, asked];
  const held = asked === undefined ? range : range.map((ms) => Math.max(Math.min(ms, left), 100));
  const [least = 0, most = 0] = held;
  if (delay < least - 1 || delay > most + 1) books.broken("back-off", { delay, least, most, attempt });
}

function checkAnnounced(books: Books, entry: Entry): void {
  if (!books.announced.has(entry.id ?? "")) books.broken("onDead before it is dead", show(entry));
}
