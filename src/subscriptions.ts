// Subscriptions to webhooks, desired against actual.
export type { Desired } from "./subscriptions/desired.ts";
export { planSubscriptions, type Existing, type Plan, type PlanOptions } from "./subscriptions/plan.ts";
export type { ClientOf } from "./subscriptions/accounts.ts";
export { watchSubscriptions, type SubscriptionWatch, type WatchOptions } from "./subscriptions/watch.ts";
