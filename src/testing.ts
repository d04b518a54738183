// For tests of handlers and of apps that receive.
export { deliver, type Delivered } from "./testing/deliver.ts";
export { fakeContext } from "./testing/fake-context.ts";
export { sample } from "./testing/sample.ts";
export { signedDelivery, type SignedDelivery, type SigningOptions } from "./testing/signed-delivery.ts";
export { testClock, type TestClock } from "./testing/test-clock.ts";
export type { Sendable } from "./testing/wire.ts";

// For an app that runs: the table of answers as questions.
export { checkAnswers, type CheckOptions, type Finding } from "./testing/check-answers.ts";

// For authors of inboxes: the port as tests, and as a model.
export { checkInbox, type InboxCase } from "./testing/check-inbox.ts";
export { checkInboxModel, type InboxModelOptions } from "./testing/check-inbox-model.ts";
export type { InboxSubject } from "./testing/inbox-subject.ts";
