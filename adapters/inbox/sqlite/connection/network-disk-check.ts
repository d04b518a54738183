import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import { FileError } from "./file-errors.ts";

/**
 * Types of statfs on Linux behind which a network or another machine may be: locks and the shared memory of a write-ahead log do not reach
 * across it. FUSE is among them because a local one cannot be told from a bucket or from a folder over ssh, which confirm what they have
 * not written. An overlay is not: its upper layer is an ordinary local file system, and a container's own root is one.
 */
const REMOTE: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xfe534d42: "SMB",
  0xff534d42: "SMB",
  0x01021997: "9p",
  0x65735546: "FUSE",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x5346414f: "AFS",
  0x01161970: "GFS2",
  0x7461636f: "OCFS2",
  0x47504653: "GPFS",
  0x786f4256: "a folder shared with a virtual machine",
  0xbacbacbc: "a folder shared with a virtual machine",
};

/**
 * @param typeOf statfs's type of a folder
 * @throws FileError `network-file-system`
 */
export function assertLocalDisk(file: string, typeOf: (folder: string) => number = typeOfFolder): void {
  const remote = REMOTE[typeOf(dirname(file))];
  if (remote === undefined) return;
  throw new FileError(
    "network-file-system",
    `${file} is on a file system that is no local disk (${remote}): SQLite can lose there what it confirmed.`,
    { fix: "Put the inbox on a local disk; in a container, on a volume that is one." },
  );
}

function typeOfFolder(folder: string): number {
  return statfsSync(folder).type;
}
