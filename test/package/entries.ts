import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** One line of the `exports` map. */
export interface Entry {
  /** As a user writes it: `hookline/node`. */
  readonly name: string;
  readonly source: string;
  readonly types: string;
  readonly code: string;
  /** A program for a thread, to be an entry of a bundle: it exports nothing, and is not to be imported. */
  readonly isProgram: boolean;
}

/** The repository's folder, with a slash at its end. */
export const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Every entry of the `exports` map that is code, in its order. */
export function entries(): readonly Entry[] {
  const { exports } = JSON.parse(readFileSync(`${repository}package.json`, "utf8")) as {
    exports: Record<string, string | { "hookline-source": string; types: string; default: string }>;
  };
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === "string"
      ? []
      : [
          {
            name: `hookline${path.slice(1)}`,
            source: bare(target["hookline-source"]),
            types: bare(target.types),
            code: bare(target.default),
            isProgram: target["hookline-source"].endsWith("-thread.ts"),
          },
        ],
  );
}

/** The sources that are made to be entries: faces, which only list exports and are in no other, the mounts, the inboxes, stores of handled events and what observes. */
export function entrySources(): readonly string[] {
  const defines =
    /^export (?:default |declare |abstract |async )*(?:const|let|function|class|interface|enum|type \w+[ <=])/m;
  const mounts = /^export (?:function|const) \w+Receiver\b/m;
  const inboxes = /^export function \w+Inbox\b/m;
  const observers = /^export function (?:prometheusMetrics|openTelemetry)\b/m;
  const faces = filesOf("src").filter((file) => !defines.test(read(file)));
  const inOthers = new Set(
    faces.flatMap((face) => [...read(face).matchAll(/^export \* from "\.\/(.+)";/gm)].map(([, file]) => `src/${file}`)),
  );
  return [
    ...faces.filter((face) => !inOthers.has(face)),
    ...filesOf("adapters/http").filter((file) => mounts.test(read(file))),
    ...filesOf("adapters/inbox").filter((file) => inboxes.test(read(file))),
    ...filesOf("adapters/seen"),
    ...filesOf("adapters/observe").filter((file) => observers.test(read(file))),
  ];
}

function filesOf(folder: string): readonly string[] {
  return readdirSync(repository + folder)
    .filter((name) => name.endsWith(".ts"))
    .map((name) => `${folder}/${name}`);
}

function read(file: string): string {
  return readFileSync(repository + file, "utf8");
}

function bare(path: string): string {
  return path.replace(/^\.\//, "");
}
