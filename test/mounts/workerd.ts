import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binaryOf } from "./binaries.ts";
import { startProgram, type Program } from "./program.ts";

/** A Worker in workerd's configuration. */
export interface Worker {
  /** The module. */
  readonly code: string;
  /** Bindings of its `env`, as JSON. */
  readonly bindings: Readonly<Record<string, unknown>>;
  /** Further bindings of its `env`, in Cap'n Proto syntax. */
  readonly otherBindings?: readonly string[];
  /** Compatibility flags. */
  readonly flags?: readonly string[];
}

/** Workers by name, in a child process. */
export interface Workers {
  /** The URL of the socket with this name. */
  urlOf(socket: string): Promise<string>;
  readonly program: Program;
  end(): Promise<void>;
}

/**
 * Starts workerd.
 * @param sockets which Worker each serves, or which entrypoint of it
 */
export function startWorkerd(
  workers: Readonly<Record<string, Worker>>,
  sockets: Readonly<Record<string, string>>,
): Workers {
  const folder = mkdtempSync(join(tmpdir(), "hookline-workerd-"));
  for (const [name, { code }] of Object.entries(workers)) writeFileSync(join(folder, `${name}.js`), code);
  const file = join(folder, "config.capnp");
  writeFileSync(file, toConfig(workers, sockets));
  const program = startProgram(binaryOf("workerd"), ["serve", "--experimental", file, "--control-fd=3"], {
    third: true,
  });
  return {
    urlOf: async (socket) =>
      `http://127.0.0.1:${await program.says(new RegExp(`"socket":"${socket}","port":(\\d+)`))}/`,
    program,
    async end() {
      await program.end();
      rmSync(folder, { recursive: true });
    },
  };
}

function toConfig(workers: Readonly<Record<string, Worker>>, sockets: Readonly<Record<string, string>>): string {
  const services = Object.entries(workers).map(
    ([name, worker]) => `(name = "${name}", worker = (
      compatibilityDate = "2026-10-01",
      compatibilityFlags = ${JSON.stringify(worker.flags ?? [])},
      modules = [(name = "${name}.js", esModule = embed "${name}.js")],
      bindings = [${bindingsOf(worker).join(", ")}]))`,
  );
  const listening = Object.entries(sockets).map(
    ([name, service]) => `(name = "${name}", address = "127.0.0.1:0", http = (), service = ${service})`,
  );
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [${services.join(",\n")},
    (name = "internet", network = (allow = ["private"]))],
  sockets = [${listening.join(", ")}]);
`;
}

function bindingsOf({ bindings, otherBindings = [] }: Worker): readonly string[] {
  // JSON strings are valid Cap'n Proto strings.
  const json = Object.entries(bindings).map(
    ([name, value]) => `(name = "${name}", json = ${JSON.stringify(JSON.stringify(value))})`,
  );
  return [...json, ...otherBindings];
}
