import express5 from "express";
import express4 from "express4";
import { expressReceiver } from "hookline/express";
import { koaReceiver } from "hookline/koa";
import { nodeReceiver } from "hookline/node";
import Koa3 from "koa";
import Koa2 from "koa2";
import { AssertionError } from "node:assert/strict";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startNode } from "../cli/child.ts";
import { brokenMounts } from "./broken-mounts.ts";
import { byHand, inProcess } from "./http-subjects.ts";
import { checkHttpAdapter, type HttpCase } from "./http/check-http-adapter.ts";
import type { HttpSubject } from "./http/http-subject.ts";

const lacks = { afterHandlers: "its process goes on after the answer" };
const platform = { ownHeaders: ["x-powered-by"] };

const mounts: readonly (readonly [string, HttpSubject])[] = [
  ["node", inProcess((app) => nodeReceiver(app.receiver, app.options), { lacks })],
  ["express 5", inProcess((app) => express5().use(expressReceiver(app.receiver, app.options)), { lacks, platform })],
  ["express 4", inProcess((app) => express4().use(expressReceiver(app.receiver, app.options)), { lacks, platform })],
  ["koa 3", inProcess((app) => quiet(Koa3).use(koaReceiver(app.receiver, app.options)).callback(), { lacks })],
  [
    "koa 2",
    inProcess(
      (app) =>
        quiet(Koa2 as unknown as typeof Koa3)
          .use(koaReceiver(app.receiver, app.options))
          .callback(),
      { lacks },
    ),
  ],
  ["a mount by hand", byHand()],
];

// Mounts beside each other, as each waits for storage that hangs.
describe.concurrent.each(mounts)("the mount of %s", (_, subject) => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});

describe.concurrent("the suite catches a mount that", () => {
  test.each(brokenMounts)("$it, by the case '$caught'", async ({ subject, caught }) => {
    const about = caught.slice(0, caught.indexOf(":"));
    await expect(caseOf(subject, caught).run()).rejects.toThrow(`The table of answers says of ${about}: "`);
  });
});

describe("checkHttpAdapter", () => {
  test("tells the promise that is broken, with what was got and what was expected", async () => {
    const failure: unknown = await caseOf(
      inProcess(() => (_req, res) => void res.writeHead(404).end()),
      "401: a forged delivery",
    )
      .run()
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(AssertionError);
    expect(failure).toMatchObject({ actual: { status: 404 }, expected: { status: 401 } });
    expect((failure as Error).message).toMatch(
      /^The table of answers says of 401: "What is not signed well .*" Not so here: 401: a forged delivery\.\n/,
    );
  });

  test("tells so too when the app cannot be served, or nothing listens", async () => {
    const lost = new Error("no such command");
    const down = { url: "http://127.0.0.1:1/", close: () => {} };
    const subjects: readonly HttpSubject[] = [{ serve: () => Promise.reject(lost) }, { serve: async () => down }];
    const [first, second] = subjects.map((subject) => caseOf(subject, "401: a forged delivery").run());
    await expect(first).rejects.toMatchObject({ cause: lost, message: expect.stringMatching(/\nno such command$/) });
    await expect(second).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
  });

  test("has no two cases of one name, and leaves out what a mount lacks, with the reason", async () => {
    const all = namesOf(byHand({}, {}));
    expect(new Set(all).size).toBe(all.length);
    const less = checkHttpAdapter(byHand({}, { path: "the platform routes", source: undefined }));
    const [reason, ...others] = less.filter(({ name }) => name.startsWith("left out: "));
    expect(others).toEqual([]);
    expect(reason?.name).toMatch(/^left out: the 2 cases about `path`, as the platform routes$/);
    await reason?.run();
    expect(less.map(({ name }) => name)).not.toContain("path: with a query or without");
    expect(less).toHaveLength(all.length - 2 + 1);
  });

  test("leaves out the methods that the platform answers itself", () => {
    const names = namesOf({ ...byHand(), platform: { ownMethods: ["GET", "HEAD"] } });
    expect(names).not.toContain("405: GET");
    expect(names).not.toContain("probe: a GET gets 405");
    expect(names).toContain("405: PUT");
  });

  test("works on a mount in another process, which gets its app as JSON", async () => {
    const subject: HttpSubject = {
      async serve(app) {
        const child = startNode([join(import.meta.dirname, "mount-process.ts")], { PROBED_APP: JSON.stringify(app) });
        const [url] = await child.says("out", /http:\S+/);
        return {
          url,
          async shutDown() {
            child.kill("SIGUSR2");
            await child.says("out", /closed/);
          },
          async close() {
            child.kill("SIGKILL");
            await child.ended;
          },
        };
      },
    };
    for (const name of [
      "200: each delivery is stored, also one that came before",
      "422: the gate decided so",
      "source: it is stored",
      "shut-down: what comes afterwards is 503, and a handshake is greeted",
    ])
      await caseOf(subject, name).run();
  });
});

function namesOf(subject: HttpSubject): readonly string[] {
  return checkHttpAdapter(subject).map(({ name }) => name);
}

function caseOf(subject: HttpSubject, name: string): HttpCase {
  const found = checkHttpAdapter(subject).find((one) => one.name === name);
  if (found === undefined) throw new Error(`There is no case "${name}".`);
  return found;
}

/** It would print what it gets as an error, and a client that goes away is one to it. */
function quiet(Koa: typeof Koa3): Koa3 {
  return Object.assign(new Koa(), { silent: true });
}
