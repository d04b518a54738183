import { assertAnswer, assertLater, assertStored } from "./asserts.ts";
import { mail } from "./deliveries.ts";
import type { HttpPart } from "./http-case.ts";
import { UNWANTED } from "./probed-receiver.ts";

export const unsubscribe: readonly HttpPart[] = [
  {
    about: "422",
    promise: "It leaves by a decision alone, as it deletes the subscription.",
    proofs: {
      "the gate decided so": async (bench) => {
        assertAnswer(bench, await bench.deliver(mail(["m-1"], UNWANTED)), { status: 422 });
        assertAnswer(bench, await bench.deliver(mail(["m-1"])), { status: 200 });
        assertStored(bench, mail(["m-1"]));
      },
    },
  },
  {
    about: "503",
    promise: "What could not be stored is answered 503 with Retry-After, and comes again.",
    proofs: {
      "storage that fails, until it does not": async (bench) => {
        bench.heard.mode = "refuse";
        assertLater(bench, await bench.deliver(mail(["m-1"])));
        assertStored(bench);
        bench.heard.mode = "take";
        assertAnswer(bench, await bench.deliver(mail(["m-2"])), { status: 200 });
        assertStored(bench, mail(["m-2"]));
      },
    },
  },
  {
    about: "503",
    promise: "What is not stored in time is answered 503, and comes again.",
    storeTimeoutMs: 1_000,
    proofs: {
      "storage that hangs": async (bench) => {
        bench.heard.mode = "hold";
        const body = mail(["m-1"]);
        assertLater(bench, await bench.deliver(body));
        assertStored(bench);
        bench.heard.release();
        let again = await bench.deliver(body);
        // A machine that stops for as long may make it late once more.
        for (let times = 0; times < 10 && again.status === 503; times += 1) again = await bench.deliver(body);
        assertAnswer(bench, again, { status: 200 });
      },
    },
  },
];
