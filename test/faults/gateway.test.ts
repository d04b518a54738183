import { expect, test } from "vitest";
import { startCli } from "../cli/child.ts";
import { FORWARD_SECRET, startApp } from "../cli/forwarded-app.ts";
import { inboxPath } from "../cli/inbox-file.ts";
import { until } from "../support/event-loop.ts";
import { send } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";

const SIGNING_SECRET = "a secret of these tests";
const env = { SIGNING_SECRET, FORWARD_SECRET };

test("kill -9: another process hands over what the app had not answered, under the same id", async () => {
  const app = await startApp((res, { json }) => {
    if (json.attempt > 1 || (json.event as { id: string }).id === "m-1") res.end();
  });
  const file = inboxPath();
  const args = ["serve", "--port", "0", "--inbox", file, "--forward-to", app.url];
  const first = startCli(args, env);
  const [, url = ""] = await first.says("err", /"url":"([^"]+)"/);
  await deliver(url, "m-1");
  await until(() => app.got.length === 1);
  await deliver(url, "m-2");
  await until(() => app.got.length === 2);
  const second = startCli(args, env);
  await second.says("err", /another process works on the inbox/);
  first.kill("SIGKILL");
  await until(() => app.got.length === 3);
  const ids = app.got.map(({ headers }) => headers["webhook-id"]);
  expect(app.got.map(({ json }) => [(json.event as { id: string }).id, json.attempt])).toEqual([
    ["m-1", 1],
    ["m-2", 1],
    ["m-2", 2],
  ]);
  expect(ids[2]).toBe(ids[1]);
  expect(ids[0]).not.toBe(ids[1]);
  second.kill("SIGTERM");
  expect(await second.ended).toBe(0);
});

async function deliver(url: string, id: string): Promise<void> {
  const body = bodyOf({ payloads: [change(id)] });
  expect(await send(url, { body, headers: signedHeaders(body, { secret: SIGNING_SECRET }) })).toMatchObject({
    status: 200,
  });
}
