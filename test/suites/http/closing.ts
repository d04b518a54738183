import assert from "node:assert/strict";
import { assertAnswer, assertLater, assertStored } from "./asserts.ts";
import { mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";
import { openRequest } from "./open-request.ts";

export const closing: readonly HttpPart[] = [
  {
    about: "shut-down",
    promise: "A receiver that closes answers 503, and what it answers 200 is stored.",
    needs: "shutDown",
    proofs: {
      "what comes afterwards is 503, and a handshake is greeted": async (bench) => {
        assertAnswer(bench, await bench.deliver(mail(["m-1"])), { status: 200 });
        await bench.shutDown();
        assertLater(bench, await bench.deliver(mail(["m-2"])));
        assert.equal((await bench.deliver("", { query: "?validationToken=abc" })).body, "abc");
        assertStored(bench, mail(["m-1"]));
      },

      "a body that is still coming then": async (bench) => {
        const body = mail(["m-1"]);
        const open = await openRequest(bench, { body });
        await open.write(body.slice(0, 20));
        const shut = bench.shutDown();
        open.end(body.slice(20));
        const { status } = await open.answered;
        await shut;
        assert.ok(status === 503 || status === 200, `got ${status}`);
        assertStored(bench, ...(status === 200 ? [body] : []));
      },

      "one that is being stored then": async (bench) => {
        const body = mail(["m-1"]);
        bench.heard.mode = "hold";
        const answered = bench.deliver(body);
        await bench.heard.held();
        const shut = bench.shutDown();
        bench.heard.release();
        const { status } = await answered;
        await shut;
        assert.ok(status === 503 || status === 200, `got ${status}`);
        assertStored(bench, body);
      },
    },
  },
];
