import { causeOfStatus } from "./status-causes.ts";

/** The parts of an answer to a verification handshake that matter. */
export interface HandshakeAnswer {
  readonly status: number;
  readonly location?: string | undefined;
  readonly contentType: string | undefined;
  readonly body: string;
}

/**
 * What is wrong with the answer to a verification handshake; empty when it is right.
 *
 * @see protocol 6.1
 */
export function handshakeFlaws(answer: HandshakeAnswer, token: string): readonly string[] {
  const { status, contentType, body } = answer;
  const flaws: string[] = [];
  if (status !== 200) {
    const { cause, fix } = causeOfStatus(status, answer);
    flaws.push(`The status is ${status}, expected 200. ${cause} ${fix}`);
  }
  // The rest of an error page says no more.
  if (status < 200 || status >= 300) return flaws;
  const type = contentType?.split(";")[0]?.trim().toLowerCase();
  if (type !== "text/plain") {
    const got = contentType ?? "missing";
    flaws.push(
      `The content type is ${got}, expected text/plain: as HTML, a token sent by an attacker would run as a script.`,
    );
  }
  if (body !== token) flaws.push(bodyFlaw(body, token));
  return flaws;
}

function bodyFlaw(body: string, token: string): string {
  if (body === "") return "The body is empty, expected the token of the query parameter validationToken.";
  if (body.trim() === token) return "The body has white space around the token, expected exactly the token.";
  if (body.trim() === JSON.stringify(token))
    return "The body is the token in quotes, so it was sent as JSON: send it as text.";
  const encoded = [encodeURIComponent(token), new URLSearchParams({ "": token }).toString().slice(1)];
  if (encoded.includes(body)) return "The body is the token as the URL has it: decode the query parameter once.";
  if (body === token.replaceAll("+", " "))
    return "The body is the token decoded twice, its plus became a space: decode the query parameter once.";
  const what = body.includes(token) ? "more than the token" : "something else";
  return `The body is ${what}, expected exactly the token: it begins with ${JSON.stringify(body.slice(0, 60))}.`;
}
