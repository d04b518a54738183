import { AssertionError } from "node:assert/strict";
import { partsOf } from "./all-cases.ts";
import { withApp } from "./fixture.ts";
import type { HttpPart } from "./http-case.ts";
import type { HttpLacks, HttpSubject } from "./http-subject.ts";

/** One line of the table of answers, spelled out as a test. */
export interface HttpCase {
  /** A sentence, such as `401: a forged delivery`. No two have the same. */
  readonly name: string;
  /** Rejects where the mount does not do so, with the promise that is broken. */
  run(): Promise<void>;
}

/**
 * Holds a mount against the table of answers, over real connections and under any test runner. Each case has an app of its own, in this
 * process or in another. What the subject lacks is left out, and a case says so in its name.
 *
 * @example
 * for (const { name, run } of checkHttpAdapter({ serve })) test(name, run);
 */
export function checkHttpAdapter(subject: HttpSubject): readonly HttpCase[] {
  const { lacks = {} } = subject;
  const parts = partsOf(subject);
  const within = parts.filter(({ needs }) => needs === undefined || lacks[needs] === undefined);
  return [...within.flatMap((part) => casesOf(part, subject)), ...leftOut(parts, lacks)];
}

function casesOf(part: HttpPart, subject: HttpSubject): HttpCase[] {
  return Object.entries(part.proofs).map(([sentence, proof]) => {
    const name = `${part.about}: ${sentence}`;
    return {
      name,
      async run() {
        try {
          await withApp(subject, part, proof);
        } catch (error) {
          throw broken(part, name, error);
        }
      },
    };
  });
}

function leftOut(parts: readonly HttpPart[], lacks: HttpLacks): HttpCase[] {
  return Object.entries(lacks).flatMap(([lack, why]: [string, string | undefined]) => {
    if (why === undefined) return [];
    const cases = parts.filter(({ needs }) => needs === lack).flatMap(({ proofs }) => Object.keys(proofs));
    return [{ name: `left out: the ${cases.length} cases about \`${lack}\`, as ${why}`, run: async () => {} }];
  });
}

/** What a test runner shows of an assertion, with the promise in front. */
function broken({ about, promise }: HttpPart, name: string, error: unknown): AssertionError {
  const said = `The table of answers says of ${about}: "${promise}" Not so here: ${name}.`;
  const { message, actual, expected } = error as Partial<AssertionError>;
  const failure = new AssertionError({ message: `${said}\n${message ?? String(error)}`, actual, expected });
  failure.cause = error;
  return failure;
}
