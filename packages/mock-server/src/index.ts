/** Entry point: the mock service in process. `/msw` and `/node` are its adapters. */

export type { Deliver } from "./delivery/attempt.ts";
export type {
  Attempt,
  AttemptRecord,
  Delivery,
  DeliveryFilter,
  ServiceEvent,
} from "./delivery/deliveries.ts";
export type { EndpointInput, EndpointSecret, WebhookEndpoint } from "./delivery/endpoints.ts";
export type { Card } from "./domain/cards.ts";
export {
  type Clock,
  type Duration,
  type ManualClock,
  manualClock,
  type ScaledClock,
  type ScaledClockOptions,
  scaledClock,
  systemClock,
} from "./domain/clock.ts";
export type { Expiry, Operation } from "./domain/ledger.ts";
export type { Template, TemplateField, TemplateInput, Tier } from "./domain/templates.ts";
export type { Warning } from "./domain/warnings.ts";
export type { DeliveryFaultInput, Fault, FaultInput, RequestFaultInput } from "./faults/rules.ts";
export type { MockServiceOptions, SeededEndpoint } from "./sandbox/options.ts";
export type { ClockSetting, ServiceClock } from "./sandbox/service-clock.ts";
export {
  type WaitCondition,
  type WaitOptions,
  type WaitResult,
  WaitTimeoutError,
} from "./sandbox/wait-for.ts";
export { createMockService, type MockService, type Snapshot } from "./service.ts";
