import { sign } from "../../signature.ts";
import type { Answered, Asked } from "./ask.ts";
import { brokenBody, deliveryBody, longBody, MARK, unknownBody, type Origin } from "./bodies.ts";

/** What a probe is made of. */
export interface ProbeParts extends Origin {
  readonly secret: string;
  readonly now: Date;
  /** The receiver's limit of a body. */
  readonly maxBodyBytes: number;
}

/** A request of which the table of answers says what it gets. */
export interface Probe {
  /** In plain words. No two have the same. */
  readonly name: string;
  /** The table's status first; the others do as well. */
  readonly expects: readonly number[];
  /** What it is to the app: `accepted` and `refused` by what it must do with it, `greeted` for the handshake. */
  readonly kind: "accepted" | "greeted" | "refused";
  /** Over 64 KiB, which not every mount under test is given. */
  readonly isLong?: boolean;
  readonly method: "POST" | "GET";
  /** Headers, body, and the token in the URL's query. */
  make(parts: ProbeParts): Made;
  /** What is wrong with the answer although its status is right. */
  flaw?(answer: Answered): string | undefined;
}

type Made = Omit<Asked, "method"> & { readonly token?: string };

/** Colons and a plus come back only from a receiver that decodes the query. */
const TOKEN = `${MARK}:2026-01-02T03:04:05+00:00 é`;

const JSON_TYPE = "application/json";
const DAY_MS = 86_400_000;

/** The table of answers, asked of a running app. */
export const probes: readonly Probe[] = [
  accepted("a delivery", (parts) => deliveryBody(parts)),
  {
    name: "a verification handshake",
    expects: [200],
    kind: "greeted",
    method: "POST",
    make: (parts) => ({ ...signed(parts, new Uint8Array(0), "text/plain; charset=utf-8"), token: TOKEN }),
    flaw: tokenFlaw,
  },
  refused("a forged delivery", (parts) => signed({ ...parts, secret: `not ${parts.secret}` }, deliveryBody(parts))),
  refused("a delivery signed eight days ago", (parts) =>
    signed({ ...parts, now: new Date(parts.now.getTime() - 8 * DAY_MS) }, deliveryBody(parts)),
  ),
  refused("a delivery without a signature", (parts) => ({
    headers: { "Content-Type": JSON_TYPE },
    body: deliveryBody(parts),
  })),
  accepted("a signed body that is not JSON", brokenBody),
  accepted("a signed body of an unknown shape", unknownBody),
  { ...accepted("a delivery of 150 kB", (parts) => longBody(parts, 150_000)), isLong: true },
  {
    ...refused("a delivery over the limit", (parts) => signed(parts, longBody(parts, parts.maxBodyBytes + 1))),
    expects: [413],
    isLong: true,
  },
  {
    name: "a GET",
    // A route for POST alone is not there for a GET, which the service never sends.
    expects: [405, 404],
    kind: "refused",
    method: "GET",
    make: () => ({ headers: {} }),
  },
  accepted("a delivery sent as text/plain", (parts) => deliveryBody(parts), "text/plain"),
  accepted("a delivery sent as a form", (parts) => deliveryBody(parts), "application/x-www-form-urlencoded"),
];

function accepted(name: string, body: (parts: ProbeParts) => Uint8Array, type = JSON_TYPE): Probe {
  return { name, expects: [200], kind: "accepted", method: "POST", make: (parts) => signed(parts, body(parts), type) };
}

function refused(name: string, make: Probe["make"]): Probe {
  return { name, expects: [401], kind: "refused", method: "POST", make };
}

function signed({ secret, now }: ProbeParts, body: Uint8Array, type = JSON_TYPE): Made {
  return { headers: { ...sign(body, { secret, at: now }), "Content-Type": type }, body };
}

/** @see protocol 6.1 */
function tokenFlaw({ headers, body }: Answered): string | undefined {
  const type = headers["content-type"];
  if (body !== TOKEN) return "The answer is not exactly the token, decoded once.";
  if (type?.split(";")[0]?.trim().toLowerCase() === "text/plain") return undefined;
  return `The token's content type is ${type ?? "missing"}, expected text/plain: as HTML, a stranger's token would run as a script.`;
}
