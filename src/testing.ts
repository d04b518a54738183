// For tests of handlers and of apps that receive.
export { deliver, type Delivered } from "./testing/deliver.ts";
export { fakeContext } from "./testing/fake-context.ts";
export { sample } from "./testing/sample.ts";
export { signedDelivery, type Sendable, type SignedDelivery, type SigningOptions } from "./testing/signed-delivery.ts";
export { testClock, type TestClock } from "./testing/test-clock.ts";
