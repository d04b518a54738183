import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { ownBlocksOf } from "./page-commands.ts";
import { blocksOf, pageOf, root } from "./pages.ts";
import { openSandboxes, testWith } from "./sandbox.ts";

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

/** A folder in which the package is installed. */
function project() {
  const sandbox = sandboxes.open();
  mkdirSync(sandbox.path("/var/lib/webhooks/node_modules"));
  symlinkSync(root, sandbox.path("/var/lib/webhooks/node_modules/hookline"));
  return sandbox;
}

/** An image without its registry and its digest. */
const shortOf = (value: string): string => value.replace(/^docker\.io\/library\//, "").replace(/@sha256:.*/, "");

/** What follows the program's file in a command. */
const argumentsIn = (line: string): string => line.replace(/^.*(?:\/main\.js|:\d+\.\d+\.\d+) /, "");

test("container: what is built is there, and the program knows what it is asked", async () => {
  const [build = [], run = [], compose = []] = ownBlocksOf("docs/deploy/container.md", 3);
  const sandbox = project();
  await sandbox.run([...build, ...run, ...compose]);
  const gateway = sandbox.path("/var/lib/webhooks/gateway");
  for (const file of ["Dockerfile", "compose.yaml"])
    expect(readFileSync(join(gateway, file), "utf8")).toBe(readFileSync(join(root, "deploy", file), "utf8"));
  expect(sandbox.asked()[0]).toBe(`docker build --tag hookline:${manifest.version} node_modules/hookline/deploy`);
  const [help = ""] = await sandbox.run([`npx hookline ${argumentsIn(run[0] ?? "")}`]);
  expect(help).toContain("hookline serve");
  const [, up = "", ...looks] = compose;
  const services = readFileSync(join(gateway, "compose.yaml"), "utf8");
  expect(services).toContain(`profiles: [${/--profile (\w+)/.exec(up)?.[1]}]`);
  for (const line of looks) {
    expect(services).toContain(`  ${/ exec (\w+)/.exec(line)?.[1]}:\n`);
    expect((await sandbox.run([`npx hookline ${argumentsIn(line)} --help`]))[0]).toContain("Usage");
  }
});

test("container: the page names what the Dockerfile and compose ask for", () => {
  const page = pageOf("docs/deploy/container.md");
  const dockerfile = readFileSync(join(root, "deploy/Dockerfile"), "utf8");
  for (const [, name, value = ""] of dockerfile.matchAll(/^ARG (\w+)=(\S+)$/gm))
    expect(page.text).toMatch(new RegExp(`\\| \`${name}\` +\\| \`${shortOf(value).replaceAll(/[.^]/g, "\\$&")}\``));
  const wanted = [...readFileSync(join(root, "deploy/compose.yaml"), "utf8").matchAll(/\$\{(\w+):[?-]/g)].map(
    ([, name]) => name,
  );
  const [settings = ""] = blocksOf(page, "ini");
  expect(new Set(settings.match(/^\w+(?==)/gm))).toEqual(new Set(wanted));
});

const kubectl = testWith("kubectl");
kubectl.test(`kubernetes: the overlay changes the base as the page says${kubectl.why}`, async () => {
  const page = pageOf("docs/deploy/kubernetes.md");
  const [block = []] = ownBlocksOf("docs/deploy/kubernetes.md", 1);
  const [secret = "", copy = "", look = "", apply = "", exec = ""] = block;
  const sandbox = project();
  await sandbox.run([copy]);
  const [overlay = "", patch = ""] = blocksOf(page, "yaml");
  const gateway = sandbox.path("/var/lib/webhooks/gateway");
  // The kubectl of Debian 12 is too old for the name of this list.
  const older = overlay.replace("patches:\n  - path: app.yaml", "patchesStrategicMerge:\n  - app.yaml");
  writeFileSync(join(gateway, "kustomization.yaml"), older);
  writeFileSync(join(gateway, "app.yaml"), patch);
  const [made = ""] = await sandbox.run([look]);
  expect(made).toContain(`image: registry.example.com/team/hookline:${manifest.version}`);
  expect(made).toContain("value: http://shop.default.svc.cluster.local/events");
  for (const name of secret.match(/(?<=--from-literal=)\w+/g) ?? []) expect(made).toContain(`key: ${name}\n`);
  expect(apply).toBe("kubectl apply --kustomize gateway");
  expect((await sandbox.run([`npx hookline ${argumentsIn(exec)} --help`]))[0]).toContain("Usage");
});
