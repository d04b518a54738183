import { ask, type Answered } from "./ask.ts";
import type { Probe, ProbeParts } from "./probes.ts";

/** A probe with what became of it. */
export type Attempt =
  | { readonly probe: Probe; readonly answer: Answered }
  | { readonly probe: Probe; readonly error: unknown };

/** Sends a probe. Never rejects. */
export async function tryProbe(
  probe: Probe,
  url: string,
  parts: ProbeParts & { readonly signal?: AbortSignal | undefined },
): Promise<Attempt> {
  const { token, ...asked } = probe.make(parts);
  const target = new URL(url);
  if (token !== undefined) target.searchParams.append("validationToken", token);
  try {
    return { probe, answer: await ask(target.href, { method: probe.method, ...asked }, { signal: parts.signal }) };
  } catch (error) {
    return { probe, error };
  }
}
