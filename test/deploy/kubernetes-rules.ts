import { parseArguments } from "../../src/cli/arguments.ts";
import { isConnectionString } from "../../src/cli/flags.ts";
import { serve } from "../../src/cli/serve.ts";

/** What `kubectl kustomize` prints, as far as the rules read it. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  // Its form depends on the kind, and kubernetes-models has checked it.
  // oxlint-disable-next-line typescript/no-explicit-any
  spec: any;
}

/** 5 s for requests, 30 s for answers of the app, and the end of the process. */
const LEAST_GRACE_SECONDS = 36;

const MAY_WRITE_TO = new Set(["/data", "/tmp"]);

type Rule = (pod: Pod) => readonly (string | false)[];

interface Pod {
  readonly workload: Manifest;
  readonly all: readonly Manifest[];
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec: any;
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly container: any;
  /** Of `hookline serve`. */
  readonly flags: ReturnType<typeof flagsOf>;
}

/**
 * What is wrong with a set of manifests that Kubernetes accepts: names of rules.
 *
 * @throws Error where there is not one workload with one container
 */
export function brokenRules(all: readonly Manifest[]): readonly string[] {
  const workloads = all.filter(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
  const [workload] = workloads;
  const spec = workload?.spec.template.spec;
  if (workloads.length !== 1 || workload === undefined || spec.containers.length !== 1)
    throw new Error("Expected one workload with one container.");
  const [container] = spec.containers;
  const pod: Pod = { workload, all, spec, container, flags: flagsOf(container) };
  return RULES.flatMap((rule) => rule(pod)).filter((broken) => broken !== false);
}

const RULES: readonly Rule[] = [
  storage,
  ports,
  probes,
  rights,
  secrets,
  ({ spec, container, workload }) => [
    !(spec.terminationGracePeriodSeconds >= LEAST_GRACE_SECONDS + preStopSeconds(container)) && "grace-short",
    container.resources?.limits?.memory === undefined && "memory-unlimited",
    container.resources?.limits?.cpu !== undefined && "cpu-throttled",
    !/:[^:/]*\d/.test(container.image) && "image-without-version",
    workload.kind === "Deployment" && container.lifecycle?.preStop === undefined && "stops-before-proxies-know",
  ],
  disruptions,
];

/** A file has one process on one volume, a database any number. */
function storage({ workload, spec, container, flags: { inbox } }: Pod) {
  const { volumeClaimTemplates = [], replicas } = workload.spec;
  const claims = [
    ...volumeClaimTemplates,
    ...(spec.volumes ?? []).filter((volume: object) => "persistentVolumeClaim" in volume),
  ];
  if (inbox !== undefined && isConnectionString(inbox)) return [claims.length > 0 && "volume-without-file"];
  const mount = (container.volumeMounts ?? []).find(({ mountPath }: { mountPath: string }) =>
    inbox?.startsWith(`${mountPath}/`),
  );
  const claim = volumeClaimTemplates.find(({ metadata }: Manifest) => metadata.name === mount?.name);
  return [
    workload.kind === "Deployment" && claims.length > 0 && "deployment-with-volume",
    replicas !== 1 && "replicas-of-a-file",
    workload.kind === "StatefulSet" && claim === undefined && "file-without-volume",
    claim !== undefined && claim.spec.accessModes.join() !== "ReadWriteOnce" && "network-file-system",
    mount?.subPath !== undefined && "file-mounted",
    !(spec.securityContext.fsGroup > 0) && "folder-of-root",
    spec.securityContext.fsGroupChangePolicy !== "OnRootMismatch" && "mode-widened",
  ];
}

function ports({ all, workload, container, flags }: Pod) {
  const named = new Map(
    container.ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
  );
  const service = all.find(({ kind }) => kind === "Service");
  const targets: unknown[] =
    service?.spec.ports.map(({ targetPort }: { targetPort: unknown }) => named.get(String(targetPort)) ?? targetPort) ??
    [];
  return [
    named.get("http") !== flags.port && "port-differs",
    named.get("admin") !== flags["admin-port"] && "admin-port-differs",
    (flags.host !== "0.0.0.0" || flags["admin-host"] !== "0.0.0.0") && "listens-to-itself",
    !targets.includes(flags.port) && "service-without-port",
    targets.includes(flags["admin-port"]) && "admin-port-public",
    !fits(service?.spec.selector, workload) && "service-without-pods",
  ];
}

function probes({ container }: Pod) {
  const { livenessProbe: live, readinessProbe: ready } = container;
  const number = container.ports.find(({ name }: { name: string }) => name === "admin")?.containerPort;
  const isAdmin = (probe: Pod["spec"]): boolean => ["admin", number].includes(probe.httpGet?.port);
  return [
    live === undefined && "liveness-missing",
    ready === undefined && "readiness-missing",
    [live, ready].some((probe) => probe !== undefined && !isAdmin(probe)) && "probe-on-public-port",
    live !== undefined && live.httpGet?.path !== "/livez" && "restarts-what-is-not-ready",
    ready !== undefined && ready.httpGet?.path !== "/readyz" && "traffic-without-storage",
  ];
}

function rights({ spec, container }: Pod) {
  const { runAsNonRoot, runAsUser, seccompProfile } = spec.securityContext;
  const own = container.securityContext ?? {};
  const isOpen = (container.volumeMounts ?? []).some(
    ({ mountPath }: { mountPath: string }) => !MAY_WRITE_TO.has(mountPath),
  );
  return [
    (runAsNonRoot !== true || !(runAsUser > 0)) && "runs-as-root",
    seccompProfile?.type !== "RuntimeDefault" && "seccomp-missing",
    (own.allowPrivilegeEscalation !== false || own.privileged === true) && "may-gain-privileges",
    (own.capabilities?.drop?.join() !== "ALL" || own.capabilities.add !== undefined) && "has-capabilities",
    (own.readOnlyRootFilesystem !== true || isOpen) && "writes-to-its-image",
    spec.automountServiceAccountToken !== false && "has-a-token",
  ];
}

function secrets({ container }: Pod) {
  const env: readonly Pod["spec"][] = container.env;
  const expanded = container.args.join(" ");
  const isSecret = ({ name }: { readonly name: string }): boolean => /SECRET|PASSWORD/.test(name);
  /** Only there while the secret is changed. */
  const isOld = ({ name }: { readonly name: string }): boolean => name === "OLD_SIGNING_SECRET";
  return [
    !env.some(({ name }) => name === "SIGNING_SECRET") && "secret-missing",
    env.some((one) => isSecret(one) && !isOld(one) && one.valueFrom?.secretKeyRef?.optional !== undefined) &&
      "secret-optional",
    env.some((one) => isSecret(one) && one.valueFrom?.secretKeyRef === undefined) && "secret-in-manifest",
    (env.some((one) => isSecret(one) && expanded.includes(`$(${one.name})`)) ||
      /:\/\/[^/@\s]*:[^/@\s]*@/.test(expanded)) &&
      "secret-in-arguments",
  ];
}

function disruptions({ all, workload, flags: { inbox } }: Pod) {
  const budget = all.find(({ kind }) => kind === "PodDisruptionBudget");
  // A budget for one pod would block every drain.
  if (inbox === undefined || !isConnectionString(inbox)) return [budget !== undefined && "drain-blocked"];
  return [
    !(workload.spec.replicas > 1) && "one-replica",
    !fits(budget?.spec.selector.matchLabels, workload) && "budget-missing",
    budget !== undefined &&
      (budget.spec.maxUnavailable !== 1 || budget.spec.minAvailable !== undefined) &&
      "drain-blocked",
  ];
}

/** What goes off the grace before the process knows. */
function preStopSeconds(container: Pod["container"]): number {
  return Number(container.lifecycle?.preStop?.exec?.command?.at(-1) ?? 0);
}

/** What the program makes of its arguments. @throws CommandError at an unknown one */
function flagsOf({
  args,
  env,
}: {
  readonly args: readonly string[];
  readonly env: readonly { name: string; value?: string }[];
}) {
  const [command, ...flags] = args.map((arg) =>
    arg.replace(/\$\((\w+)\)/g, (_, name) => env.find((one) => one.name === name)?.value ?? ""),
  );
  if (command !== serve.name) throw new Error(`Expected \`serve\`, got ${command}.`);
  return parseArguments(flags, serve.flags);
}

function fits(selector: Readonly<Record<string, string>> | undefined, workload: Manifest): boolean {
  const labels = workload.spec.template.metadata.labels;
  const wanted = Object.entries(selector ?? {});
  return wanted.length > 0 && wanted.every(([name, value]) => labels[name] === value);
}
