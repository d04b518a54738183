import { Deployment, StatefulSet } from "kubernetes-models/apps/v1";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1";
import { Service } from "kubernetes-models/v1";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { parseAllDocuments } from "yaml";
import manifest from "../../package.json" with { type: "json" };
import { root } from "../docs/pages.ts";
import { testWith } from "../docs/sandbox.ts";
import { brokenRules, type Manifest } from "./kubernetes-rules.ts";

const MODELS = { Deployment, StatefulSet, PodDisruptionBudget, Service };

type Base = "sqlite" | "postgres";

const kubectl = testWith("kubectl");

describe(`the bases of deploy/kubernetes${kubectl.why}`, () => {
  kubectl.test.each<[Base, readonly string[]]>([
    ["sqlite", ["Service", "StatefulSet"]],
    ["postgres", ["Deployment", "PodDisruptionBudget", "Service"]],
  ])("%s: what kustomize makes of it is known to Kubernetes", (base, kinds) => {
    const all = kustomize(base);
    expect(all.map(({ kind }) => kind).toSorted()).toEqual(kinds);
    for (const one of all) expect(() => validate(one)).not.toThrow();
    // Or the others prove nothing.
    for (const one of all) {
      one.spec.selector = 5;
      expect(() => validate(one)).toThrow(/selector/);
    }
  });

  kubectl.test.each<Base>(["sqlite", "postgres"])("%s: keeps all rules, with this version", (base) => {
    const all = kustomize(base);
    expect(brokenRules(all)).toEqual([]);
    expect(containerOf(all).image).toBe(`registry.example.com/hookline:${manifest.version}`);
  });

  // What Kubernetes accepts, and nobody sees until it hurts.
  kubectl.test.each<[rule: string, base: Base, how: string, breakIt: (all: Manifest[]) => void]>([
    [
      "deployment-with-volume",
      "sqlite",
      "a Deployment whose new pod waits for the volume of the old one",
      (all) => {
        const set = workloadOf(all);
        const { volumeClaimTemplates: _, serviceName: __, ...spec } = set.spec;
        set.spec = spec;
        spec.template.spec.volumes.push({ name: "inbox", persistentVolumeClaim: { claimName: "inbox" } });
        spec.template.spec.containers[0].lifecycle = { preStop: { exec: { command: ["sleep", "1"] } } };
        Object.assign(set, { kind: "Deployment" });
        spec.replicas = 1;
      },
    ],
    ["replicas-of-a-file", "sqlite", "two pods with a file each", (all) => (workloadOf(all).spec.replicas = 2)],
    [
      "file-without-volume",
      "sqlite",
      "a file that ends with the pod",
      (all) => {
        const { spec } = workloadOf(all);
        delete spec.volumeClaimTemplates;
        spec.template.spec.volumes.push({ name: "inbox", emptyDir: {} });
      },
    ],
    [
      "network-file-system",
      "sqlite",
      "a volume of several nodes",
      (all) => (workloadOf(all).spec.volumeClaimTemplates[0].spec.accessModes = ["ReadWriteMany"]),
    ],
    ["file-mounted", "sqlite", "the file as a mount", (all) => (containerOf(all).volumeMounts[0].subPath = "inbox.db")],
    [
      "folder-of-root",
      "sqlite",
      "a volume that the process cannot write to",
      (all) => delete podOf(all).securityContext.fsGroup,
    ],
    [
      "mode-widened",
      "sqlite",
      "a file that its group may read after the next start",
      (all) => delete podOf(all).securityContext.fsGroupChangePolicy,
    ],
    [
      "admin-port-public",
      "sqlite",
      "the admin port in the Service",
      (all) => serviceOf(all).spec.ports.push({ name: "admin", port: 3001, targetPort: "admin" }),
    ],
    [
      "service-without-pods",
      "sqlite",
      "a Service that finds no pod",
      (all) => (serviceOf(all).spec.selector = { app: "webhooks" }),
    ],
    [
      "listens-to-itself",
      "sqlite",
      "a server that only its own pod reaches",
      (all) => setArgument(all, "--admin-host", "127.0.0.1"),
    ],
    [
      "admin-port-differs",
      "sqlite",
      "another admin port than the probes ask",
      (all) => setArgument(all, "--admin-port", "3002"),
    ],
    [
      "probe-on-public-port",
      "sqlite",
      "a probe on the public port",
      (all) => (containerOf(all).readinessProbe.httpGet.port = "http"),
    ],
    [
      "readiness-missing",
      "postgres",
      "traffic before the database is there",
      (all) => delete containerOf(all).readinessProbe,
    ],
    [
      "restarts-what-is-not-ready",
      "postgres",
      "a restart while the database is away",
      (all) => (containerOf(all).livenessProbe.httpGet.path = "/readyz"),
    ],
    ["runs-as-root", "postgres", "root", (all) => (podOf(all).securityContext.runAsUser = 0)],
    [
      "may-gain-privileges",
      "postgres",
      "setuid programs",
      (all) => delete containerOf(all).securityContext.allowPrivilegeEscalation,
    ],
    [
      "has-capabilities",
      "postgres",
      "the capabilities of Docker",
      (all) => delete containerOf(all).securityContext.capabilities,
    ],
    [
      "writes-to-its-image",
      "postgres",
      "a root file system to write to",
      (all) => (containerOf(all).securityContext.readOnlyRootFilesystem = false),
    ],
    ["grace-short", "postgres", "no grace", (all) => (podOf(all).terminationGracePeriodSeconds = 30)],
    [
      "stops-before-proxies-know",
      "postgres",
      "a closed port that proxies still use",
      (all) => delete containerOf(all).lifecycle,
    ],
    [
      "secret-in-manifest",
      "postgres",
      "a secret in the manifest",
      (all) => {
        const secret = containerOf(all).env.find(({ name }: { name: string }) => name === "SIGNING_SECRET");
        delete secret.valueFrom;
        secret.value = "whsec";
      },
    ],
    [
      "secret-in-arguments",
      "postgres",
      "a password in the list of processes",
      (all) => setArgument(all, "--inbox", "postgres://hookline:$(PGPASSWORD)@postgres/hookline"),
    ],
    ["one-replica", "postgres", "one pod", (all) => (workloadOf(all).spec.replicas = 1)],
    [
      "budget-missing",
      "postgres",
      "no budget for a drain",
      (all) =>
        all.splice(
          all.findIndex(({ kind }) => kind === "PodDisruptionBudget"),
          1,
        ),
    ],
    [
      "drain-blocked",
      "postgres",
      "a budget that no node can be drained with",
      (all) => {
        const budget = all.find(({ kind }) => kind === "PodDisruptionBudget") as Manifest;
        budget.spec = { selector: budget.spec.selector, minAvailable: 2 };
      },
    ],
    ["memory-unlimited", "postgres", "all memory of the node", (all) => delete containerOf(all).resources.limits],
    [
      "image-without-version",
      "postgres",
      "another image at each start",
      (all) => (containerOf(all).image = "registry.example.com/hookline:latest"),
    ],
  ])("%s (%s): refuses %s", (rule, base, _, breakIt) => {
    const all = kustomize(base);
    breakIt(all);
    for (const one of all) expect(() => validate(one)).not.toThrow();
    expect(brokenRules(all)).toEqual([rule]);
  });

  kubectl.test("an argument that `hookline serve` does not have is refused", () => {
    const all = kustomize("sqlite");
    setArgument(all, "--admin-prot", "3001");
    expect(() => brokenRules(all)).toThrow("There is no flag --admin-prot");
  });
});

const printed = new Map<Base, string>();

function kustomize(base: Base): Manifest[] {
  let text = printed.get(base);
  if (text === undefined) {
    text = execFileSync("kubectl", ["kustomize", join(root, "deploy/kubernetes", base)], { encoding: "utf8" });
    printed.set(base, text);
  }
  return parseAllDocuments(text).map((one) => one.toJS() as Manifest);
}

function validate(one: Manifest): void {
  const Model = MODELS[one.kind as keyof typeof MODELS];
  new Model(one).validate();
}

const workloadOf = (all: readonly Manifest[]) => all.find(({ spec }) => spec.template !== undefined) as Manifest;
const serviceOf = (all: readonly Manifest[]) => all.find(({ kind }) => kind === "Service") as Manifest;
const podOf = (all: readonly Manifest[]) => workloadOf(all).spec.template.spec;
const containerOf = (all: readonly Manifest[]) => podOf(all).containers[0];

function setArgument(all: readonly Manifest[], flag: string, value: string): void {
  const container = containerOf(all);
  container.args = [...container.args.filter((arg: string) => !arg.startsWith(`${flag}=`)), `${flag}=${value}`];
}
