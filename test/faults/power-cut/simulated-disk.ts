import { dirname } from "node:path";
import type { TraceRecord } from "./trace.ts";

/** Outcome of a change that no fsync has covered. `torn`: each sector by itself. */
export type Fate = "stored" | "dropped" | "torn";

/** A simulated disk that replays a part of a trace. */
export interface Disk {
  apply(record: TraceRecord): void;
  /** Everything so far is on the disk: the set-up is over. */
  syncAll(): void;
  /** The files after a power cut, by path. `fate` is called with the path for each change that no fsync covers. */
  afterPowerCut(fate: (path: string) => Fate): Map<string, Buffer>;
  /** Number of changes that no fsync covers. */
  unsynced(): number;
  /** Whether this file has unsynced writes: only a checkpoint writes the database, everything else the WAL. */
  isWriting(suffix: string): boolean;
}

type Change =
  | { readonly type: "written"; readonly offset: number; readonly bytes: Buffer }
  | { readonly type: "cut"; readonly length: number };

/** Changes wait until an fsync that began after them has ended. */
interface Waiting<C> {
  readonly changes: C[];
  /** How many of them the running fsyncs cover, by thread. */
  readonly covered: Map<number, number>;
}

interface File extends Waiting<Change> {
  readonly path: string;
  bytes: Bytes;
}

type Entry =
  | { readonly type: "linked"; readonly path: string; readonly file: File }
  | { readonly type: "unlinked"; readonly path: string };

const SECTOR = 512;

export function createDisk(): Disk {
  const files = new Map<number, File>();
  const folder: Waiting<Entry> = { changes: [], covered: new Map() };
  let folderInode = -1;
  const names = new Map<string, File>();
  /** The names as a process sees them: synced and unsynced ones. */
  const current = new Map<string, File>();

  function link(path: string, file: File, entry: Entry): void {
    current.set(path, file);
    folder.changes.push(entry);
  }

  function open(path: string, inode: number): void {
    if (files.has(inode)) return;
    if (folderInode < 0 && [...files.values()].some((file) => dirname(file.path) === path)) folderInode = inode;
    if (inode === folderInode) return;
    create(path, inode);
  }

  function create(path: string, inode: number): void {
    const file: File = { path, bytes: new Bytes(), changes: [], covered: new Map() };
    files.set(inode, file);
    link(path, file, { type: "linked", path, file });
  }

  const known = (inode: number): File => {
    const file = files.get(inode);
    if (file === undefined) throw new Error(`The trace has a file that was never opened: ${inode}.`);
    return file;
  };

  const waitingOf = (inode: number): Waiting<unknown> => (inode === folderInode ? folder : known(inode));

  function flush(inode: number, count: number): void {
    if (inode === folderInode) for (const entry of folder.changes.splice(0, count)) apply(names, entry);
    else {
      const { changes, bytes } = known(inode);
      for (const change of changes.splice(0, count)) bytes.apply(change);
    }
    const { covered } = waitingOf(inode);
    for (const [thread, its] of covered) covered.set(thread, its - count);
  }

  return {
    apply(record) {
      switch (record.type) {
        case "opened":
          open(record.path, record.inode);
          break;
        case "created":
          create(record.path, record.inode);
          break;
        case "written":
        case "cut":
          known(record.inode).changes.push(record);
          break;
        case "unlinked":
          current.delete(record.path);
          folder.changes.push(record);
          break;
        case "renamed": {
          const file = current.get(record.path);
          if (file === undefined) throw new Error(`The trace renames a file that is not there: ${record.path}.`);
          current.delete(record.path);
          folder.changes.push({ type: "unlinked", path: record.path });
          link(record.to, file, { type: "linked", path: record.to, file });
          break;
        }
        case "syncing": {
          const { changes, covered } = waitingOf(record.inode);
          covered.set(record.thread, changes.length);
          break;
        }
        case "synced": {
          const { covered } = waitingOf(record.inode);
          const count = covered.get(record.thread) ?? 0;
          covered.delete(record.thread);
          flush(record.inode, Math.max(count, 0));
          break;
        }
        case "marker":
      }
    },
    syncAll() {
      for (const [inode, { changes }] of files) flush(inode, changes.length);
      for (const entry of folder.changes.splice(0)) apply(names, entry);
    },
    afterPowerCut(fate) {
      const found = new Map(names);
      for (const entry of folder.changes) if (fate(entry.path) !== "dropped") apply(found, entry);
      return new Map([...found].map(([path, file]) => [path, withUnsynced(file, fate)]));
    },
    unsynced: () => [...files.values()].reduce((sum, file) => sum + file.changes.length, folder.changes.length),
    isWriting: (suffix) => [...files.values()].some((file) => file.path.endsWith(suffix) && file.changes.length > 0),
  };
}

function apply(names: Map<string, File>, entry: Entry): void {
  if (entry.type === "linked") names.set(entry.path, entry.file);
  else names.delete(entry.path);
}

function withUnsynced(file: File, fate: (path: string) => Fate): Buffer {
  const bytes = file.bytes.copy();
  for (const change of file.changes) {
    const its = fate(file.path);
    if (its === "dropped") continue;
    if (its === "stored" || change.type === "cut") bytes.apply(change);
    else for (const sector of sectorsOf(change)) if (fate(file.path) === "stored") bytes.apply(sector);
  }
  return bytes.whole();
}

/** A write in parts that a disk writes whole or not at all. */
function* sectorsOf({ offset, bytes }: Extract<Change, { type: "written" }>): Generator<Change> {
  for (let at = 0; at < bytes.length;) {
    const length = SECTOR - ((offset + at) % SECTOR);
    yield { type: "written", offset: offset + at, bytes: bytes.subarray(at, at + length) };
    at += length;
  }
}

/** A file's bytes, in a buffer that grows by doubling. */
class Bytes {
  #buffer = Buffer.alloc(0);
  #length = 0;

  apply(change: Change): void {
    if (change.type === "cut") {
      this.#reserve(change.length);
      if (change.length < this.#length) this.#buffer.fill(0, change.length, this.#length);
      this.#length = change.length;
      return;
    }
    const end = change.offset + change.bytes.length;
    this.#reserve(end);
    change.bytes.copy(this.#buffer, change.offset);
    this.#length = Math.max(this.#length, end);
  }

  copy(): Bytes {
    const copy = new Bytes();
    copy.#buffer = Buffer.from(this.#buffer);
    copy.#length = this.#length;
    return copy;
  }

  whole(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(length: number): void {
    if (length <= this.#buffer.length) return;
    const grown = Buffer.alloc(Math.max(length, this.#buffer.length * 2, 65_536));
    this.#buffer.copy(grown);
    this.#buffer = grown;
  }
}
