import { existsSync, globSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { entries, entrySources, repository } from "./package/entries.ts";
import { type Exported, exportedNames } from "./package/exported.ts";
import { compilersProject, emptyProject, pack } from "./package/project.ts";
import { run } from "./package/run.ts";

let packed: Awaited<ReturnType<typeof pack>>;

beforeAll(async () => {
  if (!existsSync(join(repository, "dist"))) {
    throw new Error("Got no dist/, expected the built package. Run `npm run test:package`, which builds it first.");
  }
  packed = await pack();
});
afterAll(() => packed?.remove());

describe("the exports map", () => {
  const importable = entries().filter(({ isProgram }) => !isProgram);

  test("names a source, and the declarations and the code that are built from it", () => {
    for (const { source, types, code } of entries()) {
      expect(types).toBe(`dist/${source.replace(/\.ts$/, ".d.ts")}`);
      expect(code).toBe(`dist/${source.replace(/\.ts$/, ".js")}`);
      expect(existsSync(join(repository, source)), source).toBe(true);
      expect(packed.files).toEqual(expect.arrayContaining([types, code]));
    }
  });

  test("has an entry for every face and every mount, and no other", () => {
    expect(importable.map(({ source }) => source).toSorted()).toEqual(entrySources().toSorted());
  });

  test("names the commit thread's file, which a bundler needs as an entry", () => {
    const programs = entries().filter(({ isProgram }) => isProgram);
    expect(programs.map(({ name }) => name)).toEqual(["hookline/sqlite-thread"]);
  });

  test("is what the doc check reads", () => {
    const { entryPoints } = JSON.parse(readFileSync(join(repository, "typedoc.json"), "utf8")) as {
      entryPoints: string[];
    };
    expect(entryPoints).toEqual(importable.map(({ source }) => source));
  });

  test("exports the names that are written down, in the declarations and at run time", async () => {
    const named = exportedNames(importable);
    for (const { name, code } of importable) {
      const atRunTime: object = await import(pathToFileURL(join(repository, code)).href);
      const values = named.get(name)?.filter(({ kind }) => kind === "value");
      expect(Object.keys(atRunTime).toSorted(), name).toEqual(values?.map((value) => value.name));
    }
    const written = [...named].map(([entry, names]) => `${entry}\n${names.map(line).join("")}`);
    await expect(written.join("\n")).toMatchFileSnapshot("package/exported.txt");
  });
});

test("the tarball holds the built files, what runs and monitors them, the examples, and the papers, nothing else", () => {
  const page = /^docs\/(?!reference\/api\/).+\.(?:md|png|svg)$/;
  const papers = packed.files.filter((path) => !/^(?:dist|examples)\//.test(path) && !page.test(path));
  expect(papers.toSorted()).toEqual(
    [
      "CHANGELOG.md",
      "CONTRIBUTING.md",
      "LICENSE",
      "README.md",
      "SECURITY.md",
      "THIRD_PARTY_LICENSES",
      "deploy/Dockerfile",
      "deploy/compose.yaml",
      "deploy/gateway/event.schema.json",
      "deploy/grafana/hookline.json",
      ...["kustomization", "service", "deployment", "disruption-budget"].map(
        (name) => `deploy/kubernetes/postgres/${name}.yaml`,
      ),
      ...["kustomization", "service", "statefulset"].map((name) => `deploy/kubernetes/sqlite/${name}.yaml`),
      "deploy/prometheus/hookline.rules.test.yml",
      "deploy/prometheus/hookline.rules.yml",
      "deploy/systemd/hookline.service",
      "package.json",
    ].toSorted(),
  );
  // The tour and the cluster are for who has the sources.
  const examples = globSync("examples/**/*.*", { cwd: repository }).filter(
    (path) => !/^examples\/(?:tour|cluster\/|mail-mirror\/local)/.test(path),
  );
  expect(packed.files.filter((path) => path.startsWith("examples/")).toSorted()).toEqual(examples.toSorted());
  const built =
    /^dist\/(?:(?:src|adapters)\/.+\.(?:js|d\.ts)|src\/(?:(?:emulator|dashboard)\/)?page\/(?:docs\/)?[\w-]+\.(?:html|css))$/;
  expect(packed.files.filter((path) => path.startsWith("dist/") && !built.test(path))).toEqual([]);
});

test("the pages of the tarball link to files in it, and it has at most 1.5 MB", () => {
  expect(statSync(packed.tarball).size).toBeLessThan(1.5 * 1024 ** 2);
  // Those are for who has the sources, too.
  const isForMaintainers = (path: string): boolean => path === "CONTRIBUTING.md" || path.startsWith("docs/extend/");
  const pages = packed.files.filter((path) => path.endsWith(".md") && !isForMaintainers(path));
  expect(pages.length).toBeGreaterThan(40);
  const broken = pages.flatMap((path) =>
    [...readFileSync(join(repository, path), "utf8").matchAll(/\]\((?!https?:|#)([^)#\s]+)[^)]*\)/g)]
      .map(([, target = ""]) => posix.join(posix.dirname(path), target))
      .filter((target) => !packed.files.includes(target))
      .map((target) => `${path}: ${target}`),
  );
  expect(broken).toEqual([]);
});

describe("the emulator", () => {
  test("has what it needs of other packages in a file of its own, with their licences", () => {
    const files = packed.files.filter((path) => /^dist\/src\/emulator\/[\w-]+\.js$/.test(path));
    const bundle = files.map((path) => readFileSync(join(repository, path), "utf8")).join("\n");
    const imported = [...bundle.matchAll(/^import .* from "([^"]+)";/gm)].map(([, name = ""]) => name);
    expect(imported.filter((name) => !/^(?:node:|\.{1,2}\/)/.test(name) && name !== "zod")).toEqual([]);
    const licences = readFileSync(join(repository, "THIRD_PARTY_LICENSES"), "utf8");
    const inside = new Set(
      [...bundle.matchAll(/^\/\/ node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)].map(([, name]) => name),
    );
    expect(inside).toEqual(
      new Set(["@hono/node-server", "hono", "rrule-temporal", "temporal-polyfill", "temporal-utils"]),
    );
    for (const name of inside) expect(licences).toMatch(new RegExp(`^${name} \\d`, "m"));
    expect(licences.match(/^MIT License$/gm)).toHaveLength(inside.size);
  });

  test("takes at most 1.5 MB of who installs the package", () => {
    const files = packed.files.filter((path) => path.startsWith("dist/src/emulator"));
    const bytes = files.reduce((sum, path) => sum + statSync(join(repository, path)).size, 0);
    expect(bytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(1_500_000);
  });
});

describe("installed in an empty project", () => {
  let project: Awaited<ReturnType<typeof emptyProject>>;
  beforeAll(async () => {
    project = await emptyProject(packed.tarball);
  });
  afterAll(() => project?.remove());

  test.each(["use.mjs", "use.cjs"])("receives a delivery on this Node (%s)", async (program) => {
    expect(await run(process.execPath, [program], project.folder)).toBe(`${process.version} handled 2\n`);
  });

  test.each(["use.mjs", "use.cjs"])("receives a delivery on the oldest Node that is promised (%s)", async (program) => {
    const args = ["--yes", `--package=node@${oldestNode()}`, "--", "node", program];
    expect(await run("npx", args, project.folder)).toBe(`v${oldestNode()} handled 2\n`);
  });

  test("brings no package for the emulator", () => {
    const installed = readdirSync(join(project.folder, "node_modules"));
    expect(installed).toEqual(expect.arrayContaining(["hookline", "p-queue", "pino", "raw-body", "zod"]));
    expect(installed.filter((name) => /hono|esbuild/.test(name))).toEqual([]);
  });

  test("names the peer that hookline/opentelemetry needs, and nothing else needs it", async () => {
    const program = `await import("hookline"); await import("hookline/prometheus");
await import("hookline/opentelemetry").catch((error) => console.log(error.code, /'@opentelemetry\\/api'/.test(error.message)));`;
    writeFileSync(join(project.folder, "peer.mjs"), program);
    expect(await run(process.execPath, ["peer.mjs"], project.folder)).toBe("ERR_MODULE_NOT_FOUND true\n");
  });

  test("has an emulator that delivers to a receiver", async () => {
    writeFileSync(join(project.folder, "emulator.mjs"), EMULATOR_PROGRAM);
    expect(await run(process.execPath, ["emulator.mjs"], project.folder)).toBe(
      "email.created 200 text/html; charset=utf-8\n",
    );
  });

  test("brings the command `hookline`", async () => {
    expect(await run(join(project.folder, "node_modules/.bin/hookline"), ["--help"], project.folder)).toContain(
      "hookline",
    );
  });
});

describe("type-checked where it is used", () => {
  let project: Awaited<ReturnType<typeof compilersProject>>;
  beforeAll(async () => {
    project = await compilersProject(packed.tarball);
  });
  afterAll(() => project?.remove());

  const strict = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2023", "--types", "node"];
  const resolutions = {
    nodenext: ["--module", "nodenext"],
    node20: ["--module", "node20"],
    bundler: ["--module", "esnext", "--moduleResolution", "bundler"],
  };

  describe.each(["typescript-5.9", "typescript-6", "typescript-7"])("by %s", (compiler) => {
    test.each([
      ["nodenext", "use.mts"],
      ["node20", "use.mts"],
      ["bundler", "use.mts"],
      ["nodenext", "use.cts"],
    ] as const)("under %s (%s)", async (resolution, program) => {
      const tsc = join(project.folder, "node_modules", compiler, "bin/tsc");
      const args = [tsc, ...strict, ...resolutions[resolution], program];
      expect(await run(process.execPath, args, project.folder)).toBe("");
    });
  });
});

const EMULATOR_PROGRAM = `
import { createServer } from "node:http";
import { createReceiver, memoryInbox } from "hookline";
import { createEmulator } from "hookline/emulator";
import { nodeReceiver } from "hookline/node";
const emulator = await createEmulator({ clock: "virtual" });
const receiver = createReceiver({ secret: emulator.secret, inbox: memoryInbox(), clock: emulator.clock });
const handled = [];
receiver.on("email", ({ type }) => handled.push(type));
await receiver.start();
const server = createServer(nodeReceiver(receiver)).listen(0, "127.0.0.1");
await new Promise((resolve) => server.once("listening", resolve));
const account = await emulator.account();
await emulator.subscribe(account, "/email/messages", "http://127.0.0.1:" + server.address().port + "/");
await account.receiveMail();
await emulator.settled();
await receiver.idle();
const page = await fetch(emulator.url);
console.log(handled.join(), emulator.journal[0].status, page.headers.get("content-type"));
server.close();
await receiver.close();
await emulator.close();
`;

/** Of `engines`: 22.16 for `>=22.16` is its first release, 22.16.0. */
function oldestNode(): string {
  const { engines } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
    engines: { node: string };
  };
  return `${engines.node.replace(">=", "")}.0`;
}

function line({ kind, name }: Exported): string {
  return `  ${kind} ${name}\n`;
}
