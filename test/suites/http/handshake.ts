import { assertAnswer, assertLater, assertStored } from "./asserts.ts";
import { mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";

const AS_TEXT = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" };

export const handshake: readonly HttpPart[] = [
  {
    about: "handshake",
    promise: "It is answered 200 with exactly the token as plain text, and never by a bad token's echo.",
    proofs: {
      "the token comes back, decoded once, with its type and nothing that guesses another": async (bench) => {
        const query = "?validationToken=a+b%20c%2Bd%2541%3Cb%3E%C3%A9%E6%97%A5&other=1";
        const answer = await bench.deliver("", { query, headers: { "Content-Type": "text/plain" } });
        assertAnswer(bench, answer, { status: 200, headers: AS_TEXT, body: "a b c+d%41<b>é日" });
        assertStored(bench);
      },

      "the first of several counts": async (bench) => {
        const answer = await bench.deliver("", { query: "?a=1&validationToken=first&validationToken=second" });
        assertAnswer(bench, answer, { status: 200, headers: AS_TEXT, body: "first" });
      },

      "an empty token is 400, and one of 1,025 characters": async (bench) => {
        for (const token of ["", "x".repeat(1_025)]) {
          assertAnswer(bench, await bench.deliver("", { query: `?validationToken=${token}` }), { status: 400 });
        }
      },

      "one that is not signed is 401": async (bench) => {
        const headers = { "Content-Type": "text/plain" };
        const answer = await bench.ask({ method: "POST", headers, body: new Uint8Array(0) }, "?validationToken=abc");
        assertAnswer(bench, answer, { status: 401 });
      },

      "beside a body the token is answered, and the body is stored": async (bench) => {
        const body = mail(["m-1"]);
        const answer = await bench.deliver(body, { query: "?validationToken=abc" });
        assertAnswer(bench, answer, { status: 200, headers: AS_TEXT, body: "abc" });
        assertAnswer(bench, await bench.deliver(body, { query: "?validationToken=" }), { status: 200 });
        assertStored(bench, body, body);
      },

      "it needs no storage, which a delivery does": async (bench) => {
        bench.heard.mode = "refuse";
        const answer = await bench.deliver("", { query: "?validationToken=abc" });
        assertAnswer(bench, answer, { status: 200, headers: AS_TEXT, body: "abc" });
        assertLater(bench, await bench.deliver(mail(["m-1"]), { query: "?validationToken=abc" }));
      },
    },
  },
];
