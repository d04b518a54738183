import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { Deployment } from "kubernetes-models/apps/v1";
import { Ingress } from "kubernetes-models/networking.k8s.io/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Pod, Service } from "kubernetes-models/v1";
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { brokenRules, type Manifest } from "../deploy/kubernetes-rules.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { blocksOf, pageOf, root } from "./pages.ts";
import { openSandboxes, testWith, type Sandbox } from "./sandbox.ts";

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

const kubernetesBlocks = () => ownBlocksOf("docs/deploy/kubernetes.md", 10);

const kubectl = testWith("kubectl");
kubectl.test(`kubernetes: the overlay changes the base as the page says${kubectl.why}`, async () => {
  const page = pageOf("docs/deploy/kubernetes.md");
  const [copy = [], [secret = "", look = "", apply = ""] = [], looks = []] = kubernetesBlocks();
  const sandbox = project();
  await sandbox.run(copy);
  const [overlay = "", patch = ""] = blocksOf(page, "yaml");
  const folder = sandbox.path("/var/lib/webhooks/overlay");
  // The kubectl of Debian 12 is too old for the name of this list.
  const older = overlay.replace("patches:\n  - path: app.yaml", "patchesStrategicMerge:\n  - app.yaml");
  writeFileSync(join(folder, "kustomization.yaml"), older);
  writeFileSync(join(folder, "app.yaml"), patch);
  const [made = ""] = await sandbox.run([look]);
  expect(made).toContain(`image: registry.example.com/team/hookline:${manifest.version}`);
  expect(made).toContain("value: http://shop.default.svc.cluster.local/events");
  for (const name of secret.match(/(?<=--from-literal=)\w+/g) ?? []) expect(made).toContain(`key: ${name}\n`);
  expect(apply).toBe("kubectl apply --kustomize overlay");
  const variable = /"\$(\w+)"/.exec(looks[1] ?? "")?.[1];
  expect(readFileSync(join(root, "deploy/kubernetes/postgres/deployment.yaml"), "utf8")).toContain(
    `name: ${variable}\n`,
  );
  await sandbox.run([`export ${variable}=postgres://localhost/app`]);
  const commands = looks.map((exec) => `npx hookline ${argumentsIn(exec).replace(/'$/, "")} --help`);
  for (const usage of await sandbox.run(commands)) expect(usage).toContain("Usage");
});

kubectl.test(
  `kubernetes: the manifests of a program of one's own fit it, and keep all rules${kubectl.why}`,
  async () => {
    const [, , , , [secret = "", look = "", apply] = []] = kubernetesBlocks();
    const sandbox = await programOverlay();
    const all = await kustomized(sandbox, look);
    expect(apply).toBe("kubectl apply --kustomize webhooks");
    const of = (kind: string): Manifest["spec"] => all.find((one) => one.kind === kind)?.spec;
    for (const [kind, Model] of Object.entries({ Deployment, Ingress, PodDisruptionBudget, Service }))
      expect(() => new Model(all.find((one) => one.kind === kind) as never).validate()).not.toThrow();

    // Each name is there, and each entry of the Secret is read.
    const { containers, terminationGracePeriodSeconds: grace } = of("Deployment").template.spec;
    const [container] = containers;
    type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { key: string; optional?: true } } };
    const env = (container.env as Variable[]).filter(({ valueFrom }) => valueFrom?.secretKeyRef.optional !== true);
    const program = readFileSync(join(root, "examples/deploy/pods.ts"), "utf8");
    const keys = env.flatMap(({ valueFrom }) => valueFrom?.secretKeyRef.key ?? []);
    expect(new Set(secret.match(/(?<=--from-literal=)\w+/g))).toEqual(new Set(keys));
    for (const { name } of env.filter((one) => one.name !== "PGPASSWORD")) expect(program).toContain(`${name}: `);
    expect(container.args).toBeUndefined();

    // The Ingress finds the Service, and the Service the program's port.
    const [{ backend, path, pathType }] = of("Ingress").rules[0].http.paths;
    expect([path, pathType, backend.service]).toEqual([
      "/webhooks",
      "Exact",
      { name: "hookline", port: { name: "http" } },
    ]);
    expect(of("Service").ports.map(({ name }: { name: string }) => name)).toEqual(["http"]);

    // The program's defaults as arguments of `hookline serve`: so the rules for its manifests hold for these.
    const defaultOf = (name: string): string => new RegExp(`${name}: \\w+ = "([^"]+)"`).exec(program)?.[1] ?? "";
    const host = defaultOf("HOST");
    container.args = ["serve", "--host", host, "--port", defaultOf("PORT"), "--admin-host", host];
    container.args.push(
      "--admin-port",
      defaultOf("ADMIN_PORT"),
      "--inbox",
      env.find(({ name }) => name === "DATABASE_URL")?.value,
    );
    expect(brokenRules(all)).toEqual([]);
    const drainSeconds = Number(/drainMs: ([\d_]+)/.exec(program)?.[1]?.replace("_", "")) / 1_000;
    expect(grace).toBeGreaterThanOrEqual(5 + 5 + drainSeconds + 1);
  },
);

kubectl.test(
  `kubernetes: no Service leads to the workers, which are other pods than the receivers${kubectl.why}`,
  async () => {
    const [, , , , [, look = ""] = [], copy = [], apply = []] = kubernetesBlocks();
    const [, , , , , overlay = "", variable = ""] = blocksOf(pageOf("docs/deploy/kubernetes.md"), "yaml");
    const sandbox = await programOverlay();
    await sandbox.run(copy);
    const older = overlay
      .replace("patches:\n  - path: program.yaml", "patchesStrategicMerge:\n  - program.yaml")
      .replace(/labels:\n {2}- pairs: (.*)\n.*\n/, "commonLabels: $1\n");
    writeFileSync(join(sandbox.path("/var/lib/webhooks/workers"), "kustomization.yaml"), older);
    const program = join(sandbox.path("/var/lib/webhooks/webhooks"), "program.yaml");
    const added = variable.replaceAll(/^/gm, " ".repeat(12)).trimEnd();
    writeFileSync(program, `${readFileSync(program, "utf8").trimEnd()}\n${added}\n`);

    const workers = await kustomized(sandbox, look.replace("webhooks", "workers"));
    const receivers = await kustomized(sandbox, look);
    expect(workers.map(({ kind }) => kind).toSorted()).toEqual(["Deployment", "PodDisruptionBudget"]);
    expect(workers.map(({ metadata }) => metadata.name)).toEqual(["hookline-workers", "hookline-workers"]);
    const labels = { "app.kubernetes.io/name": "hookline-workers" };
    for (const { spec } of workers) expect(spec.selector.matchLabels).toEqual(labels);
    const podOf = (all: readonly Manifest[]) => all.find(({ kind }) => kind === "Deployment")?.spec.template;
    expect(podOf(workers).metadata.labels).toEqual(labels);
    const service = receivers.find(({ kind }) => kind === "Service");
    expect(podOf(receivers).metadata.labels).toMatchObject(service?.spec.selector);
    expect(podOf(workers).metadata.labels).not.toMatchObject(service?.spec.selector);
    const role = { name: "ROLE", value: "receiver" };
    const [, instead = ""] = /in place of `([^`]+)`/.exec(pageOf("docs/deploy/kubernetes.md").text) ?? [];
    expect(readFileSync(join(root, "examples/deploy/pods.ts"), "utf8")).toContain(`\n${instead}\n`);
    expect(podOf(receivers).spec.containers[0].env).toContainEqual(role);
    expect(podOf(workers).spec.containers[0].env).not.toContainEqual(role);
    for (const line of apply) expect(line).toMatch(/--kustomize (?:workers|webhooks)$|deployment\/hookline-workers$/);
  },
);

test("kubernetes: a Secret that exists is changed by one of its entries, and the pods that read it start anew", () => {
  const [patch = "", restart] = kubernetesBlocks().at(-3) ?? [];
  const [, [secret = ""] = []] = kubernetesBlocks();
  const entries = secret.match(/(?<=--from-literal=)\w+/g) ?? [];
  const { stringData } = JSON.parse(/--patch '(.*)'/.exec(patch)?.[1] ?? "");
  expect(entries).toEqual(expect.arrayContaining(Object.keys(stringData)));
  expect(secret).toContain("kubectl create secret generic hookline ");
  expect(patch).toContain("kubectl patch secret hookline ");
  const manifests = readFileSync(join(root, "deploy/kubernetes/postgres/deployment.yaml"), "utf8");
  expect(restart).toBe(`kubectl rollout restart deployment/${parseAllDocuments(manifests)[0]?.toJS().metadata.name}`);
});

/** The overlay of a program of one's own, as the page has it. */
async function programOverlay(): Promise<Sandbox> {
  const [, , , copy = []] = kubernetesBlocks();
  const sandbox = project();
  await sandbox.run(copy);
  const [, , overlay = "", program = "", ingress = ""] = blocksOf(pageOf("docs/deploy/kubernetes.md"), "yaml");
  const folder = sandbox.path("/var/lib/webhooks/webhooks");
  // The kubectl of Debian 12 is too old for the name of this list.
  const older = overlay.replace("patches:\n  - path: program.yaml", "patchesStrategicMerge:\n  - program.yaml");
  for (const [name, text] of Object.entries({ kustomization: older, program, ingress }))
    writeFileSync(join(folder, `${name}.yaml`), text);
  return sandbox;
}

async function kustomized(sandbox: Sandbox, look: string): Promise<Manifest[]> {
  const [printed = ""] = await sandbox.run([look]);
  return parseAllDocuments(printed.replaceAll(/^# Warning.*$/gm, "")).map((one) => one.toJS() as Manifest);
}

test("kubernetes: what a pod copies of its file is restored by another pod", async () => {
  const [backUp = [], restore = []] = kubernetesBlocks().slice(-2);
  const sandbox = project();
  /** As in the pod, whose volume is a folder here. */
  const inPod = (lines: readonly string[], pod: string): string[] =>
    lines.flatMap((line) => {
      const [, command] = new RegExp(`^kubectl exec (?:--stdin )?${pod} -- (.*)`).exec(line) ?? [];
      return command === undefined ? [] : [command.replaceAll("/data/", "/var/lib/webhooks/")];
    });
  const accounts = `npx hookline inbox stats --inbox /var/lib/webhooks/inbox.db`;
  const file = sandbox.path("/var/lib/webhooks/inbox.db");
  await storeOne(file);
  const [before = ""] = await sandbox.run([accounts]);
  await sandbox.run(inPod(backUp, "hookline-0"));
  writeFileSync(file, "not a database");
  writeFileSync(`${file}-wal`, "of another file");
  const printed = await sandbox.run(inPod(restore, "hookline-restore"));
  expect(printed.at(-1)?.trim()).toBe("ok");
  expect((await sandbox.run([accounts]))[0]).toBe(before);
  expect(statSync(file).mode & 0o777).toBe(0o600);

  // The pod has the same user and the same volume as the one that it stands for.
  const pod = parse(blocksOf(pageOf("docs/deploy/kubernetes.md"), "yaml").at(-1) ?? "");
  const set = parse(readFileSync(join(root, "deploy/kubernetes/sqlite/statefulset.yaml"), "utf8")).spec;
  expect(() => new Pod(pod).validate()).not.toThrow();
  expect(pod.spec.securityContext).toEqual(set.template.spec.securityContext);
  expect(pod.spec.containers[0].securityContext).toEqual(set.template.spec.containers[0].securityContext);
  const claim = `${set.volumeClaimTemplates[0].metadata.name}-hookline-0`;
  expect(pod.spec.volumes[0].persistentVolumeClaim.claimName).toBe(claim);
});

async function storeOne(file: string): Promise<void> {
  const receiver = createReceiver({ secret: "whsec", inbox: sqliteInbox(file), log: false });
  receiver.on("email", () => {});
  const request = signedRequest(bodyOf(), { secret: "whsec", at: new Date() });
  expect((await receiver.receive(request)).status).toBe(200);
  await receiver.close();
}

test("monitoring: the objects of the Prometheus operator have all rules, and find all pods", async () => {
  const page = pageOf("docs/operate/monitoring.md");
  const [, [head = "", rules = "", apply = ""] = []] = ownBlocksOf("docs/operate/monitoring.md", 3);
  const sandbox = project();
  await sandbox.run([head, rules]);
  const made = parse(readFileSync(sandbox.path("/var/lib/webhooks/rules.yaml"), "utf8"));
  const { groups } = parse(readFileSync(join(root, "deploy/prometheus/hookline.rules.yml"), "utf8"));
  expect(made).toMatchObject({ kind: "PrometheusRule", metadata: { name: "hookline" } });
  expect(made.spec).toEqual({ groups });
  expect(apply).toContain("--filename rules.yaml");

  const monitor = blocksOf(page, "yaml")
    .map((block) => parse(block))
    .find(({ kind }) => kind === "PodMonitor");
  const [{ port }] = monitor.spec.podMetricsEndpoints;
  const [{ key, values }] = monitor.spec.selector.matchExpressions;
  for (const file of ["postgres/deployment.yaml", "sqlite/statefulset.yaml"]) {
    const { spec } = parse(readFileSync(join(root, "deploy/kubernetes", file), "utf8"));
    expect(values).toContain(spec.template.metadata.labels[key]);
    expect(spec.template.spec.containers[0].ports).toContainEqual({ name: port, containerPort: 3001 });
  }
});

test("runbook: its commands for Kubernetes name what the manifests have", () => {
  const { text } = pageOf("docs/operate/runbook.md");
  const read = (path: string): string => readFileSync(join(root, "deploy/kubernetes", path), "utf8");
  for (const [, name = ""] of text.matchAll(/deployment\/([\w-]+)/g))
    expect(read("postgres/deployment.yaml")).toMatch(new RegExp(`^ {2}name: ${name}$`, "m"));
  for (const [, name = ""] of text.matchAll(/(?:exec|pod) ([\w-]+)-0\b/g))
    expect(read("sqlite/statefulset.yaml")).toMatch(new RegExp(`^ {2}name: ${name}$`, "m"));
  for (const [, key = "", value = ""] of text.matchAll(/--selector ([\w./-]+)=([\w-]+)/g))
    for (const file of ["postgres/deployment.yaml", "sqlite/statefulset.yaml"])
      expect(read(file)).toContain(`matchLabels: { ${key}: ${value} }`);
  expect(text).toContain("kubectl exec hookline-0 -- df -h /data");
  expect(read("sqlite/statefulset.yaml")).toContain("mountPath: /data }");
});
