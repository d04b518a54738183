import assert from "node:assert/strict";
import { assertAnswer, assertLater, assertStored } from "./asserts.ts";
import { mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";
import { RECORD, UNWANTED } from "./probed-receiver.ts";

export const handling: readonly HttpPart[] = [
  {
    about: "after-handlers",
    promise: "200 only when the handlers are done, else 503, and nothing of the delivery is remembered.",
    options: { answer: "after-handlers", timeoutMs: 20_000 },
    needs: "afterHandlers",
    proofs: {
      "the answer waits for the handler": async (bench) => {
        bench.heard.mode = "hold";
        let isAnswered = false;
        const answered = bench.deliver(mail(["a"])).finally(() => (isAnswered = true));
        await bench.heard.held();
        // A whole request goes by meanwhile.
        assert.equal((await bench.deliver("", { query: "?validationToken=abc" })).body, "abc");
        assert.equal(isAnswered, false, "It was answered before the handler was done.");
        bench.heard.release();
        assertAnswer(bench, await answered, { status: 200 });
        assert.deepEqual(bench.heard.handled, ["a"]);
      },

      "the entries run in their order, and nothing is stored": async (bench) => {
        assertAnswer(bench, await bench.deliver(mail(["a", "b", "c"])), { status: 200 });
        assert.deepEqual(bench.heard.handled, ["a", "b", "c"]);
        assertStored(bench);
      },

      "a handler that fails is 503, whatever status its error has, and all of it runs again": async (bench) => {
        const body = mail(["a", RECORD.fails]);
        for (const handled of [["a"], ["a", "a"]]) {
          assertLater(bench, await bench.deliver(body));
          assert.deepEqual(bench.heard.handled, handled);
        }
        assertStored(bench);
      },

      "GiveUp counts as done": async (bench) => {
        assertAnswer(bench, await bench.deliver(mail([RECORD.givesUp, "a"])), { status: 200 });
        assert.deepEqual(bench.heard.handled, ["a"]);
      },

      "what nobody handles is 200, and what is not JSON": async (bench) => {
        for (const body of ['{"resource":"/notes"}', "no JSON"]) {
          assertAnswer(bench, await bench.deliver(body), { status: 200 });
        }
        assertStored(bench);
      },

      "all else is as ever: 401, 405, 422, the handshake": async (bench) => {
        const forged = { headers: bench.signed("another") };
        assertAnswer(bench, await bench.deliver(mail(["a"]), forged), { status: 401 });
        assertAnswer(bench, await bench.deliver(mail(["a"], UNWANTED)), { status: 422 });
        assert.equal((await bench.deliver("", { query: "?validationToken=abc" })).body, "abc");
        assert.deepEqual(bench.heard.handled, []);
      },
    },
  },
  {
    about: "after-handlers in time",
    promise: "What is not done by the deadline is answered 503.",
    options: { answer: "after-handlers", timeoutMs: 200 },
    needs: "afterHandlers",
    proofs: {
      "a handler that takes too long is told so by its signal": async (bench) => {
        assertLater(bench, await bench.deliver(mail([RECORD.late])));
        assertStored(bench);
      },
    },
  },
];
