/** Durable receipt with the published packages, from ESM. */
import { sqliteInbox } from "@loyalty-cards/webhook-inbox";
import { markProcessed } from "@loyalty-cards/webhook-inbox/sqlite";
import { inboxJob } from "./inbox-job.cjs";

await inboxJob({ sqliteInbox, markProcessed });
