/** The main job with the published packages, from CommonJS. */
const { createIssuingClient } = require("@loyalty-cards/issuing-client");
const { withOpenTelemetry } = require("@loyalty-cards/issuing-client/otel");
const { sqliteOutbox } = require("@loyalty-cards/issuing-outbox");
const { startMockServer } = require("@loyalty-cards/mock-server/node");
const { expressReceiver } = require("@loyalty-cards/webhook-verify/express");
const { mainJob } = require("./main-job.cjs");

mainJob({
  createIssuingClient,
  sqliteOutbox,
  withOpenTelemetry,
  startMockServer,
  expressReceiver,
});
