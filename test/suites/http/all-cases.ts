import { accepting } from "./accepting.ts";
import { asking } from "./probes.ts";
import { closing } from "./closing.ts";
import { crowding } from "./concurrency.ts";
import { deciding } from "./unsubscribe.ts";
import { greeting } from "./handshake.ts";
import { handling } from "./handling.ts";
import type { HttpParts } from "./http-case.ts";
import { placing } from "./path.ts";
import { refusing } from "./refusing.ts";

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
