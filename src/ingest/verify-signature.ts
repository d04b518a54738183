import { parseDocument, type Document } from "../protocol/envelope.ts";
import { headerOf } from "../protocol/headers.ts";
import type { Key } from "../protocol/signature/secrets.ts";
import { matchKey } from "../protocol/signature/sign.ts";
import { Refused } from "./refusals.ts";
import type { SecretRequest } from "./secret-lookup.ts";
import type { IngestDeps, RawRequest, Read, Verified } from "./types.ts";

/** Rows 8 and 9 of the table of answers: the signature over the bytes as they arrived. Without a promise where the keys are known. */
export function verifySignature(read: Read, deps: IngestDeps): Verified | Refused | Promise<Verified | Refused> {
  const { request, source } = read.checked;
  const keys = deps.secrets.keys(source, () => toSecretRequest(request, source));
  return keys instanceof Promise ? keys.then((found) => verifyWith(found, read, deps)) : verifyWith(keys, read, deps);
}

function verifyWith(
  keys: readonly Key[] | Refused,
  { checked, body, receivedAt }: Read,
  { scheme, reporter }: IngestDeps,
): Verified | Refused {
  if (keys instanceof Refused) return keys;
  const { request, signatureHeaders, source } = checked;
  const { timestamp, signature, signatureText, sentAtMs } = signatureHeaders;
  const key = matchKey(scheme, keys, { timestamp, signature, body });
  if (key === undefined) return new Refused("signature-wrong");
  reporter.signedBy(key.name, receivedAt);
  let document: Document | undefined;
  return {
    url: request.url,
    delivery: {
      receivedAt,
      sentAt: sentAtMs ?? receivedAt,
      source,
      signedBy: key.name,
      signature: signatureText,
      headers: storedHeaders(request, scheme),
      body,
    },
    document: () => (document ??= parseDocument(body)),
  } as Verified;
}

/** The headers that a second verification needs, and the content type. */
function storedHeaders(
  { headers }: RawRequest,
  { signature, timestamp }: IngestDeps["scheme"],
): Record<string, string> {
  const stored: Record<string, string> = {
    [signature.lowerCaseHeader]: String(headerOf(headers, signature.lowerCaseHeader)),
  };
  if (timestamp !== undefined) stored[timestamp.lowerCaseHeader] = String(headerOf(headers, timestamp.lowerCaseHeader));
  const type = headerOf(headers, "content-type");
  if (type !== undefined) stored["content-type"] = String(type);
  return stored;
}

function toSecretRequest({ url, headers, platform }: RawRequest, source: string | undefined): SecretRequest {
  const question = url.indexOf("?");
  const target = question === -1 ? url : url.slice(0, question);
  return {
    path: URL.canParse(target) ? new URL(target).pathname : target,
    ...(source === undefined ? {} : { source }),
    query: new URLSearchParams(question === -1 ? "" : url.slice(question)),
    header: (name) => {
      const value = headerOf(headers, name.toLowerCase());
      return value === undefined || typeof value === "string" ? value : value.join(", ");
    },
    ...(platform === undefined ? {} : { platform }),
  };
}
