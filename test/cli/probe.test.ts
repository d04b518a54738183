import { build } from "esbuild";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { freePort } from "../support/http.ts";
import { runCli } from "./in-process.ts";

test("the program loads no package and no library for a probe: a container starts one every few seconds", async () => {
  const { metafile } = await build({
    entryPoints: ["src/cli/run.ts"],
    absWorkingDir: join(import.meta.dirname, "../.."),
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    packages: "external",
    conditions: ["hookline-source"],
  });
  const loaded = new Set(["src/cli/run.ts", "src/cli/probe.ts"]);
  for (const file of loaded)
    for (const { path, kind } of metafile.inputs[file]?.imports ?? [])
      if (kind === "import-statement") loaded.add(path);
  expect([...loaded].filter((path) => !path.startsWith("node:") && !path.endsWith(".ts"))).toEqual([]);
  expect(loaded).not.toContain("src/index.ts");
  expect(loaded.size).toBeLessThan(30);
});

describe("hookline probe", () => {
  test("ends with 0 where serve lives and is ready", async () => {
    const adminUrl = await serving();
    for (const flag of [["--live"], ["--ready"], []])
      expect(await runCli(["probe", ...flag, "--admin-url", adminUrl]).ended).toBe(0);
  });

  test("asks for life and for readiness apart, and says what was answered", async () => {
    const adminUrl = await answering(({ url }) =>
      url === "/livez" ? { status: 200, body: '{"live":true}' } : { status: 503, body: '{"ready":false}\n' },
    );
    expect(await runCli(["probe", "--live", "--admin-url", adminUrl]).ended).toBe(0);
    for (const flag of [["--ready"], []]) {
      const cli = runCli(["probe", ...flag, "--admin-url", adminUrl]);
      expect(await cli.ended).toBe(1);
      expect(cli.err()).toBe(`${adminUrl}/readyz answered 503: {"ready":false}\n`);
    }
  });

  test("ends with 1 where nothing listens, and where no answer comes", async () => {
    const closed = runCli(["probe", "--admin-url", `http://127.0.0.1:${await freePort()}`]);
    expect(await closed.ended).toBe(1);
    expect(closed.err()).toContain("nothing listens on 127.0.0.1");
    const silent = runCli(["probe", "--admin-url", await answering(() => undefined)]);
    expect(await silent.ended).toBe(1);
    expect(silent.err()).toContain("gave no answer: no answer within 2 s.");
  });

  test("takes another page for no answer of serve", async () => {
    const adminUrl = await answering(() => ({ status: 302, body: "\u001B[31mlog in" }));
    const cli = runCli(["probe", "--admin-url", adminUrl]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).not.toContain("\u001B");
  });

  test("asks one thing at a time", async () => {
    const cli = runCli(["probe", "--live", "--ready"]);
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain("Got --live and --ready, expected one of the two.");
  });
});

/** @returns the admin URL of a `serve` that runs until the test's end */
async function serving(): Promise<string> {
  const port = await freePort();
  const args = ["serve", "--port", "0", "--admin-port", String(port)];
  const cli = runCli(args, { env: { SIGNING_SECRET: "a secret of these tests" } });
  await cli.url();
  return `http://127.0.0.1:${port}`;
}

type Answer = { readonly status: number; readonly body: string } | undefined;

async function answering(answer: (request: { readonly url?: string | undefined }) => Answer): Promise<string> {
  const server = createServer((request, response) => {
    const found = answer(request);
    if (found !== undefined) response.writeHead(found.status).end(found.body);
  });
  const port = await freePort();
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${port}`;
}
