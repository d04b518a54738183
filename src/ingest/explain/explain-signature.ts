import { timingSafeEqual } from "node:crypto";
import { toHeaderLookup, type HeaderLookup } from "../../protocol/headers.ts";
import { isSecret, toKey } from "../../protocol/signature/secrets.ts";
import { macOf } from "../../protocol/signature/sign.ts";
import { readSignature, readTimestamp } from "../../protocol/signature/signature-headers.ts";
import {
  resolveScheme,
  serviceScheme,
  type ResolvedScheme,
  type SignatureScheme,
} from "../../protocol/signature/signature-scheme.ts";
import { ageProblem, DEFAULT_MAX_AGE_SECONDS } from "../../protocol/signature/timestamp-age.ts";
import { toBytes, type SignedRequest } from "../../protocol/signature/verify.ts";
import { MISTAKES, type MistakeCode } from "./mistake-catalog.ts";
import {
  bodyVariants,
  inputVariants,
  secretVariants,
  signatureVariants,
  timestampVariants,
  type Variant,
} from "./variants.ts";

/** One known mistake, and what to change. */
export interface Mistake {
  /** A {@link MistakeCode}; typed as a string, because later versions may add codes. */
  readonly code: string;
  readonly message: string;
  readonly fix: string;
}

/** What {@link explain} found. */
export interface Explanation {
  /** True when the signature is right for these bytes and this secret, however old it is. */
  readonly matches: boolean;
  /** The fewest known mistakes that explain the signature; empty when `verify` would accept the request. */
  readonly mistakes: readonly Mistake[];
}

/**
 * Finds the known mistake that makes a signature fail, by trying all of them: for the command line, a test or a support case.
 * It takes some hundred times as long as `verify`. Its result is for the developer, not for the sender, but no message
 * holds the secret, the body or the expected signature.
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
  const causes = found ?? (typeof signature === "string" ? [] : (["secret-wrong"] as const));
  // The variants may hold the right digest in a spelling that `verify` refuses, and no mistake names it.
  const unnamed = typeof signature === "string" && !causes.some((code) => code.startsWith("signature-"));
  return toExplanation([...(unnamed ? [signature] : []), ...causes, ...mistakes]);
}

/** The variants of each part of a signed request; the first of each is the unchanged part. */
interface RequestVariants {
  readonly signatures: readonly Variant<Uint8Array>[];
  readonly timestamps: readonly string[];
  readonly secrets: readonly Variant<string | Uint8Array>[];
  readonly bodies: readonly Variant<Uint8Array>[];
  readonly inputs: readonly Variant<ResolvedScheme>[];
}

/** With more mistakes at once the result is `secret-wrong`; the limit also bounds the work. */
const MAX_MISTAKES = 2;

/** The fewest mistakes under which the signature is right; those in how it is written are not counted towards the limit. */
function search(variants: RequestVariants): MistakeCode[] | undefined {
  let best: MistakeCode[] | undefined;
  for (const secret of variants.secrets) {
    const { key } = toKey(secret.value, "explained");
    for (const body of variants.bodies) {
      for (const input of variants.inputs) {
        for (const timestamp of variants.timestamps) {
          const codes = [...secret.codes, ...body.codes, ...input.codes];
          if (codes.length > MAX_MISTAKES) continue;
          const mac = macOf(input.value, key, { timestamp, body: body.value });
          const signature = variants.signatures.find(
            ({ value }) => value.length === mac.length && timingSafeEqual(value, mac),
          );
          if (signature === undefined) continue;
          const all = [...signature.codes, ...codes];
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
