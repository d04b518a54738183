import type { Context } from "hookline";
import { verify } from "hookline/signature";
import { describe, expect, test } from "vitest";
import { emails, rig } from "../support/rig.ts";

interface State {
  names?: string[];
}

const stateOf = (ctx: Context): State => ctx.state as State;

describe("middleware of a receiver", () => {
  test("runs in the order of `use`, outermost first, once for a merged call", async () => {
    const { receiver, send } = rig();
    const said: string[] = [];
    for (const name of ["one", "two", "three"])
      receiver.use(async (_event, _ctx, next) => {
        said.push(`${name} begins`);
        await next();
        said.push(`${name} ends`);
      });
    receiver.on("email", (_event, ctx) => said.push(`handler of ${ctx.merged}`));
    await send(emails("a", "a"));
    await receiver.start();
    await receiver.idle();
    const names = ["one", "two", "three"];
    expect(said).toEqual([
      ...names.map((name) => `${name} begins`),
      "handler of 2",
      ...names.toReversed().map((name) => `${name} ends`),
    ]);
  });

  test("runs around each attempt of each consumer, with a state that is fresh each time", async () => {
    const { receiver, send, pass } = rig();
    const seen: string[] = [];
    receiver.use((_event, ctx, next) => {
      stateOf(ctx).names = [...(stateOf(ctx).names ?? []), "outer"];
      return next();
    });
    receiver.use((_event, ctx, next) => {
      stateOf(ctx).names?.push("inner");
      return next();
    });
    for (const consumer of ["one", "two"])
      receiver.on(
        "email",
        (_event, ctx) => {
          seen.push(`${consumer} ${ctx.attempt} ${String(stateOf(ctx).names)}`);
          if (ctx.attempt === 1) throw new Error("no");
        },
        { consumer },
      );
    await receiver.start();
    await send(emails("a"));
    await pass(1_000);
    expect(seen.toSorted()).toEqual([
      "one 1 outer,inner",
      "one 2 outer,inner",
      "two 1 outer,inner",
      "two 2 outer,inner",
    ]);
  });

  test("that catches what the handler throws makes the job done", async () => {
    const { receiver, send } = rig();
    const caught: unknown[] = [];
    receiver.use((_event, _ctx, next) => next().catch((error: unknown) => caught.push(error)));
    receiver.on("email", () => Promise.reject(new Error("no")));
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect(caught).toMatchObject([{ message: "no" }]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, failed: 0 });
  });

  test("counts within the time limit, and sees its abort", async () => {
    const { receiver, send, pass } = rig({ timeoutMs: 1_000, attempts: 1 });
    receiver.use(
      (_event, ctx) =>
        new Promise((_, reject) => {
          ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason as Error));
        }),
    );
    receiver.on("email", () => {});
    await receiver.start();
    await send(emails("a"));
    await pass(1_000);
    expect(receiver.stats()).toMatchObject({ failed: 1, dead: 1 });
  });
});

describe("ctx.delivery()", () => {
  test("gives the stored request, byte for byte, which can be verified again", async () => {
    const { receiver, send, clock } = rig();
    const body = ` ${emails("a", "b")}\n`;
    const given: unknown[] = [];
    receiver.on("email", async (event, ctx) => {
      const { headers, bodyBase64, signedBy, source } = await ctx.delivery();
      const bytes = Buffer.from(bodyBase64, "base64");
      const verified = verify({ headers, body: bytes }, { secret: "a signing secret", now: clock.date() });
      given.push([event.id, bytes.toString(), verified.sentAt?.getTime(), signedBy, source]);
    });
    await receiver.start();
    const at = new Date("2026-05-06T07:00:00Z");
    await send(body, { source: "crm", at });
    await receiver.idle();
    expect(given).toEqual(["a", "b"].map((id) => [id, body, at.getTime(), "default", "crm"]));
  });
});
