import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { afterAll, expect, test } from "vitest";
import { startNode } from "./cli/child.ts";

const root = join(import.meta.dirname, "..");
const chapter = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
/** Inside the repository, or `hookline` could not be found by its name. */
const folder = mkdtempSync(join(import.meta.dirname, ".readme-contributing-"));
const folderName = `test/${basename(folder)}`;

const files = [...chapter.matchAll(/^```ts file=(\S+)\n(.*?)^```$/gms)].map(([, name = "", code = ""]) => ({
  // Another name than tests have here: a run beside this one must not take them for its own.
  name: name.replace(".test.ts", ".example.ts"),
  code,
}));

/** A small server that speaks `Request` and `Response`, as platforms do. */
const SERVER = `
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import type { ServedApp } from "hookline/adapter";

export async function listen(handle: (request: Request) => Promise<Response>): Promise<ServedApp> {
  const server = createServer(async (req, res) => {
    try {
      const body = await buffer(req);
      const headers = new Headers();
      for (let at = 0; at < req.rawHeaders.length; at += 2)
        headers.append(req.rawHeaders[at] ?? "", req.rawHeaders[at + 1] ?? "");
      const init = { method: req.method ?? "", headers, ...(body.length > 0 ? { body: new Uint8Array(body) } : {}) };
      const response = await handle(new Request(\`http://localhost\${req.url}\`, init));
      res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch {
      res.destroy();
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: \`http://127.0.0.1:\${port}/\`, close };
}
`;

for (const { name, code } of [...files, { name: "my-server.ts", code: SERVER }])
  writeFileSync(join(folder, name), code);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the mount of CONTRIBUTING is 30 lines and a few, and no code is there that is not run", () => {
  expect(files.map(({ name }) => name)).toEqual(["my-receiver.ts", "my-receiver.example.ts"]);
  expect([...chapter.matchAll(/^```\w/gm)]).toHaveLength(files.length);
  const lines = (files[0]?.code ?? "").split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import "));
  expect(lines.length).toBeLessThanOrEqual(32);
});

test("the mount of CONTRIBUTING passes the suite", { timeout: 180_000 }, async () => {
  const config = { include: [`${folderName}/*.example.ts`], testTimeout: 60_000 };
  writeFileSync(
    join(folder, "vitest.config.ts"),
    `import { fromSource } from "../../vitest.config.ts";\nexport default { ...fromSource, test: ${JSON.stringify(config)} };\n`,
  );
  const run = startNode(["node_modules/vitest/vitest.mjs", "run", `--config=${folderName}/vitest.config.ts`]);
  expect(await run.ended, run.out() + run.err()).toBe(0);
  expect(stripVTControlCharacters(run.out())).toMatch(/Tests +\d{2} passed/);
});

test("the code of CONTRIBUTING type-checks", { timeout: 120_000 }, async () => {
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { rootDir: "../.." },
    include: [],
    files: [...files.map(({ name }) => name), "my-server.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const compiler = startNode(["node_modules/typescript/bin/tsc", "-p", folder]);
  expect(await compiler.ended, compiler.out() + compiler.err()).toBe(0);
});
