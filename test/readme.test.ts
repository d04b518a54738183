import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import manifest from "../package.json" with { type: "json" };
import { freePort } from "./support/http.ts";

const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Inside the repository, or `hookline` could not be found by its name. */
const folder = mkdtempSync(join(import.meta.dirname, ".readme-"));

interface Snippet {
  readonly name: string;
  readonly code: string;
}

const snippets: readonly Snippet[] = [...readme.matchAll(/^```ts(?: file=(\S+))?\n(.*?)^```$/gms)].map(
  ([, name, code], index) => ({ name: name ?? `snippet-${index + 1}.ts`, code: code ?? "" }),
);

beforeAll(() => {
  for (const { name, code } of snippets) writeFileSync(join(folder, name), code);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the README's code", () => {
  it("has an example of at most 15 lines that handles a delivery sent as the README says", async () => {
    const app = snippets.find(({ name }) => name === "app.ts");
    expect(app?.code.split("\n").filter((line) => line.trim() !== "").length).toBeLessThanOrEqual(15);

    const env = { SIGNING_SECRET: "a secret of the README", PORT: String(await freePort()) };
    const server = run("app.ts", env);
    await listening(Number(env.PORT), server.child);
    const sent = run("send.ts", env);

    expect(await sent.ended).toBe(0);
    expect(sent.output()).toContain("200");
    await server.printed("account 2002: created message m-1, attempt 1");
    server.child.kill("SIGTERM");
    expect(await server.ended).toBe(0);
  });

  it.each(snippets.filter(({ name }) => name.startsWith("snippet-")).map(({ name }) => name))(
    "runs as it stands: %s",
    async (name) => {
      const program = run(name, {});
      expect(await program.ended, program.output()).toBe(0);
    },
  );

  it("has no TypeScript that does not type-check", { timeout: 120_000 }, async () => {
    // As strict as most programs are; what this repository asks of itself beyond that is its own affair.
    const relaxed = { noUnusedLocals: false, noImplicitReturns: false, noPropertyAccessFromIndexSignature: false };
    const config = {
      extends: "../../tsconfig.json",
      compilerOptions: { rootDir: "../..", ...relaxed },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const compiler = start(join(root, "node_modules/.bin/tsc"), ["-p", folder], {});
    expect(await compiler.ended, compiler.output()).toBe(0);
  });
});

describe("the README's commands", () => {
  const commands = [...readme.matchAll(/^```sh\n(.*?)^```$/gms)].flatMap(([, block]) =>
    (block ?? "").trim().split("\n"),
  );

  it("are the ones that are tested", () => {
    expect(commands.map((line) => line.replace(/\s+#.*$/, ""))).toEqual([
      "npm ci && npm start", // test/examples/tour.test.ts runs what `npm start` runs
      "npm ci && npm test", // this is it
      "SIGNING_SECRET=... npx hookline send email.created --to http://localhost:3000/webhooks", // test/cli runs it
      "SIGNING_SECRET=... npx hookline serve --port 3000 --path /webhooks", // test/cli runs it, test/package.test.ts as installed
      ...commands.filter((line) => line.startsWith("curl ")), // below
    ]);
    expect(Object.keys(manifest.scripts)).toEqual(expect.arrayContaining(["start", "test"]));
    expect(Object.keys(manifest.bin)).toEqual(["hookline"]);
  });

  it("make and delete a subscription as the service's document says", async () => {
    const asked: unknown[] = [];
    const service = createServer((req, res) => {
      void readText(req).then((body) => {
        asked.push([req.method, req.url, req.headers.authorization, req.headers["content-type"], body]);
        res.end();
      });
    });
    await new Promise<void>((resolve) => service.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void service.close());
    const { port } = service.address() as AddressInfo;
    const env = { API: `http://127.0.0.1:${port}`, ACCESS_TOKEN: "t", SUBSCRIPTION: "1001" };
    for (const line of commands.filter((command) => command.startsWith("curl "))) {
      const curl = start("sh", ["-c", line], env);
      expect(await curl.ended, curl.output()).toBe(0);
    }
    expect(asked).toEqual([
      [
        "POST",
        "/v1/subscriptions",
        "Bearer t",
        "application/json",
        expect.stringContaining('"resource":"/email/messages"'),
      ],
      ["DELETE", "/v1/subscriptions/1001", "Bearer t", undefined, ""],
    ]);
  });
});

function run(name: string, env: Record<string, string>): ReturnType<typeof start> {
  return start(process.execPath, ["--conditions=hookline-source", join(folder, name)], env);
}

function start(
  command: string,
  args: readonly string[],
  env: Record<string, string>,
): {
  child: ChildProcess;
  ended: Promise<number | null>;
  output: () => string;
  printed: (text: string) => Promise<void>;
} {
  const child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env } });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  const collect = (chunk: Buffer): void => {
    output += chunk.toString();
    child.emit("printed");
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  return {
    child,
    ended,
    output: () => output,
    printed: (text) =>
      new Promise((resolve, reject) => {
        const look = (): void => (output.includes(text) ? resolve() : undefined);
        child.on("printed", look);
        child.once("close", () => reject(new Error(`It ended without printing "${text}":\n${output}`)));
        look();
      }),
  };
}

/** Resolves when the program listens there, or has ended. */
async function listening(port: number, child: ChildProcess): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    try {
      await fetch(`http://localhost:${port}/`);
      return;
    } catch {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
