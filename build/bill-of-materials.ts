import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** As far as it is read here. @see https://cyclonedx.org/docs/1.6/json/ */
export interface BillOfMaterials {
  readonly bomFormat: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

interface Component {
  readonly name: string;
  readonly group?: string;
  readonly version: string;
  readonly "bom-ref": string;
  readonly licenses?: readonly { readonly license?: { readonly id?: string }; readonly expression?: string }[];
}

const root = join(import.meta.dirname, "..");

/** That ask for no more than to be named. */
const LICENCES: ReadonlySet<string> = new Set([
  "MIT",
  "ISC",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "0BSD",
  "BlueOak-1.0.0",
]);

/** All that comes with the package: what npm installs with it, and what is in its own files. */
export function billOfMaterials(): BillOfMaterials {
  const all = listed();
  const installed = new Set(listed("dev", "optional", "peer").components.map(keyOf));
  const inside = bundled();
  const components = all.components.filter((one) => installed.has(keyOf(one)) || inside.has(keyOf(one)));
  const refs = new Set([...components, all.metadata.component].map((one) => one["bom-ref"]));
  const dependencies = all.dependencies
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  return { ...all, components, dependencies };
}

/** What is installed here, without some kinds. */
function listed(...omitted: readonly string[]): BillOfMaterials {
  const flags = ["--output-reproducible", "--output-format=JSON", "--flatten-components", "--ignore-npm-errors"];
  const args = ["exec", "--", "cyclonedx-npm", ...flags, ...omitted.flatMap((kind) => ["--omit", kind])];
  const printed = execFileSync("npm", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
    stdio: ["ignore", "pipe", "ignore"],
  });
  return JSON.parse(printed) as BillOfMaterials;
}

/** Of what the build says that it has put into the package. */
function bundled(): ReadonlySet<string> {
  const text = readFileSync(join(root, "THIRD_PARTY_LICENSES"), "utf8");
  return new Set([...text.matchAll(/^((?:@[\w.-]+\/)?[\w.-]+ \d+\.\d+\.\S+)/gm)].map(([, name = ""]) => name));
}

/** Components under a licence that asks for more, or under none that is known. */
export function licenceProblems({ components }: BillOfMaterials): readonly string[] {
  return components.flatMap((one) => {
    const names = (one.licenses ?? []).map(({ license, expression }) => license?.id ?? expression ?? "none");
    return names.length > 0 && names.every((name) => LICENCES.has(name))
      ? []
      : `${keyOf(one)} is under ${names.join(" and ") || "no licence"}.`;
  });
}

const keyOf = (one: Component): string => `${nameOf(one)} ${one.version}`;

export function nameOf({ group, name }: Component): string {
  return group === undefined ? name : `${group}/${name}`;
}
