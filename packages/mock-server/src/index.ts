/** The face of the package: the service in process. `/msw` and `/node` put it behind a door. */

export type { Deliver } from "./delivery/attempt.ts";
export type { Attempt, Delivery, DeliveryFilter, FiredAttempt, ServiceEvent } from "./delivery/deliveries.ts";
export type { EndpointInput, EndpointSecret, WebhookEndpoint } from "./delivery/endpoints.ts";
export type { ClockSetting, ServiceClock } from "./delivery/service-clock.ts";
// What it keeps and answers
export type { Card } from "./domain/cards.ts";
// Time
export {
  type Clock,
  type ManualClock,
  manualClock,
  type ScaledClock,
  type ScaledClockOptions,
  scaledClock,
  systemClock,
} from "./domain/clock.ts";
export type { Duration } from "./domain/duration.ts";
export type { Expiry, Operation } from "./domain/ledger.ts";
export type { Template, TemplateField, TemplateInput, Tier } from "./domain/templates.ts";
export type { Warning } from "./domain/warnings.ts";
// What goes wrong on purpose
export type { DeliveryFaultInput, FaultInput, RequestFaultInput } from "./faults/fault-shape.ts";
export type { Fault } from "./faults/rules.ts";
export type { MockServiceOptions, SeededEndpoint } from "./options.ts";
// The service
export { createMockService, type MockService, type Snapshot } from "./service.ts";
// Waiting
export { type Awaited, type WaitCondition, type WaitOptions, WaitTimeout } from "./waiting.ts";
