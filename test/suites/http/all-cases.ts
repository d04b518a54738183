import { accepting } from "./accepting.ts";
import { closing } from "./closing.ts";
import { concurrency } from "./concurrency.ts";
import { handling } from "./handling.ts";
import { handshake } from "./handshake.ts";
import type { HttpParts } from "./http-case.ts";
import { path } from "./path.ts";
import { probing } from "./probes.ts";
import { refusing } from "./refusing.ts";
import { unsubscribe } from "./unsubscribe.ts";

/** The table of answers, sentence by sentence. */
export const partsOf: HttpParts = (subject) => [
  ...accepting,
  ...handshake,
  ...refusing(subject),
  ...unsubscribe,
  ...path,
  ...concurrency,
  ...closing,
  ...handling,
  ...probing(subject),
];
