import { causeOf, type Cause, type Tried } from "./causes.ts";
import { probes } from "./probes.ts";
import { tryProbe, type Attempt } from "./try-probe.ts";

/** What a probe got, beside what the table of answers gives it. */
export interface Finding {
  /** In plain words, such as `a forged delivery`. No two have the same. */
  readonly probe: string;
  /** The table's status first; the others do as well. */
  readonly expected: readonly number[];
  readonly got: { readonly status: number } | { readonly error: unknown };
  readonly ok: boolean;
  /** Why it most likely is so: many findings may have the same. Only where it is not ok. */
  readonly cause?: string;
  /** What to change. */
  readonly fix?: string;
}

/** How an app is asked. */
export interface CheckOptions {
  /** The signing secret that the app has. */
  secret: string;
  /** Whose deliveries they pretend to be, where a gate looks at that. @default 0 */
  account?: number | undefined;
  /** Of which subscription. @default 0 */
  subscription?: number | undefined;
  /** The app's limit of a body: one byte more must be refused. @default 1 MiB */
  maxBodyBytes?: number | undefined;
  /** Ends it: what has no answer then is found with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/**
 * Asks a running app, ours or not, what the table of answers says: a delivery, the handshake, forged and stale ones, odd bodies, long
 * ones, wrong methods and content types. One after another; where nothing listens, the first is the only one.
 *
 * What is signed well is stored, and **the app's handlers see it**: it is about the deletion of a message `hookline-check`, which
 * never was, or of a resource `/hookline-check`.
 * @throws UsageError `secret-missing`
 * @example
 * const wrong = (await checkAnswers("http://localhost:3000/webhooks", { secret })).filter(({ ok }) => !ok);
 */
export async function checkAnswers(url: string, options: CheckOptions): Promise<readonly Finding[]> {
  const { secret, account = 0, subscription = 0, maxBodyBytes = 1024 * 1024, signal } = options;
  const parts = { secret, account, subscription, maxBodyBytes, signal, now: new Date() };
  const tried: Attempt[] = [];
  for (const probe of probes) {
    const attempt = await tryProbe(probe, url, parts);
    tried.push(attempt);
    // It says all that there is to say; and each would wait as long.
    if (tried.length === 1 && "error" in attempt) break;
    if (signal?.aborted) break;
  }
  const answered = tried.filter((one): one is Tried => "answer" in one);
  return tried.map((attempt) => toFinding(attempt, (one) => causeOf(one, answered)));
}

function toFinding(attempt: Attempt, explain: (tried: Tried) => Cause): Finding {
  const { probe } = attempt;
  const found = { probe: probe.name, expected: probe.expects };
  if ("error" in attempt) return { ...found, got: { error: attempt.error }, ok: false };
  const { status } = attempt.answer;
  if (!probe.expects.includes(status)) return { ...found, got: { status }, ok: false, ...explain(attempt) };
  const flaw = probe.flaw?.(attempt.answer);
  if (flaw === undefined) return { ...found, got: { status }, ok: true };
  return { ...found, got: { status }, ok: false, cause: flaw, fix: "Answer with the token alone, as text/plain." };
}
