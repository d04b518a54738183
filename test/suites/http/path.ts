import assert from "node:assert/strict";
import { assertAnswer, assertStored } from "./asserts.ts";
import { mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";

const PATH = "/hooks/in";

export const path: readonly HttpPart[] = [
  {
    about: "path",
    promise: "It is compared with the path of the original URL, and other paths are not ours.",
    options: { path: PATH },
    needs: "path",
    proofs: {
      "with a query or without": async (bench) => {
        for (const query of ["", "?", "?a=1&path=%2Fother"]) {
          assertAnswer(bench, await bench.deliver(mail(["m-1"]), { query }), { status: 200 });
        }
        const greeted = await bench.deliver("", { query: "?a=1&validationToken=abc" });
        assert.deepEqual([greeted.status, greeted.body], [200, "abc"]);
      },

      "what goes elsewhere is not stored, and not acknowledged": async (bench) => {
        for (const query of ["/below", "side", "/../other?path=/hooks/in"]) {
          const { status } = await bench.deliver(mail(["m-1"]), { query });
          assert.notEqual(status, 200, `${PATH}${query} was answered 200.`);
          assert.notEqual(status, 422, `${PATH}${query} was answered 422.`);
        }
        assertStored(bench);
      },
    },
  },
  {
    about: "source",
    promise: "Which URL or application it is, is stored with the delivery.",
    options: { source: "shop" },
    needs: "source",
    proofs: {
      "it is stored": async (bench) => {
        await bench.deliver(mail(["m-1"]));
        assert.deepEqual(
          bench.heard.stored.map(({ source }) => source),
          ["shop"],
        );
      },
    },
  },
];
