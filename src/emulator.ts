// The service on a local port: for tests, for development, for load.
export { createEmulator } from "./emulator/create-emulator.ts";
export type { Fault, FaultKind } from "./emulator/deliveries/faults.ts";
export type { Answer, Attempt } from "./emulator/deliveries/journal.ts";
export type { Opener } from "./emulator/accounts/tracking.ts";
export type {
  AccountSeed,
  EmulatedAccount,
  Emulator,
  EmulatorOptions,
  GivenAnswer,
  RedeliveryOptions,
  SubscriptionState,
  SyncConfigSigning,
  Variants,
} from "./emulator/emulator-types.ts";
export type { DeltaSyncOptions } from "./emulator/unified-api/delta-sync.ts";
export { runLoad, type LoadOptions, type LoadReport } from "./emulator/load.ts";
export {
  emulatorMatchers,
  type EmulatorMatchers,
  type ExpectedDelivery,
  type MatcherResult,
} from "./emulator/matchers.ts";
