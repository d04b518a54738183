import assert, { AssertionError } from "node:assert/strict";
import { promises, promisesAfterACrash, promisesOfMany } from "./all-cases.ts";
import { withBench, type InboxPromises } from "./fixture.ts";
import type { InboxSubject } from "./inbox-subject.ts";
import { oddValues } from "./odd-values.ts";

/** One promise of the port, spelled out as a test. */
export interface InboxCase {
  /** A sentence, such as `settle: done frees the lane in the same write`. No two have the same. */
  readonly name: string;
  /** Rejects where the inbox does not do so, with the promise of the port that is broken. */
  run(): Promise<void>;
}

/**
 * Holds an inbox against the port, sentence by sentence, under any test runner. Each case has an inbox of its own and a clock
 * that it advances itself.
 *
 * Without `crash` in the subject the cases about what a successor finds are left out: one case says so in its name, and
 * fails for an inbox whose durability is not `none`. So it is without `beside`, of the cases about several that work: their case
 * fails for an inbox on which many do.
 * @example
 * for (const { name, run } of checkInbox({ make: () => memoryInbox() })) test(name, run);
 */
export function checkInbox(subject: InboxSubject): readonly InboxCase[] {
  const cases = [...casesOf(promises, subject), ...casesOf(oddValues, subject)];
  const afterACrash = casesOf(promisesAfterACrash, subject);
  const ofMany = casesOf(promisesOfMany, subject);
  return [
    ...cases,
    ...(subject.crash === undefined ? [noCrash(afterACrash.length, subject)] : afterACrash),
    ...(subject.beside === undefined ? [noBeside(ofMany.length, subject)] : ofMany),
  ];
}

function casesOf(all: InboxPromises, subject: InboxSubject): InboxCase[] {
  return Object.entries(all).flatMap(([promise, proofs]) => {
    const member = promise.slice(0, promise.indexOf(":"));
    return Object.entries(proofs).map(([sentence, proof]) => {
      const name = `${member}: ${sentence}`;
      return {
        name,
        async run() {
          try {
            await withBench(subject, proof);
          } catch (error) {
            throw broken(promise, name, error);
          }
        },
      };
    });
  });
}

function noCrash(count: number, subject: InboxSubject): InboxCase {
  return {
    name: `left out for want of \`crash\`: the ${count} cases about what a successor finds`,
    async run() {
      await withBench(subject, async ({ inbox: { capabilities } }) => {
        const what = `An inbox whose durability is "${capabilities.durability}" outlives its process, and has to show it.`;
        assert.equal(capabilities.durability, "none", `${what} Give \`crash\` in the subject.`);
      });
    },
  };
}

function noBeside(count: number, subject: InboxSubject): InboxCase {
  return {
    name: `left out for want of \`beside\`: the ${count} cases about several that work`,
    async run() {
      await withBench(subject, async ({ inbox: { capabilities } }) => {
        const what = "An inbox on which many work has to show that they share.";
        assert.equal(capabilities.workers, "one", `${what} Give \`beside\` in the subject.`);
      });
    },
  };
}

/** What a test runner shows of an assertion, with the promise in front. */
function broken(promise: string, name: string, error: unknown): AssertionError {
  const colon = promise.indexOf(":");
  const said = `The port promises of ${promise.slice(0, colon)}: "${promise.slice(colon + 2)}" Not so here: ${name}.`;
  const { message, actual, expected } = error as Partial<AssertionError>;
  const failure = new AssertionError({ message: `${said}\n${message ?? String(error)}`, actual, expected });
  failure.cause = error;
  return failure;
}
