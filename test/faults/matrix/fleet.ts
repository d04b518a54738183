import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { startReceiverProcess, type ReceiverProcess, type ReceiverProcessOptions } from "./receiver-process.ts";
import { createService, type Service } from "./service.ts";

type ProcessChoices = Partial<Omit<ReceiverProcessOptions, "file" | "journal" | "secret" | "instance">>;

export interface StartOptions extends ProcessChoices {
  readonly env?: Readonly<Record<string, string>>;
  /** Runs the program under another one, such as `prlimit`. */
  readonly under?: readonly string[];
}

/** The processes of one row, on one file. */
export interface Fleet {
  readonly file: string;
  readonly journal: string;
  readonly secret: string;
  start(options?: StartOptions): ReceiverProcess;
  living(): readonly ReceiverProcess[];
  /** A random port that accepts requests. */
  anyPort(): number | undefined;
  /** Number of processes that have ended. */
  deaths(): number;
}

/** Its folder and its processes end with the test. @param on parent of its folder */
export function createFleet(on: string = tmpdir()): Fleet {
  const folder = mkdtempSync(join(on, "hookline-"));
  const file = join(folder, "inbox.db");
  // Not beside the inbox: a row may fill that disk.
  const notes = mkdtempSync(join(tmpdir(), "hookline-journal-"));
  const journal = join(notes, "journal");
  const secret = "a signing secret";
  const all: ReceiverProcess[] = [];
  let deaths = 0;
  onTestFinished(async () => {
    for (const receiverProcess of all) receiverProcess.signal("SIGKILL");
    await Promise.all(all.map(({ ended }) => ended));
    for (const path of [folder, notes]) rmSync(path, { recursive: true, force: true });
  });

  const living = (): readonly ReceiverProcess[] => all.filter((receiverProcess) => receiverProcess.alive());

  return {
    file,
    journal,
    secret,
    start({ env = {}, under = [], ...given } = {}) {
      const instance = String(all.length + 1);
      const options: ReceiverProcessOptions = { works: true, ...given, file, journal, secret, instance };
      const receiverProcess = startReceiverProcess(options, [...under, process.execPath], env);
      void receiverProcess.ended.then(() => (deaths += 1));
      all.push(receiverProcess);
      return receiverProcess;
    },
    living,
    anyPort() {
      const ports = living().flatMap((receiverProcess) => receiverProcess.port() ?? []);
      return ports[Math.floor(Math.random() * ports.length)];
    },
    deaths: () => deaths,
  };
}

/** Starts a process and waits until it has the worker lock. */
export async function startWorker(fleet: Fleet, options: StartOptions = {}): Promise<ReceiverProcess> {
  const receiverProcess = fleet.start(options);
  await receiverProcess.prints(/^ready/m);
  await receiverProcess.prints(/^works/m);
  return receiverProcess;
}

/** The process that has the worker lock. */
export function currentWorker(fleet: Fleet): Promise<ReceiverProcess> {
  return eventually(() => {
    const worker = fleet.living().find((one) => one.isWorker());
    if (worker === undefined)
      throw new Error(
        `No process works:\n${fleet
          .living()
          .map((one) => one.err())
          .join("\n")}`,
      );
    return worker;
  });
}

/** A row's processes and the service that sends to them. */
export function createScenario(on?: string): { readonly fleet: Fleet; readonly service: Service } {
  const fleet = createFleet(on);
  return { fleet, service: createService({ secret: fleet.secret, port: fleet.anyPort }) };
}

/** A random pause, for load: no test asserts its length. */
export function sleepMs(least: number, most = least): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, least + Math.random() * (most - least));
  });
}

/** Sends SIGTERM, as a deploy does, and expects exit code 0. */
export async function terminate(receiverProcess: ReceiverProcess): Promise<void> {
  // One that has just begun does not listen to signals yet.
  await receiverProcess.prints(/^ready/m);
  receiverProcess.signal("SIGTERM");
  await expectEnd(receiverProcess, 0);
}

export async function expectEnd(receiverProcess: ReceiverProcess, wanted: number | NodeJS.Signals): Promise<void> {
  await eventually(() =>
    expect(receiverProcess.alive(), `It still runs:\n${receiverProcess.out()}${receiverProcess.err()}`).toBe(false),
  );
  expect(await receiverProcess.ended, receiverProcess.err()).toBe(wanted);
}
