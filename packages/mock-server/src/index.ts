/** The face of the package: the service in process. `/msw` and `/node` put it behind a door. */

export type { Deliver } from "./delivery/attempt.ts";
export type { Attempt, Delivery, DeliveryFilter, FiredAttempt } from "./delivery/deliveries.ts";
export type { ServiceClock } from "./delivery/dispatcher.ts";
export type { EndpointInput, EndpointSecret } from "./delivery/endpoints.ts";
// What it keeps and answers
export type { Card } from "./domain/cards.ts";
// Time
export { type Clock, type ManualClock, manualClock, systemClock } from "./domain/clock.ts";
export type { Duration } from "./domain/duration.ts";
export type { Operation } from "./domain/ledger.ts";
export type { Template, TemplateField, TemplateInput, Tier } from "./domain/templates.ts";
export type { MockServiceOptions } from "./options.ts";
// The service
export { createMockService, type MockService, type Snapshot } from "./service.ts";
