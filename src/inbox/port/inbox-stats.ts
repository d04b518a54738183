import type { StorageError } from "../../errors.ts";

/** Whether a delivery could be stored now. */
export type Readiness =
  | { readonly ready: true }
  | {
      readonly ready: false;
      readonly error: StorageError;
      /** It gets no better in this process: only another one can help. @default false */
      readonly hopeless?: boolean;
    };

/** How much there is, in jobs. */
export interface InboxStats {
  readonly unexpanded: number;
  readonly waiting: number;
  readonly running: number;
  readonly dead: number;
  readonly unhandled: number;
  /** Lanes whose head waits for its retry. */
  readonly blockedLanes: number;
  /** When the oldest delivery was received that waits to be expanded, or has a job that waits. */
  readonly oldestWaitingAt: number | undefined;
  /** Whether any process works on it; undefined where that is not known. */
  readonly isWorkedOn?: boolean | undefined;
  /** Where it is on a disk. */
  readonly disk?: InboxDisk;
}

/** How the disk of an inbox stands. */
export interface InboxDisk {
  /** Undefined where it is not known. */
  readonly freeBytes: number | undefined;
  /** How often something failed so that the file was opened anew, and when last; undefined where it never was. */
  readonly reopened: { readonly count: number; readonly lastAt: number } | undefined;
  /** Its files have no lasting numbers: that they are deleted or replaced while they are in use is not seen. @default false */
  readonly isBlind?: boolean;
  /** Hard links of its file, itself included: processes that open it by different ones do not know of each other. */
  readonly names?: number | undefined;
  /** How often another process took the work over while this one had it, and when last; undefined where none ever did. */
  readonly takenOver?: { readonly count: number; readonly lastAt: number } | undefined;
}
