import { join } from "node:path";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject } from "../suites/http/http-subject.ts";
import { openRequest } from "../suites/http/open-request.ts";
import { listenForTold } from "../suites/http/recording-server.ts";
import { send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { bundle, FOR_WORKERS } from "./bundle.ts";
import { startWorkerd } from "./workerd.ts";

let code: string;

beforeAll(async () => {
  ({ code } = await bundle({ ...FOR_WORKERS, entryPoints: [join(import.meta.dirname, "worker.ts")] }));
});

const subject: HttpSubject = {
  async serve(app) {
    const workers = startWorkerd(
      { main: { code, bindings: { APP: app } } },
      { http: '"main"', control: '(name = "main", entrypoint = "control")' },
    );
    const url = await workers.urlOf("http");
    // The first request loads the Worker. An early refusal must not wait for that, or workerd closes the connection.
    await fetch(url);
    return {
      url,
      async shutDown() {
        const response = await fetch(await workers.urlOf("control"));
        if (!response.ok) throw new Error(`The Worker's control answered ${response.status}.`);
      },
      close: () => workers.end(),
    };
  },
};

describe("hookline/workers on workerd", () => {
  test(
    "clients that go away while their delivery is being stored take nothing of the receiver with them",
    { timeout: 120_000 },
    async () => {
      const heard = await listenForTold();
      const secret = "a secret of the shop";
      const served = await subject.serve({
        secret,
        tell: heard.url,
        storeTimeoutMs: 30_000,
        options: {},
        receiver: undefined as never,
      });
      onTestFinished(async () => {
        await served.close();
        heard.close();
      });
      const bench = { url: served.url, signed: (body: string) => signedHeaders(body, { secret }) };
      // Together more than the limit for bytes in flight: 64 MiB.
      const long = "x".repeat(1_000_000);
      for (let count = 0; count < 70; count += 1) {
        heard.mode = "hold";
        const open = await openRequest(bench, { body: long });
        open.end(long);
        await heard.held();
        await open.abort();
        heard.release();
      }
      const body = "{}";
      await vi.waitFor(
        async () =>
          expect(await send(served.url, { body, headers: bench.signed(body) })).toMatchObject({ status: 200 }),
        { timeout: 60_000 },
      );
    },
  );
});

describe.concurrent("hookline/workers on workerd", () => {
  test.each(checkHttpAdapter(subject).map((one) => [one.name, one] as const))("%s", async (_name, { run }) => run());
});
