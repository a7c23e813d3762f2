/** Entry point: the mock service in process. `/msw` and `/node` are its adapters. */
export type { MockServiceOptions } from "./backend/options.ts";
export type { ServiceClock } from "./backend/service-clock.ts";
export { type WaitCondition, WaitTimeoutError } from "./control/wait-for.ts";
export type { Deliver } from "./delivery/attempt.ts";
export type { EndpointInput } from "./delivery/endpoints.ts";
export type { Card } from "./domain/cards.ts";
export {
  type Clock,
  type Duration,
  type ManualClock,
  manualClock,
  scaledClock,
} from "./domain/clock.ts";
export type { Operation } from "./domain/ledger.ts";
export type {
  Attempt,
  Delivery,
  Fault,
  Template,
  TemplateField,
  TrafficRequest,
} from "./domain/state.ts";
export type { TemplateInput } from "./domain/templates.ts";
export type { FaultInput } from "./faults/rules.ts";
export { createMockService, type MockService, type Snapshot } from "./service.ts";
