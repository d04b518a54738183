import { memoryInbox, type EventOf } from "hookline";
import type { Gap } from "../../../src/inbox/port/gaps.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { rig, type Rig, type RigOptions } from "../../support/rig.ts";

export const MINUTE_MS = 60_000;
export const mail = {
  source: undefined,
  subscription: 1001,
  accountId: 2002,
  resource: "/email/messages",
  family: "email",
};

/** A receiver that works, with a `.changes` handler that records its calls, and an inbox that outlives it. */
export async function working({ inbox = memoryInbox(), ...options }: RigOptions = {}): Promise<
  Rig & { readonly calls: EventOf<"email.changes">[] }
> {
  const own = rig({ inbox, ...options });
  const calls: EventOf<"email.changes">[] = [];
  own.receiver.on("email.changes", (event) => void calls.push(event));
  await own.receiver.start();
  await own.pass();
  return { ...own, calls };
}

export async function gapsIn(inbox: WorkingInbox): Promise<readonly Gap[] | undefined> {
  return (await inbox.gaps?.find({ limit: 1_000 }))?.gaps;
}

/** The same inbox, without a process for a while. */
export async function down(own: Rig, ms: number, options: RigOptions = {}): ReturnType<typeof working> {
  await own.receiver.close();
  await own.clock.advance(ms);
  return working({ inbox: own.inbox, clock: own.clock, ...options });
}
