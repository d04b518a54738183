import { closeSync, openSync, readFileSync, writevSync } from "node:fs";

/** A trace in order of time: system calls that `trace.c` recorded, and markers that the test programs wrote between them. */
export type TraceRecord =
  | { readonly type: "opened" | "created"; readonly inode: number; readonly path: string }
  | { readonly type: "written"; readonly inode: number; readonly offset: number; readonly bytes: Buffer }
  | { readonly type: "cut"; readonly inode: number; readonly length: number }
  | { readonly type: "unlinked"; readonly path: string }
  | { readonly type: "renamed"; readonly path: string; readonly to: string }
  | { readonly type: "syncing" | "synced"; readonly inode: number; readonly thread: number }
  | { readonly type: "marker"; readonly what: Marker; readonly name: string };

/** `acknowledged`: the client got the 200. `handled`: the handler succeeded. Scenarios define the others. */
export type Marker = (typeof MARKERS)[number];

/** Appends markers to a trace, each in one write, as the tracer does. */
export interface TraceWriter {
  mark(what: Marker, name: string): void;
  close(): void;
}

const TYPES = ["", "opened", "created", "written", "cut", "unlinked", "renamed", "syncing", "synced", "unknown"];
const MARKERS = ["ready", "acknowledged", "handled", "erasing", "erased", "killed", "closing", "closed"] as const;
const FIRST_MARKER = 100;
const MAGIC = 0x4b4c4b48;
const HEAD_BYTES = 32;

export function openTraceWriter(file: string): TraceWriter {
  const to = openSync(file, "a");
  return {
    mark(what, name) {
      const text = Buffer.from(name);
      const head = Buffer.alloc(HEAD_BYTES);
      head.writeUInt32LE(MAGIC, 0);
      head.writeUInt32LE(FIRST_MARKER + MARKERS.indexOf(what), 4);
      head.writeUInt32LE(text.length, 24);
      writevSync(to, [head, text]);
    },
    close: () => closeSync(to),
  };
}

/** @throws Error if the trace is incomplete, or holds a call that cannot be replayed */
export function readTrace(file: string): TraceRecord[] {
  const bytes = readFileSync(file);
  const records: TraceRecord[] = [];
  for (let at = 0; at < bytes.length;) {
    if (bytes.readUInt32LE(at) !== MAGIC) throw new Error(`The trace has no record at ${at} of ${bytes.length}.`);
    const type = bytes.readUInt32LE(at + 4);
    const [inode, offset] = [Number(bytes.readBigUInt64LE(at + 8)), Number(bytes.readBigUInt64LE(at + 16))];
    const dataAt = at + HEAD_BYTES + bytes.readUInt32LE(at + 24);
    const name = bytes.toString("utf8", at + HEAD_BYTES, dataAt);
    const end = dataAt + bytes.readUInt32LE(at + 28);
    records.push(toRecord(type, { inode, offset, name, data: bytes.subarray(dataAt, end) }));
    at = end;
  }
  return records;
}

interface Fields {
  readonly inode: number;
  readonly offset: number;
  readonly name: string;
  readonly data: Buffer;
}

function toRecord(number: number, { inode, offset, name, data }: Fields): TraceRecord {
  const what = MARKERS[number - FIRST_MARKER];
  if (what !== undefined) return { type: "marker", what, name };
  const type = TYPES[number];
  switch (type) {
    case "opened":
    case "created":
      return { type, inode, path: name };
    case "written":
      return { type, inode, offset, bytes: data };
    case "cut":
      return { type, inode, length: offset };
    case "unlinked":
      return { type, path: name };
    case "renamed":
      return { type, path: name, to: data.toString() };
    case "syncing":
    case "synced":
      return { type, inode, thread: offset };
    default:
      throw new Error(`The trace holds a call that cannot be replayed: ${name || number}.`);
  }
}
