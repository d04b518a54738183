import { accepting } from "./accepting.ts";
import { closing } from "./closing.ts";
import { crowding } from "./concurrency.ts";
import { handling } from "./handling.ts";
import { greeting } from "./handshake.ts";
import type { HttpParts } from "./http-case.ts";
import { placing } from "./path.ts";
import { asking } from "./probes.ts";
import { refusing } from "./refusing.ts";
import { deciding } from "./unsubscribe.ts";

/** The table of answers, sentence by sentence. */
export const partsOf: HttpParts = (subject) => [
  ...accepting,
  ...greeting,
  ...refusing(subject),
  ...deciding,
  ...placing,
  ...crowding,
  ...closing,
  ...handling,
  ...asking(subject),
];
