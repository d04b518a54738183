import type { HttpBench } from "./fixture.ts";
import type { HttpLacks, HttpSubject, ProbedOptions } from "./http-subject.ts";

/** Sentences about a mount, each with its proof, under what the table of answers says. */
export interface HttpPart {
  /** Stands before the sentences, such as `413`. */
  readonly about: string;
  /** The table's words. */
  readonly promise: string;
  /** How it is mounted. */
  readonly options?: ProbedOptions;
  /** Of its receiver, milliseconds. @default 30,000: longer than a busy machine takes */
  readonly storeTimeoutMs?: number;
  /** What a mount must be able to do for it. */
  readonly needs?: keyof HttpLacks;
  readonly proofs: Readonly<Record<string, (bench: HttpBench) => Promise<void>>>;
}

/** Those parts that depend on the platform in front of the mount. */
export type HttpParts = (subject: HttpSubject) => readonly HttpPart[];
