import type { Attributes } from "@opentelemetry/api";

/**
 * Attributes and metrics of OpenTelemetry's conventions. Those for messaging are still in development, where the package of conventions
 * may drop a name in a minor version: hence constants of our own.
 */
export const CONVENTIONAL = {
  system: "messaging.system",
  operationName: "messaging.operation.name",
  operationType: "messaging.operation.type",
  destination: "messaging.destination.name",
  consumer: "messaging.consumer.group.name",
  messageId: "messaging.message.id",
  batchCount: "messaging.batch.message_count",
  errorType: "error.type",
} as const;

export const CONVENTIONAL_METRICS = {
  sent: "messaging.client.sent.messages",
  consumed: "messaging.client.consumed.messages",
  operationDuration: "messaging.client.operation.duration",
  processDuration: "messaging.process.duration",
} as const;

/** Attributes of Hookline's own. */
export const OWN = {
  eventType: "hookline.event.type",
  attempt: "hookline.attempt",
  outcome: "hookline.outcome",
  accountId: "hookline.account_id",
  jobId: "hookline.job.id",
} as const;

export type Operation = "send" | "process";

/** What each span and each measure says. */
export function attributesOf(operation: Operation, destination: string, consumer?: string): Attributes {
  return {
    [CONVENTIONAL.system]: "hookline",
    [CONVENTIONAL.operationName]: operation,
    [CONVENTIONAL.destination]: destination,
    ...(consumer !== undefined && { [CONVENTIONAL.consumer]: consumer }),
  };
}
