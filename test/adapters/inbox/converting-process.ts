import { writeSync } from "node:fs";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { nextSchema } from "./next-schema.ts";

// Converts a file, and stops for ever after so many steps, to be killed there; after the commit where there are fewer.
const [file = "", last = ""] = process.argv.slice(2);
const stop = (): void => {
  writeSync(1, "here\n");
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
const plan = nextSchema((count) => {
  if (count === Number(last)) stop();
});
openFile(file, "default", { plan });
stop();
