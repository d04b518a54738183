// The gate: nothing but a decision of its own second argument unsubscribes.
import type { Decided, Envelope, Gate, Receiver, UnsubscribeDecision } from "hookline";
import type { Equal, Expect } from "./support.ts";

declare const receiver: Receiver;
declare const accounts: { has(id: number): boolean; find(id: number): Promise<boolean> };

export type GateArguments = [
  Expect<Equal<Parameters<Gate>[0], Envelope & { readonly source?: string }>>,
  Expect<Equal<Parameters<Gate>[1], (reason: string) => UnsubscribeDecision>>,
  Expect<Equal<ReturnType<Gate>, Decided | Promise<Decided>>>,
  Expect<Equal<UnsubscribeDecision["reason"], string>>,
];

// Every form of it: with and without an answer, at once and later.
receiver.unsubscribeWhen(() => {});
receiver.unsubscribeWhen(() => undefined);
receiver.unsubscribeWhen(async () => {});
receiver.unsubscribeWhen(async () => undefined);
receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe("wanted by nobody"));
receiver.unsubscribeWhen(async (_delivery, unsubscribe) => unsubscribe("wanted by nobody"));
receiver.unsubscribeWhen(({ accountId }, unsubscribe) => (accounts.has(accountId) ? undefined : unsubscribe("gone")));
receiver.unsubscribeWhen(async ({ accountId }, unsubscribe) => {
  if (!(await accounts.find(accountId))) return unsubscribe("account deleted");
  return undefined;
});
receiver.unsubscribeWhen((delivery, unsubscribe) => {
  if (delivery.source === "old" && delivery.resource === "/contacts") return unsubscribe("moved");
  return;
});
const gate: Gate = ({ subscription }, unsubscribe) => (subscription === 1 ? unsubscribe("the first") : undefined);
receiver.unsubscribeWhen(gate);
class Policy {
  async decide({ accountId }: Envelope, unsubscribe: Parameters<Gate>[1]): Promise<UnsubscribeDecision | undefined> {
    return (await accounts.find(accountId)) ? undefined : unsubscribe("gone");
  }
}
receiver.unsubscribeWhen((delivery, unsubscribe) => new Policy().decide(delivery, unsubscribe));

const gone = (delivery: Envelope): boolean => !accounts.has(delivery.accountId);

// @ts-expect-error -- a yes is no decision
receiver.unsubscribeWhen(() => true);
// @ts-expect-error -- nor is a no
receiver.unsubscribeWhen(() => false);
// @ts-expect-error -- a predicate answers another question
receiver.unsubscribeWhen(gone);
// @ts-expect-error -- a truthy promise
receiver.unsubscribeWhen(({ accountId }) => accounts.find(accountId));
// @ts-expect-error -- a later yes
receiver.unsubscribeWhen(async () => true);
// @ts-expect-error -- a decision or a boolean
receiver.unsubscribeWhen((delivery, unsubscribe) => gone(delivery) && unsubscribe("gone"));
// @ts-expect-error -- a status, as a handler of a framework would give it
receiver.unsubscribeWhen(() => 422);
// @ts-expect-error -- a reason alone
receiver.unsubscribeWhen(() => "account deleted");
// @ts-expect-error -- an object that looks like a decision
receiver.unsubscribeWhen(() => ({ reason: "account deleted" }));
// @ts-expect-error -- null is no absence
receiver.unsubscribeWhen(() => null);
// @ts-expect-error -- handed back without being called
receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe);
// @ts-expect-error -- a decision wants its reason
receiver.unsubscribeWhen((_delivery, unsubscribe) => unsubscribe());
// @ts-expect-error -- ids are numbers: a Set of texts never has one
receiver.unsubscribeWhen((delivery) => void new Set<string>().has(delivery.accountId));
// @ts-expect-error -- the gate is asked about the envelope, not about one event
receiver.unsubscribeWhen((delivery) => void delivery.type);
// @ts-expect-error -- nobody else makes a decision
export const forged: UnsubscribeDecision = { reason: "account deleted", [Symbol("decision")]: true };
