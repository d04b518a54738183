import { parseDocument, type Document } from "../protocol/envelope.ts";
import { matchKey } from "../protocol/sign.ts";
import { headerOf } from "../protocol/headers.ts";
import type { ReceivingParts } from "./parts.ts";
import type { RawRequest } from "./types.ts";
import type { SecretRequest } from "./secret-lookup.ts";
import { Refused, type Read, type Verified } from "./steps.ts";

type Parts = Pick<ReceivingParts, "scheme" | "secrets" | "reporter">;

/** Rows 8 and 9 of the table of answers: the signature over the bytes as they arrived. */
export async function verifySignature(
  { checked, body, source, receivedAt }: Read,
  { scheme, secrets, reporter }: Parts,
): Promise<Verified | Refused> {
  const { request, credentials } = checked;
  const looked = secrets.keys(source, () => toSecretRequest(request, source));
  const keys = looked instanceof Promise ? await looked : looked;
  if (keys instanceof Refused) return keys;
  const key = matchKey(scheme, keys, { timestamp: credentials.timestamp, signature: credentials.signature, body });
  if (key === undefined) return new Refused("signature-wrong");
  reporter.signedBy(key.name, receivedAt);
  let document: Document | undefined;
  return {
    url: request.url,
    delivery: {
      receivedAt,
      sentAt: credentials.sentAtMs ?? receivedAt,
      source,
      signedBy: key.name,
      signature: credentials.signatureText,
      headers: signedHeaders(request, scheme),
      body,
    },
    document: () => (document ??= parseDocument(body)),
  } as Verified;
}

/** So much of the headers is kept as a second verification needs, and the content type. */
function signedHeaders(
  { headers }: RawRequest,
  { signature, timestamp }: ReceivingParts["scheme"],
): Record<string, string> {
  const kept: Record<string, string> = {
    [signature.lowerCaseHeader]: String(headerOf(headers, signature.lowerCaseHeader)),
  };
  if (timestamp !== undefined) kept[timestamp.lowerCaseHeader] = String(headerOf(headers, timestamp.lowerCaseHeader));
  const type = headers["content-type"];
  if (type !== undefined) kept["content-type"] = String(type);
  return kept;
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
