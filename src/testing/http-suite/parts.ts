import { accepting } from "./accepting.ts";
import { asking } from "./asking.ts";
import { closing } from "./closing.ts";
import { crowding } from "./crowding.ts";
import { deciding } from "./deciding.ts";
import { greeting } from "./greeting.ts";
import { handling } from "./handling.ts";
import type { HttpParts } from "./part.ts";
import { placing } from "./placing.ts";
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
