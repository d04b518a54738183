import { build } from "esbuild";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { startNode } from "../../cli/child.ts";
import { newDatabase } from "../../support/postgres.ts";

const root = join(import.meta.dirname, "../../..");

test("without the package pg an inbox says what to install, when it is opened", async () => {
  const program = await bundled({ external: ["pg"] });
  const app = startNode([program], { URL: "postgres://localhost/app" });
  expect(await app.ended).toBe(1);
  expect(app.err()).toContain("code: 'peer-missing'");
  expect(app.err()).toContain("Run `npm install pg`");
});

test.each(["esm", "cjs"] as const)(
  "a bundle (%s) with pg in it connects, far from the sources, and its idle connections let it end",
  async (format) => {
    const database = await newDatabase();
    onTestFinished(database.drop);
    const program = await bundled({ external: [], format });
    const app = startNode([program], { URL: database.connectionString });
    expect([await app.ended, app.err()]).toEqual([0, ""]);
    expect(app.out()).toContain("has 7");
  },
);

test.each([
  ["runs", 'void pool.query("select pg_sleep(600)"); setImmediate(() => pool.unref());'],
  ["begins later", 'pool.unref(); void pool.query("select pg_sleep(600)");'],
])("once the process may end, a statement that %s does not keep it alive", async (_, atLast) => {
  const database = await newDatabase();
  onTestFinished(database.drop);
  const program = await bundled({ external: [], atLast });
  const app = startNode([program], { URL: database.connectionString });
  expect([await app.ended, app.err()]).toEqual([0, ""]);
});

interface BundleOptions {
  readonly external: string[];
  readonly format?: "esm" | "cjs";
  /** What the program does at last. */
  readonly atLast?: string;
}

async function bundled({ external, format = "esm", atLast = "" }: BundleOptions): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bundle-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const out = join(folder, format === "esm" ? "app.mjs" : "app.cjs");
  const pool = join(root, "adapters/inbox/postgres/connection/pool.ts");
  const contents = `
    import { createPool } from ${JSON.stringify(pool)};
    const pool = createPool({ connection: { connectionString: process.env.URL }, max: 1, applicationName: "bundle" });
    void (async () => {
      const [row] = await pool.query("select 7::bigint as seven");
      console.log("has", row.seven);
      ${atLast}
    })();`;
  const entry = join(root, "test", `.bundle-entry-${process.pid}-${format}.ts`);
  onTestFinished(() => rmSync(entry, { force: true }));
  writeFileSync(entry, contents);
  const banner =
    format === "cjs"
      ? {}
      : { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' };
  await build({
    entryPoints: [entry],
    outfile: out,
    bundle: true,
    platform: "node",
    format,
    external: [...external, "pg-native"],
    conditions: ["hookline-source"],
    banner,
    logLevel: "silent",
  });
  return out;
}
