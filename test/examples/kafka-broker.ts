import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** The mock cluster of librdkafka, compiled for this machine. */
export interface CompiledKafka {
  start(): Promise<Kafka>;
  remove(): void;
}

/** Three brokers, with the topics of the example. */
export interface Kafka {
  /** As the environment variable of the example. */
  readonly brokers: string;
  /** Nothing is written, since too few replicas are in sync, until `allow`. */
  refuse(): Promise<void>;
  allow(): Promise<void>;
  end(): Promise<void>;
}

/** Or why it is not here. */
export function compileKafka(): CompiledKafka | string {
  const folder = mkdtempSync(join(tmpdir(), "hookline-kafka-"));
  const program = join(folder, "kafka-broker");
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  try {
    const source = join(import.meta.dirname, "kafka-broker.c");
    execFileSync("gcc", ["-O2", "-Wall", "-o", program, source, "-lrdkafka"], { stdio: "pipe" });
    return { start: () => start(program), remove };
  } catch {
    remove();
    return "skipped: librdkafka-dev or gcc is not installed";
  }
}

async function start(program: string): Promise<Kafka> {
  const child = spawn(program, { stdio: ["pipe", "pipe", "ignore"] });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const line = await lines.next();
  const [, brokers] = /^brokers (\S+)$/.exec(String(line.value)) ?? [];
  if (brokers === undefined) throw new Error("The mock cluster did not start.");
  const command = async (name: string): Promise<void> => {
    child.stdin.write(`${name}\n`);
    await lines.next();
  };
  return {
    brokers,
    refuse: () => command("refuse"),
    allow: () => command("allow"),
    async end() {
      const ended = once(child, "close");
      child.kill("SIGKILL");
      await ended;
    },
  };
}
