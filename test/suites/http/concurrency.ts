import assert from "node:assert/strict";
import { assertAnswer, assertStored } from "./asserts.ts";
import { longMail, mail } from "./deliveries.ts";
import type { HttpBench } from "./fixture.ts";
import type { HttpPart } from "./http-case.ts";
import { openRequest } from "./open-request.ts";
import { UNWANTED } from "./probed-receiver.ts";

const GOOD = Array.from({ length: 15 }, (_, at) => longMail(200 + at * 4_000, `${at}`));

export const concurrency: readonly HttpPart[] = [
  {
    about: "many at once",
    promise: "Each request is answered by its own fate.",
    proofs: {
      "thirty that are stored, refused, greeted or unwanted": async (bench) => {
        const { length } = GOOD;
        const got = await Promise.all(
          GOOD.flatMap((body, at) => [bench.deliver(body).then(({ status }) => status), odd(bench, at)]),
        );
        assert.deepEqual(got, Array.from({ length }, (_, at) => [200, FATES[at % FATES.length]?.(at)]).flat());
        assert.deepEqual(
          bench.heard.bodies().toSorted(),
          GOOD.map((body) => Buffer.from(body).toString("base64")).toSorted(),
        );
      },

      "two whose bodies come in turns": async (bench) => {
        const bodies = [mail(["m-1", "m-2", "m-3"]), mail(["m-4", "m-5", "m-6"])];
        const open = await Promise.all(bodies.map((body) => openRequest(bench, { body })));
        for (const at of [0, 20, 40]) {
          for (const [nth, one] of open.entries()) await one.write(bodies[nth]?.slice(at, at + 20) ?? "");
          // When this is answered, the app has seen what came before it.
          await bench.deliver("", { query: "?validationToken=abc" });
        }
        for (const [nth, one] of open.entries()) one.end(bodies[nth]?.slice(60));
        for (const { answered } of open) assertAnswer(bench, await answered, { status: 200 });
        assert.deepEqual(
          bench.heard.bodies().toSorted(),
          bodies.map((body) => Buffer.from(body).toString("base64")).toSorted(),
        );
      },
    },
  },
  {
    about: "a client that goes away",
    promise: "Nothing of a body that was cut off is stored, and the others go on.",
    proofs: {
      "in the middle of its body": async (bench) => {
        const body = mail(["m-1"]);
        for (const chunked of [false, true]) {
          const open = await openRequest(bench, { body, chunked });
          await open.write(body.slice(0, 20));
          await open.abort();
          assertAnswer(bench, await bench.deliver(mail([`after, chunked: ${chunked}`])), { status: 200 });
        }
        assertStored(bench, mail(["after, chunked: false"]), mail(["after, chunked: true"]));
      },
    },
  },
  {
    about: "a body that takes its time",
    promise: "What can be told before the body is read is told before it is in.",
    needs: "streams",
    proofs: {
      "a missing signature is 401 while the body is still to come": async (bench) => {
        const open = await openRequest(bench, { body: mail(["m-1"]), headers: {} });
        assert.equal((await open.answered).status, 401);
        await open.abort();
      },

      "in pieces it is one body": async (bench) => {
        const body = mail(["m-1", "日本"]);
        const open = await openRequest(bench, { body });
        for (const at of [0, 7]) await open.write(body.slice(at, at + 7));
        open.end(body.slice(14));
        assertAnswer(bench, await open.answered, { status: 200 });
        assertStored(bench, body);
      },
    },
  },
];

/** What the nth of the others gets, from one kind to the next. */
const FATES: readonly ((at: number) => number | string)[] = [() => 401, (at) => `token ${at}`, () => 422, () => 415];

async function odd(bench: HttpBench, at: number): Promise<number | string> {
  const body = mail([`odd-${at}`]);
  switch (at % FATES.length) {
    case 0:
      return (await bench.deliver(body, { headers: bench.signed(mail(["other"])) })).status;
    case 1:
      return (await bench.deliver("", { query: `?validationToken=token+${at}` })).body;
    case 2:
      return (await bench.deliver(mail([`odd-${at}`], UNWANTED))).status;
    default:
      return (await bench.deliver(body, { headers: { "Content-Encoding": "gzip" } })).status;
  }
}
