/** The main job with the published packages, from CommonJS. */
const { createIssuingClient } = require("@loyalty-cards/issuing-client");
const { fileCheckpoint, issueCards } = require("@loyalty-cards/issuing-client/bulk");
const { withOpenTelemetry } = require("@loyalty-cards/issuing-client/otel");
const { startMockServer } = require("@loyalty-cards/mock-server/node");
const { expressReceiver } = require("@loyalty-cards/webhook-verify/express");
const { mainJob } = require("./main-job.cjs");

mainJob({
  createIssuingClient,
  issueCards,
  fileCheckpoint,
  withOpenTelemetry,
  startMockServer,
  expressReceiver,
});
