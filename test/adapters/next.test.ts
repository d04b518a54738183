// What Next does around the mounts is in test/mounts/next.test.ts, with a built app; here is what they do with Node's own two objects.
import { fetchReceiver } from "hookline/fetch";
import { nextPagesReceiver, nextReceiver, type NextApiRequestLike } from "hookline/next";
import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { inProcess } from "../suites/http-subjects.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import { toFetchOptions } from "../support/fetch-options.ts";
import { serve } from "../support/http.ts";
import { ACKNOWLEDGED, deliver, DELIVERY, receiving } from "./harness.ts";
import { mountSuite } from "./suite.ts";

const own = { runtime: "long-lived" } as const;

mountSuite("next, pages router", (receiver, options) =>
  listenerOf(nextPagesReceiver(receiver, { ...options, ...own })),
);

const subject = inProcess((app) => listenerOf(nextPagesReceiver(app.receiver, toFetchOptions(app.options))));

describe.concurrent("next, pages router", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});

describe("next", () => {
  test("the app router has the mount for web-standard requests", () => {
    expect(nextReceiver).toBe(fetchReceiver);
  });

  test("a path that is not the mount's is 404: no other handler follows", async () => {
    const { receiver, stored } = receiving();
    const { url } = await serve(listenerOf(nextPagesReceiver(receiver, { ...own, path: "/api/webhooks" })));
    expect(await deliver(`${url}/api/other`)).toMatchObject({ status: 404, body: "" });
    expect(await deliver(`${url}/api/webhooks?a=1`)).toMatchObject(ACKNOWLEDGED);
    expect(stored).toHaveLength(1);
  });

  test("a source function is asked with Next's request, so also with the parameters of a dynamic route", async () => {
    const { receiver, stored } = receiving();
    const source = ({ query }: NextApiRequestLike): string | undefined => query?.["tenant"]?.toString();
    const handle = nextPagesReceiver(receiver, { ...own, source });
    const { url } = await serve((req, res) => void handle(Object.assign(req, { query: { tenant: "shop" } }), res));
    expect(await deliver(url)).toMatchObject(ACKNOWLEDGED);
    expect(stored).toMatchObject([{ source: "shop" }]);
  });

  // As Next's body parser leaves it: the value of JSON, any other body as a text.
  test.each([
    ["JSON is gone", (body: string): unknown => JSON.parse(body), 500, "body-consumed"],
    ["a text survives", (body: string): unknown => body, 200, "parsed-before"],
  ])("where the body parser was on, %s, and the log says what to export", async (_, parse, status, code) => {
    const { receiver, bodies, log } = receiving();
    const handle = nextPagesReceiver(receiver, own);
    const { url } = await serve((req, res) => {
      void text(req).then((body) => handle(Object.assign(req, { body: parse(body) }), res));
    });
    expect(await deliver(url)).toMatchObject({ status, body: "" });
    expect(bodies()).toEqual(status === 200 ? [DELIVERY] : []);
    const fix = expect.stringContaining("`export const config = { api: { bodyParser: false } };`");
    expect(log.of(code)).toMatchObject([{ facts: { fix } }]);
  });
});

function listenerOf(handle: ReturnType<typeof nextPagesReceiver>): RequestListener {
  return (req, res) => void handle(req, res);
}
