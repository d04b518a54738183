import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";
import { patiently, startMortal, type Mortal, type MortalOptions } from "./receiver-process.ts";
import { createService, type Service } from "./service.ts";

type MortalChoices = Partial<Omit<MortalOptions, "file" | "journal" | "secret" | "life">>;

export interface StartOptions extends MortalChoices {
  readonly env?: Readonly<Record<string, string>>;
  /** Runs the program under another one, such as `prlimit`. */
  readonly under?: readonly string[];
}

/** The processes of one row, on one file. */
export interface Fleet {
  readonly file: string;
  readonly journal: string;
  readonly secret: string;
  start(options?: StartOptions): Mortal;
  living(): readonly Mortal[];
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
  const all: Mortal[] = [];
  let deaths = 0;
  onTestFinished(async () => {
    for (const mortal of all) mortal.signal("SIGKILL");
    await Promise.all(all.map(({ ended }) => ended));
    for (const path of [folder, notes]) rmSync(path, { recursive: true, force: true });
  });

  const living = (): readonly Mortal[] => all.filter((mortal) => mortal.alive());

  return {
    file,
    journal,
    secret,
    start({ env = {}, under = [], ...given } = {}) {
      const life = String(all.length + 1);
      const options: MortalOptions = { works: true, ...given, file, journal, secret, life };
      const mortal = startMortal(options, [...under, process.execPath], env);
      void mortal.ended.then(() => (deaths += 1));
      all.push(mortal);
      return mortal;
    },
    living,
    anyPort() {
      const ports = living().flatMap((mortal) => mortal.port() ?? []);
      return ports[Math.floor(Math.random() * ports.length)];
    },
    deaths: () => deaths,
  };
}

/** A worker that has the place. */
export async function startWorker(fleet: Fleet, options: StartOptions = {}): Promise<Mortal> {
  const mortal = fleet.start(options);
  await mortal.says(/^ready/m);
  await mortal.says(/^works/m);
  return mortal;
}

/** Whoever has the place by now. */
export function aWorker(fleet: Fleet): Promise<Mortal> {
  return patiently(() => {
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
export function createWorld(on?: string): { readonly fleet: Fleet; readonly service: Service } {
  const fleet = createFleet(on);
  return { fleet, service: createService({ secret: fleet.secret, port: fleet.anyPort }) };
}

/** For how long a load goes on; nothing is claimed of it. */
export function someMs(least: number, most = least): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, least + Math.random() * (most - least));
  });
}

/** Ends it as a deploy does, and expects that it ends well. */
export async function endWell(mortal: Mortal): Promise<void> {
  mortal.signal("SIGTERM");
  await endsWith(mortal, 0);
}

export async function endsWith(mortal: Mortal, wanted: number | NodeJS.Signals): Promise<void> {
  await patiently(() => expect(mortal.alive(), `It goes on:\n${mortal.out()}${mortal.err()}`).toBe(false));
  expect(await mortal.ended, mortal.err()).toBe(wanted);
}
