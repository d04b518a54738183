import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { startReceiverProcess, type ReceiverProcess, type ReceiverProcessOptions } from "./receiver-process.ts";
import { eventually } from "../../support/eventually.ts";
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
  /** Ports that can be sent to, at random. */
  anyPort(): number | undefined;
  /** Processes that ended by a signal or by themselves, so far. */
  deaths(): number;
}

/** Its folder and its processes end with the test. @param on where the folder is made */
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

/** A worker that has the place. */
export async function startWorker(fleet: Fleet, options: StartOptions = {}): Promise<ReceiverProcess> {
  const receiverProcess = fleet.start(options);
  await receiverProcess.prints(/^ready/m);
  await receiverProcess.prints(/^works/m);
  return receiverProcess;
}

/** Whoever has the place by now. */
export function currentWorker(fleet: Fleet): Promise<ReceiverProcess> {
  return eventually(() => {
    const worker = fleet.living().find((one) => one.isWorker());
    if (worker === undefined)
      throw new Error(
        `Nobody works:\n${fleet
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

/** For how long a load goes on; nothing is claimed of it. */
export function sleepMs(least: number, most = least): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, least + Math.random() * (most - least));
  });
}

/** Ends it as a deploy does, and expects that it ends well. */
export async function terminate(receiverProcess: ReceiverProcess): Promise<void> {
  receiverProcess.signal("SIGTERM");
  await expectEnd(receiverProcess, 0);
}

export async function expectEnd(receiverProcess: ReceiverProcess, wanted: number | NodeJS.Signals): Promise<void> {
  await eventually(() =>
    expect(receiverProcess.alive(), `It goes on:\n${receiverProcess.out()}${receiverProcess.err()}`).toBe(false),
  );
  expect(await receiverProcess.ended, receiverProcess.err()).toBe(wanted);
}
