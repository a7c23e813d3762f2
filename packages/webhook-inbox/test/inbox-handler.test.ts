/** Which failures `inboxHandler` reports as the last one, by what a worker of each queue knows. */
import { expect, it } from "vitest";
import { inboxHandler } from "../src/index.ts";
import { balanceChanged, recordOutcomes } from "./inboxes.ts";

const unrecoverable = Object.assign(new Error("never"), { name: "UnrecoverableError" });
const failure = new Error("not now");

const data = { body: JSON.stringify(balanceChanged("evt_1")), receivedAt: "2026-01-01" };
const ofPgBoss = { ...data, retryLimit: 2 };

it.each([
  [
    "BullMQ, with attempts left",
    { data, attemptsMade: 0, opts: { attempts: 2 } },
    failure,
    "failed",
  ],
  ["BullMQ, the last attempt", { data, attemptsMade: 1, opts: { attempts: 2 } }, failure, "dead"],
  ["BullMQ, without attempts", { data, attemptsMade: 0 }, failure, "dead"],
  [
    "BullMQ, an UnrecoverableError",
    { data, attemptsMade: 0, opts: { attempts: 2 } },
    unrecoverable,
    "dead",
  ],
  ["pg-boss, with attempts left", { data: ofPgBoss, retryCount: 1 }, failure, "failed"],
  ["pg-boss, the last attempt", { data: ofPgBoss, retryCount: 2 }, failure, "dead"],
  [
    "pg-boss with metadata, which has another limit",
    { data: ofPgBoss, retryCount: 2, retryLimit: 3 },
    failure,
    "failed",
  ],
  ["pg-boss 11 without metadata", { data: ofPgBoss }, failure, "failed"],
  ["pg-boss, an UnrecoverableError", { data: ofPgBoss, retryCount: 1 }, unrecoverable, "failed"],
])("on %s", async (_queue, job, error, outcome) => {
  const { recorded, onOutcome } = recordOutcomes();
  const handle = inboxHandler(() => Promise.reject(error), { onOutcome, log() {} });
  await expect(handle(job)).rejects.toBe(error);
  expect(recorded).toMatchObject([{ outcome, error }]);
});
