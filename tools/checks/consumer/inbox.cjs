/** Durable receipt with the published packages, from CommonJS. */
const { sqliteInbox } = require("@loyalty-cards/webhook-inbox");
const { markProcessed } = require("@loyalty-cards/webhook-inbox/sqlite");
const { inboxJob } = require("./inbox-job.cjs");

inboxJob({ sqliteInbox, markProcessed });
