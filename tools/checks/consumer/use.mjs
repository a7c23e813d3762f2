/** The main job with the published packages, from ESM. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
import { sqliteOutbox } from "@loyalty-cards/issuing-outbox";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { mainJob } from "./main-job.cjs";

await mainJob({
  createIssuingClient,
  sqliteOutbox,
  withOpenTelemetry,
  startMockServer,
  expressReceiver,
});
