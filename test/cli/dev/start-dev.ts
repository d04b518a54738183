import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { buffer } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { createEmulator, type EmulatedAccount, type Emulator } from "../../../src/emulator.ts";
import { eventually } from "../../support/eventually.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";
import { freePort, serve } from "../../support/http.ts";
import { runCli, type Run, type RunOptions } from "../in-process.ts";

/** An app whose answers a test chooses. It answers handshakes as it must. */
interface App {
  readonly url: string;
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders; readonly body: Buffer }[];
  /** For each delivery. @default 200 */
  answer: (req: IncomingMessage, res: ServerResponse) => void;
  /** Called with each handshake. */
  handshake: () => void;
}

async function startApp(): Promise<App> {
  const { url } = await serve((req, res) => {
    const token = new URL(req.url ?? "", "http://localhost").searchParams.get("validationToken");
    void buffer(req).then((body) => {
      if (token !== null && body.length === 0) {
        app.handshake();
        return answerHandshake(req, res);
      }
      app.requests.push({ url: req.url ?? "", headers: req.headers, body });
      app.answer(req, res);
    });
  });
  const app: App = { url: `${url}/webhooks`, requests: [], answer: (_, res) => void res.end(), handshake() {} };
  return app;
}

export interface Setting {
  readonly emulator: Emulator;
  readonly account: EmulatedAccount;
  /** Where the state is. */
  readonly cwd: string;
  readonly app: App;
  readonly env: Record<string, string>;
}

/** An emulator with an account, an app, and a folder. Time stands still, so nothing is redelivered by itself. */
export async function prepare(): Promise<Setting> {
  const emulator = await createEmulator({ clock: "virtual", startAt: new Date() });
  onTestFinished(() => emulator.close());
  const account = await emulator.account();
  const cwd = mkdtempSync(join(fastTmpdir(), "hookline-dev-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const env = { ACCESS_TOKEN: account.token, SIGNING_SECRET: emulator.secret };
  return { emulator, account, cwd, app: await startApp(), env };
}

export interface Dev extends Omit<Run, "url"> {
  readonly port: number;
  /** Its URL at the service. */
  readonly url: string;
}

interface DevOptions extends RunOptions {
  /** Called with its URL before it starts. */
  readonly before?: (url: string) => Promise<unknown>;
}

function answerHandshake(req: IncomingMessage, res: ServerResponse): void {
  const token = new URL(req.url ?? "", "http://localhost").searchParams.get("validationToken");
  res.writeHead(200, { "Content-Type": "text/plain" }).end(token);
}

/** `hookline dev` of the emulator's account, without a tunnel. */
export async function startDev(
  { emulator, account, cwd, app, env }: Setting,
  args: readonly string[] = [],
  { before, ...options }: DevOptions = {},
): Promise<Dev> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  if (before !== undefined) {
    // The app is behind the URL until it begins.
    const server = createServer(answerHandshake).listen(port, "127.0.0.1");
    await before(`${url}/webhooks`);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  const way = args.includes("--tunnel") || args.includes("--ngrok") ? [] : ["--url", url];
  const of = ["--account", String(account.accountId), "--api", emulator.url];
  const run = runCli(["dev", "--to", app.url, "--port", String(port), ...of, ...way, ...args], {
    env,
    cwd,
    ...options,
  });
  return { ...run, port, url: `${url}/webhooks` };
}

/** The same, once it has subscribed. */
export async function startSubscribed(...given: Parameters<typeof startDev>): Promise<Dev> {
  const run = await startDev(...given);
  await says(run, /^Subscribed at /m);
  return run;
}

export async function says(
  run: Pick<Run, "out" | "err">,
  pattern: RegExp,
  where: "err" | "out" = "err",
): Promise<void> {
  await eventually(() => {
    if (!pattern.test(run[where]())) throw new Error(`It says no ${pattern}:\n${run.out()}${run.err()}`);
  });
}

export function terminal(columns = 100): PassThrough {
  return Object.assign(new PassThrough(), { isTTY: true, columns });
}
