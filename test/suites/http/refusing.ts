import type { Asked } from "../../../src/cli/check/ask.ts";
import { assertAnswer, assertStored } from "./asserts.ts";
import { longMail, mail } from "./deliveries.ts";
import type { HttpBench } from "./fixture.ts";
import type { HttpParts } from "./http-case.ts";

const SIGNATURE = "X-Aurinko-Signature";
const TIMESTAMP = "X-Aurinko-Request-Timestamp";
const DAY_MS = 86_400_000;
const METHODS = ["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS"];

export const refusing: HttpParts = ({ platform }) => [
  {
    about: "401",
    promise: "What is not signed well is answered 401 with an empty body: no hint is in the answer.",
    proofs: {
      "a forged delivery": async (bench) => {
        await refused(bench, { [SIGNATURE]: "0".repeat(64) });
      },
      "a body that was signed for another": async (bench) => {
        const { [SIGNATURE]: signature = "", [TIMESTAMP]: timestamp = "" } = bench.signed(mail(["m-2"]));
        await refused(bench, { [SIGNATURE]: signature, [TIMESTAMP]: timestamp });
      },
      "a stale one, and one from the future": async (bench) => {
        for (const days of [-8, 1]) {
          const at = new Date(Date.now() + days * DAY_MS);
          assertAnswer(bench, await bench.deliver(mail(["m-1"]), { at }), { status: 401 });
        }
        assertStored(bench);
      },
      "a header that is missing": async (bench) => {
        for (const name of [SIGNATURE, TIMESTAMP]) {
          const { [name]: _, ...headers } = bench.signed(mail(["m-1"]));
          assertAnswer(bench, await post(bench, headers), { status: 401 });
        }
        assertAnswer(bench, await post(bench, {}), { status: 401 });
        assertStored(bench);
      },
      "a header that is malformed": async (bench) => {
        await refused(bench, { [SIGNATURE]: "no signature" });
        await refused(bench, { [TIMESTAMP]: "no time" });
      },
      "a header that comes twice": async (bench) => {
        for (const name of [SIGNATURE, TIMESTAMP]) {
          const headers = bench.signed(mail(["m-1"]));
          await refused(bench, { [name]: [headers[name] as string, headers[name] as string] });
        }
      },
    },
  },
  {
    about: "405",
    promise: "Another method than POST is answered 405 with Allow.",
    proofs: Object.fromEntries(
      METHODS.filter((method) => !platform?.ownMethods?.includes(method)).map((method) => [
        method,
        async (bench) => {
          const headers = { allow: "POST" };
          assertAnswer(bench, await bench.ask({ method, headers: {} }), { status: 405, headers });
        },
      ]),
    ),
  },
  {
    about: "413",
    promise: "A body over the limit is answered 413, counted while it streams.",
    needs: "longBodies",
    proofs: {
      "a byte too much, declared and in chunks": async (bench) => {
        const body = longMail(1_048_577);
        assertAnswer(bench, await bench.deliver(body), { status: 413 });
        const chunked = await bench.deliver(body, { headers: { "Transfer-Encoding": "chunked" } });
        assertAnswer(bench, chunked, { status: 413 });
        assertStored(bench);
      },
    },
  },
  {
    about: "415",
    promise: "A compressed body is answered 415: the signature is over the bytes that were sent.",
    proofs: {
      "an encoding is refused, and none is none": async (bench) => {
        const body = mail(["m-1"]);
        for (const encoding of ["gzip", "br", "deflate"]) {
          const headers = { "Content-Encoding": encoding };
          assertAnswer(bench, await bench.deliver(body, { headers }), { status: 415 });
        }
        const headers = { "Content-Encoding": "identity" };
        assertAnswer(bench, await bench.deliver(body, { headers }), { status: 200 });
        assertStored(bench, body);
      },
    },
  },
];

async function refused(bench: HttpBench, headers: Asked["headers"]): Promise<void> {
  assertAnswer(bench, await bench.deliver(mail(["m-1"]), { headers }), { status: 401 });
  assertStored(bench);
}

function post(bench: HttpBench, headers: Asked["headers"]): ReturnType<HttpBench["ask"]> {
  return bench.ask({ method: "POST", headers, body: Buffer.from(mail(["m-1"])) });
}
