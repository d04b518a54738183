import type { RawRequest } from "hookline";
import { expect, test, vi } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";

const SECRET = "a signing secret";

async function* texts(): AsyncGenerator<string> {
  yield bodyOf();
}

test.each<[string, unknown]>([
  ["a stream of text", texts()],
  ["a text", bodyOf()],
  ["a way to read that brings text", async () => bodyOf()],
  ["a way to read that brings nothing", async () => undefined],
  ["a way to read that brings no view of its bytes", async () => new ArrayBuffer(8)],
  ["a way to read that counts text", async ({ count }: { count(bytes: unknown): void }) => count(undefined)],
  ["a way to read that counts below 0", async ({ count }: { count(bytes: unknown): void }) => count(-1_000_000)],
  ["a way to read that counts digits", async ({ count }: { count(bytes: unknown): void }) => count("5")],
])("%s is refused with its fix, and the limit of bodies in flight stands", async (_, body) => {
  const { receiver, clock, log, offer } = rig({ maxInFlightBytes: 1_000_000, maxBodyBytes: 500_000 });
  const good = signedRequest(bodyOf(), { secret: SECRET, at: clock.date() });
  const ask = (given: unknown) => receiver.receive({ ...good, body: given as RawRequest["body"] });
  expect(await ask(body)).toMatchObject({ status: 500 });
  expect(log.of("body-consumed")).toMatchObject([
    { level: "error", facts: { fix: expect.stringContaining("`Uint8Array`") as string } },
  ]);
  const end = deferred();
  const many = Array.from({ length: 5 }, () =>
    ask(async ({ count }: { count(bytes: number): void }) => {
      count(400_000);
      await end.promise;
      return Buffer.from(bodyOf());
    }),
  );
  await turns();
  end.resolve();
  expect((await Promise.all(many)).map(({ status }) => status)).toEqual([200, 200, 503, 503, 503]);
  expect(await offer(emails("m-2"))).toMatchObject({ status: 200 });
});

test("bytes whose memory is used again after the answer do not change what the handler gets", async () => {
  const { receiver, clock } = rig();
  const got: string[] = [];
  receiver.on("email", ({ id }) => void got.push(id));
  const request = signedRequest(emails("m-1"), { secret: SECRET, at: clock.date() });
  const body = Buffer.from(request.body as Uint8Array);
  expect(await receiver.receive({ ...request, body })).toMatchObject({ status: 200 });
  body.fill("x");
  await receiver.start();
  await vi.waitFor(() => expect(got).toEqual(["m-1"]));
});
