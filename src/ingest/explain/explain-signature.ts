import { timingSafeEqual } from "node:crypto";
import { ageProblem, DEFAULT_MAX_AGE_SECONDS, readSignature, readTimestamp } from "../../protocol/signature-headers.ts";
import { toHeaderLookup, type HeaderLookup } from "../../protocol/headers.ts";
import {
  resolveScheme,
  serviceScheme,
  type ResolvedScheme,
  type SignatureScheme,
} from "../../protocol/signature-scheme.ts";
import { isSecret, toKey } from "../../protocol/secrets.ts";
import { macOf } from "../../protocol/sign.ts";
import { toBytes, type SignedRequest } from "../../protocol/verify.ts";
import { bodyVariants } from "./bodies.ts";
import { inputVariants, secretVariants, signatureVariants, timestampVariants, type Variant } from "./variants.ts";
import { MISTAKES, type MistakeCode } from "./catalog.ts";

/** One known mistake: what was found, and what to change. */
export interface Mistake {
  /** A {@link MistakeCode}; typed as a text, because more of them may come. */
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

/** What {@link explain} found. */
export interface Explanation {
  /** True when the signature is the right one for these bytes and this secret, however old it is. */
  readonly matches: boolean;
  /** The fewest known mistakes that explain the request; empty when `verify` would take it. */
  readonly mistakes: readonly Mistake[];
}

/**
 * Tells which known mistake makes a signature fail, by trying them: for the command line, a test or a support case.
 * It takes some hundred times as long as `verify`, and its answer is for the developer, not for the sender.
 * No message holds the secret, the body or the expected signature.
 *
 * @throws UsageError `scheme-invalid`, `body-not-raw`
 * @see protocol 5
 * @example
 * for (const { message, fix } of explain({ headers, body }, secret).mistakes) console.error(message, fix);
 */
export function explain(request: SignedRequest, secret: string, scheme: SignatureScheme = serviceScheme): Explanation {
  const resolved = resolveScheme(scheme);
  const body = toBytes(request.body);
  const header = toHeaderLookup(request.headers);
  if (!isSecret(secret)) return toExplanation(["secret-missing"]);

  const mistakes = timestampMistakes(resolved, header);
  const signature = readSignature(resolved, header);
  if (signature === "signature-missing" || signature === "signature-doubled") {
    return toExplanation([signature, ...mistakes]);
  }
  const found = search({
    signatures: signatureVariants(resolved, header),
    timestamps: timestampVariants(resolved, header),
    secrets: secretVariants(secret),
    bodies: bodyVariants(body),
    inputs: inputVariants(resolved),
  });
  const because = found ?? (typeof signature === "string" ? [] : (["secret-wrong"] as const));
  // The lenient reading may have found the right digest in a spelling that `verify` refuses for a reason without a name.
  const unnamed = typeof signature === "string" && !because.some((code) => code.startsWith("signature-"));
  return toExplanation([...(unnamed ? [signature] : []), ...because, ...mistakes]);
}

/** What may be wrong with each part of a signed request; the first variant of each is the request as it is. */
interface Suspects {
  readonly signatures: readonly Variant<Uint8Array>[];
  readonly timestamps: readonly string[];
  readonly secrets: readonly Variant<string | Uint8Array>[];
  readonly bodies: readonly Variant<Uint8Array>[];
  readonly inputs: readonly Variant<ResolvedScheme>[];
}

/** More mistakes at once than these are not told apart from a wrong secret; it also bounds the work. */
const MOST_DEVIATIONS = 2;

/** The fewest deviations under which the signature is right; how it is written does not count as one. */
function search(suspects: Suspects): MistakeCode[] | undefined {
  let best: MistakeCode[] | undefined;
  for (const secret of suspects.secrets) {
    const { key } = toKey(secret.value, "explained");
    for (const body of suspects.bodies) {
      for (const input of suspects.inputs) {
        for (const timestamp of suspects.timestamps) {
          const codes = [...secret.codes, ...body.codes, ...input.codes];
          if (codes.length > MOST_DEVIATIONS) continue;
          const mac = macOf(input.value, key, { timestamp, body: body.value });
          const made = suspects.signatures.find(
            ({ value }) => value.length === mac.length && timingSafeEqual(value, mac),
          );
          if (made === undefined) continue;
          const all = [...made.codes, ...codes];
          if (best === undefined || all.length < best.length) best = all;
        }
      }
    }
  }
  return best;
}

function timestampMistakes(scheme: ResolvedScheme, header: HeaderLookup): MistakeCode[] {
  const time = readTimestamp(scheme, header);
  if (time === "timestamp-malformed" && timestampVariants(scheme, header).length > 1) return ["timestamp-milliseconds"];
  if (typeof time === "string") return [time];
  if (time.sentAtMs === undefined) return [];
  const problem = ageProblem(time.sentAtMs, { nowMs: Date.now(), maxAgeSeconds: DEFAULT_MAX_AGE_SECONDS });
  return problem === undefined ? [] : [problem];
}

function toExplanation(codes: readonly MistakeCode[]): Explanation {
  const mistakes = [...new Set(codes)].map((code): Mistake => {
    const { message, fix } = MISTAKES[code];
    return { code, message, fix };
  });
  return { matches: mistakes.every(({ code }) => code === "timestamp-stale" || code === "timestamp-future"), mistakes };
}
