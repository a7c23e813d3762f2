/** The main job with the published packages, from ESM. */
import { createIssuingClient } from "@loyalty-cards/issuing-client";
import { fileCheckpoint, issueCards } from "@loyalty-cards/issuing-client/bulk";
import { withOpenTelemetry } from "@loyalty-cards/issuing-client/otel";
import { startMockServer } from "@loyalty-cards/mock-server/node";
import { expressReceiver } from "@loyalty-cards/webhook-verify/express";
import { mainJob } from "./main-job.cjs";

await mainJob({
  createIssuingClient,
  issueCards,
  fileCheckpoint,
  withOpenTelemetry,
  startMockServer,
  expressReceiver,
});
