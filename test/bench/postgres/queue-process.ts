import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { QueueCommands } from "../measures/queue-process.ts";

/** A process of a contender. */
export interface QueueProcess {
  call<V extends keyof QueueCommands>(
    verb: V,
    ...given: Parameters<QueueCommands[V]>
  ): Promise<Awaited<ReturnType<QueueCommands[V]>>>;
  /** Closes its queue, and ends it. */
  close(): Promise<void>;
}

/** Then it is killed. */
const CLOSE_MS = 30_000;

/** Resolves when its queue is open. */
export async function startQueueProcess(file: string, connection: string): Promise<QueueProcess> {
  const script = fileURLToPath(new URL("../measures/queue-process.ts", import.meta.url));
  const child = fork(script, [file, connection], {
    serialization: "advanced",
    execArgv: ["--conditions=hookline-source", "--max-old-space-size=6144"],
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => (stderr = (stderr + text.toString()).slice(-2_000)));
  const calls = new Map<number, PromiseWithResolvers<unknown>>([[0, Promise.withResolvers()]]);
  child.on("message", ({ id, answer, error }: { id: number; answer: unknown; error?: string }) => {
    if (error === undefined) calls.get(id)?.resolve(answer);
    else calls.get(id)?.reject(new Error(error));
    calls.delete(id);
  });
  const ended = once(child, "close").then(() => {
    for (const { reject } of calls.values()) reject(new Error(`A process of ${file} ended: ${stderr}`));
  });
  await calls.get(0)?.promise;
  let last = 0;
  const call = async (verb: string, given?: unknown): Promise<unknown> => {
    if (!child.connected) throw new Error(`A process of ${file} has ended: ${stderr}`);
    const reply = Promise.withResolvers<unknown>();
    calls.set((last += 1), reply);
    child.send({ id: last, verb, given });
    return reply.promise;
  };
  return {
    call: call as QueueProcess["call"],
    async close() {
      try {
        await Promise.race([call("close"), sleep(CLOSE_MS, undefined, { ref: false })]);
      } finally {
        child.kill("SIGKILL");
        await ended;
      }
    },
  };
}
