import type { Clock } from "../../clock.ts";
import { HooklineError } from "../../errors.ts";
import { fromBase64, hmacSha256, isHmacSha256, toBase64Url, toBase64UrlText } from "../web-crypto.ts";

/** Who may use a state: whose secret signs it, and whose session it belongs to. */
export interface StateOwner {
  readonly secret: string;
  /** Of the browser; it is not in the state. */
  readonly session: string;
  readonly clock: Clock;
}

/** So long has the user to agree, milliseconds. */
const LIFE_MS = 15 * 60 * 1_000;

/** A text for the `state` of an authorisation: nobody but its session can bring it back. */
export async function signState(data: string, { secret, session, clock }: StateOwner): Promise<string> {
  const content = toBase64UrlText(JSON.stringify([clock.now() + LIFE_MS, data]));
  return `${content}.${toBase64Url(await hmacSha256(secret, signedText(content, session)))}`;
}

/** The data of a state. @throws HooklineError `state-invalid` */
export async function verifyState(state: string | null, { secret, session, clock }: StateOwner): Promise<string> {
  const [content = "", signature = ""] = (state ?? "").split(".");
  if (!(await isSigned(signature, secret, signedText(content, session))))
    throw invalid("was not made for this session, or was changed");
  const [endsAt, data] = JSON.parse(new TextDecoder().decode(fromBase64(content))) as [number, string];
  if (clock.now() > endsAt) throw invalid(`is older than ${LIFE_MS / 60_000} minutes`);
  return data;
}

/** The prefix keeps it apart from whatever else the secret signs. */
function signedText(content: string, session: string): string {
  return `hookline-state:${JSON.stringify(session)}:${content}`;
}

async function isSigned(signature: string, secret: string, text: string): Promise<boolean> {
  try {
    return await isHmacSha256(secret, text, fromBase64(signature));
  } catch {
    return false; // no base64
  }
}

function invalid(what: string): HooklineError {
  return new HooklineError("state-invalid", `The state of the authorisation ${what}.`, {
    fix: "Do not use the code; let the user begin again.",
  });
}
