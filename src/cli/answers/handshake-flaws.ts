import { randomUUID } from "node:crypto";
import { causeOf } from "./status-causes.ts";
import type { Answer } from "../send/post.ts";

/** A new token of the service's kind. Its colons and its plus come back only from a receiver that decodes the query. */
export function makeToken(): string {
  return `${randomUUID()}_${new Date().toISOString().replace("Z", "+00:00")}`;
}

/**
 * What is wrong with the answer to a verification handshake; nothing when it is right.
 *
 * @see protocol 6.1
 */
export function handshakeFlaws({ status, location, contentType, body }: Answer, token: string): readonly string[] {
  const flaws: string[] = [];
  if (status !== 200) {
    const cause = causeOf({ status, location });
    flaws.push(`The status is ${status}, expected 200.${cause === undefined ? "" : ` ${cause}`}`);
  }
  // Of an error page the status says enough.
  if (status < 200 || status >= 300) return flaws;
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type !== "text/plain") {
    const got = contentType ?? "missing";
    flaws.push(`The content type is ${got}, expected text/plain: as HTML, a stranger's token would run as a script.`);
  }
  if (body !== token) flaws.push(bodyFlaw(body, token));
  return flaws;
}

function bodyFlaw(body: string, token: string): string {
  if (body === "") return "The body is empty, expected the token of the query parameter validationToken.";
  if (body.trim() === token) return "The body has white space around the token, expected exactly the token.";
  if (body.trim() === JSON.stringify(token)) {
    return "The body is the token in quotes, so it was sent as JSON: send it as text.";
  }
  if (body === encodeURIComponent(token) || body === query(token)) {
    return "The body is the token as the URL has it: decode the query parameter once.";
  }
  if (body === token.replaceAll("+", " ")) {
    return "The body is the token decoded twice, its plus became a space: decode the query parameter once.";
  }
  const what = body.includes(token) ? "more than the token" : "something else";
  return `The body is ${what}, expected exactly the token: it begins with ${JSON.stringify(body.slice(0, 60))}.`;
}

function query(token: string): string {
  return new URLSearchParams({ token }).toString().slice("token=".length);
}
