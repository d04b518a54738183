// Logs more than is held for a stderr that takes nothing. With MADE_ROOM the disk is full for the first of it.
import fs from "node:fs";
import { toLogger } from "../src/logger.ts";

const LINES = Number(process.env["LINES"] ?? 2_000);
const LONG = "x".repeat(1_000);

const log = toLogger(undefined);
const write = fs.write;
const makesRoom = process.env["MADE_ROOM"] !== undefined;

type Told = (error: Error | null, bytes?: number) => void;
const eachWrite = (does: (told: Told, args: unknown[]) => void): void => {
  fs.write = ((...args: unknown[]) => does(args.pop() as Told, args)) as typeof write;
};

if (makesRoom) eachWrite((told) => setImmediate(told, Object.assign(new Error("no space"), { code: "ENOSPC" })));
for (let line = 0; line < LINES; line += 1) {
  log.error({ line }, LONG);
  await new Promise(setImmediate);
}
if (makesRoom) {
  const written = new Promise<void>((resolve) =>
    eachWrite((told, args) =>
      Reflect.apply(write, fs, [
        ...args,
        (error: Error | null, bytes: number) => {
          told(error, bytes);
          resolve();
        },
      ]),
    ),
  );
  log.error({}, LONG);
  await written;
}
log.error({}, "at the end");
console.log("alive");
