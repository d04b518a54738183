import type { Job, JobState } from "hookline";
import { turns } from "./event-loop.ts";
import { bodyOf, change } from "./make-delivery.ts";
import { failingHandler, heldHandler, idOf, rig, type Rig, type RigOptions } from "./rig.ts";
import { stubInbox } from "./stub-inboxes.ts";

/** The body of a delivery of mail changes. */
export function mailBody(accountId: number, ids: readonly string[], fields: object = {}): string {
  return bodyOf({ accountId, payloads: ids.map((id) => change(id)), ...fields });
}

/** The record and the state of each job, in order. */
export function idsAndStates(jobs: readonly Job[]): readonly (readonly [string, JobState])[] {
  return jobs.map(({ event, state }) => [idOf(event), state]);
}

/** All jobs, read page by page. */
export async function listAllJobs(
  { receiver }: Pick<Rig, "receiver">,
  filter: Parameters<typeof receiver.jobs.list>[0] = {},
): Promise<Job[]> {
  const all: Job[] = [];
  let after: string | undefined;
  do {
    const page = await receiver.jobs.list({ limit: 1_000, ...filter, after });
    all.push(...page.jobs);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** A receiver with dead jobs of these records; its handler succeeds from then on, and records its events. */
export async function receiverWithDeadJobs(ids: readonly string[], options: RigOptions = {}) {
  const made = rig({ attempts: 1, ...options });
  const seen: string[] = [];
  let fails = true;
  made.receiver.on("email", (event) => {
    if (fails) throw new Error("no");
    seen.push(event.id);
  });
  await made.receiver.start();
  for (let first = 0; first < ids.length; first += 1_000)
    await made.send(mailBody(2002, ids.slice(first, first + 1_000)));
  await made.receiver.idle();
  fails = false;
  return { ...made, seen, failFrom: () => (fails = true) };
}

/** One job in each state that a memory inbox stores: dead, running, waiting behind it, waiting for its retry, unhandled. */
export async function receiverWithJobsInEachState(options: RigOptions = {}) {
  const made = rig(options);
  const held = heldHandler();
  made.receiver.on("email.created", failingHandler().handler, { attempts: 1 });
  made.receiver.on("email.updated", held.handler, { lane: () => "one", merge: false });
  made.receiver.on("email.deleted", failingHandler().handler);
  await made.receiver.start();
  await made.send(bodyOf({ payloads: [change("dead", "created")] }));
  await made.send(bodyOf({ payloads: [change("running"), change("behind")] }));
  await made.send(bodyOf({ payloads: [change("retried", "deleted")] }));
  await made.send(bodyOf({ resource: "/contacts", payloads: [change("nobody's")] }));
  await turns();
  return { ...made, held };
}

/** An inbox that stores the bytes without the parsed events, and records each read. */
export function inboxWithoutEvents() {
  const asked: string[] = [];
  const inbox = stubInbox((own) => ({
    jobs: {
      ...own.jobs,
      async find(query) {
        const { jobs, ...more } = await own.jobs.find(query);
        return { jobs: jobs.map((job) => Object.assign({}, job, { event: undefined })), ...more };
      },
      async get(id) {
        asked.push(id);
        const found = await own.jobs.get(id);
        return found && { ...found, job: { ...found.job, event: undefined } };
      },
    },
  }));
  return { inbox, asked };
}
