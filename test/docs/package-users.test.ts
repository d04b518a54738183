import { existsSync, globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commandsOf } from "./page-commands.ts";
import { pageOf, pages, root } from "./pages.ts";

const isForMaintainers = (file: string): boolean => file === "CONTRIBUTING.md" || file.startsWith("docs/extend/");
const forUsers = pages.filter(({ file }) => !isForMaintainers(file));

/** What the README says of a clone, and lines that name a clone themselves, are for who has the sources. */
function forPackageUsers(text: string): string {
  return text
    .replace(/^## In a clone of this repository$.*?^## /ms, "## ")
    .replaceAll(/^.*\b[iI]n a clone of the repository\b.*(?:\n .*)*/gm, "");
}

/** What `files` of package.json puts into the tarball, below examples/. */
const packed = new Set(
  globSync("examples/**/*.*", { cwd: root }).filter(
    (path) => !/^examples\/(?:tour|cluster\/|mail-mirror\/local)/.test(path),
  ),
);

test.each(forUsers)("$file asks a package user for nothing that only the repository has", ({ text }) => {
  const shown = forPackageUsers(text);
  // Prose may say how a claim is tested.
  const blocks = [...shown.matchAll(/^```.*?^```$/gms)].map(([block]) => block).join("\n");
  expect(blocks.match(/^.*npm run .*$/gm) ?? []).toEqual([]);
  expect(shown.match(/^.*(?:hookline-source|npm run (?:hookline|example)|npx node ).*$/gm) ?? []).toEqual([]);
});

test.each(forUsers.filter(({ text }) => text.includes("examples/")))(
  "$file names only examples that the package has",
  ({ text }) => {
    const named = [...forPackageUsers(text).matchAll(/(?<![\w/])(?:\.\.\/)*(examples\/[\w./-]*\w)/g)].map(
      ([, path = ""]) => path,
    );
    const isPacked = (path: string) => packed.has(path) || [...packed].some((file) => file.startsWith(`${path}/`));
    expect(named.filter((path) => !isPacked(path) && path !== "examples")).toEqual([]);
  },
);

test.each(globSync("examples/*.ts", { cwd: root }).filter((path) => !path.startsWith("examples/tour")))(
  "%s names no command and no file of the repository",
  (path) => {
    const text = readFileSync(join(root, path), "utf8");
    expect(text).not.toMatch(/hookline-source|npm run |npx node |examples\//);
  },
);

test.each(pages.filter(({ file, text }) => file.startsWith("docs/mounts/") && /^```ts file=\S*examples\//m.test(text)))(
  "$file installs what its first program imports",
  (page) => {
    const [, program = ""] = /^```ts file=\S*examples\/\S+\n(.*?)^```$/ms.exec(page.text) ?? [];
    const imported = [...program.matchAll(/^import [^;]* from "((?:@[^/"]+\/)?[^/"]+)/gm)].map(([, name = ""]) => name);
    const installed = new Set(
      commandsOf(page)
        .filter((line) => line.startsWith("npm install "))
        .flatMap((line) => line.split(" ")),
    );
    // A Next app has Next already.
    expect(imported.filter((name) => !name.startsWith("node:") && !installed.has(name) && name !== "next")).toEqual([]);
  },
);

test("queues: Cloudflare is set up in one way", () => {
  const setUp = (text: string): unknown => {
    const queues = (JSON.parse(text.replaceAll(/,(?=\s*[\]}])/g, "")) as { queues: { consumers: object[] } }).queues;
    return queues.consumers;
  };
  const [, settings = ""] = /^```json\n(.*?)^```$/ms.exec(pageOf("docs/mounts/workers.md").text) ?? [];
  expect(setUp(settings)).toEqual(setUp(readFileSync(join(root, "examples/cloudflare-queue/wrangler.jsonc"), "utf8")));
  const [, retries = ""] = /^\| `max_retries` +\| (\d+) /m.exec(pageOf("docs/deploy/queues.md").text) ?? [];
  expect(settings).toContain(`"max_retries": ${retries},`);
  expect(existsSync(join(root, "examples/cloudflare-queue/worker.ts"))).toBe(true);
});
