import { StorageError } from "hookline";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { folderFor } from "./on-disk.ts";

/** What a program does that opens its file, and answers nothing by itself. */
const OPENS = `import { parentPort } from "node:worker_threads";
parentPort.postMessage({ type: "open", fileId: "1" });
`;

/** @param program text of a thread's program; undefined: its file is not there */
async function start(program: string | undefined) {
  const folder = folderFor();
  const path = join(folder, "thread.mjs");
  if (program !== undefined) writeFileSync(path, program);
  const ends: StorageError[] = [];
  const events = { counted() {}, converting() {}, changed() {}, ended: (error: StorageError) => void ends.push(error) };
  const options = {
    file: join(folder, "inbox.db"),
    name: "default",
    dedupeWindowMs: 0,
    threadUrl: pathToFileURL(path),
  };
  return { opening: openThread(options, events), ends };
}

const BATCH = { epoch: undefined, tasks: [], bytes: new Uint8Array() };

test.each<[what: string, program: string | undefined, expected: object]>([
  [
    "is not where it should be",
    undefined,
    {
      code: "thread-missing",
      fix: expect.stringContaining("threadUrl"),
      cause: { code: expect.stringContaining("MODULE_NOT_FOUND") },
    },
  ],
  [
    "fails by itself",
    `throw new RangeError("no such thing");`,
    {
      code: "thread-lost",
      message: expect.stringContaining("failed before it answered"),
      cause: { name: "RangeError" },
    },
  ],
  ["ends without a word", ``, { code: "thread-lost", message: expect.stringContaining("ended before it answered") }],
  [
    "cannot begin for want of files",
    `throw Object.assign(new Error("open"), { code: "EMFILE" });`,
    { code: "too-many-files", fix: expect.stringContaining("ulimit -n") },
  ],
  [
    "finds the file damaged",
    `throw Object.assign(new Error("malformed"), { errcode: 11 });`,
    { code: "file-corrupt", message: expect.stringContaining("SQLite's error 11: malformed") },
  ],
  [
    "tells why it cannot open the file",
    `import { parentPort } from "node:worker_threads";
     parentPort.postMessage({ type: "failed", error: { code: "hard-linked", message: "two names", fix: "one" } });`,
    { code: "hard-linked", message: expect.stringContaining("two names"), fix: "one" },
  ],
])("a thread whose program %s does not open, and the reason is told once", async (_, program, expected) => {
  const { opening, ends } = await start(program);
  const error: unknown = await opening.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StorageError);
  expect(error).toMatchObject(expected);
  expect(ends).toEqual([error]);
});

test("a thread that ends with batches under way fails them and those that come later, for the same reason", async () => {
  const { opening, ends } = await start(
    `${OPENS}parentPort.on("message", () => { throw Object.assign(new Error("disk"), { errcode: 10 }); });`,
  );
  const thread = await opening;
  const failed = { code: "disk-failed" };
  const [first, second] = await Promise.allSettled([thread.run(BATCH), thread.run(BATCH)]);
  expect([first, second]).toMatchObject([{ reason: failed }, { reason: failed }]);
  await expect(thread.run(BATCH)).rejects.toBe(ends[0]);
  thread.abandon();
  expect(ends).toHaveLength(1);
  await thread.close();
});

test("a thread that does not keep the process still answers, also what it is given after that", async () => {
  const { opening } = await start(
    `${OPENS}parentPort.on("message", ({ type }) => {
       if (type === "close") return process.exit();
       parentPort.postMessage({ type: "results", results: [{ value: type }] });
     });`,
  );
  const thread = await opening;
  const before = thread.run(BATCH);
  thread.unref();
  expect(await before).toEqual([{ value: "batch" }]);
  thread.unref();
  expect(await thread.run({ ...BATCH, bytes: new Uint8Array(8) })).toEqual([{ value: "batch" }]);
  await thread.close();
  await expect(thread.run(BATCH)).rejects.toMatchObject({ message: expect.stringContaining("closed") });
});

test("a thread that is given up answers nothing more, and is not told as one that ended by itself", async () => {
  const { opening, ends } = await start(`${OPENS}parentPort.on("message", () => {});`);
  const thread = await opening;
  const running = thread.run(BATCH);
  thread.abandon();
  await expect(running).rejects.toMatchObject({ message: expect.stringContaining("given up") });
  thread.abandon();
  await thread.close();
  expect(ends).toEqual([]);
});
