import type { AnyEvent, Context } from "hookline";
import { isStuck } from "./claim-rules.ts";
import type { FlowBook } from "./flow-book.ts";
import { isBatch, specFor, type Spec } from "./handler-plans.ts";
import {
  show,
  windowStart,
  type Books,
  type Call,
  type End,
  type Entry,
  type LifeFacts,
  type OpenClaim,
} from "./ledger.ts";
import { callSize } from "./rules.ts";

/** The calls of handlers, held against the rules. */
export interface Calling {
  /** @param spec whose handler it is */
  began(life: LifeFacts, spec: Spec, given: { readonly event: AnyEvent; readonly ctx: Context }): Call | undefined;
  ended(call: Call, end: Pick<End, "ok" | "verdict">): void;
}

const SUSPECT_MS = 300_000;

export function createCalling(books: Books, flow: FlowBook): Calling {
  const { broken, now, limits } = books;

  function claimOf(id: string): OpenClaim | undefined {
    const open = books.byId.get(id)?.claim;
    return open !== undefined && books.claims.has(open.claim) ? open : undefined;
  }

  /** Never two at once in a lane, never more at once than slots, and nothing beside suspects but those of their group. */
  function checkCompany(life: LifeFacts, head: Entry): void {
    const others = [...books.calls].filter((call) => call.life === life && call.end === undefined);
    const twin = others.find(({ entries: [one] }) => head.lane !== undefined && one?.lane === head.lane);
    if (twin !== undefined) broken("never two at once in a lane", { job: show(head), lane: head.lane });
    const slots = others.filter((call) => !isStuck(call, books)).length + 1;
    if (slots > limits.concurrency) broken("no more than `concurrency` at once", slots);
    if (others.length + 1 > limits.concurrency + limits.maxStuck)
      broken("no more than `maxStuck` beside them", others.length + 1);
    const strangers = others.filter(({ entries: [one] }) => one?.claim?.look !== head.claim?.look);
    const suspect = strangers.find((call) => call.suspect && !isStuck(call, books));
    if (suspect !== undefined)
      broken("nothing beside a suspect", { job: show(head), suspect: suspect.entries.map(show) });
    if (head.deaths >= 2 && strangers.length > 0)
      broken("a suspect runs with its like alone", {
        job: show(head),
        beside: strangers.map(({ entries: [one] }) => one && show(one)),
      });
  }

  function checkContext(
    entries: readonly Entry[],
    spec: Spec,
    { event, ctx }: { event: AnyEvent; ctx: Context },
  ): void {
    const [head] = entries as [Entry];
    const last = entries.at(-1) ?? head;
    const spent = (entry: Entry): boolean =>
      entry.attempts >= spec.attempts || Math.max(now.wall() - windowStart(entry), 0) >= spec.retryForMs;
    const got = [
      ctx.attempt,
      ctx.lastAttempt,
      ctx.replayOf !== undefined,
      ctx.source,
      ctx.jobId,
      ctx.merged,
      event.type,
    ];
    const expected = [
      head.attempts,
      entries.every(spent),
      last.replay,
      last.source,
      last.id,
      entries.length,
      typeFor(entries, spec),
    ];
    if (JSON.stringify(got) !== JSON.stringify(expected)) broken("context", { got, expected });
    if (!("changes" in event)) return;
    const changes = entries.filter(({ wire }) => !wire.type.endsWith(".signal"));
    const same = event.changes.map(({ id, changeType }) => `${id} ${changeType}`).join();
    if (same !== changes.map(({ wire }) => `${wire.id} ${wire.type.split(".")[1]}`).join())
      broken("all that waited is in the list", { got: event.changes.length, expected: changes.length });
    if (event.signalled !== changes.length < entries.length) broken("signalled", { job: show(head) });
  }

  /** The signal aborts when the time is over, neither earlier nor later. */
  function watchSignal(call: Call, { claim, life }: OpenClaim, limitMs: number, signal: AbortSignal): void {
    signal.addEventListener("abort", () => {
      call.abortedAt = now.mono();
      if (!life.alive || life.closing || !books.claims.has(claim)) return;
      if (now.mono() - call.startedAt !== limitMs) broken("timeoutMs", { after: now.mono() - call.startedAt, limitMs });
    });
  }

  return {
    began(life, spec, given) {
      if (!life.alive) return undefined;
      const { ctx } = given;
      const open = claimOf(ctx.jobId);
      if (open === undefined || open.life !== life) {
        broken("no call without a claim", ctx.jobId);
        return undefined;
      }
      const [head] = open.entries as [Entry];
      if (open.call !== undefined) broken("one call a claim", show(head));
      if (specFor(life.plan, head.consumer, head.wire) !== spec) broken("the most specific handler", show(head));
      const entries = open.entries.slice(0, callSize(open.entries, life.plan));
      const suspect = head.deaths >= 2;
      if (head.deaths >= 3) broken("not run again after the third death", show(head));
      if (suspect && entries.length > 1) broken("a suspect runs unmerged", show(head));
      checkCompany(life, head);
      flow.checkStart(head, life.plan);
      checkContext(entries, spec, given);
      const call: Call = { entries, life, suspect, startedAt: now.mono(), abortedAt: undefined, end: undefined };
      const { timeoutMs } = spec;
      watchSignal(call, open, suspect ? Math.min(timeoutMs || SUSPECT_MS, SUSPECT_MS) : timeoutMs, ctx.signal);
      open.call = call;
      books.calls.add(call);
      return call;
    },
    ended(call, end) {
      call.end = { ...end, at: now.wall(), jumps: now.jumps() };
      if (typeof end.verdict === "object" && end.verdict.ofAccount && call.life.alive)
        flow.delaying(call, end.verdict.laterMs);
      books.calls.delete(call);
    },
  };
}

/** `deleted` if the last one is, else `created` if any is, else `updated`. */
function typeFor(entries: readonly Entry[], { names }: Spec): string {
  const types = entries.map(({ wire }) => wire.type);
  const last = types.at(-1) ?? "";
  const family = entries[0]?.wire.family;
  if (isBatch(names)) return `${family}.changes`;
  if (entries.length === 1 || last.endsWith(".deleted")) return last;
  return types.some((type) => type.endsWith(".created")) ? `${family}.created` : `${family}.updated`;
}
